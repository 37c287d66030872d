"""Change feeds of Delta and Iceberg as patches: merged into a copy, they give the same table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.spark
from jelly.spark import changes, merge

NAMES = ["subject", "predicate", "object", "object_kind", "datatype", "lang", "graph"]
COLUMNS = ", ".join(f"{name} string" for name in NAMES)


def change(spark: Any, table: str) -> None:
    """Commits of all kinds; in one of them two statements change places."""
    insert = f"insert into {table} values "
    spark.sql(insert + ", ".join(f"('a:{i}', 'a:p', '{i}', 'literal', null, 'en', null)" for i in range(20)))
    spark.sql(f"update {table} set object = string(3 - int(object)) where subject = 'a:1' or int(object) > 15")
    spark.sql(f"update {table} set graph = 'a:g', subject = if(subject = 'a:2', 'a:3', 'a:2'), object = '0' "
              "where subject in ('a:2', 'a:3')")  # fmt: skip
    spark.sql(f"update {table} set subject = if(subject = 'a:2', 'a:3', 'a:2') where graph = 'a:g'")
    spark.sql(f"delete from {table} where int(object) % 2 = 1")
    nodes = "('_:b', 'a:p', '_:c', 'bnode', null, null, 'a:g')"
    spark.sql(f"{insert} {nodes}, ('a:1', 'a:p', '1', 'literal', 'a:t', null, null)")


def copied(spark: Any, log: str, table: str, copy: str) -> bool:
    """Whether the patches of a directory, merged into an empty table, give the same."""
    patches = spark.read.format("jelly-patch").load(log)
    merge(patches, copy, create="delta")
    old, new = spark.table(table), spark.table(copy)
    assert old.count() > 10
    return bool(old.exceptAll(new).isEmpty() and new.exceptAll(old).isEmpty())


def test_the_feed_of_a_delta_table(spark: Any, tmp_path: Path) -> None:
    jelly.spark.register(spark)
    spark.sql(f"create or replace table fed ({COLUMNS}) using delta tblproperties (delta.enableChangeDataFeed = true)")

    # As a stream: the first commits, and after a restart the rest.
    def publish(batch: Any, number: int) -> None:
        changes(batch).write.format("jelly-patch").mode("overwrite").save(str(tmp_path / f"stream/{number:012}"))

    def follow() -> None:
        feed = spark.readStream.option("readChangeFeed", "true").option("startingVersion", 0).table("fed")
        stream = feed.writeStream.foreachBatch(publish).option("checkpointLocation", str(tmp_path / "state"))
        assert stream.trigger(availableNow=True).start().awaitTermination(250)

    spark.sql("insert into fed values ('a:s', 'a:p', '40', 'literal', null, null, null)")
    follow()
    change(spark, "fed")
    follow()
    assert sorted(path.name for path in (tmp_path / "stream").iterdir()) == [f"{n:012}" for n in range(2)]
    assert copied(spark, str(tmp_path / "stream"), "fed", "copy_of_stream")

    # As a table: one patch for each commit, in order, with deletions first.
    feed = spark.read.option("readChangeFeed", "true").option("startingVersion", 0).table("fed")
    found = changes(feed)
    assert found.columns == ["op", "patch", *NAMES]
    found.coalesce(1).write.format("jelly-patch").mode("append").save(str(tmp_path / "log"))
    [path] = (tmp_path / "log").glob("*.jellyp")
    rows = jelly.read_arrow(path).read_all().to_pylist()
    assert len(rows) == feed.count()
    patches = [[row["op"] for row in rows if row["patch"] == n] for n in range(7)]
    assert patches[0] == ["add"]
    assert patches[1] == ["add"] * 20
    assert patches[3] == patches[4] == ["delete", "delete", "add", "add"]
    assert set(patches[5]) == {"delete"}
    assert copied(spark, str(tmp_path / "log"), "fed", "copy_of_log")

    with pytest.raises(jelly.JellyOptionsError, match="the columns _change_type and _commit_version or .*, found subj"):
        changes(spark.table("fed"))
    with pytest.raises(jelly.JellyOptionsError, match="call changes.. in foreachBatch"):
        changes(spark.readStream.option("readChangeFeed", "true").table("fed"))
    with pytest.raises(Exception, match="unknown _change_type moved"):
        changes(feed.selectExpr("'moved' as _change_type", "_commit_version", *NAMES)).collect()


def test_the_changelog_of_an_iceberg_table(spark: Any, tmp_path: Path) -> None:
    jelly.spark.register(spark)
    spark.sql(f"create or replace table ice.db.fed ({COLUMNS}) using iceberg")
    change(spark, "ice.db.fed")
    spark.sql("call ice.system.create_changelog_view(table => 'db.fed', changelog_view => 'fed_changes')")
    found = changes(spark.table("fed_changes"))
    # The commit in which two statements change places changes nothing.
    assert found.select("patch").distinct().count() == 5
    found.write.format("jelly-patch").mode("append").save(str(tmp_path / "log"))
    assert copied(spark, str(tmp_path / "log"), "ice.db.fed", "copy_of_iceberg")
