"""Turtle, TriG, N3, RDF/XML and JSON-LD, which pyoxigraph reads."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import jelly
from fuzz.harness import check_round_trip, cut, harness, read_all, same
from fuzz.readers.boundaries import TURTLE, TURTLE_WORDS, XML_WORDS
from fuzz.structures import Text
from jelly._formats.registry import Content

RDF_XML = (
    b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
    b'<rdf:Description rdf:about="http://e/s" e:p="v"><e:q rdf:resource="http://e/o"/>'
    b'<e:r xml:lang="en">x<![CDATA[<]]>y</e:r>'
    b'<e:l rdf:parseType="Collection"><rdf:Description rdf:nodeID="b"/></e:l></rdf:Description></rdf:RDF>',
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="a:" xml:base="http://e/"><T rdf:ID="i">'
    b'<p rdf:datatype="http://e/d">1</p><p rdf:parseType="Literal"><x>&amp;</x></p></T></rdf:RDF>',
)
JSON_LD = (
    b'{"@context": {"e": "http://e/"}, "@id": "e:s", "@type": "e:T", "e:p": '
    b'[{"@value": "x", "@language": "en"}, 1, 1.5, true]}',
    b'[{"@id": "a:s", "a:p": {"@list": [{"@id": "_:b"}, "v"]}}, '
    b'{"@id": "a:g", "@graph": [{"@id": "a:s", "a:p": {"@id": "a:o"}}]}]',
)
JSON_WORDS = (b'"@context"', b'"@id"', b'"@graph"', b'"@value"', b'"@type"', b'"@list"', b'"@set"', b"null",
              b"{}", b"[]", b"1e9", b"\\ud800", b'"@reverse"',
              b'"@language"', b'"@vocab"', b'"@base"', b'"@direction"')  # fmt: skip
TEXTS = {
    "ttl": (*(text for text in TURTLE[1:2]), b'@prefix e: <http://e/> .\ne:s a e:T ; e:p "x"@en , 1.5 , _:b .'),
    "trig": (TURTLE[1], b"PREFIX e: <http://e/>\ne:g { e:s e:p [ e:q ( 1 ) ] . } { _:x e:p 'y' }"),
    "n3": (b'@prefix : <http://e/> .\n{ :a :b ?x } => { ?x :c "d" } .\n:s = :o .',),
    "rdf": RDF_XML,
    "jsonld": JSON_LD,
}
XML_TEXT = Text(*XML_WORDS, b"rdf:about", b"rdf:parseType", stops=b" <>\"'=&;[]!?-/:")
JSON_TEXT = Text(*JSON_WORDS, stops=b' {}[]",:\\')
STRUCTURES: dict[str, Any] = {"rdf": XML_TEXT, "jsonld": JSON_TEXT}


def syntax(name: str) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, chance: random.Random) -> None:
        """Any chunking is the whole; rows come back through another format."""
        settings: dict[str, Any] = chance.choice(
            ({}, {"base": "http://e/"}, {"lenient": True}, {"max_text_bytes": 256}, {"batch_rows": 1}, {"strict": True})
        )
        whole = read_all(jelly.scan(data, format=name, **settings).batches())
        if settings == {"lenient": True}:
            return  # what pyoxigraph does not check, nobody does
        parts = read_all(jelly.scan(cut(data, chance), format=name, **settings).batches())
        if any(reading.error and reading.error[0] is jelly.JellyLimitError for reading in (whole, parts)):
            # A limit bounds what waits for its end: it may not be met where all comes at once.
            n = min(len(whole.rows), len(parts.rows))
            assert whole.rows[:n] == parts.rows[:n]
            return
        if whole.error and parts.error:
            parts.error = whole.error  # of a place that pyoxigraph counts by its own chunks
        same(whole, parts, f"in chunks, with {settings}")
        check_round_trip(whole.batches, chance)

    return read


def samples(name: str) -> Callable[[], Iterable[bytes]]:
    return lambda: TEXTS[name]


for _name in TEXTS:
    harness(
        _name,
        corpus=samples(_name),
        files=(f".{_name}",),
        formats=((Content.STATEMENTS, _name),),
        structure=STRUCTURES.get(_name, Text(*TURTLE_WORDS)),
        lines=True,
    )(syntax(_name))
