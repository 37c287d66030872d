"""A Batch as RDF Protobuf, byte for byte what Jena writes: each row with its length before it."""

from jelly.core.binwrite cimport Drain
from jelly.core.wire cimport Reader


cdef void use_protobuf(Drain* d) noexcept nogil
cdef int write_protobuf_base(Drain* d, Reader* iri) noexcept nogil
