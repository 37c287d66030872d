"""Where jobs put their files, a local directory or a URL of any file system of fsspec, and how readers see them.

A file appears whole or not at all, and only when the driver says so::

    store = store_of("s3://bucket/table", {"anon": False})
    store.begin("job")                                  # the driver
    with store.task("job", "attempt-1") as folder:      # an executor writes any files into a local folder
        write(os.path.join(folder, "part-1.parquet"))
        staged = store.stage("job", "attempt-1", folder)  # they are in the store now, but nobody sees them
    swap(store, "job", staged)                          # the driver: readers see all of them

Tasks stage below ``_temporary/<job>/``, from where files are moved: by renaming, in object stores by copying. Names are
relative to the directory, with slashes.

No store renames many files at once. So `swap` tells of it before it is done, in ``_commit-<job>.json``: readers leave
out the files that it hides, at first the new ones, later the old ones (`jelly.spark._parts.files.find_files`). Writing
this small file again is what changes the table. Other readers can look at ``_SUCCESS``, which is missing meanwhile.

A job that dies in between leaves its file. The next job in the directory takes the new files away if the old ones still
count, else it removes the old ones: when the file is so old that its writer must be dead, because it writes it again
and again while it lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from jelly._bytes.names import is_url
from jelly._bytes.part_file import patiently, write_to_disk
from jelly._bytes.remote import change_time, file_system
from jelly._bytes.workers import Workers, in_order
from jelly.errors import JellyError
from jelly.spark._parts.files import MARKER, Storage

TEMPORARY = "_temporary"
SUCCESS = "_SUCCESS"
# Requests to an object store at a time.
_REQUESTS = 16

Item = TypeVar("Item")
# An object of JSON.
Json: TypeAlias = dict[str, Any]


class Staged(NamedTuple):
    """A whole file that nobody sees yet: its ``name`` and ``size``, and ``place``, where the store has it now."""

    name: str
    size: int
    place: str


@dataclass(frozen=True, slots=True)
class Store:
    """A directory for files of jobs: a local one, which all nodes must share. Files get their places by renaming.

    It can be pickled. Other places are subclasses.
    """

    path: str  # as it was given
    storage: Storage = field(default_factory=dict, repr=False)  # it may have credentials

    @property
    def url(self) -> str:
        """Its path or URL, without credentials."""
        return re.sub("^([^/]+://)[^/?#]*@", r"\1", self.path)

    def _at(self, name: str) -> str:
        path = os.path.join(self.path, name)
        if ".." in path[len(self.path) :].replace(os.sep, "/").split("/") or not path.startswith(self.path):
            raise JellyError(f"a name leads out of the directory: {name}", source=self.path)
        return path

    # ---- small files, each written at once

    def files(self, inside: str = "") -> dict[str, tuple[int, float]]:
        """All files, or those ``inside`` one directory: their bytes and times of change."""
        return _files_of(self.path, self._at(inside))

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it does not exist."""
        try:
            with open(self._at(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file that readers see whole, or not yet."""
        patiently(os.replace, self._made(f"{name}.part", data), self._at(name))

    def _made(self, name: str, data: bytes) -> str:
        """The path of a new file, which is on the disk."""
        path = made_path(self._at(name))
        write_to_disk(path, data)
        return path

    def create(self, name: str, data: bytes) -> bool:
        """Write a file that does not exist. False if it does.

        Stores without conditional writes can only look before they write: two that do so at once may both get True.
        """
        # Others may be doing the same.
        made, path = self._made(f"{name}.{uuid4().hex}.part", data), self._at(name)
        is_new = True
        try:
            os.link(made, path)
        except OSError:  # it exists, or there are no links
            is_new = not os.path.exists(path)
            if is_new:
                patiently(os.replace, made, path)
                return True
        os.unlink(made)
        return is_new

    def delete(self, names: Collection[str]) -> None:
        """Remove files that may exist, and directories that are empty then."""
        for name in names:
            path = self._at(name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                with contextlib.suppress(FileNotFoundError):
                    patiently(os.unlink, path)
            parent = os.path.dirname(name)
            with contextlib.suppress(OSError):  # it has other files
                while parent:
                    os.rmdir(self._at(parent))
                    parent = os.path.dirname(parent)

    def read_json(self, name: str) -> Any:
        """The JSON of a file; None if there is none."""
        data = self.read(name)
        return None if data is None else json.loads(data)

    def write_json(self, name: str, value: Any) -> None:
        """Write a file of JSON."""
        self.write(name, json.dumps(value).encode())

    # ---- files of tasks

    def begin(self, job: str) -> None:
        """Let tasks of a job write. Make the directory, if there are directories."""
        self.create(_place(job, "_job"), b"")  # the tasks of a stream do it at once

    def has(self, job: str) -> bool:
        """Whether tasks of a job may write: it has begun, and was not swept."""
        return self.read(_place(job, "_job")) is not None

    @contextlib.contextmanager
    def task(self, job: str, attempt: str) -> Iterator[str]:
        """A local folder for the files of an attempt at a task. It is gone in the end, unless it is in the store."""
        if not self.has(job):
            why = "it must be a directory that all nodes share, or the job was given up"
            raise JellyError(f"the job {job} is not in {self.url}: {why}")
        with self._scratch(job, attempt) as folder:
            yield folder

    @contextlib.contextmanager
    def _scratch(self, job: str, attempt: str) -> Iterator[str]:
        folder = self._at(_place(job, attempt))
        os.mkdir(folder)  # not its parents: a job that was given up must leave nothing
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def stage(self, job: str, attempt: str, folder: str) -> list[Staged]:
        """Put all files of the folder of an attempt, at any depth, into the store, under their names in it.

        JellyError if the job was given up meanwhile. Then nothing of it is left.
        """
        place = _place(job, attempt)
        staged = [Staged(name, size, f"{place}/{name}") for name, (size, _) in sorted(_files_of(folder).items())]
        self._upload(folder, staged)
        if not self.has(job):
            self.sweep(job)
            raise JellyError(f"the job {job} was given up", source=self.url)
        return staged

    def _upload(self, folder: str, staged: Sequence[Staged]) -> None:
        """They are there."""

    @contextlib.contextmanager
    def fetched(self, names: Sequence[str]) -> Iterator[list[str]]:
        """Context manager: paths of local files with the content of some files, in their order."""
        yield [self._at(name) for name in names]

    def missing(self, staged: Iterable[Staged]) -> list[Staged]:
        """Those of some files that are neither staged any more nor published."""
        sizes = {name: size for name, (size, _) in self.files().items()}
        return [file for file in staged if file.size not in (sizes.get(file.place), sizes.get(file.name))]

    def check(self, staged: Iterable[Staged]) -> None:
        """JellyError if some files are neither staged any more nor published."""
        if gone := self.missing(staged):
            raise self._gone(gone[0])

    def publish(self, staged: Sequence[Staged]) -> None:
        """Make files visible, unless they are."""
        for file in staged:
            final = made_path(self._at(file.name))
            try:
                patiently(os.replace, self._at(file.place), final)
            except FileNotFoundError:
                if not os.path.exists(final):
                    raise self._gone(file) from None

    def _gone(self, file: Staged) -> JellyError:
        why = "a file that a task has written is gone; do all nodes see the same store?"
        return JellyError(why, source=f"{self.url}/{file.place}")

    def sweep(self, job: str) -> None:
        """Remove what a job has staged. Its tasks may not write any more."""
        gone = self._at(_place(f"{job}.gone", ""))
        with contextlib.suppress(OSError):
            # After the renaming no task writes more into it.
            os.rename(self._at(_place(job, "")), gone)
        shutil.rmtree(gone, ignore_errors=True)
        with contextlib.suppress(OSError):  # it has other jobs
            os.rmdir(self._at(TEMPORARY))

    def jobs(self) -> dict[str, float]:
        """The jobs that have begun and were not swept, and when each gave a last sign, by the clock of the store."""
        last: dict[str, float] = {}
        for name, (_, changed) in self.files(TEMPORARY).items():
            job = name.split("/")[1]
            last[job] = max(last.get(job, 0.0), changed)
        return last

    def content(self) -> Collection[str]:
        """The files and directories that readers may see, for an overwrite."""
        with contextlib.suppress(FileNotFoundError):
            return [name for name in os.listdir(self.path) if not name.startswith(("_", "."))]
        return []


def made_path(*names: str) -> str:
    """The path of a file, whose directory is made."""
    path = os.path.join(*names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def _place(job: str, name: str) -> str:
    return f"{TEMPORARY}/{job}/{name}"


def _files_of(folder: str, inside: str = "") -> dict[str, tuple[int, float]]:
    """The files in a folder, or in the one ``inside`` it: by their names in it, bytes and times of change."""
    found = {}
    for place, _, files in os.walk(inside or folder):
        for file in files:
            path = os.path.join(place, file)
            with contextlib.suppress(FileNotFoundError):  # others may remove it meanwhile
                stat = os.stat(path)
                found[os.path.relpath(path, folder).replace(os.sep, "/")] = stat.st_size, stat.st_mtime
    return found


class UrlStore(Store):
    """A URL of any file system of fsspec. Files are uploaded under another name and moved."""

    @contextlib.contextmanager
    def _files(self) -> Iterator[tuple[Any, str]]:
        """The file system and the path in it. Within this, errors name the URL and no credentials."""
        try:
            fs, root = file_system(self.path, self.storage)
            yield fs, root.rstrip("/")
        except JellyError:
            raise
        except Exception as error:
            text = str(error)
            for secret in filter(None, [urlsplit(self.path).password, *_secrets(self.storage)]):
                text = text.replace(secret, "***")
            kind = type(error) if type(error).__module__ == "builtins" and isinstance(error, OSError) else OSError
            raise kind(f"{self.url}: {text or type(error).__name__}") from None

    def files(self, inside: str = "") -> dict[str, tuple[int, float]]:
        with self._files() as (fs, root):
            fs.invalidate_cache()
            try:
                found = fs.find(f"{root}/{inside}".rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
        return {
            path[len(root) + 1 :]: (info["size"] or 0, change_time(info))
            for path, info in found.items() if info["type"] == "file"
        }  # fmt: skip

    def read(self, name: str) -> bytes | None:
        with self._files() as (fs, root):
            try:
                data: bytes = fs.cat_file(f"{root}/{name}")
                return data
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        with self._files() as (fs, root):
            _make_parents(fs, [f"{root}/{name}"])
            fs.pipe_file(f"{root}/{name}", data)

    def create(self, name: str, data: bytes) -> bool:
        with self._files() as (fs, root):
            path = f"{root}/{name}"
            _make_parents(fs, [path])
            fs.invalidate_cache()
            if fs.exists(path):
                return False
            try:
                fs.pipe_file(path, data, mode="create")
            except FileExistsError:
                return False
            except (TypeError, ValueError, NotImplementedError):
                fs.pipe_file(path, data)  # without conditional writes; docs/object-stores.md says so
            return True

    def delete(self, names: Collection[str]) -> None:
        with self._files() as (fs, root):

            def remove(name: str) -> None:
                with contextlib.suppress(FileNotFoundError):
                    fs.rm_file(f"{root}/{name}")

            _each(remove, names)

    @contextlib.contextmanager
    def _scratch(self, job: str, attempt: str) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="jelly-") as folder:
            yield folder

    def _upload(self, folder: str, staged: Sequence[Staged]) -> None:
        with self._files() as (fs, root):
            _make_parents(fs, [f"{root}/{file.place}" for file in staged])
            _each(lambda file: fs.put_file(os.path.join(folder, file.name), f"{root}/{file.place}"), staged)

    @contextlib.contextmanager
    def fetched(self, names: Sequence[str]) -> Iterator[list[str]]:
        with tempfile.TemporaryDirectory(prefix="jelly-") as folder:
            paths = [os.path.join(folder, str(number)) for number in range(len(names))]
            with self._files() as (fs, root):
                _each(lambda pair: fs.get_file(f"{root}/{pair[0]}", pair[1]), zip(names, paths, strict=True))
            yield paths

    def publish(self, staged: Sequence[Staged]) -> None:
        with self._files() as (fs, root):
            _make_parents(fs, [f"{root}/{file.name}" for file in staged])

            def move(file: Staged) -> None:
                try:
                    fs.mv(f"{root}/{file.place}", f"{root}/{file.name}")
                except FileNotFoundError:
                    fs.invalidate_cache()
                    if not fs.exists(f"{root}/{file.name}"):
                        raise self._gone(file) from None

            _each(move, staged)

    def sweep(self, job: str) -> None:
        # First the sign that the job lives.
        self.delete([_place(job, "_job")])
        with self._files() as (fs, root), contextlib.suppress(FileNotFoundError):
            fs.invalidate_cache()
            fs.rm(f"{root}/{TEMPORARY}/{job}", recursive=True)

    def content(self) -> Collection[str]:
        return [name for name in self.files() if not name.startswith(("_", "."))]


def _make_parents(fs: Any, paths: Iterable[str]) -> None:
    """Make directories, where a file system has them: a bucket must exist."""
    if "s3" not in fs.protocol:
        for parent in {path.rpartition("/")[0] for path in paths}:
            fs.makedirs(parent, exist_ok=True)


def store_of(path: str, storage: Storage | None = None) -> Store:
    """The store at a local path or URL. ``storage`` goes to the file system of fsspec.

    >>> store_of("/data/table")
    Store(path='/data/table')
    """
    return UrlStore(path.rstrip("/"), dict(storage or {})) if is_url(path) else Store(path)


def _secrets(value: Any) -> Iterator[str]:
    """Texts that must not be in an error: long strings of options that are no addresses."""
    if isinstance(value, str):
        if len(value) > 5 and not is_url(value):
            yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _secrets(each)


def _each(do: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Do something with each item, some at a time."""
    with Workers(_REQUESTS) as workers:
        for _ in in_order(workers, items, do):
            pass


# ---- the step in which files become visible

# The job of every ingest into a directory: the next one completes what it has begun.
INGEST = "ingest"
# Seconds after which a job that gives no sign of life is dead. A living one gives a sign several times as often.
LEASE = 60.0
# Seconds after which tasks of a job that has not begun to commit are dead: each task is a sign of life.
ABANDONED = 86400.0
# Files to publish between two looks at the clock.
_AT_A_TIME = 64


def marker_of(job: str) -> str:
    """The name of the file that says what a job changes."""
    return f"{MARKER}{job}.json"


def swap(
    store: Store, job: str, staged: Sequence[Staged], old: Collection[str] = (), *, success: str = SUCCESS
) -> None:
    """Show readers the staged files instead of the ``old`` ones. `finish` must follow.

    ``success`` is the file that is missing meanwhile.
    """
    marker = marker_of(job)
    names = [file.name for file in staged]
    state: Json = {"step": "add", "hide": names, "success": store.read(success) is not None}
    store.write_json(marker, state)
    store.delete([success])
    told = time.monotonic()
    for at in range(0, len(staged), _AT_A_TIME):
        if time.monotonic() - told > LEASE / 6:
            store.write_json(marker, state)
            told = time.monotonic()
        store.publish(staged[at : at + _AT_A_TIME])
    if old:
        store.write_json(marker, {"step": "remove", "hide": sorted(old), "success": False})
        store.delete(old)


def finish(store: Store, job: str) -> None:
    """End a `swap`: the table is whole."""
    store.delete([marker_of(job)])
    store.write(SUCCESS, b"")


def roll_back(store: Store, job: str) -> None:
    """Take back what a `swap` has begun, or complete it if the new files count already."""
    marker = store.read_json(marker_of(job))
    if marker is not None:
        # The files to hide are those to remove, in either step.
        store.delete(marker["hide"])
        store.delete([marker_of(job)])
        if marker["success"] or marker["step"] == "remove":
            store.write(SUCCESS, b"")


def tidy(store: Store, job: str) -> None:
    """Remove what dead jobs have left. ``job`` has just begun, which gives the time of the store."""
    jobs = store.jobs()
    now = jobs.pop(job, None)
    if now is None:
        raise JellyError(f"the job {job} has begun and is not in {store.url}: is the directory writable?")
    for name, (_, changed) in store.files().items():
        if name.startswith(MARKER) and name != marker_of(INGEST) and now - changed > LEASE:
            if not name.endswith(".json"):  # its writer has died
                store.delete([name])
                continue
            dead = name.removeprefix(MARKER).removesuffix(".json")
            roll_back(store, dead)
            store.sweep(dead)
    for dead, changed in jobs.items():
        if now - changed > ABANDONED:
            store.sweep(dead)
