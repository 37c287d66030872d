from jelly.core.model import *
from jelly.core.model import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
