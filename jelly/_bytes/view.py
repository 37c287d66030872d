"""What a seekable compressed file holds, as a file of its own: only the frames that cover a part are decompressed."""

from __future__ import annotations

import io
import os
from _thread import allocate_lock  # threading takes some time to import
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from jelly._bytes.compression import CHUNK, COMPRESSIONS, SEEKABLE, suffix_of, unpacked, unpacking
from jelly._bytes.frames import CorruptTable, FrameTable, read_table
from jelly._bytes.source import FREE_BYTES, MAX_EXPANSION
from jelly.errors import JellyFormatError, JellyLimitError

__all__ = ["PlainView", "check_expansion", "kind_of", "own_table", "part_of"]

# Frames that are kept for the next small read: so many, of at most so many decompressed bytes each.
_KEPT = 8
_KEPT_BYTES = 1 << 20
_MAGIC_SIZE = max(map(len, COMPRESSIONS.values()))

ReadAt = Callable[[int, int], bytes]


def kind_of(read_at: ReadAt, size: int) -> str | None:
    """The suffix of the compression of a file of which parts may be read, by its first bytes; None for others."""
    head = read_at(0, min(size, _MAGIC_SIZE))
    return kind if (kind := suffix_of(head)) in SEEKABLE else None


def own_table(read_at: ReadAt, size: int, kind: str) -> FrameTable | None:
    """The table of frames in a file; None without one. JellyFormatError if it is damaged."""
    try:
        return read_table(read_at, size, kind)
    except CorruptTable as why:
        raise JellyFormatError(f"the table of frames of this compressed file is damaged: {why}") from None


def check_expansion(plain: int, packed: int, limit: int) -> None:
    """JellyLimitError if compressed data hold more than they may."""
    if plain > FREE_BYTES + limit * packed:
        raise JellyLimitError(
            f"the compressed data expand to more than {limit} times their size; raise max_expansion to read them",
            offset=packed,
        )


class PlainView:
    """A file for reading of the decompressed bytes of another one, which stays open until this is closed.

    ``read_at`` and ``chunks`` may be called in any thread. Memory is that of the frames that are kept for small reads,
    8 MiB at most, and a megabyte for each thread that reads.

    >>> from jelly._bytes.writer import FrameWriter
    >>> out = io.BytesIO()
    >>> writer = FrameWriter(out, ".gz")
    >>> writer.cut([6])
    >>> writer.write(b"hello world"), writer.close()
    (11, None)
    >>> data = out.getvalue()
    >>> read_at = lambda offset, size: data[offset : offset + size]
    >>> view = PlainView(out, ".gz", read_at, len(data), own_table(read_at, len(data), ".gz"))
    >>> view.read_at(4, 4), list(view.chunks(0, 11)), view.seek(0, 2)
    (b'o wo', [b'hello ', b'world'], 11)
    """

    def __init__(
        self, file: Any, kind: str, read_at: ReadAt, size: int, table: FrameTable, max_expansion: int = MAX_EXPANSION
    ) -> None:
        self.packed_size: int = size
        self.read_packed: ReadAt = read_at
        self.kind: str = kind
        self.table: FrameTable = table
        self.size: int = int(table.plain[-1])
        self.name: str = str(getattr(file, "name", "the file"))
        self._file = file
        self._at = 0
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = allocate_lock()
        check_expansion(self.size, size, max_expansion)
        self._look_at_empty()

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
        """At most so many bytes from the place on, which goes behind them."""
        end = self.size if size < 0 else self._at + size
        data = self.read_at(self._at, end - self._at)
        self._at += len(data)
        return data

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes at an offset, fewer at the end of the file."""
        end = min(offset + size, self.size)
        if offset >= end:
            return b""
        number, last = self.frame_at(offset), self.frame_at(end - 1)
        if number < last or self._end(number) - self._start(number) > _KEPT_BYTES:
            return b"".join(self.chunks(offset, end))
        with self._lock:
            data = self._kept.get(number)
            if data is not None:
                self._kept.move_to_end(number)
        if data is None:
            data = b"".join(self._frame(number))
            with self._lock:
                self._kept[number] = data
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        begin = self._start(number)
        return data[offset - begin : end - begin]

    def chunks(self, start: int, end: int, size: int = CHUNK) -> Iterator[bytes]:
        """The bytes from one place to another, in chunks of at most ``size``; reading stops where the caller stops."""
        end = min(end, self.size)
        if start >= end:
            return
        for number in range(self.frame_at(start), self.frame_at(end - 1) + 1):
            at = self._start(number)
            for data in self._frame(number, size):
                begin, at = at, at + len(data)
                if at > start:
                    yield data if start <= begin and at <= end else data[max(start - begin, 0) : end - begin]
                if at >= end and at < self._end(number):
                    return

    def _start(self, number: int) -> int:
        return int(self.table.plain[number])

    def _end(self, number: int) -> int:
        return int(self.table.plain[number + 1])

    def frame_at(self, offset: int) -> int:
        """The number of the frame that holds a byte. Frames that hold nothing are passed over."""
        return int(np.searchsorted(self.table.plain, offset, "right")) - 1

    def _look_at_empty(self) -> None:
        """JellyFormatError if frames that hold nothing, by the table, hold something: nobody reads them later."""
        empty = np.concatenate(([False], np.diff(self.table.plain) == 0, [False]))
        for first, end in np.flatnonzero(np.diff(empty)).reshape(-1, 2).tolist():  # of frames behind each other
            begin, stop = (int(self.table.packed[number]) for number in (first, end))
            with unpacking(partial(int, begin)), closing(self._unpacked(begin, stop)) as file:
                if file.read1(1):
                    raise JellyFormatError(
                        "the table of frames does not fit this compressed file: frames hold more than the 0 bytes that "
                        "it says",
                        offset=begin,
                    )

    def _unpacked(self, first: int, end: int) -> Any:
        return unpacked(self.kind, part_of(self.read_packed, first, end))

    def _frame(self, number: int, size: int = CHUNK) -> Iterator[bytes]:
        """What a frame holds, in chunks: as many bytes as the table says, else it is a JellyFormatError."""
        left = self._end(number) - self._start(number)
        if not left:
            return
        first, end = int(self.table.packed[number]), int(self.table.packed[number + 1])
        with unpacking(lambda: first), closing(self._unpacked(first, end)) as file:
            while left > 0:
                data = bytes(file.read1(min(left, size)))
                if not data:
                    break
                left -= len(data)
                yield data
            # The checksum comes behind the last byte.
            if left or file.read1(1):
                raise JellyFormatError(
                    "the table of frames does not fit this compressed file: a frame holds "
                    + ("fewer" if left else "more")
                    + f" bytes than the {self._end(number) - self._start(number)} that it says",
                    offset=first,
                )


def part_of(read_at: ReadAt, start: int, end: int) -> io.BufferedReader:
    """A part of a file, as a file that is read in as few pieces as can be."""
    return io.BufferedReader(_Part(read_at, start, end), max(min(CHUNK, end - start), 1))


class _Part(io.RawIOBase):
    def __init__(self, read_at: ReadAt, start: int, end: int) -> None:
        self._read_at = read_at
        self._at = start
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read_at(self._at, min(len(buffer), self._end - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
