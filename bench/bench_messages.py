"""Logs of 20 000 messages of 10 statements: text to Jelly, Turtle beside the bare parse, Jelly beside pyjelly."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import pyoxigraph
import pytest
from pyjelly.integrations.generic.parse import parse_jelly_grouped
from support.contents import convert_messages

from jelly._core.boundaries.turtle import Lexer
from jelly.messages import MessageReader, read_messages

MESSAGES = 20_000
HEAD = """@prefix e: <http://example.org/vocab/> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
MESSAGE = """# @message
<http://example.org/obs/{i}> a sosa:Observation ; sosa:hasFeatureOfInterest <http://example.org/room/{room}> ;
    sosa:observedProperty e:Temperature ; sosa:resultTime "2026-01-01T{room:06}Z"^^xsd:dateTime ; sosa:hasResult _:r ;
    sosa:madeBySensor <http://example.org/sensor/{room}> ; e:label "Observation {i}"@en .
_:r e:value "{i}.25"^^xsd:double ; e:unit e:Celsius ; e:note "# @message {i}" .
"""


@cache
def log(format: str) -> bytes:
    """The log in a format; the other syntaxes are made from Turtle."""
    if format == "ttl":
        return (HEAD + "".join(MESSAGE.format(i=i, room=i * 7 % 200) for i in range(MESSAGES))).encode()
    out = io.BytesIO()
    convert_messages(log("nt" if format == "jelly" else "ttl"), out, format="nt" if format == "jelly" else "ttl",
                     to=format)  # fmt: skip
    return out.getvalue()


def to_jelly(format: str) -> int:
    return convert_messages(log(format), io.BytesIO(), format=format)[1]


JOBS: dict[str, dict[str, Callable[[], int]]] = {
    "N-Triples log": {
        "to Jelly": lambda: to_jelly("nt"),
        "to messages": lambda: sum(len(message) for message in read_messages(log("nt"), format="nt")),
        "pyoxigraph, bare parse": lambda: sum(1 for _ in pyoxigraph.parse(log("nt"), pyoxigraph.RdfFormat.N_TRIPLES)),
    },
    "Turtle log": {
        "to Jelly": lambda: to_jelly("ttl"),
        "to Batches": lambda: sum(map(len, MessageReader(log("ttl"), format="ttl").batches())),
        "pyoxigraph, bare parse": lambda: sum(1 for _ in pyoxigraph.parse(log("ttl"), pyoxigraph.RdfFormat.TURTLE)),
        "lexer alone": lambda: 10 * len([mark for mark in Lexer().feed(log("ttl"), True) if mark[0] == "message"]),
    },
    "Jelly log": {
        "statements of messages": lambda: sum(len(message.statements) for message in read_messages(log("jelly"))),
        "to N-Triples": lambda: convert_messages(log("jelly"), io.BytesIO(), to="nt")[1],
        "pyjelly, grouped": lambda: sum(len(list(g)) for g in parse_jelly_grouped(io.BytesIO(log("jelly")))),
    },
    "others to Jelly": {format: lambda format=format: to_jelly(format) for format in ("ndjsonld", "yamlld", "rdfxml")},
}


@pytest.mark.parametrize(("name", "who"), [(name, who) for name, jobs in JOBS.items() for who in jobs])
def bench_messages(measure, name, who):
    measure(lambda data: JOBS[name][who](), SimpleNamespace(name=name, count=10 * MESSAGES))
