"""Writing of sources as they are: Batches from a Reader to a Writer, with the frames and options of the input.

The options of a Jelly stream come from those of the input and from its first Batch; where a later one needs more, see
`jelly._streams.widening`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers, in_order
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._dataset.file import IndexedFile, JellyFile, open_indexed, watched
from jelly._dataset.output import Conversion, Input, bytes_of, written_bytes
from jelly._dataset.sources import Sources
from jelly._formats.registry import JELLY, VERSIONS, Format, table_kind
from jelly._options.layouts import Layout
from jelly._options.options import COLUMN_VERSION, ROW_VERSION, PhysicalType, StreamOptions
from jelly._streams.output_options import output_options
from jelly._streams.reader import Reader
from jelly._streams.widening import changed, missing, open_fields
from jelly._streams.writer import Writer
from jelly.errors import JellyOptionsError, JellyUnsupportedError

__all__ = ["look", "opened", "write_sources", "write_table", "without_graphs"]

# Rows of a Batch where nobody says.
BATCH_ROWS = 16384
# Bytes of Batches that are looked through for a quad.
MAX_PEEK = 1 << 26


def opened(sources: Sources, threads: int = 1, target: Format | None = None) -> Reader | Input | Indexed:
    """The sources as one stream, which may be written to a ``target``."""
    one = sources.single
    if one is None:
        return Input(sources, threads)
    reader = sources.reader(one)
    if threads > 1 and reader.format is JELLY and (file := _open_index(one, sources.settings, target)) is not None:
        reader.close()
        return Indexed(file, threads)
    return reader


def write_table(
    sources: Sources, dst: Any, target: Format, layout: Layout, progress: Progress | None, threads: int
) -> Conversion:
    """Write sources to a table of a kind."""
    began = time.perf_counter()
    settings = sources.settings
    one = sources.single
    if one is not None and settings.get("format") is None and table_kind(one) and not any(map(settings.get, VERSIONS)):
        from jelly._formats.table_files import read_table_file, write_table_file

        # The same columns, whatever their layout.
        with Workers(threads) as workers:
            rows = write_table_file(dst, read_table_file(one), kind=target.name, workers=workers)
        return Conversion(rows, bytes_of(one), bytes_of(dst), time.perf_counter() - began, 0, [])
    from jelly._formats.arrow_tables import BATCH_ROWS, RecordBatchBuilder
    from jelly._formats.table_files import write_record_batches

    maker = RecordBatchBuilder(layout, False, None, BATCH_ROWS)

    def columns(batch: Batch) -> list[Any]:
        return list(maker.run([(batch, 0, len(batch))]))

    with Workers(threads) as workers, opened(sources, threads, target) as reader:
        if isinstance(reader, Reader):
            reader.workers = workers
        made = (each for _, found in in_order(workers, reader.watched(progress), columns) for each in found)
        rows = write_record_batches(dst, maker.schema, made, kind=target.name, workers=workers)
    seconds = time.perf_counter() - began
    return Conversion(rows, reader.bytes_read, bytes_of(dst), seconds, reader.n_skipped, reader.skipped)


def write_sources(
    sources: Sources,
    dst: Any,
    target: Format,
    *,
    threads: int,
    to: str | None,
    options: StreamOptions | Mapping[str, Any] | None,
    progress: Progress | None,
    prefixes: Mapping[str, str],
    drop_graphs: bool,
    **writing: Any,
) -> Conversion:
    """Write sources as a stream of a format."""
    began = time.perf_counter()
    with Workers(threads) as workers, opened(sources, threads, target) as reader:
        if isinstance(reader, Reader):
            reader.workers = workers
        batches = reader.watched(progress)
        # The first Batch tells the options, so that a source that cannot be read leaves the destination alone.
        held, arity = look(batches, reader)
        # Namespaces may come late, when the version is written already.
        version = ROW_VERSION if reader.format.namespaces else 0
        star = sources.settings.get("star") is not None
        chosen = output_options(reader.options, arity, options, version=version, star=star)
        if drop_graphs:
            chosen = changed(chosen, {"physical_type": PhysicalType.TRIPLES})
        allowed = open_fields(options)
        # Namespaces may come late. A file can be written again then, a pipe cannot.
        late_version = 0
        if "version" in allowed and chosen.version != COLUMN_VERSION:
            if reader.options is None:
                late_version, chosen = chosen.version, chosen.replace(version=0)
            elif isinstance(reader, Input):
                late_version = ROW_VERSION
        if prefixes and chosen.version < ROW_VERSION:
            chosen = chosen.replace(version=ROW_VERSION)
        if held:
            first = without_graphs(held[0]) if drop_graphs else held[0]
            chosen = changed(chosen, missing(chosen, first, allowed))
        writer = Writer(dst, chosen, format=to, threads=workers, **writing)  # type: ignore[arg-type]
        writer.allow(allowed, version=late_version)
        with _advice(drop_graphs), writer:
            for name, iri in prefixes.items():
                writer.namespace(name, iri)
            batch: Batch | None
            while (batch := held.pop(0) if held else next(batches, None)) is not None:
                if drop_graphs:
                    for _, _, name, iri in batch.namespaces:
                        writer.namespace(name, iri)
                    batch = without_graphs(batch)
                # Metadata belongs to its frame, so that frame has to stay one.
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)
                batch = None  # before the next one takes memory
    return Conversion(
        statements=writer.statements,
        bytes_read=reader.bytes_read,
        bytes_written=written_bytes(writer),
        seconds=time.perf_counter() - began,
        n_skipped=reader.n_skipped,
        skipped=reader.skipped,
    )


def without_graphs(batch: Batch) -> Batch:
    """The statements as triples, without frames."""
    return select(batch, slice(None), triples=True)


@contextlib.contextmanager
def _advice(drop_graphs: bool) -> Iterator[None]:
    """Add to the error for a named graph that graphs can be dropped."""
    try:
        yield
    except (JellyUnsupportedError, JellyOptionsError) as error:
        if "named graph" in error.reason and not drop_graphs:
            error.reason += "; or drop the graphs with drop_graphs=True"
            error.args = (error.reason,)
        raise


class Indexed:
    """A Jelly file whose segments are read by several threads, as a `Reader` of one stream."""

    format = JELLY
    n_skipped = 0

    def __init__(self, file: IndexedFile[Any], threads: int) -> None:
        self._file = file
        self._threads = threads
        self.options = file.index.options
        self.bytes_read = 0
        self.skipped: list[tuple[int, str]] = []

    def __enter__(self) -> Indexed:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def watched(self, progress: Progress | None) -> Iterator[Batch]:
        yield from watched(self._file, self._threads, progress)
        self.bytes_read = self._file.index.size


def _open_index(src: Any, settings: dict[str, Any], target: Format | None) -> JellyFile | None:
    """A Jelly file that several threads can read, so that the output is that of one; None for another source."""
    limits = {name: value for name, value in settings.items() if name not in ("format", "strict", "on_error")}
    file = None if settings.get("strict") else open_indexed(JellyFile, src, limits)
    if file is None:
        return None
    # A Batch with metadata keeps its frames, so Batches must end where they do if one thread reads.
    rows = limits.get("batch_rows", BATCH_ROWS)
    if target is JELLY and any(key.statement % rows for key in file.index.keyframes):
        file.close()
        return None
    return file


def look(batches: Iterator[Batch], reader: Reader | Input | Indexed) -> tuple[list[Batch], int]:
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


def _arity(reader: Reader | Input | Indexed) -> int:
    """3 or 4 for a source without a single statement."""
    if reader.format is JELLY:
        return 3 if reader.options is None or reader.options.physical_type == PhysicalType.TRIPLES else 4
    return 4 if reader.format.quads else 3
