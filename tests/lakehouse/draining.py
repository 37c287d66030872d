"""A stream from a topic to Parquet, which fails or gets its driver killed on the way.

draining.py ADDRESS TOPIC FOLDER KILL JARS: with the JVM of the driver killed (-9) at the value with the number KILL.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spark"))


def drain(spark: Any, broker: str, topic: str, folder: Path, fail_at: int = -1, kill: int = 0) -> None:
    """Write all statements of a topic to the folder ``out``, by the checkpoint in ``state``.

    At the number ``fail_at`` the task raises an error, or kills the process ``kill``.
    """
    from pyspark.sql import functions as F

    from jelly.spark import from_jelly

    def gate(number):  # type: ignore[no-untyped-def]  # a UDF with types would be one of Arrow
        if int(number) == fail_at:
            if kill:
                os.kill(kill, signal.SIGKILL)
            raise RuntimeError("made to fail")
        return number

    kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", topic)
    messages = kafka.option("startingOffsets", "earliest").option("includeHeaders", "true")
    # Several batches, so that it fails in the middle of one and between others.
    messages = messages.option("maxOffsetsPerTrigger", 45).load()
    statements = messages.select(F.explode(from_jelly("value", headers="headers")).alias("s"))
    rows = statements.select("s.subject", F.udf(gate, "string")("s.object").alias("object"))
    query = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "state"))
    query.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()


def main() -> None:
    from cluster import session

    broker, topic, folder, kill_at, jars = sys.argv[1:]
    conf = {"spark.driver.extraClassPath": jars, "spark.driver.memory": "768m"}
    spark = session("local[2]", **conf)
    jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
    drain(spark, broker, topic, Path(folder), int(kill_at), jvm)
    spark.stop()


if __name__ == "__main__":
    main()
