"""Shared by the writers of RDF Thrift and RDF Protobuf: each term of a Batch is encoded once, then rows are assembled."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport NO_TERM, BatchData, refuse_term
from jelly._core.base.fault cimport BAD_TERM, OK, Fault, fail
from jelly._core.base.kinds cimport COMPOUND, PATTERNS, TERMS, among
from jelly._core.base.protobuf cimport Reader, Writer
from jelly._core.jena.numeric cimport Value
from jelly._core.jena.prefix_map cimport Prefixes
from jelly._core.jena.row_reader cimport is_default


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
    bint shorten
    bint values
    bint default_quads  # Protobuf: the default graph by the name that Jena has for it
    # What the encodings differ in: set by use_thrift or use_protobuf.
    bint lengths  # every part has its tag and length before it
    int64_t around_triple  # bytes around the terms of a triple term
    int max_depth
    int (*put_leaf)(JenaWriter* d, int32_t term) noexcept nogil
    int (*put_row)(JenaWriter* d, int64_t row) noexcept nogil
    int (*put_prefix)(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil
    int (*put_header)(JenaWriter* d, Reader* names) noexcept nogil
    int (*put_cells)(JenaWriter* d, const int32_t* ids, int64_t* row, int64_t rows) noexcept nogil
    int64_t width  # of a result set
    Fault fault


ctypedef struct TermParts:
    # A term that holds no other, ready to be encoded. `at` is NULL where a part is absent.
    int kind  # 0: a value
    Reader text
    Reader prefix  # the text is a local name
    Reader tag
    int tag_kind  # of a literal with a language: KIND_TEXT, or that of a tag with a base direction
    Reader datatype
    Reader datatype_prefix
    Value value


cdef int load_leaf(JenaWriter* d, int32_t term, TermParts* leaf) noexcept nogil
cdef int measure_triple(JenaWriter* d, int32_t term, int depth) noexcept nogil
cdef int write_rows(JenaWriter* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil
cdef int declare_name(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil


cdef inline int check_term(JenaWriter* d, int32_t term, int slot) noexcept nogil:
    """A term id may come from anywhere."""
    if 0 <= term < d.b.n_terms and among(d.b.kind[term], TERMS | PATTERNS):
        if not among(d.b.kind[term], COMPOUND) or 0 <= d.b.aux[term] < d.b.n_quoted:
            return OK
    return refuse_term(&d.fault, d.b, term, slot)


cdef inline int64_t measure(JenaWriter* d, int32_t term, int slot, int depth=0) noexcept nogil:
    """Bytes of a term, encoded if need be; or a code."""
    if 0 <= term < d.b.n_terms and d.memo[term].n > 0:
        return d.memo[term].n
    if check_term(d, term, slot) < 0:
        return d.fault.code
    if (measure_triple(d, term, depth) if among(d.b.kind[term], COMPOUND) else d.put_leaf(d, term)) < 0:
        return d.fault.code
    return d.memo[term].n


cdef inline int find_terms(JenaWriter* d, int64_t row, int32_t* ids) noexcept nogil:
    """The terms of a statement: how many it has, 3 in the default graph and 4 in another, or a code."""
    cdef BatchData* b = d.b
    ids[0] = b.s[row]
    ids[1] = b.p[row]
    ids[2] = b.o[row]
    ids[3] = NO_TERM if b.g == NULL else b.g[row]
    if ids[3] == NO_TERM:
        return 3
    if check_term(d, ids[3], 3) < 0:
        return d.fault.code
    return 3 if is_default(b, ids[3]) else 4
