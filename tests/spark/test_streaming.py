"""Structured Streaming in one process: a directory that gets files, a file that grows, the sink, restarts."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from cluster import wait_for
from support.shared import shared

import jelly
import jelly.spark
from jelly.spark._parts.files import find_files

LIMIT = 600  # seconds that a query may take, which has the cores for seconds of them on a busy machine


@pytest.fixture(scope="module", autouse=True)
def source(spark: Any) -> None:
    jelly.spark.register(spark)


def rows(*numbers: int, n: int = 100) -> list[jelly.Triple]:
    return [
        jelly.Triple(jelly.IRI(f"a:{number}"), jelly.IRI("a:p"), jelly.Literal(f"{number} {i}"))
        for number in numbers
        for i in range(n)
    ]


def read(folder: Path) -> list[str]:
    """The statements that a reader of a directory sees, sorted."""
    files = find_files(folder) if folder.exists() else []
    return sorted(str(statement)[:-2] for file in files for statement in jelly.read(file.path))


def expected(*numbers: int) -> list[str]:
    return sorted(str(row)[:-2] for row in rows(*numbers))


def start(spark: Any, path: Path | str, out: Path, trigger: dict[str, Any] | None = None, **options: Any) -> Any:
    frame = spark.readStream.format("jelly").options(layout="ntriples", **options).load(str(path)).select("s", "p", "o")
    writer = frame.writeStream.format("jelly").option("checkpointLocation", f"{out}-checkpoint").trigger(
        **trigger or {"availableNow": True}
    )
    return writer.start(str(out))


def finish(query: Any) -> list[int]:
    """Wait for a query; the rows of its batches that had some."""
    assert query.awaitTermination(LIMIT)
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def failure(query: Any) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - StreamingQueryException of PySpark
        finish(query)
    return str(caught.value)


# ---- what is refused

def test_a_bad_option_is_told_as_it_is(spark, tmp_path):
    # Spark tells an UnboundLocalError where `streamReader` raises.
    (tmp_path / "in").mkdir()
    told = failure(start(spark, tmp_path / "in", tmp_path / "out", follow="true"))
    assert "cannot follow" in told
    assert "UnboundLocalError" not in told
    with pytest.raises(Exception, match="unknown option 'maxfilespertriger': did you mean maxFilesPerTrigger"):
        start(spark, tmp_path / "in", tmp_path / "out", maxFilesPerTriger=1)


def test_without_streams_of_python_the_version_is_told(monkeypatch):
    """As on Spark 4.1, which has no `ReadLimit`."""
    import pyspark.sql.streaming.datasource as streams

    from jelly.spark._source import JellyDataSource

    monkeypatch.delattr(streams, "ReadMaxFiles")
    monkeypatch.delitem(sys.modules, "jelly.spark._streams", raising=False)
    source = JellyDataSource({"path": "in"})
    reader = source.streamReader(source.schema())
    for call in (reader.initialOffset, reader.latestOffset, lambda: reader.partitions({}, {})):
        with pytest.raises(jelly.MissingExtraError, match=r"needs Spark 4\.2 or later, this is 4\."):
            call()


# ---- a directory


@pytest.mark.every_spark
def test_a_directory_that_grows(spark, tmp_path):
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2")
    folder, out = tmp_path / "in", tmp_path / "out"
    for number in (0, 1, 2):
        (folder / f"day={number}").mkdir(parents=True)
        jelly.write(folder / f"day={number}" / "x.jelly", rows(number))
    jelly.write(folder / "3.nt.gz", rows(3))
    (folder / "_hidden.jelly").write_bytes(b"nonsense")
    assert finish(start(spark, folder, out, maxFilesPerTrigger=3)) == [300, 100]
    assert read(out) == expected(0, 1, 2, 3)
    # The next run goes on from the checkpoint.
    jelly.write(folder / "4.jelly", rows(4))
    assert finish(start(spark, folder, out)) == [100]
    assert finish(start(spark, folder, out)) == []
    assert read(out) == expected(0, 1, 2, 3, 4)
    assert sorted(path.name for path in out.iterdir()) == ["batch=0", "batch=1", "batch=2"]
    # What the sink wrote is a table as any other.
    assert spark.read.format("jelly").load(str(out)).count() == 500


def test_a_batch_that_was_committed_is_not_written_again(spark, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(3):
        jelly.write(folder / f"{number}.jelly", rows(number))
    finish(start(spark, folder, out, maxFilesPerTrigger=1))
    # As if the driver had died between the sink's commit and Spark's.
    commits = tmp_path / "out-checkpoint" / "commits"
    for path in commits.glob("*2*"):
        path.unlink()
    jelly.write(folder / "3.jelly", rows(3))
    # Spark reads batch 2 once more, then comes what is new.
    assert finish(start(spark, folder, out, maxFilesPerTrigger=1)) == [100, 100]
    assert read(out) == expected(0, 1, 2, 3)
    # With a checkpoint that begins anew, all of this would be lost in silence.
    shutil.rmtree(tmp_path / "out-checkpoint")
    assert "was written by another query" in failure(start(spark, folder, out))
    assert read(out) == expected(0, 1, 2, 3)


def test_a_query_that_goes_on_while_files_come(spark, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    query = start(spark, f"{folder}/*.jelly", out, {"processingTime": "0 seconds"})
    try:
        for number in range(3):
            jelly.write(folder / f"{number}.jelly", rows(number))
            wait_for("batch", lambda n=number: read(out) == expected(*range(n + 1)), LIMIT)
    finally:
        query.stop()
    assert query.exception() is None


def test_bad_files_and_paths(spark, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    assert "no such file or directory" in failure(start(spark, folder / "none", out))
    jelly.write(folder / "good.jelly", rows(1))
    (folder / "worse.jelly").write_bytes((folder / "good.jelly").read_bytes()[:-20])
    message = failure(start(spark, folder, tmp_path / "out2"))
    assert "worse.jelly" in message
    assert not out.exists() or read(out) == []
    assert read(tmp_path / "out2") == []
    # The rest of it, where that is wanted.
    frames = spark.readStream.format("jelly").option("mode", "PERMISSIVE").load(str(folder))
    kept = frames.writeStream.format("memory").queryName("kept").option("checkpointLocation", str(tmp_path / "kept"))
    finish(kept.trigger(availableNow=True).start())
    told = spark.sql("select _corrupt_record from kept where _corrupt_record is not null").collect()
    assert len(told) == 1
    assert "worse.jelly" in told[0][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger is '0'"),
        ({"maxFileAge": "soon"}, "maxFileAge is 'soon'"),
        ({"follow": "perhaps"}, "follow"),
        ({"follow": "true"}, "expected the path of one local Jelly file"),
        ({"follow": "true", "mode": "PERMISSIVE", "at": "x.jelly"}, "FAILFAST"),
        ({"follow": "true", "at": "x.jelly", "maxBytesPerTrigger": "-1"}, "maxBytesPerTrigger is '-1'"),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, message):
    # Spark shows what the reader raises; the reader itself is quicker to ask.
    from jelly.spark._source import JellyDataSource

    given = {"path": str(tmp_path / options.pop("at", "")), **options}
    source = JellyDataSource(given)
    with pytest.raises(jelly.JellyOptionsError, match=message):
        source.streamReader(source.schema()).initialOffset()


def test_only_append(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    jelly.write(folder / "1.jelly", rows(1))
    frame = spark.readStream.format("jelly").load(str(folder)).groupBy("subject").count()
    query = frame.selectExpr("subject", "subject predicate", "subject object", "'iri' object_kind").writeStream
    query = query.format("jelly").outputMode("complete").option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert "can only be appended" in failure(query.trigger(availableNow=True).start(str(tmp_path / "out")))


# ---- a file

def parts_of(data: bytes, n: int) -> list[bytes]:
    """The data in pieces of odd lengths."""
    ends = [len(data) * i // n + (i % 3) for i in range(1, n)] + [len(data)]
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def test_a_file_that_grows(spark, tmp_path):
    path, out = tmp_path / "x.jelly", tmp_path / "out"
    data = io.BytesIO()
    jelly.write(data, rows(*range(60)), frame_rows=50)
    query = start(spark, path, out, {"processingTime": "0 seconds"}, follow="true", splitBytes=5000)
    seen = []
    try:
        for piece in parts_of(data.getvalue(), 4):
            with path.open("ab") as file:
                file.write(piece)
            cut = path.read_bytes()
            whole = sum(len(batch) for batch in jelly.Decoder(delimited=True).feed(cut))
            wait_for("frames", lambda n=whole: len(read(out)) == n, LIMIT)
            seen.append(whole)
    finally:
        query.stop()
    assert query.exception() is None
    assert 0 < seen[0] < seen[1] < seen[2] < seen[3] == 6000
    assert read(out) == expected(*range(60))


def test_a_file_in_small_batches_and_restarts(spark, tmp_path):
    data = gzip.decompress(shared("data", "iot-weather", "assist-iot-weather_100kt.jelly.gz").read_bytes())
    path, out = tmp_path / "x.jelly", tmp_path / "out"
    counts = []
    for end in (700_001, len(data)):
        path.write_bytes(data[:end])
        counts += finish(start(spark, path, out, follow="true", maxBytesPerTrigger=400_000, splitBytes=100_000))
    assert len(counts) >= 5
    assert sum(counts) == 100_000
    assert len(find_files(out)) > 2 * len(counts)
    assert read(out) == sorted(str(row)[:-2] for row in jelly.loads(data))
    offsets = list((tmp_path / "out-checkpoint" / "offsets").glob("[0-9]*"))
    assert max(path.stat().st_size for path in offsets) < 20_000
    # The file is replaced by another one of the same size.
    path.write_bytes(data[:-1] + b"x")
    message = failure(start(spark, path, out, follow="true"))
    assert "the file was replaced" in message
    assert str(path) in message
    path.write_bytes(data[:-1])
    assert "was cut or replaced" in failure(start(spark, path, out, follow="true"))
    # Another kind of checkpoint.
    assert "checkpoint is not one of a query over a directory" in failure(start(spark, path, out))


def test_frame_numbers_and_metadata_of_a_file_go_on(spark, tmp_path):
    path = tmp_path / "x.jelly"
    with jelly.Writer(path) as writer:
        for number in range(20):
            writer.extend(rows(number, n=10))
            writer.end_frame({"number": str(number).encode()})
    settings = {"follow": "true", "frames": "true", "maxBytesPerTrigger": 1}
    frames = spark.readStream.format("jelly").options(**settings).load(str(path))
    query = frames.writeStream.format("memory").queryName("frames").option("checkpointLocation", str(tmp_path / "cp"))
    finish(query.trigger(availableNow=True).start())
    found = spark.sql("select distinct subject, frame, cast(metadata['number'] as string) number from frames").collect()
    assert sorted(tuple(row) for row in found) == sorted((f"a:{n}", n, str(n)) for n in range(20))


# ---- messages

def test_messages_in_a_column(spark, tmp_path):
    from pyspark.sql.functions import explode

    from jelly.spark import from_jelly

    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(jelly.dumps(rows(number), delimited=False))
    messages = spark.readStream.format("binaryFile").schema(
        "path string, modificationTime timestamp, length long, content binary"
    )
    values = messages.load(str(folder)).selectExpr("path as key", "content as value")
    statements = values.select(explode(from_jelly("value", layout="ntriples")).alias("x")).select("x.s", "x.p", "x.o")
    query = statements.writeStream.format("jelly").option("checkpointLocation", str(tmp_path / "checkpoint"))
    finish(query.trigger(availableNow=True).start(str(out)))
    assert read(out) == expected(0, 1, 2)
