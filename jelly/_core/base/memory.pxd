"""Blocks of memory that grow."""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define jelly_prefetch(at) __builtin_prefetch(at)
    #else
    #define jelly_prefetch(at) ((void)(at))
    #endif
    """
    # Fetch what is there into the cache before it is needed.
    void prefetch "jelly_prefetch"(const void* at) noexcept nogil

cdef int resize(void** block, int64_t n, size_t size) noexcept nogil
cdef int grow(void** block, int64_t* cap, int64_t n, size_t size) noexcept nogil


cdef inline int make_room(void** block, int64_t* cap, int64_t n, size_t size) noexcept nogil:
    """Give `block`, which has room for `cap` items, room for `n`; where it grows, at least twice as much as before.

    NO_MEMORY leaves both unchanged.
    """
    return 0 if n <= cap[0] else grow(block, cap, n, size)
