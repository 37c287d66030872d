"""Terms of RDFLib and pyoxigraph, recognised by their classes: neither library is imported for that."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias


class _OfRDFLib(Protocol):
    def n3(self) -> str: ...


class _OfPyoxigraph(Protocol):
    @property
    def value(self) -> str: ...


# For type checkers.
Foreign: TypeAlias = _OfRDFLib | _OfPyoxigraph

# The kinds of terms, by the class and the first part of its module.
_KINDS = {
    ("rdflib", "URIRef"): "iri", ("rdflib", "BNode"): "bnode", ("rdflib", "Literal"): "literal",
    ("rdflib", "Variable"): "variable", ("rdflib", "Graph"): "graph",
    ("pyoxigraph", "NamedNode"): "iri", ("pyoxigraph", "BlankNode"): "bnode", ("pyoxigraph", "Literal"): "literal",
    ("pyoxigraph", "Variable"): "variable", ("pyoxigraph", "Triple"): "triple",
    ("pyoxigraph", "DefaultGraph"): "default",
}  # fmt: skip
_DEFAULT_GRAPH = "urn:x-rdflib:default"


def parts_of(x: Any, is_graph: bool) -> tuple[Any, ...] | None:
    """The kind of a term of another library, and its parts; None if it is no such term.

    ``is_graph`` says that it is the graph of a quad, where RDFLib has graphs and a name for the default graph.

    >>> class URIRef(str): ...
    >>> URIRef.__module__ = "rdflib.term"
    >>> parts_of(URIRef("a:b"), False), parts_of(URIRef("urn:x-rdflib:default"), True), parts_of("a:b", False)
    (('iri', 'a:b'), ('default',), None)
    """
    kind = next((found for base in type(x).__mro__ if (found := _kind_of(base)) is not None), None)
    if kind is None:
        return None
    if kind == "graph":
        return parts_of(x.identifier, True) if is_graph else None
    if kind == "default":
        return ("default",) if is_graph else None
    if kind == "triple":
        return kind, x.subject, x.predicate, x.object
    text = str.__str__(x) if isinstance(x, str) else x.value
    if kind != "literal":
        return ("default",) if is_graph and text == _DEFAULT_GRAPH else (kind, text)
    datatype = None if x.language is not None or x.datatype is None else x.datatype
    if datatype is not None:
        datatype = str.__str__(datatype) if isinstance(datatype, str) else datatype.value
    direction = getattr(x, "direction", None)
    return kind, text, x.language, datatype, None if direction is None else direction.value


def _kind_of(base: type) -> str | None:
    return _KINDS.get((base.__module__.partition(".")[0], base.__name__))
