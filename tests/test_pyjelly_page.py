"""jelly/docs/pyjelly.md: what it tells pyjelly users to write does the same."""

import io
import re
from contextlib import ExitStack
from importlib.resources import files
from itertools import chain

import pytest
from by_rdflib import plain as plain_of_rdflib
from by_rdflib import quads
from oracle import plain as plain_of_ours
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.term import Identifier

import jelly
import jelly.rdflib

by_pyjelly = pytest.importorskip("by_pyjelly")

pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = (files("jelly") / "docs" / "pyjelly.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python (\w+)\n(.*?)```", re.DOTALL)
BLOCKS = [(match[1], match[2]) for match in BLOCK.finditer(PAGE)]
PAIRS = list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True))
OURS = (jelly.IRI, jelly.BlankNode, jelly.Literal, jelly.DefaultGraph)


def test_the_page_has_pairs():
    assert len(PAIRS) >= 15
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
    with jelly.Writer("graphs.jelly", options, library=jelly.rdflib._library()) as writer:
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
        frames = list(jelly.read_frames(x))
        # A flat stream is cut anywhere, and a graph has no order.
        cut = jelly.options(x).is_grouped
        texts = [[repr(same(statement)) for statement in frame] for frame in frames]
        return list(map(sorted, texts)) if cut else sorted(chain.from_iterable(texts))
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
