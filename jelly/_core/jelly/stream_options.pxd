"""The stream options row of Jelly-RDF and of Jelly-Patch."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.base cimport schema as pb
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader
from jelly._core.jelly.lookup cimport TABLES

cdef enum:
    # The newest protocol versions that we read.
    MAX_VERSION = 3
    MAX_PATCH_VERSION = 1
    # The smallest name table of Jelly-Patch; Jelly-RDF 1.0 allowed any.
    MIN_PATCH_NAMES = 8
    # Fields of the options, of which none has this number.
    OPTIONS_FIELDS = 16
    # Bit n: field n is one that all options have, the sizes of the three tables and the version.
    TABLE_FIELDS = 7 << pb.RDF_STREAM_OPTIONS_MAX_NAME_TABLE_SIZE | 1 << pb.RDF_STREAM_OPTIONS_VERSION

ctypedef struct StreamOptionsRow:
    # The stream options as read: up to the name the OPTIONS_FIELDS numbers, each in the place of its field. Then those of
    # a patch get the statement type as `physical` (the numbers are the same) and the stream type as `logical`, and those
    # of version 3 the types that say the same in the row layout.
    int64_t none
    int64_t statement_type
    int64_t physical
    int64_t generalized
    int64_t star
    int64_t types[4]  # of version 3, and of results
    int64_t sizes[TABLES]  # of the lookup tables
    int64_t others[2]
    int64_t logical
    int64_t version
    Reader name  # borrowed from the frame
    # of version 3 only
    int rdf
    int numbering


ctypedef struct Limits:
    int64_t sizes[TABLES]  # of the lookup tables
    int64_t rows  # of a frame of version 3


cdef int read_options_fields(Reader* r, StreamOptionsRow* h, bint patch, int64_t known, Fault* fault) noexcept nogil
cdef int read_stream_options(Reader* r, StreamOptionsRow* h, bint patch, Fault* fault) noexcept nogil
cdef bytes options_message(bytes name, options, tuple fields)
cdef bint types_agree(StreamOptionsRow* h) noexcept nogil
cdef int check_stream_options(
    StreamOptionsRow* h, bint patch, bint strict, Limits* limits, const uint8_t* at, Fault* fault
) noexcept nogil
cdef int check_sizes(
    StreamOptionsRow* h, Limits* limits, int64_t least, const uint8_t* at, Fault* fault
) noexcept nogil
cdef bint same_stream_options(StreamOptionsRow* x, StreamOptionsRow* y) noexcept nogil


# Where another stream seems to begin, as in files that were joined with `cat`.
#
# A repeated options row says nothing by itself: the lookup tables stand, and a stream may repeat its options at any place
# (specification, "Stream options"). But a stream that begins fills its tables from the first entry on, before its first
# statement, and leaves the ids of entries to be counted. So another one seems to begin where options stand again, and the
# next entry comes before a statement and without an id, though its table has entries. A stream that goes on may look like
# that, too: it is read as it is, with a warning. Keyframes give their entries ids.

ctypedef struct Spot:
    int64_t frame
    int64_t row
    int64_t offset


ctypedef struct Restart:
    bint looking  # options stood again, and neither an entry nor a statement has come
    Spot options  # those
    # Where another stream seems to begin: how often, and the first place.
    int64_t found
    Spot first


cdef inline void look_for_restart(Restart* k, int64_t frame, int64_t row, int64_t offset) noexcept nogil:
    """Options stand again."""
    k.looking = True
    k.options.frame = frame
    k.options.row = row
    k.options.offset = offset


cdef inline void look_at_entry(Restart* k, int64_t id, bint first) noexcept nogil:
    """An entry has come while looking, with an `id` as it is in the stream, perhaps the `first` one of its table."""
    k.looking = False
    if id == 0 and not first:
        if k.found == 0:
            k.first = k.options
        k.found += 1
