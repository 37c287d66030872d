"""Jelly-Patch bytes by hand, right or wrong, beside craft.py."""

from __future__ import annotations

from support.craft import field, frame, iri, literal, quoted, row, terms

__all__ = [
    "FLAT", "FRAME", "PUNCTUATED", "QUADS", "TRIPLES", "abort", "add", "commit", "datatype", "delete", "field", "frame",
    "header", "iri", "literal", "name", "namespace_add", "namespace_delete", "options", "prefix", "punctuation",
    "quoted", "row", "start", "terms",
]  # fmt: skip

FRAME, FLAT, PUNCTUATED = 1, 2, 3
TRIPLES, QUADS = 1, 2
NODE = (1, b"b")  # a blank node


def options(
    stream: int = PUNCTUATED,
    statement: int = QUADS,
    names: int = 16,
    prefixes: int = 8,
    datatypes: int = 8,
    version: int = 1,
    star: bool = True,
    generalized: bool = True,
) -> bytes:
    numbers = (
        (1, statement),
        (2, stream),
        (3, generalized),
        (4, star),
        (9, names),
        (10, prefixes),
        (11, datatypes),
        (15, version),
    )
    return row(1, *(field(number, int(value)) for number, value in numbers if value))


def add(s=NODE, p=NODE, o=NODE, g=NODE) -> bytes:
    return row(2, terms(s, p, o, g))


def delete(s=NODE, p=NODE, o=NODE, g=NODE) -> bytes:
    return row(3, terms(s, p, o, g))


def namespace(number: int, label: bytes | str, value: bytes | None, g: tuple[int, bytes] | None) -> bytes:
    graph = b"" if g is None else field(3 + g[0], g[1])
    return row(number, field(1, label), b"" if value is None else field(2, value), graph)


def namespace_add(label: bytes | str, value: bytes | None, g: tuple[int, bytes] | None = None) -> bytes:
    return namespace(4, label, value, g)


def namespace_delete(
    label: bytes | str, value: bytes | None = None, g: tuple[int, bytes] | None = None
) -> bytes:
    return namespace(5, label, value, g)


def start() -> bytes:
    return row(6)


def commit() -> bytes:
    return row(7)


def abort() -> bytes:
    return row(8)


def name(value: bytes | str = b"n", id: int = 0) -> bytes:
    return row(11, *([field(1, id)] if id else []), field(2, value))


def prefix(value: bytes | str = b"p:", id: int = 0) -> bytes:
    return row(12, *([field(1, id)] if id else []), field(2, value))


def datatype(value: bytes | str = b"d:", id: int = 0) -> bytes:
    return row(13, *([field(1, id)] if id else []), field(2, value))


def header(key: bytes | str, value: tuple[int, bytes] | None) -> bytes:
    return row(14, field(1, key), b"" if value is None else field(2 + value[0], value[1]))


def punctuation() -> bytes:
    return row(15)
