"""Terms in queries and in their answers: those that are written there and in the data."""

from __future__ import annotations

import pytest

import jelly


@pytest.mark.parametrize("number", ["-1.50", "-1e0", "-01", "+01"])
def test_a_number_with_a_sign_is_a_literal(number: str) -> None:
    data = f"<a:s> <a:p> {number} .".encode()
    for pattern in (f"BIND({number} AS ?n) ?s ?p ?n", f"?s ?p ?n FILTER(sameTerm(?n, {number}))"):
        assert jelly.query(data, f"ASK {{ {pattern} }}", format="ttl").boolean
    [(difference,)] = jelly.query(b"", "SELECT (3-1 - -1 AS ?n) {}", format="nt")
    assert difference.value == "3"


def test_literals_of_queries_are_as_they_are_written(caplog: pytest.LogCaptureFixture) -> None:
    """RDFLib takes spaces out of tokens, and up to eight digits after a backslash and u."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    data = f'<a:s> <a:p> "a  b"^^<{xsd}token> , "one\\nadded" , "\\\\u006e" , "x"^^<{xsd}integer> .'.encode()
    for literal in (f'"a  b"^^<{xsd}token>', r'"one\u000Aadded"', r'"\\u006e"', f'"x"^^<{xsd}integer>'):
        assert jelly.query(data, f"ASK {{ ?s ?p {literal} }}", format="ttl").boolean
    assert not caplog.records


@pytest.mark.parametrize(
    ("base", "iri", "whole"),
    [
        ("http://e/x/y", "./a:b", "http://e/x/a:b"),
        ("http://e/x/y", "?of=a:b", "http://e/x/y?of=a:b"),
        ("http://e/x/y", "z#a:b", "http://e/x/z#a:b"),
        ("http://e/x#y", "", "http://e/x"),
        ("http://e/x> BASE <y/", "z", "http://e/y/z"),
        ("a:x/y", "z", "a:x/z"),
        ("http://e/x", "urn:y", "urn:y"),
    ],
)
def test_relative_iris(base: str, iri: str, whole: str) -> None:
    data = f"<{whole}> <a:p> <a:o> .".encode()
    for pattern in (f"<{iri}> ?p ?o", f"?s ?p ?o FILTER(?s = <{iri}>)", f'?s ?p ?o FILTER(?s = IRI("{iri}"))'):
        assert jelly.query(data, f"BASE <{base}> ASK {{ {pattern} }}", format="nt").boolean
    assert jelly.query(data, f"BASE <{base}> PREFIX x: <{iri}> ASK {{ x: ?p ?o }}", format="nt").boolean
