"""RDF Thrift and RDF Protobuf: bytes to Batches and back, beside the official runtimes; and to Jelly and back."""

from functools import cache

import pytest
from google.protobuf.proto import parse_length_prefixed
from support.official import official
from work import SOURCES, Data

import jelly
from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter

ENCODINGS = ["thrift", "protobuf"]
PREFIXES = {"sosa": "http://www.w3.org/ns/sosa/", "xsd": "http://www.w3.org/2001/XMLSchema#"}


@cache
def encoded(data: Data, encoding: str) -> bytes:
    writer = BinaryWriter(encoding)
    return b"".join(map(writer.encode, data.batches))


@cache
def rows(data: Data, encoding: str) -> list:
    return list(official(encoding).read(encoded(data, encoding)))


def decode(data: Data, encoding: str) -> int:
    reader = BinaryReader(encoding)
    reader.push(encoded(data, encoding))
    reader.finish()
    n = 0
    while (batch := reader.pull()) is not None:
        n += len(batch)
    return n


def encode(data: Data, encoding: str, **settings) -> int:
    writer = BinaryWriter(encoding, **settings)
    assert sum(len(writer.encode(batch)) for batch in data.batches) > 0
    return data.count


def decode_official(data: Data, encoding: str) -> int:
    """The objects of the runtime, no RDF terms; protobuf by its own helper."""
    n = 0
    if encoding == "thrift":
        for _ in official(encoding).read(encoded(data, encoding)):
            n += 1
        return n
    import io

    stream = io.BytesIO(encoded(data, encoding))
    make = official(encoding).classes["RDF_StreamRow"]
    while parse_length_prefixed(make, stream) is not None:
        n += 1
    return n


def encode_official(data: Data, encoding: str) -> int:
    assert len(official(encoding).write(rows(data, encoding))) == len(encoded(data, encoding))
    return data.count


def to_jelly(data: Data, encoding: str) -> int:
    reader = BinaryReader(encoding, quads=data.quads)
    reader.push(encoded(data, encoding))
    reader.finish()
    kind = jelly.PhysicalType.QUADS if data.quads else jelly.PhysicalType.TRIPLES
    encoder = jelly.Encoder(jelly.StreamOptions(physical_type=kind, rdf_star=True))
    while (batch := reader.pull()) is not None:
        encoder.encode(batch)
    encoder.close()
    return reader.statements


def from_jelly(data: Data, encoding: str) -> int:
    decoder = jelly.Decoder()
    decoder.push(data.jelly)
    decoder.finish()
    writer = BinaryWriter(encoding)
    while (batch := decoder.pull()) is not None:
        writer.encode(batch)
    return decoder.statements


JOBS = {
    "decode ours": decode,
    "decode official": decode_official,
    "encode ours": encode,
    "encode official": encode_official,
    "to Jelly": to_jelly,
    "from Jelly": from_jelly,
    "encode ours, prefixes": lambda data, encoding: encode(data, encoding, prefixes=PREFIXES, shorten=True),
}


@pytest.mark.parametrize("what", JOBS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", SOURCES)
def bench_binary(data, measure, name, encoding, what):
    measure(lambda x: JOBS[what](x, encoding), data(name))
