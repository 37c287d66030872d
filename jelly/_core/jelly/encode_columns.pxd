"""Batches to frames of columns (Jelly-RDF 1.2), without the GIL. The layout is not final."""

from libc.stdint cimport int64_t

from jelly._core.base.batch cimport BatchData
from jelly._core.jelly.encoder_state cimport EncoderState


cdef int needed_rdf_version(BatchData* b) noexcept nogil
cdef int encode_columns(EncoderState* e, int64_t* row) noexcept nogil
cdef int end_columns(EncoderState* e, BatchData* meta, int64_t frame) noexcept nogil
cdef bint has_columns(EncoderState* e) noexcept nogil
cdef int finish_columns(EncoderState* e) noexcept nogil
cdef void start_columns(EncoderState* e) noexcept nogil
cdef void free_columns_out(EncoderState* e) noexcept nogil
cdef bint columns_failed(EncoderState* e) noexcept nogil
