"""Patches by lines of text: what the algebra of patches was before it worked on Batches, kept as the oracle.

All of it works on lines of RDF Patch and N-Quads in canonical form, in which equal statements are equal bytes. It is
slow, holds all lines in memory, and knows nothing of `jelly._core.algebra`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jelly._core.ntriples.text import TextWriter
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.operations import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Operation,
    OperationIterator,
    Start,
)
from jelly._streams.reader import Reader
from jelly.errors import JellyFormatError
from jelly.patch import Applied, Patch, PatchReader

NAMESPACE = re.compile(rb'P[AD] "(?:[^"\\]|\\.)*"')


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


def held_namespaces(patch: Patch) -> Iterator[AddNamespace | DeleteNamespace]:
    """The operations on namespaces that hold, with the IRIs of deleted ones, which lines do not have."""
    if patch.count(4) + patch.count(5) == 0:
        return
    # Those of namespaces and transactions are 4 to 8.
    rows = (
        (terms, row, row + 1)
        for terms, op in ((Materializer(batch), np.asarray(batch.op)) for batch in patch.batches())
        for row in np.flatnonzero((op >= 4) & (op <= 8)).tolist()
    )
    for operation in held_operations(OperationIterator(rows)):
        if isinstance(operation, AddNamespace | DeleteNamespace):
            yield operation


def namespace_key(line: bytes) -> tuple[bytes, bytes]:
    """Name and graph of a PA or PD line."""
    match = NAMESPACE.match(line)
    if match is None:
        raise JellyFormatError(f"not a namespace of a patch: {line!r:.200}")
    rest = line[match.end() : -3]
    if line.startswith(b"PA"):
        rest = rest[rest.index(b">") + 1 :]
    return match[0][3:], rest.strip()


def compact(patches: Iterable[Patch]) -> list[Operation]:
    """The operations of `jelly.patch.compact`; the statements in the order in which they are first named."""
    statements: dict[bytes, bool] = {}
    namespaces: dict[Any, tuple[Operation, Operation]] = {}  # the first and the last of each
    headers: dict[str, Header] = {}
    first_prev: Header | None = None
    for number, patch in enumerate(patches):
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
    return [*headers.values(), Start(), *gone, *declared, *patch_of_lines(lines), Commit()]


def invert(patch: Patch) -> list[Operation]:
    """The operations of `jelly.patch.invert`, without headers."""
    operations = (operation for operation in patch if not isinstance(operation, Header))
    held = list(held_operations(map(_inverse, operations)))
    return [Start(), *held[::-1], Commit()] if patch.count(6) else held[::-1]


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
    raise JellyFormatError(f"cannot be undone, as the patch does not have the IRI: {operation}")


def lines_of(source: Any, **settings: Any) -> list[bytes]:
    """The statements as lines, in their order."""
    writer = TextWriter(quads=True)
    return [line for batch in Reader(source, **settings).batches() for line in writer.encode(batch).splitlines(True)]


def diff(old: Any, new: Any, **settings: Any) -> tuple[list[bytes], list[bytes]]:
    """The lines that are deleted and those that are added, each in the order of its side."""
    before, after = (dict.fromkeys(lines_of(source, **settings)) for source in (old, new))
    return [line for line in before if line not in after], [line for line in after if line not in before]


class _NetChanges:
    """The net effect of operations on a set of statements, with what they ask of it."""

    def __init__(self, on_missing: str) -> None:
        self.added: dict[bytes, bool] = {}  # line of the statement -> whether it is there afterwards
        self.needed: set[bytes] = set()  # deleted first: must have been there
        self.namespaces: dict[Any, bytes] = {}
        self.strict = on_missing == "error"
        self.missing = 0

    def take(self, lines: Iterable[bytes]) -> None:
        added = self.added
        for line in lines:
            kind = line[0]
            if kind == 65:  # A
                added[line[2:]] = True
            elif kind == 68:  # D
                key = line[2:]
                known = added.get(key)
                if known is None:
                    self.needed.add(key)
                elif not known:
                    self.miss(key)
                added[key] = False
            elif kind == 80:  # P
                self.namespaces[namespace_key(line)] = line

    def miss(self, key: bytes) -> None:
        """A statement to be deleted is not there."""
        if self.strict:
            raise JellyFormatError(f"a deletion does not match any statement: {key.decode().strip()}")
        self.missing += 1


def _units(patch: Patch) -> Iterator[list[bytes]]:
    """The lines of a patch by transaction; those outside of one together until the next begins. Aborted ones are left
    out."""
    lines: list[bytes] = []
    inside = False
    for chunk in patch.text():
        for line in chunk.splitlines(True):
            if line in (b"TX .\n", b"TC .\n"):
                yield lines
                lines, inside = [], line == b"TX .\n"
            elif line == b"TA .\n":
                lines, inside = [], False
            else:
                lines.append(line)
    if inside:
        raise JellyFormatError("the patch ends inside a transaction")
    yield lines


def apply_to_file(patches: Iterable[Patch], lines: list[bytes], on_missing: str) -> tuple[list[bytes], Applied]:
    """The lines of a file after the patches, and the counts; JellyFormatError as `jelly.patch.apply` has it."""
    net = _NetChanges(on_missing)
    for patch in patches:
        net.take(held_lines(patch))
    found = {line for line in lines if line in net.added}
    kept = [line for line in lines if net.added.get(line, True)]
    for key in net.needed - found:
        net.miss(key)
    new = [key for key, added in net.added.items() if added and key not in found]
    return kept + new, Applied(len(new), sum(not net.added[key] for key in found), net.missing)


def apply_to_set(patches: Iterable[Patch], there: set[bytes], on_missing: str) -> Applied:
    """Apply patches to a set of lines in its place, transaction by transaction, as to a store."""
    added = deleted = missing = 0
    for patch in patches:
        for lines in _units(patch):
            net = _NetChanges(on_missing)
            net.take(lines)
            for key in net.needed - there:
                net.miss(key)
            old = {key for key, after in net.added.items() if not after and key in there}
            new = {key for key, after in net.added.items() if after and key not in there}
            there -= old
            there |= new
            added, deleted, missing = added + len(new), deleted + len(old), missing + net.missing
    return Applied(added, deleted, missing)
