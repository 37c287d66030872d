"""The session of the tests: of the JVM, or of Spark Connect at the address in JELLY_SPARK_REMOTE.

With such an address only tests that use the fixture ``spark`` run. A test that needs what Spark Connect has not is
marked ``jvm("what that is")``, and is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

__all__ = ["REMOTE", "tasks_of"]

# Such as local[2], which starts a server in this process, or sc://127.0.0.1:15002.
REMOTE = os.environ.get("JELLY_SPARK_REMOTE", "")


def tasks_of(df: Any) -> int:
    """The number of tasks that read a DataFrame."""
    if not REMOTE:
        return int(df.rdd.getNumPartitions())

    def once(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"n": pa.array([1], pa.int32())})

    return int(df.mapInArrow(once, "n int").count())
