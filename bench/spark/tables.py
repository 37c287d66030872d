"""Tables of ids, of predicates and of classes: an ingest beside the functions on DataFrames, for which Spark shuffles.

    python bench/spark/tables.py [--millions 20] [--layouts ids vertical wide] [--rounds 1]

Movies (Freebase) again and again, each time with other subjects, in one seekable Jelly file. `local[2]`, each way in a
process of its own; the start of Spark does not count. Memory is the peak of all processes of a way together (the JVM,
whose heap may have 4 GB, and the workers of Python), with shared pages counted once (PSS). The statements are cached
where a function reads them for each table. Both ways must make the same number of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow.parquet as parquet
from reading import cpu_seconds, start
from wide import text

import jelly
import jelly.spark

FREEBASE_TYPE = b"<http://rdf.freebase.com/ns/type>"
TYPE = b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
CLASSES = ("http://rdf.freebase.com/people/person", "http://rdf.freebase.com/film/film")
STATEMENTS = 213_453  # of the data
TICK = 0.5


def ingested(spark: Any, layout: Any, path: str, out: str) -> None:
    jelly.spark.ingest(path, out, spark=spark, layout=layout)


def shuffled(spark: Any, layout: str, path: str, out: str) -> None:
    df = spark.read.format("jelly").load(path)
    if layout == "ids":
        tables = dict(zip(("triples", "terms"), jelly.spark.to_ids(df), strict=True))
    elif layout == "vertical":
        made = jelly.spark.vertical(df.cache()).values()
        tables = {f"tables/{number}": table for number, table in enumerate(made)}
    else:
        df.cache()
        tables = {f"tables/{number}": jelly.spark.wide(df, cls) for number, cls in enumerate(CLASSES)}
    for name, table in tables.items():
        table.write.option("compression", "zstd").parquet(f"{out}/{name}")


WAYS = {"ingest": ingested, "DataFrames": shuffled}


def run(way: str, layout: str, path: str, out: str) -> None:
    spark = start("4g")
    jelly.spark.register(spark)
    spark.read.format("jelly").load(path).limit(1).collect()
    began, before = time.perf_counter(), cpu_seconds()
    WAYS[way](spark, layout, path, out)
    print(json.dumps([time.perf_counter() - began, cpu_seconds() - before]))
    spark.stop()


def memory(pid: int) -> int:
    """Bytes of a process and all below it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, total = {pid}, 0
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    for each in found:
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
            total += int(rollup.split("\nPss:")[1].split()[0]) * 1024
        except (OSError, IndexError):
            continue
    return total


def measured(way: str, layout: str, path: str, out: str) -> tuple[float, float, int, int]:
    """Seconds of the clock and of the processors, peak bytes, and rows."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-W", "ignore", __file__, "--run", way, layout, path, out]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        while child.poll() is None:
            peak = max(peak, memory(child.pid))
            time.sleep(TICK)
        assert child.stdout is not None
        assert child.returncode == 0, command
        seconds, used = json.loads(child.stdout.read().splitlines()[-1])
    files = [file for name in ("triples", "terms", "tables") for file in Path(out, name).rglob("*.parquet")]
    return seconds, used, peak, sum(parquet.ParquetFile(file).metadata.num_rows for file in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--millions", type=float, default=20)
    parser.add_argument("--layouts", nargs="+", default=["ids", "vertical", "wide"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(*given.run)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "movies.jelly")
        copies = max(1, round(given.millions * 1e6 / STATEMENTS))
        data = (part.replace(FREEBASE_TYPE, TYPE) for part in text(copies))
        n = jelly.convert(data, path, format="nt", seekable=True).statements
        print(f"{n:,} statements, {os.path.getsize(path) / 1e6:,.0f} MB of Jelly", flush=True)
        for layout in given.layouts:
            rows, first = set(), 0.0
            for way in WAYS:
                found = [measured(way, layout, path, f"{folder}/out") for _ in range(given.rounds)]
                seconds, used, peak = (median(each[at] for each in found) for at in range(3))
                rows |= {each[3] for each in found}
                first = first or seconds
                print(f"{layout:9}{way:11}{seconds:7.1f} s{used:7.1f} s of processors{peak / 1e6:7,.0f} MB"
                      f"{seconds / first:6.2f}x", flush=True)  # fmt: skip
            assert len(rows) == 1, rows


if __name__ == "__main__":
    main()
