"""Lookup tables: arrays by id for the decoder, LRU tables for the encoder. Only this module interprets an id of 0."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from jelly._core.base.batch cimport NO_TERM, BatchData, add_joined, add_term, same_bytes
from jelly._core.base.fault cimport NAME_ID, NOT_KEYFRAME, Fault, fail
from jelly._core.base.kinds cimport KIND_IRI
from jelly._core.base.protobuf cimport Reader

cdef enum:
    # The lookup tables, which come in this order everywhere; so do the codes of their faults.
    NAMES = 0
    PREFIXES = 1
    DATATYPES = 2
    TABLES = 3

cdef enum:
    # Prefixes under which a name slot remembers the IRIs it built.
    WAYS = 4
    # Bytes of text that the entries of one table may take together.
    MAX_TABLE_BYTES = 1 << 26
    # Places of the index of an LRU table at first, a power of two.
    FIRST_INDEX = 1 << 8
    # Bytes of the first block of short texts and of the largest, and room up to which a text is short.
    FIRST_BLOCK = 1 << 10
    LAST_BLOCK = 1 << 16
    SHORT = 256
    # Bytes that may be read from the beginning of any text.
    AT_ONCE = 64


ctypedef struct Texts:
    # Memory for the texts of a table: short ones side by side in blocks, the first bytes of which lead to the block
    # before. An entry that grows leaves its old place empty: less than three times SHORT in all.
    uint8_t* block
    int32_t size
    int32_t used
    bint long  # there are longer ones, each with memory of its own


cdef inline void copy_at_once(uint8_t* to, const uint8_t* text, int64_t n) noexcept nogil:
    """Copy a text of at most AT_ONCE bytes, with what is after it: without a call that branches by its length."""
    memcpy(to, text, AT_ONCE // 2)
    if n > AT_ONCE // 2:
        memcpy(to + AT_ONCE // 2, text + AT_ONCE // 2, AT_ONCE // 2)


# ---- decoder

ctypedef struct DecoderEntry:
    # One entry, 64 bytes: a cache line.
    uint8_t* text  # NULL: never defined
    int32_t n
    int32_t cap
    uint32_t serial  # new at each assignment
    uint32_t turn
    uint64_t batch  # the Batch in which `term` holds
    uint32_t prefix[WAYS]  # names: serial of the prefix joined to this name, 0 for none
    int32_t term[WAYS]  # term ids; datatypes use the first


ctypedef struct Table:
    DecoderEntry* slots  # 1-based; memory of a numpy array
    int32_t size
    int32_t made  # slots up to this one are set up
    int32_t last  # id of the last entry
    int64_t bytes  # that the texts take
    Texts texts


ctypedef struct Lookup:
    Table tables[TABLES]
    int64_t last_name
    int64_t last_prefix  # 0 until an IRI names a prefix, -1 where a keyframe must name it
    uint32_t serial
    uint64_t batch


cdef int set_entry(Lookup* t, int which, int64_t id, Reader* text, Fault* fault, const uint8_t* at) noexcept nogil
cdef int32_t join_iri(BatchData* b, DecoderEntry* name, DecoderEntry* prefix, uint32_t serial) noexcept nogil
cdef void expect_keyframe(Lookup* t) noexcept nogil
cdef DecoderEntry* set_slots(Table* table, DecoderEntry* slots, int64_t size) noexcept nogil
cdef void free_entries(Table* table) noexcept nogil


cdef inline DecoderEntry* find_slot(Lookup* t, int which, int64_t id, Fault* fault, const uint8_t* at) noexcept nogil:
    """The entry with this id; NULL where it was never defined."""
    cdef Table* table = &t.tables[which]
    if 0 < id <= table.made and table.slots[id].text != NULL:
        return &table.slots[id]
    fail(fault, NAME_ID + which, at, id, table.size)
    return NULL


cdef inline int32_t find_iri(
    Lookup* t, BatchData* b, int64_t prefix_id, int64_t name_id, Fault* fault, const uint8_t* at
) noexcept nogil:
    """The term of the IRI with these wire ids, or a negative code. 0 is the last prefix, and the last name plus 1."""
    cdef DecoderEntry* name
    cdef DecoderEntry* prefix = NULL
    cdef uint32_t serial = 0
    cdef int k
    if name_id == 0:
        name_id = t.last_name + 1
    name = find_slot(t, NAMES, name_id, fault, at)
    if name == NULL:
        return fault.code
    t.last_name = name_id
    if prefix_id != 0:
        prefix = find_slot(t, PREFIXES, prefix_id, fault, at)
        if prefix == NULL:
            return fault.code
        t.last_prefix = prefix_id
    elif t.last_prefix < 0:
        return fail(fault, NOT_KEYFRAME, at)
    elif t.last_prefix > 0:
        prefix = &t.tables[PREFIXES].slots[t.last_prefix]
    if prefix != NULL:
        serial = prefix.serial
    if name.batch == t.batch:
        for k in range(WAYS):
            if name.prefix[k] == serial and name.term[k] >= 0:
                return name.term[k]
    else:
        name.batch = t.batch
        for k in range(WAYS):
            name.term[k] = -1
    return join_iri(b, name, prefix, serial)


cdef inline int32_t add_near(BatchData* b, int kind, int32_t aux, Reader* text, const uint8_t* end) noexcept nogil:
    """`add_term` of a text that is followed by other bytes up to `end`."""
    cdef int64_t n = text.end - text.at
    if n > AT_ONCE or end - text.at < AT_ONCE or b.cap_text - b.n_text < AT_ONCE or b.cap_terms - b.n_terms < 2:
        return add_term(b, kind, aux, text.at, n)
    copy_at_once(b.text + b.n_text, text.at, n)
    b.n_text += n
    return add_term(b, kind, aux, NULL, 0)


cdef inline int32_t find_datatype(Lookup* t, BatchData* b, int64_t id, Fault* fault, const uint8_t* at) noexcept nogil:
    """The term of a datatype, or a negative code."""
    cdef DecoderEntry* slot = find_slot(t, DATATYPES, id, fault, at)
    cdef int32_t term
    if slot == NULL:
        return fault.code
    if slot.batch == t.batch:
        return slot.term[0]
    term = add_term(b, KIND_IRI, NO_TERM, slot.text, slot.n)
    if term >= 0:
        slot.batch = t.batch
        slot.term[0] = term
    return term


# ---- encoder

ctypedef struct LruEntry:
    # One entry of an LRU table. The list runs through `prev` and `next` with entry 0 as its head.
    uint8_t* text
    int32_t n
    int32_t cap
    uint32_t hash
    int32_t prev
    int32_t next
    int32_t chain  # the next one in the same place of the index
    uint32_t serial  # new at each assignment
    int64_t used  # number of the statement that used it last: never evict what the present one uses


ctypedef struct Lru:
    LruEntry* entries  # 1-based; memory of a numpy array
    int32_t* index  # by hash the id of the last entry there, 0 for none; memory of a numpy array
    uint32_t mask  # of the part of the index that is in use: a short stream fills and clears a small part only
    uint32_t most  # of the whole index
    int32_t size
    int32_t n_used
    int32_t made  # entries up to this one are set up
    int32_t last  # id of the last entry written
    uint32_t serial
    Texts texts


cdef int64_t lru_bytes(int32_t size) noexcept nogil
cdef uint8_t* init_lru(Lru* table, uint8_t* memory, int32_t size) noexcept nogil
cdef void forget_lru(Lru* table) noexcept nogil
cdef void free_lru(Lru* table) noexcept nogil
cdef int32_t add_entry(Lru* table, const uint8_t* text, int64_t n, uint32_t hash, int64_t statement) noexcept nogil


cdef inline void touch(Lru* table, int32_t id, int64_t statement) noexcept nogil:
    """Make an entry the most recently used."""
    cdef LruEntry* entries = table.entries
    cdef LruEntry* entry = &entries[id]
    entry.used = statement
    if entries[0].next == id:
        return
    entries[entry.prev].next = entry.next
    entries[entry.next].prev = entry.prev
    entry.prev = 0
    entry.next = entries[0].next
    entries[entry.next].prev = id
    entries[0].next = id


cdef inline int32_t find_entry(Lru* table, const uint8_t* text, int64_t n, uint32_t hash) noexcept nogil:
    """The id of the entry with this text, or 0."""
    cdef int32_t id = table.index[hash & table.mask]
    cdef LruEntry* entry
    while id != 0:
        entry = &table.entries[id]
        if entry.hash == hash and entry.n == n and same_bytes(entry.text, text, n):
            break
        id = entry.chain
    return id


cdef inline int64_t entry_delta(Lru* table, int32_t id) noexcept nogil:
    """The id to write in an entry row: 0 where it is the last one plus 1."""
    cdef int64_t wire = 0 if id == table.last + 1 else id
    table.last = id
    return wire


cdef inline bint is_current(Lru* table, int32_t id, uint32_t serial) noexcept nogil:
    """Whether an entry that was found before still is the same one."""
    return table.entries[id].serial == serial
