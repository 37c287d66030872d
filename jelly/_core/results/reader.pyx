"""TextResultReader: the Python class that reads SPARQL results that are text, and raises their errors."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memmove

from jelly._core.base.batch cimport clear_interner, init_interner, make_results
from jelly._core.base.characters cimport column_of
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.fault cimport DOCUMENT_LIMIT, FULL, NEED_MORE, NEED_TABLES, OK, fail, fault_error
from jelly._core.base.objects cimport hold
from jelly._core.base.protobuf cimport Reader, Writer, put_bytes, reserve, take_span, texts_of
from jelly._core.base.push_reader cimport PushReader
from jelly._core.ntriples.term_reader cimport forget_tokens
from jelly._core.results.json_reader cimport take_json
from jelly._core.results.rows cimport NO_ANSWER, TextRows, drop_row, free_rows, read_items
from jelly._core.results.tsv_reader cimport take_tsv
from jelly._core.results.xml_reader cimport take_xml

from jelly.errors import JellyArgumentError

cdef enum:
    # Bytes that are added at a time to what is not read yet.
    PIECE = 1 << 16
    # What was looked through so often in vain is looked through again only when it has grown by an eighth.
    PATIENCE = 64
    # A Batch is full at so many cells, or bytes of text.
    MAX_CELLS = 1 << 20
    BATCH_TEXT = 1 << 24


@cython.no_gc_clear
cdef class TextResultReader(PushReader):
    """SPARQL results in JSON, XML or TSV in, Batches whose columns are variables out, no I/O.

    ``syntax`` is ``"json"``, ``"xml"`` or ``"tsv"``. ``variables``, ``boolean`` and ``links`` are known when the first
    Batch comes or the input ends. JSON may have its head after the results, which are kept then. ``max_document_bytes``
    bounds JSON, ``max_text_bytes`` a row of XML and a line of TSV.

    >>> from jelly._core.results.reader import TextResultReader
    >>> reader = TextResultReader("tsv")
    >>> [batch] = reader.feed(b"?x\\t?n\\n<a:b>\\t1\\n")
    >>> batch.variables, batch.cells.tolist(), batch.term(0)
    (('x', 'n'), [[0, 2]], '<a:b>')
    """

    cdef TextRows t
    cdef Writer unread  # what was not read yet
    cdef int64_t origin  # where it begins in the input
    cdef int64_t line  # line ends before it
    cdef int64_t begun_at  # where in it the reader began the last time
    cdef int64_t attempts  # how often it began there
    cdef int64_t wait  # bytes that must be there before it is looked through
    cdef bint ready  # they are
    cdef bint tried  # it was looked through to its end
    cdef int64_t batch_rows
    cdef int64_t max_document
    cdef tuple names

    def __cinit__(
        self, syntax, *, int64_t batch_rows=4096, int64_t max_document_bytes=1 << 28, int64_t max_text_bytes=1 << 26,
    ):
        if syntax not in ("json", "xml", "tsv"):
            raise JellyArgumentError(f'syntax is {syntax!r}: expected "json", "xml" or "tsv"')
        if batch_rows < 1 or max_document_bytes < 1 or max_text_bytes < 1:
            raise JellyArgumentError("batch_rows, max_document_bytes and max_text_bytes must be at least 1")
        if init_interner(&self.t.lines.index if syntax == "tsv" else &self.t.index) < 0:
            raise MemoryError
        self.t.take_item = take_json if syntax == "json" else take_xml if syntax == "xml" else take_tsv
        self.max_document = max_document_bytes if syntax == "json" else NO_LIMIT
        self.t.max_held = max_text_bytes
        self.batch_rows = batch_rows
        self.t.max_text = BATCH_TEXT
        self.t.answer = NO_ANSWER
        self.t.held = -1
        self.wait = 3  # of a byte order mark

    def __dealloc__(self):
        free_rows(&self.t)
        free(self.unread.buf)

    @property
    def variables(self) -> tuple | None:
        """The names of the variables, without ``?``; None before they are read. The answer of an ASK query has none."""
        held = hold(&self.claimed, self)
        if self.t.answer != NO_ANSWER:
            return ()
        return self.find_names() if self.t.begun else None

    @property
    def boolean(self) -> bool | None:
        """The answer of an ASK query; None for rows."""
        return None if self.t.answer == NO_ANSWER else self.t.answer > 0

    @property
    def links(self) -> tuple:
        """IRIs of further information."""
        held = hold(&self.claimed, self)
        return texts_of(&self.t.links)

    cdef tuple find_names(self):
        if self.names is None:
            self.names = texts_of(&self.t.names)
        return self.names

    cdef int take_chunk(self) except -1:
        if self.bytes_read > self.max_document:
            fail(&self.t.fault, DOCUMENT_LIMIT, NULL, self.max_document)
            self.note_fault()
        return 0

    cdef int read(self) except -1:
        cdef int status
        if not self.ready:
            return NEED_MORE
        if self.batch is None:
            self.start_batch()
        with nogil:
            status = read_items(&self.t)
        if status == FULL:
            return FULL
        drop_row(&self.t)
        if status == NEED_TABLES:
            self.start_rows()
        elif status == NEED_MORE:
            self.ready = False
            self.tried = True
            return NEED_MORE
        else:
            self.note_fault()
        return OK

    cdef bint next_bytes(self) except -1:
        """Give `t` more bytes after those that it has not read."""
        cdef int64_t at, n
        if self.rest >= self.rest_end and (not self.final or self.t.final):
            return False
        at = self.drop_read()
        n = min(self.rest_end - self.rest, max(self.wait - self.unread.n, <int64_t>PIECE))
        if reserve(&self.unread, n + 1) < 0 or reserve(&self.t.scratch, self.unread.n + n) < 0:
            raise MemoryError
        put_bytes(&self.unread, self.rest, n)
        self.rest += n
        self.t.begin = self.unread.buf
        self.t.at = self.unread.buf + at
        self.t.end = self.unread.buf + self.unread.n
        self.t.final = self.final and self.rest >= self.rest_end
        forget_tokens(&self.t.lines)
        self.ready = self.unread.n >= self.wait or self.t.final
        if self.ready and self.origin + at == 0 and self.unread.n >= 3 and memcmp(self.t.at, b"\xef\xbb\xbf", 3) == 0:
            self.t.at += 3
        return self.ready

    cdef int64_t drop_read(self) noexcept:
        """Drop the bytes that were read. Return where in the others to go on."""
        cdef int64_t at = self.t.at - self.unread.buf if self.t.at != NULL else 0
        cdef int64_t used = at if self.t.held < 0 else min(at, self.t.held)
        if not self.tried:
            return at
        self.tried = False
        self.attempts = self.attempts + 1 if at == self.begun_at else 0
        if used > 0:
            self.line += count_lines(self.unread.buf, self.unread.buf + used)
            self.origin += used
            self.unread.n -= used
            memmove(self.unread.buf, self.unread.buf + used, self.unread.n)
            if self.t.held >= 0:
                self.t.held -= used
        self.begun_at = at - used
        self.wait = self.unread.n + self.unread.n // 8 if self.attempts > PATIENCE else 0
        return self.begun_at

    cdef int start_batch(self) except -1:
        # What a row has is in memory already.
        self.t.batch = self.begin_batch(3, NO_LIMIT, False)
        self.t.terms_before = self.t.quoted_before = 0
        clear_interner(&self.t.index if self.t.index.slots != NULL else &self.t.lines.index)
        if self.t.begun:
            self.start_rows()
        return 0

    cdef int start_rows(self) except -1:
        if self.t.columns == NULL:
            self.find_columns()
        self.t.max_rows = min(self.batch_rows, max(MAX_CELLS // max(self.t.width, 1), 1))
        make_results(self.batch, self.find_names(), min(self.hint_rows, self.t.max_rows))
        return 0

    cdef int find_columns(self) except -1:
        """Note the names of the columns, and their order by name."""
        cdef Reader r
        cdef int64_t i
        self.t.columns = <Reader*>malloc((self.t.width + 1) * sizeof(Reader))
        self.t.order = <int32_t*>malloc((self.t.width + 1) * sizeof(int32_t))
        if self.t.columns == NULL or self.t.order == NULL:
            raise MemoryError
        names = [name.encode() for name in self.find_names()]
        r.at = self.t.names.buf
        r.end = r.at + self.t.names.n
        for i, column in enumerate(sorted(range(len(names)), key=names.__getitem__)):
            take_span(&r, &self.t.columns[i])
            self.t.order[i] = column
        return 0

    cdef int note_fault(self) except -1:
        cdef const uint8_t* begin = self.unread.buf
        cdef const uint8_t* at = self.t.fault.at
        location = {"row": self.rows_out + self.rows_here(), "offset": self.origin, "line": self.line + 1}
        if begin != NULL:
            # What had escapes has no place of its own.
            if at < begin or at > self.t.end:
                at = self.t.at
            location["offset"] += at - begin
            location["line"] += count_lines(begin, at)
            location["column"] = column_of(self.t.at, at)
        self.error = fault_error(&self.t.fault, location)
        return 0


cdef int64_t count_lines(const uint8_t* at, const uint8_t* end) noexcept:
    cdef int64_t n = 0
    while at < end:
        at = <const uint8_t*>memchr(at, 0x0A, end - at)
        if at == NULL:
            break
        at += 1
        n += 1
    return n
