"""Jelly frames to Batches: rows, lookup entries and statements, without the GIL."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport NO_TERM, len_of
from jelly._core.base.constants cimport is_tag_datatype, is_xsd_string
from jelly._core.base.fault cimport BAD_UTF8, DATATYPE_ID, LANG_DATATYPE, NAME_ENTRY, fail
from jelly._core.base.protobuf cimport Reader
from jelly._core.base.utf8 cimport check_utf8
from jelly._core.jelly.decode_state cimport DecoderState
from jelly._core.jelly.lookup cimport Table, find_datatype, set_entry
from jelly._core.jelly.unusual cimport checked


cdef int run(DecoderState* d) noexcept nogil
cdef int begin_frame(DecoderState* d) noexcept nogil
# What the columns share with the rows.
cdef int malformed(DecoderState* d, Reader* r) noexcept nogil
cdef int32_t find_language(DecoderState* d, Reader* tag, int64_t direction, const uint8_t* at) noexcept nogil
cdef int32_t read_bnode(DecoderState* d, Reader* r) noexcept nogil
cdef int32_t read_quoted(DecoderState* d, Reader* r, int depth) noexcept nogil
cdef int read_namespace(DecoderState* d, Reader* r, int op) noexcept nogil


cdef inline Table* table_of(DecoderState* d, int which) noexcept nogil:
    """That of names, prefixes or datatypes, which come in this order everywhere."""
    return &d.t.names if which == 0 else &d.t.prefixes if which == 1 else &d.t.datatypes


cdef inline int keep_entry(DecoderState* d, int which, int64_t id, Reader* value, const uint8_t* at) noexcept nogil:
    cdef int64_t n = value.end - value.at
    if check_utf8(value.at, n) >= 0:
        return fail(&d.fault, BAD_UTF8, value.at)
    d.t.serial += 1
    return set_entry(table_of(d, which), id, value.at, n, d.t.serial, NAME_ENTRY - which, &d.fault, at)


cdef inline int32_t find_type(DecoderState* d, int64_t id, const uint8_t* at) noexcept nogil:
    """The term of a datatype. NO_TERM for xsd:string, whose literals are the plain ones (RDF 1.1 section 3.3): it is
    negative like an error."""
    cdef const uint8_t* text
    cdef int32_t term
    cdef int64_t n
    if id == 0:
        return fail(&d.fault, DATATYPE_ID, at, 0, d.t.datatypes.size)
    term = checked(d, find_datatype(&d.t, d.b, id, &d.fault, at), at)
    if term < 0:
        return term
    text = d.b.text + d.b.start[term]
    n = len_of(d.b, term)
    if is_xsd_string(text, n):
        return NO_TERM
    if d.columnar and is_tag_datatype(text, n):
        return fail(&d.fault, LANG_DATATYPE, at)
    return term
