"""Python runs this at its start where this folder is on its path: daemons of Spark's workers import what those need.

Spark's own daemon imports nothing. Each worker that it forks would take most of a second to import PySpark, pandas
and jelly, and there is a new one after each task that fails or is not read to its end. `test_start_of_workers` and
`test_cluster` have workers without this.
"""

import contextlib
import importlib
import sys

if "pyspark.daemon" in sys.orig_argv:
    worker = sys.orig_argv[-1]
    # Functions over columns of Arrow need pandas; plans do not.
    functions = ("pandas", "pyarrow.compute", "pyarrow.pandas_compat", "jelly.spark._udf")
    for name in (worker, "jelly.spark._source", *(functions if worker == "pyspark.worker" else ())):
        with contextlib.suppress(ImportError):  # then the worker says so
            importlib.import_module(name)
