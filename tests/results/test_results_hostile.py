"""Terms and names that are hard to write, through every format of SPARQL results that can be read."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.chance import examples

import jelly
from jelly import IRI, Literal, QuotedTriple
from jelly._core.terms.batch_builder import _make_batch
from jelly._formats.registry import REGISTRY, Content
from jelly._formats.result_syntaxes import Head, open_writer

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
    pieces=st.lists(st.text("a\n", max_size=12).map(lambda text: text.replace("a", " ").encode()), max_size=8),
    limit=st.integers(1, 20),
)
def test_a_line_of_tsv_counts_across_pieces(pieces: list[bytes], limit: int) -> None:
    """A line that several pieces share is as long as it is in one."""
    pieces = [b"?x\n" if limit > 1 else b"\n", *pieces]
    longest = max(map(len, b"".join(pieces).split(b"\n")))
    results = partial(jelly.results.read_results, iter(pieces), format="tsv", max_text_bytes=limit)
    if longest <= limit:
        list(results())
    else:
        with pytest.raises(jelly.JellyLimitError, match="raise max_text_bytes"):
            list(results())


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "x\ny", "-", "a.b", "?x"])
def test_tsv_refuses_names_that_are_no_variables(name: str) -> None:
    with pytest.raises(jelly.JellyUnsupportedError, match="TSV cannot hold the variable"):
        jelly.results.write_results(io.BytesIO(), [name], [[Literal("x")]], format="tsv")
    assert through("tsv", ["x1_\u00e4\u00b7"], [[Literal("x")]])[0] == ("x1_\u00e4\u00b7",)


TSV_ROWS = [[Literal(f"o{i}", language="en-GB"), IRI(f"http://e/{i}") if i % 3 else None] for i in range(50)]


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 16])
@pytest.mark.parametrize("format", ["json", "tsv"])
def test_pieces_are_the_whole(piece: int, format: str) -> None:
    out = io.BytesIO()
    jelly.results.write_results(out, ["x", "y"], TSV_ROWS, format=format)
    data = out.getvalue()
    results = jelly.results.read_results((data[i : i + piece] for i in range(0, len(data), piece)), format=format)
    assert (results.variables, list(results)) == (("x", "y"), [tuple(row) for row in TSV_ROWS])


def test_lines_of_tsv_as_others_count_them() -> None:
    for text in (
        b"",
        b"\n",
        b"\n\n\n",
        b"?x",
        b"?x\r\n1\r\n\r\n2",
        b"?x\n1\n",
        b"?x\n \n 1 \n",
        b" $x\t?y \n1\ttrue\n",
    ):
        found = jelly.results.read_results(text, format="tsv")
        whole = pyoxigraph.parse_query_results(text, pyoxigraph.QueryResultsFormat.TSV)
        assert found.variables == tuple(variable.value for variable in whole.variables)
        assert len(list(found)) == len(list(whole))
    for text in (
        b"x\n",
        b"?x\t\n",
        b"?\n",
        b"?x y\n",
        b"?x\n1\t2\n",
        b"?x\t?y\n1\n",
        b"?x\n1 2\n",
        b"?x\nnothing\n",
        b"?a.b\n",
    ):
        with pytest.raises(SyntaxError):
            list(pyoxigraph.parse_query_results(text, pyoxigraph.QueryResultsFormat.TSV))
        with pytest.raises(jelly.JellyFormatError):
            list(jelly.results.read_results(text, format="tsv"))
    with pytest.raises(
        jelly.JellySyntaxError, match="expected the rest of the term, found the end of the line"
    ) as caught:
        list(jelly.results.read_results(b"?x\n1\n2\n<a\n3\n", format="tsv"))
    assert (caught.value.line, caught.value.row, caught.value.offset) == (4, 2, 9)


def term(value: str) -> dict[str, str]:
    return {"type": "literal", "value": value}


HEAD = b'"head":{"link":["a:l"],"vars":["x","y"]}'
RESULTS = b'"results":{"bindings":[{"y":{"value":"1","type":"literal"}},{}]}'


@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_json_in_any_order(piece: int) -> None:
    """Members stand in any order, and what is unknown is passed over. The last of a name counts."""
    more = b'"other":[1,-0.5e+3,{"a":[[],{},null,true,"\\u00e9\\ud83d\\ude00"]}]'
    cell = (None, Literal("1"))
    for parts in (
        (HEAD, RESULTS),
        (RESULTS, HEAD),
        (more, RESULTS, more, HEAD, more),
        (b'"head":{"vars":["z"]}', HEAD, RESULTS),
    ):
        text = b" {" + b" , ".join(parts) + b"}\n "
        results = jelly.results.read_results((text[i : i + piece] for i in range(0, len(text), piece)), format="json")
        assert (results.variables, list(results)) == (("x", "y"), [cell, (None, None)])
        assert results.links == ("a:l",)
    for parts in ((HEAD, b'"boolean":true'), (RESULTS, b'"boolean":true', HEAD), (b'"boolean":true', RESULTS, HEAD)):
        results = jelly.results.read_results(b"{" + b",".join(parts) + b"}", format="json")
        assert (results.variables, results.boolean, results.links, list(results)) == ((), True, ("a:l",), [])


def test_json_of_many_rows_before_its_head() -> None:
    rows = b",".join(b'{"v%d":{"type":"uri","value":"a:%d"}}' % (i % 3, i) for i in range(40_000))
    text = b'{"results":{"bindings":[' + rows + b']},"head":{"vars":["v2","v0","v1"]}}'
    found = list(jelly.results.read_results(text, format="json"))
    assert found == [tuple(IRI(f"a:{i}") if i % 3 == k else None for k in (2, 0, 1)) for i in range(40_000)]


def test_json_with_many_variables() -> None:
    """Members that are not in the order of the head are found, too."""
    names = [f"v{i}" for i in range(1000)]
    rows = [{name: term(name) for name in order} for order in (names, names[::-1], names[::7], sorted(names))]
    document = json.dumps({"head": {"vars": names}, "results": {"bindings": rows}}).encode()
    results = jelly.results.read_results(document, format="json")
    for row, made in zip(rows, results, strict=True):
        assert made == tuple(Literal(name) if name in row else None for name in names)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-le"])
def test_json_in_other_encodings(encoding: str) -> None:
    text = '{"head":{"vars":["\u00e9"]},"results":{"bindings":[{"\u00e9":{"type":"literal","value":"\U0001f600"}}]}}'
    data = text.encode(encoding)
    for piece in (1, 5, len(data)):
        results = jelly.results.read_results((data[i : i + piece] for i in range(0, len(data), piece)), format="json")
        assert (results.variables, list(results)) == (("\u00e9",), [(Literal("\U0001f600"),)])
    with pytest.raises(jelly.JellyFormatError):
        list(jelly.results.read_results(data[:-3], format="json"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    st.booleans(),
)
@examples(80)
def test_any_json_is_passed_over(value: object, ascii: bool) -> None:
    text = json.dumps(
        {"a": value, "head": {"vars": [], "b": value}, "results": {"c": value, "bindings": [{"d": value}]}},
        ensure_ascii=ascii,
    )
    try:
        data = text.encode()
        json.dumps(value, ensure_ascii=False).encode()  # no halves of pairs
    except UnicodeEncodeError:
        return
    assert list(jelly.results.read_results(data, format="json")) == [()]


BAD_JSON = [
    b"{" + HEAD + b"," + RESULTS + b",}", b"{" + HEAD + b" " + RESULTS + b"}", b"{,}",
    b"{" + HEAD + b"," + RESULTS + b"}x",
    b"{" + HEAD + b',"results":{"bindings":[{},]}}', b"{" + HEAD + b',"results":{"bindings":[{} {}]}}',
    b"{" + HEAD + b',"results":{"bindings":[]"a":1}}', b'{"a":01}', b'{"a":1.}', b'{"a":+1}', b'{"a":.5}', b'{"a":1e}',
    b'{"a":nul}', b'{"a":"\n"}', b'{"a":"\\x"}', b'{"a":"\\u12g4"}', b'{"a":[}', b'{"a":{]}', b'{"a" 1}', b"{a:1}",
    b'{"a":tru', b'{"a":"', b"", b"{",
]  # fmt: skip


@pytest.mark.parametrize("data", BAD_JSON)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        json.loads(data)
    with pytest.raises(jelly.JellySyntaxError, match="expected"):
        list(jelly.results.read_results(data, format="json"))


def test_json_deep_and_wide() -> None:
    deep = b'{"a":' + b"[" * 500 + b"]" * 500 + b"," + HEAD + b"," + RESULTS + b"}"
    assert len(list(jelly.results.read_results(deep, format="json"))) == 2
    with pytest.raises(jelly.JellyLimitError, match="too deep"):
        jelly.results.read_results(deep.replace(b"[" * 500, b"[" * 600), format="json")
    inner = term("o")
    for levels in range(1, 66):
        inner = {
            "type": "triple",
            "value": {"s": {"type": "uri", "value": "a:s"}, "p": {"type": "uri", "value": "a:p"}, "o": inner},
        }  # type: ignore[dict-item]
        data = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": inner}]}}).encode()
        if levels <= 64:
            assert len(list(jelly.results.read_results(data, format="json"))) == 1
        else:
            with pytest.raises(jelly.JellyLimitError, match="nested deeper than 64"):
                list(jelly.results.read_results(data, format="json"))


def test_rows_come_while_the_document_grows() -> None:
    """Readers keep at most a row: the source is not asked for more than that takes."""
    taken = 0

    def chunks(begin: bytes, row: bytes) -> object:
        nonlocal taken
        yield begin
        for i in range(10**9):
            taken = i
            yield row * 1000

    json_rows = chunks(b'{"head":{"vars":["x"]},"results":{"bindings":[{}', b',{"x":{"type":"uri","value":"a:b"}}')
    for format, source in (("json", json_rows), ("tsv", chunks(b"?x\n\n", b"<a:b>\n"))):
        rows = iter(jelly.results.read_results(source, format=format))
        assert next(rows) == (None,)
        for _ in range(50_000):
            assert next(rows) == (IRI("a:b"),)
        assert taken < 100


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
def test_a_term_in_many_rows_takes_its_memory_once(format: str) -> None:
    """Writers give their text part by part."""
    term = QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("x" * 100_000))
    [batch] = jelly.results.batches_of(("x", "y"), [(term, Literal("\n" * 100_000))] * 200)
    writer = open_writer(REGISTRY[Content.RESULTS][format], Head(("x", "y")))
    parts = list(writer.chunks(batch))
    assert max(map(len, parts)) < 2_000_000
    assert sum(map(len, parts)) > 40_000_000


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
def test_writers_of_text_refuse_what_they_cannot_write(format: str) -> None:
    inner: Any = Literal("o")
    for _ in range(40):
        inner = QuotedTriple(IRI("a:s"), IRI("a:p"), inner)
    [batch] = jelly.results.batches_of(("x",), [(inner,)])
    writer = open_writer(REGISTRY[Content.RESULTS][format], Head(("x",)))
    assert writer.encode(batch)
    twice = [(QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("o" * 1000)),)]
    # A part that stands in it twice at each level takes more room than there is.
    data = _make_batch(3, [(1, -1, b"a:p"), (3, -1, b"o" * 1000), *[(6, i, b"") for i in range(30)]], [[31]],
                       [(i + 1, 0, i + 1) for i in range(30)], variables=("x",))  # fmt: skip
    if format != "tsv":
        with pytest.raises(jelly.JellyLimitError, match="would take more than"):
            writer.encode(data)
    for cells, terms, message in (
        ([[5]], [(1, -1, b"a:p")], "not a term of the Batch|no term"),
        ([[0]], [(4, 7, b"a")], "term"),
        ([[0]], [(5, 0, b"a")], "term"),
        ([[0]], [(12, -1, b"a")], "spare"),
        ([[0]], [(6, 3, b"")], "term"),
    ):
        with pytest.raises(jelly.JellyError, match=message):
            writer.encode(_make_batch(3, terms, cells, variables=("x",)))
    [good] = jelly.results.batches_of(("x",), twice)
    assert len(writer.encode(good)) > 1000
    [other] = jelly.results.batches_of(("y",), twice)
    with pytest.raises(jelly.JellyOptionsError, match="expected \\('x',\\), as in the header"):
        writer.encode(other)
    started = writer.chunks(good)
    next(started)
    with pytest.raises(jelly.JellyOptionsError, match="not written to its end"):
        writer.encode(good)
    started.close()
    assert writer.encode(good)
