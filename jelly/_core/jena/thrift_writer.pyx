"""Batches to RDF Thrift, byte for byte as Jena writes it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from jelly._core.base.batch cimport NO_TERM, BatchData
from jelly._core.base.fault cimport BAD_TERM, NO_MEMORY, OK, fail
from jelly._core.base.kinds cimport (
    KIND_ANY, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_TEXT, KIND_TEXT_LTR, KIND_TYPED, KIND_VARIABLE,
)
from jelly._core.rules.patch_operations cimport (
    OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
)
from jelly._core.base.protobuf cimport MAX_VARINT32, Writer, put_byte, put_bytes, put_varint, reserve
from jelly._core.jena.numeric cimport VALUE_DECIMAL, VALUE_DOUBLE, Value
from jelly._core.jena.row_writer cimport Encoded, TermParts, declare_name, find_terms, load_leaf, measure
from jelly._core.jena.thrift_reader cimport THRIFT_DEPTH

cdef enum:
    # What is around the strings of a term, at most: headers, lengths, ends.
    AROUND = 64
    # What is around the terms of a triple: three field headers and the end.
    AROUND_TRIPLE = 4
    # And around them and the graph of a row.
    AROUND_ROW = 7

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
    STRUCT_6 = 0x6C
    STRUCT_7 = 0x7C
    STRUCT_9 = 0x9C
    STRUCT_12 = 0xCC
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


cdef inline void put_zigzag(Writer* w, int64_t value) noexcept nogil:
    put_varint(w, (<uint64_t>value << 1) ^ <uint64_t>(value >> 63))


cdef void put_value(Writer* w, Value* value) noexcept nogil:
    cdef uint64_t bits
    cdef int i
    if value.kind == VALUE_DECIMAL:
        put_byte(w, STRUCT_12)
        put_byte(w, I64_1)
        put_zigzag(w, value.whole)
        put_byte(w, I32_1)
        put_zigzag(w, value.scale)
        put_byte(w, STOP)
    elif value.kind == VALUE_DOUBLE:
        put_byte(w, DOUBLE_11)
        memcpy(&bits, &value.real, 8)
        for i in range(8):
            put_byte(w, <uint8_t>(bits >> (8 * i)))
    else:
        put_byte(w, I64_10)
        put_zigzag(w, value.whole)


cdef int put_leaf(JenaWriter* d, int32_t term) noexcept nogil:
    """Encode a term that holds no other."""
    cdef Encoded* memo = &d.memo[term]
    cdef Writer* w = &d.terms
    cdef TermParts leaf
    cdef Reader direction
    if load_leaf(d, term, &leaf) < 0:
        return d.fault.code
    if reserve(
        w, AROUND + (leaf.text.end - leaf.text.at) + (leaf.prefix.end - leaf.prefix.at) + (leaf.tag.end - leaf.tag.at)
        + (leaf.datatype.end - leaf.datatype.at) + (leaf.datatype_prefix.end - leaf.datatype_prefix.at)
    ) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    memo.at = w.n
    if leaf.kind == 0:
        put_value(w, &leaf.value)
    elif leaf.kind == KIND_ANY:
        put_byte(w, STRUCT_6)
        put_byte(w, STOP)
    elif leaf.kind == KIND_IRI or leaf.kind == KIND_BNODE or leaf.kind == KIND_VARIABLE:
        if leaf.prefix.at != NULL:
            put_byte(w, STRUCT_4)
            put_string(w, STRING_1, &leaf.prefix)
        else:
            put_byte(w, STRUCT_1 if leaf.kind == KIND_IRI else STRUCT_2 if leaf.kind == KIND_BNODE else STRUCT_5)
        put_string(w, STRING_1, &leaf.text)
        put_byte(w, STOP)
    else:
        put_byte(w, STRUCT_3)
        put_string(w, STRING_1, &leaf.text)
        if leaf.kind == KIND_LANG:
            put_string(w, STRING_1, &leaf.tag)
            if leaf.tag_kind != KIND_TEXT:
                direction.at = <const uint8_t*>(b"ltr" if leaf.tag_kind == KIND_TEXT_LTR else b"rtl")
                direction.end = direction.at + 3
                put_string(w, STRING_3, &direction)
        elif leaf.kind == KIND_TYPED and leaf.datatype_prefix.at != NULL:
            put_byte(w, STRUCT_3)
            put_string(w, STRING_1, &leaf.datatype_prefix)
            put_string(w, STRING_1, &leaf.datatype)
            put_byte(w, STOP)
        elif leaf.kind == KIND_TYPED:
            put_string(w, STRING_2, &leaf.datatype)
        put_byte(w, STOP)
    put_byte(w, STOP)
    memo.n = w.n - memo.at
    return OK


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

cdef int write_prefix(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil:
    cdef Writer* w = &d.out
    if declare_name(d, name, iri) < 0:
        return d.fault.code
    if reserve(w, AROUND + (name.end - name.at) + (iri.end - iri.at)) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, STRUCT_1)
    put_string(w, STRING_1, name)
    put_string(w, STRING_1, iri)
    put_byte(w, STOP)
    put_byte(w, STOP)
    return OK


cdef int write_terms(JenaWriter* d, int64_t row, uint8_t head) noexcept nogil:
    """The row of a statement; with a `head` of 0 that of a triple or quad."""
    cdef Writer* w = &d.out
    cdef int32_t ids[4]
    cdef int64_t size = AROUND_ROW
    cdef int64_t n
    cdef int k
    cdef int arity = find_terms(d, row, ids)
    if arity < 0:
        return arity
    for k in range(arity):
        n = measure(d, ids[k], k)
        if n < 0:
            return <int>n
        size += n
    if reserve(w, size) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
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
    n = measure(d, d.b.o[row], 2)
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
        n = measure(d, graph, 3)
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
    put_zigzag(w, op - OP_START)
    put_byte(w, STOP)
    return OK


# ---- result sets

cdef int put_list(JenaWriter* d, int64_t n) noexcept nogil:
    """The header of a list of structs, in field 1."""
    cdef Writer* w = &d.out
    if reserve(w, 2 + MAX_VARINT32) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(w, LIST_1)
    if n < 15:
        put_byte(w, <uint8_t>(n << 4 | 0x0C))
    else:
        put_byte(w, 0xFC)
        put_varint(w, n)
    return OK


cdef int write_header(JenaWriter* d, Reader* names) noexcept nogil:
    """The variables of a result set."""
    cdef int64_t i
    if put_list(d, d.width) < 0:
        return d.fault.code
    for i in range(d.width):
        if reserve(&d.out, AROUND + (names[i].end - names[i].at)) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        put_string(&d.out, STRING_1, &names[i])
        put_byte(&d.out, STOP)
    if reserve(&d.out, 1) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_byte(&d.out, STOP)
    return OK


cdef int write_cells(JenaWriter* d, const int32_t* ids, int64_t* row, int64_t rows) noexcept nogil:
    """Rows of a result set, from `ids` on; `row` moves past the last."""
    cdef Writer* w = &d.out
    cdef int64_t i, n
    while row[0] < rows:
        if d.width and put_list(d, d.width) < 0:
            return d.fault.code
        for i in range(d.width):
            n = 3
            if ids[i] != NO_TERM:
                n = measure(d, ids[i], -1)
                if n < 0:
                    return <int>n
            if reserve(w, n) < 0:
                return fail(&d.fault, NO_MEMORY, NULL)
            if ids[i] != NO_TERM:
                thrift_put_term(d, w, ids[i])
                continue
            put_byte(w, STRUCT_7)
            put_byte(w, STOP)
            put_byte(w, STOP)
        if reserve(w, 1) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        put_byte(w, STOP)
        ids += d.width
        row[0] += 1
    return OK


cdef void use_thrift(JenaWriter* d) noexcept nogil:
    d.around_triple = 2 + AROUND_TRIPLE
    d.max_depth = THRIFT_DEPTH
    d.put_leaf = put_leaf
    d.put_row = write_row
    d.put_prefix = write_prefix
    d.put_header = write_header
    d.put_cells = write_cells
