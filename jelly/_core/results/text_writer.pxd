"""Rows of SPARQL results as text: each term of a Batch is written once, then rows are put together."""

from libc.stdint cimport int32_t, int64_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader, Writer
from jelly._core.ntriples.term_writer cimport NTriplesWriter

cdef enum:
    # Parts of a text that are the same in all rows.
    BEFORE_ROW = 0
    AFTER_ROW = 1
    BETWEEN_ROWS = 2
    BETWEEN_CELLS = 3
    AFTER_CELL = 4
    N_ROW_PARTS = 5
    # JSON and XML: parts that are the same in all terms. Three of a kind: of IRIs, blank nodes and literals.
    BEFORE_TERM = 5
    BEFORE_TAG = 8
    BEFORE_DATATYPE = 9
    LTR = 10
    RTL = 11
    AFTER_ABOUT = 12  # of a literal
    AFTER_TERM = 13
    TRIPLE = 16  # before each part of a triple term, and after the last
    N_PARTS = 20


ctypedef struct Encoded:
    # A term as it was written; a triple term is not kept.
    int64_t at  # in `terms`
    int64_t n  # 0: not known yet


ctypedef struct TextWriter:
    BatchData* b
    Encoded* memo  # one for each term of b; calloc'd by the caller
    Writer terms
    Writer out
    Writer scratch
    # JSON and XML: a text in quotes, or in XML of an element. NULL: CSV and TSV.
    int (*put_string)(TextWriter* d, Writer* w, const Reader* text, bint quoted) noexcept nogil
    bint text_first  # before what tells more of it
    bint csv
    bint begun  # there was a row
    Reader parts[N_PARTS]
    Reader* before_cells  # what stands before the term, for each column
    NTriplesWriter lines  # terms as in Turtle
    Fault fault


cdef void use_syntax(TextWriter* d, str name)
cdef int write_text_rows(TextWriter* d, int64_t* row, int64_t limit) noexcept nogil
