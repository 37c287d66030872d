"""Room tables: the encoder's LRU against a model, and what an id of 0 means to a reader."""

from __future__ import annotations

import random
import zlib
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import LONG
from support.craft import (
    IRI,
    LITERAL,
    QUOTED,
    datatype,
    frame,
    iri,
    literal,
    name,
    namespace,
    options,
    prefix,
    terms,
    triple,
)

import jelly
from jelly._core.jelly.lookup import _Lru


class Model:
    """An LRU table: text -> id, the least recently used first, with what the present statement uses pinned."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ids: OrderedDict[bytes, int] = OrderedDict()
        self.used: dict[bytes, int] = {}

    def use(self, text: bytes, statement: int) -> tuple[int, bool]:
        fresh = text not in self.ids
        if fresh:
            if len(self.ids) < self.size:
                id = len(self.ids) + 1
            else:
                oldest = next(iter(self.ids), None)
                if oldest is None or self.used[oldest] == statement:
                    return 0, True
                id = self.ids.pop(oldest)
                del self.used[oldest]
            self.ids[text] = id
        self.ids.move_to_end(text)
        self.used[text] = statement
        return self.ids[text], fresh


texts = st.integers(0, 40).map(lambda i: b"t%d" % i * (i % 4))
# None begins the next statement, True empties the table.
steps = st.lists(st.one_of(texts, texts, texts, st.none(), st.just(True)), max_size=200)
hashes = st.sampled_from(
    [
        lambda text: sum(text) * 2654435761 % 2**32,
        lambda text: 0xFFFFFFFF,  # all in one place
        lambda text: len(text),
    ]
)


@pytest.mark.parametrize("size", range(1, 21) if LONG else (1, 2, 3, 5, 8, 13, 20))
@given(steps=steps, hash=hashes)
def test_lru_is_one(size: int, steps: list, hash) -> None:
    table, model, statement = _Lru(size), Model(size), 1
    serials: dict[int, int] = {}
    for step in steps:
        if step is None:
            statement += 1
        elif step is True:
            table.forget()
            model = Model(size)
        else:
            id, fresh = table.use(step, statement, hash(step))
            assert (id, fresh) == model.use(step, statement)
            if id:
                # The serial tells a new entry from the one that had its id before.
                assert (table.serial(id) == serials.get(id)) == (not fresh)
                serials[id] = table.serial(id)


@pytest.mark.parametrize("bits", [32, 7], ids=["hashes", "few hashes"])
def test_the_index_of_a_large_table_grows(bits: int) -> None:
    """It is small at first, and after forgetting."""
    table, model, draw = _Lru(1000), Model(1000), random.Random(bits)
    for statement in range(1, 9001):
        if statement == 6000:
            table.forget()
            model = Model(1000)
        text = str(draw.randrange(70 if statement < 300 else 1500)).encode()
        assert table.use(text, statement, zlib.crc32(text) % 2**bits) == model.use(text, statement)


def test_a_table_of_no_entries_has_none() -> None:
    assert _Lru(0).use(b"x", 1, 7) == (0, True)


def test_long_and_short_texts_share_an_entry() -> None:
    table = _Lru(1)
    for statement, size in enumerate([1, 100_000, 0, 5, 4096, 4097, 3, 70_000]):
        text = bytes([65 + statement]) * size
        assert table.use(text, statement, size) == (1, True)
        assert table.use(text, statement, size) == (1, False)


def test_entry_ids_are_0_where_they_follow() -> None:
    table = _Lru(8)
    assert [table.delta(id) for id in (1, 2, 3, 3, 4, 1, 2, 8)] == [0, 0, 0, 3, 0, 1, 0, 8]


# ---- the reader's side


def iris(*rows: bytes, **sizes: int) -> list[str]:
    """The object of each triple."""
    return [statement.o.value for statement in jelly.loads(frame(options(**sizes), *rows))]


def o(name: int = 0, prefix: int = 0) -> bytes:
    return triple(o=(IRI, iri(name, prefix)))


def test_entry_0_is_the_last_plus_1() -> None:
    assert iris(name("a"), name("b"), o(1), o(2)) == ["a", "b"]
    assert iris(name("a", 5), name("b"), o(5), o(6)) == ["a", "b"]
    assert iris(name("a", 5), name("b"), name("c", 1), name("d"), o(2), o(5)) == ["d", "a"]
    assert iris(prefix("p", 3), prefix("q"), name("a"), o(1, 4), o(1, 3)) == ["qa", "pa"]


def test_name_0_is_the_last_plus_1_and_prefix_0_the_last() -> None:
    rows = prefix("p"), prefix("q"), name("a"), name("b"), name("c")
    assert iris(*rows, o()) == ["a"]  # no prefix yet: none
    assert iris(*rows, o(), o(), o()) == ["a", "b", "c"]
    assert iris(*rows, o(0, 2), o(), o(1), o()) == ["qa", "qb", "qa", "qb"]
    assert iris(*rows, o(3, 1), o(1, 2), o(2)) == ["pc", "qa", "qb"]


def test_ids_count_in_order_of_position_not_of_bytes() -> None:
    rows = name("a"), name("b"), name("c")
    shuffled = terms(None, None, (IRI, b"")) + terms(None, (IRI, b""), None) + terms((IRI, b""), None, None)
    (found,) = jelly.loads(
        frame(options(), *rows, b"\x0a" + bytes([len(shuffled) + 2]) + b"\x12" + bytes([len(shuffled)]) + shuffled)
    )
    assert [term.value for term in found] == ["a", "b", "c"]


def test_ids_go_on_in_quoted_triples_and_namespaces() -> None:
    rows = [name(text) for text in "abcdefg"]
    quoted = terms((IRI, b""), (IRI, b""), (IRI, b""))
    found = jelly.loads(
        frame(
            options(version=2),
            *rows,
            triple((IRI, b""), (IRI, b""), (QUOTED, quoted)),
            namespace("x", b""),
            triple((IRI, b"")),
        )
    )
    assert [term.value for term in found[0].o] == ["c", "d", "e"]
    assert found[1].s.value == "g"


def test_an_entry_can_be_defined_again() -> None:
    assert iris(name("a", 1), o(1), name("b", 1), o(1), prefix("p", 1), o(1, 1), prefix("q", 1), o(1)) == [
        "a",
        "b",
        "pb",
        "qb",
    ]


def test_datatypes() -> None:
    found = iris(datatype("d"), triple(o=(LITERAL, literal("x", datatype=1))))
    assert found == ["x"]
    statements = jelly.loads(
        frame(
            options(),
            datatype("d", 8),
            datatype("e", 1),
            datatype("http://www.w3.org/2001/XMLSchema#string"),
            *(triple(o=(LITERAL, literal("x", datatype=i))) for i in (8, 1, 2)),
        )
    )
    assert [str(s.o) for s in statements] == ['"x"^^<d>', '"x"^^<e>', '"x"']


@pytest.mark.parametrize("size", [1 << 10, 1 << 16])
def test_an_entry_shrinks_and_grows(size: int) -> None:
    assert iris(name(b"x" * size, 1), o(1), name("y", 1), o(1), name(b"z" * size, 1), o(1)) == [
        "x" * size,
        "y",
        "z" * size,
    ]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("name"), st.integers(0, 8), st.sampled_from("abc")),
            st.tuples(st.just("prefix"), st.integers(0, 3), st.sampled_from("pqr")),
            st.tuples(st.just("iri"), st.integers(0, 8), st.integers(0, 3)),
        ),
        max_size=60,
    ),
    st.integers(1, 5),
)
def test_any_ids_against_a_model(steps: list, batch_rows: int) -> None:
    names: dict[int, str] = {}
    prefixes: dict[int, str] = {0: ""}
    last = {"name": 0, "prefix": 0}
    last_name = last_prefix = 0
    rows, expected = [options(names=8, prefixes=3)], []
    fails = False
    for what, first, second in steps:
        if what == "iri":
            rows.append(o(first, second))
            last_name = first or last_name + 1
            last_prefix = second or last_prefix
            if last_name not in names or last_prefix not in prefixes:
                fails = True
                break
            expected.append(prefixes[last_prefix] + names[last_name])
        else:
            rows.append((name if what == "name" else prefix)(second, first))
            id = first or last[what] + 1
            if id > (8 if what == "name" else 3):
                fails = True
                break
            last[what] = id
            (names if what == "name" else prefixes)[id] = second
    found = []
    try:
        for statement in jelly.read(frame(*rows), batch_rows=batch_rows):
            found.append(statement.o.value)
        assert not fails
    except jelly.JellyFormatError:
        assert fails
    assert found == expected
