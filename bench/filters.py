"""One subject among many statements: by filters in the index, in Python and on Spark, beside Parquet with statistics.

``python bench/filters.py --millions 50 --folder FOLDER --spark`` makes the files once: ten statements of each subject,
sorted by subject and in a mixed order. They take 7 GB there for 50 million statements.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from figures import merge

import jelly

OF_SUBJECT = 10
CHUNK = 100_000  # subjects
# A step that reaches all numbers of subjects in a mixed order: a prime, so that it divides none of them.
STEP = 1_000_003


def subject(number: int) -> str:
    return f"https://example.org/item/{number:09}"


def tables(subjects: int, step: int) -> Iterator[pa.Table]:
    """The statements, as columns of the layout flat."""
    for first in range(0, subjects, CHUNK):
        numbers = [n * step % subjects for n in range(first, min(first + CHUNK, subjects))]
        yield pa.table({
            "subject": [subject(n) for n in numbers for _ in range(OF_SUBJECT)],
            "predicate": [f"https://example.org/predicate/{k}" for k in range(OF_SUBJECT)] * len(numbers),
            "object": [
                f"https://example.org/value/{(n + k) % 9973}" if k % 2 else f"value {n} {k}"
                for n in numbers for k in range(OF_SUBJECT)
            ],
            "object_kind": ["iri" if k % 2 else "literal" for k in range(OF_SUBJECT)] * len(numbers),
        })  # fmt: skip


def make(folder: Path, subjects: int) -> None:
    """Write the files that are not there: Jelly in both orders, and Parquet in the order of the subjects."""
    for name, step in (("sorted", 1), ("mixed", STEP)):
        path = folder / f"{name}-{subjects}.jelly"
        if not path.exists():
            source = (batch for table in tables(subjects, step) for batch in table.to_batches())
            first = next(tables(1, 1)).schema
            jelly.write_arrow(path, pa.RecordBatchReader.from_batches(first, source), index="terms")
    path = folder / f"sorted-{subjects}.parquet"
    if not path.exists():
        with parquet.ParquetWriter(path, next(tables(1, 1)).schema, write_page_index=True) as writer:
            for table in tables(subjects, 1):
                writer.write_table(table, row_group_size=CHUNK * OF_SUBJECT)
    few = folder / "one.jelly"
    jelly.write(few, [jelly.Triple(jelly.IRI(subject(0)), jelly.IRI("a:p"), jelly.IRI("a:o"))])


def spread(subjects: int, n: int) -> list[str]:
    """Some subjects from all parts of a file."""
    return [subject((2 * i + 1) * subjects // (2 * n)) for i in range(n)]


def in_python(folder: Path, subjects: int) -> list[dict[str, Any]]:
    """Measure the filters and searches with the file open."""
    found = []
    for name in ("sorted", "mixed"):
        path = folder / f"{name}-{subjects}.jelly"
        with jelly.open(path) as file:
            assert file.filters is not None
            share = file.filters.size / path.stat().st_size
            print(f"{name}: {len(file):,} statements, {len(file.index.segments()):,} segments,"
                  f" filters {share:.1%} of the file")  # fmt: skip
            jelly.scan(file).filter(s="a:none").count()
            seconds, read, matching = [], 0, 0
            for one in spread(subjects, 25):
                began = time.perf_counter()
                assert jelly.scan(file).filter(s=one).count() == OF_SUBJECT
                seconds.append(time.perf_counter() - began)
                pattern = jelly.Pattern(one)
                chosen = file.matching(pattern.query()) or []
                read += len(chosen)
                segments = file.index.segments()
                matching += sum(
                    any(pattern.count(batch) for batch in file._read(segments[number])) for number in chosen
                )
            print(f"  one subject: median {statistics.median(seconds) * 1e3:.1f} ms, most {max(seconds) * 1e3:.1f} ms;"
                  f" {read} segments read, {matching} of them match")  # fmt: skip
        sidecar = Path(f"{path}.idx")
        began = time.perf_counter()
        command = [sys.executable, "-m", "jelly", "index", "--terms", str(path)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        took = time.perf_counter() - began
        sidecar.unlink()
        print(f"  jelly index --terms: {took:.1f} s, {subjects * OF_SUBJECT / took / 1e6:.1f} M statements/s")
        found.append({
            "order": name, "statements": subjects * OF_SUBJECT, "seconds": statistics.median(seconds),
            "most": max(seconds), "share": share, "index": took,
        })  # fmt: skip
    return found


def on_spark(folder: Path, subjects: int) -> list[dict[str, Any]]:
    """Measure queries for one subject: Jelly, Parquet, and a file of one row, which is what Spark itself takes."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import jelly.spark

    spark: Any = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    jelly.spark.register(spark, pushdown=True)
    frames = {
        "one row": spark.read.format("jelly").load(str(folder / "one.jelly")),
        "jelly": spark.read.format("jelly").load(str(folder / f"sorted-{subjects}.jelly")),
        "parquet": spark.read.parquet(str(folder / f"sorted-{subjects}.parquet")),
    }
    taken: dict[str, list[float]] = {name: [] for name in frames}
    for one in spread(subjects, 12):
        for name, frame in frames.items():
            taken[name].append(timed(lambda frame=frame, one=one: frame.filter(frame.subject == one).collect()))
    medians = {name: statistics.median(seconds[2:]) for name, seconds in taken.items()}  # the first two warm it up
    for name, seconds in medians.items():
        print(f"Spark, {name}: median {seconds:.3f} s")
    spark.stop()
    return [{"who": name, "seconds": seconds} for name, seconds in medians.items()]


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, default=1)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--spark", action="store_true", help="also on Spark")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there, for the page of speed")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    subjects = int(given.millions * 1_000_000) // OF_SUBJECT
    make(given.folder, subjects)
    found = {"search": in_python(given.folder, subjects)}
    if given.spark:
        found["search on Spark"] = on_spark(given.folder, subjects)
    if given.json:
        merge(given.json, found)


if __name__ == "__main__":
    main()
