"""Protocol Buffers wire format: a Reader of two pointers and a growing Writer. Independent of message types."""

from libc.stdlib cimport free, realloc
from libc.string cimport memmove, memset


cdef int grow_writer(Writer* w, int64_t need) noexcept nogil:
    cdef int64_t cap = w.cap if w.cap > 0 else 256
    cdef uint8_t* buf
    while cap - w.n < need:
        cap *= 2
    buf = <uint8_t*>realloc(w.buf, cap)
    if buf == NULL:
        w.failed = True
        return -1
    w.buf = buf
    w.cap = cap
    return 0


cdef void insert_length(Writer* w, int64_t begin) noexcept nogil:
    """Put the length of what has been written since `begin` in front of it, into the byte there and more if need be."""
    cdef int64_t size = w.n - begin
    cdef int64_t more = len_varint(size) - 1
    if w.failed or reserve(w, more) < 0:
        return
    if more > 0:
        memmove(w.buf + begin + more, w.buf + begin, size)
    w.n = begin - 1
    put_varint(w, size)
    w.n += size


cdef int64_t take_low_bits(Reader* r) noexcept nogil:
    """The low 32 bits of a varint of ten bytes, of which take_varint took nine. -1 if it is cut off or longer."""
    cdef uint32_t value = 0
    cdef int i
    if r.at >= r.end or r.at[0] >= 0x80:
        return -1
    for i in range(MAX_VARINT32):
        value |= <uint32_t>(r.at[i - 9] & 0x7F) << (7 * i)
    r.at += 1
    return value


cdef int skip_any(Reader* r, int64_t tag) noexcept nogil:
    """Step over the value of an unknown field, or over a group of proto2 to its end tag. -1 if malformed."""
    cdef int64_t open[MAX_GROUPS]
    cdef int depth = 1
    if tag & 7 != WIRE_GROUP or tag < 8:
        return skip_field(r, tag)
    open[0] = tag >> 3
    while depth > 0:
        tag = take_varint(r)
        if tag < 8:
            return -1
        if tag & 7 == WIRE_GROUP_END:
            depth -= 1
            if open[depth] != tag >> 3:
                return -1
        elif tag & 7 != WIRE_GROUP:
            if skip_field(r, tag) < 0:
                return -1
        elif depth == MAX_GROUPS:
            return -1
        else:
            open[depth] = tag >> 3
            depth += 1
    return 0


# Test hooks.

def _take_varint(bytes data):
    """The value and the number of bytes read; the value is -1 if the varint is malformed."""
    cdef Reader r
    r.at = <const uint8_t*>data
    r.end = r.at + len(data)
    value = take_varint(&r)
    return value, r.at - <const uint8_t*>data


def _take_span(bytes data):
    """The bytes of a length-prefixed span, or None if it is cut off."""
    cdef Reader r, sub
    r.at = <const uint8_t*>data
    r.end = r.at + len(data)
    if take_span(&r, &sub) < 0:
        return None
    return (<const char*>sub.at)[:sub.end - sub.at]


def _put_varint(value):
    """The varint of `value` (0 to 2**64 - 1), checked against its measured length."""
    cdef Writer w
    cdef uint64_t v = value
    memset(&w, 0, sizeof(Writer))
    write_varint(&w, v)
    out = (<const char*>w.buf)[:w.n]
    free(w.buf)
    if len(out) != len_varint(v):
        raise AssertionError("len_varint and put_varint differ")
    return out
