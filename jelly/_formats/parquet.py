"""Parquet files whose row groups are encoded by any number of threads.

pyarrow encodes one row group after the other. Here each becomes a file of its own in memory, and the bytes of its row
group are moved to the output as they are; only the offsets in the metadata, a struct of Thrift, have to follow. The
result is what one writer of pyarrow writes.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jelly._bytes.workers import Workers, in_order
from jelly._formats.arrow_tables import pa, parquet

__all__ = ["write_parquet"]

MAGIC = b"PAR1"
_LENGTH = struct.Struct("<I4s")

# Types of Thrift's compact protocol.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12

# Numbers of fields in parquet.thrift. FileMetaData:
_ROWS, _GROUPS = 3, 4
# RowGroup:
_COLUMNS, _GROUP_OFFSET, _ORDINAL = 1, 5, 7
# ColumnChunk, and the offsets in its ColumnMetaData: of data, index and dictionary pages, and of a bloom filter.
_CHUNK_OFFSET, _CHUNK_META = 2, 3
_PAGE_OFFSETS = (9, 10, 11, 14)

# Fields of a struct: number to type and value. A list is the type of its items and the items.
Fields = dict[int, list[Any]]


class _Input:
    """Reads structs of Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)

    def _bytes(self, n: int) -> bytes:
        self._at += n
        return self._data[self._at - n : self._at]

    def fields(self) -> Fields:
        """A struct."""
        found: Fields = {}
        number = 0
        while (head := self._byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = [head & 15, self._value(head & 15)]
        return found

    def _value(self, type: int) -> Any:
        if type in (_TRUE, _FALSE):
            return None
        if type == _BYTE:
            return self._byte()
        if type == _DOUBLE:
            return self._bytes(8)
        if type == _BINARY:
            return self._bytes(self._number())
        if type in (_LIST, _SET):
            head = self._byte()
            n = self._number() if head >> 4 == 15 else head >> 4
            return head & 15, [self._item(head & 15) for _ in range(n)]
        if type == _STRUCT:
            return self.fields()
        if type == _MAP:
            raise NotImplementedError("the metadata of Parquet have no maps")
        return self._signed()

    def _item(self, type: int) -> Any:
        return self._byte() if type in (_TRUE, _FALSE) else self._value(type)


def _number(out: bytearray, number: int) -> None:
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _signed(out: bytearray, number: int) -> None:
    _number(out, number << 1 if number >= 0 else (-number << 1) - 1)


def _put_fields(out: bytearray, fields: Fields) -> None:
    before = 0
    for number, (type, value) in fields.items():
        if 0 < number - before < 16:
            out.append(number - before << 4 | type)
        else:
            out.append(type)
            _signed(out, number)
        before = number
        if type not in (_TRUE, _FALSE):
            _put_value(out, type, value)
    out.append(_STOP)


def _put_value(out: bytearray, type: int, value: Any) -> None:
    if type in (_TRUE, _FALSE, _BYTE):
        out.append(value)
    elif type == _DOUBLE:
        out += value
    elif type == _BINARY:
        _number(out, len(value))
        out += value
    elif type in (_LIST, _SET):
        kind, items = value
        if len(items) < 15:
            out.append(len(items) << 4 | kind)
        else:
            out.append(15 << 4 | kind)
            _number(out, len(items))
        for item in items:
            _put_value(out, kind, item)
    elif type == _STRUCT:
        _put_fields(out, value)
    else:
        _signed(out, value)


def _file(schema: pa.Schema, table: pa.Table | None, settings: dict[str, Any]) -> tuple[memoryview, bytes]:
    """A Parquet file of one row group or none: the bytes of its row group, and its metadata."""
    out = io.BytesIO()
    with parquet.ParquetWriter(out, schema, **settings) as file:
        if table is not None:
            file.write_table(table)
    data = out.getbuffer()
    length, _ = _LENGTH.unpack(data[-_LENGTH.size :])
    end = len(data) - _LENGTH.size - length
    return data[len(MAGIC) : end], bytes(data[end : end + length])


def _move(group: Fields, shift: int, ordinal: int) -> None:
    """Change the offsets of a row group."""
    if _GROUP_OFFSET in group:
        group[_GROUP_OFFSET][1] += shift
    if _ORDINAL in group:
        group[_ORDINAL][1] = ordinal
    for chunk in group[_COLUMNS][1][1]:
        if chunk[_CHUNK_OFFSET][1]:
            chunk[_CHUNK_OFFSET][1] += shift
        meta = chunk[_CHUNK_META][1]
        for number in _PAGE_OFFSETS:
            if number in meta:
                meta[number][1] += shift


def write_parquet(
    write: Callable[[Any], object],
    schema: pa.Schema,
    groups: Iterable[list[pa.RecordBatch]],
    workers: Workers,
    **settings: Any,
) -> None:
    """Write record batches to a Parquet file, each list as one row group. ``settings`` are those of a ParquetWriter."""

    def encode(group: list[pa.RecordBatch]) -> tuple[memoryview, bytes]:
        return _file(schema, pa.Table.from_batches(group, schema), settings)

    _, empty = _file(schema, None, settings)
    whole = _Input(empty).fields()
    offset = 0
    write(MAGIC)
    for data, meta in _encoded(workers, groups, encode):
        found = _Input(meta).fields()
        whole[_ROWS][1] += found[_ROWS][1]
        kind, more = found[_GROUPS][1]
        for group in more:
            _move(group, offset, len(whole[_GROUPS][1][1]))
            whole[_GROUPS][1] = (kind, [*whole[_GROUPS][1][1], group])
        write(data)
        offset += len(data)
        del data
    out = bytearray()
    _put_fields(out, whole)
    write(bytes(out))
    write(_LENGTH.pack(len(out), MAGIC))


def _encoded(
    workers: Workers, groups: Iterable[list[pa.RecordBatch]], encode: Callable[[Any], tuple[memoryview, bytes]]
) -> Iterator[tuple[memoryview, bytes]]:
    for group, made in in_order(workers, groups, encode, ahead=0):
        group.clear()
        yield made
