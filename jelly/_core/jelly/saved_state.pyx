"""Saves the state of a DecoderState between two frames as bytes, so that reading can start there later."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport (
    CARRIED, NO_TERM, UNSET, BatchData, TermView, add_quoted, add_term, clear_arena, free_arena, init_arena,
    len_direction, put_direction, split_tag, view_term,
)
from jelly._core.base.constants cimport MAX_DEPTH, RDF_12
from jelly._core.base.fault cimport NO_MEMORY, OK, OPEN_PATCH, fail
from jelly._core.base.kinds cimport ATTRIBUTED, COMPOUND, KIND_IRI, KIND_LANG, KIND_TEXT, TERMS, TEXTS, among
from jelly._core.rules.patch_operations cimport OPEN, OP_PUNCTUATION
from jelly._core.base.protobuf cimport (
    Reader, Writer, bytes_of, reader_of, reserve, take_span, take_varint, write_bytes, write_varint, written,
)
from jelly._core.base.utf8 cimport check_utf8
from jelly._core.jelly.column_schema cimport COLUMN_VERSION, NUMBERING_P, Columns
from jelly._core.jelly.decode cimport add_operation
from jelly._core.jelly.lookup cimport NAMES, PREFIXES, TABLES, Table, find_slot, free_entries, set_entry

from jelly.errors import JellyFormatError

cdef enum:
    # What a position of the last statement holds.
    STATE_UNSET = 0
    STATE_DEFAULT_GRAPH = 1
    STATE_TERM = 2


cdef void put_table(Writer* w, Table* table) noexcept:
    """The entries that are defined, by id."""
    cdef int32_t i
    write_varint(w, table.last)
    for i in range(1, table.made + 1):
        if table.slots[i].text != NULL:
            write_varint(w, i)
            write_varint(w, table.slots[i].n)
            write_bytes(w, table.slots[i].text, table.slots[i].n)
    write_varint(w, 0)


cdef void state_put_term(Writer* w, BatchData* a, int32_t term) noexcept:
    cdef TermView v
    cdef int k
    view_term(a, term, &v)
    # A base direction stands with its tag, as in Jelly and in states that were saved before.
    write_varint(w, min(v.kind, KIND_TEXT))
    for k in range(v.n_refs):
        state_put_term(w, a, v.refs[k])
    if among(v.kind, COMPOUND):
        return
    write_varint(w, v.n + len_direction(v.kind))
    write_bytes(w, v.at, v.n)
    if reserve(w, len_direction(v.kind)) == 0:
        put_direction(w.buf + w.n, v.kind)
        w.n += len_direction(v.kind)


cdef bytes save_state(DecoderState* d):
    """All that the frames to come may refer to. The Decoder is between two frames, and its Batch is given away."""
    cdef Writer w
    cdef int slot
    memset(&w, 0, sizeof(Writer))
    try:
        if d.columnar:
            # What the first options do not say: in version 3 they may change.
            for number in (d.header.numbering, d.header.rdf, d.columns.open):
                write_varint(&w, number)
            for slot in range(TABLES):
                write_varint(&w, d.header.sizes[slot])
        for slot in range(TABLES):
            put_table(&w, &d.t.tables[slot])
        # In columns they count from 0 in each frame. What is left of them depends on where Batches end.
        write_varint(&w, 0 if d.columnar else d.t.last_name)
        write_varint(&w, 0 if d.columnar else d.t.last_prefix)
        write_varint(&w, d.in_graph)
        for slot in range(4):
            if d.last[slot] == UNSET:
                write_varint(&w, STATE_UNSET)
            elif d.carried[slot] == NO_TERM:
                write_varint(&w, STATE_DEFAULT_GRAPH)
            else:
                write_varint(&w, STATE_TERM)
                state_put_term(&w, &d.carry, d.carried[slot])
        if w.failed:
            raise MemoryError
        return written(&w)
    finally:
        free(w.buf)


cdef object broken():
    return JellyFormatError("the saved state of the decoder is damaged")


cdef int64_t take_number(Reader* r, int64_t limit) except -1:
    cdef int64_t value = take_varint(r)
    if value < 0 or value > limit:
        raise broken()
    return value


cdef int load_table(DecoderState* d, Reader* r, int which) except -1:
    cdef Table* table = &d.t.tables[which]
    cdef int64_t last = take_number(r, table.size)
    cdef int64_t id
    cdef Reader text
    while True:
        id = take_number(r, table.size)
        if id == 0:
            break
        if take_span(r, &text) < 0 or set_entry(&d.t, which, id, &text, &d.fault, NULL) != OK:
            raise broken()
    table.last = <int32_t>last
    return 0


cdef int32_t load_term(Reader* r, BatchData* a, int depth) except -1:
    cdef int64_t kind = take_number(r, KIND_TEXT)
    cdef int32_t aux = NO_TERM
    cdef int32_t terms[3]
    cdef int32_t term
    cdef int k
    cdef int64_t n
    cdef Reader text
    if kind < KIND_IRI or depth > MAX_DEPTH + 1:
        raise broken()
    if among(<int>kind, COMPOUND):
        for k in range(3):
            terms[k] = load_term(r, a, depth + 1)
            if not among(a.kind[terms[k]], TERMS):
                raise broken()
        term = add_quoted(a, terms[0], terms[1], terms[2])
    else:
        if among(<int>kind, ATTRIBUTED):
            aux = load_term(r, a, depth + 1)
            if not among(a.kind[aux], TEXTS if kind == KIND_LANG else 1 << KIND_IRI):
                raise broken()
        if take_span(r, &text) < 0 or check_utf8(text.at, text.end - text.at) >= 0:
            raise broken()
        n = text.end - text.at
        if kind == KIND_TEXT:
            kind = split_tag(text.at, &n)
        term = add_term(a, <int>kind, aux, text.at, n)
    if term < 0:
        raise broken()
    return term


cdef bytes load_options(DecoderState* d, bytes data):
    """Take the options of version 3 at the beginning of a state. The rest is for `load_state`."""
    cdef Reader r = reader_of(data)
    cdef int which
    d.header.numbering = <int>take_number(&r, NUMBERING_P)
    d.header.rdf = <int>take_number(&r, RDF_12)
    d.columns.open = take_number(&r, 1) != 0
    for which in range(TABLES):
        d.header.sizes[which] = take_number(&r, d.limits.sizes[which])
    return bytes_of(&r)


cdef int load_state(DecoderState* d, bytes data) except -1:
    """Bring a fresh DecoderState, whose tables are made, into a state that was saved. JellyFormatError where it is damaged."""
    cdef Reader r = reader_of(data)
    cdef int slot
    cdef int64_t state
    for slot in range(TABLES):
        load_table(d, &r, slot)
    d.t.last_name = take_number(&r, d.t.tables[NAMES].size)
    d.t.last_prefix = take_number(&r, d.t.tables[PREFIXES].size)
    if d.t.last_prefix > 0 and find_slot(&d.t, PREFIXES, d.t.last_prefix, &d.fault, NULL) == NULL:
        raise broken()
    d.in_graph = take_number(&r, 1) != 0
    free_arena(&d.carry)
    if init_arena(&d.carry, 3, 1, 8, 256, d.text_limit) < 0:
        raise MemoryError
    for slot in range(4):
        state = take_number(&r, STATE_TERM)
        if state == STATE_UNSET:
            continue
        d.last[slot] = CARRIED
        d.carried[slot] = NO_TERM
        if state == STATE_TERM:
            d.carried[slot] = load_term(&r, &d.carry, 0)
            if not among(d.carry.kind[d.carried[slot]], TERMS):
                raise broken()
        elif slot < 3:
            raise broken()
    if r.at != r.end or (d.in_graph and d.last[3] == UNSET):
        raise broken()
    return 0


cdef void forget_stream(DecoderState* d) noexcept nogil:
    """Forget the lookup entries of a stream and the terms that its next row could repeat; only options may come next."""
    cdef int slot
    for slot in range(TABLES):
        free_entries(&d.t.tables[slot])
    clear_arena(&d.carry)
    d.t.last_name = d.t.last_prefix = 0
    d.in_graph = False
    for slot in range(4):
        d.last[slot] = UNSET
    d.allowed = 1 << pb.RDF_STREAM_ROW_OPTIONS


cdef int begin_stream(DecoderState* d) noexcept nogil:
    """Take the options in `d.next`, those of the first stream or of another that was joined to it: nothing that was
    before counts any more."""
    if d.has_header:
        if d.transaction == OPEN:
            return fail(&d.fault, OPEN_PATCH, NULL)
        # As at the end of its stream.
        if d.in_patch and add_operation(d, OP_PUNCTUATION, NO_TERM, NO_TERM, NO_TERM, NO_TERM) != OK:
            return d.fault.code
        forget_stream(d)
    d.header = d.next
    d.has_header = True
    d.at_keyframe = False
    d.columnar = d.header.version == COLUMN_VERSION
    if d.columnar:
        if make_columns(d) != OK:
            return fail(&d.fault, NO_MEMORY, NULL)
        d.columns.stage = 0
        d.columns.restated = True
        d.has_columns = False
    return OK


cdef int make_columns(DecoderState* d) noexcept nogil:
    if d.columns == NULL:
        d.columns = <Columns*>calloc(1, sizeof(Columns))
    return OK if d.columns != NULL else NO_MEMORY
