"""The cases of the fact sheet: text in, messages out, compared after canonical naming of blank nodes (RDFC-1.0)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from messages.canon import canonical
from support.shared import shared

import jelly
from jelly.messages import group, read_messages

CASES = json.loads(shared("facts", "rdf_messages_cases.json").read_text())
CONTEXTS = {"https://e.org/ctx": {"p": "http://e/p"}}
OPTIONS: dict[str, dict[str, Any]] = {
    "C08": {"trailing": "close"},
    # Delimiters inside statements and graph blocks: tests/letter/test_letter_messages.py has what they are otherwise.
    "C34": {"strict": True},
    "C35": {"strict": True},
    "C36": {"strict": True},
    "C37": {"strict": True},
    "C41": {"dialect": None},
    "D14": {"format": "application/n-triples; version=1.2-messages"},
    "J05": {"strict": True},
    "J11": {"dialect": "directive"},
}
# Delivered before the error.
BEFORE = {"C44": 1, "J05": 1, "X09": 1, "X10": 1, "Y10": 1}


@pytest.mark.parametrize("chunk", [None, 1, 7])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any], chunk: int | None) -> None:
    settings = {
        "format": case["format"],
        "contexts": CONTEXTS,
        "dialect": "directive" if case["id"].startswith("D") else "comment",
    } | OPTIONS.get(case["id"], {})
    if case["id"] == "D14":
        del settings["dialect"]
    data = case["input"].encode()
    source = data if chunk is None else [data[at : at + chunk] for at in range(0, len(data), chunk)]
    found = []
    messages = read_messages(source, **settings)
    if case["expected"] == "ERROR":
        with pytest.raises(jelly.JellyError) as caught:
            found.extend(messages)
        assert caught.value.message == len(found) == BEFORE.get(case["id"], 0)
        assert caught.value.line is not None
        return
    assert [canonical(message) for message in messages] == [sorted(message) for message in case["expected"]]


@pytest.mark.parametrize("by", [0, -1, "object", None, ["subject"]])
def test_group_refuses_what_is_no_key(by: Any) -> None:
    with pytest.raises(jelly.JellyArgumentError, match="by"):
        group([], by)
