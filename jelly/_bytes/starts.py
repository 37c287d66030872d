"""Finds a frame of a compressed file from any byte on, without reading what stands before.

What begins a frame may also stand inside of one, and only who reads the file from its first byte can be sure. So it
is a guess, but the same one for everybody: whether a frame seems to begin at a byte does not depend on where the
search began. Whoever decompresses from one guess to the next one must come to an end exactly there. If all do, from the
first byte of the file on, then all guesses are right; if one is wrong, then the one before it ends in an error.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from jelly._bytes.compression import suffix_of, zstd_frames
from jelly._bytes.slices import BEGINS, LONGEST
from jelly.errors import JellyFormatError

__all__ = ["find_frame", "has_frames"]

# Bytes that are searched at a time.
_WINDOW = 1 << 20
# Bytes of a member of gzip that must make sense.
_TRIAL = 1 << 16
# Places that may look like a frame at first sight and are none: in useful data there is hardly one in a gigabyte.
_TRIES = 100
# A file is cut if its second frame begins within so many bytes.
_PROBE = 1 << 22

ReadAt = Callable[[int, int], bytes]


def find_frame(read_at: ReadAt, size: int, kind: str, first: int, last: int) -> int | None:
    """Where the first frame begins at or after a byte, and before another one; None if there is none.

    >>> import bz2
    >>> data = bz2.compress(b"a") + bz2.compress(b"b")
    >>> read_at = lambda offset, size: data[offset : offset + size]
    >>> find_frame(read_at, len(data), ".bz2", 1, len(data)), find_frame(read_at, len(data), ".bz2", 38, len(data))
    (37, None)
    """
    if first == 0:
        return 0
    begins = BEGINS[kind]
    at = first
    tries = 0
    while at < last:
        data = read_at(at, min(_WINDOW, size - at))
        place = 0
        while found := begins.search(data, place):
            start = at + found.start()
            if start >= last:
                return None
            if _is_frame(read_at, size, kind, start):
                return start
            place = found.start() + 1
            tries += 1
            if tries > _TRIES:
                raise JellyFormatError(
                    "the compressed data cannot be read in parts: too much in it only looks like the begin of a frame;"
                    " raise split_bytes to read the file at once",
                    offset=start,
                )
        if at + len(data) >= size or len(data) < LONGEST:
            return None
        at += len(data) - LONGEST + 1
    return None


def has_frames(read_at: ReadAt, size: int) -> bool:
    """Whether a file seems to have frames that can be read each for itself. Only its first 4 MiB are read."""
    kind = suffix_of(read_at(0, min(size, LONGEST)))
    try:
        return kind in BEGINS and find_frame(read_at, size, kind, 1, min(size, _PROBE)) is not None
    except JellyFormatError:
        return False


def _is_frame(read_at: ReadAt, size: int, kind: str, start: int) -> bool:
    """Whether what follows the first bytes of a frame makes sense, too."""
    if kind == ".zst":
        return _is_zstd(read_at, size, start)
    if kind == ".gz":
        try:
            zlib.decompressobj(31).decompress(read_at(start, min(_TRIAL, size - start)), _TRIAL)
        except zlib.error:
            return False
    # The first bytes of a stream of bz2 are ten that never change but for the level.
    return True


def _is_zstd(read_at: ReadAt, size: int, start: int) -> bool:
    """Whether the blocks of a frame lead to the next frame, or to the end."""
    frames = zstd_frames()
    skip, need, may_end = next(frames)
    at = start
    while True:
        at += skip
        if may_end and at > start:
            return at == size or (at < size and suffix_of(read_at(at, min(4, size - at))) == ".zst")
        if at + need > size:
            return False
        part = read_at(at, need)
        if len(part) < need:
            return False
        at += need
        skip, need, may_end = frames.send(part)
