"""Rare parts of decoding: fields that writers do not make, features that are not announced, terms of earlier Batches."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.decode_state cimport DecoderState


cdef int simplified(DecoderState* d, const uint8_t* begin, Reader* r, Reader* plain) noexcept nogil
cdef int check_announced(DecoderState* d, int feature, const uint8_t* at) noexcept nogil
cdef int gathered(DecoderState* d, Reader r, uint32_t fields, uint32_t strings, Reader* span) noexcept nogil
cdef int merge_terms(DecoderState* d, Reader r, int arity, Reader* spans, int* kinds) noexcept nogil
cdef int32_t repeat_term(DecoderState* d, int slot, const uint8_t* at) noexcept nogil
cdef int take_key(DecoderState* d, Reader r, Reader* key) noexcept nogil
