"""Jobs without Spark that get killed, each in a process of its own: ``python store_jobs.py FOLDER``.

For each line of its input, a name and settings as JSON, it forks such a process and prints its number. What jobs need
is imported once, which takes longer than a job. The errors of a process are in FOLDER, in a file with its number.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from jelly.spark import _ingest as room
from jelly.spark._ingest import IngestProblem, tasks
from jelly.spark._ingest import buckets as sorting
from jelly.spark._output import Output, commit_batch, job_of, part_of
from jelly.spark._store import Store

COLUMNS = ("s", "p", "o")


# In the place of a session.
HERE: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2), conf={})


def run_here(
    session: Any, work: Any, tasks: Any, commit: Any, start: Any = None, *,
    ran: Callable[[Any], object] = lambda task: None,
) -> None:  # fmt: skip
    """In the place of Spark: one task after the other. ``ran`` gets each that has no error, before its commit."""
    if start is not None:
        tasks = sorted_here(**start.keywords)
    for task in tasks:
        done = room.run_task(work, task)
        if "error" in done:
            raise IngestProblem(**done["error"]).error()
        ran(task)
        commit(done)


def sorted_here(store: Any, files: Any, ranges: int, schema: Any, sort: Any) -> Any:
    """The tasks of a compaction with their rows, in order, which Spark has shuffled and sorted otherwise."""
    order = [(name, "ascending") for name in ("folder", *sort)]
    groups = [[name for name, _ in files]]
    table = pa.Table.from_batches(sorting.read(store, schema, groups, [pa.record_batch([[0]], ["id"])])).sort_by(order)
    step = -(-len(table) // ranges)
    for number in range(ranges):
        yield sorting.sorted_step(number, schema, iter(table.slice(number * step, step).to_batches(20)))


def ingest(out: str, src: str, storage: Any = None, **settings: Any) -> Any:
    room._run = run_here
    room._compute = lambda running, function, items: list(map(function, items))
    return room.ingest(src, out, spark=HERE, split_bytes=1, storage=storage, **settings)


def delta_table(store: Any) -> Any:
    """A table of Delta as any reader sees it."""
    import deltalake

    given = store.storage and {
        "AWS_ACCESS_KEY_ID": store.storage["key"], "AWS_SECRET_ACCESS_KEY": store.storage["secret"],
        "AWS_ENDPOINT_URL": store.storage["endpoint_url"], "AWS_ALLOW_HTTP": "true",
    }  # fmt: skip
    return deltalake.DeltaTable(store.path, storage_options=given or None)


def compact(out: str, storage: Any = None) -> Any:
    room._run = run_here
    room._Session.spark = None  # type: ignore[assignment]
    return room.compact_table(out, storage=storage)


def batches(first: int, n: int) -> Any:
    for number in range(first, first + n):
        yield pa.record_batch([["<a:s>"], ["<a:p>"], [f'"{number}"']], list(COLUMNS))


def job(out: str, first: int, overwrite: bool = False, storage: Any = None) -> None:
    """Three part files of five rows each."""
    output = Output(out, f"job{first}", COLUMNS, overwrite, storage=storage or {}).begin()
    output.commit([output.write(part, "1", batches(first + 5 * part, 5)) for part in range(3)])


def batch(out: str, number: int, query: str = "query", storage: Any = None) -> bool:
    """A batch of a streaming query, of three part files."""
    output = Output(out, job_of(query, number), COLUMNS, storage=storage or {}, path=part_of(number))
    output.store.begin(output.job)
    written = [output.write(part, time.monotonic_ns(), batches(100 * number + 5 * part, 5)) for part in range(3)]
    return commit_batch(output.store, number, query, written)


# ---- the moment to be killed in

def stop_before(name: str, pattern: str, number: int, sign: str) -> None:
    """Stop for good in the nth call of a function of the local store, or of Delta, whose arguments match, and leave a
    sign."""
    import re

    place, attribute = os if name in ("replace", "link") else Store, name
    if name == "create_write_transaction":
        import deltalake

        place = deltalake.DeltaTable
    if name == "batches":
        place, attribute = tasks, "_record_batches"
    do: Callable[..., Any] = getattr(place, attribute)
    left = number

    def stop() -> None:
        Path(sign).touch()
        time.sleep(900)
        os._exit(3)

    def stopping(*given: Any, **settings: Any) -> Any:
        nonlocal left
        if name == "batches":
            return read(*given)
        left -= re.search(pattern, repr(given)) is not None
        if left == 0:
            left = -1
            stop()
        return do(*given, **settings)

    def read(*given: Any) -> Any:
        nonlocal left
        left -= 1
        yield from do(*given)
        if left == 0:
            stop()

    setattr(place, attribute, stopping)


def run_to_its_end(folder: str, name: str, settings: dict[str, Any]) -> None:
    """A job in this process, which ends with it."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing, errors = os.open(os.devnull, os.O_RDWR), os.open(f"{folder}/{os.getpid()}", os.O_WRONLY | os.O_CREAT)
        for number, file in enumerate((nothing, nothing, errors)):
            os.dup2(file, number)
        if stop := settings.pop("stop", None):
            stop_before(*stop)
        globals()[name](**settings)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main(folder: str) -> None:
    import deltalake  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import s3fs  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who has ended is gone
    for line in sys.stdin:
        if (process := os.fork()) == 0:
            run_to_its_end(folder, *json.loads(line))
        print(process, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
