"""The recipes of docs/tables.md run as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.pages import programs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
FOAF = "http://xmlns.com/foaf/0.1/"
DATA = f"""
@prefix foaf: <{FOAF}> .
<a:ann> a foaf:Person ; foaf:name "Ann" ; foaf:age 41 ; foaf:knows <a:bob>, <a:cleo> .
<a:bob> a foaf:Person ; foaf:name "Bob" ; foaf:age 7 ; foaf:knows <a:cleo> .
<a:cleo> a foaf:Person ; foaf:name "Cleo" .
"""


def test_the_recipes(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.ttl").write_text(DATA)
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {"spark": spark}
    for block in programs(PAGE):
        # Spark has a directory of its own. Few files, to be quick.
        code = re.sub(r'"(graph/\w+)"|(?<=load\()"(data)"', rf'"{tmp_path}/\1\2"', block)
        exec(code.replace("layout=layout)", "layout=layout, buckets=1)"), known)
    assert sorted(known["names"]) == [("a:ann", "Ann"), ("a:bob", "Bob"), ("a:cleo", "Cleo")]
    assert sorted(known["friends"].rows()) == [("a:ann", 2), ("a:bob", 1)]
    assert max(known["sources"].max(), known["targets"].max()) == 2
    assert known["vertices"].count() == 4
    assert known["ages"].count() == 2
    assert "a:cleo" in capsys.readouterr().out
    assert known["oldest"]["object"].to_list() == [41, 7]
    assert known["people"].sort("subject")["age"].to_list() == [41, 7, None]
    assert known["people"].sort("subject")["knows"].to_list() == [["a:bob", "a:cleo"], ["a:cleo"], None]
