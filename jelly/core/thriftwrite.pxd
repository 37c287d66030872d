"""A Batch as RDF Thrift, byte for byte what Jena writes."""

from libc.stdint cimport int64_t

from jelly.core.binwrite cimport Drain
from jelly.core.wire cimport Reader


cdef int write_thrift(Drain* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil
cdef int write_thrift_prefix(Drain* d, Reader* name, Reader* iri) noexcept nogil
cdef int write_thrift_header(Drain* d, Reader* names, int64_t width) noexcept nogil
cdef int write_thrift_cells(Drain* d, int64_t* row, int64_t rows, int64_t limit) noexcept nogil
