"""Rare parts of decoding: options, fields that writers do not make, features that are not announced, terms of earlier Batches."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport BY_FRAME, fail
from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.decode_state cimport META_ENTRIES, META_TEXT, DecoderState


cdef int read_options(DecoderState* d, Reader* r) noexcept nogil
cdef int read_metadata(DecoderState* d, Reader* r) noexcept nogil
cdef int simplified(DecoderState* d, const uint8_t* begin, Reader* r) noexcept nogil
cdef int check_announced(DecoderState* d, int feature, const uint8_t* at) noexcept nogil
cdef int gathered(DecoderState* d, Reader r, uint32_t fields, uint32_t strings, Reader* span) noexcept nogil
cdef int merge_terms(DecoderState* d, Reader r, int arity, Reader* spans, int* kinds) noexcept nogil
cdef int32_t repeat_term(DecoderState* d, int slot, const uint8_t* at) noexcept nogil
cdef int take_key(DecoderState* d, Reader r, Reader* key) noexcept nogil


cdef inline int32_t checked(DecoderState* d, int32_t term, const uint8_t* at) noexcept nogil:
    """Note the fault where adding a term failed."""
    if term < 0:
        return fail(&d.fault, term, at, d.text_limit, BY_FRAME)
    return term


cdef inline bint much_metadata(BatchData* b) noexcept nogil:
    return b.n_meta >= META_ENTRIES or b.n_meta_text >= META_TEXT


cdef inline int64_t offset_of(DecoderState* d, const uint8_t* at) noexcept nogil:
    """Where in the stream this stands; what came in pieces, which were put together elsewhere: where its row ends."""
    return d.frame_offset + ((at if d.frame_start <= at <= d.frame.end else d.frame.at) - d.frame_start)
