"""One Spark session for all tests of this folder, with Delta, Iceberg (catalog ``ice``) and the connector of Kafka.

They run with the Python of `make lakehouse`, and are skipped with any other.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spark"))

from cluster import PRELOADED, environment, forgive_spark, session
from jars import need_jars

# On Python 3.10 the main run has no PySpark.
collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    forgive_spark(config)


def pytest_itemcollected(item: pytest.Item) -> None:
    """`make lakehouse` chooses these with the tests of Spark for each version of it: one session is for both."""
    item.add_marker("every_spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with two slots and a small heap."""
    jars = need_jars()
    wanted = ("JAVA_TOOL_OPTIONS", "SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYTHONPATH")
    os.environ |= {name: environment()[name] for name in wanted}
    os.environ["PYTHONPATH"] = os.pathsep.join([*PRELOADED, os.environ["PYTHONPATH"]])
    conf = {
        # Not spark.jars, which copies them for each session.
        "spark.driver.extraClassPath": jars,
        "spark.driver.memory": "1g",
        "spark.local.dir": tmp_path_factory.mktemp("spark"),
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": tmp_path_factory.mktemp("iceberg"),
        # Many small queries: compiling them takes longer than running them.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        # Of the log of a table, which is small here; the default is 50.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PySpark says of pandas
        running = session("local[2]", **{name: str(value) for name, value in conf.items()})
    yield running
    running.stop()
