"""Terms and names that are hard to write, through every format of SPARQL results that can be read."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any
from xml.parsers import expat

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
@pytest.mark.parametrize("format", ["json", "xml", "tsv"])
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


SPARQL = b"http://www.w3.org/2005/sparql-results#"
XML_BEGIN = b'<sparql xmlns="' + SPARQL + b'"><head><variable name="x"/></head><results><result><binding name="x">'
XML_END = b"</binding></result></results></sparql>"
XML = b"""\xef\xbb\xbf<?xml version="1.0" encoding='UTF-8' standalone="yes"?><!-- <a> & -->
<?pi <b>?><r:sparql xmlns:r="%s" xmlns:its='http://www.w3.org/2005/11/its'>
 <r:head><r:variable name="x"/><r:variable name = 'y&#x20;&lt;&#233;\t' ></r:variable><r:link href="a&amp;b"/></r:head>
 <r:results ordered="true"><r:result ><!---->
<r:binding name="x"><r:uri>a:b<![CDATA[c<&]d]]>&#x41;&#66;</r:uri></r:binding>
  <r:binding name="y &lt;\xc3\xa9 "><literal xmlns="%s"
   xml:lang="ar" its:dir="rtl" its:version="2.0">&lt;&gt;&quot;&apos;]>\r
\r\xf0\x9f\x98\x80</literal></r:binding></r:result>
<other xmlns="a:b" c:d='' xmlns:c="e:f"><uri>ignored</uri></other><r:result/>
</r:results></r:sparql><!-- after --> <?done?>
""" % (SPARQL, SPARQL)


@pytest.mark.parametrize("piece", [1, 2, 3, 50, 1 << 16])
def test_xml_as_it_may_be(piece: int) -> None:
    results = jelly.results.read_results((XML[i : i + piece] for i in range(0, len(XML), piece)), format="xml")
    text = Literal("<>\"']>\n\n\U0001f600", language="ar", direction="rtl")
    assert (results.variables, results.links) == (("x", "y <\u00e9 "), ("a&b",))
    assert list(results) == [(IRI("a:bc<&]dAB"), text), (None, None)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1", "windows-1252"])
def test_xml_in_other_encodings(encoding: str) -> None:
    name = "" if encoding.startswith("utf") else f'<?xml version="1.0" encoding="{encoding}"?>'
    data = (name + XML_BEGIN.decode() + "<literal>\u00e9</literal>" + XML_END.decode()).encode(encoding)
    for piece in (1, 5, len(data)):
        results = jelly.results.read_results((data[i : i + piece] for i in range(0, len(data), piece)), format="xml")
        assert list(results) == [(Literal("\u00e9"),)]


BAD_XML = [
    b"<uri>a</bnode>", b"<uri>a</uri", b"<uri>a", b"<uri>&b;</uri>", b"<uri>&#0;</uri>", b"<uri>&#xD800;</uri>",
    b"<uri>&#x110000;</uri>", b"<uri>&#;</uri>", b"<uri>&#xg;</uri>", b"<uri>&lt</uri>", b"<uri>& </uri>",
    b"<uri>\0</uri>", b"<uri>\x1f</uri>", b"<uri>\xff</uri>", b"<uri>\xef\xbf\xbf</uri>", b"<uri>\xed\xa0\x80</uri>",
    b"<uri>]]></uri>", b"<uri a=b/>", b"<uri a='<'/>", b"<uri a='1' a='2'/>", b"<uri a='1'b='2'/>", b"<uri a/>",
    b"<uri a='1/>", b"<p:uri/>", b"<uri p:a='1'/>", b"<uri xmlns:p=''/>", b"<uri xmlns:xml='a:b'/>",
    b"<uri xmlns:xmlns='a:b'/>", b"<a:/>", b"<:a/>", b"<1/>", b"< a/>", b"<a b:c:d=''/>", b"<!-- a -- b -->",
    b"<!-- \1 -->", b"<?xml version='1.0'?>", b"<?XML?>", b"<?1?>", b"<?a", b"<![CDATA[a", b"<!a>", b"</>",
    b"<uri></uri ></uri>", b"<uri><</uri>", b"<uri/ >", b"</uri a='1'>",
]  # fmt: skip


@pytest.mark.parametrize("inner", BAD_XML)
def test_what_is_no_xml(inner: bytes) -> None:
    row = b'<uri>a</uri></binding></result><result><binding name="x">'
    for data in (XML_BEGIN + inner + XML_END, XML_BEGIN + row + inner + XML_END):
        with pytest.raises(expat.ExpatError):
            expat.ParserCreate(namespace_separator=" ").Parse(data, True)
        with pytest.raises(jelly.JellySyntaxError):
            list(jelly.results.read_results(data, format="xml"))


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", jelly.JellySyntaxError, "expected a tag, found the end"),
        (b"x", jelly.JellySyntaxError, "expected a tag"),
        (b" <?xml version='1.0'?>" + XML, jelly.JellySyntaxError, "."),
        (b"<?xml version='1.0' encoding='nothing'?>" + XML[3:], jelly.JellySyntaxError, "unknown encoding nothing"),
        (b"<?xml encoding='utf-8'?>" + XML[3:], jelly.JellySyntaxError, "declaration"),
        (XML + b"<a/>", jelly.JellySyntaxError, "expected the end of the input"),
        (XML + b"a", jelly.JellySyntaxError, "expected the end of the input"),
        (XML[:-40], jelly.JellySyntaxError, "found the end of the input"),
        (b"<sparql/>", jelly.JellyFormatError, "expected results in sparql"),
        (b"<sparql xmlns='a:b'/>", jelly.JellyFormatError, "expected sparql"),
        (b"<sparql><boolean>yes</boolean></sparql>", jelly.JellyFormatError, "boolean: expected true or false"),
        (b"<sparql><boolean>true</boolean><results/></sparql>", jelly.JellyFormatError, "results or boolean"),
        (b"<sparql><results/><results/></sparql>", jelly.JellyFormatError, "results or boolean"),
        (b"<sparql><result/></sparql>", jelly.JellyFormatError, "expected results"),
        (b"<sparql><results/><head><variable name='x'/></head></sparql>", jelly.JellyFormatError, "before the results"),
        (XML_BEGIN + XML_END, jelly.JellyFormatError, "has no term"),
        (XML_BEGIN.replace(b"variable", b"other") + b"<uri/>" + XML_END, jelly.JellyFormatError, "is of no variable"),
        (XML_BEGIN + b"<triple><subject><uri/></subject></triple>" + XML_END, jelly.JellyFormatError, "lacks its"),
        (XML_BEGIN + b"<literal xml:lang='a' its:dir='x' xmlns:its='http://www.w3.org/2005/11/its'/>" + XML_END,
         jelly.JellyFormatError, "base direction"),
        (XML_BEGIN + b"<a>" * 300, jelly.JellyLimitError, "nested deeper than 263"),
        (XML_BEGIN + b"<a " + b" ".join(b"a%d=''" % i for i in range(65)) + b"/>", jelly.JellyLimitError, "than 64"),
        (XML_BEGIN + b"".join(b"<a%s>" % b"".join(b" xmlns:n%d='a:b'" % i for i in range(60)) for _ in range(9)),
         jelly.JellyLimitError, "more namespaces are declared than 512"),
    ],
)  # fmt: skip
def test_errors_of_xml(data: bytes, kind: type[jelly.JellyError], message: str) -> None:
    with pytest.raises(kind, match=message):
        list(jelly.results.read_results(data, format="xml"))


def test_triple_terms_of_xml_in_one_another() -> None:
    inner = b"<uri>a:o</uri>"
    begin = b"<triple><subject><uri>a:s</uri></subject><predicate><uri>a:p</uri></predicate><object>"
    for levels in range(1, 66):
        inner = begin + inner + b"</object></triple>"
        data = XML_BEGIN + inner + XML_END
        if levels <= 64:
            assert len(list(jelly.results.read_results(data, format="xml"))) == 1
        else:
            with pytest.raises(jelly.JellyLimitError, match="nested deeper than 64"):
                list(jelly.results.read_results(data, format="xml"))


def test_a_row_of_xml_is_bounded() -> None:
    text = b"<literal>" + b"x" * 900 + b"</literal>"
    data = XML_BEGIN + text + XML_END
    assert len(list(jelly.results.read_results(data, format="xml", max_text_bytes=1000))) == 1
    for chunks in ([data], [data[:500], data[500:]], [data[i : i + 1] for i in range(len(data))]):
        with pytest.raises(jelly.JellyLimitError, match="a row is longer than 900 bytes; raise max_text_bytes"):
            list(jelly.results.read_results(iter(chunks), format="xml", max_text_bytes=900))


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
    xml_head = b'<sparql xmlns="%s"><head><variable name="x"/></head><results><result/>' % SPARQL
    xml_rows = chunks(xml_head, b'<result><binding name="x"><uri>a:b</uri></binding></result>')
    for format, source in (("json", json_rows), ("xml", xml_rows), ("tsv", chunks(b"?x\n\n", b"<a:b>\n"))):
        rows = iter(jelly.results.read_results(source, format=format))
        assert next(rows) == (None,)
        for _ in range(50_000):
            assert next(rows) == (IRI("a:b"),)
        assert taken < 100


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
def test_a_term_in_many_rows_takes_its_memory_once(format: str) -> None:
    """Writers give their text part by part."""
    terms = [(1, -1, b"a:p"), (3, -1, b"x" * 100_000), (3, -1, b"\n" * 100_000), (6, 0, b"")]
    batch = _make_batch(3, terms, [[3, 2]] * 200, [(0, 0, 1)], variables=("x", "y"))
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
