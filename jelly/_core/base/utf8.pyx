"""UTF-8: validation, and characters by their numbers."""

from libc.string cimport memcpy

from jelly._core.base.protobuf cimport put_byte

cdef enum:
    # Number of ASCII bytes that one step skips.
    STEP = 8


cdef int64_t find_malformed(const uint8_t* at, int64_t n) noexcept nogil:
    """`check_utf8` of any text.

    Table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
    """
    cdef const uint8_t* begin = at
    cdef const uint8_t* end = at + n
    cdef uint64_t high = <uint64_t>0x8080808080808080
    cdef uint32_t first, last
    cdef uint8_t lead, low, top
    if 4 <= n < STEP:
        memcpy(&first, at, 4)
        memcpy(&last, end - 4, 4)
        if not (first | last) & <uint32_t>0x80808080:
            return -1
    while True:
        while end - at >= 2 * STEP:
            if (load_u64(at) | load_u64(at + STEP)) & high:
                break
            at += 2 * STEP
        if end - at >= STEP and not load_u64(at) & high:
            at += STEP
        while at < end and at[0] < 0x80:
            at += 1
        if at >= end:
            return -1
        # Texts that are not ASCII stay in this loop, without a test of eight bytes after each letter.
        while at < end and at[0] >= 0x80:
            lead = at[0]
            if lead < 0xE0:
                if lead < 0xC2 or end - at < 2 or at[1] & 0xC0 != 0x80:
                    return at - begin
                at += 2
            elif lead < 0xF0:
                low = 0xA0 if lead == 0xE0 else 0x80
                top = 0x9F if lead == 0xED else 0xBF
                if end - at < 3 or at[1] < low or at[1] > top or at[2] & 0xC0 != 0x80:
                    return at - begin
                at += 3
            else:
                low = 0x90 if lead == 0xF0 else 0x80
                top = 0x8F if lead == 0xF4 else 0xBF
                if (
                    lead > 0xF4
                    or end - at < 4
                    or at[1] < low
                    or at[1] > top
                    or at[2] & 0xC0 != 0x80
                    or at[3] & 0xC0 != 0x80
                ):
                    return at - begin
                at += 4


cdef void put_point(Writer* out, uint32_t point) noexcept nogil:
    """Append a character; there must be room for MAX_UTF8 bytes."""
    if point < 0x80:
        put_byte(out, <uint8_t>point)
        return
    if point < 0x800:
        put_byte(out, <uint8_t>(0xC0 | (point >> 6)))
    else:
        if point < 0x10000:
            put_byte(out, <uint8_t>(0xE0 | (point >> 12)))
        else:
            put_byte(out, <uint8_t>(0xF0 | (point >> 18)))
            put_byte(out, <uint8_t>(0x80 | ((point >> 12) & 0x3F)))
        put_byte(out, <uint8_t>(0x80 | ((point >> 6) & 0x3F)))
    put_byte(out, <uint8_t>(0x80 | (point & 0x3F)))


# Test hook.

def _check_utf8(bytes data, Py_ssize_t start=0):
    """Offset of the first byte of `data` from `start` on that is not UTF-8, or -1."""
    return check_utf8(<const uint8_t*>data + start, len(data) - start)
