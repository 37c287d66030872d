"""The statements that the patterns of a query can match."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from jelly._dataset.dataset import Dataset
from jelly.rdflib._query.paths import is_nullable, predicates_of
from jelly.rdflib._query.syntax import is_constant, rdflib, walk

# Parts whose solutions are made of those of their first, or only, part.
_ROWS_OF_ONE = frozenset({
    "LeftJoin", "Minus", "Filter", "Extend", "ToMultiSet", "Project", "Distinct", "Reduced", "OrderBy", "Slice"
})  # fmt: skip
_PARSED = frozenset({"GroupGraphPatternSub", "SubSelect"})


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


def _matches(part: Any) -> bool:
    """Whether a graph must have a statement that a pattern matches where a part has a solution in it."""
    name = getattr(part, "name", None)
    if name == "BGP":
        return any(not is_nullable(path) for _, path, _ in part.triples)
    if name in ("Join", "Union"):
        each = _matches(part.p1), _matches(part.p2)
        return any(each) if name == "Join" else all(each)
    if name == "AggregateJoin":  # without keys there is one group, also of nothing
        return bool(part.p.expr) and _matches(part.p.p)
    return _matches(part.p1 if name in ("LeftJoin", "Minus") else part.p) if name in _ROWS_OF_ONE else False


def _ends(triples: Any) -> set[Any]:
    """The terms of the patterns that are no paths: what they are bound to is in statements that match."""
    return {term for s, p, o in triples if not isinstance(p, rdflib.paths.Path) for term in (s, o)}


def may_stay(algebra: Any) -> bool:
    """Whether a path of a query may have no steps, and begins and ends at what no other pattern binds."""
    for part in walk(algebra):
        if part.name == "BGP":
            bound = {term for term in _ends(part.triples) if not is_constant(term)}
            if any(is_nullable(path) and bound.isdisjoint((s, o)) for s, path, o in part.triples):
                return True
    return False


def touched(algebra: Any) -> Touched:
    """What the patterns of a query can match."""
    rows: list[list[Any]] = []
    parts = list(walk(algebra))
    # Graphs of which no statement need match, and EXISTS that RDFLib leaves as it has parsed it.
    if any(part.name in _PARSED or (part.name == "Graph" and not _matches(part.p)) for part in parts):
        return Touched()
    for part in parts:
        if part.name != "BGP":
            continue
        ends = _ends(part.triples)
        for s, p, o in part.triples:
            if isinstance(p, rdflib.paths.Path):
                # A path without steps leads from each node to itself.
                is_open = is_nullable(p) and not any(is_constant(term) or term in ends for term in (s, o))
                rows.append([None, None if is_open else predicates_of(p), None])
            else:
                rows.append([[term] if is_constant(term) else None for term in (s, p, o)])
    return Touched(*(None if None in place else tuple({*chain(*place)}) for place in zip(*rows, strict=True)))
