"""Ids that are equal for equal terms, over one Batch or many: exact, and no slower for quoted triples in quoted triples."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from jelly._core.algebra.content cimport Hash128, hash_shallow, memory_of, read_key, same_content
from jelly._core.algebra.select cimport rows_of_terms
from jelly._core.base.batch cimport (
    KIND_TRIPLE, NO_TERM, RESULTS, Batch, BatchData, add_graphs, add_operations, add_quoted, add_row, add_term,
    make_results, new_batch,
)
from jelly._core.base.batch_concat cimport copy_marks
from jelly._core.base.claim cimport claim, give_back
from jelly._core.base.fault cimport NO_MEMORY, OK

import numpy
from os import urandom

from jelly.errors import JellyLimitError

cdef enum:
    FIRST_SLOTS = 64


cdef int grow_table(TermTable* t) noexcept nogil:
    """Make room for one more term, at most three of four slots taken."""
    cdef int64_t cap = 2 * t.cap
    cdef int32_t n = t.terms.n_terms
    cdef int32_t i
    cdef uint64_t at
    cdef uint64_t n_slots = t.mask + 1
    cdef uint64_t* grown
    if n + 1 > t.cap:
        grown = <uint64_t*>realloc(t.hashes, cap * sizeof(uint64_t))
        if grown == NULL:
            return NO_MEMORY
        t.hashes = grown
        t.cap = cap
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


cdef int32_t id_of_term(TermTable* t, BatchData* b, int32_t term, int32_t* ids) noexcept nogil:
    """The id of a term, and of each that it refers to; `ids` has those that are known, else -1. Negative: a code."""
    cdef Hash128 hash
    cdef uint64_t at, slot
    cdef int32_t found
    cdef int32_t aux = b.aux[term]
    cdef int32_t inner[3]
    cdef int k
    if ids[term] >= 0:
        return ids[term]
    if b.kind[term] == KIND_TRIPLE:
        for k in range(3):
            inner[k] = id_of_term(t, b, b.quoted[3 * aux + k], ids)
            if inner[k] < 0:
                return inner[k]
    elif aux >= 0:
        aux = id_of_term(t, b, aux, ids)
        if aux < 0:
            return aux
    if grow_table(t) < 0:
        return NO_MEMORY
    hash = hash_shallow(b, term, ids, &t.key)
    at = hash.lo & t.mask
    while t.slots[at]:
        slot = t.slots[at]
        found = <int32_t>(<uint32_t>slot - 1)
        if slot >> 32 == hash.lo >> 32 and same_content(b, term, ids, t.terms, found):
            ids[term] = found
            return found
        at = (at + 1) & t.mask
    if b.kind[term] == KIND_TRIPLE:
        found = add_quoted(t.terms, inner[0], inner[1], inner[2])
    else:
        found = add_term(t.terms, b.kind[term], aux, b.text + b.start[term], b.start[term + 1] - b.start[term])
    if found >= 0:
        t.hashes[found] = hash.lo
        t.slots[at] = (hash.lo >> 32 << 32) | <uint64_t>(found + 1)
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


cdef int32_t slot_of(BatchData* b, int64_t row, int64_t slot) noexcept nogil:
    if b.arity == RESULTS:
        return b.cells[row * b.width + slot]
    cdef int32_t* column = b.s if slot == 0 else b.p if slot == 1 else b.o if slot == 2 else b.g
    return NO_TERM if column == NULL else column[row]


cdef int same_rows(TermTable* t, BatchData* b, int64_t i, int32_t* ids, BatchData* c, int64_t j, int32_t* others) noexcept nogil:
    """1 where the rows are equal, 0 where not; negative: a code."""
    cdef int64_t slot
    cdef int32_t x, y
    if (b.arity == RESULTS) != (c.arity == RESULTS) or b.width != c.width:
        return 0
    memset(ids, 0xFF, b.n_terms * sizeof(int32_t))
    memset(others, 0xFF, c.n_terms * sizeof(int32_t))
    for slot in range(b.width if b.arity == RESULTS else 4):
        x = slot_of(b, i, slot)
        y = slot_of(c, j, slot)
        if x >= 0:
            x = id_of_term(t, b, x, ids)
            if x < 0:
                return x
        if y >= 0:
            y = id_of_term(t, c, y, others)
            if y < 0:
                return y
        if x != y:
            return 0
    return 1


cdef class TermDictionary:
    """Dense ids, from 0, for the distinct terms of many Batches: equal terms have equal ids, others have others.

    It keeps the text of each distinct term. Language tags and datatypes are terms too, and come before the literals
    that have them.

    >>> import jelly
    >>> one, two = (next(jelly.read_batches(text, format="nt")) for text in (b"<a:s> <a:p> <a:o> .", b'<a:o> <a:p> "x"@en .'))
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
        >>> ids = terms.ids(next(jelly.read_batches(b'<a:s> <a:p> "x"@en .', format="nt")))
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


cdef int copy_columns(BatchData* b, const int32_t* ids, BatchData* made) noexcept nogil:
    """Copy all but the terms, whose ids are others; there is room for query results."""
    cdef int64_t row, i
    if b.arity == RESULTS:
        for i in range(b.n_rows * b.width):
            made.cells[i] = ids[b.cells[i]] if b.cells[i] >= 0 else NO_TERM
        made.n_rows = b.n_rows
        return OK
    for row in range(b.n_rows):
        if add_row(
            made,
            ids[b.s[row]] if b.s[row] >= 0 else NO_TERM,
            ids[b.p[row]] if b.p[row] >= 0 else NO_TERM,
            ids[b.o[row]] if b.o[row] >= 0 else NO_TERM,
            ids[b.g[row]] if b.g != NULL and b.g[row] >= 0 else NO_TERM,
        ) < 0:
            return NO_MEMORY
        if b.op != NULL:
            made.op[row] = b.op[row]
    if copy_marks(b, made) < 0:
        return NO_MEMORY
    i = 0
    while i < b.n_names:
        made.names[i].name = ids[b.names[i].name]
        made.names[i].iri = ids[b.names[i].iri]
        i += 1
    return OK


def unique_terms(Batch batch not None) -> Batch:
    """The Batch with one id for each distinct term, see `Batch.unique`; the same one where that is so already."""
    cdef TermDictionary dictionary = TermDictionary()
    cdef BatchData* b = &batch.a
    cdef Batch made = dictionary.terms
    cdef const int32_t* ids
    cdef int status
    found = dictionary.take(batch)
    if made.a.n_terms == b.n_terms:
        return batch
    if batch.variables is not None:
        make_results(made, batch.variables, b.n_rows)
    if b.arity == 4 and add_graphs(&made.a) < 0 or b.op != NULL and add_operations(&made.a) < 0:
        raise MemoryError
    ids = <const int32_t*>memory_of(found)
    with nogil:
        status = copy_columns(b, ids, &made.a)
    check_status(status)
    made.a.text_limit = max(b.text_limit, made.a.n_text)
    made.first_row, made.first_frame, made.options = batch.first_row, batch.first_frame, batch.options
    return made


def rows_equal(Batch batch not None, int64_t row, Batch other not None, int64_t other_row) -> bool:
    """Whether two rows have equal terms at all places, as `row_hash` counts them. IndexError where there is no such row.

    >>> import jelly
    >>> one, two = (next(jelly.read_batches(text, format="nt")) for text in (b'<a:s> <a:p> "x" .', b'<a:s> <a:p> "y" .'))
    >>> rows_equal(one, 0, one, 0), rows_equal(one, 0, two, 0)
    (True, False)
    """
    cdef TermDictionary dictionary
    cdef int32_t* ids
    cdef int status
    for number, of in ((row, batch), (other_row, other)):
        if not 0 <= number < len(of):
            raise IndexError(f"no row {number}: the Batch has {len(of)}")
    dictionary = TermDictionary()
    ids = <int32_t*>malloc((batch.a.n_terms + other.a.n_terms + 1) * sizeof(int32_t))
    if ids == NULL:
        raise MemoryError
    with nogil:
        status = same_rows(&dictionary.table, &batch.a, row, ids, &other.a, other_row, ids + batch.a.n_terms)
        free(ids)
    check_status(status)
    return status == 1
