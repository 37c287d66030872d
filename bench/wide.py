"""A row for each subject: `jelly.wide` and property graphs beside a pivot of pandas and rdfpandas.

    python bench/wide.py [COPIES]     1 by default; 235 are 50 million statements

The data are movies (Freebase) of `../shared`, as often as asked for, each time with other subjects. Each way runs in a
process of its own, and is given the same Jelly file; rdfpandas, where it is installed, takes its graph from RDFLib.
What takes too much memory for many copies is left out.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from memory import peak
from support.shared import shared

import jelly

PLACE = b"<http://rdf.freebase.com/en/"
MOST = {"pandas": 20, "rdfpandas": 1}  # copies


def text(copies: int) -> Iterator[bytes]:
    data = gzip.decompress(Path(shared("data", "movies", "30kmovies.nt.gz")).read_bytes())
    for copy in range(copies):
        yield data.replace(b"_:", b"_:n%d_" % copy).replace(PLACE, PLACE[:-1] + b"%d/" % copy)


def wide(path: str, folder: str) -> int:
    return jelly.write(f"{folder}/wide.parquet", jelly.wide(path))


def property_graph(path: str, folder: str) -> int:
    return jelly.scan(path).write(f"{folder}/graph", layout="property-graph").statements


def pandas(path: str, folder: str) -> int:
    """What a program does with a table of statements."""
    frame = jelly.read_arrow(path, columns=["subject", "predicate", "object"], dictionary=True).read_all()
    made = frame.unify_dictionaries().to_pandas().drop_duplicates()
    rows = made.groupby(["subject", "predicate"], observed=True)["object"].agg(list).unstack()
    rows.to_parquet(f"{folder}/pandas.parquet")
    return len(rows)


def rdfpandas(path: str, folder: str) -> int:
    import rdflib
    from rdfpandas.graph import to_dataframe

    graph = rdflib.Graph()
    graph.parse(data=b"".join(text(1)), format="nt")
    return len(to_dataframe(graph))


WAYS: dict[str, Callable[[str, str], int]] = {
    way.__name__: way for way in (wide, property_graph, pandas, rdfpandas)
}  # fmt: skip


def main() -> None:
    if len(sys.argv) == 4:
        began, used = time.perf_counter(), time.process_time()
        rows = WAYS[sys.argv[1]](*sys.argv[2:])
        spent = time.perf_counter() - began, time.process_time() - used
        print(f"{sys.argv[1]}: {rows:,} rows, {spent[0]:.1f} s, {spent[1]:.1f} s of processor time, {peak() >> 20} MB")
        return
    copies = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/movies.jelly"
        print(f"{jelly.convert(text(copies), path, format='nt').statements:,} statements", flush=True)
        for way in WAYS:
            if copies <= MOST.get(way, copies):
                subprocess.run([sys.executable, __file__, way, path, folder], check=False)


if __name__ == "__main__":
    main()
