"""Bytes to values, whatever the producer sent: the header or the first bytes tell the format."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, TypeAlias

from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.jelly.decoder import Decoder
from jelly._core.terms.materialize import Materializer
from jelly._formats.registry import FORMATS, JELLY, JELLY_PATCH, PATCH_FORMATS, Content, Format
from jelly._io.reader import Frame, Reader, frames_of
from jelly._io.settings import refuse_unknown
from jelly._io.sniff import HEAD, explain, is_jelly_patch
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError, JellyUnsupportedError
from jelly.kafka._clients import known_to_clients, serialization_error, take_header
from jelly.kafka._compression import Unpacker
from jelly.messages._message import Message
from jelly.patch._stream import Patch, PatchReader

__all__ = ["JellyDeserializer", "Result", "format_of_header"]

Result: TypeAlias = Literal["statements", "batch", "frame", "message", "rdflib", "pyoxigraph", "arrow"]

_RESULTS = ("statements", "batch", "frame", "message", "rdflib", "pyoxigraph", "arrow")
# Of a patch that is one Batch.
MAX_PATCH_ROWS = 1 << 24
# Of what a producer sends that does not know what it sends.
_NO_TYPES = ("application/octet-stream", "binary/octet-stream")


class JellyDeserializer:
    """Deserialize values of Kafka. Call it, or give it to a client.

    Parameters
    ----------
    result : {"statements", "batch", "frame", "message", "rdflib", "pyoxigraph", "arrow"}, default "statements"
        What a value becomes: a list of `Triple` or `Quad`; a `jelly.Batch`; a `jelly.Frame` or a
        `jelly.messages.Message`, with metadata and namespaces; an ``rdflib.Graph``, or of quads an ``rdflib.Dataset``;
        a list of statements of pyoxigraph; a ``pyarrow.Table`` in the layout ``flat`` of `jelly.arrow`. A patch becomes a
        `jelly.patch.Patch` for "statements", a Batch of operations or a table of changes for "batch" and "arrow".
    format : str, optional
        Format of values whose header ``content-type`` does not tell it, as for `jelly.Reader` or
        `jelly.patch.PatchReader`. By default Jelly or Jelly-Patch, which the first bytes tell apart.
    dictionaries : iterable of bytes, optional
        Dictionaries of zstd. The values name those that they need.
    max_value_bytes : int, default 64 MiB
        Maximum bytes of a value after its decompression.
    **limits : Any
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

    def __init__(
        self,
        result: Result = "statements",
        *,
        format: str | None = None,
        dictionaries: Iterable[bytes] = (),
        max_value_bytes: int = 1 << 26,
        **limits: Any,
    ) -> None:
        if result not in _RESULTS:
            raise JellyArgumentError(f"result is {result!r}: expected one of {', '.join(_RESULTS)}")
        refuse_unknown(limits, JELLY.reading)
        dictionaries = tuple(dictionaries)
        self._given = {"format": format, "dictionaries": dictionaries, "max_value_bytes": max_value_bytes} | limits
        self._result = result
        self._format = None if format is None else _named(format)
        self._unpacker = Unpacker(dictionaries, max_value_bytes)
        self._limits = limits
        known_to_clients(type(self))

    def __call__(self, data: Any, ctx: Any = None) -> Any:
        """Deserialize a value.

        Parameters
        ----------
        data : bytes or None
            The value.
        ctx : confluent_kafka.serialization.SerializationContext, optional
            Its header ``content-type`` tells the format.

        Returns
        -------
        Any
            The value as ``result`` says; None for None.

        Raises
        ------
        JellySerializationError
            If the value cannot be read or ``result`` cannot hold it.
        """
        return self._value(data, getattr(ctx, "headers", None))

    def deserialize(self, topic: str, *args: Any) -> Any:
        """Deserialize a value, as kafka-python calls it.

        Parameters
        ----------
        topic : str
            The topic, which is not used.
        *args : Any
            The bytes, with the headers before them from kafka-python 3.0 on.

        Returns
        -------
        Any
            The value as ``result`` says; None for None.

        Raises
        ------
        JellySerializationError
            If the value cannot be read or ``result`` cannot hold it.
        """
        *headers, data = args
        return self._value(data, headers[0] if headers else None)

    def _value(self, data: Any, headers: Any) -> Any:
        if data is None:
            return None
        try:
            format = format_of_header(take_header(headers, "content-type")) if headers else None
            data = self._unpacker.unpack(data)
            format = format or self._format
            if format is None:
                format = JELLY_PATCH if is_jelly_patch(bytes(data[:HEAD])) else JELLY
            return self._patch(data, format) if format.content is Content.PATCH else self._statements(data, format)
        except JellyError as error:
            raise serialization_error(error) from error

    def _statements(self, data: Any, format: Format) -> Any:
        batches, quads = self._batches(data, format)
        result = self._result
        if result == "statements":
            return [statement for batch in batches for statement in Materializer(batch).statements()]
        if result == "batch":
            return batches[0] if len(batches) == 1 else join_batches(batches)
        if result == "arrow":
            from jelly.arrow import RecordBatchBuilder, pa

            maker = RecordBatchBuilder("flat", False, None, 1 << 15)
            return pa.Table.from_batches(maker.run([(batch, 0, len(batch)) for batch in batches]), maker.schema)
        if result == "rdflib":
            from jelly.rdflib._reading import graph_of

            return graph_of(batches, quads)
        if result == "pyoxigraph":
            from jelly.oxigraph import _statements

            return list(_statements(batches))
        frame = _whole_frame(batches)
        if result == "frame":
            return frame
        return Message(frame.statements, namespaces=frame.namespaces, metadata=frame.metadata)

    def _batches(self, data: Any, format: Format) -> tuple[list[Batch], bool]:
        """The Batches of a value, and whether it is of quads."""
        if format is not JELLY:
            known = {name: value for name, value in self._limits.items() if name in format.reading}
            with Reader(bytes(data), format=format.name, **known) as reader:
                batches = list(reader.batches())
            return batches, any(batch.arity == 4 for batch in batches)
        decoder = Decoder(**self._limits)
        batches = []
        try:
            decoder.push(data)
            decoder.finish()
            while (batch := decoder.pull(True)) is not None:
                batches.append(batch)
        except JellyError as error:
            explain(error, bytes(data[:HEAD]), JELLY.name)
            raise
        return batches, any(batch.arity == 4 for batch in batches)

    def _patch(self, data: Any, format: Format) -> Any:
        if self._result not in ("statements", "batch", "arrow"):
            raise JellyUnsupportedError(
                f'a patch cannot be result="{self._result}": expected "statements", "batch" or "arrow"'
            )
        limits = {name: value for name, value in self._limits.items() if name in format.reading}
        if self._result == "arrow":
            from jelly.patch import read_arrow

            return read_arrow(data, format=format.name, **limits).read_all()
        if self._result == "batch":
            limits = {"batch_rows": MAX_PATCH_ROWS, "batch_bytes": 1 << 30} | limits
        with PatchReader(bytes(data), format=format.name, **limits) as reader:
            if self._result == "batch":
                batches = list(reader.batches())
                if len(batches) > 1:
                    raise JellyLimitError(f"the patch has more than {limits['batch_rows']} rows: raise batch_rows")
                return batches[0]
            patches = list(reader)
        if len(patches) == 1:
            return patches[0]
        # Producers may send several in one value.
        return Patch([operation for patch in patches for operation in patch])

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(JellyDeserializer, self._result, **self._given), ()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def format_of_header(text: str | None) -> Format | None:
    """The format that a content type names; None if there is none, or one that says nothing.

    >>> format_of_header("Application/N-Quads; charset=utf-8").name, format_of_header("application/octet-stream")
    ('nq', None)
    """
    wanted = (text or "").partition(";")[0].strip().lower()
    if not wanted or wanted in _NO_TYPES:
        return None
    for format in (*FORMATS.values(), *PATCH_FORMATS.values()):
        if wanted in format.media_types:
            return format
    raise JellyUnsupportedError(f"the header content-type is {text!r}, which is no format of statements or patches")


def _named(name: str) -> Format:
    wanted = name.partition(";")[0].strip().lower()
    for format in (*FORMATS.values(), *PATCH_FORMATS.values()):
        if format.is_called(wanted):
            return format
    known = ", ".join((*FORMATS, *PATCH_FORMATS))
    raise JellyArgumentError(f"unknown format {name!r}: expected one of {known}")


def _whole_frame(batches: list[Batch]) -> Frame:
    """All frames of a value as one."""
    whole = Frame(0, [])
    for frame in frames_of(batches):
        whole.statements += frame.statements
        whole.namespaces += frame.namespaces
        whole.metadata |= frame.metadata
    # Texts have no frames.
    if not any(len(batch.frames) for batch in batches):
        whole.statements = [statement for batch in batches for statement in Materializer(batch).statements()]
        whole.namespaces = [(name, iri) for batch in batches for _, _, name, iri in batch.namespaces]
    return whole
