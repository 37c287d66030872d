"""Each statement once, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from jelly._core.algebra.content import row_hash
from jelly._core.algebra.row_index import RowIndex
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._dataset.steps.order import MEMORY
from jelly._streams.spool import HashFile, Spool, compare, marks

# What of the memory the hashes take that wait for their file.
WAITING = 64


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
