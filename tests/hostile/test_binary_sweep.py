"""RDF Thrift and RDF Protobuf cut at each byte, with each bit flipped, as bombs and as noise; result sets too."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import pytest
from support.measure import SANITIZED, growth
from support.rowcraft import ENCODINGS, Thrift, attempt, field, sample, statements, string, varint

import jelly
from jelly._core.jena.reader import BinaryReader, ResultReader

STEP = 5 if SANITIZED else 1


def results(craft: type, n: int = 3) -> bytes:
    terms = [craft.iri(), craft.literal(b"o"), craft.bnode(), craft.quoted(craft.iri(), craft.iri(), craft.literal())]
    if craft is Thrift:
        head = b"\x19\x4c" + b"".join(b"\x18" + string(b"v%d" % i) + b"\0" for i in range(4)) + b"\0"
        return head + (b"\x19\x4c" + b"".join(terms) + b"\0" + b"\x19\x4c" + b"\x7c\0\0" * 4 + b"\0") * n
    head = string(b"".join(field(1, field(1, b"v%d" % i)) for i in range(4)))
    return head + (string(b"".join(field(1, term) for term in terms)) + string(b"\x0a\x02\x42\x00" * 4)) * n


def values(craft: type) -> bytes:
    """Rows with numbers."""
    if craft is Thrift:
        numbers = [b"\xa6\x54\0", b"\xb7" + bytes(7) + b"\x40\0", b"\xcc\x16\x90\xc1\x01\x15\x04\0\0"]
    else:
        numbers = [b"\xa0\x01\x54", b"\xa9\x01" + bytes(7) + b"\x40", b"\xb2\x01\x06\x08\x90\xc1\x01\x10\x04"]
    return b"".join(craft.row(craft.iri(), craft.iri(), number) for number in numbers)


def use(found: list[Any], is_results: bool) -> list[Any]:
    """Everything that can be done with what was read."""
    for batch in found:
        batch.check()
    return list(chain.from_iterable(found)) if is_results else statements(found)


def patterns(craft: type) -> bytes:
    """Variables, ANY and REPEAT in all places."""
    if craft is Thrift:
        x, every, again = b"\x5c\x18\x01x\0\0", b"\x6c\0\0", b"\x8c\0\0"
    else:
        x, every, again = field(5, field(1, b"x")), field(7, b""), field(9, b"")
    rows = [(x, every, craft.quoted(x, craft.iri(), every)), (again, again, again, x), (again, x, again, again)]
    rows += [(craft.iri(), craft.iri(), craft.literal(b"o" * 200)), *rows[1:]]
    return b"".join(craft.row(*row) for row in rows)


INPUTS = {"statements": lambda craft: sample(craft, 2), "values": values, "patterns": patterns, "results": results}


@pytest.mark.parametrize("craft", ENCODINGS)
@pytest.mark.parametrize("what", INPUTS)
def test_cut_at_every_byte(craft: type, what: str) -> None:
    data = INPUTS[what](craft)
    is_results = what == "results"
    found, error = attempt(craft.name, data, is_results)
    assert error is None
    whole = use(found, is_results)
    ends = 0
    for cut in range(len(data)):
        found, error = attempt(craft.name, data[:cut], is_results)
        here = use(found, is_results)
        assert here == whole[: len(here)]
        if error is None:
            ends += 1
            continue
        empty = cut == 0 and is_results
        assert type(error) is (jelly.JellyFormatError if empty else jelly.JellyTruncatedError)
        assert error.offset == cut
        assert error.row == len(here)
    # Between two rows is an end like any other.
    assert ends == (7 if what == "statements" else len(whole))


@pytest.mark.parametrize("craft", ENCODINGS)
@pytest.mark.parametrize("what", INPUTS)
def test_every_bit_flipped(craft: type, what: str) -> None:
    data = INPUTS[what](craft)
    is_results = what == "results"
    failed = 0
    for at in range(0, len(data), STEP):
        for bit in (*range(8), None):
            changed = bytearray(data)
            changed[at] ^= 0xFF if bit is None else 1 << bit
            found, error = attempt(craft.name, bytes(changed), is_results)
            use(found, is_results)
            if error is not None:
                failed += 1
                assert error.row is not None
                assert 0 <= error.offset <= len(data)
                # In pieces it fails alike.
                if at % 7 == 0:
                    halves = attempt_in_pieces(craft.name, bytes(changed), is_results)
                    assert type(halves) is type(error)
                    assert halves.row == error.row
    assert failed > len(data) // STEP


def attempt_in_pieces(encoding: str, data: bytes, is_results: bool) -> Any:
    reader = (ResultReader if is_results else BinaryReader)(encoding)
    try:
        for i in range(0, len(data), 3):
            list(reader.feed(data[i : i + 3]))
        list(reader.close())
    except jelly.JellyError as error:
        return error
    return None


@pytest.mark.parametrize("craft", ENCODINGS)
def test_noise(craft: type) -> None:
    chance = random.Random(5)
    base = sample(craft, 2)
    for i in range(2000 // STEP):
        if i % 2:
            letters = b"\x00\x0a\x12\x1a\x1c\x18\x2c\x3c\x9c\x19\xff\x05a"
            data = bytes(chance.choices(letters, k=chance.randrange(60)))
        else:
            # Parts of what is right, in another order.
            cuts = sorted(chance.randrange(len(base)) for _ in range(4))
            data = base[cuts[0] : cuts[2]] + base[cuts[1] : cuts[3]]
        for is_results in (False, True):
            found, _ = attempt(craft.name, data, is_results, batch_rows=3)
            use(found, is_results)


@pytest.mark.bounded
def test_lengths_take_no_memory() -> None:
    head = "from support.rowcraft import attempt, varint, string, field"
    grown = growth(
        head,
        """
for n in (1 << 20, 1 << 27, (1 << 31) - 1, 1 << 31, 1 << 40):
    for data in (
        b"\\x2c\\x1c\\x1c\\x18" + varint(n) + b"x",
        b"\\x2c\\x1c\\x1c\\x58" + varint(n) + b"x",
        b"\\x2c\\x59\\xfc" + varint(n) + b"\\0",
        b"\\x2c\\x5b" + varint(n) + b"\\x33",
    ):
        assert attempt("thrift", data)[1] is not None
    assert attempt("thrift", b"\\x19\\xfc" + varint(n), True)[1] is not None
    assert attempt("thrift", b"\\x19\\x1c\\x18\\x01x\\0\\0\\x19\\xfc" + varint(n), True)[1] is not None
    assert attempt("protobuf", varint(n) + b"\\x12")[1] is not None
    assert attempt("protobuf", string(b"\\x12" + varint(n)))[1] is not None
""",
    )
    assert grown < 16 << 20


def test_depth_takes_no_stack() -> None:
    for depth in (100, 10_000, 1_000_000):
        for bomb in (b"\x2c" + b"\x1c\x9c" * depth, b"\x2c" + b"\x5c" * depth, b"\x2c\x59" + b"\x19" * depth):
            _, error = attempt("thrift", bomb)
            assert isinstance(error, jelly.JellyLimitError if depth > 100 else jelly.JellyError)
        _, error = attempt("thrift", b"\x19\x1c\x18\x01x\0\0\x19\x1c" + b"\x9c\x1c" * depth, results=True)
        assert isinstance(error, jelly.JellyLimitError)
    body = b""
    for _ in range(2000):
        body = field(6, field(3, body)) if len(body) < 100_000 else body
    for data in (string(field(2, field(1, body))), string(field(2, field(3, body)))):
        _, error = attempt("protobuf", data)
        assert isinstance(error, jelly.JellyError)


@pytest.mark.bounded
def test_endless_input_stays_small() -> None:
    """A row that never ends is refused at the limit; small rows without end take no memory."""
    grown = growth(
        "from support.rowcraft import Thrift, Protobuf; from jelly._core.jena.reader import BinaryReader",
        """
for craft in (Thrift, Protobuf):
    reader = BinaryReader(craft.name)
    prefix = craft.prefix(b"p", b"x" * 60_000)
    block = (prefix + craft.row(craft.short(b"p", b"a"), craft.iri(), craft.literal())) * 10
    n = 0
    for _ in range(150):
        reader.push(block)
        while (batch := reader.pull()) is not None:
            n += len(batch)
            del batch
    assert n > 500
""",
    )
    assert grown < 100 << 20
    for head in (b"\x2c\x1c\x9c\x1c", b"\x2c\x59\xfc" + varint(1 << 30)):
        reader = BinaryReader("thrift", max_row_bytes=1 << 20)
        assert list(reader.feed(head)) == []
        pieces = [b"\x1c\x18\x01x\0\0" * 10_000] * 40
        with pytest.raises(jelly.JellyError) as caught:
            list(chain.from_iterable(map(reader.feed, pieces)))
        assert caught.value.offset is not None
