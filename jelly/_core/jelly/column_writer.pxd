"""The columns of a frame (Jelly-RDF 1.2): terms as runs, kinds, ids and strings."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.jelly.encoder_state cimport ColumnOut, EncoderState


cdef void clear_column(ColumnOut* c) noexcept nogil
cdef bint column_failed(ColumnOut* c) noexcept nogil
cdef void free_column(ColumnOut* c) noexcept nogil
cdef int put_column(EncoderState* e, int slot, const int32_t* ids, int64_t begin, int64_t end) noexcept nogil
cdef void put_lists(EncoderState* e, int slot, uint8_t tag) noexcept nogil
