"""Finds the frames of delimited and bare streams in chunks of any size. Knows no row."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from jelly._core.base cimport schema as pb
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport WIRE_LEN, Reader, Writer, skip_any, take_span, take_varint
from jelly._core.jelly.column_schema cimport FRAME_COLUMNS

cdef enum:
    FRAMING_UNKNOWN = -1
    FRAMING_BARE  # the whole input is one frame
    FRAMING_DELIMITED
    FRAMING_GIVEN  # each chunk is one frame

cdef enum:
    # What `take_part` takes. Jelly-RDF and Jelly-Patch have the same tags.
    FRAME_ROW = pb.RDF_STREAM_FRAME_ROWS_TAG
    FRAME_METADATA = pb.RDF_STREAM_FRAME_METADATA_TAG


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
cdef int take_metadata(Reader* entry, Reader* key, Reader* value, Fault* fault) noexcept nogil


cdef inline int take_part(Reader* frame, Reader* body) noexcept nogil:
    """Take a field of a frame into `body`: FRAME_ROW, FRAME_METADATA or FRAME_COLUMNS; 0 where it was skipped; -1 if it
    is malformed."""
    cdef int64_t tag = take_varint(frame)
    if tag == FRAME_ROW:
        return FRAME_ROW if take_span(frame, body) == 0 else -1
    if tag == FRAME_METADATA:
        return FRAME_METADATA if take_span(frame, body) == 0 else -1
    if tag == FRAME_COLUMNS:
        return FRAME_COLUMNS if take_span(frame, body) == 0 else -1
    return skip_any(frame, tag)


cdef inline int take_field(Reader* r, uint32_t known, Reader* body) noexcept nogil:
    """Take a field of a row or statement: its number and, in `body`, its value, if it has a length and its bit in
    `known`; 0 where it was skipped; -1 if it is malformed."""
    cdef int64_t tag = take_varint(r)
    if tag >> 3 < 32 and tag & 7 == WIRE_LEN and known >> (tag >> 3) & 1:
        return <int>(tag >> 3) if take_span(r, body) == 0 else -1
    return skip_any(r, tag)
