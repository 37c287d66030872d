"""RDF terms and statements as small immutable Python objects."""


cdef class IRI:
    cdef readonly str value


cdef class BlankNode:
    cdef readonly str value


cdef class Literal:
    cdef readonly str value
    cdef readonly str language  # None: no language
    cdef IRI typed  # None: xsd:string, or rdf:langString where there is a language


cdef class QuotedTriple:
    cdef readonly object s
    cdef readonly object p
    cdef readonly object o


cdef class DefaultGraph:
    pass


cdef class Triple:
    cdef readonly object s
    cdef readonly object p
    cdef readonly object o


cdef class Quad:
    cdef readonly object s
    cdef readonly object p
    cdef readonly object o
    cdef readonly object g
