"""The official runtimes of Thrift and Protobuf read what we write and write what we read, byte for byte."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.official import official, row_of
from support.rowcraft import read, statements, write, write_statements
from support.shared import shared
from support.statements import generalized, quads

import jelly
from jelly import IRI, Quad


def fits(term: Any) -> bool:
    """Not what readers take for something else: blank nodes and the default graph by the names of Jena."""
    if isinstance(term, jelly.QuotedTriple):
        return all(map(fits, term))
    return not (isinstance(term, IRI) and term.value.startswith(("_:", "urn:x-arq:")))


@pytest.mark.parametrize("encoding", ["thrift", "protobuf"])
@given(items=st.lists(quads(generalized).filter(lambda quad: all(map(fits, quad))), max_size=6))
def test_any_statements(encoding: str, items: list[Quad]) -> None:
    api = official(encoding)
    theirs = api.write(row_of(api, item) for item in items)
    assert write_statements(encoding, items) == theirs
    assert statements(read(encoding, theirs)) == items
    assert api.write(api.read(theirs)) == theirs


@pytest.mark.parametrize("encoding", ["thrift", "protobuf"])
@pytest.mark.parametrize(
    "parts",
    [
        ("vocabs-quads", "vocabs.nq.gz"),
        ("vocabs-star", "vocabs-star.nt.gz"),
        ("dbpedia-ontology", "dbpedia-ontology.nt.gz"),
    ],
    ids=lambda parts: parts[0],
)
def test_real_data(encoding: str, parts: tuple[str, str]) -> None:
    api = official(encoding)
    batches = list(jelly.scan(shared("data", *parts), batch_rows=5000).batches())[:1]
    data = write(encoding, batches)
    assert api.write(api.read(data)) == data
    short = write(encoding, batches, prefixes={"": "http://www.w3.org/2000/01/rdf-schema#"}, shorten=True)
    rows = list(api.read(short))
    assert api.which(rows[0]) == "prefixDecl"
    assert api.write(rows) == short
    if encoding == "thrift":
        values = write(encoding, batches, values=True)
        assert api.write(api.read(values)) == values


@pytest.mark.parametrize("encoding", ["thrift", "protobuf"])
@given(
    integer=st.integers(-(2**63), 2**63 - 1),
    real=st.floats(),
    value=st.integers(-(2**63), 2**63 - 1),
    scale=st.integers(-50, 50),
)
def test_values(encoding: str, integer: int, real: float, value: int, scale: int) -> None:
    api = official(encoding)
    iri = api.make("RDF_Term", iri=api.make("RDF_IRI", iri="a:x"))
    terms = [
        api.make("RDF_Term", valInteger=integer),
        api.make("RDF_Term", valDouble=real),
        api.make("RDF_Term", valDecimal=api.make("RDF_Decimal", value=value, scale=scale)),
    ]
    data = api.write(api.make("RDF_StreamRow", triple=api.make("RDF_Triple", S=iri, P=iri, O=term)) for term in terms)
    first, second, third = (quad.o for quad in statements(read(encoding, data)))
    assert first.value == str(integer)
    assert second.value in ("NaN", "INF", "-INF") or float(second.value) == real
    assert third.datatype.value.endswith("#decimal")
    if encoding == "thrift" and math.isfinite(real) and scale >= 0:
        assert write(encoding, read(encoding, data), values=True) == data
