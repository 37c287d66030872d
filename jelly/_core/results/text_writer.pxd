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
    N_PARTS = 5


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
    # A term that holds no other.
    int (*put_leaf)(TextWriter* d, Writer* w, int32_t term) noexcept nogil
    int (*put_triple)(TextWriter* d, int32_t term, int depth) noexcept nogil
    bint aligned  # a cell that is not bound has its place, too
    bint begun  # there was a row
    Reader parts[N_PARTS]
    Reader* before_cells  # what stands before the term, for each column
    NTriplesWriter lines  # terms as in Turtle
    Fault fault


cdef int use_syntax(TextWriter* d, object name) except -1
cdef int write_text_rows(TextWriter* d, int64_t* row, int64_t limit) noexcept nogil
