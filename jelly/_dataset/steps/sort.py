"""Sorting of statements in bounded memory, and merging of what is sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import count

from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._dataset.steps.order import MEMORY, check_order, in_slices, merged, sorted_rows
from jelly._streams.spool import Spool

# What of the memory the Batches take that are sorted at a time; joining and sorting takes as much again, and more.
SHARE = 4
# Sorted runs that are merged at a time, and of each the rows and bytes that are in memory.
RUNS, RUN_ROWS, RUN_BYTES, CHUNK = 32, 8192, 1 << 20, 1 << 17
# Bytes that a run has in memory with its buffers and tables.
RUN_MEMORY = 3 << 21


def _sorted(held: list[Batch], by: str, unique: bool) -> Iterator[Batch]:
    """The rows of Batches in order; the list is emptied."""
    if not held:
        return
    joined = join_batches(held) if len(held) > 1 else held[0]
    held.clear()
    yield from in_slices(joined, sorted_rows(joined, by, unique=unique))


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
        self.by, self.memory, self.is_unique = check_order(by), memory, is_unique

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

            def spill(batches: Iterable[Batch]) -> Spool:
                spool = Spool(0, stack)
                for batch in batches:
                    spool.add(batch)
                spool.end()
                return spool

            def read(some: list[Spool]) -> Iterator[Batch]:
                each = [run.batches(CHUNK, batch_rows=RUN_ROWS, batch_bytes=RUN_BYTES) for run in some]
                yield from merged(each, self.by, unique=self.is_unique)
                for run in some:
                    run.close()

            for batch in batches:
                held.append(batch)
                size += batch.nbytes
                del batch
                if size > bound:
                    runs.append(spill(_sorted(held, self.by, self.is_unique)))
                    size = 0
            if not runs:
                yield from _sorted(held, self.by, self.is_unique)
                return
            if held:
                runs.append(spill(_sorted(held, self.by, self.is_unique)))
            while len(runs) > fan:
                # As few times as it takes, and then as few at a time. Neighbours only: so equal rows keep their order.
                times = next(n for n in count(2) if fan**n >= len(runs))
                some = next(n for n in count(2) if n**times >= len(runs))
                runs = [spill(read(runs[at : at + some])) for at in range(0, len(runs), some)]
            yield from read(runs)


def merged_sources(named: Iterable[tuple[str, Iterator[Batch]]], by: str, unique: bool) -> Iterator[Batch]:
    """The Batches of sources with their names, each in order, as one stream in order."""
    names, each = zip(*named, strict=True)
    return merged(each, by, unique=unique, names=names)
