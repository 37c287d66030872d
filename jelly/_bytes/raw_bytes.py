"""The bytes of a source as they come, before decompression, of which the first can be looked at beforehand."""

from __future__ import annotations

import io
import os
import select
import stat
from _thread import allocate_lock
from collections.abc import Callable, Iterable
from typing import Any

from jelly._bytes.compression import CHUNK
from jelly.errors import JellyArgumentError

# Milliseconds that a read waits for the next bytes before Python looks for signals.
_LOOK_AGAIN = 100


class Interruptible(io.RawIOBase):
    """A pipe, a socket or a terminal, of which a signal always ends reading. Whoever opened it closes it.

    A signal that comes between Python's last look for one and the read itself does not wake the read: Ctrl-C would
    be noticed with the next bytes, perhaps never.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._waiting = select.poll()
        self._waiting.register(raw.fileno(), select.POLLIN)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def readinto(self, buffer: Any) -> int | None:
        while not self._waiting.poll(_LOOK_AGAIN):
            pass
        return self._raw.readinto(buffer)


def interruptible(raw: io.RawIOBase) -> io.RawIOBase:
    """The file, of which a signal always ends reading. A regular one never waits and stays as it is.

    Windows has no way to wait for a pipe.
    """
    is_regular = stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
    return raw if is_regular or not hasattr(select, "poll") else Interruptible(raw)


def closing_last(
    read: Callable[[int], Any], close: Callable[[], None]
) -> tuple[Callable[[int], Any], Callable[[], None]]:
    """The functions that read and close a file, of which the one that ends last closes it: neither waits for the other.

    The number of a descriptor that is closed under a thread that is about to read may be that of another file by then.
    """
    turn = allocate_lock()
    is_over = False

    def read_on(size: int) -> Any:
        try:
            with turn:
                return read(size)
        finally:
            if is_over:
                close_last()

    def close_last() -> None:
        nonlocal is_over
        is_over = True
        if turn.acquire(False):
            try:
                close()
            finally:
                turn.release()

    return read_on, close_last


class RawBytes(io.RawIOBase):
    """Counts the bytes read, and can return to the first bytes."""

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

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

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


def joined(chunks: Iterable[Any]) -> Callable[[int], Any]:
    """A file with read() over an iterator of chunks; each call returns at most the rest of a chunk."""
    iterator = iter(chunks)
    rest = memoryview(b"")

    def read(size: int) -> Any:
        nonlocal rest
        while not rest:
            chunk = next(iterator, None)
            if chunk is None:
                return b""
            try:
                rest = memoryview(chunk).cast("B")
            except TypeError:
                kind = type(chunk).__name__
                why = f"a chunk is a {kind}: expected bytes; jelly.read takes a list of sources"
                raise JellyArgumentError(why) from None
        data, rest = (rest, memoryview(b"")) if size < 0 else (rest[:size], rest[size:])
        return bytes(data)

    return read


def part_of(read_at: Callable[[int, int], bytes], start: int, end: int) -> io.BufferedReader:
    """A part of a file, as a file that is read in as few pieces as can be. ``read_at`` gives the bytes at an offset."""
    at = start

    def read(size: int) -> bytes:
        nonlocal at
        data = read_at(at, min(size, end - at))
        at += len(data)
        return data

    return io.BufferedReader(RawBytes(read), max(min(CHUNK, end - start), 1))
