"""A Spark session for the commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jelly.errors import MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session"]


@contextmanager
def session(spark: SparkSession | str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session as it is, or one on a master, quiet, with this Python for its workers, and stopped at the end.

    ``conf`` are further settings of Spark for the latter. MissingExtraError where PySpark is not installed.

    >>> def cores():
    ...     with session("local[2]") as spark:
    ...         return spark.sparkContext.defaultParallelism
    """
    if not isinstance(spark, str):
        yield spark
        return
    master = spark
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("Spark needs pyspark: python -m pip install 'jelly-rdf[spark]'") from None
    if master.startswith("local"):
        # The workers of a cluster have an interpreter of their own.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    builder = SparkSession.builder.master(master).appName("jelly")
    for name, value in (settings | dict(conf or {})).items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    try:
        yield started
    finally:
        started.stop()
