"""Memory of Arrow columns, in blocks that are used again when the consumer drops a column."""

from cython cimport final, no_gc
from libc.stdlib cimport free, malloc

from jelly._core.base.claim cimport give_back, try_claim
from jelly._core.base.objects cimport fill_view
from jelly._core.base.protobuf cimport reserve


@final
cdef class Pool:
    """Blocks of memory that were columns and will be again: the first touch of fresh memory costs more than filling it.

    It lives as long as the reading and the last column; what is kept is bounded. A thread that comes while another takes
    or gives a block does without the Pool.
    """

    def __dealloc__(self):
        cdef int i
        for i in range(self.n):
            free(self.blocks[i])

    cdef void* take(self, int64_t need, int64_t* size) except NULL:
        """The smallest block that does, if it is not far too large, or a new one."""
        cdef void* block = NULL
        size[0] = need if need > 0 else 1
        if try_claim(&self.claimed):
            block = self.find(need, size)
            give_back(&self.claimed)
        if block == NULL:
            block = malloc(size[0])
        if block == NULL:
            raise MemoryError
        return block

    cdef void* find(self, int64_t need, int64_t* size) noexcept:
        cdef int i
        cdef int found = -1
        cdef void* block
        for i in range(self.n):
            if need <= self.sizes[i] <= 2 * need + POOL_LEAST and (found < 0 or self.sizes[i] < self.sizes[found]):
                found = i
        if found < 0:
            return NULL
        block = self.blocks[found]
        size[0] = self.sizes[found]
        self.n -= 1
        self.total -= size[0]
        self.blocks[found] = self.blocks[self.n]
        self.sizes[found] = self.sizes[self.n]
        return block

    cdef void give(self, void* block, int64_t size) noexcept:
        if size >= POOL_LEAST and try_claim(&self.claimed):
            if self.n < POOL_BLOCKS and self.total + size <= POOL_BYTES:
                self.blocks[self.n] = block
                self.sizes[self.n] = size
                self.n += 1
                self.total += size
                block = NULL
            give_back(&self.claimed)
        free(block)


# No cycle can go through it, and its Pool must be there to the end.
@final
@no_gc
cdef class Buffer:
    """Memory of its own, to be shared by the buffer protocol; in the end it goes back to the Pool."""

    def __dealloc__(self):
        if self.data != NULL:
            self.pool.give(self.data, self.size)

    def __len__(self):
        return self.n

    def __getbuffer__(self, Py_buffer* view, int flags):
        fill_view(view, flags, self, "a column", self.data, &self.n, &self.stride, b"B")

    def __releasebuffer__(self, Py_buffer* view):
        pass


cdef Buffer new_buffer(Pool pool, int64_t n):
    cdef Buffer buffer = Buffer.__new__(Buffer)
    buffer.pool = pool
    buffer.data = pool.take(n, &buffer.size)
    buffer.n = n
    buffer.stride = 1
    return buffer


cdef Buffer own_buffer(Pool pool, Writer* w, int64_t n):
    """The bytes that were written, in a Buffer that owns them from now on. It has an address even where nothing was."""
    cdef Buffer buffer = Buffer.__new__(Buffer)
    if w.buf == NULL and reserve(w, 1) < 0:
        raise MemoryError
    buffer.pool = pool
    buffer.data = w.buf
    buffer.size = w.cap
    buffer.n = n
    buffer.stride = 1
    w.buf = NULL
    w.n = w.cap = 0
    return buffer
