"""Texts that pyoxigraph parses, as N-Quads: so that one reader, ours, makes Batches and messages of all of them."""

from __future__ import annotations

import re
from typing import Any

import pyoxigraph as ox

SYNTAXES = {
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "jsonld": ox.RdfFormat.JSON_LD,
    "rdf": ox.RdfFormat.RDF_XML,
}


class Broken(Exception):
    """A text has a syntax error: what came before it as N-Quads, the reason, and the line from 1, where it is known."""

    def __init__(self, before: bytes, reason: str, line: int | None) -> None:
        self.before = before
        self.reason = reason
        self.line = line


def to_nquads(text: bytes, format: str, base: str | None) -> tuple[bytes, dict[str, str], str | None]:
    kind = SYNTAXES[format]
    parser = ox.parse(text, kind, base_iri=base)
    try:
        found = ox.serialize(parser, format=ox.RdfFormat.N_QUADS)
    except SyntaxError as error:
        quads: list[Any] = []
        try:
            quads.extend(ox.parse(text, kind, base_iri=base))
        except SyntaxError:
            pass
        before = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
        reason = re.sub(r"Parser error (?:at|between) .*?: ", "", error.msg, count=1, flags=re.S)
        raise Broken(before, reason, error.lineno) from None
    return found, parser.prefixes, parser.base_iri
