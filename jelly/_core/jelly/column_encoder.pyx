"""Batches to frames of columns (Jelly-RDF 1.2), without the GIL. The layout is not final.

Rows go in two steps. First the lookup entries of each row are made sure of: what the frame refers to stays in the
tables until it ends, and it ends before a row for which a table has no entry left. Then each column takes the terms of
these rows, one column after another.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport NO_TERM, UNSET, column_of, has_kind, hash_bytes, text_of
from jelly._core.base.constants cimport MAX_DEPTH, RDF_11, RDF_12, RDF_12_BASIC, is_tag_datatype
from jelly._core.base.fault cimport (
    ABOVE_RDF_VERSION, BAD_TERM, DATATYPES_FULL, DEPTH, NAMED_GRAPH_IN_TRIPLES, NAMES_FULL, NOT_IN_COLUMNS,
    NO_MEMORY, OK, STAR_IN_COLUMNS, TEXT_LIMIT, UNTAGGED_LITERAL, fail,
)
from jelly._core.base.kinds cimport (
    KIND_IRI, KIND_LANG, KIND_TEXT, KIND_TEXT_LTR, KIND_TEXT_RTL, KIND_TRIPLE, KIND_TYPED, LITERALS, NODES, TERMS, among,
)
from jelly._core.base.protobuf cimport (
    MAX_VARINT32, Writer, insert_length, write_byte, write_bytes, write_field, write_number, write_varint,
)
from jelly._core.jelly.column_writer cimport clear_column, column_failed, free_column, put_column, put_lists
from jelly._core.jelly.column_schema cimport (
    BATCH_LENGTHS_P, BATCH_LENGTHS_S, BATCH_NAMESPACES, BATCH_ROW_COUNT, BATCH_SUBJECTS, COLUMN_DIRECTIONS, COLUMN_LANGTAGS,
    FRAME_COLUMNS,
)
from jelly._core.jelly.encoder_state cimport MAX_TEXT, TAGS, ColumnEncoder, ColumnMemo
from jelly._core.jelly.frame_writer cimport end_frame, restart_stream, start_frame
from jelly._core.jelly.lookup cimport DATATYPES, NAMES, PREFIXES, TABLES, add_entry, find_entry, forget_lru
from jelly._core.jelly.term_out cimport (
    ROW_FULL, ROW_RESTATE, VALUE_COST, clear_entries, find_datatype_id, find_ids, free_entries, len_text, put_entries,
    take_cost, use_ids, write_iri,
)

cdef enum:
    # Rows whose entries are made sure of before the columns take them.
    CHUNK_ROWS = 512
    # Rows of a frame at the most: readers have limits.
    MAX_FRAME_ROWS = 1 << 24
    # And a frame, without options, metadata and what is in its lists.
    FRAME_COST = 256


# ---- lookup entries

cdef int pin_new_iri(EncoderState* e, int32_t term) noexcept nogil:
    """Make sure of the entries of an IRI that the frame does not have yet."""
    cdef ColumnMemo* memo = &e.columns.memo[term]
    cdef int status = OK
    if (memo.ids.prefix > 0) != e.columns.prefixed or not use_ids(e, &memo.ids):
        if len_text(e, term) > MAX_TEXT:
            return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
        status = find_ids(e, &memo.ids, term, e.columns.prefixed)
    if status == OK:
        memo.frame = <uint32_t>e.statement
    return status


cdef inline int pin_iri(EncoderState* e, int32_t term) noexcept nogil:
    return OK if e.columns.memo[term].frame == <uint32_t>e.statement else pin_new_iri(e, term)


cdef int pin_new_datatype(EncoderState* e, int32_t term) noexcept nogil:
    cdef ColumnMemo* memo = &e.columns.memo[term]
    cdef int64_t n = len_text(e, term)
    cdef int32_t id
    if is_tag_datatype(text_of(e.b, term), n):
        return fail(&e.fault, UNTAGGED_LITERAL, NULL)
    if n > MAX_TEXT:
        return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
    id = find_datatype_id(e, &memo.ids, term)
    if id <= 0:
        return ROW_FULL if id == 0 else e.fault.code
    memo.datatype_frame = <uint32_t>e.statement
    return OK


cdef int pin_version(EncoderState* e, int version) noexcept nogil:
    """Whether the announced RDF version allows what needs `version`."""
    cdef ColumnEncoder* k = &e.columns
    if k.rdf_version == 0 or k.rdf_version >= version:
        return OK
    if not k.follow:
        return fail(&e.fault, ABOVE_RDF_VERSION, NULL, version, k.rdf_version)
    k.needed = version
    return ROW_RESTATE


cdef int pin_triple(EncoderState* e, int32_t term, int depth) noexcept nogil:
    """Make sure of the entries of a triple term, and that RDF 1.2 allows its terms where they are."""
    cdef BatchData* b = e.b
    cdef int32_t* terms = &b.quoted[3 * b.aux[term]]
    cdef int32_t inner
    cdef int slot, kind
    cdef int status = pin_version(e, RDF_12)
    if depth > MAX_DEPTH:
        return fail(&e.fault, DEPTH, NULL, MAX_DEPTH)
    for slot in range(3):
        if status != OK:
            return status
        inner = terms[slot]
        if inner < 0 or inner >= b.n_terms:
            return fail(&e.fault, BAD_TERM, NULL, inner, slot)
        kind = b.kind[inner]
        if kind == KIND_IRI:
            status = pin_iri(e, inner)
        elif not among(kind, TERMS):
            status = fail(&e.fault, BAD_TERM, NULL, inner, slot)
        elif among(kind, NODES) and slot != 1:
            status = OK
        elif slot != 2:
            status = fail(&e.fault, STAR_IN_COLUMNS if kind == KIND_TRIPLE else NOT_IN_COLUMNS, NULL, kind, slot)
        elif kind == KIND_TYPED:
            status = pin_new_datatype(e, b.aux[inner])
        elif kind == KIND_LANG:
            status = pin_version(e, RDF_12_BASIC) if b.kind[b.aux[inner]] > KIND_TEXT else OK
        elif kind == KIND_TRIPLE:
            status = pin_triple(e, inner, depth + 1)
        if status == OK and not take_cost(
            e, len_text(e, inner) + 2 * VALUE_COST + (len_text(e, b.aux[inner]) if kind == KIND_LANG else 0)
        ):
            return ROW_FULL
    return status


cdef int pin_tag(EncoderState* e, int32_t tag) noexcept nogil:
    """The number of a language tag, with its base direction, among those of the objects."""
    cdef ColumnEncoder* k = &e.columns
    cdef BatchData* b = e.b
    cdef ColumnMemo* memo = &k.memo[tag]
    cdef Writer* lists = k.of[2].lists
    cdef int64_t n = len_text(e, tag)
    cdef int direction = b.kind[tag] - KIND_TEXT
    cdef uint32_t hash
    cdef int32_t id
    cdef int status
    if memo.frame == <uint32_t>e.statement:
        return OK
    if direction != 0:
        status = pin_version(e, RDF_12_BASIC)
        if status != OK:
            return status
    if n > MAX_TEXT:
        return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
    e.row.n = 0
    write_bytes(&e.row, text_of(b, tag), n)
    write_byte(&e.row, <uint8_t>direction)
    hash = <uint32_t>hash_bytes(e.row.buf, e.row.n, 0)
    id = find_entry(&e.tables[TAGS], e.row.buf, e.row.n, hash)
    if id == 0:
        if not take_cost(e, n + VALUE_COST):
            return ROW_FULL
        id = add_entry(&e.tables[TAGS], e.row.buf, e.row.n, hash, 0)
        if id == 0:
            k.full = TAGS
            return ROW_FULL
        if id < 0:
            return fail(&e.fault, NO_MEMORY, NULL)
        write_field(&lists[COLUMN_LANGTAGS], COLUMN_LANGTAGS << 3 | 2, text_of(b, tag), n)
        write_byte(&lists[COLUMN_DIRECTIONS], <uint8_t>direction)
        if direction != 0:
            k.directed = True
    memo.ids.name = id
    memo.frame = <uint32_t>e.statement
    return OK


cdef int pin_term(EncoderState* e, int slot, int32_t term) noexcept nogil:
    """Make sure of what a term refers to; language tags are left for later, see pin_rows."""
    cdef BatchData* b = e.b
    cdef int kind
    cdef int status = OK
    if term < 0 or term >= b.n_terms:
        if slot == 3 and term == NO_TERM:
            return OK
        return fail(&e.fault, BAD_TERM, NULL, term, slot)
    kind = b.kind[term]
    if kind == KIND_IRI:
        status = pin_iri(e, term)
    elif not among(kind, TERMS if slot != 3 else NODES | LITERALS):
        return fail(&e.fault, BAD_TERM, NULL, term, slot)
    elif among(kind, NODES):
        if slot == 1:
            return fail(&e.fault, NOT_IN_COLUMNS, NULL, kind, slot)
    elif kind == KIND_TRIPLE:
        if slot != 2:
            return fail(&e.fault, STAR_IN_COLUMNS, NULL, kind, slot)
        status = pin_triple(e, term, 1)
    elif slot != 2:
        return fail(&e.fault, NOT_IN_COLUMNS, NULL, kind, slot)
    elif kind == KIND_TYPED and e.columns.memo[b.aux[term]].datatype_frame != <uint32_t>e.statement:
        status = pin_new_datatype(e, b.aux[term])
    if status != OK:
        return status
    if kind == KIND_IRI:
        return OK if take_cost(e, VALUE_COST) else ROW_FULL
    if len_text(e, term) > MAX_TEXT:
        return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
    return OK if take_cost(e, len_text(e, term) + VALUE_COST) else ROW_FULL


cdef int pin_rows(EncoderState* e, int64_t* row, int64_t end, bint quads) noexcept nogil:
    """Make sure of the entries of all rows before `end`; `row` is the first that the frame does not take, and why."""
    cdef BatchData* b = e.b
    # Terms of the same frame; those of an earlier Batch are looked up again.
    cdef int32_t last_s = e.last[0], last_p = e.last[1], last_o = e.last[2], last_g = UNSET
    cdef int32_t s, p, o, g
    cdef int status
    cdef int64_t i
    for i in range(row[0], end):
        row[0] = i
        s = b.s[i]
        p = b.p[i]
        o = b.o[i]
        g = NO_TERM if b.g == NULL else b.g[i]
        if s != last_s or s < 0:
            status = pin_term(e, 0, s)
            if status != OK:
                return status
            last_s = s
        if p != last_p or p < 0:
            status = pin_term(e, 1, p)
            if status != OK:
                return status
            last_p = p
        if o != last_o or o < 0:
            status = pin_term(e, 2, o)
            if status != OK:
                return status
        if g != last_g or g < NO_TERM:
            if not quads and g != NO_TERM:
                return fail(&e.fault, NAMED_GRAPH_IN_TRIPLES, NULL)
            status = pin_term(e, 3, g)
            if status != OK:
                return status
            last_g = g
        if o != last_o:
            # After all else, as a tag that no row uses is not to be in the frame.
            if b.kind[o] == KIND_LANG:
                status = pin_tag(e, b.aux[o])
                if status != OK:
                    return status
            last_o = o
        e.columns.rows += 1
    row[0] = end
    return OK


# ---- frames

cdef void start_columns(EncoderState* e) noexcept nogil:
    """Begin a frame: nothing of another one is in its lists, and its ids count anew."""
    cdef ColumnEncoder* k = &e.columns
    cdef int slot
    for slot in range(4):
        clear_column(&k.of[slot])
        e.last[slot] = UNSET
    for slot in range(TABLES):
        clear_entries(&k.entries[slot])
    k.namespaces.n = k.lengths.n = k.metadata.n = 0
    k.directed = False
    k.last.name = k.last.prefix = 0
    k.rows = k.told = 0
    k.cost = FRAME_COST + e.n_options
    k.prefixed = e.tables[PREFIXES].size > 0
    if e.tables[TAGS].n_used > 0:
        forget_lru(&e.tables[TAGS])
    release_entries(e)


cdef void release_entries(EncoderState* e) noexcept nogil:
    """Let go of the entries that the frame holds. Its number never is 0 in a ColumnMemo."""
    e.statement += 1
    if <uint32_t>e.statement == 0:
        e.statement += 1


cdef bint is_frame_open(EncoderState* e) noexcept nogil:
    """Whether anything waits for the end of the frame."""
    cdef ColumnEncoder* k = &e.columns
    cdef int which
    for which in range(TABLES):
        if k.entries[which].open:
            return True
    return k.rows > 0 or k.namespaces.n > 0 or k.lengths.n > 0 or e.body.n > 0


cdef int end_columns(EncoderState* e, BatchData* meta, int64_t frame) noexcept nogil:
    """Finish the frame, with the metadata that `meta` has for it (NULL: none), see end_frame."""
    cdef ColumnEncoder* k = &e.columns
    cdef Writer* w = &e.body
    cdef int64_t begin
    cdef int slot
    # Metadata that came before the rows goes after them.
    write_bytes(&k.metadata, w.buf, w.n)
    w.n = 0
    start_frame(e)
    write_byte(w, FRAME_COLUMNS)
    write_byte(w, 0)
    begin = w.n
    write_number(w, BATCH_ROW_COUNT, k.rows)
    for slot in range(TABLES):
        put_entries(e, &k.entries[slot])
    write_bytes(w, k.namespaces.buf, k.namespaces.n)
    if k.rows > 0:
        for slot in range(4):
            # A column of graphs that are all the default one has no values.
            if slot < 3 or k.of[3].n > 0:
                put_lists(e, slot, <uint8_t>((BATCH_SUBJECTS + slot) << 3 | 2))
    if k.lengths.n > 0:
        write_field(w, (BATCH_LENGTHS_P if k.numbering_p else BATCH_LENGTHS_S) << 3 | 2, k.lengths.buf, k.lengths.n)
    if w.n == begin:
        w.n = begin - 2
    else:
        insert_length(w, begin)
    write_bytes(w, k.metadata.buf, k.metadata.n)
    start_columns(e)
    return end_frame(e, meta, frame)


cdef inline bint is_key_due(EncoderState* e) noexcept nogil:
    return e.key_rows > 0 and e.since_key >= e.key_rows


cdef void end_message(EncoderState* e) noexcept nogil:
    """End the present message after the rows so far."""
    cdef ColumnEncoder* k = &e.columns
    write_varint(&k.lengths, k.rows - k.told)
    k.cost += MAX_VARINT32
    k.told = k.rows
    k.open = False
    e.n_frames += 1


cdef int end_column_frames(EncoderState* e, int64_t row, int64_t limit, int64_t* bound) noexcept nogil:
    """Finish the frames before number `limit` that end at this row of the Batch; in a log they are messages."""
    cdef ColumnEncoder* k = &e.columns
    while bound[0] < limit and e.b.frames[bound[0]] == row:
        bound[0] += 1
        if k.is_log:
            end_message(e)
        # Several messages to a frame, but metadata belongs to one.
        if k.is_log and k.rows < e.frame_rows and e.b.n_meta == 0 and not is_key_due(e):
            continue
        if end_columns(e, e.b, bound[0] - 1) != OK:
            return e.fault.code
    return OK


cdef int drop_prefixes(EncoderState* e) noexcept nogil:
    """A row of its own takes more entries than a table has: where these are prefixes, IRIs go without."""
    cdef ColumnEncoder* k = &e.columns
    if k.full != PREFIXES or not k.prefixed:
        return fail(
            &e.fault, NAMES_FULL if k.full == NAMES else DATATYPES_FULL, NULL,
            e.tables[NAMES if k.full == NAMES else DATATYPES].size,
        )
    k.prefixed = False
    release_entries(e)
    return OK


cdef int make_room(EncoderState* e, int status) noexcept nogil:
    """The frame does not take what comes next: end it, or make the best of one that has nothing in it."""
    cdef ColumnEncoder* k = &e.columns
    if status != ROW_FULL and status != ROW_RESTATE:
        return status
    if k.rows > 0 or k.namespaces.n > 0:
        if end_columns(e, NULL, 0) != OK:
            return e.fault.code
    elif status == ROW_FULL and drop_prefixes(e) != OK:
        return e.fault.code
    if status == ROW_RESTATE:
        k.rdf_version = k.needed
        announce(e)
        if e.started:
            restart_stream(e)
            start_columns(e)
    return OK


cdef void announce(EncoderState* e) noexcept nogil:
    """Choose the options row of the RDF version."""
    e.options = e.columns.options[e.columns.rdf_version]
    e.n_options = e.columns.n_options[e.columns.rdf_version]


cdef int put_column_namespace(EncoderState* e, int32_t name, int32_t iri) noexcept nogil:
    """A declaration, which stands before the rows of its frame."""
    cdef ColumnEncoder* k = &e.columns
    cdef Writer* w = &k.namespaces
    cdef int64_t begin
    cdef int status
    if name < 0 or name >= e.b.n_terms or iri < 0 or iri >= e.b.n_terms or e.b.kind[iri] != KIND_IRI:
        return fail(&e.fault, BAD_TERM, NULL, iri, 0)
    if len_text(e, name) > MAX_TEXT:
        return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
    if k.rows > 0 and end_columns(e, NULL, 0) != OK:
        return e.fault.code
    status = pin_iri(e, iri)
    while status == ROW_FULL:
        status = make_room(e, status)
        if status == OK:
            status = pin_iri(e, iri)
    if status != OK:
        return status
    write_byte(w, BATCH_NAMESPACES << 3 | 2)
    write_byte(w, 0)
    begin = w.n
    if len_text(e, name) > 0:
        write_field(w, pb.RDF_NAMESPACE_DECLARATION_NAME_TAG, text_of(e.b, name), len_text(e, name))
    write_iri(w, pb.RDF_NAMESPACE_DECLARATION_VALUE_TAG, &k.last, k.memo[iri].ids.prefix, k.memo[iri].ids.name)
    insert_length(w, begin)
    k.cost += len_text(e, name) + VALUE_COST
    return OK


cdef int put_rows(EncoderState* e, int64_t* row, int64_t end) noexcept nogil:
    """Put rows before `end` into the frame, at least one."""
    cdef ColumnEncoder* k = &e.columns
    cdef BatchData* b = e.b
    cdef bint quads = e.physical == pb.PHYSICAL_STREAM_TYPE_QUADS
    cdef int64_t begin = row[0]
    cdef int slot, status
    while True:
        status = pin_rows(e, row, end, quads)
        if status < 0:
            return status
        if row[0] > begin:
            break
        status = make_room(e, status)
        if status != OK:
            return status
    e.n_statements += row[0] - begin
    e.since_key += row[0] - begin
    k.open = True
    for slot in range(4 if quads else 3):
        if put_column(e, slot, column_of(b, slot)[0], begin, row[0]) != OK:
            return e.fault.code
    return make_room(e, status)


cdef int put_columns(EncoderState* e, int64_t* row, int64_t end, bint ends) noexcept nogil:
    """Write rows before `end`, at least one; with `ends` a frame of the Batch that is kept ends there."""
    cdef ColumnEncoder* k = &e.columns
    cdef int64_t most = e.frame_rows if 0 < e.frame_rows < MAX_FRAME_ROWS else MAX_FRAME_ROWS
    cdef int64_t stop = min(min(end, row[0] + CHUNK_ROWS), row[0] + most - k.rows)
    if e.key_rows > 0 and e.since_key < e.key_rows:
        stop = min(stop, row[0] + e.key_rows - e.since_key)
    if put_rows(e, row, stop) != OK:
        return e.fault.code
    # A message that fills its frame has its end there too.
    if k.is_log and ends and row[0] == end:
        return OK
    if k.rows > 0 and (k.rows >= most or (is_key_due(e) and not k.is_log)):
        return end_columns(e, NULL, 0)
    return OK


cdef int finish_columns(EncoderState* e) noexcept nogil:
    """End the last message and frame, where the stream ends. It has a frame at least."""
    if e.columns.is_log and e.columns.open:
        end_message(e)
    return end_columns(e, NULL, 0) if is_frame_open(e) or e.n_bytes == 0 else OK


cdef int needed_rdf_version(BatchData* b) noexcept nogil:
    """The RDF version that terms of a Batch need."""
    if b.n_quoted > 0:
        return RDF_12
    return RDF_12_BASIC if has_kind(b, KIND_TEXT_LTR) or has_kind(b, KIND_TEXT_RTL) else RDF_11


cdef bint columns_failed(EncoderState* e) noexcept nogil:
    """Whether there was no memory for something that the frame holds."""
    cdef ColumnEncoder* k = &e.columns
    cdef int i
    for i in range(4):
        if column_failed(&k.of[i]):
            return True
    for i in range(TABLES):
        if k.entries[i].closed.failed or k.entries[i].values.failed:
            return True
    return k.namespaces.failed or k.lengths.failed or k.metadata.failed


cdef void free_columns_out(EncoderState* e) noexcept nogil:
    cdef ColumnEncoder* k = &e.columns
    cdef int i
    for i in range(4):
        free_column(&k.of[i])
    for i in range(TABLES):
        free_entries(&k.entries[i])
    free(k.namespaces.buf)
    free(k.lengths.buf)
    free(k.metadata.buf)
