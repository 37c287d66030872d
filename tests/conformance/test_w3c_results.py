"""Results of the tests of SPARQL 1.1 that the W3C has, read as pyoxigraph reads them and through every format."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from support.shared import shared

import jelly
from jelly import BlankNode, Literal, QuotedTriple

pyoxigraph = pytest.importorskip("pyoxigraph")
FOLDER = shared("sparql11")
FORMATS = {
    ".srj": pyoxigraph.QueryResultsFormat.JSON,
    ".srx": pyoxigraph.QueryResultsFormat.XML,
    ".tsv": pyoxigraph.QueryResultsFormat.TSV,
}
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in FORMATS)
# Spaces around a value, which pyoxigraph takes away in XML.
SPACES = " \t\r\n"


def plain(term: Any, numbers: dict[str, int]) -> Any:
    """A term; blank nodes have numbers by their first place."""
    if isinstance(term, BlankNode):
        return ("blank node", numbers.setdefault(term.value, len(numbers)))
    if isinstance(term, QuotedTriple):
        return tuple(plain(part, numbers) for part in term)
    if isinstance(term, Literal):
        return (term.value.strip(SPACES), str(term.language).lower(), term.datatype)
    return term


def found(results: jelly.results.Results) -> tuple[Any, ...]:
    numbers: dict[str, int] = {}
    rows = [tuple(plain(term, numbers) for term in row) for row in results]
    return results.variables, results.boolean, rows


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(FOLDER)) for path in FILES])
def test_file(path: Path) -> None:
    ours = found(jelly.results.read_results(path))
    peer = pyoxigraph.parse_query_results(path.read_bytes(), FORMATS[path.suffix])
    if isinstance(peer, pyoxigraph.QueryBoolean):
        assert ours == ((), bool(peer), [])
    else:
        out = io.BytesIO()
        jelly.results.write_results(out, peer, format="jellys")
        assert found(jelly.results.read_results(out.getvalue(), format="jellys")) == ours
    for format in ("json", "xml", "tsv"):
        if format == "tsv" and (ours[1] is not None or not ours[0]):
            continue
        out = io.BytesIO()
        jelly.results.write_results(out, jelly.results.read_results(path), format=format)
        assert found(jelly.results.read_results(out.getvalue(), format=format)) == ours


def test_all_files_are_there() -> None:
    assert len(FILES) >= 230
