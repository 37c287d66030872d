"""Statements and property paths as relations of SQL with the columns s and o, and g within GRAPH ?g."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, SequencePath

from jelly.rdflib._query.syntax import Untranslated, rdflib

_LONGEST = 1 << 18  # characters of SQL: what is repeated is there twice


def _parts(path: Any) -> list[Any]:
    """The paths that a path is made of."""
    if hasattr(path, "args"):
        return [*path.args]
    return [path.arg if isinstance(path, InvPath) else path.path]


def is_nullable(path: Any) -> bool:
    """Whether a path, or the term in its place, may have no steps."""
    if isinstance(path, (rdflib.term.Identifier, NegatedPath)):
        return False
    each = map(is_nullable, _parts(path))
    return bool(getattr(path, "zero", False)) or (all(each) if isinstance(path, SequencePath) else any(each))


def predicates_of(path: Any) -> list[Any] | None:
    """The predicates that the steps of a path may have; None if they may have any."""
    if isinstance(path, rdflib.URIRef):
        return [path]
    if isinstance(path, NegatedPath):
        return None
    found = [predicates_of(part) for part in _parts(path)]
    return None if None in found else [term for each in found for term in each or ()]


class Paths:
    """Makes relations of paths in one graph, or in each named graph where ``g`` is a column.

    ``source`` is the relation of the statements, ``number`` gives the number of an IRI.
    """

    def __init__(self, source: str, has_graph: bool, number: Callable[[Any], int]) -> None:
        self._source = source
        self._graph = ", g" if has_graph else ""
        self._number = number
        self._names = count()

    def of(self, path: Any, start: str | None = None, end: str | None = None) -> str:
        """The relation of a path.

        ``start`` and ``end`` are relations with a column s: the terms that alone are asked for at that end. They are
        used where that saves work, so that the relation may have other rows, too.
        """
        made = self._of(path, start, end)
        if len(made) > _LONGEST:
            raise Untranslated("the length of its paths")
        return made

    def _of(self, path: Any, start: str | None, end: str | None) -> str:
        g = self._graph
        if isinstance(path, rdflib.URIRef):
            return f"(SELECT s, o{g} FROM {self._source} WHERE p = {self._number(path)})"
        if isinstance(path, InvPath):
            return f"(SELECT o AS s, s AS o{g} FROM {self.of(path.arg, end, start)})"
        if isinstance(path, AlternativePath):
            parts = [f"SELECT s, o{g} FROM {self.of(each, start, end)}" for each in path.args]
            return f"({' UNION ALL '.join(parts)})"
        if isinstance(path, SequencePath):
            if start is None and end is not None:
                inverse = SequencePath(*(InvPath(each) for each in reversed(path.args)))
                return f"(SELECT o AS s, s AS o{g} FROM {self.of(inverse, end)})"
            made = self.of(path.args[0], start)
            for each in path.args[1:]:
                # Nodes that no statement has lead to themselves, too.
                begun = None if start is None or not is_nullable(each) else f"(SELECT DISTINCT o AS s FROM {made})"
                if len(made) > _LONGEST:
                    break
                last = self.of(each, begun)
                graph = ", a.g AS g" if g else ""
                same = " AND a.g = b.g" if g else ""
                made = f"(SELECT a.s AS s, b.o AS o{graph} FROM {made} a JOIN {last} b ON a.o = b.s{same})"
            return made
        if isinstance(path, NegatedPath):
            return self._negated(path)
        if isinstance(path, MulPath):
            if start is None and end is not None:
                return f"(SELECT o AS s, s AS o{g} FROM {self._repeated(path, end, is_inverse=True)})"
            return self._repeated(path, start)
        raise Untranslated(f"a path of the class {type(path).__name__}")

    def _negated(self, path: Any) -> str:
        if not all(isinstance(each, rdflib.URIRef) for each in path.args):
            raise Untranslated("an inverse path in a negated set")  # which RDFLib does not parse
        numbers = ", ".join(str(self._number(each)) for each in path.args)
        return f"(SELECT s, o{self._graph} FROM {self._source} WHERE p NOT IN ({numbers}))"

    def _repeated(self, path: Any, start: str | None, is_inverse: bool = False) -> str:
        """The pairs of a path that is repeated, each once."""
        g = self._graph
        step = self.of(InvPath(path.path) if is_inverse else path.path)
        begun = f"SELECT s, o{g} FROM {step}" + (f" WHERE s IN (FROM {start})" if start else "")
        if path.mod == "?":
            made = begun
        else:
            name, graph, same = f"r{next(self._names)}_{id(self)}", "", ""
            if g:
                graph, same = ", a.g", " AND a.g = b.g"
            made = (
                f"FROM (WITH RECURSIVE {name}(s, o{g}) AS ({begun} UNION "
                f"SELECT a.s, b.o{graph} FROM {name} a JOIN {step} b ON a.o = b.s{same}) FROM {name})"
            )
        if path.mod == "+" and not is_nullable(path.path):
            return f"({made})"
        if start is None:
            zero = f"SELECT s, s AS o{g} FROM {self._source} UNION SELECT o, o{g} FROM {self._source}"
        else:
            graphs = ", graphs" if g else ""
            zero = f"SELECT s, s AS o{g} FROM {start} nodes{graphs}"
        return f"({zero} UNION SELECT s, o{g} FROM ({made}))"
