"""Jelly-JVM reads what we write, and we read what it writes. Between the two stand N-Quads, frames divided by comments.

Statements are compared in their order, with blank nodes renamed one to one. Jena changes the case of language tags.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly import IRI, BlankNode, Literal, LogicalType, PhysicalType, Quad, QuotedTriple, StreamOptions, Triple
from shared import ROOT, shared

pytestmark = pytest.mark.interop

SAMPLES = "data", "jelly-samples"
JVM_TEXTS = "jelly-jvm/integration-tests/src/test/resources"


# ---- statements to compare

def renamed(term: Any, labels: dict[str, str], counter: Any) -> Any:
    """The term as plain data, its blank nodes numbered as they come."""
    if isinstance(term, BlankNode):
        return "_", labels.setdefault(term.value, "") or labels.__setitem__(term.value, f"b{next(counter)}") or labels[term.value]
    return term


def plain(frames: Iterable[Iterable[Any]]) -> list[list[tuple[Any, ...]]]:
    """Frames of statements as data that is equal if they are, blank nodes numbered in the order of their coming."""
    numbers: dict[str, int] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return numbers.setdefault(term.value, len(numbers))
        if isinstance(term, QuotedTriple):
            return tuple(map(of, term))
        if isinstance(term, Literal) and term.language:
            return term.value, term.language.lower()
        return term

    return [[tuple(map(of, statement)) for statement in frame] for frame in frames]
