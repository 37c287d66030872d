"""The statements that the patterns of a query can match."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from jelly._dataset.dataset import Dataset
from jelly.rdflib._query.paths import is_nullable, predicates_of
from jelly.rdflib._query.syntax import is_constant, rdflib, walk


class Touched(NamedTuple):
    """What the statements may be that the patterns of a query can match: terms for each place, or None for all."""

    s: tuple[Any, ...] | None = None
    p: tuple[Any, ...] | None = None
    o: tuple[Any, ...] | None = None

    def of(self, dataset: Dataset) -> Dataset:
        """These statements of a dataset."""
        return dataset if self == Touched() else dataset.filter(*self)

    def is_within(self, other: Touched) -> bool:
        """Whether all these statements are among others."""
        return all(b is None or (a is not None and {*a} <= {*b}) for a, b in zip(self, other, strict=True))


def touched(algebra: Any) -> Touched:
    """What the patterns of a query can match."""
    rows: list[list[Any]] = []
    parts = list(walk(algebra))
    in_graphs = [part for graph in parts if graph.name == "Graph" for part in walk(graph)]
    if any(part.name == "BGP" and not part.triples for part in in_graphs):
        return Touched()  # names of graphs
    for part in parts:
        if part.name != "BGP":
            continue
        ends = {term for s, p, o in part.triples if not isinstance(p, rdflib.paths.Path) for term in (s, o)}
        for s, p, o in part.triples:
            if isinstance(p, rdflib.paths.Path):
                # A path without steps leads from each node to itself.
                is_open = is_nullable(p) and not any(is_constant(term) or term in ends for term in (s, o))
                rows.append([None, None if is_open else predicates_of(p), None])
            else:
                rows.append([[term] if is_constant(term) else None for term in (s, p, o)])
    return Touched(*(None if None in place else tuple({*chain(*place)}) for place in zip(*rows, strict=True)))
