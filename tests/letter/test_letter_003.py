"""RDF Binary to the letter: rows of Thrift and Protobuf made by hand, and what is written.

The names of the cases are numbers of requirements.csv; where a pair has two, Thrift comes first.
"""

from __future__ import annotations

import io
import math
import random
import struct
from decimal import Decimal
from typing import Any

import pytest
from support import wirefields as wire
from support.rowcraft import ENCODINGS, Protobuf, Thrift, field, string, varint, zigzag

import jelly
from jelly import IRI, BlankNode, JellyError, JellyFormatError, JellyTruncatedError, Literal, Quad, QuotedTriple, Triple
from jelly.results import read_results, write_results

XSD = "http://www.w3.org/2001/XMLSchema#"
T, P = Thrift, Protobuf
I64 = 1 << 63


def read(craft: Any, *rows: bytes, **settings: Any) -> list[Any]:
    return list(jelly.read(b"".join(rows), format=craft.name, **settings))


def as_object(craft: Any, term: bytes, *before: bytes) -> Any:
    (found,) = read(craft, *before, craft.row(craft.iri(), craft.iri(), term))
    return found.o


# ---- terms: what Thrift and Protobuf have for each

PREFIXES = {craft: craft.prefix(b"p", b"http://e/") for craft in ENCODINGS}


def thrift_short(prefix: bytes, local: bytes) -> bytes:
    return T.literal(b"l", b"\x3c\x18" + string(prefix) + b"\x18" + string(local) + b"\0")


QUOTED = QuotedTriple(IRI("a:x"), IRI("a:x"), QuotedTriple(IRI("a:x"), IRI("a:x"), Literal("o")))
TERMS: list[tuple[bytes, bytes, Any]] = [
    (T.iri(b"http://\xc3\xa9"), P.iri(b"http://\xc3\xa9"), IRI("http://\u00e9")),
    (T.short(b"p", b"x"), P.short(b"p", b"x"), IRI("http://e/x")),
    (T.short(b"p", b""), P.short(b"p", b""), IRI("http://e/")),
    (T.bnode(b"b\xc3\xa9 "), P.bnode(b"b\xc3\xa9 "), BlankNode("b\u00e9 ")),
    (T.literal(b"l"), P.literal(b"l", b"\x48\x01"), Literal("l")),
    (T.literal(b""), P.literal(b"", b"\x48\x01"), Literal("")),
    (T.literal(b"l", b"\x18\x05en-GB"), P.literal(b"l", field(2, b"en-GB")), Literal("l", language="en-GB")),
    (T.literal(b"l", b"\x28" + string(b"a:t")), P.literal(b"l", field(3, b"a:t")), Literal("l", datatype="a:t")),
    (thrift_short(b"p", b"t"), P.literal(b"l", field(4, field(1, b"p") + field(2, b"t"))),
     Literal("l", datatype="http://e/t")),
    (T.literal(b"l", b"\x28" + string(f"{XSD}string".encode())),
     P.literal(b"l", field(3, f"{XSD}string".encode())), Literal("l")),
]  # fmt: skip


def integer(value: int) -> tuple[bytes, bytes]:
    return b"\xa6" + zigzag(value) + b"\0", b"\xa0\x01" + zigzag(value)


def double(value: float) -> tuple[bytes, bytes]:
    return b"\xb7" + struct.pack("<d", value) + b"\0", b"\xa9\x01" + struct.pack("<d", value)


def decimal(value: int, scale: int) -> tuple[bytes, bytes]:
    thrift = b"\xcc\x16" + zigzag(value) + b"\x15" + zigzag(scale) + b"\0\0"
    return thrift, b"\xb2\x01" + string(b"\x08" + zigzag(value) + b"\x10" + zigzag(scale))


INTEGERS = [0, -5, I64 - 1, -I64]
DOUBLES = [
    (1.5, "1.5"), (100.0, "100.0"), (10000000.0, "1.0E7"), (0.0009999, "9.999E-4"), (1e23, "1.0E23"), (-0.0, "-0.0"),
    (5e-324, "4.9E-324"), (math.inf, "INF"), (-math.inf, "-INF"), (math.nan, "NaN"), (0.1, "0.1"),
    (123456.789, "123456.789"),
]  # fmt: skip
DECIMALS = [
    (12360, 2, "123.60"), (123, 0, "123"), (5, -3, "5000"), (0, 2, "0.00"), (-5, 3, "-0.005"),
    (I64 - 1, 18, "9.223372036854775807"),
]  # fmt: skip
TERMS += [(*integer(value), Literal(str(value), datatype=f"{XSD}integer")) for value in INTEGERS]
TERMS += [(*double(value), Literal(text, datatype=f"{XSD}double")) for value, text in DOUBLES]
TERMS += [(*decimal(value, scale), Literal(text, datatype=f"{XSD}decimal")) for value, scale, text in DECIMALS]
TERMS.append((T.quoted(T.iri(), T.iri(), T.quoted(T.iri(), T.iri(), T.literal())),
              P.quoted(P.iri(), P.iri(), P.quoted(P.iri(), P.iri(), P.literal())), QUOTED))  # fmt: skip
EACH = [
    pytest.param(craft, terms[i], terms[2], id=f"003-{1 + 2 * n + i:03}")
    for n, terms in enumerate(TERMS)
    for i, craft in enumerate(ENCODINGS)
]


def test_all_terms_are_there() -> None:
    assert len(EACH) == 66


@pytest.mark.parametrize(("craft", "term", "expected"), EACH)
def test_term_is_read(craft: Any, term: bytes, expected: Any) -> None:
    """003-001 to 003-066."""
    assert as_object(craft, term, PREFIXES[craft]) == expected


@pytest.mark.parametrize("place", [pytest.param(i, id=f"003-{79 + i:03}") for i in range(3)])
@pytest.mark.parametrize("craft", ENCODINGS)
def test_each_place_takes_each_kind(craft: Any, place: int) -> None:
    """003-079 to 003-081, 003-083: read, and written again; as graphs, too."""
    for terms in TERMS:
        term, expected = terms[ENCODINGS.index(craft)], terms[2]
        row = [craft.iri(), craft.iri(), craft.iri()]
        row[place] = term
        (found,) = read(craft, PREFIXES[craft], craft.row(*row))
        assert found[place] == expected
        out = io.BytesIO()
        jelly.write(out, [found], format=craft.name)
        assert list(jelly.read(out.getvalue(), format=craft.name)) == [found]
        (found,) = read(craft, PREFIXES[craft], craft.row(craft.iri(), craft.iri(), craft.iri(), term))
        assert found.g == expected


@pytest.mark.parametrize(
    ("craft", "undefined"), [pytest.param(T, b"\x7c\0\0", id="003-077"), pytest.param(P, field(8, b""), id="003-078")]
)
def test_undefined(craft: Any, undefined: bytes) -> None:
    """Unbound in a row of results, an error in a statement."""
    row, other = results_row(craft, undefined, craft.iri()), results_row(craft, craft.iri(), undefined)
    assert list(results(craft, ["x", "y"], row, other)) == [(None, IRI("a:x")), (IRI("a:x"), None)]
    with pytest.raises(JellyError, match="UNDEFINED"):
        read(craft, craft.row(undefined, craft.iri(), craft.iri()))


@pytest.mark.parametrize("craft", ENCODINGS)
def test_graphs_of_quads(craft: Any) -> None:
    """003-082: none and UNDEFINED are the default graph, IRIs, blank nodes and literals are named ones."""
    three = [craft.iri()] * 3
    undefined = b"\x7c\0\0" if craft is T else field(8, b"")
    none = b"\x3c" + b"".join(b"\x1c" + x for x in three) + b"\0\0"
    if craft is P:
        none = string(field(3, b"".join(field(i, x) for i, x in enumerate(three, 1))))
    found = read(craft, none, *(craft.row(*three, g) for g in (craft.iri(b"a:g"), craft.bnode(), craft.literal())))
    assert [x.g for x in found] == [jelly.DefaultGraph(), IRI("a:g"), BlankNode("b"), Literal("o")]
    (found,) = read(craft, craft.row(*three, undefined))
    assert isinstance(found.g, jelly.DefaultGraph)


@pytest.mark.parametrize("craft", ENCODINGS)
def test_rows_of_a_stream(craft: Any) -> None:
    """003-084, 003-147, 003-148: prefix, triple, quad; and a base in Protobuf."""
    triple = craft.row(craft.iri(), craft.iri(), craft.short(b"p", b"o"))
    quad = craft.row(craft.iri(), craft.iri(), craft.literal(), craft.bnode())
    base = [string(field(4, field(1, b"http://b/")))] if craft is P else []
    (found,) = read(craft, *base, PREFIXES[craft], triple)
    assert str(found) == "<a:x> <a:x> <http://e/o> ."
    found = read(craft, quad, PREFIXES[craft], *base, triple, quad)
    assert list(map(str, found)) == [
        '<a:x> <a:x> "o" _:b .', "<a:x> <a:x> <http://e/o> .", '<a:x> <a:x> "o" _:b .'
    ]  # fmt: skip


def test_the_base_is_written() -> None:
    """003-086."""
    out = io.BytesIO()
    with jelly.Writer(out, format="protobuf", base="http://b/") as writer:
        writer.add(Triple(IRI("a:s"), IRI("a:p"), IRI("a:o")))
    first, *_ = wire.split(out.getvalue())
    assert wire.fields(first) == [(4, field(1, b"http://b/"))]


@pytest.mark.parametrize("craft", ENCODINGS)
def test_prefixes(craft: Any) -> None:
    """003-087, 003-088, 003-090, 003-091: told; anywhere; redefined from there on; undeclared ones are errors."""

    def use(name: bytes) -> bytes:
        return craft.row(craft.iri(), craft.iri(), craft.short(name, b"o"))

    x, y, z = craft.prefix(b"a", b"x:"), craft.prefix(b"a", b"y:"), craft.prefix(b"", b"z:")
    rows = [x, use(b"a"), y, z, use(b"a"), use(b"")]
    assert [x.o.value for x in read(craft, *rows)] == ["x:o", "y:o", "z:o"]
    (batch,) = jelly.scan(b"".join(rows), format=craft.name).batches()
    assert batch.namespaces == [(0, 0, "a", "x:"), (1, 0, "a", "y:"), (1, 0, "", "z:")]
    with pytest.raises(JellyFormatError, match="not declared"):
        read(craft, *rows, use(b"b"))
    with pytest.raises(JellyFormatError, match="not declared"):
        read(craft, use(b"a"), *rows)
    assert [x.o.value for x in read(craft, craft.prefix(b"a:", b"x:"), use(b"a"), use(b"a:"))] == ["x:o"] * 2


# ---- the compact protocol of Thrift


def test_headers_of_fields() -> None:
    """003-092, 003-093, 003-094: long ones, any order, unknown fields of every type."""
    known = read(T, T.row(T.iri(b"a:s"), T.iri(b"a:p"), T.literal()))
    s, p, o_ = T.iri(b"a:s"), T.iri(b"a:p"), T.literal()
    unknown = b"".join([
        b"\x51", b"\x12", b"\x13\x07", b"\x14\x02", b"\x15\x02", b"\x16\x02", b"\x17" + bytes(8), b"\x18\x01x",
        b"\x19\x35\x01\x02\x03", b"\x1a\x25\x01\x02", b"\x1b\x01\x58\x02\x01x", b"\x1c\x15\x02\0", b"\x1d" + bytes(16),
    ])  # fmt: skip
    for row in (
        b"\x0c\x04" + b"\x0c\x02" + s + b"\x0c\x04" + p + b"\x0c\x06" + o_ + b"\0\0",
        b"\x2c" + b"\x3c" + o_ + b"\x0c\x02" + s + b"\x0c\x04" + p + b"\0\0",
        b"\x2c" + b"\x2c" + p + b"\x1c" + o_ + b"\x0c\x02" + s + b"\0\0",
        b"\x2c\x1c" + s + b"\x1c" + p + b"\x1c" + o_ + unknown + b"\0\0",
    ):
        assert read(T, row) == known


BAD = {
    "003-095": [T.row(T.iri()[:-1] + b"\x2c\x18\x01b\0\0", T.iri(), T.iri()), T.row(b"\0", T.iri(), T.iri()), b"\0"],
    "003-096": [T.row(b"\x1c\0\0", T.iri(), T.iri())],
    "003-097": [T.row(b"\x2c\0\0", T.iri(), T.iri())],
    "003-098": [T.row(b"\x3c\0\0", T.iri(), T.iri()), T.row(T.iri(), T.iri(), b"\x3c\x28\x02en\0\0")],
    "003-099": [PREFIXES[T] + T.row(b"\x4c\x18\x01p\0\0", T.iri(), T.iri()),
                PREFIXES[T] + T.row(b"\x4c\x28\x01x\0\0", T.iri(), T.iri())],
    "003-100": [T.row(T.iri(), T.iri(), b"\xcc\x16" + zigzag(5) + b"\0\0")],
    "003-101": [T.row(T.iri(), T.iri(), b"\xcc\x25" + zigzag(5) + b"\0\0")],
    "003-102": [b"\x2c\x1c" + T.iri() + b"\x1c" + T.iri() + b"\0\0",
                b"\x2c\x1c" + T.iri() + b"\x2c" + T.iri() + b"\0\0",
                b"\x2c\x2c" + T.iri() + b"\x1c" + T.iri() + b"\0\0", b"\x1c\x18\x01p\0\0", b"\x1c\x28\x01p\0\0"],
}  # fmt: skip


@pytest.mark.parametrize("id", BAD)
def test_what_thrift_requires(id: str) -> None:
    for row in BAD[id]:
        with pytest.raises(JellyFormatError, match="required field|missing|second field|empty") as caught:
            read(T, row)
        assert type(caught.value) is JellyFormatError
        good = T.row(T.iri(), T.iri(), T.literal())
        with pytest.raises(JellyFormatError) as caught:
            read(T, good, row)
        assert caught.value.row == 1


def test_long_lists() -> None:
    """003-103: of more than 14 elements, whose length stands apart."""
    names = [f"v{i}" for i in range(40)]
    row = b"\x19\xfc" + varint(40) + b"".join(T.literal(b"%d" % i) for i in range(40)) + b"\0"
    found = results(T, names, row)
    assert found.variables == tuple(names)
    assert list(found) == [tuple(Literal(str(i)) for i in range(40))]


def test_doubles_are_little_endian() -> None:
    """003-104."""
    term = b"\xb7" + bytes.fromhex("000000000000f83f") + b"\0"
    assert as_object(T, term).value == "1.5"
    out = io.BytesIO()
    number = Triple(IRI("a:s"), IRI("a:p"), Literal("1.5", datatype=f"{XSD}double"))
    jelly.write(out, [number], format="thrift", values=True)
    assert term in out.getvalue()


@pytest.mark.parametrize("craft", ENCODINGS)
def test_rows_to_the_end(craft: Any) -> None:
    """003-105, 003-106: back to back; what is cut off is an error; nothing is no statement; in any pieces."""
    row = craft.row(craft.iri(), craft.iri(), craft.literal())
    data = row + PREFIXES[craft] + row
    whole = read(craft, data)
    assert len(whole) == 2
    assert read(craft, b"") == []
    ends = {len(row), len(row) + len(PREFIXES[craft])}
    for cut in range(1, len(data)):
        assert list(jelly.read([data[:cut], data[cut:]], format=craft.name)) == whole
        if cut in ends:
            assert len(read(craft, data[:cut])) == 1
        else:
            with pytest.raises(JellyTruncatedError):
                read(craft, data[:cut])
    assert list(jelly.read([data[i : i + 1] for i in range(len(data))], format=craft.name)) == whole


# ---- Protobuf


def test_items_have_their_length() -> None:
    """003-107: of one byte, and of two."""
    statements = [Triple(IRI("a:s"), IRI("a:p"), Literal("x" * size)) for size in (1, 200, 20_000)]
    out = io.BytesIO()
    jelly.write(out, statements, format="protobuf")
    bodies = wire.split(out.getvalue())
    assert [[number for number, _ in wire.fields(body)] for body in bodies] == [[2]] * 3
    assert len(bodies[1]) > 127
    assert read(P, out.getvalue()) == statements


def test_messages_as_protobuf_has_them() -> None:
    """003-108: the last member of a oneof counts, a message in pieces is put together, unknown fields are skipped."""
    s, p, o_ = (field(i, P.iri(f"a:{x}".encode())) for i, x in ((1, "s"), (2, "p"), (3, "o")))
    unknown = field(15, b"x") + varint(14 << 3 | 1) + bytes(8) + varint(13 << 3 | 5) + bytes(4)
    for row in (
        field(2, s + p + o_),
        field(2, field(1, P.bnode()) + s + p + o_),
        field(2, s + p) + field(2, o_),
        unknown + field(2, unknown + s + p + unknown + o_) + unknown,
        field(1, b"") + field(2, s + p + o_),
    ):
        (found,) = read(P, string(row))
        assert str(found) == "<a:s> <a:p> <a:o> ."


def test_kinds_of_literals() -> None:
    """003-109, 003-111: of the four of the oneof one must be there; strings that are left out are empty."""
    kinds = [b"\x48\x01", field(2, b"en"), field(3, b"a:t"), field(4, field(1, b"p") + field(2, b"t"))]
    found = [str(as_object(P, P.literal(b"l", kind), PREFIXES[P])) for kind in kinds]
    assert found == ['"l"', '"l"@en', '"l"^^<a:t>', '"l"^^<http://e/t>']
    with pytest.raises(JellyFormatError, match="not simple"):
        as_object(P, P.literal(b"l", b""))
    assert as_object(P, field(1, b"")) == IRI("")
    assert as_object(P, field(2, b"")) == BlankNode("")
    assert as_object(P, field(3, b"\x48\x01")) == Literal("")
    assert as_object(P, field(4, b""), string(field(1, field(2, b"x:")))) == IRI("x:")


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_terms_that_are_missing(missing: int) -> None:
    """003-110."""
    body = b"".join(field(i, P.iri()) for i in (1, 2, 3) if i != missing)
    for kind in (2, 3):
        with pytest.raises(JellyFormatError, match="is missing"):
            read(P, string(field(kind, body)))


@pytest.mark.parametrize("value", [0, 1, -1, 63, -64, 64, 1 << 31, -(1 << 31), I64 - 1, -I64])
def test_zigzag(value: int) -> None:
    """003-112."""
    folded = 2 * value if value >= 0 else -2 * value - 1
    assert as_object(P, b"\xa0\x01" + varint(folded)).value == str(value)
    scaled = as_object(P, b"\xb2\x01" + string(b"\x08" + varint(folded) + b"\x10\x03")).value  # a scale of -2
    assert int(scaled) == value * 100


# ---- writing

EVERY = [
    IRI("http://e/x"), BlankNode("b"), Literal("l"), Literal(""), Literal("l", language="en-GB"),
    Literal("l", datatype="a:t"), QUOTED,
]  # fmt: skip


def written(craft: Any, statements: Any, **settings: Any) -> bytes:
    out = io.BytesIO()
    jelly.write(out, statements, format=craft.name, **settings)
    return out.getvalue()


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-116"), pytest.param(P, id="003-119")])
def test_every_kind_of_term_is_written(craft: Any) -> None:
    given = [Triple(s, p, o_) for s in EVERY for p in EVERY for o_ in EVERY]
    assert read(craft, written(craft, given)) == given


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-117"), pytest.param(P, id="003-120")])
def test_quads_are_written(craft: Any) -> None:
    given = [Quad(*[IRI("a:x")] * 3, g) for g in (IRI("a:g"), None, BlankNode("g"), *EVERY, None)]
    assert read(craft, written(craft, given)) == given
    rows = written(craft, given[:2])
    if craft is P:
        assert [wire.fields(body)[0][0] for body in wire.split(rows)] == [3, 2]
    else:
        assert rows.startswith(b"\x3c")


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-118"), pytest.param(P, id="003-121")])
def test_prefixes_are_written(craft: Any) -> None:
    given = [Triple(*[IRI("http://e/x")] * 3)]
    data = written(craft, given, prefixes={"p": "http://e/"}, **({"shorten": True} if craft is P else {}))
    assert data == PREFIXES[craft] + craft.row(*[craft.short(b"p", b"x")] * 3)
    assert read(craft, data) == given


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-122"), pytest.param(P, id="003-123")])
def test_bytes_by_hand(craft: Any) -> None:
    given = [
        Quad(IRI("a:s"), IRI("a:p"), Literal("o"), None), Quad(BlankNode("b"), IRI("a:p"), IRI("a:o"), IRI("a:g")),
        Quad(QuotedTriple(IRI("a:s"), IRI("a:p"), BlankNode("b")), IRI("a:p"), Literal("o"), None),
    ]  # fmt: skip
    p = craft.iri(b"a:p")
    assert written(craft, given) == b"".join([
        craft.row(craft.iri(b"a:s"), p, craft.literal(b"o")),
        craft.row(craft.bnode(b"b"), p, craft.iri(b"a:o"), craft.iri(b"a:g")),
        craft.row(craft.quoted(craft.iri(b"a:s"), p, craft.bnode(b"b")), p, craft.literal(b"o")),
    ])  # fmt: skip


def test_values_are_written() -> None:
    """003-124: in Thrift, where they are asked for; what does not fit stays a literal."""

    def value(text: str, kind: str) -> bytes:
        row = written(T, [Triple(IRI("a:x"), IRI("a:x"), Literal(text, datatype=XSD + kind))], values=True)
        return row.removeprefix(b"\x2c\x1c" + T.iri() + b"\x1c" + T.iri() + b"\x1c")[:-2]

    assert value("-5", "integer") == integer(-5)[0]
    assert value("123.60", "decimal") == decimal(12360, 2)[0]
    assert value("1.5", "double") == double(1.5)[0]
    for text, kind in (("99999999999999999999", "integer"), ("x", "integer"), ("INF", "double"), ("1e3", "decimal")):
        assert value(text, kind) == T.literal(text.encode(), b"\x28" + string(f"{XSD}{kind}".encode()))
    plain = Triple(IRI("a:x"), IRI("a:x"), Literal("5", datatype=f"{XSD}integer"))
    assert integer(5)[0] not in written(T, [plain])


# ---- results


def results_row(craft: Any, *terms: bytes) -> bytes:
    if craft is T:
        return b"\x19" + bytes([len(terms) << 4 | 0x0C]) + b"".join(terms) + b"\0"
    return string(b"".join(field(1, term) for term in terms))


def header(craft: Any, names: list[str]) -> bytes:
    texts = [name.encode() for name in names]
    if craft is P:
        return string(b"".join(field(1, field(1, text)) for text in texts))
    size = bytes([len(texts) << 4 | 0x0C]) if len(texts) < 15 else b"\xfc" + varint(len(texts))
    return b"\x19" + size + b"".join(b"\x18" + string(text) + b"\0" for text in texts) + b"\0"


def results(craft: Any, names: list[str], *rows: bytes) -> Any:
    return read_results(header(craft, names) + b"".join(rows), format=craft.name)


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-126"), pytest.param(P, id="003-131")])
def test_results(craft: Any) -> None:
    value = integer(-5)[ENCODINGS.index(craft)]
    undefined = b"\x7c\0\0" if craft is T else field(8, b"")
    found = results(craft, ["x", "y"], results_row(craft, craft.iri(), value), results_row(craft, undefined, undefined))
    assert found.variables == ("x", "y")
    assert list(found) == [(IRI("a:x"), Literal("-5", datatype=f"{XSD}integer")), (None, None)]
    assert list(results(craft, ["x"])) == []


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-127"), pytest.param(P, id="003-132")])
def test_results_are_written(craft: Any) -> None:
    out = io.BytesIO()
    write_results(out, ["x", "y"], [(IRI("a:x"), None), (None, Literal("o"))], format=craft.name)
    undefined = b"\x7c\0\0" if craft is T else field(8, b"")
    rows = results_row(craft, craft.iri(), undefined) + results_row(craft, undefined, craft.literal())
    assert out.getvalue() == header(craft, ["x", "y"]) + rows


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-128"), pytest.param(P, id="003-133")])
def test_results_without_variables(craft: Any) -> None:
    assert list(results(craft, [], *[results_row(craft)] * 3)) == [()] * 3


@pytest.mark.parametrize("craft", [pytest.param(T, id="003-129"), pytest.param(P, id="003-134")])
@pytest.mark.parametrize("width", [0, 1, 3])
def test_rows_of_another_width(craft: Any, width: int) -> None:
    with pytest.raises(JellyFormatError, match=f"a row has {width} terms, expected 2"):
        list(results(craft, ["x", "y"], results_row(craft, *[craft.iri()] * width)))


def test_results_of_nothing() -> None:
    """003-130."""
    with pytest.raises(JellyFormatError, match="empty: expected the variables"):
        read_results(b"", format="thrift").variables  # noqa: B018


# ---- names

FILES = {
    "003-136": ("application/rdf+thrift", T), "003-137": ("application/rdf+protobuf", P), "003-138": (".rt", T),
    "003-139": (".trdf", T), "003-140": (".rpb", P), "003-141": (".pbrdf", P),
}  # fmt: skip
OF_RESULTS = {
    "003-142": ("application/sparql-results+thrift", T), "003-143": ("application/sparql-results+protobuf", P),
    "003-144": (".srt", T), "003-145": (".srp", P),
}  # fmt: skip


@pytest.mark.parametrize("id", FILES)
def test_media_types_and_suffixes(id: str, tmp_path: Any) -> None:
    name, craft = FILES[id]
    given = [Triple(*[IRI("a:x")] * 3)]
    if "/" in name:
        out = io.BytesIO()
        jelly.write(out, given, format=name)
        assert out.getvalue() == craft.row(*[craft.iri()] * 3)
        assert list(jelly.read(out.getvalue(), format=name)) == given
    else:
        jelly.write(tmp_path / f"x{name}", given)
        assert (tmp_path / f"x{name}").read_bytes() == craft.row(*[craft.iri()] * 3)
        assert list(jelly.read(tmp_path / f"x{name}")) == given


@pytest.mark.parametrize("id", OF_RESULTS)
def test_media_types_and_suffixes_of_results(id: str, tmp_path: Any) -> None:
    name, craft = OF_RESULTS[id]
    expected = header(craft, ["x"]) + results_row(craft, craft.iri())
    if "/" in name:
        out = io.BytesIO()
        write_results(out, ["x"], [(IRI("a:x"),)], format=name)
        assert out.getvalue() == expected
        assert list(read_results(expected, format=name)) == [(IRI("a:x"),)]
    else:
        write_results(tmp_path / f"x{name}", ["x"], [(IRI("a:x"),)])
        assert (tmp_path / f"x{name}").read_bytes() == expected
        assert list(read_results(tmp_path / f"x{name}")) == [(IRI("a:x"),)]


# ---- many values


def test_many_doubles() -> None:
    """003-150: exact, with the shortest digits, as Java writes them."""
    chance = random.Random(150)
    values = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(20_000)]
    values = [value for value in values if math.isfinite(value)]
    rows = b"".join(T.row(T.iri(), T.iri(), double(value)[0]) for value in values)
    for value, found in zip(values, read(T, rows), strict=True):
        text = found.o.value
        assert struct.pack("d", float(text)) == struct.pack("d", value)
        mantissa, _, exponent = text.partition("E")
        assert "." in mantissa
        assert "+" not in text
        assert bool(exponent) == (not 1e-3 <= abs(value) < 1e7)
        digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
        assert len(mantissa.replace(".", "").strip("-0")) <= max(len(digits), 2)


def test_many_decimals() -> None:
    """003-151: exact, without an exponent."""
    chance = random.Random(151)
    pairs = [(chance.randrange(-I64, I64) >> chance.randrange(60), chance.randrange(30)) for _ in range(5000)]
    for craft, index in ((T, 0), (P, 1)):
        rows = b"".join(craft.row(craft.iri(), craft.iri(), decimal(*pair)[index]) for pair in pairs)
        for (value, scale), found in zip(pairs, read(craft, rows), strict=True):
            assert Decimal(found.o.value) == Decimal(value).scaleb(-scale)
            assert "E" not in found.o.value
            assert len(found.o.value.partition(".")[2]) == scale


@pytest.mark.parametrize(("craft", "most"), [(T, 62), (P, 48)])
def test_depth(craft: Any, most: int) -> None:
    """003-153."""
    term = craft.iri()
    for depth in range(1, most + 2):
        term = craft.quoted(craft.iri(), craft.iri(), term)
        if depth <= most:
            assert str(as_object(craft, term)).count("<<") == depth
        else:
            with pytest.raises(jelly.JellyLimitError, match=f"deeper than {most}"):
                as_object(craft, term)
