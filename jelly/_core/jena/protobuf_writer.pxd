"""Batches to RDF Protobuf, byte for byte as Jena writes it: each row with its length before it."""

from jelly._core.base.protobuf cimport Reader
from jelly._core.jena.row_writer cimport JenaWriter


cdef void use_protobuf(JenaWriter* d) noexcept nogil
cdef int write_protobuf_base(JenaWriter* d, Reader* iri) noexcept nogil
