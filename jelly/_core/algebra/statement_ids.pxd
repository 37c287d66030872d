"""Statements of many Batches as ids of one dictionary, in order."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.algebra.dictionary cimport TermDictionary
from jelly._core.base.batch cimport Batch


ctypedef struct Statement:
    int32_t ids[4]  # of terms; the last one is NO_TERM in the default graph


ctypedef struct Statements:
    Statement* rows
    int64_t n
    int64_t cap


cdef int need_rdf(Batch batch) except -1
cdef int take_statements(TermDictionary terms, Statements* into, Batch batch, int64_t row, int64_t end) except -1
cdef int sort_statements(Statements* rows, int32_t most) noexcept nogil
cdef int64_t drop_duplicates(Statements* rows) noexcept nogil


cdef inline int compare_statements(const Statement* x, const Statement* y) noexcept nogil:
    """Less than 0, 0 or more, as a statement comes before another, is equal or comes after it."""
    cdef int slot
    for slot in range(4):
        if x.ids[slot] != y.ids[slot]:
            return -1 if x.ids[slot] < y.ids[slot] else 1
    return 0
