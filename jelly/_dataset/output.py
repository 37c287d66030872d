"""Batches of sources as one stream, and an output that they are written to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from jelly._bytes.names import name_of, split_suffix
from jelly._bytes.sink import SinkWriter
from jelly._bytes.source import Progress
from jelly._core.base.batch import Batch
from jelly._core.rules.needs import refuse_quoted
from jelly._dataset.segments import Condition
from jelly._dataset.sort import merged_sources
from jelly._dataset.sources import Sources
from jelly._formats.registry import JELLY, TABLE_FORMATS, THRIFT, find
from jelly._options.layouts import Layout
from jelly._options.options import COLUMN_VERSION, ROW_VERSION, PhysicalType, StreamOptions
from jelly._streams.output_options import output_options
from jelly._streams.reader import Reader
from jelly._streams.widening import changed, missing, open_fields
from jelly._streams.writer import Writer

__all__ = ["Conversion", "Input", "Options", "bytes_of", "write_batches", "written_bytes"]

Options = StreamOptions | Mapping[str, Any] | None


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


class Input:
    """Sources as one stream, and what is known of them when they were read; like a `Reader` for who writes it."""

    # As in these, there may be triples and then quads, and namespaces.
    format = THRIFT

    def __init__(
        self, sources: Sources, threads: int = 1, sorted_by: str | None = None, unique: bool = False
    ) -> None:
        self._sources = sources
        self._threads = threads
        self._sorted_by = sorted_by
        self._unique = unique
        # Stream options of sources of rows and of sources of columns that have quoted triples, unless `star=` is given.
        self._quoted: dict[bool, StreamOptions] = {}
        self._asks = sources.settings.get("star") is None
        self.rows = 0
        self.bytes_read = 0
        self.n_skipped = 0
        self.skipped: list[tuple[int, str]] = []
        self.has_graphs = False
        self.has_quads = False  # a Jelly stream of quads, whose statements need not name a graph
        self.options: StreamOptions | None = None  # of the first source, if it is Jelly
        self._is_read = False
        self.namespaces: dict[str, str] = {}

    @property
    def is_uniform(self) -> bool:
        """Whether all Batches are of triples, or all of quads: those of one source are."""
        return len(self._sources.each) == 1

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def watched(self, progress: Progress | None = None, condition: Condition | None = None) -> Iterator[Batch]:
        """The Batches of all sources: one after the other, or merged if each is sorted."""
        if self._sorted_by is not None:
            named = [
                (name_of(source) or f"source {number}", self._watched(self._sources.of(number, self._ended), progress))
                for number, source in enumerate(self._sources.each)
            ]
            return merged_sources(named, self._sorted_by, self._unique)
        return self._watched(self._sources.batches(self._threads, self._ended, condition), progress)

    def _ended(self, reader: Reader) -> None:
        self.bytes_read += reader.bytes_read
        self.n_skipped += reader.n_skipped
        self.skipped += reader.skipped

    def refuse_quoted(self, batch: Batch, version: int) -> None:
        """Raise JellyOptionsError for a Batch whose quoted triples Jelly of this version would change, see `star=`."""
        refuse_quoted(batch, self._quoted.get(version != COLUMN_VERSION), version)

    def _watched(self, batches: Iterable[Batch], progress: Progress | None) -> Iterator[Batch]:
        for batch in batches:
            self.rows += len(batch)
            read = batch.options
            if not self._is_read:
                self._is_read, self.options = True, read
            self.has_quads = self.has_quads or (read is not None and read.physical_type > PhysicalType.TRIPLES)
            if self._asks and batch.options is not None and len(batch.quoted):
                self._quoted[batch.options.version == COLUMN_VERSION] = batch.options
            if batch.g is not None and not self.has_graphs:
                self.has_graphs = bool((batch.g >= 0).any())
            for _, _, name, iri in batch.namespaces:
                self.namespaces[name] = iri
            yield batch
            del batch  # before the next one takes memory
            if progress is not None:
                progress(self.bytes_read, None, self.rows)


def write_batches(
    dst: Any,
    batches: Iterable[Batch],
    source: Input,
    *,
    known: bool = False,
    keep_frames: bool = False,
    to: str | None = None,
    options: Options = None,
    layout: Layout = "flat",
    **writing: Any,
) -> tuple[int, int]:
    """Write Batches: the numbers of statements and of bytes. The output gets its name when it is complete.

    ``known`` tells that all sources were read when the first Batch comes: then the stream options follow from what
    they have. Else those of a file follow what is written, and a pipe announces all that may come. With
    ``keep_frames`` the Batches have namespaces and frames of their own, which are kept as `jelly.convert` does.
    """
    name = os.fspath(dst) if isinstance(dst, str | os.PathLike) else getattr(dst, "name", "")
    is_path = isinstance(dst, str | os.PathLike) and os.fspath(dst) != "-"
    format = find(to, name if isinstance(name, str) else "", tables=True)
    if format.name in TABLE_FORMATS:
        rows = _write_table(dst, format.name, batches, layout)
        return rows, bytes_of(dst)
    iterator = iter(batches)
    first = next(iterator, None)
    allowed = open_fields(options)
    if format is JELLY and not isinstance(options, StreamOptions):
        quads = (source.has_graphs or source.has_quads) if known or first is None else first.arity == 4
        wide: dict[str, Any] = {}
        if not is_path:
            # What is in a pipe cannot be written again: it announces all that may come.
            if not known and first is not None and not source.is_uniform:
                wide["physical_type"], quads = PhysicalType.QUADS, True
            if output_options(source.options, 4, options).version != COLUMN_VERSION:
                wide |= {"rdf_star": True, "generalized_statements": True, "version": ROW_VERSION}
        given = wide | dict(options or {})
        options = output_options(source.options, 4 if quads else 3, given, flat=not keep_frames)
        allowed -= wide.keys()
        if first is not None:
            options = changed(options, missing(options, first, allowed))
    version = options.version if isinstance(options, StreamOptions) else 0
    with Writer(dst, options, format=to, **writing) as writer:
        writer.allow(allowed)
        declared: dict[str, str] = {}
        for batch in chain([] if first is None else [first], iterator):
            first = None
            if format is JELLY:
                source.refuse_quoted(batch, version)
            if keep_frames:
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)
                del batch  # before the next one takes memory
                continue
            if format.namespaces and declared != source.namespaces:
                own = [(prefix, iri) for _, _, prefix, iri in batch.namespaces]
                for prefix, iri in source.namespaces.items():
                    if declared.get(prefix) != iri and (prefix, iri) not in own:
                        writer.namespace(prefix, iri)
                declared = dict(source.namespaces)
            writer.add_batch(batch)
            del batch
    return writer.statements, written_bytes(writer)


def _write_table(dst: Any, kind: str, batches: Iterable[Batch], layout: Layout) -> int:
    from jelly._formats.arrow_tables import from_batches
    from jelly._formats.table_files import write_table_file

    return write_table_file(dst, from_batches(batches, layout=layout), kind=kind)


def bytes_of(path: Any) -> int:
    """Bytes of a file, or of those in a directory; 0 if there is none."""
    if not isinstance(path, str | os.PathLike):
        return 0
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path) if os.path.isfile(path) else 0


def written_bytes(writer: SinkWriter) -> int:
    """Bytes of what was written; those of the file where it is compressed."""
    if split_suffix(writer.name)[1] and os.path.isfile(writer.name):
        return os.path.getsize(writer.name)
    return writer.bytes_written
