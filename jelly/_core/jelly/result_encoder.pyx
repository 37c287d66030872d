"""Jelly-SPARQL: Batches of query results to frames of columns, by the encoder of the columns of Jelly-RDF 1.2.

A frame holds rows of one Batch. First the lookup entries of its rows are made sure of, then its columns are written one
after the other: all of them take the place of the objects of a statement, where any term may stand.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from jelly._core.base.batch cimport NO_TERM, UNSET, Batch
from jelly._core.base.constants cimport OBJECT
from jelly._core.base.fault cimport NO_MEMORY, OK, ONE_FRAME, fail, utf8_of
from jelly._core.base.kinds cimport KIND_LANG
from jelly._core.base.memory cimport make_room
from jelly._core.base.protobuf cimport Writer, len_field, write_byte, write_bytes, write_data, write_number, write_varint
from jelly._core.jelly.column_writer cimport clear_column, put_column, put_lists
from jelly._core.jelly.column_schema cimport (
    MAX_COLUMN_TAGS, RESULTS_ANSWER, RESULTS_COLUMN, RESULTS_OPTIONS, RESULTS_PUNCTUATED, RESULTS_RDF_VERSION,
    RESULTS_ROW_COUNT, RESULTS_TRAILER, RESULTS_TYPE, RESULTS_VARIABLE, TRAILER_ERROR,
)
from jelly._core.jelly.column_encoder cimport drop_prefixes, pin_tag, pin_term, release_entries, start_columns
from jelly._core.jelly.encoder cimport Encoder
from jelly._core.jelly.encoder_state cimport TAGS, EncoderState
from jelly._core.jelly.frame_writer cimport put_metadata_entry
from jelly._core.jelly.lookup cimport TABLES, forget_lru
from jelly._core.jelly.stream_options cimport options_message
from jelly._core.jelly.term_out cimport ROW_FULL, put_entries

from jelly._core.rules.capabilities import capabilities_of
from jelly.errors import JellyArgumentError, JellyOptionsError

cdef enum:
    # Rows of a frame at the most: as many language tags a column may have.
    MAX_FRAME_ROWS = MAX_COLUMN_TAGS
    # Cells of a frame by default.
    FRAME_CELLS = 4096


ctypedef struct ResultOut:
    EncoderState* e
    int64_t width
    int32_t* cells  # of a column
    int64_t cap
    Writer head  # options and variables, answer and links, for the next frame


# ---- frames

cdef int pin_row(ResultOut* k, int64_t row, bint first) noexcept nogil:
    """Make sure of the lookup entries of a row, but for terms that the row before has, unless it is the `first`."""
    cdef EncoderState* e = k.e
    cdef const int32_t* cells = e.b.cells + row * k.width
    cdef int64_t i
    cdef int status
    for i in range(k.width):
        if cells[i] == NO_TERM or (not first and cells[i] == cells[i - k.width]):
            continue
        status = pin_term(e, OBJECT, cells[i])
        if status != OK:
            return status
    return OK


cdef int pin_frame(ResultOut* k, int64_t* row, int64_t end) noexcept nogil:
    """Make sure of the entries of the rows of a frame, from `row` on to where it comes to: the frame takes no more."""
    cdef EncoderState* e = k.e
    cdef int64_t begin = row[0]
    cdef int status = OK
    while row[0] < end:
        status = pin_row(k, row[0], row[0] == begin)
        if status == OK:
            row[0] += 1
            e.columns.rows += 1
        elif status != ROW_FULL or row[0] > begin:
            break
        elif drop_prefixes(e) != OK:
            return e.fault.code
    return OK if status == ROW_FULL else status


cdef int put_result_column(ResultOut* k, int64_t variable, int64_t begin, int64_t n) noexcept nogil:
    cdef EncoderState* e = k.e
    cdef const int32_t* from_ = e.b.cells + begin * k.width + variable
    cdef int64_t i
    cdef int status
    clear_column(&e.columns.of[OBJECT])
    e.last[OBJECT] = UNSET
    # Its language tags are numbered anew.
    forget_lru(&e.tables[TAGS])
    e.columns.directed = False
    release_entries(e)
    for i in range(n):
        k.cells[i] = from_[i * k.width]
        if k.cells[i] != NO_TERM and e.b.kind[k.cells[i]] == KIND_LANG:
            status = pin_tag(e, e.b.aux[k.cells[i]])
            if status != OK:
                return status
    status = put_column(e, OBJECT, k.cells, 0, n)
    put_lists(e, OBJECT, RESULTS_COLUMN << 3 | 2)
    return status


cdef int move_frame(ResultOut* k) noexcept nogil:
    """Move the last frame, which waits for a trailer, to the output."""
    cdef EncoderState* e = k.e
    if e.held.n == 0:
        return OK
    if e.delimited:
        write_varint(&e.out, e.held.n)
    elif e.n_bytes > 0:
        return fail(&e.fault, ONE_FRAME, NULL)
    write_bytes(&e.out, e.held.buf, e.held.n)
    e.n_bytes += e.held.n
    e.n_frames += 1
    e.held.n = 0
    return OK


cdef void move_head(ResultOut* k) noexcept nogil:
    """Begin a frame with what waits for it."""
    write_bytes(&k.e.held, k.head.buf, k.head.n)
    k.e.held.failed |= k.head.failed
    k.head.n = 0


cdef int encode_results(ResultOut* k, int64_t* row) noexcept nogil:
    """Write the rows of the Batch from `row` on; at a fault `row` tells which."""
    cdef EncoderState* e = k.e
    cdef int64_t begin, n, i
    cdef int which, status
    while row[0] < e.b.n_rows:
        if move_frame(k) != OK:
            return e.fault.code
        start_columns(e)
        begin = row[0]
        n = min(e.frame_rows, MAX_FRAME_ROWS) if e.frame_rows > 0 else MAX_FRAME_ROWS
        status = pin_frame(k, row, min(begin + n, e.b.n_rows))
        if status != OK:
            return status
        n = row[0] - begin
        if make_room(<void**>&k.cells, &k.cap, n, sizeof(int32_t)) < 0:
            return fail(&e.fault, NO_MEMORY, NULL)
        move_head(k)
        write_number(&e.body, RESULTS_ROW_COUNT, n)
        for which in range(TABLES):
            put_entries(e, &e.columns.entries[which])
        e.columns.rows = 0  # what follows has been counted: nothing is too much any more
        for i in range(k.width):
            status = put_result_column(k, i, begin, n)
            if status != OK:
                return status
        write_bytes(&e.held, e.body.buf, e.body.n)
        e.body.n = 0
    return OK


# ---- the class

@cython.no_gc_clear
cdef class ResultEncoder(Encoder):
    """Batches of query results in, Jelly-SPARQL out, by an `Encoder` that has `ResultOptions`.

    Begin a result set with `begin`, `encode` its Batches, and end it with `end_set`. The last frame waits for the trailer.
    A frame has ``frame_rows`` rows at the most, by default as many as have 4096 cells. A stream that is not ``delimited`` is
    one frame.

    >>> from jelly._options.result_options import ResultOptions
    >>> encoder = ResultEncoder(ResultOptions())
    >>> encoder.begin((), boolean=True)
    >>> encoder.end_set().hex(" ")
    '12 0a 0a 48 a0 1f 50 96 01 58 20 78 01 42 02 08 01 4a 00'
    """

    cdef ResultOut k
    cdef tuple variables  # of the present result set; None: there is none
    cdef bint boolean
    cdef int64_t given_rows

    def __cinit__(self, options, *, frame_rows=None, **_):
        cdef bytes row = options_message(utf8_of(options.stream_name, "stream_name"), options, (
            (RESULTS_TYPE, options.stream_type), (RESULTS_RDF_VERSION, self.e.columns.rdf_version),
        ))
        self.k.e = &self.e
        self.given_rows = 0 if frame_rows is None else self.e.frame_rows
        write_data(&self.k.head, RESULTS_OPTIONS << 3 | 2, row)

    def __dealloc__(self):
        free(self.k.head.buf)
        free(self.k.cells)

    def begin(self, variables, boolean=None, links=()) -> None:
        """Begin a result set: of these variables, or with ``boolean`` the answer of an ASK query. ``links`` are IRIs of
        further information."""
        cdef bytes data
        cdef Writer* head = &self.k.head
        names = tuple(variables)
        texts = [utf8_of(name, "a variable") for name in names]
        if not all(texts) or len(set(names)) < len(names):
            raise JellyOptionsError(f"the variables are {names}: expected names that differ, none of them empty")
        if not all(isinstance(link, str) and link and "\n" not in link for link in links):
            raise JellyArgumentError("links are IRIs, each a str without line feeds")
        if self.variables is not None:
            raise JellyOptionsError("the result set before has not ended")
        if self.e.n_frames and self.settled_options.stream_type != RESULTS_PUNCTUATED:
            raise JellyOptionsError('a stream of several result sets needs stream_type="punctuated"')
        held = self.enter()
        for data in texts:
            write_data(head, RESULTS_VARIABLE << 3 | 2, data)
        if boolean is not None:
            write_data(head, RESULTS_ANSWER << 3 | 2, b"\x08\x01" if boolean else b"")
        if links:
            data = "\n".join(links).encode()
            put_metadata_entry(head, b"link", 4, <const uint8_t*><const char*>data, len(data))
        self.variables = names
        self.boolean = boolean is not None
        self.k.width = len(names)
        if self.e.delimited:
            self.e.frame_rows = self.given_rows or max(FRAME_CELLS // max(self.k.width, 1), 1)

    def encode(self, Batch batch not None, keep_frames: bool | None = None) -> bytes:
        """The frames of the rows of a Batch, but for the last one. ``keep_frames`` is ignored: frames mean nothing."""
        batch = capabilities_of("results-jellys").fit(batch)
        if self.variables is None or self.boolean or batch.variables != self.variables:
            raise JellyOptionsError(f"the variables are {batch.variables}: expected {self.variables}, as in the header")
        held = self.enter()
        self.write(batch, 0)
        return self.take_out()

    cdef int run(self, int64_t* row) noexcept nogil:
        return encode_results(&self.k, row)

    def end_set(self, str error not None="") -> bytes:
        """End the result set with its trailer; ``error`` says why it is not complete."""
        cdef Writer* w = &self.e.held
        cdef bytes text = utf8_of(error, "an error")
        if self.variables is None:
            raise JellyOptionsError("no result set was begun")
        held = self.enter()
        move_head(&self.k)
        write_byte(w, RESULTS_TRAILER << 3 | 2)
        write_varint(w, len_field(len(text)) if text else 0)
        if text:
            write_data(w, TRAILER_ERROR, text)
        self.leave(move_frame(&self.k), 0)
        self.variables = None
        return self.take_out()

    def close(self, metadata=None) -> bytes:
        """The rest to write: the trailer, where the result set has none. Frames have no ``metadata`` of a caller."""
        return b"" if self.variables is None else self.end_set()
