"""docs/lakehouse.md: its recipes run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jars import LIST, spark_version
from support.pages import programs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lakehouse.md"
LOG = {
    "1": 'D <a:1> <a:p> "1"@de .\nA <a:2> <a:p> "2"@de .\n',
    "2": "A _:b <a:p> <a:o> <a:g> .\nD <a:2> <a:p> <a:o> .\n",
}


def test_it_names_the_versions_of_the_tests() -> None:
    text = PAGE.read_text()
    assert f"pyspark=={spark_version()}" in text
    jars = re.findall(r'org="([^"]+)" name="((?:delta-spark|iceberg|spark-sql)\S+)" rev="([^"]+)"', LIST.read_text())
    assert len(jars) == 3
    for group, name, version in jars:
        assert f"{group}:{name}:{version}" in text


def test_its_recipes(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for table in ("statements", "copy", "ice.db.statements", "ice.db.files"):
        spark.sql(f"drop table if exists {table}")
    Path("dump.nq").write_text('<a:1> <a:p> "1"@de .\n_:b <a:p> <a:q> .\n<a:3> <a:p> <a:q> <a:g> .\n')
    Path("log").mkdir()
    for name, text in LOG.items():
        Path(f"log/{name}.rdfp").write_text(text)
    rows = [("add", 0, 0, "f", *"spo", "iri", None, None, None)]
    names = "op string, patch long, row long, file string, " + ", ".join(
        f"{name} string" for name in ("subject", "predicate", "object", "object_kind", "datatype", "lang", "graph")
    )
    spark.createDataFrame(rows, names).write.parquet(str(tmp_path / "incoming"))
    blocks = programs(PAGE)
    assert len(blocks) == 9
    # Relative paths are those of the JVM.
    paths = r'"((?:dump|log|incoming|published\w*|state|feed)\b[^"]*)"'
    given: dict[str, Any] = {"spark": spark}
    for block in blocks:
        block = re.sub(paths, rf'"{tmp_path}/\1"', block).replace("/data/", f"{tmp_path}/")
        exec(compile(block, str(PAGE), "exec"), given)

    def table(name: str) -> set[tuple[Any, ...]]:
        return {tuple(row) for row in spark.table(name).collect()}

    assert table("statements") == table("ice.db.statements") == {
        ("a:2", "a:p", "2", "literal", None, "en", None),
        ("_:b", "a:p", "a:q", "iri", None, None, None),
        ("_:b", "a:p", "a:o", "iri", None, None, "a:g"),
        ("a:3", "a:p", "a:q", "iri", None, None, "a:g"),
    }  # fmt: skip
    assert {row[:2] for row in table("ice.db.files")} == {("a:1", "a:p"), ("_:b", "a:p"), ("a:3", "a:p")}
    assert table("copy") == {tuple(rows[0][4:])}
    patch = spark.read.format("jelly-patch").option("columns", "op,lang").load(f"{tmp_path}/feed")
    assert sorted(map(tuple, patch.collect())) == [("add", "en"), ("delete", "de")]
    assert Path("published_by_iceberg/_SUCCESS").exists()
