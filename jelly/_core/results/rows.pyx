"""Rows of SPARQL results that are text: names, terms and cells of a Batch. Knows no syntax."""

from libc.stdlib cimport free
from libc.string cimport memset

from jelly._core.base.batch cimport (
    NO_TERM, add_quoted, drop_terms, free_interner, grow_rows, intern_term, kind_of_direction, split_tag,
)
from jelly._core.base.characters cimport INPUT_END, INVALID, describe
from jelly._core.base.constants cimport MAX_VARIABLES, is_xsd_string
from jelly._core.base.fault cimport (
    BAD_DIRECTION, BAD_RESULTS, EXPECTED, FULL, NEED_MORE, NOT_UTF8, NO_MEMORY, OK, VARIABLES_LIMIT, fail,
)
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED
from jelly._core.base.protobuf cimport MAX_VARINT, put_bytes, put_varint, reserve


cdef void free_rows(TextRows* t) noexcept nogil:
    free_interner(&t.index)
    free(t.scratch.buf)
    free(t.names.buf)
    free(t.links.buf)
    free(t.xml.path.buf)
    free(t.columns)
    free(t.order)


cdef int read_items(TextRows* t) noexcept nogil:
    """Read on: OK never. What is not whole is read again when there is more."""
    cdef const uint8_t* begin
    cdef bint first
    cdef int state
    cdef int status = OK
    while status == OK:
        begin = t.at
        first = t.first
        state = t.state
        t.scratch.n = 0
        status = t.take_item(t)
    if status == NEED_MORE:
        t.at = begin
        t.first = first
        t.state = state
    return status


cdef int cut(TextRows* t, int what) noexcept nogil:
    """The end of what is there: NEED_MORE, or at the end of the input a fault."""
    return fail(&t.fault, EXPECTED, t.end, INPUT_END, what) if t.final else NEED_MORE


cdef int expected(TextRows* t, int what) noexcept nogil:
    """Something else stands here."""
    cdef int64_t found = describe(t.at, t.end)
    if found == INPUT_END:  # or a character of which bytes are to come
        return cut(t, what)
    if found <= INVALID:
        return fail(&t.fault, NOT_UTF8, t.at, t.at[0])
    return fail(&t.fault, EXPECTED, t.at, t.at[0] if found < 0 else found, what)


cdef int refuse(TextRows* t, const uint8_t* at, int why) noexcept nogil:
    return fail(&t.fault, BAD_RESULTS, at, 0, why)


# ---- the head

cdef int add_text(TextRows* t, Writer* list, Reader* text) noexcept nogil:
    cdef int64_t n = text.end - text.at
    if reserve(list, n + MAX_VARINT) < 0:
        return fail(&t.fault, NO_MEMORY, NULL)
    put_varint(list, n)
    put_bytes(list, text.at, n)
    return OK


cdef int add_name(TextRows* t, Reader* name) noexcept nogil:
    """One more variable."""
    if t.width >= MAX_VARIABLES:
        return fail(&t.fault, VARIABLES_LIMIT, t.at, MAX_VARIABLES)
    t.width += 1
    return add_text(t, &t.names, name)


cdef int64_t find_column(TextRows* t, Reader* name) noexcept nogil:
    """The column of a variable, or -1. They often come in the order of the head."""
    cdef int64_t low = 0
    cdef int64_t high = t.width
    cdef int64_t middle
    cdef int order
    if t.next < t.width and order_of(&t.columns[t.next], name) == 0:
        t.next += 1
        return t.next - 1
    while low < high:
        middle = (low + high) // 2
        order = order_of(&t.columns[t.order[middle]], name)
        if order == 0:
            t.next = t.order[middle] + 1
            return t.next - 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return -1


# ---- rows

cdef int begin_row(TextRows* t) noexcept nogil:
    """Make room for a row, in which nothing is bound yet."""
    cdef BatchData* b = t.batch
    if b.n_rows >= b.cap_rows and grow_rows(b) < 0:
        return fail(&t.fault, NO_MEMORY, t.at)
    memset(b.cells + b.n_rows * t.width, 0xFF, t.width * sizeof(int32_t))
    t.terms_before = b.n_terms
    t.quoted_before = b.n_quoted
    t.next = 0
    return OK


cdef void drop_row(TextRows* t) noexcept nogil:
    """Drop the terms of a row that is not whole."""
    drop_terms(t.batch, t.terms_before, t.quoted_before)


cdef int end_row(TextRows* t) noexcept nogil:
    """OK, or FULL."""
    cdef BatchData* b = t.batch
    b.n_rows += 1
    t.terms_before = b.n_terms
    t.quoted_before = b.n_quoted
    return FULL if b.n_rows >= t.max_rows or b.n_text > t.max_text else OK


# ---- terms

cdef inline int32_t intern(TextRows* t, int kind, int32_t aux, const Reader* text) noexcept nogil:
    cdef int32_t term = intern_term(&t.index, t.batch, kind, aux, text.at, text.end - text.at)
    return term if term >= 0 else fail(&t.fault, term, t.at, t.batch.text_limit)


cdef int32_t add_tag(TextRows* t, Value* v) noexcept nogil:
    """A language tag, with its base direction: the one that is given, or as in N-Triples at its end."""
    cdef Reader tag = v.parts[TAG]
    cdef Reader* direction = &v.parts[DIRECTION]
    cdef int64_t n = tag.end - tag.at
    cdef int kind
    if direction.at == direction.end:
        kind = split_tag(tag.at, &n)
        tag.end = tag.at + n
    else:
        kind = kind_of_direction(direction.at, direction.end - direction.at)
        if kind == KIND_TEXT:
            return fail(&t.fault, BAD_DIRECTION, t.at)
    return intern(t, kind, NO_TERM, &tag)


cdef int32_t add_value(TextRows* t, Value* v) noexcept nogil:
    """The id of a term, or a code. What has a language tag has no other datatype; an empty tag is none."""
    cdef Reader* datatype = &v.parts[DATATYPE]
    cdef int32_t aux = NO_TERM
    cdef int kind = KIND_IRI if v.what == URI else KIND_BNODE if v.what == BNODE else KIND_LITERAL
    if v.what == TRIPLE:
        aux = add_quoted(t.batch, v.triple[0], v.triple[1], v.triple[2])
        return aux if aux >= 0 else fail(&t.fault, aux, t.at, t.batch.text_limit)
    if kind == KIND_LITERAL:
        if v.parts[TAG].at != v.parts[TAG].end:
            kind = KIND_LANG
            aux = add_tag(t, v)
        elif datatype.at != NULL and not is_xsd_string(datatype.at, datatype.end - datatype.at):
            kind = KIND_TYPED
            aux = intern(t, KIND_IRI, NO_TERM, datatype)
        if kind != KIND_LITERAL and aux < 0:
            return aux
    return intern(t, kind, aux, &v.parts[VALUE])
