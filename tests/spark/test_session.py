"""What keeps Spark from starting, or its workers from reading, is told in one line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cluster import environment, need_spark

import jelly
import jelly.spark
from jelly.cli.spark import cli
from jelly.spark import _session as room
from jelly.spark._session import plain_error, session


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run an ingest of one statement, with further options."""
    (tmp_path / "one.nt").write_text("<a:s> <a:p> <a:o> .\n")

    def invoke(*options: str) -> Result:
        command = ["spark", "ingest", str(tmp_path / "one.nt"), "--out", str(tmp_path / "out")]
        return CliRunner().invoke(cli, [*command, *options])

    return invoke


def test_without_java(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = run()
    assert done.exit_code == 1
    assert done.stderr == "error: Spark needs Java 17 or later: there is no java on PATH, and JAVA_HOME is not set\n"
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert run().stderr.startswith("error: JAVA_HOME is /nowhere, but there is no bin/java: expected")


def test_a_master_that_does_not_answer(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_check_java", lambda: None)
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))  # nobody listens
        place = f"127.0.0.1:{used.getsockname()[1]}"
        done = run("--master", f"spark://{place}")
    assert done.exit_code == 1
    assert done.stderr == (
        f"error: no Spark master answers ({place}: Connection refused): is it running, and is this its address?\n"
    )


def test_what_spark_says_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    trace = "\n".join(f"\tat org.apache.spark.Class{i}.call(Class.scala:{i})" for i in range(50))
    told = "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"

    def fail(self: Any) -> None:
        raise Py4JError(f"{told}: org.apache.spark.SparkException: Could not parse Master URL: 'sparky://x'\n{trace}")

    monkeypatch.setattr(room, "_check_java", lambda: None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", fail)
    with pytest.raises(jelly.JellyError) as caught, session("sparky://x"):
        pass
    assert str(caught.value) == "Spark did not start on sparky://x: Could not parse Master URL: 'sparky://x'"
    lost = Py4JError(f"{told}: org.apache.spark.SparkException: Job aborted: {'x' * 9000}\n{trace}")
    assert str(plain_error(lost)).startswith("a task failed: Job aborted: xxx")
    assert len(str(plain_error(lost))) < 500
    other = ValueError("something else")
    assert plain_error(other) is other


def test_a_folder_with_blanks_for_temporary_files(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark is told where its logging is configured: without, it prints a warning and its own defaults."""
    need_spark()
    folder = tmp_path / "with blanks"
    folder.mkdir()
    command = [sys.executable, "-m", "jelly", "spark", "ingest", "one.nt", "--out", "out", "--master", "local[1]"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=150,
        env=environment() | {"TMPDIR": str(folder), "TMP": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "log4j" not in done.stderr.lower()
    assert "statements" in done.stdout
    assert list(folder.iterdir()) == []


def test_workers_with_another_python(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "jelly.py").write_text("raise ModuleNotFoundError(\"No module named 'jelly'\")")
    python = tmp_path / "bin" / "python3"
    path = f'PYTHONSAFEPATH=1 PYTHONPATH="{tmp_path}:$PYTHONPATH"'  # not the directory of the tests
    python.write_text(f'#!/bin/sh\n{path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    message = rf"workers \({python}\) cannot import jelly: ModuleNotFoundError: No module named 'jelly'.*PYSPARK_PYTHON"
    with pytest.raises(jelly.MissingExtraError, match=message):
        jelly.spark.register(spark)
    jelly.spark.register(spark, check=False)
    # With the package there it is asked once.
    os.unlink(tmp_path / "jelly.py")
    jelly.spark.register(spark)
    assert (spark.sparkContext.applicationId, str(python)) in room._checked
    python.unlink()
    jelly.spark.register(spark)
