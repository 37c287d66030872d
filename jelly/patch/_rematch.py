"""Statements with blank nodes that differ by label, compared again with the nodes matched by structure.

This runs only where a statement that differs on either side would be the same with other blank nodes, and matches only
those parts of the datasets that hang together with a difference: all others have the same labels on both sides.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from jelly._core.algebra.content import blank_terms, row_hash, term_hash
from jelly._core.algebra.relabeling import Relabeling
from jelly._core.algebra.row_index import RowIndex
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import kinds_of
from jelly._core.terms.model import BlankNode
from jelly._dataset.conditions.terms import batch_of
from jelly._tools.blank_nodes import components, match_labels
from jelly.errors import JellyWarning
from jelly.patch._changes import SEED_BYTES, RowHasher

# Bytes that matching takes for each statement of either side, and for each blank node, at most.
ROW_BYTES, NODE_BYTES = 160, 300

# The Batches of a dataset, with each of them a bool for each row: whether the other dataset has not got it.
Side = Callable[[], Iterable[tuple[Batch, Any]]]


class _TooMany(Exception):
    """Matching takes more than the memory that there is."""


def _columns(batch: Batch, of_terms: Any, none: Any) -> Any:
    """Values of terms, at the positions of all rows: shape (rows, 4)."""
    found = np.full((len(batch), 4), none, of_terms.dtype)
    for slot, ids in enumerate((batch.s, batch.p, batch.o, batch.g)):
        if ids is not None:
            found[:, slot] = np.where(ids >= 0, of_terms[ids], none)
    return found


def _blank_hashes(side: Side, seed: bytes) -> Iterator[Any]:
    """Hashes of the rows that differ and have blank nodes, which are equal if only the nodes are others."""
    for batch, differs in side():
        if differs.any() and (blank := blank_terms(batch)).any():
            rows = differs & _columns(batch, blank, False).any(axis=1)
            yield row_hash(batch, seed, alike=True)[rows]


def _labels_matter(old: Side, new: Side, bound: int) -> bool:
    """Whether a statement that differs would be one of the other side with other blank nodes."""
    seed = os.urandom(SEED_BYTES)
    index = RowIndex()
    for hashes in _blank_hashes(old, seed):
        index.add(hashes)
        if index.nbytes > bound:
            raise _TooMany
    return len(index) > 0 and any((index.find(hashes) >= 0).any() for hashes in _blank_hashes(new, seed))


# Rows of a dataset: a Batch of them alone, the marks of the Batch that they stand in, and their places there.
_Rows = tuple[Batch, Any, Any]


class _Nodes:
    """The blank nodes of both datasets by their labels, and quoted triples with some, and what hangs together."""

    def __init__(self, sides: tuple[Side, Side], bound: int) -> None:
        self._sides, self._bound = sides, bound
        self._seed = os.urandom(SEED_BYTES)
        self._index = RowIndex()
        self._parts: Any = None  # by node, the least of those that it hangs together with
        edges: Any = [np.empty((0, 2), np.int64)]
        size = 0
        for side in sides:
            for batch, _ in side():
                for some in self._edges(batch):
                    edges.append(some)
                    size += some.nbytes
                # Where the parts are found, connections and numbers are there several times.
                if 4 * size + 2 * self._index.nbytes > bound:
                    raise _TooMany
        edges = np.concatenate(edges)
        self._parts = components(len(self._index), edges[:, 0], edges[:, 1])
        del edges
        self._differ = np.zeros(len(self._parts), np.bool_)  # by part, whether a statement in it differs
        for side in sides:
            for batch, differs in side():
                if differs.any() and (parts := self._part_of_rows(batch)) is not None:
                    found = parts[differs]
                    self._differ[found[found >= 0]] = True

    def _numbers(self, batch: Batch) -> Any:
        """The number of each term that is a node, -1 of others; None where there are none."""
        blank = blank_terms(batch)
        if not blank.any():
            return None
        hashes = term_hash(batch, self._seed)[blank]
        found = np.full(batch.n_terms, -1, np.int64)
        found[blank] = self._index.add(hashes)[0] if self._parts is None else self._index.find(hashes)
        return found

    def _edges(self, batch: Batch) -> Iterator[Any]:
        """Pairs of nodes that hang together in a Batch."""
        numbers = self._numbers(batch)
        if numbers is None:
            return
        places = _columns(batch, numbers, -1)
        triples = np.flatnonzero((numbers >= 0) & np.isin(batch.kind, kinds_of("compound")))
        if len(triples):
            parts = numbers[batch.quoted.reshape(-1, 3)[batch.aux[triples]]]
            places = np.concatenate([places, np.column_stack([numbers[triples], parts])])
        first = places.max(axis=1)
        for other in places.T:
            joined = (other >= 0) & (other != first)
            if joined.any():
                yield np.column_stack([first[joined], other[joined]])

    def _part_of_rows(self, batch: Batch) -> Any:
        """The part of the nodes in each row, -1 for those without; None where no row has any."""
        numbers = self._numbers(batch)
        if numbers is None:
            return None
        first = _columns(batch, numbers, -1).max(axis=1)
        return np.where(first >= 0, self._parts[first], -1)

    def has(self, label: str) -> bool:
        """Whether a blank node has a label."""
        return bool(self._index.find(term_hash(batch_of([BlankNode(label)]), self._seed))[0] >= 0)

    def to_match(self, hasher: RowHasher) -> tuple[RowIndex, list[_Rows], list[_Rows]]:
        """The statements of all parts in which one differs: from the first side each statement once, from the second
        the differing ones. And an index of the first."""
        index = RowIndex()
        found: tuple[list[_Rows], list[_Rows]] = ([], [])
        size = NODE_BYTES * int(np.count_nonzero(self._differ[self._parts]))
        for number, side in enumerate(self._sides):
            for batch, differs in side():
                parts = self._part_of_rows(batch)
                if parts is None:
                    continue
                wanted = (parts >= 0) & self._differ[parts]
                rows = np.flatnonzero(wanted & differs if number else wanted)
                if not number:
                    rows = rows[index.add(hasher(batch)[rows])[1]]
                if len(rows):
                    some = select(batch, rows)
                    size += ROW_BYTES * len(rows) + some.nbytes
                    if size > self._bound:
                        raise _TooMany
                    found[number].append((some, differs, rows))
        return index, *found


def rematch(old: Side, new: Side, bound: int) -> tuple[dict[str, str], list[Batch]]:
    """Match the blank nodes of two datasets by structure, where that makes the difference smaller.

    The marks of the rows are then what they are with the labels of the first dataset. The result is those labels, for
    the blank nodes of the second one, and statements of the second, with their new labels, that the first had by the
    old labels only. Nothing changes where the labels are as good, and with a `JellyWarning` where matching takes more
    than ``bound`` bytes.
    """
    hasher = RowHasher()
    try:
        if not _labels_matter(old, new, bound):
            return {}, []
        nodes = _Nodes((old, new), bound)
        index, before, after = nodes.to_match(hasher)
    except _TooMany:
        warnings.warn(
            "blank nodes are compared by their labels: to match them by structure takes more memory than the"
            f" {bound >> 20} MiB that are allowed; raise memory",
            JellyWarning,
            stacklevel=2,
        )
        return {}, []
    both = [select(batch, ~differs[rows]) for batch, differs, rows in before if not differs[rows].all()]
    labels = match_labels((x[0] for x in before), [*both, *(x[0] for x in after)], is_taken=nodes.has)
    if not labels:
        return {}, []
    found = np.zeros(len(index), np.bool_)

    def is_new(batch: Batch) -> Any:
        numbers = index.find(hasher(batch))
        found[numbers[numbers >= 0]] = True
        return numbers < 0

    renamed = Relabeling(labels).apply
    more = [select(batch, rows) for batch in map(renamed, both) if (rows := is_new(batch)).any()]
    fresh = [is_new(renamed(batch)) for batch, _, _ in after]
    if np.count_nonzero(found) <= sum(map(len, both)):
        return {}, []
    for (_, differs, rows), is_fresh in zip(after, fresh, strict=True):
        differs[rows] = is_fresh
    at = 0
    for _, differs, rows in before:
        differs[rows] = ~found[at : at + len(rows)]
        at += len(rows)
    return labels, more
