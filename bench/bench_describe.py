"""Descriptions of data sets: `jelly.describe` beside reading alone, and beside the SPARQL queries of the same figures.

`python bench/bench_describe.py` prints processor time: the best of some runs, and one run of pyoxigraph, which loads
the data into a store in memory and answers 13 queries.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "tools"))

import pyoxigraph as oxigraph
from support.shared import shared
from test_describe import answers

import jelly

SOURCES = ("movies/30kmovies.nt.gz", "bsbm100/bsbm-100.nt.gz", "vocabs-quads/vocabs.nq.gz")
COPIES = 20


def best(work: Callable[[], object], runs: int = 5) -> float:
    """Processor time of the fastest run, in seconds."""
    times = []
    for _ in range(runs):
        begin = process_time()
        work()
        times.append(process_time() - begin)
    return min(times)


def read(path: str) -> None:
    """Make all Batches of a file."""
    for _ in jelly.scan(path).batches():
        pass


def by_oxigraph(text: bytes, triples: bytes) -> None:
    """Load N-Quads, and their union, into stores, and answer all queries."""
    named, union = oxigraph.Store(), oxigraph.Store()
    union.bulk_load(triples, oxigraph.RdfFormat.N_TRIPLES)
    if text != triples:
        named.bulk_load(text, oxigraph.RdfFormat.N_QUADS)
    answers(union, named)


def copies(source: str, path: str) -> None:
    """Write several copies of a file, whose blank nodes and IRIs of subjects differ."""
    with jelly.Writer(path) as writer:
        for number in range(COPIES):
            for s, p, o in jelly.read(source):
                writer.add(jelly.Triple(type(s)(f"{s.value}-{number}"), p, o))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            name, path = source.split("/")[0], f"{folder}/one.jelly"
            n = jelly.convert(shared("data", source), path).statements
            alone, whole = best(lambda p=path: read(p)), best(lambda p=path: jelly.describe(p))
            text = b"".join(f"{statement}\n".encode() for statement in jelly.read(path))
            triples = b"".join(f"{jelly.Triple(*list(one)[:3])}\n".encode() for one in jelly.read(path))
            peer = best(lambda x=text, y=triples: by_oxigraph(x, y), 1)
            print(f"{name}: {n:,} statements, reading {alone:.3f} s, describe {whole:.3f} s, pyoxigraph {peer:.1f} s")
        large = f"{folder}/large.jelly"
        copies(str(shared("data", SOURCES[0])), large)
        n = jelly.count(large)
        for memory in (1 << 30, 1 << 26):
            time = best(lambda m=memory: jelly.describe(large, memory=m), 2)
            print(f"{n:,} statements, memory={memory >> 20} MiB: {time:.2f} s, {n / time / 1e6:.2f} M statements/s")
        print(f"reading them: {best(lambda: read(large), 2):.2f} s")
        print(f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


if __name__ == "__main__":
    main()
