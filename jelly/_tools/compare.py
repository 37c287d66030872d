"""Compares two streams: statement by statement, or as sets up to the labels of blank nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from jelly._core.terms.model import BlankNode, DefaultGraph, QuotedTriple
from jelly.errors import JellyError

__all__ = ["TOO_MUCH_ALIKE", "BlankNodeBijection", "TooMuchAlike", "as_quad", "difference", "map_component"]

_DEFAULT = DefaultGraph()
_BLANK = None  # stands for a blank node in a pattern
# Maximum patterns examined in the search for a component. Beyond this it is too symmetrical to compare.
_MAX_WORK = 20_000_000

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
        if isinstance(x, BlankNode):
            if not isinstance(y, BlankNode):
                return False
            a, b = x.value, y.value
            if a not in self._there and b not in self._back:
                self._there[a] = b
                self._back[b] = a
                new.append((a, b))
            return self._there.get(a) == b
        if isinstance(x, QuotedTriple):
            return isinstance(y, QuotedTriple) and all(self._same(a, b, new) for a, b in zip(x, y, strict=True))
        return bool(x == y)


def difference(left: Iterable[Terms], right: Iterable[Terms]) -> Iterator[tuple[str, Terms | None]]:
    """The differences of two multisets of quads, up to the names of blank nodes: ("left" or "right", a statement that
    only that side has, or None if only the blank nodes differ). Empty if they are equal.

    JellyError if the blank nodes are too similar to match.
    """
    sides = _Side(left), _Side(right)
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
    """The statements of one side: those without blank nodes, and the patterns of the others by component."""

    def __init__(self, statements: Iterable[Terms]) -> None:
        self.plain: list[Terms] = []
        self.patterns: list[Pattern] = []
        parent: dict[str, str] = {}
        for statement in statements:
            labels: list[str] = []
            shape = tuple(_pattern(term, labels) for term in statement)
            if not labels:
                self.plain.append(statement)
                continue
            self.patterns.append((shape, tuple(labels)))
            for label in labels:
                parent.setdefault(label, label)
                _union(parent, labels[0], label)
        groups: dict[str, list[Pattern]] = {}
        for pattern in self.patterns:
            groups.setdefault(_root(parent, pattern[1][0]), []).append(pattern)
        # Components share no blank nodes, so each is compared alone, with components of the same signature.
        self.components: dict[Any, list[list[Pattern]]] = {}
        for group in groups.values():
            signature = hash(tuple(sorted(_refine(group, {}).values())))
            self.components.setdefault((len(group), signature), []).append(group)


def _pattern(term: Any, labels: list[str]) -> Any:
    if isinstance(term, BlankNode):
        labels.append(term.value)
        return _BLANK
    if isinstance(term, QuotedTriple):
        inner: list[str] = []
        shape = tuple(_pattern(part, inner) for part in term)
        if inner:
            labels += inner
            return shape
    return term


def _shown(part: Any) -> Any:
    """A printable part of a pattern."""
    if part is _BLANK:
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


def _refine(group: list[Pattern], colours: dict[str, int]) -> dict[str, int]:
    """Colours of the blank nodes that depend on their positions in the patterns, not on their names. Equal structures
    get equal colours; different structures may too."""
    shapes = [(hash(shape), labels) for shape, labels in group]
    colours = {label: colours.get(label, 0) for _, labels in shapes for label in labels}
    n = len(set(colours.values()))
    while True:
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


def _isomorphic(left: _Side, right: _Side) -> bool:
    if {key: len(found) for key, found in left.components.items()} != {
        key: len(found) for key, found in right.components.items()
    }:
        return False
    for key, groups in left.components.items():
        others = list(right.components[key])
        for group in groups:
            work = [_MAX_WORK + len(group)]
            for i, other in enumerate(others):
                if map_component(group, {}, other, {}, work) is not None:
                    del others[i]
                    break
            else:
                return False
    return True


def map_component(
    x: list[Pattern], fixed_x: dict[Any, int], y: list[Pattern], fixed_y: dict[Any, int], work: list[int]
) -> dict[Any, Any] | None:
    """Map the blank nodes of one component to the other, or None: refine colours, then try pairs of equal colour.

    ``fixed_x`` and ``fixed_y`` are initial colours. TooMuchAlike if more patterns are examined than ``work``
    allows, which this function decreases.
    """
    work[0] -= len(x)
    if work[0] < 0:
        raise TooMuchAlike
    colours_x, colours_y = _refine(x, fixed_x), _refine(y, fixed_y)
    classes_x, classes_y = _classes(colours_x), _classes(colours_y)
    if {c: len(labels) for c, labels in classes_x.items()} != {c: len(labels) for c, labels in classes_y.items()}:
        return None
    several = [labels for labels in classes_x.values() if len(labels) > 1]
    if not several:
        names = {labels[0]: classes_y[colour][0] for colour, labels in classes_x.items()}
        renamed = Counter((shape, tuple(names[label] for label in labels)) for shape, labels in x)
        return names if renamed == Counter(y) else None
    chosen = min(several, key=len)[0]
    mark = hash(("chosen", colours_x[chosen]))
    for label in classes_y[colours_x[chosen]]:
        try:
            found = map_component(x, colours_x | {chosen: mark}, y, colours_y | {label: mark}, work)
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
