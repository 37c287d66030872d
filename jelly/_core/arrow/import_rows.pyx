"""Rows of Arrow string columns, plain or dictionary, into the BatchData of a Batch. Every value is checked."""

from libc.string cimport memcmp

from jelly._core.arrow.values cimport PLAIN
from jelly._core.base.batch cimport (
    NO_TERM, BatchData, add_frame, add_row, add_term, intern_term, kind_of_direction, len_of, same_bytes, split_tag, text_of,
)
from jelly._core.base.characters cimport is_word
from jelly._core.base.constants cimport is_tag_datatype, is_xsd_string
from jelly._core.base.fault cimport (
    BAD_DIRECTION, BOTH_KINDS, COLUMN_INDEX, COLUMN_NULL, COLUMN_OFFSETS, COLUMN_UTF8, EMPTY_VALUE, FULL,
    NAMED_GRAPH_IN_TRIPLES, NOT_BNODE, NOT_LITERAL, NO_MEMORY, OBJECT_KIND, OK, PATCH_FALLS, PATCH_OPERATION, fail,
)
from jelly._core.base.kinds cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TEXT_LTR, KIND_TEXT_RTL, KIND_TRIPLE, KIND_TYPED,
)
from jelly._core.rules.patch_operations cimport OP_ADD, OP_COMMIT, OP_DELETE, OP_PUNCTUATION, OP_START
from jelly._core.base.utf8 cimport check_utf8
from jelly._core.ntriples.term_reader cimport DATATYPE, GRAPH, OBJECT, PREDICATE, SUBJECT, nt_read_term


cdef int wrong(ArrowImport* t, int which, int code, int64_t a=0, int64_t b=0) noexcept nogil:
    """Fail because of the row's text in a column."""
    t.at_fault = which
    return fail(&t.lines.fault, code, NULL, a, b)


cdef inline bint is_valid(const uint8_t* bits, int64_t i) noexcept nogil:
    return bits == NULL or (bits[i >> 3] >> (i & 7)) & 1


cdef inline int find_item(ArrowImport* t, int which) noexcept nogil:
    """Find the item of the row, which in a dictionary is an `entry`: 1, 0 where it is null, or a code."""
    cdef Strings* c = &t.columns[which]
    cdef int64_t i = c.first + t.row
    if not c.given or not is_valid(c.valid, i):
        return 0
    if c.index != NULL:
        c.entry = c.index[i]
        if c.entry < 0 or c.entry >= c.n_values:
            c.n = 0
            return wrong(t, which, COLUMN_INDEX, c.entry, c.n_values)
    return 1


cdef inline int get_text(ArrowImport* t, int which) noexcept nogil:
    """Find the text of an item that was found: 1, 0 where it is null, or a code."""
    cdef Strings* c = &t.columns[which]
    cdef int64_t i = c.first + t.row
    cdef int64_t begin, end
    if c.index != NULL:
        i = c.first_value + c.entry
        if not is_valid(c.value_valid, i):
            return 0
    if c.wide_offsets != NULL:
        begin = c.wide_offsets[i]
        end = c.wide_offsets[i + 1]
    else:
        begin = c.offsets[i]
        end = c.offsets[i + 1]
    if begin < 0 or end < begin or end > c.n_data:
        c.n = 0
        return wrong(t, which, COLUMN_OFFSETS)
    c.at = c.data + begin
    c.n = end - begin
    return 1


cdef inline int get_value(ArrowImport* t, int which) noexcept nogil:
    """Find the text of the row: 1, 0 where it is null, or a code."""
    cdef int status = find_item(t, which)
    return status if status <= 0 else get_text(t, which)


cdef inline int find_known(ArrowImport* t, int which, int32_t* term) noexcept nogil:
    """get_value, and the term that this value became before in this Batch, -2 where there is none. The text of an entry of
    a dictionary is found only where there is none: it is looked at once, not once a row."""
    cdef Strings* c = &t.columns[which]
    cdef int status = find_item(t, which)
    term[0] = -2
    if status <= 0:
        return status
    if c.known != NULL and c.known[c.entry].serial == t.serial:
        term[0] = c.known[c.entry].term
        return status
    status = get_text(t, which)
    if status > 0 and c.last_serial == t.serial and c.last_n == c.n and same_bytes(c.last_at, c.at, c.n):
        term[0] = c.last_term
    return status


cdef inline void keep_known(ArrowImport* t, Strings* c, int32_t term) noexcept nogil:
    if c.known != NULL:
        c.known[c.entry].serial = t.serial
        c.known[c.entry].term = term
    else:
        c.last_at = c.at
        c.last_n = c.n
        c.last_term = term
        c.last_serial = t.serial


cdef inline int32_t new_term(ArrowImport* t, Strings* c, int kind, int32_t aux, const uint8_t* at, int64_t n) noexcept nogil:
    """A term with a text of a column, which is checked where it is not in the Batch already; or a code.

    The values of a dictionary are known by their index, so a search for their text would hardly ever find anything.
    """
    cdef int32_t before = t.lines.batch.n_terms
    cdef int32_t term
    cdef int64_t bad
    if c.known != NULL:
        term = add_term(t.lines.batch, kind, aux, at, n)
    else:
        term = intern_term(&t.lines.index, t.lines.batch, kind, aux, at, n)
    if term < 0:
        return fail(&t.lines.fault, term, NULL, t.lines.batch.text_limit)
    if term >= before:
        bad = check_utf8(at, n)
        if bad >= 0:
            return fail(&t.lines.fault, COLUMN_UTF8, NULL, bad)
    return term


cdef inline int need_value(ArrowImport* t, int which, int32_t* term) noexcept nogil:
    """find_known where a null is a fault, except in the column of graphs."""
    cdef int status = find_known(t, which, term)
    if status == 0 and which != GRAPH:
        t.columns[which].n = 0
        return wrong(t, which, COLUMN_NULL)
    return status


cdef int take_parsed(ArrowImport* t, int which, int32_t* term) noexcept nogil:
    """A term in N-Triples syntax."""
    cdef Strings* c = &t.columns[which]
    t.at_fault = which
    return nt_read_term(&t.lines, c.at, c.n, which, term)


cdef inline int take_term(ArrowImport* t, int which, int32_t* term) noexcept nogil:
    """Subject, predicate, graph; in N-Triples syntax the object too."""
    cdef Strings* c = &t.columns[which]
    cdef int32_t known
    cdef int status = need_value(t, which, &known)
    if status <= 0:
        term[0] = NO_TERM
        return status
    if known >= 0:
        term[0] = known
        return OK
    t.at_fault = which
    if t.syntax != PLAIN or (c.n > 1 and c.at[0] == 0x3C and c.at[1] == 0x3C):
        status = take_parsed(t, which, term)
    elif c.n > 1 and c.at[0] == 0x5F and c.at[1] == 0x3A:
        status = term[0] = new_term(t, c, KIND_BNODE, NO_TERM, c.at + 2, c.n - 2)
    else:
        status = term[0] = new_term(t, c, KIND_IRI, NO_TERM, c.at, c.n)
    if status < 0:
        return status
    keep_known(t, c, term[0])
    return OK


cdef int take_aux(ArrowImport* t, int which, int32_t* term) noexcept nogil:
    """The datatype or the language; NO_TERM where there is none, which xsd:string is too."""
    cdef Strings* c = &t.columns[which]
    cdef int32_t known
    cdef int64_t n
    cdef int kind
    cdef int status = find_known(t, which, &known)
    term[0] = NO_TERM
    if status <= 0:
        return status
    if known == -2:
        t.at_fault = which
        if which == LANG:
            if c.n == 0:
                return wrong(t, LANG, EMPTY_VALUE)
            n = c.n
            kind = split_tag(c.at, &n)
            known = new_term(t, c, kind, NO_TERM, c.at, n)
        elif is_xsd_string(c.at, c.n):
            known = NO_TERM
        else:
            known = new_term(t, c, KIND_IRI, NO_TERM, c.at, c.n)
        if known < NO_TERM:
            return known
        keep_known(t, c, known)
    term[0] = known
    return OK


cdef int take_direction(ArrowImport* t, int32_t* tag) noexcept nogil:
    """Give the language tag of the row, NO_TERM where there is none, the base direction that stands beside it."""
    cdef Strings* c = &t.columns[DIRECTION]
    cdef int status = get_value(t, DIRECTION)
    cdef int kind
    cdef int64_t n
    if status <= 0:
        return status
    kind = kind_of_direction(c.at, c.n)
    if kind == KIND_TEXT or tag[0] == NO_TERM or t.lines.batch.kind[tag[0]] == KIND_TEXT_LTR + KIND_TEXT_RTL - kind:
        return wrong(t, DIRECTION, BAD_DIRECTION)
    # The text of the tag comes from its column: that of the Batch may move.
    c = &t.columns[LANG]
    status = get_value(t, LANG)
    if status < 0:
        return status
    n = c.n
    split_tag(c.at, &n)
    tag[0] = intern_term(&t.lines.index, t.lines.batch, kind, NO_TERM, c.at, n)
    return OK if tag[0] >= 0 else fail(&t.lines.fault, tag[0], NULL, t.lines.batch.text_limit)


cdef int take_kind(ArrowImport* t) noexcept nogil:
    """The kind of the object as the column says: KIND_IRI, KIND_BNODE, KIND_LITERAL, KIND_TRIPLE."""
    cdef Strings* c = &t.columns[KIND]
    cdef int32_t kind
    cdef int status = need_value(t, KIND, &kind)
    if status < 0 or kind >= 0:
        return kind if status > 0 else status
    if c.n == 3 and memcmp(c.at, b"iri", 3) == 0:
        kind = KIND_IRI
    elif c.n == 7 and memcmp(c.at, b"literal", 7) == 0:
        kind = KIND_LITERAL
    elif c.n == 5 and memcmp(c.at, b"bnode", 5) == 0:
        kind = KIND_BNODE
    elif c.n == 6 and memcmp(c.at, b"triple", 6) == 0:
        kind = KIND_TRIPLE
    else:
        return wrong(t, KIND, OBJECT_KIND)
    if c.known != NULL:
        keep_known(t, c, kind)
    return kind


cdef int refuse(ArrowImport* t, int which, int code) noexcept nogil:
    """Fail because of the row's text in a column, which is not found yet if the term of its entry was known."""
    get_text(t, which)
    return wrong(t, which, code)


cdef int take_object(ArrowImport* t, int32_t* term) noexcept nogil:
    """The object of a layout with plain values: what kind it has, other columns tell."""
    cdef Strings* c = &t.columns[OBJECT]
    cdef int kind = take_kind(t)
    cdef BatchData* b = t.lines.batch
    cdef int32_t datatype, lang
    cdef int32_t known
    cdef int32_t aux = NO_TERM
    cdef int status
    if kind < 0:
        return kind
    if take_aux(t, DATATYPE, &datatype) < 0 or take_aux(t, LANG, &lang) < 0:
        return t.lines.fault.code
    if t.columns[DIRECTION].given and take_direction(t, &lang) < 0:
        return t.lines.fault.code
    status = need_value(t, OBJECT, &known)
    if status < 0:
        return status
    if datatype >= 0 or lang >= 0:
        if kind != KIND_LITERAL:
            return refuse(t, DATATYPE if datatype >= 0 else LANG, NOT_LITERAL)
        # Many tools name the datatype of literals that have a language.
        if datatype >= 0 and lang >= 0 and not is_tag_datatype(
            text_of(b, datatype), len_of(b, datatype)
        ):
            return refuse(t, DATATYPE, BOTH_KINDS)
        kind = KIND_LANG if lang >= 0 else KIND_TYPED
        aux = lang if lang >= 0 else datatype
    if known >= 0:
        if b.kind[known] == kind and (kind == KIND_TRIPLE or b.aux[known] == aux):
            term[0] = known
            return OK
        get_text(t, OBJECT)
    t.at_fault = OBJECT
    if kind == KIND_TRIPLE:
        status = take_parsed(t, OBJECT, term)
        if status == OK and b.kind[term[0]] != KIND_TRIPLE:
            return refuse(t, KIND, OBJECT_KIND)
    elif kind == KIND_BNODE:
        if c.n < 2 or c.at[0] != 0x5F or c.at[1] != 0x3A:
            return wrong(t, OBJECT, NOT_BNODE)
        status = term[0] = new_term(t, c, KIND_BNODE, NO_TERM, c.at + 2, c.n - 2)
    else:
        status = term[0] = new_term(t, c, kind, aux, c.at, c.n)
    if status < 0:
        return status
    keep_known(t, c, term[0])
    return OK


cdef inline int take_op(ArrowImport* t) noexcept nogil:
    """OP_ADD or OP_DELETE, as the column says."""
    cdef Strings* c = &t.columns[OP]
    cdef int32_t op
    cdef int status = need_value(t, OP, &op)
    if status < 0 or op >= 0:
        return op if status > 0 else status
    if is_word(c.at, c.n, b"add", 3) or is_word(c.at, c.n, b"insert", 6) or is_word(c.at, c.n, b"a", 1):
        op = OP_ADD
    elif is_word(c.at, c.n, b"delete", 6) or is_word(c.at, c.n, b"d", 1):
        op = OP_DELETE
    else:
        return wrong(t, OP, PATCH_OPERATION)
    if c.known != NULL:
        keep_known(t, c, op)
    return op


cdef inline int add_mark(BatchData* b, int op) noexcept nogil:
    cdef int32_t[4] none = [NO_TERM, NO_TERM, NO_TERM, NO_TERM]
    return add_row(b, none, op)


cdef int take_number(ArrowImport* t) noexcept nogil:
    """The number of the frame, where a change ends one, or of the patch: that must be there and may not fall."""
    cdef BatchData* b = t.lines.batch
    cdef int64_t number = t.frames[t.first_frame + t.row]
    if not is_valid(t.frames_valid, t.first_frame + t.row):
        if not t.patch:
            return OK
        return wrong(t, PATCH, COLUMN_NULL)
    if t.has_frame and number != t.last_frame:
        if not t.patch:
            if add_frame(b) < 0:
                return fail(&t.lines.fault, NO_MEMORY, NULL)
        elif number < t.last_frame:
            return wrong(t, PATCH, PATCH_FALLS, number, t.last_frame)
        elif (
            (t.transactions and add_mark(b, OP_COMMIT) < 0) or add_mark(b, OP_PUNCTUATION) < 0
            or (t.transactions and add_mark(b, OP_START) < 0)
        ):
            return fail(&t.lines.fault, NO_MEMORY, NULL)
    t.last_frame = number
    t.has_frame = True
    return OK


cdef int take_rows(ArrowImport* t) noexcept nogil:
    """Take rows until there are no more (OK), the Batch is FULL, or a fault."""
    cdef int32_t[4] ids
    cdef int op = 0
    cdef int status
    while t.row < t.n_rows:
        if t.lines.batch.n_rows >= t.max_rows or t.lines.batch.n_text > t.max_text:
            return FULL
        if take_term(t, SUBJECT, &ids[0]) < 0 or take_term(t, PREDICATE, &ids[1]) < 0:
            return t.lines.fault.code
        status = take_object(t, &ids[2]) if t.syntax == PLAIN else take_term(t, OBJECT, &ids[2])
        if status < 0 or take_term(t, GRAPH, &ids[3]) < 0:
            return t.lines.fault.code
        if ids[3] != NO_TERM and not t.quads:
            return wrong(t, GRAPH, NAMED_GRAPH_IN_TRIPLES)
        if t.patch:
            op = take_op(t)
            if op < 0:
                return op
        if t.frames != NULL and take_number(t) < 0:
            return t.lines.fault.code
        if add_row(t.lines.batch, ids, op) < 0:
            return fail(&t.lines.fault, NO_MEMORY, NULL)
        t.row += 1
    return OK
