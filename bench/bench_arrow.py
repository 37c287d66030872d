"""Jelly files to Arrow columns and back, beside pyarrow reading the same table from Parquet.

`pytest bench/bench_arrow.py` times each work; `python bench/bench_arrow.py [name ...]` prints a table of all, made for
machines that do other things too: the best of many runs, in processor time but for the two threads.
"""

from __future__ import annotations

import io
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pytest
from pyarrow import parquet

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.shared import shared

import jelly
from jelly import arrow
from jelly._formats import table_files as tablefiles
from jelly._options.layouts import LAYOUTS

SOURCES = {
    "iot-weather": ("iot-weather", "assist-iot-weather-100k.nt.gz"),
    "vocabs-quads": ("vocabs-quads", "vocabs.nq.gz"),
    "movies": ("movies", "30kmovies.nt.gz"),
    "hobbit-sensor": ("hobbit-sensor", "hobbit-sensor-3000ev.nq.gz"),
    "dbpedia-abstracts": ("dbpedia-abstracts", "long-abstracts-10k.nt.gz"),
    "iot-weather-shuffled": ("iot-weather", "assist-iot-weather-100k.nt.gz"),
}
STATEMENTS = int(os.environ.get("JELLY_BENCH_STATEMENTS", 2_000_000))
ENCODED = 300_000  # what is encoded is kept in memory
STRINGS = [name for name in LAYOUTS["flat"].columns if name != "object_kind"]


class Files:
    """A data set repeated to at least STATEMENTS, in an indexed Jelly file and, when asked for, in Parquet."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.jelly = folder / f"{name}.jelly"
        self.parquet = folder / f"{name}.parquet"
        self.count = 0
        source = shared("data", *SOURCES[name])
        if name.endswith("-shuffled"):
            statements = list(jelly.read(source))
            random.Random(7).shuffle(statements)
            batches = list(jelly.Decoder().feed(jelly.dumps(statements)))
        else:
            batches = list(jelly.scan(source).batches())
        with jelly.Writer(self.jelly, seekable=True) as writer:
            while self.count < STATEMENTS:
                for batch in batches:
                    writer.add_batch(batch)
                    self.count += len(batch)
        self._tables: dict[bool, Any] = {}

    def need_parquet(self) -> Path:
        if not self.parquet.exists():
            tablefiles.write_table_file(self.parquet, jelly.read_arrow(self.jelly))
        return self.parquet

    def table(self, dictionary: bool) -> Any:
        """The first statements, in memory."""
        if dictionary not in self._tables:
            stop = min(ENCODED, self.count)
            self._tables[dictionary] = jelly.read_arrow(self.jelly, dictionary=dictionary, stop=stop).read_all()
        return self._tables[dictionary]


class Nowhere(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def dropped(batches: Any) -> int:
    rows = 0
    for batch in batches:
        rows += len(batch)
        del batch
    return rows


def encode(files: Files, dictionary: bool) -> int:
    return jelly.write_arrow(Nowhere(), files.table(dictionary))


Job = Callable[[Files], int]
JOBS: dict[str, Job] = {
    "ids": lambda f: dropped(jelly.scan(f.jelly, batch_rows=arrow.BATCH_ROWS).batches()),
    "plain": lambda f: dropped(jelly.read_arrow(f.jelly)),
    "plain ntriples": lambda f: dropped(jelly.read_arrow(f.jelly, layout="ntriples")),
    "plain, three columns": lambda f: dropped(jelly.read_arrow(f.jelly, columns=["subject", "predicate", "object"])),
    "plain collected": lambda f: len(jelly.read_arrow(f.jelly).read_all()),
    "dictionary": lambda f: dropped(jelly.read_arrow(f.jelly, dictionary=True)),
    "parquet plain": lambda f: dropped(parquet.ParquetFile(f.need_parquet()).iter_batches(32768, use_threads=False)),
    "parquet collected": lambda f: len(parquet.read_table(f.need_parquet(), use_threads=False)),
    "parquet dictionary": lambda f: dropped(
        parquet.ParquetFile(f.need_parquet(), read_dictionary=STRINGS).iter_batches(32768, use_threads=False)
    ),
    "encode plain": lambda f: encode(f, False),
    "encode dictionary": lambda f: encode(f, True),
}
THREADS: dict[str, Job] = {
    f"{kind}, {threads} threads": lambda f, kind=kind, threads=threads: dropped(  # type: ignore[misc]
        jelly.read_arrow(f.jelly, dictionary=kind == "dictionary", threads=threads)
    )
    for kind in ("plain", "dictionary")
    for threads in (1, 2)
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    known: dict[str, Files] = {}

    def get(name: str) -> Files:
        if name not in known:
            # One at a time: they are large.
            for other in known.values():
                other.jelly.unlink()
                other.parquet.unlink(missing_ok=True)
            known.clear()
            known[name] = Files(name, tmp_path_factory.mktemp("arrow"))
        return known[name]

    return get


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("work", JOBS)
def bench_arrow(files, benchmark, name, work):
    found = files(name)
    count = ENCODED if work.startswith("encode") else found.count
    benchmark.group = f"arrow {name}"
    assert JOBS[work](found) == count  # makes the input
    assert benchmark.pedantic(JOBS[work], args=(found,), rounds=3) == count
    benchmark.extra_info["statements"] = count


def best(job: Job, files: Files, clock: Callable[[], float], seconds: float = 4.0) -> float:
    """Million statements a second: the best of at least three runs."""
    found = []
    until = perf_counter() + seconds
    while len(found) < 3 or (perf_counter() < until and len(found) < 15):
        begin = clock()
        count = job(files)
        found.append(count / (clock() - begin) / 1e6)
        if count not in (files.count, ENCODED):
            raise AssertionError(f"{files.name}: {count} statements of {files.count}")
    return max(found)


def main(names: list[str]) -> None:
    for name in names or SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            files = Files(name, Path(folder))
            print(f"{name}: {files.count} statements, Jelly {files.jelly.stat().st_size / 1e6:.0f} MB", flush=True)
            for work, job in JOBS.items():
                speed = best(job, files, process_time)
                print(f"  {work:22} {speed:6.2f} M/s {1000 / speed:7.0f} ns", flush=True)
            for work, job in THREADS.items():
                print(f"  {work:22} {best(job, files, perf_counter):6.2f} M/s by the clock", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
