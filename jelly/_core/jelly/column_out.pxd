"""A column of the frame being written, value by value (Jelly-RDF 1.2): runs, kinds, ids. Knows no table."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memmove

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport NO_MEMORY, OK
from jelly._core.base.protobuf cimport MAX_VARINT32, Writer, len_varint, put_byte, put_bytes, put_varint, reserve
from jelly._core.jelly.column_state cimport VALUE_IRI
from jelly._core.jelly.encoder_state cimport ColumnMemo, ColumnOut

cdef enum:
    # No run value: unbound cells, or nothing yet.
    VALUE_UNBOUND = -1
    VALUE_NONE = -2


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


cdef inline int spread_kinds(ColumnOut* c) noexcept nogil:
    """Values of a second kind come: write out the kinds of the values so far."""
    cdef int64_t i
    if reserve(&c.kinds, c.n // 4 + 1) < 0:
        return NO_MEMORY
    for i in range(c.n // 4):
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


cdef inline int spread_prefixes(ColumnOut* c, int64_t n) noexcept nogil:
    """A second prefix comes: write out that of the `n` IRIs so far."""
    cdef int64_t i
    if reserve(&c.prefix_ids, n + MAX_VARINT32 + 1) < 0:
        return NO_MEMORY
    put_varint(&c.prefix_ids, c.one_prefix)
    for i in range(n - 1):
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


cdef inline int spread_literal_kinds(ColumnOut* c, int64_t n) noexcept nogil:
    cdef int64_t i
    if reserve(&c.literal_kinds, n * len_varint(c.one_literal_kind)) < 0:
        return NO_MEMORY
    for i in range(n):
        put_varint(&c.literal_kinds, c.one_literal_kind)
    c.literal_kinds_differ = True
    return OK


cdef inline int put_string(Writer* w, uint8_t tag, BatchData* b, int32_t term) noexcept nogil:
    cdef int64_t n = b.start[term + 1] - b.start[term]
    if reserve(w, n + 2 * MAX_VARINT32) < 0:
        return NO_MEMORY
    put_byte(w, tag)
    put_varint(w, n)
    put_bytes(w, b.text + b.start[term], n)
    return OK


cdef inline int put_inner_iri(Writer* w, uint32_t tag, int32_t* last_prefix, int32_t* last_name, ColumnMemo* memo) noexcept nogil:
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


cdef inline int put_length(Writer* w, int64_t begin) noexcept nogil:
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
