"""Rows told apart by what they say: a set of row hashes that numbers the different ones."""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from jelly._core.algebra.content cimport memory_of
from jelly._core.base.memory cimport make_room, prefetch
from jelly._core.base.objects cimport hold

import numpy

from jelly.errors import JellyArgumentError, JellyLimitError

cdef enum:
    FIRST_SLOTS = 64
    AHEAD = 12  # rows: their slots are fetched into the cache before they are looked at
    MAX_ROWS = 0x7FFFFFFF


cdef object checked_hashes(object hashes):
    """The hashes of `row_hash`, as an array of which the core can read the memory."""
    found = numpy.ascontiguousarray(hashes)
    if found.dtype != numpy.uint64 or found.ndim != 2 or found.shape[1] != 2:
        raise JellyArgumentError("expected hashes of rows: uint64, shape (rows, 2)")
    return found


cdef void prefetch_slot(RowIndex index, const Hash128* hash) noexcept nogil:
    prefetch(&index.slots[hash.lo & index.mask])


cdef inline uint32_t slot_of(RowIndex index, const Hash128* hash, int64_t row) noexcept nogil:
    """The content of the slot of a row: its number plus 1 in as many low bits as there may be, and bits of its hash above."""
    return (<uint32_t>(hash.hi >> 32) & ~<uint32_t>index.mask) | <uint32_t>(row + 1)


cdef class RowIndex:
    """Numbers for rows by their hashes (see `row_hash`), 0 for the first, each row once: a set that knows the order.

    It takes 21 to 27 bytes a row, whatever the rows say.

    >>> import jelly
    >>> from jelly._core.algebra.content import row_hash
    >>> batch = next(jelly.scan(b"<a:s> <a:p> 1 . <a:s> <a:p> 2 . <a:s> <a:p> 1 .", format="ttl").batches())
    >>> index = RowIndex()
    >>> numbers, new = index.add(row_hash(batch, bytes(16)))
    >>> numbers.tolist(), new.tolist(), len(index)
    ([0, 1, 0], [True, True, False], 2)
    """

    def __cinit__(self):
        self.mask = FIRST_SLOTS - 1
        self.slots = <uint32_t*>calloc(FIRST_SLOTS, sizeof(uint32_t))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)
        free(self.rows)

    def __len__(self):
        return self.n

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return (self.mask + 1) * sizeof(uint32_t) + self.n * sizeof(Hash128)

    cdef Hold enter(self, int64_t more):
        """Claim the index, with room for more rows."""
        held = hold(&self.claimed, self)
        if self.n + more > MAX_ROWS:
            raise JellyLimitError(f"{self.n + more} rows are too many for one index, which has at most {MAX_ROWS}")
        if self.reserve(more) < 0:
            raise MemoryError
        return held

    cdef int reserve(self, int64_t more) noexcept nogil:
        """Make room for more rows; -1 without memory."""
        cdef uint64_t n_slots = self.mask + 1
        cdef uint64_t at
        cdef uint32_t* slots
        cdef int64_t i
        if make_room(<void**>&self.rows, &self.cap, self.n + more, sizeof(Hash128)) < 0:
            return -1
        # At most three of four slots are taken.
        while <uint64_t>(self.n + more) * 4 > n_slots * 3:
            n_slots *= 2
        if n_slots == self.mask + 1:
            return 0
        slots = <uint32_t*>calloc(n_slots, sizeof(uint32_t))
        if slots == NULL:
            return -1
        free(self.slots)
        self.slots = slots
        self.mask = n_slots - 1
        for i in range(self.n):
            if i + AHEAD < self.n:
                prefetch_slot(self, &self.rows[i + AHEAD])
            at = self.rows[i].lo & self.mask
            while slots[at]:
                at = (at + 1) & self.mask
            slots[at] = slot_of(self, &self.rows[i], i)
        return 0

    cdef int64_t find_hash(self, const Hash128* hash) noexcept nogil:
        """The number of a row, or where its slot would be, as -1 minus that."""
        cdef uint64_t at = hash.lo & self.mask
        cdef uint32_t bits = slot_of(self, hash, -1)
        cdef uint32_t number = <uint32_t>self.mask
        cdef uint32_t slot
        cdef int64_t row
        while True:
            slot = self.slots[at]
            if slot == 0:
                return -1 - <int64_t>at
            if slot & ~number == bits:
                row = <int64_t>(slot & number) - 1
                if self.rows[row].lo == hash.lo and self.rows[row].hi == hash.hi:
                    return row
            at = (at + 1) & self.mask

    cdef int64_t add_hash(self, const Hash128* hash) noexcept nogil:
        """The number of a row, a new one where it was not there; there must be room."""
        cdef int64_t found = self.find_hash(hash)
        if found >= 0:
            return found
        self.slots[-1 - found] = slot_of(self, hash, self.n)
        self.rows[self.n] = hash[0]
        self.n += 1
        return self.n - 1

    def add(self, hashes) -> tuple:
        """The numbers of rows, int64, and of each whether it is new here, bool. JellyLimitError above 2^31 rows."""
        hashes = checked_hashes(hashes)
        cdef const Hash128* at = <const Hash128*>memory_of(hashes)
        cdef int64_t n = len(hashes)
        cdef int64_t i, before
        numbers, new = numpy.empty(n, numpy.int64), numpy.empty(n, numpy.bool_)
        cdef int64_t* number = <int64_t*>memory_of(numbers)
        cdef char* is_new = <char*>memory_of(new)
        held = self.enter(n)
        with nogil:
            for i in range(n):
                if i + AHEAD < n:
                    prefetch_slot(self, &at[i + AHEAD])
                before = self.n
                number[i] = self.add_hash(&at[i])
                is_new[i] = self.n > before
        return numbers, new

    def find(self, hashes):
        """The numbers of rows, int64, -1 for those that are not there."""
        hashes = checked_hashes(hashes)
        cdef const Hash128* at = <const Hash128*>memory_of(hashes)
        cdef int64_t n = len(hashes)
        cdef int64_t i, found
        numbers = numpy.empty(n, numpy.int64)
        cdef int64_t* number = <int64_t*>memory_of(numbers)
        held = self.enter(0)
        with nogil:
            for i in range(n):
                if i + AHEAD < n:
                    prefetch_slot(self, &at[i + AHEAD])
                found = self.find_hash(&at[i])
                number[i] = found if found >= 0 else -1
        return numbers

    def hashes(self, int64_t start=0, stop=None):
        """The hashes of some rows in the order of their numbers: uint64, shape (rows, 2), a copy."""
        cdef int64_t end
        held = hold(&self.claimed, self)
        end = self.n if stop is None else min(stop, self.n)
        if not 0 <= start <= end:
            raise IndexError(f"rows {start} to {end} are not within 0 to {self.n}")
        made = numpy.empty((end - start, 2), numpy.uint64)
        if end > start:
            memcpy(<void*>memory_of(made), self.rows + start, (end - start) * sizeof(Hash128))
        return made
