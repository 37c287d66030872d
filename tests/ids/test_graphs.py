"""Matrices and graphs of ids, with the real libraries."""

import sys

import pytest

import jelly
from jelly import IRI, Literal, Triple

KNOWS, LIKES = IRI("a:knows"), IRI("a:likes")
A, B, C = (IRI(f"a:{name}") for name in "abc")
MADE = [Triple(A, KNOWS, B), Triple(A, LIKES, B), Triple(B, KNOWS, C), Triple(C, KNOWS, C)]


@pytest.fixture
def ids():
    return jelly.scan(jelly.dumps(MADE)).to_ids()


def test_scipy(ids):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = ids.to_scipy()
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.toarray().tolist() == [[0, 2, 0], [0, 0, 1], [0, 0, 1]]
    assert ids.to_scipy(ids.id_of(LIKES, relation=True)).toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert jelly.scan(b"", format="nt").to_ids().to_scipy().shape == (0, 0)
    count, of_nodes = sparse.csgraph.connected_components(matrix, connection="strong")
    assert (count, len(of_nodes)) == (3, 3)


def test_networkx(ids):
    networkx = pytest.importorskip("networkx")
    graph = ids.to_networkx()
    assert dict(graph.nodes(data="term")) == {0: "<a:a>", 1: "<a:b>", 2: "<a:c>"}
    assert list(graph.edges(data="relation")) == [(0, 1, 0), (0, 1, 1), (1, 2, 0), (2, 2, 0)]
    assert networkx.shortest_path(graph, 0, 2) == [0, 1, 2]


def test_igraph(ids):
    pytest.importorskip("igraph")
    graph = ids.to_igraph()
    assert graph.is_directed()
    assert graph.vs["term"] == ["<a:a>", "<a:b>", "<a:c>"]
    assert graph.get_edgelist() == [(0, 1), (0, 1), (1, 2), (2, 2)]
    assert graph.es["relation"] == [0, 1, 0, 0]
    assert jelly.scan(b"", format="nt").to_ids().to_igraph().vcount() == 0


def test_literals_are_nodes_or_not():
    pytest.importorskip("networkx")
    data = jelly.dumps([*MADE, Triple(A, LIKES, Literal("x"))])
    assert jelly.scan(data).to_ids().to_networkx().number_of_nodes() == 4
    assert jelly.scan(data).to_ids(literals=False).to_networkx().number_of_edges() == 4


@pytest.mark.parametrize("name", ["scipy", "networkx", "igraph"])
def test_a_library_that_is_missing_is_named(ids, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(jelly.MissingExtraError, match=f"jelly-rdf\\[{name}\\]"):
        getattr(ids, f"to_{name}")()
