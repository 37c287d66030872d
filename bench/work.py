"""What the benches do: the data and, for each work, who can do it. A job takes a Data and gives the statements counted.

Every job gets ready-made input of its own kind (bytes, term objects, Batches): only the work itself is timed.
"""

from __future__ import annotations

import io
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyoxigraph
from google.protobuf.proto import parse_length_prefixed
from pyjelly.integrations.generic import generic_sink as pj
from pyjelly.integrations.generic.parse import parse_jelly_flat
from pyjelly.integrations.generic.serialize import flat_stream_to_file
from pyjelly.jelly.rdf_pb2 import RdfStreamFrame

import jelly
from jelly._core.ntriples.text import TextReader, TextWriter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from interop.peer import Peer
from interop.peer import Unavailable as Unavailable
from support.shared import shared

SOURCES = {
    "iot-weather": ("data", "iot-weather", "assist-iot-weather-100k.nt.gz"),
    "vocabs-quads": ("data", "vocabs-quads", "vocabs.nq.gz"),
    "movies": ("data", "movies", "30kmovies.nt.gz"),
    "hobbit-sensor": ("data", "hobbit-sensor", "hobbit-sensor-3000ev.nq.gz"),
}
SMALL = ("data", "jelly-samples", "jelly-jvm/integration-tests/src/test/resources/quads/nanopub-rdf-stax.nq")
SHUFFLED = "iot-weather-shuffled", "vocabs-quads-shuffled"
NAMES = [*SOURCES, *SHUFFLED]


class Data:
    """One data set in every form that a job may want, each made when it is first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "small":
            self.statements = list(jelly.read(shared(*SMALL)))[:26]
        else:
            self.statements = list(jelly.read(shared(*SOURCES[name.removesuffix("-shuffled")])))
        if name.endswith("-shuffled"):
            random.Random(7).shuffle(self.statements)
            # Read again: like for all the others, the objects lie in memory in the order of the statements.
            self.statements = jelly.loads(jelly.dumps(self.statements))
        self.count = len(self.statements)
        self.quads = len(self.statements[0]) == 4

    @cached_property
    def jelly(self) -> bytes:
        out = io.BytesIO()
        jelly.write(out, self.statements)
        return out.getvalue()

    @cached_property
    def text(self) -> bytes:
        out = io.BytesIO()
        jelly.write(out, self.statements, format="nq" if self.quads else "nt")
        return out.getvalue()

    @cached_property
    def batches(self) -> list[jelly.Batch]:
        return list(jelly.scan(self.jelly).batches())

    @cached_property
    def of_pyjelly(self) -> list[Any]:
        return [item for item in parse_jelly_flat(io.BytesIO(self.jelly)) if not isinstance(item, pj.Prefix)]

    @property
    def text_format(self) -> Any:
        return pyoxigraph.RdfFormat.N_QUADS if self.quads else pyoxigraph.RdfFormat.N_TRIPLES

    @cached_property
    def of_pyoxigraph(self) -> list[Any]:
        # Parsed quads are triples where the file has no graphs, but serialize() wants to be told.
        quads = pyoxigraph.parse(self.text, self.text_format)
        return list(quads) if self.quads else [quad.triple for quad in quads]


Job = Callable[[Data], int]


def count(items: Any) -> int:
    """Go through an iterator with a loop, as a user would."""
    n = 0
    for _ in items:
        n += 1
    return n


# ---- decode


def decode_batches(data: Data) -> int:
    n = 0
    for batch in jelly.scan(data.jelly).batches():
        n += len(batch)
    return n


def parse_with_upb(data: Data) -> int:
    """Let protobuf parse the frames and look at no row of them."""
    stream = io.BytesIO(data.jelly)
    while parse_length_prefixed(RdfStreamFrame, stream) is not None:
        pass
    return data.count


DECODE: dict[str, Job] = {
    "jelly Batch": decode_batches,
    "jelly loop": lambda data: count(jelly.read(data.jelly)),
    "jelly list": lambda data: len(jelly.loads(data.jelly)),
    "pyjelly loop": lambda data: count(parse_jelly_flat(io.BytesIO(data.jelly))),
    "pyjelly list": lambda data: len(list(parse_jelly_flat(io.BytesIO(data.jelly)))),
    "upb frames": parse_with_upb,
    "pyoxigraph text loop": lambda data: count(pyoxigraph.parse(data.text, data.text_format)),
    "pyoxigraph text lenient": lambda data: count(pyoxigraph.parse(data.text, data.text_format, lenient=True)),
}


# ---- encode


class Counter(io.RawIOBase):
    """Counts what is written and drops it."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self.size += len(part)
        return len(part)


def encode_terms(data: Data) -> int:
    return jelly.write(Counter(), data.statements)


def encode_batches(data: Data) -> int:
    with jelly.Writer(Counter()) as writer:
        for batch in data.batches:
            writer.add_batch(batch)
    return writer.statements


def encode_with_pyjelly(data: Data) -> int:
    flat_stream_to_file(iter(data.of_pyjelly), Counter())
    return data.count


def serialize_with_pyoxigraph(data: Data) -> int:
    pyoxigraph.serialize(data.of_pyoxigraph, Counter(), data.text_format)
    return data.count


ENCODE: dict[str, Job] = {
    "jelly terms": encode_terms,
    "jelly Batch": encode_batches,
    "pyjelly terms": encode_with_pyjelly,
    "pyoxigraph text": serialize_with_pyoxigraph,
}


# ---- one small message


def small_dumps(data: Data) -> int:
    jelly.dumps(data.statements)
    return data.count


def small_with_pyjelly(data: Data) -> int:
    flat_stream_to_file(iter(data.of_pyjelly), io.BytesIO())
    return data.count


def small_with_pyoxigraph(data: Data) -> int:
    pyoxigraph.serialize(data.of_pyoxigraph, format=data.text_format)
    return data.count


LOADS: dict[str, Job] = {
    "jelly loads": lambda data: len(jelly.loads(data.jelly)),
    "pyjelly": lambda data: len(list(parse_jelly_flat(io.BytesIO(data.jelly)))),
    "pyoxigraph text": lambda data: len(list(pyoxigraph.parse(data.text, data.text_format))),
}
DUMPS: dict[str, Job] = {
    "jelly dumps": small_dumps,
    "pyjelly": small_with_pyjelly,
    "pyoxigraph text": small_with_pyoxigraph,
}


# ---- text to Jelly


def text_to_jelly(data: Data) -> int:
    with jelly.Reader(data.text, format="nq" if data.quads else "nt") as reader, jelly.Writer(Counter()) as writer:
        for batch in reader.batches():
            writer.add_batch(batch)
    return writer.statements


def jelly_to_text(data: Data) -> int:
    with jelly.Writer(Counter(), format="nq" if data.quads else "nt") as writer:
        for batch in jelly.scan(data.jelly).batches():
            writer.add_batch(batch)
    return writer.statements


def term_of_pyjelly(term: Any) -> Any:
    kind = type(term)
    if kind is pyoxigraph.NamedNode:
        return pj.IRI(term.value)
    if kind is pyoxigraph.Literal:
        if term.language:
            return pj.Literal(term.value, term.language)
        datatype = term.datatype.value
        plain = datatype == "http://www.w3.org/2001/XMLSchema#string"
        return pj.Literal(term.value, None, None if plain else datatype)
    if kind is pyoxigraph.BlankNode:
        return pj.BlankNode(term.value)
    return pj.DefaultGraph


def text_to_pyjelly(data: Data) -> int:
    """The route there is today: pyoxigraph parses, pyjelly writes."""

    def statements() -> Iterator[Any]:
        term = term_of_pyjelly
        for quad in pyoxigraph.parse(data.text, data.text_format):
            s, p, o = term(quad.subject), term(quad.predicate), term(quad.object)
            yield pj.Quad(s, p, o, term(quad.graph_name)) if data.quads else pj.Triple(s, p, o)

    flat_stream_to_file(statements(), Counter())
    return data.count


TEXT: dict[str, Job] = {
    "jelly text to Jelly": text_to_jelly,
    "jelly Jelly to text": jelly_to_text,
    "pyoxigraph to pyjelly": text_to_pyjelly,
}


def read_text(data: Data, strict: bool = False) -> int:
    reader = TextReader(quads=data.quads, strict=strict)
    reader.push(data.text)
    reader.finish()
    n = 0
    while (batch := reader.pull(True)) is not None:
        n += len(batch)
    return n


def write_text(data: Data) -> int:
    writer = TextWriter(data.quads)
    size = sum(len(writer.encode(batch)) for batch in data.batches)
    # One line a statement; to count them would take longer than to write them.
    return data.count if size == len(data.text) else -1


READ_TEXT: dict[str, Job] = {
    "jelly": read_text,
    "jelly strict": lambda data: read_text(data, True),
    "pyoxigraph": DECODE["pyoxigraph text loop"],
    "pyoxigraph lenient": DECODE["pyoxigraph text lenient"],
}
WRITE_TEXT: dict[str, Job] = {
    "jelly": write_text,
    "pyoxigraph": serialize_with_pyoxigraph,
}


# ---- Jelly-JVM


class Jvm:
    """Jelly-JVM as a peer: it has the data in memory, and only a word and a number go through the pipe.

    Its compiler and its garbage collector run beside it, so it may use all the processors there are.
    """

    WARM_UP = 60

    def __init__(self, folder: Path, processors: set[int]) -> None:
        self._folder = folder
        self._ready: set[tuple[str, str]] = set()
        self._loaded = ""
        self._peer = Peer()
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._peer.pid, processors)

    def job(self, work: str) -> Job:
        """``work`` is decode or encode."""

        def run(data: Data) -> int:
            self._load(data, work)
            return int(self._peer.run(work))

        return run

    def _load(self, data: Data, work: str) -> None:
        if self._loaded != data.name:
            path = self._folder / f"{data.name}.jelly"
            path.write_bytes(data.jelly)
            self._peer.run("load", path)
            self._loaded = data.name
        if (data.name, work) not in self._ready:
            self._ready.add((data.name, work))
            for _ in range(self.WARM_UP):
                self._peer.run(work)

    def close(self) -> None:
        self._peer.close()
