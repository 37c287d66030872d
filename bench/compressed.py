"""A Jelly file compressed as it can be read in part, beside one frame of zstd: size, slices, all of it.

``python bench/compressed.py FILE --folder FOLDER`` writes FILE (of statements, any format) there as seekable
``.jelly``, ``.jelly.zst`` and ``.jelly.gz``, and reads slices of each. ``bench/filters.py`` makes large files.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jelly

KINDS = ("", ".zst", ".gz")
SLICES, ROWS = 200, 100


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that some work takes."""
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    one = given.folder / "one.jelly.zst"
    jelly.convert(given.file, one)
    print(f"one frame of zstd, without an index: {one.stat().st_size:,} bytes")
    for kind in KINDS:
        path = given.folder / f"x.jelly{kind}"
        written = timed(lambda path=path: jelly.convert(given.file, path, seekable=True))
        size = path.stat().st_size
        with jelly.open(path) as file:
            opened = timed(lambda path=path: jelly.open(path).close())
            dice = random.Random(1)
            starts = [dice.randrange(max(len(file) - ROWS, 1)) for _ in range(SLICES)]
            slices = sorted(timed(lambda at=at, file=file: file[at : at + ROWS]) for at in starts)
            whole = [
                len(file) / 1000 / timed(lambda n=n, file=file: sum(map(len, file.batches(n))))
                for n in (1, given.threads)
            ]
        print(
            f"{path.name}: {size:,} bytes ({size / one.stat().st_size - 1:+.1%}), written in {written / 1000:.1f} s, "
            f"opened in {opened:.1f} ms; {ROWS} of {len(file):,} statements: {statistics.median(slices):.1f} ms, "
            f"highest {slices[-1]:.1f} ms; all: {whole[0]:.1f} M/s, {given.threads} threads {whole[1]:.1f} M/s"
        )


if __name__ == "__main__":
    main()
