"""Shared by the writers of RDF Thrift and RDF Protobuf: each term of a Batch is encoded once, then rows are assembled."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from jelly._core.base.batch cimport NO_TERM, BatchData, load_row
from jelly._core.base.fault cimport NO_MEMORY, OK, Fault, fail
from jelly._core.base.protobuf cimport Reader, Writer, len_field, put_byte, reserve
from jelly._core.jena.numeric cimport Value
from jelly._core.jena.prefix_map cimport Prefixes
from jelly._core.jena.row_reader cimport is_default

cdef enum:
    # What is around the strings of a term and the terms of a row, at most: tags, lengths, ends, a default graph.
    AROUND = 96


ctypedef struct Encoded:
    # A term as it was encoded; a triple term has no bytes of its own.
    int64_t at  # in JenaWriter.terms
    int64_t n  # 0: not known yet
    int64_t body  # of a triple term: n without what tells its length
    int32_t depth  # 0: it holds no other term


ctypedef struct TermParts:
    # A term that holds no other, ready to be encoded. `at` is NULL where a part is absent.
    int field  # of RDF_Term, as Thrift numbers them
    Reader text
    Reader prefix  # the text is a local name
    Reader tag
    const uint8_t* dashed  # NULL, or the direction of the tag: `--ltr`
    Reader datatype
    Reader datatype_prefix
    Value value


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
    void (*put_leaf)(Writer* w, TermParts* leaf) noexcept nogil
    int (*put_row)(JenaWriter* d, int64_t row) noexcept nogil
    int (*put_cells)(JenaWriter* d, int64_t* row, int64_t limit) noexcept nogil
    # Where `out` has room for it, by the sizes of the parts.
    void (*put_prefix)(Writer* w, Reader* name, Reader* iri) noexcept nogil
    void (*put_header)(JenaWriter* d, Reader* names, int64_t size) noexcept nogil
    bint results
    int64_t width  # of a result set
    Fault fault


cdef int write_rows(JenaWriter* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil
cdef int64_t encode_term(JenaWriter* d, int32_t term, int slot, int depth) noexcept nogil
cdef int write_prefix(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil
cdef int write_header(JenaWriter* d, Reader* names) noexcept nogil


cdef inline int64_t measure(JenaWriter* d, int32_t term, int slot, int depth) noexcept nogil:
    """Bytes of a term, encoded if need be; or a code."""
    if 0 <= term < d.b.n_terms and d.memo[term].n > 0:
        return d.memo[term].n
    return encode_term(d, term, slot, depth)


cdef inline int measure_terms(
    JenaWriter* d, const int32_t* ids, int64_t n, bint cells, bint lengths, int64_t* size
) noexcept nogil:
    """The bytes of the terms of a row, and room for them. In cells a term may be absent, which is UNDEFINED."""
    cdef int64_t k, one
    size[0] = 0
    for k in range(n):
        one = 2
        if not cells or ids[k] != NO_TERM:
            one = measure(d, ids[k], -1 if cells else <int>k, 0)
            if one < 0:
                return d.fault.code
        size[0] += len_field(one) if lengths else one
    return OK if reserve(&d.out, size[0] + AROUND) == 0 else fail(&d.fault, NO_MEMORY, NULL)


cdef inline int measure_row(JenaWriter* d, int64_t row, int32_t* ids, bint lengths, int64_t* size) noexcept nogil:
    """The terms of a statement: how many it has, 3 in the default graph and 4 in another, or a code."""
    cdef BatchData* b = d.b
    cdef int arity = 3
    load_row(b, row, ids)
    if ids[3] != NO_TERM:
        if measure(d, ids[3], 3, 0) < 0:
            return d.fault.code
        arity += not is_default(b, ids[3])
    return arity if measure_terms(d, ids, arity, False, lengths, size) == OK else d.fault.code


cdef inline int64_t length(Reader* text) noexcept nogil:
    return text.end - text.at


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline void put_double(Writer* w, double value) noexcept nogil:
    cdef uint64_t bits
    cdef int i
    memcpy(&bits, &value, 8)
    for i in range(8):
        put_byte(w, <uint8_t>(bits >> (8 * i)))
