"""The order of terms and statements, names of their parts, and patterns of `match`."""

import functools
import random

import pytest

from jelly import ANY, IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple, Variable

XSD = "http://www.w3.org/2001/XMLSchema#"
S, P = IRI("a:s"), IRI("a:p")
# In order, all different.
TERMS = [
    DefaultGraph(), BlankNode("a"), BlankNode("b"), IRI(""), IRI("a"), IRI("a:b"), IRI("\uffff"), IRI("\U00010000"),
    Literal(""), Literal("a", datatype=""), Literal("a", datatype="a:b"), Literal("a", language="ar", direction="ltr"),
    Literal("a", language="ar", direction="rtl"), Literal("a", language="ar"), Literal("a", language="en"),
    Literal("a"), Literal("b", datatype="a:a"), QuotedTriple(S, P, IRI("a")), QuotedTriple(S, P, Literal("a")),
    QuotedTriple(QuotedTriple(S, P, S), P, S), Variable("a"), Variable("b"), ANY,
]  # fmt: skip
STATEMENTS = [
    Triple(IRI("a"), P, S), Quad(IRI("a"), P, S), Quad(IRI("a"), P, S, IRI("g")), Triple(IRI("a"), P, Literal("x")),
    Quad(IRI("a"), P, Literal("x"), IRI("a")), Triple(IRI("b"), IRI("a"), IRI("a")),
]  # fmt: skip


@pytest.mark.parametrize("things", [TERMS, STATEMENTS])
def test_total_order(things):
    for i, x in enumerate(things):
        for j, y in enumerate(things):
            found = x < y, x <= y, x > y, x >= y, x == y
            assert found == (i < j, i <= j, i > j, i >= j, i == j), (x, y)
    mixed = random.Random(3).sample(things, len(things))
    assert sorted(mixed) == things
    assert max(mixed) == things[-1]


@pytest.mark.parametrize("other", ["a", 5, None, ("a",), object()])
def test_other_things_have_no_order(other):
    for thing in (*TERMS, *STATEMENTS):
        with pytest.raises(TypeError, match="not supported between"):
            assert thing < other
    with pytest.raises(TypeError):
        assert TERMS[0] < STATEMENTS[0]


def test_deep_quoted_triples_have_an_order():
    first, second = (
        functools.reduce(lambda inner, _: QuotedTriple(inner, P, S), range(63), IRI(name)) for name in ("a", "b")
    )
    assert first < second


def test_match():
    match Quad(S, P, Literal("x", language="en"), IRI("a:g")):
        case Quad(IRI(subject), predicate, Literal(text, language), IRI(graph)):
            assert (subject, predicate, text, language, graph) == ("a:s", P, "x", "en", "a:g")
        case _:
            raise AssertionError
    match Triple(BlankNode("b"), P, Literal(5)):
        case Triple(BlankNode("b"), _, Literal(value, None, IRI(datatype))):
            assert (value, datatype) == ("5", XSD + "integer")
        case _:
            raise AssertionError
    match QuotedTriple(S, P, Variable("x")):
        case QuotedTriple(_, _, Variable(name)):
            assert name == "x"
        case _:
            raise AssertionError


def test_names_of_parts():
    for thing in (Triple(S, P, Literal("o")), Quad(S, P, Literal("o"), S), QuotedTriple(S, P, Literal("o"))):
        assert (thing.subject, thing.predicate, thing.object) == (thing.s, thing.p, thing.o)
    assert Quad(S, P, S, P).graph == P
