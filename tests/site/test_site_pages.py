"""Every page of docs/ does what it says: its code and its commands run, and print what it shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from support.pages import DOCS, ROOT, blocks, pages, run

pytest.importorskip("rdflib", reason="the pages show all of the package")

import jelly.rdflib  # noqa: E402

# Pages that need a server or Spark are run by the tests of that.
ELSEWHERE = {
    "broker.md": "grpc/test_grpc_page.py",
    "kafka.md": "kafka/test_kafka_page.py",
    "lakehouse.md": "lakehouse/test_lakehouse_page.py",
    "object-stores.md": "spark/test_object_stores.py",
    "clusters.md": "spark/test_spark_page.py",
    "spark.md": "spark/test_spark_page.py",
    "threads.md": "threads/test_sharing.py",
    "tables.md": "spark/test_tables_page.py",
    "tutorials/live.md": "grpc/test_grpc_page.py",
    "tutorials/spark.md": "spark/test_spark_page.py",
}
RUNNABLE = [page for page in pages() if any(block.kind in ("python", "sh") for block in blocks(page))]


@pytest.mark.parametrize("page", [page for page in RUNNABLE if page not in ELSEWHERE])
def test_page(page: str, tmp_path: Path) -> None:
    for name in ("pyarrow", "pyoxigraph", "polars", "duckdb", "click"):
        pytest.importorskip(name, reason="the pages show all of the package")
    if os.name == "nt" and any(block.kind == "sh" for block in blocks(page)):
        pytest.skip("the commands are for a POSIX shell")
    jelly.rdflib.register()  # pyjelly, which the tests compare with, has a plug-in of the same name
    run(page, tmp_path)


def test_other_pages_are_run_by_their_tests() -> None:
    assert set(ELSEWHERE) <= set(RUNNABLE)
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / "tests" / test).read_text("utf-8")


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"[\w./-]+\.md$", (DOCS / "site" / "mkdocs.yml").read_text("utf-8"), re.M)
    assert set(pages()) <= set(named)
    assert len(named) == len(set(named))
