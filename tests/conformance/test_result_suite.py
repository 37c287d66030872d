"""The public suite of Jelly-SPARQL: results to read, results to write, and what is to be refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from support.shared import shared

import jelly
from jelly import BlankNode, QuotedTriple
from jelly.results import ResultOptions, Results, read_result_sets, read_results, write_result_sets, write_results

FOLDER = shared("jelly-sparql")
CASES: list[dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text())


def renamed(results: Results) -> tuple[tuple[str, ...], bool | None, list[tuple[Any, ...]]]:
    """A result set, whose blank nodes have numbers by their first place."""
    numbers: dict[str, int] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return ("blank node", numbers.setdefault(term.value, len(numbers)))
        return tuple(map(of, term)) if isinstance(term, QuotedTriple) else term

    return results.variables, results.boolean, [tuple(map(of, row)) for row in results]


def sets_of(*paths: Path) -> list[Any]:
    return [renamed(found) for path in paths for found in read_result_sets(path)]


def written(options: Path, *sources: Path) -> io.BytesIO:
    """The sources as Jelly-SPARQL with the options of a file."""
    out = io.BytesIO()
    found = next(iter(read_result_sets(options))).options
    assert isinstance(found, ResultOptions)
    if found.stream_type.name == "PUNCTUATED":
        assert write_result_sets(out, map(read_results, sources), options=found) == len(sources)
    else:
        write_results(out, read_results(*sources), format="jellys", options=found)
    return out


@pytest.mark.filterwarnings("ignore::jelly.errors.TruncatedWarning")  # some have no trailer, or options alone
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    action = [FOLDER / name for name in case["action"]]
    result = [FOLDER / name for name in case["result"] or []]
    reads = case["direction"] == "from_jelly"
    if not case["positive"]:
        with pytest.raises(jelly.JellyError):
            _ = sets_of(*action) if reads else written(*action)
        return
    if reads:
        assert sets_of(*action) == sets_of(*result)
        return
    made = [renamed(found) for found in read_result_sets(written(*action).getvalue(), format="jellys")]
    assert made == sets_of(*action[1:]) == sets_of(*result)


def test_all_cases_are_there() -> None:
    assert len(CASES) >= 230
    assert {(case["direction"], case["positive"]) for case in CASES} == {
        (direction, positive) for direction in ("from_jelly", "to_jelly") for positive in (False, True)
    }
