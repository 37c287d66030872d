"""Bytes to values, also of columns in Spark. The header or the first bytes give the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.jelly.decoder import Decoder
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.operations import OperationBatchBuilder
from jelly._formats.registry import JELLY, JELLY_PATCH, REGISTRY, Content, Format, plain_name
from jelly._formats.sniff import HEAD, explain, is_jelly_patch
from jelly._options.settings import checked
from jelly._streams.drain import drain
from jelly._streams.reader import MOST_SPARE, SPARES, Frame, Reader
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError, JellyUnsupportedError
from jelly.kafka._clients import known_to_clients, serialization_error, take_header
from jelly.kafka._compression import Unpacker
from jelly.messages._message import Message
from jelly.patch._patch import Patch
from jelly.patch._stream import PatchReader

Result: TypeAlias = Literal["statements", "batch", "frame", "message", "rdflib", "pyoxigraph", "arrow"]

# Of a patch that is one Batch.
MAX_PATCH_ROWS = 1 << 24
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
        self._spare: list[Decoder] = []  # of small values, for the next ones

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
        with Reader(bytes(data), format=format.name, **self.known(format)) as reader:
            return data, format, list(reader.batches())

    def _jelly(self, data: Any) -> list[Batch]:
        try:  # threads take from it, too
            decoder = self._spare.pop()
        except IndexError:
            decoder = Decoder(**self._limits)
        try:
            batches = list(drain(decoder, [data]))
        except JellyError as error:
            explain(error, bytes(data[:HEAD]), JELLY.name)
            raise
        if len(data) <= MOST_SPARE and len(self._spare) < SPARES and decoder._again():
            self._spare.append(decoder)
        return batches

    def patches(self, data: Any, format: Format, **settings: Any) -> PatchReader:
        """A reader of the patches."""
        return PatchReader(bytes(data), format=format.name, **settings, **self.known(format))

    def known(self, format: Format) -> dict[str, Any]:
        """The limits that a format has."""
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


class JellyDeserializer:
    """Deserialize values of Kafka. Call it, or give it to a client.

    Parameters
    ----------
    result : {"statements", "batch", "frame", "message", "rdflib", "pyoxigraph", "arrow"}, default "statements"
        The type of the result: a list of `Triple` or `Quad`; a `jelly.Batch`; a `jelly.Frame` or a
        `jelly.messages.Message`, with metadata and namespaces; an ``rdflib.Graph``, or of quads an ``rdflib.Dataset``;
        a list of statements of pyoxigraph; a ``pyarrow.Table`` in the layout ``flat`` of `jelly.arrow`. A patch becomes
        a `jelly.patch.Patch` for "statements", a Batch of operations or a table of changes for "batch" and "arrow".
    format : str, optional
        Format of values without a header ``content-type``, as for `jelly.Reader` or `jelly.patch.PatchReader`. By
        default Jelly or Jelly-Patch, whichever the first bytes are.
    dictionaries : iterable of bytes, optional
        Dictionaries of zstd. The values name those that they need.
    max_value_bytes : int, default 64 MiB
        Maximum bytes of a value after its decompression.
    **limits : int
        Limits of `jelly.Decoder`, such as ``max_names``.

    Raises
    ------
    JellyArgumentError
        If an argument is wrong.

    Notes
    -----
    A header ``content-type`` is followed: ``application/n-quads``, ``text/turtle`` and all other media types of formats
    that this package reads. gzip and zstd are recognised. None stays None (a tombstone).

    It may be used from several threads.

    Examples
    --------
    >>> JellyDeserializer(format="nt")(b"<a:s> <a:p> <a:o> .")
    [Triple(IRI('a:s'), IRI('a:p'), IRI('a:o'))]
    """

    @checked(JELLY.reading)
    def __init__(
        self,
        result: Result = "statements",
        *,
        format: str | None = None,
        dictionaries: Iterable[bytes] = (),
        max_value_bytes: int = MAX_VALUE_BYTES,
        **limits: int,
    ) -> None:
        dictionaries = tuple(dictionaries)
        given = {"format": format, "dictionaries": dictionaries, "max_value_bytes": max_value_bytes}
        self._again = partial(JellyDeserializer, result, **given, **limits)
        self._result = result
        self._reader = ValueReader(format, dictionaries, max_value_bytes, limits)
        known_to_clients(type(self))

    def __call__(self, data: Any, ctx: Any = None) -> Any:
        """Deserialize ``data``: a value of ``result``, or None for None. A header of ``ctx`` may give the format.

        A value that cannot be read, or that ``result`` cannot hold, is a JellySerializationError.
        """
        return self._value(data, getattr(ctx, "headers", None))

    def deserialize(self, topic: str, *args: Any) -> Any:
        """Deserialize a value, as kafka-python calls it: ``topic`` and the bytes, from version 3.0 on with the headers
        before them. The topic is not used.
        """
        *headers, data = args
        return self._value(data, headers[0] if headers else None)

    def _value(self, data: Any, headers: Any) -> Any:
        if data is None:
            return None
        try:
            media_type = take_header(headers, "content-type") if headers else None
            data, format, batches = self._reader.read(data, media_type)
            return self._patch(data, format) if batches is None else self._statements(batches)
        except JellyError as error:
            raise serialization_error(error) from error

    def _statements(self, batches: list[Batch]) -> Any:
        result = self._result
        if result == "statements":
            return [statement for batch in batches for statement in Materializer(batch).statements()]
        if result == "batch":
            return batches[0] if len(batches) == 1 else join_batches(batches)
        if result == "arrow":
            from jelly._formats.arrow_tables import RecordBatchBuilder, pa

            maker = RecordBatchBuilder("flat")
            return pa.Table.from_batches(maker.run([(batch, 0, len(batch)) for batch in batches]), maker.schema)
        if result == "rdflib":
            from jelly.rdflib._reading import graph_of

            return graph_of(batches, any(batch.arity == 4 for batch in batches))
        if result == "pyoxigraph":
            from jelly.oxigraph import _statements

            return list(_statements(batches))
        frame = whole_frame(batches)
        if result == "frame":
            return frame
        return Message(frame.statements, namespaces=frame.namespaces, metadata=frame.metadata)

    def _patch(self, data: Any, format: Format) -> Any:
        if self._result not in ("statements", "batch", "arrow"):
            raise JellyUnsupportedError(
                f'a patch cannot be result="{self._result}": expected "statements", "batch" or "arrow"'
            )
        if self._result == "arrow":
            from jelly.patch._convert import read_arrow

            return read_arrow(bytes(data), format=format.name, **self._reader.known(format)).read_all()
        rows = {"batch_rows": MAX_PATCH_ROWS, "batch_bytes": 1 << 30} if self._result == "batch" else {}
        with self._reader.patches(data, format, **rows) as reader:
            if self._result == "batch":
                batches = list(reader.batches())
                if len(batches) > 1:
                    raise JellyLimitError(f"the patch has more than {MAX_PATCH_ROWS} rows")
                return batches[0] if batches else OperationBatchBuilder(3).batch
            patches = list(reader)
        if len(patches) == 1:
            return patches[0]
        # Producers may send several in one value.
        return Patch([operation for patch in patches for operation in patch])

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def whole_frame(batches: list[Batch]) -> Frame:
    """All frames of a value as one."""
    whole = Frame(0, [])
    for batch in batches:
        whole.statements += Materializer(batch).statements()
        whole.namespaces += [(name, iri) for _, _, name, iri in batch.namespaces]
        for described in batch.metadata.values():
            whole.metadata |= described
    return whole
