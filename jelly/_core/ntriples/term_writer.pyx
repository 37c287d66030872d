"""Batches to N-Triples and N-Quads: lengths are measured first, so that bytes are written without tests."""

from libc.string cimport memcpy

from jelly._core.base.batch cimport len_direction, len_of, put_direction, refuse_term, text_of
from jelly._core.base.characters cimport UCHAR, find_escape, is_plain, len_character, short_escape
from jelly._core.base.constants cimport MAX_DEPTH, MAX_QUOTED
from jelly._core.base.fault cimport BAD_LABEL, BAD_TAG, BAD_TERM, DEPTH, QUOTED_LIMIT, fail
from jelly._core.base.kinds cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED, TEXTS, TRIPLES, among,
)
from jelly._core.ntriples.term_reader cimport OBJECT
from jelly._core.rules.term_rules cimport is_ntriples_label, is_plain_tag

cdef enum:
    # Number of characters around the text of a term.
    AROUND_IRI = 2  # < >
    AROUND_BNODE = 2  # _:
    AROUND_LITERAL = 2  # " "
    AROUND_LANG = 3  # " "@
    AROUND_TYPED = 4  # " "^^
    AROUND_TRIPLE = 8  # "<< ", two spaces, " >>"
    PARENTHESES = 2
    # Characters before a text, at most.
    AROUND_MOST = 3


cdef int64_t len_text(const uint8_t* text, int64_t n, bint iri) noexcept nogil:
    """Bytes of a text with its escapes."""
    cdef const uint8_t* end = text + n
    cdef const uint8_t* at = find_escape(text, text, end, iri)
    while at < end:
        n += len_character(at[0], iri) - 1
        at = find_escape(text, at + 1, end, iri)
    return n


cdef uint8_t* put_text(uint8_t* out, const uint8_t* text, int64_t n, int64_t written, bint iri, bint room=False) noexcept nogil:
    """Write a text; `written` is the result of len_text for it, `room` is as in copy_bytes."""
    cdef const char* digits = b"0123456789ABCDEF"
    cdef const uint8_t* end = text + n
    cdef const uint8_t* at = text
    cdef const uint8_t* escape
    cdef uint8_t byte
    if written == n:
        copy_bytes(out, text, n, room)
        return out + n
    while True:
        escape = find_escape(text, at, end, iri)
        memcpy(out, at, escape - at)
        out += escape - at
        if escape == end:
            return out
        byte = escape[0]
        out[0] = 0x5C
        if len_character(byte, iri) == UCHAR:
            out[1] = 0x75
            out[2] = out[3] = 0x30
            out[4] = digits[byte >> 4]
            out[5] = digits[byte & 15]
            out += UCHAR
        else:
            out[1] = short_escape(byte)
            out += 2
        at = escape + 1


cdef inline int64_t len_most(const uint8_t* text, int64_t n, bint iri) noexcept nogil:
    """len_text, faster for a text without escapes."""
    return n if is_plain(text, n, iri) else len_text(text, n, iri)


cdef inline int len_parentheses(NTriplesWriter* t, int slot) noexcept nogil:
    return PARENTHESES if slot == OBJECT and not t.star else 0


cdef int64_t len_term(NTriplesWriter* t, int32_t term, int slot, int depth) noexcept nogil:
    """Bytes of a term written in a slot, remembered for the next call; a negative result is a code."""
    cdef BatchData* b = t.batch
    cdef int kind
    cdef int32_t aux
    cdef int64_t length, n
    cdef const uint8_t* text
    if term < 0 or term >= b.n_terms:
        return fail(&t.fault, BAD_TERM, NULL, term, -1)
    length = t.of_term[term]
    if length > 0:
        return length
    if length < 0:
        return len_parentheses(t, slot) - length
    kind = b.kind[term]
    aux = b.aux[term]
    text = text_of(b, term)
    n = len_of(b, term)
    if kind == KIND_IRI:
        length = AROUND_IRI + len_most(text, n, True)
    elif kind == KIND_BNODE:
        if not t.fitted and not is_ntriples_label(text, text + n):
            return fail(&t.fault, BAD_LABEL, NULL, term)
        length = AROUND_BNODE + n + (2 if t.marked else 0)
    elif kind == KIND_LITERAL:
        length = AROUND_LITERAL + len_most(text, n, False)
    elif kind == KIND_LANG:
        length = AROUND_LANG + len_most(text, n, False)
        if aux < 0 or aux >= b.n_terms or not among(b.kind[aux], TEXTS):
            return fail(&t.fault, BAD_TERM, NULL, aux, -1)
        text = text_of(b, aux)
        n = len_of(b, aux)
        if not is_plain_tag(text, text + n) and not t.canonical:
            return fail(&t.fault, BAD_TAG, NULL, term)
        length += n + len_direction(b.kind[aux])
    elif kind == KIND_TYPED:
        if aux < 0 or aux >= b.n_terms or b.kind[aux] != KIND_IRI:
            return fail(&t.fault, BAD_TERM, NULL, aux, -1)
        length = AROUND_TYPED + len_most(text, n, False) + len_term(t, aux, OBJECT, depth)
    elif among(kind, TRIPLES) and 0 <= aux < b.n_quoted:
        return len_triple(t, term, slot, depth)
    else:
        return refuse_term(&t.fault, b, term, -1)
    t.of_term[term] = length
    return length


cdef int64_t len_triple(NTriplesWriter* t, int32_t term, int slot, int depth) noexcept nogil:
    """len_term of a quoted triple."""
    cdef int32_t* inner = t.batch.quoted + 3 * t.batch.aux[term]
    cdef int64_t length = AROUND_TRIPLE
    cdef int64_t n
    cdef int k
    if depth >= MAX_DEPTH:
        return fail(&t.fault, DEPTH, NULL, MAX_DEPTH)
    for k in range(3):
        n = len_term(t, inner[k], k, depth + 1)
        if n < 0:
            return n
        length += n
    if length > MAX_QUOTED + t.batch.n_text:
        return fail(&t.fault, QUOTED_LIMIT, NULL, MAX_QUOTED)
    t.of_term[term] = -length
    return len_parentheses(t, slot) + length


cdef uint8_t* put_triple(NTriplesWriter* t, uint8_t* out, int32_t term, int slot) noexcept nogil:
    """nt_put_term of a quoted triple."""
    cdef int32_t* inner = t.batch.quoted + 3 * t.batch.aux[term]
    cdef bint closed = len_parentheses(t, slot) > 0
    cdef int k
    out[0] = out[1] = 0x3C
    out += 2
    if closed:
        out[0] = 0x28
        out += 1
    for k in range(3):
        out[0] = 0x20
        out = nt_put_term(t, out + 1, inner[k], k)
    out[0] = 0x20
    out += 1
    if closed:
        out[0] = 0x29
        out += 1
    out[0] = out[1] = 0x3E
    return out + 2


cdef uint8_t* nt_put_term(NTriplesWriter* t, uint8_t* out, int32_t term, int slot) noexcept nogil:
    """Write a term that len_term has measured for the slot; return the end of its bytes."""
    return put_any(t, out, term, slot, True)


cdef uint8_t* put_leaf(NTriplesWriter* t, uint8_t* out, int32_t term) noexcept nogil:
    """nt_put_term for terms other than quoted triples. They look the same in every slot."""
    cdef BatchData* b = t.batch
    cdef int64_t begin = b.start[term]
    cdef int64_t n = b.start[term + 1] - begin
    cdef bint room = b.n_text - begin >= SHORT and t.part_end - out >= SHORT + AROUND_MOST
    cdef int kind = b.kind[term]
    if not room or n > SHORT or t.of_term[term] != n + 2:
        return put_any_leaf(t, out, term, room)
    if kind == KIND_BNODE:
        out[0] = 0x5F
        out[1] = 0x3A
        copy_bytes(out + 2, b.text + begin, n, True)
        return out + n + 2
    if kind == KIND_IRI or kind == KIND_LITERAL:
        out[0] = 0x3C if kind == KIND_IRI else 0x22
        copy_bytes(out + 1, b.text + begin, n, True)
        out[n + 1] = 0x3E if kind == KIND_IRI else 0x22
        return out + n + 2
    return put_any_leaf(t, out, term, room)


cdef uint8_t* put_any_leaf(NTriplesWriter* t, uint8_t* out, int32_t term, bint room) noexcept nogil:
    """put_leaf, also for long texts and those with escapes."""
    cdef BatchData* b = t.batch
    cdef int kind = b.kind[term]
    cdef int32_t aux = b.aux[term]
    cdef int64_t begin = b.start[term]
    cdef int64_t n = b.start[term + 1] - begin
    cdef int64_t written = t.of_term[term]
    if kind == KIND_IRI:
        out[0] = 0x3C
        out = put_text(out + 1, b.text + begin, n, written - AROUND_IRI, True, room)
        out[0] = 0x3E
        return out + 1
    if kind == KIND_BNODE:
        if t.marked:
            out[0] = 0x3C
            out += 1
        out[0] = 0x5F
        out[1] = 0x3A
        copy_bytes(out + 2, b.text + begin, n, room)
        out += 2 + n
        if t.marked:
            out[0] = 0x3E
            out += 1
        return out
    if kind == KIND_LITERAL:
        written -= AROUND_LITERAL
    elif kind == KIND_LANG:
        written -= AROUND_LANG + len_of(b, aux) + len_direction(b.kind[aux])
    else:
        written -= AROUND_TYPED + t.of_term[aux]
    out[0] = 0x22
    out = put_text(out + 1, b.text + begin, n, written, False, room)
    out[0] = 0x22
    out += 1
    if kind == KIND_LANG:
        out[0] = 0x40
        n = len_of(b, aux)
        memcpy(out + 1, text_of(b, aux), n)
        out += 1 + n
        if b.kind[aux] != KIND_TEXT:
            put_direction(out, b.kind[aux])
            out += len_direction(b.kind[aux])
        return out
    if kind == KIND_TYPED:
        out[0] = out[1] = 0x5E
        return put_leaf(t, out + 2, aux)
    return out


cdef int64_t len_rows(NTriplesWriter* t, int64_t* row, int64_t end, int64_t limit) noexcept nogil:
    """Bytes of rows from `row` to `end`, until they reach `limit`; `row` moves past the last row. Negative: a code."""
    cdef int64_t total = 0
    cdef int64_t n
    while row[0] < end and total < limit:
        n = len_row(t, row[0])
        if n < 0:
            return n
        total += n
        row[0] += 1
    return total


cdef void put_rows(NTriplesWriter* t, int64_t row, int64_t end) noexcept nogil:
    """Write rows that len_rows has measured to their part."""
    cdef uint8_t* out = t.part
    if t.batch.n_quoted:
        while row < end:
            out = put_row(t, out, row, True)
            row += 1
    else:
        while row < end:
            out = put_row(t, out, row, False)
            row += 1
