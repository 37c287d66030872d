"""Jelly-RDF 1.2: columns of terms to the rows of a Batch, without the GIL. The layout is not final."""

from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.decode_state cimport DecoderState


cdef int run_columns(DecoderState* d) noexcept nogil
cdef int read_entries(DecoderState* d, Reader r, int which) noexcept nogil
cdef int open_column(DecoderState* d, int slot) noexcept nogil
cdef int end_message(DecoderState* d) noexcept nogil
cdef void free_columns(DecoderState* d) noexcept nogil
