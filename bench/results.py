"""Query results: size, writing and reading of each format, and what pyoxigraph takes for JSON and TSV.

    python bench/results.py ../shared/data/movies/30kmovies.nt.gz

The rows are the statements of the file, again and again, with an object of another statement as fourth variable. Each
figure is the best of some rounds, in million rows a second; the peers run in turn with us.
"""

from __future__ import annotations

import argparse
import io
import itertools
import time
from collections.abc import Callable

import pyoxigraph

import jelly

NAMES = ("s", "p", "o", "x")
BATCHES, ARROW = jelly.results.Results.batches, jelly.results.Results.to_arrow
PEERS = {
    "json": pyoxigraph.QueryResultsFormat.JSON,
    "xml": pyoxigraph.QueryResultsFormat.XML,
    "tsv": pyoxigraph.QueryResultsFormat.TSV,
}


def best(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def used_up(items: object) -> int:
    return sum(1 for _ in items)  # type: ignore[attr-defined]


def line(format: str, batches: list[jelly.Batch], rows: int, rounds: int) -> str:
    """A row of the table."""
    out = io.BytesIO()

    def write() -> None:
        out.seek(0)
        jelly.results.write_results(out, NAMES, batches, format=format)

    def read() -> jelly.results.Results:
        return jelly.results.read_results(data, format=format)

    seconds = [best(write, rounds)]
    data = out.getvalue()
    seconds += [best(lambda take=take: used_up(take(read())), rounds) for take in (BATCHES, ARROW, iter)]
    if format in PEERS:
        seconds.append(best(lambda: used_up(pyoxigraph.parse_query_results(data, PEERS[format])), rounds))
    told = " | ".join(f"{rows / each / 1e6:.2f}" for each in seconds)
    return f"| {format} | {len(data) / 1e6:.1f} | {told} |" + " |" * (format not in PEERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found = list(jelly.read(given.file))
    made = ((*one, found[7 * i % len(found)][2]) for i, one in enumerate(itertools.cycle(found)))
    out = io.BytesIO()
    jelly.results.write_results(out, NAMES, itertools.islice(made, given.rows), format="jellys")
    batches = list(jelly.results.read_results(out.getvalue(), format="jellys").batches())
    print("| format | MB | write | read Batches | to Arrow | to rows | pyoxigraph, rows |\n|" + " --- |" * 7)
    for format in ("jellys", "thrift", "protobuf", "json", "xml", "tsv"):
        binary = format in ("jellys", "thrift", "protobuf")
        print(line(format, batches, given.rows, given.rounds if binary else 1), flush=True)


if __name__ == "__main__":
    main()
