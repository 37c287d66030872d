"""Lists files, splits them into tasks, and reads a task. Independent of Spark, so that workers load it quickly.

>>> import jelly, os, tempfile
>>> folder = tempfile.mkdtemp()
>>> jelly.write(os.path.join(folder, "a.jelly"), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
1
>>> [task] = split(find_files(folder))
>>> [batch.to_pylist() for part in task for batch in read_part(part, layout="ntriples")]
[[{'s': '<a:s>', 'p': '<a:p>', 'o': '<a:o>', 'g': None}]]
"""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from jelly._bytes.cut import has_frames
from jelly._bytes.names import split_suffix
from jelly._bytes.remote import is_url, list_url, open_url
from jelly._bytes.source import open_local
from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import KEEP, BlankNodes
from jelly._dataset.file import JellyFile
from jelly._dataset.segments import query_of
from jelly._dataset.where import Where
from jelly._formats.arrow_tables import Keep, from_batches, pa
from jelly._formats.filters import Query
from jelly._formats.index import SUFFIX, reader_at
from jelly._formats.registry import JELLY, NQ, NT, READING, SEEKING, TURTLE, Content, Format, find, having
from jelly._options.layouts import Layout
from jelly._options.limits import SETTABLE
from jelly._options.settings import fitted
from jelly._streams.reader import Reader
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError, JellySyntaxError, MissingExtraError
from jelly.spark._parts.directories import NONE, Directories, Said, in_directories
from jelly.spark._parts.lines import can_be_cut, cut_evenly
from jelly.spark._parts.reading import read_lines
from jelly.spark._parts.segments import matching, of_file

__all__ = [
    "BATCH_ROWS",
    "MARKER",
    "READING_LIMITS",
    "SPLIT_BYTES",
    "TASKS",
    "File",
    "Part",
    "absolute",
    "cost",
    "exists",
    "find_files",
    "find_sources",
    "limits_of",
    "narrowed",
    "nothing_to_read",
    "note_error",
    "open_file",
    "read_batches",
    "read_part",
    "split",
    "unknown_error",
    "unknown_files",
    "without",
]

# The least and the most bytes per task. Starting a task takes about 50 ms; the most bytes take about a second.
_MIN_SPLIT_BYTES = 1 << 22
SPLIT_BYTES = 1 << 25
# Files whose filters are looked at when a job is planned.
_MAX_NARROWED = 64
# Tasks to make where the number of cores is not known.
TASKS = 16
# Rows of a record batch: more do not fit into the cache of a core on their way to Spark, and fewer cost more each.
BATCH_ROWS = 1 << 13
# What the name of a file begins with that says which files of its directory do not count, while a job changes them.
MARKER = "_commit-"
# What a byte of compressed files, and of text that is read through pyoxigraph, counts.
_COST = 8
# Maximum files whose cuts are cached, because Spark plans again for every action.
_MAX_CUTS = 4096

_MAGIC = re.compile(r"[*?\[]")
# Names of files in an error.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: its path or URL, its ``size`` in bytes and ``mtime``, seconds since the epoch, 0 if unknown."""

    path: str
    size: int
    mtime: float

    @property
    def name(self) -> str:
        """The last part of the path.

        >>> File("s3://bucket/day/x.nt.gz", 1, 0.0).name
        'x.nt.gz'
        """
        return self.path.rstrip("/").rpartition("/")[2] if is_url(self.path) else os.path.basename(self.path)


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a file that a task reads: all of it, or from ``first`` to before ``last``.

    Both are numbers of keyframes in Jelly. In N-Triples and N-Quads they are bytes, see `jelly.spark._parts.lines`,
    those of the compressed file if it is one, see `jelly.spark._parts.packed`.
    """

    file: File
    first: int = 0
    last: int | None = None
    said: Said = ()  # by its directories

    def __str__(self) -> str:
        begins = f" from {self.first}" if self.first else ""
        return self.file.path + begins + ("" if self.last is None else f" to {self.last}")


# The keywords for limits of reading statements.
READING_LIMITS = frozenset(limit.name for limit in SETTABLE) & READING

# ---- which files

def absolute(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Absolute paths, without file: before them, as executors run in other directories than the driver.

    >>> absolute(["/data/x.jelly", "file:///data/*/", "s3://bucket/day"])
    ['/data/x.jelly', '/data/*/', 's3://bucket/day']
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    names = [local_path(os.fspath(path)) for path in given]
    # A pattern that ends with a slash is for directories only.
    return [
        name if is_url(name) else os.path.abspath(name) + "/" * (name.endswith("/") and bool(name.strip("/")))
        for name in names
    ]


def find_files(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    pattern: str | None = None,
    storage: Mapping[str, Any] | None = None,
) -> list[File]:
    """The files at some paths, each once, ordered by path within each of ``paths``.

    A path is a file, a directory (files at any depth; names that begin with ``_`` or ``.`` are left out, and so are
    the sidecars of indexes), a glob pattern (``**`` for any depth), or a URL of any file system of fsspec, to which
    ``storage`` goes. The names of the files must match ``pattern``.

    FileNotFoundError if a path does not exist; a directory may be empty.

    >>> find_files("no/such/place")
    Traceback (most recent call last):
    FileNotFoundError: [PATH_NOT_FOUND] there is no such file or directory: no/such/place
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    found: dict[str, File] = {}
    for path in [os.fspath(path) for path in given]:
        local = local_path(path)
        files = _remote(local, storage or {}) if is_url(local) else _local(local)
        if files is None:
            raise FileNotFoundError(f"[PATH_NOT_FOUND] there is no such file or directory: {path}")
        for file in sorted(files, key=lambda file: file.path):
            if pattern is None or fnmatch.fnmatchcase(file.name, pattern):
                found.setdefault(file.path, file)
    return list(found.values())


def local_path(path: str) -> str:
    """A local path as Python writes it, where Spark and Hadoop may say file: first; a URL as it is.

    >>> local_path("file:///data/x.jelly"), local_path("s3://data/x.jelly")
    ('/data/x.jelly', 's3://data/x.jelly')
    """
    path = re.sub("^file:(//(?=/))?", "", path)
    # file:///C:/data
    return path[1:] if os.name == "nt" and path[2:3] == ":" else path


def _is_data(names: Iterable[str]) -> bool:
    """Whether a file is data, by the names in the end of its path."""
    last = ""
    for last in names:
        if last.startswith(("_", ".")):
            return False
    return not last.endswith(SUFFIX)


def _is_marker(name: str) -> bool:
    return name.startswith(MARKER) and name.endswith(".json")


def _local(path: str) -> list[File] | None:
    """The files at a local path; None if it does not exist."""
    if os.path.isdir(path):
        return _that_count(partial(_inside, path), {})
    if os.path.exists(path):
        return [_stat(path)]
    if _MAGIC.search(path):
        fixed = os.path.dirname(_MAGIC.split(path)[0])
        found = glob.glob(path, recursive=True)
        matches = [match for match in found if _is_data(os.path.relpath(match, fixed or ".").split(os.sep))]
        files = [file for match in matches for file in _local(match) or ()]
        return files if matches else None
    return None


def _inside(path: str) -> list[File]:
    """The data and the markers in a directory."""
    found: list[File] = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in filter(lambda name: _is_data([name]) or _is_marker(name), names):
            # Other processes may remove files meanwhile.
            with suppress(FileNotFoundError):
                found.append(_stat(os.path.join(folder, name)))
    for name in os.listdir(path):
        if _is_marker(name):  # perhaps it is there only now
            with suppress(FileNotFoundError):
                found.append(_stat(os.path.join(path, name)))
    return found


def _that_count(listing: Callable[[], list[File]], storage: Mapping[str, Any]) -> list[File]:
    """The files that no marker beside or above them hides (see `jelly.spark._commit.swap`)."""
    told: dict[str, Any] = {}
    while True:
        files = listing()
        hidden: dict[str, Any] = {}
        for marker in (file.path for file in files if _is_marker(file.name)):
            try:
                with open_file(storage, marker) as opened:
                    hidden[marker] = list(map(str, json.load(opened)["hide"]))
            except FileNotFoundError:
                pass  # the job is done meanwhile
            except (ValueError, KeyError, TypeError):
                raise JellyError("this file should say which files do not count yet, and is damaged",
                                 source=marker) from None  # fmt: skip
        # A listing counts if the markers say the same before and after it.
        if hidden == told:
            break
        told = hidden
    names = {
        (marker.rpartition(MARKER)[0] + name).replace(os.sep, "/") for marker, hide in told.items() for name in hide
    }

    def is_hidden(path: str) -> bool:
        while path and path not in names:
            path = path.rpartition("/")[0]
        return bool(path)

    data = [file for file in files if not _is_marker(file.name)]
    return [file for file in data if not is_hidden(file.path.replace(os.sep, "/"))] if names else data


def _stat(path: str) -> File:
    stat = os.stat(path)
    return File(path, stat.st_size, stat.st_mtime)


def _remote(url: str, storage: Mapping[str, Any]) -> list[File] | None:
    """The files at a URL; None if it does not exist."""
    # Below the place that was named, whatever may be hidden is.
    depth = _MAGIC.split(url)[0].rstrip("/").count("/")

    def listing() -> list[File]:
        listed = list_url(url, storage)
        if listed is None:
            raise FileNotFoundError
        files = [File(*entry) for entry in listed]
        if len(files) == 1 and files[0].path.rstrip("/").count("/") <= depth:
            return files
        return [file for file in files if _is_data(file.path.split("/")[depth + 1 :]) or _is_marker(file.name)]

    try:
        return _that_count(listing, storage)
    except FileNotFoundError:
        return None


def exists(path: str, storage: Mapping[str, Any] | None = None) -> bool:
    """Whether there is a file at a path or URL.

    >>> exists("no/such/place")
    False
    """
    return bool(list_url(path, storage or {})) if is_url(path) else os.path.exists(path)


def nothing_to_read(paths: Iterable[str], pattern: str | None = None) -> FileNotFoundError:
    """The error where some paths hold no files.

    >>> str(nothing_to_read(["data"], "*.nt"))
    "[PATH_NOT_FOUND] there are no files to read in data with names like '*.nt'"
    """
    like = "" if pattern is None else f" with names like {pattern!r}"
    return FileNotFoundError(f"[PATH_NOT_FOUND] there are no files to read in {', '.join(paths)}{like}")


def unknown_files(
    files: Iterable[File], format: str | None = None, *, content: Content = Content.STATEMENTS
) -> list[File]:
    """The files whose suffix is that of no format, unless ``format`` is the format of all.

    >>> [file.name for file in unknown_files([File("a.nt", 1, 0.0), File("README.md", 1, 0.0)])]
    ['README.md']
    """

    def is_unknown(file: File) -> bool:
        try:
            find(format, file.name, content=content)
        except JellyError:
            return True
        return False

    return [file for file in files if is_unknown(file)]


def without(files: Iterable[File], left_out: Iterable[File]) -> list[File]:
    """The files that are not among those that are left out."""
    unwanted = set(left_out)
    return [file for file in files if file not in unwanted]


def unknown_error(files: Sequence[File]) -> JellyError:
    """The error for such files.

    >>> print(unknown_error([File("data/README.md", 1, 0.0)]))
    files with the suffix of no format are among the sources (1): data/README.md; skip_unknown=True leaves them out
    """
    names = ", ".join([file.path for file in files[:_SHOWN]] + ["..."] * (len(files) > _SHOWN))
    return JellyError(
        f"files with the suffix of no format are among the sources ({len(files):,}): {names}; "
        "skip_unknown=True leaves them out"
    )


def find_sources(
    paths: Sequence[str],
    *,
    pattern: str | None = None,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    skip_unknown: bool = False,
    skip_errors: bool = False,
    allow_empty: bool = False,
) -> tuple[list[File], list[File]]:
    """The files that a job reads, and with ``skip_unknown`` those that it leaves out because of their suffix.

    Without it such files are an error, unless the tasks ``skip_errors``. No files at all are one without
    ``allow_empty``.
    """
    files = find_files(paths, pattern=pattern, storage=storage)
    unknown = unknown_files(files, format)
    if unknown and not skip_unknown and not skip_errors:
        raise unknown_error(unknown)
    left_out = unknown if skip_unknown else []
    files = without(files, left_out)
    if not files and not allow_empty:
        raise nothing_to_read(paths, pattern)
    return files, left_out


def open_file(storage: Mapping[str, Any], path: str) -> BinaryIO:
    """Open the path or URL of a file."""
    return open_url(path, storage) if is_url(path) else open_local(path)


def limits_of(file: File, form: Format, limits: Mapping[str, int] | None) -> dict[str, Any]:
    """The keywords for the limits of reading a file: those of ``limits`` that its format has, others by its size.

    >>> limits_of(File("a.nt", 1 << 30, 0.0), NT, {"max_expansion": 9, "max_names": 9})
    {'max_line_bytes': 17179869184, 'max_expansion': 9}
    """
    return fitted(having(limits or {}, form.reading), form.reading, file.size)


# ---- which tasks

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
        file: matching(file.path, query, settings, partial(open_file, storage or {}))
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


def _is_jelly(file: File, format: str | None) -> bool:
    """Whether a file is Jelly that may have an index."""
    return _format(file, format) is JELLY and split_suffix(file.name)[1] in ("", ".zst")


def cost(file: File, format: str | None = None) -> int:
    """What a byte of a file counts: 8 if it is compressed, and 8 times as much if its format is a slow one."""
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


# ---- reading

def read_part(
    part: Part,
    *,
    layout: Layout = "flat",
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    keep: Keep | None = None,
    errors: list[JellyError] | None = None,
    blank_nodes: BlankNodes = KEEP,
    limits: Mapping[str, int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The statements of a part as record batches of plain strings; ``layout`` and ``columns`` as in `read_arrow`.

    ``keep`` chooses rows of each Batch (see `from_batches`), a `Where` for example. ``format`` is that of files whose
    suffix says nothing. With ``errors``, what is broken is noted there (file, frame, byte offset) instead of being
    raised: of N-Triples and N-Quads the line is left out, of Jelly what comes up to the next keyframe of the part, of
    other formats the rest of the file. Errors that are not those of the data are raised in any case. ``blank_nodes``
    says what becomes of their labels, before ``keep`` sees them. ``limits`` are those of any format, such as
    ``max_line_bytes``; a file has those of its own.
    """
    query = query_of(keep, blank_nodes) if isinstance(keep, Where) else None
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
        yield from from_batches(batches, layout=layout, columns=columns, batch_rows=batch_rows, keep=keep)
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
        part, batch_rows=batch_rows, format=format, storage=storage, errors=errors, limits=limits or {}, query=query
    )
    return in_directories(part.said, path, blank_nodes.batches(path, batches), errors)


def _read_batches(
    part: Part,
    *,
    batch_rows: int,
    format: str | None,
    storage: Mapping[str, Any] | None,
    errors: list[JellyError] | None,
    limits: Mapping[str, int],
    query: Query | None,
) -> Iterator[Batch]:
    path = part.file.path
    storage = storage or {}
    if query is not None and part.first == 0 and part.last is None:
        kept = narrowed([[part]], query, format=format, storage=storage, limits=limits)
        if not kept:
            return
        [[part]] = kept
    if part.first == 0 and part.last is None:
        try:
            form = find(format, part.file.name)
            skip = errors is not None and form in (NT, NQ)  # formats with one statement per line
            with (
                open_file(storage, path) as opened,
                Reader(
                    opened,
                    format=form.name,
                    on_error="skip" if skip else "raise",
                    batch_rows=batch_rows,
                    **limits_of(part.file, form, limits),
                ) as reader,
            ):
                try:
                    yield from reader.batches()
                finally:
                    if errors is not None:
                        errors += [JellySyntaxError(why, line=line, source=path) for line, why in reader.skipped]
                        if more := reader.n_skipped - len(reader.skipped):
                            errors.append(JellySyntaxError(f"{more} more lines were left out", source=path))
        except JellyError as error:
            note_error(error, path, errors)
        return
    form = find(format, part.file.name)
    if form in (NT, NQ):
        with open_file(storage, path) as opened:
            _check_size(part, opened.seek(0, os.SEEK_END))
            try:
                yield from read_lines(
                    opened,
                    form,
                    part.first,
                    part.last,
                    source=path,
                    batch_rows=batch_rows,
                    errors=errors,
                    **limits_of(part.file, form, limits),
                )
            except JellyError as error:
                note_error(error, path, errors)
        return
    own = having(limits, SEEKING)
    with JellyFile(path, opener=partial(open_file, storage), batch_rows=batch_rows, **own) as file:
        _check_size(part, file.n_bytes)
        numbers = file.matching(query)
        if errors is None and numbers is None:
            yield from file.batches(first=part.first, last=part.last)
            return
        wanted = range(len(file.index.keyframes))[part.first : part.last]
        for number in wanted if numbers is None else [number for number in numbers if number in wanted]:
            try:
                yield from file.batches(first=number, last=number + 1)
            except JellyError as error:
                note_error(error, path, errors)


def _check_size(part: Part, size: int) -> None:
    if size != part.file.size:
        raise JellyFormatError("the file has changed since the job was planned", source=part.file.path)


def note_error(error: JellyError, path: str, errors: list[JellyError] | None) -> None:
    """Append an error to ``errors``, or raise it if it is not an error of the data."""
    error.source = path
    if errors is None or isinstance(error, MissingExtraError | JellyOptionsError):
        raise error
    errors.append(error)
