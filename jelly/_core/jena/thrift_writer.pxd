"""A Batch as RDF Thrift, byte for byte what Jena writes."""

from jelly._core.base.protobuf cimport Reader
from jelly._core.jena.row_writer cimport Drain


cdef void use_thrift(Drain* d) noexcept nogil
