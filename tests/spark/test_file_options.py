"""Options that Spark's own sources of files have: patterns, times, files that are gone, the column for errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.spark
from jelly.spark._parts.files import absolute
from jelly.spark._settings import Settings
from jelly.spark._source import JellyReader


def put(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def reader(spark: Any, **options: str) -> Any:
    jelly.spark.register(spark)
    return spark.read.format("jelly").options(**options)


def subjects(made: Any, place: str) -> list[str]:
    return sorted(row.subject for row in made.load(place).collect())


def test_patterns_of_hadoop(spark: Any, tmp_path: Path) -> None:
    for name in ("2024/a", "2025/b", "2026/c", "{x,y}/d"):
        put(tmp_path / f"{name}.nt", f"<a:{name[-1]}> <a:p> <a:o> .\n".encode())
    assert subjects(reader(spark), f"{tmp_path}/{{2024,2026}}/*.nt") == ["a:a", "a:c"]
    assert subjects(reader(spark), f"{tmp_path}/202{{4,5}}/{{a,b}}.nt") == ["a:a", "a:b"]
    assert subjects(reader(spark), f"{tmp_path}/{{2024,none}}") == ["a:a"]
    assert subjects(reader(spark), f"{tmp_path}/{{x,y}}") == ["a:d"]  # a name
    assert subjects(reader(spark), f"{tmp_path}/202[^4-5]/*.nt") == ["a:c"]
    assert subjects(reader(spark, pathGlobFilter="{a,[^b-c]}.nt"), f"{tmp_path}") == ["a:a", "a:d"]
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        reader(spark).load(f"{tmp_path}/{{3,4}}").collect()


def test_files_by_their_time(spark: Any, tmp_path: Path) -> None:
    for name, seconds in (("old", 1_000_000_000), ("new", 1_700_000_000)):
        put(tmp_path / f"{name}.nt", f"<a:{name}> <a:p> <a:o> .\n".encode())
        os.utime(tmp_path / f"{name}.nt", (seconds, seconds))
    place = str(tmp_path)
    assert subjects(reader(spark, modifiedAfter="2020-01-01T00:00:00"), place) == ["a:new"]
    assert subjects(reader(spark, modifiedBefore="2023-11-14T22:13:20+00:00"), place) == ["a:old"]
    assert subjects(reader(spark, modifiedAfter="2023-11-14T22:13:20+00:00"), place) == ["a:new"]
    assert subjects(reader(spark, modifiedAfter="2030-01-01"), place) == []
    os.utime(tmp_path / "old.nt", (0, 0))  # of an archive without times
    assert subjects(reader(spark, modifiedBefore="1980-01-01"), place) == ["a:old"]
    with pytest.raises(Exception, match="modifiedAfter is 'yesterday': expected a time, as"):
        reader(spark, modifiedAfter="yesterday").load(place).collect()


def test_files_that_are_gone(spark: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / f"{name}.nt", f"<a:{name}> <a:p> <a:o> .\n".encode())
    for text in ("false", "true"):
        settings = Settings.of({"path": str(tmp_path), "ignoreMissingFiles": text})
        planned = JellyReader(settings, settings.schema)
        tasks = planned.partitions()
        (tmp_path / "a.nt").rename(tmp_path / "gone")
        try:
            if text == "false":
                with pytest.raises(FileNotFoundError):
                    [batch for task in tasks for batch in planned.read(task)]
            else:
                assert sum(len(batch) for task in tasks for batch in planned.read(task)) == 1
        finally:
            (tmp_path / "gone").rename(tmp_path / "a.nt")


def test_the_name_of_the_column_for_errors(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "a.nt", b"<a:s> <a:p> <a:o> .\nbroken\n")
    made = spark.read.format("jelly").options(mode="PERMISSIVE", columnNameOfCorruptRecord="why")
    rows = made.load(str(tmp_path)).collect()
    assert [row.subject for row in rows if row.why is None] == ["a:s"]
    assert ["a.nt: line 2" in row.why for row in rows if row.subject is None] == [True]
    with pytest.raises(Exception, match="columnNameOfCorruptRecord is 'object': expected a name that no other"):
        reader(spark, columnNameOfCorruptRecord="object").load(str(tmp_path)).collect()


@pytest.mark.parametrize("name", ["ignoreCorruptFiles", "badRecordsPath"])
def test_options_of_spark_that_mode_is_for(spark: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(Exception, match="option mode says what becomes of broken input"):
        reader(spark, **{name: "true"}).load(str(tmp_path)).collect()


def test_relative_paths_under_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server runs data sources in a directory that it removes: what was written there would be lost in silence."""
    for session, refused in ((None, False), ("default", False), ("an id", True)):
        if session is not None:
            monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", session)
        assert absolute(["/data/", "file:///data/x.nt", "s3://bucket/day"]) == ["/data/", "/data/x.nt", "s3://bucket/day"]
        if not refused:
            assert absolute("out") == [f"{os.getcwd()}/out"]
            continue
        for path in ("out", Path("out"), "file:out", ["/data", "out"]):
            with pytest.raises(jelly.JellyOptionsError, match="the path out is relative: expected an absolute one"):
                absolute(path)
