"""Rows of RDF Thrift and RDF Protobuf made by hand, right and wrong; reading and writing in one call.

Terms are bytes without the header of the field that they stand in, so that they fit in every place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import jelly
from jelly._core.base.batch import Batch
from jelly._core.jena.reader import BinaryReader, ResultReader
from jelly._core.jena.writer import BinaryWriter, ResultWriter
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 127))


def string(text: bytes) -> bytes:
    return varint(len(text)) + text


class Thrift:
    """Compact protocol; an end of struct is 00."""

    name = "thrift"

    @staticmethod
    def iri(text: bytes = b"a:x") -> bytes:
        return b"\x1c\x18" + string(text) + b"\0\0"

    @staticmethod
    def bnode(label: bytes = b"b") -> bytes:
        return b"\x2c\x18" + string(label) + b"\0\0"

    @staticmethod
    def literal(lex: bytes = b"o", rest: bytes = b"") -> bytes:
        return b"\x3c\x18" + string(lex) + rest + b"\0\0"

    @staticmethod
    def short(prefix: bytes, local: bytes) -> bytes:
        return b"\x4c\x18" + string(prefix) + b"\x18" + string(local) + b"\0\0"

    @staticmethod
    def quoted(s: bytes, p: bytes, o: bytes) -> bytes:
        return b"\x9c\x1c" + s + b"\x1c" + p + b"\x1c" + o + b"\0\0"

    @staticmethod
    def prefix(name: bytes, iri: bytes) -> bytes:
        return b"\x1c\x18" + string(name) + b"\x18" + string(iri) + b"\0\0"

    @staticmethod
    def row(*terms: bytes) -> bytes:
        return (b"\x2c" if len(terms) == 3 else b"\x3c") + b"".join(b"\x1c" + term for term in terms) + b"\0\0"


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + string(body)


class Protobuf:
    """Messages; a row has its length before it."""

    name = "protobuf"

    @staticmethod
    def iri(text: bytes = b"a:x") -> bytes:
        return field(1, field(1, text))

    @staticmethod
    def bnode(label: bytes = b"b") -> bytes:
        return field(2, field(1, label))

    @staticmethod
    def literal(lex: bytes = b"o", rest: bytes = b"\x48\x01") -> bytes:
        return field(3, field(1, lex) + rest)

    @staticmethod
    def short(prefix: bytes, local: bytes) -> bytes:
        return field(4, field(1, prefix) + field(2, local))

    @staticmethod
    def quoted(s: bytes, p: bytes, o: bytes) -> bytes:
        return field(6, field(1, s) + field(2, p) + field(3, o))

    @staticmethod
    def prefix(name: bytes, iri: bytes) -> bytes:
        return string(field(1, field(1, name) + field(2, iri)))

    @staticmethod
    def row(*terms: bytes) -> bytes:
        return string(field(len(terms) - 1, b"".join(field(i, term) for i, term in enumerate(terms, 1))))


ENCODINGS = [Thrift, Protobuf]


def sample(craft: Any, n: int = 3) -> bytes:
    """Rows of every kind that readers and writers share."""
    rows = [craft.prefix(b"ex", b"http://example.org/#")]
    for i in range(n):
        number = b"%d" % i
        rows += [
            craft.row(craft.iri(b"http://e/" + number), craft.short(b"ex", b"p" + number), craft.literal(b"o" * i)),
            craft.row(craft.bnode(b"b"), craft.iri(), craft.literal("\u00e9\U0001f600".encode()), craft.iri(b"a:g")),
            craft.row(craft.quoted(craft.iri(), craft.iri(), craft.literal()), craft.iri(), craft.bnode(number)),
        ]
    return b"".join(rows)


def repeats(craft: Any) -> bytes:
    """Rows with REPEAT, which the writers do not make."""
    again = b"\x8c\0\0" if craft is Thrift else field(9, b"")
    return sample(craft, 1) + craft.row(again, craft.iri(), again) + craft.row(again, again, again, craft.iri(b"a:g"))


def messages() -> list[bytes]:
    """An RDF_Stream and an RDF_Graph, which the writers do not make."""
    triple = b"".join(field(i, Protobuf.iri(b"a:%d" % i)) for i in (1, 2, 3))
    return [field(1, field(2, triple)) + field(1, field(4, field(1, b"http://b/"))), field(1, triple) * 2]


def read(encoding: str, *chunks: bytes, **limits: Any) -> list[Batch]:
    reader = BinaryReader(encoding, **limits)
    batches = [*(batch for chunk in chunks for batch in reader.feed(chunk)), *reader.close()]
    for batch in batches:
        batch.check()
    return batches


def statements(batches: Iterable[Batch]) -> list[Any]:
    """The statements as quads: what are triples at first may be quads in another Batch."""
    return [jelly.Quad(*statement) for batch in batches for statement in Materializer(batch).statements()]


def attempt(encoding: str, data: bytes, results: bool = False, **limits: Any) -> tuple[list[Any], Any]:
    """What is read of some bytes, and the error behind it or None. The error of a failed reader stands."""
    reader = (ResultReader if results else BinaryReader)(encoding, **limits)
    found: list[Any] = []
    try:
        reader.push(data)
        reader.finish()
        while (batch := reader.pull(True)) is not None:
            found.append(batch)
    except jelly.JellyError as error:
        with pytest.raises(jelly.JellyError) as again:
            reader.pull()
        return found, again.value if again.value is error else None
    return found, None


def write(encoding: str, batches: Iterable[Batch], **settings: Any) -> bytes:
    writer = BinaryWriter(encoding, **settings)
    return b"".join([*map(writer.encode, batches), writer.close()])


def write_statements(encoding: str, items: Iterable[Any], **settings: Any) -> bytes:
    collector = BatchBuilder(4)
    for item in items:
        collector.add(item)
    return write(encoding, [collector.batch], **settings)


def read_rows(encoding: str, *chunks: bytes, **limits: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    """Variables and rows of a result set."""
    reader = ResultReader(encoding, **limits)
    rows = []
    for batch in [*(batch for chunk in chunks for batch in reader.feed(chunk)), *reader.close()]:
        batch.check()
        assert batch.variables == reader.variables
        rows += batch
    return reader.variables, rows


def write_rows(encoding: str, batches: Iterable[Batch], variables: Iterable[str]) -> bytes:
    writer = ResultWriter(encoding, variables)
    return b"".join([*map(writer.encode, batches), writer.close()])
