"""Matches the blank nodes of two datasets by structure, not by label.

Each blank node gets a colour: a hash of its statements and of the colours of the other blank nodes in them.
Rounds repeat until the colours divide no further (colour refinement). Nodes with a unique colour on both sides match.
They then count as known; the components without them are compared one by one. If a component still has nodes of
one colour, a bounded search tries them. Quoted triples with blank nodes count as nodes with one more statement.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jelly._core.base.batch import Batch
from jelly._core.ntriples.statement_table import StatementTable
from jelly._tools.compare import TOO_MUCH_ALIKE, TooMuchAlike, map_component
from jelly.errors import JellyError, JellyWarning

__all__ = ["Matching", "components", "differences", "match_labels", "match_statements"]

_OPEN_TRIPLE = 4  # in StatementTable.sorts
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
    if len(numbers) > n >> 5:
        marks = np.zeros(n, bool)
        marks[numbers] = True
        return np.flatnonzero(marks)
    numbers = np.sort(numbers)
    return numbers[np.concatenate([np.ones(min(1, len(numbers)), bool), numbers[1:] != numbers[:-1]])]


@dataclass
class Matching:
    """A matching of the nodes of two datasets.

    ``nodes`` are the terms of a `StatementTable` that are blank nodes, or quoted triples with some: first those of the
    first dataset, ``n_left`` of them, then those of the second. ``other[i]`` is the index of the node that node ``i``
    matches, or -1. ``complete``: with this matching both datasets have the same statements with blank nodes.
    ``too_much_alike``: the search for some nodes was given up.
    """

    nodes: _Ints
    n_left: int
    other: npt.NDArray[np.int64]
    complete: bool
    too_much_alike: bool


class _Pattern:
    """Statements with blank nodes as numbers: indexes of nodes if ``is_node``, else numbers of terms."""

    def __init__(self, table: StatementTable) -> None:
        sorts = table.sorts
        is_node_term = (sorts != 0) & (sorts != 3)
        sides = [_with_parts(table, side, sorts) for side in (0, 1)]
        self.n_rows = len(sides[0][0])
        rows = np.concatenate([side[0] for side in sides])
        kind = np.concatenate([side[1] for side in sides])
        known = rows >= 0
        self.is_node = known & is_node_term[np.where(known, rows, 0)]
        place = np.full(len(sorts), -1, np.int32)
        halves = [slice(self.n_rows), slice(self.n_rows, None)]
        left, right = (_distinct(rows[half][self.is_node[half]], len(sorts)) for half in halves)
        self.nodes = np.concatenate([left, right])
        self.n_left = len(left)
        place[self.nodes] = np.arange(len(self.nodes), dtype=np.int32)
        self.is_triple = sorts[self.nodes] == _OPEN_TRIPLE
        self.rows = np.where(self.is_node, place[np.where(known, rows, 0)], rows)
        self.kind = kind
        # What a statement says besides its nodes, and which of these are the same one.
        said = kind.astype(np.uint64)
        for i in range(4):
            ground = np.where(self.is_node[:, i], -2, self.rows[:, i]).astype(np.uint64)
            said += _mixed(ground + _SLOT[i]) * _SLOT[i]
        self.shape = _mixed(said)
        for i in range(4):
            for k in range(i):
                same = self.is_node[:, i] & self.is_node[:, k] & (self.rows[:, i] == self.rows[:, k])
                self.shape += same * _SLOT[i : i + 1] * np.uint64(2 * k + 3)

    def _seen(self, rows: Any, colours: _Hashes) -> _Hashes:
        """What some statements say, with the colours of their nodes."""
        seen: _Hashes = self.shape[rows]
        for slot in range(4):
            some = self.is_node[rows, slot]
            seen[some] += _mixed(colours[self.rows[rows[some], slot]] + _SLOT[slot])
        return _mixed(seen)

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
        entries, slots = np.nonzero(self.is_node)
        of_node = self.rows[entries, slots]
        entries = entries[np.argsort(of_node, kind="stable")]
        begin = np.concatenate([[0], np.cumsum(np.bincount(of_node, minlength=n))])
        del of_node, slots
        rows = np.arange(len(self.rows))
        seen = np.zeros(len(rows), np.uint64)
        sums = np.zeros(n, np.uint64)
        work = 0
        first = True
        while len(rows):
            work += len(rows) + ROUND_WORK
            if work > MAX_ROUNDS_WORK:
                return hashes, False
            now = self._seen(rows, hashes)
            for slot in range(4):
                some = self.is_node[rows, slot]
                change = _mixed(now[some] ^ _SLOT[slot])
                if not first:
                    change -= _mixed(seen[rows[some]] ^ _SLOT[slot])
                np.add.at(sums, self.rows[rows[some], slot], change)
            seen[rows] = now
            looked_at = _distinct(self.rows[rows][self.is_node[rows]], n)
            # Groups of nodes with one colour and one sum: for each the place of its first node in the order.
            order = looked_at[np.lexsort((sums[looked_at], colour[looked_at]))]
            old, total = colour[order], sums[order]
            starts = np.concatenate([[True], (old[1:] != old[:-1]) | (total[1:] != total[:-1])])
            group = np.cumsum(starts) - 1
            at = np.flatnonzero(starts)
            old, total = old[at], total[at]
            count = np.diff(np.concatenate([at, [len(order)]]))
            of_colour = np.bincount(old, count, minlength=n_colours).astype(np.int64)
            whole = size[old] == of_colour[old]  # no other node has the colour
            largest = np.zeros(len(at), bool)
            by_size = np.lexsort((-count, old))
            largest[by_size[np.concatenate([[True], old[by_size][1:] != old[by_size][:-1]])]] = True
            keeps = np.where(whole, largest, total == sum_of[old])
            sum_of[old[keeps]] = total[keeps]
            fresh = np.flatnonzero(~keeps)
            np.subtract.at(size, old[fresh], count[fresh])
            size[n_colours : n_colours + len(fresh)] = count[fresh]
            sum_of[n_colours : n_colours + len(fresh)] = total[fresh]
            into = old.copy()
            into[fresh] = np.arange(n_colours, n_colours + len(fresh))
            n_colours += len(fresh)
            changed = order[~keeps[group]]
            colour[changed] = into[group[~keeps[group]]]
            hashes[changed] = _mixed(colour[changed].astype(np.uint64))
            lengths = begin[changed + 1] - begin[changed]
            ends = np.cumsum(lengths)
            places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin[changed] - ends + lengths, lengths)
            rows = _distinct(entries[places], len(self.rows))
            first = False
        return hashes, True


def _with_parts(table: StatementTable, side: int, sorts: npt.NDArray[np.int8]) -> tuple[_Ints, npt.NDArray[np.int8]]:
    """The statements of a side, then one for each quoted triple with blank nodes and its parts, marked with 1."""
    rows = table.open_statements(side)
    found = [rows]
    seen = np.zeros(len(sorts) + 1, bool)
    terms = _distinct(rows[rows >= 0], len(sorts))
    while len(terms := terms[(terms >= 0) & (sorts[terms] == _OPEN_TRIPLE) & ~seen[terms]]):
        seen[terms] = True
        parts = table.parts(terms)
        found.append(np.column_stack([terms, parts]).astype(np.int32))
        terms = _distinct(parts[parts >= 0], len(sorts))
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


def _pairs(slots: npt.NDArray[np.bool_], rows: npt.NDArray[np.int64]) -> tuple[Any, Any]:
    """Pairs of nodes of the same statement: the first node with each other node."""
    first = np.argmax(slots, axis=1)
    lead = rows[np.arange(len(rows)), first]
    x = [lead[slots[:, slot]] for slot in range(4)]
    y = [rows[slots[:, slot], slot] for slot in range(4)]
    return np.concatenate(x), np.concatenate(y)


def match_statements(table: StatementTable, max_work: int = MAX_SEARCH_WORK) -> Matching:
    """Match the blank nodes of the statements that `StatementTable.open_statements` gives.

    Matches all nodes of components that are equal in both datasets, and nodes whose position is
    unique in both. ``max_work`` bounds the search among similar nodes: the number of statements examined.
    """
    return _matched(table, max_work)[0]


def _matched(table: StatementTable, max_work: int) -> tuple[Matching, _Pattern]:
    pattern = _Pattern(table)
    n = len(pattern.nodes)
    left = np.arange(n) < pattern.n_left
    other = np.full(n, -1, np.int64)
    colours, whole = pattern.refined()
    _match_single(colours, left, other)
    # The components without the known nodes, and a signature of each.
    open_nodes = other < 0
    open_slots = pattern.is_node & open_nodes[np.where(pattern.is_node, pattern.rows, 0)]
    some = open_slots.any(axis=1)
    least = components(n, *_pairs(open_slots[some], pattern.rows[some]))
    alike = _matchcomponents(pattern, colours, left, other, least, open_nodes, max_work)
    complete = _is_complete(pattern, other)
    return Matching(pattern.nodes, pattern.n_left, other, complete, not complete and (alike or not whole)), pattern


def _match_single(colours: _Hashes, left: npt.NDArray[np.bool_], other: npt.NDArray[np.int64]) -> None:
    """Match the nodes whose colour is unique on their side."""
    values, index = np.unique(colours, return_inverse=True)
    counts = [np.bincount(index[side], minlength=len(values)) for side in (left, ~left)]
    alone = ((counts[0] == 1) & (counts[1] == 1))[index]
    x = np.flatnonzero(alone & left)
    y = np.flatnonzero(alone & ~left)
    x = x[np.argsort(colours[x])]
    y = y[np.argsort(colours[y])]
    other[x] = y
    other[y] = x


def _matchcomponents(
    pattern: _Pattern,
    colours: _Hashes,
    left: npt.NDArray[np.bool_],
    other: npt.NDArray[np.int64],
    least: npt.NDArray[np.int64],
    open_nodes: npt.NDArray[np.bool_],
    max_work: int,
) -> bool:
    """Match components with equal signatures. Return whether the search was given up for some."""
    nodes = np.flatnonzero(open_nodes)
    if not len(nodes):
        return False
    signature = np.zeros(len(colours), np.uint64)
    np.add.at(signature, least[nodes], _mixed(colours[nodes]))
    looks = signature[least[nodes]]
    # By signature, component, colour: if all colours in a component are unique, both sides have the same order.
    order = [nodes[side][np.lexsort((colours[nodes[side]], least[nodes[side]], looks[side]))]
             for side in (left[nodes], ~left[nodes])]
    looks_of = [signature[least[each]] for each in order]
    known, counts = np.unique(looks_of[0], return_counts=True)
    theirs, their_counts = np.unique(looks_of[1], return_counts=True)
    common = dict(zip(theirs.tolist(), their_counts.tolist(), strict=True))
    # A colour that a component has twice
    twice = [np.zeros(len(each), bool) for each in order]
    for each, found in zip(order, twice, strict=True):
        found[1:] = (least[each][1:] == least[each][:-1]) & (colours[each][1:] == colours[each][:-1])
    hard = set(looks_of[0][twice[0]].tolist()) | set(looks_of[1][twice[1]].tolist())
    begin = [0, 0]
    ends = np.cumsum(counts)
    starts = [ends - counts, np.cumsum(their_counts) - their_counts]
    at = dict(zip(theirs.tolist(), starts[1].tolist(), strict=True))
    work = [max_work]
    alike = False
    search: _Search | None = None
    for look, n, begin[0] in zip(known.tolist(), counts.tolist(), starts[0].tolist(), strict=True):
        if look not in common:
            continue
        begin[1] = at[look]
        x = order[0][begin[0] : begin[0] + n]
        y = order[1][begin[1] : begin[1] + common[look]]
        if look not in hard:
            m = min(len(x), len(y))  # the components all have the same size
            other[x[:m]] = y[:m]
            other[y[:m]] = x[:m]
            continue
        if search is None:
            search = _Search(pattern, colours, other, least, open_nodes)
        try:
            search.match(x, y, work)
        except TooMuchAlike:
            alike = True
    return alike


class _Search:
    """Tries to match components in which several nodes have the same colour."""

    def __init__(
        self,
        pattern: _Pattern,
        colours: _Hashes,
        other: npt.NDArray[np.int64],
        least: npt.NDArray[np.int64],
        open_nodes: npt.NDArray[np.bool_],
    ) -> None:
        self._pattern, self._colours, self._other, self._least, self._open = pattern, colours, other, least, open_nodes
        slots = pattern.is_node & open_nodes[np.where(pattern.is_node, pattern.rows, 0)]
        self._rows = np.flatnonzero(slots.any(axis=1))
        self._slots = slots
        lead = pattern.rows[self._rows, np.argmax(slots[self._rows], axis=1)]
        part = least[lead]
        order = np.argsort(part, kind="stable")
        self._rows, self._part = self._rows[order], part[order]

    def _patterns(self, part: int, work: int) -> list[tuple[Any, tuple[int, ...]]]:
        """The statements of a part: what they say besides its nodes, and these. TooMuchAlike where they are more than
        the work that is left."""
        pattern, other = self._pattern, self._other
        found: list[tuple[Any, tuple[int, ...]]] = []
        low, high = np.searchsorted(self._part, [part, part + 1])
        if high - low > work:
            raise TooMuchAlike
        for row in self._rows[low:high].tolist():
            shape: list[Any] = [int(pattern.kind[row])]
            labels = []
            for slot in range(4):
                node = int(pattern.rows[row, slot])
                if self._slots[row, slot]:
                    labels.append(node)
                    shape.append(None)
                elif pattern.is_node[row, slot]:
                    # Known node: both sides use the name of the first side.
                    shape.append(("known", node if node < pattern.n_left else int(other[node])))
                else:
                    shape.append(node)
            found.append((tuple(shape), tuple(labels)))
        return found

    def match(self, x: npt.NDArray[np.int64], y: npt.NDArray[np.int64], work: list[int]) -> None:
        left, right = np.unique(self._least[x]), np.unique(self._least[y])
        others = [(int(part), self._patterns(int(part), work[0])) for part in right]
        for part in left.tolist():
            ours = self._patterns(part, work[0])
            fixed = {node: int(self._colours[node]) for _, labels in ours for node in labels}
            for i, (_, theirs) in enumerate(others):
                there = {node: int(self._colours[node]) for _, labels in theirs for node in labels}
                names = map_component(ours, fixed, theirs, there, work)
                if names is not None:
                    for node, same in names.items():
                        self._other[node], self._other[same] = same, node
                    del others[i]
                    break


def _is_complete(pattern: _Pattern, other: npt.NDArray[np.int64]) -> bool:
    """Whether both sides have the same statements if nodes of the first are named as in the second."""
    n = pattern.n_rows
    if (other < 0).any() or 2 * pattern.n_left != len(other) or 2 * n != len(pattern.rows):
        return False
    named = np.where(pattern.is_node[:n], other[np.where(pattern.is_node[:n], pattern.rows[:n], 0)], pattern.rows[:n])
    ours = np.column_stack([named, pattern.kind[:n], pattern.is_node[:n]])
    theirs = np.column_stack([pattern.rows[n:], pattern.kind[n:], pattern.is_node[n:]])
    return bool(np.array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)]))


def differences(table: StatementTable, max_work: int = MAX_COMPARE_WORK) -> Iterator[tuple[str, str | None]]:
    """The differences of the two datasets of a table, as multisets and up to the names of blank nodes.

    Pairs of "left" or "right" and a statement, as text, that only that side has; None for it if only the blank nodes
    differ. JellyError if the blank nodes are too similar to match within ``max_work``.

    >>> import jelly
    >>> table = StatementTable()
    >>> for side, text in enumerate([b"_:a <a:p> <a:o> .\\n<a:s> <a:p> <a:o> .", b"_:b <a:p> <a:o> ."]):
    ...     table.add(next(jelly.read_batches(text, format="nt")), side)
    >>> list(differences(table))
    [('left', '<a:s> <a:p> <a:o>')]
    """
    texts: dict[int, str] = {}

    def text(row: list[int]) -> str:
        for term in row:
            if term not in texts:
                texts[term] = table.text(term)
        return " ".join(texts[term] for term in row).strip()

    for name, rows in zip(("left", "right"), table.take_differences(), strict=True):
        for row in rows:
            yield name, text(row.tolist())
    matching = match_statements(table, max_work)
    if matching.complete:
        return
    if matching.too_much_alike:
        raise JellyError(TOO_MUCH_ALIKE)
    shapes = [Counter(map(text, table.open_statements(side).tolist())) for side in (0, 1)]
    told = False
    for i, name in enumerate(("left", "right")):
        for shape in (shapes[i] - shapes[1 - i]).elements():
            told = True
            yield name, shape
    if not told:
        yield "left", None


def _match_by_votes(pattern: _Pattern, other: npt.NDArray[np.int64]) -> None:
    """Match nodes that share statements without other open nodes or a third node, most shared statements first."""
    name = np.arange(len(other))
    in_left = np.arange(len(pattern.rows)) < pattern.n_rows
    for _ in range(min(MAX_VOTES, 1 + MAX_VOTES_WORK // (1 + len(pattern.rows)))):
        name[pattern.n_left :] = np.where(other[pattern.n_left :] >= 0, other[pattern.n_left :], -1)
        node = np.where(pattern.is_node, pattern.rows, 0)
        is_open = pattern.is_node & (other[node] < 0)
        rows = np.flatnonzero((is_open.sum(axis=1) == 1) & (pattern.kind == 0))
        slot = np.argmax(is_open[rows], axis=1)
        found = pattern.rows[rows, slot]
        keep = ~pattern.is_triple[found]
        rows, slot, found = rows[keep], slot[keep], found[keep]
        known = pattern.is_node[rows] & ~is_open[rows]
        said = np.where(known, name[node[rows]], -1).astype(np.uint64) * _KNOWN
        keys = _mixed(pattern.shape[rows] + (_mixed(said + _SLOT) * _SLOT).sum(axis=1, dtype=np.uint64) + _SLOT[slot])
        values, index = np.unique(keys, return_inverse=True)
        counts = [np.bincount(index[side], minlength=len(values)) for side in (in_left[rows], ~in_left[rows])]
        single = ((counts[0] == 1) & (counts[1] == 1))[index]
        sides = [np.flatnonzero(single & side) for side in (in_left[rows], ~in_left[rows])]
        x, y = (found[side[np.argsort(index[side])]] for side in sides)
        pairs, votes = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
        if not len(pairs):
            return
        for a, b in pairs[np.argsort(-votes, kind="stable")].tolist():
            if other[a] < 0 and other[b] < 0:
                other[a], other[b] = b, a


def match_labels(
    old: Iterable[Batch],
    new: Iterable[Batch],
    *,
    is_taken: Callable[[str], bool] = lambda label: False,
    max_work: int = MAX_SEARCH_WORK,
) -> dict[str, str]:
    """Labels for the blank nodes of the second dataset, as in the first where nodes stand in the same way in both.

    With these labels (see `relabel`) a dataset that is the same but for its labels has the same statements, so a
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

    Returns
    -------
    dict of str to str
        New labels by those in ``new``, without those that stay.

    Examples
    --------
    >>> import jelly
    >>> old = jelly.read_batches(b"<a:s> <a:p> _:x .\\n_:x <a:q> _:y .", format="nt")
    >>> new = jelly.read_batches(b"_:b1 <a:q> _:b2 .\\n<a:s> <a:p> _:b1 .", format="nt")
    >>> match_labels(old, new)
    {'b1': 'x', 'b2': 'y'}
    """
    table = StatementTable()
    for side, batches in enumerate((old, new)):
        for batch in batches:
            table.add(batch, side)
    table.take_differences()
    matching, pattern = _matched(table, max_work)
    if matching.too_much_alike:
        warnings.warn(
            "some blank nodes are too much alike to be matched by structure within bounds. They keep their labels",
            JellyWarning,
            stacklevel=2,
        )
    if not matching.complete:
        _match_by_votes(pattern, matching.other)
    return _names(table, matching, pattern, is_taken)


def _names(
    table: StatementTable, matching: Matching, pattern: _Pattern, is_taken: Callable[[str], bool]
) -> dict[str, str]:
    """The new labels of the nodes of the second dataset, by those they have."""
    labels = [table.label(term) if not triple else "" for term, triple in
              zip(matching.nodes.tolist(), pattern.is_triple.tolist(), strict=True)]
    taken = set(labels)
    found: dict[str, str] = {}
    used: set[str] = set()
    rest: list[str] = []
    for i in range(matching.n_left, len(labels)):
        same = int(matching.other[i])
        if pattern.is_triple[i]:
            continue
        if same < 0:
            rest.append(labels[i])
            continue
        used.add(labels[same])
        found[labels[i]] = labels[same]
    for label in rest:
        name, n = label, 0
        while name in used or (n and (name in taken or is_taken(name))):
            n += 1
            name = f"{label}.{n}" if label[-1:].isalnum() else f"{label}{n}"
        used.add(name)
        found[label] = name
    return {label: name for label, name in found.items() if label != name}
