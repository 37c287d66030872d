"""The parts of a frame of columns (Jelly-RDF 1.2): packed lookup entries, and terms as runs, kinds, ids and strings."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.protobuf cimport Writer, put_byte, put_bytes, put_varint
from jelly._core.jelly.encoder_state cimport ColumnMemo, ColumnOut, EncoderState, EntriesOut
from jelly._core.jelly.lookup cimport Lru


cdef int put_entries(EncoderState* e, EntriesOut* out) noexcept nogil
cdef int put_packed(EntriesOut* out, uint8_t tag, Lru* table, int32_t id, const uint8_t* text, int64_t n) noexcept nogil
cdef void clear_entries(EntriesOut* out) noexcept nogil
cdef void free_entries(EntriesOut* out) noexcept nogil
cdef void clear_column(ColumnOut* c) noexcept nogil
cdef void free_column(ColumnOut* c) noexcept nogil
cdef int put_string(Writer* w, uint8_t tag, BatchData* b, int32_t term) noexcept nogil
cdef int put_length(Writer* w, int64_t begin) noexcept nogil
cdef int put_inner_iri(Writer* w, uint32_t tag, int32_t* last_prefix, int32_t* last_name, ColumnMemo* memo) noexcept nogil
cdef int put_column(EncoderState* e, int slot, const int32_t* ids, int64_t begin, int64_t end) noexcept nogil
cdef int put_lists(EncoderState* e, int slot) noexcept nogil


cdef inline int64_t len_text(EncoderState* e, int32_t term) noexcept nogil:
    return e.b.start[term + 1] - e.b.start[term]


cdef inline void put_part(Writer* w, int field, const uint8_t* data, int64_t n) noexcept nogil:
    """A list or bytes, with a tag of one byte, if there are any."""
    if n > 0:
        put_byte(w, <uint8_t>(field << 3 | 2))
        put_varint(w, n)
        put_bytes(w, data, n)
