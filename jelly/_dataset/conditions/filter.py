"""The rows that match a pattern and conditions, or those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF
from jelly._core.base.kinds import Kind, kinds_of
from jelly._core.terms.model import DefaultGraph
from jelly._dataset.conditions.pattern import Datatype, IRIPrefix, LanguageRange, OfKinds, Pattern, Place, Rows
from jelly._dataset.conditions.terms import Ids, Terms
from jelly._formats.filters import Query
from jelly.errors import JellyArgumentError

_KINDS: dict[str, tuple[int, ...]] = {
    "iri": (Kind.IRI,),
    "blank": (Kind.BNODE,),
    "literal": kinds_of("literal"),
    "quoted": kinds_of("triple"),
    "default": (),  # which has no term
}
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
        if self.property == "datatype":
            self.values = [_datatype(value) for value in self.values]
        for value in self.values:
            if self.property == "kind" and value not in _KINDS:
                raise JellyArgumentError(f"{value!r} is not a kind of term: expected one of {', '.join(_KINDS)}")
        self._place = Place(tuple(map(_PROPERTIES[self.property], self.values)))

    def mask(self, batch: Batch) -> Ids:
        """Of each row whether it meets the condition."""
        found = self._place.mask(batch, self.slot, Terms(batch))
        return ~found if self.negated else found


def _of_kind(value: str) -> Any:
    return DefaultGraph() if value == "default" else OfKinds(_KINDS[value])


_PROPERTIES: dict[str, Callable[[str], Any]] = {
    "kind": _of_kind, "language": LanguageRange, "datatype": Datatype, "prefix": IRIPrefix
}


def _datatype(value: str) -> str:
    """The IRI of a datatype, written as such, in angle brackets, or with the prefix xsd: or rdf:."""
    if value.startswith("<") and value.endswith(">"):
        return value[1:-1]
    base = _SHORT.get(value[:4])
    return value if base is None else base + value[4:]


class Selection(Rows):
    """The rows that match a pattern and meet conditions, or with ``invert`` all others.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> <a:o> .', format="nt").batches()
    >>> Selection(Pattern(p="a:p"), "o.kind = literal").rows(batch).tolist()
    [0]
    """

    def __init__(self, pattern: Pattern, where: str | Iterable[str] = (), invert: bool = False) -> None:
        self._pattern = pattern
        self._conditions = [Condition(text) for text in ([where] if isinstance(where, str) else where)]
        self._invert = invert

    def query(self, labels: bool = True) -> Query | None:
        """The query for the filters of a file, see `Pattern`: without conditions, which it does not know."""
        return None if self._invert else self._pattern.query(labels)

    def _mask(self, batch: Batch) -> Ids | None:
        """Of each row whether it is one of these; None if all are."""
        mask = self._pattern._mask(batch)
        if self._conditions or self._invert:
            mask = np.ones(len(batch), bool) if mask is None else mask
            for condition in self._conditions:
                mask = mask & condition.mask(batch)
        return ~mask if self._invert and mask is not None else mask

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            mask = self._mask(batch)
            found = batch if mask is None else select(batch, mask)
            del batch  # before the next one takes memory
            if len(found):
                yield found
