"""Terms of RDFLib and pyoxigraph wherever terms of jelly are taken."""

from __future__ import annotations

import io

import pytest

import jelly
from jelly import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple, Variable
from jelly._core.terms.model import to_term

XSD = "http://www.w3.org/2001/XMLSchema#"


def of_rdflib():
    rdflib = pytest.importorskip("rdflib")

    class Own(rdflib.URIRef): ...

    return [
        (rdflib.URIRef("a:b"), IRI("a:b")), (Own("a:b"), IRI("a:b")), (rdflib.RDF.type, IRI(str(rdflib.RDF.type))),
        (rdflib.BNode("x"), BlankNode("x")), (rdflib.Variable("v"), Variable("v")),
        (rdflib.Literal("a:b"), Literal("a:b")), (rdflib.Literal("x", lang="en"), Literal("x", language="en")),
        (rdflib.Literal(5), Literal("5", datatype=XSD + "integer")),
        (rdflib.Literal("x", datatype=rdflib.XSD.string), Literal("x")),
        (rdflib.Literal("<a:b>", datatype=rdflib.URIRef("a:t")), Literal("<a:b>", datatype="a:t")),
    ]  # fmt: skip


def of_pyoxigraph():
    ox = pytest.importorskip("pyoxigraph")
    a, p = ox.NamedNode("a:a"), ox.NamedNode("a:p")
    return [
        (a, IRI("a:a")), (ox.BlankNode("x"), BlankNode("x")), (ox.Variable("v"), Variable("v")),
        (ox.Literal("a:b"), Literal("a:b")), (ox.Literal("x", language="en"), Literal("x", language="en")),
        (ox.Literal("5", datatype=ox.NamedNode("a:t")), Literal("5", datatype="a:t")),
        (ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL), Literal("x", language="ar", direction="rtl")),
        (ox.Triple(a, p, ox.Triple(a, p, a)),
         QuotedTriple(IRI("a:a"), IRI("a:p"), QuotedTriple(IRI("a:a"), IRI("a:p"), IRI("a:a")))),
    ]  # fmt: skip


@pytest.mark.parametrize("terms", [of_rdflib, of_pyoxigraph], ids=["rdflib", "pyoxigraph"])
def test_every_place_of_a_term(terms):
    s, p = IRI("a:s"), IRI("a:p")
    for theirs, ours in terms():
        assert to_term(theirs) == ours
        assert to_term(ours) is ours
        assert Triple(s, p, theirs) == Triple(s, p, ours)
        assert Quad(s, p, theirs, theirs) == Quad(s, p, ours, ours)
        assert QuotedTriple(theirs, p, s).s == ours
        if isinstance(ours, Variable):
            continue
        options = jelly.StreamOptions(rdf_star=True, generalized_statements=True)
        data = jelly.dumps([(s, p, theirs)], options)
        assert data == jelly.dumps([(s, p, ours)], options)
        assert jelly.find(data, o=theirs).count() == jelly.find(data, o=[IRI("a:none"), theirs]).count() == 1
        assert jelly.find(data, s=theirs).count() == 0
        many = [*(IRI(f"a:{i}") for i in range(20)), theirs]
        assert jelly.find(data, o=many).count() == 1
        ids = jelly.scan(data, blank_nodes="keep").to_ids()
        assert ids.id_of(theirs) == ids.id_of(ours) == 1
        assert jelly.Pattern(o=theirs).o == (ours,)


def test_literals_of_rdflib_are_not_taken_for_iris():
    """They are texts, too: of an IRI, or in the syntax of N-Triples."""
    rdflib = pytest.importorskip("rdflib")
    data = b'<a:s> <a:p> <a:b> .\n<a:s> <a:p> "a:b" .\n<a:s> <a:p> "\\"x\\"" .'
    for term, number in ((rdflib.Literal("a:b"), 1), (rdflib.URIRef("a:b"), 0), (rdflib.Literal('"x"'), 2)):
        [found] = jelly.find(data, o=term, format="nt")
        assert found == list(jelly.read(data, format="nt"))[number]


def test_graphs():
    rdflib, ox = pytest.importorskip("rdflib"), pytest.importorskip("pyoxigraph")
    s = IRI("a:s")
    named = rdflib.Graph(identifier=rdflib.URIRef("a:g"))
    dataset = rdflib.Dataset()
    default = dataset.default_graph if hasattr(dataset, "default_graph") else dataset.default_context
    for theirs, ours in (
        (named, IRI("a:g")), (rdflib.URIRef("a:g"), IRI("a:g")), (ox.NamedNode("a:g"), IRI("a:g")),
        (default, DefaultGraph()), (rdflib.graph.DATASET_DEFAULT_GRAPH_ID, DefaultGraph()),
        (ox.DefaultGraph(), DefaultGraph()),
    ):  # fmt: skip
        assert Quad(s, s, s, theirs) == Quad(s, s, s, ours)
        data = jelly.dumps([(s, s, s, theirs)])
        assert jelly.loads(data) == [Quad(s, s, s, ours)]
        assert jelly.find(data, g=theirs).count() == 1
        assert jelly.find(data, g="a:other").count() == 0
    with pytest.raises(TypeError, match="the object must be an RDF term"):
        Triple(s, s, named)


def test_statements_of_pyoxigraph_and_writers():
    ox, rdflib = pytest.importorskip("pyoxigraph"), pytest.importorskip("rdflib")
    a, p = ox.NamedNode("a:a"), ox.NamedNode("a:p")
    quads = [ox.Quad(a, p, ox.Literal("x", language="en"), ox.NamedNode("a:g")), ox.Quad(a, p, a)]
    mixed = [*quads, (IRI("a:s"), rdflib.URIRef("a:p"), ox.Literal("x"), rdflib.URIRef("a:g"))]
    for format in ("jelly", "nq", "thrift"):
        out = io.BytesIO()
        assert jelly.write(out, mixed, format=format) == 3
        assert [str(row) for row in jelly.read(out.getvalue(), format=format)] == [
            '<a:a> <a:p> "x"@en <a:g> .', "<a:a> <a:p> <a:a> .", '<a:s> <a:p> "x" <a:g> .',
        ]  # fmt: skip
    import jelly.patch as patch

    data = patch.dumps([patch.Add(ox.Triple(a, p, a)), patch.Delete((a, p, rdflib.Literal("x")))])
    [read] = patch.loads(data)
    ours = [Quad(IRI("a:a"), IRI("a:p"), o) for o in (IRI("a:a"), Literal("x"))]
    assert list(read) == [patch.Add(ours[0]), patch.Delete(ours[1])]


def test_what_is_no_term_is_refused():
    s = IRI("a:s")
    for wrong in ("a:b", 5, None, object(), b"x"):
        assert to_term(wrong) is wrong
        with pytest.raises(TypeError, match="must be an RDF term"):
            Triple(s, s, wrong)
        with pytest.raises(jelly.JellyArgumentError, match="expected an RDF term"):
            jelly.dumps([(s, s, wrong)])
