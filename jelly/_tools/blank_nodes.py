"""Matches the blank nodes of two datasets by structure, not by label.

Each blank node gets a colour: a hash of its statements and of the colours of the other blank nodes in them.
Rounds repeat until the colours divide no further (colour refinement). Nodes with a unique colour on both sides match.
They then count as known; the components without them are compared one by one. If a component still has nodes of
one colour, a bounded search tries them. Quoted triples with blank nodes count as nodes with one more statement.

``other[i]`` is the index of the node that node ``i`` matches, or -1, in all of this module.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jelly._core.algebra.content import blank_terms
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.ntriples.statement_table import StatementTable
from jelly._dataset.steps.order import starts
from jelly._tools.compare import TOO_MUCH_ALIKE, Pattern, TooMuchAlike, map_component
from jelly._tools.partitions import runs
from jelly.errors import JellyError, JellyWarning

# Levels of quoted triples in quoted triples that are shown: some quote others so often that no memory holds them
# written out.
_SHOWN_DEPTH = 5
# Statements looked at in all rounds of refinement together, where a round counts for some, and patterns in the search
# for all parts together.
MAX_ROUNDS_WORK = 50_000_000
ROUND_WORK = 10_000
MAX_SEARCH_WORK = 500_000
MAX_COMPARE_WORK = 5_000_000
# Rounds in which nodes are matched by what they share with nodes that are matched already, and statements in them all.
MAX_VOTES = 100
MAX_VOTES_WORK = 20_000_000

_Ints = npt.NDArray[np.int32]
_Hashes = npt.NDArray[np.uint64]

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SLOT = np.array([0x9E3779B97F4A7C15, 0x3C6EF372FE94F82B, 0xDAA66D2C7DDF743F, 0x78DDE6E5FD29F057], np.uint64)
_KNOWN = np.uint64(0x5851F42D4C957F2D)


def _mixed(x: _Hashes) -> _Hashes:
    """SplitMix64: each bit of the number changes about half of the bits of the result."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    found: _Hashes = x ^ (x >> np.uint64(31))
    return found


def _distinct(numbers: Any, n: int) -> Any:
    """The different numbers among some below n, sorted."""
    if len(numbers) <= n >> 5:
        numbers = np.sort(numbers)
        return numbers[starts(numbers)]
    is_there = np.zeros(n, bool)
    is_there[numbers] = True
    return np.flatnonzero(is_there)


def _pairs(keys: Any, left: npt.NDArray[np.bool_]) -> tuple[Any, Any]:
    """The places of keys that are there once on the left and once on the right: of each key both places."""
    values, index = np.unique(keys, return_inverse=True)
    counts = [np.bincount(index[side], minlength=len(values)) for side in (left, ~left)]
    is_single = ((counts[0] == 1) & (counts[1] == 1))[index]
    x, y = (np.flatnonzero(is_single & side) for side in (left, ~left))
    return x[np.argsort(index[x])], y[np.argsort(index[y])]


def _begins(numbers: Any, n: int) -> Any:
    """Where the list of each number below n begins in sorted numbers, and the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n))])


class _Pattern:
    """Statements with blank nodes as numbers of terms, or ``-2 - index`` for nodes.

    ``nodes`` are the terms of a `StatementTable` that are blank nodes, or quoted triples with some: first those of the
    first dataset, ``n_left`` of them, then those of the second. So it is with the ``n_rows`` statements of the first.
    ``row``, ``slot`` and ``node`` (an index) say where the nodes stand, in the order of the statements; each has one.
    """

    def __init__(self, table: StatementTable) -> None:
        is_open = blank_terms(table.terms)
        is_triple = is_open & (table.terms.kind == Kind.TRIPLE)
        sides = [_with_parts(table, side, is_triple) for side in (0, 1)]
        self.n_rows = n = len(sides[0][0])
        self.rows, self.kind = (np.concatenate(part) for part in zip(*sides, strict=True))
        is_node = (self.rows >= 0) & is_open[np.where(self.rows >= 0, self.rows, 0)]
        self.row, self.slot = np.nonzero(is_node)
        terms = self.rows[is_node]
        left, right = (_distinct(terms[half], len(is_open)) for half in (self.row < n, self.row >= n))
        self.nodes = np.concatenate([left, right])
        self.n_left = len(left)
        self.is_triple = is_triple[self.nodes]
        place = np.empty(len(is_open), np.int32)
        place[self.nodes] = np.arange(len(self.nodes), dtype=np.int32)
        self.node = place[terms]
        self.of_row = _begins(self.row, len(self.rows))
        # A hash of each statement without its nodes, and of which of these are the same one.
        ground = np.where(is_node, -2, self.rows).astype(np.uint64)
        self.rows[is_node] = -2 - self.node
        self.shape = self.kind.astype(np.uint64) + (_mixed(ground + _SLOT) * _SLOT).sum(axis=1, dtype=np.uint64)
        self.shape = _mixed(self.shape)
        for i in range(4):
            for k in range(i):
                same = is_node[:, i] & (self.rows[:, i] == self.rows[:, k])
                self.shape += same * _SLOT[i : i + 1] * np.uint64(2 * k + 3)

    def refined(self) -> tuple[_Hashes, bool]:
        """Colours that no further round would divide, and True; or those of as many rounds as the bound allows.

        A round looks only at the statements of nodes that got another colour in the round before. Of a colour that is
        divided, one part keeps it.
        """
        n = len(self.nodes)
        colour = self.is_triple.astype(np.int64)
        n_colours = 2
        hashes = _mixed(colour.astype(np.uint64))
        size = np.zeros(n + 3, np.int64)  # how many nodes have a colour, and the sum that they all have
        size[:2] = np.bincount(colour, minlength=2)
        sum_of = np.zeros(n + 3, np.uint64)
        # The statements of each node, one after the other.
        rows_of, of_node = self.row[np.argsort(self.node, kind="stable")], _begins(self.node, n)
        rows = np.arange(len(self.rows))
        seen = np.zeros(len(rows), np.uint64)
        sums = np.zeros(n, np.uint64)
        work = 0
        while len(rows):
            work += len(rows) + ROUND_WORK
            if work > MAX_ROUNDS_WORK:
                return hashes, False
            at, owner, first = runs(self.of_row, rows)
            node, slot = self.node[at], _SLOT[self.slot[at]]
            # A hash of each statement with the colours of its nodes.
            now = _mixed(self.shape[rows] + np.add.reduceat(_mixed(hashes[node] + slot), first))
            np.add.at(sums, node, _mixed(now[owner] ^ slot) - _mixed(seen[rows][owner] ^ slot))
            seen[rows] = now
            looked_at = _distinct(node, n)
            # Groups of nodes with one colour and one sum: a node of each, and the group of each node.
            keys = hashes[looked_at] + sums[looked_at]
            order = np.argsort(keys, kind="stable")
            looked_at, is_first = looked_at[order], starts(keys[order])
            group, at = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
            old, total = colour[looked_at[at]], sums[looked_at[at]]
            count = np.diff(np.append(at, len(order)))
            of_colour = np.bincount(old, count, minlength=n_colours).astype(np.int64)
            is_whole = size[old] == of_colour[old]  # no other node has the colour
            by_size = np.lexsort((-count, old))
            is_largest = np.zeros(len(at), bool)
            is_largest[by_size[starts(old[by_size])]] = True
            keeps = np.where(is_whole, is_largest, total == sum_of[old])
            sum_of[old[keeps]] = total[keeps]
            fresh = np.flatnonzero(~keeps)
            colours = np.arange(n_colours, n_colours + len(fresh))
            np.subtract.at(size, old[fresh], count[fresh])
            size[colours], sum_of[colours], old[fresh] = count[fresh], total[fresh], colours
            n_colours += len(fresh)
            is_changed = ~keeps[group]
            changed = looked_at[is_changed]
            colour[changed] = old[group[is_changed]]
            hashes[changed] = _mixed(colour[changed].astype(np.uint64))
            rows = _distinct(rows_of[runs(of_node, changed)[0]], len(self.rows))
        return hashes, True


def _with_parts(
    table: StatementTable, side: int, is_triple: npt.NDArray[np.bool_]
) -> tuple[_Ints, npt.NDArray[np.int8]]:
    """The statements of a side, then one for each quoted triple with blank nodes and its parts, marked with 1."""
    rows = table.open_statements(side)
    found = [rows]
    seen = np.zeros(len(is_triple), bool)
    terms = _distinct(rows[rows >= 0], len(seen))
    while len(terms := terms[is_triple[terms] & ~seen[terms]]):
        seen[terms] = True
        parts = table.terms.quoted[table.terms.aux[terms]]
        found.append(np.column_stack([terms, parts]).astype(np.int32))
        terms = _distinct(parts.ravel(), len(seen))
    kind = np.zeros(sum(map(len, found)), np.int8)
    kind[len(rows) :] = 1
    return np.concatenate(found), kind


def components(n: int, x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each of n nodes the least node that it hangs together with, where each x hangs together with its y."""
    least = np.arange(n)
    while True:
        before = least.copy()
        low = np.minimum(least[x], least[y])
        np.minimum.at(least, least[x], low)
        np.minimum.at(least, least[y], low)
        while not np.array_equal(shorter := least[least], least):
            least = shorter
        if np.array_equal(before, least):
            return least


class _Matching:
    """A matching of the blank nodes of the statements that `StatementTable.open_statements` gives.

    Matches all nodes of components that are equal in both datasets, and nodes whose position is unique in both.
    ``max_work`` bounds the search among similar nodes: the number of statements examined. ``complete``: with this
    matching both datasets have the same statements with blank nodes. ``too_much_alike``: the search for some nodes was
    given up.
    """

    def __init__(self, table: StatementTable, max_work: int) -> None:
        self.pattern = pattern = _Pattern(table)
        n = len(pattern.nodes)
        self._left = np.arange(n) < pattern.n_left
        self.other = np.full(n, -1, np.int64)
        self._colours, whole = pattern.refined()
        self._match(*_pairs(self._colours, self._left))
        # The components without the known nodes.
        is_open = self._is_open()
        row, node = pattern.row[is_open], pattern.node[is_open]
        is_first = starts(row)
        lead = node[is_first]
        self._least = components(n, lead[np.cumsum(is_first) - 1], node)
        order = np.argsort(self._least[lead], kind="stable")
        self._rows, self._part = row[is_first][order], self._least[lead][order]
        given_up = self._match_components([max_work])
        self.complete = self._is_complete()
        self.too_much_alike = not self.complete and (given_up or not whole)

    def _match(self, x: Any, y: Any) -> None:
        self.other[x], self.other[y] = y, x

    def _is_open(self) -> npt.NDArray[np.bool_]:
        """Of each place of a node in the statements whether the node matches none so far."""
        found: npt.NDArray[np.bool_] = self.other[self.pattern.node] < 0
        return found

    def _match_components(self, work: list[int]) -> bool:
        """Match components of one signature, which is made of their colours. Return whether some were given up."""
        nodes = np.flatnonzero(self.other < 0)
        colours, least = self._colours, self._least
        signature = np.zeros(len(colours), np.uint64)
        np.add.at(signature, least[nodes], _mixed(colours[nodes]))
        # By signature, component, colour: if all colours in a component differ, both sides have the same order.
        nodes = nodes[np.lexsort((colours[nodes], least[nodes], signature[least[nodes]]))]
        looks = signature[least[nodes]]
        twice = (least[nodes][1:] == least[nodes][:-1]) & (colours[nodes][1:] == colours[nodes][:-1])
        hard = set(looks[1:][twice].tolist())
        given_up = False
        for at, end in pairwise([*np.flatnonzero(starts(looks)).tolist(), len(nodes)]):
            is_left = self._left[nodes[at:end]]
            x, y = nodes[at:end][is_left], nodes[at:end][~is_left]
            n = min(len(x), len(y))  # the components all have the same size
            if not n:
                continue
            if int(looks[at]) not in hard:
                self._match(x[:n], y[:n])
                continue
            try:
                self._search(x, y, work)
            except TooMuchAlike:
                given_up = True
        return given_up

    def _search(self, x: npt.NDArray[np.int64], y: npt.NDArray[np.int64], work: list[int]) -> None:
        """Match components in which several nodes have one colour."""
        left, right = (np.unique(self._least[nodes]).tolist() for nodes in (x, y))
        nodes = np.append(x, y)
        colours = dict(zip(nodes.tolist(), self._colours[nodes].tolist(), strict=True))
        others = [self._patterns(part, work[0]) for part in right]
        for part in left:
            ours = self._patterns(part, work[0])
            for i, theirs in enumerate(others):
                names = map_component(ours, theirs, colours, work)
                if names is not None:
                    self._match([*names], [*names.values()])
                    del others[i]
                    break

    def _patterns(self, part: int, work: int) -> list[Pattern]:
        """The statements of a part without its nodes, and these. TooMuchAlike where they are more than the work that is
        left."""
        pattern = self.pattern
        low, high = np.searchsorted(self._part, [part, part + 1])
        if high - low > work:
            raise TooMuchAlike
        found: list[Pattern] = []
        for row in self._rows[low:high].tolist():
            shape: list[Any] = [int(pattern.shape[row])]
            nodes = []
            places = slice(*pattern.of_row[row : row + 2].tolist())
            for slot, node in zip(pattern.slot[places].tolist(), pattern.node[places].tolist(), strict=True):
                if (other := int(self.other[node])) < 0:
                    nodes.append(node)
                else:  # both sides use the name of the first side
                    shape.append((slot, min(node, other)))
            found.append((tuple(shape), tuple(nodes)))
        return found

    def _is_complete(self) -> bool:
        """Whether both sides have the same statements if nodes of the first are named as in the second."""
        pattern, other = self.pattern, self.other
        n = pattern.n_rows
        if (other < 0).any() or 2 * pattern.n_left != len(other) or 2 * n != len(pattern.rows):
            return False
        named = np.column_stack([pattern.rows, pattern.kind])
        left = pattern.row < n
        named[pattern.row[left], pattern.slot[left]] = -2 - other[pattern.node[left]]
        ours, theirs = named[:n], named[n:]
        return bool(np.array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)]))

    def match_by_votes(self) -> None:
        """Match nodes that share statements without other open nodes or a third node, most shared statements first."""
        pattern, other = self.pattern, self.other
        name = np.arange(len(other))
        for _ in range(min(MAX_VOTES, 1 + MAX_VOTES_WORK // (1 + len(pattern.rows)))):
            name[pattern.n_left :] = other[pattern.n_left :]
            is_open = self._is_open()
            # What the statements say of the nodes that are matched already.
            said = _mixed(name[pattern.node].astype(np.uint64) * _KNOWN + _SLOT[pattern.slot]) * ~is_open
            shown = np.add.reduceat(said, pattern.of_row[:-1])
            is_single = (np.bincount(pattern.row[is_open], minlength=len(shown)) == 1) & (pattern.kind == 0)
            places = np.flatnonzero(is_open & is_single[pattern.row] & ~pattern.is_triple[pattern.node])
            rows, found = pattern.row[places], pattern.node[places]
            keys = _mixed(pattern.shape[rows] + shown[rows] + _SLOT[pattern.slot[places]])
            x, y = _pairs(keys, rows < pattern.n_rows)
            pairs, votes = np.unique(np.column_stack([found[x], found[y]]), axis=0, return_counts=True)
            if not len(pairs):
                return
            for a, b in pairs[np.argsort(-votes, kind="stable")].tolist():
                if other[a] < 0 and other[b] < 0:
                    self._match(a, b)


def _text(terms: Batch, term: int, depth: int = 0) -> str:
    """A term in N-Triples syntax, with blank nodes as ``_:``; empty for the default graph."""
    if term < 0:
        return ""
    kind = terms.kind[term]
    if kind == Kind.BNODE:
        return "_:"
    if kind != Kind.TRIPLE:
        return terms.term(term)
    if depth >= _SHOWN_DEPTH:
        return "<<( ... )>>"
    parts = terms.quoted[terms.aux[term]].tolist()
    return "<<( {} {} {} )>>".format(*(_text(terms, part, depth + 1) for part in parts))


def differences(table: StatementTable, max_work: int = MAX_COMPARE_WORK) -> Iterator[tuple[str, str | None]]:
    """The differences of the two datasets of a table, as multisets and up to the names of blank nodes.

    Pairs of "left" or "right" and a statement, as text, that only that side has; None for it if only the blank nodes
    differ. JellyError if the blank nodes are too similar to match within ``max_work``.

    >>> import jelly
    >>> table = StatementTable()
    >>> for side, text in enumerate([b"_:a <a:p> <a:o> .\\n<a:s> <a:p> <a:o> .", b"_:b <a:p> <a:o> ."]):
    ...     table.add(next(jelly.scan(text, format="nt").batches()), side)
    >>> list(differences(table))
    [('left', '<a:s> <a:p> <a:o>')]
    """
    only = table.take_differences()
    text_of = cache(partial(_text, table.terms))

    def text(row: list[int]) -> str:
        return " ".join(map(text_of, row)).strip()

    for name, rows in zip(("left", "right"), only, strict=True):
        for row in rows:
            yield name, text(row.tolist())
    matching = _Matching(table, max_work)
    if matching.complete:
        return
    if matching.too_much_alike:
        raise JellyError(TOO_MUCH_ALIKE)
    shapes = [Counter(map(text, table.open_statements(side).tolist())) for side in (0, 1)]
    found: list[tuple[str, str | None]] = [
        (name, shape)
        for i, name in enumerate(("left", "right"))
        for shape in (shapes[i] - shapes[1 - i]).elements()
    ]
    yield from found or [("left", None)]


def match_labels(
    old: Iterable[Batch],
    new: Iterable[Batch],
    *,
    is_taken: Callable[[str], bool] = lambda label: False,
    max_work: int = MAX_SEARCH_WORK,
) -> dict[str, str]:
    """New labels, by the old ones, for blank nodes of the second dataset: as in the first where both are alike.

    With these labels (see `Relabeling`) a dataset that is the same but for its labels has the same statements, so a
    difference of the two is empty. Where the datasets differ, blank nodes are matched that hang together with the same
    things, and then those that share statements which no other blank node has. Nodes that are not matched keep their
    labels, unless a label is wanted for another node: then they get a new one. The dataset stays the same: labels are
    only names.

    Parameters
    ----------
    old, new : iterable of Batch
        The two datasets. No statement may be there twice.
    is_taken : callable, optional
        Whether a new label is not to be used, besides those of ``old`` and ``new``.
    max_work : int, default 500,000
        How many statements the search among blank nodes that are alike may look at, a few microseconds each. Where
        that is not enough, they keep their labels, with a `JellyWarning`.

    Examples
    --------
    >>> import jelly
    >>> old = jelly.scan(b"<a:s> <a:p> _:x .\\n_:x <a:q> _:y .", format="nt").batches()
    >>> new = jelly.scan(b"_:b1 <a:q> _:b2 .\\n<a:s> <a:p> _:b1 .", format="nt").batches()
    >>> match_labels(old, new)
    {'b1': 'x', 'b2': 'y'}
    """
    table = StatementTable()
    for side, batches in enumerate((old, new)):
        for batch in batches:
            table.add(batch, side)
    table.take_differences()
    matching = _Matching(table, max_work)
    if matching.too_much_alike:
        warnings.warn(
            "some blank nodes are too much alike to be matched by structure within bounds. They keep their labels",
            JellyWarning,
            stacklevel=2,
        )
    if not matching.complete:
        matching.match_by_votes()
    return _names(table, matching, is_taken)


def _names(table: StatementTable, matching: _Matching, is_taken: Callable[[str], bool]) -> dict[str, str]:
    """The new labels of the nodes of the second dataset, by those they have."""
    pattern = matching.pattern
    terms = np.where(pattern.is_triple, -1, pattern.nodes)
    labels = [table.terms.term_text(term) if term >= 0 else "" for term in terms.tolist()]
    taken = set(labels)
    others = zip(labels[pattern.n_left :], matching.other[pattern.n_left :].tolist(), strict=True)
    theirs = {label: same for label, same in others if label}
    found = {label: labels[same] for label, same in theirs.items() if same >= 0}
    used = set(found.values())
    for label in [label for label, same in theirs.items() if same < 0]:
        name, n = label, 0
        while name in used or (n and (name in taken or is_taken(name))):
            n += 1
            name = f"{label}.{n}" if label[-1:].isalnum() else f"{label}{n}"
        used.add(name)
        found[label] = name
    return {label: name for label, name in found.items() if label != name}
