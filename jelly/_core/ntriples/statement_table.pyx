"""StatementTable: statements of two datasets as numbers, to compare them."""

cimport cython
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.dictionary cimport TermDictionary
from jelly._core.algebra.statement_ids cimport (
    Statement, Statements, compare_statements, need_rdf, sort_statements, take_statements,
)
from jelly._core.base.batch cimport Batch
from jelly._core.base.claim cimport Claim
from jelly._core.base.fault cimport NO_MEMORY
from jelly._core.base.kinds cimport KIND_BNODE
from jelly._core.base.objects cimport hold

import numpy

from jelly._core.algebra.content import blank_terms

cdef enum:
    # The kind, in the dictionary, of blank nodes of the second dataset: no term has it.
    OTHER_BNODE = 0


cdef inline bint is_open(const uint8_t* opened, const Statement* row) noexcept nogil:
    cdef int slot
    for slot in range(4):
        if row.ids[slot] >= 0 and opened[row.ids[slot]]:
            return True
    return False


cdef int set_apart(const uint8_t* opened, Statements* rows, Statements* apart) noexcept nogil:
    """Move the statements with blank nodes to `apart`."""
    cdef int64_t i, kept = 0
    cdef int64_t found = 0
    for i in range(rows.n):
        found += is_open(opened, &rows.rows[i])
    if found == 0:
        return 0
    apart.rows = <Statement*>malloc(found * sizeof(Statement))
    if apart.rows == NULL:
        return NO_MEMORY
    for i in range(rows.n):
        if is_open(opened, &rows.rows[i]):
            apart.rows[apart.n] = rows.rows[i]
            apart.n += 1
        else:
            rows.rows[kept] = rows.rows[i]
            kept += 1
    rows.n = kept
    return 0


cdef void drop_common(Statements* x, Statements* y) noexcept nogil:
    """Remove from two sorted lists the statements that both have, counting duplicates."""
    cdef int64_t i = 0, k = 0, kept_x = 0, kept_y = 0
    cdef int order
    while i < x.n or k < y.n:
        order = -1 if k == y.n else 1 if i == x.n else compare_statements(&x.rows[i], &y.rows[k])
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
    if rows.n:
        memcpy(memory_of(found), rows.rows, rows.n * sizeof(Statement))
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
    >>> table.terms.term(0), table.terms.term(2)
    ('<a:s>', '_:b')
    """

    cdef TermDictionary dictionary
    cdef Statements rows[2]
    cdef Statements apart[2]
    cdef bint taken
    cdef Claim claimed

    def __cinit__(self):
        self.dictionary = TermDictionary()

    def __dealloc__(self):
        cdef int side
        for side in range(2):
            free(self.rows[side].rows)
            free(self.apart[side].rows)

    def __reduce__(self):
        raise TypeError("a StatementTable cannot be pickled")

    def add(self, Batch batch not None, int side, int64_t start=0, stop=None) -> None:
        """Add some rows of a Batch to the first dataset (``side`` 0) or the second (1)."""
        cdef int64_t end = batch.a.n_rows if stop is None else stop
        held = hold(&self.claimed, self)
        if self.taken:
            raise ValueError("the differences were taken")
        if not 0 <= side <= 1 or not 0 <= start <= end <= batch.a.n_rows:
            raise IndexError(f"side {side} or rows {start} to {end} are not there")
        need_rdf(batch)
        self.dictionary.table.blank = OTHER_BNODE if side else KIND_BNODE
        take_statements(self.dictionary, &self.rows[side], batch, start, end)

    def take_differences(self) -> tuple:
        """The statements without blank nodes that only the first dataset has, and those that only the second has.

        Duplicates count: a statement appears as often as one dataset has it more. Nothing can be added after this.
        """
        cdef Batch terms = self.dictionary.terms
        cdef const uint8_t* opened
        cdef int status = 0
        cdef int side
        cdef int64_t i
        held = hold(&self.claimed, self)
        if self.taken:
            raise ValueError("the differences were taken")
        self.taken = True
        for i in range(terms.a.n_terms):
            if terms.a.kind[i] == OTHER_BNODE:
                terms.a.kind[i] = KIND_BNODE
        found = blank_terms(terms)
        opened = <const uint8_t*>memory_of(found)
        with nogil:
            for side in range(2):
                if status == 0:
                    status = set_apart(opened, &self.rows[side], &self.apart[side])
                if status == 0:
                    status = sort_statements(&self.rows[side], terms.a.n_terms)
            if status == 0:
                drop_common(&self.rows[0], &self.rows[1])
        if status < 0:
            raise MemoryError
        return numbers_of(&self.rows[0]), numbers_of(&self.rows[1])

    cdef int after(self) except -1:
        if not self.taken:
            raise ValueError("the differences were not taken")
        return 0

    def open_statements(self, int side):
        """The statements with blank nodes: int32, shape (n, 4); -1 is the default graph."""
        if not 0 <= side <= 1:
            raise IndexError(f"there is no side {side}")
        held = hold(&self.claimed, self)
        self.after()
        return numbers_of(&self.apart[side])

    @property
    def terms(self) -> Batch:
        """The terms by their numbers, in a Batch without rows. A blank node may be of either dataset."""
        held = hold(&self.claimed, self)
        self.after()
        return self.dictionary.terms
