"""The patch that leads from one dataset to another, in memory that is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from jelly._bytes.source import Progress
from jelly._core.algebra.relabeling import Relabeling
from jelly._core.algebra.row_index import RowIndex
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.terms.operations import AddNamespace, DeleteNamespace, Header, Operation, Start
from jelly._formats.registry import READING, format_of, having
from jelly._options.options import PatchOptions
from jelly._options.settings import checked
from jelly._streams.reader import Reader
from jelly._streams.spool import HashFile, Spool, compare, marks
from jelly.patch._changes import RowHasher, patch_of_batches, transaction
from jelly.patch._patch import ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE, Patch
from jelly.patch._rematch import rematch
from jelly.patch._stream import PatchWriter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

OLD, NEW = 0, 1
BLANK = int(Kind.BNODE)

# Shares of the memory, as divisors: of the hashes of rows with the Batches, of the Batches of each side, and of hashes
# that wait for their file. When blank nodes are matched, the hashes are gone: matching may take all of it.
INDEX_SHARE, SPOOL_SHARE, HASHES_SHARE = 4.5, 128, 256


class _Side:
    """One of the two datasets: the rows that may differ, in their order, and whether they do."""

    def __init__(self, memory: int, stack: ExitStack) -> None:
        self.spool = Spool(memory // SPOOL_SHARE, stack)
        self.hashes: Any = None  # the HashFile of the rows, where their index takes too much memory
        self.differs: Any = None  # of each row whether the other dataset has not got it
        self.has_blank = False  # whether rows that may differ have blank nodes

    def keep(self, batch: Batch) -> None:
        self.spool.add(batch)
        self.has_blank = self.has_blank or bool((batch.kind == BLANK).any())

    def __call__(self) -> Iterator[tuple[Batch, Any]]:
        """Batches with the marks of their rows, which may be changed."""
        at = 0
        for batch in self.spool.batches():
            yield batch, self.differs[at : at + len(batch)]
            at += len(batch)

    def differences(self, op: int, labels: dict[str, str]) -> Iterator[Batch]:
        """The rows that differ as rows of a patch, with other labels of blank nodes."""
        renamed = Relabeling(labels) if labels else None
        for batch, differs in self():
            if differs.any():
                batch = select(batch, differs, op=op, quads=True)
                yield renamed.apply(batch) if renamed else batch


class _Comparison:
    """Two datasets as sets of statements: give it the Batches of the old one, then those of the new one.

    Where the hashes of all statements fit into memory, one index finds those that both have, and only others are kept.
    Else the hashes go to files, which are compared part by part.
    """

    def __init__(self, memory: int, stack: ExitStack) -> None:
        self._stack = stack
        self._memory = memory
        self._bound = int(memory / INDEX_SHARE)
        self._hasher = RowHasher()
        self._index: RowIndex | None = RowIndex()
        self._sides = [_Side(memory, stack) for _ in (OLD, NEW)]

    def add(self, number: int, batch: Batch) -> None:
        side = self._sides[number]
        hashes = self._hasher(batch)
        if self._index is None:
            side.hashes.add(hashes)
            side.keep(batch)
            return
        numbers, new = self._index.add(hashes)
        if number == NEW:
            gone = self._sides[OLD].differs
            gone[numbers[numbers < len(gone)]] = False
        if new.any():
            side.keep(batch if new.all() else select(batch, new))
        if self._index.nbytes + sum(side.spool.nbytes for side in self._sides) > self._bound:
            for side in self._sides:
                side.spool.spill()
        if self._index.nbytes > self._bound:
            self._leave_memory()

    def end(self, number: int) -> None:
        """All Batches of a dataset have been added: until others say so, all of its rows differ."""
        side = self._sides[number]
        side.differs = marks(side.spool.rows, self._bound, self._stack)
        side.differs[:] = True

    def _leave_memory(self) -> None:
        """Move the hashes into files; rows have in the files the numbers that they have in the spools."""
        assert self._index is not None
        index, self._index = self._index, None
        bounds = 0, self._sides[OLD].spool.rows, len(index)
        for side, start, stop in zip(self._sides, bounds, bounds[1:], strict=False):
            side.hashes = HashFile(self._memory // HASHES_SHARE, self._stack)
            side.hashes.move(index, start, stop)

    def batches(self, match_blank_nodes: bool) -> Iterator[Batch]:
        """The rows that turn the old dataset into the new one: deletions in old order, then additions in new order."""
        old, new = self._sides
        if self._index is None:
            new.differs[:] = False  # `compare` marks those that do, duplicates once
            compare(old.hashes, new.hashes, self._bound, old.differs, new.differs)
        self._index = None
        labels: dict[str, str] = {}
        more: list[Batch] = []
        if match_blank_nodes and old.has_blank and new.has_blank:
            labels, more = rematch(old, new, self._memory)
        yield from old.differences(DELETE, {})
        yield from new.differences(ADD, labels)
        for batch in more:
            yield select(batch, slice(None), op=ADD, quads=True)


def _namespace_changes(old: dict[str, str], new: dict[str, str]) -> list[Operation]:
    """The operations that turn the namespaces of one dataset into those of the other. A namespace that changes is first
    deleted with its old IRI, which the inverse puts back.
    """
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    gone = [DeleteNamespace(name, old[name]) for name in changed if name in old]
    return [*gone, *(AddNamespace(name, new[name]) for name in changed if name in new)]


def _rows(
    old: Any,
    new: Any,
    memory: int,
    namespaces: bool,
    match_blank_nodes: bool,
    stack: ExitStack,
    settings: Mapping[str, Any],
    progress: Progress | None,
    headers: Iterable[Header] = (),
    watch_old: Callable[[Batch], object] | None = None,
) -> Iterator[Batch]:
    """The rows of the patch that `diff` makes. ``stack`` closes the temporary files; ``watch_old`` is called with the
    Batches of ``old``."""
    comparison = _Comparison(memory, stack)
    declared: tuple[dict[str, str], dict[str, str]] = {}, {}

    def read(side: int, source: Any) -> None:
        nonlocal namespaces
        reader = Reader(source, **having(settings, format_of(source, settings.get("format")).reading))
        namespaces = namespaces and reader.format.namespaces
        for batch in reader.watched(progress):
            declared[side].update((name, iri) for _, _, name, iri in batch.namespaces)
            comparison.add(side, batch)
            if side == OLD and watch_old is not None:
                watch_old(batch)
        comparison.end(side)

    read(OLD, old)
    read(NEW, new)
    head = [*headers, Start(), *(_namespace_changes(*declared) if namespaces else ())]
    yield from transaction(head, comparison.batches(match_blank_nodes))


@dataclass(slots=True)
class DiffStat:
    """Counts of the differences between two datasets. It is true if there are any.

    Attributes
    ----------
    added, deleted : int
        Statements that only the new source has, and that only the old one has.
    namespaces : int
        Additions and deletions of namespaces.
    predicates : dict of str to (int, int)
        Of `diff_stat`: how many statements with each predicate, in N-Triples syntax, are added and deleted; most first.
    old : dict of str to int
        Of `diff_stat`: how many statements with each predicate the old source has.
    """

    added: int = 0
    deleted: int = 0
    namespaces: int = 0
    predicates: dict[str, tuple[int, int]] = field(default_factory=dict)
    old: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.added or self.deleted or self.namespaces)

    def _add(self, op: Any) -> None:
        """Count rows of `_rows`: the statements of a Batch all have the same operation."""
        if op[0] == ADD:
            self.added += len(op)
        elif op[0] == DELETE:
            self.deleted += len(op)
        else:
            self.namespaces += int(np.count_nonzero((op == NAMESPACE_ADD) | (op == NAMESPACE_DELETE)))


@overload
def diff(
    old: Any,
    new: Any,
    dst: None = None,
    *,
    memory: int = ...,
    namespaces: bool = ...,
    match_blank_nodes: bool = ...,
    headers: Iterable[Header] = ...,
    progress: Progress | None = ...,
    **settings: Unpack[ReadOptions],
) -> Patch: ...
@overload
def diff(
    old: Any,
    new: Any,
    dst: Any,
    options: PatchOptions | Mapping[str, Any] | None = ...,
    *,
    memory: int = ...,
    namespaces: bool = ...,
    match_blank_nodes: bool = ...,
    headers: Iterable[Header] = ...,
    to: str | None = ...,
    seekable: bool | None = ...,
    progress: Progress | None = ...,
    **settings: Unpack[ReadOptions],
) -> DiffStat: ...
@checked(READING)
def diff(
    old: Any,
    new: Any,
    dst: Any = None,
    options: PatchOptions | Mapping[str, Any] | None = None,
    *,
    memory: int = 1 << 29,
    namespaces: bool = True,
    match_blank_nodes: bool = True,
    headers: Iterable[Header] = (),
    to: str | None = None,
    seekable: bool | None = None,
    progress: Progress | None = None,
    **settings: Unpack[ReadOptions],
) -> Patch | DiffStat:
    """Make the patch that turns the statements of one source into those of another: ``apply(diff(a, b), a) == b``.

    The sources are compared as sets of statements, and blank nodes by their labels. In formats that allow blank nodes
    without a label, such as ``[]`` in Turtle, these get the labels ``anon0``, ``anon1`` and so on by their position. If
    such a node is added or removed, the later ones get other labels and their statements are in the patch too.

    Parameters
    ----------
    old, new : Any
        The old and the new statements, as for `jelly.Reader`.
    dst : Any, optional
        Where the patch is written, as for `PatchWriter`; it is then never in memory as a whole.
    options : PatchOptions or mapping, optional
        Options of a Jelly-Patch output.
    memory : int, default 512 MiB
        Approximate maximum bytes of memory for the comparison. What does not fit goes to temporary files: the
        statements as Jelly, and their 128-bit hashes under a random seed, by which they are compared.
    namespaces : bool, default True
        Also compare namespace declarations, the last one of each prefix, if both formats have them.
    match_blank_nodes : bool, default True
        Match blank nodes by their place in the two datasets where that makes the patch smaller than their labels do.
        The patch then uses the labels of ``old``, and `apply` gives a dataset that is isomorphic to ``new``. Where
        matching takes more than ``memory``, labels count, with a `JellyWarning`; so they do for blank nodes
        that are too much alike. False: only labels count.
    headers : iterable of Header, optional
        Headers of the patch.
    to : str, optional
        Format of the output. By default the suffix decides.
    seekable : bool, optional
        Write keyframes and an index, see `PatchWriter`. By default files have them.
    progress : callable, optional
        See `jelly.convert`. It is called for ``old`` and then for ``new``.
    **settings : Unpack[ReadOptions]
        Keywords of `jelly.Reader`, for both sources, see `ReadOptions`.

    Returns
    -------
    Patch or DiffStat
        The changes, in one transaction: deletions in the order of ``old``, then additions in the order of ``new`` (last
        those of which only the blank nodes are others). With ``dst`` their numbers.

    Notes
    -----
    The patch holds the IRIs of deleted namespaces, for `invert`. RDF Patch and RDF Patch Thrift cannot store these
    IRIs.

    Examples
    --------
    >>> import io
    >>> from jelly.patch import diff
    >>> old, new = b'<a:s> <a:p> "1" .', b'<a:s> <a:p> "2" .'
    >>> [str(operation) for operation in diff(old, new, format="nt")]
    ['TX .', 'D <a:s> <a:p> "1" .', 'A <a:s> <a:p> "2" .', 'TC .']
    >>> diff(old, new, io.BytesIO(), format="nt")
    DiffStat(added=1, deleted=1, namespaces=0, predicates={})
    """
    with ExitStack() as stack:
        rows = _rows(old, new, memory, namespaces, match_blank_nodes, stack, settings, progress, headers)
        if dst is None:
            return patch_of_batches(rows)
        writer = stack.enter_context(PatchWriter(dst, options, format=to, seekable=seekable))
        found = DiffStat()
        for batch in rows:
            writer.add_batch(batch)
            found._add(batch.op)
    return found


@checked(READING)
def diff_stat(
    old: Any,
    new: Any,
    *,
    memory: int = 1 << 29,
    namespaces: bool = True,
    match_blank_nodes: bool = True,
    progress: Progress | None = None,
    **settings: Unpack[ReadOptions],
) -> DiffStat:
    """Count the differences between ``old`` and ``new`` by predicate, with the keywords of `diff`: ``memory``,
    ``namespaces``, ``match_blank_nodes`` and ``progress``.

    Examples
    --------
    >>> from jelly.patch import diff_stat
    >>> diff_stat(b'<a:s> <a:p> "1" .', b'<a:s> <a:p> "2" .\\n<a:s> <a:q> "3" .', format="nt")
    DiffStat(added=2, deleted=1, namespaces=0, predicates={'<a:p>': (1, 1), '<a:q>': (1, 0)})
    """
    found = DiffStat()
    old_counts, added, deleted = Counter[str](), Counter[str](), Counter[str]()
    watch = partial(_count, old_counts)
    with ExitStack() as stack:
        rows = _rows(old, new, memory, namespaces, match_blank_nodes, stack, settings, progress, watch_old=watch)
        for batch in rows:
            found._add(batch.op)
            _count(added, batch, batch.op == ADD)
            _count(deleted, batch, batch.op == DELETE)
    order = sorted((-n, term) for term, n in (added + deleted).items())
    found.predicates = {term: (added[term], deleted[term]) for _, term in order}
    found.old = dict(old_counts)
    return found


def _count(found: Counter[str], batch: Batch, rows: Any = slice(None)) -> None:
    """Count how many of some rows have each predicate; a term may have several ids."""
    counts = np.bincount(batch.p[rows])
    for term in np.flatnonzero(counts).tolist():
        found[batch.term(term)] += int(counts[term])
