"""The difference of two multisets of statements up to the labels of blank nodes, by objects: an oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from jelly import BlankNode, JellyError, QuotedTriple
from jelly._tools.compare import TOO_MUCH_ALIKE, Pattern, Terms, TooMuchAlike, map_component, refine

BLANK = None  # stands for a blank node in a pattern
# Patterns looked at in the search for one component before it counts as too symmetrical to compare.
MAX_WORK = 20_000_000


def difference(left: Iterable[Terms], right: Iterable[Terms]) -> Iterator[tuple[str, Terms | None]]:
    """What tells two multisets of quads apart, up to the names of blank nodes: ("left" or "right", a statement that
    only that side has, or None where only the blank nodes do not fit). Nothing where they are equal.

    JellyError where the blank nodes are too much alike to find out.
    """
    sides = _Side(left, "left "), _Side(right, "right ")
    plain = [Counter(side.plain) for side in sides]
    for name, here, there in (("left", plain[0], plain[1]), ("right", plain[1], plain[0])):
        for statement in (here - there).elements():
            yield name, statement
    try:
        equal = _isomorphic(*sides)
    except TooMuchAlike:
        raise JellyError(TOO_MUCH_ALIKE) from None
    if not equal:
        shapes = [Counter(shape for shape, _ in side.patterns) for side in sides]
        told = False
        for i, name in enumerate(("left", "right")):
            for shape in (shapes[i] - shapes[1 - i]).elements():
                told = True
                yield name, tuple(_shown(term) for term in shape)
        if not told:
            yield "left", None


class _Side:
    """The statements of one side: those without blank nodes, and the patterns of the others by component.

    ``name`` stands before all labels, as no label may be on both sides.
    """

    def __init__(self, statements: Iterable[Terms], name: str) -> None:
        self.plain: list[Terms] = []
        self.patterns: list[Pattern] = []
        parent: dict[str, str] = {}
        for statement in statements:
            labels: list[str] = []
            shape = tuple(_pattern(term, labels) for term in statement)
            if not labels:
                self.plain.append(statement)
                continue
            labels = [name + label for label in labels]
            self.patterns.append((shape, tuple(labels)))
            for label in labels:
                parent.setdefault(label, label)
                _union(parent, labels[0], label)
        groups: dict[str, list[Pattern]] = {}
        for pattern in self.patterns:
            groups.setdefault(_root(parent, pattern[1][0]), []).append(pattern)
        # Components do not know each other, so each is looked at alone; by signature those that may be equal.
        self.components: dict[Any, list[list[Pattern]]] = {}
        for group in groups.values():
            signature = hash(tuple(sorted(refine(group, {}, [MAX_WORK]).values())))
            self.components.setdefault((len(group), signature), []).append(group)


def _pattern(term: Any, labels: list[str]) -> Any:
    if isinstance(term, BlankNode):
        labels.append(term.value)
        return BLANK
    if isinstance(term, QuotedTriple):
        inner: list[str] = []
        shape = tuple(_pattern(part, inner) for part in term)
        if inner:
            labels += inner
            return shape
    return term


def _shown(part: Any) -> Any:
    """A part of a pattern as something to print."""
    if part is BLANK:
        return BlankNode("")
    return QuotedTriple(*(_shown(inner) for inner in part)) if isinstance(part, tuple) else part


def _root(parent: dict[str, str], label: str) -> str:
    while parent[label] != label:
        parent[label] = parent[parent[label]]
        label = parent[label]
    return label


def _union(parent: dict[str, str], x: str, y: str) -> None:
    x, y = _root(parent, x), _root(parent, y)
    if x != y:
        parent[y] = x


def _isomorphic(left: _Side, right: _Side) -> bool:
    if {key: len(found) for key, found in left.components.items()} != {
        key: len(found) for key, found in right.components.items()
    }:
        return False
    for key, groups in left.components.items():
        others = list(right.components[key])
        for group in groups:
            work = [MAX_WORK]
            for i, other in enumerate(others):
                if map_component(group, other, {}, work) is not None:
                    del others[i]
                    break
            else:
                return False
    return True
