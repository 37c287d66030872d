"""Statements in order: rows of one Batch, Batches in order merged into one stream.

Sorting, and taking each statement once, in bounded memory.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import numpy as np

from jelly._core.algebra.content import row_hash
from jelly._core.algebra.dictionary import term_ranks
from jelly._core.algebra.row_index import RowIndex
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import DefaultGraph
from jelly._options.layouts import PLACES
from jelly._streams.spool import HashFile, Spool, compare, marks
from jelly.errors import JellyArgumentError

Rows = np.ndarray[Any, np.dtype[np.int64]]

# Bytes of memory for statements that a step holds, by default.
MEMORY = 1 << 28
# Rows of the Batches that are made: few enough that what they use stays in the caches.
SLICE = 1 << 15
# Bits of a number that holds the places of all terms of a row.
KEY_BITS = 63
_DEFAULT = DefaultGraph()
# What of the memory the Batches take that are sorted at a time; joining and sorting takes as much again, and more.
SHARE = 4
# Sorted runs that are merged at a time, and of each the rows and bytes that are in memory.
RUNS, RUN_ROWS, RUN_BYTES, CHUNK = 32, 8192, 1 << 20, 1 << 17
# What of the memory the hashes take that wait for their file.
WAITING = 64
# Bytes that a run has in memory with its buffers and tables.
RUN_MEMORY = 3 << 21


def letters_of(by: str) -> str:
    """The letters of an order of places, which may have their names. Anything else is a JellyArgumentError.

    >>> letters_of("pos"), letters_of("predicate,object")
    ('pos', 'po')
    """
    slots = {name: slot for slot, name in PLACES.items()}
    words = [word.strip() for word in by.split(",")]
    letters = [slots[word] for word in words] if slots.keys() >= {*words} else [*by]
    if not letters or set(letters) - PLACES.keys() or len(set(letters)) != len(letters):
        raise JellyArgumentError(
            f"by={by!r}: expected some of {', '.join(PLACES.values())}, each once, or their letters, such as 'spog'"
        )
    return "".join(letters)


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


def starts(*columns: Any) -> Any:
    """Where a row of columns differs from the one before."""
    found = np.ones(len(columns[0]), bool)
    found[1:] = False
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


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
    return order[starts(*(key[order] for key in keys))] if unique else order


def in_slices(batch: Batch, rows: Rows) -> Iterator[Batch]:
    """Some rows of a Batch in the order given, in Batches that are not large."""
    for at in range(0, len(rows), SLICE):
        yield select(batch, rows[at : at + SLICE])


class Run:
    """Batches, and how far they were taken; in order where that counts."""

    def __init__(self, batches: Iterable[Batch], by: str = "", name: str | None = None) -> None:
        self._batches = filter(len, batches)
        self._by = by
        self._name = name  # of a source, which is refused if it is not in order
        self._last: Any = None  # the key of the last row so far
        self.at = 0
        self.batch: Any = None
        self._terms: Any = None

    def fill(self) -> bool:
        """Have a row, if there is one left."""
        if self.batch is None or self.at == len(self.batch):
            self.batch = self._terms = None  # before the next one takes memory
            self.batch = next(self._batches, None)
            if self.batch is None:
                return False
            self.at = 0
            self._terms = Materializer(self.batch)
            if self._name is not None:
                self._check_order()
        return True

    def _check_order(self) -> None:
        """Refuse rows that are not in order, here or where the last Batch ended."""
        if self._last is not None:
            self._compare(self._last, self.key(0))
        falls: Any = False  # between neighbours
        for key in reversed(_keys(self.batch, self._by)):
            falls = (key[1:] < key[:-1]) | ((key[1:] == key[:-1]) & falls)
        for row in np.flatnonzero(falls)[:1].tolist():
            self._compare(self.key(row), self.key(row + 1))
        self._last = self.last()

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
        return self.key(len(self.batch) - 1)

    def take(self, cut: tuple[Any, ...], equal: bool) -> Batch | None:
        """The rows before ``cut``, with ``equal`` also those that are equal to it."""
        find = bisect_right if equal else bisect_left
        stop = find(range(len(self.batch)), cut, self.at, key=self.key)
        return self.upto(stop) if stop > self.at else None

    def upto(self, stop: int) -> Batch:
        """The rows before one of this Batch."""
        start, self.at = self.at, stop
        whole: Batch = self.batch
        return whole if start == 0 and stop == len(whole) else select(whole, slice(start, stop))

    def rest(self) -> Iterator[Batch]:
        """All that is left."""
        while self.fill():
            yield self.upto(len(self.batch))


def merged(runs: list[Run], by: str, unique: bool = False) -> Iterator[Batch]:
    """Merge Batches in order; rows with equal terms come in the order of the runs, with ``unique`` the first of them.

    Runs with names are refused if they are not in order.
    """
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


class Sort:
    """A step of a `Dataset`: the statements in order, in approximately ``memory`` bytes. What does not fit goes to
    temporary files.

    >>> import jelly
    >>> batches = jelly.scan(b"<a:b> <a:p> <a:o> .\\n<a:a> <a:p> <a:o> .", format="nt").batches()
    >>> [statement.s.value for batch in Sort("spog")(batches) for statement in batch]
    ['a:a', 'a:b']
    """

    needs_all = True

    def __init__(self, by: str, memory: int = MEMORY, is_unique: bool = False) -> None:
        self.by, self.memory, self.is_unique = letters_of(by), memory, is_unique

    def unique(self) -> Sort:
        """This order, with equal statements once: in all places, so that others are kept."""
        return Sort(self.by + "".join(slot for slot in "spog" if slot not in self.by), self.memory, True)

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        bound = self.memory // SHARE
        fan = max(2, min(RUNS, self.memory // RUN_MEMORY))
        with ExitStack() as stack:
            runs: list[Spool] = []
            held: list[Batch] = []
            size = 0

            def ordered() -> Iterator[Batch]:
                joined = join_batches(held) if len(held) > 1 else held[0]
                held.clear()
                yield from in_slices(joined, sorted_rows(joined, self.by, unique=self.is_unique))

            def spill(batches: Iterable[Batch]) -> Spool:
                spool = Spool(0, stack)
                for batch in batches:
                    spool.add(batch)
                spool.end()
                return spool

            def read(some: list[Spool]) -> Iterator[Batch]:
                each = [run.batches(CHUNK, batch_rows=RUN_ROWS, batch_bytes=RUN_BYTES) for run in some]
                yield from merged([Run(batches, self.by) for batches in each], self.by, self.is_unique)
                for run in some:
                    run.close()

            for batch in batches:
                held.append(batch)
                size += batch.nbytes
                del batch
                if size > bound:
                    runs.append(spill(ordered()))
                    size = 0
            if not runs:
                yield from ordered() if held else ()
                return
            if held:
                runs.append(spill(ordered()))
            while len(runs) > fan:
                # As few times as it takes, and then as few at a time. Neighbours only: so equal rows keep their order.
                times = next(n for n in count(2) if fan**n >= len(runs))
                some = next(n for n in count(2) if n**times >= len(runs))
                runs = [spill(read(runs[at : at + some])) for at in range(0, len(runs), some)]
            yield from read(runs)


class Unique:
    """A step of a `Dataset`: each statement once, at the place where it comes first.

    Rows are told apart by hashes of 128 bits under a key that nobody knows. Where these take too much memory, they and
    the rows that follow go to temporary files.
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        seed = os.urandom(16)
        # An index that grows is there twice for a moment.
        bound = self._memory // 2
        index = RowIndex()
        rest = iter(batches)
        for batch in rest:
            _, new = index.add(row_hash(batch, seed))
            if new.all():
                yield batch
            elif new.any():
                yield select(batch, new)
            del batch
            if index.nbytes > bound:
                break
        else:
            return
        with ExitStack() as stack:
            old, more = HashFile(self._memory // WAITING, stack), HashFile(self._memory // WAITING, stack)
            old.move(index, 0, len(index))
            del index
            spool = Spool(0, stack)
            for batch in rest:
                more.add(row_hash(batch, seed))
                spool.add(batch)
                del batch
            fresh = marks(more.rows, bound, stack)
            compare(old, more, bound, marks(old.rows, bound, stack), fresh)
            at = 0
            for batch in spool.batches():
                wanted = fresh[at : at + len(batch)]
                at += len(batch)
                if wanted.any():
                    yield select(batch, wanted)
                del batch
