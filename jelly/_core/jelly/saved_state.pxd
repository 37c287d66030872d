"""Saves the state of a DecoderState between two frames as bytes, so that reading can start there later."""

from jelly._core.jelly.decode_state cimport DecoderState


cdef bytes save_state(DecoderState* d)
cdef int load_state(DecoderState* d, bytes data) except -1
cdef void forget_stream(DecoderState* d) noexcept nogil
cdef int begin_stream(DecoderState* d) noexcept nogil
cdef int make_columns(DecoderState* d) noexcept nogil
cdef bytes load_options(DecoderState* d, bytes data)
