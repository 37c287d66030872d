"""Terms and names that are hard to write, through every format of SPARQL results that can be read."""

from __future__ import annotations

import gc
import io
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.chance import examples

import jelly
from jelly import IRI, Literal, QuotedTriple
from jelly._formats.result_tsv import _guard

pyoxigraph = pytest.importorskip("pyoxigraph")
FORMATS = ("thrift", "protobuf", "json", "xml")

TEXTS = st.text("a&<>\"' \t\n\r;#x26=?/:é\u2028\U0001f600", min_size=1, max_size=8)


def through(
    format: str, variables: list[str], rows: list[list[object]]
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    out = io.BytesIO()
    jelly.results.write_results(out, variables, rows, format=format)
    results = jelly.results.read_results(out.getvalue(), format=format)
    return results.variables, list(results)


@pytest.mark.parametrize("format", [*FORMATS, "tsv"])
def test_a_datatype_with_ampersands(format: str) -> None:
    term = Literal("v", datatype="http://e/?a=1&b=2")
    assert through(format, ["x"], [[term]])[1] == [(term,)]


@pytest.mark.parametrize("format", FORMATS)
@given(names=st.lists(TEXTS, min_size=1, max_size=3, unique=True), datatype=TEXTS, value=TEXTS)
@example(names=["a&b", "<x>", '"'], datatype="http://e/?a=1&amp;b=\"'<>", value="&amp;")
@examples(60)
def test_names_and_datatypes_come_back(format: str, names: list[str], datatype: str, value: str) -> None:
    row = [Literal(value, datatype=datatype)] * len(names)
    assert through(format, names, [row]) == (tuple(names), [tuple(row)])


@pytest.mark.parametrize("name", ["a\0", "\x0b"])
def test_what_xml_has_no_character_for_is_refused(name: str) -> None:
    for variables, term in (([name], Literal("v")), (["x"], Literal("v", datatype=name)), (["x"], Literal(name))):
        with pytest.raises(jelly.JellyUnsupportedError, match="XML cannot hold"):
            through("xml", variables, [[term]])


def test_triples_that_are_called_statements() -> None:
    parts = {"subject": {"type": "uri", "value": "a:s"}, "predicate": {"type": "uri", "value": "a:p"}}
    parts["object"] = {"type": "literal", "value": "o"}
    expected = [(QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("o")),)]
    for kind in ("triple", "statement"):
        binding = {"x": {"type": kind, "value": parts}}
        document = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [binding]}}).encode()
        assert list(jelly.results.read_results(document, format="json")) == expected


@given(
    pieces=st.lists(st.text("a\n", max_size=12).map(str.encode), max_size=8),
    limit=st.integers(1, 20),
)
def test_a_line_of_tsv_counts_across_pieces(pieces: list[bytes], limit: int) -> None:
    """A line that several pieces share is as long as it is in one."""
    check = _guard(limit)
    longest = max(map(len, b"".join(pieces).split(b"\n")))
    try:
        for piece in pieces:
            check(piece)
    except jelly.JellyLimitError:
        assert longest > limit
    else:
        assert longest <= limit


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "x\ny", "-", "a.b", "?x"])
def test_tsv_refuses_names_that_are_no_variables(name: str) -> None:
    with pytest.raises(jelly.JellyUnsupportedError, match="TSV cannot hold the variable"):
        jelly.results.write_results(io.BytesIO(), [name], [[Literal("x")]], format="tsv")
    assert through("tsv", ["x1_\u00e4\u00b7"], [[Literal("x")]])[0] == ("x1_\u00e4\u00b7",)


TSV_ROWS = [[Literal(f"o{i}", language="en-GB"), IRI(f"http://e/{i}") if i % 3 else None] for i in range(50)]


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 16])
def test_tsv_in_pieces_is_the_whole(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jelly._formats.result_tsv.PIECE", piece)
    assert through("tsv", ["x", "y"], TSV_ROWS) == (("x", "y"), [tuple(row) for row in TSV_ROWS])
    for text in (b"", b"\n", b"\n\n\n", b"?x", b"?x\r\n1\r\n\r\n2", b"?x\n1\n"):
        found = jelly.results.read_results(text, format="tsv")
        whole = pyoxigraph.parse_query_results(text, pyoxigraph.QueryResultsFormat.TSV)
        assert found.variables == tuple(variable.value for variable in whole.variables)
        assert len(list(found)) == len(list(whole))
    with pytest.raises(jelly.JellySyntaxError, match="on '<a'") as caught:
        list(jelly.results.read_results(b"?x\n1\n2\n<a\n3\n", format="tsv"))
    assert caught.value.line == 4


def test_tsv_is_read_and_dropped_by_another_thread() -> None:
    """Neither a reader that was left nor an error keeps the parser, which only one thread may use and drop."""
    gc.collect()  # what errors of other tests keep is dropped here, by the thread that made it
    out = io.BytesIO()
    jelly.results.write_results(out, ["x", "y"], TSV_ROWS * 200, format="tsv")
    found = jelly.results.read_results(out.getvalue(), format="tsv")
    rows = iter(found)
    first = next(rows)
    with ThreadPoolExecutor(1) as pool:
        assert first == tuple(TSV_ROWS[0])
        assert pool.submit(lambda: len(list(rows))).result() == 200 * 50 - 1
        with pytest.raises(jelly.JellySyntaxError) as caught:
            list(jelly.results.read_results(b"?x\n1\nnothing\n", format="tsv"))
        kept = [caught]
        kept.append(kept)  # type: ignore[arg-type]
        del caught, kept
        assert pool.submit(gc.collect).result() >= 0  # a parser dropped here would be a warning, so an error
