"""Counts the rows, parts and frames that a Decoder reads, in `DecoderState.counts`."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.decode_state cimport BYTES, ROWS, Counts, DecoderState, Parts


cdef int look_at_row(DecoderState* d, Reader row, Reader body, int field) noexcept nogil
cdef int note_metadata(DecoderState* d, Reader key, Reader value, int64_t size) noexcept nogil
cdef int note_frame(DecoderState* d) noexcept nogil


cdef inline bint skims(DecoderState* d) noexcept nogil:
    """Whether statements are counted and not decoded."""
    return d.counts != NULL and d.counts.skim


cdef inline bint wants_parts(DecoderState* d) noexcept nogil:
    return d.counts != NULL and d.counts.want_parts


cdef inline void add_rows(Counts* c, int field, int64_t n, int64_t size) noexcept nogil:
    c.all[ROWS + field] += n
    c.all[BYTES + field] += size


cdef inline void add_part(Parts* part, int64_t number, int64_t size) noexcept nogil:
    part.number += number
    part.bytes += size


cdef inline const uint8_t* begin_of(const uint8_t* at) noexcept nogil:
    """Where the tag of a field stands whose contents begin here: all bytes of a length but the last have the high bit."""
    at -= 2
    while at[0] >= 0x80:
        at -= 1
    return at


cdef inline int note_row(DecoderState* d, Reader row, Reader body, int field) noexcept nogil:
    """Count a row by its field, which is 0 where none is known."""
    add_rows(d.counts, field, 1, row.end - begin_of(row.at))
    if d.counts.want_places or d.counts.want_parts or d.restart.looking:
        return look_at_row(d, row, body, field)
    return 0
