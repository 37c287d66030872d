from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport BatchData


cdef int carry_terms(BatchData* b, BatchData* carry, int32_t* last, int32_t* carried, int64_t text_limit) noexcept nogil
cdef int copy_arena(BatchData* b, BatchData* copy) noexcept nogil
cdef int copy_terms(BatchData* b, BatchData* copy) noexcept nogil
cdef int copy_marks(BatchData* b, BatchData* copy) noexcept nogil
