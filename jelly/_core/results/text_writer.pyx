"""Rows of SPARQL results as text: each term of a Batch is written once, then rows are put together."""

from libc.stdint cimport uint8_t
from libc.string cimport strlen

from jelly._core.base.batch cimport NO_TERM, len_direction, refuse_term, text_of
from jelly._core.base.constants cimport MAX_DEPTH, MAX_QUOTED
from jelly._core.base.fault cimport BAD_TERM, DEPTH, NOT_XML, NO_MEMORY, OK, QUOTED_LIMIT, fail
from jelly._core.base.kinds cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_TEXT_LTR, KIND_TYPED, LITERALS, NODES, TEXTS, TRIPLES, among,
)
from jelly._core.base.protobuf cimport put_byte, reserve, write_byte, write_bytes
from jelly._core.ntriples.term_writer cimport OBJECT, len_term, len_text, nt_put_term, put_text

cdef inline void view_text(BatchData* b, int32_t term, Reader* text) noexcept nogil:
    text.at = text_of(b, term)
    text.end = text_of(b, term + 1)


cdef int find_about(TextWriter* d, int32_t term, Reader* about) noexcept nogil:
    """The language tag or datatype of a term; `at` is NULL where it has none."""
    cdef BatchData* b = d.b
    cdef int kind = b.kind[term]
    cdef int32_t aux = b.aux[term]
    about.at = about.end = NULL
    if not among(kind, NODES | LITERALS):
        return refuse_term(&d.fault, b, term, -1)
    if kind == KIND_LANG or kind == KIND_TYPED:
        if not 0 <= aux < b.n_terms or not among(b.kind[aux], TEXTS if kind == KIND_LANG else 1 << KIND_IRI):
            return fail(&d.fault, BAD_TERM, NULL, aux, -1)
        view_text(b, aux, about)
    return OK


cdef inline void write_part(Writer* w, const Reader* part) noexcept nogil:
    write_bytes(w, part.at, part.end - part.at)


# ---- JSON and XML

cdef int put_json(TextWriter* d, Writer* w, const Reader* text, bint quoted) noexcept nogil:
    """A string in quotes: the escapes are those of N-Triples."""
    cdef int64_t n = len_text(text.at, text.end - text.at, False)
    if reserve(w, n + 2) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, 0x22)
    put_text(w.buf + w.n, text.at, text.end - text.at, n, False)
    w.n += n
    put_byte(w, 0x22)
    return OK


cdef int put_xml(TextWriter* d, Writer* w, const Reader* text, bint quoted) noexcept nogil:
    """A text of an element, or of an attribute in quotes."""
    cdef const uint8_t* at = text.at
    cdef const uint8_t* copied = at
    cdef const char* reference
    cdef uint8_t byte
    if quoted:
        write_byte(w, 0x22)
    while at < text.end:
        byte = at[0]
        at += 1
        if byte > 0x3E and byte != 0xEF:
            continue
        reference = NULL
        if byte == 0x26:
            reference = b"&amp;"
        elif byte == 0x3C:
            reference = b"&lt;"
        elif byte == 0x3E:
            reference = b"&gt;"
        elif byte == 0x0D:
            reference = b"&#13;"
        elif quoted and byte == 0x22:
            reference = b"&quot;"
        elif quoted and byte == 0x0A:
            reference = b"&#10;"
        elif quoted and byte == 0x09:
            reference = b"&#9;"
        elif byte < 0x20 and byte != 0x0A and byte != 0x09:
            return fail(&d.fault, NOT_XML, NULL, byte)
        elif byte == 0xEF and text.end - at >= 2 and at[0] == 0xBF and at[1] >= 0xBE:
            return fail(&d.fault, NOT_XML, NULL, 0xFFC0 | at[1] & 0x3F)
        if reference != NULL:
            write_bytes(w, copied, at - 1 - copied)
            write_bytes(w, <const uint8_t*>reference, strlen(reference))
            copied = at
    write_bytes(w, copied, at - copied)
    if quoted:
        write_byte(w, 0x22)
    return OK


cdef int put_marked(TextWriter* d, Writer* w, int32_t term) noexcept nogil:
    """A term that holds no other."""
    cdef int kind = d.b.kind[term]
    cdef int which = 0 if kind == KIND_IRI else 1 if kind == KIND_BNODE else 2
    cdef Reader text, about
    if find_about(d, term, &about) < 0:
        return d.fault.code
    view_text(d.b, term, &text)
    write_part(w, &d.parts[BEFORE_TERM + which])
    if d.text_first and d.put_string(d, w, &text, False) < 0:
        return d.fault.code
    if about.at != NULL:
        write_part(w, &d.parts[BEFORE_TAG if kind == KIND_LANG else BEFORE_DATATYPE])
        if d.put_string(d, w, &about, True) < 0:
            return d.fault.code
        kind = d.b.kind[d.b.aux[term]]
        if len_direction(kind):
            write_part(w, &d.parts[LTR if kind == KIND_TEXT_LTR else RTL])
    if which == 2:
        write_part(w, &d.parts[AFTER_ABOUT])
    if not d.text_first and d.put_string(d, w, &text, False) < 0:
        return d.fault.code
    write_part(w, &d.parts[AFTER_TERM + which])
    return OK


cdef int put_triple(TextWriter* d, int32_t term, int depth) noexcept nogil:
    """A triple term."""
    cdef int32_t* inner = &d.b.quoted[3 * <int64_t>d.b.aux[term]]
    cdef int64_t since = d.out.n
    cdef int i
    if depth >= MAX_DEPTH:
        return fail(&d.fault, DEPTH, NULL, MAX_DEPTH)
    for i in range(3):
        write_part(&d.out, &d.parts[TRIPLE + i])
        if put_any(d, inner[i], depth + 1) < 0:
            return d.fault.code
        if d.out.n - since > MAX_QUOTED + d.b.n_text:
            return fail(&d.fault, QUOTED_LIMIT, NULL, MAX_QUOTED)
    write_part(&d.out, &d.parts[TRIPLE + 3])
    return OK


# ---- TSV and CSV

cdef void quote_csv(TextWriter* d, Writer* w, int64_t begin) noexcept nogil:
    """Put what stands from `begin` on in quotes, if it must be."""
    cdef int64_t n = w.n - begin
    cdef int64_t i
    cdef uint8_t byte
    for i in range(begin, w.n):
        byte = w.buf[i]
        if byte == 0x22 or byte == 0x2C or byte == 0x0A or byte == 0x0D:
            break
    else:
        return
    d.scratch.n = 0
    write_bytes(&d.scratch, w.buf + begin, n)
    if d.scratch.failed or reserve(w, n + 2) < 0:  # as many quotes again
        w.failed = True
        return
    w.n = begin
    write_byte(w, 0x22)
    for i in range(n):
        byte = d.scratch.buf[i]
        if byte == 0x22:
            write_byte(w, byte)
        write_byte(w, byte)
    write_byte(w, 0x22)


cdef int put_line(TextWriter* d, Writer* w, int32_t term) noexcept nogil:
    """A term as in N-Triples; in CSV its text, and blank nodes with their `_:`."""
    cdef int64_t begin = w.n
    cdef int64_t n
    cdef Reader text
    if d.csv and not among(d.b.kind[term], TRIPLES):
        if find_about(d, term, &text) < 0:
            return d.fault.code
        view_text(d.b, term, &text)
        if d.b.kind[term] == KIND_BNODE:
            write_bytes(w, <const uint8_t*>b"_:", 2)
        write_part(w, &text)
    else:
        d.lines.batch = d.b
        n = len_term(&d.lines, term, OBJECT, 0)
        if n < 0:
            d.fault = d.lines.fault
            return d.fault.code
        if reserve(w, n) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        nt_put_term(&d.lines, w.buf + w.n, term, OBJECT)
        w.n += n
    if d.csv:
        quote_csv(d, w, begin)
    return OK


# ---- rows

cdef void use_syntax(TextWriter* d, str name):
    """Write JSON, XML, TSV or CSV."""
    if name in ("json", "xml"):
        d.put_string = put_json if name == "json" else put_xml
    d.text_first = name == "json"
    d.csv = name == "csv"
    d.lines.fitted = d.lines.canonical = True


cdef int put_any(TextWriter* d, int32_t term, int depth) noexcept nogil:
    """Write a term; a term id may come from anywhere."""
    cdef Encoded* memo
    if term < 0 or term >= d.b.n_terms:
        return fail(&d.fault, BAD_TERM, NULL, term, -1)
    if among(d.b.kind[term], TRIPLES):
        if not 0 <= d.b.aux[term] < d.b.n_quoted:
            return fail(&d.fault, BAD_TERM, NULL, term, -1)
        return put_triple(d, term, depth) if d.put_string != NULL else put_line(d, &d.out, term)
    memo = &d.memo[term]
    if memo.n == 0:
        memo.at = d.terms.n
        if (put_marked(d, &d.terms, term) if d.put_string != NULL else put_line(d, &d.terms, term)) < 0:
            return d.fault.code
        memo.n = d.terms.n - memo.at
    write_bytes(&d.out, d.terms.buf + memo.at, memo.n)
    return OK


cdef int write_text_rows(TextWriter* d, int64_t* row, int64_t limit) noexcept nogil:
    """Write rows until there are `limit` bytes or no more; `row` moves past the last."""
    cdef int64_t width = d.b.width
    cdef int64_t column
    cdef int32_t term
    cdef bint first
    while row[0] < d.b.n_rows and d.out.n < limit:
        if d.begun:
            write_part(&d.out, &d.parts[BETWEEN_ROWS])
        d.begun = first = True
        write_part(&d.out, &d.parts[BEFORE_ROW])
        for column in range(width):
            term = d.b.cells[row[0] * width + column]
            if term == NO_TERM and d.put_string != NULL:
                continue
            if not first:
                write_part(&d.out, &d.parts[BETWEEN_CELLS])
            first = False
            if term != NO_TERM:
                write_part(&d.out, &d.before_cells[column])
                if put_any(d, term, 0) < 0:
                    return d.fault.code
                write_part(&d.out, &d.parts[AFTER_CELL])
        write_part(&d.out, &d.parts[AFTER_ROW])
        if d.out.failed or d.terms.failed:
            return fail(&d.fault, NO_MEMORY, NULL)
        row[0] += 1
    return OK
