"""The data source "jelly-results": rows as `jelly.results.read_results` gives them, in any of its formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sessions import tasks_of

import jelly
import jelly.spark
from jelly import IRI, BlankNode, Literal

ROWS = [(IRI("a:1"), None, Literal("x", language="en")), (BlankNode("b"), Literal("y"), None)] * 50


@pytest.fixture
def folder(spark: Any, tmp_path: Path) -> Path:
    jelly.spark.register(spark)
    folder = tmp_path / "answers"
    folder.mkdir()
    for name in ("a.srt", "b.srp.gz", "c.srj", "d.srx", "e.jellys"):
        jelly.results.write_results(folder / name, ["s", "name", "o"], ROWS)
    return folder


def rows(df: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=str)


def test_the_table_is_that_of_the_library(spark: Any, folder: Path) -> None:
    keeping = spark.read.format("jelly-results").option("blankNodes", "keep")
    df = keeping.load(str(folder))
    assert df.columns == ["s", "name", "o"]
    assert rows(df) == sorted([("a:1", None, "x"), ("_:b", "y", None)] * 250, key=str)
    assert df.where("name is null").count() == 250
    # Names of variables do not choose the layout.
    typed = keeping.schema("o string, s string")
    assert set(rows(typed.load(f"{folder}/*.srt"))) == {("x", "a:1"), (None, "_:b")}
    plain = spark.read.format("jelly-results").option("layout", "ntriples").option("columns", "o,other")
    assert set(rows(plain.load(f"{folder}/c.srj"))) == {('"x"@en', None), (None, None)}
    one = spark.read.format("jelly-results").option("splitBytes", 1).load(str(folder))
    assert tasks_of(one) == 5


def test_broken_files(spark: Any, folder: Path) -> None:
    data = (folder / "a.srt").read_bytes()
    (folder / "e.srt").write_bytes(data[:-1])
    (folder / "f.csv").write_text("s,name,o\r\n")
    read = spark.read.format("jelly-results")
    assert read.option("mode", "DROPMALFORMED").load(str(folder)).count() == 599
    (folder / "0.srt").write_bytes(b"")  # does not name the columns
    assert read.option("mode", "DROPMALFORMED").load(str(folder)).columns == ["s", "name", "o"]
    with pytest.raises(Exception, match=r"0\.srt"):
        read.option("mode", "DROPMALFORMED").load(f"{folder}/0.srt").collect()
    (folder / "0.srt").unlink()
    told = rows(read.option("mode", "PERMISSIVE").load(str(folder)).where("_corrupt_record is not null"))
    assert [row[:3] for row in told] == [(None, None, None)] * 2
    assert sorted(name for name in ("e.srt", "f.csv") for row in told if name in row[3]) == ["e.srt", "f.csv"]
    with pytest.raises(Exception, match=r"e\.srt"):
        read.option("mode", "FAILFAST").load(f"{folder}/e.srt").collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "nt"}, "format 'nt' is of statements, not of query results: expected one of jellys, thrift"),
        ({"frames": "true"}, "query results have no frames"),
        ({"columns": "s,s"}, "columns must name each once"),
        ({"path": ""}, 'expected spark.read.format("jelly-results")'),
    ],
)
def test_what_is_refused(spark: Any, folder: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - AnalysisException of PySpark
        spark.read.format("jelly-results").options(**{"path": str(folder)} | options).load().collect()
    assert words in str(caught.value)


def test_a_place_without_files(spark: Any, folder: Path) -> None:
    (folder / "empty").mkdir()
    for options in ({}, {"mode": "PERMISSIVE"}, {"columns": "s"}):
        with pytest.raises(Exception, match="PATH_NOT_FOUND.*there are no files to read"):
            spark.read.format("jelly-results").options(**options).load(f"{folder}/empty").collect()
