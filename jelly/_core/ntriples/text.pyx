"""TextReader and TextWriter: the Python classes over line_reader and term_writer. They turn faults into exceptions."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memmove, memset

from jelly._core.algebra.message_blank_nodes cimport count_whole, drop_tail, move_tail
from jelly._core.base.batch cimport (
    NO_TERM, Batch, BatchData, add_namespace, add_term, clear_interner, free_interner, init_interner, need_plain, need_statements,
)
from jelly._core.base.characters cimport column_of, find_last_line, find_line_end, is_line_end
from jelly._core.base.claim cimport give_back, try_claim
from jelly._core.base.constants cimport NO_LIMIT, RDF_11, RDF_12, RDF_12_BASIC
from jelly._core.base.fault cimport (
    BAD_LABEL, BAD_TAG, BAD_TERM, LINE_LIMIT, NAMED_GRAPH_IN_TRIPLES, NEED_MORE, OK, OPEN_PATCH, UNKNOWN_KIND, Fault, fail,
    fault_error, utf8_of,
)
from jelly._core.base.kinds cimport KIND_IRI, KIND_TEXT
from jelly._core.base.objects cimport hold
from jelly._core.rules.patch_operations cimport OPEN
from jelly._core.base.protobuf cimport Writer, put_byte, put_bytes, reserve
from jelly._core.base.push_reader cimport PushReader
from jelly._core.ntriples.line_reader cimport end_message, read_lines, skip_line
from jelly._core.ntriples.patch_text cimport len_patch_rows, put_patch_rows, read_patch_lines
from jelly._core.ntriples.term_reader cimport (
    BY_COMMENT, BY_DIRECTIVE, NO_MESSAGES, NTriplesReader, forget_tokens,
)
from jelly._core.ntriples.term_writer cimport NTriplesWriter, begin_part, len_rows, put_rows
from jelly._core.rules.capabilities cimport Capabilities

from jelly._core.rules.capabilities import capabilities_of
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError

cdef enum:
    # Maximum number of skipped lines in `skipped`; other lines are only counted.
    MAX_SKIPPED = 1000

cdef enum:
    # Rows of a Batch where nobody says: the first is one by which a writer decides its options, the others fit into the caches.
    FIRST_BATCH = 1 << 14
    LATER_BATCH = 1 << 12

_VERSIONS = {"1.1": RDF_11, "1.2-basic": RDF_12_BASIC, "1.2": RDF_12}
_NAMES = {RDF_11: "1.1", RDF_12_BASIC: "1.2 Basic", RDF_12: "1.2"}


@cython.no_gc_clear
cdef class TextReader(PushReader):
    """N-Triples (``quads=False``) or N-Quads in, Batches out, no I/O: feed it chunks of bytes, cut anywhere.

    ``patch=True`` reads RDF Patch instead: its Batches have the operations as ``op``, see `jelly.patch`.

    Syntax is RDF 1.1, RDF-star and RDF 1.2, and any term may stand in any place; relative IRIs are taken as they are.
    ``strict=True`` takes RDF 1.1 only; so does ``rdf="1.1"``, and ``rdf="1.2-basic"`` or ``"1.2"`` that version, or the
    lower one that a VERSION line announces. ``on_error="skip"`` leaves out lines that are wrong and notes them in
    ``skipped``, and the bytes of their errors in ``skipped_at``; ``n_skipped`` counts them all. A Batch holds at most
    ``batch_rows`` statements (by default 16,384 in the first and 4,096 in the others) and ends early at about ``batch_bytes`` of text.

    With ``messages="comment"`` or ``"directive"`` the text is a message log: the frames of its Batches are messages, and
    no Batch holds a part of one; ``"either"`` is comments, unless a VERSION that announces directives comes before all
    statements and delimiters. ``announced`` says that MESSAGE needs no ``VERSION "1.2-messages"``, ``trailing`` what a
    comment at the very end does: ``"open"`` one more, empty message, or ``"close"`` the last one.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False)
    >>> [len(batch) for data in (b"<a:s> <a:p> <a:o> .\\n<a:s> <a", b":p> 'o' .") for batch in reader.feed(data)]
    [1]
    >>> reader.close()
    Traceback (most recent call last):
    jelly.JellySyntaxError: column 13: expected a term as object, found "'" (byte 32, line 2)
    """

    cdef NTriplesReader t
    cdef Writer carried  # the line whose end is not there yet
    cdef const uint8_t* begin  # address in memory of the offset `origin` of the input
    cdef int64_t origin
    cdef int64_t carried_origin
    cdef bint in_carried  # `t` reads the carried line
    cdef bint after_cr  # the last chunk ended with CR: LF would belong to it
    cdef int64_t wait  # bytes needed before it is read, because it spans line ends
    cdef bint dropping  # the rest of a line above the limit follows
    cdef int64_t later_rows  # of a Batch after the first
    cdef bint skip
    cdef bint open_last  # a delimiter at the end opens a message
    cdef readonly int64_t n_skipped
    cdef readonly list skipped
    cdef readonly list skipped_at  # the byte of each error in `skipped`

    def __cinit__(
        self, *, bint quads, bint strict=False, rdf=None, on_error="raise", batch_rows=None, int64_t batch_bytes=1 << 24,
        int64_t max_line_bytes=1 << 26, bint patch=False, messages=None, bint announced=False, trailing="open",
        int64_t max_message_bytes=1 << 28,
    ):
        if on_error not in ("raise", "skip"):
            raise JellyArgumentError(f'on_error is {on_error!r}: expected "raise" or "skip"')
        self.t.max_rows = FIRST_BATCH if batch_rows is None else batch_rows
        self.later_rows = LATER_BATCH if batch_rows is None else self.t.max_rows
        self.max_rows = &self.later_rows
        if self.t.max_rows < 1 or batch_bytes < 1 or max_line_bytes < 1 or max_message_bytes < 1:
            raise JellyArgumentError("batch_rows, batch_bytes, max_line_bytes and max_message_bytes must be at least 1")
        if messages not in (None, "comment", "directive", "either"):
            raise JellyArgumentError(f'messages is {messages!r}: expected "comment", "directive", "either" or None')
        if trailing not in ("open", "close"):
            raise JellyArgumentError(f'trailing is {trailing!r}: expected "open" or "close"')
        if messages is not None and on_error == "skip":
            raise JellyArgumentError("a message is read as a whole or not at all: its lines cannot be skipped")
        if init_interner(&self.t.index) < 0:
            raise MemoryError
        self.t.quads = quads
        if rdf is not None and rdf not in _VERSIONS:
            raise JellyArgumentError(f"rdf is {rdf!r}: expected one of {', '.join(_VERSIONS)}")
        if strict and rdf not in (None, "1.1"):
            raise JellyArgumentError(f"strict=True is RDF 1.1, rdf is {rdf!r}: give one of them")
        self.t.strict = strict or rdf is not None
        self.t.asked = self.t.version = _VERSIONS[rdf or "1.1"]
        self.t.patch = patch
        self.t.max_text = batch_bytes
        self.t.max_line = max_line_bytes
        self.t.max_message = max_message_bytes
        self.t.messages = NO_MESSAGES if messages is None else BY_DIRECTIVE if messages == "directive" else BY_COMMENT
        self.t.either = messages == "either"
        self.t.announced = announced
        self.open_last = messages != "directive" and trailing == "open"
        self.skip = on_error == "skip"
        self.skipped = []
        self.skipped_at = []

    def __dealloc__(self):
        free_interner(&self.t.index)
        free(self.t.scratch.buf)
        free(self.t.scratch_datatype.buf)
        free(self.t.note.buf)
        free(self.carried.buf)

    @property
    def line(self) -> int:
        """Number of lines read so far."""
        return self.t.line

    @property
    def held_bytes(self) -> int:
        """Number of bytes of a line whose end has not come yet."""
        return self.carried.n if not self.in_carried else 0

    @property
    def messages(self) -> int:
        """Number of complete messages read so far. While another thread reads, those given out."""
        if not try_claim(&self.claimed):
            return self.frames_out
        try:
            return self.count_messages()
        finally:
            give_back(&self.claimed)

    def skim(self) -> None:
        """Check terms and keep none of them: in a Batch all but quoted triples become the first one."""
        held = hold(&self.claimed, self)
        self.t.skims = True

    cdef int64_t count_messages(self) noexcept:
        return self.frames_out + (0 if self.batch is None else self.batch.a.n_frames)

    def namespace(self, str name not None, str iri not None) -> None:
        """Declare a namespace here, after a chunk was used up: N-Triples has no syntax for it."""
        cdef bytes text = utf8_of(name, "the name of a namespace")
        cdef bytes value = utf8_of(iri, "the IRI of a namespace")
        cdef int32_t ids[2]
        held = hold(&self.claimed, self)
        if self.batch is None:
            self.start_batch()
        ids[0] = add_term(&self.batch.a, KIND_TEXT, NO_TERM, <const uint8_t*><const char*>text, len(text))
        ids[1] = add_term(&self.batch.a, KIND_IRI, NO_TERM, <const uint8_t*><const char*>value, len(value))
        if ids[0] < 0 or ids[1] < 0 or add_namespace(&self.batch.a, ids[0], ids[1]) < 0:
            raise MemoryError

    cdef int take_chunk(self) except -1:
        if self.after_cr and self.rest[0] == 0x0A:
            if self.carried.n > 0 and not self.in_carried:  # a string goes on, and its bytes count
                if reserve(&self.carried, 1) < 0:
                    raise MemoryError
                put_byte(&self.carried, 0x0A)
            self.rest += 1
        self.after_cr = (self.rest_end - 1)[0] == 0x0D
        return 0

    cdef int read(self) except -1:
        cdef int status
        if self.t.at >= self.t.end:
            return NEED_MORE
        if self.batch is None:
            self.start_batch()
        with nogil:
            status = read_patch_lines(&self.t) if self.t.patch else read_lines(&self.t)
        if status < 0:
            if self.t.open_text:
                self.t.open_text = False
                if self.t.end - self.t.line_at > self.t.max_line:
                    self.t.fault.code = OK
                    fail(&self.t.fault, LINE_LIMIT, self.t.line_at, self.t.max_line)
                elif not self.final:
                    self.wait_for_more()
                    return NEED_MORE
            self.note_fault()
            skip_line(&self.t)
            return OK
        return status

    cdef int wait_for_more(self) except -1:
        """Keep the incomplete line at the end of the available bytes."""
        cdef int64_t n = self.t.end - self.t.line_at
        if self.in_carried:
            self.carried_origin += self.t.line_at - self.carried.buf
            memmove(self.carried.buf, self.t.line_at, n)
        else:
            self.carried.n = 0
            self.carried_origin = self.origin + (self.t.line_at - self.begin)
            if reserve(&self.carried, n + 1) < 0:
                raise MemoryError
            put_bytes(&self.carried, self.t.line_at, n)
        self.carried.n = n
        self.in_carried = False
        # Read again only when it has grown by an eighth, so that the time stays linear in the bytes.
        self.wait = n + n // 8
        self.t.fault.code = OK
        self.t.line -= 1
        self.t.at = self.t.end = self.t.line_at = NULL
        return 0

    cdef bint next_bytes(self) except -1:
        """Give `t` the next bytes that end with a line end."""
        # The bytes of the last terms are released.
        forget_tokens(&self.t)
        self.t.message_bytes += self.t.at - self.t.message_at
        cdef bint found = self.find_lines()
        self.t.message_at = self.t.at
        return found

    cdef bint find_lines(self) except -1:
        cdef const uint8_t* stop
        if self.in_carried:
            self.in_carried = False
            self.carried.n = self.wait = 0
        while self.rest < self.rest_end:
            if self.dropping:
                self.rest = self.after_line_end(find_line_end(self.rest, self.rest_end))
                self.dropping = self.rest == self.rest_end and not is_line_end((self.rest - 1)[0])
            elif self.carried.n < self.wait:
                self.carry(self.rest + min(self.wait - self.carried.n, self.rest_end - self.rest))
            elif self.carried.n > 0:
                stop = find_line_end(self.rest, self.rest_end)
                if not self.carry(stop):
                    continue
                if stop < self.rest_end:
                    self.rest = self.after_line_end(stop)
                    put_bytes(&self.carried, stop, self.rest - stop)
                    self.read_carried()
                    return True
            else:
                stop = find_last_line(self.rest, self.rest_end)
                if stop > self.rest:
                    self.t.at = self.rest
                    self.t.end = self.rest = stop
                    self.begin = <const uint8_t*>self.held.view.buf
                    self.origin = self.bytes_read - self.held.view.len
                    return True
                self.carry(self.rest_end)
            if self.error is not None:
                return False
        self.release()
        if self.final and self.carried.n > 0:
            self.read_carried()
            return True
        return False

    cdef int release(self) except -1:
        self.t.at = self.t.end = NULL
        return PushReader.release(self)

    cdef const uint8_t* after_line_end(self, const uint8_t* at) noexcept:
        if at < self.rest_end:
            at += 2 if at[0] == 0x0D and self.rest_end - at > 1 and at[1] == 0x0A else 1
        return at

    cdef bint carry(self, const uint8_t* stop) except -1:
        """Append the bytes up to `stop` to the kept line; False if it becomes too long."""
        cdef int64_t n = stop - self.rest
        if self.carried.n == 0:
            self.carried_origin = self.bytes_read - (self.rest_end - self.rest)
        if self.carried.n + n > self.t.max_line:
            self.carried.n = self.wait = 0
            self.dropping = True
            self.t.line += 1
            self.t.line_at = self.t.at = self.t.end = self.begin = NULL
            self.origin = self.carried_origin
            fail(&self.t.fault, LINE_LIMIT, NULL, self.t.max_line)
            self.note_fault()
            return False
        # Two bytes more, for the line end.
        if reserve(&self.carried, n + 2) < 0:
            raise MemoryError
        put_bytes(&self.carried, self.rest, n)
        self.rest = stop
        return True

    cdef void read_carried(self) noexcept:
        self.in_carried = True
        self.begin = self.carried.buf
        self.origin = self.carried_origin
        self.t.at = self.carried.buf
        self.t.end = self.carried.buf + self.carried.n

    cdef int start_batch(self) except -1:
        # The text of a Batch is bounded by `max_text` plus one line, which is in memory already.
        self.t.batch = self.begin_batch(4 if self.t.quads else 3, NO_LIMIT, self.t.patch)
        if self.rows_out > 0:
            self.t.max_rows = self.later_rows
        clear_interner(&self.t.index)
        forget_tokens(&self.t)
        return 0

    cdef int end_input(self) except -1:
        if self.t.transaction == OPEN:
            fail(&self.t.fault, OPEN_PATCH, NULL)
            self.error = fault_error(&self.t.fault, {"line": self.t.line, "offset": self.bytes_read})
        if self.t.messages:
            self.end_messages()
        return 0

    cdef int end_messages(self) except -1:
        """The end of the input ends the last message."""
        cdef bint is_open = self.t.begun and self.open_last and self.t.messages == BY_COMMENT
        if self.batch is None:
            self.start_batch()
        if is_open or count_whole(&self.batch.a) < self.batch.a.n_rows:
            if end_message(&self.t) < 0:
                self.note_fault()
        self.open_last = False
        drop_tail(&self.batch.a)  # namespaces declared after the last message
        return 0

    cdef object give_rest(self):
        """Hand out complete messages; an incomplete one stays for the next Batch."""
        cdef Batch batch, rest
        if not self.t.messages:
            return PushReader.give_rest(self)
        if self.batch is None or self.batch.a.n_frames == 0:
            return None
        batch = self.take_batch()
        if count_whole(&batch.a) == batch.a.n_rows and batch.a.n_names == 0:
            return batch
        self.start_batch()
        rest = self.batch
        if move_tail(&batch.a, &rest.a) < 0:
            raise MemoryError
        self.rows_out -= rest.a.n_rows
        rest.first_row = self.rows_out
        return batch

    cdef int note_fault(self) except -1:
        """Handle a fault: make the error to raise, or count a skipped line."""
        cdef const uint8_t* at = self.t.line_at if self.t.fault.at == NULL else self.t.fault.at
        location = {
            "line": self.t.line,
            "offset": self.origin + (at - self.begin),
            "column": column_of(self.t.line_at, at),
            "version": _NAMES[self.t.version],
        }
        if self.t.messages:
            location["message"] = self.count_messages()
        error = fault_error(&self.t.fault, location)
        if isinstance(error, MemoryError) or not self.skip:
            self.error = error
            if self.t.messages and self.batch is not None:
                drop_tail(&self.batch.a)
            return 0
        self.t.fault.code = OK
        self.n_skipped += 1
        if self.n_skipped <= MAX_SKIPPED:
            self.skipped.append((self.t.line, error.reason))
            self.skipped_at.append(location["offset"])
        return 0


cdef class TextWriter:
    """Batches in, N-Triples (``quads=False``) or N-Quads out, in their canonical form, one line a statement.

    ``patch=True`` writes the Batches of patches as RDF Patch, one line an operation; then ``marked=True`` writes blank
    nodes as ``<_:label>``. Blank nodes whose labels are none of N-Triples get others (see `Capabilities`), with
    ``keep_labels=True`` they are an error. ``fitted=True`` is for Batches that were fitted to another format: then labels
    are written as they are.

    Quoted triples are written as ``<<( s p o )>>`` where they are objects, which is RDF 1.2, and as ``<< s p o >>``
    elsewhere, where RDF 1.2 has none. ``quoted="rdf-star"`` writes all as ``<< s p o >>``, for programs that read
    RDF-star (Jena up to 5.3).

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s>  <a:p>"o"@en.', format="nt").batches())
    >>> TextWriter(quads=False).encode(batch)
    b'<a:s> <a:p> "o"@en .\\n'
    """

    cdef bint quads
    cdef bint patch
    cdef bint marked
    cdef bint star
    cdef bint fitted
    cdef Capabilities capabilities

    def __cinit__(
        self, bint quads, bint patch=False, bint marked=False, bint keep_labels=False, str quoted not None="rdf-1.2",
        bint fitted=False,
    ):
        if quoted not in ("rdf-1.2", "rdf-star"):
            raise JellyArgumentError(f'quoted is {quoted!r}: expected "rdf-1.2" or "rdf-star"')
        self.capabilities = capabilities_of("rdfp" if patch else "nq" if quads else "nt", keep_labels)
        self.quads = quads
        self.patch = patch
        self.marked = marked
        self.star = quoted == "rdf-star"
        self.fitted = fitted

    def __reduce__(self):
        raise TypeError("a TextWriter cannot be pickled")

    cdef int begin(self, NTriplesWriter* t, Batch batch) except -1:
        memset(t, 0, sizeof(NTriplesWriter))
        t.batch = &batch.a
        t.quads = self.quads
        t.marked = self.marked
        t.star = self.star
        t.fitted = self.fitted
        t.of_term = <int64_t*>calloc(batch.a.n_terms + 1, 2 * sizeof(int64_t))
        if t.of_term == NULL:
            raise MemoryError
        t.places = t.of_term + batch.a.n_terms
        return 0

    cdef Batch refit(self, NTriplesWriter* t, Batch batch, int64_t row):
        """The Batch to measure after a fault: a copy in which labels that cannot be written are replaced.

        Lines are measured before they are written, so valid terms are examined only once.
        """
        cdef Fault fault = t.fault
        cdef Batch fitted = batch
        if (
            fault.code == BAD_LABEL or fault.code == BAD_TAG or fault.code == NAMED_GRAPH_IN_TRIPLES
            or fault.code == BAD_TERM or fault.code == UNKNOWN_KIND
        ):
            fitted = self.capabilities.fit(batch)
        if fitted is batch or t.fitted:
            raise fault_error(&fault, {"row": batch.first_row + row})
        free(t.of_term)
        self.begin(t, fitted)
        t.fitted = True
        return fitted

    cdef bytes write(self, NTriplesWriter* t, int64_t* row, int64_t end, int64_t size):
        """The lines of rows up to `end`, of about `size` bytes; `row` moves past the last, or to one with a fault: None."""
        cdef int64_t first = row[0]
        cdef int64_t n
        cdef bytes lines
        with nogil:
            n = len_patch_rows(t, row, end, size) if self.patch else len_rows(t, row, end, size)
        if n < 0:
            return None
        lines = PyBytes_FromStringAndSize(NULL, n)
        begin_part(t, <uint8_t*>PyBytes_AS_STRING(lines), n)
        with nogil:
            if self.patch:
                put_patch_rows(t, first, row[0])
            else:
                put_rows(t, first, row[0])
        return lines

    def encode(self, Batch batch not None, keep_frames=None) -> bytes:
        """The lines of a Batch. JellyUnsupportedError if they cannot hold it, for example a named graph in N-Triples.

        ``keep_frames`` is ignored: lines have no frames.
        """
        return next(self.chunks(batch, NO_LIMIT), b"")

    def close(self) -> bytes:
        """Nothing: lines have no end marker."""
        return b""

    def chunks(self, Batch batch not None, int64_t size=1 << 20, int64_t start=0, stop=None):
        """The lines of a Batch, or of some of its rows, in parts of about `size` bytes."""
        cdef NTriplesWriter t
        cdef int64_t row = start
        cdef int64_t end = batch.a.n_rows if stop is None else stop
        cdef int64_t first
        cdef bytes lines
        if size < 1:
            raise JellyArgumentError("size must be at least 1")
        need_statements(batch)
        if self.patch != (batch.a.op != NULL):
            raise JellyOptionsError(
                "statements cannot be written as RDF Patch: they have no operations" if self.patch
                else "a patch cannot be written as N-Triples or N-Quads: it has operations"
            )
        if not 0 <= start <= end <= batch.a.n_rows:
            raise IndexError(f"rows {start} to {end} are not within 0 to {batch.a.n_rows}")
        if self.patch:
            batch = self.capabilities.fit(batch)
        self.begin(&t, batch)
        t.fitted = t.fitted or self.patch
        try:
            while row < end:
                first = row
                lines = self.write(&t, &row, end, size)
                if lines is None:
                    batch = self.refit(&t, batch, row)
                    row = first
                else:
                    yield lines
        finally:
            free(t.of_term)

    def frames(self, Batch batch not None) -> list:
        """The lines of each frame of a Batch, then those of rows after the last frame, if any."""
        cdef list found = []
        cdef int64_t i = 0
        cdef int64_t first, end
        cdef int64_t row = 0
        cdef BatchData* a
        cdef NTriplesWriter t
        cdef bytes lines
        need_plain(batch, "a patch has operations: it has no frames of N-Triples or N-Quads")
        a = &batch.a
        self.begin(&t, batch)
        try:
            while i < a.n_frames + (1 if count_whole(a) < a.n_rows else 0):
                end = a.frames[i] if i < a.n_frames else a.n_rows
                first = row
                lines = self.write(&t, &row, end, NO_LIMIT)
                if lines is not None:
                    found.append(lines)
                    i += 1
                    continue
                try:
                    batch = self.refit(&t, batch, row)
                except JellyError as error:
                    error.message = batch.first_frame + i
                    raise
                a = &batch.a
                row = first
        finally:
            free(t.of_term)
        return found
