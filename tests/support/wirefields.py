"""The fields of a protobuf message and the frames of a delimited stream, for tests that look at what was written.

Independent of the reader.
"""

from __future__ import annotations

Field = tuple[int, "int | bytes"]


def take_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> list[Field]:
    """(number, value) of each field: an int or bytes."""
    found: list[Field] = []
    at = 0
    while at < len(data):
        tag, at = take_varint(data, at)
        if tag & 7 == 0:
            value, at = take_varint(data, at)
            found.append((tag >> 3, value))
            continue
        size = {1: 8, 5: 4}.get(tag & 7)
        if size is None:
            assert tag & 7 == 2, f"wire type {tag & 7} at {at}"
            size, at = take_varint(data, at)
        assert at + size <= len(data), f"field {tag >> 3} is cut off at {at}"
        found.append((tag >> 3, data[at : at + size]))
        at += size
    return found


def split(data: bytes) -> list[bytes]:
    """The bodies of the frames of a delimited stream."""
    bodies = []
    at = 0
    while at < len(data):
        size, at = take_varint(data, at)
        assert at + size <= len(data), f"a frame is cut off at {at}"
        bodies.append(data[at : at + size])
        at += size
    return bodies


def rows(data: bytes) -> list[Field]:
    """(kind, body) of each row of a delimited stream."""
    found = []
    for body in split(data):
        for number, row in fields(body):
            if number == 1:
                assert isinstance(row, bytes)
                (one,) = fields(row)
                found.append(one)
    return found


def options(data: bytes) -> dict[int, int | bytes]:
    """The fields of the first row of a delimited stream, which is the stream options."""
    kind, body = rows(data)[0]
    assert kind == 1
    assert isinstance(body, bytes)
    return dict(fields(body))
