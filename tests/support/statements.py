"""Strategies of hypothesis: terms and statements that are few enough to repeat and odd enough to matter."""

from __future__ import annotations

from hypothesis import strategies as st

from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple

# Whatever a str may hold, but lone surrogates, which have no UTF-8.
texts = st.one_of(
    st.sampled_from(["", "a", "b", "\0", "\u00e4", "\U0001f600", "x" * 130, "http://e/#a", "a/b", "#", "/", ":"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
)
iris = st.one_of(
    st.builds(
        lambda prefix, name: IRI(prefix + name),
        st.sampled_from(["", "http://a/", "http://b/", "http://b/c#", "urn:", "d:e:"]),
        st.sampled_from(["", "1", "2", "3", "4", "5", "6", "n/7", "#8"]),
    ),
    texts.map(IRI),
)
bnodes = st.one_of(st.sampled_from("abc"), texts).map(BlankNode)
tags = st.sampled_from(["en", "de", "de-AT", "x" * 40])
literals = st.one_of(
    texts.map(Literal),
    st.builds(lambda text, tag: Literal(text, language=tag), texts, tags),
    st.builds(lambda text, iri: Literal(text, datatype=iri), texts, iris),
)
quoted = st.recursive(
    st.builds(QuotedTriple, st.one_of(iris, bnodes), iris, st.one_of(iris, bnodes, literals)),
    lambda inner: st.builds(QuotedTriple, st.one_of(inner, iris), iris, st.one_of(inner, literals)),
    max_leaves=4,
)
rdf = st.builds(Triple, st.one_of(iris, bnodes), iris, st.one_of(iris, bnodes, literals))
star = st.builds(Triple, st.one_of(iris, bnodes, quoted), iris, st.one_of(iris, bnodes, literals, quoted))
anything = st.one_of(iris, bnodes, literals, quoted)
generalized = st.builds(Triple, anything, anything, anything)


def quads(triples: st.SearchStrategy[Triple], graphs: st.SearchStrategy | None = None) -> st.SearchStrategy[Quad]:
    graphs = st.one_of(st.none(), iris, bnodes) if graphs is None else graphs
    return st.builds(lambda triple, graph: Quad(*triple, graph), triples, graphs)


def writable(term: object) -> bool:
    """Whether a term can be written in N-Triples syntax: odd labels cannot."""
    if isinstance(term, QuotedTriple):
        return all(map(writable, (term.s, term.p, term.o)))
    return not isinstance(term, BlankNode) or term.value in ("a", "b", "c")
