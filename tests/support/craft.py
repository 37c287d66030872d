"""Jelly bytes by hand, right or wrong: fields, rows, frames, as protobuf has them. Independent of the encoder."""

from __future__ import annotations

TRIPLES, QUADS, GRAPHS = 1, 2, 3


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str) -> bytes:
    """A field of wire type 0 or 2."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def row(number: int, *body: bytes) -> bytes:
    """A row of a frame with one field."""
    return field(1, field(number, b"".join(body)))


def options(
    physical: int = TRIPLES,
    logical: int = 0,
    names: int = 16,
    prefixes: int = 8,
    datatypes: int = 8,
    version: int = 1,
    name: bytes = b"",
    star: bool = True,
    generalized: bool = True,
) -> bytes:
    numbers = (
        (2, physical),
        (3, generalized),
        (4, star),
        (9, names),
        (10, prefixes),
        (11, datatypes),
        (14, logical),
        (15, version),
    )
    body = field(1, name) if name else b""
    return row(1, body, *(field(number, int(value)) for number, value in numbers if value))


def name(value: bytes | str = b"n", id: int = 0) -> bytes:
    return row(9, *([field(1, id)] if id else []), field(2, value))


def prefix(value: bytes | str = b"p:", id: int = 0) -> bytes:
    return row(10, *([field(1, id)] if id else []), field(2, value))


def datatype(value: bytes | str = b"d:", id: int = 0) -> bytes:
    return row(11, *([field(1, id)] if id else []), field(2, value))


def iri(name: int = 0, prefix: int = 0) -> bytes:
    """The body of an RdfIri."""
    return (field(1, prefix) if prefix else b"") + (field(2, name) if name else b"")


def literal(lex: bytes | str = b"l", language: bytes | str | None = None, datatype: int | None = None) -> bytes:
    """The body of an RdfLiteral."""
    return (
        field(1, lex)
        + (field(2, language) if language is not None else b"")
        + (field(3, datatype) if datatype is not None else b"")
    )


# The terms of a statement: (number of the kind, body).
IRI, BNODE, LITERAL, QUOTED = 0, 1, 2, 3
DEFAULT_GRAPH, GRAPH_LITERAL = 2, 3


def terms(
    s: tuple[int, bytes] | None,
    p: tuple[int, bytes] | None,
    o: tuple[int, bytes] | None,
    g: tuple[int, bytes] | None = None,
) -> bytes:
    """The body of an RdfTriple or RdfQuad; a term that is None is left out."""
    found = ((1 + 4 * slot + term[0], term[1]) for slot, term in enumerate((s, p, o, g)) if term is not None)
    return b"".join(field(number, body) for number, body in found)


def triple(s=(BNODE, b"s"), p=(BNODE, b"p"), o=(BNODE, b"o")) -> bytes:
    return row(2, terms(s, p, o))


def quad(s=(BNODE, b"s"), p=(BNODE, b"p"), o=(BNODE, b"o"), g=(BNODE, b"g")) -> bytes:
    return row(3, terms(s, p, o, g))


def graph_start(g: tuple[int, bytes] | None = (BNODE, b"g")) -> bytes:
    return row(4, b"" if g is None else field(1 + g[0], g[1]))


def graph_end() -> bytes:
    return row(5)


def namespace(label: bytes | str, value: bytes | None) -> bytes:
    return row(6, field(1, label), b"" if value is None else field(2, value))


def metadata(key: bytes | str, value: bytes) -> bytes:
    return field(15, field(1, key) + field(2, value))


def frame(*rows: bytes) -> bytes:
    body = b"".join(rows)
    return varint(len(body)) + body


def quoted(depth: int) -> bytes:
    """The body of a quoted triple that holds others as its subject, `depth` of them in all."""
    body = terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o"))
    for _ in range(depth - 1):
        body = terms((QUOTED, body), (BNODE, b"p"), (BNODE, b"o"))
    return body
