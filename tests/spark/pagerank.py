"""PageRank, computed with numpy from its definition."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def page_rank(nodes: Iterable[int], edges: Iterable[tuple[int, int]], rounds: int, reset: float) -> dict[int, float]:
    """The rank of each node after some rounds; all of them together are the number of nodes.

    As in GraphX each edge counts, and a node without edges gives nothing on.
    """
    names = sorted(nodes)
    place = {name: i for i, name in enumerate(names)}
    pairs = np.array([(place[src], place[dst]) for src, dst in edges])
    degree = np.bincount(pairs[:, 0], minlength=len(names))
    rank = np.ones(len(names))
    for _ in range(rounds):
        given = rank[pairs[:, 0]] / degree[pairs[:, 0]]
        rank = reset + (1 - reset) * np.bincount(pairs[:, 1], given, len(names))
    return dict(zip(names, (rank * len(names) / rank.sum()).tolist(), strict=True))
