"""Validation of UTF-8."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from jelly._core.base.batch cimport load_u64

cdef enum:
    # Number of ASCII bytes that one step skips.
    STEP = 8


cdef int64_t find_malformed(const uint8_t* at, int64_t n) noexcept nogil


cdef inline int64_t check_utf8(const uint8_t* at, int64_t n) noexcept nogil:
    """-1 if `n` bytes are UTF-8, else the offset of the first malformed sequence.

    Most texts are short and ASCII: they are looked at where they stand, eight bytes at a time, the last of them twice.
    """
    cdef uint64_t seen = 0
    cdef int64_t i = 0
    if not STEP <= n <= 16 * STEP:
        return find_malformed(at, n)
    while i < n - STEP:
        seen |= load_u64(at + i)
        i += STEP
    if (seen | load_u64(at + n - STEP)) & <uint64_t>0x8080808080808080:
        return find_malformed(at, n)
    return -1
