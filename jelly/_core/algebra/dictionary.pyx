"""Ids that are equal for equal terms, over one Batch or many: exact, and no slower for quoted triples in quoted triples."""

from libc.stdint cimport int8_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset, strlen

from jelly._core.algebra.content cimport hash_view, memory_of, read_key, same_view
from jelly._core.algebra.rewrite cimport map_marks, map_rows
from jelly._core.algebra.select cimport rows_of_terms
from jelly._core.algebra.sort cimport TextItem, compare_bytes, compare_texts, heap_sort, sort_texts
from jelly._core.base.batch cimport (
    NO_TERM, TermView, add_graphs, add_operations, add_view, len_of, new_batch, text_of, view_term,
)
from jelly._core.base.batch_concat cimport stand_as
from jelly._core.base.constants cimport RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD_STRING
from jelly._core.base.fault cimport NO_MEMORY, OK
from jelly._core.base.kinds cimport (
    COMPOUND, KIND_BNODE, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED, LITERALS, N_KINDS, among, row_of_kind,
)
from jelly._core.base.memory cimport make_room, prefetch
from jelly._core.base.objects cimport hold

import numpy
from os import urandom

from jelly.errors import JellyArgumentError, JellyLimitError

cdef enum:
    FIRST_SLOTS = 64
    AHEAD = 12  # terms whose slots are fetched into the cache before they are filled anew
    UNKNOWN = -2  # what a term refers to has no id yet, so it has no hash


ctypedef struct Order:
    BatchData* b
    # Equal numbers for equal terms, so that of two quoted triples only the first terms that differ are looked into; NULL
    # without quoted triples.
    const int32_t* same


cdef void drop_slots(TermTable* t) noexcept nogil:
    """Free the memory of what finds terms, after which none can be found or added."""
    free(t.slots)
    free(t.hashes)
    t.slots = NULL
    t.hashes = NULL


cdef inline uint32_t slot_of(const TermTable* t, uint64_t hash, int32_t id) noexcept nogil:
    """The content of the slot of a term; with NO_TERM that of its hash alone."""
    return (<uint32_t>(hash >> 32) & ~<uint32_t>t.mask) | <uint32_t>(id + 1)


cdef int grow_table(TermTable* t, int more) noexcept nogil:
    """`reserve` where there is too little."""
    cdef int32_t n = t.terms.n_terms
    cdef int32_t i
    cdef uint64_t at
    cdef uint64_t n_slots = t.mask + 1
    cdef uint32_t* grown
    if make_room(<void**>&t.hashes, &t.cap, <int64_t>n + more, sizeof(uint64_t)) < 0:
        return NO_MEMORY
    while <uint64_t>(<int64_t>n + more) * 4 > n_slots * 3:
        n_slots *= 2
    if n_slots == t.mask + 1:
        return OK
    grown = <uint32_t*>calloc(n_slots, sizeof(uint32_t))
    if grown == NULL:
        return NO_MEMORY
    free(t.slots)
    t.slots = grown
    t.mask = n_slots - 1
    for i in range(n):
        if i + AHEAD < n:
            prefetch(&grown[t.hashes[i + AHEAD] & t.mask])
        at = t.hashes[i] & t.mask
        while grown[at]:
            at = (at + 1) & t.mask
        grown[at] = slot_of(t, t.hashes[i], i)
    return OK


cdef inline int reserve(TermTable* t, int more) noexcept nogil:
    """Make room for more terms, at most three of four slots taken."""
    cdef int64_t n = <int64_t>t.terms.n_terms + more
    return OK if n <= t.cap and <uint64_t>n * 4 <= (t.mask + 1) * 3 else grow_table(t, more)


cdef inline uint64_t next_slot(const TermTable* t, uint64_t hash, uint64_t at) noexcept nogil:
    """The first slot, from one on, that is free or may have a term of a hash."""
    cdef uint32_t bits = slot_of(t, hash, NO_TERM)
    while t.slots[at] and t.slots[at] & ~<uint32_t>t.mask != bits:
        at = (at + 1) & t.mask
    return at


cdef inline int32_t id_in(const TermTable* t, uint64_t at) noexcept nogil:
    """The id in a slot, NO_TERM where it is free."""
    return <int32_t>(t.slots[at] & <uint32_t>t.mask) - 1


cdef int32_t find_view(TermTable* t, const TermView* v, const int32_t* refs, uint64_t hash, uint64_t* slot) noexcept nogil:
    """The id of a term of a hash that refers to `refs` here, NO_TERM if it is not there; its slot or a free one."""
    cdef int32_t id
    slot[0] = next_slot(t, hash, hash & t.mask)
    while True:
        id = id_in(t, slot[0])
        if id < 0 or same_view(v, refs, t.terms, id):
            return id
        slot[0] = next_slot(t, hash, (slot[0] + 1) & t.mask)


cdef int32_t find_leaf(TermTable* t, const BatchData* b, int32_t term) noexcept nogil:
    """The id of a term that refers to no other one, NO_TERM if it is not there."""
    cdef uint64_t slot
    cdef TermView v
    view_term(b, term, &v)
    return find_view(t, &v, NULL, hash_view(&v, NULL, &t.key), &slot)


cdef inline int32_t id_of_view(TermTable* t, const TermView* v, const int32_t* refs, uint64_t hash) noexcept nogil:
    """The id of a term of a hash that refers to `refs` here, where there is room for it. Negative: a code."""
    cdef uint64_t slot
    cdef int32_t found = find_view(t, v, refs, hash, &slot)
    if found < 0:
        found = add_view(t.terms, v, refs)
        if found >= 0:
            t.hashes[found] = hash
            t.slots[slot] = slot_of(t, hash, found)
    return found


cdef int32_t id_of_term(TermTable* t, BatchData* b, int32_t term, int32_t* ids) noexcept nogil:
    """The id of a term, and of each that it refers to; `ids` has those that are known, else less than 0. Negative: a code."""
    cdef TermView v
    cdef int32_t[3] inner
    cdef int k
    if ids[term] >= 0:
        return ids[term]
    view_term(b, term, &v)
    for k in range(v.n_refs):
        inner[k] = id_of_term(t, b, v.refs[k], ids)
        if inner[k] < 0:
            return inner[k]
    if v.kind == KIND_BNODE:
        v.kind = t.blank
    if reserve(t, 1) < 0:
        return NO_MEMORY
    ids[term] = id_of_view(t, &v, inner, hash_view(&v, inner, &t.key))
    return ids[term]


cdef int ids_of_block(TermTable* t, BatchData* b, const int32_t* terms, int n, int32_t* ids) noexcept nogil:
    """The ids of some terms, at most BLOCK, of which none is known: what they may be equal to is fetched into the cache
    for all of them before it is looked at, as the table is much larger than that."""
    cdef TermView[BLOCK] views
    cdef uint64_t[BLOCK] hashes
    cdef int32_t[BLOCK] refs
    cdef int32_t[BLOCK] near
    cdef TermView* v
    cdef int32_t id
    cdef int i
    if reserve(t, n) < 0:
        return NO_MEMORY
    for i in range(n):
        v = &views[i]
        view_term(b, terms[i], v)
        refs[i] = ids[v.refs[0]] if v.n_refs else 0
        near[i] = NO_TERM if v.n_refs <= 1 and refs[i] >= 0 else UNKNOWN
        if near[i] == NO_TERM:
            if v.kind == KIND_BNODE:
                v.kind = t.blank
            hashes[i] = hash_view(v, &refs[i], &t.key)
            prefetch(&t.slots[hashes[i] & t.mask])
    for i in range(n):
        if near[i] == NO_TERM:
            near[i] = id_in(t, next_slot(t, hashes[i], hashes[i] & t.mask))
            if near[i] >= 0:
                prefetch(&t.terms.kind[near[i]])
                prefetch(&t.terms.start[near[i]])
    for i in range(n):
        if near[i] >= 0:
            prefetch(text_of(t.terms, near[i]))
    for i in range(n):
        if near[i] == UNKNOWN:
            id = id_of_term(t, b, terms[i], ids)
            if reserve(t, n - i) < 0:  # it may have taken the room of others
                return NO_MEMORY
        elif near[i] >= 0 and same_view(&views[i], &refs[i], t.terms, near[i]):
            id = near[i]
        else:
            id = id_of_view(t, &views[i], &refs[i], hashes[i])
        ids[terms[i]] = id
        if id < 0:
            return id
    return OK


cdef int ids_of_terms(TermTable* t, BatchData* b, int32_t* ids) noexcept nogil:
    """The ids of all terms."""
    cdef int32_t[BLOCK] terms
    cdef int32_t i
    cdef int status
    cdef int n = 0
    memset(ids, 0xFF, b.n_terms * sizeof(int32_t))
    for i in range(b.n_terms):
        terms[n] = i
        n += 1
        if n == BLOCK or i == b.n_terms - 1:
            status = ids_of_block(t, b, terms, n, ids)
            if status < 0:
                return status
            n = 0
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
        self.table.blank = KIND_BNODE
        read_key(urandom(16), &self.table.key)
        self.table.mask = FIRST_SLOTS - 1
        self.table.cap = FIRST_SLOTS
        self.table.slots = <uint32_t*>calloc(FIRST_SLOTS, sizeof(uint32_t))
        self.table.hashes = <uint64_t*>malloc(FIRST_SLOTS * sizeof(uint64_t))
        if self.table.slots == NULL or self.table.hashes == NULL:
            raise MemoryError

    def __dealloc__(self):
        drop_slots(&self.table)

    def __len__(self):
        return self.terms.a.n_terms

    def __reduce__(self):
        raise TypeError("a TermDictionary cannot be pickled")

    cdef object take(self, Batch batch):
        """int32 ids of the terms of a Batch."""
        cdef int status
        found = numpy.empty(batch.a.n_terms, numpy.int32)
        cdef int32_t* ids = <int32_t*>memory_of(found)
        held = hold(&self.claimed, self)
        with nogil:
            status = ids_of_terms(&self.table, &batch.a, ids)
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
        held = hold(&self.claimed, self)
        return rows_of_terms(&self.terms.a, () if rows is None else rows)


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
    cdef int status
    found = dictionary.take(batch)
    if made.a.n_terms == b.n_terms:
        return batch
    stand_as(made, batch)
    if b.arity == 4 and add_graphs(&made.a) < 0 or b.op != NULL and add_operations(&made.a) < 0:
        raise MemoryError
    found += 1
    cdef int32_t* moved = <int32_t*>memory_of(found)
    with nogil:
        status = map_rows(b, &made.a, 0, NULL, b.n_rows, moved)
        if status == OK:
            status = map_marks(b, &made.a, moved)
    check_status(status)
    made.a.text_limit = max(b.text_limit, made.a.n_text)
    return made


# ---- the order of terms, which is that of their classes in jelly/_core/terms/model.pyx

cdef inline const uint8_t* datatype_of(BatchData* b, int32_t term, int64_t* n) noexcept nogil:
    """The datatype of a literal."""
    cdef int32_t aux = b.aux[term]
    cdef const char* found = XSD_STRING
    if b.kind[term] == KIND_TYPED:
        n[0] = len_of(b, aux)
        return text_of(b, aux)
    if b.kind[term] == KIND_LANG:
        found = RDF_LANG_STRING if b.kind[aux] == KIND_TEXT else RDF_DIR_LANG_STRING
    n[0] = strlen(found)
    return <const uint8_t*>found


cdef int compare_alike(const void* x, const void* y, const void* batch) noexcept nogil:
    """The order of two terms with equal texts: literals by datatype, language tag and base direction."""
    cdef BatchData* b = <BatchData*>batch
    cdef int32_t one = (<const TextItem*>x).term
    cdef int32_t other = (<const TextItem*>y).term
    cdef int64_t n, m
    cdef const uint8_t* datatype
    cdef const uint8_t* other_datatype
    cdef int found
    if not among(b.kind[one], LITERALS) or b.kind[one] == b.kind[other] == KIND_LITERAL:
        return 0
    datatype = datatype_of(b, one, &n)
    other_datatype = datatype_of(b, other, &m)
    found = compare_bytes(datatype, n, other_datatype, m)
    if found or b.kind[one] != KIND_LANG or b.kind[other] != KIND_LANG:
        # A literal that is only typed rdf:langString has no language tag and stands first.
        return found if found else b.kind[other] - b.kind[one]
    found = compare_texts(b, b.aux[one], b.aux[other])
    return found if found else b.kind[b.aux[one]] - b.kind[b.aux[other]]


cdef int compare_terms(const void* x, const void* y, const void* order) noexcept nogil:
    """The order of two terms. Recursion is bounded by the depth of quoted triples."""
    cdef BatchData* b = (<const Order*>order).b
    cdef const int32_t* same = (<const Order*>order).same
    cdef int32_t one = (<const TextItem*>x).term
    cdef int32_t other = (<const TextItem*>y).term
    cdef TextItem inner[2]
    cdef int found, k
    if one == other:
        return 0
    found = row_of_kind(b.kind[one]).rank - row_of_kind(b.kind[other]).rank
    if found:
        return found
    if not among(b.kind[one], COMPOUND):
        found = compare_texts(b, one, other)
        return found if found else compare_alike(x, y, b)
    for k in range(3):
        inner[0].term = b.quoted[3 * b.aux[one] + k]
        inner[1].term = b.quoted[3 * b.aux[other] + k]
        if same[inner[0].term] != same[inner[1].term]:
            return compare_terms(&inner[0], &inner[1], order)
    return 0


cdef int32_t rank_terms(const Order* order, const int8_t* wanted, TextItem* items, int32_t* ranks) noexcept nogil:
    """The ranks of some terms from 1 on, equal ones for equal terms; 0 for the others. The highest of them."""
    cdef BatchData* b = order.b
    cdef int64_t sizes[N_KINDS + 1]
    cdef int64_t n = 0
    cdef int64_t i
    cdef int32_t rank = 0
    cdef int kind
    memset(ranks, 0, b.n_terms * sizeof(int32_t))
    memset(sizes, 0, sizeof(sizes))
    for i in range(b.n_terms):
        if wanted[i]:
            sizes[row_of_kind(b.kind[i]).rank + 1] += 1
    for kind in range(1, N_KINDS + 1):
        sizes[kind] += sizes[kind - 1]
    for i in range(b.n_terms):
        if wanted[i]:
            kind = row_of_kind(b.kind[i]).rank
            items[sizes[kind]].term = <int32_t>i
            sizes[kind] += 1
    # Now each is the end of its kind.
    for kind in range(N_KINDS):
        if sizes[kind] > n and among(b.kind[items[n].term], COMPOUND):
            heap_sort(items + n, sizes[kind] - n, sizeof(TextItem), compare_terms, order)
        else:
            sort_texts(b.text, b.start, items + n, sizes[kind] - n, compare_alike, b)
        n = sizes[kind]
    for i in range(n):
        if i == 0 or compare_terms(&items[i - 1], &items[i], order) != 0:
            rank += 1
        ranks[items[i].term] = rank
    return rank


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
    cdef Order order
    cdef int32_t most
    marks = numpy.ascontiguousarray(wanted, numpy.int8)
    if marks.shape != (b.n_terms,):
        raise JellyArgumentError(f"{marks.size} marks do not fit {b.n_terms} terms")
    made = numpy.empty(b.n_terms, numpy.int32)
    ids = TermDictionary().take(batch) if b.n_quoted else None
    order.b = b
    order.same = <const int32_t*>memory_of(ids) if b.n_quoted else NULL
    cdef const int8_t* marked = <const int8_t*>memory_of(marks)
    cdef int32_t* ranks = <int32_t*>memory_of(made)
    cdef TextItem* items = <TextItem*>malloc((numpy.count_nonzero(marks) + 1) * sizeof(TextItem))
    if items == NULL:
        raise MemoryError
    with nogil:
        most = rank_terms(&order, marked, items, ranks)
        free(items)
    return made, most
