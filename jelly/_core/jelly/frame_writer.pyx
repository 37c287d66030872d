"""Puts rows into frames and frames into bytes: options row, metadata, keyframes. Knows no term."""

from jelly._core.base.batch cimport UNSET, MetadataMark
from jelly._core.base.constants cimport is_index_key
from jelly._core.base.fault cimport OK, ONE_FRAME, fail
from jelly._core.rules.patch_operations cimport pack_place
from jelly._core.base.protobuf cimport (
    len_varint, put_bytes, reserve, write_byte, write_bytes, write_field, write_varint,
)
from jelly._core.jelly.lookup cimport TABLES, forget_lru


# ---- rows

cdef inline void write_row(EncoderState* e, uint8_t tag, const uint8_t* data, int64_t n) noexcept nogil:
    if reserve(&e.body, n + ROW_HEAD) == 0:
        put_row_head(&e.body, tag, n)
        put_bytes(&e.body, data, n)
    e.rows += 1


cdef void start_frame(EncoderState* e) noexcept nogil:
    """The first frame begins with the options row."""
    if not e.started:
        write_row(e, pb.RDF_STREAM_ROW_OPTIONS_TAG, e.options, e.n_options)
        e.started = True


cdef void put_row(EncoderState* e, uint8_t tag) noexcept nogil:
    """Append a row of the bytes that `e.row` has collected, and empty it."""
    write_row(e, tag, e.row.buf, e.row.n)
    e.row.n = 0


cdef void end_graph(EncoderState* e) noexcept nogil:
    """Close the graph that is open in a GRAPHS stream."""
    if e.in_graph:
        e.in_graph = False
        write_row(e, pb.RDF_STREAM_ROW_GRAPH_END_TAG, NULL, 0)


# ---- frames

cdef void put_metadata_entry(
    Writer* w, const uint8_t* key, int64_t n_key, const uint8_t* value, int64_t n_value
) noexcept nogil:
    write_byte(w, pb.RDF_STREAM_FRAME_METADATA_TAG)
    write_varint(w, len_field(n_key) + len_field(n_value))
    write_field(w, pb.RDF_STREAM_FRAME_METADATA_KEY_TAG, key, n_key)
    write_field(w, pb.RDF_STREAM_FRAME_METADATA_VALUE_TAG, value, n_value)


cdef void put_metadata(EncoderState* e, BatchData* a, int64_t frame) noexcept nogil:
    """The metadata that came with a frame. An index is left out: it fits the old bytes only."""
    cdef int64_t i
    cdef MetadataMark* m
    for i in range(a.n_meta):
        m = &a.meta[i]
        if is_index_key(a.meta_text + m.key, m.value - m.key):
            continue
        if m.frame == frame:
            put_metadata_entry(
                &e.body, a.meta_text + m.key, m.value - m.key, a.meta_text + m.value, m.end - m.value
            )


cdef void put_frame(EncoderState* e, Writer* body) noexcept nogil:
    """Move a frame to `e.out`."""
    if e.delimited:
        write_varint(&e.out, body.n)
    write_bytes(&e.out, body.buf, body.n)
    body.n = 0


cdef void release_frame(EncoderState* e) noexcept nogil:
    """Move the frame that was held back, if any, to `e.out`."""
    if e.has_held:
        e.has_held = False
        put_frame(e, &e.held)


cdef void forget_tables(EncoderState* e) noexcept nogil:
    """Refer to nothing that is before: no term, no entry, and no id that is told by the last one."""
    cdef int which, slot
    for which in range(TABLES):
        forget_lru(&e.tables[which])
        # No id is one more than this, so the first one is written out.
        e.tables[which].last = -2
    e.ids.name = -2
    e.ids.prefix = 0
    for slot in range(4):
        e.last[slot] = UNSET


cdef void restart_stream(EncoderState* e) noexcept nogil:
    """Begin another stream with the next frame: with its options, and as if nothing had been before."""
    cdef int which
    forget_tables(e)
    for which in range(TABLES):
        e.tables[which].last = 0
    e.ids.name = 0
    e.started = False


cdef int64_t find_place(EncoderState* e) noexcept nogil:
    """Where in a stream of patches the row to come stands, see pack_place."""
    if e.stream_type == pb.PATCH_STREAM_TYPE_FLAT:
        return pack_place(0, e.n_statements > 0 or e.goes_on, e.transaction)
    return pack_place(e.n_patches, e.in_patch, e.transaction)


cdef void start_key(EncoderState* e) noexcept nogil:
    """Make the next frame a keyframe: a reader that starts there with the options alone sees the same statements."""
    cdef int64_t[4] key = [e.n_bytes, e.n_statements, e.n_frames, find_place(e)]
    write_bytes(&e.keys, <uint8_t*>key, sizeof(key))
    e.since_key = 0
    if e.columnar:
        # Its options again are all that a reader needs.
        restart_stream(e)
    else:
        forget_tables(e)


cdef int end_frame(EncoderState* e, BatchData* meta, int64_t frame) noexcept nogil:
    """Finish the frame, with the metadata that `meta` has for it (NULL: none), and move it to `e.out`.

    With keyframes it is held back until the next one comes, and where one is due, the next frame is a keyframe.
    """
    cdef Writer swap
    cdef bint due = e.key_rows > 0 and e.since_key >= e.key_rows
    if e.columnar and e.columns.is_log and e.columns.open:
        # Options within a message would end it.
        due = False
    if due or e.independent:
        end_graph(e)
    if not e.delimited and e.n_bytes > 0:
        return fail(&e.fault, ONE_FRAME, NULL)
    start_frame(e)
    if meta != NULL:
        put_metadata(e, meta, frame)
    e.rows = 0
    if not (e.columnar and e.columns.is_log):  # where messages count as frames, however many frames they take
        e.n_frames += 1
    e.n_bytes += e.body.n + (len_varint(e.body.n) if e.delimited else 0)
    if e.independent:
        restart_stream(e)
    if e.key_rows == 0:
        put_frame(e, &e.body)
        return OK
    release_frame(e)
    swap = e.held
    e.held = e.body
    e.body = swap
    e.has_held = True
    if due:
        start_key(e)
    return OK


cdef int split_frame(EncoderState* e, int64_t n, int64_t rows) noexcept nogil:
    """End the frame before the last statement, which made it too long: after `n` bytes and `rows` rows of it.

    Not where a keyframe would begin, as the statement refers to what is before, nor where nothing else is in the frame.
    """
    cdef int64_t more = e.rows - rows
    if n == 0 or n > e.frame_bytes or (rows == 1 and e.n_frames == 0) or (e.key_rows > 0 and e.since_key >= e.key_rows):
        return OK
    e.row.n = 0
    write_bytes(&e.row, e.body.buf + n, e.body.n - n)
    e.body.n = n
    if end_frame(e, NULL, 0) != OK:
        return e.fault.code
    write_bytes(&e.body, e.row.buf, e.row.n)
    e.row.n = 0
    e.rows = more
    return OK
