"""Counts rows and bytes of a Jelly stream by kind and by frame, and finds where rows are, without decoding it."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy

from jelly._core.base cimport schema as pb
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.fault cimport (
    FRAMES_LIMIT, MALFORMED, NEED_MORE, NO_MEMORY, OK, Fault, fail, fault_error,
)
from jelly._core.base.protobuf cimport (
    WIRE_LEN, WIRE_VARINT, Reader, Writer, put_bytes, reserve, skip_any, take_span, take_varint,
)
from jelly._core.jelly.column_state cimport (
    BATCH_GRAPHS, BATCH_LENGTHS_P, BATCH_LENGTHS_S, BATCH_NAMES, BATCH_NAMESPACES, BATCH_ROW_COUNT,
    BATCH_SUBJECTS, COLUMN_FIELDS, COLUMN_KINDS, COLUMN_LAYOUTS, COLUMN_NUMBERS, COLUMN_VERSION,
    ENTRY_VALUES, FRAME_COLUMNS, OPTIONS_TYPES,
)
from jelly._core.jelly.column_values cimport take_number32
from jelly._core.jelly.decode_state cimport KNOWN_ROWS, ROWS_PUNCTUATED
from jelly._core.jelly.frame_reader cimport (
    FRAME_METADATA, FRAME_ROW, FRAMING_BARE, FRAMING_DELIMITED, FRAMING_UNKNOWN, FrameReader, free_feed, init_feed,
    next_frame, take_field, take_metadata, take_part,
)
from jelly._core.jelly.stream_options cimport Restart, look_at_entry, look_for_restart

# The kinds of rows of Jelly-RDF and of Jelly-Patch, in the order of the columns. A row without a known field is of the
# last kind.
KINDS = (
    "options", "triple", "quad", "graph_start", "graph_end", "namespace", "name", "prefix", "datatype", "other",
)
PATCH_KINDS = (
    "options", "add", "delete", "namespace_add", "namespace_delete", "start", "commit", "abort", "name", "prefix",
    "datatype", "header", "punctuation", "other",
)

# The parts of statements: of each term in rows, by the field that it has; of each column of Jelly-RDF 1.2.
TERM_PARTS = (
    ("iri", "bnode", "literal", "triple_term"), ("iri", "bnode", "literal", "triple_term"),
    ("iri", "bnode", "literal", "triple_term"), ("iri", "bnode", "default_graph", "literal"),
)
COLUMN_PARTS = (
    "kinds", "runs", "name_ids", "prefix_ids", "lex_values", "literal_kinds", "langtags", "directions", "bnodes",
    "triple_terms",
)
PLACES = ("subject", "predicate", "object", "graph")

cdef enum:
    SHOWN = 100  # bytes that are kept of a value of metadata

cdef enum:
    OPTIONS = 0
    TRIPLE = 1  # of a patch an added statement
    QUAD = 2  # of a patch a deleted one
    NAMESPACE = 5
    NAME = 6
    OTHER = 9
    PATCH_NAME = 8
    PATCH_OTHER = 13
    N_PATCH_KINDS = 14

cdef enum:
    # Numbers kept for each frame, and for each place.
    NUMBERS = 3 + 2 * N_PATCH_KINDS
    PLACE_COLUMNS = 4
    N_PLACES = 4  # of terms
    TERM_FIELDS = 4  # in each place of a row


ctypedef struct Count:
    # Of one frame. Kept whole as a row of int64, so nothing else may stand here.
    int64_t offset  # in the stream, of the frame's first byte
    int64_t size
    int64_t metadata_bytes
    int64_t rows[N_PATCH_KINDS]
    int64_t bytes[N_PATCH_KINDS]


ctypedef struct Parts:
    # The values and bytes of a kind of terms, or of a list of a column.
    int64_t number
    int64_t bytes


ctypedef struct FrameScan:
    FrameReader feed
    Reader frame
    const uint8_t* frame_start
    bint patch  # Jelly-Patch; else Jelly-RDF
    int name  # the kinds of the entries of the name table, and of unknown rows
    int other
    bint in_frame
    int64_t row
    int64_t n_frames  # walked to their end
    int64_t max_frames  # of which the counts may be kept
    Restart restart
    bint columnar  # version 3: statements stand in columns
    bint quads  # there
    Count now
    Count all  # all rows walked so far, those of a frame that failed included; `size` is of whole frames
    bint want_frames
    bint want_places
    bint want_parts
    Parts terms[N_PLACES][TERM_FIELDS]  # of rows
    Parts columns[N_PLACES][COLUMN_FIELDS]
    Parts lengths  # of messages
    Writer frames  # Count of each frame
    Writer places  # kind, frame, row, offset of each row that is no lookup entry
    Writer keys  # metadata: frame, lengths of key and value, the key, and the first bytes of the value
    Fault fault


cdef inline int kind_of(bint patch, int field) noexcept nogil:
    """The kind of a known row. The numbers of the fields have one gap, before the entries of the lookup tables."""
    if patch:
        return field - 1 if field < pb.RDF_PATCH_ROW_NAME else field - pb.RDF_PATCH_ROW_NAME + PATCH_NAME
    return field - 1 if field < pb.RDF_STREAM_ROW_NAME else field - pb.RDF_STREAM_ROW_NAME + NAME


cdef int append(FrameScan* w, Writer* to, const void* data, int64_t n) noexcept nogil:
    if reserve(to, n) < 0:
        return fail(&w.fault, NO_MEMORY, NULL)
    put_bytes(to, <const uint8_t*>data, n)
    return OK


cdef int walk_row(FrameScan* w, Reader* r) noexcept nogil:
    """The kind of the row, or a negative code."""
    cdef Reader body
    cdef int kind = w.other
    cdef int field
    while r.at < r.end:
        field = take_field(r, ROWS_PUNCTUATED if w.patch else KNOWN_ROWS, &body)
        if field <= 0:
            if field < 0:
                return fail(&w.fault, MALFORMED, r.at)
            continue
        kind = kind_of(w.patch, field)  # of several fields the last one counts
        if kind == OPTIONS and not w.patch:
            walk_options(w, body)
    if kind == OPTIONS and w.all.rows[OPTIONS] > 0 and not w.columnar:
        look_for_restart(&w.restart, w.n_frames, w.row, w.now.offset + (body.at - w.frame_start))
    elif w.restart.looking and w.name <= kind <= w.name + 2:
        look_at_entry(&w.restart, entry_id(body), w.all.rows[kind] == 0)
    elif kind == TRIPLE or kind == QUAD:
        w.restart.looking = False
        if w.want_parts:
            walk_terms(w, body)
    return kind


cdef void walk_terms(FrameScan* w, Reader r) noexcept nogil:
    """The terms of a statement; what is malformed in them is left to the Decoder."""
    cdef const uint8_t* begin
    cdef int64_t tag, at
    while r.at < r.end:
        begin = r.at
        tag = take_varint(&r)
        if tag < 0 or skip_any(&r, tag) < 0:
            return
        at = (tag >> 3) - 1
        if 0 <= at < N_PLACES * TERM_FIELDS:
            add_part(&w.terms[at // TERM_FIELDS][at % TERM_FIELDS], 1, r.at - begin)


cdef inline void add_part(Parts* part, int64_t number, int64_t size) noexcept nogil:
    part.number += number
    part.bytes += size


cdef void walk_column(FrameScan* w, Reader r, int place) noexcept nogil:
    """The lists of a column; what is malformed in them is left to the Decoder."""
    cdef const uint8_t* begin
    cdef Reader body
    cdef int64_t tag, field, number
    cdef bint longer = False
    while r.at < r.end:
        begin = body.at = r.at
        tag = take_varint(&r)
        if tag < 0:
            return
        if tag & 7 == WIRE_LEN:
            if take_span(&r, &body) < 0:
                return
        else:
            body.at = r.at
            if skip_any(&r, tag) < 0:
                return
            body.end = r.at
        field = tag >> 3
        if not 0 < field < COLUMN_FIELDS:
            continue
        number = field != COLUMN_KINDS
        if field == COLUMN_LAYOUTS:
            number = count_runs(body, &longer)
        elif 1 << field & COLUMN_NUMBERS:
            number = count_varints(body)
        add_part(&w.columns[place][field], number, r.at - begin)


cdef int64_t count_varints(Reader r) noexcept nogil:
    cdef int64_t n = 0
    while r.at < r.end:
        n += r.at[0] < 0x80
        r.at += 1
    return n


cdef int64_t count_runs(Reader r, bint* longer) noexcept nogil:
    """The runs of a list of layouts; the length of a long one is a number of its own, perhaps in the next list."""
    cdef int64_t n = 0
    cdef int64_t token
    while r.at < r.end:
        token = take_varint(&r)
        if token < 0:
            break
        n += not longer[0]
        longer[0] = not longer[0] and token & 15 == 15
    return n


cdef void walk_options(FrameScan* w, Reader r) noexcept nogil:
    """Whether statements stand in columns; what is wrong in the options is left to the Decoder."""
    cdef int64_t tag, value
    while r.at < r.end:
        tag = take_varint(&r)
        if tag & 7 != WIRE_VARINT:
            if tag < 0 or skip_any(&r, tag) < 0:
                break
            continue
        value = take_number32(&r)
        if tag == pb.RDF_STREAM_OPTIONS_VERSION_TAG:
            w.columnar = value == COLUMN_VERSION
        elif tag == pb.RDF_STREAM_OPTIONS_PHYSICAL_TYPE_TAG or tag == OPTIONS_TYPES << 3:
            # The statement type; where the second is the stream type (P) it is 0 or 1.
            w.quads = value == pb.PHYSICAL_STREAM_TYPE_QUADS or (w.quads and tag == OPTIONS_TYPES << 3)


cdef int walk_columns(FrameScan* w, Reader r, int64_t size) noexcept nogil:
    """Count statements, entries and namespaces of a frame in columns; the rest of its bytes are those of statements."""
    cdef Reader entry
    cdef const uint8_t* begin
    cdef int64_t tag
    cdef int64_t n = 0
    cdef int kind, table
    while r.at < r.end:
        begin = r.at
        tag = take_varint(&r)
        table = <int>((tag >> 3) - BATCH_NAMES) if tag & 7 == WIRE_LEN and tag >> 3 <= BATCH_NAMESPACES else -1
        if tag == BATCH_ROW_COUNT:
            n = take_number32(&r)
            if n < 0:
                return fail(&w.fault, MALFORMED, r.at)
        elif 0 <= table:
            if take_span(&r, &entry) < 0:
                return fail(&w.fault, MALFORMED, r.at)
            kind = NAMESPACE if tag >> 3 == BATCH_NAMESPACES else w.name + table
            add_rows(w, kind, 1 if kind == NAMESPACE else count_values(entry), r.at - begin)
            size -= r.at - begin
        elif tag < 0 or skip_any(&r, tag) < 0:
            return fail(&w.fault, MALFORMED, r.at)
        elif w.want_parts:
            walk_part(w, tag, begin, r.at)
    add_rows(w, QUAD if w.quads else TRIPLE, n, size)
    return OK


cdef void walk_part(FrameScan* w, int64_t tag, const uint8_t* begin, const uint8_t* end) noexcept nogil:
    """A column, or the lengths of messages: a field that is whole."""
    cdef Reader field, body
    cdef int64_t number = tag >> 3
    field.at = begin
    field.end = end
    take_varint(&field)
    body = field
    if tag & 7 == WIRE_LEN:
        take_span(&field, &body)
        if BATCH_SUBJECTS <= number <= BATCH_GRAPHS:
            walk_column(w, body, <int>(number - BATCH_SUBJECTS))
    if number == BATCH_LENGTHS_S or number == BATCH_LENGTHS_P:
        add_part(&w.lengths, count_varints(body), end - begin)


cdef int64_t count_values(Reader r) noexcept nogil:
    cdef int64_t tag
    cdef int64_t n = 0
    while r.at < r.end:
        tag = take_varint(&r)
        n += tag == ENTRY_VALUES
        if tag < 0 or skip_any(&r, tag) < 0:
            break
    return n


cdef inline void add_rows(FrameScan* w, int kind, int64_t n, int64_t size) noexcept nogil:
    w.now.rows[kind] += n
    w.now.bytes[kind] += size
    w.all.rows[kind] += n
    w.all.bytes[kind] += size


cdef int64_t entry_id(Reader r) noexcept nogil:
    """The id of a lookup entry; what is malformed in one is left to the Decoder."""
    cdef int64_t tag
    cdef int64_t id = 0
    while r.at < r.end:
        tag = take_varint(&r)
        if tag == pb.RDF_NAME_ENTRY_ID_TAG:
            id = take_varint(&r)
        elif tag < 0 or skip_any(&r, tag) < 0:
            break
    return id


cdef int walk_metadata(FrameScan* w, Reader* entry, int64_t size) noexcept nogil:
    cdef Reader key, value
    cdef int64_t head[3]
    if take_metadata(entry, &key, &value, &w.fault) != OK:
        return w.fault.code
    w.now.metadata_bytes += size
    w.all.metadata_bytes += size
    head[0] = w.n_frames
    head[1] = key.end - key.at
    head[2] = value.end - value.at
    if append(w, &w.keys, head, sizeof(head)) != OK or append(w, &w.keys, key.at, head[1]) != OK:
        return NO_MEMORY
    return append(w, &w.keys, value.at, min(head[2], SHOWN))


cdef int walk_frame(FrameScan* w) noexcept nogil:
    cdef Reader* frame = &w.frame
    cdef Reader body
    cdef const uint8_t* begin
    cdef int64_t place[PLACE_COLUMNS]
    cdef int field, kind
    cdef bint has_columns = False
    while frame.at < frame.end:
        begin = frame.at
        field = take_part(frame, &body)
        if field == FRAME_ROW:
            if w.want_places:
                place[3] = w.now.offset + (body.at - w.frame_start)
            kind = walk_row(w, &body)
            if kind < 0:
                return kind
            add_rows(w, kind, 1, frame.at - begin)
            if w.want_places and not w.name <= kind <= w.name + 2:
                place[0] = kind
                place[1] = w.n_frames
                place[2] = w.row
                if append(w, &w.places, place, sizeof(place)) != OK:
                    return NO_MEMORY
            w.row += 1
        elif field == FRAME_METADATA:
            if walk_metadata(w, &body, frame.at - begin) != OK:
                return w.fault.code
        elif field == FRAME_COLUMNS:
            has_columns = True
        elif field < 0:
            return fail(&w.fault, MALFORMED, frame.at)
    # Columns count after the options, wherever they stand.
    frame.at = w.frame_start
    while has_columns and w.columnar and frame.at < frame.end:
        begin = frame.at
        if take_part(frame, &body) == FRAME_COLUMNS and walk_columns(w, body, frame.at - begin) != OK:
            return w.fault.code
    return OK


cdef int walk(FrameScan* w) noexcept nogil:
    """Walk over all whole frames. NEED_MORE when the chunk is used up, or a negative code."""
    cdef int status
    while True:
        status = next_frame(&w.feed, &w.frame, &w.now.offset, &w.fault)
        if status != OK:
            return status
        w.in_frame = True
        w.frame_start = w.frame.at
        w.row = 0
        w.now.size = w.frame.end - w.frame.at
        w.now.metadata_bytes = 0
        memset(w.now.rows, 0, sizeof(w.now.rows))
        memset(w.now.bytes, 0, sizeof(w.now.bytes))
        status = walk_frame(w)
        if status != OK:
            return status
        w.in_frame = False
        w.n_frames += 1
        w.all.size += w.now.size
        if w.want_frames:
            if w.n_frames > w.max_frames:
                return fail(&w.fault, FRAMES_LIMIT, NULL, w.max_frames)
            if append(w, &w.frames, &w.now, sizeof(Count)) != OK:
                return NO_MEMORY


cdef object take_table(Writer* w, int columns):
    """The numbers in a Writer of int64 as a numpy array; the Writer is empty after it."""
    data = (<const char*>w.buf)[:w.n] if w.n else b""
    w.n = 0
    return numpy.frombuffer(data, numpy.int64).reshape(-1, columns)


cdef class RowCounter:
    """Counts the rows of a Jelly stream by kind and their bytes. Terms are not decoded, references are not checked.

    With ``patch=True`` the stream is Jelly-Patch; ``kinds`` are the names of the kinds, `KINDS` or `PATCH_KINDS`.
    Fed like a `Decoder`: ``feed(chunk)``, then ``close()``. With ``per_frame`` the counts of each frame are kept too
    (`take_frames`), of ``max_frames`` frames at most, with ``places`` where each row stands that is no lookup entry
    (`take_places`), with ``sizes`` the `parts` of statements.

    >>> import jelly
    >>> counter = RowCounter()
    >>> counter.feed(jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    >>> counter.close()
    >>> counter.frames, counter.rows["triple"], counter.rows["name"]
    (1, 1, 2)
    """

    cdef FrameScan w
    cdef object error
    cdef Claim claimed
    cdef readonly tuple kinds
    cdef readonly dict metadata  # key -> number of frames that have it
    cdef list frame_keys

    def __cinit__(
        self, *, delimited: bool | None = None, int64_t max_frame_bytes=1 << 28, bint per_frame=False,
        bint places=False, int64_t max_frames=1 << 19, bint patch=False, bint sizes=False,
    ):
        self.kinds = PATCH_KINDS if patch else KINDS
        self.w.patch = patch
        self.w.name = PATCH_NAME if patch else NAME
        self.w.other = PATCH_OTHER if patch else OTHER
        framing = FRAMING_UNKNOWN if delimited is None else FRAMING_DELIMITED if delimited else FRAMING_BARE
        init_feed(&self.w.feed, framing, max_frame_bytes)
        self.w.want_frames = per_frame
        self.w.want_places = places
        self.w.want_parts = sizes
        self.w.max_frames = max_frames
        self.metadata = {}
        self.frame_keys = []

    def __dealloc__(self):
        free_feed(&self.w.feed)
        free(self.w.frames.buf)
        free(self.w.places.buf)
        free(self.w.keys.buf)

    @property
    def frames(self) -> int:
        """Frames walked to their end."""
        return self.w.n_frames

    @property
    def statements(self) -> int:
        """Rows of triples and quads; of a patch, of statements added and deleted."""
        return self.w.all.rows[TRIPLE] + self.w.all.rows[QUAD]

    @property
    def bytes(self) -> int:
        """Bytes of the stream that belong to frames begun so far, with what tells their length."""
        return self.w.feed.offset

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frames themselves."""
        return self.w.all.size

    @property
    def metadata_bytes(self) -> int:
        """Bytes of frame metadata."""
        return self.w.all.metadata_bytes

    @property
    def rows(self) -> dict:
        """Number of rows of each kind."""
        return {kind: self.w.all.rows[i] for i, kind in enumerate(self.kinds)}

    @property
    def row_bytes(self) -> dict:
        """Bytes of the rows of each kind, tag and length included."""
        return {kind: self.w.all.bytes[i] for i, kind in enumerate(self.kinds)}

    @property
    def parts(self) -> dict:
        """With ``sizes``: values and bytes of the terms of rows by kind, of the lists of columns, of the lengths of
        messages. Those that do not occur are left out."""
        cdef int place, i
        found = {}
        for place in range(N_PLACES):
            for i in range(TERM_FIELDS):
                found[f"{PLACES[place]}.{TERM_PARTS[place][i]}"] = self.w.terms[place][i]
            for i in range(1, COLUMN_FIELDS):
                found[f"{PLACES[place]}.{COLUMN_PARTS[i - 1]}"] = self.w.columns[place][i]
        found["message_lengths"] = self.w.lengths
        return {name: (part["number"], part["bytes"]) for name, part in found.items() if part["bytes"]}

    @property
    def delimited(self) -> bool | None:
        """Whether the stream is delimited; None as long as that is not known."""
        return None if self.w.feed.framing == FRAMING_UNKNOWN else self.w.feed.framing == FRAMING_DELIMITED

    @property
    def restarts(self) -> list:
        """Where another stream seems to begin, see `Decoder.restarts`."""
        cdef Restart* k = &self.w.restart
        return [k.first.frame, k.first.row, k.first.offset, k.found] if k.found else []

    def feed(self, data) -> None:
        """Count a chunk of bytes: all frames that are complete by now."""
        cdef Py_buffer view
        claim(&self.claimed, self)
        try:
            if self.w.feed.final:
                raise ValueError("the RowCounter is closed")
            PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
            try:
                self.run(<const uint8_t*>view.buf, view.len)
            finally:
                PyBuffer_Release(&view)
        finally:
            give_back(&self.claimed)

    def close(self) -> None:
        """End the input. Raises JellyTruncatedError inside a frame."""
        claim(&self.claimed, self)
        try:
            self.w.feed.final = True
            self.run(<const uint8_t*>b"", 0)
        finally:
            give_back(&self.claimed)

    cdef int run(self, const uint8_t* data, int64_t n) except -1:
        cdef int status
        if self.error is not None:
            raise self.error
        self.w.feed.chunk.at = data
        self.w.feed.chunk.end = data + n
        with nogil:
            status = walk(&self.w)
        self.take_keys()
        if status != NEED_MORE:
            self.error = self.make_error()
            raise self.error
        return 0

    cdef object make_error(self):
        place = {"frame": self.w.n_frames, "offset": self.w.feed.offset}
        if self.w.in_frame:
            place["row"] = self.w.row
            place["offset"] = self.w.now.offset
            if self.w.fault.at != NULL:
                place["offset"] += self.w.fault.at - self.w.frame_start
        return fault_error(&self.w.fault, place)

    cdef int take_keys(self) except -1:
        cdef int64_t head[3]
        cdef int64_t at = 0
        cdef int64_t shown
        cdef int i
        while at < self.w.keys.n:
            for i in range(<int>sizeof(head)):
                (<uint8_t*>head)[i] = self.w.keys.buf[at + i]
            at += sizeof(head)
            key = (<const char*>self.w.keys.buf)[at:at + head[1]].decode()
            at += head[1]
            shown = min(head[2], SHOWN)
            self.metadata[key] = self.metadata.get(key, 0) + 1
            if self.w.want_frames:
                self.frame_keys.append((head[0], key, (<const char*>self.w.keys.buf)[at:at + shown], head[2]))
            at += shown
        self.w.keys.n = 0
        return 0

    def take_frames(self):
        """The frames finished since the last call: int64 columns offset, size, bytes of metadata, rows of each of
        ``kinds``, bytes of each; and the metadata: (frame, key, first bytes of the value, length of the value)."""
        claim(&self.claimed, self)
        try:
            keys, self.frame_keys = self.frame_keys, []
            table = take_table(&self.w.frames, NUMBERS)
        finally:
            give_back(&self.claimed)
        n = len(self.kinds)
        used = [*range(3 + n), *range(3 + N_PATCH_KINDS, 3 + N_PATCH_KINDS + n)]
        return (table if self.w.patch else table[:, used]), keys

    def take_places(self):
        """The rows since the last call that are no lookup entries: int64 columns index into ``kinds``, frame, row in
        the frame, offset in the stream."""
        claim(&self.claimed, self)
        try:
            return take_table(&self.w.places, PLACE_COLUMNS)
        finally:
            give_back(&self.claimed)
