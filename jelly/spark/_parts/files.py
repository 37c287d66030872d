"""The files of a job: which there are, what their directories say, how they open, their errors. Independent of Spark,
so that workers load it quickly.

A directory with the name of a subject, predicate or graph says something of the statements of its files, as in Hive:
``graph=http%3A%2F%2Fexample.org%2Fg/``. Statements without a graph get the graph of their directory. Statements that
say another thing than their directory are an error: else a filter would find them or not, whether it leaves out files
or rows. Other names can be columns: ``day=2026-01-31/``.

>>> import jelly, os, tempfile
>>> folder = tempfile.mkdtemp()
>>> jelly.write(os.path.join(folder, "a.jelly"), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
1
>>> [file.name for file in find_files(folder)]
['a.jelly']
"""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import unquote

import numpy as np

from jelly._bytes.names import is_path, is_url
from jelly._bytes.source import open_local
from jelly._core.algebra.graph_names import name_default_graph
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._dataset.conditions.pattern import OfKinds, Pattern
from jelly._dataset.conditions.terms import Ids
from jelly._dataset.conditions.where import COLUMNS
from jelly._formats.index import SUFFIX
from jelly._formats.registry import READING
from jelly._options.layouts import LAYOUTS, PLACES, Layout
from jelly._options.limits import SETTABLE
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError

# What the name of a file begins with that says which files of its directory do not count, while a job changes them.
MARKER = "_commit-"
# The keywords for limits of reading statements.
READING_LIMITS = frozenset(limit.name for limit in SETTABLE) & READING
# Those of `jelly.spark.SourceOptions`, whose table workers do not import.
OF_MANY = READING_LIMITS | {
    "format", "on_error", "blank_nodes", "skolem_base", "glob", "storage", "skip_unknown", "allow_empty", "partitions",
    "split_bytes",
}  # fmt: skip

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
# Options for a file system of fsspec.
Storage: TypeAlias = Mapping[str, Any]

_MAGIC = re.compile(r"[*?\[]")
_EITHER = re.compile(r"\{([^{}]*)\}")
_WILDCARD = re.compile(f"{_MAGIC.pattern}|{_EITHER.pattern}")
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


def absolute(paths: Paths) -> list[str]:
    """Absolute paths, without file: before them, as executors run in other directories than the driver.

    >>> absolute(["/data/x.jelly", "file:///data/*/", "s3://bucket/day"])
    ['/data/x.jelly', '/data/*/', 's3://bucket/day']
    """
    given = [paths] if is_path(paths) else paths
    names = [local_path(os.fspath(path)) for path in given]
    relative = [name for name in names if not is_url(name) and name and not os.path.isabs(name)]
    if relative and os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default") != "default":
        raise JellyOptionsError(
            f"the path {relative[0]} is relative: expected an absolute one, because a server of Spark Connect runs "
            "data sources in a directory of its own, which it removes"
        )
    # A pattern that ends with a slash is for directories only.
    return [
        name if is_url(name) else os.path.abspath(name) + "/" * (name.endswith("/") and bool(name.strip("/")))
        for name in names
    ]


def find_files(
    paths: Paths,
    *,
    pattern: str | None = None,
    storage: Storage | None = None,
    is_stream: bool = False,
) -> list[File]:
    """The files at some paths, each once, ordered by path within each of ``paths``.

    A path is a file, a directory (files at any depth, also behind links; names that begin with ``_`` or ``.`` are left
    out, and so are the sidecars of indexes), a glob pattern (``**`` for any depth, ``{a,b}`` for either, ``[^a]`` for
    any other), or a URL of any file system of fsspec, to which ``storage`` goes. The names of the files must match
    ``pattern``.

    FileNotFoundError if a path does not exist; a directory may be empty, and a pattern of a stream may find nothing.

    >>> find_files("no/such/place")
    Traceback (most recent call last):
    FileNotFoundError: [PATH_NOT_FOUND] there is no such file or directory: no/such/place
    """
    given = [paths] if is_path(paths) else paths
    names = ["*"] if pattern is None else _alternatives(pattern)
    found: dict[str, File] = {}
    for path in [os.fspath(path) for path in given]:
        listed = [_that_count(name, storage or {}) for name in _alternatives(local_path(path))]
        files = [file for some in listed for file in some or ()]
        if all(some is None for some in listed) and not (is_stream and _WILDCARD.search(path)):
            raise FileNotFoundError(f"[PATH_NOT_FOUND] there is no such file or directory: {path}")
        for file in sorted(files, key=lambda file: file.path):
            if any(fnmatch.fnmatchcase(file.name, name) for name in names):
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


def _alternatives(path: str) -> list[str]:
    """The paths of a pattern such as ``data/{2025,2026}/[^_]*``, which Hadoop knows and Python does not."""
    if not is_url(path) and os.path.exists(path):
        return [path]
    found = _EITHER.search(path)
    if found is None:
        return [path.replace("[^", "[!")]
    ends = found[1].split(",")
    return [name for end in ends for name in _alternatives(path[: found.start()] + end + path[found.end() :])]


def _is_data(names: Iterable[str]) -> bool:
    """Whether a file is data, by the names in the end of its path."""
    last = ""
    for last in names:
        if last.startswith(("_", ".")):
            return False
    return not last.endswith(SUFFIX)


def _is_marker(name: str) -> bool:
    return name.startswith(MARKER) and name.endswith(".json")


def _that_count(path: str, storage: Storage) -> list[File] | None:
    """The files at a path or URL that no marker beside or above them hides (see `jelly.spark._store`); None if there is
    nothing."""
    told: dict[str, Any] = {}
    while True:
        files = _listed(path, storage)
        if files is None:
            return None
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


def _listed(path: str, storage: Storage) -> list[File] | None:
    """The data and the markers at a path or URL; None if there is nothing."""
    if is_url(path):
        return _remote(path, storage)
    if os.path.isdir(path):
        return _inside(path)
    if os.path.exists(path):
        return _stat(path)
    fixed = os.path.dirname(_MAGIC.split(path)[0]) or "."
    found = glob.glob(path, recursive=True) if _MAGIC.search(path) else ()
    matches = [match for match in found if _is_data(os.path.relpath(match, fixed).split(os.sep))]
    return [file for match in matches for file in _listed(match, storage) or ()] if matches else None


def _inside(path: str) -> list[File]:
    """The data and the markers in a directory."""
    found: list[File] = []
    for folder, folders, names in os.walk(path, followlinks=True):
        folders[:] = [
            name for name in folders if not name.startswith(("_", ".")) and not _leads_back(path, folder, name)
        ]
        for name in names:
            if _is_data([name]) or _is_marker(name):
                found += _stat(os.path.join(folder, name))
    for name in filter(_is_marker, os.listdir(path)):  # perhaps it is there only now
        found += _stat(os.path.join(path, name))
    return found


def _leads_back(root: str, folder: str, name: str) -> bool:
    """Whether a directory is a link to one that it is in, or that a link on the way from ``root`` leads to."""
    path = os.path.join(folder, name)
    if not os.path.islink(path):
        return False
    target, at = Path(path).resolve(), Path(folder)
    on_the_way = [at, *at.parents][: 1 + len(at.relative_to(root).parts)]
    return any(each.resolve().is_relative_to(target) for each in on_the_way)


def _stat(path: str) -> list[File]:
    """The file at a path, if no other process has removed it meanwhile."""
    with suppress(FileNotFoundError):
        stat = os.stat(path)
        return [File(path, stat.st_size, stat.st_mtime)]
    return []


def _remote(url: str, storage: Storage) -> list[File] | None:
    from jelly._bytes.remote import list_url  # which takes some time to import

    listed = list_url(url, storage)
    if listed is None:
        return None
    files = [File(*entry) for entry in listed]
    # Below the place that was named, whatever may be hidden is.
    depth = _MAGIC.split(url)[0].rstrip("/").count("/")
    if len(files) == 1 and files[0].path.rstrip("/").count("/") <= depth:
        return files
    return [file for file in files if _is_data(file.path.split("/")[depth + 1 :]) or _is_marker(file.name)]


def exists(path: str, storage: Storage | None = None) -> bool:
    """Whether there is a file at a path or URL.

    >>> exists("no/such/place")
    False
    """
    return bool(_remote(path, storage or {})) if is_url(path) else os.path.exists(path)


def nothing_to_read(paths: Iterable[str], pattern: str | None = None) -> FileNotFoundError:
    """The error where some paths hold no files.

    >>> str(nothing_to_read(["data"], "*.nt"))
    "[PATH_NOT_FOUND] there are no files to read in data with names like '*.nt'"
    """
    like = "" if pattern is None else f" with names like {pattern!r}"
    return FileNotFoundError(f"[PATH_NOT_FOUND] there are no files to read in {', '.join(paths)}{like}")


def unknown_error(files: Sequence[File]) -> JellyError:
    """The error for files with the suffix of no format.

    >>> print(unknown_error([File("data/README.md", 1, 0.0)]))
    files with the suffix of no format are among the sources (1): data/README.md; skip_unknown=True leaves them out
    """
    names = ", ".join([file.path for file in files[:_SHOWN]] + ["..."] * (len(files) > _SHOWN))
    return JellyError(
        f"files with the suffix of no format are among the sources ({len(files):,}): {names}; "
        "skip_unknown=True leaves them out"
    )


def open_file(storage: Storage, path: str) -> BinaryIO:
    """Open the path or URL of a file."""
    if not is_url(path):
        return open_local(path)
    from jelly._bytes.remote import open_url

    return open_url(path, storage)


# ---- directories that are partitions

# The name that Hive and Spark write where the value is null.
_NULL = "__HIVE_DEFAULT_PARTITION__"

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")

Term = tuple[int, str]  # kind and text
Value = str | None
Said = tuple[tuple[str, Term | None], ...]  # of directories: for s, p or g its term; None is the default graph


@dataclass(frozen=True, slots=True)
class Directories:
    """The columns that the directories of files add.

    ``bases`` are the paths or URLs below which names of directories count. With ``terms`` they say what the
    statements are; ``columns`` are the names of those that are columns.

    >>> places = Directories(("data",), columns=("day",))
    >>> path = "data/day=2026-01-31/graph=http%3A%2F%2Fexample.org%2F/a.nt"
    >>> places.values(path)
    {'day': '2026-01-31', 'graph': 'http://example.org/'}
    >>> places.shown(path, "ntriples")
    {'day': '2026-01-31', 'g': '<http://example.org/>'}
    """

    bases: tuple[str, ...] = ()
    terms: bool = True
    columns: tuple[str, ...] = ()

    def values(self, path: str) -> dict[str, Value]:
        """The values of the directories of a file, by their names."""
        names = _names(path)[:-1]
        # The first of several that are above the file.
        roots = [root for root in map(_root, self.bases) if names[: len(root)] == root]
        below = names[min(map(len, roots)) :] if roots else []
        if path.startswith("http"):
            below = [unquote(name) for name in below]  # an address has an encoding of its own
        pairs = [name.split("=", 1) for name in below if "=" in name]
        return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}

    def said(self, path: str) -> Said:
        """The terms that all statements of a file have. JellyError if a directory names no term."""
        found: dict[str, Term | None] = {}
        for name, value in self.values(path).items() if self.terms else ():
            slot, syntax = COLUMNS.get(name, ("o", ""))
            if slot == "o" or (value is None and slot != "g"):  # no directory says an object
                continue
            term = None if value is None else _term(value, syntax)
            if (value is not None and term is None) or found.get(slot, term) != term:
                raise JellyError(
                    f"the directory {name}={value} names no term of its statements: expected an IRI or a blank node; "
                    'option("partitions", "false") reads the files without their directories',
                    source=path,
                )
            found[slot] = term
        return tuple(found.items())

    def shown(self, path: str, layout: Layout) -> dict[str, Value]:
        """The values of columns that are the same for all rows of a file."""
        found: dict[str, Value] = {name: self.values(path).get(name) for name in self.columns}
        for slot, term in self.said(path):
            found[LAYOUTS[layout].column(PLACES[slot])] = None if term is None else _text(term, LAYOUTS[layout].syntax)
        return found

    def allows(self, path: str, layout: Layout, wanted: Mapping[str, Collection[Value]]) -> bool:
        """Whether a file may have rows whose columns have one of some values each."""
        known = self.shown(path, layout) if wanted else {}
        return all(known[name] in values for name, values in wanted.items() if name in known)

    def chosen(self, path: str, wanted: Mapping[str, Collection[str]]) -> bool:
        """Whether the directories of a file have one of the wanted values each."""
        known = self.values(path) if wanted else {}
        return all(known.get(name) in values for name, values in wanted.items())


NONE = Directories(terms=False)


def in_directories(
    said: Said, path: str, batches: Iterable[Batch], errors: list[JellyError] | None
) -> Iterator[Batch]:
    """The Batches of a file with what its directories have said: statements without a graph get it.

    JellyFormatError for statements that say another thing; with ``errors`` these are left out, see `fitting`.
    """
    for batch in with_graphs(said, batches):
        rows = fitting(said, path, batch, errors)
        yield batch if rows is None else select(batch, rows)
        del batch  # before the next one takes memory


def with_graphs(said: Said, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Batches whose statements without a graph get that of their directory."""
    graph = dict(said).get("g")
    for batch in batches:
        yield batch if graph is None else name_default_graph(batch, graph[0], graph[1].encode())
        del batch


def fitting(said: Said, path: str, batch: Batch, errors: list[JellyError] | None) -> Ids | None:
    """The rows of a Batch that say what the directories of the file have said; None for all of them.

    JellyFormatError for rows that say another thing; with ``errors`` one error is noted for those of a Batch.
    """
    rows: Ids | None = None
    for slot, term in said:
        if term is None:
            found = np.arange(len(batch)) if batch.g is None else np.flatnonzero(batch.g < 0)
        else:
            wanted: dict[str, OfKinds] = {slot: OfKinds((term[0],), term[1])}
            found = Pattern(**wanted).rows(batch)  # type: ignore[arg-type]
        before = np.arange(len(batch)) if rows is None else rows
        others = np.setdiff1d(before, found)
        if len(others):
            error = _difference(batch, slot, others, term, path)
            if errors is None:
                raise error
            errors.append(error)
            rows = np.intersect1d(before, found)
    return rows


def _difference(batch: Batch, slot: str, others: Ids, term: Term | None, path: str) -> JellyError:
    """The error for some rows."""
    id = int(getattr(batch, slot)[others[0]])
    says = "the default graph" if term is None else _text(term, "ntriples")
    has = "none" if id < 0 else batch.term(id)
    return JellyFormatError(
        f"the {PLACES[slot]} of {len(others)} statements is not that of their directory, {says}: the first has {has}",
        row=batch.first_row + int(others[0]),
        source=path,
    )


def _names(path: str) -> list[str]:
    """The parts of a path or URL, without its scheme."""
    path = path.rpartition("://")[2] if is_url(path) else path.replace("\\", "/")
    return [name for name in path.split("/") if name]


def _root(base: str) -> list[str]:
    """The parts of a path, or of what stands before the wildcards of a pattern."""
    fixed = _WILDCARD.split(base)[0]
    return _names(fixed if fixed == base else fixed.rpartition("/")[0])


def _term(value: str, syntax: str) -> Term | None:
    if value.startswith("_:") and len(value) > 2:
        return Kind.BNODE, value[2:]
    if syntax == "ntriples":
        if not value.startswith("<") or not value.endswith(">"):
            return None
        value = value[1:-1]
    return (Kind.IRI, value) if _IRI.fullmatch(value) else None


def _text(term: Term, syntax: str) -> str:
    kind, text = term
    if kind == Kind.BNODE:
        return f"_:{text}"
    return f"<{text}>" if syntax == "ntriples" else text
