"""Ingest and the functions for columns on Spark, beside the same work done in other ways, in one run.

    python bench/spark/jobs.py [statements, default 5000000]

For each work: seconds of the clock, best of some rounds, and in that round seconds of the processors (this process, the
JVM and its Python workers; Linux only, and unknown where workers have ended). The ways take turns. Every result is
counted.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import functions as F
from support.shared import shared

import jelly
import jelly.spark
from jelly.spark import _udf as udf
from jelly.spark import from_jelly, to_jelly
from jelly.spark._ingest import ingest
from jelly.spark._jobs import session
from jelly.spark._messages import statements_to_frames

SOURCES = {
    "iot-weather": ("data", "iot-weather", "assist-iot-weather-100k.nt.gz"),
    "vocabs-quads": ("data", "vocabs-quads", "vocabs.nq.gz"),
}
COLUMNS = ["subject", "predicate", "object", "object_kind", "datatype", "lang", "graph"]
ROUNDS = 3
PER_MESSAGE = 26


def processor_seconds() -> float:
    """What this process and everything below it have used, children that have ended included."""
    parent: dict[int, int] = {}
    used: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parent[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15]))
    total = 0
    for pid in used:
        above = pid
        while above not in (0, os.getpid()):
            above = parent.get(above, 0)
        total += used[pid] if above == os.getpid() else 0
    return total / os.sysconf("SC_CLK_TCK")


def compare(title: str, n: int, ways: dict[str, Callable[[], int | None]]) -> None:
    """Let some ways do the same work in turns; each gives the statements it has counted, or None."""
    best: dict[str, tuple[float, float]] = {}
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            began, before = time.perf_counter(), processor_seconds()
            counted = way()
            seconds, used = time.perf_counter() - began, processor_seconds() - before
            assert counted in (n, None), (name, counted)
            if turn:  # the first one warms up
                best[name] = min(best.get(name, (seconds, used)), (seconds, used))
    print(f"\n{title}: {n:,} statements", flush=True)
    first = next(iter(best.values()))
    for name, (seconds, used) in best.items():
        print(
            f"  {name:44} {seconds:6.2f} s {n / seconds / 1e6:6.2f} M/s {seconds / first[0]:5.2f}x"
            + (f"   {used:6.2f} s of processors" if used > 0 else ""),
            flush=True,
        )


def repeated(name: str, wanted: int, path: str) -> int:
    """Write a data set so often that there are about as many statements as wanted; how many there are."""
    statements = list(jelly.read(shared(*SOURCES[name])))
    times = -(-wanted // len(statements))
    return jelly.write(path, (s for _ in range(times) for s in statements), seekable=True)


def bench_ingest(spark: Any, name: str, wanted: int, folder: str) -> None:
    path = os.path.join(folder, f"{name}.jelly")
    n = repeated(name, wanted, path)
    out, peer = os.path.join(folder, "out"), os.path.join(folder, "peer")

    def ours(**settings: Any) -> int:
        shutil.rmtree(out, ignore_errors=True)
        return ingest(path, out, spark=spark, **settings).statements

    def rows(where: str) -> int:
        return sum(parquet.ParquetFile(part).metadata.num_rows for part in Path(where).rglob("*.parquet"))

    def through_spark(codec: str) -> int:
        frame = spark.read.format("jelly").load(path)
        frame.write.option("compression", codec).mode("overwrite").parquet(peer)
        return rows(peer)

    compare(
        f"{name}, Jelly to Parquet",
        n,
        {
            "ingest (zstd)": ours,
            "read.format('jelly'), write.parquet (zstd)": lambda: through_spark("zstd"),
            "read.format('jelly'), write.parquet (snappy)": lambda: through_spark("snappy"),
            "ingest to Jelly": lambda: ours(to="jelly"),
        },
    )
    os.unlink(path)


def bench_messages(spark: Any, name: str, wanted: int, folder: str) -> None:
    """Messages of 26 statements, from and to a binary column."""
    statements = list(jelly.read(shared(*SOURCES[name])))
    cuts = range(0, len(statements) - PER_MESSAGE, PER_MESSAGE)
    values = [jelly.dumps(statements[at : at + PER_MESSAGE], delimited=False) for at in cuts]
    times = -(-wanted // (len(values) * PER_MESSAGE))
    keys = pa.array(range(len(values) * times), pa.int64())
    table = pa.table({"key": keys, "value": pa.array(values * times, pa.binary())})
    path = os.path.join(folder, "messages.parquet")
    parquet.write_table(table, path, row_group_size=len(table) // 4 + 1)
    messages = spark.read.parquet(path)
    n = len(table) * PER_MESSAGE

    def noop(frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    arrow_udf = udf.F.arrow_udf

    def by_pandas() -> None:
        del udf.F.arrow_udf
        try:
            noop(messages.select(from_jelly("value")))
        finally:
            udf.F.arrow_udf = arrow_udf

    compare(
        f"{name}, messages of {PER_MESSAGE} to arrays of statements",
        n,
        {"from_jelly": lambda: noop(messages.select(from_jelly("value"))), "the same as a pandas function": by_pandas},
    )

    def each_group(*arrays: pa.Array) -> bytes:
        rows = pa.StructArray.from_arrays(arrays, names=COLUMNS)
        lists = pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)
        return next(statements_to_frames(iter([lists])))[0].as_py()

    one_by_one = F.arrow_udf(each_group, "binary", F.ArrowUDFType.GROUPED_AGG)
    flat = messages.select("key", from_jelly("value").alias("s")).selectExpr("key", "inline(s)").cache()
    assert flat.count() == n
    grouped = flat.groupBy("key")
    compare(
        f"{name}, {len(table):,} groups of statements to messages",
        n,
        {
            "to_jelly": lambda: noop(grouped.agg(to_jelly(*COLUMNS))),
            "a grouped aggregate function": lambda: noop(grouped.agg(one_by_one(*COLUMNS))),
        },
    )
    flat.unpersist()


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    folder = tempfile.mkdtemp()
    try:
        with session("local[2]", {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "2"}) as spark:
            jelly.spark.register(spark)
            for name in SOURCES:
                bench_ingest(spark, name, wanted, folder)
            bench_messages(spark, "vocabs-quads", wanted // 5, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
