"""Jelly-RDF 1.2: columns of terms to the rows of a Batch, without the GIL. The layout is not final."""

from jelly._core.jelly.decode_state cimport DecoderState


cdef int run_columns(DecoderState* d) noexcept nogil
cdef int end_message(DecoderState* d) noexcept nogil
cdef void free_columns(DecoderState* d) noexcept nogil
