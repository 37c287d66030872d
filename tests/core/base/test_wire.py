"""Room wire: varints, spans, unknown fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import skip_field
from support.craft import field, varint

from jelly._core.base.protobuf import _put_varint, _take_span, _take_varint

TOO_MUCH = 1 << 63


def model(data: bytes) -> int:
    """What protobuf says of a varint, but -1 for values that an int64 does not hold and for more than 9 bytes."""
    value = 0
    for i, byte in enumerate(data[:9]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value
    return -1


def test_every_varint_of_one_and_two_bytes() -> None:
    for first in range(256):
        assert _take_varint(bytes([first]))[0] == model(bytes([first]))
        for second in range(256):
            data = bytes([first, second])
            value, taken = _take_varint(data)
            assert value == model(data)
            assert taken == (1 if first < 0x80 else 2)


@pytest.mark.parametrize("bits", range(1, 64))
def test_edges_of_longer_varints(bits: int) -> None:
    for value in {(1 << bits) - 1, 1 << bits, (1 << bits) + 1}:
        data = varint(value)
        assert _put_varint(value) == data
        if value < TOO_MUCH:
            assert _take_varint(data + b"\xff") == (value, len(data))
            for cut in range(len(data)):
                assert _take_varint(data[:cut])[0] == -1
        else:
            assert _take_varint(data)[0] == -1


@pytest.mark.parametrize("last", [0x00, 0x01, 0x7F, 0x80, 0xFF])
def test_varints_of_ten_bytes_are_refused(last: int) -> None:
    # A negative int32 takes ten bytes; none of our fields may have one. Reading stops before the tenth.
    assert _take_varint(b"\xff" * 9 + bytes([last])) == (-1, 9)
    assert _take_varint(b"\x80" * 9 + bytes([last])) == (-1, 9)


def test_overlong_varints_are_taken() -> None:
    assert _take_varint(b"\x81\x80\x00") == (1, 3)
    assert _take_varint(b"\x80" * 8 + b"\x00") == (0, 9)


def test_put_takes_all_of_64_bits() -> None:
    assert _put_varint(2**64 - 1) == b"\xff" * 9 + b"\x01"
    with pytest.raises(OverflowError):
        _put_varint(2**64)
    with pytest.raises(OverflowError):
        _put_varint(-1)


@given(st.integers(0, 2**63 - 1), st.binary(max_size=4))
def test_varints_come_back(value: int, rest: bytes) -> None:
    data = _put_varint(value)
    assert _take_varint(data + rest) == (value, len(data))


@given(st.binary(max_size=12))
def test_any_bytes(data: bytes) -> None:
    assert _take_varint(data)[0] == model(data)


def test_span() -> None:
    assert _take_span(b"\x00") == b""
    assert _take_span(b"\x03abcd") == b"abc"
    assert _take_span(b"\x80\x01" + b"x" * 128) == b"x" * 128


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"\x04abc",
        b"\x80",
        b"\x80\x01" + b"x" * 127,
        varint(2**31) + b"x",
        varint(2**63 - 1),
        varint(2**63),
        b"\xff" * 10,
    ],
)
def test_span_cut_off(data: bytes) -> None:
    assert _take_span(data) is None


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (field(1, 1), 2),
        (varint(1 << 3) + b"\xff" * 9 + b"\x01", 11),
        (varint(1 << 3 | 1) + b"12345678", 9),
        (field(1, b"abc"), 5),
        (varint(1 << 3 | 5) + b"1234", 5),
        (field(2**29 - 1, b"abc"), 9),
    ],
)
def test_skip(data: bytes, size: int) -> None:
    assert skip_field(data + b"rest") == size
    for cut in range(size):
        assert skip_field(data[:cut]) == -1


def test_skip_refuses() -> None:
    for kind in (3, 4, 6, 7):  # groups, and what protobuf does not have
        assert skip_field(varint(1 << 3 | kind) + b"\x01" * 20) == -1
    for kind in range(8):  # field number 0
        assert skip_field(bytes([kind]) + b"\x01" * 20) == -1
    assert skip_field(varint(1 << 3) + b"\xff" * 10) == -1
    assert skip_field(varint(2**63)) == -1
