"""The evaluation and syntax tests of SPARQL 1.1 by W3C, with their expected answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.namespace import RDF
from support.queries import canonical, of_ours, of_oxigraph, text
from support.shared import shared

import jelly

FOLDER = shared("sparql11").resolve()
MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
RS = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")
FORMATS = {".ttl": ox.RdfFormat.TURTLE, ".rdf": ox.RdfFormat.RDF_XML, ".nt": ox.RdfFormat.N_TRIPLES}
RESULTS = {".srx": ox.QueryResultsFormat.XML, ".srj": ox.QueryResultsFormat.JSON, ".tsv": ox.QueryResultsFormat.TSV}
# pyoxigraph makes the same blank node of equal texts in all solutions, which it answers as a whole.
WRONG = {"functions/bnode01"}
# Functions that nobody knows.
UNKNOWN = {"syntax-query/test_4"}
# CSV of results cannot be read, and results need no test of queries.
LEFT = {"csv-tsv-res/csv01", "csv-tsv-res/csv02", "csv-tsv-res/csv03"}


@cache
def manifests() -> dict[Path, rdflib.Graph]:
    return {
        path: rdflib.Graph().parse(path, publicID=path.as_uri()) for path in sorted(FOLDER.glob("*/manifest.ttl"))
    }


def cases(kinds: set[Any]) -> list[Any]:
    made = []
    for manifest, graph in manifests().items():
        for test, kind in sorted(graph.subject_objects(RDF.type)):
            name = f"{manifest.parent.name}/{str(test).partition('#')[2]}"
            if kind in kinds and name not in LEFT:
                made.append(pytest.param(graph, test, name, id=name))
    return made


def path_of(iri: Any) -> Path:
    return Path(str(iri).removeprefix("file://"))


def quads_of(iri: Any, named: bool) -> Iterator[ox.Quad]:
    path = path_of(iri)
    for quad in ox.parse(path=path, format=FORMATS[path.suffix], base_iri=str(iri)):
        yield ox.Quad(quad.subject, quad.predicate, quad.object, ox.NamedNode(str(iri)) if named else None)


def expected(iri: Any) -> tuple[Any, ...]:
    path = path_of(iri)
    if path.suffix in RESULTS:
        return of_oxigraph(ox.parse_query_results(path=path, format=RESULTS[path.suffix]))
    graph = rdflib.Graph()
    graph.parse(path, publicID=str(iri))
    whole = graph.value(None, RDF.type, RS.ResultSet)
    if whole is None:
        return ("graph", [tuple(text(term.n3()) for term in triple) for triple in graph])
    names = tuple(map(str, graph.objects(whole, RS.resultVariable)))
    rows = []
    for solution in graph.objects(whole, RS.solution):
        cells: dict[str, Any] = {
            str(graph.value(each, RS.variable)): graph.value(each, RS.value)
            for each in graph.objects(solution, RS.binding)
        }
        rows.append(tuple(text(cells[name].n3()) if name in cells else "" for name in names))
    return ("rows", names, rows)


@pytest.mark.parametrize(("graph", "test", "name"), cases({MF.QueryEvaluationTest, MF.CSVResultFormatTest}))
def test_evaluation(graph: rdflib.Graph, test: Any, name: str) -> None:
    action: Any = graph.value(test, MF.action)
    query: Any = graph.value(action, QT.query)
    quads = [quad for iri in graph.objects(action, QT.data) for quad in quads_of(iri, False)]
    quads += [quad for iri in graph.objects(action, QT.graphData) for quad in quads_of(iri, True)]
    data = ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
    found = jelly.query(data, f"BASE <{query}>\n{path_of(query).read_text()}", format="nq")
    is_right = canonical(of_ours(found)) == canonical(expected(graph.value(test, MF.result)))
    assert is_right is (name not in WRONG)


@pytest.mark.parametrize(("graph", "test", "name"), cases({MF.PositiveSyntaxTest11, MF.NegativeSyntaxTest11}))
def test_syntax(graph: rdflib.Graph, test: Any, name: str) -> None:
    path = path_of(graph.value(test, MF.action))
    sparql = f"BASE <{path.as_uri()}>\n{path.read_text()}"
    if (test, RDF.type, MF.NegativeSyntaxTest11) in graph:
        with pytest.raises(jelly.JellySyntaxError):
            jelly.query(b"", sparql, format="nt")
    elif name in UNKNOWN:
        with pytest.raises(jelly.JellyUnsupportedError, match="custom function"):
            jelly.query(b"", sparql, format="nt")
    else:
        assert jelly.query(b"", sparql, format="nt") is not None
