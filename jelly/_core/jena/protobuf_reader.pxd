"""RDF Protobuf to Batches: rows of graphs, datasets and query results, each with its length before it."""

from libc.stdint cimport uint8_t

from jelly._core.jena.row_reader cimport JenaReader

cdef enum:
    # Triple terms in one another: what Protobuf in Java reads.
    PROTOBUF_DEPTH = 48


cdef void use_protobuf(JenaReader* t) noexcept nogil
cdef const uint8_t* find_dashes(const uint8_t* at, const uint8_t* end) noexcept nogil
