"""Patches: the core against Jelly-RDF's on the same statements, and RDF Patch text through whatever else takes it.

RDFLib has a parser and a serializer of RDF Patch. pyoxigraph has none: it is given the statements alone, as N-Quads.
"""

from __future__ import annotations

import gzip
import io
import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow
import pyoxigraph
import pytest
import rdflib
from work import Data, Job, count

import jelly
from jelly import patch
from jelly._core.ntriples.text import TextReader, TextWriter

logging.getLogger("rdflib").setLevel(logging.ERROR)

# RDFLib is slow and keeps all: it gets a part, and its speed is that of the part.
FEW = 5000


class Patches:
    """A data set as one patch that adds all its statements, in every form that a job may want."""

    def __init__(self, data: Data) -> None:
        self.count = data.count
        lines = data.text.splitlines(True)
        self.nquads = data.text
        self.text = b"".join(b"A " + line for line in lines)
        self.few = b"".join(b"A " + line for line in lines[:FEW]).decode()
        reader = TextReader(quads=True, patch=True)
        self.batches = [*reader.feed(self.text), *reader.close()]
        (self.patch,) = patch.loads(self.text, format="rdfp")
        kind = patch.StatementType.QUADS if data.quads else patch.StatementType.TRIPLES
        self.options = patch.PatchOptions(stream_type=patch.PatchStreamType.FLAT, statement_type=kind)
        self.jelly = patch.dumps(self.patch, self.options)
        self.operations = list(self.patch)
        self.table = jelly.read_arrow(data.jelly).read_all()
        numbers = pyarrow.array([i // 100 for i in range(data.count)])
        ops = pyarrow.array(["add"] * data.count)
        self.changes = self.table.append_column("op", ops).append_column("patch", numbers)
        self.dataset = rdflib.Dataset()
        self.dataset.parse(data=self.few, format="patch")


@cache
def patches(data: Data) -> Patches:
    return Patches(data)


def decode(data: bytes, is_patch: bool) -> int:
    decoder = jelly.Decoder(patch=is_patch)
    decoder.push(data)
    decoder.finish()
    n = 0
    while (batch := decoder.pull(True)) is not None:
        n += len(batch)
    return n


def encode(batches: list[jelly.Batch], options: Any) -> int:
    encoder = jelly.Encoder(options)
    for batch in batches:
        encoder.encode(batch)
    encoder.close()
    return encoder.statements


def read_text(data: Data) -> int:
    reader = TextReader(quads=True, patch=True)
    return sum(map(len, [*reader.feed(patches(data).text), *reader.close()]))


def write_text(data: Data) -> int:
    writer = TextWriter(quads=True, patch=True)
    return sum(len(batch) for batch in patches(data).batches if writer.encode(batch))


def write_operations(data: Data, **settings: Any) -> int:
    with patch.PatchWriter(io.BytesIO(), patches(data).options, **settings) as writer:
        writer.extend(patches(data).operations)
    return writer.operations


def rdflib_reads(data: Data) -> int:
    rdflib.Dataset().parse(data=patches(data).few, format="patch")
    return FEW


def rdflib_writes(data: Data) -> int:
    patches(data).dataset.serialize(format="patch", operation="add")
    return FEW


READ: dict[str, Job] = {
    "jelly-rdf Batch": lambda data: decode(data.jelly, False),
    "jelly-patch Batch": lambda data: decode(patches(data).jelly, True),
    "jelly-patch operations": lambda data: count(op for one in patch.loads(patches(data).jelly) for op in one),
    "rdfp Batch": read_text,
    "rdfp operations": lambda data: count(op for one in patch.loads(patches(data).text, format="rdfp") for op in one),
    "pyoxigraph N-Quads": lambda data: count(pyoxigraph.parse(patches(data).nquads, data.text_format)),
    "rdflib rdfp": rdflib_reads,
}
WRITE: dict[str, Job] = {
    "jelly-rdf Batch": lambda data: encode(data.batches, jelly.StreamOptions(rdf_star=True)),
    "jelly-patch Batch": lambda data: encode(patches(data).batches, patches(data).options),
    "jelly-patch operations": write_operations,
    "jelly-rdf table": lambda data: jelly.write_arrow(io.BytesIO(), patches(data).table),
    "jelly-patch table": lambda data: jelly.write_arrow(io.BytesIO(), patches(data).changes, content="patches"),
    "rdfp Batch": write_text,
    "rdfp operations": lambda data: write_operations(data, format="rdfp"),
    "pyoxigraph N-Quads": lambda data: len(data.of_pyoxigraph)
    if pyoxigraph.serialize(data.of_pyoxigraph, format=data.text_format)
    else 0,
    "rdflib rdfp": rdflib_writes,
}
NAMES = ["iot-weather", "vocabs-quads"]


@pytest.mark.parametrize("who", READ)
@pytest.mark.parametrize("name", NAMES)
def bench_patch_read(who: str, name: str, data: Callable[[str], Data], measure: Any) -> None:
    run(READ[who], who, data(name), measure)


@pytest.mark.parametrize("who", WRITE)
@pytest.mark.parametrize("name", NAMES)
def bench_patch_write(who: str, name: str, data: Callable[[str], Data], measure: Any) -> None:
    run(WRITE[who], who, data(name), measure)


def run(job: Job, who: str, data: Data, measure: Any) -> None:
    patches(data)
    part = data if not who.startswith("rdflib") else Part(data)
    measure(lambda _: job(data), part)


class Part:
    """What the counts of a bench are taken from, where a job gets a part of the data."""

    def __init__(self, data: Data) -> None:
        self.name = data.name
        self.count = min(FEW, data.count)


@pytest.mark.parametrize("name", NAMES)
def bench_patch_size(name: str, data: Callable[[str], Data], benchmark: Any) -> None:
    """Bytes of the patch in each form."""
    found = patches(data(name))
    sizes = {
        "rdfp": len(found.text),
        "rdfp.gz": len(gzip.compress(found.text)),
        "jellyp": len(found.jelly),
        "jellyp.gz": len(gzip.compress(found.jelly)),
        "trp": len(patch.dumps(found.patch, format="trp")),
    }
    benchmark.extra_info |= sizes
    print(name, sizes)
    benchmark.pedantic(lambda: None)
    assert sizes["jellyp"] < sizes["rdfp"] / 2
