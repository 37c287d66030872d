"""N-Triples and N-Quads line by line: comments, VERSION, and delimiters of messages."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp

from jelly._core.base.batch cimport BatchData, add_frame, add_metadata, add_row
from jelly._core.base.characters cimport find_delimiter, find_line_end, is_line_end
from jelly._core.base.constants cimport RDF_11
from jelly._core.base.fault cimport (
    AFTER_DOT, FULL, LINE_CUT, LINE_LIMIT, LITERAL_OPEN, MESSAGE_LIMIT, NOT_ANNOUNCED, NOT_STRICT, NO_MEMORY, OK,
    VERSION_LINE, WRONG_DIALECT, fail,
)
from jelly._core.base.protobuf cimport Reader, put_bytes, reserve
from jelly._core.ntriples.term_reader cimport (
    BY_COMMENT, BY_DIRECTIVE, check_text, find_word, forget_tokens, miss, skip_space, take_statement, take_text,
)


cdef int take_version(NTriplesReader* t) noexcept nogil:
    """RDF 1.2: VERSION "1.2". Strict: what follows may only have what the version has, and no more than was asked for."""
    cdef const char* messages = b"-messages"
    cdef const uint8_t* place
    cdef int version
    cdef Reader word
    cdef const uint8_t* text = NULL
    cdef int64_t n = 0
    cdef int status
    if t.end - t.at < 7:
        return fail(&t.fault, LINE_CUT, t.end)
    t.at += 7
    skip_space(t)
    if t.at >= t.end or t.at[0] != 0x22:
        return miss(t, VERSION_LINE, t.at, 0)
    place = t.at
    status = take_text(t, 0x22, LITERAL_OPEN, &t.scratch, &text, &n)
    if status < 0:
        return status
    if n > 9 and memcmp(text + n - 9, messages, 9) == 0:
        n -= 9
        t.announced = True
        if t.either and not t.begun:
            t.messages = BY_DIRECTIVE
    if t.strict:
        word.at = text
        word.end = text + n
        version = RDF_11 + find_word(&word, b"\0031.1\0111.2-basic\0031.2")
        if version == 0 or version > t.asked:
            return fail(&t.fault, NOT_STRICT, place, VERSION_LINE, VERSION_LINE)
        t.version = version
        forget_tokens(t)
    return OK


# Messages.

cdef inline bint ends_word(NTriplesReader* t, const uint8_t* at) noexcept nogil:
    return at >= t.end or at[0] == 0x20 or at[0] == 0x09 or at[0] == 0x23 or is_line_end(at[0])


cdef int end_message(NTriplesReader* t) noexcept nogil:
    """End the current message; the text after its delimiter becomes metadata."""
    cdef const char* key = b"rdfm.note"
    cdef int status = OK
    if t.note.n:
        status = add_metadata(t.batch, <const uint8_t*>key, 9, t.note.buf, t.note.n)
        t.note.n = 0
    if status == OK:
        status = add_frame(t.batch)
    return OK if status == OK else fail(&t.fault, status, t.at, t.batch.text_limit)


cdef int take_delimiter(NTriplesReader* t, const uint8_t* note, const uint8_t* end) noexcept nogil:
    """A delimiter ends a message. A comment before the first message only begins it."""
    if (t.begun or t.messages == BY_DIRECTIVE) and end_message(t) < 0:
        return t.fault.code
    t.begun = True
    t.message_bytes = 0
    t.message_at = end
    while note < end and (note[0] == 0x20 or note[0] == 0x09):
        note += 1
    while note < end and ((end - 1)[0] == 0x20 or (end - 1)[0] == 0x09):
        end -= 1
    if note < end:
        if reserve(&t.note, end - note) < 0:
            return fail(&t.fault, NO_MEMORY, note)
        put_bytes(&t.note, note, end - note)
    return OK


cdef bint begin_line(NTriplesReader* t) noexcept nogil:
    """Whether the line has more than spaces and a comment."""
    cdef const char* mark = b"\xEF\xBB\xBF"  # the byte order mark that some editors put first
    if t.line == 1 and not t.strict and t.end - t.at >= 3 and memcmp(t.at, mark, 3) == 0:
        t.at += 3
    skip_space(t)
    return t.at < t.end and not is_line_end(t.at[0]) and t.at[0] != 0x23


cdef int end_line(NTriplesReader* t, const uint8_t** comment) noexcept nogil:
    """Step over a comment to the end of the line; `comment` is then its text. Without a comment it is unchanged."""
    skip_space(t)
    if t.at < t.end and t.at[0] == 0x23:
        comment[0] = t.at + 1
        t.at = find_line_end(comment[0], t.end)
        if check_text(t, comment[0], t.at) < 0:
            return t.fault.code
    if t.at < t.end and not is_line_end(t.at[0]):
        return miss(t, AFTER_DOT, t.at, 0)
    if t.at - t.line_at > t.max_line:
        return fail(&t.fault, LINE_LIMIT, t.line_at, t.max_line)
    return OK


cdef int take_line(NTriplesReader* t) noexcept nogil:
    cdef int32_t ids[4]
    cdef const uint8_t* comment = NULL
    cdef const uint8_t* note = NULL
    cdef const uint8_t* delimiter = NULL
    cdef const char* version = b"VERSION"
    cdef const char* directive = b"MESSAGE"
    cdef bint is_statement = False
    cdef int status
    # Most lines begin with an IRI or a blank node and end after the dot.
    if t.at[0] == 0x3C or t.at[0] == 0x5F or begin_line(t):
        if t.at[0] == 0x56 and (not t.strict or t.asked > RDF_11) and memcmp(t.at, version, min(t.end - t.at, 7)) == 0:
            status = take_version(t)
        elif (
            t.messages and t.end - t.at >= 7 and memcmp(t.at, directive, 7) == 0 and ends_word(t, t.at + 7)
        ):
            status = OK
            if t.messages == BY_COMMENT and (t.announced or not t.either):
                status = fail(&t.fault, WRONG_DIALECT, t.at)
            elif not t.announced:
                status = fail(&t.fault, NOT_ANNOUNCED, t.at)
            t.at += 7
            note = delimiter = t.at
        else:
            status = take_statement(t, ids)
            is_statement = True
        if status < 0:
            return status
    if (t.at >= t.end or t.at[0] != 0x0A or t.at - t.line_at > t.max_line) and end_line(t, &comment) < 0:
        return t.fault.code
    if comment != NULL and t.messages == BY_COMMENT:
        note = find_delimiter(comment, t.at)
        if note != NULL:
            delimiter = t.at
    if is_statement:
        t.begun = True
        if add_row(t.batch, ids) < 0:
            return fail(&t.fault, NO_MEMORY, t.at)
    if t.messages:
        if delimiter != NULL:
            if take_delimiter(t, note, delimiter) < 0:
                return t.fault.code
        elif t.at - t.message_at > t.max_message - t.message_bytes:
            return fail(&t.fault, MESSAGE_LIMIT, t.line_at, t.max_message)
    step_line_end(t)
    return OK


cdef void step_line_end(NTriplesReader* t) noexcept nogil:
    if t.at < t.end:
        t.at += 2 if t.at[0] == 0x0D and t.end - t.at > 1 and t.at[1] == 0x0A else 1


cdef inline bint is_full(NTriplesReader* t) noexcept nogil:
    cdef BatchData* b = t.batch
    if not t.messages:
        return b.n_rows >= t.max_rows or b.n_text > t.max_text
    # Messages are not split, and may be empty.
    if b.n_frames == 0 or b.frames[b.n_frames - 1] < b.n_rows:
        return False
    return b.n_rows >= t.max_rows or b.n_frames >= t.max_rows or b.n_text + b.n_meta_text > t.max_text


cdef int read_lines(NTriplesReader* t) noexcept nogil:
    """Read until the input is used up (OK), the Batch is FULL, or a fault; the line of the fault is not stepped over."""
    cdef int status
    while t.at < t.end:
        t.line_at = t.at
        t.line += 1
        status = take_line(t)
        if status < 0:
            return status
        if is_full(t):
            return FULL
    return OK


cdef void skip_line(NTriplesReader* t) noexcept nogil:
    """Step over the line with the fault."""
    t.at = find_line_end(t.line_at, t.end)
    step_line_end(t)
