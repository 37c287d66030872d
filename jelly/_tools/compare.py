"""Statements compared one by one, and parts of datasets up to the labels of blank nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from jelly._core.terms.model import BlankNode, DefaultGraph, QuotedTriple

_DEFAULT = DefaultGraph()

TOO_MUCH_ALIKE = "the blank nodes are too much alike to be compared without an order"

Terms = tuple[Any, ...]
# A statement without the names of its blank nodes, and those names in order.
Pattern = tuple[Terms, tuple[Any, ...]]


class TooMuchAlike(Exception):
    """The search for a map of blank nodes was given up."""


def as_quad(statement: Iterable[Any]) -> Terms:
    """Four terms; a triple belongs to the default graph."""
    terms = tuple(statement)
    return terms if len(terms) == 4 else (*terms, _DEFAULT)


class BlankNodeBijection:
    """A one-to-one map of blank nodes that grows as statements are found to be equal.

    >>> from jelly import BlankNode
    >>> renaming = BlankNodeBijection()
    >>> renaming.same((BlankNode("a"), BlankNode("b")), (BlankNode("x"), BlankNode("y")))
    True
    >>> renaming.same((BlankNode("a"),), (BlankNode("y"),))
    False
    """

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def same(self, x: Terms, y: Terms) -> bool:
        """Whether the terms are equal, with blank nodes mapped as before or for the first time."""
        new: list[tuple[str, str]] = []
        if len(x) == len(y) and all(self._same(a, b, new) for a, b in zip(x, y, strict=True)):
            return True
        for a, b in new:
            del self._there[a], self._back[b]
        return False

    def _same(self, x: Any, y: Any, new: list[tuple[str, str]]) -> bool:
        if isinstance(x, BlankNode) and isinstance(y, BlankNode):
            a, b = x.value, y.value
            if a not in self._there and b not in self._back:
                self._there[a] = b
                self._back[b] = a
                new.append((a, b))
            return self._there.get(a) == b
        if isinstance(x, QuotedTriple) and isinstance(y, QuotedTriple):
            return all(self._same(a, b, new) for a, b in zip(x, y, strict=True))
        return bool(x == y)


def refine(group: list[Pattern], colours: dict[str, int], work: list[int]) -> dict[str, int]:
    """Colours of the blank nodes that depend on how they stand in the patterns, not on their names. Equal structures
    get equal colours; the reverse need not hold. TooMuchAlike where it takes more than ``work``, which is counted down
    by the patterns looked at."""
    shapes = [(hash(shape), labels) for shape, labels in group]
    colours = {label: colours.get(label, 0) for _, labels in shapes for label in labels}
    n = len(set(colours.values()))
    while True:
        work[0] -= len(group)
        if work[0] < 0:
            raise TooMuchAlike
        sums = dict.fromkeys(colours, 0)
        for shape, labels in shapes:
            seen = hash((shape, *(colours[label] for label in labels), *(labels.index(label) for label in labels)))
            for i, label in enumerate(labels):
                sums[label] += hash((seen, i)) & 0xFFFFFFFFFFFF
        colours = {label: hash((colour, sums[label])) for label, colour in colours.items()}
        after = len(set(colours.values()))
        if after <= n:
            return colours
        n = after


def map_component(
    x: list[Pattern], y: list[Pattern], colours: dict[Any, int], work: list[int]
) -> dict[Any, Any] | None:
    """Map the blank nodes of one component to the other, or None: refine colours, then try pairs of equal colour.

    ``colours`` are initial colours; no label is in both components. TooMuchAlike if more patterns are examined than
    ``work`` allows, which this function decreases.
    """
    ours, theirs = refine(x, colours, work), refine(y, colours, work)
    if Counter(ours.values()) != Counter(theirs.values()):
        return None
    there = _classes(theirs)
    several = [labels for labels in _classes(ours).values() if len(labels) > 1]
    if not several:
        names = {label: there[colour][0] for label, colour in ours.items()}
        renamed = Counter((shape, tuple(names[label] for label in labels)) for shape, labels in x)
        return names if renamed == Counter(y) else None
    chosen = min(several, key=len)[0]
    mark = hash(("chosen", ours[chosen]))
    for label in there[ours[chosen]]:
        try:
            found = map_component(x, y, ours | theirs | {chosen: mark, label: mark}, work)
        except RecursionError:
            raise TooMuchAlike from None
        if found is not None:
            return found
    return None


def _classes(colours: dict[str, int]) -> dict[int, list[str]]:
    classes: dict[int, list[str]] = {}
    for label, colour in colours.items():
        classes.setdefault(colour, []).append(label)
    return classes
