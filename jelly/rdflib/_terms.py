"""RDFLib terms out of Batches, and Batches out of RDFLib terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from rdflib import BNode, Literal, URIRef, Variable
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph

from jelly._core.terms.term_adapter import ObjectTemplate, TermAdapter

# Number of terms remembered by default.
MEMO = 1 << 12


def default_graph(graph: Graph) -> Graph:
    if not isinstance(graph, ConjunctiveGraph):
        return graph
    # A Dataset's default_context is deprecated; older ones have nothing else.
    made: Graph = graph.default_graph if hasattr(graph, "default_graph") else graph.default_context
    return made


def _typed(text: str, datatype: Any) -> Any:
    literal = Literal(text, None, datatype, False)
    if not str.__eq__(literal, text):
        # RDFLib always normalises xsd:token and xsd:normalizedString, so the literal gets this datatype later.
        literal = Literal(text)
        literal.__setstate__((None, {"language": None, "datatype": datatype}))
    return literal


def _slots(literal: Any) -> list[Any]:
    return [getattr(literal, name) for base in type(literal).__mro__ for name in base.__dict__.get("__slots__", ())]


def _alike(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """``make``, or a faster function for the same literals: it copies a literal of RDFLib with another text.

    It is used only if trials with some texts give literals that are equal in all slots.
    """
    try:
        pattern = ObjectTemplate(make("example"))
        for text in ("", "1", " \u00e4\n", "example"):
            ours, theirs = pattern(text), make(text)
            if type(ours) is not type(theirs) or ours != theirs or _slots(ours) != _slots(theirs):
                return make
    except (AttributeError, TypeError, ValueError):
        return make
    return pattern


_plain = _alike(Literal)


def _of_tag(tag: str) -> Callable[[str], Any]:
    """A function that makes literals with a language."""
    Literal("", tag)  # ValueError for a tag that RDFLib refuses
    return _alike(lambda text: Literal(text, tag))


class _Typed(dict[Any, Callable[[str], Any]]):
    """Functions that make literals, by datatype. RDFLib computes the values of datatypes that it knows."""

    def __call__(self, text: str, datatype: Any) -> Any:
        if (known := self.get(datatype)) is not None:
            return known(text)
        literal = _typed(text, datatype)
        make = partial(_typed, datatype=datatype)
        self[datatype] = _alike(make) if literal.ill_typed is None else make
        return literal


def _graph_name(graph: Any) -> Any:
    """The name of a graph of a quad, None for the default graph."""
    if isinstance(graph, Graph):
        graph = graph.identifier
    return None if graph == DATASET_DEFAULT_GRAPH_ID else graph


def term_adapter(**settings: Any) -> TermAdapter:
    of_tag = cache(_of_tag)
    terms: dict[str, Any] = {
        "iri": URIRef,
        "bnode": BNode,
        "plain": _plain,
        "lang": lambda text, tag: of_tag(tag)(text),
        "typed": _Typed(),
        "memo": MEMO,
    }
    classes = (URIRef, BNode, Literal, None)
    return TermAdapter("RDFLib", classes=classes, variable=Variable, graph_name=_graph_name, **(terms | settings))
