"""A tokenizer of XML in UTF-8: tags with their attributes, characters, comments and instructions.

A document type is refused, and with it all entities but those of XML itself.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memchr, memcmp

from jelly._core.base.characters cimport (
    PASS_WIDE, STOP_WIDE, describe, find_stop, hex_digit, is_digit, is_label_letter, is_letter, width,
)
from jelly._core.base.fault cimport DOCTYPE, NEED_MORE, NOT_UTF8, OK, XML_DEPTH
from jelly._core.base.protobuf cimport Writer, put_bytes
from jelly._core.base.utf8 cimport check_utf8, put_point
from jelly._core.results.rows cimport (
    BAD_CHARACTER, BAD_COMMENT, BAD_RESERVED, OF_EQUALS, OF_MARKUP, OF_NAME, OF_QUOTE, OF_REFERENCE, OF_TAG_END,
    SAME_ATTRIBUTE, UNDEFINED, cut, expected, find_word, order_of, peek,
)

# ---- characters

cdef void add_run(TextRows* t, Reader* text, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Append to a text, which moves into `scratch` if it has parts."""
    cdef int64_t since = t.scratch.n
    if text.at == text.end:
        text.at = at
        text.end = end
        if t.begin <= at <= t.end:
            return
    elif text.end == t.scratch.buf + since:
        since -= text.end - text.at
    else:
        put_bytes(&t.scratch, text.at, text.end - text.at)
    put_bytes(&t.scratch, at, end - at)
    text.at = t.scratch.buf + since
    text.end = t.scratch.buf + t.scratch.n


cdef int take_reference(TextRows* t, Reader* text, const uint8_t* end) noexcept nogil:
    """The character of a reference, which begins with &."""
    cdef const uint8_t* begin = t.at
    cdef const uint8_t* stop = <const uint8_t*>memchr(begin, 0x3B, end - begin)
    cdef const char* meant = b"<>&\"'"
    cdef int64_t point = 0
    cdef int base = 10
    cdef int i
    cdef uint8_t[4] made
    cdef Writer w
    cdef Reader name
    t.at += 1
    if stop == NULL:
        return expected(t, OF_REFERENCE)
    if t.at[0] == 0x23:  # #
        t.at += 1
        if t.at[0] == 0x78:  # x
            base = 16
            t.at += 1
        while True:
            i = hex_digit(t.at[0])
            if not 0 <= i < base:
                return expected(t, OF_REFERENCE)
            point = min(point * base + i, <int64_t>0x110000)
            t.at += 1
            if t.at == stop:
                break
        if (
            (point < 0x20 and point != 0x09 and point != 0x0A and point != 0x0D) or point >> 11 == 0x1B or point > 0x10FFFF
            or point | 1 == 0xFFFF
        ):
            return wrong(t, begin, BAD_CHARACTER)
    else:
        name.at = t.at
        name.end = stop
        i = find_word(&name, b"\2lt\2gt\3amp\4quot\4apos")
        if i < 0:
            return wrong(t, begin, UNDEFINED)
        point = meant[i]
    w.buf = made
    w.n = 0
    put_point(&w, <uint32_t>point)
    add_run(t, text, made, made + w.n)
    t.at = stop + 1
    return OK


cdef int check_wide(TextRows* t, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """UTF-8, without the two last characters of the plane."""
    cdef int64_t bad = check_utf8(at, end - at)
    if bad >= 0:
        return fail(&t.fault, NOT_UTF8, at + bad, at[bad])
    while at < end:
        at = <const uint8_t*>memchr(at, 0xEF, end - at)
        if at == NULL:
            break
        if at[1] == 0xBF and at[2] >= 0xBE:
            return wrong(t, at, BAD_CHARACTER)
        at += 3
    return OK


cdef int take_characters(TextRows* t, Reader* text, const uint8_t* end, int where) noexcept nogil:
    """Characters up to `end`, all of which are there."""
    cdef const uint8_t* first = t.at
    cdef const uint8_t* begin = t.at
    cdef bint wide = False
    cdef uint8_t byte, space
    cdef int status
    while True:
        t.at = find_stop(t.at, end, 0x26, PASS_WIDE if wide else STOP_WIDE)
        if t.at >= end:
            break
        byte = t.at[0]
        if byte == 0x26 and where != CDATA:
            add_run(t, text, begin, t.at)
            status = take_reference(t, text, end)
            if status != OK:
                return status
            begin = t.at
        elif byte == 0x0D or (where == ATTRIBUTE and (byte == 0x09 or byte == 0x0A)):
            add_run(t, text, begin, t.at)
            space = 0x20 if where == ATTRIBUTE else 0x0A
            add_run(t, text, &space, &space + 1)
            t.at += 2 if byte == 0x0D and end - t.at > 1 and t.at[1] == 0x0A else 1
            begin = t.at
        elif byte < 0x20 and byte != 0x09 and byte != 0x0A:
            return wrong(t, t.at, BAD_CHARACTER)
        else:
            wide = wide or byte >= 0x80
            t.at += 1
    add_run(t, text, begin, end)
    return check_wide(t, first, end) if wide else OK


cdef const uint8_t* find_text(const uint8_t* at, const uint8_t* end, const char* text, int64_t n) noexcept nogil:
    """Where a text stands; NULL if it does not."""
    while end - at >= n:
        at = <const uint8_t*>memchr(at, text[0], end - at - n + 1)
        if at == NULL or memcmp(at, text, n) == 0:
            return at
        at += 1
    return NULL


# ---- tags

cdef int take_name(TextRows* t, Reader* name) noexcept nogil:
    """A name without its prefix."""
    cdef const uint8_t* at = t.at
    cdef uint8_t byte = 0
    name.at = at
    while at < t.end:
        byte = at[0]
        if is_letter(byte):
            at += 1
            continue
        if byte != 0x5F and (
            not is_label_letter(describe(at, t.end), at == name.at) if byte >= 0x80
            else at == name.at or not (is_digit(byte) or byte == 0x2D or byte == 0x2E)
        ):
            break
        at += width(byte)
    t.at = name.end = at
    if not t.final and (at >= t.end or (byte >= 0x80 and t.end - at < 4)):
        return NEED_MORE
    return OK if at > name.at else expected(t, OF_NAME)


cdef int take_prefixed(TextRows* t, Reader* prefix, Reader* name) noexcept nogil:
    """A name with its prefix, if it has one."""
    cdef int status = take_name(t, name)
    prefix.at = prefix.end = NULL
    if status == OK and t.at < t.end and t.at[0] == 0x3A:
        prefix[0] = name[0]
        t.at += 1
        status = take_name(t, name)
    return status


cdef bint skip_space(TextRows* t) noexcept nogil:
    cdef const uint8_t* begin = t.at
    peek(t)
    return t.at > begin


cdef int take_attribute(TextRows* t, Tag* tag) noexcept nogil:
    cdef Attribute* a = &tag.attributes[tag.n]
    cdef const uint8_t* stop
    cdef const uint8_t* begin = t.at
    cdef int status, i, quote
    if tag.n >= MAX_ATTRIBUTES:
        return fail(&t.fault, XML_DEPTH, t.at, MAX_ATTRIBUTES, 1)
    status = take_prefixed(t, &a.prefix, &a.name)
    if status != OK:
        return status
    for i in range(tag.n):
        if order_of(&a.prefix, &tag.attributes[i].prefix) == 0 and order_of(&a.name, &tag.attributes[i].name) == 0:
            return wrong(t, begin, SAME_ATTRIBUTE)
    if peek(t) != 0x3D:
        return expected(t, OF_EQUALS)
    t.at += 1
    quote = peek(t)
    if quote != 0x22 and quote != 0x27:
        return expected(t, OF_QUOTE)
    stop = <const uint8_t*>memchr(t.at + 1, quote, t.end - t.at - 1)
    if stop == NULL:
        return cut(t, OF_QUOTE)
    t.at += 1
    if memchr(t.at, 0x3C, stop - t.at) != NULL:
        return expected(t, OF_QUOTE)
    a.value.at = a.value.end = t.at
    status = take_characters(t, &a.value, stop, ATTRIBUTE)
    t.at = stop + 1
    tag.n += 1
    return status


cdef int take_tag(TextRows* t, Tag* tag) noexcept nogil:
    """A tag, from < on."""
    cdef int status, byte
    cdef bint spaced
    tag.begin = t.at
    tag.n = 0
    tag.empty = False
    tag.ends = t.end - t.at > 1 and t.at[1] == 0x2F
    t.at += 2 if tag.ends else 1
    tag.whole.at = t.at
    status = take_prefixed(t, &tag.prefix, &tag.name)
    tag.whole.end = t.at
    while status == OK:
        spaced = skip_space(t)
        byte = peek(t)
        if byte == 0x3E:
            t.at += 1
            return OK
        if byte == 0x2F and not tag.ends:
            t.at += 1
            tag.empty = True
            if t.at >= t.end or t.at[0] != 0x3E:
                return expected(t, OF_TAG_END)
        elif tag.ends or not spaced or byte < 0:
            return expected(t, OF_TAG_END)
        else:
            status = take_attribute(t, tag)
    return status


cdef int skip_markup(TextRows* t, Reader* text) noexcept nogil:
    """A comment, an instruction, or CDATA, which is text; from < on."""
    cdef const uint8_t* begin = t.at
    cdef const uint8_t* stop
    cdef const char* close = b"--"
    cdef int64_t left = t.end - begin
    cdef int n = 2
    cdef bint spaced = True
    cdef int status
    cdef Reader ignored
    ignored.at = ignored.end = begin
    if begin[1] == 0x3F:  # ?
        close = b"?>"
        t.at += 2
        status = take_name(t, &ignored)
        if status != OK:
            return status
        spaced = skip_space(t)
        if find_word(&ignored, b"\3xml\3xmL\3xMl\3xML\3Xml\3XmL\3XMl\3XML") >= 0 and (
            t.state != AT_BEGIN or ignored.at[0] != 0x78 or not spaced
        ):
            return wrong(t, begin, BAD_RESERVED)
        ignored.end = ignored.at
    elif left < 9 and not t.final:
        return NEED_MORE
    elif left >= 9 and memcmp(begin, b"<!DOCTYPE", 9) == 0:
        return fail(&t.fault, DOCTYPE, begin)
    elif left >= 9 and memcmp(begin, b"<![CDATA[", 9) == 0 and t.xml.depth:
        close = b"]]>"
        n = 3
        t.at += 9
    elif left >= 4 and memcmp(begin, b"<!--", 4) == 0:
        t.at += 4
    else:
        return expected(t, OF_MARKUP)
    stop = find_text(t.at, t.end, close, n)
    if stop == NULL or (close[0] == 0x2D and t.end - stop < 3):
        return cut(t, OF_MARKUP)
    if stop > t.at and not spaced:
        return expected(t, OF_MARKUP)
    if close[0] == 0x2D:
        if stop[2] != 0x3E:
            return wrong(t, stop, BAD_COMMENT)
        n = 3
    status = take_characters(t, text if close[0] == 0x5D else &ignored, stop, CDATA)
    t.at = stop + n
    return status
