"""Memory of Arrow columns, in blocks that are used again when the consumer drops a column."""

from cython cimport final
from libc.stdint cimport int64_t

from jelly._core.base.claim cimport Claim
from jelly._core.base.protobuf cimport Writer

cdef enum:
    # Blocks that a Pool keeps: maximum number, maximum bytes of each, and of all together.
    POOL_BLOCKS = 64
    POOL_LEAST = 1 << 14
    POOL_BYTES = 1 << 26


@final
cdef class Pool:
    cdef void* blocks[POOL_BLOCKS]
    cdef int64_t sizes[POOL_BLOCKS]
    cdef int n
    cdef int64_t total
    cdef Claim claimed  # a column may be dropped in any thread

    cdef void* take(self, int64_t need, int64_t* size) except NULL
    cdef void* find(self, int64_t need, int64_t* size) noexcept
    cdef void give(self, void* block, int64_t size) noexcept


@final
cdef class Buffer:
    cdef Pool pool
    cdef void* data
    cdef int64_t size  # of the block
    cdef Py_ssize_t n
    cdef Py_ssize_t stride


cdef Buffer new_buffer(Pool pool, int64_t n)
cdef Buffer own_buffer(Pool pool, Writer* w, int64_t n)
