"""The jars of ivy.xml in build/jars, fetched once by the Ivy that PySpark brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cluster import need_spark

LIST = Path(__file__).with_name("ivy.xml")
JARS = Path(__file__).resolve().parents[2] / "build" / "jars"
FETCH = 240  # seconds that fetching all jars may take


def spark_version() -> str:
    """The version of Spark that the jars are for."""
    found = re.search(r'name="spark-sql-kafka-\S+" rev="([\d.]+)"', LIST.read_text())
    assert found is not None
    return found[1]


def need_jars() -> str:
    """The jars as a class path, fetched unless they are there. Skip where that fails; in CI that is a failure."""
    try:
        import pyspark

        own = pyspark.__version__
    except ImportError:
        own = "none"
    if own != spark_version():
        # So it is in the main run, in CI as well: `make test` runs these tests after it.
        pytest.skip(f"needs PySpark {spark_version()} and jars, this is PySpark {own}: make lakehouse")
    need_spark()
    done = JARS / "ivy.xml"
    if not done.exists() or done.read_text() != LIST.read_text():
        problem = _fetch(Path(pyspark.__file__).parent / "jars")
        if problem:
            message = f"the jars of Delta, Iceberg and Kafka cannot be fetched: {problem}"
            pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
        shutil.copyfile(LIST, done)
    return str(JARS / "*")


def _fetch(spark_jars: Path) -> str:
    """What went wrong, or nothing."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    command = [
        java, "-cp", str(spark_jars / "*"), "org.apache.ivy.Main", "-warn", "-ivy", str(LIST),
        "-cache", str(JARS / "cache"), "-sync", "-retrieve", str(JARS / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    JARS.mkdir(parents=True, exist_ok=True)
    try:
        ivy = subprocess.run(command, capture_output=True, text=True, timeout=FETCH)
    except subprocess.TimeoutExpired:
        return f"not done after {FETCH} s"
    except OSError as error:
        return str(error)
    return "" if ivy.returncode == 0 else f"Ivy ended with {ivy.returncode}: {(ivy.stdout + ivy.stderr)[-1000:]}"
