"""RDF Thrift to Batches: rows of graphs, datasets and query results."""

from jelly._core.jena.row_reader cimport JenaReader

cdef enum:
    # Triple terms in one another: what Jena 5 reads.
    THRIFT_DEPTH = 62


cdef enum:
    # Fields of RDF_Patch_Row. A mark is 0, 1 or 2: start, commit, abort, in the order of OP_START.
    PATCH_HEADER = 1
    PATCH_ADD = 2
    PATCH_DELETE = 3
    PATCH_PREFIX_ADD = 4
    PATCH_PREFIX_DELETE = 5
    PATCH_MARK = 6


cdef void use_thrift(JenaReader* t) noexcept nogil
