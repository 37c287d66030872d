"""Patches merged into tables of Delta and Iceberg give what `jelly.patch.apply` gives, once."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.spark
from jelly.patch import apply, dumps, loads, read_patches
from jelly.spark import merge

LONG = bool(os.environ.get("JELLY_LONG"))
TABLES = {"delta": "default.{}", "iceberg": "ice.db.{}"}


def line(i: int) -> str:
    graph = ("", " <a:g>", " <a:h>")[i % 3]
    object_ = (f'"{i}"', f'"{i}"@en', f"_:b{i}", f'"_:x{i}"', f'"{i}"^^<a:t>')[i % 5]
    return f"<a:{i}> <a:p> {object_}{graph} .\n"


def changes(dice: random.Random) -> str:
    """Changes of few statements, so that many are changed more than once."""
    return "".join(f"{dice.choice('AD')} {line(dice.randrange(60))}" for _ in range(30))


@pytest.fixture(params=["delta", "iceberg"])
def format(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def table(format: str, spark: Any, request: Any) -> str:
    jelly.spark.register(spark)
    name = TABLES[format].format("".join(c if c.isalnum() else "_" for c in request.node.name))
    spark.sql(f"drop table if exists {name}")
    return name


@pytest.fixture
def log(tmp_path: Path) -> list[str]:
    """Files of patches with namespaces and aborted transactions, in the order of their names."""
    dice = random.Random(1)
    folder = tmp_path / "log"
    folder.mkdir()
    for i in range(4):
        aborted = f"TX .\n{changes(dice)}TA .\n"
        text = f'{changes(dice)}PA "a" <a:{i}> .\nTX .\n{changes(dice)}TC .\n{aborted}'
        (folder / f"{i}.jellyp").write_bytes(dumps(loads(text.encode(), format="rdfp")))
    return [str(path) for path in sorted(folder.iterdir())]


def applied(log: list[str], old: Path, new: Path) -> set[str]:
    """The statements of a file after a log, by the library."""
    apply([patch for path in log for patch in read_patches(path)], old, new)
    return {str(statement) for statement in jelly.read(new)}


def statements(spark: Any, table: str, folder: Path) -> list[str]:
    """All statements of a table, by way of Jelly files."""
    columns = spark.table(table).columns
    wanted = [name for name in columns if name != "seen"]
    spark.table(table).select(*wanted).write.format("jelly").mode("overwrite").save(str(folder))
    return [str(statement) for path in folder.glob("*.jelly") for statement in jelly.read(path)]


def subjects(spark: Any, table: str) -> list[str]:
    """In order; Iceberg keeps from a session for a while what others wrote."""
    spark.sql(f"refresh table {table}")
    return sorted(row.s for row in spark.table(table).collect())


def commits(spark: Any, table: str, format: str) -> int:
    if format == "delta":
        return int(spark.sql(f"describe history {table}").count())
    return int(spark.table(f"{table}.snapshots").count())


@pytest.mark.parametrize("layout", ["flat", "ntriples"])
def test_a_log_is_applied_as_by_the_library(
    spark: Any, format: str, table: str, log: list[str], tmp_path: Path, layout: str
) -> None:
    if (format == "delta") != (layout == "flat") and not LONG:
        pytest.skip("the other combinations are for JELLY_LONG=1")
    old = tmp_path / "old.nq"
    old.write_text("".join(line(i) for i in range(0, 90, 2)))
    wanted = applied(log, old, tmp_path / "new.nq")
    read = spark.read.format("jelly").options(layout=layout, blankNodes="keep").load(str(old))
    # A statement that is there twice, and a column that is no part of a statement.
    (read.union(read.limit(5)) if layout == "flat" else read).selectExpr("*", "1 as seen").writeTo(table).using(
        format
    ).create()
    patches = spark.read.format("jelly-patch").option("layout", layout).load(log)
    assert merge(patches, table)
    found = statements(spark, table, tmp_path / "out")
    assert set(found) == wanted
    assert spark.table(table).where("seen is null").count() > 5
    # Once more: nothing changes.
    merge(patches, table)
    assert sorted(statements(spark, table, tmp_path / "out")) == sorted(found)


@pytest.mark.parametrize("format", ["delta", "iceberg"] if LONG else ["iceberg"], indirect=True)
def test_the_last_operation_holds_in_the_order_that_is_asked_for(spark: Any, format: str, table: str) -> None:
    rows = [("add", "a", 1, "<a:1>"), ("D", "b", 0, "<a:1>"), ("delete", "a", 1, "<a:2>"), ("insert", "b", 0, "<a:2>")]
    patches = spark.createDataFrame(rows, "op string, file string, row long, s string").selectExpr(
        "*", "'<a:p>' as p", "'<a:o>' as o", "row as place"
    )
    assert merge(patches, table, create=format)
    assert subjects(spark, table) == ["<a:2>"]
    merge(patches, table, order=["place"])
    assert subjects(spark, table) == ["<a:1>"]
    assert spark.table(table).columns == ["s", "p", "o", "g"]


def test_a_transaction_is_applied_once(spark: Any, format: str, table: str) -> None:
    def patch(op: str, subject: str) -> Any:
        return spark.sql(f"select '{op}' op, 'f' file, 0L row, '<a:{subject}>' s, '<a:p>' p, '<a:o>' o, '<a:g>' g")

    assert merge(patch("add", "1"), table, create=format, transaction=("log", 1))
    assert merge(patch("add", "2"), table, transaction=("log", 3))
    assert merge(patch("add", "3"), table, transaction=("other", 1))
    merge(patch("delete", "1"), table)
    before = commits(spark, table, format)
    for number in (1, 3):
        assert not merge(patch("add", "1"), table, transaction=("log", number))
    assert not merge(patch("add", "1").where("false"), table)
    assert (subjects(spark, table), commits(spark, table, format)) == (["<a:2>", "<a:3>"], before)
    assert merge(patch("add", "1"), table, transaction=("log", 4))
    assert subjects(spark, table) == ["<a:1>", "<a:2>", "<a:3>"]
    # Two at once in a session would each be recorded as both.
    key = {"delta": "spark.databricks.delta.write.txnAppId"}.get(
        format, "spark.sql.iceberg.snapshot-property.jelly.merge.x"
    )
    spark.conf.set(key, "x")
    with pytest.raises(jelly.JellyError, match=f"another transaction is being applied in this session.*{key} is set"):
        merge(patch("add", "9"), table, transaction=("log", 5))
    spark.conf.unset(key)
    # The settings are gone: what others write is no part of a transaction.
    spark.sql(f"insert into {table} values ('<a:4>', '<a:p>', '<a:o>', null)")
    assert len(subjects(spark, table)) == 4


def test_a_stream_of_patches(spark: Any, format: str, table: str, tmp_path: Path) -> None:
    columns = "op string, file string, row long, s string, p string, o string, g string"

    def patches(name: str, op: str, *numbers: int) -> None:
        rows = [(op, name, n, f"<a:{n}>", "<a:p>", "<a:o>", None) for n in numbers]
        spark.createDataFrame(rows, columns).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))

    def run() -> None:
        source = spark.readStream.schema(columns)
        query = merge(
            source.parquet(str(tmp_path / "in")), table,
            create=format, checkpoint=str(tmp_path / "state"), trigger={"availableNow": True},
        )  # fmt: skip
        assert query.awaitTermination(600)

    patches("a", "add", 1, 2, 3)
    run()
    patches("b", "delete", 2)
    run()
    assert subjects(spark, table) == ["<a:1>", "<a:3>"]
    # Someone else adds what the last batch has deleted, and Spark does not know that this batch is done.
    spark.sql(f"insert into {table} values ('<a:2>', '<a:p>', '<a:o>', null)")
    for path in (tmp_path / "state" / "commits").glob("*1*"):
        path.unlink()
    patches("c", "add", 4)
    run()
    assert subjects(spark, table) == ["<a:1>", "<a:2>", "<a:3>", "<a:4>"]


@pytest.mark.parametrize("format", ["delta", "iceberg"] if LONG else ["iceberg"], indirect=True)
def test_what_does_not_fit(spark: Any, format: str, table: str, tmp_path: Path) -> None:
    (tmp_path / "a.rdfp").write_text("D _:b0 <a:p> <a:o> <a:g> .\nA <a:s> <a:p> _:b1 <a:g> .\n")
    patches = spark.read.format("jelly-patch").option("layout", "ntriples").load(str(tmp_path / "a.rdfp"))
    with pytest.raises(jelly.JellyError, match="cannot open the table .*TABLE_OR_VIEW_NOT_FOUND"):
        merge(patches, table)
    with pytest.raises(jelly.JellyArgumentError, match="create is 'csv'"):
        merge(patches, table, create="csv")
    with pytest.raises(jelly.JellyOptionsError, match="patches must have the columns op, found only s, p, o"):
        merge(patches.select("s", "p", "o", "file", "row"), table)
    with pytest.raises(jelly.JellyOptionsError, match="checkpoint and trigger are for a stream"):
        merge(patches, table, checkpoint="x")

    spark.sql(f"create table {table} (s string, p string) using {format}")
    with pytest.raises(jelly.JellyOptionsError, match=f"the table {table} must have the columns o, found only s, p"):
        merge(patches, table)
    spark.sql(f"alter table {table} add columns (o string)")
    with pytest.raises(jelly.JellyOptionsError, match="the table has no column g for <a:g>"):
        merge(patches, table)
    with pytest.raises(jelly.JellyOptionsError, match="operation keep, expected add or delete"):
        merge(patches.selectExpr("'keep' as op", "file", "row", "s", "p", "o"), table)

    # Blank nodes with the labels of files, in a table with scoped ones.
    (tmp_path / "a.nt").write_text("_:b0 <a:p> <a:o> .\n")
    nodes = patches.drop("g")
    for settings in ({"blankNodes": "scope"}, {"blankNodes": "skolemize", "skolemBase": "https://example.org"}):
        read = spark.read.format("jelly").options(layout="ntriples", **settings).load(str(tmp_path / "a.nt"))
        read.drop("g").writeTo(table).using(format).createOrReplace()
        with pytest.raises(jelly.JellyOptionsError, match="name blank nodes as files do, such as _:b[01], but .*jf"):
            merge(nodes, table)
    assert merge(nodes, table, check_blank_nodes=False)
    assert spark.table(table).count() == 2


def test_other_tables_are_refused(spark: Any, tmp_path: Path) -> None:
    patches = spark.sql("select 'add' op, 'f' file, 0L row, '<a:s>' s, '<a:p>' p, '<a:o>' o")
    spark.sql("create table if not exists plain (s string, p string, o string, g string) using parquet")
    patches.select("s", "p", "o").createOrReplaceTempView("seen")
    with pytest.raises(jelly.JellyError, match="plain is parquet: patches can be merged into tables of Delta"):
        merge(patches, "plain")
    with pytest.raises(jelly.JellyError, match="seen is a view"):
        merge(patches, "seen")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(jelly.JellyOptionsError, match="needs a checkpoint"):
        merge(stream, "plain")


def test_a_table_without_a_name(spark: Any, tmp_path: Path) -> None:
    """Delta tables are directories."""
    patches = spark.sql("select 'add' op, 'f' file, 0L row, '<a:o''Neil>' s, '<a:p>' p, '<a:{o}>' o")
    table = f"delta.`{tmp_path / 'statements'}`"
    assert merge(patches, table, create="delta")
    assert merge(patches.selectExpr("'delete' op", "file", "row", "s", "p", "o"), table)
    assert spark.read.format("delta").load(str(tmp_path / "statements")).count() == 0
