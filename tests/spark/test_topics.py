"""Topics of the gRPC broker in Spark: a stream follows the files of its store, and ingest archives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cluster import wait_for

import jelly
import jelly.spark
from jelly import IRI, Frame, Literal, StreamOptions, Triple
from jelly.spark._ingest import ingest

jg = pytest.importorskip("jelly.grpc", reason="topics need grpcio")


def messages(start: int, stop: int) -> list[Frame]:
    return [
        Frame(i, [Triple(IRI(f"a:{i}"), IRI("a:p"), Literal(str(j))) for j in range(3)]) for i in range(start, stop)
    ]


def expected(stop: int) -> list[tuple[str, str]]:
    return sorted((f"a:{i}", str(j)) for i in range(stop) for j in range(3))


def test_a_topic_is_streamed_and_archived(spark: Any, tmp_path: Path) -> None:
    """A query replays the topic from its log and goes on with what is published, also after it was stopped."""
    jelly.spark.register(spark)
    out, state = tmp_path / "out", tmp_path / "state"
    options = StreamOptions(physical_type=1, logical_type=3, version=1)

    def start() -> Any:
        stream = spark.readStream.format("jelly").option("follow", "true").load(str(tmp_path / "store" / "news.jelly"))
        writer = stream.select("subject", "object").writeStream.format("parquet")
        return writer.option("checkpointLocation", str(state)).start(str(out))

    def found() -> list[tuple[str, str]]:
        return sorted(map(tuple, spark.read.schema("subject string, object string").parquet(str(out)).collect()))

    with jg.Topics(tmp_path / "store") as topics:
        topic = topics.get("news", create=True)
        topic.fill(messages(0, 300), options)  # more than a segment
        query = start()
        try:
            wait_for("statements", lambda: out.exists() and found() == expected(300), 60)
            topic.fill(messages(300, 310), options)
            wait_for("statements", lambda: found() == expected(310), 60)
        finally:
            query.stop()
        topic.fill(messages(310, 320), options)
        query = start()
        try:
            wait_for("statements", lambda: found() == expected(320), 60)
        finally:
            query.stop()
    done = ingest([str(tmp_path / "store" / "news.jelly")], str(tmp_path / "table"), spark=spark)
    assert done.statements == 960
    assert spark.read.parquet(str(tmp_path / "table")).select("subject").distinct().count() == 320
