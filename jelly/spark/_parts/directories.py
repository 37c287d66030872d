"""Directories that are partitions, as in Hive: ``graph=http%3A%2F%2Fexample.org%2Fg/``, ``day=2026-01-31/``.

A directory with the name of a subject, predicate or graph says something of the statements of its files. Statements
without a graph get the graph of their directory. Statements that say another thing than their directory are an error:
else a filter would find them or not, whether it leaves out files or rows. Other names can be columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np

from jelly._bytes.names import is_url
from jelly._core.algebra.graph_names import name_default_graph
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._dataset.conditions.pattern import OfKinds, Pattern
from jelly._dataset.conditions.terms import Ids
from jelly._options.layouts import LAYOUTS, Layout
from jelly.errors import JellyError, JellyFormatError

__all__ = ["NONE", "Directories", "Said", "in_directories"]

# The name that Hive and Spark write where the value is null.
_NULL = "__HIVE_DEFAULT_PARTITION__"

_MAGIC = re.compile(r"[*?\[]")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_SLOTS = {"subject": "s", "predicate": "p", "graph": "g"}
# The slot and the syntax of the value of a directory, by its name.
_NAMES = {
    name: (_SLOTS[part], layout.syntax)
    for layout in LAYOUTS.values()
    for name, part in layout.columns.items()
    if part in _SLOTS
}

Term = tuple[int, str]  # kind and text
Value = str | None
Said = tuple[tuple[str, Term | None], ...]  # of directories: for s, p or g its term; None is the default graph


@dataclass(frozen=True, slots=True)
class Directories:
    """The columns that the directories of files add.

    ``bases`` are the paths or URLs below which names of directories count. With ``terms`` they say what the
    statements are; ``columns`` are the names of those that are columns.

    >>> places = Directories(("data",), columns=("day",))
    >>> path = "data/day=2026-01-31/graph=http%3A%2F%2Fexample.org%2F/a.nt"
    >>> places.values(path)
    {'day': '2026-01-31', 'graph': 'http://example.org/'}
    >>> places.shown(path, "ntriples")
    {'day': '2026-01-31', 'g': '<http://example.org/>'}
    """

    bases: tuple[str, ...] = ()
    terms: bool = True
    columns: tuple[str, ...] = ()

    def values(self, path: str) -> dict[str, Value]:
        """The values of the directories of a file, by their names."""
        names = _names(path)[:-1]
        # The first of several that are above the file.
        roots = [root for root in map(_root, self.bases) if names[: len(root)] == root]
        below = names[min(map(len, roots)) :] if roots else []
        if path.startswith("http"):
            below = [unquote(name) for name in below]  # an address has an encoding of its own
        pairs = [name.split("=", 1) for name in below if "=" in name]
        return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}

    def said(self, path: str) -> Said:
        """The terms that all statements of a file have. JellyError if a directory names no term."""
        found: dict[str, Term | None] = {}
        for name, value in self.values(path).items() if self.terms else ():
            slot, syntax = _NAMES.get(name, ("", ""))
            if not slot or (value is None and slot != "g"):
                continue
            term = None if value is None else _term(value, syntax)
            if (value is not None and term is None) or found.get(slot, term) != term:
                raise JellyError(
                    f"the directory {name}={value} names no term of its statements: expected an IRI or a blank node; "
                    'option("partitions", "false") reads the files without their directories',
                    source=path,
                )
            found[slot] = term
        return tuple(found.items())

    def shown(self, path: str, layout: Layout) -> dict[str, Value]:
        """The values of columns that are the same for all rows of a file."""
        found: dict[str, Value] = {name: self.values(path).get(name) for name in self.columns}
        for slot, term in self.said(path):
            part = next(part for part, known in _SLOTS.items() if known == slot)
            found[LAYOUTS[layout].column(part)] = None if term is None else _text(term, LAYOUTS[layout].syntax)
        return found

    def allows(self, path: str, layout: Layout, wanted: Mapping[str, Collection[Value]]) -> bool:
        """Whether a file may have rows whose columns have one of some values each."""
        known = self.shown(path, layout) if wanted else {}
        return all(known[name] in values for name, values in wanted.items() if name in known)

    def chosen(self, path: str, wanted: Mapping[str, Collection[str]]) -> bool:
        """Whether the directories of a file have one of the wanted values each."""
        known = self.values(path) if wanted else {}
        return all(known.get(name) in values for name, values in wanted.items())


NONE = Directories(terms=False)


def in_directories(
    said: Said, path: str, batches: Iterable[Batch], errors: list[JellyError] | None
) -> Iterator[Batch]:
    """The Batches of a file with what its directories have said: statements without a graph get it.

    JellyFormatError for statements that say another thing; with ``errors`` these are left out, and one error is noted
    for those of a Batch.
    """
    for batch in batches:
        for slot, term in said:
            if slot == "g" and term is not None:
                batch = name_default_graph(batch, term[0], term[1].encode())
            if term is None:
                rows = np.arange(len(batch)) if batch.g is None else np.flatnonzero(batch.g < 0)
            else:
                wanted: dict[str, OfKinds] = {slot: OfKinds((term[0],), term[1])}
                rows = Pattern(**wanted).rows(batch)  # type: ignore[arg-type]
            if len(rows) < len(batch):
                error = _difference(batch, slot, rows, term, path)
                if errors is None:
                    raise error
                errors.append(error)
                batch = select(batch, rows)
        yield batch
        del batch  # before the next one takes memory


def _difference(batch: Batch, slot: str, rows: Ids, term: Term | None, path: str) -> JellyError:
    """The error for the rows that are not among ``rows``."""
    others = np.setdiff1d(np.arange(len(batch)), rows)
    id = int(getattr(batch, slot)[others[0]])
    part = next(part for part, known in _SLOTS.items() if known == slot)
    says = "the default graph" if term is None else _text(term, "ntriples")
    has = "none" if id < 0 else batch.term(id)
    return JellyFormatError(
        f"the {part} of {len(others)} statements is not that of their directory, {says}: the first has {has}",
        row=batch.first_row + int(others[0]),
        source=path,
    )


def _names(path: str) -> list[str]:
    """The parts of a path or URL, without its scheme."""
    path = path.rpartition("://")[2] if is_url(path) else path.replace("\\", "/")
    return [name for name in path.split("/") if name]


def _root(base: str) -> list[str]:
    """The parts of a path, or of what stands before the wildcards of a pattern."""
    fixed = _MAGIC.split(base)[0]
    return _names(fixed if fixed == base else fixed.rpartition("/")[0])


def _term(value: str, syntax: str) -> Term | None:
    if value.startswith("_:") and len(value) > 2:
        return Kind.BNODE, value[2:]
    if syntax == "ntriples":
        if not value.startswith("<") or not value.endswith(">"):
            return None
        value = value[1:-1]
    return (Kind.IRI, value) if _IRI.fullmatch(value) else None


def _text(term: Term, syntax: str) -> str:
    kind, text = term
    if kind == Kind.BNODE:
        return f"_:{text}"
    return f"<{text}>" if syntax == "ntriples" else text
