"""Messages in a form that can be compared: statements sorted, blank nodes named canonically (RDFC-1.0)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from support.canonical import canonical_quads

ox = pytest.importorskip("pyoxigraph")


def canonical(statements: Iterable[Any]) -> list[str]:
    """Statements as N-Quads without the dot, sorted, blank nodes c14n0 ..."""
    lines = "".join(str(statement).replace("<< ", "<<( ").replace(" >>", " )>>") + "\n" for statement in statements)
    quads = canonical_quads(ox, lines.encode(), lenient=True)
    text = ox.serialize(quads, format=ox.RdfFormat.N_QUADS).decode()
    return sorted(line.removesuffix(" .") for line in text.split("\n") if line)
