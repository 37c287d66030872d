"""Datasets in canonical form by pyoxigraph."""

from __future__ import annotations

from typing import Any

TRIES = 16


def canonical_quads(oxigraph: Any, data: bytes, **settings: Any) -> list[Any]:
    """The statements of N-Quads, sorted, blank nodes named by RDFC-1.0.

    With named graphs, pyoxigraph (0.5) now and then gives one of two forms by chance: two nodes of which one graph says
    what another graph says of the other one. Then it is asked several times for the least form.
    """

    def once() -> list[Any]:
        dataset = oxigraph.Dataset(oxigraph.parse(data, oxigraph.RdfFormat.N_QUADS, **settings))
        dataset.canonicalize(oxigraph.CanonicalizationAlgorithm.RDFC_1_0)
        return sorted(dataset, key=str)

    dataset = oxigraph.Dataset(oxigraph.parse(data, oxigraph.RdfFormat.N_QUADS, **settings))
    by_chance = any(not isinstance(quad.graph_name, oxigraph.DefaultGraph) for quad in dataset)
    return min((once() for _ in range(TRIES if by_chance else 1)), key=lambda quads: list(map(str, quads)))
