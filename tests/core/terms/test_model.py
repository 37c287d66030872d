"""Room model: terms and statements that cannot change, compare by what they say, and print as N-Triples."""

from __future__ import annotations

import copy
import gc
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.statements import anything, generalized, iris, literals, quads, texts

import jelly
from jelly import IRI, BlankNode, DefaultGraph, JellyLimitError, Literal, Quad, QuotedTriple, Triple

S, P, X, G = IRI("a:s"), IRI("a:p"), Literal("o"), IRI("a:g")
XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
ONE_OF_EACH = [
    IRI("a:s"),
    BlankNode("a:s"),
    Literal("a:s"),
    Literal("a:s", language="en"),
    Literal("a:s", language="EN"),
    Literal("a:s", language="en", direction="ltr"),
    Literal("a:s", language="en", direction="rtl"),
    Literal("a:s", datatype="a:d"),
    QuotedTriple(S, P, X),
    DefaultGraph(),
    Triple(S, P, X),
    Quad(S, P, X),
    Quad(S, P, X, G),
    Literal("", language="en"),
    IRI(""),
    Triple(QuotedTriple(S, P, X), P, X),
]


def calls(thing: object) -> list[tuple[tuple, dict]]:
    """Arguments that make something else than `thing`."""
    if isinstance(thing, Literal):
        return [(("new",), {}), (("new",), {"language": "de"}), (("new",), {"datatype": "a:new"})]
    if isinstance(thing, IRI | BlankNode):
        return [(("new",), {})]
    return [((P, P, P, P)[: 4 if isinstance(thing, Quad) else 3], {})]


@pytest.mark.parametrize("thing", [x for x in ONE_OF_EACH if not isinstance(x, DefaultGraph)], ids=repr)
def test_a_second_init_changes_nothing(thing: object) -> None:
    before = repr(thing), hash(thing)
    for args, kwargs in calls(thing):
        with pytest.raises(TypeError, match="cannot be changed"):
            thing.__init__(*args, **kwargs)
    assert (repr(thing), hash(thing)) == before


@pytest.mark.parametrize("thing", ONE_OF_EACH, ids=repr)
def test_attributes_cannot_be_set(thing: object) -> None:
    for name in (
        "value",
        "language",
        "direction",
        "datatype",
        "typed",
        "s",
        "p",
        "o",
        "g",
        "subject",
        "graph",
        "lex",
        "depth",
        "new",
    ):
        with pytest.raises(AttributeError):
            setattr(thing, name, S)
        with pytest.raises(AttributeError):
            delattr(thing, name)
    with pytest.raises(TypeError):
        thing[0] = S
    with pytest.raises(TypeError):
        type("Sub", (type(thing),), {})


def test_equal_and_different() -> None:
    for i, x in enumerate(ONE_OF_EACH):
        for j, y in enumerate(ONE_OF_EACH):
            assert (x == y) == (i == j), (x, y)
            assert (x != y) == (i != j)
        for other in (None, 1, "a:s", ("a:s",), [S, P, X], object()):
            assert x != other
            assert not x == other  # noqa: SIM201 - the other operator
        for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
            assert getattr(x, compare)("a:s") is NotImplemented
    assert len(set(ONE_OF_EACH)) == len(ONE_OF_EACH)
    assert DefaultGraph() == DefaultGraph()
    assert hash(DefaultGraph()) == hash(DefaultGraph())


def test_statements_equal_their_tuples() -> None:
    assert Triple(S, P, X) == (S, P, X)
    assert Triple(S, P, X) == (S, P, X)
    assert Quad(S, P, X, G) == (S, P, X, G)
    assert Quad(S, P, X) == (S, P, X, DefaultGraph())
    assert Quad(S, P, X) != (S, P, X)
    assert Quad(S, P, X) != Triple(S, P, X)
    assert Triple(S, P, X) != (S, P, G)
    assert Triple(S, P, X) != (S, P)
    assert hash(Triple(S, P, X)) == hash((S, P, X))
    assert hash(Quad(S, P, X, G)) == hash((S, P, X, G))
    assert {Triple(S, P, X), (S, P, X)} == {(S, P, X)}
    assert QuotedTriple(S, P, X) != (S, P, X)


def test_the_terms_are_those_of_jelly() -> None:
    for kind in (IRI, BlankNode, Literal, QuotedTriple, DefaultGraph, Triple, Quad):
        assert (kind.__module__, getattr(jelly, kind.__name__)) == ("jelly", kind)
        assert f"jelly.{kind.__name__}" in repr(kind)


@given(anything)
def test_copies_are_equal(term: object) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(term, protocol))
        assert again == term
        assert type(again) is type(term)
        assert hash(again) == hash(term)
        assert str(again) == str(term)
    assert copy.copy(term) == term
    assert copy.deepcopy(term) == term
    assert eval(repr(term), vars(jelly)) == term


@given(st.one_of(generalized, quads(generalized)))
def test_copies_of_statements_are_equal(statement: object) -> None:
    for again in (
        pickle.loads(pickle.dumps(statement)),
        copy.copy(statement),
        copy.deepcopy(statement),
        eval(repr(statement), vars(jelly)),
    ):
        assert again == statement
        assert type(again) is type(statement)
        assert hash(again) == hash(statement)


def test_unpacking() -> None:
    s, p, o = Triple(S, P, X)
    assert (s, p, o) == (S, P, X)
    s, p, o, g = Quad(S, P, X, G)
    assert (s, p, o, g) == (S, P, X, G)
    assert tuple(QuotedTriple(S, P, X)) == (S, P, X)
    first, *rest = Quad(S, P, X)
    assert rest[-1] == DefaultGraph()
    with pytest.raises(ValueError, match="too many values"):
        s, p = Triple(S, P, X)
    iterator = iter(Triple(S, P, X))
    assert iter(iterator) is iterator
    assert list(iterator) == [S, P, X]
    assert list(iterator) == []
    triple, quad = Triple(S, P, X), Quad(S, P, X, G)
    assert (len(triple), len(quad)) == (3, 4)
    assert (triple[0], triple[-1], quad[3], quad[1:3]) == (S, X, G, (P, X))
    for statement in (triple, quad):
        with pytest.raises(IndexError):
            statement[4]
        assert (statement.subject, statement.predicate, statement.object) == (S, P, X)
    assert quad.graph is G


def test_datatypes() -> None:
    assert Literal("x").datatype == IRI(XSD + "string")
    assert Literal("x", datatype=XSD + "string") == Literal("x")
    assert Literal("x", datatype=IRI(XSD + "integer")).datatype == IRI(XSD + "integer")
    assert Literal("x", datatype="a:d") == Literal("x", datatype=IRI("a:d"))
    assert Literal("x", language="en").datatype == IRI(LANG_STRING)
    assert Literal("x", language="en", datatype=LANG_STRING) == Literal("x", language="en")
    assert Literal("x").language is None
    assert Literal("x").lex == "x"
    for wrong in (
        {"language": "en", "datatype": "a:d"},
        {"language": "en", "datatype": XSD + "string"},
        {"language": ""},
    ):
        with pytest.raises(ValueError, match="language"):
            Literal("x", **wrong)


def test_wrong_types() -> None:
    for kind in (IRI, BlankNode, Literal):
        for wrong in (None, S, ["a"], *((1, b"a") if kind is not Literal else ())):
            with pytest.raises(TypeError, match="must be a str"):
                kind(wrong)
        with pytest.raises(TypeError):
            kind()
    for wrong in ({"language": 1}, {"language": b"en"}, {"datatype": 1}, {"datatype": Literal("a")}):
        with pytest.raises(TypeError, match="must be a str"):
            Literal("x", **wrong)
    with pytest.raises(TypeError):
        Literal("x", "en")
    for kind in (Triple, QuotedTriple, Quad):
        for wrong in ("a:s", None, 1, DefaultGraph(), Triple(S, P, X), IRI):
            for slot in range(3):
                terms = [S, P, X]
                terms[slot] = wrong
                with pytest.raises(TypeError, match="must be an RDF term"):
                    kind(*terms)
        with pytest.raises(TypeError):
            kind(S, P)
    for wrong in ("a:g", 1, Triple(S, P, X)):
        with pytest.raises(TypeError, match="the graph must be an RDF term"):
            Quad(S, P, X, wrong)
    assert Quad(S, P, X, DefaultGraph()).g == Quad(S, P, X, None).g == DefaultGraph()


def test_subclasses_of_str_become_str() -> None:
    class Text(str):
        def __str__(self) -> str:
            return "other"

    assert type(IRI(Text("a:s")).value) is str
    assert IRI(Text("a:s")) == IRI("a:s")


def test_objects_made_without_init_do_no_harm() -> None:
    for kind in (IRI, BlankNode, Literal, QuotedTriple, Triple, Quad):
        empty = kind.__new__(kind)
        repr(empty)
        hash(empty)
        assert empty == kind.__new__(kind)
        with pytest.raises(TypeError):
            jelly.dumps([(empty, P, X)])
        with pytest.raises(TypeError):
            jelly.dumps([empty if kind in (Triple, Quad) else QuotedTriple(S, P, empty), (S, P, empty)])
    half = Literal.__new__(Literal)
    with pytest.raises(ValueError, match="not both"):
        half.__init__("x", language="en", datatype="a:d")
    half.__init__("y", datatype="a:d")
    assert half == Literal("y", datatype="a:d")


# ---- N-Triples


def test_escapes_of_literals() -> None:
    assert str(Literal('\t\b\n\r\f"\\')) == '"\\t\\b\\n\\r\\f\\"\\\\"'
    assert str(Literal("\0\x01\x1f\x7f")) == '"\\u0000\\u0001\\u001F\\u007F"'
    assert str(Literal("'\u00e4\U0001f600 \x80")) == '"\'\u00e4\U0001f600 \x80"'
    assert str(Literal("a", language="de-AT")) == '"a"@de-AT'
    assert str(Literal("a", datatype="a:<>")) == '"a"^^<a:\\u003C\\u003E>'


def test_escapes_of_iris() -> None:
    assert str(IRI('a:\0 <>"{}|^`\\\x20\u00e4')) == (
        "<a:\\u0000\\u0020\\u003C\\u003E\\u0022\\u007B\\u007D\\u007C\\u005E\\u0060\\u005C\\u0020\u00e4>"
    )


def test_statements_as_text() -> None:
    assert str(Triple(S, P, X)) == '<a:s> <a:p> "o" .'
    assert str(Quad(S, P, X)) == '<a:s> <a:p> "o" .'
    assert str(Quad(S, P, X, BlankNode("g"))) == '<a:s> <a:p> "o" _:g .'
    assert str(QuotedTriple(S, P, QuotedTriple(S, P, X))) == '<<( <a:s> <a:p> <<( <a:s> <a:p> "o" )>> )>>'
    assert str(DefaultGraph()) == ""


@given(st.lists(st.builds(Triple, iris, iris, st.one_of(iris, literals)), max_size=8))
def test_text_is_read_again(statements: list[Triple]) -> None:
    text = "".join(f"{statement}\n" for statement in statements)
    assert list(jelly.read(text.encode(), format="nt")) == statements


@given(texts)
def test_literals_like_json(text: str) -> None:
    body = str(Literal(text))[1:-1]
    assert "\n" not in body
    assert eval(f'"{body}"') == text


# ---- nesting


def nested(depth: int) -> QuotedTriple:
    term = QuotedTriple(S, P, X)
    for i in range(depth - 1):
        term = QuotedTriple(term, P, X) if i % 2 else QuotedTriple(S, P, term)
    return term


def test_nesting_is_limited() -> None:
    deepest = nested(64)
    assert hash(deepest) == hash(nested(64))
    assert deepest == nested(64)
    assert pickle.loads(pickle.dumps(deepest)) == deepest
    assert jelly.loads(jelly.dumps([Triple(deepest, P, X)])) == [Triple(deepest, P, X)]
    (again,) = jelly.loads(jelly.dumps([Triple(deepest, P, X)]))
    for term in (deepest, again.s):
        for slots in ((term, P, X), (S, term, X), (S, P, term)):
            with pytest.raises(JellyLimitError, match="nested deeper than 64"):
                QuotedTriple(*slots)


def test_no_garbage_collector_needed() -> None:
    for thing in ONE_OF_EACH:
        assert not gc.is_tracked(thing)


def test_references() -> None:
    # What a statement takes it gives back.
    value = IRI("a:unique")
    before = sys.getrefcount(value)
    for _ in range(100):
        triple = Triple(value, P, QuotedTriple(value, P, value))
        s, p, o = triple
        assert triple == (s, p, o)
        assert triple != (s, p, s)
        list(iter(triple))
        jelly.dumps([triple])
        pickle.dumps(triple)
    del triple, s, p, o
    assert sys.getrefcount(value) == before
