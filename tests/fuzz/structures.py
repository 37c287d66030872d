"""The structures of Jelly, protobuf, Thrift, Arrow and of texts, see `fuzz.structure`."""

from __future__ import annotations

import contextlib
import io
import random
import struct
from typing import Any

from support.craft import varint

from fuzz.structure import Node

__all__ = ["Arrow", "Delimited", "Message", "Text", "Thrift", "take_varint", "varint"]

MAX_DEPTH = 24


def take_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
    raise ValueError("a varint of more than ten bytes")


# ---- protobuf: the kind of a node is (number of the field, wire type)


class Message:
    """A protobuf message. What is a message and what is a text nobody says: what can be a message is one."""

    def parse(self, data: bytes, depth: int = 0) -> list[Node]:
        nodes = []
        at = 0
        while at < len(data):
            tag, at = take_varint(data, at)
            wire = tag & 7
            if wire == 0:
                value, at = take_varint(data, at)
                nodes.append(Node((tag >> 3, 0), value))
                continue
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                if wire != 2 or tag < 8:
                    raise ValueError("no field")
                size, at = take_varint(data, at)
            if at + size > len(data):
                raise ValueError("cut off")
            body, at = data[at : at + size], at + size
            value: Any = body
            if wire == 2 and depth < MAX_DEPTH:
                try:
                    value = self.parse(body, depth + 1)
                except (ValueError, IndexError):
                    value = body
            nodes.append(Node((tag >> 3, wire), value))
        return nodes

    def write(self, tree: list[Node]) -> bytes:
        out = bytearray()
        for node in tree:
            number, wire = node.kind
            value = self.write(node.value) if isinstance(node.value, list) else node.value
            out += varint(number << 3 | wire)
            if wire == 0:
                out += varint(value & (1 << 64) - 1) if isinstance(value, int) else b"\0"
            elif isinstance(value, int):
                out += varint(1) + varint(value)[:1]
            elif wire == 2:
                out += varint(len(value)) + value
            else:
                out += value.ljust(8, b"\0")[: 8 if wire == 1 else 4]
        return bytes(out)

    def kind(self, kind: tuple[int, int], chance: random.Random) -> tuple[int, int]:
        number, wire = kind
        if chance.random() < 0.1:
            return number, chance.choice((0, 1, 2, 3, 4, 5))
        return chance.choice((max(number - 1, 1), number + 1, chance.randrange(1, 17))), wire


class Delimited(Message):
    """Messages with their lengths before them: frames of Jelly, rows of RDF Protobuf."""

    def parse(self, data: bytes, depth: int = 0) -> list[Node]:
        if depth:
            return super().parse(data, depth)
        frames = []
        at = 0
        try:
            while at < len(data):
                size, begin = take_varint(data, at)
                if begin + size > len(data):
                    raise ValueError("cut off")
                body: Any = data[begin : begin + size]
                with contextlib.suppress(ValueError, IndexError):
                    body = super().parse(body, 1)
                frames.append(Node("frame", body))
                at = begin + size
        except (ValueError, IndexError):
            with contextlib.suppress(ValueError, IndexError):
                return [Node("bare", super().parse(data, 1))]
            frames.append(Node("rest", data[at:]))
        return frames

    def write(self, tree: list[Node]) -> bytes:
        if tree and isinstance(tree[0].kind, str):
            out = b""
            for node in tree:
                if not isinstance(node.kind, str):
                    body = super().write([node])
                elif isinstance(node.value, list):
                    body = super().write([inner for inner in node.value if not isinstance(inner.kind, str)])
                else:
                    body = node.value if isinstance(node.value, bytes) else b""
                out += body if node.kind in ("bare", "rest") else varint(len(body)) + body
            return out
        return super().write([node for node in tree if not isinstance(node.kind, str)])

    def kind(self, kind: Any, chance: random.Random) -> Any:
        return chance.choice(("frame", "bare")) if isinstance(kind, str) else super().kind(kind, chance)


# ---- Thrift, compact protocol: the kind of a node is (number of the field, type); of a list element (0, type)

BOOLS, INTS, DOUBLE, BINARY, LISTS, MAP, STRUCT = (1, 2), (4, 5, 6), 7, 8, (9, 10), 11, 12


class Thrift:
    """Structs one after the other, each a row."""

    def parse(self, data: bytes) -> list[Node]:
        rows = []
        at = 0
        while at < len(data):
            try:
                fields, at = self._struct(data, at, 0)
            except (ValueError, IndexError):
                if not rows:
                    raise
                rows.append(Node((0, "rest"), data[at:]))
                break
            rows.append(Node((0, STRUCT), fields))
        return rows

    def _struct(self, data: bytes, at: int, depth: int) -> tuple[list[Node], int]:
        if depth > MAX_DEPTH:
            raise ValueError("too deep")
        nodes: list[Node] = []
        number = 0
        while (head := data[at]) != 0:
            at += 1
            if head >> 4:
                number += head >> 4
            else:
                packed, at = take_varint(data, at)
                number = (packed >> 1) ^ -(packed & 1)
            value, at = self._value(data, at, head & 15, depth)
            nodes.append(Node((number, head & 15), value))
        return nodes, at + 1

    def _value(self, data: bytes, at: int, type: int, depth: int) -> tuple[Any, int]:
        if type in BOOLS:
            return 0, at
        if type == 3:
            return data[at], at + 1
        if type in INTS:
            return take_varint(data, at)
        if type == DOUBLE:
            return data[at : at + 8], at + 8
        if type == BINARY:
            size, at = take_varint(data, at)
            if at + size > len(data):
                raise ValueError("cut off")
            return data[at : at + size], at + size
        if type == STRUCT:
            return self._struct(data, at, depth + 1)
        if type not in LISTS:
            raise ValueError("a map")
        head, at = data[at], at + 1
        size = head >> 4
        if size == 15:
            size, at = take_varint(data, at)
        if size > len(data):  # elements may have no bytes
            raise ValueError("a long list")
        nodes = []
        for _ in range(size):
            value, at = self._value(data, at, head & 15, depth + 1)
            nodes.append(Node((0, head & 15), value))
        return nodes, at

    def write(self, tree: list[Node]) -> bytes:
        return b"".join(self._written(node) for node in tree)

    def _written(self, node: Node) -> bytes:
        type, value = node.kind[1], node.value
        if type == "rest":
            return value if isinstance(value, bytes) else b""
        if type == STRUCT:
            out, last = b"", 0
            for field in value if isinstance(value, list) else []:
                number, kind = field.kind
                kind = STRUCT if kind == "rest" else kind
                step = number - last
                out += (
                    bytes([step << 4 | kind])
                    if 0 < step < 16
                    else bytes([kind]) + varint((number << 1) ^ (number >> 31))
                )
                out, last = out + self._written(field), number
            return out + b"\0"
        if type in BOOLS:
            return b""
        if type == 3:
            return bytes([value & 255]) if isinstance(value, int) else b"\0"
        if type in INTS:
            return varint(value & (1 << 64) - 1) if isinstance(value, int) else b"\0"
        if type == DOUBLE:
            return value.ljust(8, b"\0")[:8] if isinstance(value, bytes) else bytes(8)
        if type == BINARY:
            body = value if isinstance(value, bytes) else b"x"
            return varint(len(body)) + body
        inner = value if isinstance(value, list) else []
        kind = next((node.kind[1] for node in inner if node.kind[1] != "rest"), STRUCT)
        head = bytes([len(inner) << 4 | kind]) if len(inner) < 15 else bytes([0xF0 | kind]) + varint(len(inner))
        return head + b"".join(self._written(Node((0, kind), node.value)) for node in inner)

    def kind(self, kind: tuple[int, Any], chance: random.Random) -> tuple[int, Any]:
        number, type = kind
        if type == "rest" or chance.random() < 0.15:
            return number, chance.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 12))
        return chance.choice((max(number - 1, 1), number + 1, chance.randrange(1, 13))), type


# ---- Arrow: columns with their buffers, which are bytes


class Arrow:
    """An Arrow IPC stream or file, made anew of changed buffers: metadata is right and contents are not.

    The nodes: one for each column of each record batch, with a node for each buffer and for the number of rows.
    """

    def parse(self, data: bytes) -> list[Node]:
        import pyarrow as pa

        try:
            opener = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
            table = opener(pa.py_buffer(data)).read_all()
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise ValueError(str(error)) from None
        nodes = []
        for batch in table.to_batches():
            columns = []
            for field, column in zip(batch.schema, batch.columns, strict=True):
                if pa.types.is_nested(field.type) or column.offset:
                    raise ValueError("not for this structure")
                columns.append(Node((field.name, field.type), self._column(column)))
            nodes.append(Node(("batch", data[:6] == b"ARROW1"), columns))
        return nodes

    def _column(self, column: Any) -> list[Node]:
        import pyarrow as pa

        nodes = [Node("rows", len(column))]
        if pa.types.is_dictionary(column.type):
            nodes.append(Node("values", self._column(column.dictionary)))
            column = column.indices
        try:
            buffers = column.buffers()
            nodes += [Node("none" if buffer is None else "buffer", bytes(buffer or b"")[:4096]) for buffer in buffers]
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(str(error)) from None
        return nodes

    def write(self, tree: list[Node]) -> bytes:
        import pyarrow as pa

        out = io.BytesIO()
        batches = []
        for node in tree:
            if not (isinstance(node.kind, tuple) and node.kind[0] == "batch" and isinstance(node.value, list)):
                continue
            columns = [column for column in node.value if isinstance(column.kind, tuple) and column.kind[0] != "batch"]
            made = [self._array(column.kind[1], column.value) for column in columns]
            rows = max(map(len, made), default=0)
            try:
                made = [array if len(array) == rows else self._array(column.kind[1], column.value, rows)
                        for array, column in zip(made, columns, strict=True)]  # fmt: skip
                names = [str(column.kind[0]) for column in columns]
                batches.append(pa.RecordBatch.from_arrays(made, names))
            except (pa.ArrowException, ValueError):
                continue
        if not batches:
            return b""
        maker = pa.ipc.new_file if tree[0].kind == ("batch", True) else pa.ipc.new_stream
        try:
            with maker(out, batches[0].schema) as writer:
                for batch in batches:
                    if batch.schema == batches[0].schema:
                        writer.write_batch(batch)
        except (pa.ArrowException, ValueError, OSError):
            return b""
        return out.getvalue()

    def _array(self, type: Any, nodes: Any, rows: int | None = None) -> Any:
        import pyarrow as pa

        nodes = nodes if isinstance(nodes, list) else []
        told = next((node.value for node in nodes if node.kind == "rows" and isinstance(node.value, int)), 0)
        # Buffers that are too small for the rows would be a fault of this function, not of a file.
        rows = min(told, 4096) if rows is None else rows
        buffers: list[Any] = [
            None if node.kind == "none" else node.value
            for node in nodes
            if node.kind in ("none", "buffer") and isinstance(node.value, bytes)
        ]
        if pa.types.is_dictionary(type):
            values = next((node.value for node in nodes if node.kind == "values"), [])
            indices = self._array(
                type.index_type, [Node("rows", rows), *(n for n in nodes if n.kind in ("none", "buffer"))], rows
            )
            return pa.DictionaryArray.from_arrays(indices, self._array(type.value_type, values), safe=False)
        if pa.types.is_null(type):
            return pa.nulls(rows)
        if not (
            pa.types.is_primitive(type) or type in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
        ):
            return pa.nulls(rows, type)
        text = not pa.types.is_primitive(type)
        buffers = (buffers + [None, b"", b""])[: 3 if text else 2]
        width = 8 if type in (pa.large_string(), pa.large_binary()) else 4 if text else max(type.bit_width // 8, 1)
        sizes = [(rows + 7) // 8, width * (rows + text), 0]
        made = [
            None if buffer is None and i == 0 else pa.py_buffer((buffer or b"").ljust(size, b"\0"))
            for i, (buffer, size) in enumerate(zip(buffers, sizes, strict=False))
        ]
        if text and made[2].size:
            # The writer of pyarrow takes the last offset for the size of the text.
            form = "<q" if width == 8 else "<i"
            held = bytearray(made[1].to_pybytes())
            first, last = struct.unpack_from(form, held)[0], struct.unpack_from(form, held, width * rows)[0]
            if not 0 <= first <= last <= made[2].size:
                struct.pack_into(form, held, 0, 0)
                struct.pack_into(form, held, width * rows, made[2].size)
            made[1] = pa.py_buffer(bytes(held))
        elif text:
            made[1] = pa.py_buffer(bytes(sizes[1]))
        return pa.Array.from_buffers(type, rows, made)

    def kind(self, kind: Any, chance: random.Random) -> Any:
        import pyarrow as pa

        if kind in ("none", "buffer"):
            return chance.choice(("none", "buffer"))
        if isinstance(kind, tuple) and kind[0] == "batch":
            return kind
        if isinstance(kind, tuple):
            names = ("subject", "predicate", "object", "graph", "datatype", "lang", "s", "p", "o", "g", "op", "frame")
            types = (pa.string(), pa.large_string(), pa.int32(), pa.int64(), pa.binary(),
                     pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.large_string()))  # fmt: skip
            return (chance.choice(names), kind[1]) if chance.random() < 0.5 else (kind[0], chance.choice(types))
        return kind


# ---- texts: lines, and tokens in them


class Text:
    """Lines of tokens; a token is bytes. ``words`` are inserted now and then."""

    def __init__(self, *words: bytes, ends: bytes = b"\n", stops: bytes = b" <>\"'@^{}()[]:,;.") -> None:
        self._words = words
        self._ends = ends
        self._stops = frozenset(stops)

    def parse(self, data: bytes) -> list[Node]:
        if len(data) > 1 << 14:
            raise ValueError("long")
        lines = []
        for line in data.split(self._ends):
            tokens = []
            at = 0
            for i, byte in enumerate(line):
                if byte in self._stops:
                    tokens += [Node("token", line[at:i])] if at < i else []
                    tokens.append(Node("token", line[i : i + 1]))
                    at = i + 1
            tokens += [Node("token", line[at:])] if at < len(line) else []
            lines.append(Node("line", tokens))
        return lines

    def write(self, tree: list[Node]) -> bytes:
        return self._ends.join(self._written(node) for node in tree)

    def _written(self, node: Node) -> bytes:
        if isinstance(node.value, list):
            return b"".join(map(self._written, node.value))
        value = node.value if isinstance(node.value, bytes) else b""
        return value + node.kind if isinstance(node.kind, bytes) else value

    def kind(self, kind: Any, chance: random.Random) -> Any:
        # A kind that is bytes stands behind the value.
        return chance.choice(self._words) if self._words else kind
