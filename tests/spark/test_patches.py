"""The data source "jelly-patch", and the example of bench/ that applies a log of patches: as the library does."""

from __future__ import annotations

import importlib.util
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sessions import tasks_of

import jelly
import jelly.spark
from jelly.patch import Header, Patch, apply, dumps, loads, read_log, read_patches

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "bench" / "spark" / "patches.py"
N = 12  # patches


def line(i: int) -> str:
    graph = ("", " <a:g>", " <a:h>")[i % 3]
    object_ = (f'"{i}"', f'"{i}"@en', f"_:b{i}", "<< <a:s> <a:p> <a:o> >>")[i % 4]
    return f"<a:{i}> <a:p> {object_}{graph} .\n"


def operations(dice: random.Random) -> str:
    """Changes of few statements, so that many are changed more than once."""
    return "".join(f"{dice.choice('AD')} {line(dice.randrange(60))}" for _ in range(40))


@pytest.fixture
def log(spark: Any, tmp_path: Path) -> Path:
    """A log of some files, of which neither names nor contents are in order."""
    jelly.spark.register(spark)
    dice = random.Random(1)
    patches = []
    for i in range(N):
        text = operations(dice) + f"TX .\n{operations(dice)}T{'CA'[i % 2]} .\n" + operations(dice) * (i % 2)
        [patch] = loads(text.encode(), format="rdfp")
        links = [Header("id", jelly.IRI(f"uuid:{i}"))] + [Header("prev", jelly.IRI(f"uuid:{i - 1}"))] * (i > 0)
        patches.append(Patch([*links, *patch]))
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "c.jellyp").write_bytes(dumps([patches[5], patches[0], patches[9]]))
    (folder / "a.jellyp").write_bytes(dumps([patches[7], patches[10]]))
    for name, i in {"b.trp": 1, "d.rdfp": 2, "0.rdfp": 3, "e.trp": 4, "1.rdfp": 6, "f.rdfp": 8, "2.rdfp": 11}.items():
        (folder / name).write_bytes(dumps(patches[i], format=name.partition(".")[2]))
    return folder


def rows(df: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


def test_the_table_is_that_of_the_library(spark: Any, log: Path) -> None:
    df = spark.read.format("jelly-patch").load(str(log))
    assert df.columns == [
        "op", "patch", "row", "file",
        "subject", "predicate", "object", "object_kind", "datatype", "lang", "graph",
    ]  # fmt: skip
    wanted = [
        (row.pop("op"), row.pop("patch"), i, str(path), *row.values())
        for path in sorted(log.iterdir())
        for i, row in enumerate(jelly.read_arrow(path).read_all().to_pylist())
    ]
    assert rows(df) == wanted
    assert {row[:2] for row in wanted} >= {("add", 2), ("delete", 2)}
    # Small files share a task, and none is cut.
    assert tasks_of(df) == 1
    few = spark.read.format("jelly-patch").option("splitBytes", 1).schema("row long, s string, op string")
    few = few.load([f"{log}/c.jellyp", f"{log}/*.trp"])
    assert tasks_of(few) == 3
    plain = jelly.read_arrow(log / "c.jellyp", layout="ntriples").read_all().to_pylist()
    assert rows(few)[: len(plain)] == [(i, row["s"], row["op"]) for i, row in enumerate(plain)]
    assert spark.read.format("jelly-patch").option("columns", "file").load(str(log)).distinct().count() == 9


def test_broken_files(spark: Any, log: Path) -> None:
    wanted = spark.read.format("jelly-patch").load(str(log)).count()
    (log / "cut.rdfp").write_text(f"A {line(1)}TX .\nA {line(2)}")
    (log / "notes.md").write_text("no patch")
    read = spark.read.format("jelly-patch").option("columns", "op,row")
    assert read.option("mode", "DROPMALFORMED").load(str(log)).count() == wanted + 1
    told = rows(read.option("mode", "PERMISSIVE").load(str(log)).where("_corrupt_record is not null"))
    assert [row[:2] for row in told] == [(None, None)] * 2
    assert ["cut.rdfp" in told[0][2], "notes.md" in told[1][2]] == [True, True]
    with pytest.raises(Exception, match=r"cut\.rdfp"):
        read.option("mode", "FAILFAST").load(f"{log}/cut.*").collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "op,frame"}, "expected some of op, patch, row, file, subject"),
        ({"format": "nt"}, "expected one of jellyp, rdfp, trp"),
        ({"path": ""}, 'expected spark.read.format("jelly-patch")'),
    ],
)
def test_what_is_refused(spark: Any, log: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - AnalysisException of PySpark
        spark.read.format("jelly-patch").options(**{"path": str(log)} | options).load().collect()
    assert words in str(caught.value)


def test_a_directory_as_a_stream(spark: Any, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource")
    reading = spark.readStream.format("jelly-patch").option("maxFilesPerTrigger", 4)
    query = (
        reading.load(str(log)).writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "state"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )  # fmt: skip
    assert query.awaitTermination(60)
    found = rows(spark.read.parquet(str(tmp_path / "out")))
    assert Counter(found) == Counter(rows(spark.read.format("jelly-patch").load(str(log))))
    with pytest.raises(Exception, match="cannot be followed"):
        reading.option("follow", "true").load(f"{log}/a.jellyp").writeStream.format("noop").option(
            "checkpointLocation", str(tmp_path / "other")
        ).start().awaitTermination(60)


@pytest.mark.skipif(not EXAMPLE.exists(), reason="bench/ is not there")
def test_a_log_is_applied_to_a_table(spark: Any, log: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("spark_patches", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    old = tmp_path / "old.nq"
    old.write_text("".join(line(i) for i in range(0, 90, 2)))
    assert apply(read_log(log), old, tmp_path / "new.nq").deleted > 0
    wanted = {str(statement) for statement in jelly.read(tmp_path / "new.nq")}

    statements = spark.read.format("jelly").options(layout="ntriples", blankNodes="keep").load(str(old))
    after = example.patched(spark, statements, str(log))
    after.write.format("jelly").mode("overwrite").save(str(tmp_path / "out"))
    found = [str(statement) for path in (tmp_path / "out").glob("*.jelly") for statement in jelly.read(path)]
    assert len(found) == len(set(found)) == len(wanted)
    assert set(found) == wanted

    (log / "d.rdfp").unlink()
    with pytest.raises(jelly.JellyFormatError, match="the log is broken"):
        example.patched(spark, statements, str(log))


# ---- writing

TERMS = ["s", "p", "o", "g"]


def table(folder: Path) -> list[dict[str, Any]]:
    """The rows of all parts in their order, patches numbered through."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("part-*")):
        first = found[-1]["patch"] + 1 if found else 0
        part = jelly.read_arrow(path, layout="ntriples").read_all().to_pylist()
        found += [row | {"patch": row["patch"] + first} for row in part]
    return found


@pytest.mark.every_spark
def test_what_is_written_is_what_is_read(spark: Any, log: Path, tmp_path: Path) -> None:
    wanted = jelly.read_arrow(log / "c.jellyp", layout="ntriples").read_all().to_pylist()
    df = spark.read.format("jelly-patch").option("layout", "ntriples").load(f"{log}/c.jellyp")
    in_order = df.repartitionByRange(2, "patch").sortWithinPartitions("patch", "row")
    in_order.drop("row", "file").write.format("jelly-patch").mode("append").save(str(tmp_path / "out"))
    names = [path.name for path in sorted((tmp_path / "out").iterdir())]
    assert [name[:11] for name in names] == ["_SUCCESS", "part-00000-", "part-00001-"]
    assert all(name.endswith(".jellyp") for name in names[1:])
    assert table(tmp_path / "out") == wanted
    again = spark.read.format("jelly-patch").option("layout", "ntriples").load(str(tmp_path / "out"))
    assert Counter(rows(again.select("op", *TERMS))) == Counter(rows(df.select("op", *TERMS)))
    # Without the column a task is a patch; without one of graphs they are of triples.
    one = df.coalesce(1).selectExpr("upper(op) as op", "s", "p", "o")
    one.write.format("jelly-patch").mode("overwrite").option("compression", "gzip").save(str(tmp_path / "one"))
    [path] = (tmp_path / "one").glob("part-*.jellyp.gz")
    [patch] = read_patches(path)
    assert (patch.count(2) + patch.count(3), patch.count(6), patch.count(7)) == (len(wanted), 1, 1)
    assert not patch.quads
    df.where("op = ''").drop("row", "file").write.format("jelly-patch").mode("append").save(str(tmp_path / "none"))
    assert spark.read.format("jelly-patch").load(str(tmp_path / "none")).count() == 0


@pytest.mark.parametrize(
    ("expressions", "words"),
    [
        (("s", "p", "o"), "missing 'op'"),
        (("op", "row", "s", "p", "o"), "column 'row' is of type bigint: expected string; besides op and patch"),
        (("op", "file", "s", "p", "o"), "unknown 'file'"),
        (("op", "string(patch)", "s", "p", "o"), "column 'patch' is of type string: expected a whole number"),
        (("if(row = 3, 'keep', op) as op", "s", "p", "o"), "column 'op': expected add, insert or A, or delete or D"),
        (("op", "int(-row) as patch", "s", "p", "o"), "column 'patch': -1 comes after 0"),
    ],
)
def test_what_cannot_be_written(
    spark: Any, log: Path, tmp_path: Path, expressions: tuple[str, ...], words: str
) -> None:
    df = spark.read.format("jelly-patch").option("layout", "ntriples").load(f"{log}/c.jellyp")
    with pytest.raises(Exception, match=words):
        df.selectExpr(*expressions).write.format("jelly-patch").mode("append").save(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_the_sink_of_a_stream(spark: Any, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource")
    stream = spark.readStream.format("jelly-patch").option("layout", "ntriples").option("maxFilesPerTrigger", 5)
    query = (
        stream.load(str(log)).drop("row", "file", "patch").writeStream.format("jelly-patch")
        .option("checkpointLocation", str(tmp_path / "state"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )  # fmt: skip
    assert query.awaitTermination(60)
    batches = sorted((tmp_path / "out").glob("batch=*"))
    assert [len(list(batch.glob("part-*.jellyp"))) for batch in batches] == [1, 1]
    read = spark.read.format("jelly-patch").option("layout", "ntriples").option("columns", ",".join(["op", *TERMS]))
    assert Counter(rows(read.load(str(tmp_path / "out")))) == Counter(rows(read.load(str(log))))
