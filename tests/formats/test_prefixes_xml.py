"""RDF/XML of any namespaces: names, reserved words, and IRIs that begin with each other."""

from __future__ import annotations

import io
from xml.parsers import expat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.chance import examples

import jelly
from jelly import IRI, Literal, Triple

NAMES = [
    "",
    "xml",
    "xmlns",
    "rdf",
    "its",
    "oxprefix",
    "XMLx",
    "e",
    "a.b",
    "a-b",
    "a.",
    "é",
    "ª",
    "·",
    "Ω1",
    "_",
    "1a",
    "b:c",
]
IRIS = [
    "http://e/",
    "http://e/a",
    "http://e/a/",
    "http://e/a#",
    "http://e/a#b",
    "http://é/",
    "http://e/?x=1&y='2'#",
    "urn:x:",
]
IRIS += [
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
]
PREDICATES = [
    "http://purl.org/dc/terms/title",
    "http://e/p",
    "http://e/a/b",
    "http://e/a#bc",
    "http://e/?x=1&y='2'#q",
    "urn:x:y",
]
PREDICATES += ["http://e/a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://e/p.q", "http://é/é"]


def written(statements, namespaces):
    out = io.BytesIO()
    with jelly.Writer(out, format="rdf") as writer:
        for name, iri in namespaces:
            writer.namespace(name, iri)
        writer.extend(statements)
    return out.getvalue()


def test_the_empty_prefix():
    source = b'@prefix : <http://e/> . :s <http://purl.org/dc/terms/title> "x" ; a <http://f/C> , <http://f/1> .'
    out = io.BytesIO()
    jelly.convert(source, out, format="ttl", to="rdf")
    assert b'xmlns="http://e/"' in out.getvalue()
    assert set(jelly.read(out.getvalue(), format="rdf")) == set(jelly.read(source, format="ttl"))


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(IRIS)), max_size=5),
    st.lists(st.sampled_from(PREDICATES), min_size=1, max_size=4),
    st.booleans(),
)
@example([("", "http://e/")], ["http://purl.org/dc/terms/title", "http://e/a"], True)
@examples(300)
def test_any_prefixes(namespaces, predicates, classes):
    statements = [Triple(IRI("http://e/s"), IRI(predicate), IRI("http://e/o")) for predicate in predicates]
    if classes:
        rdf_type = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
        statements += [Triple(IRI("http://e/t"), rdf_type, IRI(iri)) for iri in [*predicates, "http://e/1"]]
        statements += [Triple(IRI("http://e/t"), IRI("http://e/p"), Literal("<a: b/>"))]
    data = written(statements, namespaces)
    assert set(jelly.read(data, format="rdf")) == set(statements)
    expat.ParserCreate(namespace_separator=" ").Parse(data, True)


def test_a_predicate_without_a_name_is_refused_by_its_iri():
    with pytest.raises(jelly.JellyUnsupportedError, match="<http://f/12>"):
        written([Triple(IRI("http://e/s"), IRI("http://f/12"), IRI("http://e/o"))], [("", "http://e/")])
