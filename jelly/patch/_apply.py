"""Applies patches to files, RDFLib graphs and pyoxigraph stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.operations import AddNamespace, DeleteNamespace
from jelly._formats.native import default_options
from jelly._formats.registry import READING
from jelly._io.reader import Reader, Writer
from jelly._io.settings import checked
from jelly._io.source import Progress
from jelly._options import StreamOptions
from jelly.errors import JellyFormatError, JellyUnsupportedError
from jelly.patch._algebra import held_lines, namespace_key, patch_of_lines, patches_of
from jelly.patch._stream import Patch

__all__ = ["Applied", "apply"]

OnMissing = Literal["ignore", "error"]


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of `apply`.

    Attributes
    ----------
    added : int
        Statements added that were not there before.
    deleted : int
        Statements deleted.
    missing : int
        Deletions that did not match any statement.
    """

    added: int
    deleted: int
    missing: int


class _NetChanges:
    """The net effect of operations on a set of statements, with what they ask of it."""

    def __init__(self, on_missing: OnMissing) -> None:
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
        """Handle a deletion that does not match any statement."""
        if self.strict:
            raise JellyFormatError(f"a deletion does not match any statement: {key.decode().strip()}")
        self.missing += 1

    def batches(self, keys: Iterable[bytes]) -> list[Batch]:
        reader = TextReader(quads=True)
        return [*reader.feed(b"".join(keys)), *reader.close()]


class Target(Protocol):
    """What patches can be applied to, in its own statements."""

    def statements(self, batches: list[Batch]) -> list[Any]: ...
    def has(self, statement: Any) -> bool: ...
    def add(self, statements: list[Any]) -> None: ...
    def remove(self, statements: list[Any]) -> None: ...
    def bind(self, name: str, iri: str) -> None: ...


class _Graph:
    """A Graph or Dataset of RDFLib."""

    def __init__(self, graph: Any) -> None:
        from jelly import rdflib as bridge

        self._graph = graph
        self._places: dict[Any, Any] = {}
        self._library = bridge._library(default=bridge._default_graph(graph), quads=True, place=self._place)

    def _place(self, name: Any) -> Any:
        if not hasattr(self._graph, "graph"):
            raise JellyUnsupportedError(f"the patch names the graph {name.n3()}: apply it to a Dataset, not to a Graph")
        if name not in self._places:
            self._places[name] = self._graph.graph(name)
        return self._places[name]

    def statements(self, batches: list[Batch]) -> list[Any]:
        return list(StatementIterator(batches, self._library))

    def has(self, statement: Any) -> bool:
        return statement[:3] in statement[3]

    def add(self, statements: list[Any]) -> None:
        for s, p, o, graph in statements:
            graph.add((s, p, o))

    def remove(self, statements: list[Any]) -> None:
        for s, p, o, graph in statements:
            graph.remove((s, p, o))

    def bind(self, name: str, iri: str) -> None:
        self._graph.bind(name, iri, replace=True)


class _Store:
    """A Store of pyoxigraph."""

    def __init__(self, store: Any) -> None:
        from jelly import oxigraph as bridge

        self._store = store
        self._library = bridge.library_of()

    def statements(self, batches: list[Batch]) -> list[Any]:
        return list(StatementIterator(batches, self._library))

    def has(self, statement: Any) -> bool:
        return statement in self._store

    def add(self, statements: list[Any]) -> None:
        self._store.extend(statements)

    def remove(self, statements: list[Any]) -> None:
        for statement in statements:
            self._store.remove(statement)

    def bind(self, name: str, iri: str) -> None:
        """A store has no namespaces."""


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


def _apply_to_target(patches: Iterable[Patch], target: Target, on_missing: OnMissing) -> Applied:
    added = deleted = missing = 0
    for patch in patches:
        for lines in _units(patch):
            net = _NetChanges(on_missing)
            net.take(lines)
            # Everything that can go wrong comes before the target is changed.
            keys = list(net.added)
            statements = target.statements(net.batches(keys))
            old: list[Any] = []
            new: list[Any] = []
            for key, statement in zip(keys, statements, strict=True):
                is_there = target.has(statement)
                if not is_there and key in net.needed:
                    net.miss(key)
                if is_there != net.added[key]:
                    (old if is_there else new).append(statement)
            target.remove(old)
            target.add(new)
            for line in net.namespaces.values():
                for operation in patch_of_lines([line]):
                    if isinstance(operation, AddNamespace):
                        target.bind(operation.name, operation.iri.value)
            added, deleted, missing = added + len(new), deleted + len(old), missing + net.missing
    return Applied(added, deleted, missing)


# ---- files


def _new(net: _NetChanges, found: set[bytes]) -> list[bytes]:
    """The statements to be added that were not found."""
    return [key for key, added in net.added.items() if added and key not in found]


def _kept(batch: Batch, net: _NetChanges, found: set[bytes], writer: TextWriter) -> list[bytes] | None:
    """Note which statements of the Batch the patch names; the lines that stay, None where all do."""
    touched: list[bytes] = []
    for chunk in writer.chunks(batch):
        touched += net.added.keys() & set(chunk.splitlines(True))
    found.update(touched)
    if all(net.added[key] for key in touched):
        return None
    return [line for line in writer.encode(batch).splitlines(True) if net.added.get(line, True)]


def _declared(net: _NetChanges) -> dict[str, str | None]:
    """What the patch says of namespaces: their IRIs, None for deleted ones. Files have them without graphs."""
    return {
        operation.name: operation.iri.value if isinstance(operation, AddNamespace) else None
        for operation in patch_of_lines(net.namespaces.values())
        if isinstance(operation, AddNamespace | DeleteNamespace)
    }


def _options(reader: Reader, quads: bool, namespaces: bool) -> StreamOptions:
    """Those of the source, for a flat stream."""
    flat = default_options(4 if quads else 3)
    if reader.options is None:
        # Namespaces may come late, when the version is written already.
        namespaces = namespaces or reader.format.namespaces
    source = reader.options or flat
    return source.replace(
        physical_type=flat.physical_type,
        logical_type=flat.logical_type,
        rdf_star=True,
        version=2 if namespaces else source.version,
    )


def _apply_to_file(
    patches: Iterable[Patch],
    source: Any,
    dst: Any,
    on_missing: OnMissing,
    to_format: str | None,
    progress: Progress | None,
    settings: dict[str, Any],
) -> Applied:
    net = _NetChanges(on_missing)
    for patch in patches:
        net.take(held_lines(patch))
    declared = _declared(net)
    found: set[bytes] = set()
    text = TextWriter(quads=True)
    with Reader(source, **settings) as reader:
        batches = reader.source.watched(reader.batches(), progress)
        batch = next(batches, None)
        quads = batch is not None and batch.arity == 4
        quads = quads or any(part.g is not None and (part.g >= 0).any() for part in net.batches(_new(net, found)))
        with Writer(dst, _options(reader, quads, bool(declared)), format=to_format) as writer:
            for name, iri in declared.items():
                if iri is not None:
                    writer.namespace(name, iri)
            while batch is not None:
                kept = _kept(batch, net, found, text)
                overridden = any(name in declared for _, _, name, _ in batch.namespaces)
                if kept is None and not overridden:
                    writer.add_batch(batch, keep_frames=False)
                else:
                    for _, _, name, iri in batch.namespaces:
                        if name not in declared:
                            writer.namespace(name, iri)
                    for part in net.batches(text.encode(batch).splitlines(True) if kept is None else kept):
                        writer.add_batch(part)
                batch = next(batches, None)
            for key in net.needed - found:
                net.miss(key)
            new = _new(net, found)
            for part in net.batches(new):
                writer.add_batch(part)
    deleted = sum(not net.added[key] for key in found)
    return Applied(len(new), deleted, net.missing)


@checked(READING)
def apply(
    patches: Any,
    target: Any,
    dst: Any = None,
    *,
    on_missing: OnMissing = "ignore",
    to_format: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Applied:
    """Apply patches in order to a file (writing a new one), an RDFLib graph or a pyoxigraph store.

    Datasets are sets: each statement exists once. A transaction takes effect as a whole or, if aborted, not at all.
    With files, memory grows with the patches, not with the file.

    Parameters
    ----------
    patches : Patch, iterable of Patch or Operation, or Any
        The patches, or a source for `read_patches`.
    target : rdflib.Graph, rdflib.Dataset, pyoxigraph.Store or Any
        What to change, or a source for `jelly.Reader`.
    dst : Any, optional
        The output, as for `jelly.Writer`, if ``target`` is a source. It may be the same file.
    on_missing : {"ignore", "error"}, default "ignore"
        What to do if a deletion does not match any statement. With ``"error"`` the transaction leaves the target as it
        was, and no file is written.
    to_format : str, optional
        Format of the output. By default the suffix decides.
    progress : callable, optional
        See `jelly.convert`.
    **settings : Any
        Keywords of `jelly.Reader` for ``target``.

    Returns
    -------
    Applied
        Number of statements added, deleted and not found.

    Raises
    ------
    JellyFormatError
        If ``on_missing`` is ``"error"`` and a deletion does not match any statement.

    Notes ----- Blank nodes are compared by their labels, see `diff`. Namespaces go to an RDFLib graph and to a file
    whose format has them. Deletions of namespaces go only to a file, because RDFLib cannot remove one.

    Examples
    --------
    >>> import io
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Patch, apply
    >>> out = io.BytesIO()
    >>> apply(Patch([Add((IRI("a:s"), IRI("a:p"), IRI("a:o")))]), b"", out, format="nt", to_format="nt")
    Applied(added=1, deleted=0, missing=0)
    >>> out.getvalue()
    b'<a:s> <a:p> <a:o> .\\n'
    """
    if on_missing not in ("ignore", "error"):
        raise ValueError(f'on_missing is {on_missing!r}: expected "ignore" or "error"')
    library = {base.__module__.partition(".")[0] for base in type(target).__mro__} & {"rdflib", "pyoxigraph"}
    if not library:
        if dst is None:
            raise TypeError("a file is not changed in place: pass a destination, which may be the same file")
        return _apply_to_file(patches_of(patches), target, dst, on_missing, to_format, progress, settings)
    if dst is not None or to_format is not None or progress is not None or settings:
        raise TypeError("a graph or store is changed in place: it takes no destination and no settings of files")
    wrapped: Target = _Graph(target) if "rdflib" in library else _Store(target)
    return _apply_to_target(patches_of(patches), wrapped, on_missing)
