"""What the writers of RDF Thrift and RDF Protobuf share: terms are encoded once for each Batch, rows are put together."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly.core.batch cimport Arena
from jelly.core.fault cimport Fault
from jelly.core.prefixes cimport Prefixes
from jelly.core.values cimport Value
from jelly.core.wire cimport Reader, Writer

cdef enum:
    # Bytes of a term that holds others: a triple term that has one triple term three times, and so on, would be
    # beyond all memory. It is also what readers take by default.
    MAX_ENCODED = 1 << 28


ctypedef struct Encoded:
    # A term as it was encoded; a triple term has no bytes of its own.
    int64_t at  # in Drain.terms
    int64_t n  # 0: not known yet
    int64_t body  # of a triple term in Protobuf: bytes of the RDF_Triple
    int32_t depth


ctypedef struct Drain:
    Arena* b
    Encoded* memo  # one for each term of b; calloc'd by the caller
    Writer terms
    Writer out
    Prefixes prefixes
    bint shorten
    bint values
    bint default_quads  # Protobuf: the default graph by the name that Jena has for it
    # result sets
    const int32_t* cells
    int64_t width
    Fault fault


ctypedef struct Leaf:
    # A term that holds no other, ready to be encoded. `at` is NULL where a part is absent.
    int kind  # 0: a value
    Reader text
    Reader prefix  # the text is a local name
    Reader tag
    Reader direction
    Reader datatype
    Reader datatype_prefix
    Value value


cdef int load_leaf(Drain* d, int32_t term, Leaf* leaf) noexcept nogil
cdef int check_term(Drain* d, int32_t term, int slot) noexcept nogil
cdef int note_depth(Drain* d, Encoded* memo, int32_t* inner, int max_depth) noexcept nogil
cdef int declare_name(Drain* d, Reader* name, Reader* iri) noexcept nogil
cdef bint is_default_name(Arena* b, int32_t graph) noexcept nogil
cdef int load_name(Drain* d, int64_t at, Reader* text, Reader* iri) noexcept nogil
