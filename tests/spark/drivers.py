"""The programs that run on the cluster: ``python drivers.py URL NAME ARGUMENTS...`` prints its result as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any

from cluster import session

COLUMNS = ("s", "p", "o", "g")


def digest(batches: Iterable[Any]) -> tuple[int, int]:
    """The number of statements in record batches of layout ntriples, and a checksum that does not mind their order."""
    n = total = 0
    for batch in batches:
        n += len(batch)
        columns = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in COLUMNS]
        total += sum(zlib.crc32("\t".join([s, p, o, g or ""]).encode()) for s, p, o, g in zip(*columns, strict=True))
    return n, total


def digests(spark: Any, frames: dict[str, Any]) -> dict[str, list[int]]:
    """The digest of each of some DataFrames, in one job."""
    from pyspark.sql.functions import lit

    def each(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            name = batch.column(4)[:1].to_pylist()
            yield pa.RecordBatch.from_pydict(dict(zip("kns", (name, *([x] for x in digest([batch]))), strict=True)))

    named = [frame.select(*COLUMNS, lit(name).alias("k")) for name, frame in frames.items()]
    rows = reduce(lambda a, b: a.union(b), named).mapInArrow(each, "k string, n long, s long")
    return {name: [n, total] for name, n, total in rows.groupBy("k").sum("n", "s").collect()}


def load(spark: Any, *paths: Any, **options: Any) -> Any:
    return spark.read.format("jelly").options(layout="ntriples", **options).load(list(map(str, paths)))


def everything(spark: Any, folder: str, out: str) -> Any:
    """Each file of a folder is read; those in plain are written, and read and written by a streaming query."""
    files = sorted(Path(folder).rglob("*.*"))
    plain = f"{folder}/plain"
    times = {"start": time.monotonic()}
    result: dict[str, Any] = {"read": digests(spark, {path.name: load(spark, path) for path in files})}
    times["read"] = time.monotonic()
    load(spark, plain).write.format("jelly").mode("append").save(f"{out}/written")
    times["written"] = time.monotonic()
    stream(spark, plain, f"{out}/streamed", f"{out}/checkpoint", maxFilesPerTrigger=len(files) // 3).awaitTermination()
    times["streamed"] = time.monotonic()
    result["seconds"] = [round(b - a, 1) for a, b in zip([*times.values()], [*times.values()][1:], strict=False)]
    return result


def stream(spark: Any, source: str, out: str, checkpoint: str, once: bool = True, **options: Any) -> Any:
    """A streaming query from a folder of files, or a file that is followed, to a folder of files."""
    frame = spark.readStream.format("jelly").options(layout="ntriples", **options).load(source)
    writer = frame.writeStream.format("jelly").option("checkpointLocation", checkpoint).option("path", out)
    return writer.trigger(**({"availableNow": True} if once else {"processingTime": "0 seconds"})).start()


def barrier(folder: str, first: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Lets batches through; tasks from partition ``first`` on wait after their first one until ``go`` is there."""

    def wait(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        name = f"{context.partitionId()}-{context.attemptNumber()}"
        Path(folder, f"started-{name}").touch()
        for number, batch in enumerate(batches):
            yield batch
            if number == 0 and context.partitionId() >= first:
                Path(folder, f"waits-{name}").write_text(str(os.getppid()))
                end = time.monotonic() + 60
                while not Path(folder, "go").exists():
                    if time.monotonic() > end:
                        raise TimeoutError("nobody said go")
                    time.sleep(0.02)

    return wait


def slow(spark: Any, source: str, out: str, folder: str) -> Any:
    """A job that reads and writes, and stops in the middle until it may go on."""
    frame = load(spark, source, splitBytes=1)
    done = frame.mapInArrow(barrier(folder, 2), frame.schema)
    done.write.format("jelly").mode("append").save(out)
    return {"partitions": frame.rdd.getNumPartitions()}


def both(spark: Any, source: str, growing: str, folder: str, once: bool) -> list[Any]:
    """A query over a directory and one that follows a file, in small batches."""
    few = {"follow": "true", "maxBytesPerTrigger": 9999}
    return [
        stream(spark, source, f"{folder}/directory", f"{folder}/checkpoint-1", once, maxFilesPerTrigger=1),
        stream(spark, growing, f"{folder}/file", f"{folder}/checkpoint-2", once, **few),
    ]


def endless(spark: Any, *arguments: str) -> Any:
    """Both queries until they are killed."""
    for query in both(spark, *arguments, once=False):
        query.awaitTermination()


def rest(spark: Any, *arguments: str) -> Any:
    """Both queries until they have read what there is."""
    for query in both(spark, *arguments, once=True):
        query.awaitTermination()


def run_slowly(folder: str, work: Any, task: Any) -> Any:
    """A task of an ingest that has written its files, and waits before it tells of them until ``go`` is there."""
    from pyspark import TaskContext

    from jelly.spark import ingest as room

    context = TaskContext.get()
    assert context is not None
    # Partitions 0 and 1 are done at once.
    name, held = f"{context.partitionId()}-{context.attemptNumber()}", context.partitionId() > 1
    tell = room.write_whole

    def wait(path: str, text: str) -> None:
        if held:
            Path(folder, f"waits-{name}").touch()
            end = time.monotonic() + 60
            while not Path(folder, "go").exists():
                if time.monotonic() > end:
                    raise TimeoutError("nobody said go")
                time.sleep(0.02)
        tell(path, text)

    room.write_whole = wait
    try:
        return room._run_task(work, task)
    finally:
        room.write_whole = tell


def slow_ingest(spark: Any, source: str, out: str, folder: str) -> Any:
    """An ingest that stops in the middle until it may go on."""
    from jelly.spark import ingest as room

    room._run_task = partial(run_slowly, folder)
    return room.ingest(source, out, spark=spark, layout="ntriples", split_bytes=1).as_dict()


def main() -> None:
    import jelly.spark

    url, name, *arguments = sys.argv[1:]
    spark = session(url)
    jelly.spark.register(spark)
    print(json.dumps(globals()[name](spark, *arguments)))
    spark.stop()


if __name__ == "__main__":
    main()
