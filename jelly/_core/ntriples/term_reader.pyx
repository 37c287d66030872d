"""N-Triples and N-Quads to Batches: lines, statements and terms, without the GIL and without copying the input."""

from libc.stdint cimport uint32_t
from libc.string cimport strlen

from jelly._core.base.batch cimport NO_TERM, add_quoted, intern_term, len_direction, same_bytes, split_tag
from jelly._core.base.characters cimport (
    INPUT_END, INVALID, PASS_WIDE, STOP_WIDE, describe, find_escape, find_label_end, find_stop, find_tag_end, hex_digit,
    is_digit, is_letter, is_line_end, skip_digits, skip_scheme, skip_sign,
)
from jelly._core.base.constants cimport MAX_DEPTH, RDF_11, RDF_12, is_tag_datatype, is_xsd_string
from jelly._core.base.fault cimport (
    AFTER_TERM, BNODE_LABEL, DEPTH, ESCAPE, ESCAPE_HEX, ESCAPE_RANGE, FOURTH_TERM, IRI_CHARACTER, IRI_OPEN, LANG_TAG,
    LINE_CUT, LITERAL_OPEN, LONG_SUBTAG, NOT_STRICT, NO_DATATYPE, NO_DOT, NO_MEMORY, OK, PATCH_NUMBER, QUOTED_END,
    RELATIVE_IRI, SYNTAX, TEXT_UTF8, UNTAGGED, fail,
)
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TRIPLE, KIND_TYPED
from jelly._core.base.protobuf cimport Reader, reserve, write_byte, write_bytes
from jelly._core.base.utf8 cimport MAX_UTF8, check_utf8, put_point

cdef enum:
    # The last code point.
    LAST_POINT = 0x10FFFF
    # BCP 47: maximum characters of a subtag.
    MAX_SUBTAG = 8


# Faults.

cdef int miss(NTriplesReader* t, int code, const uint8_t* at, int64_t b) noexcept nogil:
    """Report the unexpected character at `at`, or that the input is cut off."""
    cdef int64_t found = describe(at, t.end)
    if found == INPUT_END:
        return fail(&t.fault, LINE_CUT, at)
    if found <= INVALID:
        return fail(&t.fault, TEXT_UTF8, at, INVALID - found)
    return fail(&t.fault, code, at, found, b)


cdef int check_text(NTriplesReader* t, const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef int64_t bad = check_utf8(at, end - at)
    if bad < 0:
        return OK
    return fail(&t.fault, TEXT_UTF8, at + bad, at[bad])


# Terms.

cdef int take_hex(NTriplesReader* t, const uint8_t* at, int n, Writer* out) noexcept nogil:
    """Append the UTF-8 of an escape with `n` hexadecimal digits at `at`."""
    cdef uint32_t point = 0
    cdef int digit, i
    for i in range(n):
        digit = hex_digit(at[i]) if at + i < t.end else -1
        if digit < 0:
            return miss(t, ESCAPE_HEX, at + i, n)
        point = (point << 4) | <uint32_t>digit
    if point > LAST_POINT or (point >> 11) == 0x1B:  # D800 to DFFF: half of a UTF-16 pair
        return fail(&t.fault, ESCAPE_RANGE, at - 2, point)
    if reserve(out, MAX_UTF8) == 0:
        put_point(out, point)
    return OK


cdef int64_t take_escape(NTriplesReader* t, const uint8_t* at, bint iri, Writer* out) noexcept nogil:
    """Append the character of the escape at `at`; return the length of the escape, or a negative code."""
    cdef uint8_t byte
    cdef int status
    if at + 1 >= t.end:
        return miss(t, ESCAPE, at + 1, 0)
    byte = at[1]
    if byte == 0x75 or byte == 0x55:  # u U
        status = take_hex(t, at + 2, 4 if byte == 0x75 else 8, out)
        return status if status < 0 else 6 if byte == 0x75 else 10
    if iri:
        if t.strict:
            return miss(t, ESCAPE, at + 1, 1)
        byte = 0x5C  # stands for itself: the writer escapes it
    elif byte == 0x74:
        byte = 0x09
    elif byte == 0x6E:
        byte = 0x0A
    elif byte == 0x72:
        byte = 0x0D
    elif byte == 0x62:
        byte = 0x08
    elif byte == 0x66:
        byte = 0x0C
    elif byte != 0x22 and byte != 0x27 and byte != 0x5C:
        return miss(t, ESCAPE, at + 1, 0)
    write_byte(out, byte)
    return 1 if iri else 2


cdef int take_text(
    NTriplesReader* t, uint8_t stop, int open_code, Writer* scratch, const uint8_t** text, int64_t* n
) noexcept nogil:
    """Step over an IRI or a string past its closing `stop`; the text is in the input, or had escapes: in `scratch`."""
    cdef bint iri = stop == 0x3E
    cdef const uint8_t* begin = t.at + 1
    cdef const uint8_t* copied = begin  # up to here, `scratch` has it
    cdef const uint8_t* at = find_stop(begin, t.end, stop, STOP_WIDE)
    cdef bint wide = False
    cdef bint escaped = False
    cdef int64_t step
    while True:
        if at >= t.end:
            return miss(t, open_code, at, 0)
        if at[0] == stop:
            break
        if at[0] == 0x5C:
            if not escaped:
                scratch.n = 0
                escaped = True
            write_bytes(scratch, copied, at - copied)
            step = take_escape(t, at, iri, scratch)
            if step < 0:
                return <int>step
            at += step
            copied = at
        elif is_line_end(at[0]):
            return fail(&t.fault, open_code, t.at)
        else:
            wide = wide or at[0] >= 0x80
            at += 1
        # Text that is not ASCII seldom has only one such letter.
        at = find_stop(at, t.end, stop, PASS_WIDE if wide else STOP_WIDE)
    if wide and check_text(t, begin, at) < 0:
        return t.fault.code
    if escaped:
        write_bytes(scratch, copied, at - copied)
        if scratch.failed:
            return fail(&t.fault, NO_MEMORY, at)
        text[0] = scratch.buf
        n[0] = scratch.n
    else:
        text[0] = begin
        n[0] = at - begin
    t.at = at + 1
    return OK


cdef const uint8_t* find_long_end(const uint8_t* at, const uint8_t* end, uint8_t quote) noexcept nogil:
    """Address of the last three quotes of a long string, after its escapes; NULL if they are missing."""
    cdef int64_t n = 0
    while at < end:
        if at[0] == quote:
            n += 1
            # Quotes before the last three belong to the text.
            if n >= 3 and (at + 1 == end or at[1] != quote):
                return at - 2
        else:
            n = 0
            if at[0] == 0x5C:
                at += 1
        at += 1
    return NULL


cdef int take_string(NTriplesReader* t, const uint8_t** text, int64_t* n) noexcept nogil:
    """A string in quotes; of RDF Patch in single or three quotes too, as Jena reads it. In three it may go over lines,
    whose ends become LF however they are written."""
    cdef uint8_t quote = t.at[0]
    cdef const uint8_t* begin = t.at
    cdef const uint8_t* end
    cdef int64_t step
    if not t.patch or t.strict or t.end - begin < 3 or begin[1] != quote or begin[2] != quote:
        return take_text(t, quote, LITERAL_OPEN, &t.scratch, text, n)
    begin += 3
    end = find_long_end(begin, t.end, quote)
    if end == NULL:
        t.open_text = True
        return miss(t, LITERAL_OPEN, t.end, 0)
    t.scratch.n = 0
    t.at = end + 3
    text[0] = begin
    while begin < end:
        step = 1
        if begin[0] == 0x5C:
            step = take_escape(t, begin, False, &t.scratch)
            if step < 0:
                return <int>step
        else:
            if begin[0] == 0x0D and begin[1] == 0x0A:
                step = 2
            t.line += is_line_end(begin[0])
            write_byte(&t.scratch, 0x0A if begin[0] == 0x0D else begin[0])
        begin += step
    if check_text(t, text[0], end) < 0:
        return t.fault.code
    if t.scratch.failed:
        return fail(&t.fault, NO_MEMORY, end)
    text[0] = t.scratch.buf
    n[0] = t.scratch.n
    return OK


cdef int check_iri(NTriplesReader* t, const uint8_t* token, const uint8_t* text, int64_t n) noexcept nogil:
    """RDF 1.1: an IRI begins with a scheme and has no character that IRIREF excludes, escaped or not."""
    cdef const uint8_t* bad = find_escape(text, text, text + n, True)
    if bad < text + n:
        return fail(&t.fault, IRI_CHARACTER, bad if text == token + 1 else token, bad[0])
    return OK if skip_scheme(text, text + n) != NULL else fail(&t.fault, RELATIVE_IRI, token)


cdef inline int take_iri(NTriplesReader* t, Writer* scratch, const uint8_t** text, int64_t* n) noexcept nogil:
    cdef const uint8_t* token = t.at
    cdef int status = take_text(t, 0x3E, IRI_OPEN, scratch, text, n)
    if status == OK and t.strict:
        status = check_iri(t, token, text[0], n[0])
    return status


cdef int intern(NTriplesReader* t, int kind, int32_t aux, const uint8_t* text, int64_t n, int32_t* term) noexcept nogil:
    if t.skims and t.batch.n_terms > 0:
        term[0] = 0
        return OK
    term[0] = intern_term(&t.index, t.batch, kind, aux, text, n)
    if term[0] < 0:
        return fail(&t.fault, term[0], t.at, t.batch.text_limit)
    return OK


cdef inline Token* last_of(NTriplesReader* t, int slot) noexcept nogil:
    """The term that probably stands here: the last subject or graph; the predicate that came after the one before, as
    statements often come in the same order; the last object or datatype of the predicate."""
    return &t.last[slot][0 if slot == SUBJECT or slot == GRAPH else t.guess]


cdef inline bint take_again(NTriplesReader* t, const Token* last) noexcept nogil:
    """Whether the term here equals the last term; if so, step over it."""
    cdef const uint8_t* after
    # Two more bytes must follow; only the last terms of the input lack them.
    if last.serial != t.serial or last.n + 2 > t.end - t.at or not same_bytes(t.at, last.at, last.n):
        return False
    if not last.closed:
        # A longer label, tag or literal would begin with the same bytes; @ and ^^ may also follow a space.
        after = t.at + last.n
        if after[0] != 0x20 or after[1] == 0x20 or after[1] == 0x09 or after[1] == 0x40 or after[1] == 0x5E:
            return False
    t.at += last.n
    return True


cdef inline void keep_token(NTriplesReader* t, Token* last, const uint8_t* token, int32_t term, bint closed) noexcept nogil:
    last.at = token
    last.n = t.at - token
    last.serial = t.serial
    last.term = term
    last.closed = closed


cdef void forget_tokens(NTriplesReader* t) noexcept nogil:
    """Call this before the bytes or the Batch of the last terms go away."""
    t.serial += 1


cdef int take_datatype(NTriplesReader* t, int32_t* term) noexcept nogil:
    """The IRI after ^^; NO_TERM if it is xsd:string."""
    cdef Token* last = last_of(t, DATATYPE)
    cdef const uint8_t* token
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int status
    if t.end - t.at < 2 or t.at[1] != 0x5E:
        return miss(t, NO_DATATYPE, t.at + 1, 0)
    t.at += 2
    skip_space(t)
    token = t.at
    if take_again(t, last):
        term[0] = last.term
        return OK
    if t.at >= t.end or t.at[0] != 0x3C or (t.end - t.at > 1 and t.at[1] == 0x3C):
        return miss(t, NO_DATATYPE, t.at, 0)
    status = take_iri(t, &t.scratch_datatype, &text, &n)
    if status < 0:
        return status
    if t.strict and is_tag_datatype(text, n):
        return fail(&t.fault, NOT_STRICT, token, UNTAGGED, OBJECT)
    if is_xsd_string(text, n):
        term[0] = NO_TERM
    else:
        status = intern(t, KIND_IRI, NO_TERM, text, n, term)
    if status == OK:
        keep_token(t, last, token, term[0], True)
    return status


cdef int take_tag(NTriplesReader* t, int32_t* term) noexcept nogil:
    """The language tag after @. Strict: letters, then subtags of up to 8 letters and digits, each after a hyphen.

    RDF 1.2 may have a base direction after it.
    """
    cdef const uint8_t* begin = t.at + 1
    cdef const uint8_t* end = find_tag_end(begin, t.end)
    cdef const uint8_t* at = begin
    cdef const uint8_t* part
    cdef int64_t n = end - begin
    cdef int kind = split_tag(begin, &n)
    cdef bint first = True
    if end == begin:
        return miss(t, LANG_TAG, begin, 0)
    if t.strict:
        if kind != KIND_TEXT:
            if t.version == RDF_11:
                return fail(&t.fault, NOT_STRICT, begin + n, kind, OBJECT)
            end = begin + n
        while True:
            if at == end or at[0] == 0x2D or (first and is_digit(at[0])):
                return miss(t, LANG_TAG, at, 0)
            part = at
            while at < end and at[0] != 0x2D:
                if first and is_digit(at[0]):
                    return miss(t, LANG_TAG, at, 0)
                at += 1
            if at - part > MAX_SUBTAG:
                return fail(&t.fault, NOT_STRICT, part, LONG_SUBTAG, OBJECT)
            if at == end:
                break
            at += 1
            first = False
    t.at = begin + n + len_direction(kind)
    return intern(t, kind, NO_TERM, begin, n, term)


cdef int take_literal(NTriplesReader* t, int slot, int32_t* term) noexcept nogil:
    cdef const uint8_t* token = t.at
    cdef const uint8_t* after
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int32_t aux = NO_TERM
    cdef int kind = KIND_LITERAL
    cdef bint closed = False
    cdef int64_t line = t.line
    cdef int status = take_string(t, &text, &n)
    if status < 0:
        return status
    after = t.at
    skip_space(t)
    if t.at < t.end and t.at[0] == 0x40:
        kind = KIND_LANG
        status = take_tag(t, &aux)
    elif t.at < t.end and t.at[0] == 0x5E:
        closed = True
        status = take_datatype(t, &aux)
        if aux != NO_TERM:
            kind = KIND_TYPED
    else:
        t.at = after
    if status == OK:
        status = intern(t, kind, aux, text, n, term)
    if status == OK and t.line == line:  # lines are counted where it is read
        keep_token(t, last_of(t, slot), token, term[0], closed)
    return status


cdef int take_bnode(NTriplesReader* t, int slot, int32_t* term) noexcept nogil:
    cdef const uint8_t* token = t.at
    cdef const uint8_t* end
    cdef int status
    if t.end - token < 2 or token[1] != 0x3A:
        return miss(t, BNODE_LABEL, token + 1, 0)
    # The first text of N-Triples 1.1 allowed colons; its errata and tests do not.
    end = find_label_end(token + 2, t.end, not t.strict)
    if end == token + 2:
        return miss(t, BNODE_LABEL, end, 0)
    t.at = end
    status = intern(t, KIND_BNODE, NO_TERM, token + 2, end - token - 2, term)
    if status == OK:
        keep_token(t, last_of(t, slot), token, term[0], False)
    return status


cdef int take_quoted(NTriplesReader* t, int depth, int32_t* term) noexcept nogil:
    """<< s p o >> or <<( s p o )>>"""
    cdef int32_t ids[3]
    cdef bint paren
    cdef int slot, status
    if depth >= MAX_DEPTH:
        return fail(&t.fault, DEPTH, t.at, MAX_DEPTH)
    t.at += 2
    paren = t.at < t.end and t.at[0] == 0x28
    if paren:
        t.at += 1
    for slot in range(3):
        skip_space(t)
        status = take_term(t, slot, depth + 1, &ids[slot])
        if status < 0:
            return status
    skip_space(t)
    if paren:
        if t.at >= t.end or t.at[0] != 0x29:
            return miss(t, QUOTED_END, t.at, 1)
        t.at += 1
    if t.at >= t.end or t.at[0] != 0x3E:
        return miss(t, QUOTED_END, t.at, 0)
    if t.end - t.at < 2 or t.at[1] != 0x3E:
        return miss(t, QUOTED_END, t.at + 1, 0)
    t.at += 2
    term[0] = add_quoted(t.batch, ids[0], ids[1], ids[2])
    if term[0] < 0:
        return fail(&t.fault, term[0], t.at, t.batch.text_limit)
    return OK


cdef int take_marked_bnode(NTriplesReader* t, int slot, int32_t* term) noexcept nogil:
    """<_:label>, a blank node of RDF Patch."""
    cdef const uint8_t* token = t.at
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int status = take_text(t, 0x3E, IRI_OPEN, &t.scratch, &text, &n)
    if status == OK and (n == 2 or find_label_end(text + 2, text + n, True) != text + n):
        return miss(t, BNODE_LABEL, token + 3, 0)
    if status == OK:
        status = intern(t, KIND_BNODE, NO_TERM, text + 2, n - 2, term)
    if status == OK:
        keep_token(t, last_of(t, slot), token, term[0], True)
    return status


cdef int take_bare(NTriplesReader* t, int32_t* term) noexcept nogil:
    """A number or boolean as in Turtle, for RDF Patch."""
    cdef const char* kind = b"http://www.w3.org/2001/XMLSchema#integer"
    cdef const uint8_t* token = t.at
    cdef const uint8_t* at = token
    cdef const uint8_t* digits
    cdef Reader word
    cdef int32_t datatype = NO_TERM
    cdef int status
    while at < t.end and is_letter(at[0]):
        at += 1
    word.at = token
    word.end = at
    if find_word(&word, b"\4true\5false") >= 0:
        kind = b"http://www.w3.org/2001/XMLSchema#boolean"
    else:
        digits = skip_sign(token, t.end)
        at = skip_digits(digits, t.end)
        if t.end - at > 1 and at[0] == 0x2E and is_digit(at[1]):
            kind = b"http://www.w3.org/2001/XMLSchema#decimal"
            at = skip_digits(at + 1, t.end)
        if at == digits:
            return miss(t, SYNTAX, token, OBJECT)
        if at < t.end and at[0] | 0x20 == 0x65:
            kind = b"http://www.w3.org/2001/XMLSchema#double"
            digits = skip_sign(at + 1, t.end)
            at = skip_digits(digits, t.end)
            if at == digits:
                return miss(t, PATCH_NUMBER, at, 0)
    t.at = at
    status = intern(t, KIND_IRI, NO_TERM, <const uint8_t*>kind, strlen(kind), &datatype)
    if status == OK:
        status = intern(t, KIND_TYPED, datatype, token, at - token, term)
    return status


cdef inline int take_next(NTriplesReader* t, int slot, int depth, int32_t* term) noexcept nogil:
    cdef const Token* last = last_of(t, slot)
    if take_again(t, last):
        term[0] = last.term
        return OK
    return take_other(t, slot, depth, term)


cdef int take_term(NTriplesReader* t, int slot, int depth, int32_t* term) noexcept nogil:
    return take_next(t, slot, depth, term)


cdef int take_other(NTriplesReader* t, int slot, int depth, int32_t* term) noexcept nogil:
    """`take_term` where the term is not the last one again."""
    cdef const uint8_t* token = t.at
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int status
    cdef uint8_t byte
    if token >= t.end:
        return fail(&t.fault, LINE_CUT, token)
    byte = token[0]
    if byte == 0x3C:
        if t.end - token > 1 and token[1] == 0x3C:
            if t.strict and (t.version < RDF_12 or slot != OBJECT or t.end - token < 3 or token[2] != 0x28):
                return fail(&t.fault, NOT_STRICT, token, KIND_TRIPLE, slot)
            return take_quoted(t, depth, term)
        if t.patch and t.end - token > 2 and token[1] == 0x5F and token[2] == 0x3A:
            return take_marked_bnode(t, slot, term)
        status = take_iri(t, &t.scratch, &text, &n)
        if status == OK:
            status = intern(t, KIND_IRI, NO_TERM, text, n, term)
        if status == OK:
            keep_token(t, last_of(t, slot), token, term[0], True)
        return status
    if byte == 0x22 or (byte == 0x27 and t.patch and not t.strict):
        if t.strict and slot != OBJECT:
            return fail(&t.fault, NOT_STRICT, token, KIND_LITERAL, slot)
        return take_literal(t, slot, term)
    if byte == 0x5F:
        if t.strict and slot == PREDICATE:
            return fail(&t.fault, NOT_STRICT, token, KIND_BNODE, slot)
        return take_bnode(t, slot, term)
    if t.patch and slot == OBJECT:
        return take_bare(t, term)
    return miss(t, SYNTAX, token, slot)


# Statements.

cdef int take_statement(NTriplesReader* t, int32_t* ids) noexcept nogil:
    """A statement: its terms and the dot."""
    cdef int slot, status
    ids[GRAPH] = NO_TERM
    for slot in range(3):
        status = take_next(t, slot, 0, &ids[slot])
        if status < 0:
            return status
        if slot == PREDICATE:
            # Without ids predicates are told apart by their lengths, well enough to guess.
            t.guess = (<int>t.last[PREDICATE][t.guess].n if t.skims else ids[PREDICATE]) % GUESSES
        skip_space(t)
    if t.at < t.end and (t.at[0] == 0x3C or t.at[0] == 0x22 or t.at[0] == 0x5F or (t.at[0] == 0x27 and t.patch)):
        if not t.quads:
            return fail(&t.fault, FOURTH_TERM, t.at)
        status = take_next(t, GRAPH, 0, &ids[GRAPH])
        if status < 0:
            return status
        skip_space(t)
    return take_dot(t)


cdef int take_dot(NTriplesReader* t) noexcept nogil:
    if t.at >= t.end or t.at[0] != 0x2E:
        return miss(t, NO_DOT, t.at, 0)
    t.at += 1
    return OK


cdef int nt_read_term(NTriplesReader* t, const uint8_t* at, int64_t n, int slot, int32_t* term) noexcept nogil:
    """One term that uses all of the bytes, such as a value of a column."""
    cdef int status
    forget_tokens(t)
    t.at = t.line_at = at
    t.end = at + n
    status = take_other(t, slot, 0, term)
    if status == OK and t.at < t.end:
        return miss(t, AFTER_TERM, t.at, 0)
    return status
