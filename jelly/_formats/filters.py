"""Filters: which terms each segment of a file may hold as subject, predicate, object and graph.

They stand before the index in the last frame of a file, or at the end of its sidecar: the filters, a directory, and a
tail, see docs/reference/file-formats.md. A filter that is damaged is ignored with a warning: its segment is read.
"""

from __future__ import annotations

import os
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import lru_cache
from itertools import starmap
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from jelly._bytes.source import open_local
from jelly._core.algebra.content import fuse_filter, slot_keys
from jelly._core.base.batch import Batch
from jelly._formats.index import SUFFIX, CorruptIndex, Index, checksum_ends, ignore, read_exactly, reader_at

_MAGIC = b"JELLYTRM"
_VERSION = 1
# CRC-32 and length of the directory, length of everything, the magic number.
_TAIL = struct.Struct("<qqq8s")
# Version, number of segments, CRC-32 of the keyframes; of a sidecar also size and checksum of the ends of the file.
_HEAD = struct.Struct("<5q")


class Row(NamedTuple):
    """The row of a slot of a segment in the directory."""

    kind: int
    default: int
    width: int = 0
    block_bits: int = 0
    blocks: int = 0
    keys: int = 0
    size: int = 0
    crc: int = 0
    low: int = 0
    high: int = 0
    offset: int = 0
    seed: int = 0


_TYPES = ("u1", "u1", "u1", "u1", "<u4", "<u4", "<u4", "<u4", "<u2", "<u2", "<i8", "<u8")
_ROW = np.dtype(list(zip(Row._fields, _TYPES, strict=True)))
_ANYTHING, _LIST, _FUSE = range(3)
_MAX_DIRECTORY = 1 << 26
# Filters of a file, so that its last frame stays within what readers take. Behind them only ranges and lists follow.
_MAX_FILTERS = 1 << 27
_MAX_BLOCK_BITS = 18
# Up to so many terms are a list of keys, which takes no more than a filter and is never wrong.
_MAX_LIST = 64
# Bytes of the lowest and of the highest text that are kept.
_RANGE = 128
# Bits of a fingerprint: 7 are wrong in 0.8 % of all cases. More where filters then still are 4 % of the file.
_WIDTHS = range(7, 13)
_SHARE = 0.04 / (1 - 0.04)
# Places of a filter for each key, about.
_OVERHEAD = 1.19
# From so many segments on, a slot that is sorted needs no filter: its ranges leave one segment of them.
_SORTED = 128
# More terms than that are not looked for in filters.
MAX_SOUGHT = 1000

SLOTS = "spog"
_WORD = (1 << 64) - 1


class Sought(NamedTuple):
    """A term that is looked for: the bytes of its text, and its key; without a key all texts that begin with these."""

    text: bytes
    key: int | None


# By slot: whether the default graph is one of what is looked for, and the terms. Other slots may hold anything.
Query: TypeAlias = Mapping[str, tuple[bool, Sequence[Sought]]]


# ---- building


class _Slot:
    """The content of one slot of a segment so far."""

    def __init__(self) -> None:
        self.keys: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
        self.low: bytes | None = None
        self.high = b""
        self.default = False

    def add(self, batch: Batch, ids: np.ndarray[Any, np.dtype[np.int32]] | None, n: int) -> None:
        if ids is None:
            self.default = self.default or n > 0
            return
        keys, low, high, default = slot_keys(batch, ids)
        self.default = self.default or default
        if len(keys):
            self.keys.append(keys)
            text, start = batch.text, batch.start
            lowest, highest = (text[start[id] : start[id + 1]][: _RANGE + 1].tobytes() for id in (low, high))
            self.low = lowest if self.low is None else min(self.low, lowest)
            self.high = max(self.high, highest)

    def distinct(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        if not self.keys:
            return np.zeros(0, np.uint64)
        keys = np.sort(np.concatenate(self.keys))
        return keys[np.concatenate(([True], keys[1:] != keys[:-1]))]


class Part(NamedTuple):
    """A slot of a segment: its row in the directory, the range of its texts, and its list or filter."""

    row: Row
    low: bytes
    high: bytes
    data: bytes

    @classmethod
    def of(cls, row: Row, low: bytes, high: bytes, data: bytes = b"") -> Part:
        """A part whose row has the sizes of all this."""
        row = row._replace(size=len(data), crc=zlib.crc32(data), low=len(low), high=len(high))
        return cls(row, low, high, data)

    def without_filter(self) -> Part:
        """The same, of which only the range says something."""
        return self.of(Row(_ANYTHING, self.row.default, keys=self.row.keys), self.low, self.high)


class FilterBuilder:
    """Makes the filters of a file while its statements come by: `add` them, and `cut` where a segment ends."""

    def __init__(self, limit: int = _MAX_FILTERS) -> None:
        self._limit = limit
        self._slots = [_Slot() for _ in SLOTS]
        self._parts: list[Part] = []  # of each segment one for each slot
        self._size = 0

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self._parts) // len(SLOTS)

    def add(self, batch: Batch, low: int = 0, high: int | None = None) -> None:
        """Take in some rows of a Batch."""
        for name, slot in zip(SLOTS, self._slots, strict=True):
            ids = getattr(batch, name)
            part = range(len(batch))[low:high]
            slot.add(batch, None if ids is None else ids[low:high], len(part))

    def _put(self, part: Part) -> None:
        if part.row.kind == _FUSE and self._size >= self._limit:
            part = part.without_filter()
        self._parts.append(part)
        self._size += len(part.data)

    def take(self, filters: Filters) -> None:
        """Take over all segments of a file, before others are added."""
        self._parts = list(filters.parts())
        self._size = sum(part.row.size for part in self._parts)

    def cut(self, n_bytes: int) -> None:
        """End a segment, which takes so many bytes."""
        keys = [slot.distinct() for slot in self._slots]
        total = sum(len(each) for each in keys if len(each) > _MAX_LIST)
        room = int(n_bytes * _SHARE * 8 / (total * _OVERHEAD)) if total else 0
        width = min(max(room, _WIDTHS[0]), _WIDTHS[-1])
        for slot, each in zip(self._slots, keys, strict=True):
            row, data = Row(_ANYTHING, slot.default, keys=len(each)), b""
            if len(each) <= _MAX_LIST:
                row, data = row._replace(kind=_LIST), each.astype("<u8").tobytes()
            elif self._size < self._limit and (made := fuse_filter(each, width)) is not None:
                data, seed, length, blocks = made
                bits = length.bit_length() - 1
                row = row._replace(kind=_FUSE, width=width, block_bits=bits, blocks=blocks, seed=seed)
            self._put(Part.of(row, (slot.low or b"")[:_RANGE], slot.high[:_RANGE], data))
        self._slots = [_Slot() for _ in SLOTS]

    def join(self, other: FilterBuilder) -> None:
        """Append the segments of another builder."""
        for part in other._parts:
            self._put(part)

    def drop(self) -> None:
        """Take away the last segment, which is empty."""
        del self._parts[-len(SLOTS) :]

    def pack(self, keyframes: Sequence[tuple[int, ...]], size: int = 0, ends: int = 0) -> bytes:
        """The filters, the directory and the tail. ``keyframes`` begin with byte offset and first row of a segment."""
        parts = self._parts
        for first in range(len(SLOTS)):
            own = slice(first, None, len(SLOTS))
            if self._is_sorted(parts[own]):
                parts[own] = [part.without_filter() if part.row.kind == _FUSE else part for part in parts[own]]
        offsets = np.cumsum([0, *(part.row.size for part in parts)]).tolist()
        rows = [part.row._replace(offset=at) for part, at in zip(parts, offsets, strict=False)]
        head = _HEAD.pack(_VERSION, len(keyframes), checksum_keyframes(keyframes), size, ends)
        directory = head + np.array(rows, _ROW).tobytes() + b"".join(part.low + part.high for part in parts)
        whole = offsets[-1] + len(directory) + _TAIL.size
        tail = _TAIL.pack(zlib.crc32(directory), len(directory), whole, _MAGIC)
        return b"".join([*(part.data for part in parts), directory, tail])

    @staticmethod
    def _is_sorted(parts: list[Part]) -> bool:
        """Whether a text is in the ranges of two of these parts at most, that follow each other."""
        return len(parts) >= _SORTED and all(
            one.high <= two.low and (three is None or one.high < three.low)
            for one, two, three in zip(parts, parts[1:], [*parts[2:], None], strict=False)
        )


def checksum_keyframes(keyframes: Sequence[tuple[int, ...]]) -> int:
    """A checksum of byte offset and first statement of all keyframes."""
    return zlib.crc32(b"".join(struct.pack("<2q", *key[:2]) for key in keyframes))


def keyframes_of(index: Index) -> list[tuple[int, int]]:
    """Byte offset and first statement of each keyframe of an index."""
    return [(key.offset, key.statement) for key in index.keyframes]


# ---- reading


class Filters:
    """The filters of a file, as they were read. ``read`` gives the bytes at an offset of all filters."""

    def __init__(
        self,
        rows: list[Row],
        ranges: list[tuple[bytes, bytes]],
        size: int,
        read: Callable[[int, int], bytes],
        name: str,
    ) -> None:
        self.size: int = size  # of all, in bytes
        self._rows = rows
        self._ranges = ranges
        self._read = read
        self._name = name
        self._known: dict[int, Any] = {}

    def __repr__(self) -> str:
        return f"<filters of {len(self._rows) // len(SLOTS)} segments: {self.size} bytes>"

    def matching(self, query: Query) -> list[int]:
        """The numbers of the segments that may hold a statement of this query, in order."""
        found = list(range(len(self._rows) // len(SLOTS)))
        # Ranges first: they cost nothing.
        for look in (self._by_range, self._by_filter):
            for name, (default, sought) in query.items():
                slot = SLOTS.index(name)
                places = [(segment, segment * len(SLOTS) + slot) for segment in found]
                found = [
                    segment for segment, at in places if (default and self._rows[at].default) or look(at, sought)
                ]
        return found

    def cover(self, segment: int, batch: Batch) -> bool:
        """Whether no statement of a Batch of a segment would be left out, whatever is looked for."""
        for at, name in enumerate(SLOTS, segment * len(SLOTS)):
            row = self._rows[at]
            ids = getattr(batch, name)
            if ids is None:
                if len(batch) and not row.default:
                    return False
                continue
            keys, low, high, default = slot_keys(batch, ids)
            if default and not row.default:
                return False
            if not len(keys):
                continue
            ends = (batch.text[batch.start[id] : batch.start[id + 1]].tobytes() for id in (low, high))
            if not row.keys or not all(self._in_range(at, Sought(text, 0)) for text in ends):
                return False
            data = self._read(row.offset, row.size)
            if zlib.crc32(data) != row.crc:
                return False
            if row.kind == _LIST and not np.isin(keys, np.frombuffer(data, "<u8")).all():
                return False
            if row.kind == _FUSE and not _holds(data, keys, row).all():
                return False
        return True

    def parts(self) -> Iterator[Part]:
        """Each slot of each segment, whatever state it is in."""
        for row, ends in zip(self._rows, self._ranges, strict=True):
            yield Part(row, *ends, self._read(row.offset, row.size))

    def _in_range(self, at: int, sought: Sought) -> bool:
        low, high = self._ranges[at]
        text = sought.text
        # Of a text that is too long only the beginning is kept.
        below = text[: len(high)] <= high if len(high) == _RANGE else text <= high
        return below and (low <= text if sought.key is not None else low[: len(text)] <= text)

    def _by_range(self, at: int, sought: Sequence[Sought]) -> bool:
        return self._rows[at].keys > 0 and any(self._in_range(at, each) for each in sought)

    def _by_filter(self, at: int, sought: Sequence[Sought]) -> bool:
        known = self._load(at)
        for each in sought:
            if not self._in_range(at, each):
                continue
            if each.key is None or known is None:
                return True
            if each.key in known if isinstance(known, frozenset) else _holds(known, each.key, self._rows[at]):
                return True
        return False

    def _load(self, at: int) -> frozenset[int] | bytes | None:
        """The list or the filter, or None where it says nothing."""
        if at not in self._known:
            row = self._rows[at]
            data = self._read(row.offset, row.size)
            found: frozenset[int] | bytes | None = None
            if zlib.crc32(data) != row.crc:
                warnings.warn(
                    f"the filters of {self._name} are damaged: more is read", RuntimeWarning, stacklevel=2
                )
            elif row.kind != _ANYTHING:
                found = data if row.kind == _FUSE else frozenset(struct.unpack(f"<{row.keys}Q", data))
            self._known[at] = found
        return self._known[at]  # type: ignore[no-any-return]


def _mixed(key: Any, seed: int) -> Any:
    """The hash of a key, or of an array of keys, in a filter."""
    key = (key + seed) & _WORD
    key = ((key ^ (key >> 33)) * 0xFF51AFD7ED558CCD) & _WORD
    key = ((key ^ (key >> 33)) * 0xC4CEB9FE1A85EC53) & _WORD
    return key ^ (key >> 33)


# Most filters have the same seed.
_hash = lru_cache(1 << 12)(_mixed)


def _holds(data: Any, key: Any, row: Row) -> Any:
    """Whether a binary fuse filter may hold a key; of an array of keys, whether it may hold each of them."""
    if isinstance(key, int):
        hash = _hash(key, row.seed)
    else:
        hash, data = _mixed(key, row.seed), np.frombuffer(data, np.uint8).astype(np.uint64)
    mask = (1 << row.block_bits) - 1
    place = ((hash >> 32) * (row.blocks << row.block_bits)) >> 32
    found = hash ^ (hash >> 32)
    for at in (
        place, (place + mask + 1) ^ ((hash >> 18) & mask), (place + 2 * (mask + 1)) ^ (hash & mask)
    ):  # fmt: skip
        bit = at * row.width
        byte = bit >> 3
        found ^= (data[byte] | data[byte + 1] << 8 | data[byte + 2] << 16) >> (bit & 7)
    return found & ((1 << row.width) - 1) == 0


def read_filters(
    path: str, file: Any, index: Index, opener: Callable[[str], BinaryIO] = open_local, check: bool = False
) -> tuple[Filters | None, ExitStack]:
    """The filters of a file with its index, in it or in its sidecar, and what to close when they are not used any more.

    None without filters. Those that are damaged or of another file are ignored with a warning.
    """
    stack = ExitStack()
    for name, source, end in _places(path, file, index, opener, stack):
        try:
            found = _parse(name, source, end, index, None if source is file else file)
        except CorruptIndex as why:
            with stack if check else nullcontext():
                ignore(f"the filters of {name}", why, check, 4)
            continue
        if found is not None:
            return found, stack
    stack.close()
    return None, stack


def _places(
    path: str, file: Any, index: Index, opener: Callable[[str], BinaryIO], stack: ExitStack
) -> Iterator[tuple[str, Any, int]]:
    """Where filters may end: before the index of the file, at the end of the sidecar."""
    if index.at is not None:
        yield path, file, index.at
    try:
        sidecar = stack.enter_context(opener(path + SUFFIX))
    except FileNotFoundError:
        return
    yield path + SUFFIX, sidecar, sidecar.seek(0, os.SEEK_END)


def _parse(name: str, source: Any, end: int, index: Index, of: Any) -> Filters | None:
    """The filters that end at a byte of ``source``; ``of`` is the file that they belong to, if it is another one."""
    if end < _TAIL.size:
        return None
    source.seek(end - _TAIL.size)
    crc, length, whole, magic = _TAIL.unpack(read_exactly(source, _TAIL.size))
    if magic != _MAGIC:
        return None
    if not (_HEAD.size <= length <= _MAX_DIRECTORY and length + _TAIL.size <= whole <= end):
        raise CorruptIndex("their length is wrong")
    source.seek(end - _TAIL.size - length)
    directory = read_exactly(source, length)
    if zlib.crc32(directory) != crc:
        raise CorruptIndex("their checksum is wrong")
    version, segments, keyframes, size, ends = _HEAD.unpack_from(directory)
    if version != _VERSION:
        raise CorruptIndex(f"they have version {version}, this is version {_VERSION}")
    if segments != len(index.keyframes) or keyframes != checksum_keyframes(keyframes_of(index)):
        raise CorruptIndex("they belong to other keyframes; make them anew with `jelly index --terms`")
    if of is not None and (size != index.size or ends != checksum_ends(of, size)):
        raise CorruptIndex("the file has changed since; make them anew with `jelly index --terms`")
    n = segments * len(SLOTS)
    if len(directory) < _HEAD.size + n * _ROW.itemsize:
        raise CorruptIndex("they are cut off")
    rows = np.frombuffer(directory, _ROW, n, _HEAD.size)
    filters = whole - length - _TAIL.size
    texts = _HEAD.size + n * _ROW.itemsize
    if not _is_sound(rows, filters) or texts + int(rows["low"].sum()) + int(rows["high"].sum()) != length:
        raise CorruptIndex("their directory is wrong")
    ranges = []
    for low, high in zip(rows["low"].tolist(), rows["high"].tolist(), strict=True):
        ranges.append((directory[texts : texts + low], directory[texts + low : texts + low + high]))
        texts += low + high
    start = end - whole
    read_at = reader_at(source)
    made = list(starmap(Row, rows.tolist()))
    return Filters(made, ranges, whole, lambda offset, n: read_at(start + offset, n) if n else b"", name)


def _is_sound(rows: np.ndarray[Any, Any], size: int) -> bool:
    """Whether all filters of a directory lie within ``size`` bytes and have the bytes that they need."""
    sizes, offsets = rows["size"].astype(np.int64), rows["offset"]
    kinds, width, bits = rows["kind"], rows["width"].astype(np.int64), rows["block_bits"]
    blocks = rows["blocks"].astype(np.int64) + 2
    wanted = np.where(kinds == _LIST, 8 * rows["keys"].astype(np.int64), 0)
    is_fuse = kinds == _FUSE
    places = blocks << np.minimum(bits, _MAX_BLOCK_BITS).astype(np.int64)
    wanted[is_fuse] = ((places * width + 7) // 8 + 2)[is_fuse]
    fits = (kinds <= _FUSE) & (offsets >= 0) & (offsets <= size - sizes) & (sizes == wanted) & (offsets <= size)
    fits &= ~is_fuse | ((bits <= _MAX_BLOCK_BITS) & (width >= 1) & (width <= 16) & (blocks > 2))
    return bool(fits.all()) and int(np.max(rows["low"], initial=0)) <= _RANGE >= int(np.max(rows["high"], initial=0))
