"""The terms and statements, under the name that pickles of earlier versions have."""

from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple, _literal

__all__ = ["IRI", "BlankNode", "DefaultGraph", "Literal", "Quad", "QuotedTriple", "Triple", "_literal"]
