"""Peak memory of converting a long stream both ways: N-Triples to Jelly, and Jelly to N-Triples.

    python bench/memory.py [MILLIONS]     50 by default

The stream is made as it is read, and what is written is counted and dropped, so that all memory is that of the
conversion. Each way runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jelly

BLOCK = 20_000
MARK = b"~~~~~~~~"


class Counter:
    """A destination that counts."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        return len(data)


def text(blocks: int) -> Iterator[bytes]:
    """Blocks of N-Triples, each with subjects and literals of its own."""
    lines = []
    for i in range(BLOCK):
        subject = f"<http://example.org/station/{MARK.decode()}/reading/{i // 4}>"
        predicate = f"<http://example.org/ontology#property{i % 4}>"
        value = (
            f'"{MARK.decode()}.{i}"^^<http://www.w3.org/2001/XMLSchema#decimal>',
            f'"reading {i} of station {MARK.decode()}"@en',
            f"<http://example.org/unit/{i % 31}>",
            f"_:b{i // 4}",
        )[i % 4]
        lines.append(f"{subject} {predicate} {value} .\n")
    template = "".join(lines).encode()
    for block in range(blocks):
        yield template.replace(MARK, b"%08d" % block)


def encoded(blocks: int) -> Iterator[bytes]:
    """The same as Jelly."""
    encoder = jelly.Encoder(jelly.StreamOptions())
    for batch in jelly.scan(text(blocks), format="nt").batches():
        yield encoder.encode(batch)
    yield encoder.close()


def convert(way: str, blocks: int) -> int:
    sink = Counter()
    if way == "text to Jelly":
        source, settings = jelly.scan(text(blocks), format="nt").batches(), {}
    else:
        source, settings = jelly.scan(encoded(blocks)).batches(), {"format": "nt"}
    with jelly.Writer(sink, **settings) as writer:
        for batch in source:
            writer.add_batch(batch)
    if writer.statements != blocks * BLOCK:
        raise SystemExit(f"{writer.statements} statements, expected {blocks * BLOCK}")
    return sink.size


def peak() -> int:
    """Bytes; VmHWM where there is one, as ru_maxrss also counts what a process was before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    if len(sys.argv) == 3:
        way, blocks = sys.argv[1], int(sys.argv[2])
        before = peak()
        start = time.perf_counter()
        size = convert(way, blocks)
        seconds = time.perf_counter() - start
        print(
            f"{way}: {blocks * BLOCK / 1e6:.0f} million statements, {size / 1e9:.2f} GB written in {seconds:.0f} s; "
            f"peak {peak() / 2**20:.0f} MiB resident, {before / 2**20:.0f} of it by the imports"
        )
        return
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 50
    for way in ("text to Jelly", "Jelly to text"):
        subprocess.run([sys.executable, __file__, way, str(int(millions * 1e6 / BLOCK))], check=True)


if __name__ == "__main__":
    main()
