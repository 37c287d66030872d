"""Batches to Jelly frames: LRU lookup tables, repeated terms and ids of 0, without the GIL."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport CARRIED, BatchData, same_term
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


cdef inline bint is_repeated(EncoderState* e, int slot, int32_t last, int32_t term) noexcept nogil:
    """Whether a term equals the last one of its slot, though it may have another id. Kind and length tell most terms
    apart, without a call."""
    cdef BatchData* b = e.b
    if last == term:
        return True
    if last == CARRIED:
        return same_term(&e.carry, e.carried[slot], b, term)
    if last < 0 or term < 0 or b.kind[last] != b.kind[term]:
        return False
    if b.start[last + 1] - b.start[last] != b.start[term + 1] - b.start[term]:
        return False
    return same_term(b, last, b, term)
