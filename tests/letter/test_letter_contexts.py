"""The JSON-LD and YAML-LD examples of RDF Messages as they stand: their context comes from a file, not the web."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly.messages import read_messages

pytest.importorskip("pyoxigraph")

EXAMPLES = {
    "ndjsonld": (
        '{ "@context" : "https://schema.org/" , "@type" : "Product" , "name" : "Hairdryer DRY 2000" , '
        '"color" : "red" }\n'
        '{ "@context" : "https://schema.org/" , "@type" : "Product" , "name" : "27-inch 4K Monitor 2700P" , '
        '"color" : "black" }\n'
    ),
    "yamlld": (
        '"@context" : https://schema.org/\n"@type" : Product\nname : Hairdryer DRY 2000\ncolor : red\n---\n'
        '"@context" : https://schema.org/\n"@type" : Product\nname : 27-inch 4K Monitor 2700P\ncolor : black\n'
    ),
}
CONTEXT = {"@context": {"@vocab": "http://schema.org/"}}
EXPECTED = [
    {("type", "http://schema.org/Product"), ("name", "Hairdryer DRY 2000"), ("color", "red")},
    {("type", "http://schema.org/Product"), ("name", "27-inch 4K Monitor 2700P"), ("color", "black")},
]


def pairs(format: str, context: Any) -> list[set[tuple[str, str]]]:
    if format == "yamlld":
        pytest.importorskip("yaml")
    messages = read_messages(EXAMPLES[format].encode(), format=format, contexts={"https://schema.org/": context})
    return [{(row[1].value.rpartition("/")[2].rpartition("#")[2], row[2].value) for row in each} for each in messages]


@pytest.mark.parametrize("format", EXAMPLES)
def test_the_examples_with_their_context(format: str, tmp_path: Path) -> None:
    """002-059, 002-060, 002-067: from a path, its name, a dict with or without "@context", and JSON text."""
    path = tmp_path / "schema.jsonld"
    path.write_text(json.dumps(CONTEXT))
    text = json.dumps(CONTEXT)
    for context in (path, os.fspath(path), CONTEXT, CONTEXT["@context"], text, text.encode()):
        assert pairs(format, context) == EXPECTED, context


@pytest.mark.parametrize("format", EXAMPLES)
def test_a_context_that_is_not_given(format: str) -> None:
    """002-060: nothing is fetched; the error names the URL, and what to do."""
    with pytest.raises(jelly.JellyUnsupportedError, match=r"https://schema.org/ is not in the cache: .* contexts="):
        list(read_messages(EXAMPLES[format].encode(), format=format))


def test_a_context_that_cannot_be_read(tmp_path: Path) -> None:
    """002-060: the error is that of the file, or names the URL whose context is no JSON."""
    with pytest.raises(FileNotFoundError):
        pairs("ndjsonld", tmp_path / "nothing.jsonld")
    (tmp_path / "broken").write_text("{")
    with pytest.raises(jelly.JellyFormatError, match="the context https://schema.org/ that was given: column 2: JSON"):
        pairs("ndjsonld", tmp_path / "broken")
