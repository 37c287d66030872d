"""Jelly-RDF to the letter, reading: streams made by hand. The names of the cases are numbers of requirements.csv."""

from __future__ import annotations

import pytest
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
from jelly import JellyError, JellyFormatError, JellyLimitError, JellyUnsupportedError

S, P, O, G = (BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o"), (BNODE, b"g")  # noqa: E741
SPO, SPOG = "_:s _:p _:o .", "_:s _:p _:o _:g ."
DEFAULT = (DEFAULT_GRAPH, b"")
LIT = (LITERAL, literal("l"))


def o(name: int = 0, prefix: int = 0) -> bytes:
    """A triple whose object is an IRI."""
    return triple(o=(IRI, iri(name, prefix)))


def typed(id: int) -> bytes:
    return triple(o=(LITERAL, literal("l", datatype=id)))


def says(*objects: str) -> list[str]:
    return [f"_:s _:p {text} ." for text in objects]


def stream(*frames: list[bytes], **settings: int) -> bytes:
    """Frames of rows, the options in the first."""
    first, *rest = frames
    return frame(options(**settings), *first) + b"".join(frame(*rows) for rows in rest)


TABLES = [prefix("http://e/"), name("a"), name("b"), name("c")]
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
# The example of the section on repeated terms: three rows, of which the second and third repeat.
EXAMPLE = [
    *(prefix(text) for text in ("p1:", "p2:")),
    *(name(text) for text in "abc"),
    row(2, terms((IRI, iri(1, 1)), (IRI, iri(2, 1)), (BNODE, b"b1"))),
    row(2, terms(None, None, (BNODE, b"b2"))),
    row(2, terms(None, (IRI, iri(3, 2)), None)),
]

READ: dict[str, tuple[bytes, list[str]]] = {
    "001-003": (stream([triple()], version=1), [SPO]),
    "001-019": (stream([prefix("p:"), name("a")], [o(1, 1)], []) + frame(o(1)), says("<p:a>", "<p:a>")),
    "001-020": (stream([name("a"), name("b"), o()], [o()]), says("<a>", "<b>")),
    "001-021": (stream([name("a", 3)], [name("b"), o(4)]), says("<b>")),
    "001-022": (stream([prefix("p:"), name("a"), o(1, 1)], [o(1)]), says("<p:a>", "<p:a>")),
    "001-024": (stream([triple()], physical=TRIPLES), [SPO]),
    "001-026": (stream([graph_start(), triple(), graph_end()], physical=GRAPHS), [SPOG]),
    "001-028": (stream([quad()], physical=QUADS), [SPOG]),
    "001-032": (stream([graph_start(DEFAULT), graph_end()], physical=GRAPHS), []),
    "001-035": (stream([graph_start(), triple(), graph_end(), graph_start(DEFAULT), triple(), graph_end()],
                       physical=GRAPHS), [SPOG, SPO]),
    "001-037": (stream([field(1, field(9, field(2, "n")) + field(2, terms(S, P, O)))]), [SPO]),
    "001-044": (stream([triple()], logical=0), [SPO]),
    "001-045": (stream([quad()], physical=QUADS, logical=24), [SPOG]),
    "001-048": (stream([triple()], logical=3), [SPO]),
    "001-051": (stream([triple()], logical=13), [SPO]),
    "001-055": (stream([quad()], physical=QUADS, logical=4), [SPOG]),
    "001-056": (stream([graph_start(), triple(), graph_end()], physical=GRAPHS, logical=4), [SPOG]),
    "001-058": (stream([quad()], physical=QUADS, logical=14), [SPOG]),
    "001-059": (stream([graph_start(), triple(), graph_end()], physical=GRAPHS, logical=14), [SPOG]),
    "001-061": (stream([quad()], physical=QUADS, logical=114), [SPOG]),
    "001-062": (stream([graph_start(), triple(), graph_end()], physical=GRAPHS, logical=114), [SPOG]),
    "001-063": (stream([triple()], logical=1), [SPO]),
    "001-067": (stream([quad()], physical=QUADS, logical=2), [SPOG]),
    "001-068": (stream([graph_start(), triple(), graph_end()], physical=GRAPHS, logical=2), [SPOG]),
    "001-074": (stream([triple(), options(), triple(o=LIT)], [options(), triple()]), [SPO, *says('"l"'), SPO]),
    "001-075": (stream([prefix("p:"), name("a"), name("b"), name("c"), o(1, 1), options(), o(), triple(o=None)],
                       [name("d"), options(), o(), o()]),
                says("<p:a>", "<p:b>", "<p:b>", "<p:c>", "<p:d>")),
    "001-084": (stream([triple(), row(1, field(15, 1), field(11, 8), field(14, 0), field(10, 8), field(9, 16),
                                      field(4, 1), field(3, 1), field(2, 1)), triple()]), [SPO, SPO]),
    "001-088": (stream([quad((LITERAL, literal("s")), (BNODE, b"p"), (QUOTED, terms(LIT, LIT, LIT)),
                             (GRAPH_LITERAL, literal("g"))), quad(p=LIT), quad(p=(QUOTED, quoted(1)))],
                       physical=QUADS),
                ['"s" _:p <<( "l" "l" "l" )>> "g" .', '_:s "l" _:o _:g .', "_:s << _:s _:p _:o >> _:o _:g ."]),
    "001-097": (stream([name("a"), o(1), o(1)], prefixes=0), says("<a>", "<a>")),
    "001-104": (frame(row(1, field(2, 1), field(9, 16), field(15, 1)), triple()), [SPO]),
    "001-107": (stream([triple()], version=1), [SPO]),
    "001-109": (frame(row(1, field(2, 1), field(9, 16), varint(15 << 3) + b"\x81\x80\x00"), triple()), [SPO]),
    "001-111": (stream([name("a"), o(1), name("b", 1), o(1), prefix("p:"), o(1, 1), prefix("q:", 1), o(1)],
                       [name("c", 1), o(1)]), says("<a>", "<b>", "<p:b>", "<q:b>", "<q:c>")),
    "001-112": (stream([name("a"), o(1), name("b", 1), triple(o=None), o(1)]), says("<a>", "<a>", "<b>")),
    "001-113": (stream([datatype("d:"), typed(1), datatype("e:", 1), triple(o=None), typed(1)]),
                says('"l"^^<d:>', '"l"^^<d:>', '"l"^^<e:>')),
    "001-118": (stream([name("a"), prefix("p:"), datatype("d:"), name("b"), prefix("q:"), datatype("e:"),
                        o(2, 2), typed(2), o(1, 1), typed(1)]),
                says("<q:b>", '"l"^^<e:>', "<p:a>", '"l"^^<d:>')),
    "001-119": (stream([name("a", 9), name("b"), name("c", 2), name("d"), o(10), o(3)]), says("<b>", "<d>")),
    "001-120": (stream([*(name(f"n{i}") for i in range(1, 17)), *(o(i) for i in range(16, 0, -1))], names=16),
                says(*(f"<n{i}>" for i in range(16, 0, -1)))),
    "001-123": (stream([row(2, terms(LIT, LIT, (IRI, iri(9))) + terms(S, P, O))]), [SPO]),
    "001-124": (stream([graph_start(DEFAULT), triple(), graph_end(), graph_start(), triple(), triple(o=LIT),
                        graph_end()], physical=GRAPHS), [SPO, SPOG, '_:s _:p "l" _:g .']),
    "001-128": (stream([graph_start(), graph_end(), graph_start(), triple(), graph_end()], physical=GRAPHS), [SPOG]),
    "001-129": (stream([graph_start(), triple(), graph_end(), graph_start(DEFAULT), graph_end(), graph_start(),
                        triple(o=LIT), graph_end()], physical=GRAPHS), [SPOG, '_:s _:p "l" _:g .']),
    "001-130": (stream([graph_start(), triple()], [triple(o=LIT)], [], [graph_end()], physical=GRAPHS),
                [SPOG, '_:s _:p "l" _:g .']),
    "001-132": (stream([row(4, field(3, b""), field(2, b"g")), triple(), graph_end()], physical=GRAPHS), [SPOG]),
    "001-134": (stream([graph_start(), triple()], physical=GRAPHS), [SPOG]),
    "001-135": (stream(EXAMPLE), ["<p1:a> <p1:b> _:b1 .", "<p1:a> <p1:b> _:b2 .", "<p1:a> <p2:c> _:b2 ."]),
    "001-138": (stream([triple()], [triple(None, None, None)]), [SPO, SPO]),
    "001-139": (stream([triple()], [], [triple(None, None, None)]), [SPO, SPO]),
    "001-140": (stream([triple(), triple(None, None, LIT), triple(None, None, None), triple(None, None, None)]),
                [SPO, *says('"l"', '"l"', '"l"')]),
    "001-141": (stream([triple(o=(QUOTED, quoted(1))), triple(o=None)]), says(*["<<( _:s _:p _:o )>>"] * 2)),
    "001-142": (stream([triple(), triple(s=(QUOTED, terms(LIT, LIT, LIT)), p=None, o=None)]),
                [SPO, '<< "l" "l" "l" >> _:p _:o .']),
    "001-143": (stream([quad(), quad(g=None), quad(g=DEFAULT), quad(g=None)], physical=QUADS),
                [SPOG, SPOG, SPO, SPO]),
    "001-144": (stream([graph_start(), triple(), graph_end(), graph_start(DEFAULT), triple(None, None, None),
                        graph_end()], physical=GRAPHS), [SPOG, SPO]),
    "001-145": (stream([name("a"), triple(), namespace("x", iri(1)), triple(None, None, None)], version=2),
                [SPO, SPO]),
    "001-147": (stream([prefix("http://example.com/"), name("example"), name(""), name("test"), o(0, 1), o(), o()]),
                says(*(f"<http://example.com/{text}>" for text in ("example", "", "test")))),
    "001-148": (stream([name("http://example.com/example"), name("http://example.com/test"), o(), o()], prefixes=0),
                says("<http://example.com/example>", "<http://example.com/test>")),
    "001-149": (stream([*TABLES, o(), o(), o(), o(1), o(), o(3), o(2), o()]), says(*(f"<{x}>" for x in "abcabcbc"))),
    "001-151": (stream([*TABLES, o(1), o(2, 1), o(3)]), says("<a>", "<http://e/b>", "<http://e/c>")),
    "001-152": (stream([*TABLES, prefix(""), o(1, 1), o(1, 2), o(1)]), says("<http://e/a>", "<a>", "<a>")),
    "001-153": (stream([*(name(x) for x in "abcdef"),
                        quad((IRI, b""), (QUOTED, terms((IRI, b""), (IRI, b""), (IRI, b""))), (IRI, b""), (IRI, b""))],
                       physical=QUADS), ["<a> << <b> <c> <d> >> <e> <f> ."]),
    "001-154": (stream([name("a"), name("b"), name("c"), graph_start((IRI, b"")), o(), graph_end(),
                        graph_start((IRI, b"")), triple(), graph_end()], physical=GRAPHS),
                ["_:s _:p <b> <a> .", "_:s _:p _:o <c> ."]),
    "001-156": (stream([name("not an <IRI>"), o(1)]), says("<not\\u0020an\\u0020\\u003CIRI\\u003E>")),
    "001-158": (stream([triple()], [triple()]), [SPO, SPO]),
    "001-160": (stream([triple(o=(LITERAL, b"")), triple(o=(LITERAL, field(2, "en")))]), says('""', '""@en')),
    "001-161": (stream([triple(o=LIT)]), says('"l"')),
    "001-163": (stream([triple(o=(LITERAL, literal("l", "EN-gb-X")))]), says('"l"@EN-gb-X')),
    "001-165": (stream([triple(o=(LITERAL, literal("l", "toolonglanguage")))]), says('"l"@toolonglanguage')),
    "001-167": (stream([datatype(XSD_STRING), typed(1)]), says('"l"')),
    "001-168": (stream([datatype("d:"), *(triple(o=(LITERAL, field(1, "l") + kind)) for kind in
                                          (field(2, "en") + field(3, 1), field(3, 1) + field(2, "en")))]),
                says('"l"^^<d:>', '"l"@en')),
    "001-169": (stream([name("a"), name("b"), triple((QUOTED, terms((QUOTED, terms((IRI, b""), P, O)), P, (IRI, b""))))
                        ]), ["<< << <a> _:p _:o >> _:p <b> >> _:p _:o ."]),
    "001-171": (stream([name("g"), datatype("d:"), quad(g=(IRI, iri(1))), quad(g=(BNODE, b"x")),
                        quad(g=(GRAPH_LITERAL, literal("1", datatype=1)))], physical=QUADS),
                ["_:s _:p _:o <g> .", "_:s _:p _:o _:x .", '_:s _:p _:o "1"^^<d:> .']),
    "001-172": (stream([quad(g=G), quad(g=DEFAULT)], physical=QUADS), [SPOG, SPO]),
}  # fmt: skip


@pytest.mark.parametrize("id", READ)
def test_read(id: str) -> None:
    data, expected = READ[id]
    assert list(map(str, jelly.loads(data))) == expected
    # The same where the bytes come one by one, and where a Batch ends behind each statement.
    assert list(map(str, jelly.read([data[i : i + 1] for i in range(len(data))], batch_rows=1))) == expected


OTHERS = {"prefixes": 9, "names": 17, "datatypes": 9, "generalized": False, "star": False, "logical": 1, "version": 2}
FORMAT, LIMIT, UNSUPPORTED = JellyFormatError, JellyLimitError, JellyUnsupportedError

REFUSED: dict[str, tuple[type[JellyError], str, list[bytes]]] = {
    "001-006": (UNSUPPORTED, "version 4", [stream([triple()], version=4)]),
    "001-025": (FORMAT, "not allowed", [stream([quad(), triple()], physical=QUADS)]),
    "001-027": (FORMAT, "not allowed", [stream([triple(), quad()], physical=TRIPLES)]),
    "001-029": (FORMAT, "not allowed", [stream([graph_start(), quad()], physical=GRAPHS)]),
    "001-030": (FORMAT, "not allowed", [stream([triple(), graph_start()], physical=TRIPLES)]),
    "001-031": (FORMAT, "not allowed", [stream([quad(), graph_start()], physical=QUADS)]),
    "001-033": (FORMAT, "not allowed", [stream([triple(), graph_end()], physical=TRIPLES)]),
    "001-034": (FORMAT, "not allowed", [stream([quad(), graph_end()], physical=QUADS)]),
    "001-036": (FORMAT, "never defined", [stream([o(1), name("a")]), stream([o(1)], [name("a")])]),
    "001-038": (FORMAT, "not set or unknown", [stream([triple(), field(1, b"")])]),
    "001-039": (UNSUPPORTED, "physical stream type 0", [stream([], physical=0), stream([triple()], physical=0)]),
    "001-046": (FORMAT, "logical stream type", [stream([triple()], logical=i) for i in (5, 6, 7, 8, 9, 15, 29)]),
    "001-047": (FORMAT, "logical stream type", [stream([triple()], logical=i) for i in (10, 20, 110)]),
    "001-073": (FORMAT, "does not start with", [frame(triple()), frame(name()), frame(triple(), options()), frame()]),
    **{
        id: (FORMAT, "differs from the first", [stream([triple(), options(**{key: OTHERS[key]})]),
                                               stream([triple()], [options(**{key: OTHERS[key]}), triple()])])
        for id, key in (("001-076", "prefixes"), ("001-077", "names"), ("001-078", "datatypes"),
                        ("001-079", "generalized"), ("001-080", "star"), ("001-082", "logical"),
                        ("001-083", "version"))
    },
    "001-081": (FORMAT, "differs from the first", [stream([triple(), options(name=b"x")])]),
    "001-086": (UNSUPPORTED, "physical stream type 0", [frame(row(1, field(9, 16), field(15, 1)), triple())]),
    "001-094": (FORMAT, "outside the table of 16", [stream([name("a", 17)]), stream([name("a", 1 << 31)])]),
    "001-095": (FORMAT, "name entry 9 is outside the table of 8", [stream([*[name("a")] * 8, name("b")], names=8)]),
    "001-096": (FORMAT, "prefix entry 1 is outside the table of 0", [stream([prefix("p:")], prefixes=0)]),
    "001-099": (FORMAT, "datatype entry 1 is outside the table of 0", [stream([datatype("d:")], datatypes=0)]),
    "001-105": (UNSUPPORTED, "version 0", [stream([triple()], version=0)]),
    "001-106": (UNSUPPORTED, "version", [stream([triple()], version=i) for i in (4, 99, 1 << 40)]),
    "001-110": (UNSUPPORTED, "version", [stream([triple()], version=i) for i in (1001, 10_000)]),
    "001-114": (FORMAT, "name 1 was never defined", [stream([o(1)]), stream([o()])]),
    "001-115": (FORMAT, "prefix 1 was never defined", [stream([name("a"), o(1, 1)])]),
    "001-116": (FORMAT, "datatype 1 was never defined", [stream([typed(1)])]),
    "001-117": (FORMAT, "name 2 was never defined", [stream([name("a", 1), name("c", 3), o(1), o(2)])]),
    "001-125": (FORMAT, "outside a graph", [stream([triple()], physical=GRAPHS),
                                           stream([graph_start(), graph_end(), triple()], physical=GRAPHS)]),
    "001-126": (FORMAT, "inside another graph", [stream([graph_start(), graph_start()], physical=GRAPHS)]),
    "001-127": (FORMAT, "outside a graph", [stream([graph_end()], physical=GRAPHS),
                                           stream([graph_start(), graph_end()], [graph_end()], physical=GRAPHS)]),
    "001-131": (FORMAT, "names no graph", [stream([graph_start(None)], physical=GRAPHS),
                                          stream([graph_start(), graph_end(), graph_start(None)], physical=GRAPHS)]),
    "001-136": (FORMAT, "a quoted triple has no", [
        stream([triple(), triple(o=(QUOTED, terms(*(None if i == k else S for k in range(3)))))]) for i in range(3)
    ] + [stream([triple(), triple(o=(QUOTED, terms(S, P, (QUOTED, b""))))])]),
    "001-137": (FORMAT, "is left out", [
        stream([triple(None)]), stream([triple(p=None)]), stream([triple(o=None)]), stream([quad(g=None)], physical=2)
    ]),
    "001-150": (FORMAT, "was never defined", [stream([*[name("a")] * 8, o(8), o()], names=8),
                                             stream([name("a", 8), o(8)], [o()], names=8)]),
    "001-164": (FORMAT, "empty language tag", [stream([triple(o=(LITERAL, literal("l", "")))])]),
    "001-166": (FORMAT, "datatype [02] was never defined", [stream([datatype("d:"), typed(0)]),
                                                           stream([datatype("d:"), typed(2)])]),
}  # fmt: skip
REFUSED["001-097"] = (FORMAT, "prefix 1 was never defined", [stream([name("a"), o(1, 1)], prefixes=0)])


@pytest.mark.parametrize("id", REFUSED)
def test_refused(id: str) -> None:
    kind, message, streams = REFUSED[id]
    for data in streams:
        with pytest.raises(kind, match=message) as caught:
            jelly.loads(data)
        assert type(caught.value) is kind
        assert caught.value.frame is not None


UNUSUAL = {
    "001-049": (3, QUADS), "001-050": (3, GRAPHS), "001-052": (13, QUADS), "001-053": (13, GRAPHS),
    "001-054": (4, TRIPLES), "001-057": (14, TRIPLES), "001-060": (114, TRIPLES), "001-064": (1, QUADS),
    "001-065": (1, GRAPHS), "001-066": (2, TRIPLES),
}  # fmt: skip


@pytest.mark.parametrize("id", UNUSUAL)
def test_pairs_of_types_outside_of_the_table(id: str) -> None:
    """They may be an error: we do not write them, and read them with a warning."""
    logical, physical = UNUSUAL[id]
    with pytest.raises(jelly.JellyOptionsError, match="does not go with"):
        jelly.StreamOptions(physical, logical)
    rows = {TRIPLES: [triple()], QUADS: [quad()], GRAPHS: [graph_start(), triple(), graph_end()]}[physical]
    with pytest.warns(jelly.errors.OptionsWarning, match=r"logical .*type .* does not go with physical"):
        assert len(jelly.loads(stream(rows, physical=physical, logical=logical))) == 1


@pytest.mark.parametrize("label", ["", " ", "a b\n", "\u00e9\U0001f600", "x" * 1000])
def test_any_text_is_a_blank_node_label(label: str) -> None:
    """001-157."""
    (found,) = jelly.loads(stream([triple(s=(BNODE, label.encode()))]))
    assert found.s == jelly.BlankNode(label)


def test_datatypes_of_literals() -> None:
    """001-161, 001-162."""
    plain, tagged = jelly.loads(stream([triple(o=LIT), triple(o=(LITERAL, literal("l", "en")))]))
    assert (plain.o.datatype.value, plain.o.language) == (XSD_STRING, None)
    assert (tagged.o.datatype.value, tagged.o.language) == (RDF + "langString", "en")


def test_the_name_and_the_types_of_a_stream_are_told() -> None:
    """001-085, 001-045."""
    options_ = jelly.read_options(stream([quad()], physical=QUADS, logical=114, name="n\u00e4me".encode()))
    assert (options_.stream_name, options_.physical_type, options_.logical_type) == ("n\u00e4me", 2, 114)
    assert jelly.read_options(stream([quad()], physical=QUADS, logical=24)).logical_type == 4


@pytest.mark.parametrize("depth", [1, 2, 64, 65, 100])
def test_depth(depth: int) -> None:
    """001-170."""
    data = stream([triple((QUOTED, quoted(depth)))])
    if depth > 64:
        with pytest.raises(JellyLimitError, match="deeper than 64"):
            jelly.loads(data)
    else:
        (found,) = jelly.loads(data)
        assert str(found).count("<<") == depth
