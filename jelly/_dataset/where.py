"""Filters rows by the values of their terms, evaluated on term ids: no text is built for other rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.constants import Kind
from jelly._core.rules.capabilities import REPLACED_LABEL
from jelly._core.terms.model import IRI
from jelly._dataset.terms import Ids, Terms, sought
from jelly._formats.filters import Query
from jelly._options.layouts import LAYOUTS

__all__ = ["MAX_VALUES", "Where", "where"]

# Each value costs a scan of all terms of a Batch.
MAX_VALUES = 32

_LITERALS = (Kind.LITERAL, Kind.LANG, Kind.TYPED)
_SLOTS = {"subject": "s", "predicate": "p", "object": "o", "graph": "g"}
# The slot and the syntax of a column, by its name.
_COLUMNS = {
    name: (_SLOTS[part], layout.syntax)
    for layout in LAYOUTS.values()
    for name, part in layout.columns.items()
    if part in _SLOTS
}


@dataclass(frozen=True, slots=True)
class Where:
    """A condition: each named column ``s``, ``p``, ``o``, ``g`` has one of some terms (kinds, text)."""

    terms: Mapping[str, tuple[tuple[tuple[int, ...], bytes], ...]]

    def __call__(self, batch: Batch) -> Ids:
        """The rows of a Batch that meet the condition, in order, for `from_batches`."""
        keep = np.ones(len(batch), bool)
        terms = Terms(batch)
        for slot, wanted in self.terms.items():
            ids = getattr(batch, slot)
            # Triples have no named graph; the default graph has id -1, the last index here.
            found = np.zeros(batch.n_terms + 1, bool)
            for kinds, text in wanted:
                found[terms.with_text(kinds, text)] = True
            if ids is None or not found.any():
                return np.zeros(0, np.int64)
            keep &= found[ids]
        return np.flatnonzero(keep)

    def query(self, labels: bool = True) -> Query | None:
        """What filters know of the condition, or None. Without ``labels`` nothing is known of blank nodes."""
        found = {}
        for slot, wanted in self.terms.items():
            if labels or not any(Kind.BNODE in kinds for kinds, _ in wanted):
                found[slot] = False, [sought(IRI(text.decode())) for _, text in wanted]
        return found or None


def where(column: str, values: Iterable[Any]) -> Where | None:
    """The condition that a column of a layout is one of ``values``; None if ids cannot decide it.

    It may accept rows that do not meet the condition, but never rejects rows that do.

    >>> import jelly
    >>> [batch] = jelly.scan(b"<a:s> <a:p> <a:o> .\\n<a:s> <a:q> <a:o> .", format="nt").batches()
    >>> where("predicate", ["a:q"])(batch).tolist(), where("p", ["<a:p>", "<a:r>"])(batch).tolist()
    ([1], [0])
    """
    slot, syntax = _COLUMNS.get(column, (None, None))
    given = list(values)
    if slot is None or not given or len(given) > MAX_VALUES:
        return None
    terms: list[tuple[tuple[int, ...], str]] = []
    for value in given:
        if not isinstance(value, str):
            return None
        if syntax == "ntriples":
            if value.startswith(f"_:{REPLACED_LABEL}"):
                return None  # the Batch has another label, perhaps
            if value.startswith("_:"):
                terms.append(((Kind.BNODE,), value[2:]))
            elif value.startswith("<") and not value.startswith("<<") and "\\" not in value:
                terms.append(((Kind.IRI,), value[1:-1]))
            else:
                return None
        else:
            if value.startswith("<<"):
                return None
            terms.append((((Kind.IRI, *_LITERALS) if slot == "o" else (Kind.IRI,)), value))
            if value.startswith("_:"):
                terms.append(((Kind.BNODE,), value[2:]))
    return Where({slot: tuple((kinds, text.encode()) for kinds, text in terms)})
