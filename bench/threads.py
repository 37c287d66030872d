"""What several threads gain: `python bench/threads.py`, on a machine with nothing else to do.

Each conversion runs by one thread and by several in turn, over files of each data set; medians by the clock count.
Beside them stand the CPU seconds of both, and how much of that of several threads the first thread took: the part that
no further thread shortens. Then what 16 cores could gain at most if nothing else were in the way, and what as many
processes gain that have nothing to do with each other: more is not to be had on the machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

from pyarrow import parquet
from work import SOURCES, Data

import jelly

Job = Callable[[Path, Path, int], int]


def convert(source: str, name: str, **settings: Any) -> Job:
    def job(data: Path, out: Path, threads: int) -> int:
        return jelly.convert(data / source, out / name, threads=threads, **settings).statements

    return job


def patches(source: str, name: str, more: int) -> Job:
    """``more`` rows are no statements: the transaction, and in Jelly-Patch the end of the patch."""
    def job(data: Path, out: Path, threads: int) -> int:
        return jelly.convert(data / source, out / name, threads=threads, seekable=True) - more

    return job


def columns(name: str, **settings: Any) -> Job:
    def job(data: Path, out: Path, threads: int) -> int:
        return jelly.write_arrow(out / name, TABLES[data], threads=threads, **settings)

    return job


def to_arrow(data: Path, out: Path, threads: int) -> int:
    """Each record batch is dropped at once. One thread then writes the next one to the same memory, which its core
    has at hand; several threads cannot, as those of a later segment wait for their turn."""
    return sum(map(len, jelly.read_arrow(data / "x.jelly", threads=threads)))


def to_arrow_kept(data: Path, out: Path, threads: int) -> int:
    """As for a consumer that collects record batches for its own work: new memory for any number of threads."""
    kept: deque[Any] = deque(maxlen=24)
    count = 0
    for batch in jelly.read_arrow(data / "x.jelly", threads=threads):
        kept.append(batch)
        count += len(batch)
    return count


def to_arrow_of_parts(data: Path, out: Path, threads: int) -> int:
    """Dictionary columns: less is copied."""
    return sum(map(len, jelly.read_arrow(data / "x.jelly", threads=threads, dictionary=True)))


# Goals for two threads.
JOBS: dict[str, tuple[Job, float]] = {
    "text to Jelly": (convert("x.nq", "x.jelly", seekable=True), 1.9),
    "text to Jelly without index": (convert("x.nq", "y.jelly"), 0),
    ".nt.gz to .jelly.zst": (convert("x.nq.gz", "x.jelly.zst", seekable=True), 1.8),
    "Jelly to Parquet": (convert("x.jelly", "x.parquet"), 1.8),
    "columns to Jelly": (columns("c.jelly", seekable=True), 1.9),
    "columns to Jelly without index": (columns("d.jelly"), 0),
    "Jelly to N-Quads": (convert("x.jelly", "x.nq"), 1.8),
    "Jelly to Jelly": (convert("x.jelly", "z.jelly", seekable=True, options={"max_name_table_size": 500}), 0),
    "text to Jelly 1.2": (convert("x.nq", "u.jelly", seekable=True, options={"version": 3}), 0),
    "Jelly to Jelly 1.2": (convert("x.jelly", "v.jelly", seekable=True, options={"version": 3}), 0),
    "text to Jelly with filters": (convert("x.nq", "w.jelly", index="terms"), 0),
    "RDF Patch to Jelly-Patch": (patches("x.rdfp", "r.jellyp", 2), 0),
    "Jelly-Patch to Jelly-Patch": (patches("x.jellyp", "s.jellyp", 3), 0),
    "Jelly to Arrow": (to_arrow, 1.8),
    "Jelly to Arrow, 24 kept": (to_arrow_kept, 1.8),
    "Jelly to Arrow dictionaries": (to_arrow_of_parts, 0),
}
TABLES: dict[Path, Any] = {}


def prepare(name: str, folder: Path, size: int) -> int:
    """The data set again and again, in all forms; the number of statements. Each time the subjects are others."""
    data = Data(name)
    text = data.text
    times = max(1, round(size / len(text)))
    with open(folder / "x.nq", "wb") as plain:
        for number in range(times):
            plain.write(text.replace(b"http", b"http" if number == 0 else b"http%d" % number))
    with open(folder / "x.nq", "rb") as plain, gzip.open(folder / "x.nq.gz", "wb", 6) as packed:
        while chunk := plain.read(1 << 20):
            packed.write(chunk)
    with open(folder / "x.nq", "rb") as plain, open(folder / "x.rdfp", "wb") as rows:
        rows.write(b"TX .\n")
        rows.writelines(b"A " + line for line in plain)
        rows.write(b"TC .\n")
    jelly.convert(folder / "x.rdfp", folder / "x.jellyp", seekable=True)
    jelly.convert(folder / "x.nq", folder / "x.jelly", seekable=True)
    jelly.convert(folder / "x.nq", folder / "in.parquet")
    TABLES[folder] = parquet.read_table(folder / "in.parquet")
    return data.count * times


def measure(job: Job, data: Path, out: Path, threads: int, count: int) -> tuple[float, float, float]:
    """Seconds by the clock, of all CPUs, and of the CPU in this thread. To a new file: to replace one, ext4 waits for
    the disk."""
    for path in out.iterdir():
        if path.is_file():
            path.unlink()
    start = perf_counter(), process_time(), thread_time()
    if job(data, out, threads) != count:
        raise AssertionError("statements were lost")
    return perf_counter() - start[0], process_time() - start[1], thread_time() - start[2]


def side_by_side(job: Job, data: Path, out: Path, count: int, processes: int, rounds: int) -> float:
    """The seconds of the slowest of some processes that do the whole work each, by one thread; the median."""
    context = multiprocessing.get_context("fork")
    start, done = context.Barrier(processes), context.Queue()

    def work(number: int) -> None:
        folder = out / str(number)
        folder.mkdir()
        found = []
        for _ in range(rounds + 1):
            start.wait()
            found.append(measure(job, data, folder, 1, count)[0])
        done.put(found[1:])

    each = [context.Process(target=work, args=(number,)) for number in range(processes)]
    for process in each:
        process.start()
    seconds = [done.get(timeout=600) for _ in each]
    for process in each:
        process.join()
        shutil.rmtree(out / str(each.index(process)))
    return statistics.median(max(one) for one in zip(*seconds, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=512, help="size of each data set as text")
    parser.add_argument("--data", nargs="*", default=list(SOURCES))
    parser.add_argument("--jobs", nargs="*", default=list(JOBS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = []
    print(f"{os.cpu_count()} processors, {given.threads} threads, medians of {given.rounds}", file=sys.stderr)
    print("| work | data | 1 thread, s | threads, s | gain | goal | CPU 1, s | CPU, s | first thread |", end="")
    print(" 16 cores | processes |")
    print(f"|{'---|' * 11}")
    for name in given.data:
        with tempfile.TemporaryDirectory() as folder:
            data, out = Path(folder) / "in", Path(folder) / "out"
            data.mkdir()
            out.mkdir()
            count = prepare(name, data, given.megabytes << 20)
            for title in given.jobs:
                job, goal = JOBS[title]
                measure(job, data, out, given.threads, count)
                rounds = [[measure(job, data, out, n, count) for n in (1, given.threads)] for _ in range(given.rounds)]
                one, many = (
                    [statistics.median(each[k][i] for each in rounds) for i in range(3)] for k in range(2)
                )
                apart = given.threads * one[0] / side_by_side(job, data, out, count, given.threads, given.rounds)
                gain, first = one[0] / many[0], many[2] / many[1]
                most = one[1] / max(many[2], many[1] / 16)
                print(
                    f"| {title} | {name} | {one[0]:.3f} | {many[0]:.3f} | {gain:.2f} | {goal or ''} | {one[1]:.3f} |"
                    f" {many[1]:.3f} | {first:.0%} | {most:.1f} | {apart:.2f} |",
                    flush=True,
                )
                found.append({
                    "work": title, "data": name, "gain": round(gain, 3), "goal": goal, "seconds": one[0],
                    "seconds of threads": many[0], "cpu": one[1], "cpu of threads": many[1],
                    "first thread": first, "processes": apart,
                })  # fmt: skip
            TABLES.pop(data)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
