"""RDF Thrift to Batches: rows of graphs, datasets and query results."""

from jelly._core.jena.row_reader cimport JenaReader

cdef enum:
    # Triple terms in one another: what Jena 5 reads.
    THRIFT_DEPTH = 62


cdef void use_thrift(JenaReader* t) noexcept nogil
