"""SPARQL over a file: `jelly.query` beside stores, which load it first.

    python bench/query.py [COPIES [WAY...]]     1 by default; 235 are 50 million statements

A way is "jelly", "pyoxigraph", "pyoxigraph on disk", "maplib", or the name of a query that `jelly` alone is asked;
by default all of the first four that are installed. The data are those of `bench/wide.py`, in a Jelly file with an
index of terms. Each query of `jelly` runs in a process of its own, and is asked twice of an open file: the first time
reads the file. A store loads the file once, as N-Triples, and is asked all queries twice, or once where that took more
than ten seconds. Seconds are those of the processor; `maplib` and `jelly.query` have one thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec

from memory import peak
from wide import text

import jelly

PREFIXES = (
    "PREFIX perf: <http://rdf.freebase.com/film/performance/> PREFIX film: <http://rdf.freebase.com/film/film/> "
    "PREFIX ns: <http://rdf.freebase.com/ns/> PREFIX en: <http://rdf.freebase.com/en0/> "
)
QUERIES = {
    "films of one director": "SELECT ?f { ?f film:directed_by en:alfred_hitchcock }",
    "one film, all about it": "SELECT * { en:casablanca_1942 ?p ?o }",
    "count": "SELECT (COUNT(*) AS ?n) { ?f film:starring ?p }",
    "group and order": "SELECT ?a (COUNT(?p) AS ?n) { ?p perf:actor ?a } GROUP BY ?a ORDER BY DESC(?n) LIMIT 10",
    "three patterns": "SELECT ?d ?a { ?f film:directed_by ?d ; film:starring ?p . ?p perf:actor ?a }",
    "filter by length": "SELECT ?f ?n { ?f ns:name ?n FILTER(STRLEN(?n) > 40) }",
    "regular expression": "SELECT ?f ?n { ?f ns:name ?n FILTER REGEX(?n, 'love', 'i') }",
    "optional": "SELECT ?p ?c { ?f film:starring ?p OPTIONAL { ?p perf:character ?c } }",
    "not exists": "SELECT (COUNT(*) AS ?n) { ?f ns:name ?n FILTER NOT EXISTS { ?f film:directed_by ?d } }",
    "path": "SELECT (COUNT(*) AS ?n) { ?f (film:starring/perf:actor) ?a }",
    "co-stars": "SELECT (COUNT(*) AS ?n) { ?f film:starring/perf:actor ?a . ?q perf:actor ?a . ?g film:starring ?q }",
}
MEMORY = 3 << 30
PATIENCE = 10  # seconds above which a store is asked a query once


def ours(path: str, name: str) -> None:
    jelly.query(b"", "ASK {}", format="nt")  # imports what it needs
    times = []
    with jelly.open(path) as file:
        for _ in range(2):
            began = time.process_time()
            rows = sum(map(len, jelly.query(file, PREFIXES + QUERIES[name], memory=MEMORY).batches()))
            times.append(f"{time.process_time() - began:.3f} s")
    print(f"  {name}: {rows:,} rows, {', then '.join(times)}, {peak() >> 20} MB", flush=True)


def pyoxigraph(lines: str, folder: str | None = None) -> Callable[[str], int]:
    import pyoxigraph as ox

    store = ox.Store(folder)
    store.bulk_load(path=lines, format=ox.RdfFormat.N_TRIPLES)
    store.optimize()
    return lambda sparql: sum(1 for _ in store.query(sparql))


def maplib(lines: str) -> Callable[[str], int]:
    from maplib import Model

    model = Model()
    model.read(lines, format="ntriples")
    return lambda sparql: len(model.query(sparql))


STORES: dict[str, Callable[[str], Callable[[str], int]]] = {
    "pyoxigraph": pyoxigraph,
    "pyoxigraph on disk": lambda lines: pyoxigraph(lines, f"{lines}.store"),
    "maplib": maplib,
}


def store(lines: str, way: str) -> None:
    """Load a file, and ask all queries."""
    began = time.process_time()
    ask = STORES[way](lines)
    print(f"{way}\n  load: {time.process_time() - began:.2f} s, {peak() >> 20} MB", flush=True)
    for name, sparql in QUERIES.items():
        times: list[float] = []
        rows = 0
        while len(times) < (2 if sum(times) < PATIENCE else 1):
            began = time.process_time()
            try:
                rows = ask(PREFIXES + sparql)
            except Exception as error:  # a store may refuse a query
                print(f"  {name}: {type(error).__name__}: {str(error)[:100]}", flush=True)
                break
            times.append(time.process_time() - began)
        else:
            print(f"  {name}: {rows:,} rows, {', then '.join(f'{each:.3f} s' for each in times)}", flush=True)
    print(f"  peak {peak() >> 20} MB", flush=True)


def main() -> None:
    copies, *ways = sys.argv[1:] or ["1"]
    if os.path.exists(copies):
        (store if ways[0] in STORES else ours)(copies, ways[0])
        return
    ways = ways or ["jelly", *(way for way in STORES if find_spec(way.split()[0]))]
    ways = [each for way in ways for each in (QUERIES if way == "jelly" else [way])]
    with tempfile.TemporaryDirectory() as folder:
        path, lines = f"{folder}/movies.jelly", f"{folder}/movies.nt"
        done = jelly.convert(text(int(copies)), path, format="nt", index="terms")
        print(f"{done.statements:,} statements, {done.bytes_written / 1e6:.1f} MB", flush=True)
        if STORES.keys() & ways:
            jelly.convert(path, lines)
        one_thread = {**os.environ, "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        for way in ways:
            file = lines if way in STORES else path
            subprocess.run([sys.executable, __file__, file, way], check=False, env=one_thread)


if __name__ == "__main__":
    main()
