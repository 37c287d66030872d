"""The class Patch, and patches from Batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op
from jelly._core.ntriples.text import TextWriter
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.operations import Header, Operation, OperationBatchBuilder, OperationIterator
from jelly._html import html_table
from jelly._options.settings import checked
from jelly.errors import JellyFormatError

# As plain numbers, which numpy compares faster.
ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE, START, COMMIT, ABORT, HEADER, PUNCTUATION = map(int, Op)

CHANGING = np.array([ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE], np.int8)


def check_transactions(op: Any, inside: bool = False) -> bool:
    """Whether a transaction is open after operations, with what it was before; JellyFormatError where one starts in
    another, ends without a start, or is open where a patch ends."""
    rows = np.flatnonzero(((op >= START) & (op <= ABORT)) | (op == PUNCTUATION))
    for row, code in zip(rows.tolist(), op[rows].tolist(), strict=True):
        if code == START and inside:
            raise JellyFormatError("a transaction starts inside another transaction", row=row)
        if code == PUNCTUATION and inside:
            raise JellyFormatError("the patch ends inside a transaction", row=row)
        if START < code <= ABORT and not inside:
            raise JellyFormatError("a commit or abort outside a transaction", row=row)
        inside = code == START
    return inside


class _Source:
    """A Batch that several patches may share, with its terms as objects."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.op = batch.op if batch.op is not None else np.empty(0, np.int8)

    @cached_property
    def terms(self) -> Materializer:
        return Materializer(self.batch)


class Patch:
    """A sequence of operations, including headers and transactions.

    Iterate over it for the operations (`Add`, `Delete`, `AddNamespace`, `DeleteNamespace`, `Header`, `Start`, `Commit`,
    `Abort`), or call `batches` for arrays. ``len(patch)`` is the number of operations.
    A patch is true if it adds or deletes something, even if only in a transaction that is aborted.

    Parameters
    ----------
    operations : iterable of Operation, optional
        The operations in order.
    quads : bool, default True
        Whether the statements are quads. Triples are then quads in the default graph.

    Raises
    ------
    JellyFormatError
        If transactions are nested, or end without a start.

    Examples
    --------
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Delete, Header, Patch
    >>> s, p, o = IRI("a:s"), IRI("a:p"), IRI("a:o")
    >>> patch = Patch([Header("id", IRI("uuid:1")), Add((s, p, o)), Delete((s, p, s))])
    >>> len(patch), patch.id, [str(operation) for operation in patch][1:]
    (3, IRI('uuid:1'), ['A <a:s> <a:p> <a:o> .', 'D <a:s> <a:p> <a:s> .'])
    """

    @checked()
    def __init__(self, operations: Iterable[Operation] = (), *, quads: bool = True) -> None:
        self._parts: list[tuple[_Source, int, int]] = []
        self.quads = quads
        collector = OperationBatchBuilder(4 if quads else 3)
        collector.extend(iter(operations), sys.maxsize)
        if len(collector):
            source = _Source(collector.batch)
            check_transactions(source.op)
            self._take(source, 0, len(collector))

    def _take(self, source: _Source, start: int, stop: int) -> None:
        if start < stop:
            self._parts.append((source, start, stop))

    def _take_batch(self, batch: Batch) -> None:
        self._take(_Source(batch), 0, len(batch))

    def __len__(self) -> int:
        """Number of operations, headers and transaction marks included."""
        return sum(stop - start for _, start, stop in self._parts)

    def __bool__(self) -> bool:
        """Whether there is an addition or a deletion. Headers and transaction marks alone are False."""
        return any(np.isin(source.op[start:stop], CHANGING).any() for source, start, stop in self._parts)

    def __iter__(self) -> Iterator[Operation]:
        # The terms of a Batch of many patches are made once; the terms of a Batch of one large patch need not stay.
        return OperationIterator(
            (source.terms if stop - start < len(source.batch) else Materializer(source.batch), start, stop)
            for source, start, stop in self._parts
        )

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Patch) else NotImplemented

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<jelly.patch.Patch: {len(self)} operations>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), ["operation"], ([one] for one in islice(self, 10)), more=len(self) > 10)

    def batches(self) -> Iterator[Batch]:
        """Iterate over the rows as Batches, whose array ``op`` has the operation of each row.

        The operations are 2 add, 3 delete, 4 add a namespace, 5 delete a namespace, 6 start, 7 commit, 8 abort and
        14 header. Columns that an operation does not use are -1. A namespace has its prefix and IRI in ``s`` and ``p``,
        a header its key and value in ``s`` and ``o``.
        """
        for source, start, stop in self._parts:
            whole = start == 0 and stop == len(source.batch)
            yield source.batch if whole else select(source.batch, slice(start, stop))

    def text(self) -> Iterator[bytes]:
        """Iterate over the lines of RDF Patch, as chunks of whole lines in UTF-8."""
        writer = TextWriter(quads=True, patch=True)
        for source, start, stop in self._parts:
            yield from writer.chunks(source.batch, start=start, stop=stop)

    @checked()
    def count(self, code: int) -> int:
        """Count the rows with an operation, whose number ``code`` is one of those in `batches`."""
        return sum(int(np.count_nonzero(source.op[start:stop] == code)) for source, start, stop in self._parts)

    @property
    def headers(self) -> list[Header]:
        """All headers."""
        rows = (
            (source.terms, row, row + 1)
            for source, start, stop in self._parts
            for row in (np.flatnonzero(source.op[start:stop] == HEADER) + start).tolist()
        )
        return [header for header in OperationIterator(rows) if isinstance(header, Header)]

    @checked()
    def header(self, key: str) -> Any:
        """The value of the first header with a key, or None. Upper and lower case of the key are the same."""
        return next((header.value for header in self.headers if header.key.lower() == key.lower()), None)

    @property
    def id(self) -> Any:
        """The value of the header ``id``, or None."""
        return self.header("id")

    @property
    def prev(self) -> Any:
        """The value of the header ``prev``, which is the ``id`` of the previous patch, or None."""
        return self.header("prev")


def split_patches(batches: Iterable[Batch], is_one: Callable[[], bool]) -> Iterator[Patch]:
    """The patches of a stream that comes as Batches. ``is_one`` is asked at the end: whether the whole is a patch."""
    patch: Patch | None = None
    found, quads = False, True
    for batch in batches:
        source, start, quads = _Source(batch), 0, batch.arity == 4
        for end in [*np.flatnonzero(source.op == PUNCTUATION).tolist(), len(batch)]:
            if start < len(batch):
                patch = Patch(quads=quads) if patch is None else patch
                patch._take(source, start, end)
                if end < len(batch):
                    yield patch
                    patch, found = None, True
            start = end + 1
    # What no row ends is a patch too: Jelly-JVM leaves the last punctuation to its callers. A stream that is one patch
    # may be empty.
    if patch is not None or (not found and is_one()):
        yield Patch(quads=quads) if patch is None else patch
