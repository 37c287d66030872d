"""Batches to Python objects. Only this module creates objects in a loop."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport Batch
from jelly._core.terms.model cimport DefaultGraph
from jelly._core.terms.term_adapter cimport TermAdapter


cdef class Spare:
    cdef PyObject** terms  # places for those of each class: IRIs, blank nodes, literals
    cdef Py_ssize_t n[3]

    cdef object take(self, int place, type kind)
    cdef void keep(self, PyObject* x) noexcept


cdef class Materializer:
    cdef Batch batch
    cdef Spare spare  # or None
    cdef PyObject** made
    cdef int32_t n
    cdef DefaultGraph default
    cdef TermAdapter library
    # The object of the library for the graph of the last row.
    cdef object graph
    cdef int32_t graph_term

    cdef object get(self, int32_t term)
    cdef PyObject* find(self, int32_t term) except NULL
    cdef PyObject* keep(self, int32_t term, object new) noexcept
    cdef object find_graph(self, int32_t graph)
    cdef str text(self, int32_t term)
    cdef PyObject* make(self, int32_t term) except NULL
    cdef object make_other(self, int kind, int32_t term)
    cdef object make_text(self, int32_t term, bint remember)
    cdef object foreign(self, int64_t row)
    cdef int refuse_generalized(self, int64_t row, const int32_t* ids) except -1
    cdef object statement(self, int64_t row)
    cdef object fill(self, int64_t row, PyObject* old)
    cdef tuple solution(self, int64_t row)
