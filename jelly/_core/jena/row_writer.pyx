"""Batches to RDF Thrift and RDF Protobuf, byte for byte as Jena writes them: each term is encoded once, then put into rows."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from jelly._core.base.batch cimport NO_TERM, N_DIRECTION, NamespaceMark, len_direction, load_row, refuse_term, text_of
from jelly._core.base.constants cimport MAX_QUOTED
from jelly._core.base.fault cimport BAD_TERM, DASHED_TAG, DEPTH, NO_MEMORY, OK, QUOTED_LIMIT, fail
from jelly._core.base.kinds cimport KIND_IRI, KIND_LANG, KIND_TEXT, KIND_TEXT_LTR, KIND_TYPED, TEXTS, TRIPLES, among
from jelly._core.base.protobuf cimport (
    WIRE_I64, WIRE_LEN, WIRE_VARINT, insert_length, len_field, put_byte, put_bytes, put_number, put_varint, reserve,
)
from jelly._core.jena.numeric cimport NO_VALUE, Value, parse_value
from jelly._core.jena.prefix_map cimport Prefix, find_space, set_prefix
from jelly._core.jena.protobuf_reader cimport PROTOBUF_DEPTH, find_dashes
from jelly._core.jena.row_reader cimport (
    ROW_PREFIX, ROW_QUAD, ROW_TRIPLE, TERM_ANY, TERM_DECIMAL, TERM_DOUBLE, TERM_INTEGER, TERM_LITERAL, TERM_NAME,
    TERM_TRIPLE, is_default,
)
from jelly._core.jena.thrift cimport T_DOUBLE, T_I32, T_I64, T_LIST, T_STOP, T_STRING, T_STRUCT
from jelly._core.jena.thrift_reader cimport (
    PATCH_ADD, PATCH_DELETE, PATCH_HEADER, PATCH_MARK, PATCH_PREFIX_ADD, PATCH_PREFIX_DELETE, THRIFT_DEPTH,
)
from jelly._core.rules.patch_operations cimport (
    OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
)

cdef enum:
    # What is around the strings of a term and the terms of a row, at most: tags, lengths, ends, a default graph.
    AROUND = 96
    # Bytes around the terms of a triple term of Thrift: four field headers, and the ends of the struct and of the union.
    AROUND_TRIPLE = 6
    # For each kind of term the field of RDF_Term that it has, 4 bits each; a triple term has its own. And for each value.
    FIELDS_OF_KINDS = 0x650000333210
    FIELDS_OF_VALUES = 0xBCA0
    # Bytes of the field of a quad of Protobuf with the name that Jena has for the default graph.
    N_DEFAULT = 32


ctypedef struct TermParts:
    # A term that holds no other, ready to be encoded. `at` is NULL where a part is absent.
    int field  # of RDF_Term, as Thrift numbers them
    Reader text
    Reader prefix  # the text is a local name
    Reader tag
    const uint8_t* dashed  # NULL, or the direction of the tag: `--ltr`
    Reader datatype
    Reader datatype_prefix
    Value value


cdef inline int64_t length(Reader* text) noexcept nogil:
    return text.end - text.at


cdef int load_text(JenaWriter* d, int32_t term, int kinds, Reader* text) noexcept nogil:
    """The text of a term, which must be of one of these kinds: its id may come from anywhere."""
    cdef BatchData* b = d.b
    if term < 0 or term >= b.n_terms or not among(b.kind[term], kinds):
        return fail(&d.fault, BAD_TERM, NULL, term, -1)
    text.at = text_of(b, term)
    text.end = text_of(b, term + 1)
    return OK


# ---- parts: a field has its number and type before it in Protobuf, and in Thrift its type and the step from the one before

cdef inline void put_head(Writer* w, bint lengths, int field, int step, int kind) noexcept nogil:
    """Begin a field; `kind` is the type that Thrift has for it."""
    if lengths:
        put_varint(w, field << 3 | (WIRE_LEN if kind > T_DOUBLE else WIRE_I64 if kind == T_DOUBLE else WIRE_VARINT))
    else:
        put_byte(w, <uint8_t>(step << 4 | kind))


cdef inline int64_t open_part(Writer* w, bint lengths) noexcept nogil:
    """Begin a message, for `close_part`."""
    if lengths:
        put_byte(w, 0)
    return w.n


cdef inline void close_part(Writer* w, bint lengths, int64_t begin) noexcept nogil:
    if lengths:
        insert_length(w, begin)
    else:
        put_byte(w, T_STOP)


cdef inline void put_text(Writer* w, bint lengths, int field, int step, Reader* text) noexcept nogil:
    put_head(w, lengths, field, step, T_STRING)
    put_varint(w, length(text))
    put_bytes(w, text.at, length(text))


cdef inline void put_string(Writer* w, bint lengths, int field, Reader* text) noexcept nogil:
    """A string, in the field after the one before. Protobuf does not write an empty one outside of a oneof."""
    if not lengths or length(text):
        put_text(w, lengths, field, 1, text)


cdef void put_pair(Writer* w, bint lengths, Reader* first, Reader* second) noexcept nogil:
    put_string(w, lengths, 1, first)
    put_string(w, lengths, 2, second)


# ---- terms that hold no other

cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef void put_decimal(Writer* w, bint lengths, int64_t whole, int64_t scale) noexcept nogil:
    if lengths:
        put_number(w, 1 << 3, zigzag(whole))
        put_number(w, 2 << 3, zigzag(scale))
    else:
        put_byte(w, 1 << 4 | T_I64)
        put_varint(w, zigzag(whole))
        put_byte(w, 1 << 4 | T_I32)
        put_varint(w, zigzag(scale))


cdef void put_literal(Writer* w, bint lengths, TermParts* leaf) noexcept nogil:
    """The fields of a literal. Protobuf has a language tag with its direction as one string, and says what is a simple one."""
    cdef int64_t begin
    put_string(w, lengths, 1, &leaf.text)
    if leaf.tag.at != NULL and lengths and leaf.dashed != NULL:
        put_head(w, lengths, 5, 0, T_STRING)
        put_varint(w, length(&leaf.tag) + N_DIRECTION)
        put_bytes(w, leaf.tag.at, length(&leaf.tag))
        put_bytes(w, leaf.dashed, N_DIRECTION)
    elif leaf.tag.at != NULL:
        put_string(w, lengths, 2, &leaf.tag)
        if leaf.dashed != NULL:
            put_head(w, lengths, 0, 3, T_STRING)
            put_varint(w, 3)
            put_bytes(w, leaf.dashed + 2, 3)
    elif leaf.datatype_prefix.at != NULL:
        put_head(w, lengths, 4, 3, T_STRUCT)
        begin = open_part(w, lengths)
        put_pair(w, lengths, &leaf.datatype_prefix, &leaf.datatype)
        close_part(w, lengths, begin)
    elif leaf.datatype.at != NULL:
        put_text(w, lengths, 3, 2, &leaf.datatype)
    elif lengths:
        put_number(w, 9 << 3, 1)


cdef void put_leaf(Writer* w, bint lengths, TermParts* leaf) noexcept nogil:
    cdef const char* numbers = b"\0\1\2\3\4\5\7\0\0\0\24\25\26"  # that Protobuf has for the fields of RDF_Term
    cdef int64_t begin
    cdef int field = leaf.field
    put_head(
        w, lengths, numbers[field], field, T_I64 if field == TERM_INTEGER else T_DOUBLE if field == TERM_DOUBLE else T_STRUCT
    )
    if field == TERM_INTEGER:
        put_varint(w, zigzag(leaf.value.whole))
    elif field == TERM_DOUBLE:
        put_bytes(w, <const uint8_t*>&leaf.value.real, sizeof(double))
    else:
        begin = open_part(w, lengths)
        if field == TERM_LITERAL:
            put_literal(w, lengths, leaf)
        elif field == TERM_NAME:
            put_pair(w, lengths, &leaf.prefix, &leaf.text)
        elif field == TERM_DECIMAL:
            put_decimal(w, lengths, leaf.value.whole, leaf.value.scale)
        elif field != TERM_ANY:
            put_string(w, lengths, 1, &leaf.text)
        close_part(w, lengths, begin)
    if not lengths:
        put_byte(w, T_STOP)


cdef inline void find_short(JenaWriter* d, Reader* text, Reader* prefix) noexcept nogil:
    """Take an IRI apart where a declared prefix fits."""
    cdef int32_t found = find_space(&d.prefixes, text.at, length(text))
    cdef Prefix* item
    if found < 0:
        return
    item = &d.prefixes.items[found]
    prefix.at = item.text
    prefix.end = item.text + item.n_name
    text.at += item.n_iri


cdef int load_leaf(JenaWriter* d, int32_t term, TermParts* leaf) noexcept nogil:
    """The parts of a term that is no triple term, as both encodings write them."""
    cdef BatchData* b = d.b
    cdef int kind = b.kind[term]
    cdef int32_t aux = b.aux[term]
    memset(leaf, 0, sizeof(TermParts) - sizeof(Value))
    leaf.field = FIELDS_OF_KINDS >> (4 * kind) & 15
    leaf.text.at = text_of(b, term)
    leaf.text.end = text_of(b, term + 1)
    if kind == KIND_IRI and d.shorten:
        find_short(d, &leaf.text, &leaf.prefix)
        if leaf.prefix.at != NULL:
            leaf.field = TERM_NAME
    elif kind == KIND_LANG:
        if load_text(d, aux, TEXTS, &leaf.tag) < 0:
            return d.fault.code
        if length(&leaf.tag) == 0:
            leaf.tag.at = NULL
        elif len_direction(b.kind[aux]):
            leaf.dashed = <const uint8_t*>(b"--ltr" if b.kind[aux] == KIND_TEXT_LTR else b"--rtl")
            if d.lengths and find_dashes(leaf.tag.at, leaf.tag.end) != leaf.tag.end:
                return fail(&d.fault, DASHED_TAG, NULL)
    elif kind == KIND_TYPED:
        if load_text(d, aux, 1 << KIND_IRI, &leaf.datatype) < 0:
            return d.fault.code
        if d.values and parse_value(
            leaf.datatype.at, length(&leaf.datatype), leaf.text.at, length(&leaf.text), &leaf.value
        ) != NO_VALUE:
            leaf.field = FIELDS_OF_VALUES >> (4 * leaf.value.kind) & 15
        elif d.shorten:
            find_short(d, &leaf.datatype, &leaf.datatype_prefix)
    return OK


cdef int encode_leaf(JenaWriter* d, int32_t term) noexcept nogil:
    """Encode a term that holds no other."""
    cdef Encoded* memo = &d.memo[term]
    cdef Writer* w = &d.terms
    cdef TermParts leaf
    if load_leaf(d, term, &leaf) < 0:
        return d.fault.code
    if reserve(
        w, AROUND + length(&leaf.text) + length(&leaf.prefix) + length(&leaf.tag) + length(&leaf.datatype)
        + length(&leaf.datatype_prefix)
    ) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    memo.at = w.n
    put_leaf(w, d.lengths, &leaf)
    memo.n = w.n - memo.at
    return OK


# ---- terms

cdef inline int64_t measure(JenaWriter* d, int32_t term, int slot, int depth) noexcept nogil:
    """Bytes of a term, encoded if need be; or a code."""
    if 0 <= term < d.b.n_terms and d.memo[term].n > 0:
        return d.memo[term].n
    return encode_term(d, term, slot, depth)


cdef int64_t encode_term(JenaWriter* d, int32_t term, int slot, int depth) noexcept nogil:
    cdef BatchData* b = d.b
    cdef int status
    # A term id may come from anywhere.
    if 0 <= term < b.n_terms and among(b.kind[term], TRIPLES) and 0 <= b.aux[term] < b.n_quoted:
        status = measure_triple(d, term, depth)
    elif 0 <= term < b.n_terms and FIELDS_OF_KINDS >> (4 * b.kind[term]) & 15:
        status = encode_leaf(d, term)
    else:
        status = refuse_term(&d.fault, b, term, slot)
    return status if status < 0 else d.memo[term].n


cdef int measure_triple(JenaWriter* d, int32_t term, int depth) noexcept nogil:
    """Triple terms in one another: no deeper than readers take them."""
    cdef Encoded* memo = &d.memo[term]
    cdef int32_t* inner = &d.b.quoted[3 * d.b.aux[term]]
    cdef int max_depth = PROTOBUF_DEPTH if d.lengths else THRIFT_DEPTH
    cdef int64_t size = 0 if d.lengths else AROUND_TRIPLE
    cdef int64_t n
    cdef int k
    if depth >= max_depth:
        return fail(&d.fault, DEPTH, NULL, max_depth)
    memo.depth = 0
    for k in range(3):
        n = measure(d, inner[k], k, depth + 1)
        if n < 0:
            return d.fault.code
        size += len_field(n) if d.lengths else n
        memo.depth = max(memo.depth, d.memo[inner[k]].depth)
    if size > MAX_QUOTED + d.b.n_text:
        return fail(&d.fault, QUOTED_LIMIT, NULL, MAX_QUOTED)
    memo.depth += 1
    if memo.depth > max_depth:
        return fail(&d.fault, DEPTH, NULL, max_depth)
    memo.body = size
    memo.n = len_field(size) if d.lengths else size
    return OK


cdef inline void put_value(JenaWriter* d, int32_t term) noexcept nogil:
    """A term that was measured."""
    cdef Encoded* memo = &d.memo[term]
    if memo.depth == 0:
        put_bytes(&d.out, d.terms.buf + memo.at, memo.n)
    else:
        put_triple(d, term)


cdef inline void put_term(JenaWriter* d, bint lengths, int field, int32_t term) noexcept nogil:
    """A field with a term, after the one before."""
    put_head(&d.out, lengths, field, 1, T_STRUCT)
    if lengths:
        put_varint(&d.out, d.memo[term].n)
    put_value(d, term)


cdef void put_triple(JenaWriter* d, int32_t term) noexcept nogil:
    cdef int32_t* inner = &d.b.quoted[3 * d.b.aux[term]]
    cdef Writer* w = &d.out
    cdef int k
    put_head(w, d.lengths, 6, TERM_TRIPLE, T_STRUCT)
    if d.lengths:
        put_varint(w, d.memo[term].body)
    for k in range(3):
        put_term(d, d.lengths, k + 1, inner[k])
    if not d.lengths:
        put_byte(w, T_STOP)
        put_byte(w, T_STOP)


# ---- rows

cdef inline int measure_terms(
    JenaWriter* d, const int32_t* ids, int64_t n, bint cells, bint lengths, int64_t* size
) noexcept nogil:
    """The bytes of the terms of a row, and room for them. In cells a term may be absent, which is UNDEFINED."""
    cdef int64_t k, one
    size[0] = 0
    for k in range(n):
        one = 2 if lengths else 3
        if not cells or ids[k] != NO_TERM:
            one = measure(d, ids[k], -1 if cells else <int>k, 0)
            if one < 0:
                return d.fault.code
        size[0] += len_field(one) if lengths else one + 1
    return OK if reserve(&d.out, size[0] + AROUND) == 0 else fail(&d.fault, NO_MEMORY, NULL)


cdef inline int write_terms(JenaWriter* d, int64_t row, int field, bint lengths) noexcept nogil:
    """The row of a statement; with a `field` of 0 that of a triple or quad."""
    cdef Writer* w = &d.out
    cdef int32_t ids[4]
    cdef int64_t size
    cdef int arity = 3
    cdef int k
    cdef bint named
    load_row(d.b, row, ids)
    if ids[3] != NO_TERM:
        if measure(d, ids[3], 3, 0) < 0:
            return d.fault.code
        arity += not is_default(d.b, ids[3])
    if measure_terms(d, ids, arity, False, lengths, &size) < 0:
        return d.fault.code
    named = lengths and d.default_quads and arity == 3
    if field == 0:
        field = ROW_QUAD if arity == 4 or named else ROW_TRIPLE
    if named:
        size += N_DEFAULT
    if lengths:
        put_varint(w, len_field(size))
    put_head(w, lengths, field, field, T_STRUCT)
    if lengths:
        put_varint(w, size)
    for k in range(arity):
        put_term(d, lengths, k + 1, ids[k])
    if named:
        put_bytes(w, <const uint8_t*>b"\x22\x1e\x0a\x1c\x0a\x1aurn:x-arq:DefaultGraphNode", N_DEFAULT)
    if not lengths:
        put_byte(w, T_STOP)
        put_byte(w, T_STOP)
    return OK


cdef int write_named(JenaWriter* d, int64_t row, int op) noexcept nogil:
    """A header of a patch (name and value), or a namespace of it (graph, name and, to add it, IRI)."""
    cdef Writer* w = &d.out
    cdef Reader name, iri
    cdef int32_t ids[4]
    cdef bint header = op == OP_HEADER
    cdef bint add = op == OP_NAMESPACE_ADD
    cdef int slot = 2 if header else 3
    cdef int64_t n = 0
    load_row(d.b, row, ids)
    iri.at = iri.end = NULL
    if load_text(d, ids[0], 1 << KIND_TEXT, &name) < 0 or (add and load_text(d, ids[1], 1 << KIND_IRI, &iri) < 0):
        return d.fault.code
    if header or ids[3] != NO_TERM:
        n = measure(d, ids[slot], slot, 0)
        if n < 0:
            return d.fault.code
    if reserve(w, AROUND + length(&name) + length(&iri) + n) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, (PATCH_HEADER if header else PATCH_PREFIX_ADD if add else PATCH_PREFIX_DELETE) << 4 | T_STRUCT)
    if n and not header:
        put_term(d, False, 0, ids[slot])
    put_text(w, False, 0, 1 if n else 2, &name)
    if header:
        put_term(d, False, 0, ids[slot])
    if add:
        put_text(w, False, 0, 1, &iri)
    put_byte(w, T_STOP)
    put_byte(w, T_STOP)
    return OK


cdef int write_patch_row(JenaWriter* d, int64_t row) noexcept nogil:
    """An RDF_Patch_Row; the end of a patch is none."""
    cdef Writer* w = &d.out
    cdef int op = d.b.op[row]
    if op == OP_ADD or op == OP_DELETE:
        return write_terms(d, row, PATCH_ADD if op == OP_ADD else PATCH_DELETE, False)
    if op == OP_HEADER or op == OP_NAMESPACE_ADD or op == OP_NAMESPACE_DELETE:
        return write_named(d, row, op)
    if op == OP_PUNCTUATION:
        return OK
    if reserve(w, AROUND) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, PATCH_MARK << 4 | T_I32)
    put_varint(w, zigzag(op - OP_START))
    put_byte(w, T_STOP)
    return OK


cdef int write_names(JenaWriter* d, int field, Reader* name, Reader* iri) noexcept nogil:
    """A prefix that the IRIs which follow may use, those encoded before may now be written otherwise;
    or the base IRI, as `name`."""
    cdef Writer* w = &d.out
    cdef int64_t begin, body
    if d.shorten and field == ROW_PREFIX:
        if d.b != NULL:
            memset(d.memo, 0, d.b.n_terms * sizeof(Encoded))
        d.terms.n = 0
        if set_prefix(&d.prefixes, name, iri, &d.fault) < 0:
            return d.fault.code
    if reserve(w, AROUND + length(name) + length(iri)) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    begin = open_part(w, d.lengths)
    put_head(w, d.lengths, field, field, T_STRUCT)
    body = open_part(w, d.lengths)
    put_pair(w, d.lengths, name, iri)
    close_part(w, d.lengths, body)
    close_part(w, d.lengths, begin)
    return OK


# ---- result sets

cdef void put_list(Writer* w, int64_t n) noexcept nogil:
    """The header of a list of structs, in field 1."""
    put_byte(w, 1 << 4 | T_LIST)
    put_byte(w, <uint8_t>(min(n, 15) << 4 | T_STRUCT))
    if n >= 15:
        put_varint(w, n)


cdef int write_header(JenaWriter* d, Reader* names) noexcept nogil:
    """The variables of a result set."""
    cdef Writer* w = &d.out
    cdef int64_t i, begin, item
    if reserve(w, AROUND) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    begin = open_part(w, d.lengths)
    if not d.lengths:
        put_list(w, d.width)
    for i in range(d.width):
        if reserve(w, AROUND + length(&names[i])) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        if d.lengths:
            put_byte(w, 1 << 3 | WIRE_LEN)
        item = open_part(w, d.lengths)
        put_string(w, d.lengths, 1, &names[i])
        close_part(w, d.lengths, item)
    close_part(w, d.lengths, begin)
    return OK


cdef int write_cells(JenaWriter* d, int64_t* row, int64_t limit, bint lengths) noexcept nogil:
    """Rows of a result set; `row` moves past the last."""
    cdef const int32_t* ids = d.b.cells + row[0] * d.width
    cdef Writer* w = &d.out
    cdef int64_t i, size
    while row[0] < d.b.n_rows and w.n < limit:
        if measure_terms(d, ids, d.width, True, lengths, &size) < 0:
            return d.fault.code
        if lengths:
            put_varint(w, size)
        elif d.width:
            put_list(w, d.width)
        for i in range(d.width):
            if ids[i] == NO_TERM:
                put_bytes(w, <const uint8_t*>(b"\x0a\2\x42\0" if lengths else b"\x7c\0\0"), 4 if lengths else 3)
            elif lengths:
                put_term(d, lengths, 1, ids[i])
            else:
                put_value(d, ids[i])
        if not lengths:
            put_byte(w, T_STOP)
        ids += d.width
        row[0] += 1
    return OK


cdef int write_rows(JenaWriter* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil:
    """Write rows and prefixes until there are `limit` bytes or no more; `row` and `name` move past the last."""
    cdef BatchData* b = d.b
    cdef NamespaceMark* mark
    cdef Reader text, iri
    if d.results:
        return write_cells(d, row, limit, True) if d.lengths else write_cells(d, row, limit, False)
    while d.out.n < limit:
        if name[0] < b.n_names and b.names[name[0]].row <= row[0]:
            mark = &b.names[name[0]]
            if (
                load_text(d, mark.name, ~0, &text) < 0 or load_text(d, mark.iri, ~0, &iri) < 0
                or write_names(d, ROW_PREFIX, &text, &iri) < 0
            ):
                return d.fault.code
            name[0] += 1
            continue
        if row[0] >= b.n_rows:
            break
        if (
            write_terms(d, row[0], 0, True) if d.lengths else write_patch_row(d, row[0]) if b.op != NULL
            else write_terms(d, row[0], 0, False)
        ) < 0:
            return d.fault.code
        row[0] += 1
    return OK
