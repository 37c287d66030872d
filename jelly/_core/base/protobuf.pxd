"""Protocol Buffers wire format: a Reader of two pointers and a growing Writer. Independent of message types."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef enum:
    WIRE_VARINT = 0
    WIRE_I64 = 1
    WIRE_LEN = 2
    WIRE_GROUP = 3
    WIRE_GROUP_END = 4
    WIRE_I32 = 5

cdef enum:
    # Maximum bytes of a varint: 10 for a 64-bit value, 5 for a 32-bit value.
    MAX_VARINT = 10
    # Maximum bytes written for a field tag, a length or an id.
    MAX_VARINT32 = 5
    # Groups in groups, as in other implementations.
    MAX_GROUPS = 100


ctypedef struct Reader:
    const uint8_t* at
    const uint8_t* end


cdef inline int64_t take_varint(Reader* r) noexcept nogil:
    """The next varint, or -1 if it is cut off, longer than 10 bytes or above 2**63 - 1."""
    cdef uint64_t value
    cdef uint8_t byte
    cdef int shift
    if r.at >= r.end:
        return -1
    byte = r.at[0]
    r.at += 1
    if byte < 0x80:
        return byte
    value = byte & 0x7F
    shift = 7
    while shift < 63:
        if r.at >= r.end:
            return -1
        byte = r.at[0]
        r.at += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return <int64_t>value
        shift += 7
    return -1


cdef inline int take_span(Reader* r, Reader* sub) noexcept nogil:
    """Read a length, and that number of bytes into `sub`. -1 if bytes are missing: then it has none."""
    cdef int64_t n = take_varint(r)
    if n < 0 or n > r.end - r.at:
        sub.at = sub.end = r.at
        return -1
    sub.at = r.at
    sub.end = r.at + n
    r.at = sub.end
    return 0


cdef inline int skip_varint(Reader* r) noexcept nogil:
    """Step over a varint of up to 10 bytes; the value may have all 64 bits. -1 if malformed."""
    cdef int _
    for _ in range(MAX_VARINT):
        if r.at >= r.end:
            return -1
        r.at += 1
        if (r.at - 1)[0] < 0x80:
            return 0
    return -1


cdef inline int skip_field(Reader* r, int64_t tag) noexcept nogil:
    """Step over the value of an unknown field. -1 if it or its tag is malformed, and for groups: see skip_any."""
    cdef Reader ignored
    cdef int kind = <int>(tag & 7)
    if tag < 8:
        return -1
    if kind == WIRE_VARINT:
        return skip_varint(r)
    if kind == WIRE_LEN:
        return take_span(r, &ignored)
    cdef int n = 8 if kind == WIRE_I64 else 4 if kind == WIRE_I32 else 0
    if n == 0 or n > r.end - r.at:
        return -1
    r.at += n
    return 0


# What writers do not make. Hot loops leave these to cold functions: a call would keep their Reader in memory.

cdef int64_t take_low_bits(Reader* r) noexcept nogil
cdef int skip_any(Reader* r, int64_t tag) noexcept nogil


cdef inline int skip_fields(Reader* r) noexcept nogil:
    """Step over all remaining fields. -1 if malformed."""
    cdef int64_t tag
    while r.at < r.end:
        tag = take_varint(r)
        if skip_any(r, tag) < 0:
            return -1
    return 0


ctypedef struct Writer:
    uint8_t* buf
    int64_t n
    int64_t cap
    bint failed  # there was no memory for some of the bytes


cdef int grow_writer(Writer* w, int64_t need) noexcept nogil
cdef void insert_length(Writer* w, int64_t begin) noexcept nogil


cdef inline int reserve(Writer* w, int64_t need) noexcept nogil:
    """Make room for `need` more bytes. -1 if there is no memory."""
    if need <= w.cap - w.n:
        return 0
    return grow_writer(w, need)


# Reserve room before calling a put_* function.

cdef inline void put_byte(Writer* w, uint8_t byte) noexcept nogil:
    w.buf[w.n] = byte
    w.n += 1


cdef inline void put_varint(Writer* w, uint64_t value) noexcept nogil:
    while value >= 0x80:
        w.buf[w.n] = <uint8_t>(value | 0x80)
        w.n += 1
        value >>= 7
    w.buf[w.n] = <uint8_t>value
    w.n += 1


cdef inline void put_bytes(Writer* w, const uint8_t* data, int64_t n) noexcept nogil:
    if n:
        memcpy(w.buf + w.n, data, n)
        w.n += n


cdef inline int len_varint(uint64_t value) noexcept nogil:
    """Bytes that put_varint writes."""
    cdef int n = 1
    while value >= 0x80:
        value >>= 7
        n += 1
    return n


cdef inline int64_t len_field(int64_t n) noexcept nogil:
    """Bytes of a field with a one-byte tag, a length and `n` bytes."""
    return 1 + len_varint(n) + n


cdef inline int len_number(uint64_t value) noexcept nogil:
    """Bytes of a number field with a one-byte tag, which is left out where it is 0."""
    return 1 + len_varint(value) if value else 0


cdef inline void put_number(Writer* w, uint8_t tag, uint64_t value) noexcept nogil:
    if value:
        put_byte(w, tag)
        put_varint(w, value)


cdef inline void put_field(Writer* w, uint8_t tag, const uint8_t* data, int64_t n) noexcept nogil:
    put_byte(w, tag)
    put_varint(w, n)
    put_bytes(w, data, n)


# The write_* functions make room themselves. Where there is no memory, they write nothing; `failed` tells at the end.

cdef inline void write_byte(Writer* w, uint8_t byte) noexcept nogil:
    if reserve(w, 1) == 0:
        put_byte(w, byte)


cdef inline void write_varint(Writer* w, uint64_t value) noexcept nogil:
    if reserve(w, MAX_VARINT) == 0:
        put_varint(w, value)


cdef inline void write_bytes(Writer* w, const uint8_t* data, int64_t n) noexcept nogil:
    if reserve(w, n) == 0:
        put_bytes(w, data, n)


cdef inline void write_number(Writer* w, uint8_t tag, uint64_t value) noexcept nogil:
    if reserve(w, 1 + MAX_VARINT) == 0:
        put_number(w, tag, value)


cdef inline void write_field(Writer* w, uint8_t tag, const uint8_t* data, int64_t n) noexcept nogil:
    if reserve(w, 1 + MAX_VARINT + n) == 0:
        put_field(w, tag, data, n)


# From and to bytes of Python.

cdef inline Reader reader_of(bytes data) noexcept:
    """A Reader of bytes, which must stay where they are."""
    cdef Reader r
    r.at = <const uint8_t*><const char*>data
    r.end = r.at + len(data)
    return r


cdef inline bytes bytes_of(const Reader* r):
    return (<const char*>r.at)[:r.end - r.at]


cdef inline bytes written(const Writer* w):
    return (<const char*>w.buf)[:w.n] if w.n else b""


cdef tuple texts_of(const Writer* w)


cdef inline void write_data(Writer* w, uint8_t tag, bytes data) noexcept:
    """`write_field` of bytes."""
    write_field(w, tag, <const uint8_t*><const char*>data, len(data))
