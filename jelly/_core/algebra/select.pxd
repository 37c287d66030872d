"""Some rows of a Batch as a Batch of their own."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport Batch, BatchData


cdef object row_numbers(object rows, int64_t n)
cdef Batch rows_of_terms(BatchData* b, object terms)
