"""Jelly-RDF to the letter, writing and framing: what is written is looked at field by field."""

from __future__ import annotations

import io
from typing import Any

import pytest
from support import wirefields as wire
from support.craft import BNODE, IRI, frame, iri, metadata, name, options, quad, triple, varint

import jelly
from jelly import BlankNode, JellyOptionsError, Literal, Quad, QuotedTriple, StreamOptions, Triple

S, P, G = jelly.IRI("http://e/s"), jelly.IRI("http://e/p"), jelly.IRI("http://e/g")
MEGABYTE = 1_000_000
OPTIONS, TRIPLE, QUAD, START, END, NAMESPACE, NAME, PREFIX, DATATYPE = 1, 2, 3, 4, 5, 6, 9, 10, 11
TABLES = {NAME: 9, PREFIX: 10, DATATYPE: 11}  # kind of row: field of the options


def written(statements: Any, options: StreamOptions | None = None, **settings: Any) -> bytes:
    out = io.BytesIO()
    with jelly.Writer(out, options, **settings) as writer:
        writer.extend(statements)
    return out.getvalue()


def kinds(data: bytes) -> list[int]:
    return [kind for kind, _ in wire.rows(data)]


def many(count: int = 400, quads: bool = False) -> list[Any]:
    found = [
        Triple(
            jelly.IRI(f"http://e/{i % 23}/n{i % 41}"),
            jelly.IRI(f"http://p{i % 5}/#p{i % 17}"),
            Literal(str(i), datatype=f"http://d/{i % 7}"),
        )
        for i in range(count)
    ]
    if not quads:
        return found
    return [Quad(*t, None if i % 3 else jelly.IRI(f"http://g/{i % 11}")) for i, t in enumerate(found)]


def test_a_byte_stream_is_delimited() -> None:
    """001-014, 001-185: each frame has its length before it, to the last byte, where nothing else is asked for."""
    for data in (jelly.dumps(many()), written(many()), written(many(), frame_rows=3), written([])):
        bodies = wire.split(data)
        assert all(number in (1, 15) for body in bodies for number, _ in wire.fields(body))
        assert b"".join(varint(len(body)) + body for body in bodies) == data
    assert len(wire.split(written(many(), frame_rows=3))) > 100


def test_frames_of_a_flat_stream_are_below_a_megabyte() -> None:
    """001-015."""
    data = written((Triple(S, P, Literal("x" * 1000 + str(i))) for i in range(3000)), frame_rows=0)
    sizes = [len(body) for body in wire.split(data)]
    # Within a row of the bound of frame_bytes, which is 1 MiB of rows.
    assert len(sizes) >= 3
    assert max(sizes) < (1 << 20) + 2000
    assert max(len(body) for body in wire.split(written(Triple(S, P, Literal(str(i))) for i in range(9000)))) < MEGABYTE


def test_a_frame_of_a_grouped_stream_is_the_element() -> None:
    """001-017, 001-071."""
    out = io.BytesIO()
    kind = StreamOptions(jelly.PhysicalType.TRIPLES, jelly.LogicalType.GRAPHS)
    with jelly.Writer(out, kind, frame_rows=1, frame_bytes=1) as writer:
        for count in (2, 0, 2000):
            writer.extend(Triple(S, P, Literal("x" * 1000 + str(i))) for i in range(count))
            writer.end_frame()
    assert [len(found) for found in jelly.scan(out.getvalue()).frames()] == [2, 0, 2000]
    assert len(wire.split(out.getvalue())[2]) > 2 * MEGABYTE


def test_a_flat_stream_is_cut_anywhere() -> None:
    """001-072: the statements are the same whatever the frames are."""
    for rows in (1, 2, 7, 0):
        data = written(many(), StreamOptions(logical_type=1), frame_rows=rows)
        assert list(jelly.read(data)) == many()
    assert len(wire.split(written(many(), frame_rows=1))) > 300


def test_the_physical_type_is_always_written() -> None:
    """001-040."""
    for statements in ([], many(3), many(3, quads=True)):
        for given in (None, StreamOptions()):
            assert wire.options(written(statements, given))[2] in (1, 2)


@pytest.mark.parametrize(
    ("physical", "rows"),
    [
        pytest.param(1, {TRIPLE}, id="001-041"),
        pytest.param(2, {QUAD}, id="001-042"),
        pytest.param(3, {TRIPLE, START, END}, id="001-043"),
    ],
)
def test_rows_of_a_physical_type(physical: int, rows: set[int]) -> None:
    statements = many(quads=physical > 1)
    data = written(statements, StreamOptions(physical))
    assert wire.options(data)[2] == physical
    assert set(kinds(data)) == rows | {OPTIONS, NAME, PREFIX, DATATYPE}
    assert list(jelly.read(data)) == statements


def test_the_stream_name_is_written() -> None:
    """001-085."""
    data = written(many(3), StreamOptions(1, stream_name="n\u00e4me"))
    assert wire.options(data)[1] == "n\u00e4me".encode()
    assert jelly.read_options(data).stream_name == "n\u00e4me"


QUOTED = QuotedTriple(S, P, Literal("l"))
GENERALIZED = {
    "literal subject": Quad(Literal("l"), P, S),
    "blank predicate": Quad(S, BlankNode("p"), S),
    "literal predicate": Quad(S, Literal("l"), S),
    "quoted predicate": Quad(S, QUOTED, S),
    "literal graph": Quad(S, P, S, Literal("g")),
    "inside": Quad(S, P, QuotedTriple(S, BlankNode("p"), S)),
    "deep inside": Quad(QuotedTriple(QuotedTriple(Literal("l"), P, S), P, S), P, S),
}


@pytest.mark.parametrize("statement", GENERALIZED.values(), ids=GENERALIZED)
def test_generalized_statements_need_the_flag(statement: Quad) -> None:
    """001-087, 001-088."""
    kind = StreamOptions(jelly.PhysicalType.QUADS, rdf_star=True, generalized_statements=True)
    data = written([statement], kind)
    assert wire.options(data)[3] == 1
    assert list(jelly.read(data)) == [statement]
    with pytest.raises(JellyOptionsError, match="generalized_statements"):
        written([statement], kind.replace(generalized_statements=False))


@pytest.mark.parametrize("place", range(2))
def test_quoted_triples_need_the_flag(place: int) -> None:
    """001-091."""
    statement = Triple(QUOTED, P, S) if place == 0 else Triple(S, P, QUOTED)
    kind = StreamOptions(jelly.PhysicalType.TRIPLES, rdf_star=True)
    data = written([statement], kind)
    assert wire.options(data)[4] == 1
    assert list(jelly.read(data)) == [statement]
    with pytest.raises(JellyOptionsError, match="rdf_star"):
        written([statement], kind.replace(rdf_star=False))


def test_no_prefix_table() -> None:
    """001-098: whole IRIs are names."""
    data = written(many(), StreamOptions(1, max_prefix_table_size=0))
    assert PREFIX not in kinds(data)
    assert 10 not in wire.options(data)
    assert list(jelly.read(data)) == many()
    names = {dict(wire.fields(body))[2] for kind, body in wire.rows(data) if kind == NAME}
    assert b"http://e/0/n0" in names


def test_no_datatype_table() -> None:
    """001-100."""
    kind = StreamOptions(1, max_datatype_table_size=0)
    assert list(jelly.read(written([Triple(S, P, Literal("l"))], kind))) == [Triple(S, P, Literal("l"))]
    with pytest.raises(JellyOptionsError, match="max_datatype_table_size"):
        written([Triple(S, P, Literal("l", datatype="d:"))], kind)


@pytest.mark.parametrize(
    "kind", [pytest.param(NAME, id="001-101"), pytest.param(PREFIX, id="001-102"), pytest.param(DATATYPE, id="001-103")]
)
@pytest.mark.parametrize("sizes", [(8, 1, 1), (8, 3, 2), (9, 150, 3), (64, 8, 7)])
def test_no_table_is_exceeded(kind: int, sizes: tuple[int, int, int]) -> None:
    names, prefixes, datatypes = sizes
    given = StreamOptions(
        2, max_name_table_size=names, max_prefix_table_size=prefixes, max_datatype_table_size=datatypes
    )
    data = written(many(quads=True), given)
    size = wire.options(data)[TABLES[kind]]
    assert size == dict(zip(TABLES, sizes, strict=True))[kind]
    last, ids = 0, set()
    for row, body in wire.rows(data):
        if row == kind:
            last = dict(wire.fields(body)).get(1, 0) or last + 1
            ids.add(last)
    assert min(ids) == 1
    assert max(ids) <= size
    assert list(jelly.read(data)) == many(quads=True)


def test_the_version_is_the_lowest_that_fits() -> None:
    """001-108."""
    assert wire.options(written(many(3)))[15] == 1
    out = io.BytesIO()
    with jelly.Writer(out) as writer:
        writer.namespace("e", "http://e/")
        writer.extend(many(3))
    assert wire.options(out.getvalue())[15] == 2
    with pytest.raises(JellyOptionsError, match="version"):
        StreamOptions(1, version=4)


def test_zero_is_used_wherever_it_can_be() -> None:
    """001-121: ids of new entries in turn, of names in turn and of the prefix before take no bytes."""
    statements = [Triple(*(jelly.IRI(f"http://e/{3 * i + k}") for k in range(3))) for i in range(50)]
    explicit = []
    for kind, body in wire.rows(written(statements)):
        if kind in (NAME, PREFIX):
            assert 1 not in dict(wire.fields(body))
        elif kind == TRIPLE:
            found = [dict(wire.fields(term)) for _, term in wire.fields(body)]
            assert all(2 not in term for term in found)
            explicit.append(sum(1 in term for term in found))
    assert explicit == [1] + [0] * 49


@pytest.mark.parametrize("rows", [1, 3, 0])
def test_every_graph_that_starts_ends(rows: int) -> None:
    """001-133: also in flat streams, whose graphs go on over frames."""
    statements = many(60, quads=True)
    data = written(statements, StreamOptions(3), frame_rows=rows)
    assert list(jelly.read(data)) == statements
    marks = [kind for kind in kinds(data) if kind in (START, END)]
    assert len(marks) > 20
    assert marks == [START, END] * (len(marks) // 2)
    one = written([Quad(S, P, Literal(str(i)), G) for i in range(10)], StreamOptions(3), frame_rows=2)
    assert [kind for kind in kinds(one) if kind in (START, END)] == [START, END]
    assert len(wire.split(one)) > 3


def test_repeated_terms_are_left_out_across_frames() -> None:
    """001-146."""
    data = written([Quad(S, P, Literal(str(i)), G) for i in range(6)], StreamOptions(2), frame_rows=2)
    assert len(wire.split(data)) > 2
    first, *others = [[number for number, _ in wire.fields(body)] for kind, body in wire.rows(data) if kind == QUAD]
    assert first == [1, 5, 11, 13]
    assert others == [[11]] * 5


def test_iris_are_split_at_the_last_mark() -> None:
    """001-155."""
    data = written([Triple(jelly.IRI("http://e/a#b"), jelly.IRI("http://e/a/b"), jelly.IRI("urn:x"))])
    texts = {(kind, dict(wire.fields(body)).get(2, b"")) for kind, body in wire.rows(data) if kind in (NAME, PREFIX)}
    assert {(PREFIX, b"http://e/a#"), (PREFIX, b"http://e/a/"), (NAME, b"b")} <= texts
    assert [str(t) for t in jelly.read(data)] == ["<http://e/a#b> <http://e/a/b> <urn:x> ."]


# ---- framing

BODY = options() + triple()


@pytest.mark.parametrize("size", [50, 200, 20_000, 1 << 20])
def test_lengths_of_any_number_of_bytes(size: int) -> None:
    """001-173."""
    body = options() + triple(s=(BNODE, b"x" * size))
    assert len(varint(len(body))) == (1 if size == 50 else 2 if size == 200 else 3)
    data = frame(body) + frame(triple())
    assert [len(found) for found in jelly.scan(data).frames()] == [1, 1]


@pytest.mark.parametrize("cut", range(1, len(frame(BODY)) + 11))
def test_what_is_cut_off_is_an_error(cut: int) -> None:
    """001-175: but behind a whole frame."""
    data = frame(BODY) + frame(triple())
    if cut == len(frame(BODY)):
        assert len(jelly.loads(data[:cut])) == 1
    else:
        with pytest.raises(jelly.JellyFormatError) as caught:
            jelly.loads(data[:cut])
        assert isinstance(caught.value, jelly.JellyTruncatedError) or cut < 3


def test_any_pieces_are_taken() -> None:
    """001-174."""
    data = frame(BODY) + frame() + frame(triple())
    for cut in range(len(data) + 1):
        assert len(list(jelly.read([data[:cut], data[cut:]]))) == 2


@pytest.mark.parametrize("size", range(140))
def test_the_framing_is_told_from_the_first_bytes(size: int) -> None:
    """001-176, 001-177, 001-178: the first row of any size, so that the length of the frame is 10 and 128, too."""
    body = options(name=b"n" * size)
    reader = jelly.Reader(body + triple())
    assert len(list(reader)) == 1
    assert reader.delimited is False
    for empty in (0, 1, 3):
        reader = jelly.Reader(frame() * empty + frame(body) + frame(triple()))
        assert len(list(reader)) == 1
        assert reader.delimited is True


def test_a_frame_of_ten_bytes() -> None:
    """001-178: its length is the byte with which a bare frame begins."""
    body = bytes.fromhex("0a080a06100148107801")
    assert len(body) == 10
    data = frame(body) + frame(triple())
    assert len(jelly.loads(data)) == 1
    assert jelly.read_options(data).max_name_table_size == jelly.read_options(body).max_name_table_size == 16


def test_a_bare_frame_that_begins_with_an_empty_row() -> None:
    """001-180: it is taken for bare, and the row without a kind is refused or skipped as it is anywhere."""
    with pytest.raises(jelly.JellyFormatError, match="options row"):
        jelly.loads(b"\x0a\x00" + BODY)
    assert jelly.loads(b"\x0a\x00" + BODY, unknown_rows="skip") == jelly.loads(BODY)


def test_the_framing_can_be_said() -> None:
    """001-181."""
    body = BODY + metadata("k", b"v")
    assert len(jelly.loads(body, delimited=False)) == len(jelly.loads(frame(body), delimited=True)) == 1
    for data, delimited in ((body, True), (frame(body), False)):
        with pytest.raises(jelly.JellyFormatError):
            jelly.loads(data, delimited=delimited)


def test_one_frame_without_its_length() -> None:
    """001-182."""
    data = written(many(20), delimited=False)
    assert {number for number, _ in wire.fields(data)} == {1}
    assert list(jelly.read(data)) == many(20)
    assert varint(len(data)) + data == written(many(20), frame_rows=0)


def test_media_type_and_suffix(tmp_path: Any) -> None:
    """001-183, 001-184."""
    out = io.BytesIO()
    jelly.write(out, many(5), format="application/x-jelly-rdf")
    assert wire.options(out.getvalue())[2] == 1
    assert list(jelly.read(out.getvalue(), format="application/x-jelly-rdf")) == many(5)
    jelly.write(tmp_path / "x.jelly", many(5), seekable=False)
    assert (tmp_path / "x.jelly").read_bytes() == out.getvalue()
    assert list(jelly.read(tmp_path / "x.jelly")) == many(5)


def test_files_of_the_command_are_delimited(tmp_path: Any) -> None:
    """001-185."""
    pytest.importorskip("click")
    from jelly.cli.commands import cli

    (tmp_path / "x.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n" * 1000)
    with pytest.raises(SystemExit) as done:
        cli(["convert", "-q", str(tmp_path / "x.nt"), str(tmp_path / "x.jelly")])
    assert done.value.code in (0, None)
    bodies = wire.split((tmp_path / "x.jelly").read_bytes())
    assert len(bodies) > 1


def test_the_order_of_frames_that_is_not_standard(tmp_path: Any) -> None:
    """001-023: a part of a seekable file is read from a keyframe on, without the frames before it."""
    path = tmp_path / "x.jelly"
    path.write_bytes(written(many(), seekable=True, keyframe_rows=50, frame_rows=10))
    with jelly.open(path) as file:
        assert file[333:336] == many()[333:336]
    assert list(jelly.read(path)) == many()


def test_frames_are_given_as_they_are() -> None:
    """001-018, 001-013: with their number, statements, metadata; whole frames one by one, too."""
    bodies = [options() + triple() + metadata("k", b"v"), b"", triple() * 2]
    found = list(jelly.scan(b"".join(map(frame, bodies))).frames())
    assert [(x.index, len(x), x.metadata) for x in found] == [(0, 1, {"k": b"v"}), (1, 0, {}), (2, 2, {})]
    decoder = jelly.Decoder()
    assert [len(decoder.decode_frame(body)) for body in bodies] == [1, 0, 2]


def test_each_frame_of_a_framed_stream_is_an_element() -> None:
    """001-070."""
    data = frame(options(2, 4), quad()) + frame() + frame(name("a"), quad(o=(IRI, iri(1))), quad())
    assert [len(found) for found in jelly.scan(data).frames()] == [1, 0, 2]
    from jelly.messages import read_messages

    assert [len(message) for message in read_messages(data)] == [1, 0, 2]
