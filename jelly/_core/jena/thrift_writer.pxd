"""Batches to RDF Thrift, byte for byte as Jena writes it."""

from jelly._core.base.protobuf cimport Reader
from jelly._core.jena.row_writer cimport JenaWriter


cdef void use_thrift(JenaWriter* d) noexcept nogil
