from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport Arena


cdef int carry_terms(Arena* b, Arena* carry, int32_t* last, int32_t* carried, int64_t text_limit) noexcept nogil
cdef int copy_arena(Arena* b, Arena* copy) noexcept nogil
