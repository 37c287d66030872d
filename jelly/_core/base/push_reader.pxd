"""The base of all readers: chunks of bytes in, Batches out. Independent of formats."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t

from jelly._core.base.batch cimport Batch, BatchData
from jelly._core.base.claim cimport Claim

cdef enum:
    # Size of the first Batch of a reader. Later Batches begin with the size of the Batch before.
    FIRST_ROWS = 32
    FIRST_TERMS = 64
    FIRST_TEXT = 4096


ctypedef struct ChunkView:
    # The chunk. Not an attribute of the class itself: the garbage collector would take its object away from us, and a
    # memoryview that is given up before its buffer is a crash.
    Py_buffer view


cdef class PushReader:
    cdef Batch batch  # the Batch that is being filled; None before the first row
    cdef Batch spare  # one that was filled and that nobody has any more, or None
    cdef ChunkView held
    cdef bint has_view
    cdef const uint8_t* rest  # the unread part of the chunk
    cdef const uint8_t* rest_end
    cdef bint final  # no chunk follows
    cdef Claim claimed
    cdef object error
    # of the Batches handed out so far
    cdef int64_t rows_out
    cdef int64_t frames_out
    # for the next Batch
    cdef int64_t hint_rows
    cdef int64_t hint_terms
    cdef int64_t hint_text
    cdef int64_t* max_rows  # of the Batches that follow, in a reader that can change it
    cdef readonly int64_t bytes_read

    # Methods that subclasses define, in the order of their use.
    cdef bint is_used_up(self) noexcept
    cdef int take_chunk(self) except -1
    cdef int read(self) except -1
    cdef bint next_bytes(self) except -1
    cdef int end_input(self) except -1
    cdef int64_t rows_here(self) noexcept
    cdef bint has_some(self) noexcept
    cdef bint has_names(self) noexcept
    cdef object give_rest(self)
    cdef object give_batch(self)
    cdef int release(self) except -1
    # Methods that subclasses call.
    cdef BatchData* begin_batch(self, int arity, int64_t max_text, bint patch) except NULL
    cdef Batch take_batch(self)
    cdef int begin_chunk(self, data) except -1
    cdef object pull_claimed(self, bint flush)
    cdef object next_batch(self, bint flush)
