"""Rows of Arrow string columns, plain or dictionary, into the BatchData of a Batch. Every value is checked."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from jelly._core.ntriples.term_reader cimport NTriplesReader

cdef enum:
    # The columns before these are the slots of a statement.
    LANG = 5
    KIND
    OP
    DIRECTION
    PATCH  # numbers, no strings
    N_COLUMNS


ctypedef struct CachedCell:
    # What a value of a dictionary became.
    uint32_t serial  # of the Batch in which that holds
    int32_t term


ctypedef struct Strings:
    bint given
    int64_t first  # the item of the arrays that is row 0
    const uint8_t* valid  # a bit for each item; NULL: no nulls
    const int32_t* index  # NULL: no dictionary
    # the values: of the rows, or of the dictionary
    int64_t n_values
    int64_t first_value
    const uint8_t* value_valid
    const int32_t* offsets
    const int64_t* wide_offsets
    const uint8_t* data
    int64_t n_data
    CachedCell* known
    # the value of the row
    const uint8_t* at
    int64_t n
    int64_t entry  # of the dictionary
    # the last value that became a term; n < 0: none
    const uint8_t* last_at
    int64_t last_n
    int32_t last_term
    uint32_t last_serial


ctypedef struct ArrowImport:
    int syntax
    bint quads
    bint patch
    bint transactions  # each patch is one
    Strings columns[10]
    const int64_t* frames  # NULL: none; of a patch the numbers of the patches
    const uint8_t* frames_valid
    int64_t first_frame
    int64_t row
    int64_t n_rows
    int64_t last_frame
    bint has_frame
    NTriplesReader lines
    uint32_t serial  # of the present Batch
    int64_t max_rows
    int64_t max_text
    int at_fault  # the column


cdef int take_rows(ArrowImport* t) noexcept nogil
