"""Detects files joined with `cat`: whether another stream begins where the options row is repeated.

A repeated options row says nothing by itself: the lookup tables stand, and a stream may repeat its options at any place
(specification, "Stream options"). What tells the two apart are the ids after it. They are read twice, as if the stream
went on and as if another began. Whoever defines an entry uses it in the next statement. So where the second way of
reading fits and uses more of what is defined than the first, or the first leads out of the tables, another stream
begins; where both fit, nothing is said. Nothing is decoded for that, and only what stands behind a repeated options row
is looked at, up to some statements.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.lookup cimport Lookup

cdef enum:
    # An id that is not known: nobody has followed the stream up to here.
    UNKNOWN = -100
    # Lookup entries between two statements that are followed.
    MAX_NEW = 64
    # Statements after which it is given up to tell.
    MAX_STATEMENTS = 64

cdef enum:
    # The three tables.
    NAMES = 0
    PREFIXES = 1
    DATATYPES = 2
    TABLES = 3


ctypedef struct Ids:
    # What ids are told by, under one of the two ways of reading.
    int64_t entry[TABLES]  # the last entry of each table
    int64_t top[TABLES]  # the entries that each has
    int64_t name  # the last name and prefix of an IRI
    int64_t prefix
    int64_t fresh[TABLES][MAX_NEW]  # entries since the last statement
    uint64_t used[TABLES]  # bit n: entry n of those was used since
    bint fits


ctypedef struct Restart:
    bint looking
    bint patch
    int arity
    bint has_statement
    int n_statements  # and other rows with terms
    int n_new[TABLES]
    Ids on  # as if the stream went on
    Ids anew  # as if another began
    int64_t size[TABLES]  # the entries that each may have
    # Where another stream seems to begin: how often, and the first place.
    int64_t found
    int64_t frame
    int64_t row
    int64_t offset


cdef void begin_look(
    Restart* k, const int64_t* entries, const int64_t* tops, const int64_t* sizes, int64_t name, int64_t prefix,
    bint patch, int arity,
) noexcept nogil
cdef void look_behind(
    Restart* k, Lookup* t, Reader rows, bint patch, int64_t frame, int64_t row, int64_t offset
) noexcept nogil
cdef void look_on(Restart* k, Reader rows, int64_t frame, int64_t row, int64_t offset) noexcept nogil
