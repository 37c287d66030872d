"""Batches to Jelly frames: LRU lookup tables, repeated terms and ids of 0, without the GIL."""

from libc.stdint cimport int64_t

from jelly._core.jelly.encoder_state cimport EncoderState


cdef int encode_batch(EncoderState* e, int64_t* row) noexcept nogil
cdef int finish_patch(EncoderState* e) noexcept nogil
