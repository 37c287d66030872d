"""Sources and sinks: paths, bytes, file objects and chunks; compression; output that is complete or absent."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import re
import stat
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sized
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from jelly._io.compression import COMPRESSIONS, unpacked, zstandard
from jelly._io.limits import memory_error
from jelly._io.part_file import PartFile, hold
from jelly._io.sniff import HEAD, explain
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyLimitError, JellyTruncatedError

__all__ = [
    "COMPRESSIONS",
    "MAX_EXPANSION",
    "Progress",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceReader",
    "lock",
    "split_suffix",
]

CHUNK = 1 << 20

# Bytes read, total bytes (None if unknown), and statements or rows so far.
Progress = Callable[[int, "int | None", int], object]

Entered = TypeVar("Entered")
Rows = TypeVar("Rows", bound=Sized)

# Ends of pipes that a shell gives by name, as `>(command)` does.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]{1,9})")
# Decompressed bytes that any input may have, and so many more for each byte of it: 1 KB of bz2 can stand for a
# gigabyte. gzip stays below this (1032 for one), and so do data that mean something.
FREE_BYTES = 1 << 23
MAX_EXPANSION = 4096

_MAGIC_SIZE = max(map(len, COMPRESSIONS.values()))


def split_suffix(name: str) -> tuple[str, str]:
    """The format's and the compression's suffix of a file name, each "" where there is none.

    >>> split_suffix("data/people.nt.gz")
    ('.nt', '.gz')
    """
    stem, last = os.path.splitext(os.path.basename(name))
    if last.lower() in COMPRESSIONS:
        return os.path.splitext(stem)[1].lower(), last.lower()
    return last.lower(), ""


def lock(file: Any) -> bool:
    """Hold a lock on an open file until it is closed, or the process ends; False where another holds it.

    Where the system has no such locks (Windows), it is always had.
    """
    return hold(file) is not False


def descriptor_of(path: str) -> int | None:
    """The descriptor that a path such as ``/dev/stdout`` or ``/dev/fd/63`` stands for; None for other paths.

    >>> descriptor_of("/dev/fd/63"), descriptor_of("/dev/stdout"), descriptor_of("/dev/null")
    (63, 1, None)
    """
    found = _DESCRIPTOR.fullmatch(path)
    if found is None:
        return None
    return int(found[2]) if found[2] else {"stdout": 1, "stderr": 2}[found[1]]


def open_local(path: str) -> BinaryIO:
    """The file at a path, for reading."""
    return open(path, "rb")


class _Raw(io.RawIOBase):
    """Counts what is read, and can give the first bytes back."""

    def __init__(self, read: Callable[[int], Any]) -> None:
        self._read = read
        self._back = b""
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> Any:
        if self._back:
            data, self._back = self._back, b""
            if 0 <= size < len(data):
                data, self._back = data[:size], data[size:]
            return data
        data = self._read(size)
        if isinstance(data, str):
            raise JellyArgumentError("the source gives str: open the file in binary mode")
        self.count += len(data)
        return data

    def head(self, size: int) -> bytes:
        data = self._back
        while len(data) < size:
            self._back = b""
            more = self.read(CHUNK)
            if not more:
                break
            data += more
        self._back = data
        return data[:size]


def _joined(chunks: Iterable[Any]) -> Callable[[int], Any]:
    """A read() over an iterator of chunks; each call gives at most what is at hand."""
    iterator = iter(chunks)
    rest = memoryview(b"")

    def read(size: int) -> Any:
        nonlocal rest
        while not rest:
            chunk = next(iterator, None)
            if chunk is None:
                return b""
            rest = memoryview(chunk).cast("B")
        data, rest = (rest, memoryview(b"")) if size < 0 else (rest[:size], rest[size:])
        return bytes(data)

    return read


class Source:
    """Something to read bytes from: a path, ``-`` for standard input, bytes-like, a binary file object, or chunks.

    ``chunks()`` gives the decompressed bytes. ``name`` is the file's name or "", ``size`` the bytes that there are to
    read if known, ``bytes_read`` how many were. gzip, zstd, bz2 and xz are told by their magic bytes;
    they may expand to ``max_expansion`` times their size, and 8 MiB, else it is a JellyLimitError.
    """

    def __init__(self, src: Any, max_expansion: int = MAX_EXPANSION) -> None:
        if max_expansion < 1:
            raise ValueError("max_expansion must be at least 1")
        self._max_expansion = max_expansion
        self.name = ""
        self.size: int | None = None
        # The first bytes, decompressed, and what they are expected to be: the arguments of `explain` behind them.
        self.head = b""
        self.expected: tuple[str, Collection[str], str] | None = None
        self._close: Callable[[], None] | None = None
        self._whole: memoryview | None = None
        read: Callable[[int], Any]
        if isinstance(src, str | os.PathLike) and os.fspath(src) == "-":
            src = sys.stdin.buffer
        if isinstance(src, str | os.PathLike):
            self.name = str(os.fspath(src))
            file = open(self.name, "rb", buffering=0)  # noqa: SIM115 - closed by close()
            self.size = os.fstat(file.fileno()).st_size
            read, self._close = file.read, file.close
        elif isinstance(src, bytes | bytearray | memoryview):
            self._whole = memoryview(src).cast("B")
            self.size = len(self._whole)
            read = _joined([self._whole])
        elif hasattr(src, "read"):
            name = getattr(src, "name", "")
            self.name = name if isinstance(name, str) else ""
            # read1 gives what is there instead of waiting for a whole chunk: live streams want that.
            read = getattr(src, "read1", src.read)
        elif hasattr(src, "__iter__"):
            read = _joined(src)
        else:
            raise JellyArgumentError(
                f"cannot read from {type(src).__name__}: expected a path, bytes, a binary file or an iterable of chunks"
            )
        self._raw = _Raw(read)

    @property
    def bytes_read(self) -> int:
        return self._raw.count

    def close(self) -> None:
        if self._close is not None:
            self._close()
            self._close = None

    def chunks(self, size: int = CHUNK) -> Iterator[Any]:
        """The bytes in chunks of about ``size``; bytes given as a whole come as a whole. Closes a file it opened."""
        try:
            for data in self._chunks(size):
                if len(self.head) < HEAD:
                    self.head += bytes(data[: HEAD - len(self.head)])
                yield data
        finally:
            self.close()

    def _chunks(self, size: int) -> Iterator[Any]:
        head = self._raw.head(_MAGIC_SIZE)
        suffix = next((suffix for suffix, magic in COMPRESSIONS.items() if head.startswith(magic)), "")
        if not suffix:
            if self._whole is not None:
                self._raw.count = len(self._whole)
                yield self._whole
                return
            while data := self._raw.read(size):
                yield data
            return
        try:
            with contextlib.closing(unpacked(suffix, self._raw)) as file:
                # read1: what was read before an error must not be lost.
                n = 0
                while data := file.read1(size):
                    n += len(data)
                    if n > FREE_BYTES + self._max_expansion * self.bytes_read:
                        raise JellyLimitError(
                            f"the compressed data expand to more than {self._max_expansion} times their size; raise"
                            " max_expansion to read them",
                            offset=self.bytes_read,
                        )
                    yield data
        except EOFError as error:
            raise JellyTruncatedError(f"the compressed data is cut off: {error}", offset=self.bytes_read) from None
        except MemoryError as error:
            raise memory_error(error, offset=self.bytes_read) from None
        except Exception as error:
            # Each library has an error of its own; bz2 has a bare OSError, which a failing disk has with a number.
            broken = isinstance(error, lzma.LZMAError | zlib.error) or type(error).__name__ == "ZstdError"
            if not broken and not (isinstance(error, OSError) and error.errno is None):
                raise
            raise JellyFormatError(f"the compressed data is broken: {error}", offset=self.bytes_read) from None

    def watched(self, batches: Iterable[Rows], progress: Progress | None) -> Iterator[Rows]:
        """Batches that are read from here. After each, ``progress`` is told of the bytes read, the bytes there are and
        the rows so far."""
        rows = 0
        for batch in batches:
            yield batch
            rows += len(batch)
            del batch  # before the next one takes memory
            if progress is not None:
                progress(self.bytes_read, self.size, rows)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Within this, errors that name no source get the name of this one, and what it looks like."""
        try:
            yield
        except JellyError as error:
            if error.source is None and self.expected is not None:
                explain(error, self.head, *self.expected)
            error.source = error.source or self.name or None
            raise
        except MemoryError as error:
            raise memory_error(error, source=self.name or None) from None


class SourceReader:
    """Base of classes that read a ``source`` and close it."""

    source: Source

    def __enter__(self: Entered) -> Entered:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        self.source.close()


class Sink:
    """Something to write bytes to: a path, ``-`` for standard output, or a binary file object.

    A path gets its final name only when ``close()`` is reached without an error; ``abort()`` removes what was written.
    A file that is replaced keeps its mode, a link stays one. Pipes, devices and ``/dev/fd/N`` are written to as they
    are. The suffix of a path chooses the compression.

    ``label`` is what errors call it: the path, ``standard output``, or what a file object has for a ``name``.
    """

    def __init__(self, dst: Any) -> None:
        self.name = ""
        self.label = ""
        self.bytes_written = 0
        self._part: PartFile | None = None
        self._opened: list[Any] = []
        self._file: Any
        if isinstance(dst, str | os.PathLike) and os.fspath(dst) == "-":
            self._file = sys.stdout.buffer
            self.label = "standard output"
        elif isinstance(dst, str | os.PathLike):
            self.name = self.label = str(os.fspath(dst))
            try:
                self._file = self._create(self.name)
            except OSError as error:
                error.filename = self.name  # nobody knows the name of the part file
                raise
        elif hasattr(dst, "write"):
            if isinstance(dst, io.TextIOBase):
                raise JellyArgumentError("the destination takes str: open the file in binary mode")
            self._file = dst
            name = getattr(dst, "name", "")
            self.label = name if isinstance(name, str) else ""
        else:
            raise JellyArgumentError(f"cannot write to {type(dst).__name__}: expected a path or a binary file")

    @property
    def is_live(self) -> bool:
        """Whether others see what is written before it is complete."""
        return self._part is None

    def _create(self, path: str) -> Any:
        file: Any = self._open(path)
        self._opened.append(file)
        suffix = split_suffix(path)[1]
        try:
            if suffix == ".gz":
                # No name and no time in the header: the same statements give the same bytes.
                file = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)
            elif suffix == ".bz2":
                file = bz2.BZ2File(file, "wb")  # noqa: SIM115 - closed by close()
            elif suffix == ".xz":
                file = lzma.LZMAFile(file, "wb")  # noqa: SIM115 - closed by close()
            elif suffix == ".zst":
                with self.named():
                    file = zstandard().ZstdCompressor().stream_writer(file, closefd=False)
        except BaseException:
            self.abort()
            raise
        if suffix:
            self._opened.append(file)
        return file

    def _open(self, path: str) -> BinaryIO:
        if (descriptor := descriptor_of(path)) is not None:
            # To open it anew would cut off what the shell has put there before.
            return open(os.dup(descriptor), "wb")
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode) or not path:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            # A device or a pipe: there is nothing to rename.
            return open(path, "wb")
        # A link stays one: what it leads to is replaced.
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        if not os.path.exists(folder):
            named = os.path.dirname(path)  # of a link it is another
            missing = folder if os.path.exists(named or ".") else named
            raise FileNotFoundError(errno.ENOENT, f"the directory {missing} does not exist")
        self._part = PartFile(target)
        return os.fdopen(self._part.handle, "wb")

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Within this, errors that name no source get the name of this destination."""
        try:
            yield
        except JellyError as error:
            error.source = error.source or self.label or None
            raise

    def _place(self, error: OSError) -> None:
        """Name the destination in an error of the system: the disk is full, say."""
        if error.filename is None and self.label:
            error.filename = self.label

    def write(self, data: bytes) -> None:
        if not data:
            return
        try:
            self._write(data)
        except OSError as error:
            self._place(error)
            raise
        self.bytes_written += len(data)

    def _write(self, data: bytes) -> None:
        taken: int | None = self._file.write(data)
        if isinstance(self._file, io.RawIOBase):
            # A file without a buffer may take a part only.
            while taken is not None and taken < len(data):
                more = self._file.write(data[taken:])
                taken = None if more is None else taken + more
            if taken is None:
                raise BlockingIOError("the destination does not wait until it can take more: use a blocking file")

    def flush(self) -> None:
        """Hand what was written so far to the operating system, where the destination can."""
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            try:
                flush()
            except OSError as error:
                self._place(error)
                raise

    def close(self) -> None:
        """Flush, close what was opened here, and give the file its name."""
        try:
            while self._opened:
                self._opened.pop().close()
            if self._part is not None:
                self._part.commit()
                self._part = None
        except BaseException as error:
            if isinstance(error, OSError):
                self._place(error)
            self.abort()
            raise
        if not self.name:
            self.flush()

    def part(self) -> str:
        """Close a file that is not `is_live`, but leave it without its name, and give its path; `abort` removes it."""
        assert self._part is not None, "what others see already is no part"
        try:
            while self._opened:
                self._opened.pop().close()
        except OSError as error:
            self._place(error)
            raise
        return self._part.path

    def abort(self) -> None:
        """Close, and remove the file that is not finished."""
        if self._part is not None and self._opened:
            # What waits in the buffer goes away with the file; a forked process must not write it either.
            with contextlib.suppress(OSError):
                self._opened[0].raw.close()
        while self._opened:
            # The disk may be full; the file goes away anyhow.
            with contextlib.suppress(OSError, ValueError):
                self._opened.pop().close()
        if self._part is not None:
            self._part.discard()
            self._part = None


class SinkWriter:
    """Base of classes that write to a `Sink`.

    The file gets its final name when the ``with`` block or ``close()`` ends without an error. Otherwise no file is
    left.
    """

    _sink: Sink
    _closed = False

    def __enter__(self: Entered) -> Entered:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    @property
    def name(self) -> str:
        """The name of the file, or ``""``."""
        return self._sink.name

    @property
    def label(self) -> str:
        """The name of the destination in error messages, see `Sink`."""
        return self._sink.label

    @property
    def bytes_written(self) -> int:
        """Bytes written so far, before compression."""
        return self._sink.bytes_written

    def __del__(self) -> None:
        if self._closed or not hasattr(self, "_sink"):
            return
        self.abort()
        label = self._sink.label
        lost = f"{label} was not written" if self._sink.name else "what it had not written yet is lost"
        warnings.warn(
            f"{type(self).__name__}{f' of {label}' if label else ''} was never closed: {lost}. Use it in a with "
            "statement, or call close()",
            ResourceWarning,
            source=self,
            stacklevel=2,
        )

    def _put(self, data: Callable[[], bytes]) -> None:
        """Write what ``data`` makes; its errors name the destination."""
        with self._sink.named():
            made = data()
        self._sink.write(made)

    @contextlib.contextmanager
    def _restarted(self) -> Iterator[str]:
        """Within this, another file takes the place of the unfinished one, whose path is given and which is removed."""
        old = self._sink
        try:
            path = old.part()
            self._sink = Sink(old.name)
            yield path
        finally:
            old.abort()

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"the {type(self).__name__} is closed")

    def _finish(self) -> None:
        """Write what is left."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish writing and give the file its final name."""
        if self._closed:
            return
        try:
            self._finish()
        except BaseException:
            self.abort()
            raise
        self._closed = True
        self._sink.close()

    def abort(self) -> None:
        """Stop writing and remove the unfinished file."""
        self._closed = True
        self._sink.abort()
