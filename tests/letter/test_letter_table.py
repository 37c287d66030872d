"""The table of requirements is whole: each has its verdict, its test, and its reason where it differs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.letter import DOCUMENTS, PAGE, ROOT, VERDICTS, WORKS, functions, named, page, requirements
from support.shared import shared

ROWS = requirements()
LETTER = Path(__file__).resolve().parent


def test_each_requirement_is_there_once() -> None:
    assert len(ROWS) == 704
    assert [id for id, count in Counter(row.id for row in ROWS).items() if count > 1] == []
    for row in ROWS:
        document, _, number = row.id.rpartition("-")
        assert document == row.document
        assert document in DOCUMENTS
        assert len(number) == 3
    # In order, so that a change is easy to see.
    assert [row.id for row in ROWS] == sorted(row.id for row in ROWS)


def test_the_numbers_are_those_of_the_findings() -> None:
    known = json.loads(shared("findings", "requirements.json").read_text("utf-8"))
    assert {row.id: row.document for row in ROWS} == {one["id"]: one["document"] for one in known}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row) -> None:
    assert row.section
    assert row.requirement
    assert row.verdict in VERDICTS
    assert bool(row.reason) == (row.verdict != WORKS)
    assert row.reason == "" or row.reason.endswith(".")
    assert row.tests
    for test in row.tests:
        path, _, name = test.partition("::")
        assert path.startswith("tests/")
        assert name in functions(ROOT / path), test
        # A test in this folder says for itself which requirements it is for.
        if (ROOT / path).parent == LETTER and path != "tests/letter/test_letter_table.py":
            assert row.id in named(ROOT / path), test


def test_each_test_is_in_the_table() -> None:
    """What a module of this folder names is in a row that names the module."""
    for path in LETTER.glob("test_*.py"):
        node = str(path.relative_to(ROOT).as_posix())
        if path.name != Path(__file__).name:
            rows = {row.id for row in ROWS if any(test.partition("::")[0] == node for test in row.tests)}
            assert named(path) - rows == set(), node


def test_the_page_is_that_of_the_table() -> None:
    """docs/letter.md says which parts are implemented and where we differ."""
    text = PAGE.read_text("utf-8")
    assert text == page()
    for row in ROWS:
        assert (f"**{row.id}, {row.verdict}**" in text) == bool(row.reason)
