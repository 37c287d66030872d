"""Batches to RDF Protobuf, byte for byte as Jena writes it: each row with its length before it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from jelly._core.base.batch cimport NO_TERM, len_direction, put_direction
from jelly._core.base.fault cimport NO_MEMORY, OK, fail
from jelly._core.base.kinds cimport KIND_ANY, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_VARIABLE
from jelly._core.base.protobuf cimport (
    MAX_VARINT32, Writer, len_field, len_varint, put_byte, put_bytes, put_varint, reserve,
)
from jelly._core.jena.numeric cimport VALUE_DECIMAL, VALUE_DOUBLE, Value
from jelly._core.jena.protobuf_reader cimport PROTOBUF_DEPTH
from jelly._core.jena.row_writer cimport Encoded, TermParts, declare_name, find_terms, load_leaf, measure

cdef enum:
    # Tags of one byte: number of the field and type.
    FIELD_1 = 0x0A
    FIELD_2 = 0x12
    FIELD_3 = 0x1A
    FIELD_4 = 0x22
    FIELD_5 = 0x2A
    FIELD_6 = 0x32
    ANY = 0x3A
    UNDEFINED = 0x42
    VALUE = 0x08
    SCALE = 0x10
    # Tags of two bytes, the first of them low.
    INTEGER = 0x01A0
    DOUBLE = 0x01A9
    DECIMAL = 0x01B2
    SIMPLE = 0x48
    # What a row has around its terms at most: tags and lengths, seven of each.
    AROUND_ROW = 7 * 6


cdef inline int64_t length(Reader* text) noexcept nogil:
    return text.end - text.at


cdef inline int64_t len_string(Reader* text) noexcept nogil:
    """A string field; an empty one outside of a oneof is not written."""
    return len_field(length(text)) if length(text) else 0


cdef inline void put_head(Writer* w, uint8_t tag, int64_t n) noexcept nogil:
    put_byte(w, tag)
    put_varint(w, n)


cdef inline void put_text(Writer* w, uint8_t tag, Reader* text) noexcept nogil:
    put_head(w, tag, length(text))
    put_bytes(w, text.at, length(text))


cdef inline void put_string(Writer* w, uint8_t tag, Reader* text) noexcept nogil:
    if length(text):
        put_text(w, tag, text)


cdef void put_pair(Writer* w, uint8_t tag, Reader* first, Reader* second) noexcept nogil:
    put_head(w, tag, len_string(first) + len_string(second))
    put_string(w, FIELD_1, first)
    put_string(w, FIELD_2, second)


cdef void put_literal(Writer* w, TermParts* leaf) noexcept nogil:
    cdef int64_t size = len_string(&leaf.text)
    cdef int64_t n_tag
    if leaf.kind == KIND_LITERAL:
        put_head(w, FIELD_3, size + 2)
        put_string(w, FIELD_1, &leaf.text)
        put_byte(w, SIMPLE)
        put_byte(w, 1)
    elif leaf.kind == KIND_LANG:
        n_tag = length(&leaf.tag) + len_direction(leaf.tag_kind)
        put_head(w, FIELD_3, size + len_field(n_tag))
        put_string(w, FIELD_1, &leaf.text)
        put_head(w, FIELD_2 if leaf.tag_kind == KIND_TEXT else FIELD_5, n_tag)
        put_bytes(w, leaf.tag.at, length(&leaf.tag))
        put_direction(w.buf + w.n, leaf.tag_kind)
        w.n += len_direction(leaf.tag_kind)
    elif leaf.datatype_prefix.at == NULL:
        put_head(w, FIELD_3, size + len_field(length(&leaf.datatype)))
        put_string(w, FIELD_1, &leaf.text)
        put_text(w, FIELD_3, &leaf.datatype)
    else:
        put_head(w, FIELD_3, size + len_field(len_string(&leaf.datatype_prefix) + len_string(&leaf.datatype)))
        put_string(w, FIELD_1, &leaf.text)
        put_pair(w, FIELD_4, &leaf.datatype_prefix, &leaf.datatype)


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline void put_tag(Writer* w, int tag) noexcept nogil:
    put_byte(w, <uint8_t>(tag & 0xFF))
    put_byte(w, <uint8_t>(tag >> 8))


cdef void put_value(Writer* w, Value* value) noexcept nogil:
    """The value form of a literal."""
    cdef uint64_t bits
    cdef int i
    if value.kind == VALUE_DECIMAL:
        put_tag(w, DECIMAL)
        put_varint(w, (1 + len_varint(zigzag(value.whole)) if value.whole else 0)
                   + (1 + len_varint(zigzag(value.scale)) if value.scale else 0))
        if value.whole:
            put_byte(w, VALUE)
            put_varint(w, zigzag(value.whole))
        if value.scale:
            put_byte(w, SCALE)
            put_varint(w, zigzag(value.scale))
    elif value.kind == VALUE_DOUBLE:
        put_tag(w, DOUBLE)
        memcpy(&bits, &value.real, 8)
        for i in range(8):
            put_byte(w, <uint8_t>(bits >> (8 * i)))
    else:
        put_tag(w, INTEGER)
        put_varint(w, zigzag(value.whole))


cdef int put_leaf(JenaWriter* d, int32_t term) noexcept nogil:
    """Encode a term that holds no other."""
    cdef Encoded* memo = &d.memo[term]
    cdef Writer* w = &d.terms
    cdef TermParts leaf
    if load_leaf(d, term, &leaf) < 0:
        return d.fault.code
    if reserve(
        w, AROUND_ROW + length(&leaf.text) + length(&leaf.prefix) + length(&leaf.tag) + length(&leaf.datatype)
        + length(&leaf.datatype_prefix)
    ) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    memo.at = w.n
    if leaf.prefix.at != NULL:
        put_pair(w, FIELD_4, &leaf.prefix, &leaf.text)
    elif leaf.kind == 0:
        put_value(w, &leaf.value)
    elif leaf.kind == KIND_ANY:
        put_head(w, ANY, 0)
    elif leaf.kind == KIND_IRI or leaf.kind == KIND_BNODE or leaf.kind == KIND_VARIABLE:
        put_head(
            w, FIELD_1 if leaf.kind == KIND_IRI else FIELD_2 if leaf.kind == KIND_BNODE else FIELD_5, len_string(&leaf.text)
        )
        put_string(w, FIELD_1, &leaf.text)
    else:
        put_literal(w, &leaf)
    memo.n = w.n - memo.at
    return OK


cdef void pb_put_term(JenaWriter* d, Writer* w, uint8_t tag, int32_t term) noexcept nogil:
    """A field with a term that was measured."""
    cdef Encoded* memo = &d.memo[term]
    cdef int32_t* inner
    put_head(w, tag, memo.n)
    if memo.depth == 0:
        put_bytes(w, d.terms.buf + memo.at, memo.n)
        return
    inner = &d.b.quoted[3 * d.b.aux[term]]
    put_head(w, FIELD_6, memo.body)
    pb_put_term(d, w, FIELD_1, inner[0])
    pb_put_term(d, w, FIELD_2, inner[1])
    pb_put_term(d, w, FIELD_3, inner[2])


# ---- rows

cdef int write_prefix(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil:
    cdef Writer* w = &d.out
    cdef int64_t n = len_string(name) + len_string(iri)
    if declare_name(d, name, iri) < 0:
        return d.fault.code
    if reserve(w, n + AROUND_ROW) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, len_field(n))
    put_pair(w, FIELD_1, name, iri)
    return OK


cdef int write_protobuf_base(JenaWriter* d, Reader* iri) noexcept nogil:
    cdef Writer* w = &d.out
    if reserve(w, length(iri) + AROUND_ROW) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, len_field(len_string(iri)))
    put_head(w, FIELD_4, len_string(iri))
    put_string(w, FIELD_1, iri)
    return OK


cdef int write_row(JenaWriter* d, int64_t row) noexcept nogil:
    cdef const char* name = b"urn:x-arq:DefaultGraphNode"
    cdef Writer* w = &d.out
    cdef Reader default
    cdef int32_t ids[4]
    cdef int64_t size = 0
    cdef int64_t n
    cdef int k
    cdef int arity = find_terms(d, row, ids)
    cdef bint quad = arity == 4
    if arity < 0:
        return arity
    for k in range(arity):
        n = measure(d, ids[k], k)
        if n < 0:
            return <int>n
        size += len_field(n)
    default.at = default.end = NULL
    if d.default_quads and not quad:
        default.at = <const uint8_t*>name
        default.end = default.at + 26
        size += len_field(len_field(len_string(&default)))
    if reserve(w, size + AROUND_ROW) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, len_field(size))
    put_head(w, FIELD_3 if quad or d.default_quads else FIELD_2, size)
    pb_put_term(d, w, FIELD_1, ids[0])
    pb_put_term(d, w, FIELD_2, ids[1])
    pb_put_term(d, w, FIELD_3, ids[2])
    if quad:
        pb_put_term(d, w, FIELD_4, ids[3])
    elif default.at != NULL:
        put_head(w, FIELD_4, len_field(len_string(&default)))
        put_head(w, FIELD_1, len_string(&default))
        put_string(w, FIELD_1, &default)
    return OK


# ---- result sets

cdef int write_header(JenaWriter* d, Reader* names) noexcept nogil:
    """The variables of a result set."""
    cdef Writer* w = &d.out
    cdef int64_t size = 0
    cdef int64_t i
    for i in range(d.width):
        size += len_field(len_string(&names[i]))
    if reserve(w, size + 2 * MAX_VARINT32) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, size)
    for i in range(d.width):
        put_head(w, FIELD_1, len_string(&names[i]))
        put_string(w, FIELD_1, &names[i])
    return OK


cdef int write_cells(JenaWriter* d, const int32_t* ids, int64_t* row, int64_t rows) noexcept nogil:
    """Rows of a result set, from `ids` on; `row` moves past the last."""
    cdef Writer* w = &d.out
    cdef int64_t i, n, size
    while row[0] < rows:
        size = 0
        for i in range(d.width):
            n = 2  # UNDEFINED
            if ids[i] != NO_TERM:
                n = measure(d, ids[i], -1)
                if n < 0:
                    return <int>n
            size += len_field(n)
        if reserve(w, size + MAX_VARINT32) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        put_varint(w, size)
        for i in range(d.width):
            if ids[i] != NO_TERM:
                pb_put_term(d, w, FIELD_1, ids[i])
            else:
                put_head(w, FIELD_1, 2)
                put_byte(w, UNDEFINED)
                put_byte(w, 0)
        ids += d.width
        row[0] += 1
    return OK


cdef void use_protobuf(JenaWriter* d) noexcept nogil:
    d.lengths = True
    d.max_depth = PROTOBUF_DEPTH
    d.put_leaf = put_leaf
    d.put_row = write_row
    d.put_prefix = write_prefix
    d.put_header = write_header
    d.put_cells = write_cells
