"""Files that tasks read in parts: how a job is cut into tasks, and how these read. Independent of Spark, so that
workers load it quickly.

- `files`: which files there are, what their directories say, how they open. `lines`: parts of text.

>>> import jelly, os, tempfile
>>> from jelly.spark._parts.files import find_files
>>> folder = tempfile.mkdtemp()
>>> jelly.write(os.path.join(folder, "a.jelly"), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
1
>>> [task] = split(find_files(folder))
>>> [batch.to_pylist() for part in task for batch in read_part(part, layout="ntriples")]
[[{'s': '<a:s>', 'p': '<a:p>', 'o': '<a:o>', 'g': None}]]
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from jelly._bytes.cut import has_frames
from jelly._bytes.names import split_suffix
from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import KEEP, BlankNodes
from jelly._dataset.conditions.pattern import Pattern
from jelly._dataset.seekable.file import JellyFile
from jelly._dataset.seekable.segments import open_filtered, query_of
from jelly._formats.arrow_tables import from_batches, pa
from jelly._formats.filters import Query
from jelly._formats.index import reader_at
from jelly._formats.registry import JELLY, NQ, NT, SEEKING, TURTLE, Format, find, having
from jelly._options.layouts import Layout
from jelly._streams.reader import Reader
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError, JellySyntaxError
from jelly.spark._parts.files import NONE, Directories, File, Said, in_directories, limits_of, note_error, open_file
from jelly.spark._parts.lines import can_be_cut, cut_evenly, read_lines

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


# Keyframe numbers are enough: the worker that reads a part reads the index too.
_cuts: OrderedDict[tuple[Any, ...], list[int]] = OrderedDict()


def split(
    files: Iterable[File],
    split_bytes: int | None = None,
    *,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    cut_lines: bool = True,
    directories: Directories = NONE,
    tasks: int = TASKS,
    limits: Mapping[str, int] | None = None,
) -> list[list[Part]]:
    """Tasks of about ``split_bytes``, each a list of parts, in the order of the files. By default about so many
    ``tasks``, but of 4 to 32 MiB.

    A Jelly file that has an index or a sidecar and is larger becomes several parts, also if it is compressed and
    seekable, and with ``cut_lines`` so do N-Triples and N-Quads, not compressed or of many frames of zstd, members of
    gzip or streams of bz2. Any other file is one; small ones share a task. Their bytes are multiplied by
    their `cost`. ``format``, ``storage`` and ``limits`` are those of `read_part`;
    ``directories`` say what their files hold.
    """
    files = list(files)
    if split_bytes is None:
        total = sum(file.size * cost(file, format) for file in files)
        split_bytes = min(max(-(-total // tasks), _MIN_SPLIT_BYTES), SPLIT_BYTES)
    if split_bytes < 1:
        raise JellyOptionsError("split_bytes must be at least 1")
    made: list[list[Part]] = []
    room = 0
    for file in files:
        cuts = [0]
        size = file.size * cost(file, format)
        if size > split_bytes:
            form = _format(file, format)
            if _is_jelly(file, format) or (cut_lines and form in (NT, NQ)):
                cuts = _find_cuts(file, form, split_bytes, storage or {}, limits or {})
        said = directories.said(file.path)
        if len(cuts) > 1:
            made += [[Part(file, first, last, said)] for first, last in zip(cuts, [*cuts[1:], None], strict=True)]
            room = 0
            continue
        if not made or size > room:
            made.append([])
            room = split_bytes
        made[-1].append(Part(file, said=said))
        room -= size
    return made


def of_file(query: Query | None, said: Iterable[tuple[str, object]]) -> Query | None:
    """A query without the slots that the directories of a file say: in the file they may be other ones."""
    known = {slot for slot, _ in said}
    return {slot: wanted for slot, wanted in (query or {}).items() if slot not in known} or None


def narrowed(
    tasks: list[list[Part]],
    query: Query | None,
    *,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
) -> list[list[Part]]:
    """The tasks without what filters in the indexes of files leave out. Small ones become one task.

    Of many files nothing is left out: opening them takes time, which their tasks can spend at once.
    """
    files = {part.file for task in tasks for part in task}
    if query is None or len(files) > _MAX_NARROWED:
        return tasks
    settings = {"format": format, **having(limits or {}, SEEKING)}
    found = {
        file: _matching(file.path, query, settings, partial(open_file, storage or {}))
        if _is_jelly(file, format)
        else None
        for file in files
    }
    made: list[list[Part]] = []
    room = 0
    for task in tasks:
        if all(found[part.file] is None or of_file(query, part.said) != query for part in task):
            made.append(task)
            room = 0
            continue
        for part in task:
            size = part.file.size * cost(part.file, format)
            known = found[part.file] if of_file(query, part.said) == query else None
            if known is not None:
                numbers, offsets = known
                last = len(offsets) - 1 if part.last is None else part.last
                numbers = [number for number in numbers if part.first <= number < last]
                if not numbers:
                    continue
                part = replace(part, first=numbers[0], last=numbers[-1] + 1)
                size = sum(offsets[number + 1] - offsets[number] for number in numbers)
            if not made or size > room:
                made.append([])
                room = _MIN_SPLIT_BYTES
            made[-1].append(part)
            room -= size
    return made


def _matching(
    path: str, query: Query | None, settings: Mapping[str, Any], opener: Callable[[str], BinaryIO]
) -> tuple[list[int], list[int]] | None:
    """The numbers of the segments that may match a query, and where all segments begin; None without filters.

    ``settings`` are those of `Reader`.
    """
    file = None if query is None else open_filtered(path, settings, opener)
    if file is None:
        return None
    with file:
        numbers = file.matching(query) or []
        return numbers, [*(key.offset for key in file.index.keyframes), file.index.size]


def _is_jelly(file: File, format: str | None) -> bool:
    """Whether a file is Jelly that may have an index."""
    return _format(file, format) is JELLY and split_suffix(file.name)[1] in ("", ".zst")


def cost(file: File, format: str | None = None) -> int:
    """The weight of a byte of a file: 8 if it is compressed, and 8 times as much if its format is a slow one."""
    form = _format(file, format)
    slow = form is not None and form.codec == TURTLE.codec
    return (_COST if split_suffix(file.name)[1] else 1) * (_COST if slow else 1)


def _format(file: File, format: str | None) -> Format | None:
    try:
        return find(format, file.name)
    except JellyError:
        return None  # the task that reads it will raise the error


def _find_cuts(
    file: File, form: Format | None, split_bytes: int, storage: Mapping[str, Any], limits: Mapping[str, int]
) -> list[int]:
    """The keyframes or bytes at which the parts of a file begin; [0] if it cannot be cut."""
    key = file, form, split_bytes, tuple(limits.items())
    if key in _cuts:
        _cuts.move_to_end(key)
        return _cuts[key]
    if form is JELLY:
        found = _find_keyframes(file, split_bytes, storage, limits)
    else:
        found = _find_bytes(file, split_bytes, storage)
    if found is None:
        return [0]
    _cuts[key] = found
    if len(_cuts) > _MAX_CUTS:
        _cuts.popitem(last=False)
    return found


def _find_bytes(file: File, split_bytes: int, storage: Mapping[str, Any]) -> list[int] | None:
    try:
        with open_file(storage, file.path) as opened:
            if can_be_cut(opened):
                return cut_evenly(file.size, split_bytes)
            return cut_evenly(file.size, split_bytes // _COST) if has_frames(reader_at(opened), file.size) else None
    except OSError:
        return None  # a task reports it


def _find_keyframes(
    file: File, split_bytes: int, storage: Mapping[str, Any], limits: Mapping[str, int]
) -> list[int] | None:
    try:
        with JellyFile(file.path, opener=partial(open_file, storage), **having(limits, SEEKING)) as opened:
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


# Rows of a record batch: more do not fit into the cache of a core on their way to Spark, and fewer cost more each.
BATCH_ROWS = 1 << 13


def read_part(
    part: Part,
    *,
    layout: Layout = "flat",
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    keep: Pattern | None = None,
    errors: list[JellyError] | None = None,
    blank_nodes: BlankNodes = KEEP,
    limits: Mapping[str, int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The statements of a part as record batches of plain strings; ``layout`` and ``columns`` as in `read_arrow`.

    ``keep`` chooses rows of each Batch. ``format`` is that of files whose
    suffix says nothing. With ``errors``, what is broken is noted there (file, frame, byte offset) instead of being
    raised: of N-Triples and N-Quads the line is left out, of Jelly what comes up to the next keyframe of the part, of
    other formats the rest of the file. Errors that are not those of the data are raised in any case. ``blank_nodes``
    says what becomes of their labels, before ``keep`` sees them. ``limits`` are those of any format, such as
    ``max_line_bytes``; a file has those of its own.
    """
    query, rows = query_of(keep, blank_nodes), None if keep is None else keep.rows
    batches = read_batches(
        part,
        batch_rows=batch_rows,
        format=format,
        storage=storage,
        errors=errors,
        blank_nodes=blank_nodes,
        limits=limits,
        query=query,
    )
    try:
        yield from from_batches(batches, layout=layout, columns=columns, batch_rows=batch_rows, keep=rows)
    except JellyError as error:
        error.source = error.source or part.file.path
        raise


def read_batches(
    part: Part,
    *,
    batch_rows: int = BATCH_ROWS,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    errors: list[JellyError] | None = None,
    blank_nodes: BlankNodes = KEEP,
    limits: Mapping[str, int] | None = None,
    query: Query | None = None,
) -> Iterator[Batch]:
    """The statements of a part as Batches; the keywords are those of `read_part`.

    Segments of Jelly in which filters find nothing of ``query`` are left out.
    """
    path = part.file.path
    query = of_file(query, part.said)
    batches = _read_batches(
        part,
        batch_rows=batch_rows,
        format=format,
        storage=storage or {},
        errors=errors,
        limits=limits or {},
        query=query,
    )
    return in_directories(part.said, path, blank_nodes.batches(path, batches), errors)


def _read_batches(
    part: Part,
    *,
    batch_rows: int,
    format: str | None,
    storage: Mapping[str, Any],
    errors: list[JellyError] | None,
    limits: Mapping[str, int],
    query: Query | None,
) -> Iterator[Batch]:
    if query is not None and part.first == 0 and part.last is None:
        kept = narrowed([[part]], query, format=format, storage=storage, limits=limits)
        if not kept:
            return
        [[part]] = kept
    path = part.file.path
    if part.first == 0 and part.last is None:
        with _noted(path, errors):
            yield from _whole(part, find(format, part.file.name), batch_rows, storage, errors, limits)
    elif (form := find(format, part.file.name)) in (NT, NQ):
        with open_file(storage, path) as opened:
            _check_size(part, opened.seek(0, os.SEEK_END))
            own = limits_of(part.file, form, limits)
            lines = read_lines(
                opened, form, part.first, part.last, source=path, batch_rows=batch_rows, errors=errors, **own
            )
            with _noted(path, errors):
                yield from lines
    else:
        yield from _keyframes(part, batch_rows, storage, errors, limits, query)


@contextmanager
def _noted(path: str, errors: list[JellyError] | None) -> Iterator[None]:
    """Note an error of the data, see `note_error`."""
    try:
        yield
    except JellyError as error:
        note_error(error, path, errors)


def _whole(
    part: Part, form: Format, batch_rows: int, storage: Mapping[str, Any], errors: list[JellyError] | None,
    limits: Mapping[str, int],
) -> Iterator[Batch]:  # fmt: skip
    """The statements of a whole file."""
    path = part.file.path
    skip = errors is not None and form in (NT, NQ)  # formats with one statement per line
    own = limits_of(part.file, form, limits)
    with (
        open_file(storage, path) as opened,
        Reader(
            opened, format=form.name, on_error="skip" if skip else "raise", batch_rows=batch_rows, **own
        ) as reader,
    ):  # fmt: skip
        try:
            yield from reader.batches()
        finally:
            if errors is not None:
                errors += [JellySyntaxError(why, line=line, source=path) for line, why in reader.skipped]
                if more := reader.n_skipped - len(reader.skipped):
                    errors.append(JellySyntaxError(f"{more} more lines were left out", source=path))


def _keyframes(
    part: Part, batch_rows: int, storage: Mapping[str, Any], errors: list[JellyError] | None,
    limits: Mapping[str, int], query: Query | None,
) -> Iterator[Batch]:  # fmt: skip
    """The statements of some segments of a Jelly file."""
    path = part.file.path
    with JellyFile(path, opener=partial(open_file, storage), batch_rows=batch_rows, **having(limits, SEEKING)) as file:
        _check_size(part, file.n_bytes)
        numbers = file.matching(query)
        if errors is None and numbers is None:
            yield from file.batches(first=part.first, last=part.last)
            return
        wanted = range(len(file.index.keyframes))[part.first : part.last]
        for number in wanted if numbers is None else [number for number in numbers if number in wanted]:
            with _noted(path, errors):
                yield from file.batches(first=number, last=number + 1)


def _check_size(part: Part, size: int) -> None:
    if size != part.file.size:
        raise JellyFormatError("the file has changed since the job was planned", source=part.file.path)
