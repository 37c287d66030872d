"""The reference of rdf.proto to the letter: fields under their numbers, read and written; scalar values."""

from __future__ import annotations

import io
from typing import Any

import pytest
from support import wirefields as wire
from support.craft import (
    BNODE,
    DEFAULT_GRAPH,
    GRAPH_LITERAL,
    GRAPHS,
    IRI,
    LITERAL,
    QUADS,
    QUOTED,
    TRIPLES,
    datatype,
    field,
    frame,
    graph_end,
    graph_start,
    iri,
    literal,
    name,
    namespace,
    options,
    prefix,
    quad,
    quoted,
    row,
    terms,
    triple,
    varint,
)

import jelly
from jelly import (
    BlankNode,
    JellyError,
    JellyFormatError,
    JellyOptionsError,
    JellyUnsupportedError,
    Literal,
    LogicalType,
    PhysicalType,
    Quad,
    QuotedTriple,
    StreamOptions,
    Triple,
)

SPO, SPOG = "_:s _:p _:o .", "_:s _:p _:o _:g ."
S, P, O = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o")  # noqa: E741


def stream(*rows: bytes, **settings: Any) -> bytes:
    return frame(options(**settings), *rows)


def says(*rows: bytes, **settings: Any) -> list[str]:
    return list(map(str, jelly.loads(stream(*rows, **settings))))


def o(name: int = 0, prefix: int = 0) -> bytes:
    return triple(o=(IRI, iri(name, prefix)))


def objects(*rows: bytes, **settings: Any) -> list[str]:
    return [str(x.o) for x in jelly.loads(stream(*rows, **settings))]


def raw_iri(prefix: int | None = None, name: int | None = None) -> bytes:
    """An RdfIri with fields of value 0, too."""
    return b"".join(varint(number << 3) + varint(x) for number, x in ((1, prefix), (2, name)) if x is not None)


# ---- entries of the lookups


def test_ids_of_entries() -> None:
    """000-038, 000-039, 000-040: 1-based; 0 is the previous id + 1, and 1 at first; explicit, then 0."""
    assert objects(name("a"), name("b"), o(1), o(2)) == ["<a>", "<b>"]
    assert objects(name("a", 5), name("b"), name("c", 1), name("d"), o(5), o(6), o(1), o(2)) == [
        "<a>", "<b>", "<c>", "<d>",
    ]  # fmt: skip
    three = [prefix("p:"), prefix("q:", 4), prefix("r:"), name("a")]
    assert objects(*three, o(1, 1), o(1, 4), o(1, 5)) == ["<p:a>", "<q:a>", "<r:a>"]
    types = [datatype("p:"), datatype("q:", 4), datatype("r:")]
    found = objects(*types, *(triple(o=(LITERAL, literal("l", datatype=i))) for i in (1, 4, 5)))
    assert found == ['"l"^^<p:>', '"l"^^<q:>', '"l"^^<r:>']
    for entry in (name, prefix, datatype):
        explicit = stream(row({name: 9, prefix: 10, datatype: 11}[entry], varint(8) + varint(0), field(2, "a")))
        assert jelly.loads(explicit) == []


def test_values_of_entries() -> None:
    """000-041: UTF-8; a value that is left out is the empty string."""
    assert objects(name("\u00e9\U0001f600"), row(9), o(1), o(2)) == ["<\u00e9\U0001f600>", "<>"]
    assert objects(row(10), name("a"), o(1, 1)) == ["<a>"]
    assert objects(row(11), triple(o=(LITERAL, literal("l", datatype=1)))) == ['"l"^^<>']


@pytest.mark.parametrize("entry", [name, prefix, datatype])
@pytest.mark.parametrize("bad", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xe2\x82"])
def test_values_that_are_not_utf8(entry: Any, bad: bytes) -> None:
    """000-042."""
    with pytest.raises(JellyFormatError, match="UTF-8"):
        jelly.loads(stream(entry(bad)))


@pytest.mark.parametrize(("number", "entry"), [(9, name), (10, prefix), (11, datatype)])
def test_fields_of_entries_in_any_order(number: int, entry: Any) -> None:
    """000-043: and with fields that are not known."""
    unknown = field(7, b"x") + field(100, 5) + varint(8 << 3 | 5) + b"1234" + varint(9 << 3 | 1) + b"12345678"
    odd = row(number, unknown, field(2, "x"), unknown, field(1, 3), unknown)
    use = {name: o(3), prefix: o(1, 3), datatype: triple(o=(LITERAL, literal("l", datatype=3)))}[entry]
    assert objects(name("n"), odd, use) == objects(name("n"), entry("x", 3), use)


# ---- graphs


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        pytest.param((IRI, iri(1)), " <n>", id="000-046"),
        pytest.param((BNODE, b"b"), " _:b", id="000-047"),
        pytest.param((DEFAULT_GRAPH, b""), "", id="000-048"),
        pytest.param((GRAPH_LITERAL, literal("l", "en")), ' "l"@en', id="000-049"),
    ],
)
def test_graph_start(graph: tuple[int, bytes], text: str) -> None:
    assert says(name("n"), graph_start(graph), triple(), graph_end(), physical=GRAPHS) == [f"_:s _:p _:o{text} ."]


def test_graph_rows() -> None:
    """000-044, 000-045, 000-050: the default graph, the end of a graph, and a start names its graph, always."""
    default = (DEFAULT_GRAPH, b"")
    (found,) = jelly.loads(stream(quad(g=default), physical=QUADS))
    assert found.g == jelly.DefaultGraph()
    rows = [graph_start(), triple(), graph_end()]
    assert says(*rows, graph_start(default), triple(), graph_end(), physical=GRAPHS) == [SPOG, SPO]
    with pytest.raises(JellyFormatError, match="outside a graph"):
        says(*rows, triple(), physical=GRAPHS)
    for before in ([], rows):
        with pytest.raises(JellyFormatError, match="names no graph"):
            says(*before, graph_start(None), physical=GRAPHS)


# ---- terms


def test_ids_of_prefixes() -> None:
    """000-051, 000-052: 0 is the one before, in the order of rows and of s, p, o, g; before the first it is none."""
    tables = [prefix("p:"), prefix("q:"), name("a")]
    assert objects(*tables, o(1), o(1, 2), o(1), o(1, 1), o(1)) == ["<a>", "<q:a>", "<q:a>", "<p:a>", "<p:a>"]
    nested = terms((IRI, iri(1)), (IRI, iri(1, 1)), (IRI, iri(1)))
    row_ = quad((IRI, iri(1, 2)), (IRI, iri(1)), (QUOTED, nested), (IRI, iri(1)))
    assert says(*tables, row_, physical=QUADS) == ["<q:a> <q:a> <<( <q:a> <p:a> <p:a> )>> <p:a> ."]
    assert objects(*tables, triple(o=(IRI, raw_iri(0, 1)))) == ["<a>"]


def test_ids_of_names() -> None:
    """000-053."""
    tables = [name("a"), name("b"), name("c")]
    assert objects(*tables, o(), o(), o(1), o(), o(), o(2), o()) == [f"<{x}>" for x in "ababcbc"]
    assert objects(*tables, triple(o=(IRI, raw_iri(0, 0))), triple(o=(IRI, raw_iri(None, 0)))) == ["<a>", "<b>"]


def test_fields_of_literals() -> None:
    """000-054, 000-055, 000-056."""
    for body, text in ((field(1, "l\u00e9"), '"l\u00e9"'), (field(2, "en-GB") + field(1, "l"), '"l"@en-GB')):
        assert objects(triple(o=(LITERAL, body))) == [text]
    typed = triple(o=(LITERAL, field(3, 2) + field(1, "l")))
    assert objects(datatype("c:"), datatype("d:"), typed) == ['"l"^^<d:>']
    with pytest.raises(JellyFormatError, match="datatype 0"):
        says(datatype("d:"), triple(o=(LITERAL, field(1, "l") + varint(3 << 3) + varint(0))))


def test_namespaces() -> None:
    """000-057, 000-058, 000-060, 000-061."""
    rows = [prefix("p:"), name("a"), name("b"), name("c"), namespace("e", iri(0, 1)), o(), namespace("f:g", b""), o()]
    (found,) = jelly.scan(stream(*rows[:-1], version=2)).frames()
    # The IRIs take part in the counting; the name is given as it is.
    assert found.namespaces == [("e", "p:a"), ("f:g", "p:c")]
    assert [str(x.o) for x in found] == ["<p:b>"]
    # The lookup of prefixes is what it was: no name and no IRI of a namespace is in it.
    with pytest.raises(JellyFormatError, match="prefix 2 was never defined"):
        says(*rows[:-1], o(1, 2), version=2)
    with pytest.raises(JellyFormatError, match="no IRI"):
        says(namespace("e", None), version=2)


def test_namespaces_are_written_in_version_2() -> None:
    """000-059, 000-108."""
    out = io.BytesIO()
    with jelly.Writer(out) as writer:
        writer.namespace("e", "http://e/")
        writer.add(Triple(S, P, O))
    assert wire.options(out.getvalue())[15] == 2
    (body,) = (body for kind, body in wire.rows(out.getvalue()) if kind == 6)
    assert dict(wire.fields(body))[1] == b"e"
    assert wire.options(jelly.dumps([(S, P, O)]))[15] == 1


SLOTS = ("subject", "predicate", "object")
CRAFTED = [
    ((IRI, iri(1)), "<n>"), ((BNODE, b"x"), "_:x"), ((LITERAL, literal("l")), '"l"'),
    ((QUOTED, quoted(1)), None),
]  # fmt: skip
MADE = [O, BlankNode("x"), Literal("l"), QuotedTriple(S, P, O)]
FIELDS = [(number, (number - 1) // 4, (number - 1) % 4) for number in range(1, 13)]


@pytest.mark.parametrize(
    ("slot", "kind"), [pytest.param(slot, kind, id=f"000-{60 + 2 * number:03}") for number, slot, kind in FIELDS]
)
def test_field_of_a_term_is_read(slot: int, kind: int) -> None:
    """000-062 to 000-084, those with an even number."""
    given: list[Any] = [(BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o")]
    given[slot], text = CRAFTED[kind]
    body = terms(*given)
    assert (1 + 4 * slot + kind) in [number for number, _ in wire.fields(body)]
    for rows, physical in (([triple(*given)], TRIPLES), ([quad(*given)], QUADS)):
        (found,) = jelly.loads(stream(name("n"), *rows, physical=physical))
        if text is None:
            assert found[slot] == QuotedTriple(BlankNode("s"), BlankNode("p"), BlankNode("o"))
        else:
            assert str(found[slot]) == text


@pytest.mark.parametrize(
    ("number", "slot", "kind"), [pytest.param(*each, id=f"000-{61 + 2 * each[0]:03}") for each in FIELDS]
)
def test_field_of_a_term_is_written(number: int, slot: int, kind: int) -> None:
    """000-063 to 000-085, those with an odd number."""
    statement = [S, P, O]
    statement[slot] = MADE[kind]
    generalized = (slot, kind) in {(0, 2), (1, 1), (1, 2), (1, 3)}
    for physical, row_kind, made in (
        (PhysicalType.TRIPLES, 2, Triple(*statement)),
        (PhysicalType.QUADS, 3, Quad(*statement, BlankNode("g"))),
    ):
        kind_ = StreamOptions(physical, generalized_statements=generalized, rdf_star=kind == 3)
        data = jelly.dumps([made], kind_)
        (body,) = (body for found, body in wire.rows(data) if found == row_kind)
        assert number in [found for found, _ in wire.fields(body)]
        assert jelly.loads(data) == [made]
        for flag in ("generalized_statements", "rdf_star"):
            if getattr(kind_, flag):
                with pytest.raises(JellyOptionsError, match=flag):
                    jelly.dumps([made], kind_.replace(**{flag: False}))


@pytest.mark.parametrize(
    ("graph", "made", "number"),
    [
        pytest.param((IRI, iri(1)), jelly.IRI("n"), 13, id="000-086"),
        pytest.param((BNODE, b"x"), BlankNode("x"), 14, id="000-087"),
        pytest.param((DEFAULT_GRAPH, b""), jelly.DefaultGraph(), 15, id="000-088"),
        pytest.param((GRAPH_LITERAL, literal("l")), Literal("l"), 16, id="000-089"),
    ],
)
def test_field_of_a_graph(graph: tuple[int, bytes], made: Any, number: int) -> None:
    (found,) = jelly.loads(stream(name("n"), quad(g=graph), physical=QUADS))
    assert found.g == made
    kind = StreamOptions(PhysicalType.QUADS, generalized_statements=number == 16)
    data = jelly.dumps([Quad(S, P, O, made)], kind)
    (body,) = (body for found, body in wire.rows(data) if found == 3)
    assert [found for found, _ in wire.fields(body)] == [1, 5, 9, number]
    if number == 16:
        with pytest.raises(JellyOptionsError, match="generalized_statements"):
            jelly.dumps([Quad(S, P, O, made)], StreamOptions(PhysicalType.QUADS))


def test_terms_that_are_left_out() -> None:
    """000-090, 000-091, 000-092: repeated, but not in the first statement and not in quoted triples."""
    assert says(quad(), quad(None, None, None, None), physical=QUADS) == [SPOG, SPOG]
    for slot in range(4):
        some = {"spog"[slot]: None}
        with pytest.raises(JellyFormatError, match="is left out"):
            says(quad(**some), physical=QUADS)
    for slot in range(3):
        some = {"spo"[slot]: None}
        with pytest.raises(JellyFormatError, match="is left out"):
            says(triple(**some))
        inner = terms(*(None if i == slot else (BNODE, b"x") for i in range(3)))
        for place in "so":
            with pytest.raises(JellyFormatError, match=f"quoted triple has no {SLOTS[slot]}"):
                says(triple(), triple(**{place: (QUOTED, inner)}))


# ---- frames, rows, options


def test_rows_of_a_frame() -> None:
    """000-094: any number, also none."""
    for count in (0, 1, 1000):
        assert len(jelly.loads(stream(*[triple()] * count))) == count
    assert len(jelly.loads(frame() + stream() + frame() + frame(triple()) + frame())) == 1


ROWS: dict[str, tuple[int, int, bytes, bytes]] = {
    # physical type, number of the field, rows before it, the body
    "000-095": (TRIPLES, 1, b"", wire.fields(wire.fields(options())[0][1])[0][1]),  # type: ignore[arg-type, dict-item]
    "000-096": (TRIPLES, 2, b"", terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o"))),
}


@pytest.mark.parametrize("id", ROWS)
def test_number_of_a_row(id: str) -> None:
    physical, number, before, body = ROWS[id]
    data = frame(options(physical), before, field(1, field(number, body)), triple())
    assert says_whole(data) == [SPO] * (2 if number == 2 else 1)


def says_whole(data: bytes) -> list[str]:
    return list(map(str, jelly.loads(data)))


def test_numbers_of_rows() -> None:
    """000-097: quad 3, graph_start 4, graph_end 5, namespace 6, name 9, prefix 10, datatype 11, read and written."""
    body = terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o"))
    graph = field(2, b"g")
    assert says(row(3, body + field(14, b"g")), physical=QUADS) == [SPOG]
    assert says(row(4, graph), row(2, body), row(5), row(4, graph), row(5), physical=GRAPHS) == [SPOG]
    assert objects(row(9, field(2, "a")), row(10, field(2, "p:")), o(1, 1)) == ["<p:a>"]
    assert objects(row(11, field(2, "d:")), triple(o=(LITERAL, literal("l", datatype=1)))) == ['"l"^^<d:>']
    (found,) = jelly.scan(stream(row(9, field(2, "a")), row(6, field(1, "e"), field(2, iri(1))), version=2)).frames()
    assert found.namespaces == [("e", "a")]
    out = io.BytesIO()
    with jelly.Writer(out, StreamOptions(PhysicalType.GRAPHS, version=2)) as writer:
        writer.namespace("e", "http://e/")
        writer.add(Quad(S, P, Literal("l", datatype="a:d"), BlankNode("g")))
    kinds = [kind for kind, _ in wire.rows(out.getvalue())]
    assert sorted(kinds) == sorted([1, *kinds.count(9) * [9], *kinds.count(10) * [10], 11, 6, 4, 2, 5])
    assert {9, 10} < set(kinds)
    assert 3 in [kind for kind, _ in wire.rows(jelly.dumps([Quad(S, P, O, BlankNode("g"))]))]


OPTIONS = {
    "000-098": (1, {"stream_name": "n\u00e4"}, "n\u00e4".encode()),
    "000-099": (2, {"physical_type": 3}, 3),
    "000-100": (3, {"generalized_statements": True}, 1),
    "000-101": (4, {"rdf_star": True}, 1),
    "000-102": (9, {"max_name_table_size": 77}, 77),
    "000-103": (10, {"max_prefix_table_size": 78}, 78),
    "000-104": (11, {"max_datatype_table_size": 79}, 79),
    "000-105": (15, {"version": 2}, 2),
}
LEAST = {2: 2, 9: 16, 15: 1}


@pytest.mark.parametrize("id", OPTIONS)
def test_field_of_the_options(id: str) -> None:
    number, changes, value = OPTIONS[id]
    found = jelly.read_options(frame(row(1, *(field(k, v) for k, v in (LEAST | {number: value}).items()))))
    known = StreamOptions(PhysicalType.QUADS, max_name_table_size=16, max_prefix_table_size=0,
                          max_datatype_table_size=0, version=1)  # fmt: skip
    assert found == known.replace(**changes)
    kind = StreamOptions(PhysicalType.QUADS).replace(**changes)
    assert wire.options(jelly.dumps([], kind))[number] == value
    assert jelly.read_options(jelly.dumps([], kind)) == kind.replace(version=changes.get("version", 1))


TYPES = {
    "FLAT_TRIPLES": (1, 1), "FLAT_QUADS": (2, 2), "GRAPHS": (3, 1), "DATASETS": (4, 2), "SUBJECT_GRAPHS": (13, 1),
    "NAMED_GRAPHS": (14, 2), "TIMESTAMPED_NAMED_GRAPHS": (114, 3),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_logical_types(kind: str) -> None:
    """000-106, 000-109, 000-111: each under its name and number; the base type is the last digit."""
    number, physical = TYPES[kind]
    assert LogicalType[kind] == number
    assert {x.name for x in LogicalType} == {*TYPES, "UNSPECIFIED"}
    data = jelly.dumps([], StreamOptions(physical, number))
    assert wire.options(data)[14] == number
    assert jelly.read_options(data).logical_type.name == kind
    assert jelly.read_options(stream(physical=physical, logical=number)).logical_type == number
    assert LogicalType(number).base == number % 10
    assert jelly.read_options(stream(physical=physical, logical=number % 10 + 240)).logical_type.base == number % 10


def test_versions() -> None:
    """000-107: 1 and 2 are read, custom ones are not."""
    for version in (1, 2):
        assert jelly.read_options(stream(triple(), version=version)).version == version
    for version in (0, 4, 9999, 10_000, 1 << 40):
        with pytest.raises(JellyUnsupportedError, match="version"):
            jelly.loads(stream(triple(), version=version))


@pytest.mark.parametrize("number", [0, 4, 5, 100])
def test_physical_types(number: int) -> None:
    """000-112."""
    assert [int(x) for x in PhysicalType] == [0, 1, 2, 3]
    with pytest.raises(JellyUnsupportedError, match=f"physical stream type {number}"):
        jelly.loads(stream(physical=number))


# ---- scalar values


def test_varints_longer_than_need_be() -> None:
    """000-113."""
    long = varint(9 << 3) + b"\x90\x80\x80\x80\x00"
    assert jelly.read_options(frame(row(1, field(2, 1), long, field(15, 1)))).max_name_table_size == 16
    entry = row(9, varint(1 << 3) + b"\x81\x80\x00", field(2, "a"))
    assert objects(entry, triple(o=(IRI, b"\x10\x81\x80\x80\x00"))) == ["<a>"]
    body = b"".join((options(), triple()))
    assert len(jelly.loads(bytes([len(body) | 0x80, 0x80, 0x00]) + body, delimited=True)) == 1


@pytest.mark.parametrize("number", [2, 3, 4, 9, 10, 11, 14, 15])
@pytest.mark.parametrize("tail", [b"\x01", b"\x00", b"\x7f", b"\xff\x01"])
def test_numbers_of_ten_bytes_do_no_harm(number: int, tail: bytes) -> None:
    """000-115: a number that protobuf takes for negative is read or refused, nothing else."""
    known = [field(k, v) for k, v in LEAST.items()]
    data = frame(row(1, *known, varint(number << 3) + b"\xff" * 9 + tail), quad())
    try:
        assert len(jelly.loads(data)) == 1
    except JellyError as error:
        assert error.row == 0  # noqa: PT017 - either will do


@pytest.mark.parametrize("value", [1, 2, 5, 127, 128, 1 << 40])
def test_any_number_but_0_is_true(value: int) -> None:
    """000-116."""
    found = jelly.read_options(frame(row(1, field(2, 1), field(3, value), field(4, value), field(9, 16), field(15, 1))))
    assert (found.generalized_statements, found.rdf_star) == (True, True)
    found = jelly.read_options(frame(row(1, field(2, 1), field(3, 0), field(4, 0), field(9, 16), field(15, 1))))
    assert (found.generalized_statements, found.rdf_star) == (False, False)


@pytest.mark.parametrize(
    "rows",
    [
        [options(name=b"\xff")],
        [options(), triple(s=(BNODE, b"\xff"))],
        [options(), triple(o=(LITERAL, literal("l", b"\xff")))],
        [options(), triple(o=(LITERAL, literal(b"\xff")))],
        [options(version=2), name(), namespace(b"\xff", iri(1))],
    ],
)
def test_strings_are_utf8(rows: list[bytes]) -> None:
    """000-117."""
    with pytest.raises(JellyFormatError, match="UTF-8"):
        jelly.loads(frame(*rows))


def test_fixed_numbers_of_unknown_fields() -> None:
    """000-118, 000-119: skipped; a known number with another wire type is an unknown field."""
    eight, four = varint(100 << 3 | 1) + bytes(8), varint(101 << 3 | 5) + bytes(4)
    body = terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o"))
    assert says(row(2, eight, body, four), eight, four, field(1, eight + field(2, body) + four)) == [SPO] * 2
    other = varint(2 << 3) + varint(7) + varint(6 << 3 | 1) + bytes(8)  # s_bnode as a number, p_bnode as eight bytes
    assert says(row(2, other, body, other)) == [SPO]
    with pytest.raises(JellyFormatError, match="subject is left out"):
        says(row(2, other))


def test_a_graph_starts_only_outside_of_another() -> None:
    """000-127: as the specification says; the sentence of the reference, that a start ends the graph, is not for it."""
    with pytest.raises(JellyFormatError, match="inside another graph"):
        says(graph_start(), triple(), graph_start(), physical=GRAPHS)
