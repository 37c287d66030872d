"""Writing of Batches that come from sources: the stream options of the output, and the result."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from jelly._bytes.names import AsText, is_path, is_text, name_of
from jelly._bytes.sink import Sink
from jelly._bytes.source import Progress, Source
from jelly._bytes.workers import Workers, in_order
from jelly._core.base.batch import Batch
from jelly._core.base.protobuf import _put_varint
from jelly._core.jelly.frame_reader import split_frames
from jelly._dataset.sources import Sources
from jelly._dataset.steps.step import Frames, Step, triples
from jelly._dataset.stream import Stream
from jelly._formats.registry import JELLY, REGISTRY, Content, Format, find, format_of
from jelly._formats.sniff import explainer
from jelly._html import html_table
from jelly._options.layouts import FOLDERS, LayoutWithValues, guess_layout
from jelly._options.options import COLUMN_VERSION, ROW_VERSION, PhysicalType, StreamOptions
from jelly._streams.inputs import ItemReader
from jelly._streams.outputs import changed, join_options, missing, open_fields, output_options
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError, JellyOptionsError, JellyUnsupportedError, need

Options = StreamOptions | Mapping[str, Any] | None

# Bytes of Batches that are looked through for a quad.
MAX_PEEK = 1 << 26


class Tabular:
    """The methods that all have that can be read as columns."""

    __slots__ = ()

    to_arrow: Callable[..., Any]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **columns: Any) -> Any:
        """Make a DataFrame of pandas, with the columns of `to_arrow`."""
        with need("pandas", "to_pandas needs pandas and pyarrow"):
            for name in ("pandas", "jelly._formats.arrow_tables"):
                import_module(name)
        return self.to_arrow(**columns).read_all().unify_dictionaries().to_pandas()

    def to_polars(self, **columns: Any) -> Any:
        """Make a DataFrame of polars, with the columns of `to_arrow`. `jelly.polars.scan_jelly` makes a LazyFrame."""
        from jelly._dataset.polars import pl

        return pl.from_arrow(self.to_arrow(**columns).read_all())


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

    Examples
    --------
    >>> import io, jelly
    >>> data = b"<a:s> <a:p> <a:o> .\\nno statement\\n"
    >>> done = jelly.convert(data, io.BytesIO(), format="nt", to="nq", on_error="skip")
    >>> done.statements, done.bytes_read, done.bytes_written, done.n_skipped
    (1, 33, 20, 1)
    """

    statements: int
    bytes_read: int
    bytes_written: int
    seconds: float
    n_skipped: int
    skipped: list[tuple[int, str]]
    messages: int = 0

    def _repr_html_(self) -> str:
        return html_table("jelly.Conversion", ["", ""], asdict(self).items())


def converted(began: float, source: Any, rows: int, size: int, messages: int = 0) -> Conversion:
    """The result of a conversion that has ended. ``source`` says what was read."""
    return Conversion(
        statements=rows,
        bytes_read=source.bytes_read,
        bytes_written=size,
        seconds=time.perf_counter() - began,
        n_skipped=source.n_skipped,
        skipped=source.skipped,
        messages=messages,
    )


def convert_items(
    reader: Any, open_writer: Callable[[], Any], progress: Progress | None, counted: str = "statements"
) -> Conversion:
    """Write all Batches of a reader of patches, message logs or results. ``counted`` is the attribute of the writer
    that has the number of its rows.

    The first Batch is read before the writer is opened: a source that cannot be read leaves the destination alone.
    """
    began = time.perf_counter()
    if isinstance(reader, ItemReader) and reader.source.explain is not None:
        reader.source.explain = explainer(reader.format.name, REGISTRY[reader.format.content], "format")
    with reader:
        batches = reader.watched(progress)
        batch = next(batches, None)
        with open_writer() as writer:
            while batch is not None:
                writer.add_batch(batch)
                batch = None  # before the next one takes memory
                batch = next(batches, None)
    return converted(began, reader, getattr(writer, counted), writer._sink.size, getattr(writer, "messages", 0))


def write_dataset(
    dataset: Any,
    dst: Any,
    to: str | None,
    layout: Any,
    progress: Progress | None,
    how: dict[str, Any],
    *of_graph: int,
) -> Conversion:
    """Write a `Dataset` to a file, or tables in a directory. ``of_graph`` is for property graphs."""
    began = time.perf_counter()
    threads = how.pop("threads", None) or dataset._threads
    target = None if layout in FOLDERS else find(to, name_of(dst), tables=True)
    if target is None or target.content is Content.TABLE:
        refuse_for_tables(how)
    if target is None:
        if layout == "ids" and dataset._sources.labels.mode == "skolemize":
            raise JellyArgumentError('layout="ids" does not go with blank_nodes="skolemize"')
        if not is_path(dst) or not isinstance(os.fspath(dst), str):
            raise JellyArgumentError(f"dst is {dst!r:.80}: expected the path of a directory")
    if how["drop_graphs"]:
        dataset = dataset._then(*dataset._steps, triples)
    sources, columns = dataset._sources, layout or dataset._layout
    with Workers(threads) as workers:
        if target is not None and dataset._sorted_by is None:
            done = _copied(sources, dataset._steps, dst, target, columns, how, workers)
            if done is not None:
                return Conversion(*done, time.perf_counter() - began, 0, [])
        flat = dataset._is_changed
        sources = sources.scoped() if layout == "ids" else sources
        source = dataset._stream(sources, workers, as_is=not flat, to_jelly=target is JELLY)
        batches: Any = dataset._run(source.watched(progress, dataset._condition))
        with contextlib.closing(batches):
            if layout == "ids":
                from jelly._dataset.ids.tables import write_ids

                rows, size = write_ids(dst, batches), bytes_of(dst)
            elif target is None:
                from jelly._dataset.tables.property_graph import write_property_graph

                rows, size = write_property_graph(dst, batches, *of_graph), bytes_of(dst)
            else:
                how |= {"flat": flat, "known": dataset._knows_all, "layout": columns}
                rows, size = write_stream(dst, batches, source, target, workers=workers, **how)
    return converted(began, source, rows, size)


def write_stream(
    dst: Any,
    batches: Iterator[Batch],
    source: Stream,
    format: Format,
    *,
    flat: bool = False,
    known: bool = False,
    examine: bool = False,
    options: Options = None,
    layout: LayoutWithValues = "flat",
    drop_graphs: bool | None = None,
    prefixes: Mapping[str, str] | None = None,
    workers: Workers | None = None,
    **writing: Any,
) -> tuple[int, int]:
    """Write Batches that come from a stream of sources: the numbers of statements and of bytes.

    ``flat`` says that steps have taken frames and namespaces away. ``known`` says that all sources were read when the
    first Batch comes. The first Batches decide the stream options, with ``examine`` those of each source, and are read
    before the output is opened: a source that cannot be read leaves it alone. Where a later Batch needs more, see
    `jelly._streams.outputs`. ``drop_graphs`` is None where users have no such keyword.
    """
    if format.content is Content.TABLE:
        return write_table(dst, batches, format, layout, workers or Workers(1))
    allowed = open_fields(options)
    held: list[Batch] = []
    # What is in a pipe cannot be written again: it announces what may come late.
    late: dict[str, Any] = {}
    examine = examine and format is JELLY and not source.is_one
    if not examine or (chosen := _for_all(source, options, allowed)) is None:
        held, arity = look(batches, source, format, known)
        chosen = output_options(source.options, arity, options, flat=flat, star=source.has_star)
        if flat:
            late = {"rdf_star": True, "generalized_statements": True}
        if flat or not source.is_one or (source.options is None and source.format.namespaces):
            late["version"] = ROW_VERSION
    if drop_graphs:
        chosen = changed(chosen, {"physical_type": PhysicalType.TRIPLES})
    if prefixes and chosen.version < ROW_VERSION:
        chosen = chosen.replace(version=ROW_VERSION)
    if held:
        chosen = changed(chosen, missing(chosen, held[0], allowed))
    writer = Writer(dst, chosen, format=format.name, threads=workers or 1, **writing)  # type: ignore[arg-type]
    writer.allow(allowed, {} if chosen.version == COLUMN_VERSION else late)
    with _advice(drop_graphs), writer:
        declared = dict(prefixes or {})
        for name, iri in declared.items():
            writer.namespace(name, iri)
        batch: Batch | None
        while (batch := held.pop(0) if held else next(batches, None)) is not None:
            if flat:
                if format is JELLY:
                    source.refuse_quoted(batch, chosen.version)
                _declare(writer, source, declared, batch)
            # Metadata belongs to its frame, so that frame has to stay one.
            writer.add_batch(batch, keep_frames=True if batch.metadata and not flat else None)
            batch = None  # before the next one takes memory
        if flat:  # what stands in Batches of which no statement was taken
            _declare(writer, source, declared)
    return writer.statements, writer._sink.size


def _declare(writer: Writer, source: Stream, declared: dict[str, str], batch: Batch | None = None) -> None:
    """Declare the namespaces that were read so far and not ``declared``, but for those that a Batch has itself."""
    if writer.format.namespaces and not source.namespaces.items() <= declared.items():
        own = {} if batch is None else {name: iri for _, _, name, iri in batch.namespaces}
        for name, iri in source.namespaces.items():
            if declared.get(name) != iri and own.get(name) != iri:
                writer.namespace(name, iri)
        declared |= source.namespaces


def _for_all(source: Stream, given: Options, allowed: frozenset[str]) -> StreamOptions | None:
    """The stream options for all sources, by the beginning of each; None if there are no statements."""
    each = []
    for first, has_namespaces in source.beginnings():
        version = ROW_VERSION if has_namespaces else 0
        made = output_options(first.options, first.arity, version=version, star=source.has_star)
        each.append(changed(made, missing(made, first, allowed)))
    return output_options(join_options(each), 4, given) if each else None


def look(
    batches: Iterator[Batch], source: Stream, format: Format = JELLY, known: bool = False
) -> tuple[list[Batch], int]:
    """The first Batch, and whether the stream is one of triples or quads (3 or 4).

    Where quads may follow triples, and ``format`` is Jelly, as many Batches as it takes to know; beyond MAX_PEEK bytes
    it is taken for one of quads.
    """
    held: list[Batch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if not known and (batch.arity == 4 or format is not JELLY or not source.is_mixed):
            return held, batch.arity
        if known or size > MAX_PEEK:
            break
    if held and not known:
        return held, 4 if size > MAX_PEEK else 3
    has_quads = source.has_graphs or source.has_quads
    return held, 4 if has_quads or (not source.rows and source.format.quads and source.format is not JELLY) else 3


@contextlib.contextmanager
def _advice(drop_graphs: bool | None) -> Iterator[None]:
    """Add to the error for a named graph that graphs can be dropped, where they can."""
    try:
        yield
    except (JellyUnsupportedError, JellyOptionsError) as error:
        if "named graph" in error.reason and drop_graphs is False:
            error.reason += "; or drop the graphs with drop_graphs=True"
        raise


# What the keywords of writing are where nobody gives them.
_DEFAULTS: dict[str, Any] = {"frame_bytes": 1_000_000, "delimited": True}


def refuse_for_tables(given: Mapping[str, Any]) -> None:
    """JellyArgumentError for a keyword of writing that tables do not have."""
    for name in _chosen(given):
        raise JellyArgumentError(f"{name}= does not go with tables")


def _chosen(given: Mapping[str, Any]) -> list[str]:
    """The keywords of writing that differ from their defaults."""
    return [name for name, value in given.items() if value and value != _DEFAULTS.get(name)]


def _copied_frames(
    sources: Sources, steps: Sequence[Step], dst: Any, how: Mapping[str, Any]
) -> tuple[int, int, int] | None:
    """Write frames as they are, if Jelly becomes its text form, or text Jelly."""
    src, *more = sources.each
    step, *others = steps or (Frames(slice(0, None)),)
    given = sources.settings
    if more or others or not isinstance(step, Frames) or given.keys() - {"format"} or sources.labels.mode != "keep":
        return None
    if not (is_text(dst) or is_text(src)) or _chosen(how):
        return None
    if format_of(src, given.get("format")) is not JELLY:
        return None
    from jelly._bytes.frame_text import FRAME, message

    with contextlib.closing(Source(src)) as source, source.named():
        found = [frame for _, frame in split_frames(map(bytes, source.chunks()))][step.wanted]
    rows = 0
    with Sink(AsText(getattr(dst, "dst", dst), step.wanted.start) if is_text(dst) else dst) as sink, source.named():
        for data in found:
            rows += sum(row.WhichOneof("row") in ("triple", "quad") for row in message(FRAME, data).rows)
            sink.write(_put_varint(len(data)) + data)
    return rows, source.bytes_read, sink.size


def write_table(
    dst: Any, batches: Iterator[Batch], format: Format, layout: LayoutWithValues, workers: Workers
) -> tuple[int, int]:
    """Write Batches as a table: the numbers of rows and of bytes."""
    from jelly._formats.arrow_tables import RecordBatchBuilder
    from jelly._formats.table_files import write_record_batches

    maker = RecordBatchBuilder(layout)

    def columns(batch: Batch) -> list[Any]:
        return list(maker.run([(batch, 0, len(batch))]))

    made = (each for _, found in in_order(workers, batches, columns) for each in found)
    return write_record_batches(dst, maker.schema, made, kind=format.name, workers=workers)


def _copied(
    sources: Sources,
    steps: Sequence[Step],
    dst: Any,
    target: Format,
    layout: str,
    how: Mapping[str, Any],
    workers: Workers,
) -> tuple[int, int, int] | None:
    """Write the columns of a table, or frames, as they are, if nothing but the form of the file is to change.

    The number of rows, and of the bytes read and written; None if statements are to be written.
    """
    table = None if steps else sources.table
    if target.content is not Content.TABLE or table is None:
        return _copied_frames(sources, steps, dst, how) if target is JELLY else None
    from jelly._formats.table_files import read_table_file, write_record_batches

    found = read_table_file(table)
    # "flat", which is the default, takes the columns that there are.
    if layout not in ("flat", guess_layout(found.schema.names).name):
        return None
    rows, size = write_record_batches(dst, found.schema, found, kind=target.name, workers=workers)
    return rows, bytes_of(table), size


def bytes_of(path: Any) -> int:
    """Bytes of a file, or of those in a directory; 0 if there is none."""
    if not is_path(path):
        return 0
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path) if os.path.isfile(path) else 0
