"""What patches change: their committed rows, their net effect, and patches with the same or the opposite effect."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import numpy as np

from jelly._core.algebra.changes import NetChanges, Transactions
from jelly._core.algebra.content import row_hash
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI
from jelly._core.terms.operations import (
    AddNamespace,
    Commit,
    DeleteNamespace,
    Header,
    Operation,
    OperationBatchBuilder,
    OperationIterator,
    Start,
)
from jelly._options.settings import checked
from jelly.errors import JellyFormatError
from jelly.patch._patch import ADD, DELETE, HEADER, NAMESPACE_ADD, NAMESPACE_DELETE, START, Patch
from jelly.patch._stream import read_patches

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
        absent = self._net.needed & ~found
        if absent.any():
            batch = next(self.statements(absent))
            self.miss(int(np.count_nonzero(absent)), batch, 0)

    @property
    def added(self) -> Any:
        """Whether each statement is there afterwards."""
        return self._net.added

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


# By operation, the one that undoes it.
INVERSE = np.arange(16, dtype=np.int8)
INVERSE[[ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE]] = DELETE, ADD, NAMESPACE_DELETE, NAMESPACE_ADD


def patches_of(source: Any) -> Iterable[Patch]:
    """Patches from a patch, patches, operations of one patch, or a source for `read_patches`."""
    if isinstance(source, Patch):
        return [source]
    if isinstance(source, list | tuple) or hasattr(source, "__next__"):
        return _patches_among(source)
    return read_patches(source)


def _patches_among(items: Iterable[Any]) -> Iterator[Patch]:
    for loose, some in groupby(items, lambda item: isinstance(item, Operation)):
        if loose:
            yield Patch(some)
        else:
            for item in some:
                yield from patches_of(item)


def patch_of_batches(batches: Iterable[Batch], quads: bool = True) -> Patch:
    """The patch of some rows."""
    patch = Patch(quads=quads)
    for batch in batches:
        patch._take_batch(batch)
    return patch


def transaction(
    head: Iterable[Operation], rows: Iterable[Batch], quads: bool = True, *, marked: bool = True
) -> Iterator[Batch]:
    """The rows of a patch of one transaction: operations, in which it has started, and other rows. If it is not to be
    ``marked`` as one, nothing ends it."""
    yield from Patch(head, quads=quads).batches()
    yield from rows
    if marked:
        collector = OperationBatchBuilder(4 if quads else 3)
        collector.add(Commit())
        yield collector.batch


@checked()
def compact(patches: Any) -> Patch:
    """Merge patches into one with the same net effect. Operations that later ones override are left out.

    Aborted transactions are left out, and deletions come first. Memory grows with the number of different statements.

    Parameters
    ----------
    patches : Patch, iterable of Patch, or Any
        The patches in order, or a source for `read_patches`.

    Notes
    -----
    The headers are those of the last patch that has them; ``prev`` is the one of the first patch.

    A statement that is added and then deleted is deleted in the result too, because it may have existed before the
    first patch. If it did not, `apply` counts it as missing, and ``on_missing="error"`` rejects it.

    Examples
    --------
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Delete, Patch, compact
    >>> x, y = (IRI("a:s"), IRI("a:p"), IRI("a:x")), (IRI("a:s"), IRI("a:p"), IRI("a:y"))
    >>> [str(operation) for operation in compact([Patch([Add(x), Delete(y)]), Patch([Delete(x)])])]
    ['TX .', 'D <a:s> <a:p> <a:x> .', 'D <a:s> <a:p> <a:y> .', 'TC .']
    """
    net = StatementChanges(RowHasher())
    headers: dict[str, Header] = {}
    for number, patch in enumerate(patches_of(patches)):
        for header in patch.headers:
            key = header.key.lower()
            if number == 0 or key != "prev":
                headers[key] = header
        for unit in held(patch):
            net.take(unit)
    if "prev" in headers:
        headers["prev"] = headers.pop("prev")  # as the last one
    gone: list[Operation] = []
    declared: list[Operation] = []
    for first, last in net.namespaces.values():
        # A deletion that comes first has the IRI that was there before.
        if isinstance(first, DeleteNamespace) and (first.iri is not None or last is first):
            gone.append(first)
        elif isinstance(last, DeleteNamespace):
            gone.append(last)
        if isinstance(last, AddNamespace):
            declared.append(last)
    added = net.added
    rows = chain(net.statements(~added, DELETE), net.statements(added, ADD))
    return patch_of_batches(transaction([*headers.values(), Start(), *gone, *declared], rows))


@checked()
def invert(patch: Patch) -> Patch:
    """Make the patch that undoes another one: its operations in reverse order, each replaced by its opposite.

    This is exact only if each operation changed something, as in the patches of `diff`. Aborted transactions are left
    out. The ``prev`` of the result is the ``id`` of the other patch, its ``id`` is new.

    Raises
    ------
    JellyFormatError
        If the patch deletes a namespace without naming its IRI.

    Examples
    --------
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Patch, invert
    >>> [str(operation) for operation in invert(Patch([Add((IRI("a:s"), IRI("a:p"), IRI("a:o")))]))]
    ['D <a:s> <a:p> <a:o> .']
    """
    ranges = [rows for unit in held(patch) for rows in unit]
    headers = [header for header in patch.headers if header.key.lower() not in ("id", "prev")]
    if patch.id is not None:
        headers = [Header("id", IRI(f"uuid:{uuid.uuid4()}")), Header("prev", patch.id), *headers]
    marked = patch.count(START) > 0
    head = [*headers, *[Start()] * marked]
    return patch_of_batches(transaction(head, _inverse(ranges), patch.quads, marked=marked), patch.quads)


def _inverse(ranges: list[Rows]) -> Iterator[Batch]:
    """The opposites of rows, in reverse order. Headers are left out."""
    for batch, start, stop in reversed(ranges):
        rows = np.arange(stop - 1, start - 1, -1)
        op = np.asarray(batch.op)[rows]
        if (op == HEADER).any():
            rows, op = rows[op != HEADER], op[op != HEADER]
        gone = rows[op == NAMESPACE_DELETE]
        if len(gone) and len(unknown := gone[batch.p[gone] < 0]):
            [operation] = OperationIterator([(Materializer(batch), int(unknown[0]), int(unknown[0]) + 1)])
            raise JellyFormatError(f"cannot be undone, as the patch does not have the IRI: {operation}")
        if len(rows):
            yield select(batch, rows, op=INVERSE[op])
