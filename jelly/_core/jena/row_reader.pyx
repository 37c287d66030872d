"""Meaning of the rows of RDF Thrift and RDF Protobuf: terms, prefixes, results. Knows neither encoding."""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memset

from jelly._core.base.batch cimport (
    NO_TERM, UNSET, add_graphs, add_namespace, add_quoted, add_row, drop_terms, free_arena, free_interner, grow_rows,
    init_arena, intern_term, kind_of_direction, len_of, split_tag, text_of,
)
from jelly._core.base.constants cimport MAX_VARIABLES, is_lang_string, is_xsd_string
from jelly._core.base.batch_concat cimport copy_term
from jelly._core.base.characters cimport format_integer
from jelly._core.base.fault cimport (
    BAD_DIRECTION, BAD_UTF8, BOTH_KINDS, BY_ROW, DEPTH, FIELD_MISSING, FULL, NEED_MORE, NEED_TABLES, NESTED_REPEAT,
    NOTHING_TO_REPEAT, NO_HEADER, NO_MEMORY, NO_PREFIX, OK, OPEN_PATCH, PATTERN_TERM, ROW_WIDTH, SCALE_LIMIT, TERM_MISSING,
    VARIABLES_LIMIT, fail,
)
from jelly._core.base.kinds cimport (
    KIND_ANY, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED, KIND_VARIABLE,
)
from jelly._core.base.pieces cimport free_pieces
from jelly._core.base.protobuf cimport MAX_VARINT32, put_bytes, put_varint, reserve
from jelly._core.base.utf8 cimport check_utf8
from jelly._core.jena.numeric cimport MAX_NUMBER, MAX_SCALE, format_decimal, format_double
from jelly._core.rules.patch_operations cimport OPEN
from jelly._core.jena.prefix_map cimport Prefix, find_prefix, free_prefixes, set_prefix

cdef enum:
    # Prefix declarations at which a Batch ends: they are terms but not rows.
    MAX_NAMES = 1 << 14


cdef void free_rows(JenaReader* t) noexcept nogil:
    free_interner(&t.index)
    free_prefixes(&t.prefixes)
    free(t.scratch.buf)
    free(t.scratch_datatype.buf)
    free(t.base.buf)
    free(t.variables.buf)
    free(t.last)
    free_arena(&t.carry)
    free_pieces(&t.pieces)


cdef void forget_seen(JenaReader* t) noexcept nogil:
    """To be called where the bytes, the Batch or the prefixes of the last terms go away."""
    memset(t.seen, 0, sizeof(t.seen))


# ---- terms

cdef int need_text(JenaReader* t, Reader* text) noexcept nogil:
    """Note a fault where a text is not UTF-8."""
    cdef int64_t bad = check_utf8(text.at, text.end - text.at)
    return OK if bad < 0 else fail(&t.fault, BAD_UTF8, text.at + bad)


cdef inline int32_t intern(JenaReader* t, int kind, int32_t aux, Reader* text) noexcept nogil:
    """The id of a term, or a code. What the Batch has already was found to be UTF-8 before."""
    cdef BatchData* b = t.batch
    cdef int32_t before = b.n_terms
    cdef int32_t term = intern_term(&t.index, b, kind, aux, text.at, text.end - text.at)
    if term < 0:
        return fail(&t.fault, term, text.at, b.text_limit, BY_ROW)
    if term == before and need_text(t, text) != OK:
        drop_terms(b, before, b.n_quoted)
        return t.fault.code
    return term


cdef int32_t add_iri(JenaReader* t, Reader* text) noexcept nogil:
    # Jena has made blank nodes of these since 4.9.
    if text.end - text.at >= 2 and text.at[0] == 0x5F and text.at[1] == 0x3A:
        text.at += 2
        return add_label(t, text)
    return intern(t, KIND_IRI, NO_TERM, text)


cdef int32_t add_label(JenaReader* t, Reader* text) noexcept nogil:
    return intern(t, KIND_BNODE, NO_TERM, text)


cdef int32_t add_directed(JenaReader* t, Parts* parts) noexcept nogil:
    """The language tag of a literal that has a base direction."""
    cdef int kind = kind_of_direction(parts.direction.at, parts.direction.end - parts.direction.at)
    if kind == KIND_TEXT or parts.tag.end == parts.tag.at:
        return fail(&t.fault, BAD_DIRECTION, parts.direction.at)
    return intern(t, kind, NO_TERM, &parts.tag)


cdef int32_t add_literal(JenaReader* t, Parts* parts) noexcept nogil:
    """A literal of its parts. An empty tag is none, xsd:string and the datatypes that a tag has anyhow are none either."""
    cdef int32_t aux = NO_TERM
    cdef int kind = KIND_LITERAL
    cdef bint tagged = parts.tag.end > parts.tag.at
    cdef int tag_kind
    cdef int64_t n
    if tagged or parts.direction.at != NULL:
        if parts.datatype.at != NULL and not is_lang_string(
            parts.datatype.at, parts.datatype.end - parts.datatype.at, parts.direction.at != NULL
        ):
            return fail(&t.fault, BOTH_KINDS, parts.lex.at)
        kind = KIND_LANG
        if parts.direction.at != NULL:
            aux = add_directed(t, parts)
        else:
            n = parts.tag.end - parts.tag.at
            tag_kind = split_tag(parts.tag.at, &n)
            parts.tag.end = parts.tag.at + n
            aux = intern(t, tag_kind, NO_TERM, &parts.tag)
        if aux < 0:
            return aux
    elif parts.datatype.at != NULL and not is_xsd_string(parts.datatype.at, parts.datatype.end - parts.datatype.at):
        kind = KIND_TYPED
        aux = intern(t, KIND_IRI, NO_TERM, &parts.datatype)
        if aux < 0:
            return aux
    return intern(t, kind, aux, &parts.lex)


cdef int32_t add_number(JenaReader* t, const char* datatype, int64_t n_datatype, const uint8_t* text, int64_t n) noexcept nogil:
    cdef Parts parts
    memset(&parts, 0, sizeof(Parts))
    parts.lex.at = text
    parts.lex.end = text + n
    parts.datatype.at = <const uint8_t*>datatype
    parts.datatype.end = parts.datatype.at + n_datatype
    return add_literal(t, &parts)


cdef int64_t read_zigzag(Reader* r) noexcept nogil:
    """A number that was stepped over; 0 where there is none."""
    cdef uint64_t number = 0
    cdef int i
    for i in range(<int>(r.end - r.at)):
        number |= <uint64_t>(r.at[i] & 0x7F) << (7 * i)
    return <int64_t>(number >> 1) ^ -<int64_t>(number & 1)


cdef int32_t read_integer(JenaReader* t, Reader* r) noexcept nogil:
    cdef uint8_t text[24]
    return add_number(t, b"http://www.w3.org/2001/XMLSchema#integer", 40, text, format_integer(read_zigzag(r), text))


cdef int32_t read_double(JenaReader* t, Reader* r) noexcept nogil:
    cdef uint8_t text[64]
    cdef double value
    memcpy(&value, r.at, 8)
    return add_number(t, b"http://www.w3.org/2001/XMLSchema#double", 39, text, format_double(value, text))


cdef inline void drop_colon(Reader* name) noexcept nogil:
    """Jena takes `ex:` for `ex`."""
    if name.end > name.at and (name.end - 1)[0] == 0x3A:
        name.end -= 1


cdef int read_name(JenaReader* t, Reader* r, Writer* scratch, Reader* iri) noexcept nogil:
    """The IRI of a prefixed name, in `scratch`."""
    cdef Reader[2] pair
    cdef Reader name
    cdef Prefix* item
    cdef int32_t found
    if take_pair(t, r, pair, FIELD_LOCAL) < 0:
        return t.fault.code
    name = pair[0]
    drop_colon(&name)
    found = find_prefix(&t.prefixes, &name)
    if found < 0:
        return fail(&t.fault, NO_PREFIX, name.at)
    item = &t.prefixes.items[found]
    scratch.n = 0
    if reserve(scratch, item.n_iri + (pair[1].end - pair[1].at)) < 0:
        return fail(&t.fault, NO_MEMORY, name.at)
    put_bytes(scratch, item.text + item.n_name, item.n_iri)
    put_bytes(scratch, pair[1].at, pair[1].end - pair[1].at)
    iri.at = scratch.buf
    iri.end = scratch.buf + scratch.n
    return OK


cdef int32_t read_pattern(JenaReader* t, Reader* r, int64_t field, int depth, const uint8_t* at) noexcept nogil:
    """A term that is no RDF term; UNDEFINED is for the caller to judge. A patch has none of them."""
    cdef Reader name
    if (take_only(t, r, &name, FIELD_NAME) if field == TERM_VARIABLE else t.take_fields(t, r, NULL, 0)) < 0:
        return t.fault.code
    if field == TERM_UNDEFINED:
        return NO_TERM
    if t.patch:
        return fail(&t.fault, PATTERN_TERM, at, field - TERM_VARIABLE)
    if field == TERM_VARIABLE:
        return intern(t, KIND_VARIABLE, NO_TERM, &name)
    if field == TERM_ANY:
        name.at = name.end = at
        return intern(t, KIND_ANY, NO_TERM, &name)
    if depth > 0:
        return fail(&t.fault, NESTED_REPEAT, at)
    t.repeats = True
    return REPEATED


# ---- messages

cdef inline int need_field(JenaReader* t, Reader* field, int name, const uint8_t* at) noexcept nogil:
    """A field without which Thrift has no message; in Protobuf it is empty then."""
    if field.at != NULL:
        return OK
    field.at = field.end = at
    return fail(&t.fault, FIELD_MISSING, at, name) if t.thrift else OK


cdef int take_only(JenaReader* t, Reader* r, Reader* text, int name) noexcept nogil:
    """A message whose field 1 is a string."""
    cdef const uint8_t* at = r.at
    text.at = NULL
    if t.take_fields(t, r, text, ONE_STRING) < 0:
        return t.fault.code
    return need_field(t, text, name, at)


cdef int take_pair(JenaReader* t, Reader* r, Reader* pair, int name) noexcept nogil:
    """A message whose fields 1 and 2 are strings."""
    cdef const uint8_t* at = r.at
    pair[0].at = pair[1].at = NULL
    if t.take_fields(t, r, pair, TWO_STRINGS) < 0 or need_field(t, &pair[0], FIELD_PREFIX, at) < 0:
        return t.fault.code
    return need_field(t, &pair[1], name, at)


cdef int32_t read_literal(JenaReader* t, Reader* r) noexcept nogil:
    cdef const uint8_t* at = r.at
    cdef Parts parts
    memset(&parts, 0, sizeof(Parts))
    if t.take_fields(t, r, &parts.lex, LITERAL_PARTS) < 0 or need_field(t, &parts.lex, FIELD_LEX, at) < 0:
        return t.fault.code
    if parts.short_type.at != NULL:
        if read_name(t, &parts.short_type, &t.scratch_datatype, &parts.short_type) < 0:
            return t.fault.code
        if parts.datatype.at == NULL:
            parts.datatype = parts.short_type
    return add_literal(t, &parts)


cdef int32_t read_decimal(JenaReader* t, Reader* r) noexcept nogil:
    cdef const uint8_t* at = r.at
    cdef uint8_t text[MAX_NUMBER]
    cdef Reader[2] parts
    cdef int64_t scale, n
    parts[0].at = parts[1].at = NULL
    if (
        t.take_fields(t, r, parts, DECIMAL_PARTS) < 0 or need_field(t, &parts[0], FIELD_VALUE, at) < 0
        or need_field(t, &parts[1], FIELD_SCALE, at) < 0
    ):
        return t.fault.code
    scale = read_zigzag(&parts[1])
    if scale > MAX_SCALE or scale < -MAX_SCALE:
        return fail(&t.fault, SCALE_LIMIT, t.r.at, scale, MAX_SCALE)
    n = format_decimal(read_zigzag(&parts[0]), <int32_t>scale, text)
    return add_number(t, b"http://www.w3.org/2001/XMLSchema#decimal", 40, text, n)


cdef int32_t read_triple(JenaReader* t, Reader* r, int depth, const uint8_t* at) noexcept nogil:
    """A triple term."""
    cdef int32_t[4] ids
    cdef int32_t term
    if depth >= t.max_depth:
        return fail(&t.fault, DEPTH, at, t.max_depth)
    if t.read_terms(t, r, 3, ids, depth + 1) < 0 or check_terms(t, ids, 3, at) < 0:
        return t.fault.code
    term = add_quoted(t.batch, ids[0], ids[1], ids[2])
    return term if term >= 0 else fail(&t.fault, term, t.r.at, t.batch.text_limit, BY_ROW)


cdef int32_t read_body(JenaReader* t, Reader* r, int64_t field, int depth, const uint8_t* at) noexcept nogil:
    """The term of a field of RDF_Term, which begins there; NO_TERM where it is UNDEFINED, else a code below that."""
    cdef Reader text
    if field == TERM_IRI:
        return t.fault.code if take_only(t, r, &text, FIELD_IRI) < 0 else add_iri(t, &text)
    if field == TERM_LITERAL:
        return read_literal(t, r)
    if field == TERM_BNODE:
        return t.fault.code if take_only(t, r, &text, FIELD_LABEL) < 0 else add_label(t, &text)
    if field == TERM_NAME:
        return t.fault.code if read_name(t, r, &t.scratch, &text) < 0 else add_iri(t, &text)
    if field == TERM_TRIPLE:
        return read_triple(t, r, depth, at)
    if field == TERM_INTEGER:
        return read_integer(t, r)
    if field == TERM_DOUBLE:
        return read_double(t, r)
    return read_decimal(t, r) if field == TERM_DECIMAL else read_pattern(t, r, field, depth, at)


cdef inline int32_t term_of_row(JenaReader* t, int64_t row, int64_t column) noexcept nogil:
    """A term of a row of the Batch. A triple is in the default graph."""
    cdef BatchData* b = t.batch
    if t.results:
        return b.cells[row * t.width + column]
    if column < 3:
        return b.s[row] if column == 0 else b.p[row] if column == 1 else b.o[row]
    return NO_TERM if b.g == NULL else b.g[row]


cdef int keep_last_row(JenaReader* t) noexcept nogil:
    """Before a Batch goes away, keep the terms of its last row, which the next row may repeat."""
    cdef BatchData* b = t.batch
    cdef BatchData kept
    cdef int64_t width = t.width if t.results else 4
    cdef int64_t column
    cdef int32_t* last
    cdef int32_t term
    if b.n_rows == 0:
        return OK
    last = <int32_t*>realloc(t.last, (width + 1) * sizeof(int32_t))
    if last == NULL or init_arena(&kept, 3, 1, 8, 256, b.text_limit) < 0:
        return fail(&t.fault, NO_MEMORY, NULL)
    t.last = last
    for column in range(width):
        term = term_of_row(t, b.n_rows - 1, column)
        if term >= 0:
            term = copy_term(b, term, &kept)
        if term < NO_TERM:
            free_arena(&kept)
            return fail(&t.fault, term, NULL, b.text_limit, BY_ROW)
        last[column] = term
    free_arena(&t.carry)
    t.carry = kept
    return OK


cdef int32_t repeated_term(JenaReader* t, int64_t column, int slot, const uint8_t* at) noexcept nogil:
    """The term that the row before has in a column, or a code."""
    cdef BatchData* b = t.batch
    cdef int32_t term
    if b.n_rows > 0:
        return term_of_row(t, b.n_rows - 1, column)
    if t.last == NULL:
        return fail(&t.fault, NOTHING_TO_REPEAT, at, 0, slot)
    term = t.last[column]
    if term >= 0:
        term = copy_term(&t.carry, term, b)
    return term if term >= NO_TERM else fail(&t.fault, term, at, b.text_limit, BY_ROW)


cdef int repeat_terms(JenaReader* t, int32_t* ids, const uint8_t* at) noexcept nogil:
    """The terms of the row before in the places of those that are REPEAT."""
    cdef int slot
    t.repeats = False
    for slot in range(4):
        if ids[slot] == REPEATED:
            ids[slot] = repeated_term(t, slot, slot, at)
            if ids[slot] < NO_TERM:
                return t.fault.code
    return OK


# ---- rows

cdef int declare(JenaReader* t, Reader* pair) noexcept nogil:
    """A prefix, from here on."""
    cdef Reader* name = &pair[0]
    cdef Reader* iri = &pair[1]
    cdef int32_t text, term
    drop_colon(name)
    text = intern(t, KIND_TEXT, NO_TERM, name)
    if text < 0:
        return text
    term = intern(t, KIND_IRI, NO_TERM, iri)
    if term < 0:
        return term
    if set_prefix(&t.prefixes, name, iri, &t.fault) < 0:
        return t.fault.code
    if add_namespace(t.batch, text, term) < 0:
        return fail(&t.fault, NO_MEMORY, name.at)
    forget_seen(t)
    return OK


cdef int note_base(JenaReader* t, Reader* iri) noexcept nogil:
    """The base IRI; nothing is resolved with it."""
    if need_text(t, iri) != OK:
        return t.fault.code
    t.base.n = 0
    if reserve(&t.base, iri.end - iri.at + 1) < 0:
        return fail(&t.fault, NO_MEMORY, iri.at)
    put_bytes(&t.base, iri.at, iri.end - iri.at)
    t.has_base = True
    return OK


cdef bint is_default(BatchData* b, int32_t graph) noexcept nogil:
    """Whether this is one of the two names that Jena has for the default graph."""
    cdef const uint8_t* text = text_of(b, graph)
    cdef int64_t n = len_of(b, graph)
    return (n == 22 or n == 26) and b.kind[graph] == KIND_IRI and memcmp(text, b"urn:x-arq:DefaultGraphNode", n) == 0


cdef int check_terms(JenaReader* t, int32_t* ids, int n, const uint8_t* at) noexcept nogil:
    """A statement has no part that is missing or UNDEFINED."""
    cdef int slot
    for slot in range(n):
        if ids[slot] == UNSET:
            return fail(&t.fault, TERM_MISSING, at, 0, slot)
        if ids[slot] == NO_TERM:
            return fail(&t.fault, PATTERN_TERM, at, TERM_UNDEFINED - TERM_VARIABLE)
    return OK


cdef int put_statement(JenaReader* t, int32_t* ids, bint quad, const uint8_t* at) noexcept nogil:
    """Append a row. From the first quad on, all rows of the stream are quads."""
    cdef BatchData* b = t.batch
    if t.repeats and repeat_terms(t, ids, at) < 0:
        return t.fault.code
    if check_terms(t, ids, 3, at) < 0:
        return t.fault.code
    if quad and not t.quads:
        t.quads = True
        if b.g == NULL:
            if add_graphs(b) < 0:
                return fail(&t.fault, NO_MEMORY, at)
            memset(b.g, 0xFF, b.n_rows * sizeof(int32_t))
    if ids[3] < 0 or is_default(b, ids[3]):
        ids[3] = NO_TERM
    return OK if add_row(b, ids) == 0 else fail(&t.fault, NO_MEMORY, at)


# ---- result sets

cdef int add_variable(JenaReader* t, Reader* name) noexcept nogil:
    cdef int64_t n = name.end - name.at
    if need_text(t, name) != OK:
        return t.fault.code
    if t.width >= MAX_VARIABLES:
        return fail(&t.fault, VARIABLES_LIMIT, name.at, MAX_VARIABLES)
    if reserve(&t.variables, n + MAX_VARINT32) < 0:
        return fail(&t.fault, NO_MEMORY, name.at)
    put_varint(&t.variables, n)
    put_bytes(&t.variables, name.at, n)
    t.width += 1
    return OK


cdef int begin_cells(JenaReader* t, const uint8_t* at) noexcept nogil:
    """Make room for a row."""
    if not t.has_header:
        return OK
    if t.batch.n_rows >= t.batch.cap_rows and grow_rows(t.batch) < 0:
        return fail(&t.fault, NO_MEMORY, at)
    return OK


cdef int put_cell(JenaReader* t, int64_t column, int32_t term, const uint8_t* at) noexcept nogil:
    if column >= t.width:
        return fail(&t.fault, ROW_WIDTH, at, column + 1, t.width)
    if term == REPEATED:
        term = repeated_term(t, column, -1, at)
        if term < NO_TERM:
            return term
    t.batch.cells[t.batch.n_rows * t.width + column] = term
    return OK


cdef int read_cell(JenaReader* t, Reader* r, int64_t column, const uint8_t* at) noexcept nogil:
    """A term of a row, or a variable of the header."""
    cdef Reader name
    cdef int32_t term
    if not t.has_header:
        return t.fault.code if take_only(t, r, &name, FIELD_NAME) < 0 else add_variable(t, &name)
    term = t.read_term(t, r, 0)
    return term if term < NO_TERM else put_cell(t, column, term, at)


cdef int end_cells(JenaReader* t, int64_t n, const uint8_t* at) noexcept nogil:
    """A row of `n` terms is done, or the header."""
    if not t.has_header:
        return OK
    if n != t.width:
        return fail(&t.fault, ROW_WIDTH, at, n, t.width)
    t.batch.n_rows += 1
    return OK


# ---- the ends of rows

cdef int end_row(JenaReader* t) noexcept nogil:
    """Why to stop after a row: FULL, NEED_MORE where nothing else is wanted, or NEED_TABLES after the header of a result
    set, for the Batch must become one of query results. Else OK."""
    if t.scan and t.quads:
        t.r.at = t.r.end
        return NEED_MORE
    if t.results and not t.has_header:
        t.has_header = True
        return NEED_TABLES
    # Enough for a Batch.
    if t.batch.n_rows >= t.max_rows or t.batch.n_text > t.max_text or t.batch.n_names > MAX_NAMES:
        return FULL
    return OK


cdef int end_rows(JenaReader* t) noexcept nogil:
    """NEED_MORE after the last row of the input, which may not be the end."""
    if t.final and t.results and not t.has_header:
        return fail(&t.fault, NO_HEADER, t.r.at)
    if t.final and t.transaction == OPEN:
        return fail(&t.fault, OPEN_PATCH, t.r.at)
    return NEED_MORE
