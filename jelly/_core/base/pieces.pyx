"""Fields that are set again or come in pieces, merged as Protocol Buffers asks for it. Writers do not make such fields."""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from jelly._core.base.fault cimport MALFORMED, NO_MEMORY, OK
from jelly._core.base.protobuf cimport (
    WIRE_GROUP, WIRE_LEN, WIRE_VARINT, Writer, put_bytes, put_varint, skip_any, skip_field, take_low_bits, take_span,
    take_varint,
)


cdef void free_pieces(Pieces* pieces) noexcept nogil:
    cdef Piece* piece = pieces.first
    cdef Piece* after
    while piece != NULL:
        after = piece.next
        free(piece)
        piece = after
    pieces.first = NULL
    pieces.n = 0


cdef uint8_t* new_piece(Pieces* pieces, int64_t n, const uint8_t* row) noexcept nogil:
    """Memory that lasts until another `row` needs some; NULL where there is none."""
    cdef Piece* piece
    if pieces.row != row:
        free_pieces(pieces)
        pieces.row = row
    piece = <Piece*>malloc(sizeof(Piece) + n)
    if piece == NULL:
        return NULL
    piece.next = pieces.first
    pieces.first = piece
    pieces.n += n
    return <uint8_t*>(piece + 1)


cdef int gather(
    Pieces* pieces, Reader r, const uint32_t* fields, uint32_t strings, const uint8_t* row, Reader* span
) noexcept nogil:
    """The field that is set in a oneof, which has the `fields` of the message `r`; 0: none is. By types of the wire up to
    WIRE_LEN, bit n is field n.

    The last one counts. If it is a message that came in pieces with no other field of the oneof between them, `span` is
    their concatenation, which is what merging them means; of `strings`, which have the numbers too, the last one counts.
    Memory of an earlier `row` is freed. A negative code on a fault, and `span` then begins where it is.
    """
    cdef Reader begin = r
    cdef Reader value
    cdef int64_t tag
    cdef int64_t n = 0
    cdef int found = 0
    cdef int n_pieces = 0
    cdef uint8_t* to
    while r.at < r.end:
        value.at = r.at
        tag = take_varint(&r)
        if tag & 7 > WIRE_LEN or tag >> 3 > 31 or fields[tag & 7] >> (tag >> 3) & 1 == 0:
            if skip_any(&r, tag) < 0:
                span.at = r.at
                return MALFORMED
            continue
        if tag >> 3 != found or strings >> found & 1:
            found = <int>(tag >> 3)
            begin.at = value.at
            n = n_pieces = 0
        value.at = r.at
        if (take_span(&r, &value) if tag & 7 == WIRE_LEN else skip_field(&r, tag)) < 0:
            span.at = r.at
            return MALFORMED
        value.end = r.at
        n += value.end - value.at
        n_pieces += 1
        span[0] = value
    if n_pieces <= 1:
        return found
    to = new_piece(pieces, n, row)
    if to == NULL:
        return NO_MEMORY
    span.at = to
    span.end = to + n
    while begin.at < begin.end:
        tag = take_varint(&begin)
        if tag != (found << 3 | WIRE_LEN):
            skip_any(&begin, tag)
            continue
        take_span(&begin, &value)
        memcpy(to, value.at, value.end - value.at)
        to += value.end - value.at
    return found


cdef int simplify(Pieces* pieces, Reader r, const uint8_t* row, Reader* plain) noexcept nogil:
    """The message `r` without groups, and with the low 32 bits of numbers that take ten bytes, as `plain`.

    MALFORMED where it is, or where there is nothing to simplify. Memory of an earlier `row` is freed.
    """
    cdef Reader value
    cdef Writer w
    cdef int64_t tag, number
    cdef bint simpler = False
    w.buf = new_piece(pieces, r.end - r.at, row)
    w.n = 0
    if w.buf == NULL:
        return NO_MEMORY
    while r.at < r.end:
        value.at = r.at
        tag = take_varint(&r)
        if tag < 0:
            return MALFORMED
        if tag & 7 == WIRE_VARINT:
            number = take_varint(&r)
            if number < 0:
                number = take_low_bits(&r)
                simpler = True
            if tag < 8 or number < 0:
                return MALFORMED
            put_varint(&w, tag)
            put_varint(&w, number)
            continue
        if skip_any(&r, tag) < 0:
            return MALFORMED
        if tag & 7 == WIRE_GROUP:
            simpler = True
        else:
            put_bytes(&w, value.at, r.at - value.at)
    plain.at = w.buf
    plain.end = w.buf + w.n
    return OK if simpler else MALFORMED
