"""Batches to Jelly frames: LRU lookup tables, repeated terms and ids of 0, without the GIL."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport NO_TERM, BatchData, load_row
from jelly._core.base.constants cimport MAX_DEPTH, MAX_QUOTED
from jelly._core.base.fault cimport (
    BAD_TERM, DATATYPES_FULL, DEPTH, GENERALIZED_OFF, NAMED_GRAPH_IN_TRIPLES, NAMESPACES_OFF, NAMES_FULL,
    OK, ONE_PATCH, OPEN_TRANSACTION, QUOTED_LIMIT, STAR_OFF, fail,
)
from jelly._core.base.kinds cimport (
    KIND_BNODE, KIND_IRI, KIND_TEXT, KIND_TRIPLE, KIND_TYPED, LITERALS, TERMS, among,
)
from jelly._core.rules.patch_operations cimport (
    OPEN, OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, step_transaction,
)
from jelly._core.base.protobuf cimport Writer, insert_length, write_byte, write_field, write_varint
from jelly._core.jelly.column_encoder cimport end_column_frames, put_column_namespace, put_columns
from jelly._core.jelly.encoder_state cimport LastIds, TermMemo
from jelly._core.jelly.frame_writer cimport end_frame, end_graph, put_metadata, put_row, split_frame, start_frame
from jelly._core.jelly.lookup cimport DATATYPES, NAMES, PREFIXES
from jelly._core.jelly.term_out cimport (
    ROW_FULL, find_datatype_id, find_ids, is_repeated, len_text, use_ids, write_iri, write_literal, write_text,
)

cdef enum:
    # What put_whole puts when it is no statement of so many terms.
    PUT_GRAPH = 0
    PUT_NAMESPACE = 1
    PUT_PATCH_NAMESPACE = 2
    PUT_HEADER = 5


# ---- terms

cdef int find_new_ids(EncoderState* e, TermMemo* memo, int32_t term) noexcept nogil:
    """Find or make the entries of an IRI. OK, ROW_FULL where no prefix is left, or a fault."""
    cdef int status = find_ids(e, memo, term, e.tables[PREFIXES].size > 0)
    if status == ROW_FULL and e.columns.full == NAMES:
        return fail(&e.fault, NAMES_FULL, NULL, e.tables[NAMES].size)
    return status


cdef inline int put_iri(EncoderState* e, uint32_t tag, int32_t term) noexcept nogil:
    cdef TermMemo whole  # of this statement alone
    cdef TermMemo* memo = &whole if e.whole_names else &e.memo[term]
    cdef int status = OK
    if e.whole_names or not use_ids(e, memo):
        status = find_new_ids(e, memo, term)
    if status == OK:
        write_iri(&e.row, tag, &e.ids, memo.prefix, memo.name)
    return status


cdef int put_literal(EncoderState* e, uint32_t tag, int32_t term) noexcept nogil:
    cdef int32_t datatype = 0
    if e.b.kind[term] == KIND_TYPED:
        datatype = find_datatype_id(e, &e.memo[e.b.aux[term]], e.b.aux[term])
        if datatype == 0:
            return fail(&e.fault, DATATYPES_FULL, NULL, e.tables[DATATYPES].size)
        if datatype < 0:
            return e.fault.code
    return write_literal(e, &e.row, tag, term, datatype)


cdef int put_quoted(EncoderState* e, uint32_t tag, int32_t term, int depth) noexcept nogil:
    """A quoted triple: its length is filled in afterwards, its terms are never left out."""
    cdef int32_t* terms = &e.b.quoted[3 * e.b.aux[term]]
    cdef int64_t begin
    cdef int slot, status
    cdef Writer* w = &e.row
    if depth > MAX_DEPTH:
        return fail(&e.fault, DEPTH, NULL, MAX_DEPTH)
    if depth == 1:
        e.most = w.n + MAX_QUOTED + e.b.n_text
    elif w.n > e.most:
        return fail(&e.fault, QUOTED_LIMIT, NULL, MAX_QUOTED)
    write_varint(w, tag)
    write_byte(w, 0)
    begin = w.n
    for slot in range(3):
        status = jelly_put_term(e, 4 * slot + 1, slot, terms[slot], depth)
        if status != OK:
            return status
    insert_length(w, begin)
    return OK


cdef inline int jelly_put_term(EncoderState* e, int field, int slot, int32_t term, int depth) noexcept nogil:
    """A term at position `slot`, 3 for a graph, -1 for the value of a header, which may be any term.

    Its four fields are an IRI, a blank node, a literal and a quoted triple; of a graph an IRI, a blank node, the default
    graph and a literal. `field` is the first of them.
    """
    if 0 <= term < e.b.n_terms and e.b.kind[term] == KIND_IRI:
        return put_iri(e, field << 3 | 2, term)
    return put_other(e, field << 3 | 2, slot, term, depth)


cdef int put_other(EncoderState* e, uint32_t tag, int slot, int32_t term, int depth) noexcept nogil:
    """A term that is no IRI, see jelly_put_term; `tag` is that of an IRI."""
    cdef int kind
    if slot == 3 and term == NO_TERM:
        write_field(&e.row, <uint8_t>tag + 16, NULL, 0)
        return OK
    if term < 0 or term >= e.b.n_terms:
        return fail(&e.fault, BAD_TERM, NULL, term, slot)
    kind = e.b.kind[term]
    if kind == KIND_BNODE:
        if slot == 1 and not e.generalized:
            return fail(&e.fault, GENERALIZED_OFF, NULL, kind, slot)
        return write_text(e, &e.row, tag + 8, term)
    if kind == KIND_TRIPLE:
        if slot == 3:
            return fail(&e.fault, BAD_TERM, NULL, term, slot)
        if not e.star:
            return fail(&e.fault, STAR_OFF, NULL, kind, slot)
        if slot == 1 and not e.generalized:
            return fail(&e.fault, GENERALIZED_OFF, NULL, kind, slot)
        return put_quoted(e, tag + 24, term, depth + 1)
    if not among(kind, LITERALS):
        return fail(&e.fault, BAD_TERM, NULL, term, slot)
    if 0 <= slot != 2 and not e.generalized:
        return fail(&e.fault, GENERALIZED_OFF, NULL, kind, slot)
    return put_literal(e, tag + (24 if slot == 3 else 16), term)


# ---- statements

cdef int put_terms(EncoderState* e, int32_t* terms, int n) noexcept nogil:
    cdef int slot, status
    for slot in range(n):
        if not is_repeated(e, slot, e.last[slot], terms[slot]):
            status = jelly_put_term(e, 4 * slot + 1, slot, terms[slot], 0)
            if status != OK:
                return status
    return OK


cdef int put_key(EncoderState* e, int32_t key) noexcept nogil:
    """Field 1 of a namespace or header, a text."""
    if len_text(e, key) == 0:
        return OK
    return write_text(e, &e.row, pb.RDF_NAMESPACE_DECLARATION_NAME_TAG, key)


cdef int put_namespace_terms(EncoderState* e, int32_t* terms, bint graph) noexcept nogil:
    """Name, IRI (NO_TERM: none, which only the deletion in a patch may have) and, with `graph`, the graph."""
    cdef int status = put_key(e, terms[0])
    if status == OK and terms[1] != NO_TERM:
        status = put_iri(e, pb.RDF_NAMESPACE_DECLARATION_VALUE_TAG, terms[1])
    if status == OK and graph and not is_repeated(e, 3, e.last[3], terms[3]):
        status = jelly_put_term(e, pb.RDF_PATCH_NAMESPACE_G_IRI, 3, terms[3], 0)
    return status


cdef int put_whole(EncoderState* e, int what, int32_t* terms) noexcept nogil:
    """Put a statement (`what`: its number of terms) or one of the others (PUT_*) into `e.row`.

    Entry rows stand before the row that needs them, and no entry of this row may be evicted by another. Where the
    prefix table is too small for that, the row is put again with whole IRIs as names and one empty prefix.
    """
    cdef LastIds ids = e.ids
    cdef int status
    cdef int attempt
    for attempt in range(2):
        e.statement += 1
        e.whole_names = attempt == 1
        e.row.n = 0
        if what == PUT_GRAPH:
            status = jelly_put_term(e, pb.RDF_GRAPH_START_G_IRI, 3, terms[3], 0)
        elif what == PUT_NAMESPACE or what == PUT_PATCH_NAMESPACE:
            status = put_namespace_terms(e, terms, what == PUT_PATCH_NAMESPACE)
        elif what == PUT_HEADER:
            status = put_key(e, terms[0])
            if status == OK:
                status = jelly_put_term(e, pb.RDF_PATCH_HEADER_H_IRI, -1, terms[2], 0)
        else:
            status = put_terms(e, terms, what)
        if status != ROW_FULL:
            break
        e.ids = ids
    e.whole_names = False
    return status


cdef int change_graph(EncoderState* e, int32_t graph) noexcept nogil:
    """In a GRAPHS stream: close the open graph and open another."""
    cdef int32_t terms[4]
    cdef int status
    if e.in_graph and is_repeated(e, 3, e.last[3], graph):
        return OK
    end_graph(e)
    terms[3] = graph
    status = put_whole(e, PUT_GRAPH, terms)
    if status != OK:
        return status
    e.in_graph = True
    put_row(e, pb.RDF_STREAM_ROW_GRAPH_START_TAG)
    return OK


cdef int put_statement(EncoderState* e, int64_t row, uint8_t op_tag) noexcept nogil:
    """A statement; `op_tag` is that of its row in a patch, or 0."""
    cdef BatchData* b = e.b
    cdef int32_t terms[4]
    cdef int slot, status
    cdef int n = 4 if e.physical == pb.PHYSICAL_STREAM_TYPE_QUADS else 3
    load_row(b, row, terms)
    if e.physical == pb.PHYSICAL_STREAM_TYPE_GRAPHS:
        status = change_graph(e, terms[3])
        if status != OK:
            return status
    elif n == 3 and terms[3] != NO_TERM:
        return fail(&e.fault, NAMED_GRAPH_IN_TRIPLES, NULL)
    status = put_whole(e, n, terms)
    if status != OK:
        return status
    for slot in range(4):
        e.last[slot] = terms[slot]
    if not op_tag:
        op_tag = pb.RDF_STREAM_ROW_QUAD_TAG if n == 4 else pb.RDF_STREAM_ROW_TRIPLE_TAG
    put_row(e, op_tag)
    return OK


cdef int put_namespace(EncoderState* e, int32_t name, int32_t iri) noexcept nogil:
    cdef int32_t terms[4]
    cdef int status
    start_frame(e)
    if not e.namespaces:
        if e.skip_namespaces:
            return OK
        return fail(&e.fault, NAMESPACES_OFF, NULL)
    if name < 0 or name >= e.b.n_terms or iri < 0 or iri >= e.b.n_terms or e.b.kind[iri] != KIND_IRI:
        return fail(&e.fault, BAD_TERM, NULL, iri, 0)
    terms[0] = name
    terms[1] = iri
    status = put_whole(e, PUT_NAMESPACE, terms)
    if status == OK:
        put_row(e, pb.RDF_STREAM_ROW_NAMESPACE_TAG)
    return status


cdef inline bint is_text(EncoderState* e, int32_t term) noexcept nogil:
    return 0 <= term < e.b.n_terms and e.b.kind[term] == KIND_TEXT


cdef int end_patch(EncoderState* e, int64_t row) noexcept nogil:
    """End a patch as the stream type wants it; what was read as a frame up to `row` may have metadata."""
    e.in_patch = False
    if e.stream_type == pb.PATCH_STREAM_TYPE_FLAT:
        e.patch_ended = True
        e.n_statements -= 1  # this row is not written
        return OK
    e.n_patches += 1
    if e.stream_type == pb.PATCH_STREAM_TYPE_PUNCTUATED:
        e.row.n = 0
        put_row(e, pb.RDF_PATCH_ROW_PUNCTUATION_TAG)
        return OK
    if e.b == NULL or e.b.n_meta == 0:
        return end_frame(e, NULL, 0)
    while e.bound < e.b.n_frames and e.b.frames[e.bound] < row:
        e.bound += 1
    return end_frame(e, e.b, e.bound)


cdef int put_operation(EncoderState* e, int64_t row) noexcept nogil:
    """A row of a patch that is no statement."""
    cdef BatchData* b = e.b
    cdef int32_t terms[4]
    cdef int op = b.op[row]
    cdef int status = step_transaction(&e.transaction, op)
    cdef int what = PUT_HEADER
    if status != OK:
        return fail(&e.fault, status, NULL)
    load_row(b, row, terms)
    if op == OP_PUNCTUATION:
        return end_patch(e, row + 1)
    if op == OP_HEADER:
        if not is_text(e, terms[0]) or terms[2] < 0 or terms[2] >= b.n_terms or not among(b.kind[terms[2]], TERMS):
            return fail(&e.fault, BAD_TERM, NULL, terms[2], 2)
        status = put_whole(e, PUT_HEADER, terms)
    elif op == OP_NAMESPACE_ADD or op == OP_NAMESPACE_DELETE:
        if (
            not is_text(e, terms[0]) or terms[1] >= b.n_terms or (terms[1] < 0 and op == OP_NAMESPACE_ADD)
            or (terms[1] >= 0 and b.kind[terms[1]] != KIND_IRI)
        ):
            return fail(&e.fault, BAD_TERM, NULL, terms[1], 1)
        what = PUT_NAMESPACE
        if terms[3] >= b.n_terms:
            return fail(&e.fault, BAD_TERM, NULL, terms[3], 3)
        if e.physical == pb.PATCH_STATEMENT_TYPE_QUADS:
            what = PUT_PATCH_NAMESPACE
        elif terms[3] != NO_TERM:
            return fail(&e.fault, NAMED_GRAPH_IN_TRIPLES, NULL)
        status = put_whole(e, what, terms)
        e.last[3] = terms[3]
    else:
        e.row.n = 0
    if status == OK:
        put_row(e, <uint8_t>(op << 3 | 2))
    return status


cdef inline int put_patch_row(EncoderState* e, int64_t row) noexcept nogil:
    cdef int op = e.b.op[row]
    if e.patch_ended:
        return fail(&e.fault, ONE_PATCH, NULL)
    e.in_patch = True
    if op == OP_ADD or op == OP_DELETE:
        return put_statement(e, row, <uint8_t>(op << 3 | 2))
    return put_operation(e, row)


# ---- frames

cdef int end_row_frames(EncoderState* e, int64_t row, int64_t limit, int64_t* bound) noexcept nogil:
    """Finish the frames before number `limit` that end at this row of the Batch. A flat stream has frames of its own."""
    while bound[0] < limit and e.b.frames[bound[0]] == row:
        end_graph(e)
        if end_frame(e, e.b, bound[0]) != OK:
            return e.fault.code
        bound[0] += 1
    return OK


cdef int put_statements(EncoderState* e, int64_t* row, int64_t end, bint ends) noexcept nogil:
    """Write the rows before `end`, where with `ends` a frame of the Batch ends that is kept."""
    cdef int64_t bytes_before, rows_before
    while row[0] < end:
        # Of streams of one frame each begins with its first row.
        if not e.started:
            start_frame(e)
        # Before it is written: what ends a patch may begin a keyframe.
        e.n_statements += 1
        e.since_key += 1
        bytes_before = e.body.n
        rows_before = e.rows
        if (put_patch_row(e, row[0]) if e.patch else put_statement(e, row[0], 0)) != OK:
            return e.fault.code
        row[0] += 1
        if e.frame_bytes > 0 and e.body.n > e.frame_bytes and split_frame(e, bytes_before, rows_before) != OK:
            return e.fault.code
        if (
            (e.frame_rows > 0 and e.rows >= e.frame_rows) or (e.frame_bytes > 0 and e.body.n >= e.frame_bytes)
            or (e.cut_rows > 0 and e.since_key >= e.cut_rows and not (ends and row[0] == end))
        ) and end_frame(e, NULL, 0) != OK:
            return e.fault.code
    return OK


cdef int encode_batch(EncoderState* e, int64_t* row) noexcept nogil:
    """Write the rows of `e.b` from `row` to `e.stop`; where it comes to a fault, `row` tells which."""
    cdef BatchData* b = e.b
    cdef int64_t bound = 0
    cdef int64_t n_bounds = 0
    cdef int64_t name = 0
    cdef int64_t limit, end, size
    cdef bint ends
    e.bound = 0
    if e.keep_frames:
        n_bounds = b.n_frames - (e.open_end and b.n_frames > 0)
    elif e.described:
        n_bounds = min(b.n_frames, 1)
    if n_bounds > 0:
        e.described = False
    while name < b.n_names and b.names[name].row < row[0]:
        name += 1
    if not e.columnar and not e.independent:
        start_frame(e)
    while not (e.part and row[0] == e.stop):
        while True:
            # Frames that ended at this row before a namespace was declared end before it.
            limit = n_bounds
            if name < b.n_names and b.names[name].row == row[0]:
                limit = min(limit, b.names[name].frame)
            if (end_column_frames if e.columnar else end_row_frames)(e, row[0], limit, &bound) != OK:
                return e.fault.code
            if name == b.n_names or b.names[name].row != row[0]:
                break
            if (put_column_namespace if e.columnar else put_namespace)(e, b.names[name].name, b.names[name].iri) != OK:
                return e.fault.code
            name += 1
        if row[0] == e.stop:
            # Metadata that stands before the rows of a frame which a later Batch ends.
            if e.keep_frames and b.n_meta:
                size = e.body.n
                put_metadata(e, b, n_bounds)
                e.described = e.described or e.body.n > size
            return OK
        end = e.stop if name == b.n_names else min(e.stop, b.names[name].row)
        ends = bound < n_bounds and b.frames[bound] <= end
        if ends:
            end = b.frames[bound]
        if (put_columns if e.columnar else put_statements)(e, row, end, ends) != OK:
            return e.fault.code
    return OK


cdef int finish_patch(EncoderState* e) noexcept nogil:
    """End the patch that is being written, if any, where the stream ends, as a punctuation in the Batch would."""
    if e.transaction == OPEN:
        return fail(&e.fault, OPEN_TRANSACTION, NULL)
    # A stream has a frame at least, which may be a patch.
    if e.in_patch or (e.stream_type == pb.PATCH_STREAM_TYPE_FRAME and e.n_frames == 0):
        e.n_statements += 1
        return end_patch(e, 0)
    return OK
