"""Dumps on S3 to tables, a lakehouse and a graph: each step timed, beside the same in plain PySpark.

    make pipeline                                  # 5 million statements
    python bench/spark/pipeline.py --statements 1000000 --json figures.json --plot pipeline.svg

The steps: dumps in four formats on an S3 server of this machine (moto) become a flat table and tables of ids in
Parquet; the flat table becomes a Delta table, to which the patches of some days are applied; GraphX, the library below
GraphFrames that Spark brings, ranks the people, and polars counts whom most people know. Plain PySpark gets the same
statements as N-Triples in gzip, the only one of the formats that it can read, from the local disk, and parses them with
regular expressions. Both must find the same. A figure is the mean of two runs, of which one is the first of all or the
last.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "lakehouse"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "spark"))

import polars
import s3fs
from cluster import environment, session
from dumps import FOAF, make_dumps, make_patches
from jars import need_jars
from object_store import s3_server, storage_of
from pyspark.sql import functions as F

import jelly
import jelly.spark

KNOWS = f"{FOAF}knows"
ROUNDS = 5  # of PageRank
TERM = r'(?:<[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:@\S+|\^\^<[^>]*>)?)'
LINE = rf"({TERM})\s+({TERM})\s+({TERM})\s*\.?\s*$"
STEPS = ("flat table", "tables of ids", "Delta", "patches", "PageRank", "polars")


class Pipeline:
    """The steps of one side; each gives what both sides must find."""

    def __init__(self, spark: Any, out: Path) -> None:
        self.spark = spark
        self.out = out
        self.delta = f"delta.`{out / 'delta'}`"

    def run(self) -> tuple[dict[str, float], dict[str, Any]]:
        """The seconds of each step, and what it found."""
        seconds, found = {}, {}
        for name, step in zip(STEPS, self.steps(), strict=True):
            began = time.perf_counter()
            found[name] = step()
            seconds[name] = time.perf_counter() - began
            print(f"  {name}: {seconds[name]:.1f} s", file=sys.stderr)
        return seconds, found

    def steps(self) -> list[Callable[[], Any]]:
        return [self.flat, self.ids, self.to_delta, self.patch, self.rank, self.count]

    def flat(self) -> int:
        raise NotImplementedError

    def ids(self) -> int:
        raise NotImplementedError

    def to_delta(self) -> int:
        """The number of statements in Delta."""
        self.spark.read.parquet(str(self.out / "flat")).write.format("delta").save(str(self.out / "delta"))
        return int(self.spark.table(self.delta).count())

    def patch(self) -> int:
        raise NotImplementedError

    def edges(self) -> Any:
        triples = self.spark.read.parquet(str(self.out / "ids" / "triples")).where(F.col("predicate") == self.knows())
        return triples.select(F.col("subject").alias("src"), F.col("object").alias("dst"))

    def rank(self) -> list[float]:
        """The ten highest ranks."""
        self.edges().selectExpr("concat(src, ' ', dst)").write.text(str(self.out / "edges"))
        jvm = self.spark._jvm
        level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
        context = self.spark.sparkContext._jsc.sc()
        load = jvm.org.apache.spark.graphx.GraphLoader.edgeListFile
        graph = load(context, str(self.out / "edges"), False, 2, level, level)
        number = jvm.scala.reflect.ClassTag.Int()
        ranked = jvm.org.apache.spark.graphx.Graph.graphToGraphOps(graph, number, number).staticPageRank(ROUNDS, 0.15)
        ranked.vertices().toJavaRDD().saveAsTextFile(str(self.out / "ranks"))
        ranks = self.spark.read.text(str(self.out / "ranks"))
        best = ranks.select(F.regexp_extract("value", r",([\d.E-]+)\)", 1).cast("double").alias("rank"))
        return [round(row.rank, 3) for row in best.orderBy("rank", ascending=False).limit(10).collect()]

    def count(self) -> list[int]:
        """By how many the ten best known are known."""
        triples = polars.scan_parquet(str(self.out / "ids" / "triples" / "**" / "*.parquet"))
        known = triples.filter(polars.col("predicate") == self.knows()).group_by("object").len()
        return list(known.sort("len", descending=True).head(10).collect()["len"])

    def knows(self) -> int:
        raise NotImplementedError


class Ours(Pipeline):
    def __init__(self, spark: Any, out: Path, bucket: str, storage: dict[str, Any], layout: str) -> None:
        super().__init__(spark, out)
        self.bucket, self.storage, self.layout = bucket, storage, layout

    def flat(self) -> int:
        done = jelly.spark.ingest(
            f"{self.bucket}/dumps", self.out / "flat", spark=self.spark, storage=self.storage, layout=self.layout
        )
        return done.statements

    def ids(self) -> int:
        done = jelly.spark.ingest(
            f"{self.bucket}/dumps", self.out / "ids", spark=self.spark, storage=self.storage, layout="ids"
        )
        return done.statements

    def patch(self) -> int:
        read = self.spark.read.format("jelly-patch").options(storage=json.dumps(self.storage), layout=self.layout)
        for day in range(DAYS):
            patches = read.load(f"{self.bucket}/patches/day{day}.jellyp")
            jelly.spark.merge(patches, self.delta, transaction=("daily", day))
        return int(self.spark.table(self.delta).count())

    def knows(self) -> int:
        return jelly.spark.term_id(f"<{KNOWS}>")


class Plain(Pipeline):
    def __init__(self, spark: Any, out: Path, folder: Path) -> None:
        super().__init__(spark, out)
        self.folder = folder

    def parsed(self, text: Any) -> Any:
        return text.select(*(F.regexp_extract("value", LINE, i + 1).alias(name) for i, name in enumerate("spo")))

    def flat(self) -> int:
        text = self.spark.read.text(str(self.folder / "*.nt.gz"))
        self.parsed(text).write.option("compression", "zstd").parquet(str(self.out / "flat"))
        return int(self.spark.read.parquet(str(self.out / "flat")).count())

    def ids(self) -> int:
        flat = self.spark.read.parquet(str(self.out / "flat"))
        terms = flat.select(F.explode(F.array("s", "p", "o")).alias("value")).distinct()
        terms.select(F.xxhash64("value").alias("id"), "value").write.option("compression", "zstd").parquet(
            str(self.out / "ids" / "terms")
        )
        triples = flat.select(
            F.xxhash64("s").alias("subject"), F.xxhash64("p").alias("predicate"), F.xxhash64("o").alias("object")
        )
        triples.write.option("compression", "zstd").parquet(str(self.out / "ids" / "triples"))
        return int(self.spark.read.parquet(str(self.out / "ids" / "triples")).count())

    def patch(self) -> int:
        for day in range(DAYS):
            lines = self.spark.read.text(str(self.folder / f"day{day}.rdfp")).where("value rlike '^[AD] '")
            numbered = lines.select(
                F.substring("value", 1, 1).alias("op"), F.monotonically_increasing_id().alias("row"),
                *(F.regexp_extract("value", "^[AD] " + LINE, i + 1).alias(name) for i, name in enumerate("spo")),
            )  # fmt: skip
            numbered.groupBy("s", "p", "o").agg(F.max_by("op", "row").alias("op")).createOrReplaceTempView("net")
            self.spark.sql(
                f"merge into {self.delta} t using net on t.s = net.s and t.p = net.p and t.o = net.o"
                " when matched and net.op = 'D' then delete"
                " when not matched and net.op = 'A' then insert (s, p, o) values (net.s, net.p, net.o)"
            )
        return int(self.spark.table(self.delta).count())

    def knows(self) -> int:
        row = self.spark.range(1).select(F.xxhash64(F.lit(f"<{KNOWS}>")).alias("id")).first()
        return int(row.id)


DAYS = 3
WARMING = 20_000  # statements


def measure(statements: int, folder: Path, layout: str) -> dict[str, Any]:
    """The seconds of each step on both sides, and what was there, after a round with little to warm Spark up."""
    os.environ |= {name: environment()[name] for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYTHONPATH")}
    places = {"spark.driver.extraClassPath": need_jars(), "spark.local.dir": str(folder / "spark")}
    spark = session("local[2]", **CONF, **places)
    jelly.spark.register(spark)
    with s3_server() as server:
        store = s3fs.S3FileSystem(**storage_of(server))
        print("to warm up", file=sys.stderr)
        both_sides(spark, store, storage_of(server), WARMING, folder / "warming", layout)
        print("measured", file=sys.stderr)
        figures = both_sides(spark, store, storage_of(server), statements, folder / "measured", layout)
    spark.stop()
    return figures


def both_sides(
    spark: Any, store: Any, storage: dict[str, Any], statements: int, folder: Path, layout: str
) -> dict[str, Any]:
    dumps, patches, plain = folder / "dumps", folder / "patches", folder / "plain"
    for path in (dumps, patches, plain):
        path.mkdir(parents=True)
    began = time.perf_counter()
    files = make_dumps(dumps, statements)
    days = make_patches(patches, statements, DAYS, statements // 500)
    for file in files:
        jelly.convert(file, plain / f"{file.name.partition('.')[0]}.nt.gz")
    for day in days:
        jelly.convert(day, plain / f"{day.stem}.rdfp")
    print(f"the dumps took {time.perf_counter() - began:.1f} s", file=sys.stderr)
    bucket = folder.name
    store.mkdir(bucket)
    store.put(f"{dumps}/", f"{bucket}/dumps/", recursive=True)
    store.put(f"{patches}/", f"{bucket}/patches/", recursive=True)
    seconds: dict[str, list[dict[str, float]]] = {"jelly": [], "plain": []}
    found: list[dict[str, Any]] = []
    # What comes later is faster, because Spark is warm: each side comes first and last.
    for number, side in enumerate(("jelly", "plain", "plain", "jelly")):
        print(side, file=sys.stderr)
        out = folder / f"out{number}"
        made = Ours(spark, out, f"s3://{bucket}", storage, layout) if side == "jelly" else Plain(spark, out, plain)
        took, results = made.run()
        shutil.rmtree(out)
        seconds[side].append(took)
        found.append(results)
    if any(results != found[0] for results in found):
        raise SystemExit(f"the two sides found different things:\n{found}")
    mean = {side: {name: sum(took[name] for took in two) / 2 for name in STEPS} for side, two in seconds.items()}
    return {
        "statements": found[0]["flat table"], "patches": DAYS, **mean,
        "bytes": {path.name: sum(file.stat().st_size for file in path.iterdir()) for path in (dumps, plain)},
    }  # fmt: skip


CONF = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def plot(figures: dict[str, Any], path: str) -> None:
    """Bars: the seconds of each step on both sides."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    for shift, side, colour in ((-0.2, "jelly", "#0b7285"), (0.2, "plain", "#adb5bd")):
        seconds = [figures[side][name] for name in STEPS]
        label = {"jelly": "jelly", "plain": "plain PySpark, N-Triples"}[side]
        bars = axes.barh([i + shift for i in range(len(STEPS))], seconds, 0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="%.1f s", padding=3)
    axes.set_yticks(range(len(STEPS)), STEPS)
    axes.invert_yaxis()
    axes.set_xlabel(f"seconds, {figures['statements'] / 1e6:.1f} million statements, two cores")
    axes.margins(x=0.12)
    axes.legend()
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--statements", type=int, default=5_000_000)
    parser.add_argument("--layout", choices=("flat", "ntriples"), default="flat", help="of the first two tables")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--plot", help="plot them to this file (.svg, .png)")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="jelly-pipeline-"))
    try:
        figures = measure(given.statements, folder, given.layout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    total = {side: sum(figures[side].values()) for side in ("jelly", "plain")}
    print(f"{figures['statements']:,} statements, {figures['patches']} days of patches")
    for name in STEPS:
        print(f"{name:<14} {figures['jelly'][name]:7.1f} s {figures['plain'][name]:7.1f} s")
    print(f"{'all':<14} {total['jelly']:7.1f} s {total['plain']:7.1f} s   {total['plain'] / total['jelly']:.2f}x")
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=2) + "\n")
    if given.plot:
        plot(figures, given.plot)


if __name__ == "__main__":
    main()
