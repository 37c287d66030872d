"""A Batch as RDF Protobuf, byte for byte what Jena writes: each row with its length before it."""

from libc.stdint cimport int64_t

from jelly.core.binwrite cimport Drain
from jelly.core.wire cimport Reader


cdef int write_protobuf(Drain* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil
cdef int write_protobuf_prefix(Drain* d, Reader* name, Reader* iri) noexcept nogil
cdef int write_protobuf_base(Drain* d, Reader* iri) noexcept nogil
cdef int write_protobuf_header(Drain* d, Reader* names, int64_t width) noexcept nogil
cdef int write_protobuf_cells(Drain* d, int64_t* row, int64_t rows, int64_t limit) noexcept nogil
