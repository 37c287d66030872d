"""RDF Patch text to Batches and back: the rows H TX TC TA PA PD A D of RDF Delta, with terms as in N-Quads."""

from libc.stdint cimport int32_t
from libc.string cimport memcmp, memcpy, strlen

from jelly._core.base.batch cimport NO_TERM, BatchData, add_row, len_of, load_row, text_of
from jelly._core.base.characters cimport is_digit, is_letter, is_line_end
from jelly._core.base.fault cimport (
    BAD_TERM, FULL, HEADER_KEY, NO_MEMORY, OK, OPERATION, PATCH_GRAPH, PREFIX_IRI, PREFIX_NAME, TEXT_UTF8, fail,
)
from jelly._core.base.kinds cimport COMPOUND, KIND_IRI, KIND_TEXT, among
from jelly._core.rules.patch_operations cimport (
    OLD_START, OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START, SEGMENT,
    step_transaction, word_of,
)
from jelly._core.base.utf8 cimport check_utf8
from jelly._core.ntriples.line_reader cimport begin_line, end_line, step_line_end
from jelly._core.ntriples.term_reader cimport (
    GRAPH, OBJECT, PREDICATE, SUBJECT, intern, miss, skip_space, take_dot, take_statement, take_string, take_term,
)
from jelly._core.ntriples.term_writer cimport len_row, len_slot, len_text, nt_put_term, put_row, put_text


# ---- reading

cdef inline bint is_quote(NTriplesReader* t, const uint8_t* at) noexcept nogil:
    """Whether a quoted text begins here. Jena also reads single quotes."""
    return at < t.end and (at[0] == 0x22 or (at[0] == 0x27 and not t.strict))


cdef int take_operation(NTriplesReader* t) noexcept nogil:
    """The letters at the start of a row, as OP_* or SEGMENT."""
    cdef const uint8_t* at
    cdef int64_t n
    cdef int op
    for op in range(OP_PUNCTUATION):
        n = strlen(word_of(op))
        if n == 0 or n > t.end - t.at or memcmp(t.at, word_of(op), n) != 0 or (op == SEGMENT and t.strict):
            continue
        at = t.at + n
        if at < t.end and (is_letter(at[0]) or is_digit(at[0]) or at[0] == 0x3A):
            break
        t.at = at
        skip_space(t)
        return OP_START if op == OLD_START else op
    return miss(t, OPERATION, t.at, 0)


cdef int take_name(NTriplesReader* t, int code, int32_t* term) noexcept nogil:
    """A quoted text: the name of a namespace or header."""
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int status
    if not is_quote(t, t.at):
        return miss(t, code, t.at, 0)
    status = take_string(t, &text, &n)
    return intern(t, KIND_TEXT, NO_TERM, text, n, term) if status == OK else status


cdef int take_key(NTriplesReader* t, int32_t* term) noexcept nogil:
    """The name of a header: a word, or a quoted text if it is not a word."""
    cdef const uint8_t* token = t.at
    cdef int64_t n, bad
    if is_quote(t, t.at):
        return take_name(t, HEADER_KEY, term)
    while t.at < t.end and t.at[0] > 0x20:
        t.at += 1
    n = t.at - token
    if n == 0:
        return miss(t, HEADER_KEY, token, 0)
    bad = check_utf8(token, n)
    if bad >= 0:
        return fail(&t.fault, TEXT_UTF8, token + bad, token[bad])
    return intern(t, KIND_TEXT, NO_TERM, token, n, term)


cdef int take_namespace(NTriplesReader* t, int op, int32_t* ids) noexcept nogil:
    """Name, IRI (to add) and perhaps a graph."""
    cdef const uint8_t* token
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int status = take_name(t, PREFIX_NAME, &ids[SUBJECT])
    if status < 0:
        return status
    skip_space(t)
    if op == OP_NAMESPACE_ADD:
        token = t.at
        if is_quote(t, t.at):  # some programs write it as a string
            status = take_string(t, &text, &n)
            if status == OK:
                status = intern(t, KIND_IRI, NO_TERM, text, n, &ids[PREDICATE])
        elif t.at < t.end and t.at[0] == 0x3C:
            status = take_term(t, PREDICATE, 0, &ids[PREDICATE])
        else:
            return miss(t, PREFIX_IRI, token, 0)
        if status < 0:
            return status
        if t.batch.kind[ids[PREDICATE]] != KIND_IRI:
            return miss(t, PREFIX_IRI, token, 0)
        skip_space(t)
    if t.at < t.end and t.at[0] != 0x2E:
        token = t.at
        status = take_term(t, GRAPH, 0, &ids[GRAPH])
        if status == OK and among(t.batch.kind[ids[GRAPH]], COMPOUND):
            return miss(t, PATCH_GRAPH, token, 0)
    return status


cdef int take_row(NTriplesReader* t, int op, int32_t* ids) noexcept nogil:
    """The rest of a row after the letters, with the dot."""
    cdef int status = OK
    if op == OP_ADD or op == OP_DELETE:
        return take_statement(t, ids)
    ids[SUBJECT] = ids[PREDICATE] = ids[OBJECT] = ids[GRAPH] = NO_TERM
    if op == OP_HEADER:
        status = take_key(t, &ids[SUBJECT])
        if status == OK:
            skip_space(t)
            status = take_term(t, OBJECT, 0, &ids[OBJECT])
    elif op == OP_NAMESPACE_ADD or op == OP_NAMESPACE_DELETE:
        status = take_namespace(t, op, ids)
    if status < 0:
        return status
    skip_space(t)
    return take_dot(t)


cdef int take_record(NTriplesReader* t) noexcept nogil:
    """A row with its dot."""
    cdef int32_t ids[4]
    cdef const uint8_t* token = t.at
    cdef int state = t.transaction
    cdef int status
    cdef int op = take_operation(t)
    if op < 0:
        return op
    if op == SEGMENT:
        return take_dot(t)
    status = step_transaction(&state, op)
    if status != OK:
        return fail(&t.fault, status, token)
    status = take_row(t, op, ids)
    if status < 0:
        return status
    t.transaction = state
    return OK if add_row(t.batch, ids, op) == 0 else fail(&t.fault, NO_MEMORY, t.at)


cdef int take_patch_line(NTriplesReader* t) noexcept nogil:
    cdef const uint8_t* comment = NULL
    cdef int64_t n_rows = t.batch.n_rows
    cdef int transaction = t.transaction
    cdef int64_t line = t.line
    cdef bint more = begin_line(t)
    cdef int status = OK
    while more and status == OK:
        status = take_record(t)
        skip_space(t)
        # More rows on the line, as Jena reads them.
        more = not t.strict and t.at < t.end and not is_line_end(t.at[0]) and t.at[0] != 0x23
    if status == OK:
        status = end_line(t, &comment)
    if status < 0:
        # A line is read completely or not at all.
        t.batch.n_rows = n_rows
        t.transaction = transaction
        t.line = line
        return status
    step_line_end(t)
    return OK


cdef int read_patch_lines(NTriplesReader* t) noexcept nogil:
    """read_lines for RDF Patch."""
    cdef int status
    while t.at < t.end:
        t.line_at = t.at
        t.line += 1
        status = take_patch_line(t)
        if status < 0:
            return status
        if t.batch.n_rows >= t.max_rows or t.batch.n_text > t.max_text:
            return FULL
    return OK


# ---- writing

cdef enum:
    AROUND_END = 3  # " .\n"


cdef inline bint is_word(const uint8_t* text, int64_t n) noexcept nogil:
    """Whether the name of a header can stand without quotes, of either kind."""
    cdef int64_t i
    for i in range(n):
        if text[i] <= 0x20 or text[i] == 0x7F:
            return False
    return n > 0 and text[0] != 0x22 and text[0] != 0x27


cdef int64_t len_name(NTriplesWriter* t, int32_t term, bint word) noexcept nogil:
    """Bytes of a name. It is quoted unless `word` allows a word and it is one."""
    cdef BatchData* b = t.batch
    cdef const uint8_t* text
    cdef int64_t n
    if term < 0 or term >= b.n_terms or b.kind[term] != KIND_TEXT:
        return fail(&t.fault, BAD_TERM, NULL, term, SUBJECT)
    text = text_of(b, term)
    n = len_of(b, term)
    return n if word and is_word(text, n) else len_text(text, n, False) + 2


cdef uint8_t* put_name(NTriplesWriter* t, uint8_t* out, int32_t term, bint word) noexcept nogil:
    cdef BatchData* b = t.batch
    cdef const uint8_t* text = text_of(b, term)
    cdef int64_t n = len_of(b, term)
    if word and is_word(text, n):
        memcpy(out, text, n)
        return out + n
    out[0] = 0x22
    out = put_text(out + 1, text, n, len_text(text, n, False), False)
    out[0] = 0x22
    return out + 1


cdef inline bint has_term(const BatchData* b, int64_t row, int slot, const int32_t* ids) noexcept nogil:
    """Whether a row that is no statement has a term there; of a namespace that is deleted only its name is written."""
    return ids[slot] >= 0 and (slot != PREDICATE or b.op[row] == OP_NAMESPACE_ADD)


cdef int64_t len_patch_row(NTriplesWriter* t, int64_t row) noexcept nogil:
    cdef BatchData* b = t.batch
    cdef int op = b.op[row]
    cdef int64_t n
    cdef int32_t[4] ids
    cdef int slot
    if op == OP_ADD or op == OP_DELETE:
        n = len_row(t, row)
        return n + 2 if n >= 0 else n
    if op == OP_PUNCTUATION:
        return 0
    load_row(b, row, ids)
    n = strlen(word_of(op)) + AROUND_END
    if ids[SUBJECT] >= 0:
        n += 1 + len_name(t, ids[SUBJECT], op == OP_HEADER)
    for slot in range(PREDICATE, GRAPH + 1):
        if has_term(b, row, slot, ids):
            n += 1 + len_slot(t, ids[slot], slot)
    return n if t.fault.code == OK else t.fault.code


cdef uint8_t* put_patch_row(NTriplesWriter* t, uint8_t* out, int64_t row) noexcept nogil:
    cdef BatchData* b = t.batch
    cdef int op = b.op[row]
    cdef int64_t n = strlen(word_of(op))
    cdef int32_t[4] ids
    cdef int slot
    if op == OP_PUNCTUATION:
        return out
    memcpy(out, word_of(op), n)
    out += n
    out[0] = 0x20
    if op == OP_ADD or op == OP_DELETE:
        return put_row(t, out + 1, row, True)
    load_row(b, row, ids)
    if ids[SUBJECT] >= 0:
        out = put_name(t, out + 1, ids[SUBJECT], op == OP_HEADER)
    for slot in range(PREDICATE, GRAPH + 1):
        if has_term(b, row, slot, ids):
            out[0] = 0x20
            out = nt_put_term(t, out + 1, ids[slot], slot)
    memcpy(out, b" .\n", AROUND_END)
    return out + AROUND_END


cdef int64_t len_patch_rows(NTriplesWriter* t, int64_t* row, int64_t end, int64_t limit) noexcept nogil:
    """len_rows for RDF Patch."""
    cdef int64_t total = 0
    cdef int64_t n
    while row[0] < end and total < limit:
        n = len_patch_row(t, row[0])
        if n < 0:
            return n
        total += n
        row[0] += 1
    return total


cdef void put_patch_rows(NTriplesWriter* t, int64_t row, int64_t end) noexcept nogil:
    """put_rows for RDF Patch."""
    cdef uint8_t* out = t.part
    while row < end:
        out = put_patch_row(t, out, row)
        row += 1
