"""Jelly-SPARQL: frames of columns to Batches of query results. It reads the columns of Jelly-RDF 1.2.

A frame is looked through first, and then Python takes what begins with it: options, variables, the answer of an ASK query.
The rows of a frame go into one Batch, column by column.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

from collections import deque

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport UNSET, BatchData, add_frame, grow_rows, make_results
from jelly._core.base.constants cimport MAX_VARIABLES, OBJECT, RDF_12
from jelly._core.base.fault cimport (
    BAD_RDF_VERSION, BAD_VERSION, FRAME_ROWS, FULL, NEED_MORE, NEED_TABLES, NO_MEMORY, NO_OPTIONS, OK, RESULT_COLUMNS,
    ROW_COUNT, VARIABLES_LIMIT, fail,
)
from jelly._core.base.memory cimport make_room
from jelly._core.base.protobuf cimport Reader, WIRE_LEN, bytes_of, skip_any, take_span, take_varint
from jelly._core.base.utf8 cimport need_utf8
from jelly._core.jelly.column_cells cimport fill, take_number32
from jelly._core.jelly.column_reader cimport open_column, read_entries
from jelly._core.jelly.column_schema cimport (
    ANSWER_VALUE, Column, Columns, MAX_ROW_COUNT, MIN_COLUMN_NAMES, RESULTS_ANSWER, RESULTS_COLUMN, RESULTS_METADATA,
    RESULTS_NAMES, RESULTS_OPTIONS, RESULTS_PUNCTUATED, RESULTS_RDF_VERSION, RESULTS_ROW_COUNT,
    RESULTS_TRAILER, RESULTS_TYPE, RESULTS_VARIABLE, TRAILER_ERROR,
)
from jelly._core.jelly.decode cimport begin_frame, malformed
from jelly._core.jelly.decode_state cimport DecoderState
from jelly._core.jelly.decoder cimport Decoder
from jelly._core.jelly.frame_reader cimport take_metadata
from jelly._core.jelly.lookup cimport TABLES, free_entries
from jelly._core.jelly.saved_state cimport make_columns
from jelly._core.jelly.stream_options cimport TABLE_FIELDS, StreamOptionsRow, check_sizes, read_options_fields

from jelly._options.options import RDF_VERSIONS
from jelly._options.result_options import ResultOptions
from jelly.errors import JellyError, JellyFormatError, JellyTruncatedError, QueryError, TruncatedWarning

cdef enum:
    # The newest version of the format.
    MAX_RESULT_VERSION = 1
    # Cells of a Batch, at which it ends, and cells of a frame for each row that the limit allows.
    MAX_CELLS = 1 << 20
    CELLS_A_ROW = 16
    # Fields of the options that are numbers, and field 1, which is none here.
    OPTIONS_KNOWN = TABLE_FIELDS | 1 << 1 | 1 << (RESULTS_TYPE >> 3) | 1 << (RESULTS_RDF_VERSION >> 3)
    # Fields of a frame that have a length.
    KNOWN_FIELDS = (
        1 << RESULTS_OPTIONS | 1 << RESULTS_VARIABLE | 7 << RESULTS_NAMES | 1 << RESULTS_COLUMN | 1 << RESULTS_ANSWER
        | 1 << RESULTS_TRAILER | 1 << RESULTS_METADATA
    )


ctypedef struct ResultFrame:
    # The present frame.
    bint has_options
    StreamOptionsRow options  # whose `logical` is the type of the stream
    int64_t variables
    int64_t columns
    const uint8_t* first_column
    int64_t rows
    bint has_answer
    bint answer
    bint has_trailer
    Reader error
    Reader links  # NULL: none
    bint begun  # Python has taken what begins with it
    int64_t variable  # the variable whose column is read; -1: none
    # The present result set.
    int64_t width
    bint open  # it has begun, and no trailer came
    bint closed  # a trailer came
    bint boolean
    int32_t* cells  # of a column
    int64_t cap


# ---- what a frame has

cdef int read_result_options(DecoderState* d, Reader r, ResultFrame* f) noexcept nogil:
    cdef StreamOptionsRow* h = &f.options
    if read_options_fields(&r, h, False, OPTIONS_KNOWN, &d.fault) != OK:
        return d.fault.code
    h.logical = (<int64_t*>h)[RESULTS_TYPE >> 3]
    h.rdf = <int>min((<int64_t*>h)[RESULTS_RDF_VERSION >> 3], 1 << 20)
    return OK


cdef int read_answer(DecoderState* d, Reader r, ResultFrame* f) noexcept nogil:
    cdef int64_t tag
    while r.at < r.end:
        tag = take_varint(&r)
        if tag == ANSWER_VALUE:
            f.answer = take_varint(&r) != 0
        elif skip_any(&r, tag) < 0:
            return malformed(d, &r)
    return OK


cdef int read_trailer(DecoderState* d, Reader r, ResultFrame* f) noexcept nogil:
    cdef int64_t tag
    while r.at < r.end:
        tag = take_varint(&r)
        if tag == TRAILER_ERROR:
            if take_span(&r, &f.error) < 0:
                return malformed(d, &r)
            if need_utf8(&f.error, &d.fault) != OK:
                return d.fault.code
        elif skip_any(&r, tag) < 0:
            return malformed(d, &r)
    return OK


cdef int scan_frame(DecoderState* d, ResultFrame* f) noexcept nogil:
    """Look through a frame. Parts of one message that stand apart add up."""
    cdef Reader r, span, key, value
    cdef const uint8_t* at
    cdef int64_t tag
    cdef int field
    cdef int status = OK
    f.has_options = f.has_answer = f.answer = f.has_trailer = f.begun = False
    f.variables = f.columns = f.rows = 0
    f.links.at = f.error.at = f.error.end = NULL
    memset(&f.options, 0, sizeof(StreamOptionsRow))
    r.at = d.frame_start
    r.end = d.frame.end
    while r.at < r.end:
        at = r.at
        tag = take_varint(&r)
        if tag == RESULTS_ROW_COUNT:
            f.rows = take_number32(&r)
            if f.rows < 0:
                return malformed(d, &r)
            continue
        if tag & 7 != WIRE_LEN or tag >> 3 > RESULTS_METADATA or not KNOWN_FIELDS >> (tag >> 3) & 1:
            if skip_any(&r, tag) < 0:
                return malformed(d, &r)
            continue
        if take_span(&r, &span) < 0:
            return malformed(d, &r)
        field = <int>(tag >> 3)
        if field == RESULTS_COLUMN:
            if f.columns == 0:
                f.first_column = at
            f.columns += 1
        elif field == RESULTS_VARIABLE:
            f.variables += 1
            status = need_utf8(&span, &d.fault)
        elif field == RESULTS_OPTIONS:
            f.has_options = True
            status = read_result_options(d, span, f)
        elif field == RESULTS_ANSWER:
            f.has_answer = True
            status = read_answer(d, span, f)
        elif field == RESULTS_TRAILER:
            f.has_trailer = True
            status = read_trailer(d, span, f)
        elif field == RESULTS_METADATA:
            status = take_metadata(&span, &key, &value, &d.fault)
            if status == OK and key.end - key.at == 4 and memcmp(key.at, b"link", 4) == 0:
                f.links = value
        if status != OK:
            return status
    return OK


# ---- rows

cdef int read_column(DecoderState* d, ResultFrame* f, Reader body, int64_t variable) noexcept nogil:
    """A column of the present frame, into the cells of the variable number `variable`."""
    cdef Columns* k = d.columns
    cdef BatchData* b = d.b
    cdef int64_t n = f.rows
    cdef int64_t width = f.width
    cdef int32_t* out = b.cells + b.n_rows * width + variable
    cdef int32_t* cells = out if width == 1 else f.cells
    cdef int64_t i
    f.variable = variable
    memset(&k.of[OBJECT], 0, sizeof(Column))
    k.of[OBJECT].body = body
    k.known_in = ~d.t.batch  # what its numbers of literal kinds mean is its own
    d.last[OBJECT] = UNSET
    if open_column(d, OBJECT) != OK or fill(d, OBJECT, cells, n) != OK:
        return d.fault.code
    d.last[OBJECT] = UNSET
    if width > 1:
        for i in range(n):
            out[0] = cells[i]
            out += width
    return OK


cdef int read_rows(DecoderState* d, ResultFrame* f) noexcept nogil:
    """Lookup entries and rows of the present frame. Entries are applied first, wherever they stand."""
    cdef BatchData* b = d.b
    cdef Reader r, span
    cdef int64_t tag, most
    cdef int64_t variable = 0
    cdef int pass_
    if f.rows > MAX_ROW_COUNT:
        return fail(&d.fault, ROW_COUNT, d.frame_start, f.rows, MAX_ROW_COUNT)
    most = min(d.limits.rows, d.limits.rows * CELLS_A_ROW // max(f.width, 1))
    if f.rows > most:
        return fail(&d.fault, FRAME_ROWS, d.frame_start, f.rows, most)
    if f.columns != f.width and (f.columns > 0 or f.rows > 0):
        return fail(&d.fault, RESULT_COLUMNS, d.frame_start, f.columns, f.width)
    while b.cap_rows - b.n_rows < f.rows:
        if grow_rows(b) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
    if f.width > 1 and make_room(<void**>&f.cells, &f.cap, f.rows, sizeof(int32_t)) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    d.columns.row_count = f.rows
    for pass_ in range(2):
        if pass_ == 1 and f.columns == 0:
            break
        r.at = d.frame_start if pass_ == 0 else f.first_column
        r.end = d.frame.end
        while r.at < r.end:
            tag = take_varint(&r)
            if tag & 7 != WIRE_LEN:
                skip_any(&r, tag)
                continue
            take_span(&r, &span)
            if pass_ == 0 and RESULTS_NAMES <= tag >> 3 < RESULTS_COLUMN:
                if read_entries(d, span, <int>(tag >> 3) - RESULTS_NAMES) != OK:
                    return d.fault.code
            elif pass_ == 1 and tag >> 3 == RESULTS_COLUMN:
                if read_column(d, f, span, variable) != OK:
                    return d.fault.code
                variable += 1
    f.variable = -1
    b.n_rows += f.rows
    return OK


cdef int run_results(DecoderState* d, ResultFrame* f) noexcept nogil:
    """Read frames. NEED_TABLES: something begins with the present one; FULL: the Batch is, or a result set ended."""
    cdef int status
    while True:
        if not d.in_frame:
            status = begin_frame(d)
            if status != OK:
                return status
            if scan_frame(d, f) != OK:
                return d.fault.code
        if not f.begun and (
            f.has_options or not f.open or f.boolean or f.variables > 0 or f.has_answer or f.links.at != NULL
        ):
            return NEED_TABLES
        if read_rows(d, f) != OK:
            return d.fault.code
        d.in_frame = False
        d.n_frames += 1
        if f.has_trailer:
            if d.header.logical == RESULTS_PUNCTUATED and add_frame(d.b) < 0:
                return fail(&d.fault, NO_MEMORY, NULL)
            f.open = False
            f.closed = True
            return FULL
        if (
            d.b.n_rows >= d.max_rows or d.b.n_rows * f.width >= MAX_CELLS
            or d.b.n_text >= d.full_text or d.b.n_terms >= d.full_terms
        ):
            return FULL


# ---- the class

cdef class ResultSet:
    """What a stream says of a result set beside its rows.

    ``boolean`` is the answer of an ASK query, else None. ``complete`` is True after a trailer, False at the end of a stream
    without one, None while the result set goes on.
    """

    cdef readonly tuple variables
    cdef readonly object boolean
    cdef readonly tuple links
    cdef readonly object complete

    def __cinit__(self, tuple variables, boolean):
        self.variables = variables
        self.boolean = boolean
        self.links = ()

    def __reduce__(self):
        raise TypeError("a ResultSet cannot be pickled")


@cython.no_gc_clear
cdef class ResultDecoder(Decoder):
    """Jelly-SPARQL in, Batches whose columns are variables out, no I/O.

    Of a PUNCTUATED stream a Batch belongs to one result set, and has a frame if the result set ends with it. `sets` has
    what is known of the result sets that began; take away those that are not needed any more.

    >>> data = bytes.fromhex("1a0a09488001500858047801120178" "18023a061201002a01614a00")
    >>> decoder = ResultDecoder(delimited=True)
    >>> [(batch.variables, batch.cells.tolist(), batch.term(0)) for batch in decoder.feed(data)]
    [(('x',), [[0], [0]], '"a"')]
    >>> decoder.result_set.complete
    True
    """

    cdef ResultFrame f
    cdef readonly object sets
    cdef public bint require_trailer
    cdef ResultSet current  # the result set that began last

    def __cinit__(self, **_):
        self.sets = deque()
        self.f.variable = -1
        self.d.columnar = True
        if make_columns(&self.d) != OK:
            raise MemoryError
        self.d.columns.sparse = True

    def __dealloc__(self):
        free(self.f.cells)

    def __repr__(self) -> str:
        return f"<jelly.ResultDecoder: {self.rows_out} rows, {self.d.n_frames} frames, {self.offset} bytes so far>"

    @property
    def result_set(self) -> ResultSet | None:
        """The result set that began last; None before the first one."""
        return self.current

    @property
    def variables(self) -> tuple | None:
        """The names of the variables of the result set that began last; None before the first one."""
        return None if self.current is None else self.current.variables

    cdef int read(self) except -1:
        cdef int status
        self.d.feed.final = self.final
        if self.begins:
            self.begins = False
            try:
                self.begin_frame()
            except JellyError as error:
                self.error = error
            return OK
        if self.batch is None:
            self.start_batch()
        with nogil:
            status = run_results(&self.d, &self.f)
        if status == NEED_TABLES:
            self.begins = True
            return FULL if self.has_some() else OK
        if status == FULL and self.f.closed:
            self.end_set()
            return FULL if self.has_some() else OK
        if status != FULL and status != NEED_MORE:
            self.error = self.make_error()
        return status if status > 0 else OK

    cdef int begin_frame(self) except -1:
        """Take what begins with the present frame, or refuse it."""
        cdef ResultFrame* f = &self.f
        cdef bint punctuated
        cdef bint first = self.current is None
        if f.has_options:
            self.take_options()
        elif not self.d.has_header:
            fail(&self.d.fault, NO_OPTIONS, self.d.frame_start)
            raise self.make_error()
        punctuated = self.d.header.logical == RESULTS_PUNCTUATED
        if f.closed and not punctuated and not f.has_options:
            raise self.wrong("a frame follows the trailer: expected stream options, or the end")
        if first or (punctuated and not f.open):
            self.begin_set()
        elif f.boolean:
            raise self.wrong("a frame follows the answer of an ASK query, which is a whole result set")
        elif f.has_answer:
            raise self.wrong("the answer of an ASK query stands after the first frame of the result set")
        elif f.has_options and punctuated:
            raise self.wrong("stream options stand inside a result set of a PUNCTUATED stream")
        elif f.has_options and self.take_variables() != self.current.variables:
            raise self.wrong("the variables differ from those that the stream had before its options were repeated")
        elif f.variables > 0 and not f.has_options:
            raise self.wrong("variables stand after the first frame of the result set")
        if f.links.at != NULL:
            try:
                self.current.links = tuple(filter(None, bytes_of(&f.links).decode().split("\n")))
            except UnicodeDecodeError:
                pass  # ignored, as the format wants it
        f.open = f.begun = True
        f.closed = False
        return 0

    cdef int begin_set(self) except -1:
        cdef ResultFrame* f = &self.f
        if f.has_answer and (f.variables > 0 or f.columns > 0 or f.rows > 0):
            raise self.wrong("the answer of an ASK query stands beside variables or rows")
        if f.variables > MAX_VARIABLES:
            fail(&self.d.fault, VARIABLES_LIMIT, self.d.frame_start, MAX_VARIABLES)
            raise self.make_error()
        self.current = ResultSet(self.take_variables(), bool(f.answer) if f.has_answer else None)
        self.sets.append(self.current)
        f.width = f.variables
        f.boolean = f.has_answer
        self.batch = None  # one of other variables
        return 0

    cdef int end_set(self) except -1:
        """A trailer came. What it says of an error is raised after the rows."""
        cdef ResultFrame* f = &self.f
        self.current.complete = True
        if f.error.at != f.error.end:
            text = bytes_of(&f.error).decode()
            self.error = QueryError(f"the query failed, so that its results are not complete: {text}", frame=self.d.n_frames - 1)
        f.closed = self.d.header.logical != RESULTS_PUNCTUATED
        return 0

    cdef tuple take_variables(self):
        cdef Reader r, span
        cdef int64_t tag
        found = []
        r.at = self.d.frame_start
        r.end = self.d.frame.end
        while r.at < r.end:
            tag = take_varint(&r)
            if tag != (RESULTS_VARIABLE << 3 | WIRE_LEN):
                skip_any(&r, tag)
                continue
            take_span(&r, &span)
            found.append(bytes_of(&span).decode())
        return tuple(found)

    cdef int take_options(self) except -1:
        """The options of a stream, or of another that follows it: the lookup tables are empty after them."""
        cdef StreamOptionsRow* h = &self.f.options
        cdef DecoderState* d = &self.d
        cdef const uint8_t* at = d.frame_start
        cdef int which
        if h.version < 1 or h.version > MAX_RESULT_VERSION:
            fail(&d.fault, BAD_VERSION, at, h.version, MAX_RESULT_VERSION)
        check_sizes(h, &d.limits, MIN_COLUMN_NAMES, at, &d.fault)
        if h.rdf > RDF_12:
            fail(&d.fault, BAD_RDF_VERSION, at, h.rdf)
        if d.fault.code != OK:
            raise self.make_error()
        if h.logical > RESULTS_PUNCTUATED:
            raise self.wrong(f"stream type {h.logical} is unknown: expected 0 FLAT or 1 PUNCTUATED")
        if d.has_header:
            if h.logical != d.header.logical:
                raise self.wrong("the type of the stream differs from the one that it had before its options were repeated")
            for which in range(TABLES):
                free_entries(&d.t.tables[which])
        d.header = h[0]
        d.header.physical = pb.PHYSICAL_STREAM_TYPE_TRIPLES
        d.has_header = True
        self.make_tables()
        self.read_options = ResultOptions(
            h.logical, self.stream_name.decode(), RDF_VERSIONS[h.rdf], *h.sizes, h.version
        )
        return 0

    cdef dict find_fault(self):
        place = Decoder.find_fault(self)
        place.pop("row", None)
        if self.f.variable >= 0:
            place["slot"] = f"variable {self.current.variables[self.f.variable]!r:.80}"
        return place

    cdef object wrong(self, str reason):
        return JellyFormatError(reason, frame=self.d.n_frames, offset=self.d.frame_offset)

    cdef int start_batch(self) except -1:
        cdef int64_t rows
        Decoder.start_batch(self)
        if self.current is not None:
            rows = min(self.hint_rows, MAX_CELLS // max(self.f.width, 1) + 1)
            make_results(self.batch, self.current.variables, rows)
        return 0

    cdef bint has_some(self) noexcept:
        return self.batch is not None and (self.batch.a.n_rows > 0 or self.batch.a.n_frames > 0)

    cdef int end_input(self) except -1:
        if not self.d.has_header:
            fail(&self.d.fault, NO_OPTIONS, NULL)
            self.error = self.make_error()
        elif self.f.open:
            self.current.complete = self.f.open = False
            reason = "the results end without a trailer: they may be cut off"
            if self.require_trailer:
                self.error = JellyTruncatedError(reason, frame=self.d.n_frames, offset=self.offset)
            else:
                self.say(reason, TruncatedWarning)
        return 0
