"""RDF Protobuf to Batches: rows of graphs, datasets and query results, each with its length before it."""

from cython cimport likely
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from jelly._core.base.batch cimport NO_TERM, UNSET, load_u64, same_bytes
from jelly._core.base.fault cimport (
    BAD_DIRECTION, DEPTH, EMPTY_UNION, FULL, MALFORMED, MERGE_LIMIT, NEED_MORE, NEED_TABLES, NO_HEADER, NO_LITERAL_KIND,
    NO_MEMORY, OK, ROW_CUT, ROW_LIMIT, UNKNOWN_ROW, UNKNOWN_TERM, fail,
)
from jelly._core.base.protobuf cimport (
    MAX_VARINT, WIRE_I64, WIRE_LEN, WIRE_VARINT, Reader, Writer, put_bytes, reserve, skip_field, take_span, take_varint,
)
from jelly._core.jena.row_reader cimport (
    ANY_MESSAGE, JOINS, RDF_GRAPH, RDF_STREAM, REPEATED, ROWS, ROW_BASE, ROW_PREFIX, ROW_QUAD, ROW_TRIPLE, TERM_ANY,
    TERM_BNODE, TERM_DECIMAL, TERM_DOUBLE, TERM_INTEGER, TERM_IRI, TERM_LITERAL, TERM_NAME, TERM_TRIPLE, TERM_VARIABLE,
    Parts, Seen, add_decimal, add_double, add_integer, add_iri, add_label, add_literal, add_triple, add_variable,
    begin_cells, check_terms, declare, end_cells, expand, is_full, note_base, pattern_term, put_cell, put_statement,
)

cdef enum:
    # The fields of RDF_Term that are values.
    PB_INTEGER = 20
    PB_DECIMAL = 22
    # The tag of field 1, where that is a message.
    FIRST_FIELD = 1 << 3 | WIRE_LEN
    # Bytes of the messages of one row that came in pieces.
    MAX_JOINED = 1 << 20


cdef inline int malformed(JenaReader* t, Reader* r) noexcept nogil:
    return fail(&t.fault, MALFORMED, r.at)


cdef int take_u64(JenaReader* t, Reader* r, uint64_t* value) noexcept nogil:
    """A varint that uses all 64 bits."""
    cdef uint64_t number = 0
    cdef int shift = 0
    while shift < 70:
        if r.at >= r.end:
            break
        number |= <uint64_t>(r.at[0] & 0x7F) << min(shift, 63)
        r.at += 1
        if (r.at - 1)[0] < 0x80:
            value[0] = number
            return OK
        shift += 7
    return malformed(t, r)


cdef int take_zigzag(JenaReader* t, Reader* r, int64_t* value) noexcept nogil:
    cdef uint64_t number = 0
    cdef int status = take_u64(t, r, &number)
    value[0] = <int64_t>(number >> 1) ^ -<int64_t>(number & 1)
    return status


cdef int take_message(JenaReader* t, Reader* r, Reader* body) noexcept nogil:
    """The bytes of a message field. One that came before in `body` and this one are parts of the same message."""
    cdef Reader more
    cdef Writer* out
    if take_span(r, &more) < 0:
        return malformed(t, r)
    if body.at == NULL:
        body[0] = more
        return OK
    if t.n_joined >= JOINS or (body.end - body.at) + (more.end - more.at) > MAX_JOINED:
        return fail(&t.fault, MERGE_LIMIT, more.at, MAX_JOINED)
    out = &t.joined[t.n_joined]
    t.n_joined += 1
    out.n = 0
    if reserve(out, (body.end - body.at) + (more.end - more.at) + 1) < 0:
        return fail(&t.fault, NO_MEMORY, more.at)
    put_bytes(out, body.at, body.end - body.at)
    put_bytes(out, more.at, more.end - more.at)
    body.at = out.buf
    body.end = out.buf + out.n
    return OK


cdef inline int take_other(JenaReader* t, Reader* r, int64_t tag) noexcept nogil:
    """Step over a field that is not known."""
    if tag < 0 or skip_field(r, tag) < 0:
        return malformed(t, r)
    return OK


# ---- terms

cdef inline int take_only(JenaReader* t, Reader* r, Reader* text) noexcept nogil:
    """A message whose field 1 is a string."""
    cdef int64_t tag
    text.at = text.end = r.at
    while r.at < r.end:
        tag = take_varint(r)
        if tag == FIRST_FIELD:
            if take_span(r, text) < 0:
                return malformed(t, r)
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    return OK


cdef int take_pair(JenaReader* t, Reader* r, Reader* first, Reader* second) noexcept nogil:
    """A message whose fields 1 and 2 are strings."""
    cdef int64_t tag
    first.at = first.end = r.at
    second[0] = first[0]
    while r.at < r.end:
        tag = take_varint(r)
        if tag == FIRST_FIELD or tag == (2 << 3 | WIRE_LEN):
            if take_span(r, first if tag == FIRST_FIELD else second) < 0:
                return malformed(t, r)
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    return OK


cdef int split_direction(JenaReader* t, Reader* text, Parts* parts) noexcept nogil:
    """The language tag and the direction of `ar--rtl`, as Jena takes them apart: at the first two hyphens."""
    cdef const uint8_t* at = text.at
    while text.end - at >= 2:
        if at[0] == 0x2D and at[1] == 0x2D:
            parts.tag.at = text.at
            parts.tag.end = at
            parts.direction.at = at + 2
            parts.direction.end = text.end
            return OK
        at += 1
    return fail(&t.fault, BAD_DIRECTION, text.at)


cdef int32_t read_literal(JenaReader* t, Reader* r) noexcept nogil:
    cdef const uint8_t* begin = r.at
    cdef Parts parts
    cdef Reader text, prefix, local
    cdef uint64_t ignored
    cdef int64_t tag
    cdef int64_t which = 0  # the last field of the oneof counts
    memset(&parts, 0, sizeof(Parts))
    parts.lex.at = parts.lex.end = r.at
    text.at = NULL
    while r.at < r.end:
        tag = take_varint(r)
        if tag == FIRST_FIELD:
            if take_span(r, &parts.lex) < 0:
                return malformed(t, r)
        elif tag == (2 << 3 | WIRE_LEN) or tag == (3 << 3 | WIRE_LEN) or tag == (5 << 3 | WIRE_LEN):
            which = tag >> 3
            if take_span(r, &text) < 0:
                return malformed(t, r)
        elif tag == (4 << 3 | WIRE_LEN):
            if which != 4:
                text.at = NULL
            which = 4
            if take_message(t, r, &text) < 0:
                return t.fault.code
        elif tag == (9 << 3 | WIRE_VARINT):
            which = 9
            if take_u64(t, r, &ignored) < 0:
                return t.fault.code
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    if which == 0:
        return fail(&t.fault, NO_LITERAL_KIND, begin)
    if which == 2:
        parts.tag = text
    elif which == 3:
        parts.datatype = text
    elif which == 5:
        if split_direction(t, &text, &parts) < 0:
            return t.fault.code
    elif which == 4:
        if take_pair(t, &text, &prefix, &local) < 0:
            return t.fault.code
        if expand(t, &prefix, &local, &t.scratch_datatype, &parts.datatype) < 0:
            return t.fault.code
    return add_literal(t, &parts)


cdef int32_t read_decimal(JenaReader* t, Reader* r) noexcept nogil:
    cdef int64_t value = 0
    cdef int64_t scale = 0
    cdef int64_t tag
    while r.at < r.end:
        tag = take_varint(r)
        if tag == (1 << 3 | WIRE_VARINT):
            if take_zigzag(t, r, &value) < 0:
                return t.fault.code
        elif tag == (2 << 3 | WIRE_VARINT):
            if take_zigzag(t, r, &scale) < 0:
                return t.fault.code
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    return add_decimal(t, value, scale)


cdef inline int known_field(int64_t field) noexcept nogil:
    """The number that Thrift has for a field of RDF_Term; 0 where there is none."""
    if field <= TERM_VARIABLE:
        return <int>field
    if field == 6:
        return TERM_TRIPLE
    if field <= 9:
        return TERM_ANY + <int>field - 7
    return TERM_INTEGER + <int>field - PB_INTEGER if PB_INTEGER <= field <= PB_DECIMAL else 0


cdef int32_t pb_read_term(JenaReader* t, Reader* r, int depth) noexcept nogil:
    """An RDF_Term: the last field counts. NO_TERM where it is UNDEFINED, else a code below that."""
    cdef const uint8_t* begin = r.at
    cdef Reader body, name, local
    cdef int32_t ids[4]
    cdef int64_t number = 0
    cdef uint64_t bits
    cdef double real = 0
    cdef int64_t tag = 0
    cdef int64_t other = 0
    cdef int which = 0
    cdef int found, wanted, i
    # An IRI or blank node of less than 128 bytes and nothing else, as most terms are.
    if likely(
        r.end - begin >= 4 and begin[0] <= 0x12 and begin[2] == 0x0A and begin[1] == r.end - begin - 2
        and begin[3] == r.end - begin - 4 and begin[1] < 0x80
    ):
        body.at = begin + 4
        body.end = r.end
        if begin[0] == 0x0A:
            return add_iri(t, &body)
        if begin[0] == 0x12:
            return add_label(t, &body)
    body.at = NULL
    while r.at < r.end:
        tag = take_varint(r)
        found = known_field(tag >> 3) if tag >= 8 else 0
        wanted = WIRE_VARINT if found == TERM_INTEGER else WIRE_I64 if found == TERM_DOUBLE else WIRE_LEN
        if found == 0 or tag & 7 != wanted:
            other = tag >> 3
            if take_other(t, r, tag) < 0:
                return t.fault.code
            continue
        if found != which:
            body.at = NULL
            which = found
        if wanted == WIRE_LEN:
            if take_message(t, r, &body) < 0:
                return t.fault.code
        elif wanted == WIRE_VARINT:
            if take_zigzag(t, r, &number) < 0:
                return t.fault.code
        else:
            if r.end - r.at < 8:
                return malformed(t, r)
            bits = 0
            for i in range(8):
                bits |= <uint64_t>r.at[i] << (8 * i)
            memcpy(&real, &bits, 8)
            r.at += 8
    if which == TERM_IRI:
        if take_only(t, &body, &local) < 0:
            return t.fault.code
        return add_iri(t, &local)
    if which == TERM_LITERAL:
        return read_literal(t, &body)
    if which == TERM_BNODE:
        if take_only(t, &body, &local) < 0:
            return t.fault.code
        return add_label(t, &local)
    if which == TERM_NAME:
        if take_pair(t, &body, &name, &local) < 0 or expand(t, &name, &local, &t.scratch, &local) < 0:
            return t.fault.code
        return add_iri(t, &local)
    if which == TERM_TRIPLE:
        if depth >= t.max_depth:
            return fail(&t.fault, DEPTH, begin, t.max_depth)
        if read_terms(t, &body, 3, ids, depth + 1) < 0 or check_terms(t, ids, 3, begin) < 0:
            return t.fault.code
        return add_triple(t, ids)
    if which == TERM_INTEGER:
        return add_integer(t, number)
    if which == TERM_DOUBLE:
        return add_double(t, real)
    if which == TERM_DECIMAL:
        return read_decimal(t, &body)
    if which == 0:
        return fail(&t.fault, UNKNOWN_TERM if other else EMPTY_UNION, begin, other)
    if which == TERM_VARIABLE and take_only(t, &body, &local) < 0:
        return t.fault.code
    return pattern_term(t, which, &local, depth, begin)


cdef inline Seen* find_seen(JenaReader* t, const uint8_t* at, int64_t size) noexcept nogil:
    """Where a term of these bytes would be known from: eight at their end, and eight where literals differ."""
    cdef uint64_t key = load_u64(at + size - 8) ^ (load_u64(at) * <uint64_t>0x9E3779B97F4A7C15)
    return &t.seen[(key * <uint64_t>0xFF51AFD7ED558CCD) >> 56]


cdef int read_terms(JenaReader* t, Reader* r, int n, int32_t* ids, int depth) noexcept nogil:
    """The fields of an RDF_Triple or RDF_Quad: UNSET where one is missing."""
    cdef Reader spans[4]
    cdef Seen* seen
    cdef const uint8_t* at
    cdef int64_t tag, size
    cdef int slot
    cdef bint known
    for slot in range(4):
        spans[slot].at = NULL
        ids[slot] = UNSET
    while r.at < r.end:
        at = r.at
        slot = (at[0] >> 3) - 1
        if likely(at[0] & 0x87 == WIRE_LEN and 0 <= slot < n and r.end - at > 1 and at[1] < 0x80):
            # Tag and length of one byte each, as nearly always.
            if spans[slot].at == NULL and at[1] <= r.end - at - 2:
                spans[slot].at = at + 2
                r.at = spans[slot].end = at + 2 + at[1]
                continue
        tag = take_varint(r)
        if tag & 7 == WIRE_LEN and 1 <= tag >> 3 <= n:
            if take_message(t, r, &spans[(tag >> 3) - 1]) < 0:
                return t.fault.code
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    for slot in range(n):
        at = spans[slot].at
        if at == NULL:
            continue
        size = spans[slot].end - at
        # What was put together goes away with the row.
        known = depth == 0 and size >= 8 and t.n_joined == 0
        seen = find_seen(t, at, size) if known else NULL
        if known and seen.n == size and same_bytes(at, seen.at, size):
            ids[slot] = seen.term
            continue
        ids[slot] = pb_read_term(t, &spans[slot], depth)
        if ids[slot] < NO_TERM:
            return ids[slot]
        if known and t.n_joined == 0 and ids[slot] != REPEATED:
            seen.at = at
            seen.n = size
            seen.term = ids[slot]
    return OK


# ---- rows

cdef int read_row(JenaReader* t, Reader* r) noexcept nogil:
    """An RDF_StreamRow."""
    cdef const uint8_t* begin = r.at
    cdef Reader body, name, iri
    cdef int32_t ids[4]
    cdef int64_t tag
    cdef int64_t which = 0
    cdef int64_t other = 0
    cdef int status
    body.at = NULL
    while r.at < r.end:
        tag = take_varint(r)
        if likely(tag & 7 == WIRE_LEN and ROW_PREFIX <= tag >> 3 <= ROW_BASE):
            if which != tag >> 3:
                body.at = NULL
                which = tag >> 3
            if take_message(t, r, &body) < 0:
                return t.fault.code
        else:
            other = tag >> 3
            if take_other(t, r, tag) < 0:
                return t.fault.code
    if which == ROW_TRIPLE or which == ROW_QUAD:
        status = read_terms(t, &body, 3 if which == ROW_TRIPLE else 4, ids, 0)
        return status if status < 0 else put_statement(t, ids, which == ROW_QUAD, begin)
    if which == ROW_PREFIX:
        return t.fault.code if take_pair(t, &body, &name, &iri) < 0 else declare(t, &name, &iri)
    if which == ROW_BASE:
        return t.fault.code if take_only(t, &body, &iri) < 0 else note_base(t, &iri)
    return fail(&t.fault, UNKNOWN_ROW if other else EMPTY_UNION, begin, other)


cdef int read_items(JenaReader* t, Reader* r) noexcept nogil:
    """The header of a result set, RDF_VarTuple, or a row of it, RDF_DataTuple."""
    cdef const uint8_t* begin = r.at
    cdef Reader item, name
    cdef int64_t n = 0
    cdef int64_t tag
    cdef int32_t term
    if t.has_header and begin_cells(t, begin) < 0:
        return t.fault.code
    while r.at < r.end:
        tag = take_varint(r)
        if tag != FIRST_FIELD:
            if take_other(t, r, tag) < 0:
                return t.fault.code
            continue
        if take_span(r, &item) < 0:
            return malformed(t, r)
        if not t.has_header:
            if take_only(t, &item, &name) < 0 or add_variable(t, &name) < 0:
                return t.fault.code
            continue
        term = pb_read_term(t, &item, 0)
        if term < NO_TERM:
            return term
        if put_cell(t, n, term, begin) < 0:
            return t.fault.code
        n += 1
    return end_cells(t, n, begin) if t.has_header else OK


cdef int read_triple(JenaReader* t, Reader* r) noexcept nogil:
    """An RDF_Triple of an RDF_Graph."""
    cdef const uint8_t* begin = r.at
    cdef int32_t ids[4]
    cdef int status = read_terms(t, r, 3, ids, 0)
    return status if status < 0 else put_statement(t, ids, False, begin)


cdef int find_message(JenaReader* t) noexcept nogil:
    """Whether the input is an RDF_Stream, an RDF_Graph or rows, by its first bytes; or NEED_MORE.

    A message begins with a tag of 0A. A row of 10 bytes, too: but after its tag is a length of 8, where a message has
    the tag of its first row or term. That fills the row; a triple has more terms.
    """
    cdef Reader r = t.r
    cdef const uint8_t* begin
    cdef int64_t size, field, inner
    cdef int64_t n = r.end - r.at
    if n > 0 and r.at[0] != FIRST_FIELD:
        t.message = ROWS
        return OK
    take_varint(&r)
    size = take_varint(&r)
    begin = r.at
    field = take_varint(&r)
    inner = take_varint(&r)
    if inner < 0 and not t.final and n < 4 * MAX_VARINT:
        t.need = 1
        return NEED_MORE
    t.message = ROWS
    if inner >= 0 and size >= 0 and field & 7 == WIRE_LEN and ROW_PREFIX <= field >> 3 <= ROW_BASE:
        if r.at - begin + inner == size:
            t.message = RDF_STREAM
        elif field == FIRST_FIELD and r.at - begin + inner < size:
            t.message = RDF_GRAPH
    return OK


cdef int64_t take_length(JenaReader* t, bint* known) noexcept nogil:
    """The length of the next row, after the tag that it has in a message; negative where it is cut off or wrong."""
    cdef int64_t tag
    known[0] = True
    if t.message != ROWS:
        tag = take_varint(&t.r)
        if tag < 0:
            return tag
        if tag & 7 != WIRE_LEN:
            return malformed(t, &t.r)
        known[0] = tag == FIRST_FIELD
    return take_varint(&t.r)


cdef int read_protobuf(JenaReader* t) noexcept nogil:
    """Read rows until the Batch is FULL, the input holds no whole one (NEED_MORE), or a fault.

    After the header of a result set NEED_TABLES: the Batch must become one of query results.
    """
    cdef Reader row
    cdef const uint8_t* begin
    cdef int64_t n
    cdef int status
    cdef bint known = True
    if t.message == ANY_MESSAGE and find_message(t) == NEED_MORE:
        return NEED_MORE
    while t.r.at < t.r.end:
        begin = t.row_at = t.r.at
        n = take_varint(&t.r) if t.message == ROWS else take_length(t, &known)
        if n > t.max_row:
            return fail(&t.fault, ROW_LIMIT, begin, n, t.max_row)
        if n < 0 or n > t.r.end - t.r.at:
            if t.fault.code != OK:
                return t.fault.code
            if n < 0 and t.r.end - begin >= (MAX_VARINT if t.message == ROWS else 2 * MAX_VARINT):
                return malformed(t, &t.r)
            t.need = 1 if n < 0 else n - (t.r.end - t.r.at)
            if t.final:
                return fail(&t.fault, ROW_CUT, t.r.end, t.need)
            t.r.at = begin
            return NEED_MORE
        row.at = t.r.at
        row.end = t.r.at + n
        t.n_joined = 0
        if not known:
            status = OK  # a field of another version
        elif t.scan:
            t.quads = t.message != RDF_GRAPH and n > 0 and row.at[0] == (ROW_QUAD << 3 | WIRE_LEN)
            status = OK
        elif t.message == RDF_GRAPH:
            status = read_triple(t, &row)
        else:
            status = read_items(t, &row) if t.results else read_row(t, &row)
        if status < 0:
            return status
        t.r.at = row.end
        if t.scan and t.quads:
            t.r.at = t.r.end
            return NEED_MORE
        if t.results and not t.has_header:
            t.has_header = True
            return NEED_TABLES
        if is_full(t):
            return FULL
    if t.final and t.results and not t.has_header:
        return fail(&t.fault, NO_HEADER, t.r.at)
    return NEED_MORE
