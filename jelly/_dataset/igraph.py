"""Graphs of igraph. Only this module imports igraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jelly.errors import need

with need("igraph", "these graphs need igraph"):
    import igraph

if TYPE_CHECKING:
    from jelly._dataset.ids import GraphIds

__all__ = ["to_igraph"]


def to_igraph(ids: GraphIds) -> Any:
    """The graph of `GraphIds.to_igraph`."""
    graph = igraph.Graph(n=ids.n_nodes, edges=np.stack([ids.s, ids.o], axis=1), directed=True)
    graph.vs["term"] = ids.terms()
    graph.es["relation"] = ids.p.tolist()
    return graph
