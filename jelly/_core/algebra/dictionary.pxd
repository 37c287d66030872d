"""Ids that are equal for equal terms, for code that numbers rows."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from jelly._core.algebra.content cimport HashKey
from jelly._core.base.batch cimport Batch, BatchData
from jelly._core.base.claim cimport Claim

cdef enum:
    BLOCK = 64  # terms that are looked for at once


ctypedef struct TermTable:
    BatchData* terms
    HashKey key
    int blank  # the kind that blank nodes get here: another one keeps those of another dataset apart
    # A slot has an id plus 1 in as many low bits as there may be, 0 where it is free, and bits of the hash above.
    uint32_t* slots
    uint64_t mask
    uint64_t* hashes
    int64_t cap


cdef void drop_slots(TermTable* t) noexcept nogil
cdef int32_t find_leaf(TermTable* t, const BatchData* b, int32_t term) noexcept nogil
cdef int32_t id_of_term(TermTable* t, BatchData* b, int32_t term, int32_t* ids) noexcept nogil
cdef int ids_of_block(TermTable* t, BatchData* b, const int32_t* terms, int n, int32_t* ids) noexcept nogil
cdef int check_status(int status) except -1


cdef inline int32_t find_id(TermTable* t, BatchData* b, int32_t term, int32_t* ids) noexcept nogil:
    """id_of_term, without a call if the id is known, as it is for most terms of rows."""
    return ids[term] if ids[term] >= 0 else id_of_term(t, b, term, ids)


cdef class TermDictionary:
    cdef Batch terms
    cdef TermTable table
    cdef Claim claimed

    cdef object take(self, Batch batch)
