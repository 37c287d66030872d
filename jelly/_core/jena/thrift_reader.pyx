"""RDF Thrift to Batches: rows of graphs, datasets and query results."""

from cython cimport likely
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from jelly._core.base.batch cimport NO_TERM, UNSET, BatchData, add_row, add_term, clear_interner, drop_terms, same_bytes
from jelly._core.base.fault cimport (
    BAD_SEGMENT, EMPTY_UNION, FIELD_MISSING, NEED_MORE, NO_MEMORY, OK, PATCH_GRAPH_TRIPLE, ROW_CUT, ROW_LIMIT,
    THRIFT_MALFORMED, TWO_FIELDS, UNKNOWN_ROW, UNKNOWN_TERM, fail,
)
from jelly._core.base.kinds cimport COMPOUND, KIND_TEXT, among
from jelly._core.rules.patch_operations cimport (
    OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_START, step_transaction,
)
from jelly._core.base.protobuf cimport Reader
from jelly._core.jena.row_reader cimport (
    FIELD_IRI, FIELD_NAME, FIELD_TERM, FIELD_URI, HEADER_PARTS, PREFIX_NAME_PARTS, PREFIX_PARTS, REPEATED, ROW_PREFIX,
    ROW_QUAD, ROW_TRIPLE, TERM_DECIMAL, TERM_DOUBLE, TERM_INTEGER, TERM_IRI, Seen, add_iri, add_label, begin_cells, check_terms,
    declare, end_cells, end_row, end_rows, forget_seen, is_default, need_text, put_statement, read_body, read_cell, take_pair,
)
from jelly._core.jena.thrift cimport (
    T_DOUBLE, T_I32, T_I64, T_LIST, T_STOP, T_STRING, T_STRUCT, skip_value, take_field, take_list, take_string,
    take_zigzag,
)

cdef enum:
    # A row that begins so near the end of the input is looked through before it is read.
    TAIL = 1 << 12


cdef inline int take_stop(JenaReader* t, Reader* r) noexcept nogil:
    """The end of a union."""
    if r.at >= r.end:
        return fail(&t.fault, ROW_CUT, r.at, 1)
    if r.at[0] != T_STOP:
        return fail(&t.fault, TWO_FIELDS, r.at)
    r.at += 1
    return OK


cdef inline int open_union(JenaReader* t, Reader* r, int64_t* id) noexcept nogil:
    """The type and number of the one field of a union, or a code."""
    cdef const uint8_t* at = r.at
    cdef int kind = take_field(r, id, &t.fault)
    return kind if kind != T_STOP else fail(&t.fault, EMPTY_UNION, at)


cdef int take_fields(JenaReader* t, Reader* r, Reader* fields, int64_t parts) noexcept nogil:
    """What a struct has of some fields, up to its end: each where it is. The last of a field counts."""
    cdef const uint8_t* at
    cdef int64_t id = 0
    cdef int kind
    cdef bint wanted
    while True:
        kind = take_field(r, &id, &t.fault)
        if kind <= 0:
            return kind
        at = r.at
        wanted = 0 < id < 16 and parts >> (4 * id) & 15 == kind
        if kind == T_STRING and wanted:
            kind = take_string(r, &fields[id - 1], &t.fault)
        else:
            kind = skip_value(r, kind, 0, &t.fault)
            if wanted:
                fields[id - 1].at = at
                fields[id - 1].end = r.at
        if kind < 0:
            return kind


# ---- terms

cdef int32_t thrift_read_term(JenaReader* t, Reader* r, int depth) noexcept nogil:
    """An RDF_Term: a union, so exactly one field. NO_TERM where it is UNDEFINED, else a code below that."""
    cdef const uint8_t* at = r.at
    cdef Reader text, number
    cdef int64_t id = 0
    cdef int32_t term
    cdef int kind
    # An IRI or blank node of less than 128 bytes and nothing else, as most terms are.
    if likely(r.end - at > 4 and (at[0] == 0x1C or at[0] == 0x2C) and at[1] == 0x18 and at[2] < 0x80):
        text.at = at + 3
        text.end = text.at + at[2]
        if r.end - text.end > 1 and text.end[0] == T_STOP and text.end[1] == T_STOP:
            r.at = text.end + 2
            return add_iri(t, &text) if at[0] == 0x1C else add_label(t, &text)
    kind = open_union(t, r, &id)
    if kind < 0:
        return kind
    if not TERM_IRI <= id <= TERM_DECIMAL or kind != (
        T_I64 if id == TERM_INTEGER else T_DOUBLE if id == TERM_DOUBLE else T_STRUCT
    ):
        return fail(&t.fault, UNKNOWN_TERM, at, id)
    if kind == T_STRUCT:
        term = read_body(t, r, id, depth, at)
    else:
        number.at = r.at
        if skip_value(r, kind, 0, &t.fault) < 0:
            return t.fault.code
        number.end = r.at
        term = read_body(t, &number, id, depth, at)
    if term < NO_TERM or take_stop(t, r) < 0:
        return t.fault.code
    return term


cdef int read_terms(JenaReader* t, Reader* r, int n, int32_t* ids, int depth) noexcept nogil:
    """The fields of an RDF_Triple or RDF_Quad: UNSET where one is missing. The last of a field counts."""
    cdef const uint8_t* at
    cdef Seen* seen
    cdef int64_t id = 0
    cdef int kind
    ids[0] = ids[1] = ids[2] = ids[3] = UNSET
    while True:
        kind = take_field(r, &id, &t.fault)
        if kind == T_STRUCT and 1 <= id <= n:
            at = r.at
            seen = &t.seen[id - 1]
            # A struct shows its own end, so what begins with the same bytes is the same.
            if depth == 0 and 0 < seen.n <= r.end - at and same_bytes(at, seen.at, seen.n):
                ids[id - 1] = seen.term
                r.at += seen.n
                continue
            ids[id - 1] = thrift_read_term(t, r, depth)
            if ids[id - 1] < NO_TERM:
                return ids[id - 1]
            if depth == 0 and ids[id - 1] != REPEATED:
                seen.at = at
                seen.n = r.at - at
                seen.term = ids[id - 1]
        elif kind > 0:
            kind = skip_value(r, kind, 0, &t.fault)
            if kind < 0:
                return kind
        else:
            return kind


# ---- rows

cdef int read_row(JenaReader* t, Reader* r) noexcept nogil:
    """An RDF_StreamRow."""
    cdef const uint8_t* at = r.at
    cdef int32_t ids[4]
    cdef Reader[2] pair
    cdef int64_t id = 0
    cdef int kind = open_union(t, r, &id)
    cdef int status
    if kind < 0:
        return kind
    if kind == T_STRUCT and (id == ROW_TRIPLE or id == ROW_QUAD):
        status = read_terms(t, r, 3 if id == ROW_TRIPLE else 4, ids, 0)
        if status < 0 or take_stop(t, r) < 0:
            return t.fault.code
        return put_statement(t, ids, id == ROW_QUAD, at)
    if kind == T_STRUCT and id == ROW_PREFIX:
        return t.fault.code if take_pair(t, r, pair, FIELD_URI) < 0 or take_stop(t, r) < 0 else declare(t, pair)
    return fail(&t.fault, UNKNOWN_ROW, at, id)


cdef int scan_row(JenaReader* t, Reader* r) noexcept nogil:
    """Step over an RDF_StreamRow; note whether it is a quad."""
    cdef int64_t id = 0
    cdef int kind = take_field(r, &id, &t.fault)
    if kind <= 0:
        return kind
    t.quads = kind == T_STRUCT and id == ROW_QUAD
    if skip_value(r, kind, 0, &t.fault) < 0 or take_stop(t, r) < 0:
        return t.fault.code
    return OK


cdef int32_t add_name(JenaReader* t, Reader* name) noexcept nogil:
    """The name of a header or namespace of a patch."""
    cdef int32_t term
    if need_text(t, name) != OK:
        return t.fault.code
    term = add_term(t.batch, KIND_TEXT, NO_TERM, name.at, name.end - name.at)
    return term if term >= 0 else fail(&t.fault, term, name.at)


cdef int read_named(JenaReader* t, Reader* r, int op, int32_t* ids, const uint8_t* at) noexcept nogil:
    """The struct of a header (name and value) or of a prefix (graph, name and, to add it, IRI)."""
    cdef bint header = op == OP_HEADER
    cdef bint add = op == OP_NAMESPACE_ADD
    cdef int32_t term = NO_TERM
    cdef Reader[3] fields
    cdef Reader* name = &fields[0 if header else 1]
    cdef Reader* inner = &fields[1 if header else 0]
    memset(fields, 0, sizeof(fields))
    if take_fields(t, r, fields, HEADER_PARTS if header else PREFIX_PARTS if add else PREFIX_NAME_PARTS) < 0:
        return t.fault.code
    if inner.at != NULL:
        term = thrift_read_term(t, inner, 0)
        if term < NO_TERM:
            return term
    if name.at == NULL:
        return fail(&t.fault, FIELD_MISSING, at, FIELD_NAME)
    if (header and term == NO_TERM) or (add and fields[2].at == NULL):
        return fail(&t.fault, FIELD_MISSING, at, FIELD_TERM if header else FIELD_IRI)
    ids[0] = add_name(t, name)
    if add:
        ids[1] = add_iri(t, &fields[2])
    if header:
        ids[2] = term
    elif term >= 0 and among(t.batch.kind[term], COMPOUND):
        return fail(&t.fault, PATCH_GRAPH_TRIPLE, at)
    elif term >= 0 and not is_default(t.batch, term):
        ids[3] = term
    return t.fault.code


cdef int read_patch_row(JenaReader* t, Reader* r) noexcept nogil:
    """An RDF_Patch_Row."""
    cdef const uint8_t* at = r.at
    cdef int32_t ids[4]
    cdef int64_t mark = 0
    cdef int64_t id = 0
    cdef int op = 0
    cdef int kind = open_union(t, r, &id)
    cdef int status = OK
    ids[0] = ids[1] = ids[2] = ids[3] = NO_TERM
    if kind < 0:
        return kind
    if kind == T_STRUCT and (id == PATCH_ADD or id == PATCH_DELETE):
        op = OP_ADD if id == PATCH_ADD else OP_DELETE
        status = read_terms(t, r, 4, ids, 0)
        if status == OK:
            status = check_terms(t, ids, 3, at)
        if status == OK and (ids[3] < 0 or is_default(t.batch, ids[3])):
            ids[3] = NO_TERM
    elif kind == T_STRUCT and PATCH_HEADER <= id <= PATCH_PREFIX_DELETE:
        op = OP_HEADER if id == PATCH_HEADER else OP_NAMESPACE_ADD if id == PATCH_PREFIX_ADD else OP_NAMESPACE_DELETE
        status = read_named(t, r, op, ids, at)
    elif kind == T_I32 and id == PATCH_MARK:
        status = take_zigzag(r, &mark, &t.fault)
        if status == OK and not 0 <= mark <= 2:
            return fail(&t.fault, BAD_SEGMENT, at, mark)
        op = OP_START + <int>mark
    else:
        return fail(&t.fault, UNKNOWN_ROW, at, id)
    if status < 0 or take_stop(t, r) < 0:
        return t.fault.code
    status = step_transaction(&t.transaction, op)
    if status != OK:
        return fail(&t.fault, status, at)
    return OK if add_row(t.batch, ids, op) == 0 else fail(&t.fault, NO_MEMORY, at)


cdef int read_items(JenaReader* t, Reader* r) noexcept nogil:
    """The header of a result set, RDF_VarTuple, or a row of it, RDF_DataTuple: a struct with one list."""
    cdef const uint8_t* at = r.at
    cdef int64_t id = 0
    cdef int64_t n = 0
    cdef int64_t i
    cdef int item = 0
    cdef int kind
    if begin_cells(t, at) < 0:
        return t.fault.code
    while True:
        kind = take_field(r, &id, &t.fault)
        if kind <= 0:
            return kind if kind < 0 else end_cells(t, n, at)
        if kind != T_LIST or id != 1:
            if skip_value(r, kind, 0, &t.fault) < 0:
                return t.fault.code
            continue
        n = take_list(r, &item, &t.fault)
        if n < 0:
            return <int>n
        if n > 0 and item != T_STRUCT:
            return fail(&t.fault, THRIFT_MALFORMED, at)
        if not t.has_header:
            t.variables.n = t.width = 0
        for i in range(n):
            if read_cell(t, r, i, at) < 0:
                return t.fault.code


cdef bint is_whole(JenaReader* t) noexcept nogil:
    """Whether the row that begins here also ends here; or is wrong, which reading it will tell."""
    cdef Reader probe = t.r
    cdef bint whole
    skip_value(&probe, T_STRUCT, 0, &t.fault)
    whole = t.fault.code != ROW_CUT
    if not whole:
        note_cut(t)
    t.fault.code = OK
    return whole


cdef inline void note_cut(JenaReader* t) noexcept nogil:
    """The row is incomplete: at least this many bytes are missing."""
    t.need = t.fault.a
    t.attempts += 1
    t.fault.code = OK


cdef int read_rows(JenaReader* t) noexcept nogil:
    """Read rows up to a reason of `end_row`, until the input holds no whole one (NEED_MORE), or a fault.

    Nothing but the row itself tells where it ends.
    """
    cdef BatchData* b = t.batch
    cdef const uint8_t* begin
    cdef int32_t n_terms, n_quoted
    cdef int64_t n_rows, n_names
    cdef int status
    while t.r.at < t.r.end:
        begin = t.row_at = t.r.at
        if not t.final and t.r.end - begin < TAIL and not is_whole(t):
            return NEED_MORE
        n_terms = b.n_terms
        n_quoted = b.n_quoted
        n_rows = b.n_rows
        n_names = b.n_names
        if t.patch:
            status = read_patch_row(t, &t.r)
        elif t.scan:
            status = scan_row(t, &t.r)
        else:
            status = read_items(t, &t.r) if t.results else read_row(t, &t.r)
        if status == ROW_CUT and not t.final:
            note_cut(t)
            t.r.at = begin
            drop_terms(b, n_terms, n_quoted)
            clear_interner(&t.index)
            forget_seen(t)
            return NEED_MORE
        if status < 0:
            return status
        if t.r.at - begin > t.max_row:
            b.n_rows = n_rows
            b.n_names = n_names
            return fail(&t.fault, ROW_LIMIT, begin, t.r.at - begin, t.max_row)
        t.attempts = 0
        status = end_row(t)
        if status != OK:
            return status
    return end_rows(t)


cdef void use_thrift(JenaReader* t) noexcept nogil:
    t.thrift = True
    t.max_depth = THRIFT_DEPTH
    t.read_rows = read_rows
    t.take_fields = take_fields
    t.read_terms = read_terms
    t.read_term = thrift_read_term
