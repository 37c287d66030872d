"""Which work keeps the GIL: to let it go and take it again costs a part of such short work, and where another thread takes
it meanwhile, 5 ms."""

from libc.stdint cimport int64_t

from jelly._core.base.batch cimport BatchData

cdef enum:
    # Bytes of text or of input, and rows: less than ten microseconds of work.
    SHORT_BYTES = 1 << 12
    SHORT_ROWS = 1 << 6


cdef inline bint is_short(const BatchData* b) noexcept nogil:  # house: allow
    """Whether a walk over the rows of a Batch is short. Quoted triples may be read many times."""
    return b.n_rows <= SHORT_ROWS and b.n_text <= SHORT_BYTES and b.n_quoted == 0
