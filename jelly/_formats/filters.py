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
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from jelly._bytes.source import open_local
from jelly._core.algebra.content import fuse_filter, slot_keys
from jelly._core.base.batch import Batch
from jelly._formats.index import SUFFIX, CorruptIndex, Index, checksum_ends, ignore, read_exactly, reader_at

_MAGIC = b"JELLYTRM"
_VERSION = 2
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
    low: int = 0
    high: int = 0
    offset: int = 0
    seed: int = 0


_TYPES = ("u1", "u1", "u1", "u1", "<u4", "<u4", "<u4", "<u2", "<u2", "<i8", "<u8")
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
# Bits of a fingerprint: 7 are wrong in 0.8 % of all cases. More where filters then still are 6 % of the file.
_WIDTHS = range(7, 13)
_SHARE = 0.06 / (1 - 0.06)
# Places of a filter for each key, about.
_OVERHEAD = 1.19
# From so many segments on, a slot that is sorted needs no filter: its ranges leave one segment of them.
_SORTED = 128
# More terms than that are not looked for in filters.
MAX_SOUGHT = 1000
# Terms of parts that are looked for at a time.
_TOGETHER = 1 << 18
# Filters are read, and have checksums, by pages, to each of which the beginning of the next one belongs.
_PAGE, _OVER = 512, 8
# Where reading takes time it is by blocks, of which the last ones are kept.
_BLOCK, _BLOCKS = 1 << 20, 128
_WEIGHTS = np.arange(1, 2 * (_PAGE + _OVER) // 8, 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)

SLOTS = "spog"
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


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
        self.keys: list[Array] = []
        self.low: bytes | None = None
        self.high = b""
        self.default = False

    def add(self, batch: Batch, name: str, low: int = 0, high: int | None = None) -> None:
        """Take in some rows of a Batch, of the slot with this name."""
        if (ids := getattr(batch, name)) is None:
            self.default = self.default or len(range(len(batch))[low:high]) > 0
            return
        keys, *ends, default = slot_keys(batch, ids[low:high])
        self.default = self.default or default
        if len(keys):
            self.keys.append(keys)
            text, start = batch.text, batch.start
            lowest, highest = (text[start[id] : start[id + 1]][: _RANGE + 1].tobytes() for id in ends)
            self.low = lowest if self.low is None else min(self.low, lowest)
            self.high = max(self.high, highest)

    def distinct(self) -> Array:
        if not self.keys:
            return np.zeros(0, np.uint64)
        keys = np.sort(np.concatenate(self.keys))
        return keys[np.concatenate(([True], keys[1:] != keys[:-1]))]


class Part(NamedTuple):
    """A slot of a segment: its row in the directory, the range of its texts, and its list or filter."""

    row: Row
    low: bytes
    high: bytes
    data: bytes = b""

    def without_filter(self) -> Part:
        """The same, of which only the range says something."""
        return Part(Row(_ANYTHING, self.row.default, keys=self.row.keys), self.low, self.high)


class FilterBuilder:
    """Makes the filters of a file while its statements come by: `add` them, and `cut` where a segment ends."""

    def __init__(self, limit: int = _MAX_FILTERS) -> None:
        self._limit = limit
        self._slots = [_Slot() for _ in SLOTS]
        self._parts: list[Part] = []  # of each segment one for each slot
        self._size = 0

    def add(self, batch: Batch, low: int = 0, high: int | None = None) -> None:
        """Take in some rows of a Batch."""
        for name, slot in zip(SLOTS, self._slots, strict=True):
            slot.add(batch, name, low, high)

    def _put(self, part: Part) -> None:
        if part.row.kind == _FUSE and self._size >= self._limit:
            part = part.without_filter()
        self._parts.append(part)
        self._size += len(part.data)

    def take(self, filters: Filters) -> None:
        """Take over all segments of a file, before others are added."""
        self._parts = list(filters.parts())
        self._size = sum(len(part.data) for part in self._parts)

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
            self._put(Part(row, (slot.low or b"")[:_RANGE], slot.high[:_RANGE], data))
        self._slots = [_Slot() for _ in SLOTS]

    def join(self, other: FilterBuilder) -> None:
        """Append the segments of another builder."""
        for part in other._parts:
            self._put(part)

    def pack(self, keyframes: Sequence[tuple[int, ...]], size: int = 0, ends: int = 0) -> bytes:
        """The filters, the directory and the tail. ``keyframes`` begin with byte offset and first row of a segment."""
        parts = self._parts
        for first in range(len(SLOTS)):
            own = slice(first, None, len(SLOTS))
            if self._is_sorted(parts[own]):
                parts[own] = [part.without_filter() if part.row.kind == _FUSE else part for part in parts[own]]
        offsets = np.cumsum([0, *(len(part.data) for part in parts)]).tolist()
        rows = [
            row._replace(size=len(data), low=len(low), high=len(high), offset=at)
            for (row, low, high, data), at in zip(parts, offsets, strict=False)
        ]
        data = b"".join([*(part.data for part in parts), bytes(-offsets[-1] % _PAGE + _OVER)])
        head = _HEAD.pack(_VERSION, len(keyframes), checksum_keyframes(keyframes), size, ends)
        texts = b"".join(part.low + part.high for part in parts)
        directory = head + np.array(rows, _ROW).tobytes() + checksums(data).tobytes() + texts
        tail = _TAIL.pack(zlib.crc32(directory), len(directory), len(data) + len(directory) + _TAIL.size, _MAGIC)
        return b"".join([data, directory, tail])

    @staticmethod
    def _is_sorted(parts: list[Part]) -> bool:
        """Whether a text is in the ranges of two of these parts at most, that follow each other."""
        return len(parts) >= _SORTED and all(
            one.high <= two.low and (three is None or one.high < three.low)
            for one, two, three in zip(parts, parts[1:], [*parts[2:], None], strict=False)
        )


def checksums(data: bytes) -> Array:
    """The checksums of the pages of filters: sums of their words of 64 bits, each with a weight of its place."""
    return _sums(np.ndarray((len(data) // _PAGE, len(_WEIGHTS)), "<u8", data, strides=(_PAGE, 8)))


def _sums(pages: Array) -> Array:
    found: Array = (pages @ _WEIGHTS >> np.uint64(32)).astype("<u4")
    return found


def checksum_keyframes(keyframes: Sequence[tuple[int, ...]]) -> int:
    """A checksum of byte offset and first statement of all keyframes."""
    return zlib.crc32(b"".join(struct.pack("<2q", *key[:2]) for key in keyframes))


# ---- reading


@dataclass(eq=False, repr=False)
class Filters:
    """The filters of a file, as they were read."""

    _rows: Array
    _sums: Array
    _texts: bytes
    size: int  # of all, in bytes
    _read: Callable[[int, int], bytes]  # the bytes at an offset of all filters
    _name: str

    def __post_init__(self) -> None:
        lengths = np.stack([self._rows["low"], self._rows["high"]], axis=1).astype(np.int64).ravel()
        self._ends = np.append(0, np.cumsum(lengths))
        self._ranges = cache(self._ranges_of)

    def __repr__(self) -> str:
        return f"<filters of {len(self._rows) // len(SLOTS)} segments: {self.size} bytes>"

    def matching(self, query: Query) -> list[int]:
        """The numbers of the segments that may hold a statement of this query, in order."""
        found = np.arange(len(self._rows) // len(SLOTS))
        # Ranges first: they cost nothing.
        for by_filter in (False, True):
            for name, (default, sought) in query.items():
                at = found * len(SLOTS) + SLOTS.index(name)
                may = self._may_hold(at, sought, by_filter)
                found = found[may | (self._rows["default"][at] > 0) if default else may]
        return found.tolist()  # type: ignore[no-any-return]

    def cover(self, segment: int, batch: Batch) -> bool:
        """Whether no statement of a Batch of a segment would be left out, whatever is looked for."""
        for at, name in enumerate(SLOTS, segment * len(SLOTS)):
            held = _Slot()
            held.add(batch, name)
            if held.default and not self._rows["default"][at]:
                return False
            for keys in held.keys:
                places = np.full(len(keys), at)
                ends = [Sought(text, 0) for text in (held.low or b"", held.high)]
                if not self._in_range(places[:1], ends).all() or self._damaged(at):
                    return False
                if not self._hold(places, keys).all():
                    return False
        return True

    def parts(self) -> Iterator[Part]:
        """Each slot of each segment. What is damaged has a range only."""
        for at, row in enumerate(map(Row._make, self._rows.tolist())):
            part = Part(row, *self._ends_of(at), self._read(row.offset, row.size) if row.size else b"")
            yield part.without_filter() if self._damaged(at) else part

    def _ends_of(self, at: int) -> tuple[bytes, bytes]:
        begin, middle, end = self._ends[2 * at : 2 * at + 3].tolist()
        return self._texts[begin:middle], self._texts[middle:end]

    def _ranges_of(self, slot: int) -> Array:
        """The ranges of a slot of all segments."""
        return np.array([self._ends_of(at) for at in range(slot, len(self._rows), len(SLOTS))], f"S{_RANGE}")

    def _in_range(self, at: Array, sought: Sequence[Sought]) -> Array:
        """For each of some parts of one slot, and each term, whether its text is in the range."""
        segments, slots = divmod(at, len(SLOTS))
        low, high = self._ranges(int(slots[0]))[segments].T[..., np.newaxis]
        # Of a text that is too long only the beginning is kept. All texts that begin with one end before this.
        begins = [text[:_RANGE] for text, _ in sought]
        ends = [text[:_RANGE] if key is not None else text[:_RANGE].ljust(_RANGE, b"\xff") for text, key in sought]
        first, last = np.array(begins, f"S{_RANGE}"), np.array(ends, f"S{_RANGE}")
        found: Array = (low <= last) & (first <= high) & (self._rows["keys"][at] > 0)[:, np.newaxis]
        return found

    def _may_hold(self, at: Array, sought: Sequence[Sought], by_filter: bool) -> Array:
        """For each of some parts of one slot whether a term may be there, by its range, or also by its filter."""
        made = np.zeros(len(at), bool)
        keys = np.array([each.key or 0 for each in sought], np.uint64)
        is_prefix = np.array([each.key is None for each in sought], bool)
        step = max(1, _TOGETHER // max(1, len(sought)))
        for first in range(0, len(at) if len(sought) else 0, step):
            places, terms = np.nonzero(self._in_range(at[first : first + step], sought))
            places += first
            if by_filter:
                places = places[is_prefix[terms] | self._hold(at[places], keys[terms])]
            made[places] = True
        return made

    def _hold(self, at: Array, keys: Array) -> Array:
        """Whether parts may hold keys, each its own: where it is damaged, anything."""
        rows, made = self._rows[at], np.ones(len(at), bool)
        if len(listed := np.flatnonzero(rows["kind"] == _LIST)):
            lengths = rows["keys"][listed].astype(np.int64)
            which = np.repeat(np.arange(len(listed)), lengths)
            item = np.arange(len(which)) - (np.cumsum(lengths) - lengths)[which]
            data, is_whole = self._load(rows["offset"][listed][which] + 8 * item)
            made[listed] = np.bincount(which, (data == keys[listed][which]) | ~is_whole, len(listed)) > 0
        if len(fused := np.flatnonzero(rows["kind"] == _FUSE)):
            row = rows[fused]
            width = row["width"].astype(np.int64)
            places, print = places_of(keys[fused], row)
            bits = places * width
            data, is_whole = self._load(row["offset"] + (bits >> 3))
            found = np.bitwise_xor.reduce(data >> (bits & 7).astype(np.uint64)) ^ print
            mask = (np.uint64(1) << width.astype(np.uint64)) - np.uint64(1)
            made[fused] = (found & mask == 0) | ~is_whole.all(axis=0)
        return made

    def _load(self, at: Array) -> tuple[Array, Array]:
        """The words of 64 bits at some bytes of all filters, and whether their pages are what was written."""
        pages, inverse = np.unique(at // _PAGE, return_inverse=True)
        data = b"".join([self._read(page * _PAGE, _PAGE + _OVER) for page in pages.tolist()])
        is_whole = _sums(np.frombuffer(data, "<u8").reshape(len(pages), -1)) == self._sums[pages]
        if not is_whole.all():
            warnings.warn(f"the filters of {self._name} are damaged: more is read", RuntimeWarning, stacklevel=2)
        inverse = inverse.reshape(at.shape)
        first = inverse * (_PAGE + _OVER) + at % _PAGE
        return np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))[first], is_whole[inverse]

    def _damaged(self, at: int) -> bool:
        """Whether a part is not what was written."""
        row = self._rows[at]
        begin, size = int(row["offset"]) // _PAGE, int(row["size"])
        if not size:
            return False
        end = (int(row["offset"]) + size - 1) // _PAGE + 1
        data = self._read(begin * _PAGE, (end - begin) * _PAGE + _OVER)
        return bool((checksums(data) != self._sums[begin:end]).any())


def places_of(keys: Array, row: Any) -> tuple[Array, Array]:
    """The three places of keys in binary fuse filters, and their fingerprints, of which a filter keeps some bits."""
    hash = keys + row["seed"]
    hash = (hash ^ hash >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    hash = (hash ^ hash >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    hash ^= hash >> np.uint64(33)
    size = np.uint64(1) << row["block_bits"].astype(np.uint64)
    mask = size - np.uint64(1)
    place = (hash >> np.uint64(32)) * (row["blocks"] * size) >> np.uint64(32)
    others = (place + size) ^ (hash >> np.uint64(18) & mask), (place + size + size) ^ (hash & mask)
    return np.stack([place, *others]).astype(np.int64), hash ^ hash >> np.uint64(32)


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
    crc, length, whole, magic = _TAIL.unpack(read_exactly(source, end - _TAIL.size, _TAIL.size))
    if magic != _MAGIC:
        return None
    if not (_HEAD.size <= length <= _MAX_DIRECTORY and length + _TAIL.size <= whole <= end):
        raise CorruptIndex("their length is wrong")
    directory = read_exactly(source, end - _TAIL.size - length, length)
    if zlib.crc32(directory) != crc:
        raise CorruptIndex("their checksum is wrong")
    version, segments, keyframes, size, ends = _HEAD.unpack_from(directory)
    if version != _VERSION:
        raise CorruptIndex(f"they have version {version}, this is version {_VERSION}")
    if segments != len(index.keyframes) or keyframes != checksum_keyframes(index.keyframes):
        raise CorruptIndex("they belong to other keyframes; make them anew with `jelly index --terms`")
    if of is not None and (size != index.size or ends != checksum_ends(of, size)):
        raise CorruptIndex("the file has changed since; make them anew with `jelly index --terms`")
    n = segments * len(SLOTS)
    if len(directory) < _HEAD.size + n * _ROW.itemsize:
        raise CorruptIndex("they are cut off")
    rows = np.frombuffer(directory, _ROW, n, _HEAD.size)
    filters = whole - length - _TAIL.size
    sums = _HEAD.size + rows.nbytes
    texts = sums + filters // _PAGE * 4
    if (
        filters % _PAGE != _OVER or not _is_sound(rows, filters - _OVER)
        or texts + int(rows["low"].sum()) + int(rows["high"].sum()) != length
    ):
        raise CorruptIndex("their directory is wrong")
    sums_of = np.frombuffer(directory, "<u4", filters // _PAGE, sums)
    return Filters(rows, sums_of, directory[texts:], whole, _read(source, end - whole, filters), name)


def _read(source: Any, start: int, size: int) -> Callable[[int, int], bytes]:
    """A function that gives bytes of the filters, which reads ahead where each reading takes time."""
    read_at = reader_at(source)
    with suppress(OSError, AttributeError):  # a view of a compressed file has no descriptor
        if source.fileno() >= 0:
            return lambda offset, n: read_at(start + offset, n)
    ahead = lru_cache(_BLOCKS)(lambda at: read_at(start + at, min(_BLOCK + _OVER, size - at)))

    def read(offset: int, n: int) -> bytes:
        at = offset % _BLOCK
        return ahead(offset - at)[at : at + n] if at + n <= _BLOCK + _OVER else read_at(start + offset, n)

    return read


def _is_sound(rows: Array, size: int) -> bool:
    """Whether all filters of a directory lie within ``size`` bytes and have the bytes that they need."""
    sizes, offsets = rows["size"].astype(np.int64), rows["offset"]
    kinds, width, bits = rows["kind"], rows["width"].astype(np.int64), rows["block_bits"]
    blocks = rows["blocks"].astype(np.int64) + 2
    wanted = np.where(kinds == _LIST, 8 * rows["keys"].astype(np.int64), 0)
    is_fuse = kinds == _FUSE
    places = blocks << np.minimum(bits, _MAX_BLOCK_BITS).astype(np.int64)
    wanted[is_fuse] = ((places * width + 7) // 8 + 2)[is_fuse]
    fits = (kinds <= _FUSE) & (offsets >= 0) & (offsets <= size - sizes) & (sizes == wanted)
    fits &= (kinds != _LIST) | (rows["keys"] <= _MAX_LIST)
    fits &= ~is_fuse | ((bits <= _MAX_BLOCK_BITS) & (width >= 1) & (width <= 16) & (blocks > 2))
    return bool(fits.all()) and int(np.max(rows["low"], initial=0)) <= _RANGE >= int(np.max(rows["high"], initial=0))
