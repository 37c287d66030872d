"""XML whose text is in one piece: without comments, processing instructions and CDATA sections."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.boundaries.xml cimport Markup


ctypedef struct Joiner:
    Markup markup
    uint8_t* out
    int64_t lines  # line ends of what was left out
    int skip  # bytes that are still to come of "CDATA["
    bint named  # in a tag, its name goes on
    bint kept  # the instruction is the declaration
    bint returned  # the last byte was a carriage return
    bint raw  # it is no XML: all is given as it is


cdef void join(Joiner* j) noexcept nogil
