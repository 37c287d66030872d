"""Jelly frames to Batches: rows, lookup entries and statements, without the GIL."""

from jelly._core.jelly.decode_state cimport DecoderState


cdef int run(DecoderState* d) noexcept nogil
