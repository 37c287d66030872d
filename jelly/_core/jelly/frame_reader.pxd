"""Finds the frames of delimited and bare streams in chunks of any size. Knows no row."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader, Writer

cdef enum:
    FRAMING_UNKNOWN = -1
    FRAMING_BARE = 0  # the whole input is one frame
    FRAMING_DELIMITED = 1
    FRAMING_GIVEN = 2  # each chunk is one frame


ctypedef struct FrameReader:
    Reader chunk  # what of the present chunk is not used yet; borrowed
    Writer pending  # a frame that came in parts
    int framing
    bint final  # no chunk will follow
    bint given  # the chunk is a frame that was not handed out yet, and may have no bytes
    bint spent  # `pending` was handed out and is used up
    int64_t max_frame
    int64_t offset  # in the stream, of chunk.at


cdef void init_feed(FrameReader* feed, int framing, int64_t max_frame) noexcept nogil
cdef void free_feed(FrameReader* feed) noexcept nogil
cdef int next_frame(FrameReader* feed, Reader* frame, int64_t* offset, Fault* fault) noexcept nogil
cdef int take_metadata(Reader* r, Reader* key, Reader* value, Fault* fault) noexcept nogil
