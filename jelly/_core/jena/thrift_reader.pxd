"""RDF Thrift into a Batch: rows of graphs and datasets, and of result sets."""

from jelly._core.jena.row_reader cimport JenaReader

cdef enum:
    # Triple terms in one another: what Jena 5 reads.
    THRIFT_DEPTH = 62


cdef int read_thrift(JenaReader* t) noexcept nogil
