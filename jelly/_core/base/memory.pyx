"""Blocks of memory that grow."""

from libc.stdlib cimport realloc

from jelly._core.base.fault cimport NO_MEMORY

cdef enum:
    LEAST = 16  # items that a block has room for


cdef int resize(void** block, int64_t n, size_t size) noexcept nogil:
    """Give `block` room for `n` items. NO_MEMORY leaves it unchanged."""
    cdef void* grown = realloc(block[0], (n if n > 0 else 1) * size)
    if grown == NULL:
        return NO_MEMORY
    block[0] = grown
    return 0


cdef int grow(void** block, int64_t* cap, int64_t n, size_t size) noexcept nogil:
    """`make_room` where there is too little."""
    cdef int64_t more = max(n, 2 * cap[0], LEAST)
    if resize(block, more, size) < 0:
        return NO_MEMORY
    cap[0] = more
    return 0
