"""Statements as arrays of ids: `Dataset.to_ids` beside a dict of Python over our own terms.

`pytest bench/bench_ids.py` times each; `python bench/bench_ids.py` prints both in processor time, in turn, the best of
some runs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.shared import shared

import jelly

SOURCES = {
    "vocabs-quads": ("vocabs-quads", "vocabs.nq.gz"),
    "iot-weather": ("iot-weather", "assist-iot-weather-100k.nt.gz"),
    "movies": ("movies", "30kmovies.nt.gz"),
}


def as_jelly(name: str, folder: Path) -> Path:
    path = folder / f"{name}.jelly"
    jelly.convert(shared("data", *SOURCES[name]), path, seekable=True)
    return path


def ours(path: Path) -> int:
    return len(jelly.scan(path).to_ids())


def by_dict(path: Path) -> int:
    """What a program does without to_ids: the same arrays."""
    nodes: dict[object, int] = {}
    relations: dict[object, int] = {}
    s, p, o, g = [], [], [], []
    default = jelly.DefaultGraph()
    for statement in jelly.read(path):
        s.append(nodes.setdefault(statement.s, len(nodes)))
        p.append(relations.setdefault(statement.p, len(relations)))
        o.append(nodes.setdefault(statement.o, len(nodes)))
        if len(statement) == 4:
            g.append(-1 if statement.g == default else nodes.setdefault(statement.g, len(nodes)))
    return len([np.array(column, np.int32) for column in (s, p, o, g)][0])


JOBS: dict[str, Callable[[Path], int]] = {"to_ids": ours, "dict": by_dict}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("work", JOBS)
def bench_ids(tmp_path, benchmark, name, work):
    path = as_jelly(name, tmp_path)
    benchmark.group = f"ids {name}"
    count = JOBS[work](path)
    assert benchmark.pedantic(JOBS[work], args=(path,), rounds=3) == count
    benchmark.extra_info["statements"] = count


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SOURCES:
            path = as_jelly(name, Path(folder))
            taken: dict[str, list[float]] = {work: [] for work in JOBS}
            count = 0
            for _ in range(5):
                for work, job in JOBS.items():
                    begin = process_time()
                    count = job(path)
                    taken[work].append(count / (process_time() - begin) / 1e6)
            ids, plain = max(taken["to_ids"]), max(taken["dict"])
            print(f"{name}: {count} statements, to_ids {ids:.2f} M/s, dict {plain:.2f} M/s, {ids / plain:.1f} x")


if __name__ == "__main__":
    main(sys.argv[1:])
