"""The read-only store of RDFLib."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import SH, XSD, BNode, Dataset, Graph, Literal, URIRef
from support.shared import shared

import jelly
from jelly.rdflib import JellyStore

DATA = b"""<a:s> <a:p> <a:o> .
<a:s> <a:p> "1"@en .
<a:s> <a:p> <a:o> .
_:b <a:q> "02"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""
QUADS = b"""<a:s> <a:p> <a:o> .
<a:s> <a:p> <a:o> <a:g> .
<a:s> <a:p> <a:o> <a:h> .
<a:s> <a:q> "x" <a:g> .
"""


def of(data: bytes, format: str) -> JellyStore:
    return JellyStore(jelly.scan(data, format=format))


def memory(store: JellyStore) -> Graph:
    made = Graph()
    for triple in Graph(store):
        made.add(triple)
    return made


def test_patterns() -> None:
    graph = Graph(of(DATA, "nt"))
    plain = Graph().parse(data=DATA, format="nt")
    assert len(graph) == len(plain) == 3  # each statement once
    subject, predicate = URIRef("a:s"), URIRef("a:p")
    for pattern in [(None, None, None), (subject, None, None), (None, predicate, None), (subject, None, URIRef("a:o"))]:
        found = [triple for triple in graph.triples(pattern) if not isinstance(triple[0], rdflib.BNode)]
        assert sorted(found) == sorted(t for t in plain.triples(pattern) if not isinstance(t[0], rdflib.BNode))
    [node] = graph.subjects(URIRef("a:q"))
    assert str(graph.value(node, URIRef("a:q"))) == "02"
    assert (subject, predicate, URIRef("a:none")) not in graph


def test_graphs() -> None:
    store = of(QUADS, "nq")
    assert len(Graph(store)) == 1
    assert len(Graph(store, URIRef("a:g"))) == 2
    dataset = Dataset(store)
    assert sorted(str(quad[3]) for quad in dataset.quads((None, URIRef("a:p"), None, None))) == [
        "a:g", "a:h", "urn:x-rdflib:default"
    ]  # fmt: skip
    assert {str(graph.identifier) for graph in dataset.graphs()} == {"a:g", "a:h", "urn:x-rdflib:default"}
    assert len(dataset.graph(URIRef("a:g"))) == 2
    assert {str(each.identifier) for each in store.contexts((None, URIRef("a:q"), None))} == {"a:g"}
    union = Dataset(store, default_union=True)
    assert len({*union.triples((None, None, None))}) == 2


def test_graphs_that_blank_nodes_name() -> None:
    store = of(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:x> _:g .\n<a:s> <a:p> <a:y> _:g .\n", "nq")
    dataset = Dataset(store)
    found = {str(graph.identifier): {str(term) for term in graph.objects()} for graph in dataset.graphs()}
    assert found == {"g": {"a:x", "a:y"}, "urn:x-rdflib:default": {"a:o"}}
    [(*_, graphs)] = store.triples((None, None, URIRef("a:x")))
    assert [len(graph) for graph in graphs] == [2]
    assert len(Graph(store)) == 1


@pytest.mark.parametrize("seed", range(20))
def test_same_as_memory_by_contract(seed: int, tmp_path: Path) -> None:
    """What RDFLib's own tests of stores ask: patterns, choices, graphs and lengths, of random quads."""
    chance = random.Random(seed)
    nodes = [URIRef(f"a:{name}") for name in "abcd"]
    objects = [*nodes, Literal("1"), Literal("01", datatype=XSD.integer), Literal("x", lang="en")]
    graphs = [None, URIRef("a:g"), URIRef("a:h")]
    path = tmp_path / "x.jelly"
    peer = Dataset()
    for _ in range(chance.randint(1, 60)):
        triple = chance.choice(nodes), chance.choice(nodes[:2]), chance.choice(objects)
        peer.graph(chance.choice(graphs)).add(triple)
    jelly.rdflib.write(path, peer)
    jelly.scan(path).write(tmp_path / "indexed.jelly", index="terms", keyframe_rows=8)
    for store in (JellyStore(path), JellyStore(tmp_path / "indexed.jelly")):
        ours = Dataset(store)
        subject, predicate, object = chance.choice(nodes), chance.choice(nodes[:2]), chance.choice(objects)
        for pattern in itertools.product((None, subject), (None, predicate), (None, object)):
            for name in graphs:
                graph, other = (each.graph(name) if name else each.default_graph for each in (ours, peer))
                assert sorted(graph.triples(pattern)) == sorted(other.triples(pattern))
                assert (pattern in graph, len(graph)) == (pattern in other, len(other))
            assert sorted(map(str, ours.quads((*pattern, None)))) == sorted(map(str, peer.quads((*pattern, None))))
        for choice in ((nodes[:2], predicate, None), (subject, nodes[:2], None), (None, predicate, objects[3:])):
            found, expected = ours.default_graph, peer.default_graph
            assert sorted(found.triples_choices(choice)) == sorted(expected.triples_choices(choice))
        names = {graph.identifier for graph in peer.graphs() if len(graph)}
        assert {graph.identifier for graph in ours.graphs()} - {peer.default_graph.identifier} == names - {
            peer.default_graph.identifier
        }
        sparql = "SELECT ?s ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o FILTER(isIRI(?o)) } } }"
        assert sorted(map(str, ours.query(sparql))) == sorted(map(str, peer.query(sparql)))
        store.close()


def test_queries() -> None:
    graph = Graph(of(DATA, "nt"))
    assert [row.o for row in graph.query("SELECT ?o { <a:s> <a:p> ?o FILTER(isIRI(?o)) }")] == [URIRef("a:o")]
    assert graph.query("ASK { ?s <a:q> 2 }").askAnswer is False
    made = graph.query("CONSTRUCT { ?o <a:of> ?s } WHERE { ?s <a:p> ?o }")
    assert {*made.graph} == {(URIRef("a:o"), URIRef("a:of"), URIRef("a:s"))}
    graph.bind("a", "a:")
    assert len(graph.query("SELECT * { ?s a:p ?o }")) == 2
    assert len(graph.query("SELECT * { ?s <p> ?o }", base="http://e/")) == 0
    other = Graph(of(b"<http://e/s> <http://e/p> 1 .", "ttl"))
    assert len(other.query("SELECT * { ?s <p> 1 }", base="http://e/x")) == 1
    # What `jelly.query` does not know RDFLib answers.
    found = graph.query("SELECT ?o { ?s <a:p> ?o }", initBindings={"s": URIRef("a:none")})
    assert len(found) == 0
    named = Graph(of(QUADS, "nq"), URIRef("a:g"))
    assert [str(row.o) for row in named.query("SELECT ?o { ?s <a:q> ?o }")] == ["x"]
    with pytest.raises(jelly.JellySyntaxError):
        graph.query("SELECT nothing")


def test_read_only() -> None:
    store = of(DATA, "nt")
    graph = Graph(store)
    triple = (URIRef("a:x"), URIRef("a:x"), URIRef("a:x"))
    for change in (graph.add, graph.remove):
        with pytest.raises(jelly.JellyUnsupportedError, match="read-only"):
            change(triple)
    with pytest.raises(jelly.JellyUnsupportedError):
        graph.addN([(*triple, graph)])
    with pytest.raises(jelly.JellyUnsupportedError):
        store.open("x.jelly", create=True)
    with pytest.raises(jelly.JellyUnsupportedError):
        store.remove_graph(graph)
    with pytest.raises(jelly.JellyUnsupportedError):
        graph.update("INSERT DATA { <a:x> <a:x> <a:x> }")
    graph.commit()  # of nothing


def test_open_and_close(tmp_path: Path) -> None:
    jelly.rdflib.register()
    path = tmp_path / "x.jelly"
    jelly.convert(DATA, path, format="nt", index="terms")
    graph = Graph(store="jelly")
    with pytest.raises(jelly.JellyArgumentError, match="not open"):
        len(graph)
    graph.open(str(path))
    assert len(graph) == 3
    assert [str(row.o) for row in graph.query("SELECT ?o { ?s <a:p> ?o FILTER(isIRI(?o)) }")] == ["a:o"]
    graph.close()
    for name in ("none.jelly", "none.nt"):
        with pytest.raises(FileNotFoundError):
            Graph(store="jelly").open(str(tmp_path / name))
    with pytest.raises(jelly.JellyArgumentError, match="several times"):
        JellyStore(iter([DATA]))


def test_the_length_of_an_open_file_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jelly"
    jelly.convert(DATA, path, format="nt", index="terms")
    store = JellyStore(path)
    graph, whole = Graph(store), Dataset(store=store)
    assert (len(graph), len(whole)) == (3, 3)
    with monkeypatch.context() as once:
        once.setattr(JellyStore, "_found", None)
        assert (len(graph), len(Graph(store)), len(whole)) == (3, 3, 3)
    store.close()
    with pytest.raises(jelly.JellyArgumentError, match="not open"):
        len(graph)


def test_pyshacl_has_the_report_of_a_graph_in_memory(tmp_path: Path) -> None:
    pyshacl = pytest.importorskip("pyshacl")
    data = b"".join(b"<a:n%d> <a:p> <a:n%d> .\n<a:n%d> a <a:C> .\n" % (i, i % 7, i) for i in range(20))
    path = tmp_path / "x.jelly"
    jelly.convert(data, path, format="ttl", index="terms")
    shapes = Graph().parse(format="turtle", data="""
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        [] a sh:NodeShape ; sh:targetClass <a:C> ; sh:property
            [ sh:path <a:p> ; sh:class <a:C> ; sh:disjoint <a:q> ; sh:in (<a:n1> <a:n2>) ],
            [ sh:path [ sh:inversePath <a:p> ] ; sh:maxCount 2 ] .
    """)
    reports = []
    for graph in (Graph().parse(data=data, format="turtle"), Graph(JellyStore(path))):
        conforms, report, _ = pyshacl.validate(graph, shacl_graph=shapes)
        assert not conforms
        reports.append(sorted(
            sorted(f"{p} {o}" for p, o in report.predicate_objects(one) if not isinstance(o, BNode))
            for one in report.objects(None, SH.result)
        ))  # fmt: skip
        graph.close()
    assert reports[0] == reports[1]
    assert len(reports[0]) > 15


def test_namespaces() -> None:
    store = of(DATA, "nt")
    store.bind("x", URIRef("http://x/"))
    store.bind("x", URIRef("http://y/"), override=False)
    assert store.namespace("x") == URIRef("http://x/")
    assert store.prefix(URIRef("http://x/")) == "x"
    assert ("x", URIRef("http://x/")) in [*store.namespaces()]
    assert store.namespace("none") is None
    assert store.prefix(URIRef("http://none/")) is None


@pytest.mark.parametrize(
    "sparql", [
        "SELECT ?n { ?f <http://rdf.freebase.com/film/film/directed_by> <http://rdf.freebase.com/en/alfred_hitchcock> ;"
        " <http://rdf.freebase.com/ns/name> ?n }",
        "SELECT ?d (COUNT(?f) AS ?n) { ?f <http://rdf.freebase.com/film/film/directed_by> ?d } GROUP BY ?d",
    ],
)  # fmt: skip
def test_same_as_memory(sparql: str, tmp_path: Path) -> None:
    path = tmp_path / "movies.jelly"
    jelly.scan(shared("data") / "movies/30kmovies.nt.gz").filter(
        p=["http://rdf.freebase.com/film/film/directed_by", "http://rdf.freebase.com/ns/name"]
    ).write(path, index="terms")
    store = JellyStore(path)
    rows: Any = sorted(map(tuple, Graph(store).query(sparql)))
    assert rows == sorted(map(tuple, memory(store).query(sparql)))
    assert rows
    store.close()
