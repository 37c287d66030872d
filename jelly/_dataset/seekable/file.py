"""``jelly.open``: random access to a Jelly file with an index. The base class also serves files of patches."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Literal, Protocol, TypeVar, overload

from jelly._bytes.names import Closing, is_open_file, is_path, is_remote, is_web, split_suffix
from jelly._bytes.source import MAX_EXPANSION, Progress, open_local
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._core.terms.statements import Quad, Triple
from jelly._dataset.seekable.keyframes import read_segment
from jelly._dataset.seekable.sidecar import make_sidecar, read_sidecar
from jelly._formats.filters import Filters, Query, read_filters
from jelly._formats.index import (
    Index,
    Keyframe,
    chunks_of,
    first_options,
    plain_view,
    read_index,
    refuse_closed,
)
from jelly._formats.registry import COMMON, JELLY, JELLY_PATCH, SEEKING, Content, Format, content_of, find
from jelly._formats.sniff import HEAD, refuse_other
from jelly._html import html_table
from jelly._options.options import StreamOptions
from jelly._options.settings import checked, fitted
from jelly._streams.inputs import of_content
from jelly._streams.reader import Frame, frames_of
from jelly.errors import JellyArgumentError, JellyError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._dataset.blank_node_scope import BlankNodes
    from jelly._options.keywords import ReadOptions
    from jelly.patch._stream import PatchFile

Item = TypeVar("Item")
# Items of a file that a notebook shows.
_SHOWN = 10
Opened = TypeVar("Opened", bound="IndexedFile[Any]")
T = TypeVar("T")


class IndexedFile(Closing, Generic[Item]):
    """Base of `JellyFile` and `jelly.patch.PatchFile`: a file of items with an index or a sidecar file."""

    _patch = False
    _item = "statement"
    _check = False  # what cannot be used is an error, and not ignored

    @checked(SEEKING)
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        opener: Callable[[str], BinaryIO] = open_local,
        **limits: Unpack[ReadOptions],
    ) -> None:
        self.path: str = os.fsdecode(path)
        self._file: Any = opener(self.path)
        try:
            expansion = limits.pop("max_expansion", MAX_EXPANSION)
            self.n_bytes: int = self._file.seek(0, os.SEEK_END)  # as it is stored, perhaps compressed
            self._limits = fitted({**limits}, SEEKING, self.n_bytes)
            self._file = plain_view(self._file, expansion)
            size = self._file.seek(0, os.SEEK_END)
            options = partial(first_options, self._file, self._patch, **self._limits)
            index = read_index(self._file, size, options, self._check)
            index = index or read_sidecar(self.path, self._file, options, opener, self._check)
            if index is None:
                self._file.seek(0)
                refuse_other(self._file.read(HEAD))
                raise JellyError(
                    "the file has no index: make one with `jelly index` or jelly.index, or write it with seekable=True",
                    source=self.path,
                )
        except BaseException as error:
            self._file.close()
            if isinstance(error, JellyError):
                error.source = error.source or self.path
            raise
        self.index: Index = index
        self._chunks = chunks_of(self._file)
        self._opener = opener
        self._stack = ExitStack()
        self._lock = Lock()
        self._has_looked = False  # for filters
        self._filters: Filters | None = None

    def close(self) -> None:
        """Close the file."""
        self._stack.close()
        self._file.close()

    def __len__(self) -> int:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        shown: list[Any]
        try:
            shown = [[repr(item)] if self._patch else item for item in self[:_SHOWN]]
        except JellyError as error:  # it is closed, or damaged
            shown = [[error]]
        return html_table(repr(self), [self._item], shown, more=len(self) > _SHOWN)

    def _between(self, start: int, stop: int) -> Iterator[Item]:
        """The items ``start`` to ``stop``. The caller has checked the range."""
        raise NotImplementedError

    @property
    def n_frames(self) -> int:
        """The number of frames."""
        return self.index.frames

    @checked()
    def batches(self, threads: int = 1, *, first: int = 0, last: int | None = None) -> Iterator[Batch]:
        """Iterate over all Batches in order, decoded by several threads without the GIL.

        Parameters
        ----------
        threads : int, default 1
            Number of threads.
        first : int, default 0
            First segment. Segments are numbered by their keyframes, from 0.
        last : int, optional
            Segment before which to stop. By default all segments are read.

        Returns
        -------
        Iterator[Batch]
            The Batches in order.
        """
        return self.run([partial(self._read, segment) for segment in self.index.segments()[first:last]], threads)

    def _read(self, segment: tuple[Keyframe, Keyframe]) -> Iterator[Batch]:
        return read_segment(self._chunks, self.index, segment, **self._limits)

    def run(self, tasks: Sequence[Callable[[], Iterator[T]]], threads: int = 1) -> Iterator[T]:
        """Run tasks on this file in several threads and yield their results in order.

        Parameters
        ----------
        tasks : sequence of callables
            Each returns an iterator.
        threads : int, default 1
            Number of threads.

        Yields
        ------
        Any
            The items of the first task, then those of the second, and so on. Errors name the file.
        """
        if threads < 1:
            raise JellyArgumentError(f"threads is {threads}: expected 1 or more")
        try:
            if threads == 1 or len(tasks) <= 1:
                for task in tasks:
                    yield from task()
            else:
                from jelly._bytes.workers import pipelined  # which takes some time to import

                yield from pipelined(iter(tasks), threads)
        except JellyError as error:
            error.source = error.source or self.path
            raise

    def _numbered(
        self, number: str, step: int, start: int, stop: int | None, n: int, make: Callable[..., Iterator[T]]
    ) -> Iterator[T]:
        """Some of ``n`` items, each of which adds ``step`` to a number of keyframes; ``make`` makes them of Batches."""
        if start < 0:
            raise JellyArgumentError(f"start is {start}: expected at least 0")
        stop = n if stop is None else min(stop, n)
        if start >= stop:
            return iter(())
        segments = self.index.segments_from(number, step * start)
        wanted = [segment for segment in segments if getattr(segment[0], number) < step * stop]
        batches = self.run([partial(self._read, segment) for segment in wanted])
        first = getattr(wanted[0][0], number) // step
        return _to_the_end(batches, islice(make(batches, first), start - first, stop - first))

    @overload
    def __getitem__(self, wanted: int) -> Item: ...
    @overload
    def __getitem__(self, wanted: slice) -> list[Item]: ...
    def __getitem__(self, wanted: int | slice) -> Any:
        if isinstance(wanted, slice):
            start, stop, step = wanted.indices(len(self))
            if step != 1:
                raise JellyArgumentError("a slice of a file goes forward in steps of 1")
            return list(self._between(start, stop))
        at = wanted + len(self) if wanted < 0 else wanted
        if not 0 <= at < len(self):
            raise IndexError(f"no {self._item} {wanted}: the file has {len(self)}")
        return self[at : at + 1][0]


@dataclass(eq=False, repr=False)
class Indexed(Closing):
    """A file with an index in the place of a reader: threads read it, or only what ``query`` may find is read."""

    file: IndexedFile[Any]
    threads: int
    query: Query | None = None
    closes: bool = True
    n_skipped = 0  # bytes cannot be skipped, as lines can
    workers: Any = None  # it has its own

    def __post_init__(self) -> None:
        self._rows = 0
        self.skipped: list[tuple[int, str]] = []
        self.format: Format = JELLY_PATCH if self.file._patch else JELLY
        self.options: Any = self.file.index.options
        self.size: int = self.file.index.size

    def close(self) -> None:
        """Close the file, unless it is one of the caller."""
        if self.closes:
            self.file.close()

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, by the share of the rows."""
        return self.size * self._rows // max(self.file.index.statements, 1)

    def batches(self) -> Iterator[Batch]:
        """Iterate over the Batches."""
        file: Any = self.file
        segments = file.index.segments()
        if self.query is not None and (numbers := file.matching(self.query)) is not None:
            segments = [segments[number] for number in numbers]
        for batch in file.run([partial(file._read, segment) for segment in segments], self.threads):
            self._rows += len(batch)
            yield batch
            del batch  # before the next one takes memory

    uniform = batches

    def watched(self, progress: Progress | None) -> Iterator[Batch]:
        """The Batches; ``progress`` gets bytes, all bytes and rows after each."""
        for batch in self.batches():
            yield batch
            del batch
            if progress is not None:
                progress(self.bytes_read, self.size, self._rows)


def opener_of(name: str) -> Callable[[str], BinaryIO]:
    """What opens a file and its sidecar."""
    if not is_remote(name):
        return open_local
    from jelly._bytes.remote import open_url

    return partial(open_url, storage={})


def _to_the_end(batches: Iterator[Batch], items: Iterator[T]) -> Iterator[T]:
    """The ``items``, which are made of Batches; then the other Batches are read, which shows whether the index fits."""
    yield from items
    for _ in batches:
        pass


class JellyFile(IndexedFile[Triple | Quad]):
    """A Jelly file with random access, as `jelly.open` returns it.

    Use it in a ``with`` statement or close it. ``len(file)`` is the number of statements, ``file[i]`` one statement,
    ``file[a:b]`` the list of statements of a slice, and ``file.frames(a, b)`` the frames of a range. Reading starts at
    the keyframe before the slice and goes to the end of its segment, where it is an error if the index does not fit.
    Whether an index says the right number of the first statement, only `validate` knows, which reads all.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    opener : callable, optional
        Function that opens the file and its sidecar, if they are not local.
    **limits : Unpack[ReadOptions]
        Limits of Jelly: see `ReadOptions`.

    Raises
    ------
    JellyError
        If the file has no index.

    Examples
    --------
    >>> import os, tempfile, jelly
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.jelly")
    >>> statement = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("1"))
    >>> jelly.write(path, [statement] * 1000)
    1000
    >>> with jelly.open(path) as file:
    ...     len(file), file[999].o.value, len(file[10:20]), file.options.physical_type.name
    (1000, '1', 10, 'TRIPLES')
    """

    def __len__(self) -> int:
        return self.index.statements

    def __repr__(self) -> str:
        return f"<jelly.JellyFile {self.path}: {self.index.statements} statements, {self.index.frames} frames>"

    @property
    def options(self) -> StreamOptions:
        """The stream options."""
        options: StreamOptions = self.index.options
        return options

    @property
    def filters(self) -> Filters | None:
        """The filters of its segments, if it has any: `find` then reads only segments that can match."""
        with self._lock:
            if not self._has_looked:
                refuse_closed(self._file)
                self._filters, opened = read_filters(self.path, self._file, self.index, self._opener, self._check)
                self._stack.enter_context(opened)
                self._has_looked = True
            return self._filters

    def matching(self, query: Query | None) -> list[int] | None:
        """The numbers of the segments that may hold statements of a query of filters; None for all of them.

        Parameters
        ----------
        query : Query, optional
            What is looked for.

        Returns
        -------
        list of int or None
            Numbers of segments, in order.
        """
        return None if query is None or self.filters is None else self.filters.matching(query)

    def rows(self, start: int = 0, stop: int | None = None, threads: int = 1) -> Iterator[tuple[Batch, int, int]]:
        """Iterate over the Batches that hold a range of statements.

        Parameters
        ----------
        start : int, default 0
            First statement.
        stop : int, optional
            Statement before which to stop. By default the end of the file.
        threads : int, default 1
            Number of threads that decode.

        Returns
        -------
        Iterator[tuple[Batch, int, int]]
            Each Batch with the first row and the end row (not included) that belong to the range.
        """
        return (part for part in self.run(self.parts(start, stop), threads) if part[1] < part[2])

    def parts(
        self, start: int = 0, stop: int | None = None, *, whole: bool = False, query: Query | None = None
    ) -> list[Callable[[], Iterator[tuple[Batch, int, int]]]]:
        """Split a range of statements into one task per segment, to be called in any thread.

        Parameters
        ----------
        start : int, default 0
            First statement.
        stop : int, optional
            Statement before which to stop. By default the end of the file.
        whole : bool, default False
            Also yield the Batches of a segment that lie outside the range.
        query : Query, optional
            Leave out segments that cannot hold statements of this query of filters.

        Returns
        -------
        list of callables
            Each returns an iterator of Batches with the first row and the end row of the range, which may be empty.
        """
        end = self.index.statements if stop is None else min(stop, self.index.statements)
        if start >= end:
            return []

        def part(segment: tuple[Keyframe, Keyframe]) -> Iterator[tuple[Batch, int, int]]:
            last = min(end, segment[1].statement)
            # To the end of the segment, which shows whether the index fits.
            for batch in self._read(segment):
                if whole or batch.first_row < last:
                    low = min(max(start - batch.first_row, 0), len(batch))
                    yield batch, low, max(min(last - batch.first_row, len(batch)), low)

        segments = self.index.segments_from("statement", start)
        if (numbers := self.matching(query)) is not None:
            first = len(self.index.keyframes) - len(segments)
            segments = [segments[number - first] for number in numbers if number >= first]
        return [partial(part, segment) for segment in segments if segment[0].statement < end]

    @checked()
    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Iterate over a range of frames.

        Parameters
        ----------
        start : int, default 0
            First frame.
        stop : int, optional
            Frame before which to stop. By default the end of the file.

        Returns
        -------
        Iterator[Frame]
            The frames in order.
        """
        return self._numbered("frame", 1, start, stop, self.index.frames, frames_of)

    def __iter__(self) -> Iterator[Triple | Quad]:
        return StatementIterator(self.batches())

    def _between(self, start: int, stop: int) -> Iterator[Triple | Quad]:
        for batch, low, high in self.rows(start, stop):
            yield from Materializer(batch).statements(low, high)


@overload
def open(path: Any, *, content: Literal["patches"], **limits: Unpack[ReadOptions]) -> PatchFile: ...
@overload
def open(path: Any, *, content: Literal["statements"] | None = None, **limits: Unpack[ReadOptions]) -> JellyFile: ...
@checked(SEEKING, elsewhere={"threads": "pass threads= to batches() of the open file"})
def open(
    path: Any, *, content: Literal["statements", "patches"] | None = None, **limits: Unpack[ReadOptions]
) -> Any:
    """Open a Jelly or Jelly-Patch file for random access.

    Parameters
    ----------
    path : str or os.PathLike
        A file written with ``seekable=True``, also one that is compressed with zstd, or one with a sidecar file
        made by `jelly.index`. Also a URL or an ``OpenFile`` of fsspec. Only the parts are read, and decompressed,
        that are asked for. A local file without an index is read once for one in memory, in about 0.1 seconds for a
        million statements.
    content : {"statements", "patches"}, optional
        The content of the file. By default the suffix ``.jellyp`` means patches.
    **limits : Unpack[ReadOptions]
        Limits of Jelly: see `ReadOptions`.

    Returns
    -------
    JellyFile or PatchFile
        The open file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    JellyError
        If the file has no index and is remote, not delimited, or compressed other than with seekable zstd.
    MissingExtraError
        If fsspec is needed and not installed.

    Examples
    --------
    >>> import jelly, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.jelly")
    >>> numbers = (jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(1000))
    >>> jelly.write(path, numbers, seekable=True)
    1000
    >>> with jelly.open(path) as file:
    ...     len(file), file[500].o.value, [s.o.value for s in file[998:]]
    (1000, '500', ['998', '999'])
    """
    name, opener = _placed(path)
    kind = content_of(content, (name, None))
    make = of_content(kind, "File") if kind is Content.PATCH else JellyFile
    try:
        return make(name, opener=opener, **limits)
    except JellyError as error:
        # An error of no other class says that there is no index.
        if type(error) is not JellyError or opener is not open_local:
            raise
    index = io.BytesIO()
    make_sidecar(name, patch=kind is Content.PATCH, dst=index, **limits)
    return make(
        name, opener=lambda path: open_local(path) if path == name else io.BytesIO(index.getvalue()), **limits
    )


def _placed(path: Any) -> tuple[str, Callable[[str], BinaryIO]]:
    """The name of a file, and what opens it and its sidecar."""
    if is_open_file(path):
        return path.path, path.fs.open
    if not is_path(path):
        raise JellyArgumentError(f"cannot open {type(path).__name__}: expected a path, URL or OpenFile")
    name = os.fsdecode(path)
    return name, opener_of(name)


class Condition(Protocol):
    """A condition on rows: a `Pattern` or a `Selection`."""

    def query(self, labels: bool = True) -> Query | None:
        """The entries of filters that it may have."""


def query_of(condition: Condition | None, blank_nodes: BlankNodes) -> Query | None:
    """The query of a condition to the filters of a file, where the blank nodes of the file get other names."""
    if condition is None or blank_nodes.mode == "skolemize":  # any IRI may be a blank node in the file
        return None
    return condition.query(labels=blank_nodes.mode == "keep")


def open_index(
    source: Any, settings: Mapping[str, Any], opener: Callable[[str], BinaryIO] | None = None
) -> JellyFile | None:
    """A Jelly file with an index; None for whatever else can be read.

    ``settings`` are those of `Reader`.
    """
    if not is_path(source) or is_web(name := os.fsdecode(source)):
        return None
    opener = opener or opener_of(name)
    if (opener is open_local and not os.path.isfile(name)) or settings.get("delimited") is False:
        return None
    if split_suffix(name)[1] not in ("", ".zst"):
        return None
    limits = {key: value for key, value in settings.items() if key not in COMMON and value is not None}
    try:
        if find(settings.get("format"), name) is not JELLY or not limits.keys() <= SEEKING:
            return None
        return JellyFile(name, opener=opener, **limits)
    except (JellyError, OSError, ValueError):
        return None  # who reads it from the start says what is wrong


def open_filtered(*source: Any) -> JellyFile | None:
    """A Jelly file whose index has filters, see `open_index`; None for others."""
    file = open_index(*source)
    if file is None or file.filters is not None:
        return file
    file.close()
    return None
