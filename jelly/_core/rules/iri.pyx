"""IRIs by RFC 3987, with a scheme (RDF 1.1 Concepts, section 3.2)."""

from libc.stdint cimport uint64_t

from jelly._core.base.characters cimport describe, hex_digit, is_digit, skip_digits, skip_scheme, width

# Classes of ASCII characters, a bit each: those below 64, and those from 64 on.
cdef extern from *:
    """
    #define JELLY_IRI_LETTERS 0x07FFFFFE07FFFFFEULL
    /* unreserved: letters, digits, - . _ ~; sub-delims: ! $ & ' ( ) * + , ; = */
    #define JELLY_IRI_NAME_LOW 0x2BFF7FD200000000ULL
    #define JELLY_IRI_NAME_HIGH (JELLY_IRI_LETTERS | 0x4000000080000000ULL)
    #define JELLY_BIT(c) (1ULL << ((c) & 63))
    """
    uint64_t NAME_LOW "JELLY_IRI_NAME_LOW"
    uint64_t NAME_HIGH "JELLY_IRI_NAME_HIGH"
    uint64_t BIT "JELLY_BIT"(int c) noexcept nogil


cdef inline bint is_hex(uint8_t byte) noexcept nogil:
    return hex_digit(byte) >= 0


cdef inline bint is_wide(int64_t c, bint private) noexcept nogil:
    """ucschar, and iprivate where that is allowed: all but surrogates, controls and noncharacters."""
    if c >= 0x10000:
        if (c & 0xFFFF) >= 0xFFFE:
            return False
        return 0x10000 <= c < 0xE0000 or 0xE1000 <= c < 0xF0000 or (private and c >= 0xF0000)
    return 0xA0 <= c < 0xD800 or 0xF900 <= c < 0xFDD0 or 0xFDF0 <= c < 0xFFF0 or (private and 0xE000 <= c < 0xF900)


cdef const uint8_t* skip_class(
    const uint8_t* at, const uint8_t* end, uint64_t low, uint64_t high, bint private
) noexcept nogil:
    """The first character that is not in the classes, not a percent-encoded byte and not a ucschar."""
    cdef uint8_t byte
    while at < end:
        byte = at[0]
        if byte < 0x80:
            if ((high if byte & 0x40 else low) >> (byte & 63)) & 1:
                at += 1
            elif byte == 0x25 and end - at >= 3 and is_hex(at[1]) and is_hex(at[2]):
                at += 3
            else:
                return at
        elif is_wide(describe(at, end), private):
            at += width(byte)
        else:
            return at
    return end


cdef bint is_ipv6(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """IPv6address: groups of up to four hexadecimal digits, one "::" at most, the last two perhaps as IPv4."""
    cdef int groups = 0
    cdef int digits, number, parts
    cdef bint gap = False
    cdef const uint8_t* begin
    if end - at >= 2 and at[0] == 0x3A and at[1] == 0x3A:
        gap = True
        at += 2
    while at < end:
        begin = at
        digits = 0
        while at < end and is_hex(at[0]):
            at += 1
            digits += 1
        if at < end and at[0] == 0x2E:
            # IPv4 at the end
            at = begin
            for parts in range(4):
                number = digits = 0
                while at < end and is_digit(at[0]) and digits < 3:
                    number = 10 * number + at[0] - 0x30
                    at += 1
                    digits += 1
                if digits == 0 or number > 255 or (digits > 1 and (at - digits)[0] == 0x30):
                    return False
                if parts < 3:
                    if at == end or at[0] != 0x2E:
                        return False
                    at += 1
            groups += 2
            return at == end and (groups == 8 if not gap else groups < 8)
        if digits == 0 or digits > 4:
            return False
        groups += 1
        if at == end:
            break
        if at[0] != 0x3A:
            return False
        at += 1
        if at == end:
            return False
        if at[0] == 0x3A:
            if gap:
                return False
            gap = True
            at += 1
    return groups == 8 if not gap else groups < 8


cdef const uint8_t* skip_authority(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """End of userinfo, host and port."""
    cdef const uint8_t* host = skip_class(at, end, NAME_LOW | BIT(0x3A), NAME_HIGH, False)
    cdef const uint8_t* begin
    if host < end and host[0] == 0x40:
        at = host + 1
    if at < end and at[0] == 0x5B:
        begin = at
        while at < end and at[0] != 0x5D:
            at += 1
        if at == end:
            return begin
        if begin[1] | 0x20 == 0x76:
            # IPvFuture
            host = begin + 2
            while host < at and is_hex(host[0]):
                host += 1
            if host == begin + 2 or host[0] != 0x2E or host + 1 == at:
                return begin
            host += 1
            while host < at and host[0] != 0x25 and skip_class(
                host, host + 1, NAME_LOW | BIT(0x3A), NAME_HIGH, False
            ) > host:
                host += 1
            if host < at:
                return begin
        elif not is_ipv6(begin + 1, at):
            return begin
        at += 1
    else:
        at = skip_class(at, end, NAME_LOW, NAME_HIGH, False)
    if at < end and at[0] == 0x3A:
        at = skip_digits(at + 1, end)
    return at


cdef int64_t find_iri_fault(const uint8_t* text, int64_t n) noexcept nogil:
    """Offset of the first byte that makes a UTF-8 text not an IRI; -1 if it is one. 0: it has no scheme."""
    cdef const uint8_t* end = text + n
    cdef const uint8_t* at = skip_scheme(text, end)
    cdef uint64_t low = NAME_LOW | BIT(0x3A) | BIT(0x2F)  # pchar and /
    cdef uint64_t high = NAME_HIGH | BIT(0x40)
    if at == NULL:
        return 0
    if end - at >= 2 and at[0] == 0x2F and at[1] == 0x2F:
        at = skip_authority(at + 2, end)
        if at < end and at[0] != 0x2F and at[0] != 0x3F and at[0] != 0x23:
            return at - text
    at = skip_class(at, end, low, high, False)
    if at < end and at[0] == 0x3F:
        at = skip_class(at + 1, end, low | BIT(0x3F), high, True)
    if at < end and at[0] == 0x23:
        at = skip_class(at + 1, end, low | BIT(0x3F), high, False)
    return -1 if at == end else at - text
