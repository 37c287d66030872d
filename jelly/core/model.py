"""Terms and statements under the name that pickles of earlier versions use."""

from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple, _literal

__all__ = ["IRI", "BlankNode", "DefaultGraph", "Literal", "Quad", "QuotedTriple", "Triple", "_literal"]
