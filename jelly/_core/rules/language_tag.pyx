"""Well-formed language tags by RFC 5646 (BCP 47), section 2.1."""


from jelly._core.base.characters cimport is_digit, is_letter

# Tags that are older than the grammar and do not follow it (section 2.2.8), each followed by a space.
cdef extern from *:
    """
    static const char jelly_grandfathered[] =
        "i-ami i-bnn i-default i-enochian i-hak i-klingon i-lux i-mingo i-navajo i-pwn i-tao i-tay i-tsu "
        "sgn-be-fr sgn-be-nl sgn-ch-de en-gb-oed art-lojban cel-gaulish no-bok no-nyn zh-guoyu zh-hakka zh-min "
        "zh-min-nan zh-xiang ";
    """
    const char* jelly_grandfathered


cdef bint is_grandfathered(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const char* known = jelly_grandfathered
    cdef const uint8_t* c
    while known[0]:
        c = at
        while known[0] != 0x20:
            if c != NULL:
                if c < end and (c[0] | 0x20) == <uint8_t>known[0]:
                    c += 1
                else:
                    c = NULL
            known += 1
        if c == end:
            return True
        known += 1
    return False


cdef bint is_well_formed(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether a text, in ASCII or not, is a language tag."""
    cdef const uint8_t* begin = at
    cdef const uint8_t* subtag
    cdef bint alpha, digits
    # State: 0 language, 1 extended languages, 2 script, 3 region, 4 variants, 5 extensions are allowed next;
    # 6 in an extension, 7 private use.
    cdef int state = 0
    cdef int extended = 0
    cdef int n
    cdef bint need = False  # an extension or private use must have a subtag
    while True:
        subtag = at
        alpha = digits = True
        while at < end and at[0] != 0x2D:
            if is_letter(at[0]):
                digits = False
            elif is_digit(at[0]):
                alpha = False
            else:
                return False
            at += 1
        if at - subtag == 0 or at - subtag > 8:
            return False
        n = <int>(at - subtag)
        if state == 7:
            need = False
        elif n == 1 and subtag[0] | 0x20 == 0x78:
            if need:
                break
            state = 7
            need = True
        elif state == 0:
            if not alpha or n < 2:
                break
            state = 1 if n <= 3 else 2
        elif n == 1:
            if need:
                break
            state = 6
            need = True
        elif state == 6:
            need = False
        elif state <= 1 and n == 3 and alpha and extended < 3:
            extended += 1
        elif state <= 2 and n == 4 and alpha:
            state = 3
        elif state <= 3 and ((n == 2 and alpha) or (n == 3 and digits)):
            state = 4
        elif state <= 4 and (n >= 5 or (n == 4 and is_digit(subtag[0]))):
            state = 4
        else:
            break
        if at == end:
            if need:
                break
            return True
        at += 1
    return is_grandfathered(begin, end)


def is_language_tag(bytes tag not None) -> bool:
    """Whether a text in UTF-8 is a well-formed language tag (RFC 5646, section 2.1).

    >>> is_language_tag(b"en-GB"), is_language_tag(b"en_GB")
    (True, False)
    """
    return is_well_formed(<const uint8_t*>tag, <const uint8_t*>tag + len(tag))
