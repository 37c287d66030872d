"""RDF terms as small immutable Python objects."""


from libc.stdint cimport int64_t


cdef int64_t size_of(object x)
cdef tuple split_language(object language, object direction)
cdef object of_library(object x, bint is_graph)
cdef object unchangeable(object x)
cdef object as_term(object x, str what)
cdef object as_graph(object x)
cdef object in_place(object term)
cdef object ordered(object x, object y, int op)


# What Materializer makes has nothing before its fields, which it sets in this order.

cdef class IRI:
    cdef readonly str value


cdef class BlankNode:
    cdef readonly str value


cdef class Literal:
    cdef readonly str value
    cdef readonly str language  # None: no language
    cdef IRI typed  # None: xsd:string, or rdf:langString if there is a language
    cdef int base  # direction: 0 none, 1 ltr, 2 rtl; KIND_TEXT plus this is the kind of its language tag


cdef class QuotedTriple:
    cdef readonly object s
    cdef readonly object p
    cdef readonly object o
    cdef int depth  # 1: no quoted triple within
    cdef int64_t size  # characters of the texts of all terms in it, in each of their places
    cdef Py_hash_t hashed  # 0: not known yet

    cdef int hold(self, object s, object p, object o) except -1


cdef class Variable:
    cdef readonly str value


cdef class AnyTerm:
    pass


cdef class DefaultGraph:
    pass
