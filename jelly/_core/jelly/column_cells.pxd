"""The values of a column of Jelly-RDF 1.2, and the cells that its layout makes of them. The layout is not final."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.protobuf cimport WIRE_LEN, Reader, skip_any, take_span, take_varint
from jelly._core.jelly.column_schema cimport Numbers
from jelly._core.jelly.decode_state cimport DecoderState


cdef int64_t take_number32(Reader* r) noexcept nogil
cdef int64_t next_number(Numbers* list) noexcept nogil
cdef int64_t count_runs(Numbers layouts) noexcept nogil
cdef int check_layout(DecoderState* d, int slot) noexcept nogil
cdef int fill(DecoderState* d, int slot, int32_t* out, int64_t n) noexcept nogil


cdef inline int64_t take_number(Numbers* list) noexcept nogil:
    """The next value of the list; -1 if there is none, or if it is malformed."""
    cdef const uint8_t* at = list.part.at
    cdef int64_t left = list.part.end - at
    if left > 0 and at[0] < 0x80:
        list.part.at = at + 1
        return at[0]
    if left > 1 and at[1] < 0x80:
        list.part.at = at + 2
        return (at[0] & 0x7F) | <int64_t>at[1] << 7
    return next_number(list)


cdef inline bint take_item(Numbers* list, Reader* item) noexcept nogil:
    """The next string or message of the list; False if there is none."""
    cdef int64_t tag
    while list.rest.at < list.rest.end:
        tag = take_varint(&list.rest)
        if tag == (list.field << 3 | WIRE_LEN):
            return take_span(&list.rest, item) == 0
        if skip_any(&list.rest, tag) < 0:
            return False
    return False
