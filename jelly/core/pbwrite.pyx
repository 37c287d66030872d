from libc.stdint cimport int32_t, uint8_t

from jelly.core.batch cimport KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TRIPLE, NO_TERM, Arena
from jelly.core.binwrite cimport (
    MAX_ENCODED, Encoded, Leaf, check_term, declare_name, is_default_name, load_leaf, load_name, note_depth,
)
from jelly.core.fault cimport DEPTH, NO_MEMORY, OK, TEXT_LIMIT, fail
from jelly.core.pbread cimport PROTOBUF_DEPTH
from jelly.core.wire cimport MAX_VARINT32, Writer, len_field, put_byte, put_bytes, put_varint, reserve

cdef enum:
    # Tags of one byte: number of the field and type.
    FIELD_1 = 0x0A
    FIELD_2 = 0x12
    FIELD_3 = 0x1A
    FIELD_4 = 0x22
    FIELD_5 = 0x2A
    FIELD_6 = 0x32
    UNDEFINED = 0x42
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


cdef void put_literal(Writer* w, Leaf* leaf) noexcept nogil:
    cdef int64_t size = len_string(&leaf.text)
    cdef Reader whole  # the tag with its direction, as it stood in the Batch
    if leaf.kind == KIND_LITERAL:
        put_head(w, FIELD_3, size + 2)
        put_string(w, FIELD_1, &leaf.text)
        put_byte(w, SIMPLE)
        put_byte(w, 1)
    elif leaf.kind == KIND_LANG:
        whole.at = leaf.tag.at
        whole.end = leaf.tag.end if leaf.direction.at == NULL else leaf.direction.end
        put_head(w, FIELD_3, size + len_field(length(&whole)))
        put_string(w, FIELD_1, &leaf.text)
        put_text(w, FIELD_2 if leaf.direction.at == NULL else FIELD_5, &whole)
    elif leaf.datatype_prefix.at == NULL:
        put_head(w, FIELD_3, size + len_field(length(&leaf.datatype)))
        put_string(w, FIELD_1, &leaf.text)
        put_text(w, FIELD_3, &leaf.datatype)
    else:
        put_head(w, FIELD_3, size + len_field(len_string(&leaf.datatype_prefix) + len_string(&leaf.datatype)))
        put_string(w, FIELD_1, &leaf.text)
        put_pair(w, FIELD_4, &leaf.datatype_prefix, &leaf.datatype)


cdef int put_leaf(Drain* d, int32_t term) noexcept nogil:
    """Encode a term that holds no other."""
    cdef Encoded* memo = &d.memo[term]
    cdef Writer* w = &d.terms
    cdef Leaf leaf
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
    elif leaf.kind == KIND_IRI or leaf.kind == KIND_BNODE:
        put_head(w, FIELD_1 if leaf.kind == KIND_IRI else FIELD_2, len_string(&leaf.text))
        put_string(w, FIELD_1, &leaf.text)
    else:
        put_literal(w, &leaf)
    memo.n = w.n - memo.at
    return OK


cdef int64_t measure(Drain* d, int32_t term, int slot, int depth) noexcept nogil:
    """Bytes of a term, encoded if need be; or a code."""
    cdef Encoded* memo
    cdef int32_t* inner
    cdef int64_t n
    cdef int64_t size = 0
    cdef int k
    if check_term(d, term, slot) < 0:
        return d.fault.code
    memo = &d.memo[term]
    if memo.n > 0:
        return memo.n
    if d.b.kind[term] != KIND_TRIPLE:
        return d.fault.code if put_leaf(d, term) < 0 else memo.n
    if depth >= PROTOBUF_DEPTH:
        return fail(&d.fault, DEPTH, NULL, PROTOBUF_DEPTH)
    inner = &d.b.quoted[3 * d.b.aux[term]]
    for k in range(3):
        n = measure(d, inner[k], k, depth + 1)
        if n < 0:
            return n
        size += len_field(n)
    if size > MAX_ENCODED:
        return fail(&d.fault, TEXT_LIMIT, NULL, MAX_ENCODED)
    if note_depth(d, memo, inner, PROTOBUF_DEPTH) < 0:
        return d.fault.code
    memo.body = size
    memo.n = len_field(size)
    return memo.n


cdef void put_term(Drain* d, Writer* w, uint8_t tag, int32_t term) noexcept nogil:
    """A field with a term that was measured."""
    cdef Encoded* memo = &d.memo[term]
    cdef int32_t* inner
    put_head(w, tag, memo.n)
    if d.b.kind[term] != KIND_TRIPLE:
        put_bytes(w, d.terms.buf + memo.at, memo.n)
        return
    inner = &d.b.quoted[3 * d.b.aux[term]]
    put_head(w, FIELD_6, memo.body)
    put_term(d, w, FIELD_1, inner[0])
    put_term(d, w, FIELD_2, inner[1])
    put_term(d, w, FIELD_3, inner[2])


# ---- rows

cdef int write_protobuf_prefix(Drain* d, Reader* name, Reader* iri) noexcept nogil:
    cdef Writer* w = &d.out
    cdef int64_t n = len_string(name) + len_string(iri)
    if declare_name(d, name, iri) < 0:
        return d.fault.code
    if reserve(w, n + AROUND_ROW) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, len_field(n))
    put_pair(w, FIELD_1, name, iri)
    return OK


cdef int write_protobuf_base(Drain* d, Reader* iri) noexcept nogil:
    cdef Writer* w = &d.out
    if reserve(w, length(iri) + AROUND_ROW) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, len_field(len_string(iri)))
    put_head(w, FIELD_4, len_string(iri))
    put_string(w, FIELD_1, iri)
    return OK


cdef int write_row(Drain* d, int64_t row) noexcept nogil:
    cdef const char* name = b"urn:x-arq:DefaultGraphNode"
    cdef Arena* b = d.b
    cdef Writer* w = &d.out
    cdef Reader default
    cdef int32_t ids[4]
    cdef int64_t size = 0
    cdef int64_t n
    cdef int k
    cdef bint quad = False
    ids[0] = b.s[row]
    ids[1] = b.p[row]
    ids[2] = b.o[row]
    ids[3] = NO_TERM if b.g == NULL else b.g[row]
    if ids[3] != NO_TERM:
        if check_term(d, ids[3], 3) < 0:
            return d.fault.code
        quad = not is_default_name(b, ids[3])
    for k in range(4 if quad else 3):
        n = measure(d, ids[k], k, 0)
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
    put_term(d, w, FIELD_1, ids[0])
    put_term(d, w, FIELD_2, ids[1])
    put_term(d, w, FIELD_3, ids[2])
    if quad:
        put_term(d, w, FIELD_4, ids[3])
    elif default.at != NULL:
        put_head(w, FIELD_4, len_field(len_string(&default)))
        put_head(w, FIELD_1, len_string(&default))
        put_string(w, FIELD_1, &default)
    return OK


cdef int write_protobuf(Drain* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil:
    """Write rows and prefixes until there are `limit` bytes or no more; `row` and `name` move behind the last."""
    cdef Arena* b = d.b
    cdef Reader text, iri
    while d.out.n < limit:
        if name[0] < b.n_names and b.names[name[0]] <= row[0]:
            if load_name(d, name[0], &text, &iri) < 0 or write_protobuf_prefix(d, &text, &iri) < 0:
                return d.fault.code
            name[0] += 4
        elif row[0] < b.n_rows:
            if write_row(d, row[0]) < 0:
                return d.fault.code
            row[0] += 1
        else:
            break
    return OK


# ---- result sets

cdef int write_protobuf_header(Drain* d, Reader* names, int64_t width) noexcept nogil:
    """The variables of a result set."""
    cdef Writer* w = &d.out
    cdef int64_t size = 0
    cdef int64_t i
    for i in range(width):
        size += len_field(len_string(&names[i]))
    if reserve(w, size + 2 * MAX_VARINT32) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_varint(w, size)
    for i in range(width):
        put_head(w, FIELD_1, len_string(&names[i]))
        put_string(w, FIELD_1, &names[i])
    return OK


cdef int write_protobuf_cells(Drain* d, int64_t* row, int64_t rows, int64_t limit) noexcept nogil:
    """Write rows of a result set until there are `limit` bytes or no more."""
    cdef Writer* w = &d.out
    cdef const int32_t* ids
    cdef int64_t i, n, size
    while row[0] < rows and w.n < limit:
        ids = d.cells + row[0] * d.width
        size = 0
        for i in range(d.width):
            n = 2  # UNDEFINED
            if ids[i] != NO_TERM:
                n = measure(d, ids[i], -1, 0)
                if n < 0:
                    return <int>n
            size += len_field(n)
        if reserve(w, size + MAX_VARINT32) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        put_varint(w, size)
        for i in range(d.width):
            if ids[i] != NO_TERM:
                put_term(d, w, FIELD_1, ids[i])
            else:
                put_head(w, FIELD_1, 2)
                put_byte(w, UNDEFINED)
                put_byte(w, 0)
        row[0] += 1
    return OK
