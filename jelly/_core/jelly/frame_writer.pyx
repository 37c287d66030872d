"""Puts rows into frames and frames into bytes: options row, metadata, keyframes. Knows no term."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport UNSET, BatchData, MetadataMark
from jelly._core.base.fault cimport NO_MEMORY, OK, ONE_FRAME, fail
from jelly._core.rules.patch_operations cimport pack_place
from jelly._core.base.protobuf cimport (
    MAX_VARINT32, Writer, len_field, len_varint, put_byte, put_bytes, put_varint, reserve,
)
from jelly._core.jelly.encoder_state cimport KEY_NUMBERS, EncoderState
from jelly._core.jelly.lookup cimport forget_lru


# ---- rows

cdef int start_frame(EncoderState* e) noexcept nogil:
    """The first frame begins with the options row."""
    if not e.started:
        if reserve(&e.body, e.n_options + ROW_HEAD) < 0:
            return fail(&e.fault, NO_MEMORY, NULL)
        put_row_head(&e.body, pb.RDF_STREAM_ROW_OPTIONS_TAG, e.n_options)
        put_bytes(&e.body, e.options, e.n_options)
        e.started = True
        e.rows += 1
    return OK


cdef int put_row(EncoderState* e, uint8_t tag) noexcept nogil:
    """Append a row of the bytes that `e.row` has collected, and empty it."""
    if reserve(&e.body, e.row.n + ROW_HEAD) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    put_row_head(&e.body, tag, e.row.n)
    put_bytes(&e.body, e.row.buf, e.row.n)
    e.row.n = 0
    e.rows += 1
    return OK


cdef int end_graph(EncoderState* e) noexcept nogil:
    """Close the graph that is open in a GRAPHS stream."""
    if not e.in_graph:
        return OK
    e.row.n = 0
    e.in_graph = False
    return put_row(e, pb.RDF_STREAM_ROW_GRAPH_END_TAG)


# ---- frames

cdef int put_metadata_entry(
    EncoderState* e, Writer* w, const uint8_t* key, int64_t n_key, const uint8_t* value, int64_t n_value
) noexcept nogil:
    cdef int64_t size = len_field(n_key) + len_field(n_value)
    if reserve(w, size + ROW_HEAD) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    put_byte(w, pb.RDF_STREAM_FRAME_METADATA_TAG)
    put_varint(w, size)
    put_byte(w, pb.RDF_STREAM_FRAME_METADATA_KEY_TAG)
    put_varint(w, n_key)
    put_bytes(w, key, n_key)
    put_byte(w, pb.RDF_STREAM_FRAME_METADATA_VALUE_TAG)
    put_varint(w, n_value)
    put_bytes(w, value, n_value)
    return OK


cdef int put_metadata(EncoderState* e, BatchData* a, int64_t frame) noexcept nogil:
    """The metadata that came with a frame. An index (see jelly/_formats/index.py) is left out: it fits the old bytes only."""
    cdef int64_t i
    cdef MetadataMark* m
    for i in range(a.n_meta):
        m = &a.meta[i]
        if m.value - m.key == 11 and memcmp(a.meta_text + m.key, b"jelly.index", 11) == 0:
            continue
        if m.frame == frame and put_metadata_entry(
            e, &e.body, a.meta_text + m.key, m.value - m.key, a.meta_text + m.value, m.end - m.value
        ) != OK:
            return e.fault.code
    return OK


cdef int put_frame(EncoderState* e, Writer* body) noexcept nogil:
    """Move a frame to `e.out`."""
    if reserve(&e.out, body.n + MAX_VARINT32) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    if e.delimited:
        put_varint(&e.out, body.n)
    put_bytes(&e.out, body.buf, body.n)
    body.n = 0
    return OK


cdef int release_frame(EncoderState* e) noexcept nogil:
    """Move the frame that was held back, if any, to `e.out`."""
    if not e.has_held:
        return OK
    e.has_held = False
    return put_frame(e, &e.held)


cdef void forget_tables(EncoderState* e) noexcept nogil:
    """Refer to nothing that is before: no term, no entry, and no id that is told by the last one."""
    cdef int slot
    forget_lru(&e.names)
    forget_lru(&e.prefixes)
    forget_lru(&e.datatypes)
    # No id is one more than this, so the first one is written out.
    e.names.last = e.prefixes.last = e.datatypes.last = e.last_name = -2
    e.last_prefix = 0
    for slot in range(4):
        e.last[slot] = UNSET


cdef void restart_stream(EncoderState* e) noexcept nogil:
    """Begin another stream with the next frame: with its options, and as if nothing had been before."""
    forget_tables(e)
    e.names.last = e.prefixes.last = e.datatypes.last = e.last_name = 0
    e.started = False


cdef int64_t find_place(EncoderState* e) noexcept nogil:
    """Where in a stream of patches the row to come stands, see pack_place."""
    if e.stream_type == pb.PATCH_STREAM_TYPE_FLAT:
        return pack_place(0, e.n_statements > 0 or e.goes_on, e.transaction)
    return pack_place(e.n_patches, e.in_patch, e.transaction)


cdef int start_key(EncoderState* e) noexcept nogil:
    """Make the next frame a keyframe: a reader that starts there with the options alone sees the same statements."""
    cdef int64_t* key
    if reserve(&e.keys, KEY_NUMBERS * sizeof(int64_t)) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    key = <int64_t*>(e.keys.buf + e.keys.n)
    key[0] = e.n_bytes
    key[1] = e.n_statements
    key[2] = e.n_frames
    key[3] = find_place(e)
    e.keys.n += KEY_NUMBERS * sizeof(int64_t)
    e.since_key = 0
    if e.columnar:
        # Its options again are all that a reader needs.
        restart_stream(e)
    else:
        forget_tables(e)
    return OK


cdef int end_frame(EncoderState* e, BatchData* meta, int64_t frame) noexcept nogil:
    """Finish the frame, with the metadata that `meta` has for it (NULL: none), and move it to `e.out`.

    With keyframes it is held back until the next one comes, and where one is due, the next frame is a keyframe.
    """
    cdef Writer swap
    cdef bint due = e.key_rows > 0 and e.since_key >= e.key_rows
    if e.columnar and e.columns.is_log and e.columns.open:
        # Options within a message would end it.
        due = False
    if (due or e.independent) and end_graph(e) != OK:
        return e.fault.code
    if not e.delimited and e.n_bytes > 0:
        return fail(&e.fault, ONE_FRAME, NULL)
    if start_frame(e) != OK or (meta != NULL and put_metadata(e, meta, frame) != OK):
        return e.fault.code
    e.rows = 0
    if not (e.columnar and e.columns.is_log):  # where messages count as frames, however many frames they take
        e.n_frames += 1
    e.n_bytes += e.body.n + (len_varint(e.body.n) if e.delimited else 0)
    if e.independent:
        restart_stream(e)
    if e.key_rows == 0:
        return put_frame(e, &e.body)
    if release_frame(e) != OK:
        return e.fault.code
    swap = e.held
    e.held = e.body
    e.body = swap
    e.has_held = True
    return start_key(e) if due else OK


cdef int split_frame(EncoderState* e, int64_t n, int64_t rows) noexcept nogil:
    """End the frame before the last statement, which made it too long: after `n` bytes and `rows` rows of it.

    Not where a keyframe would begin, as the statement refers to what is before, nor where nothing else is in the frame.
    """
    cdef int64_t more = e.rows - rows
    if n == 0 or n > e.frame_bytes or (rows == 1 and e.n_frames == 0) or (e.key_rows > 0 and e.since_key >= e.key_rows):
        return OK
    e.row.n = 0
    if reserve(&e.row, e.body.n - n) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    put_bytes(&e.row, e.body.buf + n, e.body.n - n)
    e.body.n = n
    if end_frame(e, NULL, 0) != OK:
        return e.fault.code
    if reserve(&e.body, e.row.n) < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    put_bytes(&e.body, e.row.buf, e.row.n)
    e.row.n = 0
    e.rows = more
    return OK
