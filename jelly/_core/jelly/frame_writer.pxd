"""Puts rows into frames and frames into bytes: options row, metadata, keyframes. Knows no term."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport BatchData
from jelly._core.base.protobuf cimport MAX_VARINT32, Writer, len_field, put_byte, put_varint
from jelly._core.jelly.encoder_state cimport EncoderState

cdef enum:
    # The head of a row: its tag, its length, the tag and length of its one field.
    ROW_HEAD = 2 + 2 * MAX_VARINT32


cdef void start_frame(EncoderState* e) noexcept nogil
cdef void put_row(EncoderState* e, uint8_t tag) noexcept nogil
cdef void end_graph(EncoderState* e) noexcept nogil
cdef int64_t find_place(EncoderState* e) noexcept nogil
cdef int end_frame(EncoderState* e, BatchData* meta, int64_t frame) noexcept nogil
cdef int split_frame(EncoderState* e, int64_t n, int64_t rows) noexcept nogil
cdef void forget_tables(EncoderState* e) noexcept nogil
cdef void restart_stream(EncoderState* e) noexcept nogil
cdef void release_frame(EncoderState* e) noexcept nogil
cdef void put_metadata(EncoderState* e, BatchData* a, int64_t frame) noexcept nogil
cdef void put_metadata_entry(
    Writer* w, const uint8_t* key, int64_t n_key, const uint8_t* value, int64_t n_value
) noexcept nogil


cdef inline void put_row_head(Writer* w, uint8_t tag, int64_t n) noexcept nogil:
    """Begin a row whose one field has `tag` and `n` bytes."""
    put_byte(w, pb.RDF_STREAM_FRAME_ROWS_TAG)
    put_varint(w, len_field(n))
    put_byte(w, tag)
    put_varint(w, n)
