"""Rooms of RDF Binary: every fault with its place, prefixes, chunks, threads, what of Thrift is skipped."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref

import pytest
from support.compiled import Prefixes, skip_value
from support.rowcraft import (
    ENCODINGS,
    Protobuf,
    Thrift,
    attempt,
    field,
    read,
    read_rows,
    sample,
    statements,
    string,
    varint,
    write,
    zigzag,
)

import jelly
from jelly import (
    Batch,
    JellyFormatError,
    JellyLimitError,
    JellyOptionsError,
    JellyTruncatedError,
    JellyUnsupportedError,
)
from jelly._core.jena.reader import BinaryReader, ResultReader
from jelly._core.jena.writer import BinaryWriter, ResultWriter
from jelly._core.terms.batch_builder import BatchBuilder, _make_batch

T, P = Thrift, Protobuf
IRI = T.iri()
GOOD = T.row(IRI, IRI, T.literal())
PB_GOOD = P.row(P.iri(), P.iri(), P.literal())


def decimal(value: bytes = b"\x16" + zigzag(5), scale: bytes = b"\x15" + zigzag(2)) -> bytes:
    return b"\xcc" + value + scale + b"\0\0"


def nested(craft: type, depth: int) -> bytes:
    term = craft.iri()
    for _ in range(depth):
        term = craft.quoted(craft.iri(), craft.iri(), term)
    return term


# What is wrong, how it is called, and the byte of the row that is told.
THRIFT: dict[str, tuple[type[Exception], str, bytes, int]] = {
    "cut": (JellyTruncatedError, "inside a row: at least 1 more", GOOD[:-1], len(GOOD) - 1),
    "cut string": (JellyTruncatedError, "at least 9 more", b"\x2c\x1c\x1c\x18\x0aa", 6),
    "no field": (JellyFormatError, "a row or term is empty", b"\0", 0),
    "no term": (JellyFormatError, "a row or term is empty", b"\x2c\x1c\0", 2),
    "two fields": (JellyFormatError, "a second field", T.row(IRI[:-1] + b"\x2c\x18\x01b\0\0", IRI, IRI), 9),
    "two rows": (JellyFormatError, "a second field", GOOD[:-1] + b"\x1c\0\0", len(GOOD) - 1),
    "unknown row": (JellyUnsupportedError, "a row of an unknown kind: field 4", b"\x4c\0\0", 0),
    "row of a string": (JellyUnsupportedError, "unknown kind: field 2", b"\x28\x01x\0", 0),
    "unknown term": (JellyUnsupportedError, "a term of an unknown kind: field 13", T.row(b"\xdc\0\0", IRI, IRI), 2),
    "term of a string": (JellyUnsupportedError, "unknown kind: field 1", T.row(b"\x18\x01x\0", IRI, IRI), 2),
    "integer as double": (JellyUnsupportedError, "unknown kind: field 10", T.row(b"\xa7" + bytes(9), IRI, IRI), 2),
    "no name": (JellyFormatError, "required field name", T.row(b"\x5c\0\0", IRI, IRI), 3),
    "undefined": (JellyUnsupportedError, "the term is UNDEFINED", T.row(b"\x7c\0\0", IRI, IRI), 0),
    "repeat inside": (JellyFormatError, "is REPEAT, which only", T.row(T.quoted(IRI, IRI, b"\x8c\0\0"), IRI, IRI), 22),
    "undefined inside": (JellyUnsupportedError, "UNDEFINED", T.row(T.quoted(IRI, IRI, b"\x7c\0\0"), IRI, IRI), 2),
    "no object": (JellyFormatError, "the object is missing", b"\x2c\x1c" + IRI + b"\x1c" + IRI + b"\0\0", 0),
    "no predicate inside": (
        JellyFormatError,
        "the predicate is missing",
        T.row(b"\x9c\x1c" + IRI + b"\x2c" + IRI + b"\0\0", IRI, IRI),
        2,
    ),
    "no iri": (JellyFormatError, "required field iri", T.row(b"\x1c\0\0", IRI, IRI), 3),
    "iri of a number": (JellyFormatError, "required field iri", T.row(b"\x1c\x16\x02\0\0", IRI, IRI), 3),
    "no label": (JellyFormatError, "required field label", T.row(b"\x2c\0\0", IRI, IRI), 3),
    "no lex": (JellyFormatError, "required field lex", T.row(b"\x3c\x28\x01x\0\0", IRI, IRI), 3),
    "no prefix": (JellyFormatError, "required field prefix", T.row(b"\x4c\x28\x01x\0\0", IRI, IRI), 3),
    "no local name": (JellyFormatError, "required field localName", T.row(b"\x4c\x18\x01x\0\0", IRI, IRI), 3),
    "no uri": (JellyFormatError, "required field uri", b"\x1c\x18\x01x\0\0", 1),
    "no value": (JellyFormatError, "required field value", T.row(decimal(value=b""), IRI, IRI), 3),
    "no scale": (JellyFormatError, "required field scale", T.row(decimal(scale=b""), IRI, IRI), 3),
    "value of a string": (JellyFormatError, "required field value", T.row(decimal(value=b"\x18\x01x"), IRI, IRI), 3),
    "undeclared": (JellyFormatError, "was not declared", T.row(T.short(b"zz", b"x"), IRI, IRI), 5),
    "direction": (JellyFormatError, "ltr or rtl", T.row(IRI, IRI, T.literal(b"o", b"\x18\x02en\x38\x03LTR")), -7),
    "no tag": (JellyFormatError, "ltr or rtl", T.row(IRI, IRI, T.literal(b"o", b"\x48\x03ltr")), -7),
    "both": (JellyFormatError, "both", T.row(IRI, IRI, T.literal(b"o", b"\x18\x02en\x18\x03a:t")), -14),
    "scale": (JellyLimitError, "a scale of 4097", T.row(decimal(scale=b"\x15" + zigzag(4097)), IRI, IRI), None),
    "negative scale": (JellyLimitError, "of -4097", T.row(decimal(scale=b"\x15" + zigzag(-4097)), IRI, IRI), None),
    "deep": (JellyLimitError, "nested deeper than 62", T.row(IRI, IRI, nested(T, 63)), None),
    "utf8": (JellyFormatError, "not valid UTF-8", T.row(T.iri(b"ab\xffc"), IRI, IRI), 7),
    "utf8 of a prefix": (JellyFormatError, "not valid UTF-8", T.prefix(b"x", b"\xff"), None),
    "bad type": (JellyFormatError, "malformed Thrift", b"\x2c\x1e", 1),
    "type 0": (JellyFormatError, "malformed Thrift", b"\x2c\x10", 1),
    "negative length": (JellyFormatError, "malformed Thrift", b"\x2c\x1c\x1c\x18\xff\xff\xff\xff\x0f", 9),
    "long varint": (JellyFormatError, "malformed Thrift", b"\x2c\x1c\xa6" + b"\xff" * 10, 12),
    "skipped deeper": (JellyLimitError, "nested deeper than 192", b"\x2c\x5c" + b"\x1c" * 200, None),
}
U = b"\x7a\0"  # a field that is not known
PROTOBUF: dict[str, tuple[type[Exception], str, bytes, int | None]] = {
    "cut": (JellyTruncatedError, "inside a row: at least 1 more", PB_GOOD[:-1], len(PB_GOOD) - 1),
    "cut length": (JellyTruncatedError, "at least 1 more", b"\x80", 1),
    "long length": (JellyFormatError, "malformed protobuf", b"\xff" * 10 + b"\x01" + bytes(20), None),
    "no field": (JellyFormatError, "a row or term is empty", b"\0", 1),
    "no term": (JellyFormatError, "a row or term is empty", P.row(b"", P.iri(), P.iri()), 5),
    "unknown row": (JellyUnsupportedError, "a row of an unknown kind: field 15", string(U), 1),
    "unknown term": (JellyUnsupportedError, "a term of an unknown kind: field 15", P.row(U, P.iri(), P.iri()), 5),
    "undefined": (JellyUnsupportedError, "UNDEFINED", P.row(field(8, b""), P.iri(), P.iri()), 1),
    "repeat inside": (
        JellyFormatError, "which only repeats", P.row(P.quoted(P.iri(), P.iri(), field(9, b"")), P.iri(), P.iri()), None
    ),
    "no subject": (JellyFormatError, "the subject is missing", string(field(2, field(2, P.iri()))), 1),
    "no kind": (JellyFormatError, "not simple and has no", P.row(P.iri(), P.iri(), P.literal(b"o", b"")), None),
    "direction": (JellyFormatError, "ltr or rtl", P.row(P.iri(), P.iri(), P.literal(b"o", field(5, b"en"))), None),
    "direction up": (JellyFormatError, "ltr", P.row(P.iri(), P.iri(), P.literal(b"o", field(5, b"en--LTR"))), None),
    "undeclared": (JellyFormatError, "was not declared", P.row(P.short(b"zz", b"x"), P.iri(), P.iri()), None),
    "scale": (
        JellyLimitError,
        "a scale of 5000",
        P.row(P.iri(), P.iri(), b"\xb2\x01" + string(b"\x10" + zigzag(5000))),
        None,
    ),
    "deep": (JellyLimitError, "nested deeper than 48", P.row(P.iri(), P.iri(), nested(P, 49)), None),
    "utf8": (JellyFormatError, "not valid UTF-8", P.row(P.iri(b"ab\xffc"), P.iri(), P.iri()), 11),
    "utf8 of the base": (JellyFormatError, "not valid UTF-8", string(field(4, field(1, b"x\xff"))), 6),
    "group": (JellyFormatError, "malformed protobuf", string(field(2, b"\x0b\x0c")), 4),
    "longer than its row": (JellyFormatError, "malformed protobuf", string(b"\x12\x05\x0a"), None),
    "varint": (JellyFormatError, "malformed protobuf", P.row(P.iri(), P.iri(), b"\xa0\x01" + b"\xff" * 11), None),
    "double": (JellyFormatError, "malformed protobuf", P.row(P.iri(), P.iri(), b"\xa9\x01" + b"\xff" * 7), None),
    "large pieces": (JellyLimitError, "1048576 bytes", P.row(P.iri(b"x" * 700_000) * 2, P.iri(), P.iri()), None),
}


@pytest.mark.parametrize(
    ("craft", "name"), [*((Thrift, name) for name in THRIFT), *((Protobuf, name) for name in PROTOBUF)]
)
def test_faults(craft: type, name: str) -> None:
    kind, message, bad, place = (THRIFT if craft is Thrift else PROTOBUF)[name]
    good = GOOD if craft is Thrift else PB_GOOD
    for n in (0, 2):
        batches, error = attempt(craft.name, good * n + bad)
        assert type(error) is kind, error
        assert message in error.reason
        assert error.row == n
        assert sum(map(len, batches)) == n
        for batch in batches:
            batch.check()
        if place is not None:
            assert error.offset == n * len(good) + (place if place >= 0 else len(bad) + place)
        assert n * len(good) <= error.offset <= n * len(good) + len(bad)


def test_limits_of_rows_and_prefixes() -> None:
    for craft in ENCODINGS:
        row = craft.row(craft.iri(), craft.iri(), craft.literal(b"x" * 200))
        assert len(read(craft.name, row, max_row_bytes=len(row))) == 1
        for chunks in ([row], [row[:120], row[120:]], [row[i : i + 1] for i in range(len(row))]):
            with pytest.raises(
                JellyLimitError, match="longer than the limit of 100 bytes; raise max_row_bytes"
            ) as caught:
                read(craft.name, *chunks, max_row_bytes=100)
            assert (caught.value.row, caught.value.offset) == (0, 0)
        names = b"".join(craft.prefix(b"p%d" % i, b"a:") for i in range(5))
        assert len(read(craft.name, names, max_prefixes=5)[0].namespaces) == 5
        with pytest.raises(JellyLimitError, match="more than 4 prefixes are declared; raise max_prefixes"):
            read(craft.name, names, max_prefixes=4)
        names = b"".join(craft.prefix(b"p%d" % i, b"x" * (1 << 20)) for i in range(17))
        with pytest.raises(JellyLimitError, match="above the limit of 16777216"):
            read(craft.name, names)


def test_rows_below_the_limit_in_small_chunks() -> None:
    for craft in ENCODINGS:
        row = craft.row(craft.iri(), craft.iri(), craft.literal(b"x" * 50))
        data = craft.prefix(b"p", b"a:" + b"x" * 40) + row * 40
        chunks = [data[i : i + 7] for i in range(0, len(data), 7)]
        assert sum(map(len, read(craft.name, *chunks, max_row_bytes=len(row)))) == 40


def test_a_prefix_above_the_limit_is_not_given() -> None:
    reader = BinaryReader("thrift", max_row_bytes=64)
    reader.push(Thrift.prefix(b"p", b"a:" + b"x" * 100))
    reader.finish()
    with pytest.raises(JellyLimitError):
        reader.pull(True)


def test_prefixes_make_no_bomb() -> None:
    # 1 MB of namespace for each of the terms of one row.
    for craft in ENCODINGS:
        data = craft.prefix(b"p", b"x" * (1 << 20))
        term = craft.short(b"p", b"")
        terms = [craft.short(b"p", b"%d" % i) for i in range(27)]
        for _ in range(3):
            terms = [craft.quoted(*terms[i : i + 3]) for i in range(0, len(terms), 3)]
        data += craft.row(terms[0], term, term)
        with pytest.raises(JellyLimitError, match="the text of one batch would pass"):
            read(craft.name, data, max_row_bytes=1 << 22, batch_bytes=1 << 20)


def test_results_that_are_wrong() -> None:
    one = b"\x19\x1c\x18\x01x\0\0"
    cases = [
        (T, b"", JellyFormatError, "the input is empty: expected the variables", 0),
        (T, one + b"\x19\x2c\x7c\0\0\x7c\0\0\0", JellyFormatError, "a row has 2 terms, expected 1", 7),
        (T, one + b"\0", JellyFormatError, "a row has 0 terms, expected 1", 7),
        (T, b"\x19\x18\x01x\0", JellyFormatError, "malformed Thrift", 0),
        (T, b"\x19\x1c\0\0", JellyFormatError, "required field name", 2),
        (T, b"\x19\xfc" + varint(1 << 17) + b"\x18\0\0" * (1 << 17), JellyLimitError, "more than 65536", None),
        (T, b"\x19\xfc\xff\xff\xff\xff\x0f", JellyFormatError, "malformed Thrift", None),
        (T, one + b"\x19\x1c\x8c\0\0\0", JellyFormatError, "is REPEAT, but no row before", 7),
        (P, b"", JellyFormatError, "the input is empty: expected the variables", 0),
        (T, one[:-1], JellyTruncatedError, "inside a row", 6),
        (P, b"\x05\x0a\x03\x0a\x01x" + b"\0", JellyFormatError, "a row has 0 terms, expected 1", None),
        (P, b"\x05\x0a\x03\x0a\x01\xff", JellyFormatError, "not valid UTF-8", 5),
        (P, b"\x05\x0a\x03\x0a\x01x" + b"\x02\x0a\x00", JellyFormatError, "is empty", None),
        (P, string(field(1, b"") * 65537), JellyLimitError, "more than 65536", None),
    ]
    for craft, data, kind, message, place in cases:
        _, error = attempt(craft.name, data, results=True)
        assert type(error) is kind, (data[:20], error)
        assert message in error.reason
        assert place is None or error.offset == place
    # A wide result set: few rows in each Batch.
    data = (
        b"\x19\xfc"
        + varint(60_000)
        + b"\x18\x01x\0" * 60_000
        + b"\0"
        + 40 * (b"\x19\xfc" + varint(60_000) + b"\x7c\0\0" * 60_000 + b"\0")
    )
    reader = ResultReader("thrift")
    assert [batch.cells.shape for batch in reader.feed(data)] == [(17, 60_000), (17, 60_000), (6, 60_000)]


# ---- what is right and seldom


def test_any_order_unknown_fields_long_headers() -> None:
    literal = T.literal(b"o")
    plain = statements(read("thrift", T.row(IRI, IRI, literal)))
    unknown = b"\x51\x12\x13\x07\x19\x35\x01\x02\x03\x1b\x01\x58\x02\x01x\x1d" + bytes(16)
    for row in (
        b"\x2c" + b"\x3c" + literal + b"\x0c\x04" + IRI + b"\x0c\x02" + IRI + b"\0\0",
        b"\x0c\x04" + b"\x0c\x02" + IRI + b"\x0c\x04" + IRI + b"\x0c\x06" + literal + b"\0\0",
        b"\x2c\x1c" + IRI + b"\x1c" + IRI + b"\x1c" + literal + unknown + b"\0\0",
        b"\x2c\x3c" + T.literal(b"first") + b"\x0c\x06" + literal + b"\x0c\x02" + IRI + b"\x1c" + IRI + b"\0\0",
        b"\x2c\x1c\x1c\x57\0\0\0\0\0\0\0\0\x08\x02\x03a:x\0\0\x1c" + IRI + b"\x1c" + literal + b"\0\0",
    ):
        assert statements(read("thrift", row)) == plain
    good = P.row(P.iri(), P.iri(), P.literal())
    known = statements(read("protobuf", good))
    body = field(1, P.iri()) + U + field(2, P.iri()) + b"\x3d" + bytes(4) + b"\x39" + bytes(8) + field(3, P.literal())
    pieces = (
        field(3, field(3, field(1, b"o"))) + field(1, P.iri()) + field(2, P.iri()) + field(3, field(3, b"\x48\x01"))
    )
    for row in (
        string(field(2, body)),
        string(field(2, pieces)),
        string(field(1, b"") + field(2, body) + U),
        string(field(2, field(1, P.iri()) + field(2, P.iri())) + field(2, field(3, P.literal()))),
        string(
            field(2, field(1, field(2, b"") + P.iri()) + field(2, P.iri()) + field(3, P.literal(b"x") + P.literal()))
        ),
        P.row(P.iri() * 20, P.iri() * 2, P.literal()),
        good,
    ):
        assert statements(read("protobuf", row)) == known
    short = P.row(P.iri(), P.iri(), P.literal(b"o", field(4, field(1, b"p")) + field(4, field(2, b"t"))))
    (found,) = statements(read("protobuf", P.prefix(b"p", b"a:") + short))
    assert str(found.o) == '"o"^^<a:t>'


def test_triples_become_quads() -> None:
    for craft in ENCODINGS:
        triple = craft.row(craft.iri(), craft.iri(), craft.literal())
        quad = craft.row(craft.iri(), craft.iri(), craft.literal(), craft.iri(b"a:g"))
        unnamed = craft.row(craft.iri(), craft.iri(), craft.literal(), craft.iri(b"urn:x-arq:DefaultGraphNode"))
        assert [batch.arity for batch in read(craft.name, triple * 5)] == [3]
        assert [batch.arity for batch in read(craft.name, triple * 5, quads=True)] == [4]
        batches = read(craft.name, triple * 5 + quad + triple, batch_rows=2)
        assert [batch.arity for batch in batches] == [3, 3, 4, 4]
        assert [batch.g.tolist() for batch in batches[2:]] == [[-1, batches[2].g[1]], [-1]]
        (batch,) = read(craft.name, triple + unnamed)
        assert (batch.arity, batch.g.tolist()) == (4, [-1, -1])
        # Behind the first quad of a Batch that had triples.
        assert read(craft.name, triple * 3 + quad)[0].g.tolist()[:3] == [-1] * 3


def test_prefixes() -> None:
    table = Prefixes(2)
    assert table.find(b"") is None
    assert table.shorten(b"a:") is None
    table.set(b"", b"http://e/")
    table.set(b"a", b"http://e/a#")
    with pytest.raises(JellyLimitError, match="more than 2 prefixes"):
        table.set(b"b", b"x")
    table.set(b"a", b"http://e/b#")
    assert (table.find(b""), table.find(b"a"), table.find(b"b")) == (b"http://e/", b"http://e/b#", None)
    assert [
        table.shorten(iri) for iri in (b"http://e/a#x", b"http://e/b#x", b"http://e/x", b"http://e/", b"http://")
    ] == [
        None,
        b"a",
        b"",
        b"",
        None,
    ]
    table = Prefixes(5000)
    for i in range(5000):
        table.set(b"%d" % i, b"http://%d/" % i)
    assert all(table.find(b"%d" % i) == b"http://%d/" % i for i in range(5000))
    assert all(table.shorten(b"http://%d/x" % i) == b"%d" % i for i in range(5000))
    # The namespace up to the last / or # first, then the longest; nothing with either in the local name.
    table = Prefixes()
    for name, iri in ((b"short", b"urn:a"), (b"long", b"urn:ab"), (b"path", b"http://e/"), (b"part", b"http://e/pa")):
        table.set(name, iri)
    assert table.shorten(b"urn:abc") == b"long"
    assert table.shorten(b"urn:ac") == b"short"
    assert table.shorten(b"urn:ab") == b"long"
    assert table.shorten(b"urn:ab/c") is None
    assert table.shorten(b"http://e/part") == b"path"
    assert table.shorten(b"http://e/x/y") is None


def test_thrift_values_that_are_skipped() -> None:
    for kind, data, size in (
        (1, b"", 0),
        (2, b"", 0),
        (3, b"x", 1),
        (4, b"\x80\x01", 2),
        (5, b"\x01", 1),
        (6, b"\xff" * 9 + b"\x01", 10),
        (7, bytes(8), 8),
        (8, b"\x03abc", 4),
        (9, b"\x21ab", 3),
        (9, b"\xf3\x10" + bytes(16), 18),
        (10, b"\x15\x02", 2),
        (9, b"\x0c", 1),
        (11, b"\0", 1),
        (11, b"\x02\x13aAbB", 6),
        (12, b"\x15\x02\x00", 3),
        (13, bytes(16), 16),
        (9, b"\x2c\0\0", 3),
        (9, b"\x19\x19\x15\x02", 4),
    ):
        assert skip_value(data + b"more", kind) == size
        for cut in range(size):
            with pytest.raises(JellyTruncatedError):
                skip_value(data[:cut], kind)
    for kind, data in ((0, b""), (14, b"x"), (9, b"\x2e\0"), (11, b"\x01\x10ab"), (12, b"\x1f"), (8, b"\xff" * 5)):
        with pytest.raises(JellyFormatError, match="malformed Thrift"):
            skip_value(data + bytes(40), kind)
    for bomb in (b"\x19" * 300, b"\x1c" * 300):
        with pytest.raises(JellyLimitError, match="nested deeper than 192"):
            skip_value(bomb, 9 if bomb[0] == 0x19 else 12)


# ---- readers as objects


@pytest.mark.parametrize("craft", ENCODINGS)
def test_chunks_make_no_difference(craft: type) -> None:
    data = sample(craft, 20)
    whole = statements(read(craft.name, data))
    assert len(whole) == 60
    for size in (1, 2, 3, 7, 64, 1000):
        chunks = [data[i : i + size] for i in range(0, len(data), size)]
        for rows in (1, 7, 1000):
            assert statements(read(craft.name, *chunks, batch_rows=rows)) == whole
        assert statements(read(craft.name, b"", *chunks, b"", batch_bytes=1)) == whole


@pytest.mark.parametrize("craft", ENCODINGS)
def test_long_rows_in_small_chunks(craft: type) -> None:
    # Far more pieces than a row is looked through for nothing; the row is then waited for, but found at the end.
    terms = [craft.literal(b"%d" % i) for i in range(3**7)]
    while len(terms) > 1:
        terms = [craft.quoted(*terms[i : i + 3]) for i in range(0, len(terms), 3)]
    data = craft.row(craft.iri(), craft.iri(), terms[0]) + craft.row(craft.iri(), craft.iri(), craft.literal()) * 3
    for size in (5, 999):
        found = read(craft.name, *(data[i : i + size] for i in range(0, len(data), size)))
        assert sum(map(len, found)) == 4
        assert statements(found) == statements(read(craft.name, data))
    long = craft.row(craft.iri(), craft.iri(), craft.literal(b"x" * 300_000))
    reader = BinaryReader(craft.name)
    found = []
    for i in range(0, len(long), 1000):
        found += reader.feed(long[i : i + 1000])
    assert len(found) == 1  # with the last byte, not later
    assert list(reader.close()) == []


@pytest.mark.parametrize("craft", ENCODINGS)
def test_a_reader_gives_what_is_whole(craft: type) -> None:
    row = craft.row(craft.iri(), craft.iri(), craft.literal())
    reader = BinaryReader(craft.name)
    assert [len(batch) for batch in reader.feed(row + row[:5])] == [1]
    assert [len(batch) for batch in reader.feed(row[5:-1])] == []
    assert [len(batch) for batch in reader.feed(row[-1:] + row)] == [2]
    assert (reader.statements, reader.bytes_read) == (3, 3 * len(row))
    assert list(reader.close()) == []
    with pytest.raises(ValueError, match="closed"):
        reader.push(row)
    reader = BinaryReader(craft.name)
    assert list(reader.feed(row[:-1])) == []
    with pytest.raises(JellyTruncatedError) as caught:
        reader.close()
    with pytest.raises(JellyTruncatedError) as again:
        reader.pull()
    assert again.value is caught.value
    assert read(craft.name) == []
    (batch,) = read(craft.name, craft.prefix(b"p", b"a:"))
    assert (len(batch), batch.namespaces) == (0, [(0, 0, "p", "a:")])


def test_arguments() -> None:
    for make in (BinaryReader, ResultReader, BinaryWriter):
        with pytest.raises(ValueError, match='expected "thrift" or "protobuf"'):
            make("jelly")
    with pytest.raises(ValueError, match="expected"):
        ResultWriter("", [])
    for limits in (
        {"batch_rows": 0},
        {"batch_bytes": 0},
        {"max_row_bytes": 0},
        {"max_prefixes": -1},
        {"max_prefixes": 1 << 20},
    ):
        with pytest.raises(ValueError, match="must be"):
            BinaryReader("thrift", **limits)
    for thing in (BinaryReader("thrift"), ResultReader("thrift"), BinaryWriter("thrift"), ResultWriter("thrift", [])):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(thing)
    reader = BinaryReader("thrift", batch_rows=1)
    reader.push(GOOD * 3)
    reader.pull()
    with pytest.raises(RuntimeError, match="not used up"):
        reader.push(GOOD)
    with pytest.raises(TypeError):
        BinaryReader("thrift").push("text")
    assert ResultReader("thrift").variables is None


def test_prefixes_are_told() -> None:
    reader = BinaryReader("thrift")
    list(reader.feed(T.prefix(b"a:", b"x:") + T.prefix(b"", b"y:") + T.prefix(b"a", "\u00e9:".encode())))
    assert reader.prefixes == {"a": "\u00e9:", "": "y:"}


def test_the_chunk_is_given_back() -> None:
    data = bytearray(GOOD * 100 + GOOD[:9])
    reader = BinaryReader("thrift", batch_rows=10)
    batches = list(reader.feed(data))
    data.extend(b"x")  # no BufferError: nobody holds it
    assert sum(map(len, batches)) == 100
    data = bytearray(GOOD + b"\0")
    reader = BinaryReader("thrift")
    batches = reader.feed(data)
    assert len(next(batches)) == 1
    with pytest.raises(JellyFormatError):
        next(batches)
    data.extend(b"x")


def test_a_failed_reader_is_collected() -> None:
    class Marked(BinaryReader):
        pass

    reader = Marked("thrift")
    with pytest.raises(JellyFormatError):
        next(reader.feed(b"\0"))
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None


def test_threads() -> None:
    data = GOOD * 200_000
    reader = BinaryReader("thrift", batch_rows=1 << 18)
    reader.push(data)
    refused, found = [], []

    def pull() -> None:
        try:
            found.append(reader.pull(True))
        except RuntimeError as error:
            refused.append(error)

    threads = [threading.Thread(target=pull) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) + len(found) == 4
    assert sum(len(batch) for batch in found if batch is not None) == 200_000


# ---- writers

X = [
    (1, -1, b"a:x"),
    (2, -1, b"b"),
    (3, -1, b"l"),
    (4, 4, b"l"),
    (7, -1, b"en"),
    (5, 0, b"t"),
    (6, 0, b""),
    (1, -1, b"_:x"),
]


@pytest.mark.parametrize("craft", ENCODINGS)
@pytest.mark.parametrize(
    ("rows", "message", "changes"),
    [
        ([(9, 0, 0, -1)], "column subject has a term id of 9", {}),
        ([(0, -1, 0, -1)], "column predicate has a term id of -1", {}),
        ([(0, 0, 4, -1)], "column object has a term id of 4", {}),
        ([(0, 0, 0, 4)], "column graph has a term id of 4", {}),
        ([(0, 7, 0, -1)], "the IRI <_:x>, here as predicate: it begins with _:", {}),
        ([(0, 0, 0, 7)], "the IRI <_:x>, here as graph: it begins with _:", {}),
        ([(0, 0, 6, -1)], "term id of 9", {"quoted": [(0, 0, 9)]}),
        ([(0, 0, 6, -1)], "nested deeper than", {"quoted": [(0, 0, 6)]}),
        ([(0, 0, 6, -1)], "term id of 6", {"quoted": []}),
        ([], "a term id of 50", {"names": [(4, 50)]}),
    ],
)
def test_batches_that_cannot_be_written(craft: type, rows: list, message: str, changes: dict) -> None:
    batch = _make_batch(
        4, X, [(0, 0, 0, -1), *rows], changes.get("quoted", [(0, 0, 0)]), namespaces=changes.get("names", ())
    )
    writer = BinaryWriter(craft.name)
    with pytest.raises(jelly.JellyError, match=message) as caught:
        writer.encode(batch)
    assert caught.value.row == 1
    # The writer goes on with what is right.
    good = _make_batch(4, X, [(0, 0, 5, -1)], [(0, 0, 0)])
    assert statements(read(craft.name, writer.encode(good) + writer.close())) == statements([good])


@pytest.mark.parametrize("craft", ENCODINGS)
def test_triples_that_grow_beyond_memory(craft: type) -> None:
    # Each quotes the one before three times.
    terms = [(1, -1, b"x" * 100), *((6, i, b"") for i in range(40))]
    batch = _make_batch(3, terms, [(0, 0, 40)], [(i, i, i) for i in range(40)])
    with pytest.raises(JellyLimitError, match="would take more than 4194304 bytes written out"):
        write(craft.name, [batch])


@pytest.mark.parametrize("craft", ENCODINGS)
def test_depth_that_readers_take(craft: type) -> None:
    most = 62 if craft is Thrift else 48
    terms = [(1, -1, b"a:x"), *((6, i, b"") for i in range(most + 1))]
    quoted = [(0, 0, i) for i in range(most + 1)]
    batch = _make_batch(3, terms, [(0, 0, i) for i in range(1, most + 1)], quoted)
    assert statements(read(craft.name, write(craft.name, [batch]))) == statements([batch])
    for rows in ([(0, 0, most + 1)], [(0, 0, i) for i in range(1, most + 2)]):
        with pytest.raises(JellyLimitError, match=f"nested deeper than {most}"):
            write(craft.name, [_make_batch(3, terms, rows, quoted)])
    # Nor may rows that quote the one before make a deeper one for readers.
    rows = b"".join(craft.row(craft.iri(), craft.iri(), nested(craft, i)) for i in range(most + 5))
    _, error = attempt(craft.name, rows)
    assert error.row == most + 1


def test_options_of_writers() -> None:
    with pytest.raises(JellyOptionsError, match="RDF Thrift has no such rows"):
        BinaryWriter("thrift", base="a:")
    with pytest.raises(JellyOptionsError, match="RDF Thrift has no such rows"):
        BinaryWriter("thrift", default_quads=True)
    with pytest.raises(ValueError, match="size must be at least 1"):
        next(BinaryWriter("thrift").chunks(_make_batch(3), 0))
    for craft in ENCODINGS:
        batch = _make_batch(3, X, [(0, 0, i) for i in (0, 1, 2, 3, 5)] * 50)
        writer = BinaryWriter(craft.name, prefixes={"p": "a:"}, shorten=True)
        chunks = list(writer.chunks(batch, 100))
        assert len(chunks) > 20
        assert b"".join(chunks) == write(craft.name, [batch], prefixes={"p": "a:"}, shorten=True)
        assert write(craft.name, [], prefixes={"p": "a:"}) == craft.prefix(b"p", b"a:")


def test_cells_that_cannot_be_written() -> None:
    def results(*rows: tuple[int, ...], variables: tuple[str, ...] = ("x", "y")) -> Batch:
        return _make_batch(3, X, rows, variables=variables)

    for craft in ENCODINGS:
        writer = ResultWriter(craft.name, ["x", "y"])
        for variables in (("x",), ("y", "x"), ("x", "y", "z")):
            with pytest.raises(JellyOptionsError, match=r"expected \('x', 'y'\), as in the header"):
                writer.encode(results((0,) * len(variables), variables=variables))
        head = writer.encode(results())
        for bad in (-2, 4, 99):
            with pytest.raises(JellyFormatError, match=f"a term id of {bad}") as caught:
                writer.encode(results((0, 1), (-1, bad)))
            assert caught.value.row == 1
        data = head + writer.encode(results((0, 1), (-1, 5))) + writer.close()
        assert ResultWriter(craft.name, ["x", "y"]).close() == head
        variables, rows = read_rows(craft.name, *(data[i : i + 1] for i in range(len(data))))
        assert variables == ("x", "y")
        assert [[term and str(term) for term in row] for row in rows] == [["<a:x>", "_:b"], [None, '"t"^^<a:x>']]
    assert BatchBuilder(3).batch.n_terms == 0


@pytest.mark.parametrize("craft", ENCODINGS)
def test_another_batch_waits_until_all_chunks_are_taken(craft: type) -> None:
    batch = _make_batch(3, [(1, -1, b"a:x")], [(0, 0, 0)] * 100)
    writer, plain = BinaryWriter(craft.name), BinaryWriter(craft.name)
    chunks = writer.chunks(batch, 10)
    parts = [next(chunks)]
    for use in (lambda: writer.encode(batch), lambda: list(writer.chunks(batch)), writer.close):
        with pytest.raises(JellyOptionsError, match="take all of its chunks first"):
            use()
    parts += chunks
    assert len(parts) > 10
    whole = plain.encode(batch)
    assert b"".join(parts) == whole
    assert writer.encode(batch) == plain.encode(batch)
    # Chunks that nobody takes to the end are given up.
    chunks = writer.chunks(batch, 10)
    next(chunks)
    chunks.close()
    assert writer.encode(batch) + writer.close() == plain.encode(batch) + plain.close()
