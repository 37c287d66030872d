"""The parts of a frame of columns (Jelly-RDF 1.2): packed lookup entries, and terms as runs, kinds, ids and strings."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memmove

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TRIPLE, KIND_TYPED, NO_TERM, BatchData,
)
from jelly._core.base.fault cimport NO_MEMORY, OK, fail
from jelly._core.base.protobuf cimport (
    MAX_VARINT32, Writer, len_field, len_varint, put_byte, put_bytes, put_varint, reserve,
)
from jelly._core.jelly.column_state cimport (
    BATCH_SUBJECTS, COLUMN_BNODES, COLUMN_DIRECTIONS, COLUMN_KINDS, COLUMN_LAYOUTS, COLUMN_LEX_VALUES,
    COLUMN_LITERAL_KINDS, COLUMN_NAME_IDS, COLUMN_PREFIX_IDS, COLUMN_TRIPLES, ENTRY_ID, ENTRY_VALUES, LITERAL_DATATYPE,
    LITERAL_DIRECTION, LITERAL_LANGTAG, LITERAL_LEX, VALUE_BNODE, VALUE_IRI, VALUE_LITERAL, VALUE_TRIPLE,
)
from jelly._core.jelly.encode cimport is_repeated
from jelly._core.jelly.encoder_state cimport ColumnEncoder, ColumnMemo, ColumnOut, EncoderState, EntriesOut
from jelly._core.jelly.lookup cimport Lru

cdef enum:
    # No run value: unbound cells, or nothing yet.
    VALUE_UNBOUND = -1
    VALUE_NONE = -2


# ---- lookup entries

cdef int close_entries(EntriesOut* out) noexcept nogil:
    """End the packed entry that goes on."""
    cdef int64_t size
    if not out.open:
        return OK
    size = out.values.n + (1 + len_varint(out.id) if out.id else 0)
    if reserve(&out.closed, size + 3 * MAX_VARINT32) < 0:
        return NO_MEMORY
    put_varint(&out.closed, size)
    if out.id:
        put_byte(&out.closed, ENTRY_ID)
        put_varint(&out.closed, out.id)
    put_bytes(&out.closed, out.values.buf, out.values.n)
    out.values.n = 0
    out.open = False
    return OK


cdef int put_packed(EntriesOut* out, uint8_t tag, Lru* table, int32_t id, const uint8_t* text, int64_t n) noexcept nogil:
    """A new entry: a further value of the packed entry if its id is the next one, else the first of another."""
    if not out.open or id != table.last + 1:
        if close_entries(out) != OK or reserve(&out.closed, 1) < 0:
            return NO_MEMORY
        put_byte(&out.closed, tag)
        out.id = 0 if id == table.last + 1 else id
        out.open = True
    table.last = id
    if reserve(&out.values, n + 2 * MAX_VARINT32) < 0:
        return NO_MEMORY
    put_byte(&out.values, ENTRY_VALUES)
    put_varint(&out.values, n)
    put_bytes(&out.values, text, n)
    return OK


cdef int put_entries(EncoderState* e, EntriesOut* out) noexcept nogil:
    if close_entries(out) != OK or reserve(&e.body, out.closed.n) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    put_bytes(&e.body, out.closed.buf, out.closed.n)
    return OK


cdef void clear_entries(EntriesOut* out) noexcept nogil:
    out.closed.n = out.values.n = 0
    out.open = False


cdef void free_entries(EntriesOut* out) noexcept nogil:
    free(out.closed.buf)
    free(out.values.buf)


# ---- run values

cdef void clear_column(ColumnOut* c) noexcept nogil:
    """Begin the column of another frame, where its ids count anew."""
    c.kinds.n = c.layouts.n = c.name_ids.n = c.prefix_ids.n = c.strings.n = c.literal_kinds.n = 0
    c.bnodes.n = c.triples.n = c.n = c.run = c.skip = 0
    c.of[0] = c.of[1] = c.of[2] = c.of[3] = 0
    c.mixed = c.prefixes_differ = c.literal_kinds_differ = False
    c.kind = VALUE_NONE
    c.last_name = c.last_prefix = c.inner_name = c.inner_prefix = 0


cdef void free_column(ColumnOut* c) noexcept nogil:
    free(c.kinds.buf)
    free(c.layouts.buf)
    free(c.name_ids.buf)
    free(c.prefix_ids.buf)
    free(c.strings.buf)
    free(c.literal_kinds.buf)
    free(c.bnodes.buf)
    free(c.triples.buf)


cdef inline int end_run(ColumnOut* c) noexcept nogil:
    """Put the run that goes on into the layout."""
    cdef int64_t length
    cdef inline int unbound = c.kind == VALUE_UNBOUND
    if c.run == 1 and not unbound:
        c.skip += 1
    elif c.run > 0:
        if reserve(&c.layouts, 2 * MAX_VARINT32) < 0:
            return NO_MEMORY
        length = c.run - 1 if unbound else c.run - 2
        put_varint(&c.layouts, <uint32_t>(c.skip << 5) | <uint32_t>unbound << 4 | <uint32_t>min(length, 15))
        if length >= 15:
            put_varint(&c.layouts, length - 15)
        c.skip = 0
    c.run = 0
    return OK


cdef int spread_kinds(ColumnOut* c) noexcept nogil:
    """Values of a second kind come: write out the kinds of the values so far."""
    cdef int64_t _
    if reserve(&c.kinds, c.n // 4 + 1) < 0:
        return NO_MEMORY
    for _ in range(c.n // 4):
        put_byte(&c.kinds, <uint8_t>(c.first_kind * 0x55))
    if c.n % 4 != 0:
        put_byte(&c.kinds, <uint8_t>((c.first_kind * 0x55) & ((1 << 2 * (c.n % 4)) - 1)))
    c.mixed = True
    return OK


cdef inline int put_kind(ColumnOut* c, int kind) noexcept nogil:
    """Begin a run with a value of this kind."""
    if c.n == 0:
        c.first_kind = kind
    elif not c.mixed and kind != c.first_kind and spread_kinds(c) != OK:
        return NO_MEMORY
    if c.mixed:
        if c.n % 4 == 0:
            if reserve(&c.kinds, 1) < 0:
                return NO_MEMORY
            put_byte(&c.kinds, <uint8_t>kind)
        else:
            c.kinds.buf[c.kinds.n - 1] |= <uint8_t>(kind << 2 * (c.n % 4))
    c.n += 1
    c.of[kind] += 1
    c.kind = kind
    c.run = 1
    return OK


cdef int spread_prefixes(ColumnOut* c, int64_t n) noexcept nogil:
    """A second prefix comes: write out that of the `n` IRIs so far."""
    cdef int64_t _
    if reserve(&c.prefix_ids, n + MAX_VARINT32 + 1) < 0:
        return NO_MEMORY
    put_varint(&c.prefix_ids, c.one_prefix)
    for _ in range(n - 1):
        put_byte(&c.prefix_ids, 0)
    c.prefixes_differ = True
    return OK


cdef inline int put_iri_value(ColumnOut* c, int32_t name, int32_t prefix) noexcept nogil:
    if reserve(&c.name_ids, MAX_VARINT32) < 0:
        return NO_MEMORY
    put_varint(&c.name_ids, 0 if name == c.last_name + 1 else name)
    c.last_name = name
    if c.of[VALUE_IRI] == 0:
        c.one_prefix = prefix
    elif not c.prefixes_differ and prefix != c.one_prefix and spread_prefixes(c, c.of[VALUE_IRI]) != OK:
        return NO_MEMORY
    if c.prefixes_differ:
        if reserve(&c.prefix_ids, MAX_VARINT32) < 0:
            return NO_MEMORY
        put_varint(&c.prefix_ids, 0 if prefix == c.last_prefix else prefix)
    c.last_prefix = prefix
    return put_kind(c, VALUE_IRI)


cdef int spread_literal_kinds(ColumnOut* c, int64_t n) noexcept nogil:
    cdef int64_t _
    if reserve(&c.literal_kinds, n * len_varint(c.one_literal_kind)) < 0:
        return NO_MEMORY
    for _ in range(n):
        put_varint(&c.literal_kinds, c.one_literal_kind)
    c.literal_kinds_differ = True
    return OK


cdef int put_string(Writer* w, uint8_t tag, BatchData* b, int32_t term) noexcept nogil:
    cdef int64_t n = b.start[term + 1] - b.start[term]
    if reserve(w, n + 2 * MAX_VARINT32) < 0:
        return NO_MEMORY
    put_byte(w, tag)
    put_varint(w, n)
    put_bytes(w, b.text + b.start[term], n)
    return OK


cdef inline int put_literal_value(EncoderState* e, ColumnOut* c, int kind, int32_t term) noexcept nogil:
    cdef ColumnMemo* memo = &e.columns.memo[e.b.aux[term]] if kind != KIND_LITERAL else NULL
    cdef uint32_t literal_kind = 0
    if kind == KIND_TYPED:
        literal_kind = 2 * <uint32_t>memo.datatype - 1
    elif kind == KIND_LANG:
        literal_kind = 2 * <uint32_t>memo.name
    if c.of[VALUE_LITERAL] == 0:
        c.one_literal_kind = literal_kind
    elif not c.literal_kinds_differ and literal_kind != c.one_literal_kind:
        if spread_literal_kinds(c, c.of[VALUE_LITERAL]) != OK:
            return NO_MEMORY
    if c.literal_kinds_differ:
        if reserve(&c.literal_kinds, MAX_VARINT32) < 0:
            return NO_MEMORY
        put_varint(&c.literal_kinds, literal_kind)
    if put_string(&c.strings, COLUMN_LEX_VALUES << 3 | 2, e.b, term) != OK:
        return NO_MEMORY
    return put_kind(c, VALUE_LITERAL)


# ---- triple terms

cdef int put_inner_iri(Writer* w, uint32_t tag, int32_t* last_prefix, int32_t* last_name, ColumnMemo* memo) noexcept nogil:
    """An RdfIri, which has a state of ids of its own."""
    cdef int64_t prefix = 0 if memo.prefix == last_prefix[0] else memo.prefix
    cdef int64_t name = 0 if memo.name == last_name[0] + 1 else memo.name
    if reserve(w, 4 + 2 * MAX_VARINT32) < 0:
        return NO_MEMORY
    put_varint(w, tag)
    put_byte(w, <uint8_t>((1 + len_varint(prefix) if prefix else 0) + (1 + len_varint(name) if name else 0)))
    if prefix:
        put_byte(w, pb.RDF_IRI_PREFIX_ID_TAG)
        put_varint(w, prefix)
    if name:
        put_byte(w, pb.RDF_IRI_NAME_ID_TAG)
        put_varint(w, name)
    last_prefix[0] = memo.prefix
    last_name[0] = memo.name
    return OK


cdef int put_length(Writer* w, int64_t begin) noexcept nogil:
    """Put the length of what has been written since `begin` in front of it."""
    cdef int64_t size = w.n - begin
    cdef inline int more = len_varint(size)
    if reserve(w, more) < 0:
        return NO_MEMORY
    memmove(w.buf + begin + more, w.buf + begin, size)
    w.n = begin
    put_varint(w, size)
    w.n = begin + more + size
    return OK


cdef int put_inner_literal(EncoderState* e, Writer* w, int32_t term) noexcept nogil:
    cdef BatchData* b = e.b
    cdef int32_t aux = b.aux[term]
    cdef int64_t begin
    if reserve(w, MAX_VARINT32) < 0:
        return NO_MEMORY
    put_byte(w, pb.RDF_TRIPLE_O_LITERAL_TAG)
    begin = w.n
    if len_text(e, term) > 0 and put_string(w, LITERAL_LEX, b, term) != OK:
        return NO_MEMORY
    if b.kind[term] == KIND_LANG:
        if put_string(w, LITERAL_LANGTAG, b, aux) != OK or reserve(w, 2) < 0:
            return NO_MEMORY
        if b.kind[aux] > KIND_TEXT:
            put_byte(w, LITERAL_DIRECTION)
            put_byte(w, <uint8_t>(b.kind[aux] - KIND_TEXT))
    elif b.kind[term] == KIND_TYPED:
        if reserve(w, 1 + MAX_VARINT32) < 0:
            return NO_MEMORY
        put_byte(w, LITERAL_DATATYPE)
        put_varint(w, e.columns.memo[aux].datatype)
    return put_length(w, begin)


cdef int put_triple(EncoderState* e, ColumnOut* c, uint32_t tag, int32_t term) noexcept nogil:
    """An RdfTripleTerm; the fields of its terms have the numbers of those of an RdfTriple."""
    cdef Writer* w = &c.triples
    cdef int32_t* terms = &e.b.quoted[3 * e.b.aux[term]]
    cdef int slot, kind, status
    cdef int64_t begin
    cdef uint32_t first
    if reserve(w, 2 * MAX_VARINT32) < 0:
        return NO_MEMORY
    put_varint(w, tag)
    begin = w.n
    for slot in range(3):
        kind = e.b.kind[terms[slot]]
        first = (4 * slot + 1) << 3 | 2
        if kind == KIND_IRI:
            status = put_inner_iri(w, first, &c.inner_prefix, &c.inner_name, &e.columns.memo[terms[slot]])
        elif kind == KIND_BNODE:
            status = put_string(w, <uint8_t>(first + 8), e.b, terms[slot])
        elif kind == KIND_TRIPLE:
            status = put_triple(e, c, first + 24, terms[slot])
        else:
            status = put_inner_literal(e, w, terms[slot])
        if status != OK:
            return status
    return put_length(w, begin)


# ---- the column

cdef int put_column(EncoderState* e, int slot, const int32_t* ids, int64_t begin, int64_t end) noexcept nogil:
    """Append the terms of these rows to a column. NULL: the default graph in all of them."""
    cdef ColumnEncoder* k = &e.columns
    cdef ColumnOut* c = &k.of[slot]
    cdef const int8_t* kinds = e.b.kind
    cdef ColumnMemo* memo
    cdef int32_t last = e.last[slot]
    cdef int32_t term = NO_TERM
    cdef int64_t i
    cdef int kind, status
    for i in range(begin, end):
        if ids != NULL:
            term = ids[i]
        if term == last:
            c.run += 1
            continue
        if term == NO_TERM:
            if c.kind == VALUE_UNBOUND:
                c.run += 1
            else:
                if end_run(c) != OK:
                    return fail(&e.fault, NO_MEMORY, NULL)
                c.kind = VALUE_UNBOUND
                c.run = 1
            last = term
            continue
        kind = kinds[term]
        if kind == KIND_IRI:
            memo = &k.memo[term]
            if c.kind == VALUE_IRI and c.last_name == memo.name and c.last_prefix == memo.prefix:
                c.run += 1
                last = term
                continue
            status = end_run(c)
            if status == OK:
                status = put_iri_value(c, memo.name, memo.prefix)
        elif is_repeated(e, slot, last, term):
            c.run += 1
            last = term
            continue
        else:
            status = end_run(c)
            if status != OK:
                pass
            elif kind == KIND_BNODE:
                status = put_string(&c.bnodes, COLUMN_BNODES << 3 | 2, e.b, term)
                if status == OK:
                    status = put_kind(c, VALUE_BNODE)
            elif kind == KIND_TRIPLE:
                status = put_triple(e, c, COLUMN_TRIPLES << 3 | 2, term)
                if status == OK:
                    status = put_kind(c, VALUE_TRIPLE)
            else:
                status = put_literal_value(e, c, kind, term)
        if status != OK:
            return fail(&e.fault, NO_MEMORY, NULL)
        last = term
    e.last[slot] = last
    return OK


cdef inline int64_t len_part(int64_t n) noexcept nogil:
    return len_field(n) if n > 0 else 0


cdef int put_lists(EncoderState* e, int slot) noexcept nogil:
    """A column, as a field of the batch in `e.body`."""
    cdef ColumnEncoder* k = &e.columns
    cdef ColumnOut* c = &k.of[slot]
    cdef Writer* w = &e.body
    cdef int64_t size, n_tags, n_directions
    if not c.literal_kinds_differ and c.of[VALUE_LITERAL] > 0 and c.one_literal_kind > 0:
        if reserve(&c.literal_kinds, MAX_VARINT32) < 0:
            return fail(&e.fault, NO_MEMORY, NULL)
        put_varint(&c.literal_kinds, c.one_literal_kind)
    if not c.prefixes_differ and c.of[VALUE_IRI] > 0 and c.one_prefix > 0:
        if reserve(&c.prefix_ids, MAX_VARINT32) < 0:
            return fail(&e.fault, NO_MEMORY, NULL)
        put_varint(&c.prefix_ids, c.one_prefix)
    # Unbound cells at the end go without saying.
    if c.kind != VALUE_UNBOUND and end_run(c) != OK:
        return fail(&e.fault, NO_MEMORY, NULL)
    n_tags = k.langtags.n if slot == 2 else 0
    n_directions = k.directions.n if slot == 2 and k.directed else 0
    size = (
        len_part(c.kinds.n) + len_part(c.layouts.n) + len_part(c.name_ids.n) + len_part(c.prefix_ids.n) + c.strings.n
        + len_part(c.literal_kinds.n) + n_tags + len_part(n_directions) + c.bnodes.n + c.triples.n
    )
    if reserve(w, size + MAX_VARINT32 + 1) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    put_byte(w, <uint8_t>((BATCH_SUBJECTS + slot) << 3 | 2))
    put_varint(w, size)
    put_part(w, COLUMN_KINDS, c.kinds.buf, c.kinds.n)
    put_part(w, COLUMN_LAYOUTS, c.layouts.buf, c.layouts.n)
    put_part(w, COLUMN_NAME_IDS, c.name_ids.buf, c.name_ids.n)
    put_part(w, COLUMN_PREFIX_IDS, c.prefix_ids.buf, c.prefix_ids.n)
    put_bytes(w, c.strings.buf, c.strings.n)
    put_part(w, COLUMN_LITERAL_KINDS, c.literal_kinds.buf, c.literal_kinds.n)
    put_bytes(w, k.langtags.buf, n_tags)
    put_part(w, COLUMN_DIRECTIONS, k.directions.buf, n_directions)
    put_bytes(w, c.bnodes.buf, c.bnodes.n)
    put_bytes(w, c.triples.buf, c.triples.n)
    return OK
