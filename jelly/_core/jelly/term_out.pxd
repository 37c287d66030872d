"""Terms as rows and columns write them: lookup entries, IRIs and literals."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport CARRIED, BatchData, hash_bytes, len_direction, len_of, load_u64, put_direction, same_bytes
from jelly._core.base.batch_concat cimport same_term
from jelly._core.base.fault cimport DATATYPES_OFF, OK, TEXT_LIMIT, fail
from jelly._core.base.kinds cimport KIND_LANG, KIND_TEXT
from jelly._core.base.protobuf cimport (
    MAX_VARINT32, Writer, len_field, len_number, put_byte, put_bytes, put_field, put_number, put_varint, reserve,
)
from jelly._core.jelly.column_schema cimport LITERAL_DIRECTION
from jelly._core.jelly.encoder_state cimport (
    BYTES, MAX_TEXT, RECENT, ColumnEncoder, EncoderState, EntriesOut, LastIds, TermMemo,
)
from jelly._core.jelly.lookup cimport DATATYPES, NAMES, PREFIXES, Lru, find_entry, is_current, touch

cdef enum:
    # Not faults: why a row cannot be written as it is, or not in this frame.
    ROW_FULL = 1  # a table has no entry left, or the frame not so many bytes: `full` tells
    ROW_RESTATE = 2  # it needs another RDF version

cdef enum:
    # Bytes that a run value or entry of a frame in columns takes at the most beside its text: ids, kind, its part of the
    # layout.
    VALUE_COST = 16


cdef int32_t new_entry(EncoderState* e, int which, const uint8_t* text, int64_t n, uint32_t hash) noexcept nogil
cdef void put_entries(EncoderState* e, EntriesOut* out) noexcept nogil
cdef void clear_entries(EntriesOut* out) noexcept nogil
cdef void free_entries(EntriesOut* out) noexcept nogil


cdef inline int64_t len_text(EncoderState* e, int32_t term) noexcept nogil:
    return len_of(e.b, term)


# ---- lookup entries

cdef inline bint take_cost(EncoderState* e, int64_t n) noexcept nogil:
    """Count `n` bytes of a frame in columns; False if it has rows and would become too long."""
    cdef ColumnEncoder* k = &e.columns
    if e.frame_bytes > 0 and k.rows > 0 and k.cost + n > e.frame_bytes:
        k.full = BYTES
        return False
    k.cost += n
    return True


cdef inline int32_t entry_id(EncoderState* e, int which, const uint8_t* text, int64_t n) noexcept nogil:
    """The id of the entry with this text, made and written if need be, and used by the present statement or frame. 0: it
    uses all there are, or the frame is full."""
    cdef Lru* table = &e.tables[which]
    cdef uint32_t hash = <uint32_t>hash_bytes(text, n, 0)
    cdef int32_t id = find_entry(table, text, n, hash)
    if id == 0:
        return new_entry(e, which, text, n, hash)
    touch(table, id, e.statement)
    return id


cdef inline int32_t prefix_id(EncoderState* e, const uint8_t* text, int64_t n) noexcept nogil:
    """`entry_id` of a prefix. Most come again: those that were found last are not hashed."""
    cdef Lru* table = &e.tables[PREFIXES]
    cdef int32_t* id = &e.recent[n & (RECENT - 1)]
    if 0 < id[0] <= table.n_used and table.entries[id[0]].n == n and same_bytes(table.entries[id[0]].text, text, n):
        touch(table, id[0], e.statement)
    else:
        id[0] = entry_id(e, PREFIXES, text, n)
    return id[0]


cdef inline bint use_ids(EncoderState* e, TermMemo* memo) noexcept nogil:
    """Whether the entries of an IRI are still where they were found; the present statement or frame uses them then."""
    cdef Lru* names = &e.tables[NAMES]
    cdef Lru* prefixes = &e.tables[PREFIXES]
    if memo.name <= 0 or not is_current(names, memo.name, memo.name_serial):
        return False
    if memo.prefix != 0:
        if not is_current(prefixes, memo.prefix, memo.prefix_serial):
            return False
        touch(prefixes, memo.prefix, e.statement)
    touch(names, memo.name, e.statement)
    return True


# ---- terms

cdef inline int64_t after_last(const uint8_t* text, int64_t n, uint64_t byte) noexcept nogil:
    """Bytes of a text up to the last one of these, it included; 0 without one. Eight are looked at in one step; which of
    them it is is computed, as a branch there is often mispredicted."""
    cdef uint64_t ones = <uint64_t>0x0101010101010101
    cdef uint64_t low = ones * 0x7F
    cdef uint64_t x
    if n >= 8:
        while True:
            x = load_u64(text + n - 8) ^ (ones * byte)
            if (x - ones) & ~x & (ones << 7):
                # The high bits of the bytes that are equal, then of all bytes up to the last of them, counted.
                x = ~((x & low) + low | x | low)
                x |= x >> 8
                x |= x >> 16
                x |= x >> 32
                return n - 8 + <int64_t>((x >> 7) * ones >> 56)
            if n == 8:
                return 0
            n = max(n - 8, 8)
    while n > 0 and text[n - 1] != byte:
        n -= 1
    return n


cdef inline int64_t split_iri(const uint8_t* text, int64_t n) noexcept nogil:
    """Bytes of the prefix: up to the last #, else the last /, else the last colon."""
    cdef int64_t cut = after_last(text, n, 35)
    if cut == 0:
        cut = after_last(text, n, 47)
    return after_last(text, n, 58) if cut == 0 else cut


cdef inline int find_ids(EncoderState* e, TermMemo* memo, int32_t term, bint prefixed) noexcept nogil:
    """Find or make the entries of an IRI, in two parts if `prefixed`. OK, ROW_FULL or a fault."""
    cdef const uint8_t* text = e.b.text + e.b.start[term]
    cdef int64_t n = len_text(e, term)
    cdef int64_t cut = 0
    memo.name = memo.prefix = 0
    if prefixed:
        cut = 0 if e.whole_names else split_iri(text, n)
        memo.prefix = prefix_id(e, text, cut)
        if memo.prefix <= 0:
            return ROW_FULL if memo.prefix == 0 else e.fault.code
        memo.prefix_serial = e.tables[PREFIXES].entries[memo.prefix].serial
    memo.name = entry_id(e, NAMES, text + cut, n - cut)
    if memo.name <= 0:
        return ROW_FULL if memo.name == 0 else e.fault.code
    memo.name_serial = e.tables[NAMES].entries[memo.name].serial
    return OK


cdef inline int32_t find_datatype_id(EncoderState* e, TermMemo* memo, int32_t term) noexcept nogil:
    """The id of the entry of a datatype, which is made if need be; 0 for ROW_FULL, or a negative code."""
    cdef Lru* table = &e.tables[DATATYPES]
    if memo.datatype > 0 and is_current(table, memo.datatype, memo.datatype_serial):
        touch(table, memo.datatype, e.statement)
        return memo.datatype
    if table.size == 0:
        return fail(&e.fault, DATATYPES_OFF, NULL)
    memo.datatype = entry_id(e, DATATYPES, e.b.text + e.b.start[term], len_text(e, term))
    if memo.datatype > 0:
        memo.datatype_serial = table.entries[memo.datatype].serial
    return memo.datatype


cdef inline bint is_repeated(EncoderState* e, int slot, int32_t last, int32_t term) noexcept nogil:
    """Whether a term equals the last one of its slot, though it may have another id. Kind and length tell most terms
    apart, without a call."""
    cdef BatchData* b = e.b
    if last == term:
        return True
    if last == CARRIED:
        return same_term(&e.carry, e.carried[slot], b, term)
    if last < 0 or term < 0 or b.kind[last] != b.kind[term]:
        return False
    if len_of(b, last) != len_of(b, term):
        return False
    return same_term(b, last, b, term)


cdef inline int write_text(EncoderState* e, Writer* w, uint32_t tag, int32_t term) noexcept nogil:
    """A field with the text of a term."""
    cdef int64_t n = len_text(e, term)
    if n > MAX_TEXT:
        return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
    if reserve(w, n + 2 * MAX_VARINT32) == 0:
        put_varint(w, tag)
        put_varint(w, n)
        put_bytes(w, e.b.text + e.b.start[term], n)
    return OK


cdef inline void write_iri(Writer* w, uint32_t tag, LastIds* last, int32_t prefix, int32_t name) noexcept nogil:
    """An RdfIri: the prefix is left out where it is that of the last IRI, the name where it is the one after the last."""
    cdef int64_t wire_prefix = 0 if prefix == last.prefix else prefix
    cdef int64_t wire_name = 0 if name == last.name + 1 else name
    last.prefix = prefix
    last.name = name
    if reserve(w, 4 + 2 * MAX_VARINT32) < 0:
        return
    put_varint(w, tag)
    put_byte(w, <uint8_t>(len_number(wire_prefix) + len_number(wire_name)))
    put_number(w, pb.RDF_IRI_PREFIX_ID_TAG, wire_prefix)
    put_number(w, pb.RDF_IRI_NAME_ID_TAG, wire_name)


cdef inline int write_literal(EncoderState* e, Writer* w, uint32_t tag, int32_t term, int32_t datatype) noexcept nogil:
    """An RdfLiteral, with the lookup id of its datatype (0: none). Jelly 1.0 and 1.1 have no base direction: there it goes
    with the language tag."""
    cdef BatchData* b = e.b
    cdef int64_t n = len_text(e, term)
    cdef int64_t n_tag = 0
    cdef int64_t n_joined = 0
    cdef int direction = 0
    cdef int32_t aux = b.aux[term]
    cdef int64_t size = (len_field(n) if n else 0) + len_number(datatype)
    if b.kind[term] == KIND_LANG:
        n_tag = len_text(e, aux)
        if e.columnar:
            direction = b.kind[aux] - KIND_TEXT
        else:
            n_joined = len_direction(b.kind[aux])
        size += len_field(n_tag + n_joined) + len_number(direction)
    if size > MAX_TEXT:
        return fail(&e.fault, TEXT_LIMIT, NULL, MAX_TEXT)
    if reserve(w, size + 2 * MAX_VARINT32) < 0:
        return OK
    put_varint(w, tag)
    put_varint(w, size)
    if n:
        put_field(w, pb.RDF_LITERAL_LEX_TAG, b.text + b.start[term], n)
    if b.kind[term] == KIND_LANG:
        put_byte(w, pb.RDF_LITERAL_LANGTAG_TAG)
        put_varint(w, n_tag + n_joined)
        put_bytes(w, b.text + b.start[aux], n_tag)
        if n_joined:
            put_direction(w.buf + w.n, b.kind[aux])
            w.n += n_joined
        put_number(w, LITERAL_DIRECTION, direction)
    else:
        put_number(w, pb.RDF_LITERAL_DATATYPE_TAG, datatype)
    return OK
