"""Reading in Spark against what the transfer to the JVM allows, N-Triples text with regexp_extract, and Parquet.

    python bench/spark/reading.py [--millions 5] [--rounds 5] [--data iot-weather]

`local[2]`, results dropped (the `noop` sink). All jobs of a round run one after the other; a figure is the median of
the rounds, of wall clock and of the CPU time of all processes, which other work on the machine disturbs less. The
ceiling is a data source of a few lines that gives the same record batches from a memory map. The floor is the same with
each buffer copied once, which no reader that makes strings can do without. Of the text, which is slow, a fifth is read.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from work import SOURCES, shared

import jelly
import jelly.spark
from jelly.spark._parts import BATCH_ROWS, Part, Reading
from jelly.spark._parts.files import find_files

TOKEN = r'(<[^>]*>|_:\\S+|"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"(?:@[\\w-]+|\\^\\^<[^>]*>)?)'


class Ceiling(DataSource):
    """Gives the record batches of an Arrow file, or copies of them, round and round, in so many tasks."""

    @classmethod
    def name(cls) -> str:
        return "ceiling"

    def reader(self, schema: Any) -> DataSourceReader:
        return CeilingReader(self.options)


class CeilingReader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self.path, self.rows, self.tasks = options["path"], int(options["rows"]), int(options["tasks"])
        self.copies = options["copies"] == "true"

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(i) for i in range(self.tasks)]

    def read(self, partition: InputPartition) -> Any:
        file = pa.ipc.open_file(pa.memory_map(self.path))
        batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        left = self.rows // self.tasks
        while left > 0:
            for batch in batches:
                yield (copied(batch) if self.copies else batch).slice(0, left)
                left -= batch.num_rows
                if left <= 0:
                    break


def copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = [
        pa.Array.from_buffers(
            column.type, len(column), [buffer and pa.py_buffer(buffer.to_pybytes()) for buffer in column.buffers()]
        )
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def start(memory: str = "2g") -> SparkSession:
    warnings.simplefilter("ignore")  # what PySpark says of pandas
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.python.unix.domain.socket.enabled": "true",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def cpu_seconds() -> float:
    """CPU time of the processes below this one: the JVM and the workers of Python. 0 where that is not known."""
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        times[int(stat.parent.name)] = sum(map(int, fields[11:15]))

    def is_ours(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return sum(ticks for pid, ticks in times.items() if is_ours(pid)) / os.sysconf("SC_CLK_TCK")


def make_files(folder: Path, name: str, millions: float) -> tuple[int, dict[str, Path]]:
    """The data set again and again: one seekable Jelly file, text, and record batches for the ceiling."""
    batches = list(jelly.scan(shared(*SOURCES[name])).batches())
    each = sum(map(len, batches))
    times = max(round(millions * 1e6 / each), 1)
    suffix = ".nq" if batches[0].arity == 4 else ".nt"
    files = {"jelly": folder / "all.jelly", "text": folder / f"all{suffix}"}
    for path in files.values():
        with jelly.Writer(path, **({"seekable": True} if path.suffix == ".jelly" else {})) as writer:
            for _ in range(times if path.suffix == ".jelly" else -(-times // 5)):
                for batch in batches:
                    writer.add_batch(batch)
    [file] = find_files(files["jelly"])
    for layout in ("flat", "ntriples"):
        files[layout] = folder / f"{layout}.arrow"
        few = list(islice(Reading().read(Part(file), layout=layout), max(1, min(each, 200_000) // BATCH_ROWS)))
        schema = pa.schema([field.with_nullable(True) for field in few[0].schema])
        with pa.ipc.new_file(str(files[layout]), schema) as out:
            for batch in few:
                out.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    return each * times, files


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--millions", type=float, default=5)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--data", choices=SOURCES, default="iot-weather")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, files = make_files(Path(folder), given.data, given.millions)
        spark = start()
        try:
            run(spark, rows, files, Path(folder), given.rounds)
        finally:
            spark.stop()


def run(spark: SparkSession, rows: int, files: dict[str, Path], folder: Path, rounds: int) -> None:
    jelly.spark.register(spark, pushdown=True)
    spark.dataSource.register(Ceiling)
    size = files["jelly"].stat().st_size
    source = str(files["jelly"])

    def read(tasks: int = 2, **options: Any) -> Any:
        return spark.read.format("jelly").options(splitBytes=size // tasks + 1, **options).load(source)

    def ceiling(layout: str, copies: bool = False) -> Any:
        schema = read(layout=layout).schema
        options = {"rows": rows, "tasks": 2, "copies": copies}
        return spark.read.format("ceiling").schema(schema).options(**options).load(str(files[layout]))

    columns = "spog" if files["text"].suffix == ".nq" else "spo"
    pattern = rf"^{' '.join([TOKEN] * len(columns))} \\.$"
    text = spark.read.text(str(files["text"])).selectExpr(
        *(f"regexp_extract(value, '{pattern}', {i}) as {name}" for i, name in enumerate(columns, 1))
    )
    predicate = read(columns="predicate").groupBy("predicate").count().orderBy("count").first()[0]
    read(layout="ntriples").write.mode("overwrite").parquet(str(folder / "parquet"))
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    jobs: dict[str, Callable[[], Any]] = {
        "flat": read,
        "flat, ceiling": lambda: ceiling("flat"),
        "flat, floor": lambda: ceiling("flat", copies=True),
        "flat, one task": lambda: read(1),
        "ntriples": lambda: read(layout="ntriples"),
        "ntriples, ceiling": lambda: ceiling("ntriples"),
        "ntriples, floor": lambda: ceiling("ntriples", copies=True),
        "text, regexp_extract": lambda: text,
        "Parquet of ntriples": lambda: spark.read.parquet(str(folder / "parquet")),
        "two columns": lambda: read(columns="subject,object"),
        "one predicate": lambda: read(pushdown="false").where(f"predicate = '{predicate}'"),
        "one predicate, pushdown": lambda: read().where(f"predicate = '{predicate}'"),
    }
    jelly_rows, text_rows = read().count(), spark.read.text(str(files["text"])).count()
    if not (jelly_rows == rows <= 5 * text_rows and text.where("s = ''").count() == 0):
        raise SystemExit(f"the jobs do not read the same: {jelly_rows}, {text_rows}, {rows}")
    n = dict.fromkeys(jobs, rows) | {"text, regexp_extract": text_rows}
    wall: dict[str, list[float]] = {name: [] for name in jobs}
    cpu: dict[str, list[float]] = {name: [] for name in jobs}
    for round in range(rounds + 1):
        for name, job in jobs.items():
            df = job()
            before, begin = cpu_seconds(), time.perf_counter()
            df.write.format("noop").mode("overwrite").save()
            if round:  # the first is for the JVM to compile
                wall[name].append((time.perf_counter() - begin) / n[name])
                cpu[name].append((cpu_seconds() - before) / n[name])
    print(f"\n{rows} statements, {size / 1e6:.1f} MB of Jelly")
    print(f"{'':26}{'Mrows/s':>9}{'CPU ns/row':>12}")
    for name in jobs:
        print(f"{name:26}{1e-6 / median(wall[name]):9.2f}{median(cpu[name]) * 1e9:12.0f}")

    def ratio(what: str, name: str, peer: str, goal: str) -> None:
        by_wall = median(b / a for a, b in zip(wall[name], wall[peer], strict=True))
        by_cpu = median(b / a if a else 0 for a, b in zip(cpu[name], cpu[peer], strict=True))
        print(f"{what:42}{by_wall:6.2f}x by wall clock, {by_cpu:.2f}x by CPU time{goal}")

    print()
    ratio("flat to its ceiling", "flat", "flat, ceiling", "; goal 0.95")
    ratio("floor of flat to its ceiling", "flat, floor", "flat, ceiling", "")
    ratio("ntriples to its ceiling", "ntriples", "ntriples, ceiling", "; goal 0.95")
    ratio("floor of ntriples to its ceiling", "ntriples, floor", "ntriples, ceiling", "")
    ratio("ntriples to text with regexp_extract", "ntriples", "text, regexp_extract", "; goal 5")
    ratio("two tasks to one", "flat", "flat, one task", "; goal 1.6 by wall clock")
    ratio("ntriples to Parquet", "ntriples", "Parquet of ntriples", "")
    ratio("pushdown to none", "one predicate, pushdown", "one predicate", "")


if __name__ == "__main__":
    main()
