"""Computations on patches: net effect, inverse, and the difference of two datasets.

All of it works on lines of RDF Patch and N-Quads in canonical form, in which equal statements are equal bytes.
"""

from __future__ import annotations

import re
import tempfile
import uuid
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby, islice
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI
from jelly._core.terms.operations import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Operation,
    OperationBatchBuilder,
    OperationIterator,
    Start,
)
from jelly._formats.registry import READING, format_of, having
from jelly._io.reader import Reader
from jelly._io.settings import checked
from jelly._io.source import Progress
from jelly._options import PatchOptions
from jelly.errors import JellyFormatError
from jelly.patch._stream import Patch, PatchReader, PatchWriter, read_patches

__all__ = ["compact", "diff", "invert", "patches_of", "write_diff"]

# Of write_diff: files that lines are spread over, and what of the memory the bytes of a file's lines may take.
PARTS = 64
SHARE = 6
SPREAD_LINES = 1024

_Namespace = AddNamespace | DeleteNamespace
_NAMESPACE = re.compile(rb'P[AD] "(?:[^"\\]|\\.)*"')


def patches_of(source: Any) -> Iterable[Patch]:
    """A patch, patches, operations of a patch, or what `read_patches` reads, as patches."""
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


def patch_of_lines(chunks: Iterable[bytes], quads: bool = True) -> Patch:
    """The patch of some lines of RDF Patch."""
    patch = Patch(quads=quads)
    for batch in PatchReader(chunks, format="rdfp").batches():
        patch._take_batch(batch)
    return patch


def held_lines(patch: Patch) -> Iterator[bytes]:
    """The lines of a patch that hold: without those of aborted transactions, and without the marks of transactions.

    The lines of a transaction are kept until its end.
    """
    waiting: list[bytes] | None = None
    for chunk in patch.text():
        for line in chunk.splitlines(True):
            if line == b"TX .\n":
                waiting = []
            elif line == b"TA .\n":
                waiting = None
            elif line == b"TC .\n":
                yield from waiting or ()
                waiting = None
            elif waiting is not None:
                waiting.append(line)
            else:
                yield line
    if waiting is not None:
        raise JellyFormatError("the patch ends inside a transaction")


def held_operations(operations: Iterable[Operation]) -> Iterator[Operation]:
    """The operations that hold, as `held_lines` has the lines."""
    waiting: list[Operation] | None = None
    for operation in operations:
        if isinstance(operation, Start):
            waiting = []
        elif isinstance(operation, Abort | Commit):
            yield from (waiting or ()) if isinstance(operation, Commit) else ()
            waiting = None
        elif waiting is None:
            yield operation
        else:
            waiting.append(operation)
    if waiting is not None:
        raise JellyFormatError("the patch ends inside a transaction")


def held_namespaces(patch: Patch) -> Iterator[_Namespace]:
    """The operations on namespaces that hold, with the IRIs of deleted ones, which lines do not have."""
    if patch.count(4) + patch.count(5) == 0:
        return
    # Those of namespaces and transactions are 4 to 8.
    rows = (
        (terms, row, row + 1)
        for terms, op in ((Materializer(batch), np.asarray(batch.op)) for batch in patch.batches())
        for row in np.flatnonzero((op >= Op.NAMESPACE_ADD) & (op <= Op.ABORT)).tolist()
    )
    for operation in held_operations(OperationIterator(rows)):
        if isinstance(operation, AddNamespace | DeleteNamespace):
            yield operation


def _joined(*patches: Patch) -> Patch:
    """One patch of the rows of several."""
    joined = Patch()
    for patch in patches:
        for batch in patch.batches():
            joined._take_batch(batch)
    return joined


def _end_batches() -> Iterator[Batch]:
    """The rows that end a transaction which other rows began."""
    collector = OperationBatchBuilder(4)
    collector.add(Commit())
    yield collector.batch


def namespace_key(line: bytes) -> tuple[bytes, bytes]:
    """Name and graph of a PA or PD line."""
    match = _NAMESPACE.match(line)
    if match is None:
        raise JellyFormatError(f"not a namespace of a patch: {line!r:.200}")
    rest = line[match.end() : -3]
    if line.startswith(b"PA"):
        rest = rest[rest.index(b">") + 1 :]
    return match[0][3:], rest.strip()


def compact(patches: Any) -> Patch:
    """Merge patches into one with the same net effect. Operations that later ones override are left out.

    Aborted transactions are left out, and deletions come first. Memory grows with the number of different statements.

    Parameters
    ----------
    patches : Patch, iterable of Patch, or Any
        The patches in order, or a source for `read_patches`.

    Returns
    -------
    Patch
        The merged patch. Its headers are those of the last patch that has them; ``prev`` is that of the first patch.

    Notes ----- A statement that is added and then deleted is deleted in the result too, because it may have existed
    before the first patch. If it did not, `apply` counts it as missing, and ``on_missing="error"`` rejects it.

    Examples
    --------
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Delete, Patch, compact
    >>> x, y = (IRI("a:s"), IRI("a:p"), IRI("a:x")), (IRI("a:s"), IRI("a:p"), IRI("a:y"))
    >>> [str(operation) for operation in compact([Patch([Add(x), Delete(y)]), Patch([Delete(x)])])]
    ['TX .', 'D <a:s> <a:p> <a:x> .', 'D <a:s> <a:p> <a:y> .', 'TC .']
    """
    statements: dict[bytes, bool] = {}
    namespaces: dict[Any, tuple[_Namespace, _Namespace]] = {}  # the first and the last of each
    headers: dict[str, Header] = {}
    first_prev: Header | None = None
    for number, patch in enumerate(patches_of(patches)):
        for header in patch.headers:
            headers[header.key.lower()] = header
            if number == 0 and header.key.lower() == "prev":
                first_prev = header
        for line in held_lines(patch):
            if line[0] in b"AD":
                # Where a later operation overrides it, the statement keeps the place of the first.
                statements[line[2:]] = line[0] == 65  # A
        for operation in held_namespaces(patch):
            key = operation.name, operation.graph
            namespaces[key] = namespaces.get(key, (operation, operation))[0], operation
    headers.pop("prev", None)
    if first_prev is not None:
        headers["prev"] = first_prev
    gone: list[Operation] = []
    declared: list[Operation] = []
    for first, last in namespaces.values():
        # A deletion that comes first tells the IRI that was there before.
        if isinstance(first, DeleteNamespace) and (first.iri is not None or last is first):
            gone.append(first)
        elif isinstance(last, DeleteNamespace):
            gone.append(last)
        if isinstance(last, AddNamespace):
            declared.append(last)
    lines = [b"D " + line for line, added in statements.items() if not added]
    lines += [b"A " + line for line, added in statements.items() if added]
    made = _joined(Patch([*headers.values(), Start(), *gone, *declared]), patch_of_lines(lines))
    for batch in _end_batches():
        made._take_batch(batch)
    return made


def invert(patch: Patch) -> Patch:
    """Make the patch that undoes another one: its operations in reverse order, each replaced by its opposite.

    This is exact only if each operation changed something, as in the patches of `diff`.

    Parameters
    ----------
    patch : Patch
        The patch to undo. Aborted transactions are left out.

    Returns
    -------
    Patch
        The inverse. Its ``prev`` is the ``id`` of the other patch, its ``id`` a new one.

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
    operations = (operation for operation in patch if not isinstance(operation, Header))
    held = list(held_operations(map(_inverse, operations)))
    headers = [header for header in patch.headers if header.key.lower() not in ("id", "prev")]
    if patch.id is not None:
        headers = [Header("id", IRI(f"uuid:{uuid.uuid4()}")), Header("prev", patch.id), *headers]
    body = [Start(), *held[::-1], Commit()] if patch.count(6) else held[::-1]
    return Patch([*headers, *body], quads=patch.quads)


def _inverse(operation: Operation) -> Operation:
    match operation:
        case Add(statement):
            return Delete(statement)
        case Delete(statement):
            return Add(statement)
        case AddNamespace(name, iri, graph):
            return DeleteNamespace(name, iri, graph)
        case DeleteNamespace(name, iri, graph) if iri is not None:
            return AddNamespace(name, iri, graph)
        case Start() | Commit() | Abort():
            return operation
    raise JellyFormatError(f"cannot be undone, as the patch does not tell the IRI: {operation}")


# ---- difference


class _Lines:
    """Lines of two datasets spread over parts by their subjects, those of equal subjects together.

    What is kept in memory is bounded: above that, everything so far goes to a file for each part and side.
    """

    def __init__(self, memory: int, stack: ExitStack, parts: int = PARTS) -> None:
        self._stack = stack
        self._memory = memory
        self._waiting: list[list[list[bytes]]] = [[[] for _ in range(parts)] for _ in range(2)]
        self._files: list[list[Any]] = [[None] * parts for _ in range(2)]
        self._size = 0
        self.parts = parts

    def add(self, side: int, lines: Iterable[bytes], whole: bool = False) -> None:
        waiting, parts, crc32 = self._waiting[side], self.parts, zlib.crc32
        for line in lines:
            # The subject of a line ends at its first space, unless it is a quoted triple; equal lines meet anyhow.
            key = line if whole else line[: line.index(b" ")]
            waiting[crc32(key) % parts].append(line)
            self._size += len(line)
        if self._size > self._memory:
            self._spill()

    def _spill(self) -> None:
        for side in range(2):
            for part, lines in enumerate(self._waiting[side]):
                if lines:
                    if self._files[side][part] is None:
                        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the stack
                        self._files[side][part] = self._stack.enter_context(file)
                    self._files[side][part].writelines(lines)
                    lines.clear()
        self._size = 0

    def read(self, side: int, part: int) -> Iterator[bytes]:
        """The lines of a part; duplicates are kept."""
        file = self._files[side][part]
        if file is not None:
            file.seek(0)
            yield from file
        yield from self._waiting[side][part]

    def size(self, part: int) -> int:
        files = (self._files[side][part] for side in range(2))
        return sum(file.tell() for file in files if file is not None)


def _differences(lines: _Lines, memory: int, whole: bool = False) -> Iterator[list[bytes]]:
    """The lines of the difference, as those of a patch, part by part."""
    for part in range(lines.parts):
        if lines.size(part) > memory and not whole:
            # One subject has too many statements to be compared at once: spread them once more, by all of the line.
            with ExitStack() as stack:
                inner = _Lines(memory, stack, parts=min(4 * PARTS, 2 * lines.size(part) // memory))
                for side in range(2):
                    read = lines.read(side, part)
                    while some := list(islice(read, SPREAD_LINES)):
                        inner.add(side, some, whole=True)
                yield from _differences(inner, memory, whole=True)
            continue
        old, new = set(lines.read(0, part)), set(lines.read(1, part))
        yield [b"D " + line for line in sorted(old - new)] + [b"A " + line for line in sorted(new - old)]


def _statement_lines(
    reader: Reader, namespaces: dict[str, str], progress: Progress | None
) -> Iterator[list[bytes]]:
    """The lines of the statements; on the way, the last IRI that each namespace is declared with."""
    writer = TextWriter(quads=True)
    for batch in reader.source.watched(reader.batches(), progress):
        namespaces.update((name, iri) for _, _, name, iri in batch.namespaces)
        for chunk in writer.chunks(batch):
            yield chunk.splitlines(True)


def _namespace_changes(old: dict[str, str], new: dict[str, str]) -> list[Operation]:
    """The operations that make the namespaces of one those of the other. One that changes is deleted with its old IRI
    first, which the inverse puts back."""
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    gone = [DeleteNamespace(name, old[name]) for name in changed if name in old]
    return [*gone, *(AddNamespace(name, new[name]) for name in changed if name in new)]


def _diff_batches(
    old: Any,
    new: Any,
    memory: int,
    namespaces: bool,
    stack: ExitStack,
    settings: dict[str, Any],
    progress: Progress | None = None,
) -> Iterator[Batch]:
    bound = max(memory // SHARE, 1)
    lines = _Lines(bound, stack)
    declared: tuple[dict[str, str], dict[str, str]] = {}, {}
    for side, source in enumerate((old, new)):
        reader = Reader(source, **having(settings, format_of(source, settings.get("format")).reading))
        namespaces = namespaces and reader.format.namespaces
        for some in _statement_lines(reader, declared[side], progress):
            lines.add(side, some)
    yield from Patch([Start(), *(_namespace_changes(*declared) if namespaces else ())]).batches()
    text = TextReader(quads=True, patch=True)
    for some in _differences(lines, bound):
        yield from text.feed(b"".join(some))
    yield from text.close()
    yield from _end_batches()


@checked(READING)
def diff(old: Any, new: Any, *, memory: int = 1 << 29, namespaces: bool = True, **settings: Any) -> Patch:
    """Make the patch that turns the statements of one source into those of another: ``apply(diff(a, b), a) == b``.

    The sources are compared as sets of statements, and blank nodes by their labels. In formats that allow blank nodes
    without a label, such as ``[]`` in Turtle, these get the labels ``anon0``, ``anon1`` and so on by their position. If
    such a node is added or removed, the later ones get other labels and their statements are in the patch too.

    Parameters
    ----------
    old : Any
        The old statements, as for `jelly.Reader`.
    new : Any
        The new statements, as for `jelly.Reader`.
    memory : int, default 512 MiB
        Approximate maximum bytes of memory for the comparison, see `write_diff`.
    namespaces : bool, default True
        Also compare namespace declarations, the last one of each prefix, if both formats have them.
    **settings : Any
        Keywords of `jelly.Reader`, for both sources.

    Returns
    -------
    Patch
        The changes, in one transaction. Use `write_diff` for a patch that does not fit into memory.

    Notes ----- The patch holds the IRIs of deleted namespaces, for `invert`. RDF Patch and RDF Patch Thrift cannot
    store these IRIs.

    Examples
    --------
    >>> from jelly.patch import diff
    >>> old, new = b'<a:s> <a:p> "1" .', b'<a:s> <a:p> "2" .'
    >>> [str(operation) for operation in diff(old, new, format="nt")]
    ['TX .', 'D <a:s> <a:p> "1" .', 'A <a:s> <a:p> "2" .', 'TC .']
    """
    with ExitStack() as stack:
        patch = Patch()
        for batch in _diff_batches(old, new, memory, namespaces, stack, settings):
            patch._take_batch(batch)
        return patch


@checked(READING)
def write_diff(
    dst: Any,
    old: Any,
    new: Any,
    options: PatchOptions | None = None,
    *,
    memory: int = 1 << 29,
    namespaces: bool = True,
    headers: Iterable[Header] = (),
    to_format: str | None = None,
    seekable: bool = False,
    progress: Progress | None = None,
    counted: Counter[int] | None = None,
    **settings: Any,
) -> int:
    """Write the result of `diff` without holding it in memory.

    The statements are distributed as lines over temporary files by a hash of their subjects, and the files of both
    sources are compared pair by pair.

    Parameters
    ----------
    dst : Any
        The output, as for `PatchWriter`.
    old : Any
        The old statements, as for `jelly.Reader`.
    new : Any
        The new statements, as for `jelly.Reader`.
    options : PatchOptions, optional
        Options of Jelly-Patch.
    memory : int, default 512 MiB
        Approximate maximum bytes of memory. Lines take at most a sixth of it, because Python adds to each of them.
    namespaces : bool, default True
        Also compare namespace declarations.
    headers : iterable of Header, optional
        Headers of the patch.
    to_format : str, optional
        Format of the output. By default the suffix decides.
    seekable : bool, default False
        Write keyframes and an index, see `PatchWriter`.
    progress : callable, optional
        See `jelly.convert`. It is called for ``old`` and then for ``new``.
    counted : collections.Counter, optional
        Gets the number of rows by operation, see `Patch.batches`.
    **settings : Any
        Keywords of `jelly.Reader`, for both sources.

    Returns
    -------
    int
        Number of rows written.

    Examples
    --------
    >>> import io
    >>> write_diff(io.BytesIO(), b"", b"<a:s> <a:p> <a:o> .", format="nt")
    3
    """
    with ExitStack() as stack, PatchWriter(dst, options, format=to_format, seekable=seekable) as writer:
        writer.extend(headers)
        for batch in _diff_batches(old, new, memory, namespaces, stack, settings, progress):
            writer.add_batch(batch)
            if counted is not None:
                counted.update(np.asarray(batch.op).tolist())
    return writer.operations
