"""Seekable Jelly: keyframes, their index, random access and parallel decoding.

The index is metadata of the last frame (key ``jelly.index``), so every other reader just ignores it. Its value ends
with its own length and a magic number: the last 16 bytes of a file show whether it has one. All numbers are
little-endian int64: version, checksum of the options row, offset of the last frame, statements, frames, number of
keyframes; then offset, statement and frame of each keyframe; then a CRC-32 of all that, the length of the value, the
magic number. That of patches is version 2: after the number of keyframes stands the place of the end (`Index.place`),
and each keyframe has its place, too.
"""

from __future__ import annotations

import os
import struct
import warnings
import zlib
from _thread import allocate_lock  # threading takes some time to import
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

from jelly._bytes.compression import suffix_of
from jelly._bytes.source import CHUNK, MAX_EXPANSION
from jelly._core.base.protobuf import _take_varint
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.stream_options import options_row
from jelly._options.options import ROW_VERSION, PatchOptions, StreamOptions
from jelly.errors import JellyError, JellyFormatError

if TYPE_CHECKING:
    from jelly._bytes.seekable import PlainView

INDEX_KEY = "jelly.index"
KEYFRAME_ROWS = 1 << 17
# In files with filters, where a search reads whole segments.
FILTERED_ROWS = 1 << 15
# Of the sidecar of a file.
SUFFIX = ".idx"

_MAGIC = b"JELLYIDX"
_HEAD = struct.Struct("<6q")
_TAIL = struct.Struct("<qq8s")
# An index of this size has some 2.8 million keyframes.
_MAX_INDEX = 1 << 26
# Maximum bytes of the varint of a frame length.
_MAX_LENGTH = 10
# Number of bytes compared at each end of a Jelly file with a sidecar.
_ENDS = 1 << 16

# From a place to a place: the bytes between them, in chunks.
Chunks: TypeAlias = Callable[[int, int], Iterator[bytes]]


class CorruptIndex(Exception):
    """The reason why an index cannot be trusted."""


class Keyframe(NamedTuple):
    """A frame from which a stream can be read: byte ``offset``, number of its first ``statement``, its ``frame``.

    In a stream of patches all rows count as statements, also the ends of patches, and ``place`` is 4 times the
    number of patches that end before, plus 0 at the start of a patch, 1 inside a patch, 2 inside a transaction.
    """

    offset: int
    statement: int
    frame: int
    place: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """The keyframes of a file, the first frame included, and its size in statements, frames and bytes.

    ``place`` is where a stream of patches ends, as in `Keyframe`.
    """

    options: Any  # StreamOptions or PatchOptions
    keyframes: tuple[Keyframe, ...]
    statements: int
    frames: int
    size: int
    # Returns the decoder state at the keyframe of a number, for files without real keyframes.
    state: Callable[[int], bytes | None] | None = None
    place: int = 0
    # Where the index begins, if it is in the file. What comes before it may be filters.
    at: int | None = None

    @property
    def patches(self) -> int:
        """Number of patches. The last one need not have an end; a FLAT stream is one patch even if it is empty."""
        return 1 if self.options.is_flat else (self.place + 3) // 4

    def check(self, last_offset: int) -> None:
        """Raise CorruptIndex if the keyframes are not in order, not within the file, or need more bytes than it has."""
        # Rows and frames take at least one byte, so a list of them never needs unexpected memory.
        counts = self.statements, self.frames, self.place // 4
        # In columns a few bytes can be any number of rows, but these are not in lists.
        in_columns = getattr(self.options, "version", 0) > ROW_VERSION
        if min(counts) < 0 or max(counts[in_columns:]) > self.size:
            raise CorruptIndex("it counts what the file cannot hold")
        end = Keyframe(last_offset + 1, self.statements, max(self.frames, 1), self.place)
        for before, after in self._between(end):
            if not (
                before.offset < after.offset and before.statement <= after.statement and before.frame < after.frame
                and before.place // 4 <= after.place // 4
            ):
                raise CorruptIndex(f"its keyframes are not {'within the file' if after is end else 'in order'}")

    def segments(self) -> list[tuple[Keyframe, Keyframe]]:
        """Each keyframe with the end of its segment, which is the start of the next keyframe."""
        return self._between(Keyframe(self.size, self.statements, self.frames, self.place))

    def _between(self, end: Keyframe) -> list[tuple[Keyframe, Keyframe]]:
        """Each keyframe with the next one, the last one with an ``end``."""
        return [*zip(self.keyframes, [*self.keyframes[1:], end], strict=True)]

    def segments_from(self, number: str, wanted: int) -> list[tuple[Keyframe, Keyframe]]:
        """The segments from the last keyframe on whose ``number``, a field of `Keyframe`, is at most ``wanted``."""
        first = bisect_right(self.keyframes, wanted, key=attrgetter(number)) - 1
        return self.segments()[first:]


def pack_index(
    options: StreamOptions | PatchOptions,
    keyframes: list[tuple[int, int, int, int]],
    last_frame: int,
    statements: int,
    frames: int,
    place: int = 0,
) -> bytes:
    """Encode the index. ``keyframes`` are those after the first frame."""
    version, n_head, n_key = shape_of(options)
    numbers = [version, checksum_options(options), last_frame, statements, frames, len(keyframes), place][:n_head]
    for key in keyframes:
        numbers += key[:n_key]
    body = struct.pack(f"<{len(numbers)}q", *numbers)
    return body + _TAIL.pack(zlib.crc32(body), len(body) + _TAIL.size, _MAGIC)


def shape_of(options: StreamOptions | PatchOptions) -> tuple[int, int, int]:
    """Of an index: version, number of integers in the head, number of integers per keyframe."""
    return (2, 7, 4) if isinstance(options, PatchOptions) else (1, 6, 3)


def checksum_options(options: StreamOptions | PatchOptions) -> int:
    """A checksum of the options row."""
    return zlib.crc32(options_row(options))


def ignore(what: str, why: CorruptIndex, check: bool, stacklevel: int) -> None:
    """Warn that something is not used; with ``check`` it is a JellyFormatError."""
    if check:
        raise JellyFormatError(f"{what} cannot be used: {why}") from None
    verb = "are" if what.startswith("the filters") else "is"
    warnings.warn(f"{what} {verb} ignored: {why}", RuntimeWarning, stacklevel=stacklevel + 1)


def read_index(
    file: Any, size: int, options: Callable[[], StreamOptions | PatchOptions], check: bool = False
) -> Index | None:
    """The index at the end of a file, or None. A damaged index is ignored with a warning, see `ignore`.

    ``file`` is a seekable binary file, ``options`` returns the stream options of its first frame.
    """
    if size < _TAIL.size:
        return None
    crc, length, magic = _TAIL.unpack(read_exactly(file, size - _TAIL.size, _TAIL.size))
    if magic != _MAGIC:
        return None
    try:
        if not _HEAD.size + _TAIL.size <= length <= min(size, _MAX_INDEX):
            raise CorruptIndex("its length is wrong")
        body = read_exactly(file, size - length, length - _TAIL.size)
        if zlib.crc32(body) != crc:
            raise CorruptIndex("its checksum is wrong")
        version, checksum, last_frame, statements, frames, n = _HEAD.unpack_from(body)
        expected, n_head, n_key = shape_of(found := options())
        if version != expected:
            raise CorruptIndex(f"it has version {version}, this is version {expected}")
        if checksum != checksum_options(found):
            raise CorruptIndex("it belongs to other stream options")
        if len(body) != 8 * (n_head + n * n_key):
            raise CorruptIndex("it is cut off")
        numbers = struct.unpack(f"<{n_head + n * n_key}q", body)
        if not 0 <= last_frame < size or _frame_end(file, last_frame) != size:
            raise CorruptIndex("the file has changed since")
        keys = (Keyframe(*numbers[i : i + n_key]) for i in range(n_head, len(numbers), n_key))
        place = sum(numbers[6:n_head])
        index = Index(found, (Keyframe(0, 0, 0), *keys), statements, frames, size, place=place, at=size - length)
        index.check(last_frame)
        return index
    except CorruptIndex as why:
        ignore(f"the index of {getattr(file, 'name', 'the file')}", why, check, 3)
        return None


def _frame_end(file: Any, offset: int) -> int:
    """End of the frame at ``offset``, from its length."""
    file.seek(offset)
    length, n = _take_varint(file.read(_MAX_LENGTH))
    return offset + n + length if length >= 0 else -1


def is_view(file: Any) -> TypeGuard[PlainView]:
    """Whether a file is a `jelly._bytes.seekable.PlainView`, of what a compressed file holds."""
    return hasattr(file, "read_packed")


def plain_view(file: Any, max_expansion: int = MAX_EXPANSION) -> Any:
    """The decompressed content of an open file, as a file: itself, or a `PlainView` if it is compressed with zstd.

    JellyError if that has no table of frames.
    """
    size, read_at = file.seek(0, os.SEEK_END), reader_at(file)
    if suffix_of(read_at(0, min(size, 4))) != ".zst":
        return file
    from jelly._bytes.seekable import FrameTable, PlainView

    table = FrameTable.of(read_at, size)
    if table is None:
        raise JellyError(
            "the file is compressed without a table of frames, so it can only be read from its start: write it anew"
            " with `jelly convert`, or with seekable=True"
        )
    return PlainView(file, read_at, size, table, max_expansion)


def checksum_ends(file: Any, size: int) -> int:
    """A checksum of the first and last bytes of the first ``size`` bytes of a file, or of a whole compressed file."""
    if is_view(file):
        size, read_at = file.packed_size, file.read_packed
    else:
        read_at = reader_at(file)
    length = min(size, _ENDS)
    return zlib.crc32(read_at(size - length, length), zlib.crc32(read_at(0, length)))


def read_exactly(file: Any, at: int, n: int) -> bytes:
    """So many bytes of a file; CorruptIndex if it has fewer."""
    file.seek(at)
    data = b""
    while len(data) < n:
        more = file.read(n - len(data))
        if not more:
            raise CorruptIndex("the file is cut off")
        data += more
    return data


def first_options(file: Any, patch: bool = False, **limits: Any) -> Any:
    """The stream options at the start of a file; with ``patch`` those of Jelly-Patch."""
    file.seek(0)
    decoder = Decoder(**limits | {"batch_rows": 1}, patch=patch)
    while decoder.options is None and (chunk := file.read(1 << 16)):
        decoder.push(chunk)
        while decoder.options is None and decoder.pull() is not None:
            pass
    if decoder.options is None:
        raise CorruptIndex("the file does not begin with stream options")
    return decoder.options


# ---- reading with an index

def refuse_closed(file: Any) -> None:
    """JellyError if a file is closed. The number of its descriptor may be that of another file by now."""
    if getattr(file, "closed", False):
        raise JellyError("the file is closed: read it before close(), or within its with statement")


def chunks_of(file: Any, size: int = CHUNK) -> Chunks:
    """A function (start, end) -> chunks of bytes over an open file or what is in it, that any thread may call."""
    if is_view(file):
        return partial(file.chunks, size=size)
    read_at = reader_at(file)
    # In parts: a segment of long literals is large, and reusing memory is faster.
    return lambda start, end: (read_at(at, min(size, end - at)) for at in range(start, end, size))


def reader_at(file: Any) -> Callable[[int, int], bytes]:
    """A function (offset, size) -> bytes over an open file that any thread may call."""
    if is_view(file):
        return file.read_at
    descriptor = -1
    with suppress(OSError):
        descriptor = file.fileno()
    lock = allocate_lock()

    def read_part(size: int, offset: int) -> bytes:
        refuse_closed(file)
        if descriptor >= 0 and hasattr(os, "pread"):
            return os.pread(descriptor, size, offset)
        with lock:  # Windows, and files that are not local
            file.seek(offset)
            return bytes(file.read(size))

    def read_at(offset: int, size: int) -> bytes:
        parts = []
        while size > 0:
            part = read_part(size, offset)
            if not part:
                raise JellyError("the file has become shorter while it was read", offset=offset)
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return b"".join(parts)  # which copies nothing where there is one

    return read_at
