"""Ingest into tables of ids beside the flat table, statements a second by the clock and by CPU time.

    python bench/spark/ids.py [--statements 4000000] [--rounds 3]

The dumps of `dumps.py` in four formats, one of them Turtle, which pyoxigraph parses, and the same statements in Jelly.
`local[2]`; the first round is to warm Spark up. CPU time is that of all processes: the clock of two cores cannot show
less than half of it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dumps import make_dumps
from reading import cpu_seconds, start

import jelly
import jelly.spark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--statements", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {"four formats": folder / "dumps", "Jelly": folder / "jelly"}
        for path in sources.values():
            path.mkdir()
        for dump in make_dumps(sources["four formats"], given.statements):
            stem = dump.name.partition(".")[0]
            jelly.convert(dump, sources["Jelly"] / f"{stem}.jelly", seekable=True)
        spark = start()
        try:
            print(f"{'':14}{'':8}{'statements':>12}{'terms':>11}{'M/s':>8}{'M/s, CPU':>12}")
            for source, path in sources.items():
                for layout in ("flat", "ids"):
                    wall, cpu = [], []
                    for round in range(given.rounds + 1):
                        out = folder / "out"
                        shutil.rmtree(out, ignore_errors=True)
                        before, began = cpu_seconds(), time.perf_counter()
                        done = jelly.spark.ingest(path, out, spark=spark, layout=layout)
                        if round:
                            wall.append(time.perf_counter() - began)
                            cpu.append(cpu_seconds() - before)
                    rate, of_cpu = done.statements / median(wall) / 1e6, done.statements / median(cpu) / 1e6
                    print(f"{source:14}{layout:8}{done.statements:12,}{done.terms:11,}{rate:8.2f}{2 * of_cpu:12.2f}")
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
