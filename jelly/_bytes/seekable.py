"""Seekable files of zstd: frames of a few megabytes, and after them a table of their sizes.

The table is a skippable frame, as the published seekable format of zstd (version 0.1.0) has it, so every decompressor
reads such a file from its start. The layout is in docs/reference/file-formats.md.
"""

from __future__ import annotations

import os
import struct
from _thread import _local as local  # threading takes some time to import
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jelly._bytes.compression import CHUNK, unpacked, unpacking, zstandard
from jelly._bytes.raw_bytes import part_of
from jelly._bytes.source import MAX_EXPANSION, check_expansion
from jelly.errors import JellyFormatError

if TYPE_CHECKING:
    from jelly._bytes.workers import Workers

# Maximum bytes of a table: of some 8 million frames.
MAX_TABLE = 1 << 26
# Maximum bytes of the content of a frame. Frames of 2 MiB take some 1.5 % more than one frame of the whole, these 1 %.
MOST_IN_FRAME = 1 << 22
# Frames that are kept for the next small read: so many, of at most so many decompressed bytes each.
_KEPT = 8
_KEPT_BYTES = 1 << 20

_ENTRY = np.dtype([("packed", "<u4"), ("plain", "<u4")])
_CHECKED = np.dtype([*_ENTRY.descr, ("checksum", "<u4")])
_SKIPPABLE = 0x184D2A5E
_MAGIC = 0x8F92EAB1
_HEAD = struct.Struct("<II")
# Number of frames, descriptor, magic number.
_FOOT = struct.Struct("<IBI")

_threads = local()

ReadAt = Callable[[int, int], bytes]


def compress_frame(data: Any) -> bytes:
    """One frame of zstd, with size and checksum. Any thread may call this; the same bytes give the same frame."""
    # A compressor keeps memory for its tables, and is not for several threads.
    if (packer := getattr(_threads, "packer", None)) is None:
        packer = zstandard().ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
        _threads.packer = packer
    made: bytes = packer.compress(data)
    return made


def pack_table(sizes: Iterable[tuple[int, int]]) -> bytes:
    """The bytes that end a seekable file, of frames of these compressed and decompressed sizes."""
    rows = np.array([*sizes], np.int64).reshape(-1, 2)
    if rows.size and rows.max() >> 32:
        raise ValueError("a frame has 4 GiB or more")
    body = rows.astype("<u4").tobytes() + _FOOT.pack(len(rows), 0, _MAGIC)
    return _HEAD.pack(_SKIPPABLE, len(body)) + body


class FrameTable(NamedTuple):
    """Where each frame begins, and last where the frames end: in the compressed file and in its content."""

    packed: np.ndarray[Any, np.dtype[np.int64]]
    plain: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, read_at: ReadAt, size: int) -> FrameTable | None:
        """The table at the end of a file of ``size`` bytes; None if there is none, JellyFormatError if it is damaged.

        ``read_at`` gives the bytes at an offset.
        """
        if size < _HEAD.size + _FOOT.size:
            return None
        n, flags, magic = _FOOT.unpack(read_at(size - _FOOT.size, _FOOT.size))
        if magic != _MAGIC:
            return None
        kind = _CHECKED if flags & 0x80 else _ENTRY
        length = n * kind.itemsize + _FOOT.size
        start = size - length - _HEAD.size
        if flags & 0x7C or start < 0 or length + _HEAD.size > MAX_TABLE:
            raise _damaged("it has flags that are reserved" if flags & 0x7C else "its length is wrong")
        data = read_at(start, size - start)
        if _HEAD.unpack_from(data) != (_SKIPPABLE, length):
            raise _damaged("its length is wrong")
        entries = np.frombuffer(data, kind, n, _HEAD.size)
        packed, plain = (np.append(0, np.cumsum(entries[name], dtype=np.int64)) for name in ("packed", "plain"))
        if packed[-1] != start or not entries["packed"].all():
            raise _damaged("its sizes are not those of the file")
        return cls(packed, plain)

    def sizes(self) -> Any:
        """Compressed and decompressed size of each frame."""
        return np.stack([np.diff(self.packed), np.diff(self.plain)], axis=1)


def _damaged(why: str) -> JellyFormatError:
    return JellyFormatError(f"the table of frames of this compressed file is damaged: {why}")


class PlainView:
    """The decompressed content of a seekable file as a file for reading. Only frames that are asked for are read.

    ``read_at`` and ``chunks`` may be called in any thread. Memory is that of the frames that are kept for small reads,
    8 MiB at most, and a megabyte for each thread that reads.

    >>> import io
    >>> out = io.BytesIO()
    >>> writer = FrameWriter(out)
    >>> writer.cut([6])
    >>> writer.write(b"hello world"), writer.close()
    (11, None)
    >>> data = out.getvalue()
    >>> read_at = lambda offset, size: data[offset : offset + size]
    >>> view = PlainView(out, read_at, len(data), FrameTable.of(read_at, len(data)))
    >>> view.read_at(4, 4), list(view.chunks(0, 11)), view.seek(0, 2)
    (b'o wo', [b'hello ', b'world'], 11)
    """

    def __init__(
        self, file: Any, read_at: ReadAt, size: int, table: FrameTable, max_expansion: int = MAX_EXPANSION
    ) -> None:
        self.packed_size: int = size
        self.read_packed: ReadAt = read_at
        self.table: FrameTable = table
        self.size: int = int(table.plain[-1])
        self.name: str = str(getattr(file, "name", "the file"))
        self._file = file
        self._at = 0
        self._kept = lru_cache(_KEPT)(lambda number: b"".join(self._frame(number)))
        check_expansion(self.size, size, max_expansion)
        self._check_empty()

    @property
    def closed(self) -> bool:
        """Whether the compressed file is closed."""
        return bool(self._file.closed)

    def close(self) -> None:
        """Close the compressed file."""
        self._file.close()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        self._at = offset + (0, self._at, self.size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes from the current position, which moves to their end."""
        end = self.size if size < 0 else self._at + size
        data = self.read_at(self._at, end - self._at)
        self._at += len(data)
        return data

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes at an offset, fewer at the end of the file."""
        end = min(offset + size, self.size)
        if offset >= end:
            return b""
        number = self.frame_at(offset)
        begin, stop = self._bounds(number)
        if end > stop or stop - begin > _KEPT_BYTES:
            return b"".join(self.chunks(offset, end))
        return self._kept(number)[offset - begin : end - begin]

    def chunks(self, start: int, end: int, size: int = CHUNK) -> Iterator[bytes]:
        """The bytes from ``start`` to ``end``, in chunks of at most ``size``; reading stops where the caller stops."""
        end = min(end, self.size)
        if start >= end:
            return
        for number in range(self.frame_at(start), self.frame_at(end - 1) + 1):
            at, stop = self._bounds(number)
            for data in self._frame(number, size):
                begin, at = at, at + len(data)
                if at > start:
                    yield data if start <= begin and at <= end else data[max(start - begin, 0) : end - begin]
                if end <= at < stop:
                    return

    def _bounds(self, number: int) -> tuple[int, int]:
        begin, end = self.table.plain[number : number + 2].tolist()
        return begin, end

    def frame_at(self, offset: int) -> int:
        """The number of the frame with the byte at ``offset``. Frames without content are passed over."""
        return int(np.searchsorted(self.table.plain, offset, "right")) - 1

    def _check_empty(self) -> None:
        """JellyFormatError if frames that are empty by the table have content: nobody reads them later."""
        empty = np.concatenate(([False], np.diff(self.table.plain) == 0, [False]))
        for first, end in np.flatnonzero(np.diff(empty)).reshape(-1, 2).tolist():  # of consecutive frames
            begin, stop = (int(self.table.packed[number]) for number in (first, end))
            with unpacking(partial(int, begin)), closing(self._unpacked(begin, stop)) as file:
                if file.read1(1):
                    raise self._unfit("frames hold more than the 0 bytes that it says", begin)

    def _unpacked(self, first: int, end: int) -> Any:
        return unpacked(".zst", part_of(self.read_packed, first, end))

    def _unfit(self, why: str, offset: int) -> JellyFormatError:
        return JellyFormatError(f"the table of frames does not fit this compressed file: {why}", offset=offset)

    def _frame(self, number: int, size: int = CHUNK) -> Iterator[bytes]:
        """The content of a frame, in chunks: as many bytes as the table says, else it is a JellyFormatError."""
        begin, stop = self._bounds(number)
        left = stop - begin
        if not left:
            return
        first, end = self.table.packed[number : number + 2].tolist()
        with unpacking(lambda: first), closing(self._unpacked(first, end)) as file:
            while left > 0:
                data = bytes(file.read1(min(left, size)))
                if not data:
                    break
                left -= len(data)
                yield data
            # The checksum comes after the last byte.
            if left or file.read1(1):
                how = "fewer" if left else "more"
                raise self._unfit(f"a frame holds {how} bytes than the {stop - begin} that it says", first)


class FrameWriter:
    """A binary file object that compresses to ``raw``, in frames that ``workers`` compress.

    A frame begins where `cut` says and wherever it would hold more than 4 MiB. `close` writes the table, and leaves
    ``raw`` open.
    """

    def __init__(self, raw: Any, workers: Workers | None = None) -> None:
        from jelly._bytes.workers import Window, Workers  # which take some time to import

        self._raw = raw
        self._window: Window[tuple[bytes, int]] = Window(workers or Workers(1))
        self._held = bytearray()
        self._begin = 0  # of what is held, in the decompressed bytes
        self._cuts: deque[int] = deque()
        self._sizes: list[tuple[int, int]] = []
        self._is_closed = False
        compress_frame(b"")  # an error at once if its package is not installed

    def cut(self, places: Iterable[int]) -> None:
        """Begin a frame at each of these decompressed bytes, if it is not written yet."""
        if more := {*places}:
            self._cuts = deque(sorted(more.union(self._cuts)))

    def go_on(self, sizes: Iterable[tuple[int, int]]) -> None:
        """Go on after frames of these compressed and decompressed sizes, which ``raw`` has already."""
        self._sizes = list(sizes)
        self._begin = sum(plain for _, plain in self._sizes)

    def write(self, data: Any) -> int:
        """Take in bytes, and write the frames that are complete."""
        self._held += data
        while (size := self._next()) is not None:
            self._put(size)
        return len(data)

    def _next(self) -> int | None:
        """The bytes of the next frame that is complete."""
        while self._cuts and self._cuts[0] <= self._begin:
            self._cuts.popleft()
        size = self._cuts[0] - self._begin if self._cuts else MOST_IN_FRAME + 1
        if size > MOST_IN_FRAME:
            # What is left over begins another frame, so only more than that is enough.
            return MOST_IN_FRAME if len(self._held) > MOST_IN_FRAME else None
        return size if len(self._held) >= size else None

    def _put(self, size: int) -> None:
        with memoryview(self._held) as view:
            self._window.put(lambda data: (compress_frame(data), len(data)), bytes(view[:size]))
        self._begin += size
        del self._held[:size]
        self._take(self._window.ready())

    def _take(self, frames: Iterator[tuple[bytes, int]]) -> None:
        for frame, size in frames:
            self._raw.write(frame)
            self._sizes.append((len(frame), size))

    def _end_frame(self) -> None:
        if self._held:
            self._put(len(self._held))
        self._take(self._window.rest())

    def flush(self) -> None:
        """End the frame, and pass all bytes on."""
        self._end_frame()
        self._raw.flush()

    def drop(self) -> None:
        """Write nothing more."""
        self._is_closed = True
        self._window.drop()

    def close(self) -> None:
        """Write the rest and the table."""
        if not self._is_closed:
            self._is_closed = True
            self._end_frame()
            self._raw.write(pack_table(self._sizes))
