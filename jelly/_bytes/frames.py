"""Frames of zstd and members of gzip, one after the other, and the tables of their sizes.

A table makes a compressed file seekable, and ends the file, where every decompressor passes over it. For zstd it is
that of the published seekable format: a skippable frame. For gzip it stands in the extra fields of empty members. Both
are told in docs/reference/file-formats.md. "Frame" is either of the two here; ``kind`` is the suffix of a compression.
"""

from __future__ import annotations

import struct
import zlib
from _thread import _local as local  # threading takes some time to import
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jelly._bytes.compression import zstandard

__all__ = ["LEVELS", "MAX_TABLE", "CorruptTable", "FrameTable", "compress_frame", "pack_table", "read_table"]

LEVELS = {".zst": 3, ".gz": 6}

# Maximum bytes of a table: of some 8 million frames.
MAX_TABLE = 1 << 26

_ENTRY = np.dtype([("packed", "<u4"), ("plain", "<u4")])
_CHECKED = np.dtype([*_ENTRY.descr, ("checksum", "<u4")])

_SKIPPABLE = 0x184D2A5E
_ZSTD_MAGIC = 0x8F92EAB1
_ZSTD_HEAD = struct.Struct("<II")
# Number of frames, descriptor, magic number.
_ZSTD_FOOT = struct.Struct("<IBI")

# ID of gzip, deflate, FEXTRA; no time, no flags, unknown system; bytes of the extra field; its one subfield and bytes.
_GZIP_HEAD = struct.Struct("<4sIBBH2sH")
_GZIP = b"\x1f\x8b\x08\x04"
_SUBFIELD = b"JT"
_GZIP_MAGIC = b"JGZT"
# Number of all frames, CRC-32 of all entries, the magic number. Behind it stand no data, a CRC-32 and a size of 0.
_GZIP_FOOT = struct.Struct("<II4s")
_GZIP_END = b"\x03\x00" + bytes(8)
# An extra field has at most 65535 bytes.
_GZIP_ENTRIES = 8000

_threads = local()


class CorruptTable(Exception):
    """The reason why a table of frames cannot be trusted."""


class FrameTable(NamedTuple):
    """Where each frame begins, and last where the frames end: in the compressed file and in what it holds."""

    packed: np.ndarray[Any, np.dtype[np.int64]]
    plain: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, sizes: Any) -> FrameTable:
        """The table of frames of these compressed and decompressed sizes."""
        both = np.asarray(sizes, np.int64).reshape(-1, 2)
        packed, plain = (np.concatenate(([0], np.cumsum(both[:, column]))) for column in (0, 1))
        return cls(packed, plain)

    def sizes(self) -> Any:
        """Compressed and decompressed size of each frame."""
        return np.stack([np.diff(self.packed), np.diff(self.plain)], axis=1)

    @property
    def frames(self) -> int:
        """The number of frames."""
        return len(self.packed) - 1


def compress_frame(data: Any, kind: str, level: int | None = None) -> bytes:
    """One frame of zstd (``kind`` ``.zst``), with size and checksum, or one member of gzip (``.gz``).

    Any thread may call this, and other threads run meanwhile. The same bytes give the same frame.
    """
    level = LEVELS[kind] if level is None else level
    if kind == ".gz":
        packer = zlib.compressobj(level, zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()
    # It keeps memory for its tables, and is not for several threads.
    known = _threads.__dict__.setdefault("compressors", {})
    if level not in known:
        known[level] = zstandard().ZstdCompressor(level=level, write_checksum=True, write_content_size=True)
    made: bytes = known[level].compress(data)
    return made


def pack_table(sizes: Sequence[tuple[int, int]], kind: str) -> bytes:
    """The bytes that end a seekable file, of frames of these compressed and decompressed sizes."""
    if any(max(size) >> 32 for size in sizes):
        raise ValueError("a frame has 4 GiB or more")
    rows = np.array(sizes, np.int64).reshape(-1, 2)
    entries = np.zeros(len(rows), _ENTRY)
    entries["packed"], entries["plain"] = rows[:, 0], rows[:, 1]
    return (_zstd_table if kind == ".zst" else _gzip_table)(entries)


def _zstd_table(entries: np.ndarray[Any, Any]) -> bytes:
    body = entries.tobytes() + _ZSTD_FOOT.pack(len(entries), 0, _ZSTD_MAGIC)
    return _ZSTD_HEAD.pack(_SKIPPABLE, len(body)) + body


def _gzip_table(entries: np.ndarray[Any, Any]) -> bytes:
    foot = _GZIP_FOOT.pack(len(entries), zlib.crc32(entries.tobytes()), _GZIP_MAGIC)
    parts = []
    for first in range(0, max(len(entries), 1), _GZIP_ENTRIES):
        body = entries[first : first + _GZIP_ENTRIES].tobytes() + foot
        head = _GZIP_HEAD.pack(_GZIP, 0, 0, 255, len(body) + 4, _SUBFIELD, len(body))
        parts.append(head + body + _GZIP_END)
    return b"".join(parts)


def read_table(read_at: Callable[[int, int], bytes], size: int, kind: str) -> FrameTable | None:
    """The table at the end of a compressed file of ``size`` bytes; None if there is none.

    ``read_at`` gives the bytes at an offset. CorruptTable if the table is damaged or does not fit the file.
    """
    return (_read_zstd if kind == ".zst" else _read_gzip)(read_at, size)


def _read_zstd(read_at: Callable[[int, int], bytes], size: int) -> FrameTable | None:
    if size < _ZSTD_HEAD.size + _ZSTD_FOOT.size:
        return None
    n, flags, magic = _ZSTD_FOOT.unpack(read_at(size - _ZSTD_FOOT.size, _ZSTD_FOOT.size))
    if magic != _ZSTD_MAGIC:
        return None
    if flags & 0x7C:
        raise CorruptTable("it has flags that are reserved")
    kind = _CHECKED if flags & 0x80 else _ENTRY
    length = n * kind.itemsize + _ZSTD_FOOT.size
    if not length + _ZSTD_HEAD.size <= min(size, MAX_TABLE):
        raise CorruptTable("its length is wrong")
    start = size - length - _ZSTD_HEAD.size
    data = read_at(start, size - start)
    if _ZSTD_HEAD.unpack_from(data) != (_SKIPPABLE, length):
        raise CorruptTable("its length is wrong")
    return _checked(np.frombuffer(data, kind, n, _ZSTD_HEAD.size), start)


def _read_gzip(read_at: Callable[[int, int], bytes], size: int) -> FrameTable | None:
    tail = _GZIP_FOOT.size + len(_GZIP_END)
    if size < _GZIP_HEAD.size + tail:
        return None
    data = read_at(size - tail, tail)
    n, _, magic = _GZIP_FOOT.unpack_from(data)
    if magic != _GZIP_MAGIC or data[_GZIP_FOOT.size :] != _GZIP_END:
        return None
    members = max(-(-n // _GZIP_ENTRIES), 1)
    length = members * (_GZIP_HEAD.size + tail) + n * _ENTRY.itemsize
    if length > min(size, MAX_TABLE):
        raise CorruptTable("its length is wrong")
    start = size - length
    data = read_at(start, length)
    whole = _GZIP_HEAD.size + _GZIP_ENTRIES * _ENTRY.itemsize + tail
    entries = np.frombuffer(
        b"".join(data[at + _GZIP_HEAD.size : at + whole - tail] for at in range(0, length - whole, whole))
        + data[(members - 1) * whole + _GZIP_HEAD.size : -tail],
        _ENTRY,
    )
    if _gzip_table(entries) != data:
        raise CorruptTable("it is damaged")
    return _checked(entries, start)


def _checked(entries: np.ndarray[Any, Any], start: int) -> FrameTable:
    """The table, if its frames end where it begins."""
    table = FrameTable.of(np.stack([entries["packed"].astype(np.int64), entries["plain"].astype(np.int64)], axis=1))
    if table.packed[-1] != start or (table.frames and not entries["packed"].all()):
        raise CorruptTable("its sizes are not those of the file")
    return table
