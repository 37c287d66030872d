"""Character classes of N-Triples, and searches for the end of a run of bytes, eight bytes at a time."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from jelly._core.base.batch cimport load_u32, load_u64
from jelly._core.base.protobuf cimport Reader

cdef enum:
    UCHAR = 6  # bytes of \uXXXX

cdef enum:
    # find_stop also stops at the first byte that is not ASCII, or goes on.
    STOP_WIDE = 1
    PASS_WIDE = 0

cdef enum:
    # Results of `describe` if there is no character. Values below: INVALID minus the byte that is not UTF-8.
    LINE_END = -1
    INPUT_END = -2
    INVALID = -3


cdef inline int64_t low_hit(uint64_t hits) noexcept nogil:
    """Bytes before the lowest that has its highest bit set, where no other bits are set.

    Ones below that bit, one kept in each byte, add up in the highest byte.
    """
    cdef uint64_t ones = <uint64_t>0x0101010101010101
    return <int64_t>(((((hits & (~hits + 1)) >> 7) - 1) & ones) * ones >> 56)


cdef inline uint8_t short_escape(uint8_t byte) noexcept nogil:
    """The letter after the backslash that escapes a character of a literal; 0 if there is none."""
    if byte == 0x22 or byte == 0x5C:
        return byte
    if byte == 0x09:
        return 0x74
    if byte == 0x0A:
        return 0x6E
    if byte == 0x0D:
        return 0x72
    if byte == 0x08:
        return 0x62
    if byte == 0x0C:
        return 0x66
    return 0


cdef inline int len_character(uint8_t byte, bint iri) noexcept nogil:
    """Number of bytes that are written for a byte."""
    if iri:
        if (
            byte <= 0x20 or byte == 0x22 or byte == 0x3C or byte == 0x3E or byte == 0x5C or byte == 0x5E
            or byte == 0x60 or 0x7B <= byte <= 0x7D
        ):
            return UCHAR
        return 1
    if short_escape(byte):
        return 2
    return UCHAR if byte < 0x20 or byte == 0x7F else 1


cdef inline uint64_t find_hits(uint64_t x, bint iri) noexcept nogil:
    """The highest bit of each byte that may need an escape; the lowest hit errs for ! ~ and DEL of an IRI only."""
    cdef uint64_t ones = <uint64_t>0x0101010101010101
    cdef uint64_t high = <uint64_t>0x8080808080808080
    cdef uint64_t y, hits
    if iri:
        y = x | (ones * 2)  # makes < and > one, \ and ^ too
        hits = (
            (x - ones * 0x23)  # 00 to 22
            | ((y ^ (ones * 0x3E)) - ones)
            | ((y ^ (ones * 0x5E)) - ones)
            | ((x ^ (ones * 0x60)) - ones)
            | (x + ones * 5)  # 7B to 7F
        )
    else:
        hits = (
            (x - ones * 0x20)
            | ((x ^ (ones * 0x22)) - ones)
            | ((x ^ (ones * 0x5C)) - ones)
            | (x + ones)  # 7F
        )
    return hits & ~x & high


cdef inline const uint8_t* find_escape(
    const uint8_t* begin, const uint8_t* at, const uint8_t* end, bint iri
) noexcept nogil:
    """The first byte from `at` on that needs an escape, else `end`. The text begins at `begin`."""
    cdef uint64_t hits
    cdef int64_t left
    while at < end:
        left = end - at
        if left >= 8:
            hits = find_hits(load_u64(at), iri)
            if hits == 0:
                at += 8
                continue
        elif end - begin >= 8:
            # The last eight bytes of the text, without the bytes that were already examined.
            hits = find_hits(load_u64(end - 8), iri) >> (8 * (8 - left))
            if hits == 0:
                return end
        else:
            hits = 0x80
        at += low_hit(hits)
        if len_character(at[0], iri) > 1:
            return at
        at += 1
    return end


cdef extern from *:
    """
    #ifndef JELLY_FIND_STOP
    #define JELLY_FIND_STOP
    /* Whether there is a byte that is not ASCII, a control, a backslash or `stop`; goes to the first one. Where there is
     * none, and without vectors of the compiler, it stops less than 16 bytes before the end, or where it was. */
    #if defined(__GNUC__)
    typedef signed char jelly_bytes __attribute__((vector_size(16)));
    typedef long long jelly_halves __attribute__((vector_size(16)));

    static inline int jelly_find_stop(const uint8_t **at, const uint8_t *end, uint8_t stop)
    {
        const jelly_bytes zero = {0};
        const jelly_bytes stops = zero + (signed char)stop;
        while (end - *at >= 16) {
            jelly_bytes x;
            memcpy(&x, *at, 16);
            const jelly_halves hits = (jelly_halves)((x == stops) | (x == zero + 0x5C) | (x < zero + 0x20));
            if (hits[0] | hits[1]) {
                *at += hits[0] ? __builtin_ctzll(hits[0]) >> 3 : 8 + (__builtin_ctzll(hits[1]) >> 3);
                return 1;
            }
            *at += 16;
        }
        return 0;
    }

    /* The bytes of 16 that may need an escape, as find_hits has them for 8. */
    static inline jelly_halves jelly_find_hits(const uint8_t *at, int iri)
    {
        const jelly_bytes zero = {0};
        jelly_bytes x, y;
        memcpy(&x, at, 16);
        y = x | (zero + 2);  /* makes < and > one, \\ and ^, space and quote too */
        return (jelly_halves)(
            ((x ^ (zero + (signed char)-128)) < zero + (signed char)(0x20 - 128))
            | (iri ? (y == zero + 0x22) | (y == zero + 0x3E) | (y == zero + 0x5E) | (x == zero + 0x60) | (x > zero + 0x7A)
                   : (x == zero + 0x22) | (x == zero + 0x5C) | (x == zero + 0x7F)));
    }

    static inline int jelly_may_escape(const uint8_t *at, int64_t n, int iri)
    {
        const uint8_t *last = at + n - 16;
        jelly_halves hits = jelly_find_hits(last, iri);
        for (; at < last; at += 16)
            hits |= jelly_find_hits(at, iri);
        return (hits[0] | hits[1]) != 0;
    }
    #else
    #define jelly_find_stop(at, end, stop) 0
    #define jelly_may_escape(at, n, iri) 1
    #endif
    #endif
    """
    bint skip_to_stop "jelly_find_stop"(const uint8_t** at, const uint8_t* end, uint8_t stop) noexcept nogil
    # False: no byte of these, 16 at least, needs an escape.
    bint may_escape "jelly_may_escape"(const uint8_t* at, int64_t n, bint iri) noexcept nogil


cdef inline const uint8_t* find_stop(const uint8_t* at, const uint8_t* end, uint8_t stop, bint wide) noexcept nogil:
    """The first byte that is `stop` (ASCII), a backslash or a control; with `wide`, or not ASCII. Else `end`.

    The highest bit of each byte of `hits` tells; a borrow makes false hits only above a true one.
    """
    cdef uint64_t ones = <uint64_t>0x0101010101010101
    cdef uint64_t high = <uint64_t>0x8080808080808080
    cdef uint64_t stops = ones * stop
    cdef uint64_t slashes = ones * 0x5C
    cdef uint64_t wides = high if wide else 0
    cdef uint64_t x, hits
    if wide and skip_to_stop(&at, end, stop):
        return at
    while end - at >= 8:
        x = load_u64(at)
        hits = ((((x ^ stops) - ones) | ((x ^ slashes) - ones) | (x - ones * 0x20)) & ~x & high) | (x & wides)
        if hits:
            return at + low_hit(hits)
        at += 8
    while at < end:
        if at[0] == stop or at[0] == 0x5C or at[0] < 0x20 or (wide and at[0] >= 0x80):
            return at
        at += 1
    return end


cdef inline bint is_plain(const uint8_t* text, int64_t n, bint iri) noexcept nogil:
    """Whether no byte of a text needs an escape. False may be wrong: then find_escape finds none."""
    cdef uint64_t x
    if n >= 16:
        return not may_escape(text, n, iri)
    if n >= 8:
        return (find_hits(load_u64(text), iri) | find_hits(load_u64(text + n - 8), iri)) == 0
    if n >= 4:
        x = load_u32(text) << 32 | load_u32(text + n - 4)
    elif n > 0:
        x = <uint64_t>0x6161616161000000 | <uint64_t>text[0] << 16 | <uint64_t>text[n >> 1] << 8 | text[n - 1]
    else:
        return True
    return find_hits(x, iri) == 0


cdef inline bint is_line_end(uint8_t byte) noexcept nogil:
    return byte == 0x0A or byte == 0x0D


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    """S of XML, WS of Turtle and SPARQL."""
    return byte == 0x20 or byte == 0x09 or is_line_end(byte)


cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    return <uint8_t>((byte | 0x20) - 0x61) < 26


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return <uint8_t>(byte - 0x30) < 10


cdef inline uint64_t find_others(uint64_t x) noexcept nogil:
    """The highest bit of each byte that is no letter, digit or underscore of ASCII."""
    cdef uint64_t ones = <uint64_t>0x0101010101010101
    cdef uint64_t high = <uint64_t>0x8080808080808080
    cdef uint64_t low = x & ~high
    cdef uint64_t letter = low | (ones * 0x20)
    cdef uint64_t words = (
        ((letter + ones * 0x1F) & ~(letter + ones * 5))
        | ((low + ones * 0x50) & ~(low + ones * 0x46))
        | ~((low ^ (ones * 0x5F)) + ones * 0x7F)
    )
    return (x | ~words) & high


cdef inline int small_hex(uint8_t byte) noexcept nogil:
    """The value of a hexadecimal digit without capitals, or -1."""
    return byte - 0x30 if is_digit(byte) else byte - 0x57 if 0x61 <= byte <= 0x66 else -1


cdef inline int hex_digit(uint8_t byte) noexcept nogil:
    """The value of a hexadecimal digit, or -1."""
    return small_hex(byte | 0x20 if is_letter(byte) else byte)


cdef inline const uint8_t* skip_digits(const uint8_t* at, const uint8_t* end) noexcept nogil:
    while at < end and is_digit(at[0]):
        at += 1
    return at


cdef inline const uint8_t* skip_sign(const uint8_t* at, const uint8_t* end) noexcept nogil:
    return at + (at < end and (at[0] == 0x2B or at[0] == 0x2D))


cdef inline bint is_word(const uint8_t* at, int64_t n, const char* word, int64_t n_word) noexcept nogil:
    """Whether a word equals another one, which is in lower case, ignoring case."""
    cdef int64_t i
    if n != n_word:
        return False
    for i in range(n):
        if (at[i] | 0x20) != <uint8_t>word[i]:
            return False
    return True


cdef inline bint same_word(const char* word, const uint8_t* at, int64_t n) noexcept nogil:
    """Whether two words are the same; of 4 to 8 bytes, as most are, without a call."""
    if 4 <= n <= 8:
        return memcmp(word, at, 4) == 0 and memcmp(word + n - 4, at + n - 4, 4) == 0
    return word[0] == <char>at[0] and memcmp(word, at, n) == 0


cdef inline int find_word(const Reader* text, const char* words) noexcept nogil:
    """The number of a text among words, each of which has its length before it; -1 if it is none."""
    cdef int64_t n = text.end - text.at
    cdef int i = 0
    while words[0]:
        if words[0] == n and same_word(words + 1, text.at, n):
            return i
        words += words[0] + 1
        i += 1
    return -1


cdef inline int64_t width(uint8_t lead) noexcept nogil:
    """Bytes of the UTF-8 sequence that begins with `lead`."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef int64_t describe(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef int64_t format_integer(int64_t value, uint8_t* out) noexcept nogil
cdef const uint8_t* skip_scheme(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef const uint8_t* find_line_end(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef const uint8_t* find_last_line(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef int64_t column_of(const uint8_t* line_at, const uint8_t* at) noexcept nogil
cdef const uint8_t* find_delimiter(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef const uint8_t* skip_wide_space(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef bint is_label_letter(int64_t c, bint first) noexcept nogil
cdef const uint8_t* find_label_end(const uint8_t* at, const uint8_t* end, bint colon) noexcept nogil
cdef const uint8_t* find_tag_end(const uint8_t* at, const uint8_t* end) noexcept nogil
