"""Ids that are equal for equal terms, over one Batch or many: exact, and no slower for quoted triples in quoted triples."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset, strlen

from jelly._core.algebra.content cimport hash_shallow, memory_of, read_key, same_content
from jelly._core.algebra.rewrite cimport map_marks, map_rows
from jelly._core.algebra.select cimport rows_of_terms
from jelly._core.base.batch cimport Batch, BatchData, TermView, add_graphs, add_operations, add_view, new_batch, view_term
from jelly._core.base.batch_concat cimport stand_as
from jelly._core.base.claim cimport claim, give_back
from jelly._core.base.constants cimport RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD_STRING
from jelly._core.base.fault cimport NO_MEMORY, OK
from jelly._core.base.kinds cimport (
    COMPOUND, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED, LITERALS, N_KINDS, among, row_of_kind,
)
from jelly._core.base.memory cimport make_room

import numpy
from os import urandom

from jelly.errors import JellyArgumentError, JellyLimitError

cdef enum:
    FIRST_SLOTS = 64
    # Terms of which no more than these are left are put in order one by one.
    FEW = 12
    # Bytes of a text that a key has.
    KEY_BYTES = 7


ctypedef struct Item:
    uint64_t key  # some bytes of the text, and in the low byte how many there are, at most one more than it holds
    int32_t term


ctypedef struct Range:
    int64_t first
    int64_t end
    int64_t depth  # bytes that the texts have in common; -1: they are equal


cdef int grow_table(TermTable* t) noexcept nogil:
    """Make room for one more term, at most three of four slots taken."""
    cdef int32_t n = t.terms.n_terms
    cdef int32_t i
    cdef uint64_t at
    cdef uint64_t n_slots = t.mask + 1
    cdef uint64_t* grown
    if make_room(<void**>&t.hashes, &t.cap, n + 1, sizeof(uint64_t)) < 0:
        return NO_MEMORY
    if <uint64_t>(n + 1) * 4 <= n_slots * 3:
        return OK
    grown = <uint64_t*>calloc(2 * n_slots, sizeof(uint64_t))
    if grown == NULL:
        return NO_MEMORY
    free(t.slots)
    t.slots = grown
    t.mask = 2 * n_slots - 1
    for i in range(n):
        at = t.hashes[i] & t.mask
        while grown[at]:
            at = (at + 1) & t.mask
        grown[at] = (t.hashes[i] >> 32 << 32) | <uint64_t>(i + 1)
    return OK


cdef uint64_t slot_of_term(TermTable* t, BatchData* b, int32_t term, const int32_t* ids, uint64_t* hash) noexcept nogil:
    """The slot of a term, or a free one, and its hash; `ids` has the terms that it refers to."""
    cdef uint64_t at
    hash[0] = hash_shallow(b, term, ids, &t.key)
    at = hash[0] & t.mask
    while t.slots[at] and (
        t.slots[at] >> 32 != hash[0] >> 32
        or not same_content(b, term, ids, t.terms, <int32_t>(<uint32_t>t.slots[at] - 1))
    ):
        at = (at + 1) & t.mask
    return at


cdef int32_t find_leaf(TermTable* t, BatchData* b, int32_t term) noexcept nogil:
    """The id of a term that refers to no other one, NO_TERM if it is not there."""
    cdef uint64_t hash
    # A free slot is 0.
    return <int32_t>(<uint32_t>t.slots[slot_of_term(t, b, term, NULL, &hash)] - 1)


cdef int32_t id_of_term(TermTable* t, BatchData* b, int32_t term, int32_t* ids) noexcept nogil:
    """The id of a term, and of each that it refers to; `ids` has those that are known, else -1. Negative: a code."""
    cdef uint64_t hash, at
    cdef TermView v
    cdef int32_t found
    cdef int32_t inner[3]
    cdef int k
    if ids[term] >= 0:
        return ids[term]
    view_term(b, term, &v)
    for k in range(v.n_refs):
        inner[k] = id_of_term(t, b, v.refs[k], ids)
        if inner[k] < 0:
            return inner[k]
    if grow_table(t) < 0:
        return NO_MEMORY
    at = slot_of_term(t, b, term, ids, &hash)
    # A free slot is 0.
    found = <int32_t>(<uint32_t>t.slots[at] - 1)
    if found < 0:
        found = add_view(t.terms, &v, inner)
        if found < 0:
            return found
        t.hashes[found] = hash
        t.slots[at] = (hash >> 32 << 32) | <uint64_t>(found + 1)
    ids[term] = found
    return found


cdef int ids_of_terms(TermTable* t, BatchData* b, int32_t* ids) noexcept nogil:
    """The ids of all terms."""
    cdef int32_t i, found
    memset(ids, 0xFF, b.n_terms * sizeof(int32_t))
    for i in range(b.n_terms):
        found = id_of_term(t, b, i, ids)
        if found < 0:
            return found
    return OK


cdef class TermDictionary:
    """Dense ids, from 0, for the distinct terms of many Batches: equal terms have equal ids, others have others.

    It keeps the text of each distinct term. Language tags and datatypes are terms too, and come before the literals
    that have them.

    >>> import jelly
    >>> one, two = (next(jelly.scan(text, format="nt").batches()) for text in (b"<a:s> <a:p> <a:o> .", b'<a:o> <a:p> "x"@en .'))
    >>> terms = TermDictionary()
    >>> terms.ids(one)[one.o].tolist(), terms.ids(two)[two.s].tolist(), len(terms)
    ([2], [2], 5)
    >>> [terms.batch().term(id) for id in range(len(terms))]
    ['<a:s>', '<a:p>', '<a:o>', 'en', '"x"@en']
    """

    def __cinit__(self):
        self.terms = new_batch(3, 1, FIRST_SLOTS, 1024, <int64_t>1 << 62)
        self.table.terms = &self.terms.a
        read_key(urandom(16), &self.table.key)
        self.table.mask = FIRST_SLOTS - 1
        self.table.cap = FIRST_SLOTS
        self.table.slots = <uint64_t*>calloc(FIRST_SLOTS, sizeof(uint64_t))
        self.table.hashes = <uint64_t*>malloc(FIRST_SLOTS * sizeof(uint64_t))
        if self.table.slots == NULL or self.table.hashes == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.table.slots)
        free(self.table.hashes)

    def __len__(self):
        return self.terms.a.n_terms

    def __reduce__(self):
        raise TypeError("a TermDictionary cannot be pickled")

    cdef object take(self, Batch batch):
        """int32 ids of the terms of a Batch."""
        cdef int status
        found = numpy.empty(batch.a.n_terms, numpy.int32)
        cdef int32_t* ids = <int32_t*>memory_of(found)
        claim(&self.claimed, self)
        with nogil:
            status = ids_of_terms(&self.table, &batch.a, ids)
        give_back(&self.claimed)
        check_status(status)
        return found

    def ids(self, Batch batch not None):
        """The id here of each term of a Batch, so that ``ids[batch.s]`` are those of its subjects: int64.

        JellyLimitError above 2^31 terms.
        """
        return self.take(batch).astype(numpy.int64)

    def batch(self, rows=None) -> Batch:
        """The terms so far as a Batch, a copy: its term ids are those of this dictionary.

        It has no rows, or one for each of ``rows``, ids of terms, as `jelly._core.algebra.select.term_rows` makes them.
        IndexError for ids that are not there.

        >>> import jelly
        >>> terms = TermDictionary()
        >>> ids = terms.ids(next(jelly.scan(b'<a:s> <a:p> "x"@en .', format="nt").batches()))
        >>> batch = terms.batch([3, 0])
        >>> [batch.term(term) for term in batch.o]
        ['"x"@en', '<a:s>']
        """
        # The arrays of the dictionary may move if it grows meanwhile.
        claim(&self.claimed, self)
        try:
            return rows_of_terms(&self.terms.a, () if rows is None else rows)
        finally:
            give_back(&self.claimed)


cdef int check_status(int status) except -1:
    if status == NO_MEMORY:
        raise MemoryError
    if status < 0:
        raise JellyLimitError("more than 2^31 terms are too many for one dictionary")
    return 0


def unique_terms(Batch batch not None) -> Batch:
    """The Batch with one id for each distinct term, see `Batch.unique`; the same one where that is so already."""
    cdef TermDictionary dictionary = TermDictionary()
    cdef BatchData* b = &batch.a
    cdef Batch made = dictionary.terms
    cdef int32_t* moved
    cdef int32_t term
    cdef int status
    found = dictionary.take(batch)
    if made.a.n_terms == b.n_terms:
        return batch
    stand_as(made, batch)
    if b.arity == 4 and add_graphs(&made.a) < 0 or b.op != NULL and add_operations(&made.a) < 0:
        raise MemoryError
    moved = <int32_t*>memory_of(found)
    with nogil:
        for term in range(b.n_terms):
            moved[term] += 1
        status = map_rows(b, &made.a, 0, NULL, b.n_rows, moved)
        if status == OK:
            status = map_marks(b, &made.a, moved)
    check_status(status)
    made.a.text_limit = max(b.text_limit, made.a.n_text)
    return made


# ---- the order of terms, which is that of their classes in jelly/_core/terms/model.pyx

cdef inline int compared(const uint8_t* x, int64_t n, const uint8_t* y, int64_t m) noexcept nogil:
    cdef int found = memcmp(x, y, min(n, m))
    return found if found else (n > m) - (n < m)


cdef inline const uint8_t* datatype_of(BatchData* b, int32_t term, int64_t* n) noexcept nogil:
    """The datatype of a literal."""
    cdef int32_t aux = b.aux[term]
    cdef const char* found = XSD_STRING
    if b.kind[term] == KIND_TYPED:
        n[0] = b.start[aux + 1] - b.start[aux]
        return b.text + b.start[aux]
    if b.kind[term] == KIND_LANG:
        found = RDF_LANG_STRING if b.kind[aux] == KIND_TEXT else RDF_DIR_LANG_STRING
    n[0] = strlen(found)
    return <const uint8_t*>found


cdef int compare_terms(BatchData* b, const int32_t* same, int32_t x, int32_t y, int64_t depth) noexcept nogil:
    """Less than 0, 0 or more, as one term is before, equal to or after another; their texts begin with `depth` equal
    bytes. `same` has equal numbers for equal terms, so that of two quoted triples only the first terms that differ are
    looked into; without quoted triples it is NULL. Recursion is bounded by their depth."""
    cdef int found, k
    cdef int32_t one_inner, other_inner
    cdef int64_t n, m
    cdef const uint8_t* one
    cdef const uint8_t* other
    if x == y:
        return 0
    found = row_of_kind(b.kind[x]).rank - row_of_kind(b.kind[y]).rank
    if found:
        return found
    if among(b.kind[x], COMPOUND):
        for k in range(3):
            one_inner = b.quoted[3 * b.aux[x] + k]
            other_inner = b.quoted[3 * b.aux[y] + k]
            if same[one_inner] != same[other_inner]:
                return compare_terms(b, same, one_inner, other_inner, 0)
        return 0
    found = compared(
        b.text + b.start[x] + depth, b.start[x + 1] - b.start[x] - depth,
        b.text + b.start[y] + depth, b.start[y + 1] - b.start[y] - depth,
    )
    if found or not among(b.kind[x], LITERALS) or b.kind[x] == b.kind[y] == KIND_LITERAL:
        return found
    one = datatype_of(b, x, &n)
    other = datatype_of(b, y, &m)
    found = compared(one, n, other, m)
    if found or b.kind[x] != KIND_LANG or b.kind[y] != KIND_LANG:
        # A literal that is only typed rdf:langString has no language tag and stands first.
        return found if found else b.kind[y] - b.kind[x]
    x = b.aux[x]
    y = b.aux[y]
    found = compared(
        b.text + b.start[x], b.start[x + 1] - b.start[x], b.text + b.start[y], b.start[y + 1] - b.start[y]
    )
    return found if found else b.kind[x] - b.kind[y]


cdef inline uint64_t key_at(BatchData* b, int32_t term, int64_t depth) noexcept nogil:
    """The bytes of a text after some, so that keys are ordered as texts are."""
    cdef const uint8_t* at = b.text + b.start[term] + depth
    cdef int64_t n = b.start[term + 1] - b.start[term] - depth
    cdef uint64_t key = 0
    cdef int64_t i
    for i in range(min(n, <int64_t>KEY_BYTES)):
        key |= <uint64_t>at[i] << (56 - 8 * i)
    return key | <uint64_t>min(n, <int64_t>KEY_BYTES + 1)


cdef void sift(BatchData* b, const int32_t* same, Item* items, int64_t at, int64_t n) noexcept nogil:
    """Let an item sink in a heap, the last of which is on top."""
    cdef Item moved = items[at]
    cdef int64_t child = 2 * at + 1
    while child < n:
        if child + 1 < n and compare_terms(b, same, items[child].term, items[child + 1].term, 0) < 0:
            child += 1
        if compare_terms(b, same, moved.term, items[child].term, 0) >= 0:
            break
        items[at] = items[child]
        at = child
        child = 2 * at + 1
    items[at] = moved


cdef void sort_alike(BatchData* b, const int32_t* same, Item* items, int64_t n, int64_t depth) noexcept nogil:
    """Order a few items, or those whose texts are equal."""
    cdef int64_t i, at
    cdef Item moved
    if n <= FEW:
        for i in range(1, n):
            moved = items[i]
            at = i
            while at > 0 and compare_terms(b, same, moved.term, items[at - 1].term, depth) < 0:
                items[at] = items[at - 1]
                at -= 1
            items[at] = moved
        return
    for i in range(n // 2):
        sift(b, same, items, n // 2 - 1 - i, n)
    for i in range(n - 1):
        at = n - 1 - i
        moved = items[0]
        items[0] = items[at]
        items[at] = moved
        sift(b, same, items, 0, at)


cdef inline void swap(Item* items, int64_t x, int64_t y) noexcept nogil:
    cdef Item moved = items[x]
    items[x] = items[y]
    items[y] = moved


cdef int push_range(Range** waiting, int64_t* n, int64_t* cap, int64_t first, int64_t end, int64_t depth) noexcept nogil:
    if end - first < 2:
        return OK
    if make_room(<void**>waiting, cap, n[0] + 1, sizeof(Range)) < 0:
        return NO_MEMORY
    waiting[0][n[0]].first = first
    waiting[0][n[0]].end = end
    waiting[0][n[0]].depth = depth
    n[0] += 1
    return OK


cdef int sort_terms(BatchData* b, const int32_t* same, Item* items, Range** waiting, int64_t n, int64_t cap) noexcept nogil:
    """Order the items of `n` ranges: quicksort with three parts by a key of the text, then the middle by the next key."""
    cdef int64_t first, end, depth, low, high, at, i
    cdef uint64_t pivot
    # Nobody knows where the items are, so nobody can write an input for which the choices below are bad.
    cdef uint64_t noise = <uint64_t>items ^ <uint64_t>0x9E3779B97F4A7C15
    while n:
        n -= 1
        first = waiting[0][n].first
        end = waiting[0][n].end
        depth = waiting[0][n].depth
        if depth < 0 or end - first <= FEW or among(b.kind[items[first].term], COMPOUND):
            sort_alike(b, same, items + first, end - first, max(depth, <int64_t>0))
            continue
        noise ^= noise << 13
        noise ^= noise >> 7
        noise ^= noise << 17
        pivot = items[first + <int64_t>(noise % <uint64_t>(end - first))].key
        low = at = first
        high = end
        while at < high:
            if items[at].key < pivot:
                swap(items, low, at)
                low += 1
                at += 1
            elif items[at].key > pivot:
                high -= 1
                swap(items, at, high)
            else:
                at += 1
        if pivot & 0xFF > KEY_BYTES:
            for i in range(low, high):
                items[i].key = key_at(b, items[i].term, depth + KEY_BYTES)
        if (
            push_range(waiting, &n, &cap, first, low, depth) < 0
            or push_range(waiting, &n, &cap, high, end, depth) < 0
            or push_range(waiting, &n, &cap, low, high, depth + KEY_BYTES if pivot & 0xFF > KEY_BYTES else -1) < 0
        ):
            return NO_MEMORY
    return OK


cdef int rank_terms(
    BatchData* b, const int32_t* same, const int8_t* wanted, Item* items, int32_t* ranks, int32_t* most
) noexcept nogil:
    """The ranks of some terms from 1 on, equal ones for equal terms; 0 for the others."""
    cdef int64_t sizes[N_KINDS + 1]
    cdef int64_t n = 0
    cdef int64_t cap = 64
    cdef int64_t i, first
    cdef int32_t rank = 0
    cdef int kind, status
    cdef Range* waiting = <Range*>malloc(cap * sizeof(Range))
    if waiting == NULL:
        return NO_MEMORY
    memset(ranks, 0, b.n_terms * sizeof(int32_t))
    memset(sizes, 0, sizeof(sizes))
    for i in range(b.n_terms):
        if wanted[i]:
            sizes[row_of_kind(b.kind[i]).rank + 1] += 1
    for kind in range(1, N_KINDS + 1):
        sizes[kind] += sizes[kind - 1]
        push_range(&waiting, &n, &cap, sizes[kind - 1], sizes[kind], 0)
    first = sizes[N_KINDS]
    for i in range(b.n_terms):
        if wanted[i]:
            kind = row_of_kind(b.kind[i]).rank
            items[sizes[kind]].term = <int32_t>i
            items[sizes[kind]].key = key_at(b, <int32_t>i, 0)
            sizes[kind] += 1
    status = sort_terms(b, same, items, &waiting, n, cap)
    free(waiting)
    for i in range(first):
        if i == 0 or compare_terms(b, same, items[i - 1].term, items[i].term, 0) != 0:
            rank += 1
        ranks[items[i].term] = rank
    most[0] = rank
    return status


def term_ranks(Batch batch not None, wanted):
    """The place of each term in the order of terms, from 1 on, and how many places there are.

    ``wanted`` says of each term whether it is to have a place: bool. Equal terms have the same one, others have 0. The
    order is that of the classes, `IRI` and the others.

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "x"@en . <a:s> <a:p> "x" . _:b <a:p> <a:a> .', format="ttl").batches())
    >>> ranks, n = term_ranks(batch, batch.kind != 7)
    >>> [batch.term(term) for term in sorted({*batch.s, *batch.p, *batch.o}, key=ranks.__getitem__)], n
    (['_:b', '<a:a>', '<a:p>', '<a:s>', '"x"@en', '"x"'], 6)
    """
    cdef BatchData* b = &batch.a
    cdef int32_t most = 0
    cdef int status
    marks = numpy.ascontiguousarray(wanted, numpy.int8)
    if marks.shape != (b.n_terms,):
        raise JellyArgumentError(f"{marks.size} marks do not fit {b.n_terms} terms")
    made = numpy.empty(b.n_terms, numpy.int32)
    ids = TermDictionary().take(batch) if b.n_quoted else None
    cdef const int32_t* same = <const int32_t*>memory_of(ids) if b.n_quoted else NULL
    cdef const int8_t* marked = <const int8_t*>memory_of(marks)
    cdef int32_t* ranks = <int32_t*>memory_of(made)
    cdef Item* items = <Item*>malloc((numpy.count_nonzero(marks) + 1) * sizeof(Item))
    if items == NULL:
        raise MemoryError
    with nogil:
        status = rank_terms(b, same, marked, items, ranks, &most)
        free(items)
    check_status(status)
    return made, most
