"""SPARQL over a file: `jelly.query` beside pyoxigraph, which loads it first.

    python bench/query.py [COPIES]     1 by default; 235 are 50 million statements

The data are those of `bench/wide.py`, in a Jelly file with an index of terms. Each query of `jelly` runs in a process
of its own, and is asked twice of an open file: the first time reads the file. pyoxigraph loads the file once, as
N-Triples, and answers all. Seconds are those of the processor.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

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
    "co-stars": "SELECT (COUNT(*) AS ?n) { ?f film:starring/perf:actor ?a . ?q perf:actor ?a . ?g film:starring ?q }",
    "filter by length": "SELECT ?f ?n { ?f ns:name ?n FILTER(STRLEN(?n) > 40) }",
    "regular expression": "SELECT ?f ?n { ?f ns:name ?n FILTER REGEX(?n, 'love', 'i') }",
    "optional": "SELECT ?p ?c { ?f film:starring ?p OPTIONAL { ?p perf:character ?c } }",
    "not exists": "SELECT (COUNT(*) AS ?n) { ?f ns:name ?n FILTER NOT EXISTS { ?f film:directed_by ?d } }",
    "path": "SELECT (COUNT(*) AS ?n) { ?f (film:starring/perf:actor) ?a }",
}
MEMORY = 3 << 30
MOST = 40  # copies that pyoxigraph is asked to load


def ours(path: str, name: str) -> None:
    jelly.query(b"", "ASK {}", format="nt")  # imports what it needs
    times = []
    with jelly.open(path) as file:
        for _ in range(2):
            began = time.process_time()
            rows = sum(map(len, jelly.query(file, PREFIXES + QUERIES[name], memory=MEMORY).batches()))
            times.append(f"{time.process_time() - began:.3f} s")
    print(f"  {name}: {rows:,} rows, {', then '.join(times)}, {peak() >> 20} MB", flush=True)


def oxigraph(path: str) -> None:
    import pyoxigraph

    store = pyoxigraph.Store()
    lines = f"{path}.nt"
    jelly.convert(path, lines)
    began = time.process_time()
    store.bulk_load(path=lines, format=pyoxigraph.RdfFormat.N_TRIPLES)
    store.optimize()
    print(f"  load: {time.process_time() - began:.2f} s", flush=True)
    for name, sparql in QUERIES.items():
        began = time.process_time()
        rows = sum(1 for _ in store.query(PREFIXES + sparql))
        print(f"  {name}: {rows:,} rows, {time.process_time() - began:.3f} s", flush=True)
    print(f"  peak {peak() >> 20} MB", flush=True)


def main() -> None:
    if len(sys.argv) == 4:
        ours(*sys.argv[2:])
        return
    if len(sys.argv) == 3:
        oxigraph(sys.argv[2])
        return
    copies = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/movies.jelly"
        done = jelly.convert(text(copies), path, format="nt", index="terms")
        print(f"{done.statements:,} statements, {done.bytes_written / 1e6:.1f} MB\njelly.query", flush=True)
        for name in QUERIES:
            subprocess.run([sys.executable, __file__, "ours", path, name], check=True)
        if copies <= MOST:
            print("pyoxigraph", flush=True)
            subprocess.run([sys.executable, __file__, "oxigraph", path], check=True)


if __name__ == "__main__":
    main()
