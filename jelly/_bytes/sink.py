"""Sinks: where bytes are written, compressed by the suffix; a file gets its name when it is complete."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import io
import os
import stat
import warnings
from _thread import RLock  # threading takes some time to import
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar, cast

from jelly._bytes.compression import zstandard
from jelly._bytes.names import (
    AsText,
    Closing,
    Named,
    descriptor_of,
    is_open_file,
    is_path,
    is_text,
    is_url,
    name_of,
    split_suffix,
    standard,
)
from jelly._bytes.part_file import PartFile
from jelly.errors import JellyArgumentError, JellyError

if TYPE_CHECKING:
    from jelly._bytes.seekable import FrameWriter
    from jelly._bytes.workers import Workers

Entered = TypeVar("Entered")
Method = TypeVar("Method", bound=Callable[..., Any])


def target_of(path: str) -> str:
    """The file that is written for a path: a link stays a link, and its target is replaced. FileNotFoundError if its
    directory does not exist."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.exists(folder):
        named = os.path.dirname(path)  # it differs for a link
        missing = folder if os.path.exists(named or ".") else named
        raise FileNotFoundError(errno.ENOENT, f"the directory {missing} does not exist", path)
    return target


class _Whole(Closing):
    """Base of classes whose ``with`` block ends with `close`, or after an error with `abort`."""

    def __exit__(self: Any, kind: object, *error: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


class Sink(_Whole):
    """Something to write bytes to: a path, ``-`` for standard output, a URL of fsspec or an ``OpenFile`` of it, or a
    binary file object.

    A file gets its final name only if ``close()`` is reached without an error; ``abort()`` removes it.
    A replaced file keeps its mode, a link stays a link. Pipes, devices and ``/dev/fd/N`` are written
    directly. The suffix of a path chooses the compression.

    ``label`` is its name in errors: the path, ``standard output``, or the ``name`` of a file object. With ``seekable``
    a file compressed with zstd is one of frames with a table, see `jelly._bytes.seekable`.

    An `io.BytesIO` that is written at its end gives back what was written, as long as nobody has seen it.
    """

    def __init__(self, dst: Any, *, seekable: bool = False, workers: Workers | None = None) -> None:
        self.seekable: bool = seekable
        self.workers: Workers | None = workers
        self._frames: FrameWriter | None = None
        self.name = self.label = ""
        self.bytes_written = 0
        self._size: int | None = None  # of the file that is complete
        self._part: PartFile | None = None
        self._opened: list[Any] = []
        self.is_text: bool = is_text(dst)
        as_text, dst = (dst, dst.dst) if isinstance(dst, AsText) else (None, dst)
        self.dst = dst
        # Before a file is made: the package may be missing.
        printer = importlib.import_module("jelly._bytes.frame_text").Printer if self.is_text else None
        is_memory = as_text is None and type(dst) is io.BytesIO and dst.tell() == len(dst.getbuffer())
        self.begin: int | None = dst.tell() if is_memory else None
        self._file: Any
        if is_path(dst) and os.fspath(dst) == "-":
            self._file, self.label = standard("stdout"), "standard output"
        elif is_path(dst) or is_open_file(dst):
            self.name = self.label = name_of(dst)
            try:
                self._file = self._create(self.name)
            except OSError as error:
                error.filename = self.name  # the name of the part file is internal
                raise
        elif hasattr(dst, "write"):
            if isinstance(dst, io.TextIOBase) or hasattr(dst, "encoding"):  # of tempfile and codecs
                raise JellyArgumentError("the destination takes str: open the file in binary mode")
            self._file = dst
            self.label = name if isinstance(name := getattr(dst, "name", ""), str) else ""
        else:
            raise JellyArgumentError(f"cannot write to {type(dst).__name__}: expected a path or a binary file")
        if printer is not None:
            self._file = printer(self._file, as_text.number if as_text else 0)

    @property
    def is_live(self) -> bool:
        """Whether other processes see the output before it is complete."""
        return self._part is None

    @property
    def can_restart(self) -> bool:
        """Whether what was written can be written anew: nobody has flushed it, or changed the file in memory."""
        if self.begin is None:
            return not self.is_live
        return bool(self._file.tell() == len(self._file.getbuffer()) == self.begin + self.bytes_written)

    @property
    def size(self) -> int:
        """Bytes of the output, which is closed: of a file after compression."""
        return self.bytes_written if self._size is None else self._size

    def take_back(self) -> bytes:
        """Take what was written out of a file in memory."""
        self._file.seek(self.begin)
        data: bytes = self._file.read()
        self._file.seek(self.begin)
        self._file.truncate()
        self.bytes_written = 0
        return data

    def _create(self, path: str) -> Any:
        file: Any = self._open(path)
        self._opened.append(file)
        suffix = split_suffix(path)[1]
        try:
            with self.named():
                if self.seekable and suffix == ".zst":
                    from jelly._bytes.seekable import FrameWriter

                    self._frames = file = FrameWriter(file, self.workers)
                elif suffix == ".gz":
                    import gzip

                    # No name and no time in the header: the same statements give the same bytes.
                    file = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)
                elif suffix == ".bz2":
                    import bz2

                    file = bz2.BZ2File(file, "wb")  # noqa: SIM115 - closed by close()
                elif suffix == ".xz":
                    import lzma

                    file = lzma.LZMAFile(file, "wb")  # noqa: SIM115 - closed by close()
                elif suffix == ".zst":
                    file = zstandard().ZstdCompressor().stream_writer(file, closefd=False)
        except BaseException:
            self.abort()
            raise
        if suffix:
            self._opened.append(file)
        return file

    def _open(self, path: str) -> BinaryIO:
        if (descriptor := descriptor_of(path)) is not None:
            # Opening it again would truncate the output that the shell has put there before.
            return open(os.dup(descriptor), "wb")
        if not is_path(self.dst) or (is_url(path) and not os.path.isdir(os.path.dirname(path) or ".")):
            from jelly._bytes.remote import Upload

            self._part = Upload(self.dst)
            return os.fdopen(self._part.handle, "wb")
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode) or not path:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            # A device or a pipe: there is nothing to rename.
            return open(path, "wb")
        self._part = PartFile(target_of(path))
        return os.fdopen(self._part.handle, "wb")

    def named(self) -> Named:
        """Context manager: add the name of this destination to errors without a source."""
        return Named(self._name_error)

    def _name_error(self, error: BaseException) -> None:
        if isinstance(error, JellyError):
            error.source = error.source or self.label or None

    def _place(self, error: OSError) -> None:
        """Add the name of the destination to an error of the system, such as a full disk."""
        if error.filename is None and error.errno is not None and self.label:  # io.UnsupportedOperation has none
            error.filename = self.label

    def write(self, data: bytes, cuts: Iterable[int] = ()) -> None:
        """Write bytes. A compressed file that is seekable gets a frame at each of the ``cuts``, bytes of all data."""
        if self._frames is not None:
            self._frames.cut(cuts)
        if not data:
            return
        try:
            taken: int | None = self._file.write(data)
            if isinstance(self._file, io.RawIOBase):
                # A file without a buffer may write only a part.
                while taken is not None and taken < len(data):
                    more = self._file.write(data[taken:])
                    taken = None if more is None else taken + more
                if taken is None:
                    raise BlockingIOError("the destination does not wait until it can take more: use a blocking file")
        except OSError as error:
            self._place(error)
            raise
        self.bytes_written += len(data)

    def flush(self) -> None:
        """Pass the bytes written so far to the operating system, if the destination supports that."""
        self.begin = None
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            try:
                flush()
            except OSError as error:
                self._place(error)
                raise

    def close(self) -> None:
        """Flush, close files opened here, and give the file its name."""
        try:
            while self._opened:
                self._opened.pop().close()
            if self._part is not None:
                self._size = os.path.getsize(self._part.path)
                self._part.commit()
                self._part = None
        except BaseException as error:
            if isinstance(error, OSError):
                if error.filename2 is not None:
                    error.filename, error.filename2 = None, None  # the name of the part file is internal
                self._place(error)
            self.abort()
            raise
        if not self.name:
            self.flush()

    def part(self) -> str:
        """Close a file that is not `is_live` without renaming it, and return its path; `abort` removes it."""
        assert self._part is not None, "what others see already is no part"
        try:
            while self._opened:
                self._opened.pop().close()
        except OSError as error:
            self._place(error)
            raise
        return self._part.path

    def abort(self) -> None:
        """Close and remove the unfinished file."""
        if self._frames is not None:
            self._frames.drop()
        if self._part is not None and self._opened:
            # The buffer is dropped with the file; a forked process must not write it either.
            with contextlib.suppress(OSError):
                self._opened[0].raw.close()
        while self._opened:
            # The disk may be full; the file is removed anyway.
            with contextlib.suppress(OSError, ValueError):
                self._opened.pop().close()
        if self._part is not None:
            self._part.discard()
            self._part = None


def one_thread(method: Method) -> Method:
    """A method of a `SinkWriter` that is refused while another thread is in such a method of the same object."""

    @functools.wraps(method)
    def alone(self: SinkWriter, /, *args: Any, **kwargs: Any) -> Any:
        if not self._claim.acquire(False):
            self._refuse()
        try:
            return method(self, *args, **kwargs)
        finally:
            self._claim.release()

    return cast("Method", alone)


class SinkWriter(_Whole):
    """Base of classes that write to a `Sink`.

    The file gets its final name when the ``with`` block or ``close()`` ends without an error. Otherwise no file is
    left.
    """

    _sink: Sink
    _closed = False
    _claim: RLock  # of one thread, which may call a method from within another
    _own: Workers | None = None  # threads to be ended with the writer

    def __new__(cls: type[Entered], *_: Any, **__: Any) -> Entered:
        self: Any = super().__new__(cls)  # type: ignore[misc]
        self._claim = RLock()
        made: Entered = self
        return made

    def _cuts(self) -> Iterable[int]:
        """Where a compressed file that is seekable is to have frames, since this was last asked."""
        return ()

    def _refuse(self) -> NoReturn:
        raise RuntimeError(f"this {type(self).__name__} is in use by another thread")

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

    def _put(self, data: Callable[[], bytes | Iterable[bytes]]) -> None:
        """Write the result of ``data``, bytes or parts of them; its errors name the destination."""
        with self._sink.named():
            made = data()
            if not isinstance(made, bytes):
                for part in made:
                    self._sink.write(part)
                return
        self._sink.write(made, self._cuts())

    @contextlib.contextmanager
    def _restarted(self) -> Iterator[str | bytes]:
        """Within this, another file takes the place of the unfinished one, whose path is given and which is removed.

        In memory its bytes are given.
        """
        old = self._sink
        if old.begin is not None:
            yield old.take_back()
            return
        try:
            path = old.part()
            self._sink = Sink(AsText(old.dst) if old.is_text else old.dst, seekable=old.seekable, workers=old.workers)
            yield path
        finally:
            old.abort()

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"the {type(self).__name__} is closed")

    def _finish(self) -> None:
        """Write the remaining bytes."""
        raise NotImplementedError

    @one_thread
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
        try:
            self._sink.close()
        finally:
            if self._own is not None:
                self._own.close()

    def abort(self) -> None:
        """Stop writing and remove the unfinished file."""
        self._closed = True
        try:
            self._sink.abort()
        finally:
            if self._own is not None:
                self._own.drop()
