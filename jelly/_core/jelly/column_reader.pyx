"""Jelly-RDF 1.2: columns of terms to the rows of a Batch, without the GIL. The layout is not final.

A frame is opened first: its rows, its lookup entries, and of each column the lists, whose lengths must go together.
Then its rows are read in steps, column by column. A step may end in the middle of a run, so a frame of many rows is
given out in several Batches; the term of the run is carried on as the terms of the last statement are in rows.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport BatchData, add_frame, column_of, grow_rows
from jelly._core.base.constants cimport GRAPH, NO_LIMIT, OBJECT, PREDICATE, RDF_11, RDF_12_BASIC
from jelly._core.base.fault cimport (
    COLUMN_KIND, COLUMN_MISSING, COLUMN_ROW, FRAME_ROWS, FULL, GRAPHS_COLUMN, KINDS_BITS,
    KINDS_MISSING, KINDS_SIZE, LENGTHS, LENGTHS_IN_FLAT, LIST_LENGTH, MALFORMED, NEED_TABLES,
    NOT_KEYFRAME, NO_MEMORY, OK, OPTIONS_CHANGED, ROW_COUNT, TAGS_LIMIT, TRIPLE_VERSION, fail,
)
from jelly._core.base.kinds cimport KIND_BNODE, KIND_LITERAL, KIND_TRIPLE
from jelly._core.base.memory cimport make_room
from jelly._core.base.pieces cimport free_pieces
from jelly._core.base.protobuf cimport WIRE_LEN, WIRE_VARINT, skip_any, take_span, take_varint
from jelly._core.base.utf8 cimport need_utf8
from jelly._core.jelly.column_schema cimport (
    BATCH_LENGTHS_P, BATCH_LENGTHS_S, BATCH_NAMES, BATCH_NAMESPACES, BATCH_ROW_COUNT, BATCH_SUBJECTS, COLUMN_BNODES,
    COLUMN_DIRECTIONS, COLUMN_FIELDS, COLUMN_KINDS, COLUMN_LANGTAGS, COLUMN_LAYOUTS, COLUMN_LEX_VALUES, COLUMN_LITERAL_KINDS,
    COLUMN_NAME_IDS, COLUMN_NUMBERS, COLUMN_PREFIX_IDS, COLUMN_TRIPLES, COLUMN_VERSION, Column, Columns, ENTRY_ID,
    ENTRY_VALUES, FRAME_COLUMNS, MAX_COLUMN_TAGS, MAX_ROW_COUNT, NUMBERING_P, Numbers,
    STEP_ROWS, Tag, VALUE_BNODE, VALUE_IRI, VALUE_LITERAL, VALUE_TRIPLE,
    WHOLE_ROWS,
)
from jelly._core.jelly.column_cells cimport check_layout, count_runs, fill, take_item, take_number, take_number32
from jelly._core.jelly.counts cimport add_rows, begin_of, note_frame, note_row, skims, wants_parts
from jelly._core.jelly.decode cimport begin_frame, malformed, read_namespace
from jelly._core.jelly.lookup cimport set_entry
from jelly._core.jelly.decode_state cimport KNOWN_ROWS
from jelly._core.jelly.frame_reader cimport FRAME_METADATA, FRAME_ROW, take_part
from jelly._core.jelly.stream_options cimport (
    StreamOptionsRow, check_stream_options, look_for_restart, read_stream_options,
)
from jelly._core.jelly.unusual cimport gathered, much_metadata, offset_of, read_metadata

cdef enum:
    # What is left to do for a frame.
    OPENING = 0
    METADATA
    NAMESPACES
    CELLS


# ---- rows

cdef int64_t step(DecoderState* d) noexcept nogil:
    """How many rows to read now: up to a message without rows, which may be one of very many."""
    cdef Columns* f = d.columns
    cdef int64_t n = min(STEP_ROWS, f.row_count - f.rows, d.max_rows - d.b.n_rows)
    cdef Numbers ahead = f.lengths
    cdef int64_t rows = f.gap
    cdef int64_t length
    while rows < n:
        length = take_number(&ahead) if ahead.n > 0 else NO_LIMIT
        ahead.n -= 1
        if length == 0 or (d.whole and length == NO_LIMIT):
            return rows
        rows += length
    return n


cdef int take_gap(DecoderState* d) noexcept nogil:
    """A message ends here; how many rows has the next one?"""
    cdef Columns* f = d.columns
    if end_message(d) != OK:
        return d.fault.code
    f.gap = NO_LIMIT
    if f.lengths.n > 0:
        f.lengths.n -= 1
        f.gap = take_number(&f.lengths)
    return OK


cdef int read_cells(DecoderState* d) noexcept nogil:
    """The rows of the present frame. OK at its end, FULL in the middle, negative on a fault."""
    cdef Columns* f = d.columns
    cdef BatchData* b = d.b
    cdef int64_t n, to_end
    cdef int slot
    while f.rows < f.row_count or f.gap == 0:
        if f.gap == 0:
            if take_gap(d) != OK:
                return d.fault.code
            if b.n_frames >= d.max_rows or (d.whole and (f.gap == NO_LIMIT or b.n_rows >= WHOLE_ROWS)):
                return FULL
            continue
        n = step(d)
        while b.cap_rows - b.n_rows < n:
            if grow_rows(b) < 0:
                return fail(&d.fault, NO_MEMORY, NULL)
        for slot in range(b.arity):
            if fill(d, slot, column_of(b, slot)[0] + b.n_rows, n) != OK:
                return d.fault.code
        f.rows += n
        d.row = f.rows
        while n > 0:
            to_end = min(n, f.gap)
            b.n_rows += to_end
            n -= to_end
            f.gap -= to_end
            f.open = d.header.logical > 2
            if f.gap == 0 and n > 0 and take_gap(d) != OK:
                return d.fault.code
        if b.n_rows >= d.max_rows or is_full(d):
            return FULL
    return OK


cdef inline bint is_full(DecoderState* d) noexcept nogil:
    return d.b.n_text >= d.full_text or d.b.n_terms >= d.full_terms or d.b.n_frames >= d.max_rows


cdef int end_message(DecoderState* d) noexcept nogil:
    """End the present message, in the Batch a frame."""
    d.columns.open = False
    return OK if add_frame(d.b) == 0 else fail(&d.fault, NO_MEMORY, NULL)


# ---- the beginning of a frame

cdef int note_field(Numbers* list, Reader* r, const uint8_t* begin, bint numbers, int wire) noexcept nogil:
    """Count what a field adds to a list; `begin` is where its tag stands. -1 if it is malformed."""
    cdef Reader span
    cdef const uint8_t* at
    cdef int64_t n = 0
    if wire == WIRE_VARINT:
        if take_number32(r) < 0:
            return -1
        n = 1
    else:
        if take_span(r, &span) < 0:
            return -1
        if not numbers:
            n = 1
        elif span.at < span.end:
            if (span.end - 1)[0] >= 0x80:
                return -1
            at = span.at
            while at < span.end:
                n += at[0] < 0x80
                at += 1
    if list.n == 0:
        list.rest.at = begin
        list.rest.end = r.end
    list.n += n
    return 0


cdef int read_tags(DecoderState* d, Column* c, bint keep) noexcept nogil:
    """The language tags of a column; `keep` those of the objects, since nothing else has literals."""
    cdef Columns* f = d.columns
    cdef Numbers texts = c.lists[COLUMN_LANGTAGS]
    cdef Numbers directions = c.lists[COLUMN_DIRECTIONS]
    cdef Reader text
    cdef int64_t i, direction
    if texts.n > MAX_COLUMN_TAGS:
        return fail(&d.fault, TAGS_LIMIT, texts.rest.at, texts.n, MAX_COLUMN_TAGS)
    if make_room(<void**>&f.tags, &f.cap_tags, texts.n, sizeof(Tag)) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    for i in range(texts.n):
        take_item(&texts, &text)
        if need_utf8(&text, &d.fault) != OK:
            return d.fault.code
        direction = take_number(&directions) if directions.n > 0 else 0
        if direction < 0:
            return fail(&d.fault, MALFORMED, directions.part.at)
        if keep:
            f.tags[i].text = text
            f.tags[i].direction = direction
    return OK


cdef int check_kinds(DecoderState* d, Column* c, int slot) noexcept nogil:
    """Which kinds of values the column has, and whether it may."""
    cdef int64_t counts[4]
    cdef int64_t n, size
    cdef int kind
    cdef int n_kinds = 0
    counts[VALUE_IRI] = c.lists[COLUMN_NAME_IDS].n
    counts[VALUE_LITERAL] = c.lists[COLUMN_LEX_VALUES].n
    counts[VALUE_BNODE] = c.lists[COLUMN_BNODES].n
    counts[VALUE_TRIPLE] = c.lists[COLUMN_TRIPLES].n
    for kind in range(4):
        if counts[kind] > 0:
            c.kind = kind
            n_kinds += 1
            c.n_values += counts[kind]
    n = c.n_values
    if slot != OBJECT and counts[VALUE_LITERAL] > 0:
        return fail(&d.fault, COLUMN_KIND, c.body.at, KIND_LITERAL, slot)
    if slot != OBJECT and counts[VALUE_TRIPLE] > 0:
        return fail(&d.fault, COLUMN_KIND, c.body.at, KIND_TRIPLE, slot)
    if slot == PREDICATE and counts[VALUE_BNODE] > 0:
        return fail(&d.fault, COLUMN_KIND, c.body.at, KIND_BNODE, slot)
    if counts[VALUE_TRIPLE] > 0 and (d.header.rdf == RDF_11 or d.header.rdf == RDF_12_BASIC):
        return fail(&d.fault, TRIPLE_VERSION, c.body.at)
    size = c.kinds.end - c.kinds.at
    if size == 0:
        return OK if n_kinds <= 1 else fail(&d.fault, KINDS_MISSING, c.body.at, 0, slot)
    if size != (n + 3) >> 2:
        return fail(&d.fault, KINDS_SIZE, c.kinds.at, size, (n + 3) >> 2)
    if n & 3 and (c.kinds.end - 1)[0] >> (n & 3) * 2:
        return fail(&d.fault, KINDS_BITS, c.kinds.end - 1)
    # With as many kinds as values, and no list used up too early, each list is used up.
    c.mixed = True
    return OK


cdef int check_length(DecoderState* d, Column* c, int numbers, int items, bint one) noexcept nogil:
    """A list has no numbers, one for all (if `one`) or as many as another."""
    cdef int64_t n = c.lists[numbers].n
    if n == 0 or n == c.lists[items].n or (one and n == 1):
        return OK
    return fail(&d.fault, LIST_LENGTH, c.body.at, n, c.lists[items].n)


cdef int open_column(DecoderState* d, int slot) noexcept nogil:
    """Find the lists of a column, and check what can be checked before its values."""
    cdef Column* c = &d.columns.of[slot]
    cdef Reader r = c.body
    cdef const uint8_t* begin
    cdef int64_t tag, field
    cdef int i
    while r.at < r.end:
        begin = r.at
        tag = take_varint(&r)
        field = tag >> 3
        if tag == (COLUMN_KINDS << 3 | WIRE_LEN):
            if take_span(&r, &c.kinds) < 0:
                return malformed(d, &r)
        elif 0 < field < COLUMN_FIELDS and field != COLUMN_KINDS and (
            tag & 7 == WIRE_LEN or (tag & 7 == WIRE_VARINT and COLUMN_NUMBERS >> field & 1)
        ):
            if note_field(&c.lists[field], &r, begin, COLUMN_NUMBERS >> field & 1, tag & 7) < 0:
                return malformed(d, &r)
        elif skip_any(&r, tag) < 0:
            return malformed(d, &r)
        if 0 < field < COLUMN_FIELDS and wants_parts(d):
            d.counts.columns[slot][field].bytes += r.at - begin
    for i in range(COLUMN_FIELDS):
        c.lists[i].field = i
        if wants_parts(d):
            d.counts.columns[slot][i].number += count_runs(c.lists[i]) if i == COLUMN_LAYOUTS else c.lists[i].n
    if (
        check_kinds(d, c, slot) != OK
        or check_length(d, c, COLUMN_PREFIX_IDS, COLUMN_NAME_IDS, True) != OK
        or check_length(d, c, COLUMN_LITERAL_KINDS, COLUMN_LEX_VALUES, True) != OK
        or check_length(d, c, COLUMN_DIRECTIONS, COLUMN_LANGTAGS, False) != OK
        or check_layout(d, slot) != OK
        or read_tags(d, c, slot == OBJECT) != OK
    ):
        return d.fault.code
    if c.lists[COLUMN_PREFIX_IDS].n == 1:
        c.next_prefix = take_number(&c.lists[COLUMN_PREFIX_IDS])
    if c.lists[COLUMN_LITERAL_KINDS].n > 1:
        c.literal_kind = -1
    elif c.lists[COLUMN_LITERAL_KINDS].n == 1:
        c.literal_kind = take_number(&c.lists[COLUMN_LITERAL_KINDS])
    return OK


cdef inline bint step_over(Reader* r, int tag) noexcept nogil:
    """Step over a string whose tag and length have one byte each, as nearly all have. False: it has not."""
    cdef int64_t left = r.end - r.at
    if left < 2 or r.at[0] != tag or r.at[1] >= 0x80 or r.at[1] > left - 2:
        return False
    r.at += 2 + r.at[1]
    return True


cdef int read_entries(DecoderState* d, Reader r, int which) noexcept nogil:
    """Entries of consecutive ids. The first id is looked for before: fields may stand in any order."""
    cdef Reader whole = r
    cdef Reader near = r  # of which nobody else has the address
    cdef Reader value
    cdef int64_t tag
    cdef int64_t id = 0
    cdef int64_t n = 0
    cdef int64_t n_bytes
    while near.at < near.end:
        if step_over(&near, ENTRY_VALUES):
            n += 1
            continue
        r.at = near.at
        tag = take_varint(&r)
        if tag == ENTRY_ID:
            id = take_number32(&r)
            if id < 0:
                return malformed(d, &r)
        elif tag == ENTRY_VALUES:
            if take_span(&r, &value) < 0:
                return malformed(d, &r)
            n += 1
        elif skip_any(&r, tag) < 0:
            return malformed(d, &r)
        near.at = r.at
    if d.counts != NULL:
        n_bytes = r.end - begin_of(whole.at)
        add_rows(d.counts, d.first_entry + which, n, n_bytes)
        d.columns.size -= n_bytes
        if d.counts.skim:
            return OK
    near.at = whole.at
    while near.at < near.end:
        value.at = near.at + 2
        if step_over(&near, ENTRY_VALUES):
            value.end = near.at
        else:
            r.at = near.at
            tag = take_varint(&r)
            if tag != ENTRY_VALUES:
                skip_any(&r, tag)
                near.at = r.at
                continue
            take_span(&r, &value)
            near.at = r.at
        if set_entry(&d.t, which, id, &value, &d.fault, value.at) != OK:
            return d.fault.code
        id = 0
    return OK


cdef int check_lengths(DecoderState* d) noexcept nogil:
    """Whether the messages have their rows, and where the first one ends."""
    cdef Columns* f = d.columns
    cdef Numbers lengths = f.lengths
    cdef int64_t left = f.row_count
    cdef int64_t length
    if lengths.n > 0 and d.header.logical <= 2:
        return fail(&d.fault, LENGTHS_IN_FLAT, lengths.rest.at)
    while lengths.n > 0:
        length = take_number(&lengths)
        lengths.n -= 1
        if length < 0:
            return malformed(d, &lengths.part)
        left -= length
        if left < 0:
            return fail(&d.fault, LENGTHS, lengths.part.at, f.row_count)
    if f.lengths.n > 0:
        f.lengths.n -= 1
        f.gap = take_number(&f.lengths)
    return OK


cdef int open_batch(DecoderState* d) noexcept nogil:
    """The columns of a frame: its entries are applied first, wherever they stand."""
    cdef Columns* f = d.columns
    cdef Reader r = f.batch
    cdef Reader span
    cdef const uint8_t* begin
    cdef int64_t tag, n
    cdef int slot
    cdef int again = 0
    cdef int lengths = BATCH_LENGTHS_P if d.header.numbering == NUMBERING_P else BATCH_LENGTHS_S
    f.lengths.field = lengths
    while r.at < r.end:
        begin = r.at
        tag = take_varint(&r)
        slot = <int>((tag >> 3) - BATCH_SUBJECTS) if tag & 7 == WIRE_LEN and tag >> 3 < 1 << 20 else -1
        if tag == BATCH_ROW_COUNT:
            f.row_count = take_number32(&r)
            if f.row_count < 0:
                return malformed(d, &r)
        elif 0 <= slot < 4:
            if take_span(&r, &span) < 0:
                return malformed(d, &r)
            again |= (f.of[slot].body.at != NULL) << slot
            f.of[slot].body = span
        elif tag == lengths << 3 or tag == (lengths << 3 | WIRE_LEN):
            if note_field(&f.lengths, &r, begin, True, tag & 7) < 0:
                return malformed(d, &r)
            if wants_parts(d):
                d.counts.lengths.bytes += r.at - begin
        elif tag & 7 == WIRE_LEN and BATCH_NAMES <= tag >> 3 < BATCH_NAMESPACES:
            if take_span(&r, &span) < 0:
                return malformed(d, &r)
            if read_entries(d, span, <int>(tag >> 3) - BATCH_NAMES) != OK:
                return d.fault.code
        elif skip_any(&r, tag) < 0:
            return malformed(d, &r)
        elif d.counts != NULL and tag == (BATCH_NAMESPACES << 3 | WIRE_LEN):
            add_rows(d.counts, pb.RDF_STREAM_ROW_NAMESPACE, 1, r.at - begin)
            f.size -= r.at - begin
    if d.counts != NULL:
        # The rest of the bytes are those of statements.
        add_rows(d.counts, pb.RDF_STREAM_ROW_QUAD if d.arity == 4 else pb.RDF_STREAM_ROW_TRIPLE, f.row_count, f.size)
        if d.counts.skim and not d.counts.want_parts:
            return OK
        d.counts.lengths.number += f.lengths.n
    if f.row_count > MAX_ROW_COUNT:
        return fail(&d.fault, ROW_COUNT, f.batch.at, f.row_count, MAX_ROW_COUNT)
    # A message that is kept whole is no longer than a frame.
    n = f.row_count + (d.b.n_rows if d.whole and f.open else 0)
    if n > d.limits.rows:
        return fail(&d.fault, FRAME_ROWS, f.batch.at, n, d.limits.rows)
    if f.of[GRAPH].body.at != NULL and d.arity == 3:
        return fail(&d.fault, GRAPHS_COLUMN, f.of[GRAPH].body.at)
    for slot in range(4):
        if again >> slot & 1 and gathered(d, f.batch, 1 << BATCH_SUBJECTS + slot, 0, &f.of[slot].body) < 0:
            return d.fault.code
        if f.of[slot].body.at != NULL:
            if open_column(d, slot) != OK:
                return d.fault.code
        elif slot != GRAPH and f.row_count > 0:
            return fail(&d.fault, COLUMN_MISSING, f.batch.at, f.row_count, slot)
    return check_lengths(d)


cdef int restate(DecoderState* d, Reader row, const uint8_t* after) noexcept nogil:
    """The options row of a frame. NEED_TABLES: the tables are empty from here on, and a message ends."""
    cdef StreamOptionsRow h
    cdef Reader body
    cdef int field = gathered(d, row, KNOWN_ROWS, 0, &body)
    cdef const uint8_t* at = body.at
    if field != 1:
        return field if field < 0 else fail(&d.fault, COLUMN_ROW, row.at)
    if (
        read_stream_options(&body, &h, False, &d.fault) != OK
        or check_stream_options(&h, False, d.strict, &d.limits, row.at, &d.fault) != OK
    ):
        return d.fault.code
    if d.counts != NULL and note_row(d, row, body, field) != OK:
        return d.fault.code
    if not (d.joined or skims(d)) and (
        h.version != COLUMN_VERSION or h.physical != d.header.physical or h.logical != d.header.logical
    ):
        return fail(&d.fault, OPTIONS_CHANGED, row.at)
    if skims(d) and h.version != COLUMN_VERSION:
        look_for_restart(&d.restart, d.n_frames, 0, offset_of(d, at))
    if d.columns.open and end_message(d) != OK:
        return d.fault.code
    d.frame.at = after  # where rows go on, should they
    d.next = h
    return NEED_TABLES


cdef int open_frame(DecoderState* d) noexcept nogil:
    cdef Columns* f = d.columns
    cdef Reader r, span, row, whole
    cdef const uint8_t* begin
    cdef const uint8_t* after = d.frame_start
    cdef int field
    cdef int rows = 0
    cdef int batches = 0
    whole.at = d.frame_start
    whole.end = d.frame.end
    r = whole
    f.size = 0
    while r.at < r.end:
        begin = r.at
        field = take_part(&r, &span)
        if field < 0:
            return malformed(d, &r)
        if field == FRAME_ROW:
            rows += 1
            if rows == 1:
                row = span
                after = r.at
        elif field == FRAME_COLUMNS:
            batches += 1
            f.batch = span
            f.size += r.at - begin
    if rows > 0 and not f.restated:
        field = restate(d, row, after)
        if field != NEED_TABLES or d.next.version != COLUMN_VERSION:
            return field
    if rows == 0 and d.at_keyframe:
        # What the first options of the stream say may have changed since.
        return fail(&d.fault, NOT_KEYFRAME, d.frame_start)
    if rows > 1:
        return fail(&d.fault, COLUMN_ROW, after)
    if rows > 0 and not f.restated:
        return NEED_TABLES
    if batches > 1 and gathered(d, whole, 1 << (FRAME_COLUMNS >> 3), 0, &f.batch) < 0:
        return d.fault.code
    memset(f.of, 0, sizeof(f.of))
    memset(&f.lengths, 0, sizeof(Numbers))
    f.row_count = f.rows = 0
    f.gap = NO_LIMIT
    f.known_in = ~d.t.batch
    if batches == 0:
        f.batch.at = f.batch.end = whole.end
    elif open_batch(d) != OK:
        return d.fault.code
    if skims(d):
        f.batch.at = f.batch.end
        f.row_count = 0
        f.gap = NO_LIMIT
    f.walk = whole
    f.stage = METADATA
    return OK


cdef int read_marks(DecoderState* d) noexcept nogil:
    """Metadata and then namespaces. FULL where they are many."""
    cdef Columns* f = d.columns
    cdef Reader span
    cdef int64_t tag
    while f.stage == METADATA:
        if f.walk.at >= f.walk.end:
            f.walk = f.batch
            f.stage = NAMESPACES
            d.t.last_name = d.t.last_prefix = 0
        elif take_part(&f.walk, &span) == FRAME_METADATA:
            if read_metadata(d, &span) < 0:
                return d.fault.code
            if much_metadata(d.b):
                return FULL
    while f.walk.at < f.walk.end:
        tag = take_varint(&f.walk)
        if tag != (BATCH_NAMESPACES << 3 | WIRE_LEN):
            skip_any(&f.walk, tag)
            continue
        take_span(&f.walk, &span)
        if read_namespace(d, &span, 0) != OK:
            return d.fault.code
        if is_full(d):
            return FULL
    f.stage = CELLS
    return OK


cdef int run_columns(DecoderState* d) noexcept nogil:
    """`run` for a stream of version 3. A row of options of another version ends it, with NEED_TABLES."""
    cdef Columns* f = d.columns
    cdef int status
    while True:
        if not d.in_frame:
            f.begin = -1 if f.open else d.feed.offset - (0 if d.feed.spent else d.feed.pending.n)
            status = begin_frame(d)
            if status != OK:
                return status
            f.stage = OPENING
            f.restated = False
            free_pieces(&d.pieces)
        if f.stage == OPENING:
            status = open_frame(d)
            if status != OK:
                return status
        if f.stage != CELLS:
            status = read_marks(d)
            if status != OK:
                return status
        status = read_cells(d)
        if status != OK:
            return status
        if d.header.logical <= 2 and add_frame(d.b) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        d.in_frame = False
        d.n_frames += 1
        if d.counts != NULL and note_frame(d) != OK:
            return d.fault.code
        if is_full(d) or much_metadata(d.b) or (d.whole and d.b.n_rows >= WHOLE_ROWS and not f.open):
            return FULL


cdef void free_columns(DecoderState* d) noexcept nogil:
    if d.columns != NULL:
        free(d.columns.tags)
    free(d.columns)
