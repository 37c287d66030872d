"""Files that tasks read in parts: how a job is cut into tasks, and how these read. Independent of Spark, so that
workers load it quickly.

- `files`: which files there are, what their directories say, how they open. `lines`: parts of text.

>>> import jelly, os, tempfile
>>> from jelly.spark._parts.files import find_files
>>> folder = tempfile.mkdtemp()
>>> jelly.write(os.path.join(folder, "a.jelly"), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
1
>>> reading = Reading()
>>> [task] = reading.split(find_files(folder))
>>> [batch.to_pylist() for part in task for batch in reading.read(part, layout="ntriples")]
[[{'s': '<a:s>', 'p': '<a:p>', 'o': '<a:o>', 'g': None}]]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeAlias, TypeVar

import numpy as np

from jelly._bytes.cut import has_frames
from jelly._bytes.names import split_suffix
from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import KEEP, BlankNodes
from jelly._dataset.conditions.pattern import Pattern
from jelly._dataset.seekable.file import JellyFile, open_filtered, query_of
from jelly._formats.arrow_tables import Keep, from_batches, pa
from jelly._formats.filters import Query
from jelly._formats.index import reader_at
from jelly._formats.registry import JELLY, NQ, NT, SEEKING, TURTLE, Content, Format, find, having
from jelly._options.layouts import Layout
from jelly._options.settings import fitted
from jelly._streams.reader import Reader
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError, JellySyntaxError, MissingExtraError
from jelly.spark._parts.files import (
    NONE,
    READING_LIMITS,
    Directories,
    File,
    Paths,
    Said,
    Storage,
    absolute,
    find_files,
    fitting,
    in_directories,
    nothing_to_read,
    open_file,
    unknown_error,
    with_graphs,
)
from jelly.spark._parts.lines import can_be_cut, cut_evenly, read_lines

if TYPE_CHECKING:
    from jelly._options.keywords import SourceOptions

# The least and the most bytes per task. Starting a task takes about 50 ms; the most bytes take about a second.
_MIN_SPLIT_BYTES = 1 << 22
SPLIT_BYTES = 1 << 25
# Files whose filters are looked at when a job is planned.
_MAX_NARROWED = 64
# Tasks to make where the number of cores is not known.
TASKS = 16
# What a byte of compressed files, and of text that is read through pyoxigraph, counts.
_COST = 8
# Maximum files whose cuts are cached, because Spark plans again for every action.
_MAX_CUTS = 4096
# Rows of a record batch: more do not fit into the cache of a core on their way to Spark, and fewer cost more each.
BATCH_ROWS = 1 << 13


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a file that a task reads: all of it, or from ``first`` to before ``last``.

    Both are numbers of keyframes in Jelly. In N-Triples and N-Quads they are bytes, those of the compressed file if it
    is one, see `jelly.spark._parts.lines`.
    """

    file: File
    first: int = 0
    last: int | None = None
    said: Said = ()  # by its directories

    def __str__(self) -> str:
        begins = f" from {self.first}" if self.first else ""
        return self.file.path + begins + ("" if self.last is None else f" to {self.last}")

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file."""
        return self.first == 0 and self.last is None

    def check_size(self, size: int) -> None:
        """JellyFormatError if the file has another size now."""
        if size != self.file.size:
            raise JellyFormatError("the file has changed since the job was planned", source=self.file.path)

    def unsaid(self, query: Query | None) -> Query | None:
        """A query without the slots that the directories say: in the file they may be other ones."""
        known = {slot for slot, _ in self.said}
        return {slot: wanted for slot, wanted in (query or {}).items() if slot not in known} or None


Errors: TypeAlias = list[JellyError] | None
Rows: TypeAlias = Iterator[pa.RecordBatch]
Item = TypeVar("Item")

# Keyframe numbers are enough: the worker that reads a part reads the index too.
_cuts: dict[tuple[Any, ...], list[int]] = {}


@dataclass(frozen=True, slots=True)
class Reading:
    """How the files of a job are read: the same for its plan and for all of its tasks.

    ``format`` is that of all files; by default the suffix of each decides. ``storage`` goes to file systems of fsspec.
    ``blank_nodes`` says what becomes of their labels. ``limits`` are those of any format, such as ``max_line_bytes``; a
    file has those of its own. The names of the files must match ``glob``; ``skip_unknown`` leaves out those with the
    suffix of no format, which are an error otherwise, unless the tasks ``skip_errors``.
    """

    format: str | None = None
    storage: Storage = field(default_factory=dict, repr=False)
    blank_nodes: BlankNodes = KEEP
    limits: Mapping[str, int] = field(default_factory=dict)
    glob: str | None = None
    skip_unknown: bool = False
    skip_errors: bool = False

    @classmethod
    def of(cls, options: SourceOptions) -> Reading:
        """That of the keywords of a function.

        >>> Reading.of({"on_error": "skip", "max_names": 9})
        Reading(format=None, blank_nodes=BlankNodes(mode='scope', base=None, into=''), limits={'max_names': 9}, \
glob=None, skip_unknown=False, skip_errors=True)
        """
        labels = BlankNodes(options.get("blank_nodes") or "scope", options.get("skolem_base"))
        limits: Any = {name: value for name, value in options.items() if name in READING_LIMITS}
        return cls(
            options.get("format"), dict(options.get("storage") or {}), labels, limits, options.get("glob"),
            options.get("skip_unknown", False), options.get("on_error") == "skip",
        )  # fmt: skip

    def open(self, path: str) -> BinaryIO:
        """Open the path or URL of a file."""
        return open_file(self.storage, path)

    def of_file(self, file: File, content: Content = Content.STATEMENTS) -> tuple[Format, dict[str, Any]]:
        """The format of a file, and the keywords for its limits: those that are set, others by its size.

        >>> Reading(limits={"max_expansion": 9, "max_names": 9}).of_file(File("a.nt", 1 << 30, 0.0))[1]
        {'max_line_bytes': 17179869184, 'max_expansion': 9}
        """
        form = find(self.format, file.name, content=content)
        return form, fitted(having(self.limits, form.reading), form.reading, file.size)

    def _form(self, file: File, content: Content = Content.STATEMENTS) -> Format | None:
        try:
            return find(self.format, file.name, content=content)
        except JellyError:
            return None  # the task that reads it will raise the error

    def cost(self, file: File) -> int:
        """The weight of a byte of a file: 8 if it is compressed, and 8 times as much if its format is a slow one."""
        form = self._form(file)
        slow = form is not None and form.codec == TURTLE.codec
        return (_COST if split_suffix(file.name)[1] else 1) * (_COST if slow else 1)

    def _is_jelly(self, file: File) -> bool:
        """Whether a file is Jelly that may have an index."""
        return self._form(file) is JELLY and split_suffix(file.name)[1] in ("", ".zst")

    # ---- the plan

    def sources(self, src: Paths, allow_empty: bool) -> tuple[list[str], list[File], list[str]]:
        """The paths that a job reads, their files, and the paths of those that it leaves out, see `known`.

        No files at all are an error without ``allow_empty``.
        """
        paths = absolute(src)
        files, left_out = self.known(find_files(paths, pattern=self.glob, storage=self.storage))
        if not files and not allow_empty:
            raise nothing_to_read(paths, self.glob)
        return paths, files, [file.path for file in left_out]

    def known(
        self, files: Sequence[File], content: Content = Content.STATEMENTS
    ) -> tuple[list[File], list[File]]:
        """The files to read, and those that are left out because of their suffix.

        >>> files = [File("a.nt", 1, 0.0), File("README.md", 1, 0.0)]
        >>> [file.name for file in Reading(skip_unknown=True).known(files)[1]]
        ['README.md']
        """
        unknown = [file for file in files if self._form(file, content) is None]
        if self.skip_unknown:
            unwanted = set(unknown)
            return [file for file in files if file not in unwanted], unknown
        if unknown and not self.skip_errors:
            raise unknown_error(unknown)
        return [*files], []

    def split(
        self,
        files: Iterable[File],
        split_bytes: int | None = None,
        *,
        cut_lines: bool = True,
        directories: Directories = NONE,
        tasks: int = TASKS,
    ) -> list[list[Part]]:
        """Tasks of about ``split_bytes``, each a list of parts, in the order of the files. By default about so many
        ``tasks``, but of 4 to 32 MiB.

        A Jelly file that has an index or a sidecar and is larger becomes several parts, also if it is compressed and
        seekable, and with ``cut_lines`` so do N-Triples and N-Quads, not compressed or of many frames of zstd, members
        of gzip or streams of bz2. Any other file is one; small ones share a task. Their bytes are multiplied by their
        `cost`. ``directories`` say what their files hold.
        """
        files = list(files)
        if split_bytes is None:
            total = sum(file.size * self.cost(file) for file in files)
            split_bytes = min(max(-(-total // tasks), _MIN_SPLIT_BYTES), SPLIT_BYTES)
        if split_bytes < 1:
            raise JellyOptionsError("split_bytes must be at least 1")
        made: Shares[Part] = Shares(split_bytes)
        for file in files:
            size = file.size * self.cost(file)
            is_cut = size > split_bytes and (self._is_jelly(file) or cut_lines and self._form(file) in (NT, NQ))
            cuts = self._find_cuts(file, split_bytes) if is_cut else [0]
            said = directories.said(file.path)
            if len(cuts) > 1:
                for first, last in zip(cuts, [*cuts[1:], None], strict=True):
                    made.add_share([Part(file, first, last, said)])
            else:
                made.add(Part(file, said=said), size)
        return made.made

    def _find_cuts(self, file: File, split_bytes: int) -> list[int]:
        """The keyframes or bytes at which the parts of a file begin; [0] if it cannot be cut."""
        form = self._form(file)
        key = file, form, split_bytes, tuple(self.limits.items())
        found = _cuts.get(key) or (self._find_keyframes if form is JELLY else self._find_bytes)(file, split_bytes)
        if found is None:
            return [0]
        _cuts[key] = found
        if len(_cuts) > _MAX_CUTS:
            _cuts.pop(next(iter(_cuts)), None)
        return found

    def _find_bytes(self, file: File, split_bytes: int) -> list[int] | None:
        try:
            with self.open(file.path) as opened:
                if can_be_cut(opened):
                    return cut_evenly(file.size, split_bytes)
                has = has_frames(reader_at(opened), file.size)
                return cut_evenly(file.size, split_bytes // _COST) if has else None
        except OSError:
            return None  # a task reports it

    def _find_keyframes(self, file: File, split_bytes: int) -> list[int] | None:
        try:
            with JellyFile(file.path, opener=self.open, **having(self.limits, SEEKING)) as opened:
                # Of what a compressed file holds.
                offsets, size = [keyframe.offset for keyframe in opened.index.keyframes], opened.index.size
        except (JellyError, OSError, ValueError):
            # It has no index or is not seekable. A task that reads the whole file reports errors.
            return None
        # Parts of equal size instead of a small part at the end.
        n = -(-size // split_bytes)
        cuts = [0]
        for number, offset in enumerate(offsets):
            if offset >= len(cuts) * size / n:
                cuts.append(number)
        return cuts

    def narrowed(self, tasks: list[list[Part]], query: Query | None) -> list[list[Part]]:
        """The tasks without what filters in the indexes of files leave out. Small ones become one task.

        Of many files nothing is left out: opening them takes time, which their tasks can spend at once.
        """
        files = {part.file for task in tasks for part in task}
        if query is None or len(files) > _MAX_NARROWED:
            return tasks
        found = {file: self._matching(file.path, query) for file in files}
        made: Shares[Part] = Shares(_MIN_SPLIT_BYTES)
        for task in tasks:
            known = [found[part.file] if part.unsaid(query) == query else None for part in task]
            if not any(known):
                made.add_share(task)
                continue
            for part, matching in zip(task, known, strict=True):
                size = part.file.size * self.cost(part.file)
                if matching is not None:
                    numbers, offsets = matching
                    last = len(offsets) - 1 if part.last is None else part.last
                    numbers = [number for number in numbers if part.first <= number < last]
                    if not numbers:
                        continue
                    part = replace(part, first=numbers[0], last=numbers[-1] + 1)
                    size = sum(offsets[number + 1] - offsets[number] for number in numbers)
                made.add(part, size)
        return made.made

    def _matching(self, path: str, query: Query) -> tuple[list[int], list[int]] | None:
        """The numbers of the segments that may match a query, and where all segments begin; None without filters."""
        file = open_filtered(path, {"format": self.format, **having(self.limits, SEEKING)}, self.open)
        if file is None:
            return None
        with file:
            return file.matching(query) or [], [*(key.offset for key in file.index.keyframes), file.index.size]

    # ---- the tasks

    def read(
        self,
        part: Part,
        *,
        layout: Layout = "flat",
        columns: Sequence[str] | None = None,
        keep: Pattern | None = None,
        errors: Errors = None,
    ) -> Rows:
        """The statements of a part as record batches of plain strings; ``layout`` and ``columns`` as in `read_arrow`.

        ``keep`` chooses rows of each Batch, with the labels of `blank_nodes`. With ``errors``, what is broken is noted
        there (file, frame, byte offset) instead of being raised: of N-Triples and N-Quads the line is left out, of
        Jelly what comes up to the next keyframe of the part, of other formats the rest of the file. Errors that are not
        those of the data are raised in any case.
        """
        rows: Keep | None = None if keep is None else keep.rows
        batches = self._scoped(part, errors, query_of(keep, self.blank_nodes))
        if errors is None or not part.said:
            batches = in_directories(part.said, part.file.path, batches, errors)
        else:  # the rows that are left keep their numbers and frames
            batches, rows = with_graphs(part.said, batches), _chosen(part, errors, rows)
        try:
            yield from from_batches(batches, layout=layout, columns=columns, batch_rows=BATCH_ROWS, keep=rows)
        except JellyError as error:
            error.source = error.source or part.file.path
            raise

    def batches(self, part: Part, *, errors: Errors = None, query: Query | None = None) -> Iterator[Batch]:
        """The statements of a part as Batches. ``errors`` is that of `read`.

        Segments of Jelly in which filters find nothing of ``query`` are left out.
        """
        return in_directories(part.said, part.file.path, self._scoped(part, errors, query), errors)

    def _scoped(self, part: Part, errors: Errors, query: Query | None) -> Iterator[Batch]:
        """The statements of a part without what its directories say, with blank nodes as they should be."""
        return self.blank_nodes.batches(part.file.path, self._batches(part, errors, part.unsaid(query)))

    def _batches(self, part: Part, errors: Errors, query: Query | None) -> Iterator[Batch]:
        if query is not None and part.is_whole:
            kept = self.narrowed([[part]], query)
            if not kept:
                return
            [[part]] = kept
        path = part.file.path
        if part.is_whole:
            with noted(path, errors):
                yield from self._whole(part, errors)
        elif (form := find(self.format, part.file.name)) in (NT, NQ):
            with self.open(path) as opened:
                part.check_size(opened.seek(0, os.SEEK_END))
                own = self.of_file(part.file)[1]
                with noted(path, errors):
                    yield from read_lines(
                        opened, form, part.first, part.last, source=path, batch_rows=BATCH_ROWS, errors=errors, **own
                    )
        else:
            yield from self._keyframes(part, errors, query)

    def _whole(self, part: Part, errors: Errors) -> Iterator[Batch]:
        """The statements of a whole file."""
        path, (form, own) = part.file.path, self.of_file(part.file)
        mode: Any = "skip" if errors is not None and form in (NT, NQ) else "raise"  # one statement per line
        with (
            self.open(path) as opened,
            Reader(opened, format=form.name, on_error=mode, batch_rows=BATCH_ROWS, **own) as reader,
        ):
            try:
                yield from reader.batches()
            finally:
                if errors is not None:
                    errors += [JellySyntaxError(why, line=line, source=path) for line, why in reader.skipped]
                    if more := reader.n_skipped - len(reader.skipped):
                        errors.append(JellySyntaxError(f"{more} more lines were left out", source=path))

    def _keyframes(self, part: Part, errors: Errors, query: Query | None) -> Iterator[Batch]:
        """The statements of some segments of a Jelly file."""
        path = part.file.path
        with JellyFile(path, opener=self.open, batch_rows=BATCH_ROWS, **having(self.limits, SEEKING)) as file:
            part.check_size(file.n_bytes)
            numbers = file.matching(query)
            if errors is None and numbers is None:
                yield from file.batches(first=part.first, last=part.last)
                return
            wanted = range(len(file.index.keyframes))[part.first : part.last]
            for number in wanted if numbers is None else [number for number in numbers if number in wanted]:
                with noted(path, errors):
                    yield from file.batches(first=number, last=number + 1)


def _chosen(part: Part, errors: Errors, keep: Keep | None) -> Keep:
    """A function: the rows of a Batch that ``keep`` chooses and that fit the directories of the part."""
    known: tuple[Batch | None, Any] = None, None

    def rows(batch: Batch) -> Any:
        nonlocal known
        if known[0] is not batch:  # errors are noted once
            fits = fitting(part.said, part.file.path, batch, errors)
            kept = np.arange(len(batch)) if keep is None else keep(batch)
            known = batch, kept if fits is None else np.intersect1d(kept, fits)
        return known[1]

    return rows


class Shares(Generic[Item]):
    """Lists of items: small ones share a list, of at most ``most`` bytes."""

    def __init__(self, most: int) -> None:
        self.made: list[list[Item]] = []
        self._most = most
        self._room = 0

    def add_share(self, share: list[Item]) -> None:
        """A list by itself."""
        self.made.append(share)
        self._room = 0

    def add(self, item: Item, size: int) -> None:
        if not self.made or size > self._room:
            self.made.append([])
            self._room = self._most
        self.made[-1].append(item)
        self._room -= size


@contextmanager
def noted(path: str, errors: Errors) -> Iterator[None]:
    """Append an error of the data of a file to ``errors``; any other error is raised."""
    try:
        yield
    except JellyError as error:
        error.source = path
        if errors is None or isinstance(error, MissingExtraError | JellyOptionsError):
            raise
        errors.append(error)
