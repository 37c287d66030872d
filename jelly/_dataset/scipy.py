"""Matrices of scipy. Only this module imports scipy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jelly.errors import need

with need("scipy", "matrices need scipy"):
    from scipy import sparse

if TYPE_CHECKING:
    from jelly._dataset.ids import GraphIds

__all__ = ["to_scipy"]


def to_scipy(ids: GraphIds, relation: int | None = None) -> Any:
    """The matrix of `GraphIds.to_scipy`."""
    chosen = slice(None) if relation is None else ids.p == relation
    source, target = ids.s[chosen], ids.o[chosen]
    shape = (ids.n_nodes, ids.n_nodes)
    return sparse.coo_array((np.ones(len(source), np.int64), (source, target)), shape=shape).tocsr()
