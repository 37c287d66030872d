"""Protocol Buffers wire format: a Reader of two pointers and a growing Writer. Independent of message types."""

from libc.stdlib cimport realloc
from libc.string cimport memmove


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


cdef int skip_nested(Reader* r, int64_t tag, int depth) noexcept nogil:
    cdef int64_t inner
    if tag & 7 != WIRE_GROUP or tag < 8:
        return skip_field(r, tag)
    if depth == MAX_GROUPS:
        return -1
    while True:
        inner = take_varint(r)
        if inner == tag + WIRE_GROUP_END - WIRE_GROUP:
            return 0
        if skip_nested(r, inner, depth + 1) < 0:
            return -1


cdef int skip_any(Reader* r, int64_t tag) noexcept nogil:
    """Step over the value of an unknown field, or over a group of proto2 to its end tag. -1 if malformed."""
    return skip_nested(r, tag, 0)


cdef tuple texts_of(const Writer* w):
    """The texts that were written, each with its length before it."""
    cdef Reader r, text
    found = []
    r.at = w.buf
    r.end = r.at + w.n
    while r.at < r.end and take_span(&r, &text) == 0:
        found.append(bytes_of(&text).decode())
    return tuple(found)


# Test hooks, and lengths of frames for Python.

def _take_varint(bytes data):
    """The value and the number of bytes read; the value is -1 if the varint is malformed."""
    cdef Reader r = reader_of(data)
    value = take_varint(&r)
    return value, r.at - <const uint8_t*>data


def _take_span(bytes data):
    """The bytes of a length-prefixed span, or None if it is cut off."""
    cdef Reader r = reader_of(data)
    cdef Reader sub
    return bytes_of(&sub) if take_span(&r, &sub) == 0 else None


def _put_varint(uint64_t value):
    """The varint of `value` (0 to 2**64 - 1), checked against its measured length."""
    cdef uint8_t buf[MAX_VARINT]
    cdef Writer w
    w.buf = buf
    w.n = 0
    put_varint(&w, value)
    if w.n != len_varint(value):
        raise AssertionError("len_varint and put_varint differ")
    return (<const char*>buf)[:w.n]
