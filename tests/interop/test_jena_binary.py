"""Apache Jena reads our RDF Thrift and RDF Protobuf, and we read what it writes: graphs, datasets, results.

What it writes of the same statements has the same bytes as what we write.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from interop.peer import Peer
from support.contents import convert_results
from support.shared import shared

import jelly
from jelly import IRI, BlankNode, Literal, QuotedTriple
from jelly.results import read_results, write_results

pytestmark = pytest.mark.interop

XSD = "http://www.w3.org/2001/XMLSchema#"
SAMPLES = {
    name: ("data", "jelly-samples", "jelly-jvm/integration-tests/src/test/resources", name)
    for name in (
        "triples/nt-syntax-subm-01.nt", "triples/p2_ontology.nt", "triples/rdf-star.nt", "triples/rdf-stax-1-1-2.nt",
        "triples/weather.nt", "quads/nanopub-rdf-stax.nq", "quads/nq-syntax-tests.nq", "quads/weather-quads.nq",
    )
} | {
    "iot-weather": ("data", "iot-weather", "assist-iot-weather-100k.nt.gz"),
    "vocabs-quads": ("data", "vocabs-quads", "vocabs.nq.gz"),
    "vocabs-star": ("data", "vocabs-star", "vocabs-star.nt.gz"),
    "dbpedia-ontology": ("data", "dbpedia-ontology", "dbpedia-ontology.nt.gz"),
}  # fmt: skip
PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": XSD,
    "sosa": "http://www.w3.org/ns/sosa/",
    "dbo": "http://dbpedia.org/ontology/",
    "": "http://www.w3.org/2000/01/rdf-schema#",
}
NUMBERS = [
    *((text, kind) for kind in ("integer", "long", "int", "short", "byte", "decimal", "double", "float", "unsignedInt")
      for text in ("42", "-1", "+7", "007", " 42 ", "128", "32768", "2147483648", "9223372036854775807", "4.0",
                   "123.60", "-.5", "5.", "1e3", "1.5E0", "NaN", "abc", "", "-0.0", "0.1",
                   "1.5E23", "1.7976931348623157E308")),
]  # fmt: skip


def samples(name: str) -> list[Any]:
    if name == "numbers":
        return [jelly.Quad(IRI("a:s"), IRI("a:p"), Literal(text, datatype=XSD + kind), None) for text, kind in NUMBERS]
    return list(jelly.read(shared(*SAMPLES[name])))[:8000]


def plain(items: Any) -> list[tuple[Any, ...]]:
    """Statements to compare, blank nodes as numbers in the order of their coming.

    Jena changes the case of language tags, and its N-Triples the labels of blank nodes.
    """
    labels: dict[str, int] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return labels.setdefault(term.value, len(labels))
        if isinstance(term, QuotedTriple):
            return tuple(map(of, term))
        if isinstance(term, Literal) and term.language:
            return term.value, term.language.lower()
        return None if isinstance(term, jelly.DefaultGraph) else term

    return [(*map(of, item), None)[:4] if len(tuple(item)) == 3 else tuple(map(of, item)) for item in items]


def prefixed(use: bool) -> dict[str, str]:
    return PREFIXES if use else {}


@pytest.mark.parametrize("use_prefixes", [False, True], ids=["bare", "prefixes"])
@pytest.mark.parametrize("format", ["thrift", "values", "protobuf"])
@pytest.mark.parametrize("name", [*SAMPLES, "numbers"])
def test_both_ways(peer: Peer, tmp_path: Path, name: str, format: str, use_prefixes: bool) -> None:
    items = samples(name)
    encoding = "thrift" if format == "values" else format
    settings = {"prefixes": prefixed(use_prefixes)} | ({"values": True} if format == "values" else {})
    ours, theirs, text = tmp_path / "ours", tmp_path / "theirs", tmp_path / "x.nq"
    jelly.write(ours, items, format=encoding, **settings)

    text.write_text("".join(f"{item}\n" for item in items), "utf-8")
    words = " ".join(f"{key}={iri}" for key, iri in prefixed(use_prefixes).items())
    peer.run("binary-write", format, text, theirs, words or "-")
    read = plain(jelly.read(theirs, format=encoding))
    if format != "values":
        assert read == plain(items)
    # Jena writes language tags in the case of RFC 5646.
    if all(a == b for a, b in zip(plain_tags(jelly.read(theirs, format=encoding)), plain_tags(items), strict=True)):
        assert theirs.read_bytes() == ours.read_bytes()
    else:
        assert len(theirs.read_bytes()) == len(ours.read_bytes())

    peer.run("binary-read", encoding, ours, text)
    found = plain(jelly.read(text.read_bytes(), format="nq"))
    # With values Jena has the lexical forms that we have of them, but for those of the infinite.
    assert found == (plain(jelly.read(ours, format=encoding)) if format == "values" else plain(items))
    names = [line.split(" ", 2)[2] for line in text.read_text("utf-8").splitlines() if line.startswith("# prefix")]
    assert names == [f"{key} {iri}" for key, iri in prefixed(use_prefixes).items()]


def plain_tags(items: Any) -> list[list[str]]:
    return [[term.language for term in item if isinstance(term, Literal) and term.language] for item in items]


def test_directions_and_depth(peer: Peer, tmp_path: Path) -> None:
    ours, text = tmp_path / "ours", tmp_path / "x.nq"
    term: Any = Literal("x", language="ar", direction="rtl")
    for _ in range(48):
        term = QuotedTriple(IRI("a:s"), IRI("a:p"), term)
    items = [jelly.Triple(IRI("a:s"), IRI("a:p"), o) for o in (Literal("x", language="ar", direction="rtl"), term)]
    for encoding in ("thrift", "protobuf"):
        jelly.write(ours, items, format=encoding)
        peer.run("binary-read", encoding, ours, text)
        assert list(jelly.read(text.read_bytes(), format="nt")) == items


ROWS = [
    (IRI("http://e/\u00e9"), Literal("x", language="en"), None),
    (BlankNode("b0"), None, Literal("12", datatype=XSD + "integer")),
    (QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("o")), Literal(" <&>\n "), Literal("", datatype="a:t")),
    (Literal("d", language="ar", direction="rtl"), Literal("1.50", datatype=XSD + "decimal"), BlankNode("b0")),
    (None, None, None),
]


@pytest.mark.parametrize("encoding", ["thrift", "protobuf"])
def test_results_both_ways(peer: Peer, tmp_path: Path, encoding: str) -> None:
    ours, theirs, back = tmp_path / "ours", tmp_path / "theirs", tmp_path / "back.srj"
    for variables, rows in ((["x", "y", "z"], ROWS), (["x"], []), ([f"v{i}" for i in range(20)], [(None,) * 20] * 3)):
        write_results(ours, variables, rows, format=encoding)
        # Jena reads it, and writes the same bytes again, labels of blank nodes and all.
        peer.run("results", encoding, ours, encoding, theirs)
        assert theirs.read_bytes() == ours.read_bytes()
        # By way of JSON and XML, ours and Jena's.
        for format in ("json", "xml"):
            peer.run("results", encoding, ours, format, back)
            assert renamed(read_results(back, format=format)) == renamed(rows)
            if any(isinstance(term, Literal) and term.direction for row in rows for term in row):
                continue
            convert_results(ours, back, format=encoding, to=format)
            peer.run("results", format, back, encoding, theirs)
            assert renamed(read_results(theirs, format=encoding)) == renamed(rows)
    out = io.BytesIO()
    assert convert_results(theirs, out, format=encoding, to="csv") == 3


def renamed(rows: Any) -> list[tuple[Any, ...]]:
    """Rows with the labels of blank nodes in the order of their coming."""
    labels: dict[str, int] = {}
    return [
        tuple(labels.setdefault(term.value, len(labels)) if isinstance(term, BlankNode) else term for term in row)
        for row in rows
    ]
