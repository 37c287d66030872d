"""Sorts that take no more time for one input than for another, and need no memory."""

from libc.string cimport memcpy

cdef enum:
    ITEM_BYTES = 128
    # Texts of which no more than these are left are put in order one by one.
    FEW = 12
    # Bytes of a text that a key has.
    KEY_BYTES = 7


ctypedef struct Texts:
    const uint8_t* text
    const int64_t* start
    Compare alike
    const void* context
    uint64_t noise


cdef void heap_sort(void* items, int64_t n, size_t size, Compare compare, const void* context) noexcept nogil:
    """Order items of `size` bytes, at most ITEM_BYTES."""
    cdef uint8_t moved[ITEM_BYTES]
    cdef uint8_t* base = <uint8_t*>items
    cdef int64_t waiting = n // 2  # items that are in no heap yet
    cdef int64_t at, child
    while n > 1:
        if waiting:
            waiting -= 1
            memcpy(moved, base + waiting * size, size)
        else:
            # The last of all is on top.
            n -= 1
            memcpy(moved, base + n * size, size)
            memcpy(base + n * size, base, size)
        at = waiting
        child = 2 * at + 1
        while child < n:
            if child + 1 < n and compare(base + child * size, base + (child + 1) * size, context) < 0:
                child += 1
            if compare(moved, base + child * size, context) >= 0:
                break
            memcpy(base + at * size, base + child * size, size)
            at = child
            child = 2 * at + 1
        memcpy(base + at * size, moved, size)


cdef inline uint64_t key_at(const Texts* t, int32_t term, int64_t depth) noexcept nogil:
    """The bytes of a text after some, so that keys are ordered as texts are."""
    cdef const uint8_t* at = t.text + t.start[term] + depth
    cdef int64_t n = t.start[term + 1] - t.start[term] - depth
    cdef uint64_t key = 0
    cdef int64_t i
    if n > KEY_BYTES:
        for i in range(KEY_BYTES + 1):
            key = key << 8 | at[i]
        return (key & ~<uint64_t>0xFF) | (KEY_BYTES + 1)
    for i in range(n):
        key |= <uint64_t>at[i] << (56 - 8 * i)
    return key | <uint64_t>n


cdef void take_keys(const Texts* t, TextItem* items, int64_t n, int64_t depth) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        items[i].key = key_at(t, items[i].term, depth)


cdef int order_of(const Texts* t, const TextItem* x, const TextItem* y, int64_t depth) noexcept nogil:
    """Compare texts that are equal up to `depth`, where their keys begin."""
    cdef const int64_t* one = t.start + x.term
    cdef const int64_t* other = t.start + y.term
    cdef int found = 0
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    if x.key & 0xFF > KEY_BYTES:
        depth += KEY_BYTES
        found = compare_bytes(
            t.text + one[0] + depth, one[1] - one[0] - depth, t.text + other[0] + depth, other[1] - other[0] - depth
        )
    return found if found or t.alike == NULL else t.alike(x, y, t.context)


cdef void sort_few(const Texts* t, TextItem* items, int64_t n, int64_t depth) noexcept nogil:
    cdef int64_t i, at
    cdef TextItem moved
    for i in range(1, n):
        moved = items[i]
        at = i
        while at > 0 and order_of(t, &moved, &items[at - 1], depth) < 0:
            items[at] = items[at - 1]
            at -= 1
        items[at] = moved


cdef void sort_from(Texts* t, TextItem* items, int64_t n, int64_t depth) noexcept nogil:
    """Quicksort with three parts by the keys, then the middle one by the next keys. Its choices are random, so that it
    recurses only as deep as a tree of the items is high."""
    cdef int64_t low, high, at
    cdef uint64_t pivot
    cdef TextItem moved
    while n > FEW:
        t.noise ^= t.noise << 13
        t.noise ^= t.noise >> 7
        t.noise ^= t.noise << 17
        pivot = items[t.noise % <uint64_t>n].key
        low = at = 0
        high = n
        while at < high:
            moved = items[at]
            if moved.key < pivot:
                items[at] = items[low]
                items[low] = moved
                low += 1
                at += 1
            elif moved.key > pivot:
                high -= 1
                items[at] = items[high]
                items[high] = moved
            else:
                at += 1
        sort_from(t, items, low, depth)
        sort_from(t, items + high, n - high, depth)
        items += low
        n = high - low
        if pivot & 0xFF <= KEY_BYTES:
            if t.alike != NULL:
                heap_sort(items, n, sizeof(TextItem), t.alike, t.context)
            return
        depth += KEY_BYTES
        take_keys(t, items, n, depth)
    sort_few(t, items, n, depth)


cdef void sort_texts(
    const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, Compare alike, const void* context
) noexcept nogil:
    """Order terms by the bytes of their texts, which is the order of code points, and those of equal texts by `alike`,
    unless it is NULL."""
    cdef Texts t
    t.text, t.start, t.alike, t.context = text, start, alike, context
    # Nobody knows where the items are, so nobody can write an input for which the choices are bad.
    t.noise = <uint64_t>items ^ <uint64_t>0x9E3779B97F4A7C15
    take_keys(&t, items, n, 0)
    sort_from(&t, items, n, 0)
