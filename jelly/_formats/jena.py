"""Codec of RDF Thrift and RDF Protobuf, the RDF Binary of Apache Jena (SPARQL results: `jelly.results`).

They are formats like any other, by suffix (``.rt .trdf``, ``.rpb .pbrdf``), media type or as ``format="thrift"`` and
``format="protobuf"``. One format serves graphs and datasets: Batches are of triples until the first quad comes, or of
quads from the beginning with ``quads=True``.

We read what Jena reads with these differences. Jena takes Thrift data that is cut off inside a row for complete, skips
rows that it does not know, cannot read strings above 100 MiB, and makes U+FFFD of bytes that are not UTF-8: all of that
is an error here, or is read. Doubles that are infinite become ``INF``, not Java's ``Infinity``. Labels of blank nodes
are kept.

The terms of patterns are `jelly.Variable` and `jelly.ANY`: other formats refuse them. UNDEFINED stands for an unbound
variable in results only. REPEAT, of which the documents give no more than the name, is read as the term that the row
before has in the same position: the last triple, quad or result, with prefixes between or not; a triple is a quad of
the default graph. In the first row, and inside quoted triples, it is an error. Jena neither writes nor reads it;
``repeat=True`` writes it.

RDF Protobuf may also be one ``RDF_Stream`` or ``RDF_Graph``, a whole message without a length before it. The first
bytes tell these from rows, if there are no unknown fields; ``message=`` names what there is.

A literal may have a base direction: ``Literal("x", language="ar", direction="rtl")``.

>>> import io, jelly
>>> out = io.BytesIO()
>>> with jelly.Writer(out, format="thrift", prefixes={"ex": "http://example.org/"}) as writer:
...     writer.add((jelly.IRI("http://example.org/s"), jelly.IRI("http://example.org/p"), jelly.Literal("o")))
>>> out.getvalue()[:30]
b'\\x1c\\x18\\x02ex\\x18\\x13http://example.org/\\x00\\x00,\\x1c'
>>> [str(statement) for statement in jelly.read(out.getvalue(), format="thrift")]
['<http://example.org/s> <http://example.org/p> "o" .']
"""

from __future__ import annotations

from typing import Any, Literal

from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter
from jelly._formats.protocols import Framing
from jelly._formats.registry import Format
from jelly._options.options import StreamOptions
from jelly.errors import JellyUnsupportedError

__all__ = ["open_reader", "open_writer"]

Encoding = Literal["thrift", "protobuf"]


def open_reader(
    format: Format,
    *,
    delimited: bool | None,
    strict: bool,
    on_error: Literal["raise", "skip"],
    **settings: Any,
) -> BinaryReader:
    """Make a reader of RDF Thrift or RDF Protobuf. The keywords are those of `BinaryReader`."""
    if on_error != "raise":
        raise JellyUnsupportedError(f"errors in {format.title} cannot be skipped: its rows have no marks")
    return BinaryReader(format.name, **settings)


def open_writer(
    format: Format,
    options: StreamOptions | None,
    arity: int,
    *,
    framing: Framing,
    keep_labels: bool,
    **settings: Any,
) -> BinaryWriter:
    """Make a writer of RDF Thrift or RDF Protobuf, which have no frames. The keywords are those of `BinaryWriter`."""
    return BinaryWriter(format.name, **settings)
