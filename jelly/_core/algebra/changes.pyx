"""Which operations of patches hold, and what is left of them: the last on each statement."""

from libc.stdint cimport int8_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from jelly._core.algebra.content cimport Hash128, memory_of
from jelly._core.algebra.row_index cimport RowIndex, checked_hashes, prefetch_slot
from jelly._core.base.batch cimport Batch, need_statements
from jelly._core.base.claim cimport Claim
from jelly._core.base.memory cimport make_room
from jelly._core.base.objects cimport hold
from jelly._core.rules.patch_operations cimport OP_ABORT, OP_ADD, OP_DELETE, OP_PUNCTUATION, OP_START

import numpy

from jelly.errors import JellyArgumentError, JellyFormatError

cdef enum:
    # Of a statement: it is there afterwards; the first operation deletes it, so it must have been there.
    ADDED = 1
    NEEDED = 2

cdef enum:
    AHEAD = 12


cdef int64_t next_mark(const int8_t* op, int64_t row, int64_t end) noexcept nogil:
    """The next row that begins or ends a transaction or ends a patch; `end` where there is none."""
    while row < end:
        if op[row] == OP_PUNCTUATION or OP_START <= op[row] <= OP_ABORT:
            return row
        row += 1
    return end


cdef class Transactions:
    """The rows of patches that hold: those of a transaction when it is committed, and those outside of one.

    Give it one Batch after the other; a transaction may go on from one to the next, and its rows wait until it ends.
    With ``whole`` the rows outside wait too, until the next transaction begins or the patch ends.

    >>> from jelly import IRI
    >>> from jelly.patch import Abort, Add, Commit, Patch, Start
    >>> s, t = ((IRI(name), IRI("a:p"), IRI("a:o")) for name in ("a:s", "a:t"))
    >>> [batch] = Patch([Add(t), Start(), Add(s), Abort(), Start(), Add(s), Add(t), Commit()]).batches()
    >>> transactions = Transactions()
    >>> [[(start, stop) for _, start, stop in unit] for unit in transactions.take(batch)], transactions.close()
    ([[(0, 1)], [(5, 7)]], [])
    """

    cdef Claim claimed
    cdef bint whole
    cdef bint inside
    cdef list waiting  # what may still be dropped, or be more

    def __cinit__(self, *, bint whole=False):
        self.whole = whole
        self.waiting = []

    cdef int end_unit(self, list units) except -1:
        if self.waiting:
            units.append(self.waiting)
            self.waiting = []
        return 0

    def take(self, Batch batch not None, int64_t start=0, stop=None) -> list:
        """The rows that hold now: a list for each transaction that ends, and for the rows between two, of ranges of rows. A range
        is a Batch, its first row and the row after its last. None is empty, and no mark of a transaction is in one."""
        held = hold(&self.claimed, self)
        cdef const int8_t* op = batch.a.op
        cdef int64_t end = batch.a.n_rows if stop is None else stop
        cdef int64_t mark
        cdef list units = []
        need_statements(batch)
        if op == NULL:
            raise JellyArgumentError("these are statements, no patch: they have no operations")
        if not 0 <= start <= end <= batch.a.n_rows:
            raise IndexError(f"rows {start} to {end} are not within 0 to {batch.a.n_rows}")
        while start < end:
            with nogil:
                mark = next_mark(op, start, end)
            if mark > start:
                self.waiting.append((batch, start, mark))
            start = mark + 1
            if mark == end:
                if not self.inside and not self.whole:
                    self.end_unit(units)
            elif op[mark] == OP_PUNCTUATION:
                units += self.end_patch()
            elif op[mark] == OP_ABORT:
                self.waiting = []
                self.inside = False
            else:
                self.end_unit(units)
                self.inside = op[mark] == OP_START
        return units

    def close(self) -> list:
        """The rows that are left when the patch ends; JellyFormatError where a transaction is open."""
        held = hold(&self.claimed, self)
        return self.end_patch()

    cdef list end_patch(self):
        cdef list units = []
        if self.inside:
            raise JellyFormatError("the patch ends inside a transaction")
        self.end_unit(units)
        return units


cdef class NetChanges(RowIndex):
    """The net effect of operations on a set of statements: the last on each.

    Statements have numbers by their hashes, in the order in which they are first named.
    """

    cdef uint8_t* state
    cdef int64_t cap_state

    def __dealloc__(self):
        free(self.state)

    cdef int take_rows(self, const Hash128* at, const int8_t* op, int64_t n, char* first, char* missed) noexcept nogil:
        cdef int64_t i, before, number
        for i in range(n):
            if i + AHEAD < n:
                prefetch_slot(self, &at[i + AHEAD])
            first[i] = missed[i] = False
            if op[i] != OP_ADD and op[i] != OP_DELETE:
                continue
            before = self.n
            number = self.add_hash(&at[i])
            first[i] = number == before
            if op[i] == OP_ADD:
                self.state[number] |= ADDED
            elif first[i]:
                self.state[number] = NEEDED
            else:
                missed[i] = self.state[number] & ADDED == 0
                self.state[number] &= <uint8_t>~ADDED
        return 0

    def take(self, hashes, op) -> tuple:
        """Note operations, by the hashes of their rows and the codes 2 (add) and 3 (delete); others are left alone.

        Two arrays of bool: the rows that name a statement for the first time, whose numbers follow one another, and
        those that delete what an operation before has deleted.
        """
        hashes = checked_hashes(hashes)
        op = numpy.ascontiguousarray(op, numpy.int8)
        cdef int64_t n = len(hashes)
        cdef int64_t known = self.cap_state
        if op.ndim != 1 or len(op) != n:
            raise JellyArgumentError(f"{len(op)} operations do not fit {n} rows")
        first, missed = numpy.empty(n, numpy.bool_), numpy.empty(n, numpy.bool_)
        cdef const Hash128* at = <const Hash128*>memory_of(hashes)
        cdef const int8_t* code = <const int8_t*>memory_of(op)
        cdef char* is_first = <char*>memory_of(first)
        cdef char* is_missed = <char*>memory_of(missed)
        held = self.enter(n)
        if make_room(<void**>&self.state, &self.cap_state, self.cap, 1) < 0:
            raise MemoryError
        if self.cap_state > known:
            memset(self.state + known, 0, self.cap_state - known)
        with nogil:
            self.take_rows(at, code, n, is_first, is_missed)
        return first, missed

    cdef object states(self, int bit):
        cdef char* at
        cdef int64_t i
        held = hold(&self.claimed, self)
        made = numpy.empty(self.n, numpy.bool_)
        at = <char*>memory_of(made)
        for i in range(self.n):
            at[i] = self.state[i] & bit != 0
        return made

    @property
    def added(self):
        """Of each statement whether it is there afterwards: bool, a copy."""
        return self.states(ADDED)

    @property
    def needed(self):
        """Of each statement whether the first operation deletes it, so that it must have been there: bool, a copy."""
        return self.states(NEEDED)
