"""The format of a value, and the value as Batches: for the deserializer, and for columns of values in Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._formats.registry import JELLY, JELLY_PATCH, REGISTRY, Content, Format, plain_name
from jelly._formats.sniff import HEAD, explain, is_jelly_patch
from jelly._streams.drain import drain
from jelly._streams.reader import Reader
from jelly.errors import JellyArgumentError, JellyError, JellyUnsupportedError
from jelly.kafka._compression import Unpacker
from jelly.patch._stream import PatchReader

# After decompression.
MAX_VALUE_BYTES = 1 << 26
_FORMATS = [*REGISTRY[Content.STATEMENTS].values(), *REGISTRY[Content.PATCH].values()]
# Of what a producer sends that does not know what it sends.
_NO_TYPES = ("application/octet-stream", "binary/octet-stream")


class ValueReader:
    """Reads values of any format, compressed or not."""

    def __init__(
        self,
        format: str | None = None,
        dictionaries: Iterable[bytes] = (),
        max_value_bytes: int = MAX_VALUE_BYTES,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        self._limits = dict(limits or {})
        self._format = None if format is None else _named(format)
        self._unpacker = Unpacker(dictionaries, max_value_bytes)

    def read(self, data: Any, content_type: str | None = None) -> tuple[Any, Format, list[Batch] | None]:
        """The decompressed value, its format, and its Batches if it is of statements; patches are not read yet.

        The content type gives the format. Without it the value is Jelly, or Jelly-Patch if it is refused as Jelly.
        """
        format = format_of_type(content_type) or self._format
        data = self._unpacker.unpack(data)
        if format is None:
            try:
                return data, JELLY, self._jelly(data)
            except JellyError:
                if not is_jelly_patch(bytes(data[:HEAD])):
                    raise
            format = JELLY_PATCH
        if format.content is Content.PATCH:
            return data, format, None
        if format is JELLY:
            return data, format, self._jelly(data)
        with Reader(bytes(data), format=format.name, **self._known(format)) as reader:
            return data, format, list(reader.batches())

    def _jelly(self, data: Any) -> list[Batch]:
        try:
            return list(drain(Decoder(**self._limits), [data]))
        except JellyError as error:
            explain(error, bytes(data[:HEAD]), JELLY.name)
            raise

    def patches(self, data: Any, format: Format, **settings: Any) -> PatchReader:
        """A reader of the patches."""
        return PatchReader(bytes(data), format=format.name, **settings, **self._known(format))

    def _known(self, format: Format) -> dict[str, Any]:
        return {name: value for name, value in self._limits.items() if name in format.reading}


def format_of_type(text: str | None) -> Format | None:
    """The format that a content type names; None if there is none, or one that says nothing.

    >>> format_of_type("Application/N-Quads; charset=utf-8").name, format_of_type("application/octet-stream")
    ('nq', None)
    """
    wanted = plain_name(text or "")
    if not wanted or wanted in _NO_TYPES:
        return None
    for format in _FORMATS:
        if wanted in format.media_types:
            return format
    raise JellyUnsupportedError(f"the content type is {text!r}, which is no format of statements or patches")


def _named(name: str) -> Format:
    for format in _FORMATS:
        if format.is_called(plain_name(name)):
            return format
    known = ", ".join(format.name for format in _FORMATS)
    raise JellyArgumentError(f"unknown format {name!r}: expected one of {known}")
