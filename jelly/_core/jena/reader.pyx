"""BinaryReader and ResultReader: the Python classes that read RDF Thrift and RDF Protobuf, and raise their errors."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free
from libc.string cimport memmove

from jelly._core.base.batch cimport clear_interner, init_interner, make_results
from jelly._core.base.fault cimport FULL, NEED_MORE, NEED_TABLES, OK, ROW_LIMIT, fail, fault_error
from jelly._core.base.objects cimport hold
from jelly._core.base.protobuf cimport Writer, put_bytes, reserve, texts_of, written
from jelly._core.base.push_reader cimport FIRST_TEXT, PushReader
from jelly._core.jena.prefix_map cimport MAX_PREFIXES
from jelly._core.jena.protobuf_reader cimport use_protobuf
from jelly._core.jena.row_reader cimport (
    ANY_MESSAGE, RDF_GRAPH, RDF_STREAM, ROWS, JenaReader, forget_seen, free_rows, keep_last_row,
)
from jelly._core.jena.thrift_reader cimport use_thrift

from jelly.errors import JellyArgumentError, JellyOptionsError

cdef enum:
    # Bytes that are added at a time to a row that began in an earlier chunk.
    STEP = 1 << 12
    # A row that was looked through so often in vain is looked through again only when it has grown by an eighth.
    PATIENCE = 64
    # Cells of the rows of one Batch of a result set.
    MAX_CELLS = 1 << 20


_MESSAGES = {"rows": ROWS, "RDF_Stream": RDF_STREAM, "RDF_Graph": RDF_GRAPH}


@cython.no_gc_clear
cdef class BinaryReader(PushReader):
    """RDF Thrift or RDF Protobuf in, Batches out, no I/O: feed it chunks of bytes, cut anywhere.

    ``encoding`` is ``"thrift"`` or ``"protobuf"``. Batches are of triples as long as the rows are, and of quads from
    the first quad on; with ``quads=True`` always of quads. A Batch holds at most ``batch_rows`` statements and ends
    early at about ``batch_bytes`` of text. ``max_row_bytes`` and ``max_prefixes`` are the limits that hostile input
    runs into.

    ``patch=True`` reads Jena's binary RDF Patch (Thrift) instead: its Batches have the operations as ``op``, see
    `jelly.patch`.

    ``message`` (Protobuf only) says which message of the schema the whole input is: ``"RDF_Stream"`` or ``"RDF_Graph"``,
    without a length before it, or ``"rows"``, each RDF_StreamRow with its length before it, as Jena writes them. By
    default the first bytes tell. ``scan=True`` gives no Batches: it only finds out whether there is a quad, see `quads`.

    Stricter than Jena, which takes a row that is cut off for the end of the data: that, an unknown kind of row or
    term, and bad UTF-8 are errors with the byte offset. Variables and ANY are terms of a kind of their own. REPEAT is
    the term of the row before in the same position.

    >>> from jelly._core.jena.reader import BinaryReader
    >>> data = bytes.fromhex("2c1c1c1803613a7300001c1c1803613a7000001c3c18016f00000000")
    >>> reader = BinaryReader("thrift")
    >>> [batch.term(2) for chunk in (data[:9], data[9:]) for batch in reader.feed(chunk)]
    ['"o"']
    """

    cdef JenaReader t
    cdef Writer carried  # the row whose end is still to come
    cdef int64_t old  # bytes of it that are not of the present chunk
    cdef int64_t least  # bytes that it has at least
    cdef int64_t wait  # bytes that must be there before it is searched
    cdef bint in_carried  # `t` reads from there
    cdef const uint8_t* begin  # where offset `origin` of the input is in memory
    cdef int64_t origin
    cdef int64_t batch_rows

    def __cinit__(
        self, encoding, *, bint quads=False, int64_t batch_rows=16384, int64_t batch_bytes=1 << 24,
        int64_t max_row_bytes=1 << 28, int64_t max_prefixes=4096, bint patch=False, message=None,
        bint scan=False,
    ):
        if message is not None and (encoding != "protobuf" or message not in _MESSAGES):
            raise JellyOptionsError(f"message is {message!r}: expected one of {', '.join(_MESSAGES)}, with RDF Protobuf")
        if patch and encoding != "thrift":
            raise JellyArgumentError("binary RDF Patch is Thrift")
        if batch_rows < 1 or batch_bytes < 1 or max_row_bytes < 1:
            raise JellyArgumentError("batch_rows, batch_bytes and max_row_bytes must be at least 1")
        if not 0 <= max_prefixes <= MAX_PREFIXES:
            raise JellyArgumentError(f"max_prefixes must be 0 to {MAX_PREFIXES}")
        if encoding not in ("thrift", "protobuf"):
            raise JellyArgumentError(f'encoding is {encoding!r}: expected "thrift" or "protobuf"')
        if encoding == "thrift":
            use_thrift(&self.t)
        else:
            use_protobuf(&self.t)
        if init_interner(&self.t.index) < 0:
            raise MemoryError
        self.t.quads = quads or patch
        self.t.patch = patch
        self.t.scan = scan
        self.t.message = ROWS if self.t.thrift else ANY_MESSAGE if message is None else _MESSAGES[message]
        self.t.max_rows = self.batch_rows = batch_rows
        self.t.max_text = batch_bytes
        self.t.max_row = max_row_bytes
        self.t.prefixes.limit = <int32_t>max_prefixes

    def __dealloc__(self):
        free_rows(&self.t)
        free(self.carried.buf)

    @property
    def base(self) -> str | None:
        """The base IRI that RDF Protobuf may tell; nothing is resolved with it."""
        held = hold(&self.claimed, self)
        return written(&self.t.base).decode() if self.t.has_base else None

    @property
    def quads(self) -> bool:
        """Whether there was a quad, or quads were asked for."""
        return self.t.quads

    @property
    def prefixes(self) -> dict:
        """The prefixes declared so far and their namespaces."""
        cdef int32_t i
        found = {}
        held = hold(&self.claimed, self)
        for i in range(self.t.prefixes.n):
            item = self.t.prefixes.items[i]
            text = (<const char*>item.text)[:item.n_name + item.n_iri]
            found[text[:item.n_name].decode()] = text[item.n_name:].decode()
        return found

    cdef int take_chunk(self) except -1:
        self.old = self.carried.n
        return 0

    cdef int read(self) except -1:
        cdef int status
        if self.batch is None:
            self.start_batch()
        with nogil:
            status = self.t.read_rows(&self.t)
        if status == FULL or status == NEED_MORE:
            return status
        if status == NEED_TABLES:
            self.start_rows()
        else:
            self.note_fault()
        return OK

    cdef bint has_some(self) noexcept:
        """Rows, or prefixes that would be lost at the end."""
        return self.rows_here() > 0 or (self.final and self.has_names())

    cdef bint next_bytes(self) except -1:
        """Give `t` more bytes."""
        cdef int64_t n = self.t.r.end - self.t.r.at  # of a row that is not whole
        cdef int64_t used
        forget_seen(&self.t)
        if self.in_carried and self.t.r.at != NULL:
            used = self.carried.n - n
            if used >= self.old:
                # The row that began in an earlier chunk is read, and what is left is in the present one.
                self.rest -= n
                self.in_carried = False
            else:
                # Behind a row that was waited for too long, the next one may begin before this chunk too.
                self.origin += used
                self.old -= used
                self.carried.n = n
                memmove(self.carried.buf, self.carried.buf + used, n)
                self.expect()
        elif n > 0:
            self.carried.n = self.old = 0
            self.origin += self.t.r.at - self.begin
            self.carry(self.t.r.at, n)
            self.in_carried = True
            self.expect()
        self.t.r.at = self.t.r.end = NULL
        if not self.in_carried:
            self.carried.n = self.old = 0
            if self.rest < self.rest_end:
                self.t.r.at = self.begin = self.rest
                self.t.r.end = self.rest_end
                self.origin = self.bytes_read - (self.rest_end - self.rest)
                self.rest = self.rest_end
                return True
        else:
            # Not by what was carried: that may be more than the row. Rows of Protobuf say at once how long they are.
            if self.t.thrift and self.least > self.t.max_row:
                fail(&self.t.fault, ROW_LIMIT, NULL, self.least, self.t.max_row)
                self.t.row_at = self.begin = self.carried.buf
                self.note_fault()
                return False
            n = min(max(self.wait - self.carried.n, <int64_t>STEP), self.rest_end - self.rest)
            if n > 0:
                self.carry(self.rest, n)
                self.rest += n
            if self.carried.n >= self.wait:
                self.read_carried()
                return True
        if self.final and not self.t.final:
            # Once more: it is now an error that a row is not whole.
            self.t.final = True
            if self.in_carried:
                self.read_carried()
            else:
                self.begin = NULL
                self.origin = self.bytes_read
            return True
        return False

    cdef void expect(self) noexcept:
        """How long the row must be before it is looked through again."""
        self.wait = self.least = self.carried.n + self.t.need
        if self.t.attempts > PATIENCE:
            self.wait = max(self.wait, self.carried.n + self.carried.n // 8)

    cdef int carry(self, const uint8_t* at, int64_t n) except -1:
        if reserve(&self.carried, n) < 0:
            raise MemoryError
        put_bytes(&self.carried, at, n)
        return 0

    cdef void read_carried(self) noexcept:
        self.begin = self.carried.buf
        self.t.r.at = self.carried.buf
        self.t.r.end = self.carried.buf + self.carried.n

    cdef object give_batch(self):
        if not self.t.patch and keep_last_row(&self.t) < 0 and self.error is None:
            self.note_fault()
        return self.take_batch()

    cdef int start_batch(self) except -1:
        # The text of a Batch ends at `max_text` and one row more; prefixes may make a row longer than it is.
        self.t.batch = self.begin_batch(
            4 if self.t.quads else 3, self.t.max_text + self.t.max_row + FIRST_TEXT, self.t.patch
        )
        clear_interner(&self.t.index)
        forget_seen(&self.t)
        return 0

    cdef int start_rows(self) except -1:
        raise NotImplementedError

    cdef int note_fault(self) except -1:
        cdef const uint8_t* at = self.t.fault.at
        # What was put together of parts has no place of its own.
        if <uintptr_t>at < <uintptr_t>self.begin or <uintptr_t>at > <uintptr_t>self.t.r.end:
            at = self.t.row_at
        offset = self.origin if at == NULL else self.origin + (at - self.begin)
        self.error = fault_error(&self.t.fault, {"row": self.rows_out + self.rows_here(), "offset": offset})
        return 0


@cython.no_gc_clear
cdef class ResultReader(BinaryReader):
    """SPARQL results in RDF Thrift or RDF Protobuf in, Batches whose columns are variables out, no I/O.

    ``variables`` are known when the first Batch comes or the input ends.

    >>> from jelly._core.jena.reader import ResultReader
    >>> reader = ResultReader("thrift")
    >>> [batch] = reader.feed(bytes.fromhex("192c180178001801760000192c3c18016100007c000000"))
    >>> batch.variables, batch.cells.tolist(), batch.term(0)
    (('x', 'v'), [[0, -1]], '"a"')
    """

    cdef tuple names

    def __cinit__(self, encoding, **limits):
        self.t.results = True
        self.t.message = ROWS

    @property
    def variables(self) -> tuple | None:
        """The names of the variables, without ``?``; None before they are read."""
        held = hold(&self.claimed, self)
        return self.find_names()

    cdef tuple find_names(self):
        if self.names is None and self.t.has_header:
            self.names = texts_of(&self.t.variables)
        return self.names

    cdef int start_batch(self) except -1:
        BinaryReader.start_batch(self)
        if self.t.has_header:
            self.start_rows()
        return 0

    cdef int start_rows(self) except -1:
        cdef int64_t rows = max(MAX_CELLS // max(self.t.width, 1), 1)
        self.t.max_rows = min(self.batch_rows, rows)
        make_results(self.batch, self.find_names(), min(self.hint_rows, self.t.max_rows))
        return 0
