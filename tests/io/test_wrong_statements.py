"""What is no statement or no text is refused as a JellyError, wherever it stands and however it is written."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import jelly
from jelly import IRI, BlankNode, JellyArgumentError, JellyFormatError, Literal, Quad, QuotedTriple, Triple
from jelly._core.ntriples.text import TextReader
from jelly._options.options import StreamOptions
from jelly.messages import write_messages
from jelly.patch import AddNamespace, Header, Patch, PatchWriter

S, P, OBJ = IRI("a:s"), IRI("a:p"), Literal("o")
T = Triple(S, P, OBJ)


def extended(statements: Any, **settings: Any) -> None:
    with jelly.Writer(io.BytesIO(), **settings) as writer:
        writer.extend(statements)


def added(statements: Any, **settings: Any) -> None:
    with jelly.Writer(io.BytesIO(), **settings) as writer:
        for statement in statements:
            writer.add(statement)


WAYS: dict[str, Callable[[Any], Any]] = {
    "write": lambda statements: jelly.write(io.BytesIO(), statements),
    "write text": lambda statements: jelly.write(io.BytesIO(), statements, format="nt"),
    "write with options": lambda statements: jelly.write(io.BytesIO(), statements, StreamOptions(1, 1)),
    "dumps": jelly.dumps,
    "dumps with options": lambda statements: jelly.dumps(statements, StreamOptions(1, 1)),
    "extend": extended,
    "add": added,
    "messages": lambda statements: write_messages(io.BytesIO(), [statements], format="nt"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", [None, 5, object()], ids=["None", "int", "object"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_statement(way: str, wrong: Any, place: int) -> None:
    statements = [T, T]
    statements.insert(place, wrong)
    kind = type(wrong).__name__
    for given in (statements, iter(statements)):
        with pytest.raises(JellyArgumentError, match=rf"expected a statement \(.*\), got {kind}"):
            WAYS[way](given)


@pytest.mark.parametrize("way", WAYS)
def test_none_at_all(way: str) -> None:
    WAYS[way]([])
    WAYS[way](iter([T]))


def test_none_among_the_statements_of_rdflib() -> None:
    rdflib = pytest.importorskip("rdflib")
    from jelly.rdflib import write

    good = (rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.Literal("o"))
    for statements in ([None, good, good], [good, None], [None]):
        for settings in ({}, {"stream_name": "x"}):
            with pytest.raises(JellyArgumentError, match="expected a statement"):
                write(io.BytesIO(), statements, **settings)
    assert write(io.BytesIO(), [good], stream_name="x") == write(io.BytesIO(), iter([good])) == 1
    assert write(io.BytesIO(), [], stream_name="x") == 0


def test_none_among_the_statements_of_pyoxigraph() -> None:
    ox = pytest.importorskip("pyoxigraph")
    from jelly.oxigraph import write

    good = ox.Triple(ox.NamedNode("a:s"), ox.NamedNode("a:p"), ox.Literal("o"))
    for statements in ([None, good, good], [good, None], [None]):
        with pytest.raises(TypeError, match="got NoneType"):
            write(io.BytesIO(), statements)
    assert write(io.BytesIO(), [good]) == 1
    assert write(io.BytesIO(), []) == 0


def test_wrong_numbers_and_terms() -> None:
    with pytest.raises(JellyFormatError, match="a statement has 3 or 4 terms, not 2"):
        jelly.dumps([T, (S, P)])
    with pytest.raises(JellyArgumentError, match="expected an RDF term"):
        jelly.dumps([(S, P, "text")])


def test_a_quad_into_triples() -> None:
    quad = Quad(S, P, OBJ, IRI("a:g"))
    for format in ("nt", "jelly"):
        options = None if format == "nt" else StreamOptions(1, 1)
        with pytest.raises(jelly.JellyOptionsError, match="a quad in graph <a:g> cannot go into a stream of triples"):
            jelly.write(io.BytesIO(), [quad], options, format=format)


# ---- lone surrogates

HALF = "x\ud800y"


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ((IRI(HALF), P, OBJ), "the IRI"),
        ((BlankNode(HALF), P, OBJ), "the label of a blank node"),
        ((S, P, Literal(HALF)), "the literal"),
        ((S, P, Literal(HALF, language="en")), "the literal"),
        ((S, P, Literal(HALF, datatype="a:d")), "the literal"),
        ((S, P, Literal("x", datatype=HALF)), "the IRI"),
        ((QuotedTriple(S, P, Literal(HALF)), P, OBJ), "the literal"),
        ((S, P, OBJ, IRI(HALF)), "the IRI"),
    ],
)
@pytest.mark.parametrize("format", ["jelly", "nq", "thrift"])
def test_a_lone_surrogate_in_a_term(statement: Any, what: str, format: str) -> None:
    with pytest.raises(JellyFormatError, match=rf"{what} 'x\\ud800y' holds U\+D800") as caught:
        jelly.write(io.BytesIO(), [statement], format=format)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).isprintable()


def test_a_lone_surrogate_in_a_language_tag() -> None:
    with pytest.raises(JellyFormatError, match=r"the language tag or name 'x\\ud800y' holds U\+D800"):
        jelly.dumps([(S, P, Literal("x", language=HALF))])


def test_lone_surrogates_elsewhere() -> None:
    def namespace(name: str, iri: str) -> None:
        with jelly.Writer(io.BytesIO(), StreamOptions(1, 1, version=2)) as writer:
            writer.namespace(name, iri)

    def metadata() -> None:
        with jelly.Writer(io.BytesIO(), StreamOptions(1, 3)) as writer:
            writer.add(T)
            writer.end_frame({HALF: b""})

    for call in (
        lambda: namespace(HALF, "a:"),
        lambda: namespace("x", HALF),
        metadata,
        lambda: jelly.dumps([], StreamOptions(1, 1, stream_name=HALF)),
        lambda: TextReader(quads=False).namespace(HALF, "a:"),
        lambda: TextReader(quads=False).namespace("x", HALF),
        lambda: Patch([Header(HALF, S)]),
        lambda: Patch([AddNamespace(HALF, S)]),
        lambda: jelly.write(io.BytesIO(), [T], format="thrift", prefixes={HALF: "a:"}),
        lambda: jelly.write(io.BytesIO(), [T], format="protobuf", base=HALF),
        lambda: jelly.results.write_results(io.BytesIO(), [HALF], [], format="thrift"),
    ):
        with pytest.raises(JellyFormatError, match=r"'x\\ud800y' holds U\+D800, half of a character"):
            call()
    with pytest.raises(JellyArgumentError, match="must be str, not int"):
        namespace(5, "a:")  # type: ignore[arg-type]


def test_a_misspelt_field_of_options() -> None:
    statement = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))
    out = io.BytesIO()
    for write in (
        lambda options: jelly.dumps([statement], options),
        lambda options: jelly.write(out, [statement], options),
        lambda options: jelly.convert(b"<a:s> <a:p> <a:o> .", out, format="nt", options=options),
        lambda options: PatchWriter(out, options),
    ):
        with pytest.raises(jelly.JellyArgumentError, match="has no keyword 'rdf_str': did you mean 'rdf_star'"):
            write({"rdf_str": True})
