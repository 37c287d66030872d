"""Jelly-SPARQL: Batches of query results to frames of columns, by the encoder of the columns of Jelly-RDF 1.2.

A frame holds rows of one Batch. First the lookup entries of its rows are made sure of, then its columns are written one
after the other: all of them take the place of the objects of a statement, where any term may stand.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

import numpy

from jelly._core.algebra.content cimport memory_of
from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport NO_TERM, UNSET, Batch, BatchData
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.constants cimport OBJECT
from jelly._core.base.fault cimport (
    DATATYPES_FULL, NAMES_FULL, NO_MEMORY, OK, ONE_FRAME, fail, fault_error, utf8_of, whole_number,
)
from jelly._core.base.kinds cimport KIND_LANG
from jelly._core.base.memory cimport make_room
from jelly._core.base.protobuf cimport Writer, len_field, write_byte, write_bytes, write_field, write_number, write_varint
from jelly._core.jelly.column_out cimport clear_column, put_column, put_lists
from jelly._core.jelly.column_state cimport (
    RESULTS_ANSWER, RESULTS_COLUMN, RESULTS_METADATA, RESULTS_NAME, RESULTS_NAMES, RESULTS_OPTIONS, RESULTS_PUNCTUATED,
    RESULTS_RDF_VERSION, RESULTS_ROW_COUNT, RESULTS_TRAILER, RESULTS_TYPE, RESULTS_VARIABLE, TRAILER_ERROR,
)
from jelly._core.jelly.encode_columns cimport (
    ROW_FULL, columns_failed, free_columns_out, pin_tag, pin_term, release_entries, start_columns,
)
from jelly._core.jelly.encoder_state cimport DATATYPES, NAMES, PREFIXES, TABLES, ColumnEncoder, ColumnMemo, EncoderState
from jelly._core.jelly.frame_writer cimport put_metadata_entry, restart_stream
from jelly._core.jelly.lookup cimport forget_lru, free_lru, init_lru, lru_bytes
from jelly._core.jelly.term_out cimport put_entries

from jelly._core.rules.capabilities import capabilities_of
from jelly._options.options import RDF_VERSIONS
from jelly.errors import JellyArgumentError, JellyOptionsError

cdef enum:
    # Rows of a frame at the most, and with them the language tags of a column.
    MAX_FRAME_ROWS = 1 << 16


ctypedef struct ResultOut:
    EncoderState e
    int64_t width
    int64_t frame_rows
    int32_t* cells  # of a column
    int64_t cap
    bint punctuated
    Writer head  # options and variables, answer and links, for the next frame


# ---- frames

cdef int pin_row(ResultOut* k, int64_t row) noexcept nogil:
    """Make sure of the lookup entries of a row."""
    cdef EncoderState* e = &k.e
    cdef const int32_t* cells = e.b.cells + row * k.width
    cdef int64_t i
    cdef int status
    for i in range(k.width):
        if cells[i] == NO_TERM:
            continue
        status = pin_term(e, OBJECT, cells[i])
        if status != OK:
            return status
    return OK


cdef int pin_frame(ResultOut* k, int64_t* row, int64_t end) noexcept nogil:
    """Make sure of the entries of the rows of a frame, from `row` on to where it comes to: the frame takes no more."""
    cdef EncoderState* e = &k.e
    cdef int64_t begin = row[0]
    cdef int status = OK
    while row[0] < end:
        status = pin_row(k, row[0])
        if status == OK:
            row[0] += 1
            e.columns.rows += 1
        elif status != ROW_FULL or row[0] > begin:
            break
        elif e.columns.full != PREFIXES or not e.columns.prefixed:
            return fail(
                &e.fault, NAMES_FULL if e.columns.full == NAMES else DATATYPES_FULL, NULL,
                e.tables[NAMES if e.columns.full == NAMES else DATATYPES].size,
            )
        else:
            # One row with more prefixes than there can be: IRIs without prefixes.
            e.columns.prefixed = False
            release_entries(e)
    return OK if status == ROW_FULL else status


cdef int put_result_column(ResultOut* k, int64_t place, int64_t begin, int64_t n) noexcept nogil:
    cdef EncoderState* e = &k.e
    cdef const int32_t* from_ = e.b.cells + begin * k.width + place
    cdef int64_t i
    cdef int status
    clear_column(&e.columns.of[OBJECT])
    e.last[OBJECT] = UNSET
    # Its language tags are numbered anew.
    forget_lru(&e.columns.tags)
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
    cdef EncoderState* e = &k.e
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


cdef int encode_results(ResultOut* k, int64_t* row) noexcept nogil:
    """Write the rows of the Batch from `row` on; at a fault `row` tells which."""
    cdef EncoderState* e = &k.e
    cdef int64_t begin, n, i
    cdef int which, status
    while row[0] < e.b.n_rows:
        if move_frame(k) != OK:
            return e.fault.code
        start_columns(e)
        begin = row[0]
        status = pin_frame(k, row, min(begin + k.frame_rows, e.b.n_rows) if k.frame_rows > 0 else e.b.n_rows)
        if status != OK:
            return status
        n = row[0] - begin
        if make_room(<void**>&k.cells, &k.cap, n, sizeof(int32_t)) < 0:
            return fail(&e.fault, NO_MEMORY, NULL)
        write_bytes(&e.held, k.head.buf, k.head.n)
        k.head.n = 0
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
cdef class ResultEncoder:
    """Batches of query results in, Jelly-SPARQL out.

    Begin a result set with `begin`, `encode` its Batches, and `end` it. The last frame waits for the trailer. A stream that
    is not ``delimited`` is one frame. ``frame_cells`` and ``frame_bytes`` are what a frame holds at the most; 0: no bound.

    >>> from jelly._options.options import ResultOptions
    >>> encoder = ResultEncoder(ResultOptions())
    >>> encoder.begin((), boolean=True)
    >>> encoder.end().hex(" ")
    '12 0a 0a 48 a0 1f 50 96 01 58 20 78 01 42 02 08 01 4a 00'
    """

    cdef ResultOut k
    cdef readonly object options
    cdef object tables  # the numpy array behind the lookup tables
    cdef tuple variables  # of the present result set; None: there is none
    cdef bint boolean
    cdef object error
    cdef int64_t rows_in
    cdef int64_t frame_cells
    cdef Claim claimed

    def __cinit__(self, options, *, frame_cells=4096, frame_bytes=1_000_000, bint delimited=True):
        cdef EncoderState* e = &self.k.e
        cdef int32_t[TABLES] sizes
        cdef uint8_t* at
        cdef int which
        self.options = options
        self.frame_cells = whole_number(frame_cells, "frame_cells")
        e.frame_bytes = whole_number(frame_bytes, "frame_bytes")
        if self.frame_cells < 0 or e.frame_bytes < 0:
            raise JellyArgumentError("frame_cells and frame_bytes must not be negative")
        if not delimited:
            self.frame_cells = e.frame_bytes = 0
        self.k.punctuated = options.stream_type == RESULTS_PUNCTUATED
        e.delimited = delimited
        e.columnar = True
        e.name_tag = RESULTS_NAMES << 3 | 2
        e.columns.rdf_version = RDF_VERSIONS.index(options.rdf_version) if options.rdf_version else 0
        sizes[NAMES] = options.max_name_table_size
        sizes[PREFIXES] = options.max_prefix_table_size
        sizes[DATATYPES] = options.max_datatype_table_size
        self.tables = numpy.empty(
            lru_bytes(sizes[NAMES]) + lru_bytes(sizes[PREFIXES]) + lru_bytes(sizes[DATATYPES]) + lru_bytes(MAX_FRAME_ROWS),
            numpy.uint8,
        )
        at = <uint8_t*>memory_of(self.tables)
        for which in range(TABLES):
            at = init_lru(&e.tables[which], at, sizes[which])
        init_lru(&e.columns.tags, at, MAX_FRAME_ROWS)
        restart_stream(e)
        self.put_options()

    def __dealloc__(self):
        cdef EncoderState* e = &self.k.e
        cdef int which
        free_columns_out(e)
        for which in range(TABLES):
            free_lru(&e.tables[which])
        free(e.row.buf)
        free(e.body.buf)
        free(e.held.buf)
        free(e.out.buf)
        free(self.k.head.buf)
        free(self.k.cells)

    def __reduce__(self):
        raise TypeError("a ResultEncoder cannot be pickled")

    cdef int put_options(self) except -1:
        cdef Writer w
        cdef bytes name = utf8_of(self.options.stream_name, "stream_name")
        cdef Writer* head = &self.k.head
        w.buf = NULL
        w.n = w.cap = w.failed = 0
        if name:
            write_field(&w, RESULTS_NAME, <const uint8_t*><const char*>name, len(name))
        write_number(&w, RESULTS_TYPE, self.options.stream_type)
        write_number(&w, RESULTS_RDF_VERSION, self.k.e.columns.rdf_version)
        write_number(&w, pb.RDF_STREAM_OPTIONS_MAX_NAME_TABLE_SIZE << 3, self.options.max_name_table_size)
        write_number(&w, pb.RDF_STREAM_OPTIONS_MAX_PREFIX_TABLE_SIZE << 3, self.options.max_prefix_table_size)
        write_number(&w, pb.RDF_STREAM_OPTIONS_MAX_DATATYPE_TABLE_SIZE << 3, self.options.max_datatype_table_size)
        write_number(&w, pb.RDF_STREAM_OPTIONS_VERSION << 3, self.options.version)
        write_field(head, RESULTS_OPTIONS << 3 | 2, w.buf, w.n)
        head.failed |= w.failed
        free(w.buf)
        return 0

    @property
    def frames(self) -> int:
        """Number of frames finished so far."""
        return self.k.e.n_frames

    def begin(self, variables, boolean=None, links=()) -> None:
        """Begin a result set: of these variables, or with ``boolean`` the answer of an ASK query. ``links`` are IRIs of
        further information."""
        cdef bytes data
        cdef Writer* head = &self.k.head
        names = tuple(variables)
        texts = [utf8_of(name, "a variable") for name in names]
        if not all(texts):
            raise JellyOptionsError("a variable has an empty name, which Jelly-SPARQL does not allow")
        if len(set(names)) < len(names):
            raise JellyOptionsError("a variable stands twice in the header")
        if boolean is not None and names:
            raise JellyArgumentError("the answer of an ASK query has no variables")
        if not all(isinstance(link, str) and link and "\n" not in link for link in links):
            raise JellyArgumentError("links are IRIs, each a str without line feeds")
        self.enter()
        try:
            if self.variables is not None or (self.k.e.n_frames and not self.k.punctuated):
                raise JellyOptionsError(
                    "the result set before has not ended: call end()" if self.variables is not None
                    else 'a stream of several result sets needs stream_type="punctuated"'
                )
            for data in texts:
                write_field(head, RESULTS_VARIABLE << 3 | 2, <const uint8_t*><const char*>data, len(data))
            if boolean is not None:
                data = b"\x08\x01" if boolean else b""
                write_field(head, RESULTS_ANSWER << 3 | 2, <const uint8_t*><const char*>data, len(data))
            if links:
                data = "\n".join(links).encode()
                put_metadata_entry(head, b"link", 4, <const uint8_t*><const char*>data, len(data))
            self.variables = names
            self.boolean = boolean is not None
            self.k.width = len(names)
            self.k.frame_rows = 0
            if self.frame_cells > 0:
                self.k.frame_rows = max(self.frame_cells // max(self.k.width, 1), 1)
            self.k.frame_rows = min(self.k.frame_rows or MAX_FRAME_ROWS, MAX_FRAME_ROWS)
        finally:
            give_back(&self.claimed)

    def encode(self, Batch batch not None, keep_frames: bool | None = None) -> bytes:
        """The frames of the rows of a Batch, but for the last one. ``keep_frames`` is ignored: frames mean nothing."""
        cdef EncoderState* e = &self.k.e
        cdef int64_t row = 0
        cdef int status
        batch = capabilities_of("results-jellys").fit(batch)
        if self.variables is None or self.boolean or batch.variables != self.variables:
            raise JellyOptionsError(f"the variables are {batch.variables}: expected {self.variables}, as in the header")
        self.enter()
        try:
            e.columns.memo = <ColumnMemo*>calloc(batch.a.n_terms + 1, sizeof(ColumnMemo))
            if e.columns.memo == NULL:
                raise MemoryError
            e.b = &batch.a
            with nogil:
                status = encode_results(&self.k, &row)
            self.leave(status, row)
            self.rows_in += batch.a.n_rows
            return self.take_out()
        finally:
            free(e.columns.memo)
            e.columns.memo = NULL
            e.b = NULL
            give_back(&self.claimed)

    def end(self, str error not None="") -> bytes:
        """End the result set with its trailer; ``error`` says why it is not complete."""
        cdef EncoderState* e = &self.k.e
        cdef bytes text = utf8_of(error, "an error")
        cdef int status
        self.enter()
        try:
            if self.variables is None:
                raise JellyOptionsError("no result set was begun")
            write_bytes(&e.held, self.k.head.buf, self.k.head.n)
            self.k.head.n = 0
            write_byte(&e.held, RESULTS_TRAILER << 3 | 2)
            if text:
                write_varint(&e.held, len_field(len(text)))
                write_field(&e.held, TRAILER_ERROR, <const uint8_t*><const char*>text, len(text))
            else:
                write_byte(&e.held, 0)
            status = move_frame(&self.k)
            self.leave(status, 0)
            self.variables = None
            return self.take_out()
        finally:
            give_back(&self.claimed)

    def close(self) -> bytes:
        """The rest to write: the trailer, where the result set has none."""
        return b"" if self.variables is None else self.end()

    cdef int enter(self) except -1:
        claim(&self.claimed, self)
        if self.error is not None:
            try:
                raise self.error
            finally:
                give_back(&self.claimed)
        return 0

    cdef int leave(self, int status, int64_t row) except -1:
        cdef EncoderState* e = &self.k.e
        if status == OK and (
            e.row.failed | e.body.failed | e.held.failed | e.out.failed | self.k.head.failed or columns_failed(e)
        ):
            status = fail(&e.fault, NO_MEMORY, NULL)
        if status != OK:
            self.error = fault_error(&e.fault, {"frame": e.n_frames, "row": self.rows_in + row})
            raise self.error
        return 0

    cdef bytes take_out(self):
        out = (<const char*>self.k.e.out.buf)[:self.k.e.out.n] if self.k.e.out.n else b""
        self.k.e.out.n = 0
        return out
