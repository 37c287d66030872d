"""Meaning of the rows of RDF Thrift and RDF Protobuf: terms, prefixes, results. Knows neither encoding."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport BatchData, Interner
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader, Writer
from jelly._core.jena.prefix_map cimport Prefixes

cdef enum:
    # Fields of RDF_Term, as Thrift numbers them. Protobuf has other numbers for four.
    TERM_IRI = 1
    TERM_BNODE = 2
    TERM_LITERAL = 3
    TERM_NAME = 4
    TERM_VARIABLE = 5
    TERM_ANY = 6
    TERM_UNDEFINED = 7
    TERM_REPEAT = 8
    TERM_TRIPLE = 9
    TERM_INTEGER = 10
    TERM_DOUBLE = 11
    TERM_DECIMAL = 12

cdef enum:
    # Fields of RDF_StreamRow, in both.
    ROW_PREFIX = 1
    ROW_TRIPLE = 2
    ROW_QUAD = 3
    ROW_BASE = 4  # Protobuf only

cdef enum:
    # What FIELD_MISSING names.
    FIELD_IRI = 0
    FIELD_LABEL = 1
    FIELD_LEX = 2
    FIELD_PREFIX = 3
    FIELD_LOCAL = 4
    FIELD_URI = 5
    FIELD_VALUE = 6
    FIELD_SCALE = 7
    FIELD_NAME = 8
    FIELD_TERM = 9

cdef enum:
    # In the place of a term: that of the row before.
    REPEATED = 0x7FFFFFFF

cdef enum:
    # The message that the input is: of Protobuf.
    ROWS = 0  # none, each row has its length before it
    ANY_MESSAGE = 1  # the first bytes tell
    RDF_STREAM = 2
    RDF_GRAPH = 3

cdef enum:
    # Messages of one row that may come in pieces.
    JOINS = 16
    # Terms that are known again by their bytes, a power of two.
    SEEN = 256


ctypedef struct Seen:
    # The bytes of the last term of a slot as they stand in the input, and its id in the present Batch.
    const uint8_t* at
    int64_t n  # 0: there is none
    int32_t term


ctypedef struct Parts:
    # A literal as it was read; `at` is NULL where a part is absent.
    Reader lex
    Reader tag
    Reader direction
    Reader datatype


ctypedef struct JenaReader:
    Reader r  # what of the input is not read yet
    const uint8_t* row_at  # where the present row begins
    bint final  # the input ends there, nothing follows
    BatchData* batch
    Interner index
    Seen seen[SEEN]  # Thrift: of each slot; Protobuf, where the size is known: by their bytes
    Prefixes prefixes
    Writer scratch  # an IRI put together
    Writer scratch_datatype
    Writer base
    bint has_base
    bint quads  # rows of quads, from the first one on
    bint scan  # look for a quad only
    int max_depth  # of triple terms
    int64_t max_rows
    int64_t max_text
    int64_t max_row
    int64_t need  # lower bound of the bytes still missing from the incomplete row
    int64_t attempts  # how often it was looked through
    bint patch  # rows of Jena's binary RDF Patch
    bint repeats  # the present row has a term that is REPEAT
    int32_t* last  # the terms of the last row of the Batch before, in `carry`; NULL where there is none
    BatchData carry
    int message  # ROWS, ANY_MESSAGE, RDF_STREAM, RDF_GRAPH
    int transaction  # CLOSED or OPEN
    # result sets
    bint results
    bint has_header
    int64_t width  # variables
    Writer variables  # the names, each with its length before it
    Writer joined[JOINS]  # Protobuf: messages that came in pieces
    int n_joined
    Fault fault


cdef void free_rows(JenaReader* t) noexcept nogil
cdef void forget_seen(JenaReader* t) noexcept nogil
cdef bint is_full(JenaReader* t) noexcept nogil
cdef int32_t add_iri(JenaReader* t, Reader* text) noexcept nogil
cdef int32_t add_label(JenaReader* t, Reader* text) noexcept nogil
cdef int32_t add_literal(JenaReader* t, Parts* parts) noexcept nogil
cdef int32_t add_integer(JenaReader* t, int64_t value) noexcept nogil
cdef int32_t add_double(JenaReader* t, double value) noexcept nogil
cdef int32_t add_decimal(JenaReader* t, int64_t value, int64_t scale) noexcept nogil
cdef int32_t add_triple(JenaReader* t, int32_t* ids) noexcept nogil
cdef int expand(JenaReader* t, Reader* prefix, Reader* local, Writer* scratch, Reader* iri) noexcept nogil
cdef int32_t pattern_term(JenaReader* t, int field, Reader* name, int depth, const uint8_t* at) noexcept nogil
cdef int keep_last_row(JenaReader* t) noexcept nogil
cdef int declare(JenaReader* t, Reader* name, Reader* iri) noexcept nogil
cdef int note_base(JenaReader* t, Reader* iri) noexcept nogil
cdef bint is_default(BatchData* b, int32_t graph) noexcept nogil
cdef int put_statement(JenaReader* t, int32_t* ids, bint quad, const uint8_t* at) noexcept nogil
cdef int check_terms(JenaReader* t, int32_t* ids, int n, const uint8_t* at) noexcept nogil
cdef int begin_cells(JenaReader* t, const uint8_t* at) noexcept nogil
cdef int add_variable(JenaReader* t, Reader* name) noexcept nogil
cdef int put_cell(JenaReader* t, int64_t column, int32_t term, const uint8_t* at) noexcept nogil
cdef int end_cells(JenaReader* t, int64_t n, const uint8_t* at) noexcept nogil
