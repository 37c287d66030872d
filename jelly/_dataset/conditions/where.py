"""Patterns of the values that columns must have: no text is built for other rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jelly._core.base.kinds import Kind, kinds_of
from jelly._core.rules.capabilities import REPLACED_LABEL
from jelly._dataset.conditions.pattern import OfKinds, Pattern
from jelly._options.layouts import LAYOUTS, PLACES

# Each value costs a scan of all terms of a Batch.
MAX_VALUES = 32

_LITERALS = kinds_of("literal")
# The slot and the syntax of a column, by its name.
COLUMNS = {
    name: (part[0], layout.syntax)
    for layout in LAYOUTS.values()
    for name, part in layout.columns.items()
    if part in PLACES.values()
}


def where(column: str, values: Iterable[Any]) -> Pattern | None:
    """The condition that a column of a layout is one of ``values``; None if ids cannot decide it.

    It may accept rows that do not meet the condition, but never rejects rows that do.

    >>> import jelly
    >>> [batch] = jelly.scan(b"<a:s> <a:p> <a:o> .\\n<a:s> <a:q> <a:o> .", format="nt").batches()
    >>> where("predicate", ["a:q"]).rows(batch).tolist(), where("p", ["<a:p>", "<a:r>"]).rows(batch).tolist()
    ([1], [0])
    """
    slot, syntax = COLUMNS.get(column, (None, None))
    given = list(values)
    if slot is None or not given or len(given) > MAX_VALUES:
        return None
    terms: list[Any] = []
    for value in given:
        if not isinstance(value, str) or value.startswith(("<<", f"_:{REPLACED_LABEL}")):
            return None  # perhaps the Batch has another label
        if value.startswith("_:"):
            terms.append(OfKinds((Kind.BNODE,), value[2:]))
        if syntax != "ntriples":
            terms.append(OfKinds((Kind.IRI, *_LITERALS) if slot == "o" else (Kind.IRI,), value))
        elif value.startswith("<") and "\\" not in value:
            terms.append(OfKinds((Kind.IRI,), value[1:-1]))
        elif not value.startswith("_:"):
            return None
    return Pattern(**{slot: terms})


def joined(patterns: Iterable[Pattern | None]) -> Pattern | None:
    """The pattern of what matches several, each of another place; None if there is none."""
    places = {slot: wanted for one in patterns for slot in "spog" if (wanted := getattr(one, slot, None)) is not None}
    return Pattern(**places) if places else None
