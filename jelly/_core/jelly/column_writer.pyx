"""The columns of a frame (Jelly-RDF 1.2): terms as runs, kinds, ids and strings."""

from libc.stdint cimport int8_t, uint32_t
from libc.stdlib cimport free

from jelly._core.base.batch cimport NO_TERM
from jelly._core.base.fault cimport OK
from jelly._core.base.kinds cimport COMPOUND, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TYPED, among
from jelly._core.base.protobuf cimport (
    Writer, insert_length, len_field, write_byte, write_bytes, write_field, write_varint,
)
from jelly._core.jelly.column_schema cimport (
    COLUMN_BNODES, COLUMN_DIRECTIONS, COLUMN_FIELDS, COLUMN_KINDS, COLUMN_LANGTAGS, COLUMN_LAYOUTS,
    COLUMN_LEX_VALUES, COLUMN_LITERAL_KINDS, COLUMN_NAME_IDS, COLUMN_PREFIX_IDS, COLUMN_TRIPLES, VALUE_BNODE, VALUE_IRI,
    VALUE_LITERAL, VALUE_TRIPLE,
)
from jelly._core.jelly.encoder_state cimport ColumnEncoder, ColumnMemo
from jelly._core.jelly.term_out cimport is_repeated, write_iri, write_literal, write_text

cdef enum:
    # No run value: unbound cells, or nothing yet.
    VALUE_UNBOUND = -1
    VALUE_NONE = -2
    # Lists of strings and triple terms, by field: they are kept as whole fields.
    WHOLE_FIELDS = 1 << COLUMN_LEX_VALUES | 1 << COLUMN_LANGTAGS | 1 << COLUMN_BNODES | 1 << COLUMN_TRIPLES


# ---- run values

cdef void clear_column(ColumnOut* c) noexcept nogil:
    """Begin the column of another frame, where its ids count anew."""
    cdef int field
    for field in range(COLUMN_FIELDS):
        c.lists[field].n = 0
    c.n = c.run = c.skip = 0
    c.of[0] = c.of[1] = c.of[2] = c.of[3] = 0
    c.mixed = c.prefixes_differ = c.literal_kinds_differ = False
    c.kind = VALUE_NONE
    c.last.name = c.last.prefix = c.inner.name = c.inner.prefix = 0


cdef bint column_failed(ColumnOut* c) noexcept nogil:
    """Whether there was no memory for something."""
    cdef int field
    for field in range(COLUMN_FIELDS):
        if c.lists[field].failed:
            return True
    return False


cdef void free_column(ColumnOut* c) noexcept nogil:
    cdef int field
    for field in range(COLUMN_FIELDS):
        free(c.lists[field].buf)


cdef inline void end_run(ColumnOut* c) noexcept nogil:
    """Put the run that goes on into the layout."""
    cdef Writer* w = &c.lists[COLUMN_LAYOUTS]
    cdef int64_t length
    cdef int unbound = c.kind == VALUE_UNBOUND
    if c.run == 1 and not unbound:
        c.skip += 1
    elif c.run > 0:
        length = c.run - 1 if unbound else c.run - 2
        write_varint(w, <uint32_t>(c.skip << 5) | <uint32_t>unbound << 4 | <uint32_t>min(length, 15))
        if length >= 15:
            write_varint(w, length - 15)
        c.skip = 0
    c.run = 0


cdef void spread_kinds(ColumnOut* c) noexcept nogil:
    """Values of a second kind come: write out the kinds of the values so far."""
    cdef Writer* w = &c.lists[COLUMN_KINDS]
    cdef int64_t _
    for _ in range(c.n // 4):
        write_byte(w, <uint8_t>(c.first_kind * 0x55))
    if c.n % 4 != 0:
        write_byte(w, <uint8_t>((c.first_kind * 0x55) & ((1 << 2 * (c.n % 4)) - 1)))
    c.mixed = True


cdef inline void put_kind(ColumnOut* c, int kind) noexcept nogil:
    """Begin a run with a value of this kind."""
    cdef Writer* w = &c.lists[COLUMN_KINDS]
    if c.n == 0:
        c.first_kind = kind
    elif not c.mixed and kind != c.first_kind:
        spread_kinds(c)
    if c.mixed:
        if c.n % 4 == 0:
            write_byte(w, <uint8_t>kind)
        elif not w.failed:
            w.buf[w.n - 1] |= <uint8_t>(kind << 2 * (c.n % 4))
    c.n += 1
    c.of[kind] += 1
    c.kind = kind
    c.run = 1


cdef void spread_prefixes(ColumnOut* c, int64_t n) noexcept nogil:
    """A second prefix comes: write out that of the `n` IRIs so far."""
    cdef int64_t _
    write_varint(&c.lists[COLUMN_PREFIX_IDS], c.one_prefix)
    for _ in range(n - 1):
        write_byte(&c.lists[COLUMN_PREFIX_IDS], 0)
    c.prefixes_differ = True


cdef inline void put_iri_value(ColumnOut* c, int32_t name, int32_t prefix) noexcept nogil:
    write_varint(&c.lists[COLUMN_NAME_IDS], 0 if name == c.last.name + 1 else name)
    if c.of[VALUE_IRI] == 0:
        c.one_prefix = prefix
    elif not c.prefixes_differ and prefix != c.one_prefix:
        spread_prefixes(c, c.of[VALUE_IRI])
    if c.prefixes_differ:
        write_varint(&c.lists[COLUMN_PREFIX_IDS], 0 if prefix == c.last.prefix else prefix)
    c.last.name = name
    c.last.prefix = prefix
    put_kind(c, VALUE_IRI)


cdef void spread_literal_kinds(ColumnOut* c, int64_t n) noexcept nogil:
    cdef int64_t _
    for _ in range(n):
        write_varint(&c.lists[COLUMN_LITERAL_KINDS], c.one_literal_kind)
    c.literal_kinds_differ = True


cdef inline int put_literal_value(EncoderState* e, ColumnOut* c, int kind, int32_t term) noexcept nogil:
    cdef ColumnMemo* memo = &e.columns.memo[e.b.aux[term]] if kind != KIND_LITERAL else NULL
    cdef uint32_t literal_kind = 0
    if kind == KIND_TYPED:
        literal_kind = 2 * <uint32_t>memo.ids.datatype - 1
    elif kind == KIND_LANG:
        literal_kind = 2 * <uint32_t>memo.ids.name
    if c.of[VALUE_LITERAL] == 0:
        c.one_literal_kind = literal_kind
    elif not c.literal_kinds_differ and literal_kind != c.one_literal_kind:
        spread_literal_kinds(c, c.of[VALUE_LITERAL])
    if c.literal_kinds_differ:
        write_varint(&c.lists[COLUMN_LITERAL_KINDS], literal_kind)
    put_kind(c, VALUE_LITERAL)
    return write_text(e, &c.lists[COLUMN_LEX_VALUES], COLUMN_LEX_VALUES << 3 | 2, term)


cdef int put_triple(EncoderState* e, ColumnOut* c, uint32_t tag, int32_t term) noexcept nogil:
    """An RdfTripleTerm, with a state of ids of its own; its fields have the numbers of those of an RdfTriple."""
    cdef Writer* w = &c.lists[COLUMN_TRIPLES]
    cdef int32_t* terms = &e.b.quoted[3 * e.b.aux[term]]
    cdef ColumnMemo* memo
    cdef int slot, kind
    cdef int status = OK
    cdef int64_t begin
    cdef uint32_t first
    write_varint(w, tag)
    write_byte(w, 0)
    begin = w.n
    for slot in range(3):
        kind = e.b.kind[terms[slot]]
        first = (4 * slot + 1) << 3 | 2
        if kind == KIND_IRI:
            memo = &e.columns.memo[terms[slot]]
            write_iri(w, first, &c.inner, memo.ids.prefix, memo.ids.name)
        elif kind == KIND_BNODE:
            status = write_text(e, w, first + 8, terms[slot])
        elif among(kind, COMPOUND):
            status = put_triple(e, c, first + 24, terms[slot])
        else:
            status = write_literal(
                e, w, first + 16, terms[slot],
                e.columns.memo[e.b.aux[terms[slot]]].ids.datatype if kind == KIND_TYPED else 0,
            )
        if status != OK:
            return status
    insert_length(w, begin)
    return OK


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
    cdef int kind
    cdef int status = OK
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
                end_run(c)
                c.kind = VALUE_UNBOUND
                c.run = 1
            last = term
            continue
        kind = kinds[term]
        if kind == KIND_IRI:
            memo = &k.memo[term]
            if c.kind == VALUE_IRI and c.last.name == memo.ids.name and c.last.prefix == memo.ids.prefix:
                c.run += 1
                last = term
                continue
            end_run(c)
            put_iri_value(c, memo.ids.name, memo.ids.prefix)
        elif is_repeated(e, slot, last, term):
            c.run += 1
            last = term
            continue
        else:
            end_run(c)
            if kind == KIND_BNODE:
                put_kind(c, VALUE_BNODE)
                status = write_text(e, &c.lists[COLUMN_BNODES], COLUMN_BNODES << 3 | 2, term)
            elif among(kind, COMPOUND):
                put_kind(c, VALUE_TRIPLE)
                status = put_triple(e, c, COLUMN_TRIPLES << 3 | 2, term)
            else:
                status = put_literal_value(e, c, kind, term)
            if status != OK:
                return status
        last = term
    e.last[slot] = last
    return OK


cdef void put_lists(EncoderState* e, int slot, uint8_t tag) noexcept nogil:
    """A column, as a field with `tag` in `e.body`."""
    cdef ColumnOut* c = &e.columns.of[slot]
    cdef Writer* w = &e.body
    cdef Writer* part
    cdef int64_t size = 0
    cdef int field
    if not c.literal_kinds_differ and c.of[VALUE_LITERAL] > 0 and c.one_literal_kind > 0:
        write_varint(&c.lists[COLUMN_LITERAL_KINDS], c.one_literal_kind)
    if not c.prefixes_differ and c.of[VALUE_IRI] > 0 and c.one_prefix > 0:
        write_varint(&c.lists[COLUMN_PREFIX_IDS], c.one_prefix)
    # Unbound cells at the end go without saying, as does that no tag has a direction.
    if c.kind != VALUE_UNBOUND:
        end_run(c)
    if not e.columns.directed:
        c.lists[COLUMN_DIRECTIONS].n = 0
    for field in range(COLUMN_FIELDS):
        part = &c.lists[field]
        size += part.n if part.n == 0 or 1 << field & WHOLE_FIELDS else len_field(part.n)
    write_byte(w, tag)
    write_varint(w, size)
    for field in range(COLUMN_FIELDS):
        part = &c.lists[field]
        if 1 << field & WHOLE_FIELDS:
            write_bytes(w, part.buf, part.n)
        elif part.n > 0:
            write_field(w, <uint8_t>(field << 3 | 2), part.buf, part.n)
