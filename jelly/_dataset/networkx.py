"""Graphs of networkx. Only this module imports networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jelly.errors import need

with need("networkx", "these graphs need networkx"):
    import networkx

if TYPE_CHECKING:
    from jelly._dataset.ids import GraphIds

__all__ = ["to_networkx"]


def to_networkx(ids: GraphIds) -> Any:
    """The graph of `GraphIds.to_networkx`."""
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from((id, {"term": term}) for id, term in enumerate(ids.terms()))
    edges = zip(ids.s.tolist(), ids.o.tolist(), ids.p.tolist(), strict=True)
    graph.add_edges_from((source, target, {"relation": relation}) for source, target, relation in edges)
    return graph
