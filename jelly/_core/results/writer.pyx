"""TextResultWriter: the Python class that writes SPARQL results as text, and raises its errors."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from jelly._core.base.batch cimport Batch
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader, reader_of, write_bytes
from jelly._core.results.text_writer cimport N_PARTS, N_ROW_PARTS, Encoded, TextWriter, use_syntax, write_text_rows
from jelly._core.rules.row_writer cimport RowWriter

from jelly._core.rules.capabilities import capabilities_of
from jelly.errors import JellyArgumentError


cdef class TextResultWriter(RowWriter):
    """Batches of query results in, JSON, XML, TSV or CSV out.

    ``head`` and ``foot`` stand around all rows. ``parts`` are what stands before a row, after it, between two, between two
    cells, and after a cell; in JSON and XML those of terms follow, see text_writer.pxd. ``before_cells`` is what stands
    before the term of each variable.

    >>> import jelly
    >>> batch = next(jelly.results.read_results(b"?x\\t?n\\n<a:b>\\t1\\n", format="tsv").batches())
    >>> writer = TextResultWriter("csv", ("x", "n"), b"x,n\\n", b"", (b"", b"\\n", b"", b",", b""), (b"", b""))
    >>> writer.encode(batch) + writer.close()
    b'x,n\\na:b,1\\n'
    """

    cdef TextWriter d
    cdef bytes head
    cdef tuple parts
    cdef tuple before_cells

    def __cinit__(
        self, str syntax not None, tuple variables not None, bytes head not None, bytes foot not None,
        tuple parts not None, tuple before_cells not None,
    ):
        cdef int64_t i
        if syntax not in ("json", "xml", "tsv", "csv"):
            raise JellyArgumentError(f'syntax is {syntax!r}: expected "json", "xml", "tsv" or "csv"')
        expected = N_PARTS if syntax in ("json", "xml") else N_ROW_PARTS
        if len(parts) != expected or len(before_cells) != len(variables):
            raise JellyArgumentError(f"expected {expected} parts, and one before the cells of each variable")
        self.capabilities = capabilities_of("results-" + syntax)
        self.variables = variables
        self.head, self.foot, self.parts, self.before_cells = head, foot, parts, before_cells
        self.out = &self.d.out
        self.fault = &self.d.fault
        use_syntax(&self.d, syntax)
        self.d.before_cells = <Reader*>calloc(len(variables) + 1, sizeof(Reader))
        if self.d.before_cells == NULL:
            raise MemoryError
        for i in range(len(parts)):
            self.d.parts[i] = reader_of(parts[i])
        for i in range(len(before_cells)):
            self.d.before_cells[i] = reader_of(before_cells[i])

    def __dealloc__(self):
        self.unload()
        free(self.d.before_cells)
        free(self.d.terms.buf)
        free(self.d.out.buf)
        free(self.d.scratch.buf)

    cdef int start(self) except -1:
        cdef Reader head = reader_of(self.head)
        write_bytes(&self.d.out, head.at, head.end - head.at)
        return 0

    cdef int load(self, Batch batch) except -1:
        self.d.memo = <Encoded*>calloc(batch.a.n_terms + 1, sizeof(Encoded))
        self.d.lines.of_term = <int64_t*>calloc(batch.a.n_terms + 1, sizeof(int64_t))
        if self.d.memo == NULL or self.d.lines.of_term == NULL:
            raise MemoryError
        memset(&self.d.lines.fault, 0, sizeof(Fault))
        self.d.b = &batch.a
        self.d.terms.n = 0
        return 0

    cdef int write(self, int64_t size) noexcept nogil:
        return write_text_rows(&self.d, &self.row, size)

    cdef void unload(self) noexcept:
        free(self.d.memo)
        free(self.d.lines.of_term)
        self.d.memo = NULL
        self.d.lines.of_term = NULL
        self.d.b = NULL
