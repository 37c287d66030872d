"""Batches to Python objects. Only this module creates objects in a loop."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport Batch
from jelly._core.terms.model cimport DefaultGraph
from jelly._core.terms.term_adapter cimport TermAdapter


cdef class Materializer:
    cdef Batch batch
    cdef PyObject** made
    cdef int32_t n
    cdef DefaultGraph default
    cdef TermAdapter library
    # The object of the library for the graph of the last row.
    cdef object graph
    cdef int32_t graph_term

    cdef object get(self, int32_t term)
    cdef object keep(self, int32_t term, object new)
    cdef object find_graph(self, int32_t graph)
    cdef str text(self, int32_t term)
    cdef object make(self, int32_t term)
    cdef object pattern(self, int kind, int32_t term)
    cdef object make_foreign(self, int32_t term)
    cdef object make_text(self, int32_t term, bint remember)
    cdef object foreign(self, int64_t row)
    cdef int refuse_generalized(self, int64_t row, int32_t graph) except -1
    cdef object triple(self, int64_t row)
    cdef object quad(self, int64_t row)
    cdef object statement(self, int64_t row)
    cdef tuple solution(self, int64_t row)
