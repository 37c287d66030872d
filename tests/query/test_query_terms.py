"""Terms in queries and in their answers: those that are written there and in the data."""

from __future__ import annotations

import pytest

import jelly
from jelly.rdflib._query import values


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


XSD = "http://www.w3.org/2001/XMLSchema#"
WRITTEN = [
    f'"01"^^<{XSD}integer>', f'"1.50"^^<{XSD}decimal>', f'"1e0"^^<{XSD}double>', f'"1"^^<{XSD}byte>',
    f'"1"^^<{XSD}boolean>', f'"2020-01-01T00:00:00.000+00:00"^^<{XSD}dateTime>', '"x"@en-GB', '"x"', "_:b", "<a:x>",
]  # fmt: skip


@pytest.mark.parametrize("term", WRITTEN)
@pytest.mark.parametrize("more", ["", "_:c", "<< <a:s> <a:p> <a:o> >>"])
def test_functions_of_how_terms_are_written(term: str, more: str) -> None:
    """For pyoxigraph numbers and dates are values, and tags have no capitals. Blank nodes cannot be in its queries."""
    data = f"<a:s> <a:p> {term} .\n" + f"<a:t> <a:p> {more} .\n" * bool(more)
    [literal] = [each.o for each in jelly.read(data.encode(), format="nt") if each.s == jelly.IRI("a:s")]
    is_literal = isinstance(literal, jelly.Literal)
    text = None if term == "_:b" else literal.value
    for call, expected in (
        ("STR(?o)", text), ("GROUP_CONCAT(DISTINCT ?o)", text), ("STRLEN(STR(?o))", text and str(len(text))),
        ("DATATYPE(?o)", literal.datatype.value if is_literal else None),
        ("LANG(?o)", literal.language or "" if is_literal else None),
    ):  # fmt: skip
        [(value,)] = jelly.query(data.encode(), f"SELECT ({call} AS ?x) {{ <a:s> <a:p> ?o }}", format="nt")
        assert (value and value.value) == expected, call
    if text is not None:
        asked = f"ASK {{ ?s ?p ?o FILTER(STRDT(STR(?o), <a:t>) = {jelly.Literal(text)}^^<a:t>) }}"
        assert jelly.query(data.encode(), asked, format="nt").boolean


@pytest.mark.parametrize("term", WRITTEN)
@pytest.mark.parametrize(
    "expression", ["COALESCE(?none, ?o, 1)", "IF(isIRI(?s), ?o, 1)", "IF(isBLANK(?s), 1, COALESCE(?o, 2))"]
)
def test_what_an_expression_chooses_is_as_it_is_written(term: str, expression: str) -> None:
    data = f"<a:s> <a:p> {term} .".encode()
    for part in (f"?s <a:p> ?o BIND({expression} AS ?x)", f"{{ SELECT ({expression} AS ?x) {{ ?s <a:p> ?o }} }}"):
        assert len(list(jelly.query(data, f"SELECT * {{ {part} ?t <a:p> ?x }}", format="nt"))) == 1


def test_the_least_and_greatest_are_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of groups that are aggregated in parts: what joins them with the data finds it."""
    data = "".join(
        f'<a:{s}> <a:p> "{s}{n:03}.50"^^<{XSD}decimal> ; <a:d> "2020-01-01T00:00:{n:02}.000Z"^^<{XSD}dateTime> .\n'
        for s in range(3) for n in range(60)
    ).encode()  # fmt: skip
    for rows in (1 << 14, 7):
        monkeypatch.setattr(values, "_TOGETHER", rows)
        for kind, at in (("MIN", "000"), ("MAX", "059"), ("MIN(DISTINCT", "000")):
            call = f"{kind} ?o)" if "(" in kind else f"{kind}(?o)"
            sparql = f"SELECT ?s ?x {{ {{ SELECT ?s ({call} AS ?x) {{ ?s <a:p> ?o }} GROUP BY ?s }} ?s <a:p> ?x }}"
            found = sorted(term.value for _, term in jelly.query(data, sparql, format="ttl"))
            assert found == [f"{s}{at}.50" for s in range(3)]
        [(s, day)] = jelly.query(
            data, "SELECT (COUNT(?s) AS ?n) ?x { { SELECT (MAX(?d) AS ?x) { ?s <a:d> ?d } } ?s <a:d> ?x } GROUP BY ?x",
            format="ttl",
        )  # fmt: skip
        assert (s.value, day.value) == ("3", "2020-01-01T00:00:59.000Z")


@pytest.mark.parametrize("negation", ["", "!"])
def test_same_term(negation: str) -> None:
    data = f'<a:s> <a:p> "1"^^<{XSD}integer> , "01"^^<{XSD}integer> , 1.0 , "1"^^<{XSD}byte> , <a:o> .'.encode()
    where = "?s ?p ?x , ?y"
    for sparql in (
        f"SELECT ?x ?y {{ {where} FILTER({negation}sameTerm(?x, ?y)) }}",
        f"SELECT ?x ?y {{ {where} BIND({negation}sameTerm(?x, ?y) AS ?z) FILTER(?z) }}",
    ):
        n = len(list(jelly.query(data, sparql, format="ttl")))
        assert n == (20 if negation else 5), sparql


def test_texts_of_different_terms_are_joined() -> None:
    data = f'<a:s> <a:p> "1"^^<{XSD}integer> , "1" , "1"@en .'.encode()
    [(found,)] = jelly.query(data, "SELECT (GROUP_CONCAT(DISTINCT ?o) AS ?x) { ?s ?p ?o }", format="ttl")
    assert found.value == "1 1 1"


IRIS = ["rel", "http://h:port/", "http://e/%zz", "x y", "http://e/{a}", "http://[e/", "a:\"\n>\\"]


@pytest.mark.parametrize("iri", IRIS)
@pytest.mark.parametrize("base", ["", "BASE <http://e/> "])
@pytest.mark.parametrize("more", [[], [jelly.Triple(jelly.BlankNode("b"), jelly.IRI("a:q"), jelly.Literal("x"))]])
def test_expressions_of_iris_that_are_none(iri: str, base: str, more: list[jelly.Triple]) -> None:
    """A file has them, and what is written in a query is no other IRI for it."""
    data = jelly.dumps([jelly.Triple(jelly.IRI(iri), jelly.IRI("a:p"), jelly.Literal("x")), *more])
    for call in ("STR(?s)", "COALESCE(STR(?s), 1)", "MAX(?s)", "STR(MIN(?s))", "CONCAT('', STR(?s))"):
        [(found,)] = jelly.query(data, f"{base}SELECT ({call} AS ?x) {{ ?s <a:p> ?o FILTER(isIRI(?s)) }}")
        assert found.value == iri


@pytest.mark.parametrize("pattern", ["<a:d> ?d ; <a:u> ?u", "<a:u> ?u ; <a:d> ?d"])
@pytest.mark.parametrize(
    "expression", ["?d + ?u", "?u + ?d", "xsd:date(STR(?d)) + ?u", "?d - ?u + ?u + ?u", "?u + (?d - ?u + ?u)"]
)
def test_sums_of_dates_and_durations(pattern: str, expression: str) -> None:
    """For pyoxigraph it depends on the names of the variables whether there is one."""
    data = f'<a:s> <a:d> "2020-01-30"^^<{XSD}date> ; <a:u> "P3D"^^<{XSD}dayTimeDuration> .'.encode()
    sparql = f"PREFIX xsd: <{XSD}> SELECT ({expression} AS ?x) {{ ?s {pattern} }}"
    [(found,)] = jelly.query(data, sparql, format="ttl")
    assert found == jelly.Literal("2020-02-02", datatype=f"{XSD}date")
    [(wrong,)] = jelly.query(data, f"SELECT (?s + ?u AS ?x) {{ ?s {pattern} }}", format="ttl")
    assert wrong is None
