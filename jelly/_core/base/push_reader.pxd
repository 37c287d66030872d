"""The base of all readers: chunks of bytes in, Batches out. Knows no format."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t

from jelly._core.base.batch cimport Batch, BatchData

cdef enum:
    # The first Batch of a reader, before the size of the one before is a guide.
    FIRST_ROWS = 32
    FIRST_TERMS = 64
    FIRST_TEXT = 4096


ctypedef struct ChunkView:
    # The chunk. Not an attribute of the class itself: the garbage collector would take its object away from us, and a
    # memoryview that is given up before its buffer is a crash.
    Py_buffer view


cdef class PushReader:
    cdef Batch batch  # which is being filled; None before the first row
    cdef ChunkView held
    cdef bint has_view
    cdef const uint8_t* rest  # what of the chunk was not looked at yet
    cdef const uint8_t* rest_end
    cdef bint final  # no chunk will follow
    cdef bint busy
    cdef object error
    # of the Batches given so far
    cdef int64_t rows_out
    cdef int64_t frames_out
    # for the next Batch
    cdef int64_t hint_rows
    cdef int64_t hint_terms
    cdef int64_t hint_text
    cdef readonly int64_t bytes_read

    # What differs, in the order of its use.
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
    # What they call.
    cdef BatchData* begin_batch(self, int arity, int64_t max_text, bint patch) except NULL
    cdef Batch take_batch(self)
    cdef object next_batch(self, bint flush)
    cdef int enter(self) except -1
