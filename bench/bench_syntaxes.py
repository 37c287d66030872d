"""Turtle and TriG to Jelly and back, against what pyoxigraph takes for its part alone; its terms out of Jelly."""

from __future__ import annotations

import pyoxigraph
import pytest
from work import SOURCES, Counter, Data, Job, count

import jelly
import jelly.oxigraph

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "fb": "http://rdf.freebase.com/film/",
}
MADE: dict[str, bytes] = {}


def syntax(data: Data) -> str:
    return "trig" if data.quads else "ttl"


def of_oxigraph(data: Data) -> pyoxigraph.RdfFormat:
    return pyoxigraph.RdfFormat.TRIG if data.quads else pyoxigraph.RdfFormat.TURTLE


def document(data: Data) -> bytes:
    if data.name not in MADE:
        MADE[data.name] = pyoxigraph.serialize(data.of_pyoxigraph, format=of_oxigraph(data), prefixes=PREFIXES) or b""
    return MADE[data.name]


def to_batches(data: Data, **settings: bool) -> int:
    return sum(map(len, jelly.scan(document(data), format=syntax(data), **settings).batches()))


def to_jelly(data: Data) -> int:
    return jelly.convert(document(data), Counter(), format=syntax(data)).statements


def parse(data: Data, lenient: bool = False) -> int:
    return count(pyoxigraph.parse(document(data), of_oxigraph(data), lenient=lenient))


READ: dict[str, Job] = {
    "jelly to Batches": to_batches,
    "jelly to Jelly": to_jelly,
    "jelly to Batches, lenient": lambda data: to_batches(data, lenient=True),
    "pyoxigraph alone": parse,
    "pyoxigraph alone, lenient": lambda data: parse(data, True),
}


def from_jelly(data: Data) -> int:
    return jelly.convert(data.jelly, Counter(), to=syntax(data)).statements


def serialize(data: Data) -> int:
    pyoxigraph.serialize(data.of_pyoxigraph, format=of_oxigraph(data))
    return data.count


WRITE: dict[str, Job] = {"jelly from Jelly": from_jelly, "pyoxigraph from its terms": serialize}

TERMS: dict[str, Job] = {
    "jelly read": lambda data: count(jelly.oxigraph.read(data.jelly)),
    "jelly load": lambda data: jelly.oxigraph.load(pyoxigraph.Store(), data.jelly),
    "pyoxigraph parses text": lambda data: count(pyoxigraph.parse(data.text, data.text_format)),
    "jelly write": lambda data: jelly.oxigraph.write(Counter(), data.of_pyoxigraph),
}


@pytest.mark.parametrize("who", READ)
@pytest.mark.parametrize("name", SOURCES)
def bench_read_syntax(data, measure, name, who):
    measure(READ[who], data(name))


@pytest.mark.parametrize("who", WRITE)
@pytest.mark.parametrize("name", SOURCES)
def bench_write_syntax(data, measure, name, who):
    measure(WRITE[who], data(name))


@pytest.mark.parametrize("who", TERMS)
@pytest.mark.parametrize("name", SOURCES)
def bench_terms_of_pyoxigraph(data, measure, name, who):
    measure(TERMS[who], data(name))
