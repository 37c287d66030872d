"""Statements of many Batches as ids of one dictionary, in order."""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.dictionary cimport TermTable, check_status, find_id
from jelly._core.base.batch cimport NO_TERM, BatchData, load_row, need_statements
from jelly._core.base.fault cimport IS_PATCH, NO_MEMORY, Fault, fault_error
from jelly._core.base.memory cimport make_room

import numpy

cdef enum:
    DIGIT = 11  # bits of a digit of the radix sort


cdef int need_rdf(Batch batch) except -1:
    """Refuse query results and patches."""
    cdef Fault fault
    need_statements(batch)
    if batch.a.op != NULL:
        fault.code = IS_PATCH
        raise fault_error(&fault, {})
    return 0


cdef int add_statements(
    TermTable* t, Statements* into, BatchData* b, int64_t row, int64_t end, int32_t* ids
) noexcept nogil:
    """Add some rows of a Batch; `ids` has those of its terms that are known, else -1."""
    cdef int32_t[4] terms
    cdef int32_t id
    cdef int slot
    if make_room(<void**>&into.rows, &into.cap, into.n + end - row, sizeof(Statement)) < 0:
        return NO_MEMORY
    for row in range(row, end):
        load_row(b, row, terms)
        for slot in range(4):
            id = NO_TERM if terms[slot] == NO_TERM else find_id(t, b, terms[slot], ids)
            if id < NO_TERM:
                return id
            into.rows[into.n].ids[slot] = id
        into.n += 1
    return 0


cdef int take_statements(TermDictionary terms, Statements* into, Batch batch, int64_t row, int64_t end) except -1:
    """Add some rows of a Batch, in ids of the dictionary."""
    cdef int status
    known = numpy.full(batch.a.n_terms, NO_TERM, numpy.int32)
    cdef int32_t* ids = <int32_t*>memory_of(known)
    with nogil:
        status = add_statements(&terms.table, into, &batch.a, row, end, ids)
    return check_status(status)


cdef inline int digit_of(const Statement* row, int slot, int shift) noexcept nogil:
    return <int>(((<int64_t>row.ids[slot] + 1) >> shift) & ((1 << DIGIT) - 1))


cdef int sort_statements(Statements* rows, int32_t most) noexcept nogil:
    """Sort by s, p, o and g, from -1 to `most`, digit by digit from the last one."""
    cdef int64_t* count = <int64_t*>malloc(((1 << DIGIT) + 1) * sizeof(int64_t))
    cdef Statement* other = <Statement*>malloc((rows.n if rows.n else 1) * sizeof(Statement))
    cdef Statement* swap
    cdef int64_t i, total, number
    cdef int slot, shift, k
    if count == NULL or other == NULL:
        free(count)
        free(other)
        return NO_MEMORY
    for slot in range(3, -1, -1):
        shift = 0
        while shift == 0 or (<int64_t>most + 1) >> shift:
            memset(count, 0, ((1 << DIGIT) + 1) * sizeof(int64_t))
            for i in range(rows.n):
                count[digit_of(&rows.rows[i], slot, shift)] += 1
            if rows.n and count[digit_of(&rows.rows[0], slot, shift)] != rows.n:
                total = 0
                for k in range(1 << DIGIT):
                    number = count[k]
                    count[k] = total
                    total += number
                for i in range(rows.n):
                    k = digit_of(&rows.rows[i], slot, shift)
                    other[count[k]] = rows.rows[i]
                    count[k] += 1
                swap = rows.rows
                rows.rows = other
                rows.cap = rows.n
                other = swap
            shift += DIGIT
    free(count)
    free(other)
    return 0


cdef int64_t drop_duplicates(Statements* rows) noexcept nogil:
    """Remove duplicates from sorted statements; return the number of remaining ones."""
    cdef int64_t i, kept = 0
    for i in range(rows.n):
        if kept == 0 or compare_statements(&rows.rows[i], &rows.rows[kept - 1]) != 0:
            rows.rows[kept] = rows.rows[i]
            kept += 1
    rows.n = kept
    return kept
