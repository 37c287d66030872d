"""UTF-8: validation, and characters by their numbers."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from jelly._core.base.batch cimport load_u64
from jelly._core.base.fault cimport BAD_UTF8, OK, Fault, fail
from jelly._core.base.protobuf cimport Reader, Writer


cdef enum:
    # Bytes of a code point.
    MAX_UTF8 = 4


cdef int64_t find_malformed(const uint8_t* at, int64_t n) noexcept nogil
cdef void put_point(Writer* out, uint32_t point) noexcept nogil


cdef inline bint is_ascii(const uint8_t* at, int64_t n) noexcept nogil:
    """Whether `n` bytes, eight or more, are ASCII: eight at a time, the last of them twice."""
    cdef uint64_t seen = load_u64(at + n - 8)
    cdef int64_t i
    for i in range(0, n - 8, 8):
        seen |= load_u64(at + i)
    return not seen & <uint64_t>0x8080808080808080


cdef inline int64_t check_utf8(const uint8_t* at, int64_t n) noexcept nogil:
    """-1 if `n` bytes are UTF-8, else the offset of the first malformed sequence.

    Most texts are short and ASCII: these are looked at without a call.
    """
    if 8 <= n <= 128 and is_ascii(at, n):
        return -1
    return find_malformed(at, n)


cdef inline int need_utf8(const Reader* text, Fault* fault) noexcept nogil:
    """Note a fault where a text is not UTF-8."""
    return OK if check_utf8(text.at, text.end - text.at) < 0 else fail(fault, BAD_UTF8, text.at)
