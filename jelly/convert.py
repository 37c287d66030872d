"""Format to format: Batches from a Reader into a Writer, nothing in between."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jelly.codecs import default_options
from jelly.core.batch import Batch
from jelly.files import Progress, split_suffix
from jelly.formats import FORMATS, JELLY, READING
from jelly.options import LogicalType, PhysicalType, StreamOptions
from jelly.settings import checked
from jelly.stream import Reader, Writer

__all__ = ["Conversion", "choose_options", "convert"]

# Called now and then with bytes read, bytes there are (None: not known), statements so far.

# Bytes of Batches that are looked through for a quad.
MAX_PEEK = 1 << 26

_QUADS_OF = {
    LogicalType.FLAT_TRIPLES: LogicalType.FLAT_QUADS,
    LogicalType.GRAPHS: LogicalType.DATASETS,
    LogicalType.SUBJECT_GRAPHS: LogicalType.DATASETS,
}
_TRIPLES_OF = {LogicalType.FLAT_QUADS: LogicalType.FLAT_TRIPLES, LogicalType.DATASETS: LogicalType.GRAPHS}


@dataclass(frozen=True, slots=True)
class Conversion:
    """What `convert` did. The bytes are those of the files, compressed where they are. ``skipped`` holds line and
    message of the first lines that were left out, ``n_skipped`` says how many there were."""

    statements: int
    bytes_read: int
    bytes_written: int
    seconds: float
    n_skipped: int
    skipped: list[tuple[int, str]]


@checked(READING - {"format", "delimited"}, {"seekable"})
def convert(
    src: Any,
    dst: Any,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    options: StreamOptions | Mapping[str, Any] | None = None,
    strict: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    frame_rows: int = 256,
    frame_bytes: int = 1 << 20,
    delimited: bool = True,
    seekable: bool = False,
    progress: Progress | None = None,
    namespaces: Mapping[str, str] | None = None,
    writing: Mapping[str, Any] | None = None,
    **limits: Any,
) -> Conversion:
    """Read ``src`` and write it to ``dst`` in another format, or in the same one with other options.

    ``src`` and ``dst`` are what `Reader` and `Writer` take; suffixes choose format and compression where
    ``from_format`` and ``to_format`` do not. Jelly written from Jelly keeps stream options, namespaces and metadata,
    and the frames where those mean something (grouped streams, frames with metadata). Jelly written from text is a
    flat stream. ``options`` are others to write with: a `StreamOptions`, or a dict of the fields that change.

    ``strict``, ``on_error`` and ``limits`` go to the `Reader`, ``frame_rows``, ``frame_bytes``, ``delimited``
    and ``seekable`` to the `Writer`, as do the keywords ``writing`` that the format written has besides.
    ``namespaces`` (name to IRI) are declared in front of those that the source has, where the format written can.
    ``progress`` is called after each Batch with the bytes read, the bytes there are (None where that is not known) and
    the statements so far. A file that was being written is removed where something fails.

    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.convert(b'<a:s> <a:p> "o" .', out, from_format="nt").statements
    1
    >>> text = io.BytesIO()
    >>> jelly.convert(out.getvalue(), text, to_format="nt").statements, text.getvalue()
    (1, b'<a:s> <a:p> "o" .\\n')
    """
    began = time.perf_counter()
    reader = Reader(src, format=from_format, strict=strict, on_error=on_error, **limits)
    reader.source.expected = (reader.format.name, FORMATS, "from_format")
    with reader:
        batches = reader.source.watched(reader.batches(), progress)
        # The first Batch tells the options, so that a source that cannot be read leaves the destination alone.
        held, arity = _look(batches, reader)
        chosen = choose_options(options, reader, arity)
        if namespaces:
            chosen = chosen.replace(version=2)
        writer = Writer(
            dst,
            chosen,
            format=to_format,
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            delimited=delimited,
            seekable=seekable,
            **(writing or {}),
        )
        with writer:
            for name, iri in (namespaces or {}).items():
                writer.namespace(name, iri)
            batch: Batch | None
            while (batch := held.pop(0) if held else next(batches, None)) is not None:
                # Metadata belongs to its frame, so that frame has to stay one.
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)
                batch = None  # before the next one takes memory
    return Conversion(
        statements=writer.statements,
        bytes_read=reader.bytes_read,
        bytes_written=_size(writer),
        seconds=time.perf_counter() - began,
        n_skipped=reader.n_skipped,
        skipped=reader.skipped,
    )


def _look(batches: Iterator[Batch], reader: Reader) -> tuple[list[Batch], int]:
    """The first Batches, and whether the stream is one of triples or quads (3 or 4).

    Where quads may follow triples, as many as it takes to know; beyond MAX_PEEK bytes it is taken for one of quads.
    """
    held: list[Batch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if batch.arity == 4 or not reader.format.mixed:
            return held, batch.arity
        if size > MAX_PEEK:
            return held, 4
    return held, 3 if held else _arity(reader)


def _arity(reader: Reader) -> int:
    """3 or 4 for a source without a single statement."""
    if reader.format is JELLY:
        return 3 if reader.options is None or reader.options.physical_type == PhysicalType.TRIPLES else 4
    return 4 if reader.format.quads else 3


def _size(writer: Writer) -> int:
    """Bytes of what was written; those of the file where it is compressed."""
    if split_suffix(writer.name)[1] and os.path.isfile(writer.name):
        return os.path.getsize(writer.name)
    return writer.bytes_written


def choose_options(options: StreamOptions | Mapping[str, Any] | None, reader: Reader, arity: int) -> StreamOptions:
    """The options to write with what ``reader`` reads: those given, or those of the source with changes."""
    source = reader.options
    # Namespaces may come late, when the version is written already.
    version = source.version if source is not None else 2 if reader.format.namespaces else 0
    if isinstance(options, StreamOptions):
        if options.version == 0:
            options = options.replace(version=version)
        return options
    base = source or default_options(arity).replace(version=version)
    if not options:
        return base
    changes = dict(options)
    if "physical_type" in changes and "logical_type" not in changes:
        triples = changes["physical_type"] == PhysicalType.TRIPLES
        other = _TRIPLES_OF if triples else _QUADS_OF
        if triples != (base.physical_type == PhysicalType.TRIPLES):
            kind = base.logical_type
            changes["logical_type"] = other.get(kind, other.get(kind.base, LogicalType.UNSPECIFIED))
    return base.replace(**changes)
