"""Applies patches to files, RDFLib graphs and pyoxigraph stores."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jelly._bytes.source import Progress
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.operations import AddNamespace
from jelly._dataset.output import look
from jelly._dataset.sources import Sources
from jelly._dataset.stream import Stream
from jelly._formats.registry import READING
from jelly._options.options import ROW_VERSION
from jelly._options.settings import checked
from jelly._streams.outputs import ALL_FIELDS, output_options
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError, JellyUnsupportedError
from jelly.patch._changes import RowHasher, StatementChanges, held, patches_of
from jelly.patch._patch import Patch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

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


class _Graph:
    """A Graph or Dataset of RDFLib."""

    def __init__(self, graph: Any) -> None:
        from jelly.rdflib._terms import default_graph, term_adapter

        self._graph = graph
        self._places: dict[Any, Any] = {}
        self.library = term_adapter(default=default_graph(graph), quads=True, place=self._place)

    def _place(self, name: Any) -> Any:
        if not hasattr(self._graph, "graph"):
            raise JellyUnsupportedError(f"the patch names the graph {name.n3()}: apply it to a Dataset, not to a Graph")
        if name not in self._places:
            self._places[name] = self._graph.graph(name)
        return self._places[name]

    def has(self, statement: Any) -> bool:
        return statement[:3] in statement[3]

    def add(self, statements: list[Any]) -> None:
        for statement in statements:
            statement[3].add(statement[:3])

    def remove(self, statement: Any) -> None:
        statement[3].remove(statement[:3])

    def bind(self, name: str, iri: str) -> None:
        self._graph.bind(name, iri, replace=True)


class _Store:
    """A Store of pyoxigraph."""

    def __init__(self, store: Any) -> None:
        from jelly import oxigraph as bridge

        self.library = bridge.library()
        self.has, self.add, self.remove = store.__contains__, store.extend, store.remove

    def bind(self, name: str, iri: str) -> None:
        """A store has no namespaces."""


def _apply_to_target(patches: Iterable[Patch], target: _Graph | _Store, on_missing: OnMissing) -> Applied:
    added = deleted = missing = 0
    hasher = RowHasher()
    for patch in patches:
        for unit in held(patch, whole=True):
            net = StatementChanges(hasher, on_missing == "error")
            net.take(unit)
            # Everything that can go wrong comes before the target is changed.
            statements = list(StatementIterator(net.statements(np.ones(len(net), np.bool_)), target.library))
            found = np.fromiter(map(target.has, statements), np.bool_, len(net))
            net.miss_needed(found)
            old = np.flatnonzero(found & ~net.added).tolist()
            new = np.flatnonzero(~found & net.added).tolist()
            for number in old:
                target.remove(statements[number])
            # A target may take two statements for one, such as those with a language tag in capitals and without.
            kept = np.flatnonzero(found & net.added).tolist() if old else ()
            new += [number for number in kept if not target.has(statements[number])]
            target.add([statements[number] for number in new])
            for _, operation in net.namespaces.values():
                if isinstance(operation, AddNamespace):
                    target.bind(operation.name, operation.iri.value)
            added, deleted, missing = added + len(new), deleted + len(old), missing + net.missing
    return Applied(added, deleted, missing)


# ---- files


def _apply_to_file(
    patches: Iterable[Patch],
    source: Any,
    dst: Any,
    on_missing: OnMissing,
    to: str | None,
    progress: Progress | None,
    settings: ReadOptions,
) -> Applied:
    net = StatementChanges(RowHasher(), on_missing == "error")
    for patch in patches:
        for unit in held(patch):
            net.take(unit)
    # What the patch says of namespaces: their IRIs, None for deleted ones. Files have them without graphs.
    declared = {
        operation.name: operation.iri.value if isinstance(operation, AddNamespace) else None
        for _, operation in net.namespaces.values()
    }
    added = net.added
    found = np.zeros(len(net), np.bool_)
    given: dict[str, Any] = {"blank_nodes": "keep", **settings}
    reader = Stream(Sources(source, **given), as_is=True)
    batches: Any = reader.watched(progress)
    with closing(batches):
        ahead, arity = look(batches, reader)
        batch: Batch | None
        if any(part.g is not None and (part.g >= 0).any() for part in net.statements(added)):
            arity = 4
        options = output_options(reader.options, arity, flat=True)
        if declared and options.version < ROW_VERSION:
            options = options.replace(version=ROW_VERSION)
        with Writer(dst, options, format=to) as writer:
            # Namespaces may come late, and a pipe cannot be written again.
            is_late = reader.options is None and reader.format.namespaces
            writer.allow(ALL_FIELDS, {"version": ROW_VERSION} if is_late else None)
            for name, iri in declared.items():
                if iri is not None:
                    writer.namespace(name, iri)
            while (batch := ahead.pop(0) if ahead else next(batches, None)) is not None:
                numbers = net.find(batch)
                named = numbers[numbers >= 0]
                found[named] = True
                kept = numbers < 0
                kept[~kept] = added[named]
                if kept.all() and not any(name in declared for _, _, name, _ in batch.namespaces):
                    writer.add_batch(batch, keep_frames=False)
                else:
                    for _, _, name, iri in batch.namespaces:
                        if name not in declared:
                            writer.namespace(name, iri)
                    if kept.any():
                        writer.add_batch(select(batch, kept), keep_frames=False)
                batch = None  # before the next one takes memory
            net.miss_needed(found)
            for part in net.statements(added & ~found):
                writer.add_batch(part)
    return Applied(
        int(np.count_nonzero(added & ~found)), int(np.count_nonzero(found & ~added)), net.missing
    )


@checked(READING)
def apply(
    patches: Any,
    target: Any,
    dst: Any = None,
    *,
    on_missing: OnMissing = "ignore",
    to: str | None = None,
    progress: Progress | None = None,
    **settings: Unpack[ReadOptions],
) -> Applied:
    """Apply patches in order to a file (writing a new one), an RDFLib graph or a pyoxigraph store.

    Datasets are sets: each statement exists once. A transaction takes effect as a whole or, if aborted, not at all.
    With files, memory grows with the patches, not with the file.

    Parameters
    ----------
    patches : Patch, iterable of Patch or Operation, or Any
        The patches, or a source for `read_patches`.
    target : rdflib.Graph, rdflib.Dataset, pyoxigraph.Store or Any
        The dataset to change, or a source for `jelly.Reader`.
    dst : Any, optional
        The output, as for `jelly.Writer`, if ``target`` is a source. It may be the same file.
    on_missing : {"ignore", "error"}, default "ignore"
        Whether a deletion that does not match any statement is an error. The transaction then leaves the target as it
        was, and no file is written.
    to : str, optional
        Format of the output. By default the suffix decides.
    progress : callable, optional
        See `jelly.convert`.
    **settings : Unpack[ReadOptions]
        Keywords of `jelly.Reader` for ``target``, see `ReadOptions`.

    Raises
    ------
    JellyFormatError
        If ``on_missing`` is ``"error"`` and a deletion does not match any statement.

    Notes
    -----
    Blank nodes are compared by their labels, see `diff`. Namespaces go to an RDFLib graph and to a file whose format
    has them. Deletions of namespaces go only to a file, because RDFLib cannot remove one.

    Examples
    --------
    >>> import io
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Patch, apply
    >>> out = io.BytesIO()
    >>> apply(Patch([Add((IRI("a:s"), IRI("a:p"), IRI("a:o")))]), b"", out, format="nt", to="nt")
    Applied(added=1, deleted=0, missing=0)
    >>> out.getvalue()
    b'<a:s> <a:p> <a:o> .\\n'
    """
    library = {base.__module__.partition(".")[0] for base in type(target).__mro__} & {"rdflib", "pyoxigraph"}
    if not library:
        if dst is None:
            raise JellyArgumentError("a file is not changed in place: pass a destination, which may be the same file")
        return _apply_to_file(patches_of(patches), target, dst, on_missing, to, progress, settings)
    if dst is not None or to is not None or progress is not None or settings:
        raise JellyArgumentError(
            "a graph or store is changed in place: it takes no destination and no settings of files"
        )
    wrapped = _Graph(target) if "rdflib" in library else _Store(target)
    return _apply_to_target(patches_of(patches), wrapped, on_missing)
