"""Batches to frames of columns (Jelly-RDF 1.2), without the GIL. The layout is not final."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport BatchData
from jelly._core.jelly.encoder_state cimport EncoderState

cdef int pin_term(EncoderState* e, int slot, int32_t term) noexcept nogil
cdef int pin_tag(EncoderState* e, int32_t tag) noexcept nogil
cdef void release_entries(EncoderState* e) noexcept nogil
cdef int drop_prefixes(EncoderState* e) noexcept nogil
cdef int needed_rdf_version(BatchData* b) noexcept nogil
cdef int end_column_frames(EncoderState* e, int64_t row, int64_t limit, int64_t* bound) noexcept nogil
cdef int put_column_namespace(EncoderState* e, int32_t name, int32_t iri) noexcept nogil
cdef int put_columns(EncoderState* e, int64_t* row, int64_t end, bint ends) noexcept nogil
cdef int end_columns(EncoderState* e, BatchData* meta, int64_t frame) noexcept nogil
cdef bint is_frame_open(EncoderState* e) noexcept nogil
cdef void announce(EncoderState* e) noexcept nogil
cdef int finish_columns(EncoderState* e) noexcept nogil
cdef void start_columns(EncoderState* e) noexcept nogil
cdef void free_columns_out(EncoderState* e) noexcept nogil
cdef bint columns_failed(EncoderState* e) noexcept nogil
