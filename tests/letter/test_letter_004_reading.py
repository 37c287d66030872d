"""Jelly-Patch to the letter, reading: streams made by hand. The names of the cases are numbers of requirements.csv."""

from __future__ import annotations

from typing import Any

import pytest
from support import patchcraft as pc
from support.patchcraft import FLAT, FRAME, PUNCTUATED, TRIPLES

import jelly
from jelly import JellyFormatError, JellyLimitError, JellyTruncatedError, JellyUnsupportedError
from jelly.patch import loads

IRI, BNODE, LITERAL, QUOTED, DEFAULT = 0, 1, 2, 3, (2, b"")
LIT = (LITERAL, pc.literal("l"))
ADD, DELETE = "A _:b _:b _:b _:b .", "D _:b _:b _:b _:b ."
T_ADD = "A _:b _:b _:b ."  # of triples
NAMES = [pc.prefix("p:"), pc.name("a"), pc.name("b"), pc.name("c")]


def stream(*frames: list[bytes], **settings: Any) -> bytes:
    """Frames of rows, the options in the first."""
    first, *rest = frames
    return pc.frame(pc.options(**settings), *first) + b"".join(pc.frame(*rows) for rows in rest)


def a(s=None, p=None, o=None, g=None) -> bytes:
    return pc.add(s, p, o, g)


def o(name: int = 0, prefix: int = 0) -> bytes:
    return pc.add(o=(IRI, pc.iri(name, prefix)))


READ: dict[str, tuple[bytes, list[list[str]]]] = {
    "004-009": (stream([pc.prefix("p:"), pc.name("a"), o(1, 1)], [a(o=(IRI, pc.iri(1)))], [], [a()], stream=FLAT),
                [["A _:b _:b <p:a> _:b ."] * 3]),
    "004-010": (stream([pc.add()], stream=FLAT), [[ADD]]),
    "004-011": (stream([pc.delete()], stream=FLAT), [[DELETE]]),
    "004-012": (stream([pc.name("n"), pc.namespace_add("x", pc.iri(1), DEFAULT)], stream=FLAT), [['PA "x" <n> .']]),
    "004-013": (stream([pc.namespace_delete("x", None, DEFAULT)], stream=FLAT), [['PD "x" .']]),
    "004-014": (stream([pc.header("k", LIT)], stream=FLAT), [['H k "l" .']]),
    "004-015": (stream([pc.start(), pc.commit()], stream=FLAT), [["TX .", "TC ."]]),
    "004-016": (stream([pc.start(), pc.abort()], stream=FLAT), [["TX .", "TA ."]]),
    "004-017": (stream([pc.start(), pc.add(), pc.commit()], stream=FLAT), [["TX .", ADD, "TC ."]]),
    "004-018": (stream([pc.name("a"), pc.prefix("p:"), pc.datatype("d:"), o(1, 1),
                        a(o=(LITERAL, pc.literal("l", None, 1)))], stream=FLAT),
                [["A _:b _:b <p:a> _:b .", 'A _:b _:b "l"^^<d:> _:b .']]),
    "004-020": (stream([pc.field(1, pc.row(6)[2:] + pc.delete()[2:])], stream=FLAT), [[DELETE]]),
    "004-025": (stream([pc.add()], [], [pc.delete(), pc.add()], stream=FRAME), [[ADD], [], [DELETE, ADD]]),
    "004-028": (stream([pc.start(), pc.add()], [], [pc.delete(), pc.commit()], stream=FLAT),
                [["TX .", ADD, DELETE, "TC ."]]),
    "004-030": (stream([], stream=FLAT), [[]]),
    "004-031": (stream([pc.add()], [pc.punctuation(), pc.delete(), pc.punctuation(), pc.add()],
                       [pc.delete(), pc.punctuation()]), [[ADD], [DELETE], [ADD, DELETE]]),
    "004-032": (stream([pc.punctuation(), pc.add(), pc.punctuation()]), [[], [ADD]]),
    "004-033": (stream([pc.add(), pc.punctuation(), pc.delete()]), [[ADD], [DELETE]]),
    "004-036": (stream([a(pc.NODE, pc.NODE, pc.NODE)], stream=FLAT, statement=TRIPLES), [[T_ADD]]),
    "004-039": (stream([pc.add(), pc.delete(g=None), pc.add(g=DEFAULT), pc.add(g=None)], stream=FLAT),
                [[ADD, DELETE, T_ADD, T_ADD]]),
    "004-042": (stream([pc.name("a"), pc.options(), pc.name("b", 2), o(2), pc.options()], [pc.options(), o()]),
                [["A _:b _:b <b> _:b .", "A _:b _:b <c> _:b ."]]),
    "004-060": (stream([pc.name("a"), o(1), o(1)], prefixes=0, stream=FLAT), [["A _:b _:b <a> _:b ."] * 2]),
    "004-064": (stream([pc.header("k", LIT), pc.header("k", (LITERAL, pc.literal("x", "en")))], generalized=False,
                       stream=FLAT), [['H k "l" .', 'H k "x"@en .']]),
    "004-071": (stream([pc.add(), pc.delete(None, None, LIT, None), a()], stream=FLAT),
                [[ADD, 'D _:b _:b "l" _:b .', 'A _:b _:b "l" _:b .']]),
    "004-072": (stream([a(pc.NODE, pc.NODE, pc.NODE), pc.delete(None, None, LIT, None)], stream=FLAT,
                       statement=TRIPLES), [[T_ADD, 'D _:b _:b "l" .']]),
    "004-073": (stream([pc.start(), pc.add(), pc.commit(), pc.header("k", LIT), pc.punctuation(), a()], [a()]),
                [["TX .", ADD, "TC .", 'H k "l" .'], [ADD, ADD]]),
    "004-075": (stream([pc.name("n"), pc.row(4, pc.field(2, pc.iri(1)), pc.field(5, b"")),
                        pc.namespace_add("", pc.iri(1), DEFAULT)], stream=FLAT), [['PA "" <n> .', 'PA "" <n> .']]),
    "004-076": (stream([pc.name("n"), pc.namespace_add("no prefix:", pc.iri(1), DEFAULT)], stream=FLAT),
                [['PA "no prefix:" <n> .']]),
    "004-078": (stream([pc.name("n"), pc.namespace_delete("x", pc.iri(1), DEFAULT), pc.namespace_delete("y")],
                       stream=FLAT), [['PD "x" .', 'PD "y" .']]),
    "004-080": (stream([*NAMES, pc.namespace_add("x", pc.iri(1), (IRI, pc.iri(2)))], stream=FLAT),
                [['PA "x" <a> <b> .']]),
    "004-081": (stream([*NAMES, pc.namespace_add("x", pc.iri(1), (BNODE, b"g"))], stream=FLAT),
                [['PA "x" <a> _:g .']]),
    "004-082": (stream([*NAMES, pc.add(), pc.namespace_add("x", pc.iri(1), DEFAULT)], stream=FLAT),
                [[ADD, 'PA "x" <a> .']]),
    "004-083": (stream([*NAMES, pc.namespace_add("x", pc.iri(1), (3, pc.literal("g")))], stream=FLAT),
                [['PA "x" <a> "g" .']]),
    "004-084": (stream([*NAMES, pc.add(), pc.namespace_add("x", pc.iri(1)),
                        pc.namespace_delete("x", None, (BNODE, b"g")), pc.add(g=None)], stream=FLAT),
                [[ADD, 'PA "x" <a> _:b .', 'PD "x" _:g .', "A _:b _:b _:b _:g ."]]),
    "004-089": (stream([pc.row(6, pc.field(1, "x")), pc.row(7, pc.field(2, 5)), pc.row(6), pc.row(8, pc.field(9, b""))
                        ], stream=FLAT), [["TX .", "TC .", "TX .", "TA ."]]),
    "004-096": (stream([pc.add(), pc.start(), pc.header("k", LIT), pc.delete(), pc.commit(), pc.header("k", LIT),
                        pc.add()], stream=FLAT),
                [[ADD, "TX .", 'H k "l" .', DELETE, "TC .", 'H k "l" .', ADD]]),
    "004-097": (stream([pc.header("", LIT), pc.row(14, pc.field(4, pc.literal("l")))], stream=FLAT),
                [['H "" "l" .', 'H "" "l" .']]),
    "004-098": (stream([*NAMES, pc.row(14, pc.field(1, "k"), pc.field(2, pc.iri(2, 1)))], stream=FLAT),
                [["H k <p:b> ."]]),
    "004-099": (stream([pc.row(14, pc.field(1, "k"), pc.field(3, b"x"))], stream=FLAT), [["H k _:x ."]]),
    "004-100": (stream([pc.row(14, pc.field(1, "k"), pc.field(4, pc.literal("l", "en")))], stream=FLAT),
                [['H k "l"@en .']]),
    "004-101": (stream([pc.row(14, pc.field(1, "k"), pc.field(5, pc.quoted(1)))], stream=FLAT),
                [["H k <<( _:s _:p _:o )>> ."]]),
    "004-103": (stream([pc.row(14, pc.field(1, "k"), pc.field(3, b"a"), pc.field(4, pc.literal("l")))], stream=FLAT),
                [['H k "l" .']]),
    "004-104": (stream([pc.add(), pc.header("k", LIT), a()], stream=FLAT), [[ADD, 'H k "l" .', ADD]]),
    "004-106": (stream([*NAMES, pc.header("k", (IRI, pc.iri(0, 1))), pc.namespace_add("x", b"", (IRI, b"")), o(1),
                        o()], stream=FLAT),
                [["H k <p:a> .", 'PA "x" <p:b> <p:c> .', "A _:b _:b <p:a> _:b .", "A _:b _:b <p:b> _:b ."]]),
    "004-107": (stream([*NAMES, pc.row(4, pc.field(3, b""), pc.field(2, b""), pc.field(1, "x"))], stream=FLAT),
                [['PA "x" <a> <b> .']]),
    "004-108": (stream([pc.prefix("http://example.org/"), pc.name("iri"), pc.header("", (IRI, pc.iri(0, 1))),
                        pc.name(""), pc.name("graph"), pc.namespace_add("ex", b"", (IRI, b"")),
                        pc.add((BNODE, b"b1"), (IRI, pc.iri(1)), (BNODE, b"b2"), None)], stream=FLAT),
                [['H "" <http://example.org/iri> .', 'PA "ex" <http://example.org/> <http://example.org/graph> .',
                  "A _:b1 <http://example.org/iri> _:b2 <http://example.org/graph> ."]]),
}  # fmt: skip
# Three transactions in one frame, of every stream type.
MANY = [pc.start(), pc.commit(), pc.start(), pc.abort(), pc.start(), pc.commit()]
MANY_TEXT = ["TX .", "TC .", "TX .", "TA .", "TX .", "TC ."]
# The third name comes after the options that come again.
READ["004-042"] = (
    stream([pc.name("a"), pc.options(), pc.name("b", 2), o(2), pc.options()], [pc.name("c", 3), pc.options(), o()]),
    READ["004-042"][1],
)


def shown(data: bytes, **settings: Any) -> list[list[str]]:
    return [list(map(str, patch)) for patch in loads(data, **settings)]


@pytest.mark.parametrize("id", READ)
def test_read(id: str) -> None:
    data, expected = READ[id]
    assert shown(data) == expected
    # The same byte by byte.
    decoder = jelly.Decoder(patch=True)
    batches = [batch for i in range(len(data)) for batch in decoder.feed(data[i : i + 1])]
    batches += decoder.close()
    rows = sum(len(batch) for batch in batches)
    ends = sum(int((batch.op == 15).sum()) for batch in batches)
    assert rows - ends == sum(map(len, expected))


FORMAT, UNSUPPORTED, LIMIT = JellyFormatError, JellyUnsupportedError, JellyLimitError
OTHERS: dict[str, Any] = {
    "004-043": {"statement": TRIPLES}, "004-044": {"stream": FLAT}, "004-045": {"generalized": False},
    "004-046": {"star": False}, "004-047": {"names": 17}, "004-048": {"prefixes": 9}, "004-049": {"datatypes": 9},
}  # fmt: skip

REFUSED: dict[str, tuple[Any, str, list[bytes]]] = {
    "004-002": (UNSUPPORTED, "version 0", [stream([], version=0)]),
    "004-003": (UNSUPPORTED, "version 10000", [stream([pc.add()], version=10_000)]),
    "004-019": (FORMAT, "punctuation", [stream([pc.add(), pc.punctuation()], stream=i) for i in (FRAME, FLAT)]),
    "004-022": (FORMAT, "not set or unknown", [stream([pc.add(), pc.row(i, b"x")]) for i in (9, 10)]),
    "004-024": (UNSUPPORTED, "stream type", [stream([pc.add()], stream=i) for i in (0, 4, 99)]),
    "004-026": (FORMAT, "inside a transaction", [stream([pc.start(), pc.add()], [pc.commit()], stream=FRAME)]),
    "004-035": (UNSUPPORTED, "statement type", [stream([], statement=i) for i in (0, 3, 99)]),
    "004-041": (FORMAT, "does not start with", [pc.frame(pc.add()), pc.frame(pc.name(), pc.options()), pc.frame()]),
    **{id: (FORMAT, "differs", [stream([pc.options(**other)]), stream([], [pc.options(**other)])])
       for id, other in OTHERS.items()},
    "004-058": (UNSUPPORTED, "type 0", [pc.frame(pc.row(1, *(pc.field(k, v) for k, v in some.items())))
                                        for some in ({1: 2, 9: 16, 15: 1}, {2: 3, 9: 16, 15: 1})]),
    "004-059": (FORMAT, "at least 8 are required", [stream([pc.add()], names=i) for i in (7, 1, 0)]),
    "004-060": (FORMAT, "outside the table of 0|never defined", [
        stream([pc.prefix("p:")], prefixes=0), stream([pc.name("a"), o(1, 1)], prefixes=0)]),
    "004-061": (FORMAT, "outside the table of 0|never defined", [
        stream([pc.datatype("d:")], datatypes=0),
        stream([pc.add(o=(LITERAL, pc.literal("l", None, 1)))], datatypes=0)]),
    "004-062": (FORMAT, "outside the table", [stream([make("x", size + 1)]) for make, size in
                                             ((pc.name, 16), (pc.prefix, 8), (pc.datatype, 8))]),
    "004-069": (FORMAT, "never defined", [
        stream([o(1)]), stream([pc.name("a", 3), o(2)]), stream([pc.name("a"), o(1, 1)]),
        stream([pc.header("k", (IRI, pc.iri(1)))]), stream([pc.namespace_add("x", pc.iri(1), DEFAULT)]),
        stream([pc.add(o=(LITERAL, pc.literal("l", None, 1)))])]),
    "004-070": (FORMAT, "is left out", [stream([pc.add(**{x: None})]) for x in "spog"]),
    "004-077": (FORMAT, "has no IRI", [stream([pc.namespace_add("x", None, DEFAULT)])]),
    "004-086": (FORMAT, "graph is left out", [
        stream([*NAMES, pc.namespace_add("x", pc.iri(1)), pc.add(g=None)]),
        stream([pc.namespace_delete("x"), pc.delete(g=None)])]),
    "004-090": (FORMAT, "malformed", [stream([pc.row(i, b"\x0a\x05")], stream=FLAT) for i in (6, 7, 8)]),
    "004-091": (FORMAT, "outside a transaction", [
        stream([end()], stream=i) for end in (pc.commit, pc.abort) for i in (FRAME, FLAT, PUNCTUATED)]
        + [stream([pc.start(), pc.commit(), end()]) for end in (pc.commit, pc.abort)]),
    "004-092": (FORMAT, "inside another transaction", [stream([pc.start(), pc.start()], stream=i) for i in (1, 2, 3)]),
    "004-102": (FORMAT, "header has no value", [stream([pc.header("k", None)]),
                                               stream([pc.header("k", LIT), pc.header("k", None)])]),
    "004-105": (FORMAT, "quoted triple has no", [
        stream([pc.add(), pc.header("k", (QUOTED, pc.terms(*(None if i == k else pc.NODE for i in range(3)))))])
        for k in range(3)]),
}  # fmt: skip


@pytest.mark.parametrize("id", REFUSED)
def test_refused(id: str) -> None:
    kind, message, streams = REFUSED[id]
    for data in streams:
        with pytest.raises(kind, match=message) as caught:
            loads(data)
        assert type(caught.value) in (kind, JellyTruncatedError)
        assert caught.value.frame is not None


def test_versions() -> None:
    """004-001."""
    assert shown(stream([pc.add()], version=1)) == [[ADD]]
    for version in (2, 3, 9999):
        with pytest.raises(JellyUnsupportedError, match=f"version {version}"):
            loads(stream([pc.add()], version=version))


def test_rows_of_reserved_fields_are_skipped_on_request() -> None:
    """004-022."""
    for number in (9, 10):
        data = stream([pc.row(number, b"x"), pc.add(), pc.row(number, b"\xff")])
        assert shown(data, unknown_rows="skip") == [[ADD]]


def test_entries_as_in_jelly_rdf() -> None:
    """004-069: 0 is the previous id + 1, and an entry may be defined again."""
    rows = [pc.name("a", 5), pc.name("b"), o(5), o(), pc.name("c", 5), o(5), a()]
    assert [line.split()[3] for line in shown(stream(rows, stream=FLAT))[0]] == ["<a>", "<b>", "<c>", "<c>"]


def test_the_iri_of_a_namespace_that_is_deleted() -> None:
    """004-078, 004-079: kept, but in the text of RDF Patch, which has no place for it."""
    data = stream([pc.name("n"), pc.namespace_delete("x", pc.iri(1), DEFAULT), pc.namespace_delete("y")], stream=FLAT)
    (patch,) = loads(data)
    first, second = patch
    assert (first.iri, second.iri) == (jelly.IRI("n"), None)
    assert jelly.patch.dumps(patch, format="rdfp") == b'PD "x" .\nPD "y" .\n'
    (again,) = loads(jelly.patch.dumps(patch))
    assert next(iter(again)).iri == jelly.IRI("n")


def test_triples_have_no_graph() -> None:
    """004-036, 004-072: the graph is not told; what is not set is no repeated term."""
    ((operation,),) = loads(stream([a(pc.NODE, pc.NODE, pc.NODE)], stream=FLAT, statement=TRIPLES))
    assert type(operation.statement) is jelly.Triple
    ((operation,),) = loads(stream([pc.add(g=DEFAULT)], stream=FLAT))
    assert operation.statement == jelly.Quad(*[jelly.BlankNode("b")] * 3, jelly.DefaultGraph())


@pytest.mark.parametrize("kind", [FRAME, FLAT, PUNCTUATED])
def test_several_transactions_in_a_frame(kind: int) -> None:
    """004-093."""
    assert shown(stream(MANY, stream=kind)) == [MANY_TEXT]


def test_transactions_of_punctuated_streams() -> None:
    """004-094: over frames, but with no mark inside."""
    assert shown(stream([pc.start(), pc.add()], [], [pc.commit(), pc.punctuation()])) == [["TX .", ADD, "TC ."]]
    with pytest.raises(JellyFormatError, match="ends inside a transaction"):
        loads(stream([pc.start(), pc.add(), pc.punctuation(), pc.commit()]))


def test_frames_have_metadata() -> None:
    """004-008."""
    decoder = jelly.Decoder(patch=True)
    note = pc.field(15, pc.field(1, "k") + pc.field(2, b"v"))
    batches = list(decoder.feed(pc.frame(pc.options(FRAME), pc.add(), note) + pc.frame(note)))
    assert [batch.metadata for batch in batches] in ([{0: {"k": b"v"}, 1: {"k": b"v"}}], [{0: {"k": b"v"}}] * 2)


def test_frames_are_fed_one_by_one() -> None:
    """004-005, 004-006."""
    decoder = jelly.Decoder(patch=True)
    bodies = [pc.options(FLAT) + pc.start() + pc.add(), b"", pc.add(None, None, None, None) + pc.commit()]
    assert [len(decoder.decode_frame(body)) for body in bodies] == [2, 0, 2]


def test_framing() -> None:
    """004-109."""
    body = pc.options(FLAT) + pc.add()
    assert shown(body) == shown(pc.frame(body)) == [[ADD]]
    for data in (pc.frame(body), pc.frame(pc.options(FLAT)) + pc.frame(pc.add())):
        with pytest.raises(JellyTruncatedError):
            loads(data[:-1])


TABLES = {"004-050": (1, 1), "004-051": (2, 1), "004-052": (3, 1), "004-053": (4, 1), "004-054": (9, 77),
          "004-055": (10, 78), "004-056": (11, 79), "004-057": (15, 1)}  # fmt: skip
NAMES_OF_FIELDS = {
    1: "statement_type", 2: "stream_type", 3: "generalized_statements", 4: "rdf_star", 9: "max_name_table_size",
    10: "max_prefix_table_size", 11: "max_datatype_table_size", 15: "version",
}  # fmt: skip


@pytest.mark.parametrize("id", TABLES)
def test_field_of_the_options_is_read(id: str) -> None:
    number, value = TABLES[id]
    least = {1: 2, 2: 3, 9: 16, 15: 1}
    decoder = jelly.Decoder(patch=True)
    list(decoder.feed(pc.frame(pc.row(1, *(pc.field(k, v) for k, v in (least | {number: value}).items())))))
    expected = {name: (least | {number: value}).get(field, 0) for field, name in NAMES_OF_FIELDS.items()}
    assert {name: int(getattr(decoder.options, name)) for name in expected} == expected
