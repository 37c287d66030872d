"""RDF Binary to the letter: REPEAT, ANY, variables; RDF_Stream and RDF_Graph; values; datasets; what readers tell."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.contents import convert_results
from support.official import official, row_of, term_of
from support.rowcraft import (
    Protobuf,
    Thrift,
    attempt,
    field,
    read,
    read_rows,
    statements,
    string,
    varint,
    write,
    write_statements,
)
from support.statements import anything, quads

import jelly
from jelly import (
    ANY,
    IRI,
    AnyTerm,
    BlankNode,
    DefaultGraph,
    JellyError,
    JellyFormatError,
    JellyOptionsError,
    JellyUnsupportedError,
    Literal,
    Quad,
    QuotedTriple,
    Triple,
    Variable,
)
from jelly._core.algebra.content import row_hash
from jelly._core.jena.reader import BinaryReader
from jelly._core.rules.capabilities import CAPABILITIES
from jelly._core.terms.batch_builder import BatchBuilder, ResultBatchBuilder

XSD = "http://www.w3.org/2001/XMLSchema#"
S, P, OBJ, G = (IRI(f"a:{name}") for name in "spog")
# By encoding: a variable x, ANY, REPEAT.
TERMS = {
    "thrift": (b"\x5c\x18\x01x\0\0", b"\x6c\0\0", b"\x8c\0\0"),
    "protobuf": (field(5, field(1, b"x")), field(7, b""), field(9, b"")),
}
CRAFTS = {"thrift": Thrift, "protobuf": Protobuf}
BOTH = pytest.mark.parametrize("encoding", ["thrift", "protobuf"])


def one_of_each(encoding: str) -> tuple[Any, bytes, bytes, bytes]:
    craft = CRAFTS[encoding]
    return craft, craft.iri(b"a:s"), craft.iri(b"a:p"), craft.iri(b"a:o")


# ---- variables and ANY


@BOTH
def test_variables_and_any_are_read(encoding: str) -> None:
    """003-067, 003-068, 003-069, 003-070: in every position, in quoted triples, beside RDF terms."""
    craft, s, p, o = one_of_each(encoding)
    x, every, _ = TERMS[encoding]
    data = craft.row(x, p, every) + craft.row(every, x, craft.quoted(x, p, every), x) + craft.row(s, p, o)
    assert statements(read(encoding, data)) == [
        Quad(Variable("x"), P, ANY),
        Quad(ANY, Variable("x"), QuotedTriple(Variable("x"), P, ANY), Variable("x")),
        Quad(S, P, OBJ),
    ]
    assert [str(term) for term in next(jelly.read(craft.row(x, p, every), format=encoding))] == ["?x", "<a:p>", "ANY"]


@BOTH
@given(
    items=st.lists(
        quads(
            st.builds(
                Triple, *[st.one_of(anything, st.sampled_from([ANY, Variable("x"), Variable(""), Variable("é")]))] * 3
            ),
            st.one_of(st.none(), st.sampled_from([S, ANY, Variable("x")])),
        ).filter(lambda quad: "IRI('_:" not in repr(quad) and "urn:x-arq" not in repr(quad)),
        max_size=6,
    )
)
def test_variables_and_any_are_written(encoding: str, items: list[Quad]) -> None:
    """003-076: what the official runtimes write of the same terms, byte for byte."""
    api = official(encoding)
    theirs = api.write(row_of(api, item) for item in items)
    assert write_statements(encoding, items) == theirs
    assert statements(read(encoding, theirs)) == items


@BOTH
def test_results_with_variables_and_any(encoding: str) -> None:
    """003-067 to 003-070, 003-076: cells of results."""
    names, rows = ("a", "b", "c"), [(Variable("y"), ANY, Literal("o")), (None, None, None)]
    out = io.BytesIO()
    jelly.results.write_results(out, names, rows, format=encoding)
    assert read_rows(encoding, out.getvalue()) == (names, rows)


def test_the_terms_are_objects_like_others() -> None:
    """003-076: repr, equality, hash, pickle, and no change."""
    x = Variable("x")
    assert (repr(x), str(x), x.value) == ("Variable('x')", "?x", "x")
    assert (repr(ANY), str(ANY)) == ("ANY", "ANY")
    assert x == Variable("x") != Variable("y")
    assert ANY == AnyTerm() != DefaultGraph()
    assert len({x, Variable("x"), ANY, AnyTerm(), IRI("x"), BlankNode("x"), Literal("x")}) == 5
    assert pickle.loads(pickle.dumps((x, ANY, Triple(x, P, ANY)))) == (x, ANY, Triple(x, P, ANY))
    assert (Variable.__module__, AnyTerm.__module__) == ("jelly", "jelly")
    with pytest.raises(TypeError, match="cannot be changed"):
        x.__init__("y")
    with pytest.raises(TypeError, match="the name of a variable must be a str"):
        Variable(1)
    assert x < Variable("y")  # an order of ours, see the page "Terms"
    with pytest.raises(TypeError):
        assert x < "y"


def pattern(*terms: Any) -> jelly.Batch:
    builder = BatchBuilder(len(terms))
    builder.add(terms)
    return builder.batch


PATTERNS = [(Variable("x"), P, OBJ), (S, P, ANY), (S, P, QuotedTriple(S, P, ANY)), (S, P, OBJ, Variable("g"))]


@pytest.mark.parametrize("name", sorted(CAPABILITIES))
@pytest.mark.parametrize("terms", PATTERNS, ids=str)
def test_only_rdf_binary_holds_them(name: str, terms: tuple[Any, ...]) -> None:
    """003-076: the one check of all writers names the term."""
    capabilities = CAPABILITIES[name]
    batch = pattern(*terms)
    if name.startswith("results-"):
        builder = ResultBatchBuilder(tuple("spog"[: len(terms)]))
        builder.extend(iter([terms]), 1)
        batch = builder.batch
    if name in ("thrift", "protobuf", "results-thrift", "results-protobuf") or (
        name == "protobuf-graph" and len(terms) == 3
    ):
        assert capabilities.fit(batch) is batch
        return
    with pytest.raises(JellyUnsupportedError, match=r"variable \?[xg]|ANY|quoted triples|has no named graphs"):
        capabilities.fit(batch)


WRITABLE = ["jelly", "nt", "nq", "ttl", "trig", "rdf", "jsonld", "n3"]


@pytest.mark.parametrize("format", WRITABLE)
@pytest.mark.parametrize("terms", PATTERNS[:2], ids=str)
def test_writers_refuse_them_by_name(format: str, terms: tuple[Any, ...]) -> None:
    """003-076: an error that names the term and its row; no file."""
    if format not in ("jelly", "nt", "nq"):
        pytest.importorskip("pyoxigraph")
    out = io.BytesIO()
    options = jelly.StreamOptions(generalized_statements=True, rdf_star=True) if format == "jelly" else None
    with pytest.raises(
        JellyUnsupportedError, match=r"cannot hold (the variable \?x|ANY), here as .*no RDF term \(.*row 1"
    ):
        jelly.write(out, [(S, P, OBJ), terms], options, format=format)


@pytest.mark.parametrize("layout", ["flat", "ntriples"])
def test_columns_refuse_them_by_name(layout: str) -> None:
    """003-076: Arrow columns cannot tell them from RDF terms."""
    arrow = pytest.importorskip("jelly.arrow")
    data = write_statements("thrift", [Quad(S, P, ANY)])
    with pytest.raises(JellyUnsupportedError, match="cannot hold ANY, here as object"):
        list(arrow.read_arrow(data, format="thrift", layout=layout))


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
def test_results_refuse_them_by_name(format: str) -> None:
    """003-076: results in other formats."""
    data = io.BytesIO()
    jelly.results.write_results(data, ["x"], [(Variable("y"),)], format="thrift")
    with pytest.raises(JellyUnsupportedError, match=r"cannot hold the variable \?y"):
        convert_results(data.getvalue(), io.BytesIO(), format="thrift", to=format)


def test_patches_refuse_them() -> None:
    """003-076: a patch has RDF terms only, in each of its formats."""
    import jelly.patch

    for format in ("jellyp", "rdfp", "trp"):
        with (
            pytest.raises(JellyUnsupportedError, match=r"cannot hold ANY, here as object: it is no RDF term"),
            jelly.patch.PatchWriter(io.BytesIO(), format=format) as writer,
        ):
            writer.write(jelly.patch.Patch([jelly.patch.Add(Triple(S, P, ANY))]))


def test_rdflib_has_variables_and_no_any() -> None:
    """003-067, 003-076: rdflib.Variable both ways; ANY is refused."""
    rdflib = pytest.importorskip("rdflib")
    import jelly.rdflib

    data = write_statements("thrift", [Quad(Variable("x"), Variable("p"), Variable("o"), Variable("g"))])
    (found,) = jelly.rdflib.read(data, format="thrift")
    assert found == tuple(map(rdflib.Variable, "xpog"))
    out = io.BytesIO()
    jelly.rdflib.write(out, [found], format="thrift")
    assert out.getvalue() == data
    with pytest.raises(JellyUnsupportedError, match="RDFLib has no term for ANY"):
        list(jelly.rdflib.read(write_statements("thrift", [Quad(S, P, ANY)]), format="thrift"))
    with pytest.raises(JellyUnsupportedError, match="RDFLib has no generalized statements"):
        list(jelly.rdflib.read(write_statements("thrift", [Quad(Literal("x"), Variable("p"), OBJ)]), format="thrift"))


def test_pyoxigraph_has_neither() -> None:
    """003-076: refused by name."""
    pytest.importorskip("pyoxigraph")
    import jelly.oxigraph

    for term, shown in ((Variable("x"), r"the variable \?x"), (ANY, "ANY")):
        with pytest.raises(JellyUnsupportedError, match=f"pyoxigraph cannot hold {shown}"):
            list(jelly.oxigraph.read(write_statements("thrift", [Quad(S, P, term)]), format="thrift"))


def test_the_algebra_tells_them_apart() -> None:
    """003-067, 003-069: hash and equality by kind and name."""
    rows = [(S, P, Variable("x")), (S, P, Variable("y")), (S, P, ANY), (S, P, IRI("x")), (S, P, Variable("x"))]
    builder = BatchBuilder(3)
    for row in rows:
        builder.add(row)
    builder.batch.check()
    hashes = [tuple(hash) for hash in row_hash(builder.batch, bytes(16)).tolist()]
    assert hashes[0] == hashes[4]
    assert len(set(hashes)) == 4
    joined = builder.batch.unique()
    joined.check()
    assert [joined.term(term) for term in joined.o] == ["?x", "?y", "ANY", "<x>", "?x"]


@pytest.mark.parametrize(("term", "shown"), [(Variable("x"), "variable"), (ANY, "ANY")])
def test_tools_take_them_for_what_they_are(term: Any, shown: str) -> None:
    """003-067, 003-069: no tool takes a variable or ANY for a literal of the same text."""
    import jelly.stats

    one = write_statements("thrift", [Quad(S, P, term), Quad(BlankNode("b"), P, term)])
    other = write_statements("thrift", [Quad(S, P, Literal("x")), Quad(BlankNode("b"), P, Literal(""))])
    with pytest.raises(JellyUnsupportedError, match=f"the object is of the kind {shown}: RDFC-1.0 does not define"):
        jelly.canonicalize(one, format="thrift")
    kinds = jelly.stats.stats(one, format="thrift").terms
    assert kinds["object"] == {shown.lower(): 2}
    for ordered in (False, True):
        settings = {"format": "thrift", "against_format": "thrift", "ordered": ordered}
        assert list(jelly.validate(one, against=one, **settings)) == []
        assert list(jelly.validate(one, against=other, **settings)) != []


# ---- REPEAT

FEW = [S, P, BlankNode("b"), Literal("o"), QuotedTriple(S, P, OBJ), ANY, Variable("x")]


@BOTH
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_repeat_is_the_term_of_the_row_before(encoding: str, batch_rows: int) -> None:
    """003-071 to 003-074: the same position of the previous row, whatever its prefix rows and Batches."""
    craft, s, p, o = one_of_each(encoding)
    again = TERMS[encoding][2]
    other = craft.iri(b"a:g")
    data = b"".join(
        [
            craft.row(s, p, craft.quoted(s, p, craft.literal(b"x" * 300))),
            craft.row(again, o, again),
            craft.prefix(b"ex", b"http://e/"),
            craft.row(again, again, again),
            craft.row(s, again, again, other),
            craft.row(again, p, again, again),
            craft.row(again, again, p),
            craft.row(again, again, again, again),
        ]
    )
    quoted = QuotedTriple(S, P, Literal("x" * 300))
    assert statements(read(encoding, data, batch_rows=batch_rows)) == [
        Quad(S, P, quoted), Quad(S, OBJ, quoted), Quad(S, OBJ, quoted), Quad(S, OBJ, quoted, G), Quad(S, P, quoted, G),
        Quad(S, P, P), Quad(S, P, P),
    ]  # fmt: skip
    # Cut at each byte.
    whole = statements(read(encoding, data))
    for at in range(1, len(data), 7):
        assert statements(read(encoding, data[:at], data[at:], batch_rows=batch_rows)) == whole


@BOTH
def test_repeat_of_nothing_is_an_error(encoding: str) -> None:
    """003-071, 003-072: the first row has none before it, and quoted triples repeat nothing."""
    craft, s, p, o = one_of_each(encoding)
    again = TERMS[encoding][2]
    for data, message in (
        (craft.row(s, p, again), "the object is REPEAT, but no row before it has one"),
        (craft.prefix(b"e", b"e:") + craft.row(again, p, o), "the subject is REPEAT"),
        (craft.row(s, p, o, again), "the graph is REPEAT"),
        (craft.row(s, p, o) + craft.row(craft.quoted(s, p, again), p, o), "a quoted triple is REPEAT"),
    ):
        _, error = attempt(encoding, data)
        assert type(error) is JellyFormatError
        assert message in error.reason


@BOTH
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_repeat_in_results(encoding: str, batch_rows: int) -> None:
    """003-075: the cell of the row before, bound or not; in the first row an error."""
    thrift = encoding == "thrift"
    again, unbound = TERMS[encoding][2], b"\x7c\0\0" if thrift else field(8, b"")
    craft, s, p, _ = one_of_each(encoding)

    def row(*cells: bytes) -> bytes:
        return b"\x19\x2c" + b"".join(cells) + b"\0" if thrift else string(b"".join(field(1, c) for c in cells))

    names = (
        b"\x19\x2c\x18\x01a\0\x18\x01b\0\0" if thrift else string(field(1, field(1, b"a")) + field(1, field(1, b"b")))
    )
    data = names + row(s, unbound) + row(again, again) + row(p, again) + row(again, craft.literal()) + row(again, again)
    assert read_rows(encoding, data, batch_rows=batch_rows)[1] == [
        (S, None), (S, None), (P, None), (P, Literal("o")), (P, Literal("o")),
    ]  # fmt: skip
    _, error = attempt(encoding, names + row(s, again), results=True)
    assert "REPEAT, but no row before it has one" in error.reason


@BOTH
@given(
    items=st.lists(
        st.builds(Quad, *[st.sampled_from(FEW)] * 3, st.sampled_from([None, G, S])), max_size=20,
    )
)  # fmt: skip
def test_repeat_as_the_official_runtime_writes_it(encoding: str, items: list[Quad]) -> None:
    """003-073, 003-074: REPEAT wherever the row before has the same term; the statements are the same."""
    api = official(encoding)
    rows = []
    for before, item in zip([None, *items], items, strict=False):
        row = row_of(api, item)
        body = getattr(row, api.which(row))
        for name, last, term in zip("SPOG", before or (), item, strict=False):
            if last == term and type(term) is not DefaultGraph:
                again = api.make("RDF_Term", repeat=api.make("RDF_REPEAT"))
                getattr(body, name).CopyFrom(again) if encoding == "protobuf" else setattr(body, name, again)
        rows.append(row)
    assert statements(read(encoding, api.write(rows))) == items


def test_what_apache_jena_does_not_read_is_not_written() -> None:
    """003-076, 003-115: REPEAT and whole messages are errors that name the keyword."""
    for name, value in (("repeat", True), ("message", "RDF_Stream"), ("message", "RDF_Graph")):
        for encoding in CRAFTS:
            with pytest.raises(jelly.JellyArgumentError, match=f"unknown keyword '{name}'"):
                jelly.write(io.BytesIO(), [(S, P, OBJ)], format=encoding, **{name: value})  # type: ignore[arg-type]


# ---- RDF_Stream, RDF_Graph

ITEMS = [
    Quad(S, P, Literal("5", datatype=XSD + "integer"), G),
    Quad(QuotedTriple(S, P, OBJ), P, Literal("x", language="en"), None),
    Quad(BlankNode("b"), P, Literal("y" * 300), BlankNode("g")),
]
TRIPLES = [Quad(item.s, item.p, item.o) for item in ITEMS]


def message_of(name: str, items: list[Quad]) -> bytes:
    """The message as the official runtime writes it."""
    api = official("protobuf")
    rows = [row_of(api, item) for item in items]
    if name == "RDF_Stream":
        return api.make("RDF_Stream", row=rows).SerializeToString()
    return api.make("RDF_Graph", triple=[row.triple for row in rows]).SerializeToString()


@pytest.mark.parametrize(("message", "items"), [("RDF_Stream", ITEMS), ("RDF_Graph", TRIPLES), ("RDF_Stream", [])])
def test_whole_messages(message: str, items: list[Quad]) -> None:
    """003-113, 003-114: read as the official runtime writes them, found by their first bytes."""
    data = message_of(message, items)
    for settings in ({}, {"message": message}):
        assert statements(read("protobuf", data, **settings)) == items
        for at in range(len(data)):
            assert statements(read("protobuf", data[:at], data[at:], **settings)) == items
        assert statements(read("protobuf", *(bytes([byte]) for byte in data), **settings)) == items


def test_whole_messages_through_the_streams() -> None:
    """003-113, 003-114: the option of jelly.read; prefixes and base are rows of an RDF_Stream."""
    api = official("protobuf")
    prefix = api.make("RDF_PrefixDecl", prefix="ex", uri="http://e/")
    rows = [
        api.make("RDF_StreamRow", base=api.make("RDF_IRI", iri="http://b/")),
        api.make("RDF_StreamRow", prefixDecl=prefix),
        *(row_of(api, item) for item in ITEMS),
    ]
    data = api.make("RDF_Stream", row=rows).SerializeToString()
    for message in (None, "RDF_Stream"):
        with jelly.Reader(data, format="protobuf", message=message) as reader:
            assert list(reader) == ITEMS
            assert reader.base == "http://b/"
    (batch,) = read("protobuf", data)
    assert [name[2:] for name in batch.namespaces] == [("ex", "http://e/")]
    data = message_of("RDF_Graph", [Quad(S, P, OBJ)])
    for message in (None, "RDF_Graph"):
        assert list(jelly.read(data, format="protobuf", message=message)) == [Triple(S, P, OBJ)]


@given(st.integers(0, 40), st.sampled_from(["a:", "é"]), st.integers(0, 3))
def test_rows_are_never_taken_for_a_message(size: int, head: str, first: int) -> None:
    """003-113, 003-114: rows of all lengths, of 10 bytes among them, are rows."""
    iri = IRI(head + "x" * size)
    builder = BatchBuilder(3)
    builder.add((iri, iri, iri))
    settings: dict[str, Any] = [{}, {"prefixes": {"x" * size: head}}, {"base": head + "x" * size}, {"shorten": True}][
        first
    ]
    data = write("protobuf", [builder.batch], **settings)
    assert statements(read("protobuf", data)) == [Quad(iri, iri, iri)]
    assert statements(read("protobuf", data[:1], data[1:3], data[3:], message="rows")) == [Quad(iri, iri, iri)]


def test_messages_of_other_versions_and_wrong_ones() -> None:
    """003-113, 003-114: unknown fields are skipped; what is cut off or wrong is an error with its place."""
    good = message_of("RDF_Graph", TRIPLES[:1])
    assert statements(read("protobuf", good + field(7, b"new") + good)) == TRIPLES[:1] * 2
    for bad, kind in (
        (good + b"\x0a", jelly.JellyTruncatedError),
        (good[:-1], jelly.JellyTruncatedError),
        (good + varint(1 << 3), JellyFormatError),
        (good + field(1, b""), JellyFormatError),
    ):
        batches, error = attempt("protobuf", bad)
        assert type(error) is kind, bad
        assert error.offset <= len(bad)
    with pytest.raises(JellyOptionsError, match="expected one of rows, RDF_Stream, RDF_Graph, with RDF Protobuf"):
        BinaryReader("thrift", message="RDF_Graph")
    _, error = attempt("protobuf", good, message="rows")
    assert error is not None


# ---- values


@given(
    st.lists(
        st.one_of(
            st.integers(-(2**63), 2**63 - 1).map(lambda n: ("integer", str(n), n)),
            st.floats(allow_infinity=False, allow_nan=False).map(lambda x: ("double", repr(x), x)),
            st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 20)).map(
                lambda pair: ("decimal", decimal_text(*pair), pair)
            ),
        ),
        max_size=5,
    )
)
def test_values_in_protobuf(values: list[tuple[str, str, Any]]) -> None:
    """003-125: the fields valInteger, valDouble and valDecimal, as the official runtime writes them."""
    items = [Quad(S, P, Literal(text, datatype=XSD + kind)) for kind, text, _ in values]
    api = official("protobuf")
    rows = []
    for kind, _, value in values:
        if kind == "decimal":
            value = api.make("RDF_Decimal", value=value[0], scale=value[1])
        term = api.make("RDF_Term", **{f"val{kind.title()}": value})
        triple = api.make("RDF_Triple", S=term_of(api, S), P=term_of(api, P), O=term)
        rows.append(api.make("RDF_StreamRow", triple=triple))
    data = write_statements("protobuf", items, values=True)
    assert data == api.write(rows)
    found = statements(read("protobuf", data))
    assert [item.o.datatype for item in found] == [item.o.datatype for item in items]
    assert [item.o.value for item in found if "integer" in str(item.o)] == [
        t for kind, t, _ in values if kind == "integer"
    ]
    assert write_statements("protobuf", found, values=True) == data


def decimal_text(value: int, scale: int) -> str:
    digits = str(abs(value)).rjust(scale + 1, "0")
    return ("-" if value < 0 else "") + (digits[:-scale] + "." + digits[-scale:] if scale else digits)


def test_values_are_an_option_in_both() -> None:
    """003-125: without it literals are written whole; what has no value stays a literal."""
    odd = [
        Quad(S, P, Literal(text, datatype=XSD + kind))
        for text, kind in (("x", "integer"), ("1" * 30, "integer"), ("INF", "double"))
    ]
    five = [Quad(S, P, Literal("5", datatype=XSD + "integer"))]
    for encoding in ("thrift", "protobuf"):
        assert write_statements(encoding, odd, values=True) == write_statements(encoding, odd)
        assert len(write_statements(encoding, five, values=True)) + 30 < len(write_statements(encoding, five))


# ---- datasets, namespaces, base, empty results


@BOTH
@pytest.mark.parametrize("source", ["bytes", "path", "gzip", "file"])
def test_statements_of_a_dataset_are_quads_from_the_first_on(encoding: str, source: str, tmp_path: Path) -> None:
    """003-149: wherever the first quad is."""
    items = [Quad(S, P, Literal(str(i))) for i in range(20_000)] + [Quad(S, P, OBJ, G)]
    suffix = {"thrift": ".rt", "protobuf": ".rpb"}[encoding]
    path = tmp_path / ("x" + suffix + (".gz" if source == "gzip" else ""))
    jelly.write(path, items)
    with open(path, "rb") as file:
        src = {"bytes": path.read_bytes(), "file": file}.get(source, path)
        assert {type(item) for item in jelly.read(src, format=encoding)} == {Quad}
    src = path.read_bytes() if source == "bytes" else path
    (frame,) = jelly.scan(src, format=encoding).frames()
    assert frame.statements == items
    jelly.write(path, items[:-1])
    assert {type(item) for item in jelly.read(path, format=encoding)} == {Triple}


@BOTH
def test_a_late_quad_from_a_pipe_names_the_option(encoding: str) -> None:
    """003-149: a source that can be read once gives one kind of statements, or an error."""
    data = write_statements(encoding, [Quad(S, P, Literal(str(i))) for i in range(20_000)] + [Quad(S, P, OBJ, G)])
    chunks = [data[at : at + 1000] for at in range(0, len(data), 1000)]
    found = []
    with pytest.raises(JellyOptionsError, match="pass quads=True"):
        found.extend(jelly.read(iter(chunks), format=encoding))
    assert {type(item) for item in found} == {Triple}
    assert len(list(jelly.read(iter(chunks), format=encoding, quads=True))) == 20_001
    assert sum(map(len, jelly.scan(iter(chunks), format=encoding).batches())) == 20_001


@BOTH
def test_a_broken_file_gives_its_statements_and_its_error(encoding: str, tmp_path: Path) -> None:
    """003-149: the search for quads changes no error."""
    path = tmp_path / "x"
    path.write_bytes(write_statements(encoding, [Quad(S, P, OBJ)] * 3)[:-1])
    found = []
    with pytest.raises(jelly.JellyTruncatedError) as caught:
        found.extend(jelly.read(path, format=encoding))
    assert (found, caught.value.source) == ([Triple(S, P, OBJ)] * 2, str(path))


@pytest.mark.parametrize("format", ["thrift", "protobuf", "ttl"])
def test_frames_tell_the_namespaces(format: str) -> None:
    """003-089: read_frames, of every format with prefixes."""
    if format == "ttl":
        pytest.importorskip("pyoxigraph")
        data = b"@prefix ex: <http://e/> . ex:s ex:p ex:o ."
    else:
        out = io.BytesIO()
        jelly.write(out, [(S, P, OBJ)], format=format, prefixes={"ex": "http://e/"})
        data = out.getvalue()
    (frame,) = jelly.scan(data, format=format).frames()
    assert (len(frame), frame.namespaces) == (1, [("ex", "http://e/")])


@BOTH
@pytest.mark.parametrize("graph", [None, G])
def test_graphs_of_rdflib_have_the_namespaces(encoding: str, graph: IRI | None) -> None:
    """003-089, 003-149: a graph, or a dataset where there are quads."""
    rdflib = pytest.importorskip("rdflib")
    import jelly.rdflib

    out = io.BytesIO()
    jelly.write(out, [Quad(S, P, OBJ), Quad(S, P, P, graph)], format=encoding, prefixes={"ex": "http://e/"})
    (found,) = jelly.rdflib.read_graphs(out.getvalue(), format=encoding)
    assert (len(found), isinstance(found, rdflib.Dataset)) == (2, graph is not None)
    assert ("ex", rdflib.URIRef("http://e/")) in found.namespaces()


def test_the_reader_tells_the_base() -> None:
    """003-085: Reader.base; relative IRIs stay as they are."""
    data = bytes.fromhex("0d220b0a09687474703a2f2f622f1b12190a050a030a017312070a050a03613a701a070a050a03613a6f")
    reader = jelly.Reader(data, format="protobuf")
    assert reader.base is None
    assert [str(item) for item in reader] == ["<s> <a:p> <a:o> ."]
    assert reader.base == "http://b/"
    assert jelly.Reader(b"", format="nt").base is None


@BOTH
def test_results_without_a_header_are_an_error(encoding: str) -> None:
    """003-135: an empty input; a header of no variables is none."""
    with pytest.raises(JellyFormatError, match="the input is empty: expected the variables of a result set"):
        list(jelly.results.read_results(b"", format=encoding))
    empty = b"\x19\x0c\0" if encoding == "thrift" else b"\0"
    assert list(jelly.results.read_results(empty, format=encoding)) == []


@BOTH
@given(data=st.binary(max_size=60))
def test_anything_is_read_or_refused(encoding: str, data: bytes) -> None:
    """003-067 to 003-075, 003-113, 003-114: Batches that hold their invariants, or an error."""
    craft, s, p, o = one_of_each(encoding)
    for settings in ({}, *([{"message": "RDF_Stream"}, {"message": "RDF_Graph"}] if encoding == "protobuf" else [])):
        batches, error = attempt(encoding, craft.row(s, p, o) + data, **settings)
        for batch in batches:
            batch.check()
        assert error is None or isinstance(error, JellyError)
