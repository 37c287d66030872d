"""Python objects to Batches."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uintptr_t

from jelly._core.base.batch cimport Batch, Interner
from jelly._core.base.claim cimport Claim
from jelly._core.terms.term_adapter cimport TermAdapter


cdef enum:
    # Maximum bytes of text in the Batch of a BatchBuilder: far above the size that makes it full, so that a long literal
    # still fits.
    MAX_COLLECTED_TEXT = 1 << 30
    # With this many bytes of text it is full, however few its rows.
    ENOUGH_TEXT = 1 << 24


ctypedef struct RecentTerm:
    PyObject* term  # owned
    int32_t id


cdef tuple as_terms(object statement)


cdef class BatchBuilder:
    cdef Batch filled
    cdef Claim claimed
    cdef list waiting  # items taken from an iterator and not added yet
    cdef Interner index
    cdef RecentTerm* recent
    cdef uintptr_t recent_mask
    cdef int arity
    cdef TermAdapter library
    # The graph object of the last statement of the library, and its id.
    cdef object graph
    cdef int32_t graph_term

    cdef void forget(self) noexcept
    cdef void remember_more(self) noexcept
    cdef int empty(self) except -1
    cdef int32_t checked(self, int32_t term) except -1
    cdef int32_t intern(self, int kind, int32_t aux, object text) except -1

    cdef inline int32_t find(self, object term) except -1:
        """The id of a term object in the Batch."""
        cdef RecentTerm* slot = &self.recent[(<uintptr_t><PyObject*>term >> 4) & self.recent_mask]
        cdef int32_t id
        if slot.term == <PyObject*>term:
            return slot.id
        id = self.add_term(term)
        Py_INCREF(term)
        Py_XDECREF(slot.term)
        slot.term = <PyObject*>term
        slot.id = id
        return id

    cdef int32_t add_term(self, object term) except -1
    cdef int32_t add_foreign(self, object term, int kind) except -1
    cdef int32_t foreign_tag(self, object language, object direction) except -1
    cdef int32_t find_graph(self, object g) except? -1
    cdef int32_t name_of_graph(self, object g) except? -1
    cdef int64_t add_terms(self, object s, object p, object o, object g) except -1
    cpdef int64_t add(self, object item) except -1
    cdef int64_t add_item(self, object item) except -1
    cdef bint fill(self, int64_t rows) except -1
    cdef bint add_waiting(self, int64_t rows) except -1
