"""RDF Protobuf to Batches: rows of graphs, datasets and query results, each with its length before it."""

from jelly._core.jena.row_reader cimport JenaReader

cdef enum:
    # Triple terms in one another: what Protobuf in Java reads.
    PROTOBUF_DEPTH = 48


cdef void use_protobuf(JenaReader* t) noexcept nogil
