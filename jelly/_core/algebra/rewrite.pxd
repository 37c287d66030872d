"""Rows of a Batch for another one, whose terms have other ids."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.batch_concat cimport move_term


cdef int map_rows(
    BatchData* b, BatchData* target, int64_t first, const int64_t* rows, int64_t n, int32_t* moved
) noexcept nogil
cdef int map_marks(BatchData* b, BatchData* target, int32_t* moved) noexcept nogil


cdef inline int32_t moved_id(BatchData* b, int32_t term, BatchData* target, int32_t* moved) noexcept nogil:
    """The id of a term, or of none, in the target; a code below NO_TERM where there is no room for it."""
    if moved == NULL or term < 0:
        return term
    return moved[term] - 1 if moved[term] > 0 else move_term(b, term, target, moved)
