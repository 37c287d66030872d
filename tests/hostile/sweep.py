"""Decode every file of a folder cut at each byte and with its bytes flipped. test_sweep.py runs it.

    python sweep.py FOLDER STEP     prints counts as JSON; a STEP of n takes every n-th case

Each case must give statements or a JellyError with a byte offset. What a cut file gives must be what the whole file
begins with. The growth of memory is that of the process, as tracemalloc does not see what C takes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from support.measure import peak

import jelly
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer

# Files up to this size have every bit of theirs flipped.
SMALL = 320


def decode(data: bytes) -> tuple[list[Batch], jelly.JellyError | None]:
    decoder = jelly.Decoder()
    batches = []
    try:
        decoder.push(data)
        decoder.finish()
        while (batch := decoder.pull(True)) is not None:
            batches.append(batch)
    except jelly.JellyError as error:
        return batches, error
    return batches, None


def statements(batches: list[Batch]) -> list:
    return [statement for batch in batches for statement in Materializer(batch).statements()]


def flips(data: bytes) -> list[tuple[int, int]]:
    if len(data) <= SMALL:
        return [(at, 1 << bit) for at in range(len(data)) for bit in range(8)]
    # All bits of a byte, the top one, and one that is another for each place.
    return [(at, mask) for at in range(len(data)) for mask in (0xFF, 0x80, 1 << at % 7)]


def main(folder: str, step: int) -> None:
    files = sorted(Path(folder).rglob("*.jelly"))
    counts: Counter[str] = Counter(files=len(files))
    for path in files:
        statements(decode(path.read_bytes())[0])
    before = peak()
    number = 0
    for path in files:
        data = path.read_bytes()
        whole = statements(decode(data)[0])
        for cut in range(len(data)):
            number += 1
            if number % step:
                continue
            batches, error = decode(data[:cut])
            found = statements(batches)
            check(batches, error, cut, path, f"cut at {cut}")
            if found != whole[: len(found)]:
                raise SystemExit(f"{path} cut at {cut}: other statements than before")
            counts["cut", error is not None] += 1
        for at, mask in flips(data):
            number += 1
            if number % step:
                continue
            changed = bytearray(data)
            changed[at] ^= mask
            batches, error = decode(changed)
            check(batches, error, len(data), path, f"byte {at} ^ {mask:#x}")
            if number % 97 == 0:
                for batch in batches:
                    batch.check()
            statements(batches)
            counts["flip", error is not None] += 1
    print(json.dumps({str(key): count for key, count in counts.items()} | {"grown": peak() - before}))


def check(batches: list[Batch], error: jelly.JellyError | None, size: int, path: Path, what: str) -> None:
    if error is not None and not (error.offset is not None and 0 <= error.offset <= size and error.frame is not None):
        raise SystemExit(f"{path} {what}: {error!r} has no place")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
