"""One Spark session for all tests of this folder that need one."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cluster import PRELOADED, environment, forgive_spark, need_spark
from object_store import Proxy, s3_server, storage_of
from sessions import REMOTE


def pytest_configure(config: pytest.Config) -> None:
    forgive_spark(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Time for jobs of Spark on a machine whose cores are all busy: they run many processes."""
    here = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    for item in here:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(1800))
        if REMOTE and (mark := item.get_closest_marker("jvm")) is not None:
            item.add_marker(pytest.mark.skip(reason=f"Spark Connect has not: {mark.args[0]}"))
    if REMOTE:
        left_out = [item for item in here if "spark" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with two slots and a small heap, or of Spark Connect, see `sessions`."""
    need_spark()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Workers of Python import the package from where the tests do.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*PRELOADED, os.environ.get("PYTHONPATH")]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PySpark says of pandas
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("tests")
        if REMOTE:
            os.environ["SPARK_TESTING"] = "1"  # a server that is started here takes a free port
            builder = builder.remote(REMOTE)
        else:
            builder = builder.master("local[2]")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.driver.memory": "768m",
            "spark.driver.extraJavaOptions": environment()["JAVA_TOOL_OPTIONS"],
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            # Many small queries: compiling them takes longer than running them.
            "spark.sql.codegen.wholeStage": "false",
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.python.unix.domain.socket.enabled": "true",
            # The default, unless there is SPARK_TESTING.
            "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, Any]]:
    """The options of the file system for an S3 server on loopback, which has the bucket "bucket"."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("moto")
    s3fs = pytest.importorskip("s3fs")
    with s3_server() as server:
        storage = storage_of(server)
        s3fs.S3FileSystem(**storage).mkdir("bucket")
        yield storage


@pytest.fixture
def proxy(s3: dict[str, Any]) -> Iterator[Proxy]:
    """A way to that server that can hold requests."""
    running = Proxy(s3["endpoint_url"])
    try:
        yield running
    finally:
        running.close()
