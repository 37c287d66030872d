"""What each new worker of Python imports for a task that reads: it is paid by every executor, and by each plan."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import environment, need_spark

import jelly

# Beside those that Spark has imported. There were 190 when writers, Parquet, CSV and HTTP were among them.
MOST_MODULES = 155
RARE = ("http", "ssl", "urllib.request", "pyarrow.compute", "pyarrow.csv", "pyarrow.dataset", "pyarrow.fs",
        "pyarrow.parquet", "jelly.arrow", "jelly.patch", "jelly.results", "jelly.spark._ingest",
        "jelly.spark._output", "jelly.spark._store", "jelly.spark._streams", "jelly.spark._tables", "fsspec", "pandas",
        "rdflib", "pyoxigraph")  # fmt: skip

READ = """
import json, sys
import numpy, pyarrow, pyspark.worker
import pyspark.sql.datasource
before = set(sys.modules)
from jelly.spark._source import JellyDataSource
source = JellyDataSource({"path": sys.argv[1]})
reader = source.reader(source.schema())
rows = sum(len(batch) for task in reader.partitions() for batch in reader.read(task))
print(json.dumps([rows, sorted(set(sys.modules) - before)]))
"""


def test_a_task_that_reads_imports_few_modules(tmp_path: Path) -> None:
    need_spark()
    jelly.write(tmp_path / "a.jelly", jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    (tmp_path / "b.nt").write_text("<a:s> <a:p> <a:o> .\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ, str(tmp_path)],
        env=environment(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows, modules = json.loads(done.stdout)
    assert rows == 2
    assert not [name for name in RARE if name in modules]
    assert len(modules) <= MOST_MODULES, modules


def test_only_tasks_that_count_import_the_counts() -> None:
    need_spark()
    code = "import sys, jelly.spark._frames, jelly.spark._ingest; sys.exit('jelly.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment(), timeout=600).returncode == 0
    from jelly.spark import stats
    from jelly.stats import MAX_KEYS

    assert inspect.signature(stats).parameters["max_keys"].default == MAX_KEYS


SORT = """
import json, sys
import jelly.spark, jelly.spark._ingest.delta
lines, table, other = sys.argv[1:]
conf = {"spark.executorEnv.PYTHONPATH": other, "spark.ui.enabled": "false"}
jelly.spark.ingest(lines, table, spark="local[1]", conf=conf, to="delta", sort=["subject"], split_bytes=1)
done = jelly.spark.compact_table(table, spark="local[1]", conf=conf)
print(json.dumps([done.compacted, done.compacted_to]))
"""


def test_workers_need_no_deltalake(tmp_path: Path) -> None:
    """Where the driver has the extra delta, and workers the extra spark."""
    need_spark()
    pytest.importorskip("deltalake")
    for number in range(2):
        (tmp_path / f"{number}.nt").write_text(f"<a:{number}> <a:p> <a:o> .\n")
    other = tmp_path / "of-workers"
    other.mkdir()
    (other / "deltalake.py").write_text("raise ImportError('no deltalake here')\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SORT, str(tmp_path / "*.nt"), str(tmp_path / "table"), str(other)],
        env=environment(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [2, 1]
