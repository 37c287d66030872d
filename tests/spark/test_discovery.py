"""Spark finds the data sources of a wheel by modules beside the package, without `register`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cluster import need_spark

import jelly

ROOT = Path(jelly.__file__).resolve().parents[1]
# By the name of the module: the name of the data source and its class.
SOURCES = {
    "pyspark_jelly": ("jelly", "JellyDataSource"),
    "pyspark_jelly_patch": ("jelly-patch", "PatchDataSource"),
    "pyspark_jelly_results": ("jelly-results", "ResultDataSource"),
}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """What a wheel has beside the package."""
    pytest.importorskip("setuptools")
    if not (ROOT / "setup.py").exists():
        pytest.skip("the package is not that of the sources")
    built, beside = tmp_path / "built", tmp_path / "beside"
    command = ["setup.py", "-q", "build_py", "--build-lib", str(built)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("JELLY_")}
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True, env=env, timeout=600)
    assert (built / "jelly" / "spark" / "__init__.py").exists()
    beside.mkdir()
    for path in built.glob("*.py"):
        path.rename(beside / path.name)
    return beside


def run(wheel: Path, code: str) -> Any:
    """The result of code in a fresh process, with these modules on the path."""
    path = os.pathsep.join([str(wheel), str(ROOT)])
    env = os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True, timeout=600, cwd=wheel
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


LOOKUP = """
import json, sys
from importlib import import_module
from pkgutil import iter_modules
from pyspark.serializers import CPickleSerializer
from pyspark.sql.datasource import DataSource

found = {}
for info in iter_modules():
    if info.name.startswith("pyspark_"):
        source = import_module(info.name).DefaultSource
        assert issubclass(source, DataSource)
        found[source.name()] = source
light = not {"jelly", "pyarrow", "numpy"} & set(sys.modules)
pickle = CPickleSerializer()
classes = {
    name: type(pickle.loads(pickle.dumps(source))({"path": "x"})).__name__ for name, source in found.items()
}
print(json.dumps([light, classes]))
"""


def test_a_wheel_has_the_modules_that_spark_looks_for(wheel: Path) -> None:
    """What Spark does at the first data source that it does not know, `pyspark.sql.worker.lookup_data_sources`."""
    pytest.importorskip("pyspark")
    assert {path.stem for path in wheel.iterdir()} == set(SOURCES)
    light, classes = run(wheel, LOOKUP)
    assert classes == dict(SOURCES.values())
    assert light  # one that cannot be imported would hide the sources of all other packages


IN_SPARK = """
import json, sys
from pyspark.sql import SparkSession
import jelly.spark

builder = SparkSession.builder.master("local[1]")
for name, value in {"ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.memory": "600m",
                    "log.level": "ERROR", "python.unix.domain.socket.enabled": "true"}.items():
    builder = builder.config("spark." + name, value)
spark = builder.getOrCreate()
found = [len(spark.read.format("jelly").load("day=1").collect())]
spark.sql("CREATE TEMPORARY VIEW found USING jelly OPTIONS (path 'day=1')")
found.append(spark.table("found").count())
spark.range(3).selectExpr("'<a:s>' s", "'<a:p>' p", "concat('<a:', id, '>') o") \\
    .write.format("jelly").mode("append").save("out")
found.append(spark.read.format("jelly").load("out").count())
found.append(len(spark.read.format("jelly-patch").load("p.rdfp").collect()))
# What is registered takes its place.
jelly.spark.register(spark, pushdown=True)
df = spark.read.format("jelly").option("partitionColumns", "day").load("day=*")
found.append(df.where("day = '1'").count())
spark.stop()
print(json.dumps(found))
"""


@pytest.mark.skipif(not os.environ.get("JELLY_LONG"), reason="starts a Spark of its own: JELLY_LONG=1")
def test_spark_finds_them(wheel: Path) -> None:
    need_spark()
    for day, text in ((1, "<a:s> <a:p> <a:o> .\n"), (2, "broken")):
        (wheel / f"day={day}").mkdir()
        (wheel / f"day={day}" / "x.nt").write_text(text)
    (wheel / "p.rdfp").write_text("A <a:s> <a:p> <a:o> .\n")
    assert run(wheel, IN_SPARK) == [1, 1, 3, 1, 1]
