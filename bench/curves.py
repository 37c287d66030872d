"""How speed and memory change with the number of statements, and speed with the number of cores: for `report.py`.

The statements are those of `memory.py`: no two blocks of 20,000 have the same subjects or literals.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import memory
import pyarrow
import pyarrow.parquet
import pyoxigraph
import rdflib
from pyjelly.integrations.generic.parse import parse_jelly_flat
from work import count

import jelly

Reader = Callable[[bytes, bytes], int]
# How many statements each is given at most, so that none takes more than some seconds: as Jelly and as text.
READERS: dict[str, tuple[int, Reader]] = {
    "jelly, to Batches": (10**7, lambda data, text: sum(map(len, jelly.scan(data).batches()))),
    "jelly, to terms": (10**7, lambda data, text: count(jelly.read(data))),
    "pyoxigraph, from text": (10**6, lambda data, text: count(pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES))),
    "pyjelly, to terms": (10**5, lambda data, text: count(parse_jelly_flat(io.BytesIO(data)))),
    "RDFLib, from text": (10**5, lambda data, text: len(rdflib.Graph().parse(text, format="nt"))),
}
ROUNDS = 3
TURN = 0.05


def text_of(size: int) -> Iterator[bytes]:
    """N-Triples with so many statements."""
    if size >= memory.BLOCK:
        return memory.text(size // memory.BLOCK)
    [block] = memory.text(1)
    return iter(block.splitlines(keepends=True)[:size])


def growth() -> list[dict[str, Any]]:
    """Statements a second of inputs of 100 to 10 million statements, from memory."""
    found = []
    for size in (10**power for power in range(2, 8)):
        encoder = jelly.Encoder(jelly.StreamOptions())
        parts = [encoder.encode(batch) for batch in jelly.scan(text_of(size), format="nt").batches()]
        data = b"".join([*parts, encoder.close()])
        text = b"".join(text_of(size)) if size <= 10**6 else b""
        for who, (most, reader) in READERS.items():
            if size > most:
                continue
            if reader(data, text) != size:
                raise AssertionError(f"{who} lost some of {size} statements")
            times = []
            for _ in range(ROUNDS):
                start, turns = time.perf_counter(), 0
                while turns == 0 or time.perf_counter() - start < TURN:
                    reader(data, text)
                    turns += 1
                times.append((time.perf_counter() - start) / turns)
            found.append({"statements": size, "who": who, "statements/s": round(size / statistics.median(times))})
    return found


def with_maplib(folder: Path, cores: int) -> int:
    import maplib

    model = maplib.Model()
    model.read(str(folder / "x.nt"), parallel=cores > 1)
    return int(model.query("SELECT (COUNT(*) AS ?n) WHERE {?s ?p ?o}")["n"][0])


def with_store(folder: Path, cores: int) -> int:
    store = pyoxigraph.Store()
    store.bulk_load(path=folder / "x.nt", format=pyoxigraph.RdfFormat.N_TRIPLES)
    return len(store)


def with_parquet(folder: Path, cores: int) -> int:
    pyarrow.set_cpu_count(cores)
    with pyarrow.parquet.ParquetFile(folder / "x.parquet") as file:
        return sum(len(batch) for batch in file.iter_batches(32768, use_threads=cores > 1))


# What each does with the cores that it may use. pyoxigraph's parser, Jelly-JVM, pyjelly and RDFLib use one.
SHARED: dict[str, dict[str, Callable[[Path, int], int]]] = {
    "a file to Arrow columns": {
        "jelly": lambda folder, cores: sum(map(len, jelly.read_arrow(folder / "x.jelly", threads=cores))),
        "Parquet": with_parquet,
    },
    "N-Triples to Jelly or to a store": {
        "jelly": lambda folder, cores: (
            jelly.convert(folder / "x.nt", folder / "y.jelly", seekable=True, threads=cores).statements
        ),
        "pyoxigraph": with_store,
        "maplib": with_maplib,
    },
}


def threads() -> list[dict[str, Any]]:
    """Statements a second of a million of them on 1, 2, 4, ... cores, up to the processors. Linux only."""
    found = []
    size = 50 * memory.BLOCK
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "x.nt").write_bytes(b"".join(memory.text(50)))
        jelly.convert(folder / "x.nt", folder / "x.jelly", seekable=True)
        jelly.convert(folder / "x.nt", folder / "x.parquet")
        # All cores first: a pool of threads is made once, for the cores that there are then.
        for number in (2**power for power in reversed(range(len(cores).bit_length()))):
            os.sched_setaffinity(0, cores[:number])
            for work, peers in SHARED.items():
                for who, job in peers.items():
                    times = []
                    try:
                        for _ in range(ROUNDS):
                            start = time.perf_counter()
                            if job(folder, number) != size:
                                raise AssertionError(f"{who} on {number} cores lost some of {size} statements")
                            times.append(time.perf_counter() - start)
                    except ImportError as reason:
                        print(f"without {who}: {reason}", file=sys.stderr)
                        continue
                    rate = round(size / statistics.median(times))
                    found.append({"work": work, "who": who, "cores": number, "statements/s": rate})
        os.sched_setaffinity(0, cores)
    return found


def memory_over_time(millions: int = 50) -> list[dict[str, Any]]:
    """Resident memory of converting so many million statements, about 200 times on the way. Linux only."""
    found = []
    for way in ("text to Jelly", "Jelly to text"):
        blocks = millions * 10**6 // memory.BLOCK
        command = [sys.executable, memory.__file__, way, str(blocks)]
        samples: list[tuple[float, int]] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            start = time.perf_counter()
            while process.poll() is None:
                lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
                if size := [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")]:
                    samples.append((round(time.perf_counter() - start, 2), size[0]))
                time.sleep(0.25)
            assert process.stdout is not None
            if process.returncode:
                raise AssertionError(process.stdout.read())
        step = max(1, len(samples) // 200)
        found.append({"way": way, "statements": blocks * memory.BLOCK, "samples": samples[::step]})
    return found
