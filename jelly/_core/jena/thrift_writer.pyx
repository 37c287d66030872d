"""Batches to RDF Thrift, byte for byte as Jena writes it."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport NO_TERM, BatchData
from jelly._core.base.fault cimport BAD_TERM, NO_MEMORY, OK, fail
from jelly._core.base.kinds cimport KIND_IRI, KIND_TEXT
from jelly._core.rules.patch_operations cimport (
    OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
)
from jelly._core.base.protobuf cimport Writer, put_byte, put_bytes, put_varint, reserve
from jelly._core.jena.row_reader cimport TERM_ANY, TERM_DECIMAL, TERM_DOUBLE, TERM_INTEGER, TERM_LITERAL
from jelly._core.jena.row_writer cimport AROUND, Encoded, TermParts, measure, measure_row, put_double, zigzag
from jelly._core.jena.thrift cimport T_STRUCT
from jelly._core.jena.thrift_reader cimport THRIFT_DEPTH

cdef enum:
    # What is around the terms of a triple: three field headers and the end.
    AROUND_TRIPLE = 4

# Field headers: the difference to the number of the field before in the high half, the type in the low one.
cdef enum:
    STRING_1 = 0x18
    STRING_2 = 0x28
    STRING_3 = 0x38
    STRUCT_1 = 0x1C
    STRUCT_2 = 0x2C
    STRUCT_3 = 0x3C
    STRUCT_4 = 0x4C
    STRUCT_5 = 0x5C
    STRUCT_7 = 0x7C
    STRUCT_9 = 0x9C
    I64_1 = 0x16
    I32_1 = 0x15
    I32_6 = 0x65
    I64_10 = 0xA6
    DOUBLE_11 = 0xB7
    LIST_1 = 0x19
    STOP = 0


cdef inline void put_string(Writer* w, uint8_t head, Reader* text) noexcept nogil:
    put_byte(w, head)
    put_varint(w, text.end - text.at)
    put_bytes(w, text.at, text.end - text.at)


cdef void put_leaf(Writer* w, TermParts* leaf) noexcept nogil:
    """A term that holds no other: a union."""
    if leaf.field == TERM_INTEGER:
        put_byte(w, I64_10)
        put_varint(w, zigzag(leaf.value.whole))
    elif leaf.field == TERM_DOUBLE:
        put_byte(w, DOUBLE_11)
        put_double(w, leaf.value.real)
    else:
        put_byte(w, <uint8_t>(leaf.field << 4 | T_STRUCT))
        if leaf.field == TERM_DECIMAL:
            put_byte(w, I64_1)
            put_varint(w, zigzag(leaf.value.whole))
            put_byte(w, I32_1)
            put_varint(w, zigzag(leaf.value.scale))
        elif leaf.field != TERM_ANY:
            if leaf.prefix.at != NULL:
                put_string(w, STRING_1, &leaf.prefix)
            put_string(w, STRING_1, &leaf.text)
        if leaf.field != TERM_LITERAL:
            pass
        elif leaf.tag.at != NULL:
            put_string(w, STRING_1, &leaf.tag)
            if leaf.dashed != NULL:
                put_byte(w, STRING_3)
                put_byte(w, 3)
                put_bytes(w, leaf.dashed + 2, 3)
        elif leaf.datatype_prefix.at != NULL:
            put_byte(w, STRUCT_3)
            put_string(w, STRING_1, &leaf.datatype_prefix)
            put_string(w, STRING_1, &leaf.datatype)
            put_byte(w, STOP)
        elif leaf.datatype.at != NULL:
            put_string(w, STRING_2, &leaf.datatype)
        put_byte(w, STOP)
    put_byte(w, STOP)


cdef void thrift_put_term(JenaWriter* d, Writer* w, int32_t term) noexcept nogil:
    """A term that was measured."""
    cdef Encoded* memo = &d.memo[term]
    if memo.depth == 0:
        put_bytes(w, d.terms.buf + memo.at, memo.n)
        return
    put_byte(w, STRUCT_9)
    put_triple(d, w, &d.b.quoted[3 * d.b.aux[term]])
    put_byte(w, STOP)


cdef void put_triple(JenaWriter* d, Writer* w, int32_t* ids) noexcept nogil:
    """The fields of a triple, and its end."""
    cdef int k
    for k in range(3):
        put_byte(w, STRUCT_1)
        thrift_put_term(d, w, ids[k])
    put_byte(w, STOP)


# ---- rows

cdef void put_prefix(Writer* w, Reader* name, Reader* iri) noexcept nogil:
    put_byte(w, STRUCT_1)
    put_string(w, STRING_1, name)
    put_string(w, STRING_1, iri)
    put_byte(w, STOP)
    put_byte(w, STOP)


cdef int write_terms(JenaWriter* d, int64_t row, uint8_t head) noexcept nogil:
    """The row of a statement; with a `head` of 0 that of a triple or quad."""
    cdef Writer* w = &d.out
    cdef int32_t ids[4]
    cdef int64_t size
    cdef int k
    cdef int arity = measure_row(d, row, ids, False, &size)
    if arity < 0:
        return arity
    put_byte(w, head if head != 0 else STRUCT_2 if arity == 3 else STRUCT_3)
    for k in range(arity):
        put_byte(w, STRUCT_1)
        thrift_put_term(d, w, ids[k])
    put_byte(w, STOP)
    put_byte(w, STOP)
    return OK


cdef int load_text(JenaWriter* d, int32_t term, int kind, Reader* text) noexcept nogil:
    """The text of a name or IRI of a patch."""
    cdef BatchData* b = d.b
    if term < 0 or term >= b.n_terms or b.kind[term] != kind:
        return fail(&d.fault, BAD_TERM, NULL, term, -1)
    text.at = b.text + b.start[term]
    text.end = b.text + b.start[term + 1]
    return OK


cdef int write_header_row(JenaWriter* d, int64_t row) noexcept nogil:
    cdef Writer* w = &d.out
    cdef Reader name
    cdef int64_t n
    if load_text(d, d.b.s[row], KIND_TEXT, &name) < 0:
        return d.fault.code
    n = measure(d, d.b.o[row], 2, 0)
    if n < 0:
        return <int>n
    if reserve(w, AROUND + (name.end - name.at) + n) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, STRUCT_1)
    put_string(w, STRING_1, &name)
    put_byte(w, STRUCT_1)
    thrift_put_term(d, w, d.b.o[row])
    put_byte(w, STOP)
    put_byte(w, STOP)
    return OK


cdef int write_prefix_row(JenaWriter* d, int64_t row, bint add) noexcept nogil:
    cdef BatchData* b = d.b
    cdef Writer* w = &d.out
    cdef Reader name, iri
    cdef int32_t graph = NO_TERM if b.g == NULL else b.g[row]
    cdef int64_t n = 0
    iri.at = iri.end = NULL
    if load_text(d, b.s[row], KIND_TEXT, &name) < 0 or (add and load_text(d, b.p[row], KIND_IRI, &iri) < 0):
        return d.fault.code
    if graph != NO_TERM:
        n = measure(d, graph, 3, 0)
        if n < 0:
            return <int>n
    if reserve(w, AROUND + (name.end - name.at) + (iri.end - iri.at) + n) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, STRUCT_4 if add else STRUCT_5)
    if graph != NO_TERM:
        put_byte(w, STRUCT_1)
        thrift_put_term(d, w, graph)
    put_string(w, STRING_2 if graph == NO_TERM else STRING_1, &name)
    if add:
        put_string(w, STRING_1, &iri)
    put_byte(w, STOP)
    put_byte(w, STOP)
    return OK


cdef int write_row(JenaWriter* d, int64_t row) noexcept nogil:
    """A row of RDF Thrift, or an RDF_Patch_Row; the end of a patch is none."""
    cdef Writer* w = &d.out
    cdef int op
    if d.b.op == NULL:
        return write_terms(d, row, 0)
    op = d.b.op[row]
    if op == OP_ADD or op == OP_DELETE:
        return write_terms(d, row, STRUCT_2 if op == OP_ADD else STRUCT_3)
    if op == OP_HEADER:
        return write_header_row(d, row)
    if op == OP_NAMESPACE_ADD or op == OP_NAMESPACE_DELETE:
        return write_prefix_row(d, row, op == OP_NAMESPACE_ADD)
    if op == OP_PUNCTUATION:
        return OK
    if reserve(w, 3) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, I32_6)
    put_varint(w, zigzag(op - OP_START))
    put_byte(w, STOP)
    return OK


# ---- result sets

cdef void put_list(Writer* w, int64_t n) noexcept nogil:
    """The header of a list of structs, in field 1."""
    put_byte(w, LIST_1)
    if n < 15:
        put_byte(w, <uint8_t>(n << 4 | T_STRUCT))
    else:
        put_byte(w, 15 << 4 | T_STRUCT)
        put_varint(w, n)


cdef void put_header(JenaWriter* d, Reader* names, int64_t size) noexcept nogil:
    cdef int64_t i
    put_list(&d.out, d.width)
    for i in range(d.width):
        put_string(&d.out, STRING_1, &names[i])
        put_byte(&d.out, STOP)
    put_byte(&d.out, STOP)


cdef int write_cells(JenaWriter* d, int64_t* row, int64_t limit) noexcept nogil:
    """Rows of a result set; `row` moves past the last."""
    cdef const int32_t* ids = d.b.cells + row[0] * d.width
    cdef Writer* w = &d.out
    cdef int64_t i, n
    while row[0] < d.b.n_rows and w.n < limit:
        if reserve(w, AROUND) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        if d.width:
            put_list(w, d.width)
        for i in range(d.width):
            n = 2 if ids[i] == NO_TERM else measure(d, ids[i], -1, 0)
            if n < 0:
                return d.fault.code
            # One byte more for the head, or for the end of the row.
            if reserve(w, n + 2) < 0:
                return fail(&d.fault, NO_MEMORY, NULL)
            if ids[i] != NO_TERM:
                thrift_put_term(d, w, ids[i])
                continue
            put_byte(w, STRUCT_7)
            put_byte(w, STOP)
            put_byte(w, STOP)
        put_byte(w, STOP)
        ids += d.width
        row[0] += 1
    return OK


cdef void use_thrift(JenaWriter* d) noexcept nogil:
    d.around_triple = 2 + AROUND_TRIPLE
    d.max_depth = THRIFT_DEPTH
    d.put_leaf = put_leaf
    d.put_row = write_row
    d.put_prefix = put_prefix
    d.put_header = put_header
    d.put_cells = write_cells
