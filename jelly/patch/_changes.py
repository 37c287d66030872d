"""The committed rows of patches, and their net effect: the last operation on each statement."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from jelly._core.algebra.changes import NetChanges, Transactions
from jelly._core.algebra.content import row_hash
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.operations import AddNamespace, DeleteNamespace, OperationIterator
from jelly.errors import JellyFormatError
from jelly.patch._patch import ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE, Patch

Rows = tuple[Batch, int, int]  # a Batch, its first row and the row after its last
Namespace = AddNamespace | DeleteNamespace

SEED_BYTES = 16
# Small Batches are joined: each takes a kilobyte, whatever it holds.
FEW_ROWS, MANY_BATCHES = 1024, 256


def is_statement(op: Any) -> Any:
    """Whether each operation adds or deletes a statement."""
    return (op == ADD) | (op == DELETE)


def held(patch: Patch, whole: bool = False) -> Iterator[list[Rows]]:
    """The committed rows of a patch, see `Transactions`; JellyFormatError where it ends inside a transaction."""
    transactions = Transactions(whole=whole)
    for source, start, stop in patch._parts:
        yield from transactions.take(source.batch, start, stop)
    yield from transactions.close()


def _changed_namespaces(unit: list[Rows]) -> Iterator[Namespace]:
    """The operations on namespaces among some rows."""
    for batch, start, stop in unit:
        op = np.asarray(batch.op)[start:stop]
        rows = np.flatnonzero((op == NAMESPACE_ADD) | (op == NAMESPACE_DELETE)) + start
        if len(rows):
            terms = Materializer(batch)
            yield from OperationIterator((terms, row, row + 1) for row in rows.tolist())


class RowHasher:
    """Hashes of rows under a seed of its own. Those of the last Batch are kept, for patches that share one."""

    def __init__(self) -> None:
        self._seed = os.urandom(SEED_BYTES)
        self._last: tuple[Batch | None, Any] = None, None

    def __call__(self, batch: Batch) -> Any:
        if self._last[0] is not batch:
            self._last = batch, row_hash(batch, self._seed)
        return self._last[1]


class StatementChanges:
    """The net effect of operations on a set of statements and on namespaces.

    Statements have numbers in the order in which they are first named.
    """

    def __init__(self, hasher: RowHasher, strict: bool = False) -> None:
        self._hasher = hasher
        self._net = NetChanges()
        self._named: list[Batch] = []  # the statements by their numbers
        self._small: list[Batch] = []
        self._strict = strict
        self.missing = 0
        # The first and the last operation on each name and graph.
        self.namespaces: dict[Any, tuple[Namespace, Namespace]] = {}

    def __len__(self) -> int:
        return len(self._net)

    def take(self, unit: list[Rows]) -> None:
        """Take the operations of some rows. With ``strict`` a second deletion of a statement is a JellyFormatError."""
        for batch, start, stop in unit:
            op = np.asarray(batch.op)[start:stop]
            first, missed = self._net.take(self._hasher(batch)[start:stop], op)
            if first.any():
                self._keep(select(batch, np.flatnonzero(first) + start, op=0, quads=True))
            if missed.any():
                self.miss(int(np.count_nonzero(missed)), batch, int(np.argmax(missed)) + start)
        for operation in _changed_namespaces(unit):
            key = operation.name, operation.graph
            self.namespaces[key] = self.namespaces.get(key, (operation, operation))[0], operation

    def _keep(self, batch: Batch) -> None:
        self._small.append(batch)
        if len(batch) >= FEW_ROWS or len(self._small) == MANY_BATCHES:
            self._join()

    def _join(self) -> None:
        small, self._small = self._small, []
        if len(small) > 1 and len(small[-1]) >= FEW_ROWS:
            self._named += [join_batches(small[:-1]), small[-1]]
        elif small:
            self._named.append(small[0] if len(small) == 1 else join_batches(small))

    def miss(self, count: int, batch: Batch, row: int) -> None:
        """Count statements to delete that are not there. The first of them is in this row."""
        if self._strict:
            [statement] = select(batch, [row], op=0).statements()
            raise JellyFormatError(f"a deletion does not match any statement: {statement}")
        self.missing += count

    def miss_needed(self, found: Any) -> None:
        """Count the statements that are deleted first and were not found; ``found`` is by number."""
        absent = self.needed & ~found
        if absent.any():
            batch = next(self.statements(absent))
            self.miss(int(np.count_nonzero(absent)), batch, 0)

    @property
    def added(self) -> Any:
        """Whether each statement is there afterwards."""
        return self._net.added

    @property
    def needed(self) -> Any:
        """Whether each statement must be there before."""
        return self._net.needed

    def find(self, batch: Batch) -> Any:
        """The number of the statement of each row, -1 for those that no operation names."""
        return self._net.find(self._hasher(batch))

    def statements(self, wanted: Any, op: int = 0) -> Iterator[Batch]:
        """The wanted statements (a bool for each number) as statements, or as rows with an operation."""
        self._join()
        at = 0
        for batch in self._named:
            rows = wanted[at : at + len(batch)]
            at += len(batch)
            if rows.any():
                yield select(batch, rows, op=op)
