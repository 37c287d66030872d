"""Prefixes of RDF Binary, found by prefix when reading and by namespace when writing."""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from jelly._core.base.batch cimport hash_bytes, same_bytes
from jelly._core.base.fault cimport NO_MEMORY, OK, PREFIXES_LIMIT, TABLE_BYTES, fail


cdef void free_prefixes(Prefixes* p) noexcept nogil:
    cdef int32_t i
    for i in range(p.n):
        free(p.items[i].text)
    free(p.items)
    free(p.names)
    free(p.spaces)
    memset(p, 0, sizeof(Prefixes))


cdef inline void put_place(int32_t* table, uint32_t mask, const uint8_t* text, int64_t n, int32_t item) noexcept nogil:
    cdef uint32_t i = <uint32_t>hash_bytes(text, n, 0) & mask
    while table[i] != 0:
        i = (i + 1) & mask
    table[i] = item + 1


cdef int grow_prefixes(Prefixes* p) noexcept nogil:
    """Make room for one more item."""
    cdef int32_t cap = 2 * p.cap if p.cap > 0 else 16
    cdef int32_t i
    cdef int32_t* table
    cdef void* items
    if p.n < p.cap:
        return OK
    items = realloc(p.items, cap * sizeof(Prefix))
    if items == NULL:
        return NO_MEMORY
    p.items = <Prefix*>items
    table = <int32_t*>calloc(4 * cap, sizeof(int32_t))
    if table == NULL:
        return NO_MEMORY
    free(p.names)
    p.names = table
    table = <int32_t*>realloc(p.spaces, 4 * cap * sizeof(int32_t))
    if table == NULL:
        p.n = 0  # cannot be found any more
        return NO_MEMORY
    p.spaces = table
    p.indexed = False
    p.cap = cap
    p.mask = 4 * cap - 1
    for i in range(p.n):
        put_place(p.names, p.mask, p.items[i].text, p.items[i].n_name, i)
    return OK


cdef int set_prefix(Prefixes* p, Reader* name, Reader* iri, Fault* fault) noexcept nogil:
    """Let `name` stand for `iri` from now on."""
    cdef int32_t item = find_prefix(p, name)
    cdef int64_t n_name = name.end - name.at
    cdef int64_t n_iri = iri.end - iri.at
    cdef int64_t more = n_name + n_iri
    cdef uint8_t* text
    if item >= 0:
        more -= p.items[item].n_name + p.items[item].n_iri
    elif p.n >= p.limit:
        return fail(fault, PREFIXES_LIMIT, name.at, p.limit)
    if p.n_text + more > MAX_PREFIX_TEXT:
        return fail(fault, TABLE_BYTES, name.at, p.n_text + more, MAX_PREFIX_TEXT)
    text = <uint8_t*>malloc(n_name + n_iri + 1)
    if text == NULL or (item < 0 and grow_prefixes(p) < 0):
        free(text)
        return fail(fault, NO_MEMORY, name.at)
    memcpy(text, name.at, n_name)
    memcpy(text + n_name, iri.at, n_iri)
    if item < 0:
        item = p.n
        put_place(p.names, p.mask, text, n_name, item)
        p.n += 1
    else:
        free(p.items[item].text)
    p.items[item].text = text
    p.items[item].n_name = n_name
    p.items[item].n_iri = n_iri
    p.n_text += more
    p.indexed = False
    return OK


cdef int32_t find_prefix(Prefixes* p, Reader* name) noexcept nogil:
    """The item with this name, or -1."""
    cdef int64_t n = name.end - name.at
    cdef uint32_t i
    cdef Prefix* item
    if p.n == 0:
        return -1
    item = &p.items[p.last]
    if item.n_name == n and same_bytes(item.text, name.at, n):
        return p.last
    i = <uint32_t>hash_bytes(name.at, n, 0) & p.mask
    while p.names[i] != 0:
        item = &p.items[p.names[i] - 1]
        if item.n_name == n and same_bytes(item.text, name.at, n):
            p.last = p.names[i] - 1
            return p.last
        i = (i + 1) & p.mask
    return -1


cdef inline bint is_cut(uint8_t byte) noexcept nogil:
    return byte == 0x23 or byte == 0x2F  # '#' or '/'


cdef void index_spaces(Prefixes* p) noexcept nogil:
    cdef int32_t i
    cdef Prefix* item
    memset(p.spaces, 0, (<int64_t>p.mask + 1) * sizeof(int32_t))
    p.n_odd = 0
    for i in range(p.n):
        item = &p.items[i]
        put_place(p.spaces, p.mask, item.text + item.n_name, item.n_iri, i)
        if item.n_iri == 0 or not is_cut(item.text[item.n_name + item.n_iri - 1]):
            p.n_odd += 1
    p.indexed = True


cdef int32_t find_space(Prefixes* p, const uint8_t* iri, int64_t n) noexcept nogil:
    """The item whose namespace an IRI begins with, or -1; what comes after it has no / and no #, as Jena wants it.

    The namespace that ends with the last / or # comes first, else the longest.
    """
    cdef int64_t cut = n
    cdef int64_t longest = -1
    cdef int32_t found = -1
    cdef uint32_t i
    cdef int32_t k
    cdef Prefix* item
    if p.n == 0:
        return -1
    if not p.indexed:
        index_spaces(p)
    while cut > 0 and not is_cut(iri[cut - 1]):
        cut -= 1
    i = <uint32_t>hash_bytes(iri, cut, 0) & p.mask
    while p.spaces[i] != 0:
        item = &p.items[p.spaces[i] - 1]
        if item.n_iri == cut and same_bytes(item.text + item.n_name, iri, cut):
            return p.spaces[i] - 1
        i = (i + 1) & p.mask
    if p.n_odd:
        for k in range(p.n):
            item = &p.items[k]
            if longest < item.n_iri <= n and item.n_iri > cut:
                if same_bytes(item.text + item.n_name, iri, item.n_iri):
                    longest = item.n_iri
                    found = k
    return found
