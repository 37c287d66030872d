"""Where jobs put their files: a local directory or an object store. Independent of Spark.

A file appears whole or not at all, and only when the driver says so::

    store = store_of("s3://bucket/table", {"anon": False})
    store.begin("job")                                  # the driver
    with store.task("job", "attempt-1") as draft:       # an executor writes any files into draft.folder
        write(os.path.join(draft.folder, "part-1.parquet"))
        staged = draft.stage()                          # they are in the store now, but nobody sees them
    swap(store, "job", staged)                          # the driver: readers see all of them (see `swap`)

`LocalStore` writes below ``_temporary/<job>/`` and renames. `S3Store` uploads in parts and completes the uploads in the
end, so that there is nothing to rename. `UrlStore`, for every other file system of fsspec, uploads below
``_temporary/<job>/`` and moves, which object stores do by copying. Names are relative to the directory, with slashes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from jelly._bytes.names import is_url
from jelly._bytes.part_file import patiently, to_disk
from jelly._bytes.remote import change_time, file_system
from jelly._bytes.workers import Workers, in_order
from jelly.errors import JellyError
from jelly.spark._commit.staging import TEMPORARY, Draft, Staged, Store

__all__ = ["LocalStore", "S3Store", "UrlStore", "store_of"]

# Requests to an object store at a time, and bytes of a part of an upload: S3 allows 10,000, each of 5 MiB or more.
_REQUESTS = 16
_PART = 16 << 20
_PARTS = 10_000

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class LocalStore(Store):
    """A local directory, which all nodes must share. Files get their places by renaming."""

    @property
    def url(self) -> str:
        return self.path

    def _at(self, *names: str) -> str:
        path = os.path.join(self.path, *names)
        if ".." in path[len(self.path) :].replace(os.sep, "/").split("/") or not path.startswith(self.path):
            raise JellyError(f"a name leads out of the directory: {'/'.join(names)}", source=self.path)
        return path

    def files(self, inside: str = "") -> dict[str, tuple[int, float]]:
        found = {}
        for place, _, files in os.walk(self._at(inside)):
            for file in files:
                path = os.path.join(place, file)
                with contextlib.suppress(FileNotFoundError):  # others may remove it meanwhile
                    stat = os.stat(path)
                    found[os.path.relpath(path, self.path).replace(os.sep, "/")] = stat.st_size, stat.st_mtime
        return found

    def read(self, name: str) -> bytes | None:
        try:
            with open(self._at(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        path = self._at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".part", "wb") as file:
            file.write(data)
            file.flush()
            to_disk(file.fileno())
        patiently(os.replace, path + ".part", path)

    def create(self, name: str, data: bytes) -> bool:
        try:
            with open(self._at(name), "xb") as file:
                file.write(data)
        except FileExistsError:
            return False
        return True

    def delete(self, names: Collection[str]) -> None:
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

    def begin(self, job: str) -> None:
        os.makedirs(self._at(TEMPORARY, job), exist_ok=True)

    def has(self, job: str) -> bool:
        return os.path.isdir(self._at(TEMPORARY, job))

    @contextlib.contextmanager
    def scratch(self, job: str, attempt: str) -> Iterator[str]:
        folder = self._at(TEMPORARY, job, attempt)
        os.mkdir(folder)  # not its parents: a job that was given up must leave nothing
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def stage(self, draft: Draft, names: Sequence[str]) -> list[Staged]:
        place = f"{TEMPORARY}/{draft.job}/{draft.attempt}/"
        return [Staged(name, os.path.getsize(os.path.join(draft.folder, name)), place + name) for name in names]

    @contextlib.contextmanager
    def fetched(self, names: Sequence[str]) -> Iterator[list[str]]:
        yield [self._at(name) for name in names]

    def missing(self, staged: Iterable[Staged]) -> list[Staged]:
        def is_there(file: Staged) -> bool:
            for name in (file.place, file.name):
                with contextlib.suppress(FileNotFoundError):
                    return os.path.getsize(self._at(name)) == file.size
            return False

        return [file for file in staged if not is_there(file)]

    def publish(self, staged: Sequence[Staged]) -> None:
        for file in staged:
            made, final = self._at(file.place), self._at(file.name)
            if os.path.exists(made):
                os.makedirs(os.path.dirname(final), exist_ok=True)
                patiently(os.replace, made, final)
            elif not os.path.exists(final):
                raise JellyError("a file that a task has written is gone", source=made)

    def sweep(self, job: str | None = None, keep: Collection[Staged] = ()) -> None:
        top = self._at(TEMPORARY)
        kept = {file.place for file in keep}
        if not kept:
            gone = self._at(TEMPORARY, f"{job}.gone") if job else f"{top}.gone"
            with contextlib.suppress(OSError):
                # After the renaming no task writes more into it.
                os.rename(self._at(TEMPORARY, job) if job else top, gone)
            shutil.rmtree(gone, ignore_errors=True)
        else:
            for place, _, files in os.walk(self._at(TEMPORARY, job) if job else top, topdown=False):
                for file in files:
                    path = os.path.join(place, file)
                    if os.path.relpath(path, self.path).replace(os.sep, "/") not in kept:
                        os.unlink(path)
                with contextlib.suppress(OSError):
                    os.rmdir(place)
        with contextlib.suppress(OSError):  # it has other jobs
            os.rmdir(top)

    def jobs(self) -> dict[str, float]:
        with contextlib.suppress(FileNotFoundError):
            return {entry.name: entry.stat().st_mtime for entry in os.scandir(self._at(TEMPORARY))}
        return {}

    def content(self) -> Collection[str]:
        with contextlib.suppress(FileNotFoundError):
            return [name for name in os.listdir(self.path) if not name.startswith(("_", "."))]
        return []

    def remove_if_empty(self) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(self.path)


# ---- remote

@dataclass(frozen=True, slots=True)
class UrlStore(Store):
    """A URL of any file system of fsspec. Files are uploaded under another name and moved."""

    @property
    def url(self) -> str:
        parts = urlsplit(self.path)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

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
            for secret in _secrets(self.storage, urlsplit(self.path)):
                text = text.replace(secret, "***")
            kind = type(error) if type(error).__module__ == "builtins" and isinstance(error, OSError) else OSError
            raise kind(f"{self.url}: {text or type(error).__name__}") from None

    def files(self, inside: str = "") -> dict[str, tuple[int, float]]:
        with self._files() as (fs, root):
            found = self._find(fs, root, inside)
        return {name: (info["size"] or 0, change_time(info)) for name, info in found.items()}

    def _find(self, fs: Any, root: str, inside: str = "") -> dict[str, Any]:
        fs.invalidate_cache()
        try:
            found = fs.find(f"{root}/{inside}".rstrip("/"), detail=True)
        except FileNotFoundError:
            return {}
        return {path[len(root) + 1 :]: info for path, info in found.items() if info["type"] == "file"}

    def read(self, name: str) -> bytes | None:
        with self._files() as (fs, root):
            try:
                data: bytes = fs.cat_file(f"{root}/{name}")
                return data
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        with self._files() as (fs, root):
            self._make_parents(fs, [f"{root}/{name}"])
            fs.pipe_file(f"{root}/{name}", data)

    def create(self, name: str, data: bytes) -> bool:
        with self._files() as (fs, root):
            path = f"{root}/{name}"
            self._make_parents(fs, [path])
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

    def begin(self, job: str) -> None:
        self.write(f"{TEMPORARY}/{job}/_job", b"")

    def has(self, job: str) -> bool:
        return self.read(f"{TEMPORARY}/{job}/_job") is not None

    def stage(self, draft: Draft, names: Sequence[str]) -> list[Staged]:
        place = f"{TEMPORARY}/{draft.job}/{draft.attempt}/"
        with self._files() as (fs, root):
            self._make_parents(fs, [f"{root}/{place}{name}" for name in names])

            def put(name: str) -> Staged:
                path = os.path.join(draft.folder, name)
                fs.put_file(path, f"{root}/{place}{name}")
                return Staged(name, os.path.getsize(path), place + name)

            return _each(put, names)

    @contextlib.contextmanager
    def fetched(self, names: Sequence[str]) -> Iterator[list[str]]:
        with tempfile.TemporaryDirectory(prefix="jelly-") as folder:
            paths = [os.path.join(folder, str(number)) for number in range(len(names))]
            with self._files() as (fs, root):
                _each(lambda pair: fs.get_file(f"{root}/{pair[0]}", pair[1]), zip(names, paths, strict=True))
            yield paths

    def missing(self, staged: Iterable[Staged]) -> list[Staged]:
        listed = self.files()
        return [
            file for file in staged
            if all(listed.get(name, (None,))[0] != file.size for name in (file.place, file.name))
        ]  # fmt: skip

    def publish(self, staged: Sequence[Staged]) -> None:
        with self._files() as (fs, root):
            self._make_parents(fs, [f"{root}/{file.name}" for file in staged])

            def move(file: Staged) -> None:
                try:
                    fs.mv(f"{root}/{file.place}", f"{root}/{file.name}")
                except FileNotFoundError:
                    fs.invalidate_cache()
                    if not fs.exists(f"{root}/{file.name}"):
                        why = "a file that a task has written is gone; do all nodes see the same store?"
                        raise JellyError(why, source=f"{self.url}/{file.place}") from None

            _each(move, staged)

    def sweep(self, job: str | None = None, keep: Collection[Staged] = ()) -> None:
        kept = {file.place for file in keep}
        inside = f"{TEMPORARY}/{job}" if job else TEMPORARY
        with self._files() as (fs, root):
            found = self._find(fs, root, inside)
        # First the sign that the job lives.
        self.delete([name for name in found if name.endswith("/_job")])
        self.delete([name for name in found if name not in kept and not name.endswith("/_job")])
        if not kept:
            with self._files() as (fs, root), contextlib.suppress(FileNotFoundError):
                fs.rm(f"{root}/{inside}", recursive=True)

    def jobs(self) -> dict[str, float]:
        with self._files() as (fs, root):
            found = self._find(fs, root, TEMPORARY)
        last: dict[str, float] = {}
        for name, info in found.items():
            job = name.split("/")[1]
            last[job] = max(last.get(job, 0.0), change_time(info))
        return last

    def _make_parents(self, fs: Any, paths: Iterable[str]) -> None:
        """Make directories, where a file system has them."""
        for parent in {path.rpartition("/")[0] for path in paths}:
            fs.makedirs(parent, exist_ok=True)


@dataclass(frozen=True, slots=True)
class S3Store(UrlStore):
    """A URL of S3, or of another store that speaks its protocol. The driver completes what tasks have uploaded."""

    def _make_parents(self, fs: Any, paths: Iterable[str]) -> None:
        """There are no directories, and a bucket must exist."""

    @staticmethod
    def _key(fs: Any, path: str) -> dict[str, str]:
        bucket, key, _ = fs.split_path(path)
        return {"Bucket": bucket, "Key": key}

    def stage(self, draft: Draft, names: Sequence[str]) -> list[Staged]:
        with self._files() as (fs, root):

            def upload(name: str) -> Staged:
                path = os.path.join(draft.folder, name)
                size = os.path.getsize(path)
                at = self._key(fs, f"{root}/{name}")
                at["UploadId"] = fs.call_s3("create_multipart_upload", **at)["UploadId"]
                tags = []
                step = max(_PART, -(-size // _PARTS))
                with open(path, "rb") as file:
                    for number, data in enumerate(iter(lambda: file.read(step), b""), 1):
                        tags.append(fs.call_s3("upload_part", PartNumber=number, Body=data, **at)["ETag"])
                return Staged(name, size, at["UploadId"], tuple(tags))

            # Another sign of life, and a name by which `sweep` finds the uploads.
            self.write_json(f"{TEMPORARY}/{draft.job}/{draft.attempt}", list(names))
            return _each(upload, names)

    def _uploads(self, fs: Any, root: str) -> list[tuple[str, str]]:
        """Name and id of each upload that is not complete."""
        bucket, prefix, _ = fs.split_path(f"{root}/")
        found: list[tuple[str, str]] = []
        more: dict[str, str] = {}
        while True:
            page = fs.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=prefix, **more)
            found += [(entry["Key"][len(prefix) :], entry["UploadId"]) for entry in page.get("Uploads") or ()]
            if not page.get("IsTruncated"):
                return found
            more = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}

    def missing(self, staged: Iterable[Staged]) -> list[Staged]:
        with self._files() as (fs, root):
            uploads = set(self._uploads(fs, root))
        listed = self.files()
        return [
            file for file in staged
            if (file.name, file.place) not in uploads and listed.get(file.name, (None,))[0] != file.size
        ]  # fmt: skip

    def publish(self, staged: Sequence[Staged]) -> None:
        with self._files() as (fs, root):

            def complete(file: Staged) -> None:
                parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(file.tags, 1)]
                at = self._key(fs, f"{root}/{file.name}")
                try:
                    fs.call_s3("complete_multipart_upload", UploadId=file.place, MultipartUpload={"Parts": parts}, **at)
                except Exception:
                    # It may be complete already: what counts is the object.
                    fs.invalidate_cache()
                    if not fs.exists(f"{root}/{file.name}") or fs.size(f"{root}/{file.name}") != file.size:
                        raise

            _each(complete, staged)

    def sweep(self, job: str | None = None, keep: Collection[Staged] = ()) -> None:
        inside = f"{TEMPORARY}/{job}" if job else TEMPORARY
        kept = {(file.name, file.place) for file in keep}
        with self._files() as (fs, root):
            found = self._find(fs, root, inside)
            signs = [name for name in found if name.endswith("/_job")]
            if job is None:
                names = None
            else:
                notes = [name for name in found if name.count("/") == 2 and not name.endswith("/_job")]
                names = {name for note in notes for name in self.read_json(note) or ()}
            self.delete(signs)

            def abort(upload: tuple[str, str]) -> None:
                with contextlib.suppress(FileNotFoundError):
                    at = self._key(fs, f"{root}/{upload[0]}")
                    fs.call_s3("abort_multipart_upload", UploadId=upload[1], **at)

            uploads = self._uploads(fs, root)
            _each(abort, [one for one in uploads if one not in kept and (names is None or one[0] in names)])
            self.delete([name for name in found if name not in signs])


def store_of(path: str, storage: Mapping[str, Any] | None = None, *, readable: bool = False) -> Store:
    """The store at a local path or URL. ``storage`` goes to the file system of fsspec.

    With ``readable``, what was staged can be fetched before it is published. On S3 it is copied then.

    >>> store_of("/data/table")
    LocalStore(path='/data/table')
    """
    if not is_url(path):
        return LocalStore(path)
    kind = S3Store if path.startswith(("s3://", "s3a://")) and not readable else UrlStore
    return kind(path.rstrip("/"), dict(storage or {}))


def _secrets(storage: Any, parts: Any) -> Iterator[str]:
    """Texts that must not be in an error: long strings of the options that are no addresses, a password in the URL."""
    if parts is not None and parts.password:
        yield parts.password
    values = storage.values() if isinstance(storage, Mapping) else storage if isinstance(storage, list | tuple) else ()
    for value in values:
        if isinstance(value, str):
            if len(value) > 5 and not is_url(value):
                yield value
        else:
            yield from _secrets(value, None)


def _each(do: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """Do something with each item, some at a time."""
    given = list(items)
    if len(given) < 2:
        return [do(item) for item in given]
    with Workers(_REQUESTS) as workers:
        return [made for _, made in in_order(workers, given, do)]
