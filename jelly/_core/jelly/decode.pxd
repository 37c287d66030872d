"""Jelly frames to Batches: rows, lookup entries and statements, without the GIL."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport NO_TERM, len_of, text_of
from jelly._core.base.constants cimport is_tag_datatype, is_xsd_string
from jelly._core.base.fault cimport LANG_DATATYPE, fail
from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.decode_state cimport DecoderState
from jelly._core.jelly.lookup cimport find_datatype
from jelly._core.jelly.unusual cimport checked


cdef int run(DecoderState* d) noexcept nogil
cdef int begin_frame(DecoderState* d) noexcept nogil
# What the columns share with the rows.
cdef int malformed(DecoderState* d, Reader* r) noexcept nogil
cdef int32_t find_language(DecoderState* d, Reader* tag, int64_t direction, const uint8_t* at) noexcept nogil
cdef int32_t read_bnode(DecoderState* d, Reader* r) noexcept nogil
cdef int32_t read_quoted(DecoderState* d, Reader* r, int depth) noexcept nogil
cdef int read_namespace(DecoderState* d, Reader* r, int op) noexcept nogil
cdef int add_operation(DecoderState* d, int op, int32_t s, int32_t p, int32_t o, int32_t g) noexcept nogil


cdef inline int32_t find_type(DecoderState* d, int64_t id, const uint8_t* at) noexcept nogil:
    """The term of a datatype. NO_TERM for xsd:string, whose literals are the plain ones (RDF 1.1 section 3.3): it is
    negative like an error."""
    cdef const uint8_t* text
    cdef int32_t term = checked(d, find_datatype(&d.t, d.b, id, &d.fault, at), at)
    cdef int64_t n
    if term < 0:
        return term
    text = text_of(d.b, term)
    n = len_of(d.b, term)
    if is_xsd_string(text, n):
        return NO_TERM
    if d.columnar and is_tag_datatype(text, n):
        return fail(&d.fault, LANG_DATATYPE, at)
    return term
