"""Batches to RDF Protobuf, byte for byte as Jena writes it: each row with its length before it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from jelly._core.base.batch cimport N_DIRECTION, NO_TERM
from jelly._core.base.fault cimport NO_MEMORY, OK, fail
from jelly._core.base.protobuf cimport (
    WIRE_LEN, Writer, len_field, len_number, put_byte, put_bytes, put_number, put_varint, reserve,
)
from jelly._core.jena.protobuf_reader cimport PROTOBUF_DEPTH
from jelly._core.jena.row_reader cimport (
    TERM_ANY, TERM_DECIMAL, TERM_DOUBLE, TERM_INTEGER, TERM_LITERAL, TERM_NAME,
)
from jelly._core.jena.row_writer cimport AROUND, Encoded, TermParts, length, measure_row, measure_terms, put_double, zigzag

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
    cdef int64_t n_tag = length(&leaf.tag)
    if leaf.tag.at != NULL:
        if leaf.dashed != NULL:
            n_tag += N_DIRECTION
        put_head(w, FIELD_3, size + len_field(n_tag))
        put_string(w, FIELD_1, &leaf.text)
        put_head(w, FIELD_2 if leaf.dashed == NULL else FIELD_5, n_tag)
        put_bytes(w, leaf.tag.at, length(&leaf.tag))
        put_bytes(w, leaf.dashed, n_tag - length(&leaf.tag))
    elif leaf.datatype.at == NULL:
        put_head(w, FIELD_3, size + 2)
        put_string(w, FIELD_1, &leaf.text)
        put_byte(w, SIMPLE)
        put_byte(w, 1)
    elif leaf.datatype_prefix.at == NULL:
        put_head(w, FIELD_3, size + len_field(length(&leaf.datatype)))
        put_string(w, FIELD_1, &leaf.text)
        put_text(w, FIELD_3, &leaf.datatype)
    else:
        put_head(w, FIELD_3, size + len_field(len_string(&leaf.datatype_prefix) + len_string(&leaf.datatype)))
        put_string(w, FIELD_1, &leaf.text)
        put_pair(w, FIELD_4, &leaf.datatype_prefix, &leaf.datatype)


cdef inline void put_tag(Writer* w, int tag) noexcept nogil:
    put_byte(w, <uint8_t>(tag & 0xFF))
    put_byte(w, <uint8_t>(tag >> 8))


cdef void put_leaf(Writer* w, TermParts* leaf) noexcept nogil:
    """A term that holds no other."""
    cdef uint64_t whole, scale
    if leaf.field == TERM_LITERAL:
        put_literal(w, leaf)
    elif leaf.field == TERM_NAME:
        put_pair(w, FIELD_4, &leaf.prefix, &leaf.text)
    elif leaf.field == TERM_INTEGER:
        put_tag(w, INTEGER)
        put_varint(w, zigzag(leaf.value.whole))
    elif leaf.field == TERM_DOUBLE:
        put_tag(w, DOUBLE)
        put_double(w, leaf.value.real)
    elif leaf.field == TERM_DECIMAL:
        whole = zigzag(leaf.value.whole)
        scale = zigzag(leaf.value.scale)
        put_tag(w, DECIMAL)
        put_varint(w, len_number(whole) + len_number(scale))
        put_number(w, VALUE, whole)
        put_number(w, SCALE, scale)
    else:
        put_head(w, ANY if leaf.field == TERM_ANY else <uint8_t>(leaf.field << 3 | WIRE_LEN), len_string(&leaf.text))
        put_string(w, FIELD_1, &leaf.text)


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

cdef void put_prefix(Writer* w, Reader* name, Reader* iri) noexcept nogil:
    put_varint(w, len_field(len_string(name) + len_string(iri)))
    put_pair(w, FIELD_1, name, iri)


cdef int write_protobuf_base(JenaWriter* d, Reader* iri) noexcept nogil:
    cdef Writer* w = &d.out
    if reserve(w, length(iri) + AROUND) < 0:
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
    cdef int64_t size
    cdef int arity = measure_row(d, row, ids, True, &size)
    cdef bint quad = arity == 4
    if arity < 0:
        return arity
    default.at = default.end = NULL
    if d.default_quads and not quad:
        default.at = <const uint8_t*>name
        default.end = default.at + 26
        size += len_field(len_field(len_string(&default)))
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

cdef void put_header(JenaWriter* d, Reader* names, int64_t size) noexcept nogil:
    cdef Writer* w = &d.out
    cdef int64_t i
    put_varint(w, size)
    for i in range(d.width):
        put_head(w, FIELD_1, len_string(&names[i]))
        put_string(w, FIELD_1, &names[i])


cdef int write_cells(JenaWriter* d, int64_t* row, int64_t limit) noexcept nogil:
    """Rows of a result set; `row` moves past the last."""
    cdef const int32_t* ids = d.b.cells + row[0] * d.width
    cdef Writer* w = &d.out
    cdef int64_t i, size
    while row[0] < d.b.n_rows and w.n < limit:
        if measure_terms(d, ids, d.width, True, True, &size) < 0:
            return d.fault.code
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
    d.put_prefix = put_prefix
    d.put_header = put_header
    d.put_cells = write_cells
