"""Lookup tables: arrays by id for the decoder, LRU tables for the encoder. Only this module interprets an id of 0."""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from jelly._core.base.fault cimport NAME_ENTRY, NO_MEMORY, OK, TABLE_BYTES
from jelly._core.base.utf8 cimport need_utf8


cdef inline int make_text(Texts* t, uint8_t** text, int32_t* cap, int64_t n) noexcept nogil:
    """Give an entry room for another text, of `n` bytes. One that was long before stays so."""
    cdef int64_t room = n + n // 4 + 16
    cdef uint8_t* made
    if room <= SHORT < cap[0]:
        room = SHORT + 1
    if room > SHORT:
        made = <uint8_t*>malloc(room)
        if made == NULL:
            return NO_MEMORY
        t.long = True
        if cap[0] > SHORT:
            free(text[0])
    else:
        if room > t.size - t.used - AT_ONCE:
            t.size = min(2 * t.size, LAST_BLOCK) if t.size else FIRST_BLOCK
            made = <uint8_t*>malloc(t.size)
            if made == NULL:
                t.size = t.used = 0
                return NO_MEMORY
            memcpy(made, &t.block, sizeof(uint8_t*))
            t.block = made
            t.used = sizeof(uint8_t*)
        made = t.block + t.used
        t.used += <int32_t>room
    text[0] = made
    cap[0] = <int32_t>room
    return OK


cdef inline int keep_text(Texts* t, uint8_t** to, int32_t* cap, const uint8_t* text, int64_t n) noexcept nogil:
    """Copy a text to an entry, where there may be too little room for it, or far too much."""
    cdef int status = OK
    if n >= cap[0] or cap[0] > 4 * n + 4096:
        status = make_text(t, to, cap, n)
    if status == OK and n:
        memcpy(to[0], text, n)
    return status


cdef void free_blocks(Texts* t) noexcept nogil:
    cdef uint8_t* block = t.block
    while block != NULL:
        memcpy(&t.block, block, sizeof(uint8_t*))
        free(block)
        block = t.block
    t.size = t.used = 0
    t.long = False


cdef int set_entry(Lookup* t, int which, int64_t id, Reader* text, Fault* fault, const uint8_t* at) noexcept nogil:
    """Define entry `id`; 0 is the last entry plus 1."""
    cdef Table* table = &t.tables[which]
    cdef DecoderEntry* slot
    cdef int64_t n = text.end - text.at
    cdef int status
    if need_utf8(text, fault) != OK:
        return fault.code
    if id == 0:
        id = table.last + 1
    if id < 1:
        return fail(fault, NOT_KEYFRAME, at)
    if id > table.size:
        return fail(fault, NAME_ENTRY + which, at, id, table.size)
    while table.made < id:
        table.made += 1
        memset(&table.slots[table.made], 0, sizeof(DecoderEntry))
    slot = &table.slots[id]
    if n > MAX_TABLE_BYTES:  # which is not even copied
        return fail(fault, TABLE_BYTES, at, table.bytes + n, MAX_TABLE_BYTES)
    table.bytes -= slot.cap
    status = keep_text(&table.texts, &slot.text, &slot.cap, text.at, n)
    table.bytes += slot.cap
    if status != OK:
        return fail(fault, NO_MEMORY, at)
    if table.bytes > MAX_TABLE_BYTES:
        return fail(fault, TABLE_BYTES, at, table.bytes, MAX_TABLE_BYTES)
    slot.n = <int32_t>n
    t.serial += 1
    slot.serial = t.serial
    slot.batch = 0
    table.last = <int32_t>id
    return OK


cdef int32_t join_iri(BatchData* b, DecoderEntry* name, DecoderEntry* prefix, uint32_t serial) noexcept nogil:
    """Add the IRI of prefix and name to the Batch and remember it at the name."""
    cdef int32_t term
    cdef int k
    if (
        prefix != NULL and prefix.n <= AT_ONCE >= name.n and b.cap_text - b.n_text >= 2 * AT_ONCE
        and b.cap_terms - b.n_terms > 1
    ):
        copy_at_once(b.text + b.n_text, prefix.text, prefix.n)
        copy_at_once(b.text + b.n_text + prefix.n, name.text, name.n)
        b.n_text += prefix.n + name.n
        term = add_term(b, KIND_IRI, NO_TERM, NULL, 0)
    elif prefix == NULL:
        term = add_term(b, KIND_IRI, NO_TERM, name.text, name.n)
    else:
        term = add_joined(b, KIND_IRI, prefix.text, prefix.n, name.text, name.n)
    if term < 0:
        return term
    for k in range(WAYS):
        if name.term[k] < 0:
            break
    else:
        k = name.turn % WAYS
        name.turn += 1
    name.prefix[k] = serial
    name.term[k] = term
    return term


cdef void expect_keyframe(Lookup* t) noexcept nogil:
    """Refuse an id of 0 where there is nothing before it to refer to: a keyframe never has one there."""
    cdef int which
    for which in range(TABLES):
        t.tables[which].last = -1
    t.last_name = -1
    if t.tables[PREFIXES].size > 0:
        t.last_prefix = -1


cdef DecoderEntry* set_slots(Table* table, DecoderEntry* slots, int64_t size) noexcept nogil:
    """Give an empty table its slots, of fixed size; the end of them is returned."""
    free_entries(table)
    table.slots = slots
    table.size = <int32_t>size
    return slots + size + 1


cdef void free_entries(Table* table) noexcept nogil:
    cdef int32_t i
    if table.texts.long:
        for i in range(1, table.made + 1):
            if table.slots[i].cap > SHORT:
                free(table.slots[i].text)
    free_blocks(&table.texts)
    table.made = table.last = 0
    table.bytes = 0


cdef uint32_t index_size(int32_t size) noexcept nogil:
    """A power of two, at least twice as many as entries: most places have one entry at most."""
    cdef uint32_t n = 8
    while n < 2 * <uint32_t>size:
        n *= 2
    return n


cdef int64_t lru_bytes(int32_t size) noexcept nogil:
    return (<int64_t>size + 1) * sizeof(LruEntry) + index_size(size) * sizeof(int32_t)


cdef uint8_t* init_lru(Lru* table, uint8_t* memory, int32_t size) noexcept nogil:
    """Set up an empty table of fixed size in `lru_bytes` of memory; the end of them is returned."""
    table.entries = <LruEntry*>memory
    table.index = <int32_t*>&table.entries[size + 1]
    table.size = size
    table.most = index_size(size) - 1
    forget_lru(table)
    return memory + lru_bytes(size)


cdef void forget_lru(Lru* table) noexcept nogil:
    """Empty the table; ids start from 1 again."""
    cdef int32_t i
    # An entry that was remembered by its serial must not be found any more.
    for i in range(1, table.n_used + 1):
        table.entries[i].serial = 0
    table.mask = min(table.most, <uint32_t>FIRST_INDEX - 1)
    memset(table.index, 0, (<int64_t>table.mask + 1) * sizeof(int32_t))
    table.n_used = 0
    table.last = 0
    table.entries[0].next = table.entries[0].prev = 0


cdef void free_lru(Lru* table) noexcept nogil:
    cdef int32_t i
    if table.texts.long:
        for i in range(1, table.made + 1):
            if table.entries[i].cap > SHORT:
                free(table.entries[i].text)
    free_blocks(&table.texts)
    table.made = 0


cdef void widen_index(Lru* table, int32_t n) noexcept nogil:
    """Use more of the index, for the first `n` entries."""
    cdef int32_t id
    table.mask = min(table.most, 8 * table.mask + 7)
    memset(table.index, 0, (<int64_t>table.mask + 1) * sizeof(int32_t))
    for id in range(1, n + 1):
        put_in_index(table, id)


cdef inline void put_in_index(Lru* table, int32_t id) noexcept nogil:
    cdef int32_t* place = &table.index[table.entries[id].hash & table.mask]
    table.entries[id].chain = place[0]
    place[0] = id


cdef void take_from_index(Lru* table, int32_t id) noexcept nogil:
    cdef int32_t* place = &table.index[table.entries[id].hash & table.mask]
    while place[0] != id:
        place = &table.entries[place[0]].chain
    place[0] = table.entries[id].chain


cdef int32_t add_entry(Lru* table, const uint8_t* text, int64_t n, uint32_t hash, int64_t statement) noexcept nogil:
    """Define a new entry and give its id: 0 where the present statement uses all there are, negative without memory."""
    cdef LruEntry* entries = table.entries
    cdef LruEntry* entry
    cdef int32_t id
    if table.n_used < table.size:
        if 4 * <uint32_t>table.n_used >= table.mask and table.mask < table.most:
            widen_index(table, table.n_used)
        table.n_used += 1
        id = table.n_used
        entry = &entries[id]
        if id > table.made:
            table.made = id
            memset(entry, 0, sizeof(LruEntry))
        entry.prev = entry.next = id
    else:
        id = entries[0].prev
        entry = &entries[id]
        if id == 0 or entry.used == statement:
            return 0
        take_from_index(table, id)
    if keep_text(&table.texts, &entry.text, &entry.cap, text, n) != OK:
        return NO_MEMORY
    entry.n = <int32_t>n
    entry.hash = hash
    table.serial += 1
    entry.serial = table.serial
    touch(table, id, statement)
    put_in_index(table, id)
    return id


# Test door.

cdef class _Lru:
    """The encoder's table, with hashes that the test chooses."""

    cdef Lru table
    cdef uint8_t* memory

    def __cinit__(self, int32_t size):
        self.memory = <uint8_t*>malloc(lru_bytes(size))
        if self.memory == NULL:
            raise MemoryError
        init_lru(&self.table, self.memory, size)

    def __dealloc__(self):
        free_lru(&self.table)
        free(self.memory)

    def use(self, bytes text, int64_t statement, uint32_t hash):
        """Id of the text, and whether its entry is new. Id 0: the statement uses all entries."""
        cdef const uint8_t* at = <const uint8_t*><const char*>text
        cdef int32_t id = find_entry(&self.table, at, len(text), hash)
        if id > 0:
            touch(&self.table, id, statement)
            return id, False
        return add_entry(&self.table, at, len(text), hash, statement), True

    def delta(self, int32_t id):
        return entry_delta(&self.table, id)

    def serial(self, int32_t id):
        return self.table.entries[id].serial

    def forget(self):
        forget_lru(&self.table)
