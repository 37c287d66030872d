"""Statements of many Batches as ids of one dictionary, in order."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.algebra.dictionary cimport TermDictionary
from jelly._core.base.batch cimport Batch


ctypedef struct Statement:
    # Ids of terms; g is NO_TERM in the default graph.
    int32_t s
    int32_t p
    int32_t o
    int32_t g


ctypedef struct Statements:
    Statement* rows
    int64_t n
    int64_t cap


cdef int need_rdf(Batch batch) except -1
cdef int take_statements(TermDictionary terms, Statements* into, Batch batch, int64_t row, int64_t end) except -1
cdef int sort_statements(Statements* rows, int32_t most) noexcept nogil
cdef int64_t drop_duplicates(Statements* rows) noexcept nogil


cdef inline int32_t slot_of(const Statement* row, int slot) noexcept nogil:
    return row.s if slot == 0 else row.p if slot == 1 else row.o if slot == 2 else row.g


cdef inline int compare_statements(const Statement* x, const Statement* y) noexcept nogil:
    """Less than 0, 0 or more, as a statement comes before another, is equal or comes after it."""
    cdef int slot
    for slot in range(4):
        if slot_of(x, slot) != slot_of(y, slot):
            return -1 if slot_of(x, slot) < slot_of(y, slot) else 1
    return 0
