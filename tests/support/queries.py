"""Answers of queries as values that can be compared, ours and those of pyoxigraph."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

import pyoxigraph as ox

import jelly
from jelly.results import Results

XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBER = re.compile(rf'"([^"]*)"\^\^<{re.escape(XSD)}(integer|decimal|double|float|negativeInteger)>')


def text(term: Any) -> str:
    """A term in the syntax of N-Triples, where numbers of one value and type are the same; empty for None."""
    if term is None:
        return ""
    found = _NUMBER.fullmatch(str(term))
    if found is None:
        return str(term)
    try:
        number = Decimal(found[1].replace("INF", "Infinity"))
    except InvalidOperation:
        return str(term)
    return f'"{number.normalize():f}"^^<x:{found[2]}>' if number.is_finite() else str(term)


def of_ours(found: Any) -> tuple[Any, ...]:
    """An answer of `jelly.query`."""
    if not isinstance(found, Results):
        assert isinstance(found, jelly.Dataset)
        return ("graph", [tuple(map(text, (each.s, each.p, each.o))) for each in found])
    if found.boolean is not None:
        return ("boolean", found.boolean)
    return ("rows", found.variables, [tuple(map(text, row)) for row in found])


def of_oxigraph(found: Any) -> tuple[Any, ...]:
    """An answer of pyoxigraph, or a result file that it reads."""
    if isinstance(found, ox.QueryBoolean):
        return ("boolean", bool(found))
    if isinstance(found, ox.QueryTriples):
        return ("graph", [tuple(map(text, (each.subject, each.predicate, each.object))) for each in found])
    return ("rows", tuple(each.value for each in found.variables), [tuple(map(text, row)) for row in found])


def canonical(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """An answer in which labels of blank nodes, and the order of rows and variables, do not count."""
    if answer[0] == "boolean":
        return answer
    if answer[0] == "graph":
        lines = {f"{s} {p} {o} .\n" for s, p, o in answer[1]}
    else:
        lines = {
            f"_:row{n} <v:{name}> {cell} .\n"
            for n, row in enumerate(answer[2])
            for name, cell in zip(("", *answer[1]), ("<x:row>", *row), strict=True)
            if cell
        }
    dataset = ox.Dataset(ox.parse("".join(lines).encode(), ox.RdfFormat.N_QUADS, lenient=True))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return (answer[0], sorted(map(str, dataset)))
