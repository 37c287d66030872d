"""SPARQL 1.1 Query Results JSON Format, with the triple terms and base directions of 1.2.

The document is read item by item: a member of an object, or a row. An item that is not whole is read again when more is
there. Results that come before the head are kept until it is known.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from jelly._core.base.characters cimport PASS_WIDE, STOP_WIDE, find_stop, is_digit, is_letter
from jelly._core.base.constants cimport MAX_DEPTH
from jelly._core.base.fault cimport (
    DEPTH, JSON_DEPTH, NEED_MORE, NEED_TABLES, NOT_UTF8, OK, fail,
)
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, KIND_LITERAL, KIND_TRIPLE
from jelly._core.base.protobuf cimport Reader, put_byte, put_bytes
from jelly._core.base.utf8 cimport check_utf8, put_point
from jelly._core.results.rows cimport (
    BOTH_SETS, HALF_PAIR, NOT_TERM, NO_ANSWER, NO_OBJECT, NO_SET, NO_TEXT, NO_TRUTH, OF_BRACE, OF_BRACKET, OF_COLON, OF_END,
    OF_ESCAPE, OF_JSON_VALUE, OF_STRING, STANDS_TWICE, Value, add_name, add_text, add_value, begin_row, cut, end_row, expected,
    find_column, is_text, put_cell, refuse,
)

cdef enum:
    # Where the reader is.
    AT_BEGIN = 0
    IN_DOCUMENT = 1
    IN_RESULTS = 2
    IN_ROWS = 3
    AT_DOCUMENT_END = 4

cdef enum:
    # No fault: an object or array ended.
    CLOSED = 4

cdef enum:
    # Objects and arrays in one another, where they mean nothing here.
    MAX_JSON = 512


# ---- JSON

cdef inline int peek(TextRows* t) noexcept nogil:
    """The next byte that is no space; -1 at the end."""
    cdef uint8_t byte
    while t.at < t.end:
        byte = t.at[0]
        if byte > 0x20 or not (byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09):
            return byte
        t.at += 1
    return -1


cdef int take_hex(TextRows* t, int64_t* point) noexcept nogil:
    """Four hexadecimal digits."""
    cdef uint8_t byte
    cdef int _
    point[0] = 0
    for _ in range(4):
        byte = t.at[0] if t.at < t.end else 0
        if is_digit(byte):
            point[0] = point[0] * 16 + byte - 0x30
        elif <uint8_t>((byte | 0x20) - 0x61) < 6:
            point[0] = point[0] * 16 + (byte | 0x20) - 0x57
        else:
            return expected(t, OF_ESCAPE)
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


cdef int next_item(TextRows* t, bint* first, uint8_t close) noexcept nogil:
    """To the next item of an object or array. CLOSED after the last."""
    cdef int byte = peek(t)
    if byte == close:
        t.at += 1
        return CLOSED
    if not first[0]:
        if byte != 0x2C:
            return expected(t, OF_BRACE if close == 0x7D else OF_BRACKET)
        t.at += 1
        if peek(t) == close:
            return expected(t, OF_JSON_VALUE)
    first[0] = False
    return OK


cdef int next_member(TextRows* t, bint* first, Reader* key) noexcept nogil:
    """The key of the next member of an object, to its value. CLOSED after the last."""
    cdef int status = next_item(t, first, 0x7D)
    if status == OK:
        status = take_string(t, key)
    if status == OK:
        if peek(t) != 0x3A:
            return expected(t, OF_COLON)
        t.at += 1
    return status


cdef inline bint is_number(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether these bytes, of which none follows, are a number."""
    cdef const uint8_t* digits
    if at < end and at[0] == 0x2D:
        at += 1
    digits = at
    while at < end and is_digit(at[0]):
        at += 1
    if at == digits or (digits[0] == 0x30 and at - digits > 1):
        return False
    if at < end and at[0] == 0x2E:
        at += 1
        if at == end or not is_digit(at[0]):
            return False
        while at < end and is_digit(at[0]):
            at += 1
    if at < end and at[0] | 0x20 == 0x65:
        at += 1
        if at < end and (at[0] == 0x2B or at[0] == 0x2D):
            at += 1
        if at == end:
            return False
        while at < end and is_digit(at[0]):
            at += 1
    return at == end


cdef int take_word(TextRows* t, Reader* word) noexcept nogil:
    """A number, or true, false or null."""
    cdef const uint8_t* begin
    peek(t)
    begin = t.at
    while t.at < t.end and (is_letter(t.at[0]) or is_digit(t.at[0]) or 0x2B <= t.at[0] <= 0x2E and t.at[0] != 0x2C):
        t.at += 1
    if t.at >= t.end:
        return cut(t, OF_JSON_VALUE)
    word.at = begin
    word.end = t.at
    if (
        is_text(word, b"true", 4) or is_text(word, b"false", 5) or is_text(word, b"null", 4)
        or is_number(begin, t.at)
    ):
        return OK
    t.at = begin
    return expected(t, OF_JSON_VALUE)


cdef int skip_value(TextRows* t, int depth) noexcept nogil:
    """Step over a value that is of no use here."""
    cdef int byte = peek(t)
    cdef bint first = True
    cdef int status
    cdef Reader ignored
    if byte == 0x22:
        return take_string(t, &ignored)
    if byte != 0x7B and byte != 0x5B:
        return take_word(t, &ignored)
    if depth >= MAX_JSON:
        return fail(&t.fault, JSON_DEPTH, t.at, MAX_JSON)
    t.at += 1
    while True:
        status = next_member(t, &first, &ignored) if byte == 0x7B else next_item(t, &first, 0x5D)
        if status != OK:
            return OK if status == CLOSED else status
        status = skip_value(t, depth + 1)
        if status != OK:
            return status


cdef int open_value(TextRows* t, uint8_t bracket, int what) noexcept nogil:
    """Step into an object or array; another value is a fault."""
    cdef const uint8_t* begin
    cdef int status
    if peek(t) == bracket:
        t.at += 1
        return OK
    begin = t.at
    status = skip_value(t, 0)
    return refuse(t, begin, what) if status == OK else status


cdef int take_text(TextRows* t, Reader* text) noexcept nogil:
    """A string of a term; null is as if it were not there."""
    cdef const uint8_t* begin
    cdef int status
    if peek(t) == 0x22:
        return take_string(t, text)
    begin = t.at
    text.at = text.end = NULL
    status = skip_value(t, 0)
    if status == OK and begin[0] != 0x6E:
        return refuse(t, begin, NOT_TERM)
    return status


# ---- terms and rows

cdef int take_triple(TextRows* t, int depth, int32_t* triple) noexcept nogil:
    """The parts of a triple term, by their names, or one letter each as in RDF-star."""
    cdef bint first = True
    cdef Reader key
    cdef int status, i
    triple[0] = triple[1] = triple[2] = -1
    if depth >= MAX_DEPTH:
        return fail(&t.fault, DEPTH, t.at, MAX_DEPTH)
    t.at += 1
    while True:
        status = next_member(t, &first, &key)
        if status != OK:
            break
        if is_text(&key, b"subject", 7) or is_text(&key, b"s", 1):
            i = 0
        elif is_text(&key, b"predicate", 9) or is_text(&key, b"p", 1):
            i = 1
        elif is_text(&key, b"object", 6) or is_text(&key, b"o", 1):
            i = 2
        else:
            i = -1
        status = skip_value(t, 0) if i < 0 else take_term(t, depth + 1, &triple[i])
        if status != OK:
            break
    if status == CLOSED and (triple[0] < 0 or triple[1] < 0 or triple[2] < 0):
        return refuse(t, t.at, NOT_TERM)
    return OK if status == CLOSED else status


cdef int take_part(TextRows* t, int depth, Reader* key, Reader* kind, Value* v) noexcept nogil:
    """The value of a member of a term."""
    if is_text(key, b"type", 4):
        return take_text(t, kind)
    if is_text(key, b"value", 5):
        v.text.at = NULL
        v.kind = KIND_LITERAL
        if peek(t) == 0x7B:
            v.kind = KIND_TRIPLE
            return take_triple(t, depth, v.triple)
        return take_text(t, &v.text)
    if is_text(key, b"datatype", 8):
        return take_text(t, &v.datatype)
    if is_text(key, b"xml:lang", 8):
        return take_text(t, &v.tag)
    if is_text(key, b"its:dir", 7):
        return take_text(t, &v.direction)
    return skip_value(t, 0)


cdef int take_term(TextRows* t, int depth, int32_t* term) noexcept nogil:
    cdef const uint8_t* begin
    cdef bint first = True
    cdef bint is_triple
    cdef Reader key, kind
    cdef Value v
    cdef int status = open_value(t, 0x7B, NOT_TERM)
    if status != OK:
        return status
    begin = t.at - 1
    memset(&v, 0, sizeof(Value))
    kind.at = kind.end = NULL
    while True:
        status = next_member(t, &first, &key)
        if status == OK:
            status = take_part(t, depth, &key, &kind, &v)
        if status == CLOSED:
            break
        if status != OK:
            return status
    is_triple = is_text(&kind, b"triple", 6) or is_text(&kind, b"statement", 9)
    if is_text(&kind, b"uri", 3):
        v.kind = KIND_IRI
    elif is_text(&kind, b"bnode", 5):
        v.kind = KIND_BNODE
    elif not is_triple and not is_text(&kind, b"literal", 7) and not is_text(&kind, b"typed-literal", 13):
        return refuse(t, begin, NOT_TERM)
    if is_triple != (v.kind == KIND_TRIPLE) or (not is_triple and v.text.at == NULL):
        return refuse(t, begin, NOT_TERM)
    term[0] = add_value(t, &v)
    return OK if term[0] >= 0 else term[0]


cdef int take_row(TextRows* t) noexcept nogil:
    cdef bint first = True
    cdef Reader key
    cdef int64_t column
    cdef int32_t term = -1
    cdef int status = begin_row(t)
    if status == OK:
        status = open_value(t, 0x7B, NOT_TERM)
    while status == OK:
        status = next_member(t, &first, &key)
        if status == OK:
            column = find_column(t, &key)
            if column < 0:
                status = skip_value(t, 0)
            else:
                status = take_term(t, 0, &term)
                if status == OK:
                    put_cell(t, column, term)
    return end_row(t) if status == CLOSED else status


# ---- the document

cdef int take_list(TextRows* t, bint names) noexcept nogil:
    """The array of the variables, or of the links. One that stands twice counts the last time."""
    cdef bint first = True
    cdef Reader text
    cdef int status = open_value(t, 0x5B, NO_OBJECT)
    if names:
        t.width = t.names.n = 0
    else:
        t.links.n = 0
    while status == OK:
        status = next_item(t, &first, 0x5D)
        if status == OK and peek(t) >= 0 and peek(t) != 0x22:
            status = skip_value(t, 0)
            return refuse(t, t.at, NO_TEXT) if status == OK else status
        if status == OK:
            status = take_string(t, &text)
        if status == OK:
            status = add_name(t, &text) if names else add_text(t, &t.links, &text)
    return OK if status == CLOSED else status


cdef int take_head(TextRows* t) noexcept nogil:
    cdef bint first = True
    cdef Reader key
    cdef int status = open_value(t, 0x7B, NO_OBJECT)
    t.width = t.names.n = t.links.n = 0
    while status == OK:
        status = next_member(t, &first, &key)
        if status == OK:
            if is_text(&key, b"vars", 4):
                status = take_list(t, True)
            elif is_text(&key, b"link", 4):
                status = take_list(t, False)
            else:
                status = skip_value(t, 0)
    if status != CLOSED:
        return status
    t.has_head = True
    return OK


cdef int take_answer(TextRows* t) noexcept nogil:
    """The answer of an ASK query; null is none."""
    cdef const uint8_t* begin
    cdef int status
    peek(t)
    begin = t.at
    status = skip_value(t, 0)
    if status != OK or begin[0] == 0x6E:
        return status
    if begin[0] != 0x74 and begin[0] != 0x66:
        return refuse(t, begin, NO_TRUTH)
    if t.begun:
        return refuse(t, begin, BOTH_SETS)
    t.answer = begin[0] == 0x74
    return OK


cdef int open_results(TextRows* t) noexcept nogil:
    """The member with the results: its rows follow, or must wait for the head."""
    cdef const uint8_t* begin
    cdef int status
    peek(t)
    begin = t.at
    if t.answer != NO_ANSWER:
        return skip_value(t, 0)
    if t.begun:
        return refuse(t, begin, STANDS_TWICE)
    if t.has_head:
        status = open_value(t, 0x7B, NO_OBJECT)
        t.state = IN_RESULTS
        t.first = True
        return status
    status = skip_value(t, 0)
    if status == OK:
        t.held = begin - t.begin
    return status


cdef int close_document(TextRows* t) noexcept nogil:
    """The end of the outer object. Results that waited for the head are read now."""
    t.state = AT_DOCUMENT_END
    if not t.has_head or (t.answer == NO_ANSWER and not t.begun and t.held < 0):
        return refuse(t, t.at, NO_SET)
    if t.answer == NO_ANSWER and t.held >= 0:
        t.after_held = t.at - t.begin
        t.at = t.begin + t.held
        return open_results(t)
    return OK


cdef int take_member(TextRows* t) noexcept nogil:
    """A member of the outer object."""
    cdef Reader key
    cdef int status = next_member(t, &t.first, &key)
    if status == CLOSED:
        return close_document(t)
    if status != OK:
        return status
    if is_text(&key, b"head", 4):
        if t.begun:
            return refuse(t, t.at, STANDS_TWICE)
        return take_head(t)
    if is_text(&key, b"results", 7):
        return open_results(t)
    return take_answer(t) if is_text(&key, b"boolean", 7) else skip_value(t, 0)


cdef int take_result_member(TextRows* t) noexcept nogil:
    """A member of the results."""
    cdef Reader key
    cdef int status = next_member(t, &t.first, &key)
    if status == CLOSED:
        if not t.begun:
            return refuse(t, t.at, NO_SET)
        t.state = IN_DOCUMENT
        if t.held >= 0:
            t.state = AT_DOCUMENT_END
            t.at = t.begin + t.after_held
            t.held = -1
        t.first = False
        return OK
    if status != OK or not is_text(&key, b"bindings", 8):
        return skip_value(t, 0) if status == OK else status
    if t.begun:
        return refuse(t, t.at, STANDS_TWICE)
    status = open_value(t, 0x5B, NO_SET)
    if status != OK:
        return status
    t.begun = t.first = True
    t.state = IN_ROWS
    return NEED_TABLES


cdef int take_item(TextRows* t) noexcept nogil:
    """The next part of the document that can be read for itself."""
    cdef int status
    if t.state == IN_ROWS:
        status = next_item(t, &t.first, 0x5D)
        if status == CLOSED:
            t.state = IN_RESULTS
            t.first = False
            return OK
        return take_row(t) if status == OK else status
    if t.state == IN_DOCUMENT:
        return take_member(t)
    if t.state == IN_RESULTS:
        return take_result_member(t)
    if t.state == AT_DOCUMENT_END:
        return NEED_MORE if peek(t) < 0 else expected(t, OF_END)
    if t.end - t.at < 3 and not t.final:
        return NEED_MORE
    if t.end - t.at >= 3 and t.at[0] == 0xEF and t.at[1] == 0xBB and t.at[2] == 0xBF:
        t.at += 3
    status = open_value(t, 0x7B, NO_OBJECT)
    if status == OK:
        t.state = IN_DOCUMENT
        t.first = True
    return status


cdef int read_json(TextRows* t) noexcept nogil:
    """Read on: OK never; NEED_MORE, NEED_TABLES, FULL or a fault."""
    cdef const uint8_t* begin
    cdef bint first
    cdef int state, status
    while True:
        begin = t.at
        first = t.first
        state = t.state
        t.scratch.n = 0
        status = take_item(t)
        if status == NEED_MORE and t.state != AT_DOCUMENT_END:
            t.at = begin
            t.first = first
            t.state = state
        if status != OK:
            return status
