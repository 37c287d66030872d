"""Compacting and inverting patches. Both work on the rows of Batches: see `jelly._core.algebra`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
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
from jelly.patch._changes import RowHasher, StatementChanges, held
from jelly.patch._patch import ADD, DELETE, HEADER, NAMESPACE_ADD, NAMESPACE_DELETE, START, Patch
from jelly.patch._stream import read_patches

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
    first_prev: Header | None = None
    for number, patch in enumerate(patches_of(patches)):
        for header in patch.headers:
            headers[header.key.lower()] = header
            if number == 0 and header.key.lower() == "prev":
                first_prev = header
        for unit in held(patch):
            net.take(unit)
    headers.pop("prev", None)
    if first_prev is not None:
        headers["prev"] = first_prev
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


def _inverse(ranges: list[tuple[Batch, int, int]]) -> Iterator[Batch]:
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
