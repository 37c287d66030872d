"""jelly/docs/pyjelly.md: what it tells pyjelly users to write does the same."""

import io
import re
from contextlib import ExitStack
from importlib.resources import files
from itertools import chain

import pytest
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.term import Identifier
from support.by_rdflib import plain as plain_of_rdflib
from support.by_rdflib import quads
from support.oracle import plain as plain_of_ours

import jelly
import jelly.rdflib

by_pyjelly = pytest.importorskip("support.by_pyjelly")

pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = (files("jelly") / "docs" / "pyjelly.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python (\w+)\n(.*?)```", re.DOTALL)
BLOCKS = [(match[1], match[2]) for match in BLOCK.finditer(PAGE)]
PAIRS = list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True))
OURS = (jelly.IRI, jelly.BlankNode, jelly.Literal, jelly.DefaultGraph)


def test_the_page_has_pairs():
    assert len(PAIRS) >= 18
    assert {(theirs, ours) for (theirs, _), (ours, _) in PAIRS} == {("pyjelly", "jelly")}
    assert PAGE.count("```") == 4 * len(PAIRS)


@pytest.fixture
def samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    s, p, o, g = (URIRef(f"http://example.org/{name}") for name in "spog")
    triples = [(s, p, o), (s, p, Literal("Ann", lang="en")), (o, p, Literal("7"))]
    graph = Graph()
    graph.bind("ex", "http://example.org/")
    for triple in triples:
        graph.add(triple)
    jelly.rdflib.write("people.jelly", graph, stream_name="people")
    jelly.rdflib.write("facts.jelly", [(*t, x) for t in triples for x in (None, g)], stream_name="all facts")
    options = jelly.StreamOptions(1, jelly.LogicalType.GRAPHS)
    with jelly.Writer("graphs.jelly", options, library=jelly.rdflib.library(), seekable=False) as writer:
        for i, triple in enumerate(triples):
            writer.add(triple)
            writer.end_frame({"number": b"%d" % i})


def same(x):
    """A value as something that can be compared, whosoever made it."""
    if isinstance(x, Dataset):
        return quads(x)
    if isinstance(x, Graph):
        return {same(triple) for triple in x}
    if isinstance(x, Identifier):
        return plain_of_rdflib(x)
    if isinstance(x, io.BytesIO):
        return same(x.getvalue())
    if isinstance(x, bytes):
        frames = list(jelly.scan(x).frames())
        # A flat stream is cut anywhere, and a graph has no order.
        cut = jelly.read_options(x).is_grouped
        texts = [[repr(same(statement)) for statement in frame] for frame in frames]
        if not cut:
            return sorted(chain.from_iterable(texts))
        return [(sorted(text), frame.metadata) for text, frame in zip(texts, frames, strict=True)]
    if isinstance(x, OURS):
        return plain_of_ours(x)
    if type(x).__module__.startswith("pyjelly.integrations.generic") and not isinstance(x, tuple):
        return by_pyjelly.plain(x)
    if isinstance(x, jelly.Triple | jelly.Quad | jelly.QuotedTriple | tuple):
        # pyjelly has one class for statements and quoted triples.
        return tuple(map(same, x))
    if isinstance(x, list):
        return [same(item) for item in x]
    if isinstance(x, dict):
        return {key: bytes(value) for key, value in x.items()}
    return x


def run(code, register):
    register()
    with ExitStack() as stack:
        names = {"open": lambda *arguments: stack.enter_context(open(*arguments))}
        exec(compile(code, "pyjelly.md", "exec"), names)
    return {
        name: same(value)
        for name, value in names.items()
        if not name.startswith("_") and isinstance(
            value, str | int | bytes | list | tuple | dict | io.BytesIO | Graph | jelly.Triple
        )
    }


def register_theirs():
    import rdflib

    for name in ("jelly", "application/x-jelly-rdf"):
        where = "pyjelly.integrations.rdflib"
        rdflib.plugin.register(name, rdflib.parser.Parser, f"{where}.parse", "RDFLibJellyParser")
        rdflib.plugin.register(name, rdflib.serializer.Serializer, f"{where}.serialize", "RDFLibJellySerializer")


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_both_say_the_same(number):
    (_, theirs), (_, ours) = PAIRS[number]
    try:
        expected = run(theirs, register_theirs)
        found = run(ours, jelly.rdflib.register)
    finally:
        jelly.rdflib.register()
    both = expected.keys() & found.keys()
    assert both
    assert {name: found[name] for name in both} == {name: expected[name] for name in both}
    assert any(found[name] for name in both)


# ---- what differs

IRI, LITERAL = jelly.IRI, jelly.Literal
TRIPLE = jelly.Triple(IRI("a:s"), IRI("a:p"), LITERAL("x"))
ROWS = [tuple(map(str.strip, line.strip("| ").split(" | "))) for line in PAGE.splitlines() if line.startswith("| ")][2:]


def generic():
    return pytest.importorskip("pyjelly.integrations.generic.generic_sink")


def graph_of_one():
    return Graph().add((URIRef("a:s"), URIRef("a:p"), URIRef("a:o")))


def rdflib_statements():
    statements = list(jelly.rdflib.read("facts.jelly"))
    assert {type(statement) for statement in statements} == {tuple}
    assert {len(statement) for statement in statements} == {4}
    assert {len(statement) for statement in jelly.rdflib.read("people.jelly")} == {3}


def prefixes():
    for library in (None, jelly.rdflib.library()):
        assert ("ex", "http://example.org/") in next(jelly.Reader("people.jelly").frames(library)).namespaces


def literals_by_keyword():
    theirs = generic().Literal("x", "en")
    with pytest.raises(TypeError):
        LITERAL("x", "en")
    assert (theirs._lex, theirs._langtag) == ("x", "en")


def attributes():
    literal = generic().Literal("x")
    assert (literal._lex, literal._langtag, literal._datatype) == ("x", None, None)
    assert (LITERAL("x").value, LITERAL("x").language) == ("x", None)
    assert LITERAL("x").datatype.value.endswith("XMLSchema#string")
    assert LITERAL("x", language="en").datatype.value.endswith("langString")


def texts():
    assert repr(generic().IRI("a:x")) == "IRI(a:x)"
    assert repr(IRI("a:x")) == "IRI('a:x')"
    assert str(LITERAL("a\n")) == '"a\\n"' != str(generic().Literal("a\n"))


def default_graph():
    sink = generic()
    assert sink.DefaultGraph == sink.DefaultGraph
    assert not isinstance(sink.DefaultGraph, type)
    (quad,) = jelly.loads(jelly.dumps([jelly.Quad(*TRIPLE)]))
    assert (quad.g == jelly.DefaultGraph, quad.g == jelly.DefaultGraph()) == (False, True)


def quoted():
    statement = jelly.Triple(jelly.QuotedTriple(*TRIPLE), IRI("a:p"), IRI("a:o"))
    assert type(statement.s) is jelly.QuotedTriple
    with pytest.raises(TypeError):
        jelly.Triple(TRIPLE, IRI("a:p"), IRI("a:o"))


def generalized():
    sink = generic()
    from pyjelly.integrations.generic.serialize import flat_stream_to_file

    out = io.BytesIO()
    flat_stream_to_file(iter([sink.Triple(sink.Literal("x"), sink.IRI("a:p"), sink.IRI("a:o"))]), out)
    statements = jelly.loads(out.getvalue())
    assert jelly.read_options(jelly.dumps(statements)).generalized_statements
    assert jelly.loads(jelly.dumps(statements)) == statements
    with pytest.raises(jelly.JellyOptionsError, match="generalized_statements=True"):
        jelly.dumps(statements, jelly.StreamOptions(1, 1))


def no_tuples():
    assert not any(hasattr(TRIPLE, name) for name in ("_replace", "_asdict", "_fields"))
    assert (TRIPLE[0], len(TRIPLE), tuple(TRIPLE) == TRIPLE) == (IRI("a:s"), 3, True)
    assert hasattr(generic().Triple, "_replace")


def order():
    other = jelly.Triple(TRIPLE.s, TRIPLE.p, jelly.BlankNode("a"))
    assert sorted([TRIPLE, other]) == [other, TRIPLE]
    theirs = generic()
    with pytest.raises(TypeError):
        sorted([theirs.Triple(*TRIPLE[:2], theirs.IRI("a:o")), theirs.Triple(*TRIPLE[:2], theirs.BlankNode("a"))])
    with pytest.raises(TypeError):
        type("Mine", (jelly.Triple,), {})


def errors():
    from pyjelly.errors import JellyAssertionError

    assert issubclass(JellyAssertionError, AssertionError)
    with pytest.raises(jelly.JellyOptionsError):
        jelly.StreamOptions(1, jelly.LogicalType.FLAT_QUADS)
    assert issubclass(jelly.JellyOptionsError, ValueError)
    assert not issubclass(jelly.JellyOptionsError, AssertionError)


def streams():
    with pytest.raises(TypeError, match="stream= is a keyword of pyjelly: use .*jelly.rdflib.library"):
        graph_of_one().serialize(format="jelly", encoding="utf-8", stream=1)
    for name in ("add", "extend", "namespace", "end_frame"):
        assert hasattr(jelly.Writer, name)


def logical_types():
    assert jelly.read_options("graphs.jelly").is_grouped
    flat = jelly.read_options("facts.jelly")
    assert (flat.is_grouped, flat.logical_type) == (False, jelly.LogicalType.FLAT_QUADS)


def not_delimited():
    data = graph_of_one().serialize(format="jelly", encoding="utf-8", delimited=False)
    with jelly.Reader(data) as reader:
        assert (len(list(reader)), reader.delimited) == (1, False)


def frame_objects():
    frame = next(jelly.scan("graphs.jelly").frames())
    assert (type(frame), len(frame.statements)) == (jelly.Frame, 1)


def namespaces():
    graph = graph_of_one()
    with_names, without = (
        graph.serialize(format="jelly", encoding="utf-8", **settings) for settings in ({}, {"namespaces": False})
    )
    n = len(list(graph.namespaces()))
    assert [jelly.read_options(data).version for data in (with_names, without)] == [2, 1]
    assert len(next(jelly.scan(with_names).frames()).namespaces) == n
    if n == 29:  # of RDFLib 7
        assert [len(with_names), len(without)] == [1564, 60]


def tables():
    from pyjelly.options import LookupPreset

    preset, options = LookupPreset.small(), jelly.StreamOptions.small()
    assert (preset.max_names, preset.max_prefixes, preset.max_datatypes) == (128, 32, 32)
    sizes = (options.max_name_table_size, options.max_prefix_table_size, options.max_datatype_table_size)
    assert sizes == (128, 16, 16)


DIFFERENCES = [
    rdflib_statements, prefixes, literals_by_keyword, attributes, texts, default_graph, quoted, generalized, no_tuples,
    order, errors, streams, logical_types, not_delimited, frame_objects, namespaces, tables,
]  # fmt: skip


def test_every_difference_has_a_test():
    assert len(ROWS) == len(DIFFERENCES)
    assert all(len(row) == 2 for row in ROWS)


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("number", range(len(DIFFERENCES)), ids=lambda number: DIFFERENCES[number].__name__)
def test_differences(number):
    DIFFERENCES[number]()
