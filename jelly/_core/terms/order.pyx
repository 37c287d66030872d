"""The order of terms and statements, and the equality of quoted triples, which may share their parts.

Each part is looked at once. `model.pyx` calls these where comparing term by term could take too long.
"""

from cpython.object cimport PyObject_RichCompare
from libc.stdint cimport int64_t

from jelly._core.base.constants cimport MAX_QUOTED
from jelly._core.terms.model cimport AnyTerm, BlankNode, DefaultGraph, IRI, Literal, QuotedTriple, Variable, size_of
from jelly._core.terms.statements cimport Quad, Triple

from jelly.errors import JellyLimitError


# The order of terms: kinds as ORDER BY of SPARQL has them, and texts by their code points.

cdef tuple key_of(object x):
    """The sort key of a term; None if it is no term."""
    cdef type kind = type(x)
    if kind is IRI:
        return 2, (<IRI>x).value
    if kind is BlankNode:
        return 1, (<BlankNode>x).value
    if kind is Literal:
        return 3, (<Literal>x).value, x.datatype.value, (<Literal>x).language or "", (<Literal>x).base
    if kind is QuotedTriple:
        return key_in(x, {})
    if kind is Variable:
        return 5, (<Variable>x).value
    return (6,) if kind is AnyTerm else (0,) if kind is DefaultGraph else None


cdef object key_with(object x, dict known):
    return key_in(x, known) if type(x) is QuotedTriple else key_of(x)


cdef object key_in(object x, dict known):
    """The sort key of a term, one object for all terms that are equal: ``known`` has those of their ids and parts."""
    cdef QuotedTriple triple
    found = known.get(id(x))
    if found is not None:
        return found
    if type(x) is QuotedTriple:
        triple = x
        s, p, o = key_in(triple.s, known), key_in(triple.p, known), key_in(triple.o, known)
        found = known.setdefault((id(s), id(p), id(o)), (4, s, p, o))
    else:
        found = key_of(x)
        found = known.setdefault(found, found)
    known[id(x)] = found
    return found


def same_triples(x, y) -> bool:
    """Whether two quoted triples are equal."""
    known = {}
    return key_in(x, known) is key_in(y, known)


cdef int64_t add_sizes(object x, set seen):
    """The characters of the texts in a term, each once, for `need_writable`."""
    cdef QuotedTriple triple
    if id(x) in seen:
        return 0
    seen.add(id(x))
    if type(x) is not QuotedTriple:
        return size_of(x)
    triple = x
    return add_sizes(triple.s, seen) + add_sizes(triple.p, seen) + add_sizes(triple.o, seen)


def need_writable(QuotedTriple x not None) -> None:
    """JellyLimitError where a text of the quoted triple would be too long, as its parts stand in it again and again."""
    if x.size > MAX_QUOTED + add_sizes(x, set()):
        raise JellyLimitError(
            f"a quoted triple would take more than {MAX_QUOTED} bytes written out, as the same parts stand in it again and "
            "again"
        )


cdef tuple key_of_statement(object x, dict known):
    """The sort key of a statement: a triple stands before the quad that has the same terms in the default graph."""
    if type(x) is Triple:
        return key_with((<Triple>x).s, known), key_with((<Triple>x).p, known), key_with((<Triple>x).o, known), (0,), 3
    if type(x) is Quad:
        return (
            key_with((<Quad>x).s, known), key_with((<Quad>x).p, known), key_with((<Quad>x).o, known), key_with((<Quad>x).g, known),
            4,
        )
    return None


def ordered(x, y, int op):
    """Compare a term with a term, or a statement with a statement; NotImplemented for anything else."""
    cdef dict known = {}
    if type(x) is Triple or type(x) is Quad:
        x, y = key_of_statement(x, known), key_of_statement(y, known)
    elif type(x) is QuotedTriple and type(y) is QuotedTriple:
        x, y = key_in(x, known), key_in(y, known)
    else:
        x, y = key_of(x), key_of(y)
    return NotImplemented if y is None else PyObject_RichCompare(x, y, op)
