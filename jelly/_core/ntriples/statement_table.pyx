"""StatementTable: statements of two datasets as numbers, to compare them."""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from jelly._core.base.batch cimport NO_TERM, Batch, need_statements
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.fault cimport IS_PATCH, NO_MEMORY, Fault, fault_error
from jelly._core.ntriples.term_table cimport (
    SORT_BLANK, SORT_OPEN_TRIPLE, SORT_OTHER_BLANK, SORT_TEXT, SORT_TRIPLE, Statement, Statements, TermTable,
    add_statements, free_table, init_table, sort_statements,
)

import os

import numpy


cdef enum:
    SHOWN_DEPTH = 5  # of quoted triples in quoted triples


cdef inline bint is_open(TermTable* t, int32_t term) noexcept nogil:
    return term >= 0 and t.sort[term] != SORT_TEXT and t.sort[term] != SORT_TRIPLE


cdef int set_apart(TermTable* t, Statements* rows, Statements* apart) noexcept nogil:
    """Move the statements with blank nodes to `apart`."""
    cdef int64_t i, kept = 0
    cdef int64_t found = 0
    cdef Statement* row
    for i in range(rows.n):
        row = &rows.rows[i]
        found += is_open(t, row.s) or is_open(t, row.p) or is_open(t, row.o) or is_open(t, row.g)
    if found == 0:
        return 0
    apart.rows = <Statement*>malloc(found * sizeof(Statement))
    if apart.rows == NULL:
        return NO_MEMORY
    apart.cap = found
    for i in range(rows.n):
        row = &rows.rows[i]
        if is_open(t, row.s) or is_open(t, row.p) or is_open(t, row.o) or is_open(t, row.g):
            apart.rows[apart.n] = row[0]
            apart.n += 1
        else:
            rows.rows[kept] = row[0]
            kept += 1
    rows.n = kept
    return 0


cdef inline int order_of(const Statement* x, const Statement* y) noexcept nogil:
    if x.s != y.s:
        return -1 if x.s < y.s else 1
    if x.p != y.p:
        return -1 if x.p < y.p else 1
    if x.o != y.o:
        return -1 if x.o < y.o else 1
    return 0 if x.g == y.g else -1 if x.g < y.g else 1


cdef void drop_common(Statements* x, Statements* y) noexcept nogil:
    """Remove from two sorted lists the statements that both have, counting duplicates."""
    cdef int64_t i = 0, k = 0, kept_x = 0, kept_y = 0
    cdef int order
    while i < x.n or k < y.n:
        order = -1 if k == y.n else 1 if i == x.n else order_of(&x.rows[i], &y.rows[k])
        if order < 0:
            x.rows[kept_x] = x.rows[i]
            kept_x += 1
        elif order > 0:
            y.rows[kept_y] = y.rows[k]
            kept_y += 1
        i += order <= 0
        k += order >= 0
    x.n = kept_x
    y.n = kept_y


cdef object numbers_of(Statements* rows):
    found = numpy.empty((rows.n, 4), numpy.int32)
    cdef int64_t address = found.ctypes.data
    if rows.n:
        memcpy(<void*>address, rows.rows, rows.n * sizeof(Statement))
    return found


@cython.final
cdef class StatementTable:
    """The statements of two datasets as numbers: equal terms have equal numbers in both, except blank nodes.

    It holds each different term once, and 16 bytes for each statement.

    >>> import jelly
    >>> table = StatementTable()
    >>> for side, text in enumerate([b"<a:s> <a:p> _:b .\\n<a:s> <a:p> <a:o> .", b"<a:s> <a:p> <a:o> .\\n<a:s> <a:p> _:c ."]):
    ...     for batch in jelly.scan(text, format="nt").batches():
    ...         table.add(batch, side)
    >>> [len(only) for only in table.take_differences()], table.open_statements(0).tolist()
    ([0, 0], [[0, 1, 2, -1]])
    >>> table.text(0), table.label(2)
    ('<a:s>', 'b')
    """

    cdef TermTable table
    cdef Statements rows[2]
    cdef Statements apart[2]
    cdef bint taken
    cdef Claim claimed

    def __cinit__(self):
        cdef bytes key = os.urandom(16)
        if init_table(&self.table, int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")) < 0:
            raise MemoryError

    def __dealloc__(self):
        cdef int side
        free_table(&self.table)
        for side in range(2):
            free(self.rows[side].rows)
            free(self.apart[side].rows)

    def __reduce__(self):
        raise TypeError("a StatementTable cannot be pickled")

    def add(self, Batch batch not None, int side, int64_t start=0, stop=None) -> None:
        """Add some rows of a Batch to the first dataset (``side`` 0) or the second (1)."""
        claim(&self.claimed, self)
        try:
            self.take(batch, side, start, batch.a.n_rows if stop is None else stop)
        finally:
            give_back(&self.claimed)

    cdef int take(self, Batch batch, int side, int64_t start, int64_t end) except -1:
        cdef Fault fault
        cdef int32_t* numbers
        memset(&fault, 0, sizeof(fault))
        if self.taken:
            raise ValueError("the differences were taken")
        if not 0 <= side <= 1 or not 0 <= start <= end <= batch.a.n_rows:
            raise IndexError(f"side {side} or rows {start} to {end} are not there")
        need_statements(batch)
        if batch.a.op != NULL:
            fault.code = IS_PATCH
            raise fault_error(&fault, {})
        numbers = <int32_t*>malloc((batch.a.n_terms + 1) * sizeof(int32_t))
        if numbers == NULL:
            raise MemoryError
        with nogil:
            memset(numbers, 0xFF, batch.a.n_terms * sizeof(int32_t))
            add_statements(
                &self.table, &self.rows[side], &batch.a, start, end, numbers,
                SORT_OTHER_BLANK if side else SORT_BLANK, &fault,
            )
        free(numbers)
        if fault.code < 0:
            raise fault_error(&fault, {})
        return 0

    def take_differences(self) -> tuple:
        """The statements without blank nodes that only the first dataset has, and those that only the second has.

        Duplicates count: a statement appears as often as one dataset has it more. Nothing can be added after this.
        """
        cdef int status = 0
        cdef int side
        claim(&self.claimed, self)
        try:
            if self.taken:
                raise ValueError("the differences were taken")
            self.taken = True
            with nogil:
                for side in range(2):
                    if status == 0:
                        status = set_apart(&self.table, &self.rows[side], &self.apart[side])
                    if status == 0:
                        status = sort_statements(&self.rows[side], self.table.n_terms)
                if status == 0:
                    drop_common(&self.rows[0], &self.rows[1])
            if status < 0:
                raise MemoryError
            return numbers_of(&self.rows[0]), numbers_of(&self.rows[1])
        finally:
            give_back(&self.claimed)

    def open_statements(self, int side):
        """The statements with blank nodes: int32, shape (n, 4); -1 is the default graph."""
        if not 0 <= side <= 1:
            raise IndexError(f"there is no side {side}")
        claim(&self.claimed, self)
        try:
            if not self.taken:
                raise ValueError("the differences were not taken")
            return numbers_of(&self.apart[side])
        finally:
            give_back(&self.claimed)

    def parts(self, triples):
        """Subject, predicate and object of quoted triples: int32, shape (n, 3)."""
        found = numpy.empty((len(triples), 3), numpy.int32)
        cdef int64_t address = found.ctypes.data
        cdef int32_t* out = <int32_t*>address
        cdef int64_t i
        cdef int32_t term
        claim(&self.claimed, self)
        try:
            for i in range(len(found)):
                term = triples[i]
                if not 0 <= term < self.table.n_terms or self.table.sort[term] not in (SORT_TRIPLE, SORT_OPEN_TRIPLE):
                    raise IndexError(f"term {term} is no quoted triple")
                memcpy(out + 3 * i, self.table.text + self.table.start[term], 3 * sizeof(int32_t))
            return found
        finally:
            give_back(&self.claimed)

    @property
    def sorts(self):
        """For each term: 0 IRI or literal, 1 and 2 blank node of either side, 3 quoted triple, 4 one with blank nodes."""
        cdef int64_t address
        claim(&self.claimed, self)
        try:
            found = numpy.empty(self.table.n_terms, numpy.int8)
            address = found.ctypes.data
            if self.table.n_terms:
                memcpy(<void*>address, self.table.sort, self.table.n_terms)
            return found
        finally:
            give_back(&self.claimed)

    def label(self, int32_t term) -> str:
        """The label of a blank node, or the N-Triples of an IRI or literal."""
        claim(&self.claimed, self)
        try:
            return self.label_of(term)
        finally:
            give_back(&self.claimed)

    cdef str label_of(self, int32_t term):
        if not 0 <= term < self.table.n_terms:
            raise IndexError(f"there is no term {term}")
        return (<const char*>self.table.text)[self.table.start[term]:self.table.start[term + 1]].decode()

    def text(self, int32_t term) -> str:
        """A term in N-Triples syntax, with blank nodes as ``_:``; empty for the default graph."""
        claim(&self.claimed, self)
        try:
            return self.text_of(term, 0)
        finally:
            give_back(&self.claimed)

    cdef str text_of(self, int32_t term, int depth):
        cdef int32_t inner[3]
        if term == NO_TERM:
            return ""
        label = self.label_of(term) if not 0 <= term < self.table.n_terms or self.table.sort[term] == SORT_TEXT else "_:"
        if self.table.sort[term] < SORT_TRIPLE:
            return label
        if depth >= SHOWN_DEPTH:
            return "<<( ... )>>"  # some quote others so often that no memory holds them written out
        memcpy(inner, self.table.text + self.table.start[term], sizeof(inner))
        return "<<( {} {} {} )>>".format(*[self.text_of(inner[k], depth + 1) for k in range(3)])
