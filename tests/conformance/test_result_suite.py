"""The public suite of Jelly-SPARQL: results to read, results to write, and what is to be refused."""

from __future__ import annotations

from typing import Any

import pytest
from support.conformance import run_sparql, sparql_cases

CASES = sparql_cases()


@pytest.mark.filterwarnings("ignore::jelly.errors.TruncatedWarning")  # some have no trailer, or options alone
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    run_sparql(case)


def test_all_cases_are_there() -> None:
    assert len(CASES) >= 230
    assert {(case["direction"], case["positive"]) for case in CASES} == {
        (direction, positive) for direction in ("from_jelly", "to_jelly") for positive in (False, True)
    }
