"""Finds the frames of a compressed file that has no table of them, as others write it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from jelly._bytes.compression import CHUNK, unpacked, unpacking, zstandard, zstd_frames
from jelly._bytes.frames import FrameTable
from jelly._bytes.view import check_expansion, part_of
from jelly.errors import JellyTruncatedError

__all__ = ["scan"]

# Small frames, such as the blocks of bgzip, are put together until they hold so many bytes.
_LEAST = 1 << 20
# Bytes that are read at once, and maximum bytes of the head of a frame.
_READ = 1 << 16
_HEAD = 18

ReadAt = Callable[[int, int], bytes]


def scan(
    read_at: ReadAt, size: int, kind: str, max_expansion: int, progress: Callable[[int, int], object] | None = None
) -> tuple[FrameTable, int]:
    """The table of the frames of a file of ``size`` bytes, small ones taken together, and the number of frames.

    ``progress`` is called with the bytes read and the size. JellyError if the file is broken or expands too much.
    """
    sizes: list[tuple[int, int]] = []
    at = packed = plain = total = n = 0
    for length, held in (_zstd if kind == ".zst" else _gzip)(read_at, size, max_expansion):
        n += 1
        at += length
        total += held
        packed, plain = packed + length, plain + held
        check_expansion(total, at, max_expansion)
        if plain >= _LEAST:
            sizes.append((packed, plain))
            packed = plain = 0
        if progress is not None:
            progress(at, size)
    if packed:
        sizes.append((packed, plain))
    return FrameTable.of(sizes), n


def _zstd(read_at: ReadAt, size: int, max_expansion: int) -> Iterator[tuple[int, int]]:
    """Compressed and decompressed size of each frame."""
    frames = zstd_frames()
    skip, need, may_end = next(frames)
    at = begin = 0
    while True:
        at += skip
        if may_end and at > begin and at <= size:
            yield at - begin, _held(read_at, begin, at, max_expansion)
            begin = at
        if may_end and at == size:
            return
        part = read_at(at, min(need, size - at)) if at < size else b""
        if len(part) < need:
            why = "the compressed data is cut off: the end of the zstd frame is missing"
            raise JellyTruncatedError(why, offset=size)
        at += need
        skip, need, may_end = frames.send(part)


def _held(read_at: ReadAt, begin: int, end: int, max_expansion: int) -> int:
    """Bytes that a frame of zstd holds, by what it says itself if it does: whoever reads it checks that."""
    with unpacking(lambda: begin):
        said: int = zstandard().frame_content_size(read_at(begin, min(end - begin, _HEAD)))
        if said >= 0:
            return said
        held = 0
        with closing(unpacked(".zst", part_of(read_at, begin, end))) as file:
            while data := file.read1(CHUNK):
                held += len(data)
                check_expansion(held, end, max_expansion)
        return held


def _gzip(read_at: ReadAt, size: int, max_expansion: int) -> Iterator[tuple[int, int]]:
    """Compressed and decompressed size of each member, with the zeros behind it."""
    at = 0  # what was read
    data = b""
    while at < size or data:
        begin, held = at - len(data), 0
        member = zlib.decompressobj(31)
        with unpacking(partial(int, begin)):
            while not member.eof:
                if not data and at < size:
                    data = read_at(at, min(_READ, size - at))
                    at += len(data)
                is_end = not data
                text = member.decompress(data, CHUNK)
                data = member.unconsumed_tail
                held += len(text)
                check_expansion(held, at, max_expansion)
                if is_end and not text and not member.eof:
                    raise EOFError("the end of the gzip member is missing")
        data = member.unused_data.lstrip(b"\0")
        while not data and at < size:
            data = read_at(at, min(_READ, size - at))
            at += len(data)
            data = data.lstrip(b"\0")
        yield at - len(data) - begin, held
