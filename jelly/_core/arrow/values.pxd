"""Terms of a Batch as values of Arrow columns: where the text of each term is, and which terms have the same text."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

from jelly._core.algebra.content cimport HashKey
from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport Fault
from jelly._core.ntriples.term_writer cimport NTriplesWriter

cdef enum:
    # Readable bytes after each value, so that it can be copied in steps of this size.
    SLACK = 32
    # Bytes that a value may have: an offset of 32 bits must reach its end.
    MAX_VALUE = 0x7FFFFFFF - SLACK
    # Bytes that the terms of one Batch may take that are not written as they are.
    MAX_SIDE = 1 << 28
    # Bytes of a value of object_kind, with zeros after.
    KIND_WIDTH = 8

cdef enum:
    # How the values of a layout are written, see `jelly._options.layouts`.
    PLAIN = 0  # IRIs and lexical forms as they are, blank nodes and quoted triples as in N-Triples
    NTRIPLES = 1


ctypedef struct Span:
    const uint8_t* at  # NULL: not known yet
    int32_t n


ctypedef struct Same:
    uint32_t hash
    int32_t term  # -1: free


ctypedef struct Render:
    BatchData* b
    int syntax
    bint directions  # have a column of their own, and do not stand after the language tags
    Span* spans  # one for each term
    int64_t cap_spans
    NTriplesWriter lengths
    # what is not in the text of the Batch
    uint8_t** chunks
    int64_t n_chunks
    int64_t cap_chunks
    uint8_t* side
    int64_t side_left
    int64_t n_side
    # terms with the same text
    int32_t* first  # the term that stands for all with this text; -1: not known yet
    int64_t cap_first
    Same* table
    int64_t n_table  # slots that there is room for
    uint32_t mask
    int64_t probes_left
    HashKey key
    bint secret  # the hash has the key
    int32_t touched
    Fault fault


cdef int start_render(Render* r, BatchData* b, int syntax, bint directions) noexcept nogil
cdef int start_same(Render* r) noexcept nogil
cdef void end_render(Render* r) noexcept nogil
cdef void free_render(Render* r) noexcept nogil
cdef int render(Render* r, int32_t term) noexcept nogil
cdef int32_t find_same(Render* r, int32_t term) noexcept nogil
cdef int all_differ(Render* r) noexcept nogil
cdef int64_t find_directions(Render* r, const int32_t* ids, int64_t rows, int8_t* out) noexcept nogil
cdef int64_t fill_kinds(Render* r, const int32_t* ids, int64_t rows, int32_t* offsets, uint8_t* data) noexcept nogil
cdef int64_t fill_kind_codes(Render* r, const int32_t* ids, int64_t rows, int8_t* out) noexcept nogil
