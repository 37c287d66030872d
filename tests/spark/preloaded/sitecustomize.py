"""Python runs this at its start where this folder is on its path: daemons of Spark's workers import what those need.

Spark's own daemon imports nothing. Each worker that it forks would take 0.3 s to import PySpark, pyarrow and jelly, and
there is a new one after each task that fails or is not read to its end. `test_start_of_workers` and `test_cluster` have
workers without this.
"""

import contextlib
import importlib
import sys

if "pyspark.daemon" in sys.orig_argv:
    for name in (sys.orig_argv[-1], "jelly.spark._source"):
        with contextlib.suppress(ImportError):  # then the worker says so
            importlib.import_module(name)
