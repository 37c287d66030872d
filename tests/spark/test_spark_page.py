"""docs/spark.md, docs/clusters.md and docs/tutorials/spark.md: their code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sessions import REMOTE
from support.pages import programs, run

import jelly
import jelly.spark

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"


def test_the_code_of_the_page_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = b"<http://example.org/a> <http://example.org/knows> <http://example.org/b> .\n" * 100
    for path in ("data/people.nt", "table/day=1/graph=http%3A%2F%2Fexample.org%2Fg/x.nt"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(lines)
    blocks = programs("spark.md")
    assert len(blocks) >= 6
    # Spark Connect has no RDDs.
    blocks = [block for block in blocks if not (REMOTE and ".rdd." in block)]
    # Relative paths are those of the processes of Spark.
    code = "\n".join(blocks).replace('load("', f'load("{tmp_path}/')
    try:
        exec(code, {"spark": spark})
    finally:
        for kind in ("filter", "limit"):
            spark.conf.set(f"spark.sql.python.{kind}Pushdown.enabled", "false")
        jelly.spark.register(spark)


def test_the_page_on_clusters(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.nt").write_bytes(b'<a:s> <a:p> "o"@en .\n')
    jelly.convert(tmp_path / "data" / "people.nt", tmp_path / "data" / "people.jelly")
    for code in programs("clusters.md"):
        exec(re.sub(r"(['\"])data/", rf"\1{tmp_path}/data/", code), {"spark": spark})
    [row] = spark.sql("select lang(o) tag from terms").collect()
    assert row.tag == "en"


def test_the_tutorial(spark: Any, tmp_path: Path) -> None:
    def change(text: str) -> str:
        # Relative paths are those of the processes of Spark; the session is that of the tests.
        text = text.replace('SparkSession.builder.master("local[2]").getOrCreate()', "spark")
        return re.sub(r'"(dumps|table)"', rf'"{tmp_path}/\1"', text)

    run("tutorials/spark.md", tmp_path, {"spark": spark}, change)


def test_the_page_names_options_that_exist() -> None:
    from jelly.spark._options import OPTIONS as _OPTIONS

    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r'option\("(\w+)"', text)) | {"splitBytes", "partitionColumns", "basePath", "fileColumn"}
    assert named <= set(_OPTIONS)
    assert all(f"`{name}`" in text or f'"{name}"' in text for name in named)
