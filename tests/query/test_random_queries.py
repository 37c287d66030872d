"""Random queries of random data: the same answers as those of pyoxigraph."""

from __future__ import annotations

import os
import random

import pyoxigraph as ox
import pytest
from support.chance import COUNT
from support.queries import of_ours, of_oxigraph
from support.random_queries import Queries, statements

import jelly

# In the long form others each time, 5,000 of them.
FIRST = random.randrange(1 << 40) if os.environ.get("JELLY_LONG") else 0


@pytest.mark.parametrize("part", range(COUNT // 10))
def test_same_descriptions(part: int) -> None:
    data = statements(random.Random(FIRST + part), True)
    store = ox.Store()
    store.extend(ox.parse(data.encode(), ox.RdfFormat.N_QUADS))
    predicate = next(iter(store)).predicate
    node = next((quad.subject for quad in store if isinstance(quad.subject, ox.NamedNode)), predicate)
    for sparql in (
        f"DESCRIBE {node} {predicate}",
        f"DESCRIBE ?s {{ ?s {predicate} ?o }}",
        f"DESCRIBE ?o ?g {{ GRAPH ?g {{ ?s {predicate} ?o }} }}",
        "DESCRIBE ?s ?o { ?s ?p ?o }",
    ):
        try:
            expected = {str(triple).replace("_:", "") for triple in store.query(sparql)}
        except SyntaxError:
            continue
        found = [" ".join(map(str, each)).replace("_:", "") for each in jelly.query(data.encode(), sparql, format="nq")]
        assert len(found) == len({*found})
        assert {*found} == expected, f"{sparql}\n{data}"


@pytest.mark.parametrize("part", range(COUNT // 2))
def test_same_solutions(part: int) -> None:
    chance = random.Random(FIRST + part)
    has_graphs = chance.random() < 0.4
    data = statements(chance, has_graphs)
    sparql = Queries(chance, has_graphs).select(is_whole=True)
    store = ox.Store()
    store.extend(ox.parse(data.encode(), ox.RdfFormat.N_QUADS))  # which keeps labels, as bulk_load does not
    try:
        found = store.query(sparql)
    except SyntaxError:  # a variable is bound twice
        with pytest.raises(jelly.JellySyntaxError):
            jelly.query(data.encode(), sparql, format="nq")
        return
    _, names, rows = of_oxigraph(found)
    _, variables, solutions = of_ours(jelly.query(data.encode(), sparql, format="nq"))
    assert (variables, sorted(solutions)) == (names, sorted(rows)), f"seed {FIRST + part}\n{sparql}\n{data}"
