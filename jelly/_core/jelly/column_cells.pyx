"""The values of a column of Jelly-RDF 1.2, and the cells that its layout makes of them. The layout is not final."""

from cython cimport likely
from libc.stdint cimport int8_t, uint32_t, uint64_t
from libc.string cimport memset

from jelly._core.base.batch cimport CARRIED, NO_TERM, UNSET
from jelly._core.base.constants cimport GRAPH, NO_LIMIT
from jelly._core.base.fault cimport (
    CELLS_LEFT, CELLS_MISSING, KINDS_VALUES, LAYOUT_EXTENSION, LAYOUT_REPEAT, LAYOUT_SKIP, MALFORMED, OK,
    TAG_INDEX, fail,
)
from jelly._core.base.kinds cimport KIND_LANG, KIND_LITERAL, KIND_TYPED
from jelly._core.base.protobuf cimport take_low_bits
from jelly._core.base.utf8 cimport need_utf8
from jelly._core.jelly.column_schema cimport (
    COLUMN_BNODES, COLUMN_LANGTAGS, COLUMN_LAYOUTS, COLUMN_LEX_VALUES, COLUMN_LITERAL_KINDS, COLUMN_NAME_IDS,
    COLUMN_PREFIX_IDS, COLUMN_TRIPLES, Column, Columns, LITERAL_KINDS, LiteralKind, Tag, VALUE_BNODE, VALUE_IRI,
    VALUE_LITERAL,
)
from jelly._core.jelly.decode cimport find_language, find_type, read_bnode, read_quoted
from jelly._core.jelly.lookup cimport NAMES, PREFIXES, DecoderEntry, add_near, find_iri, find_slot
from jelly._core.jelly.unusual cimport checked, repeat_term


# ---- numbers

cdef int64_t take_number32(Reader* r) noexcept nogil:
    """The low 32 bits of a varint, or -1."""
    cdef int64_t value = take_varint(r)
    if value < 0:
        value = take_low_bits(r)
    return value if value < 0 else <uint32_t>value


cdef int64_t next_number(Numbers* list) noexcept nogil:
    """`take_number` where that takes more than two bytes, or begins another part."""
    cdef int64_t tag
    while list.part.at >= list.part.end:
        if list.rest.at >= list.rest.end:
            return -1
        tag = take_varint(&list.rest)
        if tag == list.field << 3:
            return take_number32(&list.rest)
        if tag == (list.field << 3 | WIRE_LEN):
            if take_span(&list.rest, &list.part) < 0:
                return -1
        elif skip_any(&list.rest, tag) < 0:
            return -1
    return take_number32(&list.part)


# ---- literals

cdef int find_literal_kind(DecoderState* d, Column* c, int64_t number, const uint8_t* at, LiteralKind* found) noexcept nogil:
    """The meaning of a number in the list of literal kinds in this Batch."""
    cdef Tag* tag
    cdef int kind = KIND_LITERAL
    found.aux = NO_TERM
    if number & 1:
        found.aux = find_type(d, (number + 1) >> 1, at)
        if found.aux >= 0:
            kind = KIND_TYPED
    elif number >> 1 > c.lists[COLUMN_LANGTAGS].n:
        return fail(&d.fault, TAG_INDEX, at, number >> 1, c.lists[COLUMN_LANGTAGS].n)
    elif number > 0:
        kind = KIND_LANG
        tag = &d.columns.tags[(number >> 1) - 1]
        found.aux = find_language(d, &tag.text, tag.direction, tag.text.at)
    found.kind = <int8_t>kind
    if d.fault.code == OK:
        found.number = number
    return d.fault.code


# ---- run values

cdef int take_iris(DecoderState* d, Column* c, int32_t* out, int64_t n) noexcept nogil:
    """The next IRIs. Ids of one byte of entries that this Batch has met, as nearly all are, take no call."""
    cdef Numbers* names = &c.lists[COLUMN_NAME_IDS]
    cdef Numbers* prefixes = &c.lists[COLUMN_PREFIX_IDS]
    cdef const uint8_t* at = names.part.at
    cdef const uint8_t* end = names.part.end
    cdef const uint8_t* prefix_at = prefixes.part.at
    cdef const uint8_t* prefix_end = prefixes.part.end
    cdef bint many = prefixes.n > 1
    cdef DecoderEntry* slots = d.t.tables[NAMES].slots
    cdef DecoderEntry* slot
    cdef int64_t made = d.t.tables[NAMES].made
    cdef uint64_t batch = d.t.batch
    cdef uint32_t serial = c.serial
    cdef int64_t name = c.last_name
    cdef int64_t value = c.next_prefix
    cdef int32_t* stop = out + n
    c.next_prefix = 0
    while out < stop:
        if many:
            if likely(prefix_at < prefix_end and prefix_at[0] < 0x80):
                value = prefix_at[0]
                prefix_at += 1
            else:
                prefixes.part.at = prefix_at
                value = take_number(prefixes)
                prefix_at = prefixes.part.at
                prefix_end = prefixes.part.end
        if value != 0:
            if value < 0:
                return fail(&d.fault, KINDS_VALUES, c.body.at)
            slot = find_slot(&d.t, PREFIXES, value, &d.fault, prefix_at)
            if slot == NULL:
                return d.fault.code
            c.last_prefix = value
            serial = slot.serial
        if likely(at < end and at[0] < 0x80):
            value = at[0]
            at += 1
        else:
            names.part.at = at
            value = take_number(names)
            at = names.part.at
            end = names.part.end
            if value < 0:
                return fail(&d.fault, KINDS_VALUES, c.body.at)
        name += 1
        if value != 0:
            name = value
        value = 0
        if likely(name <= made):
            slot = &slots[name]
            if likely(slot.batch == batch and slot.prefix[0] == serial):
                out[0] = slot.term[0]
                out += 1
                continue
        d.t.last_prefix = 0
        out[0] = find_iri(&d.t, d.b, c.last_prefix, name, &d.fault, at)
        if out[0] < 0:
            return checked(d, out[0], at)
        out += 1
    names.part.at = at
    prefixes.part.at = prefix_at
    c.serial = serial
    c.last_name = name
    return OK


cdef int take_literals(DecoderState* d, Column* c, int32_t* out, int64_t n) noexcept nogil:
    cdef Numbers* texts = &c.lists[COLUMN_LEX_VALUES]
    cdef Columns* f = d.columns
    cdef LiteralKind* known
    cdef Reader lex
    cdef int64_t number = c.literal_kind
    cdef int64_t i
    cdef int32_t term
    if f.known_in != d.t.batch:
        memset(f.known, 0xFF, sizeof(f.known))
        f.known_in = d.t.batch
    for i in range(n):
        if c.literal_kind < 0:
            number = take_number(&c.lists[COLUMN_LITERAL_KINDS])
        if number < 0 or not take_item(texts, &lex):
            return fail(&d.fault, KINDS_VALUES, c.body.at)
        known = &f.known[number % LITERAL_KINDS]
        if known.number != number and find_literal_kind(d, c, number, lex.at, known) != OK:
            return d.fault.code
        if need_utf8(&lex, &d.fault) != OK:
            return d.fault.code
        term = add_near(d.b, known.kind, known.aux, &lex, texts.rest.end)
        if term < 0:
            return checked(d, term, lex.at)
        out[i] = term
    return OK


cdef int take_others(DecoderState* d, Column* c, int kind, int32_t* out, int64_t n) noexcept nogil:
    """Blank nodes, or triple terms."""
    cdef Numbers* items = &c.lists[COLUMN_BNODES if kind == VALUE_BNODE else COLUMN_TRIPLES]
    cdef Reader item
    cdef int64_t i
    for i in range(n):
        if not take_item(items, &item):
            return fail(&d.fault, KINDS_VALUES, c.body.at)
        if kind == VALUE_BNODE:
            out[i] = read_bnode(d, &item)
        else:
            d.t.last_name = c.inner_name
            d.t.last_prefix = c.inner_prefix
            out[i] = read_quoted(d, &item, 1)
            c.inner_name = d.t.last_name
            c.inner_prefix = d.t.last_prefix
        if out[i] < 0:
            return d.fault.code
    return OK


cdef inline int kind_of_value(Column* c, int64_t value) noexcept nogil:
    return c.kinds.at[value >> 2] >> (value & 3) * 2 & 3


cdef int take_values(DecoderState* d, Column* c, int32_t* out, int64_t n) noexcept nogil:
    """The next `n` run values."""
    cdef int kind = c.kind
    cdef int64_t k = n
    cdef int status
    while n > 0:
        if c.mixed:
            kind = kind_of_value(c, c.value)
            k = 1
            while k < n and kind_of_value(c, c.value + k) == kind:
                k += 1
        if kind == VALUE_IRI:
            status = take_iris(d, c, out, k)
        elif kind == VALUE_LITERAL:
            status = take_literals(d, c, out, k)
        else:
            status = take_others(d, c, kind, out, k)
        if status != OK:
            return status
        c.value += k
        out += k
        n -= k
    return OK


# ---- cells

cdef int take_token(Numbers* layouts, int64_t* skip, int64_t* length, bint* unbound) noexcept nogil:
    """The next token of the layout: values to skip, and cells of the run after them. A code if it is malformed."""
    cdef int64_t token = take_number(layouts)
    cdef int64_t more
    layouts.n -= 1
    if token < 0:
        return MALFORMED
    skip[0] = token >> 5
    unbound[0] = token >> 4 & 1
    length[0] = (token & 15) + 2 - unbound[0]
    if token & 15 != 15:
        return OK
    if layouts.n <= 0:
        return LAYOUT_EXTENSION
    more = take_number(layouts)
    layouts.n -= 1
    length[0] += more
    return OK if more >= 0 else MALFORMED


cdef int64_t count_runs(Numbers layouts) noexcept nogil:
    cdef int64_t n = 0
    cdef int64_t skip, length
    cdef bint unbound
    while layouts.n > 0 and take_token(&layouts, &skip, &length, &unbound) == OK:
        n += 1
    return n


cdef int check_layout(DecoderState* d, int slot) noexcept nogil:
    """Whether the tokens give as many cells as there are rows."""
    cdef Column* c = &d.columns.of[slot]
    cdef Numbers layouts = c.lists[COLUMN_LAYOUTS]
    cdef int64_t rows = d.columns.row_count
    cdef int64_t left = c.n_values
    cdef int64_t cells = 0
    cdef int64_t skip, length
    cdef bint unbound
    cdef bint sparse = slot == GRAPH or d.columns.sparse
    cdef int status
    while layouts.n > 0:
        status = take_token(&layouts, &skip, &length, &unbound)
        if status < 0:
            return fail(&d.fault, status, layouts.part.at, 0, slot)
        if skip > left:
            return fail(&d.fault, LAYOUT_SKIP, layouts.part.at, skip, slot)
        left -= skip
        if unbound:
            if not sparse:
                return fail(&d.fault, CELLS_MISSING, layouts.part.at, rows, slot)
        elif left == 0:
            return fail(&d.fault, LAYOUT_REPEAT, layouts.part.at, 0, slot)
        else:
            left -= 1
        cells += skip + length
        if cells > rows:
            return fail(&d.fault, CELLS_LEFT, layouts.part.at, rows, slot)
    if left > rows - cells:
        return fail(&d.fault, CELLS_LEFT, c.body.at, rows, slot)
    if not sparse and cells + left < rows:
        return fail(&d.fault, CELLS_MISSING, c.body.at, rows, slot)
    return OK


cdef int fill(DecoderState* d, int slot, int32_t* out, int64_t n) noexcept nogil:
    """The next `n` cells of a column. The layout was checked."""
    cdef Column* c = &d.columns.of[slot]
    cdef int32_t* end = out + n
    cdef int32_t* to
    cdef int32_t term
    if c.run > 0 and d.last[slot] == CARRIED and repeat_term(d, slot, c.body.at) < NO_TERM:
        return d.fault.code
    while out < end:
        if c.once > 0:
            n = min(c.once, end - out)
            if take_values(d, c, out, n) != OK:
                return d.fault.code
            c.once -= n
            out += n
        elif c.run == 0 and c.length > 0:
            c.run = c.length
            c.length = 0
            term = NO_TERM
            if not c.unbound and take_values(d, c, &term, 1) != OK:
                return d.fault.code
            d.last[slot] = term
        elif c.run > 0:
            n = min(c.run, end - out)
            c.run -= n
            term = d.last[slot]
            to = out + n
            while out < to:
                out[0] = term
                out += 1
        elif c.lists[COLUMN_LAYOUTS].n > 0:
            take_token(&c.lists[COLUMN_LAYOUTS], &c.once, &c.length, &c.unbound)
        elif c.value < c.n_values:
            c.once = c.n_values - c.value
        else:
            # Those of the rows that are left.
            c.unbound = True
            c.length = NO_LIMIT
    if c.run == 0:
        d.last[slot] = UNSET
    return d.fault.code
