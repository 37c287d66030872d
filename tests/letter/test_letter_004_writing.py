"""Jelly-Patch to the letter, writing: what is written is looked at field by field; RDF Patch, its basis, as text."""

from __future__ import annotations

import io
from typing import Any

import pytest
from support import wirefields as wire
from support.craft import varint
from test_letter_004_reading import NAMES_OF_FIELDS

import jelly
from jelly import BlankNode, JellyError, JellyFormatError, JellyOptionsError, Literal, Quad, QuotedTriple, Triple
from jelly.patch import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Patch,
    PatchOptions,
    PatchStreamType,
    PatchWriter,
    Start,
    StatementType,
    dumps,
    loads,
)

S, P, O, G = (jelly.IRI(f"http://e/{x}") for x in "spog")  # noqa: E741
QUOTED = QuotedTriple(S, P, O)
FRAME, FLAT, PUNCTUATED = PatchStreamType
TRIPLES, QUADS = StatementType
EVERYTHING = [
    Header("k", Literal("v")), Start(), AddNamespace("e", "http://e/"), Add(Triple(S, P, O)),
    Delete(Triple(S, P, Literal("1", datatype="http://d/"))), DeleteNamespace("e"), Commit(), Start(), Abort(),
]  # fmt: skip
ROWS = {14, 6, 4, 2, 3, 5, 7, 8, 11, 12, 13, 1}
VALUES = {1: 1, 2: 1, 3: 1, 4: 1, 9: 77, 10: 78, 11: 79, 15: 1}


def read(data: bytes) -> list[list[Any]]:
    return [list(patch) for patch in loads(data)]


def bodies(data: bytes, kind: int) -> list[list[int]]:
    """The numbers of the fields of each row of a kind."""
    return [[number for number, _ in wire.fields(body)] for found, body in wire.rows(data) if found == kind]  # type: ignore[arg-type]


@pytest.mark.parametrize("statement", StatementType)
@pytest.mark.parametrize("stream", PatchStreamType)
def test_every_kind_of_row(stream: PatchStreamType, statement: StatementType) -> None:
    """004-023."""
    data = dumps(Patch(EVERYTHING), PatchOptions(stream_type=stream, statement_type=statement))
    assert {kind for kind, _ in wire.rows(data)} == ROWS | ({15} if stream == PUNCTUATED else set())
    (found,) = read(data)
    assert list(map(str, found)) == list(map(str, EVERYTHING))
    # A graph is never set in triples, and always set or repeated in quads: 004-040, 004-087.
    statements = bodies(data, 2) + bodies(data, 3)
    spaces = bodies(data, 4) + bodies(data, 5)
    graphs = [number for row in statements for number in row if number > 12]
    graphs += [number for row in spaces for number in row if number > 2]
    assert graphs == ([] if statement == TRIPLES else [5])


def test_graphs_of_triples() -> None:
    """004-040."""
    only = PatchOptions(statement_type=TRIPLES)
    assert len(dumps([Add(Quad(S, P, O))], only)) > 0
    for wrong in (Add(Quad(S, P, O, G)), Delete(Quad(S, P, O, G)), AddNamespace("e", "http://e/", G)):
        with pytest.raises(JellyOptionsError, match="named graph"):
            dumps([wrong], only)


def test_graphs_of_namespaces() -> None:
    """004-087: the default graph where none is named."""
    assert bodies(dumps([AddNamespace("e", "http://e/")]), 4) == [[1, 2, 5]]
    assert bodies(dumps([DeleteNamespace("e")]), 5) == [[1, 5]]
    assert bodies(dumps([DeleteNamespace("e", None, G)]), 5) == [[1, 3]]


def test_graphs_are_shared_by_quads_and_namespaces() -> None:
    """004-074, 004-088."""
    given = [
        Add(Quad(S, P, O, G)), AddNamespace("e", "http://e/", G), Delete(Quad(S, P, O, G)), Header("k", S),
        DeleteNamespace("e"), Add(Quad(S, P, O)), Add(Quad(S, P, Literal("l"))),
    ]  # fmt: skip
    data = dumps(given)
    assert read(data) == [given]
    assert bodies(data, 2) == [[1, 5, 9, 13], [], [11]]
    assert bodies(data, 3) == [[]]
    assert bodies(data, 4) == [[1, 2]]
    assert bodies(data, 5) == [[1, 5]]
    # In triples there is no graph at all.
    data = dumps([AddNamespace("e", "http://e/")], PatchOptions(statement_type=TRIPLES))
    assert bodies(data, 4) == [[1, 2]]


def test_each_patch_has_its_end() -> None:
    """004-027, 004-034: a frame each, or a mark each; empty patches are kept."""
    patches = [Patch([Add(Triple(S, P, O))]), Patch(), Patch([Delete(Triple(S, P, O))] * 400), Patch()]
    data = dumps(patches, PatchOptions(stream_type=FRAME), frame_rows=2)
    assert len(wire.split(data)) == 4
    assert list(map(len, loads(data))) == [1, 0, 400, 0]
    data = dumps(patches)
    assert list(map(len, loads(data))) == [1, 0, 400, 0]
    kinds = [kind for kind, _ in wire.rows(data)]
    assert kinds.count(15) == 4
    assert kinds[-1] == 15


def test_a_flat_stream_is_one_patch() -> None:
    """004-029."""
    flat = PatchOptions(stream_type=FLAT)
    assert read(dumps([Patch(EVERYTHING)], flat)) == [read(dumps(EVERYTHING))[0]]
    assert 15 not in [kind for kind, _ in wire.rows(dumps(EVERYTHING, flat))]
    with pytest.raises(JellyOptionsError, match="one patch"):
        dumps([Patch(EVERYTHING), Patch(EVERYTHING)], flat)


@pytest.mark.parametrize("number", VALUES)
def test_field_of_the_options_is_written(number: int) -> None:
    """004-050 to 004-057."""
    options = PatchOptions(**{NAMES_OF_FIELDS[number]: VALUES[number]})
    assert wire.options(dumps([], options))[number] == VALUES[number]


def test_the_version() -> None:
    """004-001: 1, and no other."""
    assert wire.options(dumps([]))[15] == 1
    for version in (0, 2, 10_001):
        with pytest.raises(JellyOptionsError, match="version"):
            PatchOptions(version=version)


@pytest.mark.parametrize("stream", PatchStreamType)
@pytest.mark.parametrize("sizes", [(8, 0, 1), (8, 1, 1), (9, 3, 2)])
def test_no_table_is_exceeded(sizes: tuple[int, int, int], stream: PatchStreamType) -> None:
    """004-062, 004-060."""
    names, prefixes, datatypes = sizes
    options = PatchOptions(
        stream_type=stream, max_name_table_size=names, max_prefix_table_size=prefixes, max_datatype_table_size=datatypes
    )
    given = [
        Add(Quad(jelly.IRI(f"http://{i % 7}/{i}"), P, Literal("l", datatype=f"http://d/{i % 5}"), jelly.IRI(f"a:{i}")))
        for i in range(200)
    ]  # fmt: skip
    data = dumps(given, options)
    assert read(data) == [given]
    for kind, size in zip((11, 12, 13), sizes, strict=True):
        last, ids = 0, [0]
        for found, body in wire.rows(data):
            if found == kind:
                last = dict(wire.fields(body)).get(1, 0) or last + 1  # type: ignore[arg-type, assignment]
                ids.append(last)
        assert max(ids) == size


def test_no_datatype_table() -> None:
    """004-061."""
    none = PatchOptions(max_datatype_table_size=0)
    for wrong in (Add(Triple(S, P, Literal("l", datatype="d:"))), Header("k", Literal("l", datatype="d:"))):
        with pytest.raises(JellyOptionsError, match="max_datatype_table_size"):
            dumps([wrong], none)


@pytest.mark.parametrize(
    "statement",
    [
        Quad(Literal("l"), P, O), Quad(S, BlankNode("p"), O), Quad(S, Literal("p"), O), Quad(S, QUOTED, O),
        Quad(S, P, O, Literal("g")), Quad(S, P, QuotedTriple(S, Literal("p"), O)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [Add, Delete])
def test_generalized_statements_need_the_flag(statement: Quad, kind: Any) -> None:
    """004-063."""
    allowed = PatchOptions(generalized_statements=True, rdf_star=True)
    assert read(dumps([kind(statement)], allowed)) == [[kind(statement)]]
    with pytest.raises(JellyOptionsError, match="generalized_statements"):
        dumps([kind(statement)], allowed.replace(generalized_statements=False))


@pytest.mark.parametrize("operation", [Add(Triple(S, P, QUOTED)), Delete(Triple(QUOTED, P, O)), Header("k", QUOTED)])
def test_quoted_triples_need_the_flag(operation: Any) -> None:
    """004-065."""
    assert list(map(str, read(dumps([operation], PatchOptions(rdf_star=True)))[0])) == [str(operation)]
    with pytest.raises(JellyOptionsError, match="rdf_star"):
        dumps([operation], PatchOptions(rdf_star=False))


@pytest.mark.parametrize("size", [0, 1, 7])
def test_the_least_name_table(size: int) -> None:
    """004-059, the writer."""
    with pytest.raises(JellyOptionsError, match="max_name_table_size"):
        PatchOptions(max_name_table_size=size)


@pytest.mark.parametrize(
    "wrong",
    [[Start(), Start()], [Commit()], [Abort()], [Start(), Commit(), Commit()], [Start(), Commit(), Abort()], [Start()]],
)
@pytest.mark.parametrize("stream", PatchStreamType)
def test_transactions_that_are_wrong(wrong: list[Any], stream: PatchStreamType) -> None:
    """004-095."""
    with pytest.raises(JellyFormatError, match="transaction"):
        dumps(wrong, PatchOptions(stream_type=stream))


@pytest.mark.parametrize("stream", [FRAME, PUNCTUATED])
def test_no_patch_ends_inside_a_transaction(stream: PatchStreamType) -> None:
    """004-095."""
    with pytest.raises(JellyFormatError, match="ends inside a transaction"):
        dumps([Patch([Start()]), Patch()], PatchOptions(stream_type=stream))


def test_frames() -> None:
    """004-004, 004-007, 004-111: delimited, of any number of rows, below a megabyte."""
    given = [Add(Quad(S, P, Literal("x" * 1000 + str(i)))) for i in range(3000)]
    out = io.BytesIO()
    with PatchWriter(out) as writer:
        for operation in given:
            writer.add(operation)
    frames = wire.split(out.getvalue())
    assert len(frames) > 3
    assert max(map(len, frames)) < 1_000_000
    assert read(out.getvalue()) == [given]
    assert len(wire.split(dumps([Add(Triple(S, P, O))] * 10, frame_rows=1))) > 9


def test_media_type_and_suffix(tmp_path: Any) -> None:
    """004-110, 004-111."""
    data = dumps(EVERYTHING, format="application/x-jelly-rdf-patch")
    assert data == dumps(EVERYTHING, format="jellyp")
    assert b"".join(varint(len(body)) + body for body in wire.split(data)) == data
    path = tmp_path / "x.jellyp"
    with PatchWriter(path, seekable=False) as writer:
        for operation in EVERYTHING:
            writer.add(operation)
    assert path.read_bytes() == data
    assert list(map(str, next(iter(jelly.patch.read_patches(path))))) == list(map(str, EVERYTHING))


# ---- RDF Patch, the text

TEXT = """H k "v" .
TX .
PA "e" <http://e/> .
A <http://e/s> <http://e/p> <http://e/o> .
D <http://e/s> <http://e/p> "1"^^<http://d/> .
PD "e" .
TC .
TX .
TA .
"""


def test_text() -> None:
    """004-112, 004-116: every kind of row read and written."""
    ((*found,),) = loads(TEXT.encode(), format="rdfp")
    assert list(map(str, found)) == list(map(str, EVERYTHING))
    assert dumps(EVERYTHING, format="rdfp").decode() == TEXT


def test_comments_and_blank_lines() -> None:
    """004-113."""
    text = TEXT.replace("\n", " # a comment\n\n# one of its own\n   \n")
    assert list(map(str, loads(text.encode(), format="rdfp")[0])) == list(map(str, EVERYTHING))


def test_names_of_prefixes() -> None:
    """004-114, 004-115: a name needs its quotes; an IRI may stand as a string, as older writers have it."""
    with pytest.raises(JellyError, match="in quotes"):
        loads(b"PA ex <http://e/> .", format="rdfp")
    assert list(map(str, loads(b'PA "ex" "http://e/" .', format="rdfp")[0])) == ['PA "ex" <http://e/> .']
