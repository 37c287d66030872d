"""Jelly-RDF 1.2 (columns) beside 1.1 (rows): reading, writing and transcoding the same statements, in the same run.

``python bench/columns.py`` prints million statements per second of processor time, medians of several rounds, and what
a loop in C takes that only walks over the bytes of the columns (`columns.c`, compiled with ``cc -O3``).
"""

from __future__ import annotations

import argparse
import ctypes
import io
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from work import Data

import jelly

NAMES = ("iot-weather", "movies", "vocabs-quads", "hobbit-sensor")
WALK = Path(__file__).with_name("columns.c")


def floor() -> Callable[[bytes], int]:
    """The loop in C."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/walk.so"
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", library, str(WALK)], check=True)
        walk = ctypes.CDLL(library).walk
    walk.restype = ctypes.c_uint64
    return lambda data: int(walk(data, ctypes.c_uint64(len(data))))


def jobs(data: dict[int, bytes], walk: Callable[[bytes], int]) -> dict[str, Callable[[], Any]]:
    """The works by name."""

    def ids(version: int) -> None:
        for _ in jelly.scan(data[version]).batches():
            pass

    def terms(version: int) -> None:
        for _ in jelly.read(data[version]):
            pass

    def arrow(version: int) -> None:
        for _ in jelly.read_arrow(data[version], dictionary=True):
            pass

    def encode(version: int, made: list[Any]) -> None:
        encoder = jelly.Encoder(jelly.StreamOptions(**OPTIONS[version]))
        for batch in made:
            encoder.encode(batch)
        encoder.close()

    made = list(jelly.scan(data[1]).batches())
    found: dict[str, Callable[[], Any]] = {"walk, C": lambda: walk(data[3])}
    for version, name in ((1, "1.1"), (3, "1.2")):
        found[f"to ids, {name}"] = lambda version=version: ids(version)
        found[f"to terms, {name}"] = lambda version=version: terms(version)
        found[f"to Arrow, {name}"] = lambda version=version: arrow(version)
        found[f"encode, {name}"] = lambda version=version: encode(version, made)
        other = {"version": 4 - version}
        found[f"transcode from {name}"] = lambda version=version, other=other: jelly.convert(
            data[version], io.BytesIO(), options=other, to="jelly"
        )
    return found


OPTIONS: dict[int, dict[str, Any]] = {1: {}, 3: {"version": 3}}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=NAMES)
    given = parser.parse_args()
    walk = floor()
    for name in given.only:
        statements = Data(name).statements
        data = {version: jelly.dumps(statements, options) for version, options in OPTIONS.items()}
        n = len(statements)
        del statements
        every = jobs(data, walk)
        taken: dict[str, list[float]] = {job: [] for job in every}
        for _ in range(given.rounds):
            for job, work in every.items():
                began = time.process_time()
                work()
                taken[job].append(time.process_time() - began)
        print(f"{name}: {n:,} statements, {len(data[1]):,} bytes in rows, {len(data[3]):,} in columns")
        for job, seconds in taken.items():
            print(f"  {job:20} {n / statistics.median(seconds) / 1e6:8.1f} M/s")


if __name__ == "__main__":
    main()
