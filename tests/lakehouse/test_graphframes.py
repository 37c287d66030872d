"""GraphFrames on graphs made of statements: the Python package, and the jar where Spark has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pagerank import page_rank
from py4j.protocol import Py4JJavaError

import jelly
import jelly.spark
from jelly import IRI
from jelly.spark import graph_tables, graphframe


@pytest.fixture
def statements(spark: Any, tmp_path: Path) -> Any:
    rows = [jelly.Triple(IRI(f"a:{i}"), IRI("a:to"), IRI(f"a:{(i * i + j) % 9}")) for i in range(9) for j in range(3)]
    jelly.write(tmp_path / "links.jelly", rows)
    jelly.spark.register(spark)
    return spark.read.format("jelly").load(str(tmp_path / "links.jelly"))


def has_jar(spark: Any) -> bool:
    try:
        spark._jvm.Thread.currentThread().getContextClassLoader().loadClass("org.graphframes.GraphFrame")
    except Py4JJavaError:
        return False
    return True


def test_without_the_jar(spark: Any, statements: Any) -> None:
    if has_jar(spark):
        pytest.skip("the jar of GraphFrames is there")
    with pytest.raises(jelly.JellyError, match="without the jar of GraphFrames.*graphframes-spark4_2.13"):
        graphframe(statements)


def test_page_rank_of_graphframes(spark: Any, statements: Any) -> None:
    if not has_jar(spark):
        pytest.skip("needs the jar io.graphframes:graphframes-spark4_2.13 on the class path of Spark")
    ranked = graphframe(statements).pageRank(resetProbability=0.15, maxIter=20)
    vertices, edges = graph_tables(statements)
    expected = page_rank(
        [row.id for row in vertices.collect()], [(row.src, row.dst) for row in edges.collect()], 20, 0.15
    )
    assert {row.id: row.pagerank for row in ranked.vertices.collect()} == pytest.approx(expected)
