"""Statements as small immutable Python objects."""

cimport cython
from cpython.object cimport Py_EQ, Py_NE

from jelly._core.base.objects cimport fields_of
from jelly._core.terms.model cimport as_graph, as_term, in_place, ordered, unchangeable

from jelly._core.base.objects import show_fields
from jelly._core.terms.model import IRI
from jelly._html import html_table

# A special iterator makes `s, p, o = statement` cheaper than an iterator over a new tuple.

@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class _Unpack:
    cdef object statement
    cdef int at
    cdef int n

    def __iter__(self):
        return self

    def __next__(self):
        cdef int at = self.at
        if at >= self.n:
            raise StopIteration
        self.at = at + 1
        return <object>fields_of(self.statement)[at]


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Triple:
    """A statement of three terms. It unpacks as ``s, p, o`` and equals a tuple of the same terms.

    Parameters
    ----------
    s, p, o : IRI, BlankNode, Literal or QuotedTriple
        Subject, predicate and object.

    Raises
    ------
    JellyArgumentError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> s, p, o = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))
    >>> str(o)
    '"o"'
    """

    __match_args__ = ("s", "p", "o")

    def __init__(self, s, p, o):
        if self.s is not None:
            raise unchangeable(self)
        self.s, self.p, self.o = as_term(s, "the subject"), as_term(p, "the predicate"), as_term(o, "the object")

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return (self.s, self.p, self.o)[i]

    def __iter__(self):
        cdef _Unpack it = _Unpack.__new__(_Unpack)
        it.statement = self
        it.n = 3
        return it

    def __hash__(self):
        return hash((self.s, self.p, self.o))

    def __richcmp__(self, other, int op):
        cdef Triple x
        if op != Py_EQ and op != Py_NE:
            return ordered(self, other, op)
        if type(other) is Triple:
            x = other
            same = self.s == x.s and self.p == x.p and self.o == x.o
        elif isinstance(other, tuple):
            same = (self.s, self.p, self.o) == other
        else:
            return NotImplemented
        return same == (op == Py_EQ)

    def __str__(self):
        return f"{in_place(self.s)} {in_place(self.p)} {self.o} ."

    def __repr__(self):
        return f"Triple({self.s!r}, {self.p!r}, {self.o!r})"

    def _repr_html_(self):
        return html_table("Triple", ("subject", "predicate", "object"), [self])

    def __reduce__(self):
        return Triple, (self.s, self.p, self.o)


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Quad:
    """A statement of three terms and a graph. It unpacks as ``s, p, o, g`` and equals a tuple of the same terms.

    Parameters
    ----------
    s, p, o : IRI, BlankNode, Literal or QuotedTriple
        Subject, predicate and object.
    g : IRI, BlankNode, Literal, QuotedTriple, DefaultGraph or None, optional
        The graph; None is the default graph.

    Raises
    ------
    JellyArgumentError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> quad = jelly.Quad(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"), jelly.IRI("a:g"))
    >>> str(quad)
    '<a:s> <a:p> "o" <a:g> .'
    """

    __match_args__ = ("s", "p", "o", "g")

    def __init__(self, s, p, o, g=None):
        if self.s is not None:
            raise unchangeable(self)
        s = as_term(s, "the subject")
        p = as_term(p, "the predicate")
        o = as_term(o, "the object")
        self.g = as_graph(g)
        self.s = s
        self.p = p
        self.o = o

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return (self.s, self.p, self.o, self.g)[i]

    def __iter__(self):
        cdef _Unpack it = _Unpack.__new__(_Unpack)
        it.statement = self
        it.n = 4
        return it

    def __hash__(self):
        return hash((self.s, self.p, self.o, self.g))

    def __richcmp__(self, other, int op):
        cdef Quad x
        if op != Py_EQ and op != Py_NE:
            return ordered(self, other, op)
        if type(other) is Quad:
            x = other
            same = self.s == x.s and self.p == x.p and self.o == x.o and self.g == x.g
        elif isinstance(other, tuple):
            same = (self.s, self.p, self.o, self.g) == other
        else:
            return NotImplemented
        return same == (op == Py_EQ)

    def __str__(self):
        graph = in_place(self.g)
        line = f"{in_place(self.s)} {in_place(self.p)} {self.o}"
        return f"{line} {graph} ." if graph else f"{line} ."

    def __repr__(self):
        return f"Quad({self.s!r}, {self.p!r}, {self.o!r}, {self.g!r})"

    def _repr_html_(self):
        return html_table("Quad", ("subject", "predicate", "object", "graph"), [self])

    def __reduce__(self):
        return Quad, (self.s, self.p, self.o, self.g)


_a, _b, _c, _d = map(IRI, "abcd")
_fields = {"s": "s", "p": "p", "o": "o", "subject": "s", "predicate": "p", "object": "o"}
show_fields(Triple(_a, _b, _c), _fields)
show_fields(Quad(_a, _b, _c, _d), {**_fields, "g": "g", "graph": "g"})
