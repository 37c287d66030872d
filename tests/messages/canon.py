"""Messages in a form that can be compared: statements sorted, blank nodes named canonically (RDFC-1.0)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

ox = pytest.importorskip("pyoxigraph")


def canonical(statements: Iterable[Any]) -> list[str]:
    """Statements as N-Quads without the dot, sorted, blank nodes c14n0 ..."""
    lines = "".join(str(statement).replace("<< ", "<<( ").replace(" >>", " )>>") + "\n" for statement in statements)
    dataset = ox.Dataset(ox.parse(lines.encode(), ox.RdfFormat.N_QUADS, lenient=True))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    text = ox.serialize(dataset, format=ox.RdfFormat.N_QUADS).decode()
    return sorted(line.removesuffix(" .") for line in text.split("\n") if line)
