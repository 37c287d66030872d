"""Tables of Delta and Iceberg made from Jelly, and the versions of what is tested here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jars import JARS, LIST, spark_version

import jelly
import jelly.spark

ROOT = Path(__file__).resolve().parents[2]


def test_one_version_of_spark_is_pinned() -> None:
    assert f'"pyspark[connect]=={spark_version()}"' in (ROOT / "pyproject.toml").read_text()


def test_all_jars_are_there(spark: Any) -> None:
    names = re.findall(r'name="([^"]+)" rev="([^"]+)"', LIST.read_text())
    assert {f"{name}-{version}.jar" for name, version in names} == {path.name for path in JARS.glob("*.jar")}
    assert spark.version == spark_version()


@pytest.mark.parametrize(
    ("format", "layout", "table"),
    [("delta", "ntriples", "made_from_jelly"), ("iceberg", "flat", "ice.db.made_from_jelly")],
)
def test_a_table_from_jelly(spark: Any, tmp_path: Path, format: str, table: str, layout: str) -> None:
    jelly.spark.register(spark)
    text = "".join(f'<a:{i}> <a:p> "{i}"@en {"<a:g> " * (i % 2)}.\n' for i in range(100))
    jelly.write(tmp_path / "a.jelly", jelly.read(text.encode(), format="nq"))
    read = spark.read.format("jelly").option("layout", layout).load(str(tmp_path / "a.jelly"))
    read.writeTo(table).using(format).createOrReplace()
    back = spark.table(table)
    assert back.columns == read.columns
    assert back.exceptAll(read).count() == read.exceptAll(back).count() == 0
    assert back.count() == 100
    assert spark.sql(f"describe extended {table}").where(f"col_name = 'Provider' and data_type = '{format}'").count()


def test_an_ingest_into_the_catalogue(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    src, out = tmp_path / "src", tmp_path / "it's a table"
    src.mkdir()
    for number in range(2):
        (src / f"{number}.nt").write_text(f"<a:s{number}> <a:p> <a:o> .\n")
        for _ in range(2):
            jelly.spark.ingest(src, out, spark=spark, to="delta", table="ingested")
        spark.sql("refresh table ingested")
        assert spark.table("ingested").count() == number + 1
    with pytest.raises(jelly.JellyError, match="ingested is the name of another table, of file:.*it's a table"):
        jelly.spark.ingest(src, tmp_path / "other", spark=spark, to="delta", table="ingested")
    with pytest.raises(jelly.JellyOptionsError, match="only a table of Delta gets a name"):
        jelly.spark.ingest(src, tmp_path / "files", spark=spark, table="ingested")


def test_the_connector_of_kafka_is_found(spark: Any) -> None:
    read = spark.read.format("kafka").option("subscribe", "t").option("kafka.bootstrap.servers", "127.0.0.1:1").load()
    assert read.columns[:2] == ["key", "value"]
