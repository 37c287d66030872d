"""A Batch as RDF Thrift, byte for byte what Jena writes."""

from jelly.core.binwrite cimport Drain
from jelly.core.wire cimport Reader


cdef void use_thrift(Drain* d) noexcept nogil
