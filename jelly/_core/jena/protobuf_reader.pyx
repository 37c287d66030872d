"""RDF Protobuf to Batches: rows of graphs, datasets and query results, each with its length before it."""

from cython cimport likely
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from jelly._core.base.batch cimport NO_TERM, UNSET, load_u64, same_bytes
from jelly._core.base.fault cimport (
    BAD_DIRECTION, EMPTY_UNION, MALFORMED, MERGE_LIMIT, NEED_MORE, NO_LITERAL_KIND, OK, ROW_CUT, ROW_LIMIT, UNKNOWN_ROW,
    UNKNOWN_TERM, fail,
)
from jelly._core.base.pieces cimport free_pieces, gather
from jelly._core.base.protobuf cimport (
    MAX_VARINT, WIRE_LEN, WIRE_VARINT, Reader, skip_any, skip_field, skip_varint, take_span, take_varint,
)
from jelly._core.jena.row_reader cimport (
    ANY_MESSAGE, DECIMAL_PARTS, FIELD_URI, LITERAL_PARTS, ONE_STRING, RDF_GRAPH, RDF_STREAM, REPEATED, ROWS, ROW_BASE,
    ROW_PREFIX, ROW_QUAD, ROW_TRIPLE, TERM_ANY, TERM_INTEGER, TERM_TRIPLE, TERM_VARIABLE, Parts, Seen, add_iri, add_label,
    begin_cells, declare, end_cells, end_row, end_rows, note_base, put_statement, read_body, read_cell, take_only, take_pair,
)

cdef enum:
    # The fields of RDF_Term that are values.
    PB_INTEGER = 20
    PB_DOUBLE = 21
    PB_DECIMAL = 22
    # The tag of field 1, where that is a message.
    FIRST_FIELD = 1 << 3 | WIRE_LEN
    # That of a literal that is simple.
    SIMPLE = 9 << 3 | WIRE_VARINT
    # Bytes of the messages of one row that came in pieces.
    MAX_JOINED = 1 << 20


cdef inline int malformed(JenaReader* t, Reader* r) noexcept nogil:
    return fail(&t.fault, MALFORMED, r.at)


cdef inline int take_other(JenaReader* t, Reader* r, int64_t tag) noexcept nogil:
    """Step over a field that is not known."""
    return OK if skip_field(r, tag) == 0 else malformed(t, r)


cdef int take_oneof(
    JenaReader* t, Reader r, Reader* body, uint32_t messages, uint32_t strings, uint32_t numbers
) noexcept nogil:
    """The field of a oneof that counts, with its bytes, or 0: see `gather`."""
    cdef uint32_t[3] fields = [numbers & ~(1 << PB_DOUBLE), numbers & 1 << PB_DOUBLE, messages | strings]
    cdef int field = gather(&t.pieces, r, fields, strings | numbers, t.row_at, body)
    if field < 0:
        return fail(&t.fault, field, body.at)
    return field if t.pieces.n <= MAX_JOINED else fail(&t.fault, MERGE_LIMIT, r.at, MAX_JOINED)


cdef inline int take_lone(Reader* r, Reader* body) noexcept nogil:
    """The field of a message that has one, a message or string of a tag of one byte; or 0."""
    cdef Reader rest = r[0]
    if r.end - r.at < 2 or r.at[0] & 0x87 != WIRE_LEN:
        return 0
    rest.at += 1
    if take_span(&rest, body) < 0 or rest.at != r.end:
        return 0
    return r.at[0] >> 3


cdef int no_field(JenaReader* t, Reader* r, int unknown) noexcept nogil:
    """A message without any field of its oneof: it is empty, or of another version."""
    cdef const uint8_t* begin = r.at
    cdef int64_t tag = 0
    while r.at < r.end:
        tag = take_varint(r)
        skip_any(r, tag)
    return fail(&t.fault, unknown if tag else EMPTY_UNION, begin, tag >> 3)


# ---- terms

cdef const uint8_t* find_dashes(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The first two hyphens of a language tag, or its end."""
    while end - at >= 2:
        if at[0] == 0x2D and at[1] == 0x2D:
            return at
        at += 1
    return end


cdef int split_direction(JenaReader* t, Reader* text, Parts* parts) noexcept nogil:
    """The language tag and the direction of `ar--rtl`, as Jena takes them apart: at the first two hyphens."""
    cdef const uint8_t* at = find_dashes(text.at, text.end)
    if at == text.end:
        return fail(&t.fault, BAD_DIRECTION, text.at)
    parts.tag.at = text.at
    parts.tag.end = at
    parts.direction.at = at + 2
    parts.direction.end = text.end
    return OK


cdef int take_literal(JenaReader* t, Reader* r, Parts* parts) noexcept nogil:
    """The fields of an RDF_Literal, as Thrift has them."""
    cdef Reader whole = r[0]
    cdef Reader text
    cdef int which
    if r.at < r.end and r.at[0] == FIRST_FIELD:
        r.at += 1
        if take_span(r, &parts.lex) < 0:
            return malformed(t, r)
    which = 9 if r.end - r.at == 2 and r.at[0] == SIMPLE and r.at[1] < 0x80 else take_lone(r, &text)
    if which < 2 or (which > 5 and which != 9):
        r[0] = whole
        if take_fields(t, r, &parts.lex, ONE_STRING) < 0:
            return t.fault.code
        which = take_oneof(t, whole, &text, 1 << 4, 0b101100, 1 << 9)
        if which <= 0:
            return which if which < 0 else fail(&t.fault, NO_LITERAL_KIND, whole.at)
    if which == 5:
        return split_direction(t, &text, parts)
    if which != 9:
        (&parts.lex)[which - 1] = text
    return OK


cdef int take_fields(JenaReader* t, Reader* r, Reader* fields, int64_t parts) noexcept nogil:
    """What a message has of some fields: each where it is. The last of a field counts."""
    cdef int wanted = WIRE_VARINT if parts == DECIMAL_PARTS else WIRE_LEN
    cdef int64_t tag
    cdef Reader* field
    if parts == LITERAL_PARTS:
        return take_literal(t, r, <Parts*>fields)
    while r.at < r.end:
        tag = take_varint(r)
        if tag & 7 == wanted and 8 <= tag < 128 and parts >> (tag >> 3 << 2) & 15:
            field = &fields[(tag >> 3) - 1]
            if wanted == WIRE_LEN:
                if take_span(r, field) < 0:
                    return malformed(t, r)
                continue
            field.at = r.at
            if skip_varint(r) < 0:
                return malformed(t, r)
            field.end = r.at
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    return OK


cdef inline int known_field(int field) noexcept nogil:
    """The number that Thrift has for a field of RDF_Term."""
    if field <= TERM_VARIABLE:
        return field
    if field == 6:
        return TERM_TRIPLE
    return TERM_ANY + field - 7 if field <= 9 else TERM_INTEGER + field - PB_INTEGER


cdef int32_t pb_read_term(JenaReader* t, Reader* r, int depth) noexcept nogil:
    """An RDF_Term: the last field counts. NO_TERM where it is UNDEFINED, else a code below that."""
    cdef const uint8_t* begin = r.at
    cdef Reader body
    cdef int field
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
    field = take_lone(r, &body)
    if not 1 <= field <= 9:
        field = take_oneof(t, r[0], &body, 0b1111111110 | 1 << PB_DECIMAL, 0, 1 << PB_INTEGER | 1 << PB_DOUBLE)
        if field <= 0:
            return field if field < 0 else no_field(t, r, UNKNOWN_TERM)
    return read_body(t, &body, known_field(field), depth, begin)


cdef inline Seen* find_seen(JenaReader* t, const uint8_t* at, int64_t size) noexcept nogil:
    """Where a term of these bytes would be known from: eight at their end, and eight where literals differ."""
    cdef uint64_t key = load_u64(at + size - 8) ^ (load_u64(at) * <uint64_t>0x9E3779B97F4A7C15)
    return &t.seen[(key * <uint64_t>0xFF51AFD7ED558CCD) >> 56]


cdef int read_terms(JenaReader* t, Reader* r, int n, int32_t* ids, int depth) noexcept nogil:
    """The fields of an RDF_Triple or RDF_Quad: UNSET where one is missing."""
    cdef Reader spans[4]
    cdef Seen* seen
    cdef Reader whole = r[0]
    cdef const uint8_t* at
    cdef int64_t tag, size
    cdef int slot
    cdef bint known
    cdef bint again = False
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
            again |= spans[(tag >> 3) - 1].at != NULL
            if take_span(r, &spans[(tag >> 3) - 1]) < 0:
                return malformed(t, r)
        elif take_other(t, r, tag) < 0:
            return t.fault.code
    for slot in range(n):
        if again and take_oneof(t, whole, &spans[slot], 2 << slot, 0, 0) < 0:
            return t.fault.code
        at = spans[slot].at
        if at == NULL:
            continue
        size = spans[slot].end - at
        # What was put together goes away with the row.
        known = depth == 0 and size >= 8 and t.pieces.first == NULL
        seen = find_seen(t, at, size) if known else NULL
        if known and seen.n == size and same_bytes(at, seen.at, size):
            ids[slot] = seen.term
            continue
        ids[slot] = pb_read_term(t, &spans[slot], depth)
        if ids[slot] < NO_TERM:
            return ids[slot]
        if known and ids[slot] != REPEATED:
            seen.at = at
            seen.n = size
            seen.term = ids[slot]
    return OK


# ---- rows

cdef int read_row(JenaReader* t, Reader* r) noexcept nogil:
    """An RDF_StreamRow."""
    cdef const uint8_t* begin = r.at
    cdef Reader body
    cdef Reader[2] pair
    cdef int32_t ids[4]
    cdef int field = take_lone(r, &body)
    if not ROW_PREFIX <= field <= ROW_BASE:
        field = take_oneof(t, r[0], &body, 0b11110, 0, 0)
        if field <= 0:
            return field if field < 0 else no_field(t, r, UNKNOWN_ROW)
    if field == ROW_PREFIX:
        return t.fault.code if take_pair(t, &body, pair, FIELD_URI) < 0 else declare(t, pair)
    if field == ROW_BASE:
        return t.fault.code if take_only(t, &body, pair, FIELD_URI) < 0 else note_base(t, pair)
    if read_terms(t, &body, 3 if field == ROW_TRIPLE else 4, ids, 0) < 0:
        return t.fault.code
    return put_statement(t, ids, field == ROW_QUAD, begin)


cdef int read_items(JenaReader* t, Reader* r) noexcept nogil:
    """The header of a result set, RDF_VarTuple, or a row of it, RDF_DataTuple."""
    cdef const uint8_t* begin = r.at
    cdef Reader item
    cdef int64_t n = 0
    cdef int64_t tag
    if begin_cells(t, begin) < 0:
        return t.fault.code
    while r.at < r.end:
        tag = take_varint(r)
        if tag != FIRST_FIELD:
            if take_other(t, r, tag) < 0:
                return t.fault.code
            continue
        if take_span(r, &item) < 0:
            return malformed(t, r)
        if read_cell(t, &item, n, begin) < 0:
            return t.fault.code
        n += 1
    return end_cells(t, n, begin)


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


cdef int read_rows(JenaReader* t) noexcept nogil:
    """Read rows up to a reason of `end_row`, until the input holds no whole one (NEED_MORE), or a fault."""
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
        if t.pieces.first != NULL:
            free_pieces(&t.pieces)
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
        status = end_row(t)
        if status != OK:
            return status
    return end_rows(t)


cdef void use_protobuf(JenaReader* t) noexcept nogil:
    t.max_depth = PROTOBUF_DEPTH
    t.read_rows = read_rows
    t.take_fields = take_fields
    t.read_terms = read_terms
    t.read_term = pb_read_term
