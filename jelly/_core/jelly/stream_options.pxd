"""The stream options row of Jelly-RDF and of Jelly-Patch."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader

cdef enum:
    # The newest protocol versions that we read.
    MAX_VERSION = 3
    MAX_PATCH_VERSION = 1
    # The smallest name table of Jelly-Patch; Jelly-RDF 1.0 allowed any.
    MIN_PATCH_NAMES = 8

ctypedef struct StreamOptionsRow:
    # The stream options as read. Those of a patch have the statement type as `physical` (the numbers are the same) and
    # the stream type as `logical`. Those of version 3 have the types that say the same in the row layout.
    int64_t physical
    int64_t generalized
    int64_t star
    int64_t names
    int64_t prefixes
    int64_t datatypes
    int64_t logical
    int64_t version
    Reader name  # borrowed from the frame
    # of version 3 only
    int rdf
    int numbering


ctypedef struct Limits:
    int64_t names
    int64_t prefixes
    int64_t datatypes
    int64_t rows  # of a frame of version 3


cdef int read_stream_options(Reader* r, StreamOptionsRow* h, bint patch, Fault* fault) noexcept nogil
cdef bint types_agree(StreamOptionsRow* h) noexcept nogil
cdef int check_stream_options(
    StreamOptionsRow* h, bint patch, bint strict, Limits* limits, const uint8_t* at, Fault* fault
) noexcept nogil
cdef bint same_stream_options(StreamOptionsRow* x, StreamOptionsRow* y) noexcept nogil
