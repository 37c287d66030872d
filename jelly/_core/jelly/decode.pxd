"""Jelly frames to Batches: rows, lookup entries and statements, without the GIL."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.decode_state cimport DecoderState


cdef int run(DecoderState* d) noexcept nogil
# What the columns share with the rows.
cdef int malformed(DecoderState* d, Reader* r) noexcept nogil
cdef int32_t find_tag(DecoderState* d, const uint8_t* at, int64_t n, int kind) noexcept nogil
cdef int32_t read_bnode(DecoderState* d, Reader* r) noexcept nogil
cdef int32_t jelly_read_term(DecoderState* d, int kind, Reader* r, int slot, int depth) noexcept nogil
cdef int read_namespace(DecoderState* d, Reader* r, int op) noexcept nogil
cdef int read_metadata(DecoderState* d, Reader* r) noexcept nogil
