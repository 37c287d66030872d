"""Graphs made of statements, in GraphX, the library below GraphFrames that each Spark has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pagerank import page_rank

import jelly
import jelly.spark
from jelly import IRI
from jelly.spark import graph_tables, graphframe, ingest

ROUNDS, RESET = 5, 0.15


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """Links, some twice, some to nodes without links, and names, which are none."""
    rows = [jelly.Triple(IRI(f"a:{i}"), IRI("a:to"), IRI(f"a:{(i * i + j * 37) % 50}"))
            for i in range(60) for j in range(i % 4)]  # fmt: skip
    rows += [*rows[:5], jelly.Triple(IRI("a:1"), IRI("a:name"), jelly.Literal("one"))]
    jelly.write(tmp_path / "links.jelly", rows)
    return tmp_path / "links.jelly"


def in_graphx(spark: Any, edges: Any, folder: Path) -> dict[int, float]:
    """PageRank of GraphX, called in the JVM."""
    edges.selectExpr("concat(src, ' ', dst)").write.text(str(folder))
    jvm = spark._jvm
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
    load = jvm.org.apache.spark.graphx.GraphLoader.edgeListFile
    graph = load(spark.sparkContext._jsc.sc(), str(folder), False, 2, level, level)
    number = jvm.scala.reflect.ClassTag.Int()
    ranked = jvm.org.apache.spark.graphx.Graph.graphToGraphOps(graph, number, number).staticPageRank(ROUNDS, RESET)
    return {pair._1(): pair._2() for pair in ranked.vertices().toJavaRDD().collect()}


@pytest.mark.jvm("GraphX")
def test_page_rank(spark: Any, src: Path, tmp_path: Path) -> None:
    ingest(src, tmp_path / "out", spark=spark, layout="ids", buckets=1)
    triples, terms = (spark.read.parquet(str(tmp_path / "out" / name)) for name in ("triples", "terms"))
    vertices, edges = graph_tables(triples, terms)
    names = {row.id: row.value for row in vertices.collect()}
    links = [(row.src, row.dst) for row in edges.select("src", "dst").collect()]
    assert max(map(abs, names)) > 1 << 56  # so 64 bits are needed
    assert len(links) == sum(i % 4 for i in range(60)) + 5
    expected = page_rank(names, links, ROUNDS, RESET)
    found = in_graphx(spark, edges, tmp_path / "edges")
    assert found == pytest.approx(expected)
    # The same computed from the statements alone.
    pairs = [(str(s), str(o)) for s, _, o in jelly.read(src) if isinstance(o, IRI)]
    place = {name: i for i, name in enumerate(sorted({node for pair in pairs for node in pair}))}
    of_names = page_rank(place.values(), [(place[s], place[o]) for s, o in pairs], ROUNDS, RESET)
    assert {names[id]: rank for id, rank in found.items()} == pytest.approx(
        {name.strip("<>"): of_names[i] for name, i in place.items()}
    )


def test_graphframes_is_not_installed(spark: Any, src: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "graphframes", None)
    with pytest.raises(jelly.MissingExtraError, match=r"jelly-rdf\[graph\].*graph_tables"):
        graphframe(spark.range(1))
