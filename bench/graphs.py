"""RDFLib: graphs, datasets and loops over its terms, by our plug-ins and by pyjelly's."""

from __future__ import annotations

import gc
import io
import logging
from typing import Any

import rdflib
from pyjelly.integrations.rdflib import parse as theirs
from pyjelly.integrations.rdflib import serialize as theirs_out
from work import Counter, Data, Job, count

import jelly.rdflib as ours

# RDFLib tells of every literal whose value it cannot compute.
logging.getLogger("rdflib.term").setLevel(logging.CRITICAL)

for kind, base in (("Parser", rdflib.parser.Parser), ("Serializer", rdflib.serializer.Serializer)):
    rdflib.plugin.register("ours", base, "jelly.rdflib", f"Jelly{kind}")
    where = theirs if kind == "Parser" else theirs_out
    rdflib.plugin.register("pyjelly", base, where.__name__, f"RDFLibJelly{kind}")

_graphs: dict[str, Any] = {}


def parse(data: Data, plugin: str) -> Any:
    return (rdflib.Dataset if data.quads else rdflib.Graph)().parse(data=data.jelly, format=plugin)


def graph_of(data: Data) -> Any:
    if data.name not in _graphs:
        _graphs.clear()
        _graphs[data.name] = parse(data, "ours")
    return _graphs[data.name]


def size(graph: Any) -> int:
    contexts = list(graph.graphs()) if isinstance(graph, rdflib.Dataset) else [graph]
    return sum(len(context) for context in contexts)


def parse_job(plugin: str) -> Job:
    def run(data: Data) -> int:
        expected = size(graph_of(data))
        # As it is in programs: one plug-in stops the collector for a while, the other does not.
        collects = gc.isenabled()
        gc.enable()
        try:
            found = size(parse(data, plugin))
        finally:
            if not collects:
                gc.disable()
        # pyjelly lets RDFLib normalise literals, so a few become the same.
        return data.count if 0.999 * expected <= found <= expected else -1

    return run


def serialize_job(plugin: str) -> Job:
    def run(data: Data) -> int:
        out = graph_of(data).serialize(format=plugin, encoding="utf-8")
        return data.count if len(out) > data.count else -1

    return run


def statements_of(data: Data) -> list[Any]:
    name = f"{data.name} statements"
    if name not in _graphs:
        _graphs.clear()
        _graphs[name] = list(ours.read(data.jelly))
    return _graphs[name]  # type: ignore[no-any-return]


def write_with_pyjelly(data: Data) -> int:
    theirs_out.flat_stream_to_file(iter(statements_of(data)), Counter())
    return data.count


PARSE: dict[str, Job] = {"jelly Graph.parse": parse_job("ours"), "pyjelly Graph.parse": parse_job("pyjelly")}
SERIALIZE: dict[str, Job] = {"jelly serialize": serialize_job("ours"), "pyjelly serialize": serialize_job("pyjelly")}
READ: dict[str, Job] = {
    "jelly rdflib loop": lambda data: count(ours.read(data.jelly)),
    "pyjelly rdflib loop": lambda data: count(theirs.parse_jelly_flat(io.BytesIO(data.jelly))),
}
WRITE: dict[str, Job] = {
    "jelly rdflib terms": lambda data: ours.write(Counter(), statements_of(data)),
    "pyjelly rdflib terms": write_with_pyjelly,
}
