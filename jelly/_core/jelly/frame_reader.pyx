"""Finds the frames of delimited and bare streams in chunks of any size. Knows no row."""

from libc.stdlib cimport free
from libc.string cimport memmove, memset

from jelly._core.base.fault cimport (
    FRAME_LIMIT, MALFORMED, NEED_MORE, NO_MEMORY, OK, TRUNCATED, fail, fault_error,
)
from jelly._core.base.protobuf cimport MAX_VARINT, bytes_of, put_bytes, reader_of, reserve
from jelly._core.base.utf8 cimport need_utf8
from jelly._core.jelly.column_schema cimport BATCH_ROW_COUNT

cdef enum:
    # A frame buffer larger than this is given back once its frame is used up.
    KEEP_PENDING = 1 << 22
    # Bytes that tell the framing.
    LOOK = 5
    ROW = pb.RDF_STREAM_FRAME_ROWS_TAG  # and the tag of the options in a row
    METADATA = pb.RDF_STREAM_FRAME_METADATA_TAG
    KEY = pb.RDF_STREAM_FRAME_METADATA_KEY_TAG
    VALUE = pb.RDF_STREAM_FRAME_METADATA_VALUE_TAG


cdef void init_feed(FrameReader* feed, int framing, int64_t max_frame) noexcept nogil:
    memset(feed, 0, sizeof(FrameReader))
    feed.framing = framing
    feed.max_frame = max_frame


cdef void free_feed(FrameReader* feed) noexcept nogil:
    free(feed.pending.buf)
    memset(feed, 0, sizeof(FrameReader))


cdef int stash(FrameReader* feed, int64_t n, Fault* fault) noexcept nogil:
    """Move `n` bytes of the chunk to the pending frame."""
    if reserve(&feed.pending, n) < 0:
        return fail(fault, NO_MEMORY, NULL)
    put_bytes(&feed.pending, feed.chunk.at, n)
    feed.chunk.at += n
    feed.offset += n
    return OK


cdef bint begins_bare(const uint8_t* first, int64_t n) noexcept nogil:
    """Whether a stream begins like a bare frame; else it begins with the length of a frame.

    A bare frame begins with tag and length of a row and the tag of its options (0A ?? 0A); a delimited one with its
    length, and 0A then means a frame of 10 bytes, so that 0A and a row of at most 8 bytes follow.

    It may also begin with metadata: their tag and length, then the tag of a key or value (7A ?? 0A or 12). In a delimited
    stream 7A then means a frame of 122 bytes, which begins with a row (0A) or with metadata (7A). If both can be, a row
    shows the tag of its options, and the length of a key is less than that of its metadata.
    """
    if n < 3:
        return False
    if first[0] == ROW:
        return first[1] != ROW or first[2] == ROW
    if first[0] == FRAME_COLUMNS:
        # Columns and then the options (12 ?? tag), or a frame of 18 bytes.
        if first[1] == ROW:
            return n > 3 and first[3] != ROW
        return first[1] != METADATA and (first[1] != FRAME_COLUMNS or first[2] == BATCH_ROW_COUNT)
    if first[0] != METADATA:
        return False
    if first[1] != ROW and first[1] != METADATA:
        return first[1] == 0 or first[1] >= 0x80 or first[2] == KEY or first[2] == VALUE
    if (first[2] != KEY and first[2] != VALUE) or n < LOOK:
        return False
    if first[1] == ROW:
        return first[3] != ROW
    return not (first[3] == KEY or first[3] == VALUE) or first[4] > first[2]


cdef int detect(FrameReader* feed, Fault* fault) noexcept nogil:
    """Tell a delimited stream from a bare frame by its first bytes."""
    cdef uint8_t first[LOOK]
    cdef int64_t n = 0
    cdef int64_t i
    for i in range(LOOK):
        if i < feed.pending.n:
            first[i] = feed.pending.buf[i]
        elif i - feed.pending.n < feed.chunk.end - feed.chunk.at:
            first[i] = feed.chunk.at[i - feed.pending.n]
        else:
            break
        n += 1
    if n < (LOOK if n > 0 and (first[0] == METADATA or first[0] == FRAME_COLUMNS) else 3) and not feed.final:
        if stash(feed, feed.chunk.end - feed.chunk.at, fault) < 0:
            return NO_MEMORY
        return NEED_MORE
    feed.framing = FRAMING_BARE if begins_bare(first, n) else FRAMING_DELIMITED
    return OK


cdef int bare_frame(FrameReader* feed, Reader* frame, int64_t* offset, Fault* fault) noexcept nogil:
    cdef int64_t left = feed.chunk.end - feed.chunk.at
    if left > feed.max_frame - feed.pending.n:
        feed.offset -= feed.pending.n
        return fail(fault, FRAME_LIMIT, NULL, feed.pending.n + left, feed.max_frame)
    if not feed.final or feed.pending.n > 0:
        if stash(feed, left, fault) < 0:
            return NO_MEMORY
        if not feed.final:
            return NEED_MORE
        frame.at = feed.pending.buf
        frame.end = frame.at + feed.pending.n
        feed.spent = True
    else:
        if left == 0:
            return NEED_MORE
        frame[0] = feed.chunk
        feed.chunk.at = feed.chunk.end
        feed.offset += left
    offset[0] = 0
    return OK


cdef int given_frame(FrameReader* feed, Reader* frame, int64_t* offset, Fault* fault) noexcept nogil:
    cdef int64_t n = feed.chunk.end - feed.chunk.at
    if not feed.given:
        return NEED_MORE
    feed.given = False
    if n > feed.max_frame:
        return fail(fault, FRAME_LIMIT, NULL, n, feed.max_frame)
    frame[0] = feed.chunk
    feed.chunk.at = feed.chunk.end
    offset[0] = feed.offset
    feed.offset += n
    return OK


cdef int next_frame(FrameReader* feed, Reader* frame, int64_t* offset, Fault* fault) noexcept nogil:
    """Point `frame` at the next whole frame and `offset` at its place in the stream.

    NEED_MORE where the chunk holds no whole frame. The frame is good until the next call. On a fault `feed.offset` is
    the place: where the frame begins, or the end of a stream that is cut off.
    """
    cdef int status
    cdef int64_t n, header, need, left
    cdef const uint8_t* begin
    cdef Reader r
    if feed.spent:
        feed.spent = False
        feed.pending.n = 0
        if feed.pending.cap > KEEP_PENDING:
            free(feed.pending.buf)
            memset(&feed.pending, 0, sizeof(Writer))
    if feed.framing == FRAMING_UNKNOWN:
        status = detect(feed, fault)
        if status != OK:
            return status
    if feed.framing == FRAMING_BARE:
        return bare_frame(feed, frame, offset, fault)
    if feed.framing == FRAMING_GIVEN:
        return given_frame(feed, frame, offset, fault)

    if feed.pending.n == 0:
        begin = feed.chunk.at
        left = feed.chunk.end - begin
        if left == 0:
            return NEED_MORE
        n = take_varint(&feed.chunk)
        if n >= 0:
            if n > feed.max_frame:
                return fail(fault, FRAME_LIMIT, NULL, n, feed.max_frame)
            if n <= feed.chunk.end - feed.chunk.at:
                frame.at = feed.chunk.at
                frame.end = frame.at + n
                feed.chunk.at = frame.end
                feed.offset += frame.end - begin
                offset[0] = feed.offset - n
                return OK
        elif left >= MAX_VARINT:
            return fail(fault, MALFORMED, NULL)
        feed.chunk.at = begin
    while True:
        r.at = feed.pending.buf
        r.end = r.at + feed.pending.n
        n = take_varint(&r)
        left = feed.chunk.end - feed.chunk.at
        if n >= 0:
            if n > feed.max_frame:
                feed.offset -= feed.pending.n
                return fail(fault, FRAME_LIMIT, NULL, n, feed.max_frame)
            header = r.at - feed.pending.buf
            need = header + n - feed.pending.n
            if need < 0:
                # Of the two bytes that detect() may keep, the first can be an empty frame.
                frame.at = frame.end = r.at
                feed.pending.n -= header
                memmove(feed.pending.buf, r.at, feed.pending.n)
                offset[0] = feed.offset - feed.pending.n
                return OK
            if stash(feed, need if need < left else left, fault) < 0:
                return NO_MEMORY
            if need <= left:
                frame.at = feed.pending.buf + header
                frame.end = frame.at + n
                feed.spent = True
                offset[0] = feed.offset - n
                return OK
            if feed.final:
                return fail(fault, TRUNCATED, NULL, need - left)
            return NEED_MORE
        if feed.pending.n >= MAX_VARINT:
            feed.offset -= feed.pending.n
            return fail(fault, MALFORMED, NULL)
        if left == 0:
            return fail(fault, TRUNCATED, NULL, 1) if feed.final else NEED_MORE
        if stash(feed, 1, fault) < 0:
            return NO_MEMORY


cdef int take_metadata(Reader* entry, Reader* key, Reader* value, Fault* fault) noexcept nogil:
    """Key and value of an entry of the metadata of a frame."""
    cdef int64_t tag
    key.at = key.end = entry.at
    value[0] = key[0]
    while entry.at < entry.end:
        tag = take_varint(entry)
        if tag == pb.RDF_STREAM_FRAME_METADATA_KEY_TAG:
            if take_span(entry, key) < 0:
                return fail(fault, MALFORMED, entry.at)
        elif tag == pb.RDF_STREAM_FRAME_METADATA_VALUE_TAG:
            if take_span(entry, value) < 0:
                return fail(fault, MALFORMED, entry.at)
        elif skip_any(entry, tag) < 0:
            return fail(fault, MALFORMED, entry.at)
    return need_utf8(key, fault)


# Test door, and that of logs of frames.

DELIMITED = FRAMING_DELIMITED


def split_frames(chunks, int framing=FRAMING_UNKNOWN, int64_t max_frame=1 << 28):
    """The frames of a stream that comes in chunks: offset and bytes of each. Raises what the Decoder would.

    >>> split_frames([b"\\x01a\\x02bc"], DELIMITED)
    [(1, b'a'), (3, b'bc')]
    """
    cdef FrameReader feed
    cdef Fault fault
    cdef Reader frame
    cdef int64_t offset = 0
    cdef int status
    cdef bytes chunk
    found = []
    init_feed(&feed, framing, max_frame)
    memset(&fault, 0, sizeof(Fault))
    try:
        for chunk in (*filter(None, chunks), b""):
            feed.chunk = reader_of(chunk)
            feed.final = not chunk
            while True:
                status = next_frame(&feed, &frame, &offset, &fault)
                if status != OK:
                    break
                found.append((offset, bytes_of(&frame)))
            if status != NEED_MORE:
                raise fault_error(&fault, {"frame": len(found), "offset": feed.offset})
        return found
    finally:
        free_feed(&feed)
