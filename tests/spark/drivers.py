"""The programs that run on the cluster, one after the other: ``python drivers.py URL MEMORY``.

Each line of its input is a name and arguments as JSON; it prints the results as JSON, too.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cluster import RESULT, session

COLUMNS = ("s", "p", "o", "g")


def digest(batches: Iterable[Any]) -> tuple[int, int]:
    """The number of statements in record batches of layout ntriples, and a checksum that does not mind their order."""
    import polars

    n = total = 0
    for batch in batches:
        hashes = polars.from_arrow(batch.select(COLUMNS)).hash_rows(seed=1)
        n += len(batch)
        total += int((hashes % (1 << 32)).sum())
    return n, total


def digests(frame: Any) -> dict[int, list[int]]:
    """The digest of each partition of a DataFrame."""

    def each(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        n, total = digest(batches)
        yield pa.RecordBatch.from_pydict({"k": [number], "n": [n], "s": [total]})

    return {number: [n, s] for number, n, s in frame.mapInArrow(each, "k long, n long, s long").collect()}


def load(spark: Any, *paths: Any, **options: Any) -> Any:
    read = spark.read.format("jelly").options(layout="ntriples", blankNodes="keep", **options)
    return read.load(list(map(str, paths)))


def memory(spark: Any, path: str, out: str) -> list[int]:
    """Peak bytes of the Python worker that reads a file in one task: after a quarter of the batches, and at the end."""
    from jelly.spark._source import JellyDataSource, JellyReader

    class Measured(JellyReader):
        def read(self, partition: Any) -> Iterator[Any]:
            peaks = []
            for batch in super().read(partition):
                yield batch
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            Path(out, "memory").write_text(f"{peaks[len(peaks) // 4]} {peaks[-1]}")

    class MeasuredSource(JellyDataSource):
        @classmethod
        def name(cls) -> str:
            return "measured"

        def reader(self, schema: Any) -> Any:
            return Measured(super().reader(schema).settings, schema)

    spark.dataSource.register(MeasuredSource)
    spark.read.format("measured").load(path).write.format("noop").mode("overwrite").save()
    return [int(peak) << 10 for peak in Path(out, "memory").read_text().split()]


def everything(spark: Any, folder: str, out: str, large: str) -> Any:
    """Each file of a folder is read; those in plain are written, and read and written by a streaming query."""
    files = sorted(Path(folder).rglob("*.*"))
    plain = f"{folder}/plain"
    from readings import split

    from jelly.spark._parts.files import find_files

    # With splitBytes=1 no two files share a task, and text is cut into many.
    plan = split(find_files(list(map(str, files))), 1)
    found = digests(load(spark, *files, splitBytes=1))
    assert len(found) == len(plan) > len(files)
    result: dict[str, Any] = {"read": {path.name: [0, 0] for path in files}}
    for number, (part,) in enumerate(plan):
        whole = result["read"][Path(part.file.path).name]
        whole[:] = [whole[0] + found[number][0], whole[1] + found[number][1]]
    load(spark, plain).write.format("jelly").mode("append").save(f"{out}/written")
    stream(spark, plain, f"{out}/streamed", f"{out}/checkpoint", maxFilesPerTrigger=len(files) // 3).awaitTermination()
    result["memory"] = memory(spark, large, out)
    return result


def stream(spark: Any, source: str, out: str, checkpoint: str, once: bool = True, **options: Any) -> Any:
    """A streaming query from a folder of files, or a file that is followed, to a folder of files."""
    frame = spark.readStream.format("jelly").options(layout="ntriples", blankNodes="keep", **options).load(source)
    writer = frame.writeStream.format("jelly").option("checkpointLocation", checkpoint).option("path", out)
    return writer.trigger(**({"availableNow": True} if once else {"processingTime": "0 seconds"})).start()


def relative(spark: Any, folder: str) -> Any:
    """All that a path is given for, with paths below the directory of the driver, which the workers are not in."""
    here = Path.cwd()
    folder = os.path.relpath(folder, here)
    assert not folder.startswith("/")

    def directories(numbers: Iterator[int]) -> Iterator[str]:
        yield from {os.getcwd() for _ in numbers}

    workers = spark.sparkContext.parallelize(range(4), 4).mapPartitions(directories).collect()
    assert str(here) not in workers
    result: dict[str, Any] = {}
    paths = {
        "file": f"{folder}/in/day=1/a.nt", "uri": f"file:{folder}/in/day=1/a.nt", "directory": f"{folder}/in/",
        "pattern": f"{folder}/in/*/", "none": f"{folder}/in/day=1/*/",
    }  # fmt: skip
    for name, path in paths.items():
        try:
            result[name] = load(spark, path).count()
        except Exception as error:
            result[name] = "PATH_NOT_FOUND" in str(error)
    result["list"] = load(spark, *(f"{folder}/in/day={n}" for n in (1, 2))).count()
    options = {"partitionColumns": "day", "basePath": f"{folder}/in", "fileColumn": "file"}
    frame = load(spark, f"{folder}/in/day=2", columns="s", **options)
    result["columns"] = sorted([row.day, row.file] for row in frame.collect())
    for _ in range(2):
        load(spark, f"{folder}/in").write.format("jelly").mode("overwrite").save(f"{folder}/written")
    result["written"] = load(spark, f"{folder}/written").count()
    load(spark, f"{folder}/in").write.format("jelly").mode("append").save(f"file:{folder}/written")
    result["appended"] = load(spark, f"{folder}/written").count()
    for path, name, more in (("in", "streamed", {}), ("growing.jelly", "followed", {"follow": "true"})):
        stream(spark, f"{folder}/{path}", f"{folder}/{name}", f"{folder}/{name}-state", **more).awaitTermination()
        result[name] = load(spark, f"{folder}/{name}").count()
    return result


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
                end = time.monotonic() + 600
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


def both(spark: Any, source: str, growing: str, folder: str, once: bool) -> Iterator[Any]:
    """A query over a directory and one that follows a file, in small batches.

    The second is started when the first has done something: executors that get their first tasks from two queries at
    once sometimes fail to load the classes of one (ClassCastException in Spark's own deserialization).
    """
    few = {"follow": "true", "maxBytesPerTrigger": 20_000}
    yield stream(spark, source, f"{folder}/directory", f"{folder}/checkpoint-1", once, maxFilesPerTrigger=1)
    yield stream(spark, growing, f"{folder}/file", f"{folder}/checkpoint-2", once, **few)


def endless(spark: Any, *arguments: str) -> Any:
    """Both queries until they are killed."""
    queries = []
    for query in both(spark, *arguments, once=False):
        queries.append(query)
        while query.isActive and query.lastProgress is None:
            time.sleep(0.005)
    for query in queries:
        query.awaitTermination()


def rest(spark: Any, *arguments: str) -> Any:
    """Both queries until they have read what there is."""
    for query in both(spark, *arguments, once=True):
        query.awaitTermination()


def run_slowly(folder: str, work: Any, task: Any) -> Any:
    """A task of an ingest that stops in the middle of its file until ``go`` is there."""
    from pyspark import TaskContext

    from jelly.spark._ingest import tasks as room

    context = TaskContext.get()
    assert context is not None
    # Partitions 0 and 1 are done at once.
    name, held = f"{context.partitionId()}-{context.attemptNumber()}", context.partitionId() > 1
    read = room._record_batches

    def wait(*given: Any) -> Iterator[Any]:
        yield from read(*given)
        if held:
            Path(folder, f"waits-{name}").touch()
            end = time.monotonic() + 600
            while not Path(folder, "go").exists():
                if time.monotonic() > end:
                    raise TimeoutError("nobody said go")
                time.sleep(0.02)

    room._record_batches = wait
    try:
        return room.run_task(work, task)
    finally:
        room._record_batches = read


def slow_ingest(spark: Any, source: str, out: str, folder: str) -> Any:
    """An ingest that stops in the middle until it may go on."""
    from jelly.spark import _ingest as room

    run_task = room.run_task
    room.run_task = partial(run_slowly, folder)
    try:
        return room.ingest(source, out, spark=spark, layout="ntriples", split_bytes=1).as_dict()
    finally:
        room.run_task = run_task


def plain_ingest(spark: Any, source: str, out: str, storage: str) -> Any:
    """An ingest to a store, a task for each file."""
    from jelly.spark._ingest import ingest

    done = ingest(source, out, spark=spark, layout="ntriples", split_bytes=1, storage=json.loads(storage))
    return done.as_dict()


def main(url: str, memory: str) -> None:
    import jelly.spark

    conf = {
        "spark.executor.memory": memory,
        # One on each of two workers.
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        # Many small queries: compiling them takes longer than running them.
        "spark.sql.codegen.wholeStage": "false",
    }
    spark = session(url, **conf)
    jelly.spark.register(spark)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            told = {"result": globals()[name](spark, *arguments)}
        except Exception:
            told = {"error": traceback.format_exc()}
        print(RESULT + json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
