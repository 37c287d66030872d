"""A file that is written under a temporary name and renamed when it is complete.

The other name is ``.NAME.0.part``, in the same directory, or with the next number that is free. Its writer holds a
lock on it (flock), which the system releases when the writer closes the file or dies. A part file without a lock has no
owner: the next writer of the same target removes it. The rule that makes this safe with any number of processes and
threads: only the holder of the lock of a file removes or renames it, after a look whether the name still means that
file.

Where there are no such locks (Windows, some network file systems), nobody knows whether an owner lives, and nothing is
removed.

Python may raise KeyboardInterrupt between any two of its steps, also between a call and the assignment of its result.
So an object knows of its file or folder before that exists, or from the same step on, and removes it when it is itself
forgotten.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from typing import Any

from jelly._bytes.names import is_url
from jelly.errors import JellyUnsupportedError

# Number of names checked for part files of dead writers. Listing the directory would find more, but takes time in a
# directory of many files. If more writers of one target run at a time, the others take random names, which nobody
# removes.
SLOTS = 8
# Number of names to try. A name fails only if another process has just taken it.
TRIES = 100

# Names of devices on Windows, also with a suffix: no file can have them there.
RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})

# Whether an open file can be neither renamed nor removed, and the seconds between trials.
_OPEN_FILES_STAY = os.name == "nt"
_WAITS = tuple(0.01 * 2**n for n in range(8))

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# The begin of the names of part folders, and the file in them that is locked.
_FOLDER, _LOCK = ".jelly-", ".lock"

_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | _NO_LINK
# The byte that `lock` locks on Windows, which takes places of 31 bits.
_FAR = 0x7FFFFFFE
# Opening a pipe of that name would block.
_LOOK = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK


def hold(file: Any) -> bool | None:
    """Hold a lock on an open file (an object or a descriptor) until it is closed.

    False if another process or thread holds it, None if the system or file system has no such locks.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def lock(file: Any) -> bool:
    """Hold a lock on an open file until it is closed or the process ends; False if another process holds it.

    Where the file system has no locks the result is True.
    """
    try:
        import msvcrt
    except ImportError:
        return hold(file) is not False
    # Windows locks bytes, and keeps others from reading them: here one that no such file has.
    handle = file.fileno()
    place = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except PermissionError:
        return False
    except OSError as error:
        return error.errno != errno.EDEADLK
    finally:
        os.lseek(handle, place, os.SEEK_SET)
    return True


def patiently(change: Callable[..., object], *paths: Any) -> None:
    """Rename or remove a file.

    On Windows nobody can while the file is open anywhere: a reader of this package has closed it in a moment.
    """
    for wait in _WAITS if _OPEN_FILES_STAY else ():
        try:
            change(*paths)
            return
        except PermissionError:
            time.sleep(wait)
    change(*paths)


def to_disk(handle: int) -> None:
    """Wait until a file or directory is on the disk, not only in a cache of it."""
    try:
        import fcntl

        # Only macOS has it. There fsync may leave data in the disk's own cache.
        fcntl.fcntl(handle, getattr(fcntl, "F_FULLFSYNC"))  # noqa: B009
    except (ImportError, AttributeError, OSError):  # OSError: a network file system
        os.fsync(handle)


def write_to_disk(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that is on the disk then."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        to_disk(file.fileno())


def names_to_disk(folder: str | os.PathLike[str]) -> None:
    """Write the entries of a folder to the disk, where that can be done."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            to_disk(descriptor)
        finally:
            os.close(descriptor)


def _is_named(path: str, handle: int) -> bool:
    """Whether ``path`` still names the open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(handle))
    except OSError:
        return False


def _sweep(path: str, remove: Callable[[], object]) -> None:
    """Call ``remove`` if the file at ``path`` was locked by a writer that is dead."""
    with contextlib.suppress(OSError):
        handle = os.open(path, _LOOK)
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode) and hold(handle) and _is_named(path, handle):
                remove()
        finally:
            os.close(handle)


def take_mode(place: Any, replaced: os.stat_result) -> None:
    """Give a file, by its path or descriptor, the mode and owner of the one that it replaces."""
    mode = stat.S_IMODE(replaced.st_mode) & 0o777
    made = os.stat(place)
    if hasattr(os, "chown") and (made.st_uid, made.st_gid) != (replaced.st_uid, replaced.st_gid):
        with contextlib.suppress(OSError):
            os.chown(place, -1, replaced.st_gid)
        with contextlib.suppress(OSError):
            os.chown(place, replaced.st_uid, -1)
        if os.stat(place).st_gid != replaced.st_gid:
            # Another group gets only the permissions of others.
            mode = (mode & ~0o070) | ((mode & 0o007) << 3)
    os.chmod(place, mode)


def refuse_url(folder: str) -> None:
    """Refuse a URL where several files are to be: to the system it is the name of a directory on this machine."""
    if is_url(f"{folder}//") and not os.path.isdir(folder):
        raise JellyUnsupportedError(
            "several files are written to a directory on this machine only, not to a URL: copy them from there"
        )


class PartFolder(AbstractContextManager["PartFolder"]):
    """A folder ``.jelly-...`` within another one, which is made, for files that get their names together. Its ``path``.

    Its writer holds a lock on the file ``.lock`` in it; the next writer removes the folders of dead ones.
    """

    path = ""

    def __init__(self, folder: str) -> None:
        self._process = os.getpid()
        self._folder = folder
        folder = folder or os.curdir
        refuse_url(folder)
        self._made = "" if os.path.isdir(folder) else folder
        os.makedirs(folder, exist_ok=True)
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.startswith(_FOLDER) and entry.is_dir(follow_symlinks=False):
                    _sweep(os.path.join(entry.path, _LOCK), partial(_remove, entry.path))
        for _ in range(TRIES):
            self.path = os.path.join(folder, f"{_FOLDER}{os.urandom(8).hex()}")
            os.mkdir(self.path, 0o700)
            try:
                self._lock = os.open(os.path.join(self.path, _LOCK), _CREATE, 0o600)
            except FileNotFoundError:  # another writer swept it before it had a lock
                continue
            if hold(self._lock) is not False and _is_named(os.path.join(self.path, _LOCK), self._lock):
                return
            os.close(self._lock)
        raise FileExistsError(f"no part folder in {folder} stays")

    def of(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.path, os.path.basename(name))

    def commit(self, names: Iterable[str]) -> None:
        """Give the files of these names their places. A link stays a link, and a replaced file keeps its mode."""
        places = [(self.of(name), os.path.realpath(name)) for name in names]
        for _, target in places:
            if os.path.isdir(target):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
        for made, target in places:
            with contextlib.suppress(FileNotFoundError):
                take_mode(made, os.stat(target))
            patiently(os.replace, made, target)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        for name in ("filename", "source"):  # errors of files in it say where these were to go
            found = getattr(error, name, None)
            if isinstance(found, str) and os.path.dirname(found) == self.path:
                setattr(error, name, os.path.join(self._folder, os.path.basename(found)))
        os.close(self._lock)
        self.__del__()
        if self._made:
            with contextlib.suppress(OSError):  # it has files
                os.rmdir(self._made)

    def __del__(self) -> None:
        if self.path and self._process == os.getpid():
            _remove(self.path)
            self.path = ""


def _remove(path: str) -> None:
    import shutil  # which takes some time

    shutil.rmtree(path, ignore_errors=True)


class PartFile:
    """The part file of the path ``target``; ``handle`` is its descriptor, which the caller writes to and closes."""

    handle: int
    _made: Any = ()  # the handle, from the step on in which the file is made
    _lock: int | None = None

    def __init__(self, target: str) -> None:
        self._made = []
        self._target = target
        self._process = os.getpid()
        try:
            self._replaced: os.stat_result | None = os.stat(target)
        except FileNotFoundError:
            self._replaced = None
        folder, name = os.path.split(target)
        paths = [os.path.join(folder, f".{name}.{number}.part") for number in range(SLOTS)]
        for path in paths:
            _sweep(path, partial(os.unlink, path))
        others = (os.path.join(folder, f".{name}.{os.urandom(8).hex()}.part") for _ in range(TRIES))
        for self.path in chain(paths, others):
            if self._create():
                return
        raise FileExistsError(f"no name for a part file of {target} is free")

    def _create(self) -> bool:
        """Create and lock the file; False where another process was in between."""
        # A file that replaces a private file is private from the start. Otherwise the system applies the umask.
        mode = 0o666 if self._replaced is None else 0o600
        try:
            # One step for Python: no signal is handled between the creation and the note of it.
            self._made.extend(map(os.open, [self.path], [_CREATE], [mode]))
        except FileExistsError:
            return False
        (self.handle,) = self._made
        held = hold(self.handle)
        if held and _is_named(self.path, self.handle):
            # It stays locked until the caller has closed it and the file has its name.
            self._lock = os.dup(self.handle)
        elif held is not None:
            # A process that looked for dead writers saw the file before it was locked, and removes it.
            os.close(self._made.pop())
        return bool(self._made)

    def commit(self) -> None:
        """Rename the file, which the caller has closed, to the target, with the mode of the old target."""
        if self._replaced is not None:
            take_mode(self.path if self._lock is None or not hasattr(os, "fchmod") else self._lock, self._replaced)
        patiently(os.replace, self.path, self._target)
        self._release()

    def discard(self) -> None:
        """Remove the file, but not in a process forked from that of the writer."""
        # After an interrupt it may have its name already, and its old one be that of another file.
        is_there = self._lock is None or _is_named(self.path, self._lock)
        if self._made and is_there and self._process == os.getpid():
            with contextlib.suppress(FileNotFoundError):
                patiently(os.unlink, self.path)
        self._release()

    def __del__(self) -> None:
        if self._made:
            self.discard()

    def _release(self) -> None:
        lock, self._lock, self._made = self._lock, None, []
        if lock is not None:
            os.close(lock)
