"""Spark with a real broker: values by their headers, tombstones, and a stream that arrives exactly once.

The session with the connector of Kafka is that of conftest.py in this folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interop.peer import Unavailable
from support.kafka_broker import KafkaBroker

from jelly import IRI, Literal, Quad, Triple
from jelly.kafka import JellyDeserializer, JellySerializer
from jelly.patch import Add, Delete, Patch

pytest.importorskip("jars", reason="the session of tests/lakehouse is not there")

from cluster import environment  # noqa: E402
from jars import need_jars  # noqa: E402

S, P, G = IRI("http://example.org/s"), IRI("http://example.org/p"), IRI("http://example.org/g")
RECORDS = 120
# Spark 4.1.1 fails once more when it has repeated a batch: its report of the progress wants offsets that it did not
# look up. The batch is complete, and the next start goes on.
STARTS = 3
HEADERS = "array<struct<key string, value binary>>"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_jars()  # before a broker that nobody needs
    try:
        running = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield running.address
    running.close()


def write(spark: Any, broker: str, topic: str, rows: list[tuple[Any, ...]]) -> None:
    """Rows of key, value and content type, in their order."""
    made = [
        (key, None if value is None else bytearray(value), [("content-type", media.encode())] if media else None)
        for key, value, media in rows
    ]
    table = spark.createDataFrame(made, f"key string, value binary, headers {HEADERS}").coalesce(1)
    sink = table.write.format("kafka").option("kafka.bootstrap.servers", broker)
    sink.option("topic", topic).option("includeHeaders", "true").save()


def source(reader: Any, broker: str, topic: str) -> Any:
    kafka = reader.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", topic)
    return kafka.option("startingOffsets", "earliest").option("includeHeaders", "true").load()


def test_values_by_their_headers(spark: Any, broker: str) -> None:
    from pyspark.sql import functions as F

    from jelly.spark import from_jelly

    serialize = JellySerializer()
    triples = [Triple(S, P, Literal(str(i))) for i in range(3)]
    patch = Patch([Delete(Quad(*triples[0])), Add(Quad(S, P, Literal("new"), G))])
    rows: list[tuple[Any, ...]] = [
        ("a", serialize(triples), "application/x-jelly-rdf"),
        ("b", serialize(triples[:1]), None),
        ("c", b'<a:s> <a:p> "nq" <a:g> .\n', "application/n-quads"),
        ("d", serialize(patch), "application/x-jelly-rdf-patch"),
        ("e", serialize(triples), None),
        ("f", b"", None),
        ("g", b"no Jelly", None),
        ("e", None, None),
    ]
    write(spark, broker, "formats", rows)
    messages = source(spark.read, broker, "formats").withColumn("key", F.col("key").cast("string"))
    read = from_jelly("value", headers="headers", changes=True, mode="PERMISSIVE", reasons=True)
    found = {(row.key, row.s is None): row.s for row in messages.select("key", read.alias("s")).collect()}
    statements = {key: value and value.statements for key, value in found.items()}
    assert [len(statements[key, False]) for key in "abcde"] == [3, 1, 1, 2, 3]
    assert [row.op for row in statements["d", False]] == ["delete", "add"]
    assert found["f", False].error == "the value is empty"
    assert "frame 0" in found["g", False].error
    assert found["e", True] is None
    # The last value of each key, as compaction leaves it; a key whose last value is null is gone.
    latest = messages.groupBy("key").agg(F.max_by("value", "offset").alias("value")).where("value is not null")
    assert sorted(row.key for row in latest.collect()) == list("abcdfg")


def test_from_topic_to_topic(spark: Any, broker: str, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from jelly.spark import from_jelly, jelly_headers, to_jelly

    values = [[Triple(IRI(f"a:{i % 7}"), P, Literal(f"{i} {n}")) for n in range(3)] for i in range(50)]
    write(spark, broker, "in", [(str(i), v, None) for i, v in enumerate(JellySerializer().serialize_many(values))])
    read = from_jelly("value", headers="headers")
    statements = source(spark.readStream, broker, "in").select(F.explode(read).alias("s")).select("s.*")

    def by_subject(batch: Any, number: int) -> None:
        value = to_jelly("subject", "predicate", "object", "object_kind", "datatype", "lang", "graph")
        made = batch.groupBy(F.col("subject").alias("key")).agg(value.alias("value"))
        sink = made.withColumn("headers", jelly_headers()).write.format("kafka").option("includeHeaders", "true")
        sink.option("kafka.bootstrap.servers", broker).option("topic", "out").save()

    query = statements.writeStream.foreachBatch(by_subject).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "state")).start().awaitTermination()
    found = source(spark.read, broker, "out").collect()
    deserialize = JellyDeserializer()
    made = {bytes(row.key).decode(): deserialize(bytes(row.value)) for row in found}
    assert len(made) == len(found) == 7
    assert {str(s) for group in made.values() for s in group} == {str(s) for value in values for s in value}
    assert all({s.s.value for s in group} == {key} for key, group in made.items())
    assert {row.headers[0].key: bytes(row.headers[0].value) for row in found} == {
        "content-type": b"application/x-jelly-rdf"
    }


def numbered(spark: Any, broker: str, topic: str) -> None:
    values = JellySerializer().serialize_many([[Triple(S, P, Literal(str(i)))] for i in range(RECORDS)])
    write(spark, broker, topic, [(str(i), value, "application/x-jelly-rdf") for i, value in enumerate(values)])


def check(spark: Any, out: Path) -> None:
    """Each value is there once."""
    assert sorted(int(row.object) for row in spark.read.parquet(str(out)).collect()) == list(range(RECORDS))


def test_a_stream_that_fails_and_goes_on_loses_and_doubles_nothing(spark: Any, broker: str, tmp_path: Path) -> None:
    from draining import drain

    numbered(spark, broker, "failing")
    with pytest.raises(Exception, match="made to fail"):
        drain(spark, broker, "failing", tmp_path, RECORDS // 2)
    # Something has arrived, and not all.
    assert 0 < spark.read.parquet(str(tmp_path / "out")).count() < RECORDS
    for _ in range(STARTS):
        try:
            drain(spark, broker, "failing", tmp_path)
            break
        except Exception as error:
            if "made to fail" in str(error):
                raise
    check(spark, tmp_path / "out")


@pytest.mark.skipif(not os.environ.get("JELLY_LONG"), reason="three more drivers: JELLY_LONG=1")
def test_a_driver_that_is_killed_loses_and_doubles_nothing(spark: Any, broker: str, tmp_path: Path) -> None:
    numbered(spark, broker, "killed")
    program = Path(__file__).with_name("draining.py")

    def run(kill_at: int) -> int:
        return subprocess.run(
            [sys.executable, str(program), broker, "killed", str(tmp_path), str(kill_at), need_jars()],
            env=environment(),
            capture_output=True,
            timeout=600,
        ).returncode

    assert run(RECORDS // 2)
    assert 0 in [run(-1) for _ in range(STARTS)]
    check(spark, tmp_path / "out")
