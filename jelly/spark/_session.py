"""A Spark session for the commands."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jelly.errors import JellyError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["plain_error", "session"]


# Spark prints a line about its logging, unless logging is configured before it starts.
_LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


def _quiet() -> Any:
    """A configuration of log4j for errors only, in a temporary file."""
    file = tempfile.NamedTemporaryFile("w", suffix=".properties")  # noqa: SIM115 - closed by the caller
    file.write(_LOGGING)
    file.flush()
    return file


@contextmanager
def session(spark: SparkSession | str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Use a session, or make one on a master: quiet, with this Python for its workers, and stopped at the end.

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
        # The workers of a cluster have their own interpreter.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    logging = _quiet()
    settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={logging.name}"
    builder = SparkSession.builder.master(master).appName("jelly")
    for name, value in (settings | dict(conf or {})).items():
        builder = builder.config(name, value)
    with logging, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # warnings of PySpark about pandas
        started = builder.getOrCreate()
    try:
        yield started
    finally:
        started.stop()


def plain_error(error: BaseException) -> BaseException:
    """The error of a worker, without the traces of Python and of the JVM.

    >>> str(plain_error(ValueError("one\\nOSError: [Errno 28] No space left on device\\n at java")))
    'a task failed: OSError: [Errno 28] No space left on device'
    """
    found = re.findall(r"^(?:\w+\.)*(\w*(?:Error|Exception)): (.*)$", str(error), re.M)
    own = [f"{name}: {text}" for name, text in found if not name.startswith(("Py4J", "Spark", "PythonException"))]
    if not own:
        return error
    failure = JellyError(f"a task failed: {own[0]}")
    failure.__cause__ = error
    return failure
