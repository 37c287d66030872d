"""The different terms of whole datasets, numbered: equal terms have equal numbers, in all Batches.

Terms are compared by their canonical N-Triples (RDF Dataset Canonicalization, appendix A), written by `put_content` and nowhere
else: if literals get a new part, write it there.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

from jelly._core.algebra.content cimport HashKey
from jelly._core.base.batch cimport BatchData, InternSlot
from jelly._core.base.fault cimport Fault

cdef enum:
    # Sorts of terms. Blank nodes of two datasets are always different.
    SORT_TEXT = 0  # an IRI or a literal
    SORT_BLANK = 1  # the text is the label
    SORT_OTHER_BLANK = 2  # of the second dataset
    SORT_TRIPLE = 3  # a quoted triple without blank nodes: the text is three numbers of terms
    SORT_OPEN_TRIPLE = 4  # a quoted triple with blank nodes


ctypedef struct TermTable:
    uint8_t* text
    int64_t n_text
    int64_t cap_text
    int64_t* start  # start of the text of each term, and the end of the last text
    int8_t* sort
    int32_t n_terms
    int32_t cap_terms
    InternSlot* slots
    int64_t n_slots
    HashKey key  # so that nobody can know which terms have the same hash


ctypedef struct Statement:
    # Numbers of terms; g is NO_TERM in the default graph.
    int32_t s
    int32_t p
    int32_t o
    int32_t g


ctypedef struct Statements:
    Statement* rows
    int64_t n
    int64_t cap


ctypedef struct TextItem:
    uint64_t word  # eight bytes of the text
    int32_t term


cdef int init_table(TermTable* t, uint64_t key, uint64_t more_key) noexcept nogil
cdef void free_table(TermTable* t) noexcept nogil
cdef int32_t number_term(
    TermTable* t, BatchData* b, int32_t term, int32_t* numbers, int blank, int depth, Fault* fault
) noexcept nogil
cdef int add_statements(
    TermTable* t, Statements* into, BatchData* b, int64_t row, int64_t end, int32_t* numbers, int blank, Fault* fault
) noexcept nogil
cdef void sort_texts(const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, uint64_t* chance) noexcept nogil
cdef int sort_statements(Statements* rows, int32_t most) noexcept nogil
cdef int64_t drop_duplicates(Statements* rows) noexcept nogil


cdef inline bint same_statement(const Statement* x, const Statement* y) noexcept nogil:
    return x.s == y.s and x.p == y.p and x.o == y.o and x.g == y.g
