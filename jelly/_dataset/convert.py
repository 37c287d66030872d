"""Conversion between formats: Batches from a Reader to a Writer.

The options of a Jelly stream come from those of the input and from its first Batch; where a later one needs more, see
`jelly._streams.widening`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jelly._bytes.names import name_of, split_suffix
from jelly._bytes.sink import SinkWriter
from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers, in_order
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import Mode
from jelly._dataset.file import IndexedFile, JellyFile, open_indexed, watched
from jelly._dataset.read import is_several
from jelly._dataset.sources import Sources
from jelly._formats.registry import (
    FORMATS,
    JELLY,
    READING,
    THRIFT,
    VERSIONS,
    Content,
    Format,
    find,
    table_kind,
)
from jelly._formats.sniff import explainer
from jelly._options.layouts import Layout
from jelly._options.options import COLUMN_VERSION, ROW_VERSION, PhysicalType, StreamOptions
from jelly._options.settings import checked
from jelly._streams.inputs import by_content
from jelly._streams.output_options import output_options
from jelly._streams.reader import Reader
from jelly._streams.widening import changed, missing, open_fields
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError, JellyOptionsError, JellyUnsupportedError

__all__ = ["Conversion", "choose_options", "convert", "look"]

# Rows of a Batch where nobody says.
BATCH_ROWS = 16384
# Bytes of Batches that are looked through for a quad.
MAX_PEEK = 1 << 26


@dataclass(frozen=True, slots=True)
class Conversion:
    """Result of `convert`.

    Attributes
    ----------
    statements : int
        Number of statements, operations of patches or rows of query results converted.
    bytes_read : int
        Bytes read from the source, before decompression.
    bytes_written : int
        Bytes written, after compression.
    seconds : float
        Duration in seconds.
    n_skipped : int
        Number of lines skipped because of ``on_error="skip"``.
    skipped : list of (int, str)
        Line number and error message of the first skipped lines.
    messages : int
        Number of messages, of a message log.
    """

    statements: int
    bytes_read: int
    bytes_written: int
    seconds: float
    n_skipped: int
    skipped: list[tuple[int, str]]
    messages: int = 0


@by_content
@checked(READING - {"format", "delimited"}, {"seekable", "index"}, VERSIONS)
def convert(
    src: Any,
    dst: Any,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    options: StreamOptions | Mapping[str, Any] | None = None,
    strict: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
    frame_rows: int | None = None,
    frame_bytes: int = 1_000_000,
    delimited: bool = True,
    seekable: bool = False,
    index: Literal["terms"] | None = None,
    progress: Progress | None = None,
    namespaces: Mapping[str, str] | None = None,
    writing: Mapping[str, Any] | None = None,
    layout: Layout | Literal["ids"] = "flat",
    threads: int = 1,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    drop_graphs: bool = False,
    content: Literal["statements", "patches", "messages", "results"] | None = None,
    **limits: Any,
) -> Conversion:
    """Convert a stream to another format, or rewrite it with other options.

    The formats decide whether it has statements, patches, messages or query results.

    The input or the output may be a table (Parquet, Arrow IPC or CSV; extra ``arrow``) with the columns of a layout of
    `jelly.arrow`. Options of what is written do not go with a table as the output.

    Jelly written from Jelly keeps the stream options (of several sources those of the first, as wide as all need),
    namespaces and metadata, and it keeps the frames where they have a meaning (grouped streams, frames with metadata).
    Jelly written from text is a flat stream.

    ``options={"version": 3}`` writes Jelly-RDF 1.2 (see `StreamOptions`), which is also what is written from
    Jelly-RDF 1.2 unless you ask for ``{"version": 2}`` or pass ``star=``. In both directions grouped
    streams become streams of messages, and the reverse. A
    quoted triple of RDF-star and a triple term of RDF 1.2 become each other only with ``star=`` (see `Reader`).

    Parameters
    ----------
    src : Any
        The input, as for `read`: also a list, a glob pattern, a directory, tables, URLs.
    dst : Any
        The output, as for `Writer`; for the layout ``"ids"`` a directory.
    from_format, to_format : str, optional
        Formats of input and output, also ``"parquet"``, ``"arrow"``, ``"arrows"`` or ``"csv"``. By default the suffixes
        decide.
    options : StreamOptions or mapping, optional
        Options of the Jelly stream that is written, or only the fields that change.
    strict : bool, default False
        See `Reader`.
    on_error : {"raise", "skip"}, default "raise"
        See `Reader`.
    frame_rows : int, optional
        Maximum rows per frame (0: unlimited). By default 256; in version 3 of Jelly 16384.
    frame_bytes : int, default 1 MB
        Maximum bytes per frame (0: unlimited); a larger statement has a frame of its own.
    delimited : bool, default True
        Write the length of each frame before it.
    seekable : bool, default False
        Write keyframes and an index, see `Writer`.
    index : {"terms"}, optional
        Also write filters of terms into the index, see `Writer`.
    progress : callable, optional
        Called after each Batch with the bytes read, the total bytes (None if unknown) and the number of statements.
    namespaces : mapping of str to str, optional
        Prefix declarations (prefix to IRI) to write before those of the source, if the output format supports prefixes.
    writing : mapping, optional
        Further keywords of the output format, see `Writer`.
    layout : {"flat", "ntriples", "ids"}, default "flat"
        Columns of a table that is written. With ``"ids"`` it is a directory, see `write_ids`.
    threads : int, default 1
        Number of threads that parse N-Triples and N-Quads, read several sources and segments of Jelly files with an
        index, encode ``seekable`` Jelly, and make lines of N-Triples and N-Quads. The output is the same for any
        number.
    blank_nodes : {"scope", "keep", "skolemize"}, optional
        Labels of blank nodes, see `find`: by default several sources have scopes, and one keeps its labels.
    skolem_base : str, optional
        What the IRIs of skolemized blank nodes begin with.
    drop_graphs : bool, default False
        Write all statements as triples, for a format without named graphs. A statement of two graphs is written twice.
    content : {"statements", "patches", "messages", "results"}, optional
        By default the first of both formats that does not hold statements decides, else it is ``"statements"``.
    **limits : Any
        Further keywords of `Reader`.

    Returns
    -------
    Conversion
        Counts, sizes and duration.

    Raises
    ------
    JellyArgumentError
        If a keyword does not go with the formats.
    JellyOptionsError
        If named graphs, namespaces, quoted triples or generalized statements appear after the output has started, and
        the output is not a path or the caller chose options without them. The message names the options to pass. If the
        output is a path and the options are free, the output is written again with wider options.
    JellyError
        If the input is wrong. The unfinished output file is removed.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.convert(b'<a:s> <a:p> "o" .', out, from_format="nt").statements
    1
    >>> text = io.BytesIO()
    >>> jelly.convert(out.getvalue(), text, to_format="nt").statements, text.getvalue()
    (1, b'<a:s> <a:p> "o" .\\n')
    """
    began = time.perf_counter()
    given = {"strict": strict, "on_error": on_error} | limits
    target = find(to_format, name_of(dst), tables=True) if layout != "ids" else None
    if target is None or target.content is Content.TABLE:
        framing = {"frame_rows": frame_rows is not None, "frame_bytes": frame_bytes != 1_000_000}
        places = {"delimited": not delimited, "seekable": seekable, "index": index}
        others = {"options": options, "namespaces": namespaces, "writing": writing, "drop_graphs": drop_graphs}
        for name, is_given in (framing | places | others).items():
            if is_given:
                raise JellyArgumentError(f"{name}= does not go with tables")
    if target is None:
        return _convert_to_ids(src, dst, began, threads, blank_nodes, {"format": from_format} | given)
    versions = any(limits.get(name) is not None for name in VERSIONS)
    if target.content is Content.TABLE and from_format is None and table_kind(src) and not versions:
        from jelly._formats.table_files import read_table_file, write_table_file

        # The same columns, whatever their layout.
        with Workers(threads) as workers:
            rows = write_table_file(dst, read_table_file(src), kind=target.name, workers=workers)
        return Conversion(rows, _bytes_of(src), _bytes_of(dst), time.perf_counter() - began, 0, [])
    reader: Reader | _Several | Indexed
    if blank_nodes is not None or is_several(src):
        reader = _Several(Sources(src, blank_nodes, skolem_base, format=from_format, **given), threads)
    else:
        reader = Reader(src, format=from_format, **given)
        reader.source.explain = explainer(reader.format.name, FORMATS, "from_format")
        if threads > 1 and reader.format is JELLY and (file := _open_index(src, given, target)) is not None:
            reader.close()
            reader = Indexed(file, threads)
    if target.content is Content.TABLE and layout != "ids":
        return _convert_to_table(reader, dst, target.name, layout, progress, began, threads)
    with Workers(threads) as workers, reader:
        if isinstance(reader, Reader):
            reader.workers = workers
        batches = reader.watched(progress)
        # The first Batch tells the options, so that a source that cannot be read leaves the destination alone.
        held, arity = look(batches, reader)
        chosen = choose_options(options, reader, arity, given.get("star") is not None)
        if drop_graphs:
            chosen = changed(chosen, {"physical_type": PhysicalType.TRIPLES})
        allowed = open_fields(options)
        # Namespaces may come late. A file can be written again then, a pipe cannot.
        late_version = 0
        if "version" in allowed and chosen.version != COLUMN_VERSION:
            if reader.options is None:
                late_version, chosen = chosen.version, chosen.replace(version=0)
            elif isinstance(reader, _Several):
                late_version = ROW_VERSION
        if namespaces and chosen.version < ROW_VERSION:
            chosen = chosen.replace(version=ROW_VERSION)
        if held:
            first = _without_graphs(held[0]) if drop_graphs else held[0]
            chosen = changed(chosen, missing(chosen, first, allowed))
        writer = Writer(
            dst,
            chosen,
            format=to_format,
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            delimited=delimited,
            seekable=seekable,
            index=index,
            threads=workers,  # type: ignore[arg-type]
            **(writing or {}),
        )
        writer.allow(allowed, version=late_version)
        with _advice(drop_graphs), writer:
            for name, iri in (namespaces or {}).items():
                writer.namespace(name, iri)
            batch: Batch | None
            while (batch := held.pop(0) if held else next(batches, None)) is not None:
                if drop_graphs:
                    for _, _, name, iri in batch.namespaces:
                        writer.namespace(name, iri)
                    batch = _without_graphs(batch)
                # Metadata belongs to its frame, so that frame has to stay one.
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)
                batch = None  # before the next one takes memory
    return Conversion(
        statements=writer.statements,
        bytes_read=reader.bytes_read,
        bytes_written=size_of(writer),
        seconds=time.perf_counter() - began,
        n_skipped=reader.n_skipped,
        skipped=reader.skipped,
    )


def _without_graphs(batch: Batch) -> Batch:
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


class _Several:
    """Several sources, as a `Reader` of one stream, with the stream options of the first."""

    options: StreamOptions | None = None
    # As in these, there may be triples and then quads, and namespaces.
    format = THRIFT

    def __init__(self, sources: Sources, threads: int = 1) -> None:
        self._sources = sources
        self._threads = threads
        self.bytes_read = 0
        self.n_skipped = 0
        self.skipped: list[tuple[int, str]] = []

    def __enter__(self) -> _Several:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def watched(self, progress: Progress | None) -> Iterator[Batch]:
        rows = 0
        first = True
        for batch in self._sources.batches(self._threads, self._ended):
            if first:
                self.options, first = batch.options, False
            yield batch
            rows += len(batch)
            del batch  # before the next one takes memory
            if progress is not None:
                progress(self.bytes_read, None, rows)

    def _ended(self, reader: Reader) -> None:
        self.bytes_read += reader.bytes_read
        self.n_skipped += reader.n_skipped
        self.skipped += reader.skipped


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


def _open_index(src: Any, settings: dict[str, Any], target: Format) -> JellyFile | None:
    """A Jelly file that several threads can read, so that the output is that of one; None for another source."""
    limits = {name: value for name, value in settings.items() if name not in ("strict", "on_error")}
    file = None if settings["strict"] else open_indexed(JellyFile, src, limits)
    if file is None:
        return None
    # A Batch with metadata keeps its frames, so Batches must end where they do if one thread reads.
    rows = limits.get("batch_rows", BATCH_ROWS)
    if target is JELLY and any(key.statement % rows for key in file.index.keyframes):
        file.close()
        return None
    return file


def _convert_to_table(
    reader: Reader | _Several | Indexed,
    dst: Any,
    kind: str,
    layout: Layout,
    progress: Progress | None,
    began: float,
    threads: int,
) -> Conversion:
    from jelly._formats.arrow_tables import BATCH_ROWS, RecordBatchBuilder
    from jelly._formats.table_files import write_record_batches

    maker = RecordBatchBuilder(layout, False, None, BATCH_ROWS)

    def columns(batch: Batch) -> list[Any]:
        return list(maker.run([(batch, 0, len(batch))]))

    with Workers(threads) as workers, reader:
        if isinstance(reader, Reader):
            reader.workers = workers
        made = (each for _, found in in_order(workers, reader.watched(progress), columns) for each in found)
        rows = write_record_batches(dst, maker.schema, made, kind=kind, workers=workers)
    seconds = time.perf_counter() - began
    return Conversion(rows, reader.bytes_read, _bytes_of(dst), seconds, reader.n_skipped, reader.skipped)


def _convert_to_ids(
    src: Any, dst: Any, began: float, threads: int, blank_nodes: Mode | None, settings: dict[str, Any]
) -> Conversion:
    from jelly._dataset.id_tables import write_ids

    if blank_nodes == "skolemize":
        raise JellyArgumentError('blank_nodes="skolemize" does not go with layout="ids": blank nodes are nodes there')
    rows = write_ids(dst, src, scope=blank_nodes != "keep", threads=threads, **settings)
    return Conversion(rows, _bytes_of(src), _bytes_of(dst), time.perf_counter() - began, 0, [])


def _bytes_of(path: Any) -> int:
    """Bytes of a file, or of those in a directory; 0 if there is none."""
    if not isinstance(path, str | os.PathLike):
        return 0
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path) if os.path.isfile(path) else 0


def look(batches: Iterator[Batch], reader: Reader | _Several | Indexed) -> tuple[list[Batch], int]:
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


def _arity(reader: Reader | _Several | Indexed) -> int:
    """3 or 4 for a source without a single statement."""
    if reader.format is JELLY:
        return 3 if reader.options is None or reader.options.physical_type == PhysicalType.TRIPLES else 4
    return 4 if reader.format.quads else 3


def size_of(writer: SinkWriter) -> int:
    """Bytes of what was written; those of the file where it is compressed."""
    if split_suffix(writer.name)[1] and os.path.isfile(writer.name):
        return os.path.getsize(writer.name)
    return writer.bytes_written


def choose_options(
    options: StreamOptions | Mapping[str, Any] | None,
    reader: Reader | _Several | Indexed,
    arity: int,
    is_asked: bool = False,
) -> StreamOptions:
    """The options to write with what ``reader`` reads: those given, or those of the source with changes.

    ``is_asked`` tells that ``star=`` says what becomes of quoted triples.
    """
    source = reader.options
    # Namespaces may come late, when the version is written already.
    version = min(source.version, ROW_VERSION) if source is not None else 2 if reader.format.namespaces else 0
    if isinstance(options, StreamOptions):
        if options.version == 0:
            options = options.replace(version=version)
        return options
    fields = dict(options or {})
    if is_asked and source is not None and source.version in (0, COLUMN_VERSION):
        fields = {"version": ROW_VERSION, **fields}  # rows have all that `star=` makes
    base = source if source is not None else output_options(None, arity).replace(version=version)
    return output_options(base, arity, fields)
