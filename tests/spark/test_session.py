"""What keeps Spark from starting, or its workers from reading, is told in one line."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cluster import environment, need_spark, wait_for
from sessions import REMOTE

import jelly
import jelly.spark
from jelly.cli.commands import cli
from jelly.spark import _jobs as room
from jelly.spark._jobs import plain_error, session, stats


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run an ingest of one statement, with further options, where no session is there that it could use."""
    monkeypatch.setattr(room, "_running", lambda: None)
    (tmp_path / "one.nt").write_text("<a:s> <a:p> <a:o> .\n")

    def invoke(*options: str) -> Result:
        command = ["spark", "ingest", str(tmp_path / "one.nt"), "-o", str(tmp_path / "out")]
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
    monkeypatch.setattr(room, "_running", lambda: None)
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
    command = [sys.executable, "-m", "jelly", "spark", "ingest", "one.nt", "-o", "out", "--master", "local[1]"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env=environment() | {"TMPDIR": str(folder), "TMP": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "log4j" not in done.stderr.lower()
    assert "statements" in done.stdout
    assert list(folder.iterdir()) == []


@pytest.mark.jvm("a context that says which Python the workers have")
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


@pytest.mark.skipif(not REMOTE, reason="only under Spark Connect workers of this machine are asked")
def test_workers_of_spark_connect_are_asked(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_checked", set())
    with monkeypatch.context() as patch:
        patch.setattr(room, "_NEEDED", "jelly.spark._nowhere")
        message = r"Spark's workers cannot import jelly: ModuleNotFoundError.*_nowhere'\. Install jelly-rdf.* there$"
        with pytest.raises(jelly.MissingExtraError, match=message):
            jelly.spark.register(spark)
        jelly.spark.register(spark, check=False)
    jelly.spark.register(spark)
    assert len(room._checked) == 1


def _ingest(folder: Path, **given: Any) -> int:
    return jelly.spark.ingest(folder / "in", folder / "out", **given).statements


def _compact(folder: Path, **given: Any) -> int:
    _ingest(folder, split_bytes=1, to="delta", sort=["subject"])
    return jelly.spark.compact_table(folder / "out", **given).compacted


def _stats(folder: Path, **given: Any) -> int:
    return stats(folder / "in", **given)[0].statements


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, which an ingest with small tasks makes two of."""
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / f"{name}.nt").write_text("<a:s> <a:p> <a:o> .\n")
    return tmp_path


@pytest.mark.parametrize("job", [_ingest, _compact, _stats])
def test_a_session_that_was_there_stays(spark: Any, folder: Path, job: Any) -> None:
    """With its views, caches, settings and running streams; also where another thread than its own has the job."""
    spark.range(3).createOrReplaceTempView("mine")
    spark.catalog.cacheTable("mine")
    before = {row.key: row.value for row in spark.sql("set").collect()}
    rates = spark.readStream.format("rate").load()
    query = rates.writeStream.format("noop").option("checkpointLocation", str(folder / "state")).start()
    try:
        assert job(folder) > 0
        with ThreadPoolExecutor() as pool:
            shutil.rmtree(folder / "out", ignore_errors=True)
            assert pool.submit(job, folder).result() > 0
        batch = max((progress["batchId"] for progress in query.recentProgress), default=-1)
        wait_for("a batch more", lambda: max((p["batchId"] for p in query.recentProgress), default=-1) > batch, 600)
        assert query.isActive
    finally:
        query.stop()
    assert spark.sql("select count(*) from mine").first()[0] == 3
    assert spark.catalog.isCached("mine")
    assert {row.key: row.value for row in spark.sql("set").collect()} == before
    shutil.rmtree(folder / "out", ignore_errors=True)
    assert job(folder, spark=spark.conf.get("spark.master")) > 0
    shutil.rmtree(folder / "out", ignore_errors=True)
    if job is not _compact:
        with pytest.raises(jelly.JellyOptionsError, match=r"runs in this process on local\[2\], so none can start on"):
            job(folder, spark="local[3]")
    spark.catalog.uncacheTable("mine")
    spark.catalog.dropTempView("mine")


# Functions that each use a session of their own, and a context without a session.
_OWN = """
import sys
from pathlib import Path
from pyspark import SparkContext
import jelly.spark
from jelly.spark._jobs import stats
folder = Path(sys.argv[1])
def gone():
    assert SparkContext._active_spark_context is None
quiet = {"spark.driver.memory": "600m"}
assert stats(folder / "in", conf=quiet)[0].statements == 2
gone()
made = {"to": "delta", "sort": ["object"], "split_bytes": 1}
assert jelly.spark.ingest(folder / "in", folder / "out", spark="local[2]", **made).files == 2
gone()
assert jelly.spark.compact_table(folder / "out").compacted == 2
gone()
context = SparkContext("local[1]")
assert stats(folder / "in")[0].statements == 2
assert context.parallelize([1, 2]).sum() == 3
print("done")
"""


def test_a_session_that_was_started_is_stopped(folder: Path) -> None:
    need_spark()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _OWN, str(folder)], env=environment(), capture_output=True, text=True,
        timeout=900,
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr


def test_the_client_of_spark_connect_alone() -> None:
    """It has no SparkContext, and here no session."""
    pytest.importorskip("grpc_status", reason="pyspark[connect] is not installed")
    code = """
import pyspark.sql
import jelly.spark
from jelly.spark._jobs import _running, cores
for name in jelly.spark.__all__:
    getattr(jelly.spark, name)
print(_running(), cores("local[3]"))
"""
    env = environment() | {"SPARK_SKIP_CONNECT_COMPAT_TESTS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.stdout == "None 3\n", done.stderr
