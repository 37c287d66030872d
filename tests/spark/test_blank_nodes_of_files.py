"""Blank nodes of several files, and the column that says which file a row is from. What joins find is what counts."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from sessions import tasks_of

import jelly
import jelly.spark
from jelly._dataset.blank_node_scope import Mode, scope_of
from jelly.spark._ingest import ingest
from jelly.spark._jobs import stats

NAMES = ("a.nt", "deep/b.nt", "c.ttl")
SKOLEM = {"blankNodes": "skolemize", "skolemBase": "https://example.org"}


@pytest.fixture(scope="module", autouse=True)
def source(spark: Any) -> None:
    jelly.spark.register(spark)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, in each of which b0 knows b1 and both have names: as one graph they would have more pairs."""
    folder = tmp_path / "src"
    (folder / "deep").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_text(
            f'_:b0 <a:knows> _:b1 .\n_:b0 <a:name> "{name} 0" .\n_:b1 <a:name> "{name} 1" .\n<a:x> <a:sees> _:b1 .\n'
        )
    return folder


EXPECTED = Counter((f"{name} 0", f"{name} 1") for name in NAMES)


def chain_of(n: int) -> list[jelly.Triple]:
    nodes = [jelly.BlankNode(f"b{i}") for i in range(n + 1)]
    return [jelly.Triple(one, jelly.IRI("a:p"), two) for one, two in zip(nodes, nodes[1:], strict=False)]


def pairs(df: Any) -> Counter[tuple[str, str]]:
    """Who knows whom, by name."""
    name, knows = (df.where(f"predicate = 'a:{which}'") for which in ("name", "knows"))
    one, two = (name.selectExpr(f"subject as {n}", f"object as name_{n}") for n in "xy")
    found = knows.join(one, knows.subject == one.x).join(two, knows.object == two.y)
    return Counter(tuple(row) for row in found.select("name_x", "name_y").collect())


def rows(df: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=str)


def test_joins_over_files(spark: Any, folder: Path, tmp_path: Path) -> None:
    read = spark.read.format("jelly")
    together = read.load(str(folder))
    assert pairs(together) == EXPECTED
    assert pairs(read.option("blankNodes", "keep").load(str(folder))).total() == 27
    iris = spark.read.format("jelly").options(**SKOLEM).load(str(folder))
    assert pairs(iris) == EXPECTED
    assert iris.where("object_kind = 'bnode'").count() == 0
    genid = f"https://example.org/.well-known/genid/{scope_of(str(folder / 'a.nt')).decode()}b0"
    assert iris.where(f"subject = '{genid}'").count() == 2
    # The same labels again: alone, through another path, in other tasks.
    alone = spark.read.format("jelly").load(f"file://{folder}/deep/../a.nt")
    assert set(rows(alone)) < set(rows(together))
    small = spark.read.format("jelly").option("splitBytes", 1).load(str(folder))
    assert tasks_of(small) == 3
    assert rows(small) == rows(together)
    # What is written and read has the same nodes, which part files share, and joins with the source.
    together.repartition(2, "predicate").write.format("jelly").mode("append").save(str(tmp_path / "out"))
    assert len(list((tmp_path / "out").glob("part-*"))) == 2
    again = spark.read.format("jelly").load(str(tmp_path / "out"))
    assert rows(again) == rows(together)
    # Labels that had no scope get that of the job.
    kept = spark.read.format("jelly").option("blankNodes", "keep").load(str(folder / "a.nt"))
    kept.repartition(2, "predicate").write.format("jelly").mode("append").save(str(tmp_path / "kept"))
    assert len(list((tmp_path / "kept").glob("part-*"))) == 2
    assert pairs(spark.read.format("jelly").load(str(tmp_path / "kept"))) == Counter([("a.nt 0", "a.nt 1")])


def test_filters_and_the_column_of_the_file(spark: Any, folder: Path) -> None:
    label = f"_:{scope_of(str(folder / 'a.nt')).decode()}b1"
    conditions = {
        f"subject = '{label}'": 1, f"object = '{label}'": 2, "subject = '_:b1'": 0,
        f"object in ('{label}', 'c.ttl 0')": 3, f"source = '{folder}/a.nt'": 4, "source = 'no'": 0,
        f"source in ('{folder}/a.nt', '{folder}/c.ttl', null) and predicate = 'a:name'": 4,
        f"source = '{folder}/a.nt' and source = '{folder}/c.ttl'": 0,
    }  # fmt: skip
    try:
        for pushdown in (False, True):
            jelly.spark.register(spark, pushdown=pushdown)
            df = spark.read.format("jelly").option("fileColumn", "source").load(str(folder))
            assert df.columns[-1] == "source"
            assert {condition: df.where(condition).count() for condition in conditions} == conditions
            nt = spark.read.format("jelly").option("layout", "ntriples").load(str(folder))
            assert nt.where(f"o = '{label}'").count() == 2
        # Files that the filter leaves out are not opened.
        (folder / "bad.nt").write_text("bad\n")
        assert df.where(f"source = '{folder}/a.nt'").count() == 4
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
        jelly.spark.register(spark)


def test_file_frame_and_row_without_other_columns(spark: Any, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    plain = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(3000)]
    jelly.write(path, plain, seekable=True, keyframe_rows=500, frame_rows=250)
    df = spark.read.format("jelly").option("splitBytes", path.stat().st_size // 3)
    df = df.option("columns", "row, object, file, frame").load(str(path))
    assert tasks_of(df) > 1
    assert df.schema.simpleString() == "struct<row:bigint,object:string,file:string,frame:bigint>"
    frames = jelly.read_arrow(path, columns=["frame"]).read_all()["frame"].to_pylist()
    assert frames[-1] > 9
    assert sorted(map(tuple, df.collect())) == [(i, str(i), str(path), frame) for i, frame in enumerate(frames)]
    only = spark.read.format("jelly").schema("file string").load(str(folder))
    assert Counter(row.file for row in only.collect()) == Counter({str(folder / name): 4 for name in NAMES})
    (folder / "a.nt").write_text("<a:s> <a:p> <a:o> .\nbad\n<a:s> <a:p> <a:o> .\n")
    broken = spark.read.format("jelly").option("mode", "PERMISSIVE").schema(
        "file string, row bigint, _corrupt_record string"
    ).load(str(folder / "a.nt"))  # fmt: skip
    assert [row[:2] for row in rows(broken)] == [(str(folder / "a.nt"), 0), (str(folder / "a.nt"), 1),
                                                 (str(folder / "a.nt"), None)]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("jelly", {"blankNodes": "rename"}, "option blankNodes is 'rename': expected one of scope, keep, skolemize"),
        ("jelly", {"blankNodes": "skolemize"}, "need a base for their IRIs"),
        ("jelly", {"fileColumn": "object"}, "option fileColumn is 'object': expected a name that no other column has"),
        ("jelly", {"columns": "file, file"}, "each once"),
        ("jelly-patch", {"blankNodes": "scope"}, "option blankNodes is 'scope': expected one of keep"),
        ("jelly-patch", {"fileColumn": "x"}, "has no option fileColumn"),
        ("jelly-results", {"fileColumn": "x"}, "has no option fileColumn"),
    ],
)
def test_what_is_refused(spark: Any, folder: Path, format: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format(format).options(**options).load(str(folder)).collect()
    with pytest.raises(Exception, match="the schema has no such column"):
        spark.read.format("jelly").option("fileColumn", "x").schema("subject string").load(str(folder)).collect()


def test_results_of_several_files(spark: Any, tmp_path: Path) -> None:
    for name in "ab":
        jelly.results.write_results(tmp_path / f"{name}.srt", ["x"], [(jelly.BlankNode("b0"),)])
    found = spark.read.format("jelly-results").load(str(tmp_path))
    assert {row.x for row in found.collect()} == {
        f"_:{scope_of(str(tmp_path / f'{name}.srt')).decode()}b0" for name in "ab"
    }


@pytest.mark.parametrize("to", ["parquet", "jelly"])
def test_ingest(spark: Any, folder: Path, tmp_path: Path, to: Any) -> None:
    done = ingest(folder, tmp_path / "out", spark=spark, to=to, split_bytes=1)
    assert (done.tasks, done.statements) == (3, 12)
    table = spark.read.format(to).load(str(tmp_path / "out"))
    assert pairs(table) == EXPECTED
    # It has the labels of the data source.
    assert rows(table) == rows(spark.read.format("jelly").load(str(folder)))
    with pytest.raises(jelly.JellyError, match="made with blank_nodes 'scope', not 'keep'"):
        ingest(folder, tmp_path / "out", spark=spark, to=to, blank_nodes="keep")
    ingest(folder, tmp_path / "iris", spark=spark, to=to, blank_nodes="skolemize", skolem_base="https://example.org")
    table = spark.read.format(to).load(str(tmp_path / "iris"))
    assert rows(table) == rows(spark.read.format("jelly").options(**SKOLEM).load(str(folder)))


def test_ingest_of_one_file_in_parts(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    chain = chain_of(3000)
    jelly.write(path, chain, seekable=True, keyframe_rows=500)
    size = path.stat().st_size // 3
    modes: list[Mode] = ["scope", "keep"]
    for mode in modes:
        out = tmp_path / mode
        assert ingest(path, out, spark=spark, to="jelly", split_bytes=size, blank_nodes=mode).tasks > 1
        df = spark.read.format("jelly").load(str(out))
        ends = df.selectExpr("object as subject").join(df.select("subject"), "subject", "left_anti")
        assert ends.count() == 1, mode
    with pytest.raises(jelly.JellyError, match="made with blank_nodes 'keep', not 'scope'"):
        ingest(path, tmp_path / "keep", spark=spark, to="jelly", split_bytes=size)


def test_stats(spark: Any, folder: Path) -> None:
    modes: list[Mode] = ["scope", "keep"]
    counted = {mode: stats(folder, spark=spark, blank_nodes=mode)[0] for mode in modes}
    assert {mode: found.subjects for mode, found in counted.items()} == {"scope": 7, "keep": 3}


def test_a_stream_of_files(spark: Any, folder: Path, tmp_path: Path) -> None:
    options = {"maxFilesPerTrigger": "1", "fileColumn": "file"}
    query = (
        spark.readStream.format("jelly").options(**options).load(str(folder)).writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start(str(tmp_path / "out"))
    )  # fmt: skip
    assert query.awaitTermination(120)
    found = spark.read.parquet(str(tmp_path / "out"))
    assert pairs(found) == EXPECTED
    assert rows(found) == rows(spark.read.format("jelly").option("fileColumn", "file").load(str(folder)))


def test_a_file_that_grows_stays_one_source(spark: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "x.jelly", tmp_path / "out"
    data = io.BytesIO()
    chain = chain_of(400)
    jelly.write(data, chain, frame_rows=50)
    options = {"follow": "true", "splitBytes": "1000", "columns": "subject,object,file,row"}
    for size in (len(data.getvalue()) // 2, len(data.getvalue())):
        path.write_bytes(data.getvalue()[:size])
        query = (
            spark.readStream.format("jelly").options(**options).load(str(path)).writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start(str(out))
        )  # fmt: skip
        assert query.awaitTermination(120)
    found = [tuple(row.values()) for part in out.glob("*.parquet") for row in parquet.read_table(part).to_pylist()]
    label = f"_:{scope_of(str(path)).decode()}b"
    found.sort(key=lambda row: row[3])
    assert found == [(f"{label}{i}", f"{label}{i + 1}", str(path), i) for i in range(400)]
