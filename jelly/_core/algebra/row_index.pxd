"""Numbers for rows by their hashes, in the order in which they are first seen."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from jelly._core.algebra.content cimport Hash128
from jelly._core.base.claim cimport Claim
from jelly._core.base.objects cimport Hold


cdef class RowIndex:
    # A slot has the number of a row plus 1 in the bits of the mask, and bits of its hash above; 0 where it is free.
    cdef uint32_t* slots
    cdef uint64_t mask
    cdef Hash128* rows
    cdef int64_t n
    cdef int64_t cap
    cdef Claim claimed

    cdef Hold enter(self, int64_t more)
    cdef int reserve(self, int64_t more) noexcept nogil
    cdef int64_t add_hash(self, const Hash128* hash) noexcept nogil
    cdef int64_t find_hash(self, const Hash128* hash) noexcept nogil


cdef object checked_hashes(object hashes)
cdef void prefetch_slot(RowIndex index, const Hash128* hash) noexcept nogil
