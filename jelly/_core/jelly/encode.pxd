"""Batches to Jelly frames: LRU lookup tables, repeated terms and ids of 0, without the GIL."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.jelly.encoder_state cimport EncoderState


cdef int encode_rows(EncoderState* e, int64_t* row) noexcept nogil
cdef int finish_patch(EncoderState* e) noexcept nogil


cdef inline int64_t split_iri(const uint8_t* text, int64_t n) noexcept nogil:
    """Bytes of the prefix: up to the last #, else the last /, else the last colon."""
    cdef int64_t i = n
    cdef int64_t slash = 0
    cdef int64_t colon = 0
    while i > 0:
        i -= 1
        if text[i] == 35:  # '#'
            return i + 1
        if text[i] == 47:  # '/'
            if slash == 0:
                slash = i + 1
        elif text[i] == 58 and colon == 0:  # ':'
            colon = i + 1
    return slash if slash > 0 else colon
