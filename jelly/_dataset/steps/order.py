"""Statements in order: rows of one Batch, and Batches in order merged into one stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jelly._core.algebra.dictionary import term_ranks
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import DefaultGraph
from jelly.errors import JellyArgumentError

Rows = np.ndarray[Any, np.dtype[np.int64]]

# Bytes of memory for statements that a step holds, by default.
MEMORY = 1 << 28
# Rows of the Batches that are made: few enough that what they use stays in the caches.
SLICE = 1 << 15
# Bits of a number that holds the places of all terms of a row.
KEY_BITS = 63
_DEFAULT = DefaultGraph()


def check_order(by: str) -> str:
    """Refuse what is no order of places.

    >>> check_order("pos")
    'pos'
    """
    if not isinstance(by, str) or not by or set(by) - set("spog") or len(set(by)) != len(by):
        raise JellyArgumentError(f"by={by!r}: expected some of the letters s, p, o and g, each once, such as 'spog'")
    return by


def _keys(batch: Batch, by: str) -> list[Rows]:
    """For each row one number, or several, that are ordered as its terms are."""
    columns = [column for slot in by if (column := getattr(batch, slot)) is not None]
    wanted = np.zeros(batch.n_terms + 1, bool)
    for column in columns:
        wanted[column] = True  # the default graph has id -1, the last index here
    ranks, n = term_ranks(batch, wanted[:-1])
    ranks = np.append(ranks, np.int32(0))
    keys: list[Rows] = []
    used = 0
    for column in columns:
        places = ranks[column]
        # The places that occur, without gaps: so that most rows need one number only.
        there = np.zeros(n + 1, np.int64)
        there[places] = 1
        dense = np.cumsum(there) - 1
        bits = int(dense[-1]).bit_length()
        if not keys or used + bits > KEY_BITS:
            keys.append(dense[places])
            used = bits
        else:
            keys[-1] = (keys[-1] << bits) | dense[places]
            used += bits
    return keys or [np.zeros(len(batch), np.int64)]


def sorted_rows(batch: Batch, by: str, *, unique: bool = False, in_pieces: bool = False) -> Rows:
    """The numbers of the rows of a Batch in order: those with equal terms in the order they have, or only the first.

    ``in_pieces`` says that the rows are some pieces that are in order.

    >>> import jelly
    >>> [batch] = jelly.scan(b"<a:b> <a:p> <a:o> .\\n<a:a> <a:p> <a:o> .\\n<a:b> <a:p> <a:o> .", format="nt").batches()
    >>> sorted_rows(batch, "spog").tolist(), sorted_rows(batch, "s", unique=True).tolist()
    ([1, 0, 2], [1, 0])
    """
    keys = _keys(batch, by)
    if len(keys) == 1:
        # Rows that are equal everywhere may change places. For pieces that are in order a stable sort is the fast one.
        stable = in_pieces or unique or not set("spo" if batch.g is None else "spog") <= set(by)
        order = np.argsort(keys[0], kind="stable" if stable else None)
    else:
        order = np.lexsort(keys[::-1])
    if unique and len(order):
        new = np.zeros(len(order), bool)
        new[0] = True
        for key in keys:
            ordered = key[order]
            new[1:] |= ordered[1:] != ordered[:-1]
        order = order[new]
    return order


def in_slices(batch: Batch, rows: Rows) -> Iterator[Batch]:
    """Some rows of a Batch in the order given, in Batches that are not large."""
    for at in range(0, len(rows), SLICE):
        yield select(batch, rows[at : at + SLICE])


class Run:
    """Batches, and how far they were taken; in order where that counts."""

    def __init__(self, batches: Iterable[Batch], by: str = "", name: str | None = None) -> None:
        self._batches = iter(batches)
        self._by = by
        self._name = name  # of a source, which is refused if it is not in order
        self._last: Any = None  # the key of the last row so far
        self.at = 0
        self.batch: Batch | None = None
        self._terms: Any = None

    def fill(self) -> bool:
        """Have a row, if there is one left."""
        while self.batch is None or self.at >= len(self.batch):
            self.batch = self._terms = None  # before the next one takes memory
            self.batch = next(self._batches, None)
            if self.batch is None:
                return False
            self.at = 0
            if not len(self.batch):
                continue
            self._terms = Materializer(self.batch)
            if self._name is not None:
                self._check_order()
        return True

    def _check_order(self) -> None:
        """Refuse rows that are not in order, here or where the last Batch ended."""
        assert self.batch is not None
        if self._last is not None:
            self._compare(self._last, self.key(0))
        for key, before in _steps(_keys(self.batch, self._by)):
            if (wrong := np.flatnonzero(key[1:] < key[:-1] if before is None else (key[1:] < key[:-1]) & before)).size:
                self._compare(self.key(int(wrong[0])), self.key(int(wrong[0]) + 1))
        self._last = self.key(len(self.batch) - 1)

    def _compare(self, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        if after < before:
            one, other = (" ".join(filter(None, map(str, key))) for key in (before, after))
            raise JellyArgumentError(
                f"it is not sorted by {self._by!r}: {other} comes after {one}; sort it first", source=self._name
            )

    def key(self, row: int) -> tuple[Any, ...]:
        """The terms of a row that count, which are ordered."""
        [statement] = self._terms.statements(row, row + 1)
        return tuple((statement.g if len(statement) == 4 else _DEFAULT) if c == "g" else getattr(statement, c)
                     for c in self._by)  # fmt: skip

    def last(self) -> tuple[Any, ...]:
        assert self.batch is not None
        return self.key(len(self.batch) - 1)

    def take(self, cut: tuple[Any, ...], equal: bool) -> Batch | None:
        """The rows before ``cut``, with ``equal`` also those that are equal to it."""
        assert self.batch is not None
        low, high = self.at, len(self.batch)
        while low < high:
            middle = (low + high) // 2
            key = self.key(middle)
            if key < cut or (equal and key == cut):
                low = middle + 1
            else:
                high = middle
        return self.upto(low) if low > self.at else None

    def upto(self, stop: int) -> Batch:
        """The rows before one of this Batch."""
        assert self.batch is not None
        start, self.at = self.at, stop
        return self.batch if start == 0 and stop == len(self.batch) else select(self.batch, slice(start, stop))

    def rest(self) -> Iterator[Batch]:
        """All that is left."""
        while self.fill():
            assert self.batch is not None
            yield self.upto(len(self.batch))


def _steps(keys: list[Rows]) -> Iterator[tuple[Rows, Any]]:
    """Each number of the keys, with where those before it are equal in neighbours."""
    equal = None
    for key in keys:
        yield key, equal
        same = key[1:] == key[:-1]
        equal = same if equal is None else equal & same


def merged(
    sources: Iterable[Iterable[Batch]],
    by: str,
    *,
    unique: bool = False,
    names: Iterable[str | None] | None = None,
) -> Iterator[Batch]:
    """Merge sources whose Batches are in order; rows with equal terms come in the order of the sources.

    With ``unique`` only the first of them. Sources with ``names`` are refused if they are not in order.
    """
    each = list(sources)
    runs = [Run(batches, by, name) for batches, name in zip(each, names or [None] * len(each), strict=True)]
    written: tuple[Any, ...] | None = None  # the last row
    while runs := [run for run in runs if run.fill()]:
        if len(runs) == 1 and not unique:
            yield from runs[0].rest()
            return
        # All up to here is known: the run whose last row is the first of them may go on with equal ones, which stand
        # before those of the runs after it.
        lasts = [run.last() for run in runs]
        first = min(range(len(runs)), key=lasts.__getitem__)
        cut = lasts[first]
        pieces = [piece for number, run in enumerate(runs) if (piece := run.take(cut, number <= first)) is not None]
        if len(pieces) == 1 and not unique:
            yield pieces.pop()
            continue
        joined = join_batches(pieces)
        del pieces
        order = sorted_rows(joined, by, unique=unique, in_pieces=True)
        if unique:
            ends = Run([joined], by)
            ends.fill()
            if ends.key(int(order[0])) == written:
                order = order[1:]
            if not len(order):
                continue
            written = ends.key(int(order[-1]))
        yield from in_slices(joined, order)
        del joined
