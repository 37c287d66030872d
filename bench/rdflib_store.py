"""RDFLib's own store beside `JellyStore`: loading the movies, then ten queries of RDFLib's `Graph.query`.

    python bench/rdflib_store.py

Seconds of the processor. Each store has a process of its own; a query is asked again and again for two seconds, at
least three times, and the first and the best time count. "Memory" is loaded by RDFLib from N-Triples, and by our
plug-in from Jelly; most of that time is that of the store itself. `JellyStore` opens a Jelly file with an index of
terms; the first query about something reads it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import rdflib
from query import PREFIXES, QUERIES
from wide import text

import jelly
from jelly.rdflib import JellyStore, register

TEN = [name for name in QUERIES if name != "co-stars"]  # which RDFLib itself does not end


def memory(source: str, format: str) -> Any:
    return rdflib.Graph().parse(source, format=format)


WAYS: dict[str, Callable[[str], Any]] = {
    "Memory, of N-Triples": lambda folder: memory(f"{folder}/movies.nt", "nt"),
    "Memory, of Jelly": lambda folder: memory(f"{folder}/movies.jelly", "jelly"),
    "JellyStore": lambda folder: rdflib.Graph(JellyStore(f"{folder}/movies.jelly")),
}


def run(way: str, folder: str) -> None:
    """Print what a store takes to load and for each query, as JSON."""
    register()
    # Imports, also of what reads a file with an index.
    jelly.write(f"{folder}/small.jelly", jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt"), index="terms")
    for graph in (rdflib.Graph(), rdflib.Graph(JellyStore(f"{folder}/small.jelly"))):
        list(graph.query("SELECT * { ?s ?p ?o }"))
    began = time.process_time()
    graph = WAYS[way](folder)
    found: dict[str, Any] = {"load": (time.process_time() - began,)}
    for name in TEN if way != "Memory, of Jelly" else ():
        times: list[float] = []
        while len(times) < 3 or sum(times) < 2:
            began = time.process_time()
            rows = sum(1 for _ in graph.query(PREFIXES + QUERIES[name]))
            times.append(time.process_time() - began)
        found[name] = times[0], min(times), rows
    print(json.dumps(found))


def main() -> None:
    if len(sys.argv) == 3:
        run(*sys.argv[1:])
        return
    with tempfile.TemporaryDirectory() as folder:
        jelly.convert(text(1), f"{folder}/movies.jelly", format="nt", index="terms")
        jelly.convert(f"{folder}/movies.jelly", f"{folder}/movies.nt")
        found = {}
        for way in WAYS:
            command = [sys.executable, __file__, way, folder]
            found[way] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(*(f"{way}: load {each['load'][0]:.3f} s" for way, each in found.items()), sep="\n")
    print("| query | rows | Memory, first: s | then: s | JellyStore, first: s | then: s | of Memory |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    theirs, ours = found["Memory, of N-Triples"], found["JellyStore"]
    for name in TEN:
        (a, b, rows), (x, y, same) = theirs[name], ours[name]
        if rows != same:
            raise SystemExit(f"{name}: {rows} rows and {same}")
        print(f"| {name} | {rows:,} | {a:.3f} | {b:.3f} | {x:.3f} | {y:.3f} | {y / b:.2f} |")


if __name__ == "__main__":
    main()
