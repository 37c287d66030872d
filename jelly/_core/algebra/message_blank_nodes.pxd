"""Frames of a Batch as messages: complete messages only, each with blank nodes of its own."""

from libc.stdint cimport int64_t

from jelly._core.base.batch cimport BatchData


cdef inline int64_t count_whole(BatchData* b) noexcept nogil:
    """The rows that stand in frames which have ended."""
    return b.frames[b.n_frames - 1] if b.n_frames else 0


cdef void drop_tail(BatchData* b) noexcept nogil
cdef int move_tail(BatchData* b, BatchData* rest) noexcept nogil
