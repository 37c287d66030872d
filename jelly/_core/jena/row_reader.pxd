"""Meaning of the rows of RDF Thrift and RDF Protobuf: terms, prefixes, results. Knows neither encoding."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport BatchData, Interner
from jelly._core.base.fault cimport Fault
from jelly._core.base.pieces cimport Pieces
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
    FIELD_LABEL
    FIELD_LEX
    FIELD_PREFIX
    FIELD_LOCAL
    FIELD_URI
    FIELD_VALUE
    FIELD_SCALE
    FIELD_NAME
    FIELD_TERM

cdef enum:
    # Messages: of their fields from 1 on the types that Thrift has for them, 4 bits each.
    ONE_STRING = 0x80
    TWO_STRINGS = 0x880
    LITERAL_PARTS = 0x8C8880
    DECIMAL_PARTS = 0x560
    HEADER_PARTS = 0xC80
    PREFIX_PARTS = 0x88C0
    PREFIX_NAME_PARTS = 0x8C0

cdef enum:
    # In the place of a term: that of the row before.
    REPEATED = 0x7FFFFFFF

cdef enum:
    # The message that the input is: of Protobuf.
    ROWS = 0  # none, each row has its length before it
    ANY_MESSAGE  # the first bytes tell
    RDF_STREAM
    RDF_GRAPH

cdef enum:
    # Terms that are known again by their bytes, a power of two.
    SEEN = 256


ctypedef struct Seen:
    # The bytes of the last term of a slot as they stand in the input, and its id in the present Batch.
    const uint8_t* at
    int64_t n  # 0: there is none
    int32_t term


ctypedef struct Parts:
    # A literal as it was read, in the order of the fields; `at` is NULL where a part is absent.
    Reader lex
    Reader tag
    Reader datatype
    Reader short_type  # a message
    Reader direction


ctypedef struct JenaReader:
    # What the encodings differ in: set by use_thrift or use_protobuf.
    bint thrift
    int max_depth  # of triple terms
    int (*read_rows)(JenaReader* t) noexcept nogil
    # What a message has of some fields, up to its end: each where it is, NULL where it is not.
    int (*take_fields)(JenaReader* t, Reader* r, Reader* fields, int64_t parts) noexcept nogil
    int (*read_terms)(JenaReader* t, Reader* r, int n, int32_t* ids, int depth) noexcept nogil
    int32_t (*read_term)(JenaReader* t, Reader* r, int depth) noexcept nogil
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
    Pieces pieces  # Protobuf: messages of the row that came in pieces
    Fault fault


cdef void free_rows(JenaReader* t) noexcept nogil
cdef void forget_seen(JenaReader* t) noexcept nogil
cdef int need_text(JenaReader* t, Reader* text) noexcept nogil
cdef int32_t add_iri(JenaReader* t, Reader* text) noexcept nogil
cdef int32_t add_label(JenaReader* t, Reader* text) noexcept nogil
cdef int take_only(JenaReader* t, Reader* r, Reader* text, int name) noexcept nogil
cdef int take_pair(JenaReader* t, Reader* r, Reader* pair, int name) noexcept nogil
cdef int32_t read_body(JenaReader* t, Reader* r, int64_t field, int depth, const uint8_t* at) noexcept nogil
cdef int keep_last_row(JenaReader* t) noexcept nogil
cdef int declare(JenaReader* t, Reader* pair) noexcept nogil
cdef int note_base(JenaReader* t, Reader* iri) noexcept nogil
cdef bint is_default(BatchData* b, int32_t graph) noexcept nogil
cdef int put_statement(JenaReader* t, int32_t* ids, bint quad, const uint8_t* at) noexcept nogil
cdef int check_terms(JenaReader* t, int32_t* ids, int n, const uint8_t* at) noexcept nogil
cdef int begin_cells(JenaReader* t, const uint8_t* at) noexcept nogil
cdef int read_cell(JenaReader* t, Reader* r, int64_t column, const uint8_t* at) noexcept nogil
cdef int end_cells(JenaReader* t, int64_t n, const uint8_t* at) noexcept nogil
cdef int end_row(JenaReader* t) noexcept nogil
cdef int end_rows(JenaReader* t) noexcept nogil
