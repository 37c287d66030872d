"""SHACL of a big file: `jelly validate --shapes`, of 150 nodes of 15 million statements.

    python bench/shacl.py [COPIES]     70 by default: 15 million statements

The data are those of `bench/wide.py`, in a Jelly file with an index of terms. The shapes ask for the names, the
performances and the actors of 150 films. pySHACL alone, which loads all into a graph of RDFLib, is asked up to two
copies. Each way runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from typing import Any

import pyshacl
import rdflib
from memory import peak
from wide import text

import jelly
import jelly.rdflib

FILMS = 150
FILM = "http://rdf.freebase.com/film/film/"
MOST = 2  # copies that pySHACL alone is given
SHAPE = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix film: <http://rdf.freebase.com/film/film/> .
@prefix perf: <http://rdf.freebase.com/film/performance/> . @prefix ns: <http://rdf.freebase.com/ns/> .
<x:films> a sh:NodeShape ; {targets}
    sh:property [ sh:path ns:name ; sh:minCount 1 ; sh:datatype <http://www.w3.org/2001/XMLSchema#string> ] ,
        [ sh:path film:directed_by ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ,
        [ sh:path film:starring ; sh:node [ sh:property [ sh:path perf:actor ; sh:minCount 1 ] ] ] .
"""


def shapes(path: str) -> rdflib.Graph:
    """Shapes of films from all over a file."""
    films = sorted({statement.s.value for statement in jelly.find(path, p=f"{FILM}directed_by")})
    films = films[:: max(1, len(films) // FILMS)][:FILMS]
    targets = "".join(f"sh:targetNode <{film}> ; " for film in films)
    print(f"{len(films)} focus nodes", flush=True)
    return rdflib.Graph().parse(data=SHAPE.format(targets=targets), format="turtle")


def ours(path: str, shape: str) -> Any:
    return jelly.rdflib.validate(path, rdflib.Graph().parse(shape))


def alone(path: str, shape: str) -> Any:
    graph = rdflib.Graph()
    for statement in jelly.rdflib.read(path):
        graph.add(statement[:3])
    return pyshacl.validate(graph, shacl_graph=rdflib.Graph().parse(shape), inplace=True)


def main() -> None:
    if len(sys.argv) == 4:
        way, path, shape = sys.argv[1:]
        began, used = time.perf_counter(), time.process_time()
        conforms, report, _ = (ours if way == "jelly" else alone)(path, shape)
        spent = time.perf_counter() - began, time.process_time() - used
        found = len({*report.objects(None, rdflib.SH.focusNode)})
        print(
            f"{way}: {conforms}, {found} nodes, {spent[0]:.1f} s, {spent[1]:.1f} s of processor time, "
            f"{peak() >> 20} MB", flush=True,
        )
        return
    copies = int(sys.argv[1]) if len(sys.argv) > 1 else 70
    with tempfile.TemporaryDirectory() as folder:
        path, shape = f"{folder}/movies.jelly", f"{folder}/shapes.ttl"
        done = jelly.convert(text(copies), path, format="nt", index="terms")
        print(f"{done.statements:,} statements", flush=True)
        shapes(path).serialize(shape)
        subprocess.run([sys.executable, __file__, "jelly", path, shape], check=True)
        if copies <= MOST:
            subprocess.run([sys.executable, __file__, "pyshacl", path, shape], check=True)


if __name__ == "__main__":
    main()
