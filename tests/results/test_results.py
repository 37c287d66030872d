"""SPARQL results: every format to every other, Arrow, errors, files."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.contents import convert_results
from support.statements import anything

import jelly
from jelly import IRI, BlankNode, JellyError, JellyFormatError, JellyUnsupportedError, Literal, QuotedTriple
from jelly._formats.registry import REGISTRY, Content
from jelly.results import read_results, write_results

XSD = "http://www.w3.org/2001/XMLSchema#"
QUOTED = QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("o", language="en-GB"))
VARIABLES = ("x", "y", "\u00e9")
ROWS: list[tuple[Any, ...]] = [
    (IRI("http://e/\u00e9?a=b&c#d"), BlankNode("b0"), Literal("plain")),
    (None, None, None),
    (Literal("", language="en-GB"), Literal("x", language="ar--rtl"), Literal("12", datatype=XSD + "integer")),
    (Literal("<&>\"'\\\t\n\r ]]> \U0001f600"), None, Literal("a,b")),
    (QUOTED, QuotedTriple(IRI("a:s"), IRI("a:p"), QUOTED), Literal(" 1.50 ", datatype="a:t")),
    (Literal("@en-GB"), Literal("x@EN-gb-x-1"), Literal("\u2028")),
]
TEXTS = ["json", "xml", "tsv"]
LOSSLESS = ["jellys", "thrift", "protobuf", *TEXTS]


def written(rows: list[Any], format: str, variables: Any = VARIABLES) -> bytes:
    out = io.BytesIO()
    assert write_results(out, variables, rows, format=format) == len(rows)
    return out.getvalue()


@pytest.mark.parametrize("format", LOSSLESS)
def test_round_trip(format: str) -> None:
    data = written(ROWS, format)
    results = read_results(data, format=format)
    assert results.variables == VARIABLES
    assert list(results) == ROWS
    for target in LOSSLESS:
        out = io.BytesIO()
        assert convert_results(data, out, format=format, to=target) == len(ROWS)
        assert out.getvalue() == written(ROWS, target)


@given(st.lists(st.tuples(st.none() | anything, st.none() | anything), max_size=8))
def test_any_terms(rows: list[Any]) -> None:
    for format in ("thrift", "protobuf"):
        try:
            data = written(rows, format, "ab")
        except JellyFormatError as error:
            assert "begins with _:" in str(error)  # noqa: PT017 - an IRI that readers take for a blank node
            continue
        assert list(read_results(data, format=format)) == rows
    data = written(rows, "json", "ab")
    assert list(read_results(data, format="json")) == rows


def test_text() -> None:
    rows = [(IRI("a:b"), Literal("c", language="en")), (None, Literal("1", datatype=XSD + "integer"))]
    assert json.loads(written(rows, "json", ["x", "y"])) == {
        "head": {"vars": ["x", "y"]},
        "results": {
            "bindings": [
                {"x": {"type": "uri", "value": "a:b"}, "y": {"type": "literal", "value": "c", "xml:lang": "en"}},
                {"y": {"type": "literal", "value": "1", "datatype": XSD + "integer"}},
            ]
        },
    }
    assert written(rows, "csv", ["x", "y"]) == b"x,y\r\na:b,c\r\n,1\r\n"
    assert written(rows, "tsv", ["x", "y"]) == f'?x\t?y\n<a:b>\t"c"@en\n\t"1"^^<{XSD}integer>\n'.encode()
    assert b'<binding name="y"><literal xml:lang="en">c</literal></binding>' in written(rows, "xml", ["x", "y"])
    odd = [(Literal('a"b,c'), BlankNode("l")), (Literal("x\ny"), QUOTED)]
    assert written(odd, "csv", ["x", "y"]).startswith(b'x,y\r\n"a""b,c",_:l\r\n"x\ny",')


def test_no_rows_and_no_variables() -> None:
    for format in LOSSLESS:
        for variables, rows in (([], []), (["x"], []), ([], [(), ()]), (["x"], [(None,)])):
            if format == "tsv" and not variables:
                continue  # its header is then an empty line like its rows
            results = read_results(written(rows, format, variables), format=format)
            assert (results.variables, list(results)) == (tuple(variables), rows), format


def test_json_that_others_write() -> None:
    text = """{"head": {"link": [], "vars": ["a", "b"]}, "results": {"distinct": false, "bindings": [
      {"a": {"type": "typed-literal", "datatype": "a:t", "value": "x"}, "c": {"type": "uri", "value": "a:c"}},
      {"b": {"type": "triple", "value": {"s": {"type": "uri", "value": "a:s"}, "p": {"type": "uri", "value": "a:p"},
             "o": {"type": "literal", "value": "o", "xml:lang": "ar", "its:dir": "rtl"}}}}]}}"""
    quoted = QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("o", language="ar--rtl"))
    assert list(read_results(text.encode(), format="srj")) == [(Literal("x", datatype="a:t"), None), (None, quoted)]


@pytest.mark.parametrize(
    ("format", "data", "kind", "message"),
    [
        ("json", b'{"head":{},"boolean":"yes"}', JellyFormatError, "boolean: expected true or false"),
        ("json", b"[]", JellyFormatError, "JSON object"),
        ("json", b'{"head":{"vars":["x"]}}', JellyFormatError, "JSON object"),
        ("json", b'{"head": nothing}', jelly.JellySyntaxError, "line 1"),
        ("json", b'{"head":"\xff"}', jelly.JellySyntaxError, "not UTF-8: byte 0xFF"),
        ("json", b"[" * 200_000, jelly.JellyLimitError, "too deep"),
        ("json", b'{"head":{"vars":["x","x"]},"results":{"bindings":[]}}', JellyFormatError, "stands twice"),
        ("json", b'{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"uri"}}]}}', JellyFormatError, "a term"),
        ("json", b'{"head":{"vars":["x"]},"results":{"bindings":[{"x":1}]}}', JellyFormatError, "not a term"),
        ("csv", b"x\r\n", JellyUnsupportedError, "cannot be read"),
        ("xml", b"<sparql", jelly.JellySyntaxError, "."),
        ("xml", b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", JellyUnsupportedError, "document type"),
        ("xml", b"<results/>", JellyFormatError, "expected sparql"),
        ("xml", b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head><variable name='x'/></head><results>"
         b"<result><binding name='x'><uri>a:b</uri><uri>a:c</uri></binding></result></results></sparql>",
         JellyFormatError, "several terms"),
        ("xml", b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head><variable name='x'/></head><results>"
         b"<result><binding name='x'><uri>a:b</uri></binding><binding name='x'><uri>a:c</uri></binding></result>",
         JellyFormatError, "a variable has two bindings"),
        ("xml", b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head><variable name='x'/></head><results>"
         b"<result><binding name='x'/></result></results></sparql>",
         JellyFormatError, "a binding has no term: expected uri, bnode, literal or triple in it, and no binding of"),
        ("xml", b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head><variable name='x'/></head><results>"
         b"<result><binding name='y'><uri>a:b</uri></binding></result></results></sparql>",
         JellyFormatError, "a binding is of no variable in the head"),
        ("tsv", b"?x\nnothing\n", jelly.JellySyntaxError, "."),
        ("tsv", b"?x\n" + b"<<( " * 100_000, jelly.JellyLimitError, "nested deeper"),
        ("xml", b"<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head><variable name='x'/></head><results>"
         b"<result><binding name='x'>" + b"<triple><subject>" * 100_000, jelly.JellyLimitError, "nested deeper"),
        ("thrift", b"", JellyFormatError, "the input is empty"),
        ("thrift", b"\x19\x2c\x18\x01x\0\x18\x01x\0\0", JellyFormatError, "'x' stands twice"),
        ("protobuf", b"\x05\x0a\x03\x0a\x01x\x04\x0a\x02\x4a\0", JellyFormatError, "REPEAT"),
        ("protobuf", b"", JellyFormatError, "the input is empty"),
    ],
)  # fmt: skip
def test_errors(format: str, data: bytes, kind: type[JellyError], message: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{format}"
    path.write_bytes(data)

    def read() -> None:
        list(read_results(path, format=format))

    with pytest.raises(kind, match=message) as caught:
        read()
    assert caught.value.source == str(path)
    with pytest.raises(kind):
        convert_results(path, tmp_path / "out.srt", format=format)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_a_format_cannot_hold(tmp_path: Path) -> None:
    for format, term, message in (
        ("xml", Literal("a\0"), "U+0000"),
        ("xml", IRI("a:\uffff"), "U+FFFF"),
        ("tsv", IRI("rel"), "the IRI <rel>, here as value: it is relative"),
        ("thrift", IRI("_:x"), "begins with _:"),
        ("protobuf", IRI("_:x"), "begins with _:"),
    ):
        path = tmp_path / f"x.{format}"
        with pytest.raises(JellyError, match=message.replace("+", r"\+")):
            write_results(path, ["x"], [[Literal("good")], [term]], format=format)
        assert list(tmp_path.iterdir()) == []
    for rows, message in (
        ([["a"]], "expected an RDF term"),
        ([{"z": None}], "none of the variables"),
        ([[None] * 2], "2 terms"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            write_results(tmp_path / "x.srt", ["x"], rows)
    with pytest.raises(JellyFormatError, match="stands twice"):
        write_results(tmp_path / "x.srt", ["x", "x"], [])
    with pytest.raises(TypeError, match="has no keyword 'max_row_bytes'"):
        read_results(written(ROWS, "json"), format="json", max_row_bytes=1)
    for bad in ("x.nothing", "x"):
        with pytest.raises(JellyError, match="expected one of jellys, thrift, protobuf, json"):
            write_results(tmp_path / bad, ["x"], [])
    assert list(tmp_path.iterdir()) == []


def test_files_suffixes_media_types(tmp_path: Path) -> None:
    rows = [(Literal(str(i)), None if i % 3 else IRI(f"a:{i % 7}")) for i in range(3000)]
    for format in REGISTRY[Content.RESULTS].values():
        for suffix in format.suffixes:
            path = tmp_path / f"x{suffix}.gz"
            assert write_results(path, ["x", "y"], (dict(zip("xy", row, strict=True)) for row in rows)) == len(rows)
            assert gzip.decompress(path.read_bytes()) == written(rows, format.media_type, "xy")
        if format.name not in ("csv", "tsv"):
            assert list(read_results(path)) == rows
    with pytest.raises(JellyUnsupportedError):
        read_results(b"", format="text/csv; header=present")
    data = written(rows, "srt", "xy")
    chunks = [data[i : i + 777] for i in range(0, len(data), 777)]
    assert list(read_results(iter(chunks), format="srt", batch_rows=99)) == rows


def test_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    for format in ("thrift", "protobuf", "json"):
        data = written(ROWS, format)
        table = read_results(data, format=format).to_arrow().read_all()
        assert table.column_names == list(VARIABLES)
        assert table.column("x").to_pylist()[:3] == ["http://e/\u00e9?a=b&c#d", None, ""]
        assert table.column("y").to_pylist()[:3] == ["_:b0", None, "x"]
        table = read_results(data, format=format).to_arrow(layout="ntriples").read_all()
        assert table.column("\u00e9").to_pylist()[:3] == ['"plain"', None, f'"12"^^<{XSD}integer>']
        assert table.column("y").to_pylist()[2] == '"x"@ar--rtl'
    with pytest.raises(ValueError, match="layout"):
        read_results(data, format=format).to_arrow(layout="other")
    empty = read_results(written([], "thrift"), format="thrift").to_arrow().read_all()
    assert (empty.num_rows, empty.schema.types) == (0, [pa.string()] * 3)
    # Text that is too long for one record batch: as many rows as fit.
    long = [(Literal("x" * (1 << 20)), Literal(str(i))) for i in range(100)]
    batches = list(read_results(written(long, "thrift", "xy"), format="thrift").to_arrow())
    assert len(batches) > 1
    assert [y for batch in batches for y in batch.column(1).to_pylist()] == [str(i) for i in range(100)]


def test_memory_of_an_endless_result_is_bounded() -> None:
    # Rows are given as they are read: the source is never asked for more than that takes.
    taken = 0

    def chunks() -> Any:
        nonlocal taken
        yield bytes.fromhex("191c1801780000")
        for i in range(10**9):
            taken = i
            yield bytes.fromhex("191c3c180161000000") * 1000

    rows = iter(read_results(chunks(), format="srt"))
    for _ in range(50_000):
        assert next(rows) == (Literal("a"),)
    assert taken < 100


def test_random_cells_of_many_batches() -> None:
    chance = random.Random(1)
    rows = [
        tuple(None if chance.random() < 0.3 else Literal(str(chance.randrange(50))) for _ in "abc") for _ in range(9000)
    ]
    for format in ("thrift", "protobuf"):
        results = read_results(written(rows, format, "abc"), format=format, batch_rows=100)
        pairs = list(results.pairs())
        assert len(pairs) == 90
        assert not pairs[0][1].flags.writeable
        assert [batch.first_row for batch, _ in pairs] == list(range(0, 9000, 100))
        assert list(read_results(written(rows, format, "abc"), format=format, batch_bytes=10)) == rows


def test_rows_of_a_loop_are_made_of_smaller_batches() -> None:
    out = io.BytesIO()
    write_results(out, ["x", "y"], ((IRI("a:p"), Literal(str(i))) for i in range(40_000)), format="jellys")
    data = out.getvalue()
    kept = list(read_results(data, format="jellys"))
    assert [int(y.value) for _, y in kept] == list(range(40_000))
    # 32,768 rows and the others, as they are kept; else 2,048 each after the first, or what the caller says.
    assert len({id(x) for x, _ in kept}) == 2
    assert len({id(x) for x in [x for x, _ in read_results(data, format="jellys")]}) == 5
    assert len({id(x) for x in [x for x, _ in read_results(data, format="jellys", batch_rows=20_000)]}) == 2
