"""Sorting of statements in bounded memory, and merging of what is sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._dataset.steps.order import MEMORY, check_order, in_slices, merged, sorted_rows
from jelly._streams.spool import Spool
from jelly.errors import JellyArgumentError

__all__ = ["Sort", "in_order", "merged_sources", "whole_order"]

# What of the memory the Batches take that are sorted at a time; joining and sorting takes as much again, and more.
SHARE = 4
# Sorted runs that are merged at a time, and of each the rows and bytes that are in memory.
RUNS, RUN_ROWS, RUN_BYTES, CHUNK = 32, 8192, 1 << 20, 1 << 17
# Bytes that a run has in memory with its buffers and tables.
RUN_MEMORY = 3 << 21


def in_order(batches: Iterable[Batch], by: str, memory: int = MEMORY, *, unique: bool = False) -> Iterator[Batch]:
    """Batches with all statements of others in order, in approximately ``memory`` bytes; what does not fit goes to
    temporary files.

    >>> import jelly
    >>> [batch] = in_order(jelly.scan(b"<a:b> <a:p> <a:o> .\\n<a:a> <a:p> <a:o> .", format="nt").batches(), "spog")
    >>> [statement.s.value for statement in batch]
    ['a:a', 'a:b']
    """
    bound = memory // SHARE
    fan = max(2, min(RUNS, memory // RUN_MEMORY))
    with ExitStack() as stack:
        runs: list[Spool] = []
        held: list[Batch] = []
        size = 0

        def spill(batches: Iterable[Batch]) -> Spool:
            spool = Spool(0, stack)
            for batch in batches:
                spool.add(batch)
            spool.end()
            return spool

        def read(some: list[Spool]) -> Iterator[Batch]:
            each = [run.batches(CHUNK, batch_rows=RUN_ROWS, batch_bytes=RUN_BYTES) for run in some]
            yield from merged(each, by, unique=unique)
            for run in some:
                run.close()

        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            del batch
            if size > bound:
                runs.append(spill(_sorted(held, by, unique)))
                size = 0
        if not runs:
            yield from _sorted(held, by, unique)
            return
        if held:
            runs.append(spill(_sorted(held, by, unique)))
        while len(runs) > fan:
            # As few times as it takes, and then as few at a time. Neighbours only: so equal rows keep their order.
            times = next(n for n in count(2) if fan**n >= len(runs))
            some = next(n for n in count(2) if n**times >= len(runs))
            runs = [spill(read(runs[at : at + some])) for at in range(0, len(runs), some)]
        yield from read(runs)


def _sorted(held: list[Batch], by: str, unique: bool) -> Iterator[Batch]:
    """The rows of Batches in order; the list is emptied."""
    if not held:
        return
    joined = join_batches(held) if len(held) > 1 else held[0]
    held.clear()
    yield from in_slices(joined, sorted_rows(joined, by, unique=unique))


class Sort:
    """A step of a `Dataset`: the statements in order."""

    needs_all = True

    def __init__(self, by: str, memory: int = MEMORY) -> None:
        self.by, self.memory, self.is_unique = check_order(by), memory, False

    def unique(self) -> Sort:
        """This order, with equal statements once."""
        made = Sort(whole_order(self.by), self.memory)
        made.is_unique = True
        return made

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        return in_order(batches, self.by, self.memory, unique=self.is_unique)


def whole_order(by: str) -> str:
    """An order of all places, which tells statements apart."""
    return by + "".join(slot for slot in "spog" if slot not in by)


def merged_sources(named: Iterable[tuple[str, Iterator[Batch]]], by: str, unique: bool) -> Iterator[Batch]:
    """The Batches of sources with their names, each in order, as one stream in order."""
    each = list(named)
    return merged([batches for _, batches in each], by, unique=unique, checks=[_Check(name, by) for name, _ in each])


class _Check:
    """Refuses a source that is not in order."""

    def __init__(self, name: str, by: str) -> None:
        self._name = name
        self._by = by

    def __call__(self, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        if after < before:
            one, other = (" ".join(map(str, key)) for key in (before, after))
            raise JellyArgumentError(
                f"it is not sorted by {self._by!r}: {other} comes behind {one}; sort it first", source=self._name
            )
