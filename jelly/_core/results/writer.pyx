"""TextResultWriter: the Python class that writes SPARQL results as text, and raises its errors."""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from jelly._core.base.batch cimport Batch
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.fault cimport Fault, fault_error
from jelly._core.base.protobuf cimport Reader
from jelly._core.results.text_writer cimport N_PARTS, Encoded, TextWriter, use_syntax, write_text_rows
from jelly._core.rules.capabilities cimport Capabilities

from jelly._core.rules.capabilities import capabilities_of
from jelly.errors import JellyArgumentError, JellyOptionsError


cdef class TextResultWriter:
    """Batches of query results in, JSON, XML, TSV or CSV out.

    ``head`` and ``foot`` stand around all rows. ``parts`` are what stands before a row, after it, between two, between two
    cells, and after a cell; ``before_cells`` what stands before the term of each variable.

    >>> import jelly
    >>> batch = next(jelly.results.read_results(b"?x\\t?n\\n<a:b>\\t1\\n", format="tsv").batches())
    >>> writer = TextResultWriter("csv", ("x", "n"), b"x,n\\n", b"", (b"", b"\\n", b"", b",", b""), (b"", b""))
    >>> writer.encode(batch) + writer.close()
    b'x,n\\na:b,1\\n'
    """

    cdef TextWriter d
    cdef bint open  # a Batch is being written
    cdef Claim claimed
    cdef Capabilities capabilities
    cdef tuple variables
    cdef bytes head
    cdef bytes foot
    cdef tuple parts
    cdef tuple before_cells

    def __cinit__(
        self, str syntax not None, tuple variables not None, bytes head not None, bytes foot not None,
        tuple parts not None, tuple before_cells not None,
    ):
        cdef int64_t i
        if syntax not in ("json", "xml", "tsv", "csv"):
            raise JellyArgumentError(f'syntax is {syntax!r}: expected "json", "xml", "tsv" or "csv"')
        if len(parts) != N_PARTS or len(before_cells) != len(variables):
            raise JellyArgumentError(f"expected {N_PARTS} parts, and one before the cells of each variable")
        self.capabilities = capabilities_of("results-" + syntax)
        self.variables = variables
        self.head, self.foot, self.parts, self.before_cells = head, foot, parts, before_cells
        use_syntax(&self.d, syntax)
        self.d.before_cells = <Reader*>calloc(len(variables) + 1, sizeof(Reader))
        if self.d.before_cells == NULL:
            raise MemoryError
        for i in range(N_PARTS):
            as_reader(parts[i], &self.d.parts[i])
        for i in range(len(before_cells)):
            as_reader(before_cells[i], &self.d.before_cells[i])

    def __dealloc__(self):
        self.unload()
        free(self.d.before_cells)
        free(self.d.terms.buf)
        free(self.d.out.buf)
        free(self.d.scratch.buf)

    def __reduce__(self):
        raise TypeError("a TextResultWriter cannot be pickled")

    cdef int load(self, Batch batch) except -1:
        self.d.memo = <Encoded*>calloc(batch.a.n_terms + 1, sizeof(Encoded))
        self.d.lines.of_term = <int64_t*>calloc(batch.a.n_terms + 1, sizeof(int64_t))
        if self.d.memo == NULL or self.d.lines.of_term == NULL:
            raise MemoryError
        self.d.b = &batch.a
        self.d.terms.n = self.d.out.n = 0
        return 0

    cdef void unload(self) noexcept:
        free(self.d.memo)
        free(self.d.lines.of_term)
        self.d.memo = NULL
        self.d.lines.of_term = NULL
        self.d.b = NULL

    cdef bytes take_head(self):
        """What stands before all rows, the first time."""
        head, self.head = self.head, b""
        return head

    def encode(self, Batch batch not None, keep_frames=None) -> bytes:
        """The text of a Batch as a whole, the first time after the head. Results have no frames."""
        return b"".join(self.chunks(batch, NO_LIMIT))

    def chunks(self, Batch batch not None, int64_t size=1 << 18):
        """The text of a Batch, the first time after the head, part by part of about `size` bytes: a term may stand in many
        rows.

        JellyOptionsError where another Batch is written before the last part was taken, or this was closed.
        """
        cdef int64_t row = 0
        cdef int status
        if size < 1:
            raise JellyArgumentError("size must be at least 1")
        batch = self.capabilities.fit(batch)
        if batch.variables != self.variables:
            raise JellyOptionsError(f"the variables are {batch.variables}: expected {self.variables}, as in the header")
        self.enter()
        try:
            try:
                self.load(batch)
                head = self.take_head()
            finally:
                give_back(&self.claimed)
            if head:
                yield head
            while row < batch.a.n_rows:
                claim(&self.claimed, self)
                try:
                    with nogil:
                        status = write_text_rows(&self.d, &row, size)
                    if status < 0:
                        raise self.take_error(batch.first_row + row)
                    part = (<const char*>self.d.out.buf)[:self.d.out.n]
                    self.d.out.n = 0
                finally:
                    give_back(&self.claimed)
                yield part
        finally:
            self.unload()
            self.open = False

    cdef object take_error(self, int64_t row):
        cdef Fault fault = self.d.fault
        memset(&self.d.fault, 0, sizeof(Fault))
        memset(&self.d.lines.fault, 0, sizeof(Fault))
        return fault_error(&fault, {"row": row})

    cdef int enter(self) except -1:
        """Claim the writer, between two Batches."""
        claim(&self.claimed, self)
        if self.open:
            give_back(&self.claimed)
            raise JellyOptionsError("the last Batch is not written to its end: take all of its chunks first")
        self.open = True
        return 0

    def close(self) -> bytes:
        """The end of the text: where there was no Batch, after its head."""
        self.enter()
        self.open = False
        try:
            return self.take_head() + self.foot
        finally:
            give_back(&self.claimed)


cdef void as_reader(bytes text, Reader* r):
    r.at = <const uint8_t*><const char*>text
    r.end = r.at + len(text)
