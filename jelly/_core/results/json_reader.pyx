"""SPARQL 1.1 Query Results JSON Format, with the triple terms and base directions of 1.2.

The document is read item by item: a member of an object, or a row. An item that is not whole is read again when more is
there. Results that come before the head are kept until it is known.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from jelly._core.base.characters cimport PASS_WIDE, STOP_WIDE, find_stop, hex_digit, is_digit, is_letter, skip_digits
from jelly._core.base.constants cimport MAX_DEPTH
from jelly._core.base.fault cimport DEPTH, JSON_DEPTH, NEED_MORE, NEED_TABLES, NOT_UTF8, OK, fail
from jelly._core.base.protobuf cimport Reader, put_byte, put_bytes
from jelly._core.base.utf8 cimport check_utf8, put_point
from jelly._core.results.rows cimport (
    BOTH_SETS, HALF_PAIR, LITERAL, NOT_TERM, NO_ANSWER, NO_OBJECT, NO_SET, NO_TEXT, NO_TRUTH, OF_BRACE, OF_BRACKET, OF_COLON,
    OF_END, OF_ESCAPE, OF_JSON_VALUE, OF_STRING, STANDS_TWICE, TRIPLE, TYPE, VALUE, Value, add_name, add_text, add_value,
    begin_row, cell_of, cut, end_row, expected, find_column, find_word, peek, refuse,
)

cdef enum:
    # Where the reader is: each from IN_RESULTS on is in the one before it.
    AT_BEGIN = 0
    AT_DOCUMENT_END
    IN_DOCUMENT
    IN_RESULTS
    IN_ROWS

cdef enum:
    # No fault: an object or array ended.
    CLOSED = 4

cdef enum:
    # Objects and arrays in one another, where they mean nothing here.
    MAX_JSON = 512

# Reads an item of an array, or a member of an object after its key. `n` is how deep it is, or what it is of.
ctypedef int (*Item)(TextRows* t, Reader* key, Value* v, int n) noexcept nogil


# ---- JSON

cdef int take_hex(TextRows* t, int64_t* point) noexcept nogil:
    """Four hexadecimal digits."""
    cdef int digit, _
    point[0] = 0
    for _ in range(4):
        digit = hex_digit(t.at[0]) if t.at < t.end else -1
        if digit < 0:
            return expected(t, OF_ESCAPE)
        point[0] = point[0] * 16 + digit
        t.at += 1
    return OK


cdef int take_escape(TextRows* t) noexcept nogil:
    """The character after a backslash, which may be two halves of a pair, into `scratch`."""
    cdef const char* plain = b"\"\\/bfnrt"
    cdef const char* meant = b"\"\\/\b\f\n\r\t"
    cdef const uint8_t* begin = t.at
    cdef int64_t point, low
    cdef int i, status
    t.at += 2
    if t.at > t.end:
        t.at = t.end
    elif begin[1] == 0x75:  # u
        status = take_hex(t, &point)
        if status != OK:
            return status
        if point >> 10 == 0x36 and t.end - t.at < 2 and not t.final:
            return NEED_MORE
        if point >> 10 == 0x36 and t.end - t.at >= 2 and t.at[0] == 0x5C and t.at[1] == 0x75:
            t.at += 2
            status = take_hex(t, &low)
            if status != OK:
                return status
            point = 0x10000 + ((point & 0x3FF) << 10 | (low & 0x3FF)) if low >> 10 == 0x37 else 0xDC00
        if point >> 11 == 0x1B:
            return refuse(t, begin, HALF_PAIR)
        put_point(&t.scratch, <uint32_t>point)
        return OK
    else:
        for i in range(8):
            if begin[1] == <uint8_t>plain[i]:
                put_byte(&t.scratch, <uint8_t>meant[i])
                return OK
        t.at -= 1
    return expected(t, OF_ESCAPE)


cdef int take_string(TextRows* t, Reader* text) noexcept nogil:
    """A string, in quotes: in the input, or where it has escapes in `scratch`."""
    cdef const uint8_t* begin
    cdef const uint8_t* copied
    cdef int64_t since = t.scratch.n
    cdef bint wide = False
    cdef bint escaped = False
    cdef int64_t bad
    cdef int status
    if peek(t) != 0x22:
        return expected(t, OF_STRING)
    t.at += 1
    begin = copied = t.at
    while True:
        t.at = find_stop(t.at, t.end, 0x22, PASS_WIDE if wide else STOP_WIDE)
        if t.at >= t.end:
            return cut(t, OF_STRING)
        if t.at[0] == 0x22:
            break
        if t.at[0] == 0x5C:
            escaped = True
            put_bytes(&t.scratch, copied, t.at - copied)
            status = take_escape(t)
            if status != OK:
                return status
            copied = t.at
        elif t.at[0] < 0x20:
            return expected(t, OF_STRING)
        else:
            wide = True
            t.at += 1
    if wide:
        bad = check_utf8(begin, t.at - begin)
        if bad >= 0:
            return fail(&t.fault, NOT_UTF8, begin + bad, begin[bad])
    text.at = begin
    text.end = t.at
    if escaped:
        put_bytes(&t.scratch, copied, t.at - copied)
        text.at = t.scratch.buf + since
        text.end = t.scratch.buf + t.scratch.n
    t.at += 1
    return OK


cdef int next_item(TextRows* t, uint8_t bracket, Reader* key) noexcept nogil:
    """To the next item of an array, or in an object past its key. CLOSED after the last."""
    cdef uint8_t close = bracket + 2
    cdef int byte = peek(t)
    cdef bint first = t.first
    cdef int status
    t.first = False
    if byte == close:
        t.at += 1
        return CLOSED
    if not first:
        if byte != 0x2C:
            return expected(t, OF_BRACE if close == 0x7D else OF_BRACKET)
        t.at += 1
        if peek(t) == close:
            return expected(t, OF_JSON_VALUE)
    if close == 0x7D:
        status = take_string(t, key)
        if status != OK:
            return status
        if peek(t) != 0x3A:
            return expected(t, OF_COLON)
        t.at += 1
    return OK


cdef int open_value(TextRows* t, uint8_t bracket, int why) noexcept nogil:
    """Step into an object or array; another value is a fault."""
    cdef const uint8_t* begin
    cdef int status
    if peek(t) == bracket:
        t.at += 1
        t.first = True
        return OK
    begin = t.at
    status = skip(t)
    return refuse(t, begin, why) if status == OK else status


cdef inline int take_items(TextRows* t, uint8_t bracket, int why, Item item, Value* v, int n) noexcept nogil:
    """All of an object or array."""
    cdef Reader key
    cdef int status = open_value(t, bracket, why)
    while status == OK:
        status = next_item(t, bracket, &key)
        if status == OK:
            status = item(t, &key, v, n)
    return OK if status == CLOSED else status


cdef bint is_number(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether these bytes, of which none follows, are a number."""
    cdef const uint8_t* begin = at + (at[0] == 0x2D)
    cdef bint good
    at = skip_digits(begin, end)
    good = at == begin + 1 or (at > begin and begin[0] != 0x30)
    if at < end and at[0] == 0x2E:
        begin = at + 1
        at = skip_digits(begin, end)
        good = good and at > begin
    if at < end and at[0] | 0x20 == 0x65:
        begin = at + (2 if at[1] == 0x2B or at[1] == 0x2D else 1)
        at = skip_digits(begin, end)
        good = good and at > begin
    return good and at == end


cdef int take_word(TextRows* t) noexcept nogil:
    """A number, or true, false or null."""
    cdef Reader word
    word.at = t.at
    while t.at < t.end and (is_letter(t.at[0]) or is_digit(t.at[0]) or 0x2B <= t.at[0] <= 0x2E and t.at[0] != 0x2C):
        t.at += 1
    if t.at >= t.end:
        return cut(t, OF_JSON_VALUE)
    word.end = t.at
    if find_word(&word, b"\4true\5false\4null") >= 0 or is_number(word.at, word.end):
        return OK
    t.at = word.at
    return expected(t, OF_JSON_VALUE)


cdef int skip_item(TextRows* t, Reader* key, Value* v, int depth) noexcept nogil:
    """Step over a value that is of no use here."""
    cdef int byte = peek(t)
    cdef Reader ignored
    if byte == 0x22:
        return take_string(t, &ignored)
    if byte != 0x7B and byte != 0x5B:
        return take_word(t)
    if depth >= MAX_JSON:
        return fail(&t.fault, JSON_DEPTH, t.at, MAX_JSON)
    return take_items(t, <uint8_t>byte, 0, skip_item, NULL, depth + 1)


cdef int skip(TextRows* t) noexcept nogil:
    return skip_item(t, NULL, NULL, 0)


# ---- terms and rows

cdef int take_text(TextRows* t, Reader* text) noexcept nogil:
    """A string of a term; null is as if it were not there."""
    cdef int byte = peek(t)
    cdef const uint8_t* begin = t.at
    cdef int status
    if byte == 0x22:
        return take_string(t, text)
    text.at = text.end = NULL
    status = skip(t)
    return refuse(t, begin, NOT_TERM) if status == OK and byte != 0x6E else status


cdef int take_third(TextRows* t, Reader* key, Value* v, int depth) noexcept nogil:
    """A part of a triple term, by its name, or one letter as in RDF-star."""
    cdef int i = find_word(key, b"\7subject\1s\11predicate\1p\6object\1o")
    return skip(t) if i < 0 else take_term(t, &v.triple[i >> 1], depth + 1)


cdef int take_part(TextRows* t, Reader* key, Value* v, int depth) noexcept nogil:
    """What is said of a term."""
    cdef int part = find_word(key, b"\4type\5value\10datatype\10xml:lang\7its:dir")
    cdef int status
    if part < 0:
        return skip(t)
    if part == VALUE:
        memset(v.triple, 0xFF, sizeof(v.triple))
        if peek(t) == 0x7B:
            v.parts[VALUE].at = NULL
            if depth >= MAX_DEPTH:
                return fail(&t.fault, DEPTH, t.at, MAX_DEPTH)
            status = take_items(t, 0x7B, NOT_TERM, take_third, v, depth)
            return refuse(t, t.at, NOT_TERM) if status == OK and min(v.triple[0], v.triple[1], v.triple[2]) < 0 else status
    return take_text(t, &v.parts[part])


cdef int take_term(TextRows* t, int32_t* term, int depth) noexcept nogil:
    cdef const uint8_t* begin
    cdef Value v
    cdef int status
    memset(&v, 0, sizeof(Value))
    v.triple[0] = -1
    peek(t)
    begin = t.at
    status = take_items(t, 0x7B, NOT_TERM, take_part, &v, depth)
    if status != OK:
        return status
    v.what = find_word(&v.parts[TYPE], b"\3uri\5bnode\7literal\6triple\15typed-literal\11statement")
    if v.what > TRIPLE:  # as others call them
        v.what -= TRIPLE - LITERAL + 1
    if v.what < 0 or (v.what == TRIPLE) != (v.triple[0] >= 0) or (v.what != TRIPLE and v.parts[VALUE].at == NULL):
        return refuse(t, begin, NOT_TERM)
    term[0] = add_value(t, &v)
    return OK if term[0] >= 0 else term[0]


cdef int take_cell(TextRows* t, Reader* key, Value* v, int depth) noexcept nogil:
    cdef int64_t column = find_column(t, key)
    return skip(t) if column < 0 else take_term(t, cell_of(t, column), 0)


cdef int take_row(TextRows* t) noexcept nogil:
    cdef int status = begin_row(t)
    if status == OK:
        status = take_items(t, 0x7B, NOT_TERM, take_cell, NULL, 0)
    return end_row(t) if status == OK else status


# ---- the document

cdef int take_listed(TextRows* t, Reader* key, Value* v, int names) noexcept nogil:
    """A variable, or a link."""
    cdef int byte = peek(t)
    cdef Reader text
    cdef int status = take_string(t, &text) if byte == 0x22 else skip(t)
    if status != OK:
        return status
    if byte != 0x22:
        return refuse(t, t.at, NO_TEXT)
    return add_name(t, &text) if names else add_text(t, &t.links, &text)


cdef int take_head_member(TextRows* t, Reader* key, Value* v, int n) noexcept nogil:
    """The variables, or the links. What stands twice counts the last time."""
    cdef int list = find_word(key, b"\4link\4vars")
    if list < 0:
        return skip(t)
    if list:
        t.width = t.names.n = 0
    else:
        t.links.n = 0
    return take_items(t, 0x5B, NO_OBJECT, take_listed, NULL, list)


cdef int take_head(TextRows* t) noexcept nogil:
    cdef int status
    t.width = t.names.n = t.links.n = 0
    status = take_items(t, 0x7B, NO_OBJECT, take_head_member, NULL, 0)
    t.has_head = t.has_head or status == OK
    return status


cdef int take_answer(TextRows* t) noexcept nogil:
    """The answer of an ASK query; null is none."""
    cdef int byte = peek(t)
    cdef const uint8_t* begin = t.at
    cdef int status = skip(t)
    if status != OK or byte == 0x6E:
        return status
    if byte != 0x74 and byte != 0x66:
        return refuse(t, begin, NO_TRUTH)
    if t.begun:
        return refuse(t, begin, BOTH_SETS)
    t.answer = byte == 0x74
    return OK


cdef int open_results(TextRows* t) noexcept nogil:
    t.state = IN_RESULTS
    return open_value(t, 0x7B, NO_OBJECT)


cdef int take_results(TextRows* t) noexcept nogil:
    """The member with the results: its rows follow, or must wait for the head."""
    cdef int64_t begin
    cdef int status
    if t.answer != NO_ANSWER:
        return skip(t)
    if t.begun or t.held >= 0:
        return refuse(t, t.at, STANDS_TWICE)
    if t.has_head:
        return open_results(t)
    begin = t.at - t.begin
    status = skip(t)
    if status == OK:
        t.held = begin
    return status


cdef int close_document(TextRows* t) noexcept nogil:
    """The end of the outer object. Results that waited for the head are read now, and what follows them once more."""
    if not t.has_head or (t.answer == NO_ANSWER and not t.begun and t.held < 0):
        return refuse(t, t.at, NO_SET)
    if t.answer == NO_ANSWER and not t.begun:
        t.at = t.begin + t.held
        return open_results(t)
    t.held = -1
    return OK


cdef int take_member(TextRows* t, Reader* key) noexcept nogil:
    """A member of the outer object."""
    cdef int what = find_word(key, b"\4head\7results\7boolean")
    if what == 0 and t.begun and t.held < 0:
        return refuse(t, t.at, STANDS_TWICE)
    if what < 0 or (what == 0 and t.begun):
        return skip(t)
    return take_head(t) if what == 0 else take_results(t) if what == 1 else take_answer(t)


cdef int take_result_member(TextRows* t, Reader* key) noexcept nogil:
    """A member of the results."""
    cdef int status
    if find_word(key, b"\10bindings") < 0:
        return skip(t)
    if t.begun:
        return refuse(t, t.at, STANDS_TWICE)
    status = open_value(t, 0x5B, NO_SET)
    if status != OK:
        return status
    t.begun = True
    t.state = IN_ROWS
    return NEED_TABLES


cdef int take_json(TextRows* t) noexcept nogil:
    """The next part of the document that can be read for itself."""
    cdef Reader key
    cdef int status
    if t.state == AT_DOCUMENT_END:
        return NEED_MORE if peek(t) < 0 else expected(t, OF_END)
    if t.state == AT_BEGIN:
        t.state = IN_DOCUMENT
        return open_value(t, 0x7B, NO_OBJECT)
    status = next_item(t, 0x5B if t.state == IN_ROWS else 0x7B, &key)
    if status == CLOSED:
        t.state -= 1
        if t.state == IN_DOCUMENT and not t.begun:
            return refuse(t, t.at, NO_SET)
        return close_document(t) if t.state == AT_DOCUMENT_END else OK
    if status != OK:
        return status
    if t.state == IN_ROWS:
        return take_row(t)
    return take_result_member(t, &key) if t.state == IN_RESULTS else take_member(t, &key)
