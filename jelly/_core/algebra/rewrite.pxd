"""Rows of a Batch for another one, whose terms have other ids."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport BatchData


cdef int map_rows(
    BatchData* b, BatchData* target, int64_t first, const int64_t* rows, int64_t n, int32_t* moved
) noexcept nogil
cdef int map_marks(BatchData* b, BatchData* target, int32_t* moved) noexcept nogil
