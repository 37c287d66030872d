"""Which operations of patches hold, and what is left of them: the last on each statement."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from jelly._core.algebra.row_index import RowIndex
from jelly._core.base.batch import Batch

@disjoint_base
class Transactions:
    """The rows of patches that hold: those of a transaction when it is committed, and those outside of one.

    Give it one Batch after the other; a transaction may go on from one to the next, and its rows wait until it ends.
    With ``whole`` the rows outside wait too, until the next transaction begins or the patch ends.

    >>> from jelly import IRI
    >>> from jelly.patch import Abort, Add, Commit, Patch, Start
    >>> s, t = ((IRI(name), IRI("a:p"), IRI("a:o")) for name in ("a:s", "a:t"))
    >>> [batch] = Patch([Add(t), Start(), Add(s), Abort(), Start(), Add(s), Add(t), Commit()]).batches()
    >>> transactions = Transactions()
    >>> [[(start, stop) for _, start, stop in unit] for unit in transactions.take(batch)], transactions.close()
    ([[(0, 1)], [(5, 7)]], [])
    """
    def __new__(cls, *, whole: bool = False) -> Self: ...
    def take(self, batch: Batch, start: int = 0, stop: int | None = None) -> list[list[tuple[Batch, int, int]]]:
        """What holds now: a list for each transaction that ends, and for the rows between two, of ranges of rows. A range
        is a Batch, its first row and the row behind its last. None is empty, and no mark of a transaction is in one.
        """
    def close(self) -> list[list[tuple[Batch, int, int]]]:
        """What is left when the patch ends; JellyFormatError where a transaction is open."""
    def __reduce__(self) -> Any: ...

@disjoint_base
class NetChanges(RowIndex):
    """What is left of operations on a set of statements: the last on each.

    Statements have numbers by their hashes, in the order in which they are first named.
    """
    def __new__(cls) -> Self: ...
    def take(
        self, hashes: npt.NDArray[np.uint64], op: Any
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Note operations, by the hashes of their rows and the codes 2 (add) and 3 (delete); others are left alone.

        Two arrays of bool: the rows that name a statement for the first time, whose numbers follow one another, and
        those that delete what an operation before has deleted.
        """
    @property
    def added(self) -> npt.NDArray[np.bool_]:
        """Of each statement whether it is there afterwards: bool, a copy."""
    @property
    def needed(self) -> npt.NDArray[np.bool_]:
        """Of each statement whether the first operation deletes it, so that it must have been there: bool, a copy."""
    def __reduce__(self) -> Any: ...
