"""core/utf8 against bytes.decode."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from jelly._core.base.utf8 import _check_utf8

# Both sides of every border of table 3-7 of the Unicode standard.
EDGES = bytes.fromhex("00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def python_says(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1


def test_one_to_three_bytes() -> None:
    for n in range(4):
        for parts in itertools.product(EDGES, repeat=n):
            data = bytes(parts)
            assert _check_utf8(data) == python_says(data), data


def test_four_bytes() -> None:
    tails = b"\x41\x7f\x80\xbf\xc0"
    for parts in itertools.product(b"\xef\xf0\xf1\xf3\xf4\xf5", EDGES, tails, tails):
        data = bytes(parts)
        assert _check_utf8(data) == python_says(data), data


def test_every_code_point() -> None:
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000)))).encode()
    assert _check_utf8(text) == -1


def test_bad_byte_at_every_place() -> None:
    for good in ("a" * 40, "aaaaaaa\u00e9" * 5, "\u4e2d" * 14, "\U0001f600" * 10):
        raw = good.encode()
        for at in range(len(raw)):
            for bad in (0xFF, 0x80, 0xC2, 0x41):
                data = raw[:at] + bytes([bad]) + raw[at + 1:]
                assert _check_utf8(data) == python_says(data), data
            assert _check_utf8(raw[:at]) == python_says(raw[:at])


@given(st.binary(max_size=64), st.text(max_size=64), st.binary(max_size=8))
def test_like_python(head: bytes, text: str, tail: bytes) -> None:
    middle = text.encode("utf-8", "surrogatepass")
    for data in (head, head + tail, middle + tail, tail + middle):
        assert _check_utf8(data) == python_says(data)


@given(st.binary(max_size=40), st.integers(0, 8))
def test_any_alignment(data: bytes, start: int) -> None:
    start = min(start, len(data))
    assert _check_utf8(data, start) == python_says(data[start:])
