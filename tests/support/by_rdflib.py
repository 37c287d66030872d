"""RDFLib's terms as the tuples of oracle.py."""

from __future__ import annotations

import pytest

pytest.importorskip("rdflib")

from rdflib import XSD, BNode, Literal  # noqa: E402
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID  # noqa: E402


def plain(term):
    if term is None or term == DATASET_DEFAULT_GRAPH_ID:
        return None
    if isinstance(term, Literal):
        datatype = None if term.datatype in (None, XSD.string) else str(term.datatype)
        return ("literal", str(term), term.language, datatype)
    return ("bnode" if isinstance(term, BNode) else "iri", str(term))


def plain_all(statements):
    return [tuple(map(plain, statement)) for statement in statements]


def quads(graph):
    """What is in a dataset, without what RDFLib thinks of equal."""
    default = getattr(graph, "default_graph", None) or graph.default_context
    return {
        (*map(plain, triple), None if context.identifier == default.identifier else plain(context.identifier))
        for context in graph.contexts()
        for triple in context
    }
