"""The rows that match a pattern and conditions, or those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF, Kind
from jelly._dataset.pattern import LanguageRange, Pattern
from jelly._dataset.terms import Ids, Terms
from jelly._formats.filters import Query
from jelly.errors import JellyArgumentError

__all__ = ["Condition", "Selection"]

_KINDS: dict[str, tuple[int, ...]] = {
    "iri": (Kind.IRI,),
    "blank": (Kind.BNODE,),
    "literal": (Kind.LITERAL, Kind.LANG, Kind.TYPED),
    "quoted": (Kind.TRIPLE,),
    "default": (),  # the default graph has no term
}
_PROPERTIES = ("kind", "language", "datatype", "prefix")
_SHORT = {"xsd:": "http://www.w3.org/2001/XMLSchema#", "rdf:": RDF}


class Condition:
    """A condition on one place of a statement: ``o.kind=iri|blank``, ``o.language!=en``.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> <a:o> .', format="nt").batches()
    >>> Condition("o.kind = literal").mask(batch).tolist(), Condition("o.kind != literal").mask(batch).tolist()
    ([True, False], [False, True])
    """

    def __init__(self, text: str) -> None:
        place, equals, values = text.partition("=")
        self.negated: bool = place.endswith("!")
        self.slot, _, self.property = place.removesuffix("!").strip().partition(".")
        self.values: list[str] = [value.strip() for value in values.split("|")]
        if not equals or self.slot not in tuple("spog") or self.property not in _PROPERTIES or not all(self.values):
            raise JellyArgumentError(
                f"{text!r} is not a condition: expected one of s, p, o and g, a dot, one of {', '.join(_PROPERTIES)}, "
                "= or !=, and values with | between them, such as o.kind=iri|blank or o.language!=en"
            )
        for value in self.values:
            if self.property == "kind" and value not in _KINDS:
                raise JellyArgumentError(f"{value!r} is not a kind of term: expected one of {', '.join(_KINDS)}")
            if self.property == "language":
                LanguageRange(value)  # refuses what is none
        if self.property == "datatype":
            self.values = [_datatype(value) for value in self.values]

    def mask(self, batch: Batch) -> Ids:
        """Of each row whether it meets the condition."""
        ids = getattr(batch, self.slot)
        terms = Terms(batch)
        # The default graph has id -1, the last index here. All triples are in it.
        there = np.zeros(batch.n_terms + 1, bool)
        there[-1] = self.property == "kind" and "default" in self.values
        for value in self.values:
            there[self._ids(batch, terms, value)] = True
        found = np.full(len(batch), there[-1]) if ids is None else there[ids]
        return ~found if self.negated else found

    def _ids(self, batch: Batch, terms: Terms, value: str) -> Ids:
        if self.property == "kind":
            return np.flatnonzero(np.isin(batch.kind, _KINDS[value]))
        if self.property == "language":
            return terms.with_language(value)
        if self.property == "datatype":
            return terms.with_datatype(value)
        return terms.with_prefix((Kind.IRI,), value.encode())


def _datatype(value: str) -> str:
    """The IRI of a datatype, written as such, in angle brackets, or with the prefix xsd: or rdf:."""
    if value.startswith("<") and value.endswith(">"):
        return value[1:-1]
    base = _SHORT.get(value[:4])
    return value if base is None else base + value[4:]


class Selection:
    """The rows that match a pattern and meet conditions, or with ``invert`` all others.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> <a:o> .', format="nt").batches()
    >>> Selection(Pattern(p="a:p"), "o.kind = literal").rows(batch).tolist()
    [0]
    """

    needs_all = False

    def __init__(self, pattern: Pattern, where: str | Iterable[str] = (), invert: bool = False) -> None:
        self._pattern = pattern
        self._conditions = [Condition(text) for text in ([where] if isinstance(where, str) else where)]
        self._invert = invert
        self._is_pattern = not (self._conditions or invert)

    def query(self, labels: bool = True) -> Query | None:
        """The query for the filters of a file, see `Pattern`: without conditions, which it does not know."""
        return None if self._invert else self._pattern.query(labels)

    def rows(self, batch: Batch) -> Ids:
        """The numbers of the rows, in order."""
        rows = self._pattern.rows(batch)
        if self._is_pattern:
            return rows
        mask = np.zeros(len(batch), bool)
        mask[rows] = True
        for condition in self._conditions:
            mask &= condition.mask(batch)
        return np.flatnonzero(~mask if self._invert else mask)

    def count(self, batch: Batch) -> int:
        """The number of these rows."""
        return self._pattern.count(batch) if self._is_pattern else len(self.rows(batch))

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            found = self._pattern.select(batch) if self._is_pattern else select(batch, self.rows(batch))
            del batch  # before the next one takes memory
            if len(found):
                yield found
