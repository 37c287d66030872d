"""Sorts that take no more time for one input than for another, and need no memory."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from jelly._core.base.batch cimport BatchData

# Less than 0, 0 or more, as an item comes before another, is as good, or comes after it.
ctypedef int (*Compare)(const void* x, const void* y, const void* context) noexcept nogil


ctypedef struct TextItem:
    uint64_t key  # some bytes of the text, and in the low byte how many there are, at most one more than it holds
    int32_t term


cdef void heap_sort(void* items, int64_t n, size_t size, Compare compare, const void* context) noexcept nogil
cdef void sort_texts(
    const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, Compare alike, const void* context
) noexcept nogil


cdef inline int compare_bytes(const uint8_t* x, int64_t n, const uint8_t* y, int64_t m) noexcept nogil:
    cdef int found = memcmp(x, y, min(n, m))
    return found if found else (n > m) - (n < m)


cdef inline int compare_texts(const BatchData* b, int32_t x, int32_t y) noexcept nogil:
    """Compare the texts of two terms by their bytes."""
    cdef const int64_t* one = b.start + x
    cdef const int64_t* other = b.start + y
    return compare_bytes(b.text + one[0], one[1] - one[0], b.text + other[0], other[1] - other[0])
