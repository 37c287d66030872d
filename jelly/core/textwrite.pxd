"""A Batch as N-Triples and N-Quads: lengths first, so that the bytes are then written without a test."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly.core.batch cimport Arena
from jelly.core.fault cimport Fault


ctypedef struct Lengths:
    Arena* batch
    int64_t* of_term  # bytes of each term as written; 0: not known yet. calloc'd by the caller, n_terms items
    bint quads
    Fault fault


cdef int64_t len_term(Lengths* t, int32_t term, int depth) noexcept nogil
cdef uint8_t* put_term(Lengths* t, uint8_t* out, int32_t term) noexcept nogil
cdef int64_t len_rows(Lengths* t, int64_t* row, int64_t limit) noexcept nogil
cdef void put_rows(Lengths* t, uint8_t* out, int64_t row, int64_t end) noexcept nogil
