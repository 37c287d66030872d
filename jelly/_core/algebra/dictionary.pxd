"""Ids that are equal for equal terms, for code that numbers rows."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from jelly._core.algebra.content cimport HashKey
from jelly._core.base.batch cimport Batch, BatchData
from jelly._core.base.claim cimport Claim


ctypedef struct TermTable:
    BatchData* terms
    HashKey key
    # A slot has an id plus 1 in its low half, 0 where it is free, and bits of the hash in its high half.
    uint64_t* slots
    uint64_t mask
    uint64_t* hashes
    int64_t cap


cdef int32_t find_leaf(TermTable* t, BatchData* b, int32_t term) noexcept nogil
cdef int32_t id_of_term(TermTable* t, BatchData* b, int32_t term, int32_t* ids) noexcept nogil
cdef int check_status(int status) except -1


cdef class TermDictionary:
    cdef Batch terms
    cdef TermTable table
    cdef Claim claimed

    cdef object take(self, Batch batch)
