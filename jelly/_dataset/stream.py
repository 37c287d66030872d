"""Sources as one stream of Batches, and what is known of them when they are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import chain
from operator import index
from threading import Lock
from typing import Any

from jelly._bytes.names import is_path, name_of
from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers, pipelined
from jelly._core.base.batch import Batch
from jelly._core.rules.needs import refuse_quoted
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._dataset.seekable.file import Condition, Indexed, JellyFile, open_filtered, open_index, query_of
from jelly._dataset.sources import Sources, is_table
from jelly._dataset.steps.order import Run, merged
from jelly._formats.filters import Query
from jelly._formats.registry import JELLY, THRIFT, Format, having
from jelly._options.options import COLUMN_VERSION, PhysicalType, StreamOptions
from jelly._streams.rdf_version import changes
from jelly._streams.reader import Frame, Reader, frames_of, whole_frame

# Rows of a Batch of Jelly where nobody says.
BATCH_ROWS = 16384


@dataclass(eq=False, repr=False)
class Stream:
    """Sources as one stream of Batches: one after the other, or merged where each is ``sorted_by`` an order.

    More threads than one read ahead: pieces of a text, segments of Jelly files with an index, several sources. The
    Batches of a source are all of triples or all of quads; not so with ``as_is``, where nobody searches for quads
    before. With ``to_jelly`` the Batches of one source end where they do if one thread reads, and of several each one
    without frames ends with the end of one: where frames are messages, it is a message.
    """

    sources: Sources
    threads: int | Workers = 1
    sorted_by: str | None = None
    unique: bool = False
    _: KW_ONLY
    as_is: bool = False
    to_jelly: bool = False

    def __post_init__(self) -> None:
        self.is_one: bool = len(self.sources.each) == 1
        # What reads a source, by its number. Threads begin and end them.
        self._reading: dict[int, Any] = {}
        self._begun: dict[int, Iterator[Batch]] = {}
        self._skipped: dict[int, list[tuple[int, str]]] = {}
        self._lock = Lock()
        self._bytes = 0  # of sources that were read to their ends
        self._size: int | None = None
        self.n_skipped = self.rows = 0
        # Stream options of sources of rows and of sources of columns that have quoted triples, unless `star=` is given.
        self._quoted: dict[bool, StreamOptions] = {}
        self.options: StreamOptions | None = None  # of the first source, if it is Jelly
        # The second: a Jelly stream of quads, whose statements need not name a graph.
        self._is_begun = self.has_graphs = self.has_quads = False
        self.namespaces: dict[str, str] = {}
        # That of one source. Several may have triples, then quads, and namespaces, as RDF Thrift has.
        self.format: Format = THRIFT

    @property
    def is_mixed(self) -> bool:
        """Whether Batches of quads may follow Batches of triples."""
        return self.format.mixed and (self.as_is or not self.is_one)

    @property
    def has_star(self) -> bool:
        """Whether the caller has said what becomes of quoted triples."""
        return self.sources.settings.get("star") is not None

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, before decompression."""
        return self._bytes + sum(int(reader.bytes_read) for reader in list(self._reading.values()))

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Line number and error message of the first skipped lines of each source."""
        return [line for number in sorted(self._skipped) for line in self._skipped[number]]

    def refuse_quoted(self, batch: Batch, version: int) -> None:
        """Raise JellyOptionsError for a Batch whose quoted triples Jelly of this version would change, see `star=`."""
        refuse_quoted(batch, self._quoted.get(version != COLUMN_VERSION), version)

    def batches(self, condition: Condition | None = None) -> Iterator[Batch]:
        """The Batches; of files with filters those that may have rows of a condition."""
        return self._seen(condition, iter)

    def watched(self, progress: Progress | None = None, condition: Condition | None = None) -> Iterator[Batch]:
        """The Batches, as of `batches`, of which this notes what a writer asks for.

        ``progress`` is called after each, see `jelly.convert`.
        """
        return self._seen(condition, partial(self._watched, progress))

    def _seen(
        self, condition: Condition | None, seen: Callable[[Iterator[Batch]], Iterator[Batch]]
    ) -> Iterator[Batch]:
        query = query_of(condition, self.sources.labels)
        if self.sorted_by is not None:
            runs = [
                Run(seen(self._of(number)), self.sorted_by, name_of(source) or f"source {number}")
                for number, source in enumerate(self.sources.each)
            ]
            return merged(runs, self.sorted_by, self.unique)
        if self.is_one:
            return seen(self._of(0, query))
        if index(self.threads) <= 1:
            numbers = range(len(self.sources.each))
            return seen(chain.from_iterable(self._of(number, query) for number in numbers))
        return seen(self._ahead(query))

    def _watched(self, progress: Progress | None, batches: Iterator[Batch]) -> Iterator[Batch]:
        asks = not self.has_star
        if progress is not None and not self.is_one:
            self._size = self.sources.size
        for batch in batches:
            self.rows += len(batch)
            read = batch.options
            if not self._is_begun:
                first = getattr(self._reading.get(0), "options", None) if self.is_one else read
                self._is_begun, self.options = True, first
            if read is not None:
                self.has_quads |= read.physical_type > PhysicalType.TRIPLES
                if asks and len(batch.quoted):
                    self._quoted[read.version == COLUMN_VERSION] = read
            if batch.g is not None and not self.has_graphs:
                self.has_graphs = bool((batch.g >= 0).any())
            self.namespaces |= (entry[2:] for entry in batch.namespaces)
            yield batch
            del batch  # before the next one takes memory
            if progress is not None:
                progress(self.bytes_read, self._size, self.rows)

    # ---- sources

    def beginnings(self) -> Iterator[tuple[Batch, bool]]:
        """The first Batch of each source that has one, and whether namespaces may follow. What cannot be read again
        goes on after it."""
        for number, source in enumerate(self.sources.each):
            batches: Any = self._of(number)
            first = next(batches, None)
            reader = self._reading.pop(number, None)
            if isinstance(source, bytes) or (is_path(source) and os.path.isfile(source)):
                batches.close()  # there may be more files than a process can open
            else:
                self._begun[number] = batches if first is None else chain([first], batches)
            if first is not None:
                yield first, reader is not None and reader.format.namespaces

    def _of(self, number: int, query: Query | None = None) -> Iterator[Batch]:
        """The Batches of one source, with its blank nodes as they should be."""
        source = self.sources.each[number]
        if number in self._begun:
            yield from self._begun.pop(number)
            return
        reader = None if is_table(source) else self._open(source, query)
        batches = self._of_table(source) if reader is None else self._of_reader(number, reader)
        has_frames = reader is not None and reader.format is JELLY
        if self.to_jelly and not self.is_one and not has_frames:
            batches = _as_frame(batches)
        yield from self._labelled(number, batches)

    def _labelled(self, number: int, batches: Iterator[Batch]) -> Iterator[Batch]:
        return self.sources.labels.batches(self.sources.names[number], batches)

    def _of_table(self, source: Any) -> Iterator[Batch]:
        from jelly._formats.arrow_input import InputTable

        table = InputTable(source)
        change = changes(self.sources.settings.get("rdf"), self.sources.settings.get("star"))
        batches = table.batches(table.has_graphs())
        yield from batches if change is None else change(batches)

    def _open(self, source: Any, query: Query | None) -> Reader | Indexed:
        """The reader of a source. A file with an index is read in part, or by threads."""
        threads = index(self.threads) if self.is_one else 1
        file = None if query is None else open_filtered(source, self.sources.settings)
        if file is None and (threads > 1 or isinstance(source, JellyFile)):
            file = self._indexed(source)
        if file is None:
            return self.sources.reader(source)
        return Indexed(file, threads, query, closes=file is not source)

    def _of_reader(self, number: int, reader: Reader | Indexed) -> Iterator[Batch]:
        own: Workers | None = None
        if self.is_one:
            self.format = reader.format
            self._size = reader.size if isinstance(reader, Indexed) else reader.source.size
            if isinstance(self.threads, Workers):
                reader.workers = self.threads
            elif self.threads > 1:
                reader.workers = own = Workers(self.threads)
        self._reading[number] = reader
        with own or nullcontext(), reader:
            yield from reader.batches() if self.as_is else reader.uniform()
            if self.is_one and not self._is_begun:
                self.options = reader.options  # a log of Jelly-RDF 1.2 without messages has no Batch
        if reader.skipped:
            self._skipped[number] = reader.skipped
        with self._lock:
            self._bytes += reader.bytes_read
            self.n_skipped += reader.n_skipped
            self._reading.pop(number, None)

    def _ahead(self, query: Query | None) -> Iterator[Batch]:
        with ExitStack() as stack:
            yield from pipelined(self._tasks(stack, query), index(self.threads))

    def _tasks(self, stack: ExitStack, query: Query | None) -> Iterator[Callable[[], Iterator[Batch]]]:
        """The tasks of threads: each reads a source, or a segment of one."""
        for number, source in enumerate(self.sources.each):
            file = self._indexed(source)
            if file is None:
                yield partial(self._of, number, query)
                continue
            if file is not source:
                stack.enter_context(file)
            with self._lock:
                self._bytes += file.n_bytes
            for part in file.parts(query=query):
                yield partial(self._segment, number, file, part)

    def _segment(
        self, number: int, file: JellyFile, part: Callable[[], Iterator[tuple[Batch, int, int]]]
    ) -> Iterator[Batch]:
        return self._labelled(number, (batch for batch, _, _ in file.run([part])))

    def _indexed(self, source: Any) -> JellyFile | None:
        """The file with its index, if it has one, and if its segments can be read as they are."""
        if isinstance(source, JellyFile):
            return source
        settings = self.sources.settings
        if not is_path(source) or not os.path.isfile(source) or settings.get("strict"):
            return None
        file = open_index(source, settings if self.is_one else having(settings, JELLY.reading))
        # A Batch with metadata keeps its frames, so Batches of Jelly must end where they do if one thread reads.
        rows = settings.get("batch_rows", BATCH_ROWS)
        if file is not None and self.to_jelly and any(key.statement % rows for key in file.index.keyframes):
            file.close()
            return None
        return file

    def frames(self) -> Iterator[Frame]:
        """The frames of all sources, numbered from 0 on."""
        n = 0
        for number, source in enumerate(self.sources.each):
            reader = None if is_table(source) else self._open(source, None)
            batches = self._labelled(
                number, self._of_table(source) if reader is None else self._of_reader(number, reader)
            )
            has_frames = reader is not None and reader.format is JELLY
            for frame in frames_of(batches, n) if has_frames else [whole_frame(batches, n)]:
                yield frame
                n += 1


def _as_frame(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Batches, and then the end of their frame, if there are statements."""
    arity = 0
    for batch in batches:
        arity = max(arity, batch.arity if len(batch) else 0)
        yield batch
        del batch  # before the next one takes memory
    if arity:
        builder = BatchBuilder(arity)
        builder.end_frame()
        yield builder.batch
