"""Sources of bytes: paths, addresses, bytes, file objects and chunks, which are decompressed."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from jelly._bytes.compression import COMPRESSIONS, TEXT, suffix_of, unpacked, unpacking
from jelly._bytes.names import (
    Closing,
    Named,
    is_open_file,
    is_path,
    is_text,
    is_url,
    is_web,
    left_in,
    name_of,
    split_suffix,
    standard,
)
from jelly._bytes.raw_bytes import RawBytes, closing_last, interruptible, joined
from jelly._options.limits import default
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError, memory_error

if TYPE_CHECKING:
    from jelly._bytes.workers import Workers

CHUNK = 1 << 20

# Bytes read, total bytes (None if unknown), and statements or rows so far.
Progress = Callable[[int, "int | None", int], object]

Rows = TypeVar("Rows", bound=Sized)

# Maximum decompressed bytes of any input, and additional bytes for each of its bytes: 1 KB of bz2 can expand to a
# gigabyte. gzip stays below this limit (1032 per byte), and so does useful data.
FREE_BYTES = 1 << 23
MAX_EXPANSION = default("max_expansion")

# Types that servers give to files that they do not know; then the suffix says more.
# Where there is no suffix, those of the group count.
_ANY = re.compile(
    r"application/(?:octet-stream|x?-?(?:gzip|zstd|bzip2|xz|compress))|binary/octet-stream|text/plain"
    r"|(application/xml|application/json|text/xml)"
)
# Bytes of a copy of a table that are kept in memory; a larger one is a temporary file.
HELD_BYTES = 1 << 26
# Bytes that a response of httpx or requests is asked for at a time.
PIECE_BYTES = 1 << 16

# Compressed bytes from which on a file is decompressed in a thread of its own, if there are several at all: below,
# starting one costs more.
AHEAD_BYTES = 1 << 22
# First bytes of a source that are kept, to say what it looks like.
HEAD = 512
# And those from which on several threads decompress parts.
SLICED_BYTES = 1 << 20

_MAGIC_SIZE = max(map(len, COMPRESSIONS.values()))


def open_local(path: str) -> BinaryIO:
    """Open the file at a path for reading."""
    return open(path, "rb")


def check_expansion(plain: int, packed: int, limit: int) -> None:
    """JellyLimitError if compressed data expand to more than they may."""
    if plain > FREE_BYTES + limit * packed:
        raise JellyLimitError(
            f"the compressed data expand to more than {limit} times their size; raise max_expansion to read them",
            offset=packed,
        )


class Source:
    """Something to read bytes from: a path, ``-`` for standard input, bytes-like, a binary file object, or chunks.

    ``chunks()`` gives the decompressed bytes. ``name`` is the file's name or "", ``size`` the bytes that there are to
    read if known, ``bytes_read`` how many were. gzip, zstd, bz2 and xz are recognised by their magic bytes;
    they may expand to ``max_expansion`` times their size, and 8 MiB, else it is a JellyLimitError.

    A str that begins with http:// or https:// is an address, of which the body is read. fsspec opens other URLs, and
    its ``OpenFile`` objects are opened. ``media_type`` is the type of the answer of a server, or in the ``headers`` of
    a response of urllib, urllib3, requests or httpx, if it names a format; else None. ``accept`` is the type asked for.
    """

    def __init__(self, src: Any, max_expansion: int = MAX_EXPANSION, accept: str = "*/*") -> None:
        if max_expansion < 1:
            raise JellyArgumentError("max_expansion must be at least 1")
        self._max_expansion = max_expansion
        self._src = src
        self.name: str = ""
        self.size: int | None = None
        # The first decompressed bytes, and what adds to an error what they look like.
        self.head: bytes = b""
        self.explain: Callable[[JellyError, bytes], None] | None = None
        # Whether what is there is to be given at once.
        self.is_live: bool = getattr(src, "is_live", False) is True
        self._close: Callable[[], None] | None = None
        self._whole: memoryview | None = None
        # Threads that may decompress parts, and the bytes that were read for them and are not given yet. Without
        # them, nothing runs beside the caller.
        self.workers: Workers | None = None
        self._early = 0
        read: Callable[[int], Any]
        self.media_type: str | None = None
        if is_path(src) and os.fspath(src) == "-":
            self._src = src = standard("stdin")
        if isinstance(src, str) and is_url(src):
            src = self._at_url(src, accept)
        if is_path(src):
            self.name = name_of(src)
            self._file = file = open(self.name, "rb", buffering=0)  # noqa: SIM115 - closed by close()
            self.size = os.fstat(file.fileno()).st_size
            read, self._close = closing_last(interruptible(file).read, file.close)
        elif isinstance(src, bytes | bytearray | memoryview):
            try:
                self._whole = memoryview(src).cast("B")
            except TypeError:  # a view with gaps
                self._whole = memoryview(bytes(src))
            self.size = len(self._whole)
            read = joined([self._whole])
        elif (pieces := getattr(src, "iter_bytes", getattr(src, "iter_content", None))) is not None:
            # A response of httpx or requests.
            self._look_at_head(src)
            read = joined(pieces(PIECE_BYTES))
        elif hasattr(src, "read") or is_open_file(src):
            self.name = self.name or name_of(src)
            if not hasattr(src, "read"):
                self._close = src.close
                self._src = src = src.open()
            self.size = left_in(src)
            self._look_at_head(src)
            # read1 gives what is there instead of waiting for a whole chunk: live streams want that.
            read = getattr(src, "read1", src.read)
        elif hasattr(src, "__aiter__"):
            raise JellyArgumentError("the source is asynchronous: read it with \"async for\" of jelly.scan(...)")
        elif hasattr(src, "__iter__"):
            read = joined(src)
        else:
            raise JellyArgumentError(
                f"cannot read from {type(src).__name__}: expected a path, URL, bytes, binary file or chunks of bytes"
            )
        self._raw = RawBytes(read)

    def _look_at_head(self, src: Any) -> None:
        """Take the type of a body from the headers of an answer of a server, and its address."""
        told = getattr(getattr(src, "headers", None), "get", lambda _: None)("Content-Type")
        if isinstance(told, str):
            url = str(getattr(src, "url", "") or "")  # of urllib3 without the server
            self.name = self.name or (url if is_web(url) else url.partition("?")[0])
            vague = _ANY.fullmatch(told.partition(";")[0].strip().lower())
            if told and not (vague and (split_suffix(self.name)[0] or not vague[1])):
                self.media_type = told

    def _at_url(self, url: str, accept: str) -> Any:
        """The open file at an address or URL; the URL itself if it is the path of a file."""
        from jelly._bytes.remote import Body, open_url

        if is_web(url):
            src: Any = Body(url, accept)
        elif os.path.exists(url):
            return url
        else:
            self.name = url
            self._src = src = open_url(url, {})
        self._close = src.close
        return src

    @property
    def bytes_read(self) -> int:
        return self._raw.count - self._early

    @bytes_read.setter
    def bytes_read(self, count: int) -> None:
        self._raw.count = count

    def close(self) -> None:
        if self._close is not None:
            self._close()
            self._close = None

    @contextlib.contextmanager
    def ahead(self) -> Iterator[Source | None]:
        """Another Source of the same bytes, before any of them was read; None where they can be read only once."""
        src = self._src
        place = src.tell() if callable(seekable := getattr(src, "seekable", None)) and seekable() else None
        if place is None and self._whole is None and not (self._close is not None and os.path.isfile(self.name)):
            yield None
            return
        try:
            with contextlib.closing(Source(src, self._max_expansion)) as source:
                yield source
        finally:
            if place is not None:
                src.seek(place)

    @contextlib.contextmanager
    def file(self) -> Iterator[Any]:
        """The decompressed bytes as a file that can seek, or the path of one. What cannot seek is copied at first."""
        is_plain = not self._suffix()
        try:
            if is_plain and self._whole is not None:
                yield io.BytesIO(self._whole)
            elif is_plain and is_path(self._src) and os.path.isfile(self.name):
                self.head = self._raw.head(_MAGIC_SIZE)
                yield self.name
            elif is_plain and callable(seekable := getattr(self._src, "seekable", None)) and seekable():
                self._src.seek(-self._raw.count, os.SEEK_CUR)
                yield self._src
            else:
                import tempfile  # which takes some time

                with tempfile.SpooledTemporaryFile(max_size=HELD_BYTES) as copy:
                    for chunk in self.chunks():
                        copy.write(chunk)
                    copy.seek(0)
                    yield copy
            self._raw.count = self.size or self._raw.count
        finally:
            self.close()

    def plain_file(self) -> io.FileIO | None:
        """A file of this machine that is not compressed and whose size is known, None for other sources.

        Threads read parts of it at their places; `chunks` must not be used any more.
        """
        if not is_path(self._src) or not os.path.isfile(self.name) or not hasattr(os, "pread") or self._suffix():
            return None
        if not self.size:  # files that a system makes, such as those of /proc, may have more than they tell
            return None
        self.head = os.pread(self._file.fileno(), HEAD, 0)
        return self._file

    def chunks(self, size: int = CHUNK) -> Iterator[Any]:
        """The bytes in chunks of about ``size``; a bytes object is one chunk. Closes the file if it was opened here."""
        try:
            with contextlib.closing(self._chunks(size)) as chunks:
                for data in chunks:
                    self.head += bytes(data[: HEAD - len(self.head)])
                    yield data
        finally:
            self.close()

    def _suffix(self) -> str:
        """That of the compression, "" for none."""
        head = self._raw.head(_MAGIC_SIZE)
        # In the text form of Jelly the number of a frame may come first. No other format begins so.
        first = self._raw.head(40).partition(b"\n")[2][:6] if head == b"# Fram" else head
        return TEXT if first == b"rows {" or is_text(self.name) else suffix_of(head)

    def _chunks(self, size: int) -> Generator[Any, None, None]:
        suffix = self._suffix()
        if not suffix:
            if self._whole is not None:
                self._raw.count = len(self._whole)
                yield self._whole
                return
            while data := self._raw.read(size):
                yield data
            return
        if self.workers is None or self.workers.threads == 1:
            yield from self._unpacked(suffix, size, 0)
            return
        from jelly._bytes.cut import Slices
        from jelly._bytes.workers import pipelined

        known = self.size or 0
        n = 0
        if suffix == ".bz2" and known >= SLICED_BYTES:
            slices = Slices(self._raw.read, self.workers)
            given = 0
            with contextlib.closing(iter(slices)) as texts:
                for text, packed in texts:
                    given += packed
                    n += sum(map(len, text))
                    self._early = self._raw.count - given
                    check_expansion(n, self.bytes_read, self._max_expansion)
                    yield from text
            self._early = 0
            if slices.is_whole:
                return
            # One thread goes on.
            self._raw = RawBytes(joined(slices.rest()))
            self._raw.count = given
        chunks = self._unpacked(suffix, size, n)
        is_file = is_path(self._src)
        yield from pipelined(iter([lambda: chunks]), 1) if is_file and known >= AHEAD_BYTES else chunks

    def _unpacked(self, suffix: str, size: int, n: int) -> Generator[Any, None, None]:
        """Decompressed chunks, after ``n`` bytes that were decompressed before."""
        with (
            unpacking(lambda: self.bytes_read),
            contextlib.closing(unpacked(suffix, self._raw)) as file,
        ):
            # read1: bytes before an error must not be lost.
            while data := file.read1(size):
                n += len(data)
                check_expansion(n, self.bytes_read, self._max_expansion)
                yield data

    def watched(self, batches: Iterable[Rows], progress: Progress | None) -> Iterator[Rows]:
        """Batches read from this source. After each, ``progress`` is called with the bytes read, the size and
        the rows so far."""
        rows = 0
        for batch in batches:
            yield batch
            rows += len(batch)
            del batch  # before the next Batch takes memory
            if progress is not None:
                progress(self.bytes_read, self.size, rows)

    def named(self) -> Named:
        """Context manager: add the name of this source, and what it looks like, to errors without a source."""
        return Named(self._name_error)

    def _name_error(self, error: BaseException) -> None:
        if isinstance(error, JellyError):
            if error.source is None and self.explain is not None:
                self.explain(error, self.head)
            error.source = error.source or self.name or None
        elif isinstance(error, MemoryError):
            raise memory_error(error, source=self.name or None) from None


class SourceReader(Closing):
    """Base of classes that read a ``source`` and close it."""

    source: Source

    def __exit__(self, *exc: object) -> None:
        self.source.close()

    def close(self) -> Any:
        """Close the file, if it was opened here."""
        self.source.close()
