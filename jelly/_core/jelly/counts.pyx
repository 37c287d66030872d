"""Counts the rows, parts and frames that a Decoder reads, in `DecoderState.counts`."""

from jelly._core.base cimport schema as pb
from jelly._core.base.fault cimport FRAMES_LIMIT, NO_MEMORY, OK, fail
from jelly._core.base.protobuf cimport Writer, put_bytes, reserve, skip_any, take_varint
from jelly._core.jelly.decode_state cimport METADATA, NUMBERS, N_PLACES, OFFSET, SHOWN, SIZE, TERM_FIELDS
from jelly._core.jelly.stream_options cimport look_at_entry


cdef int append(DecoderState* d, Writer* to, const void* data, int64_t n) noexcept nogil:
    if reserve(to, n) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    put_bytes(to, <const uint8_t*>data, n)
    return OK


cdef int look_at_row(DecoderState* d, Reader row, Reader body, int field) noexcept nogil:
    """The part of `note_row` that not every row needs."""
    cdef Counts* c = d.counts
    cdef int64_t place[4]
    if d.first_entry <= field < d.first_entry + 3:
        # What is decoded looks at entries itself.
        if d.restart.looking and c.skim:
            look_at_entry(&d.restart, entry_id(body), c.all[ROWS + field] == 1)
        return OK
    if field == pb.RDF_STREAM_ROW_TRIPLE or field == pb.RDF_STREAM_ROW_QUAD:  # of a patch a statement, too
        d.restart.looking = False
        if c.want_parts:
            note_terms(c, body)
    if not c.want_places:
        return OK
    place[0] = field
    place[1] = d.n_frames
    place[2] = d.row
    place[3] = d.frame_offset + (row.at - d.frame_start)
    return append(d, &c.places, place, sizeof(place))


cdef int64_t entry_id(Reader r) noexcept nogil:
    """The id of a lookup entry; what is malformed in one is left to what decodes it."""
    cdef int64_t tag
    cdef int64_t id = 0
    while r.at < r.end:
        tag = take_varint(&r)
        if tag == pb.RDF_NAME_ENTRY_ID_TAG:
            id = take_varint(&r)
        elif skip_any(&r, tag) < 0:
            break
    return id


cdef void note_terms(Counts* c, Reader r) noexcept nogil:
    """The terms of a statement; what is malformed in them is left to what decodes them."""
    cdef const uint8_t* begin
    cdef int64_t tag, at
    while r.at < r.end:
        begin = r.at
        tag = take_varint(&r)
        if skip_any(&r, tag) < 0:
            return
        at = (tag >> 3) - 1
        if 0 <= at < N_PLACES * TERM_FIELDS:
            add_part(&c.terms[at // TERM_FIELDS][at % TERM_FIELDS], 1, r.at - begin)


cdef int note_metadata(DecoderState* d, Reader key, Reader value, int64_t size) noexcept nogil:
    """Count an entry of metadata of `size` bytes, and keep its key and the first bytes of its value."""
    cdef Counts* c = d.counts
    cdef int64_t head[3]
    c.all[METADATA] += size
    head[0] = d.n_frames
    head[1] = key.end - key.at
    head[2] = value.end - value.at
    if append(d, &c.keys, head, sizeof(head)) != OK or append(d, &c.keys, key.at, head[1]) != OK:
        return NO_MEMORY
    return append(d, &c.keys, value.at, min(head[2], SHOWN))


cdef int note_frame(DecoderState* d) noexcept nogil:
    """The present frame ends: what it has is what came since the end of the frame before."""
    cdef Counts* c = d.counts
    cdef int64_t now[NUMBERS]
    cdef int i
    c.all[SIZE] += d.frame.end - d.frame_start
    if c.max_frames < 0:
        return OK
    if d.n_frames > c.max_frames:
        return fail(&d.fault, FRAMES_LIMIT, NULL, c.max_frames)
    for i in range(NUMBERS):
        now[i] = c.all[i] - c.before[i]
        c.before[i] = c.all[i]
    now[OFFSET] = d.frame_offset
    return append(d, &c.frames, now, sizeof(now))
