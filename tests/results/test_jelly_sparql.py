"""Jelly-SPARQL: rows of any terms there and back, frames and options, sequences, and damaged or hostile streams."""

from __future__ import annotations

import contextlib
import io
import itertools
import random
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.statements import anything

import jelly
from jelly import IRI, BlankNode, JellyError, Literal, QuotedTriple
from jelly._core.jelly.result_decoder import ResultDecoder
from jelly._core.jelly.result_encoder import ResultEncoder
from jelly.errors import QueryError, TruncatedWarning
from jelly.results import ResultOptions, read_result_sets, read_results, write_result_sets, write_results

RUNS = [None, IRI("http://e/a#1"), IRI("http://e/b/2"), Literal("1"), Literal("2", language="en"), BlankNode("b")]
ROWS = [
    (IRI("http://e/x"), None, Literal("1", datatype="http://e/t")),
    (IRI("http://e/x"), BlankNode("b"), Literal("a", language="en")),
    (IRI("http://f#y"), BlankNode("b"), Literal("a", language="ar", direction="rtl")),
    (None, Literal("x"), QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("z", language="de"))),
    (None, None, None),
]
NAMES = ("s", "o", "p")


def through(rows: Any, names: Any = NAMES, **settings: Any) -> list[Any]:
    out = io.BytesIO()
    assert write_results(out, names, rows, format="jellys", **settings) == len(rows)
    found = read_results(out.getvalue(), format="jellys")
    assert found.variables == tuple(names)
    made = list(found)
    assert found.complete
    return made


def stream(rows: Any = ROWS, names: Any = NAMES, **settings: Any) -> bytes:
    out = io.BytesIO()
    write_results(out, names, rows, format="jellys", **settings)
    return out.getvalue()


@pytest.mark.parametrize("frame_rows", [1, 3, 7, 4096, 0])
def test_rows_come_back(frame_rows: int) -> None:
    assert through(ROWS, frame_rows=frame_rows) == ROWS


@given(
    rows=st.lists(st.tuples(st.none() | anything, st.sampled_from(RUNS), st.none() | anything), max_size=20),
    frame_rows=st.integers(0, 40),
)
@examples(150)
def test_any_rows(rows: list[Any], frame_rows: int) -> None:
    try:
        made = through(rows, frame_rows=frame_rows)
    except jelly.JellyUnsupportedError as error:
        assert "Jelly-SPARQL" in str(error)  # noqa: PT017 - terms that RDF 1.2 does not have
        return
    assert made == rows


@given(st.lists(st.lists(st.sampled_from(RUNS), min_size=2, max_size=2).map(tuple), max_size=200), st.data())
@examples(100)
def test_runs_and_small_tables(rows: list[Any], data: st.DataObject) -> None:
    """Runs of all lengths, in frames that end where a table is full."""
    rows = list(itertools.chain.from_iterable([row] * data.draw(st.sampled_from([1, 2, 3, 17, 40])) for row in rows))
    many = [(IRI(f"http://e/{i % 150}"), IRI(f"http://f{i % 9}/{i}")) for i in range(len(rows))]
    options = {"max_name_table_size": 128, "max_prefix_table_size": data.draw(st.sampled_from([0, 1, 2, 8]))}
    for each in (rows, many, [*rows, *many]):
        assert through(each, "ab", options=options) == each


def test_a_row_that_no_frame_holds() -> None:
    row = [tuple(IRI(f"http://e/{i}") for i in range(129))]
    names = [f"v{i}" for i in range(129)]
    with pytest.raises(jelly.JellyOptionsError, match="128"):
        through(row, names, options={"max_name_table_size": 128, "max_prefix_table_size": 0})
    assert through(row, names, options={"max_name_table_size": 129}) == row
    # More prefixes than there can be: the IRIs go without.
    wide = [tuple(IRI(f"http://e{i}/x") for i in range(100))]
    assert through(wide, names[:100], options={"max_prefix_table_size": 4}) == wide


def test_what_the_options_do_not_allow() -> None:
    with pytest.raises(jelly.JellyOptionsError, match="datatype"):
        through([(Literal("1", datatype="a:t"),)], "x", options={"max_datatype_table_size": 0})
    for version, term in (("1.1", ROWS[2][2]), ("1.2-basic", ROWS[3][2])):
        with pytest.raises(jelly.JellyOptionsError, match="rdf_version"):
            through([(term,)], "x", options={"rdf_version": version})
        assert through([(term,)], "x", options={"rdf_version": "1.2"}) == [(term,)]
    wrong: Any = {"max_name_table_size": 127}, {"version": 2}, {"rdf_version": "2"}
    for options, what in zip(wrong, ("128", "version", "2"), strict=True):
        with pytest.raises(jelly.JellyOptionsError, match=what):
            through([], "x", options=options)
    with pytest.raises(jelly.JellyArgumentError, match="for Jelly-SPARQL"):
        write_results(io.BytesIO(), "x", [], format="json", frame_rows=5)
    with pytest.raises(jelly.JellyArgumentError, match="max_nmae"):
        through([], "x", options={"max_nmae": 200})
    with pytest.raises(jelly.JellyArgumentError, match="a sequence of IRIs"):
        through([], "x", links="a:b")
    with pytest.raises(jelly.JellyArgumentError, match="or variables and rows, got tuple"):
        sequence([("x", [], 3)])
    with pytest.raises(jelly.JellyOptionsError, match="none of them empty"):
        through([], [""])


def test_options_and_links_are_told() -> None:
    options = ResultOptions(stream_name="é", rdf_version="1.2", max_name_table_size=200, max_prefix_table_size=0)
    found = read_results(stream(options=options, links=["http://e/1", "a:2"]), format="jellys")
    assert (found.options, found.links) == (options, ("http://e/1", "a:2"))
    assert list(found) == ROWS
    for format in ("json", "xml"):
        out = io.BytesIO()
        source = read_results(stream(links=["a:l"]), format="jellys")
        write_results(out, source, format=format)
        again = read_results(out.getvalue(), format=format)
        assert (again.variables, again.links, list(again)) == (NAMES, ("a:l",), ROWS)


@pytest.mark.parametrize("format", ["jellys", "json", "xml"])
@pytest.mark.parametrize("answer", [False, True])
def test_answers(format: str, answer: bool) -> None:
    out = io.BytesIO()
    assert write_results(out, answer, format=format) == 0
    found = read_results(out.getvalue(), format=format)
    assert (found.boolean, found.variables, list(found)) == (answer, (), [])
    for other in ("csv", "tsv", "thrift"):
        with pytest.raises(jelly.JellyUnsupportedError, match="answer of an ASK query"):
            write_results(io.BytesIO(), answer, format=other)


def test_results_of_other_libraries() -> None:
    pyoxigraph, rdflib = pytest.importorskip("pyoxigraph"), pytest.importorskip("rdflib")
    store, graph = pyoxigraph.Store(), rdflib.Graph()
    for text in (b"<a:s> <a:p> 'x'@en .", b"<a:s> <a:p> 5 ."):
        store.load(text, pyoxigraph.RdfFormat.TURTLE)
        graph.parse(data=text, format="turtle")
    for query in (store.query, graph.query):
        out = io.BytesIO()
        assert write_results(out, query("SELECT ?s ?o { ?s ?p ?o } ORDER BY ?o"), format="jellys") == 2
        assert {row[0] for row in read_results(out.getvalue(), format="jellys")} == {IRI("a:s")}
        out = io.BytesIO()
        write_results(out, query("ASK { ?s ?p 5 }"), format="jellys")
        assert read_results(out.getvalue(), format="jellys").boolean is True


SETS: list[Any] = [
    (("x",), [(IRI("a:1"),), (None,)]), True, ((), [(), ()]), (("y", "z"), []), False, (("x",), []),
]  # fmt: skip


def sequence(sets: Any = SETS, **settings: Any) -> bytes:
    out = io.BytesIO()
    assert write_result_sets(out, sets, **settings) == len(sets)
    return out.getvalue()


def test_sequences() -> None:
    found = [
        found.boolean if found.boolean is not None else (found.variables, list(found))
        for found in read_result_sets(sequence(), format="jellys")
    ]
    assert found == SETS
    # Rows that nobody takes are passed over.
    assert [found.variables for found in read_result_sets(sequence(), format="jellys")][0] == ("x",)
    assert len(list(read_result_sets(sequence() * 3, format="jellys"))) == 3 * len(SETS)
    with pytest.raises(jelly.JellyUnsupportedError, match="read_result_sets"):
        read_results(sequence(), format="jellys")
    with pytest.raises(jelly.JellyOptionsError, match="punctuated"):
        sequence(options=ResultOptions())
    with pytest.raises(jelly.JellyArgumentError, match="at least one"):
        sequence([])
    with pytest.raises(jelly.JellyArgumentError, match="for Jelly-SPARQL, not for JSON"):
        write_result_sets("no.srj", [True])
    assert [list(found) for found in read_result_sets(b'{"head":{},"boolean":false}', format="json")] == [[]]


def test_the_end_of_a_stream() -> None:
    whole = stream()
    cut = framed(whole[2:-2])
    assert framed(whole[2:]) == whole
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = read_results(cut, format="jellys")
        assert (list(found), found.complete) == (ROWS, False)
    assert [(one.category, "without a trailer" in str(one.message)) for one in told] == [(TruncatedWarning, True)]
    rows = iter(read_results(cut, format="jellys"))
    assert [next(rows) for _ in ROWS] == ROWS
    with pytest.raises(TruncatedWarning):  # as an error, too, it comes after the rows
        next(rows)
    with pytest.warns(TruncatedWarning):
        assert read_results(framed(OPTIONS + b"\x42\x02\x08\x01"), format="jellys").boolean
    with pytest.raises(jelly.JellyTruncatedError, match="trailer"):
        list(read_results(cut, format="jellys", require_trailer=True))
    assert list(read_results(whole * 2, format="jellys", require_trailer=True)) == ROWS * 2
    encoder = ResultEncoder(ResultOptions())
    encoder.begin(NAMES)
    data = encoder.encode(next(read_results(whole, format="jellys").batches())) + encoder.end_set("out of time")
    rows = iter(read_results(data, format="jellys"))
    assert [next(rows) for _ in ROWS] == ROWS
    with pytest.raises(QueryError, match="out of time"):
        next(rows)


def test_one_frame_without_a_length() -> None:
    encoder = ResultEncoder(ResultOptions(), delimited=False)
    encoder.begin(NAMES)
    batch = next(read_results(stream(), format="jellys").batches())
    frame = encoder.encode(batch) + encoder.end_set()
    assert list(ResultDecoder().decode_frame(frame)) == ROWS
    assert list(read_results(frame, format="jellys", delimited=False)) == ROWS
    with pytest.raises(JellyError):
        list(read_results(frame, format="jellys"))


def rows_of(data: bytes) -> list[Any]:
    return [list(found) for found in read_result_sets(data, format="jellys")]


@pytest.mark.filterwarnings("ignore::jelly.errors.TruncatedWarning")
def test_cut_at_each_byte() -> None:
    """A stream that is cut is told to be so, or it ends with a frame and lacks its trailer; rows are never others."""
    for whole in (stream(frame_rows=3), sequence()):
        frames = {0}
        for frame in range(len(whole)):
            if frame in frames and frame < len(whole):
                frames.add(frame + 1 + whole[frame])
        for end in range(len(whole)):
            got: list[Any] = []
            try:
                for found in read_result_sets(whole[:end], format="jellys"):
                    got += list(found)
            except JellyError:
                assert end not in frames or end == 0
            else:
                assert end in frames
            assert got == list(itertools.chain.from_iterable(rows_of(whole)))[: len(got)]


def test_pieces_of_any_size() -> None:
    whole = stream([*ROWS] * 50, frame_rows=20)
    for size in (1, 2, 3, 7, 64):
        decoder = ResultDecoder(delimited=True)
        rows: list[Any] = []
        for at in range(0, len(whole), size):
            for batch in decoder.feed(whole[at : at + size]):
                rows += list(batch)
        for batch in decoder.close():
            rows += list(batch)
        assert rows == ROWS * 50


def test_flipped_bytes_never_crash() -> None:
    chance = random.Random(7)
    for whole in (stream(frame_rows=6), sequence(), stream([*ROWS] * 20)):
        for _ in range(3000):
            data = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            with contextlib.suppress(JellyError):
                rows_of(bytes(data))


OPTIONS = bytes.fromhex("0a09488001500858047801")


def framed(body: bytes) -> bytes:
    n, size = len(body), b""
    while n >= 0x80:
        size, n = size + bytes([n & 0x7F | 0x80]), n >> 7
    return size + bytes([n]) + body


@pytest.mark.filterwarnings("ignore::jelly.errors.TruncatedWarning")
def test_bombs() -> None:
    """A few bytes that claim millions of rows or cells."""
    with pytest.raises(jelly.JellyLimitError, match="max_frame_rows"):
        rows_of(framed(OPTIONS + b"\x12\x01x\x18\xff\xff\xff\x3f\x3a\x00"))
    wide = b"".join(b"\x12\x02%c%c" % (97 + i // 26, 97 + i % 26) for i in range(600)) + b"\x3a\x00" * 600
    with pytest.raises(jelly.JellyLimitError, match="max_frame_rows"):
        rows_of(framed(OPTIONS + wide + b"\x18\x80\x80\x40"))
    assert sum(map(len, rows_of(framed(OPTIONS + b"\x18\x80\x80\x40")))) == 1 << 20  # rows of no variables
    with pytest.raises(jelly.JellyLimitError, match="variables"):
        rows_of(framed(OPTIONS + b"\x12\x01x" * 70_000))
    found = read_results(framed(OPTIONS + b"\x12\x01x\x12\x01x\x18\x01\x3a\x00\x3a\x00"), format="jellys")
    assert (found.variables, list(found)) == (("x", "x"), [(None, None)])  # rows go by position


def test_damage_names_its_variable() -> None:
    data = framed(OPTIONS + b"\x12\x01a\x12\x01b\x18\x01\x3a\x00\x3a\x06\x2a\x01x\x2a\x01y")
    with pytest.raises(jelly.JellyFormatError, match="variable 'b' has more cells than the 1 rows") as caught:
        rows_of(data)
    assert (caught.value.frame, caught.value.offset is not None) == (0, True)
