"""Character classes of N-Triples, and searches for the end of a run of bytes, eight bytes at a time."""

import sys

from jelly._core.base.utf8 cimport check_utf8

if sys.byteorder != "little":
    raise ImportError("jelly runs on little-endian processors only, and this one is big-endian")
if sys.maxsize < 2**63 - 1:
    # Sizes of the input are 64-bit numbers, which memory of 32 bits cannot be asked for.
    raise ImportError("jelly runs on 64-bit processors and Pythons only, and this one has 32 bits")


cdef int64_t describe(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The code point at `at`, or a negative result: LINE_END, INPUT_END, or INVALID minus the byte."""
    cdef int64_t n, i
    cdef int64_t point
    if at >= end:
        return INPUT_END
    if is_line_end(at[0]):
        return LINE_END
    n = width(at[0])
    if n > end - at:
        # Cut off, or followed by something else?
        for i in range(1, end - at):
            if at[i] & 0xC0 != 0x80:
                return INVALID - at[0]
        return INPUT_END if 0xC2 <= at[0] <= 0xF4 else INVALID - at[0]
    if check_utf8(at, n) >= 0:
        return INVALID - at[0]
    if n == 1:
        return at[0]
    point = at[0] & (0x7F >> n)
    for i in range(1, n):
        point = (point << 6) | (at[i] & 0x3F)
    return point


cdef int64_t format_integer(int64_t value, uint8_t* out) noexcept nogil:
    """The digits of an integer; how many bytes."""
    cdef uint8_t digits[20]
    cdef uint64_t left = <uint64_t>value if value >= 0 else 0 - <uint64_t>value
    cdef int64_t n = 0
    cdef int i = 0
    while True:
        digits[i] = <uint8_t>(0x30 + left % 10)
        i += 1
        left //= 10
        if left == 0:
            break
    if value < 0:
        out[0] = 0x2D
        n = 1
    while i > 0:
        i -= 1
        out[n] = digits[i]
        n += 1
    return n


cdef const uint8_t* skip_scheme(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Past the scheme of an IRI and its colon (RFC 3986, section 3.1); NULL where it has none."""
    cdef const uint8_t* begin = at
    while at < end and (
        is_letter(at[0]) or (at > begin and (is_digit(at[0]) or at[0] == 0x2B or at[0] == 0x2D or at[0] == 0x2E))
    ):
        at += 1
    return at + 1 if begin < at < end and at[0] == 0x3A else NULL


cdef const uint8_t* find_line_end(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The first LF or CR, else `end`."""
    while True:
        at = find_stop(at, end, 0x0A, PASS_WIDE)
        if at >= end or is_line_end(at[0]):
            return at
        at += 1


cdef const uint8_t* find_last_line(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Start of the last line: after the last LF or CR, else `at`."""
    while end > at and not is_line_end((end - 1)[0]):
        end -= 1
    return end


cdef int64_t column_of(const uint8_t* line_at, const uint8_t* at) noexcept nogil:
    """The characters before `at` in its line, plus 1."""
    cdef int64_t column = 1
    while line_at < at:
        if line_at[0] & 0xC0 != 0x80:
            column += 1
        line_at += 1
    return column


cdef bint is_label_letter(int64_t c, bint first) noexcept nogil:
    """PN_CHARS beyond ASCII; `first`: PN_CHARS_BASE. They are the characters of names in XML, too."""
    if c < 0xC0:
        return c == 0xB7 and not first
    if c < 0x370:
        return c != 0xD7 and c != 0xF7 and (c < 0x300 or not first)
    if c < 0x2000:
        return c != 0x37E
    return (
        0x200C <= c <= 0x200D
        or (0x203F <= c <= 0x2040 and not first)
        or 0x2070 <= c <= 0x218F
        or 0x2C00 <= c <= 0x2FEF
        or 0x3001 <= c <= 0xD7FF
        or 0xF900 <= c <= 0xFDCF
        or 0xFDF0 <= c <= 0xFFFD
        or 0x10000 <= c <= 0xEFFFF
    )


cdef const uint8_t* find_label_end(const uint8_t* at, const uint8_t* end, bint colon) noexcept nogil:
    """End of the blank node label that begins at `at`, or `at` if there is no label. Dots at its end do not belong to it."""
    cdef const uint8_t* begin = at
    cdef const uint8_t* label_end
    cdef uint64_t hits = 0
    cdef uint8_t byte
    while end - at >= 8 and hits == 0:
        hits = find_others(load_u64(at))
        at += low_hit(hits) if hits else 8
    if hits and at[0] == 0x20:
        return at
    if at == begin and end - at >= 4 and hits == 0 and find_others(load_u32(at) << 32 | load_u32(end - 4)) == 0:
        at = end
    label_end = at
    while at < end:
        byte = at[0]
        if is_letter(byte) or is_digit(byte) or byte == 0x5F or (byte == 0x3A and colon):
            at += 1
        elif byte >= 0x80:
            if not is_label_letter(describe(at, end), at == begin):
                break
            at += width(byte)
        elif byte == 0x2D and at > begin:
            at += 1
        elif byte == 0x2E and at > begin:
            at += 1
            continue
        else:
            break
        label_end = at
    return label_end


cdef const uint8_t* find_tag_end(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Letters, digits and hyphens: the characters of language tags and base directions."""
    while at < end and (is_letter(at[0]) or is_digit(at[0]) or at[0] == 0x2D):
        at += 1
    return at


# Test hooks.

def _find_escape(bytes data, bint iri):
    """Offset of the first byte of `data` that needs an escape in an IRI or a literal, or the length of `data`."""
    cdef const uint8_t* at = <const uint8_t*>data
    return find_escape(at, at, at + len(data), iri) - at


def _is_plain(bytes data, bint iri):
    """Whether `data` surely needs no escapes in an IRI or a literal."""
    return is_plain(<const uint8_t*>data, len(data), iri)


def _find_label_end(bytes data, bint colon):
    """Offset of the end of the label at the start of `data`."""
    cdef const uint8_t* at = <const uint8_t*>data
    return find_label_end(at, at + len(data), colon) - at


# Delimiters of RDF Message logs.

cdef const uint8_t* skip_wide_space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Step over the characters that \\s matches in the regular expression of the specification (ECMAScript), except line ends."""
    cdef uint8_t first, last
    while at < end:
        first = at[0]
        if first == 0x20 or first == 0x09 or first == 0x0B or first == 0x0C:
            at += 1
        elif first == 0xC2 and end - at >= 2 and at[1] == 0xA0:
            at += 2
        elif first >= 0xE1 and end - at >= 3:
            last = at[2]
            if not (
                (first == 0xE2 and at[1] == 0x80 and (0x80 <= last <= 0x8A or last == 0xA8 or last == 0xA9 or last == 0xAF))
                or (first == 0xE2 and at[1] == 0x81 and last == 0x9F)
                or (first == 0xE1 and at[1] == 0x9A and last == 0x80)
                or (first == 0xE3 and at[1] == 0x80 and last == 0x80)
                or (first == 0xEF and at[1] == 0xBB and last == 0xBF)
            ):
                return at
            at += 3
        else:
            return at
    return at


cdef const uint8_t* find_delimiter(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """End of "@message" in the text of a comment, or NULL: /^\\s*@message/ (RDF Messages, section 2.1)."""
    cdef const char* word = b"@message"
    at = skip_wide_space(at, end)
    if end - at >= 8 and memcmp(at, word, 8) == 0:
        return at + 8
    return NULL
