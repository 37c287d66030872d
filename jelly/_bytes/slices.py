"""Decompression beside the reader of a file: in a thread of its own, or of several parts in several threads.

A file is cut where a frame of zstd, a member of gzip or a stream of bz2 seems to begin. That is a guess: the bytes that
begin one may also stand inside of one. So a part counts only if it was decompressed to its last byte and ended there:
then the next part begins where a single decompressor, which reads the file from its first byte, would begin a frame,
too. What does not pass is read by such a decompressor, so bytes and errors are those of one thread.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

from jelly._bytes.compression import CHUNK, unpacked
from jelly._bytes.workers import Window, Workers, pipelined

__all__ = ["BEGINS", "LONGEST", "Slices", "read_ahead"]

# What the first bytes of a frame look like. gzip: no reserved flags, known kinds of compression and systems.
_GZIP = re.compile(rb"\x1f\x8b\x08[\x00-\x1f][\x00-\xff]{4}[\x00\x02\x04][\x00-\x0d\xff]")
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd")
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")
BEGINS = {".gz": _GZIP, ".zst": _ZSTD, ".bz2": _BZIP2}
# The most bytes that one of them matches.
LONGEST = 10

# Least and maximum compressed bytes of a slice, and maximum decompressed bytes. Beyond them one thread reads on.
_LEAST = 1 << 18
_MOST = 1 << 23
_MOST_PLAIN = 1 << 24
# Chunks that are decompressed before they are asked for.
_AHEAD = 4


def read_ahead(chunks: Iterator[Any]) -> Iterator[Any]:
    """The same chunks; a few are made beforehand, in a thread that ends with this. Errors come in their turn.

    >>> list(read_ahead(chunk for chunk in [b"a", b"b"]))
    [b'a', b'b']
    """
    for found in pipelined(iter([lambda: _some(chunks)]), 1, _AHEAD):
        yield from found
        del found  # before the next ones take memory


def _some(chunks: Iterator[Any]) -> Iterator[list[Any]]:
    """The chunks, about `CHUNK` bytes of them at a time."""
    found: list[Any] = []
    held = 0
    try:
        for data in chunks:
            found.append(data)
            held += len(data)
            if held >= CHUNK:
                yield found
                found, held = [], 0
    except Exception as error:
        yield found
        raise error
    yield found


def _unpack(kind: str, data: bytes) -> list[bytes] | None:
    """What a slice holds; None if it is not one of whole frames, is broken, or holds too much."""
    found: list[bytes] = []
    held = 0
    try:
        with closing(unpacked(kind, io.BytesIO(data))) as file:
            while text := file.read1(CHUNK):
                held += len(text)
                if held > _MOST_PLAIN:
                    return None
                found.append(text)
    except Exception:  # whoever reads these bytes again raises it where it belongs
        return None
    return found


class Slices:
    """Decompresses a file in the threads of ``workers``; ``read`` gives its compressed bytes.

    Iteration gives texts, each with the number of compressed bytes that hold it. It ends early where the file cannot be
    cut: `rest` gives what comes then, to be decompressed in turn.

    >>> import gzip
    >>> data = gzip.compress(b"a") + gzip.compress(b"b")
    >>> with Workers(2) as workers:
    ...     [(texts, size == len(data)) for texts, size in Slices(".gz", io.BytesIO(data).read, workers)]
    [([b'a', b'b'], True)]
    """

    def __init__(self, kind: str, read: Callable[[int], bytes], workers: Workers) -> None:
        self._kind = kind
        self._read = read
        self._workers = workers
        self._waiting: deque[bytes] = deque()  # slices whose turn has not come
        self._carried = b""  # one that did not pass: it may go on in the next one
        self._held = bytearray()  # what is not cut yet
        self._broken: Exception | None = None
        self.is_whole: bool = False  # whether all was given

    def __iter__(self) -> Generator[tuple[list[bytes], int], None, None]:
        for texts in self._results():
            data = self._waiting.popleft()
            if self._carried:
                data = self._carried + data
                texts = _unpack(self._kind, data)
            if texts is not None:
                self._carried = b""
                yield texts, len(data)
            else:
                stops = bool(self._carried)
                self._carried = data
                if stops:
                    return
        self.is_whole = not self._carried and not self._held and self._broken is None

    def rest(self) -> Iterator[bytes]:
        """The compressed bytes behind those whose texts were given."""
        yield from (self._carried, *self._waiting, bytes(self._held))
        if self._broken is not None:
            raise self._broken
        while data := self._read(CHUNK):
            yield data

    def _results(self) -> Iterator[list[bytes] | None]:
        window: Window[list[bytes] | None] = Window(self._workers)
        try:
            for data in self._cut():
                self._waiting.append(data)
                window.put(_unpack, self._kind, data)
                yield from window.ready()
            yield from window.rest()
        finally:
            window.drop()

    def _cut(self) -> Iterator[bytes]:
        """Slices of what is read. What is left in `_held` is not to be cut."""
        begins = BEGINS[self._kind]
        held = self._held
        while len(held) <= _MOST:
            try:
                data = self._read(CHUNK)
            except Exception as error:  # raised behind what was read before
                self._broken = error
                return
            if not data:
                rest = bytes(held)
                held.clear()
                if rest:
                    yield rest
                return
            at = max(len(held) - LONGEST, _LEAST)
            held += data
            while found := begins.search(held, at):
                end = found.start()
                del found  # a match does not let its bytes shrink
                part = bytes(held[:end])
                del held[:end]
                yield part
                at = _LEAST
