"""Rows of SPARQL results that are text: names, terms and cells of a Batch. Knows no syntax."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.algebra.sort cimport compare_bytes
from jelly._core.base.batch cimport BatchData, Interner
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader, Writer
from jelly._core.ntriples.term_reader cimport NTriplesReader, find_word

cdef enum:
    # The answer of an ASK query, or none.
    NO_ANSWER = -1


cdef enum:
    # What EXPECTED names, see fault.pyx.
    OF_JSON_VALUE = 0
    OF_STRING
    OF_COLON
    OF_BRACE
    OF_BRACKET
    OF_ESCAPE
    OF_END
    OF_VARIABLE
    OF_TAG
    OF_NAME
    OF_TAG_END
    OF_EQUALS
    OF_QUOTE
    OF_REFERENCE
    OF_MARKUP
    OF_REST


cdef enum:
    # What BAD_RESULTS says.
    NO_OBJECT = 0
    NO_SET
    BOTH_SETS
    NO_TRUTH
    NO_TEXT
    NOT_TERM
    STANDS_TWICE
    HALF_PAIR
    LATE_VARIABLE
    NO_SPARQL
    NO_PART
    EMPTY_BINDING
    NO_RESULTS
    SEVERAL_TERMS
    NO_VARIABLE
    TWO_BINDINGS


cdef enum:
    # What BAD_XML says.
    MISMATCHED = 0
    UNDEFINED
    UNDECLARED
    SAME_ATTRIBUTE
    BAD_CHARACTER
    BAD_COMMENT
    BAD_RESERVED


cdef enum:
    # What JSON and XML call a term.
    URI = 0
    BNODE
    LITERAL
    TRIPLE


cdef enum:
    # What is said of a term, and in XML of a variable or link.
    TYPE = 0
    VALUE = 1
    DATATYPE = 2
    TAG = 3
    DIRECTION = 4
    N_PARTS = 5
    NAME = 0
    HREF = 1


ctypedef struct Value:
    # A term as it was read; `at` is NULL where a part is absent.
    int what
    Reader parts[N_PARTS]
    int32_t triple[3]


cdef enum:
    # Elements of XML in one another: four for each triple term, and the outer ones.
    MAX_PATH = 264
    # Namespaces that are declared by these.
    MAX_SPACES = 512


ctypedef struct Element:
    # An element that is open: where its name is in `path`, and the namespaces that were known before it.
    int64_t at
    int64_t n
    int64_t spaces
    int what


ctypedef struct Space:
    # A namespace: where its prefix is in `path`, and which it is.
    int64_t at
    int64_t n
    int which


ctypedef struct Xml:
    Writer path  # names and prefixes of the elements that are open
    Element open[MAX_PATH]
    int64_t depth
    Space spaces[MAX_SPACES]
    int64_t n_spaces
    bint in_row
    # Of the present row: the column of the binding, its term, or that of a part of a triple term; -1: none.
    int64_t column
    int32_t term
    Value value  # what the tag of a literal says of it
    int32_t triples[MAX_PATH]  # three for each triple term that is open
    int64_t n_triples


ctypedef struct TextRows:
    const uint8_t* at
    const uint8_t* end
    bint final  # the input ends there
    # Of the syntax: read what can be read for itself. OK, NEED_MORE, NEED_TABLES, FULL or a fault.
    int (*take_item)(TextRows* t) noexcept nogil
    int state  # of the syntax, from 0 on
    bint first  # JSON: no item stands before, so that none is divided from it
    BatchData* batch
    Interner index
    int32_t terms_before  # of the Batch, before the present row
    int32_t quoted_before
    Writer scratch  # texts that had escapes; has room for all of the input that is there
    # The head: names and links, each with its length before it.
    Writer names
    Writer links
    bint has_head
    bint begun  # there may be rows
    int answer
    int64_t width
    Reader* columns  # the names, when `begun`
    int32_t* order  # the columns in the order of their names
    int64_t next  # the column that is likely to come
    int64_t max_rows
    int64_t max_text
    int64_t max_held  # bytes of a row
    NTriplesReader lines  # TSV: reads terms, and finds them again
    Xml xml
    const uint8_t* begin  # of what is there
    int64_t held  # JSON: where after it results stand that come before the head; -1: none
    Fault fault


cdef void free_rows(TextRows* t) noexcept nogil
cdef int read_items(TextRows* t) noexcept nogil
cdef int expected(TextRows* t, int what) noexcept nogil
cdef int cut(TextRows* t, int what) noexcept nogil
cdef int refuse(TextRows* t, const uint8_t* at, int why) noexcept nogil
cdef int add_text(TextRows* t, Writer* list, Reader* text) noexcept nogil
cdef int add_name(TextRows* t, Reader* name) noexcept nogil
cdef int64_t find_column(TextRows* t, Reader* name) noexcept nogil
cdef int begin_row(TextRows* t) noexcept nogil
cdef void drop_row(TextRows* t) noexcept nogil
cdef int end_row(TextRows* t) noexcept nogil
cdef int32_t add_value(TextRows* t, Value* value) noexcept nogil


cdef inline int order_of(const Reader* x, const Reader* y) noexcept nogil:
    """Below, at or above 0, as Python has bytes in order. NULL is an empty text, with which memcmp must not be called."""
    if x.at == NULL or y.at == NULL:
        return (x.end > x.at) - (y.end > y.at)
    return compare_bytes(x.at, x.end - x.at, y.at, y.end - y.at)


cdef inline int peek(TextRows* t) noexcept nogil:
    """The next byte that is no space; -1 at the end."""
    cdef uint8_t byte
    while t.at < t.end:
        byte = t.at[0]
        if byte > 0x20 or not (byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09):
            return byte
        t.at += 1
    return -1


cdef inline int32_t* cell_of(TextRows* t, int64_t column) noexcept nogil:
    return t.batch.cells + t.batch.n_rows * t.width + column
