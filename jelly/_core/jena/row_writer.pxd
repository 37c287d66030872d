"""Batches to RDF Thrift and RDF Protobuf, byte for byte as Jena writes them: each term is encoded once, then put into rows."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader, Writer
from jelly._core.jena.prefix_map cimport Prefixes


ctypedef struct Encoded:
    # A term as it was encoded; a triple term has no bytes of its own.
    int64_t at  # in JenaWriter.terms
    int64_t n  # 0: not known yet
    int64_t body  # of a triple term: n without what tells its length
    int32_t depth  # 0: it holds no other term


ctypedef struct JenaWriter:
    BatchData* b
    Encoded* memo  # one for each term of b; calloc'd by the caller
    Writer terms
    Writer out
    Prefixes prefixes
    bint lengths  # RDF Protobuf, where each part has its length before it; else RDF Thrift, where it has an end
    bint shorten
    bint values
    bint default_quads  # Protobuf: the default graph by the name that Jena has for it
    bint results
    int64_t width  # of a result set
    Fault fault


cdef int write_rows(JenaWriter* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil
cdef int write_names(JenaWriter* d, int field, Reader* name, Reader* iri) noexcept nogil
cdef int write_header(JenaWriter* d, Reader* names) noexcept nogil
