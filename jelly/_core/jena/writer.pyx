"""BinaryWriter and ResultWriter: the Python classes that write RDF Thrift and RDF Protobuf, and raise their errors."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc

from jelly._core.base.batch cimport Batch, need_statements
from jelly._core.base.fault cimport utf8_of
from jelly._core.base.protobuf cimport Reader, reader_of
from jelly._core.jena.prefix_map cimport MAX_PREFIXES, free_prefixes
from jelly._core.jena.row_reader cimport ROW_BASE, ROW_PREFIX
from jelly._core.jena.row_writer cimport Encoded, JenaWriter, write_header, write_names, write_rows
from jelly._core.rules.row_writer cimport RowWriter

from jelly._core.rules.capabilities import capabilities_of
from jelly.errors import JellyArgumentError, JellyOptionsError


cdef class _RowWriter(RowWriter):
    """What the writers of statements and of query results have in common."""

    cdef JenaWriter d

    def __cinit__(self, encoding, *_, **__):
        if encoding not in ("thrift", "protobuf"):
            raise JellyArgumentError(f'encoding is {encoding!r}: expected "thrift" or "protobuf"')
        self.out = &self.d.out
        self.fault = &self.d.fault
        self.d.lengths = encoding == "protobuf"

    def __dealloc__(self):
        self.unload()
        free(self.d.terms.buf)
        free(self.d.out.buf)
        free_prefixes(&self.d.prefixes)

    cdef int load(self, Batch batch) except -1:
        self.d.memo = <Encoded*>calloc(batch.a.n_terms + 1, sizeof(Encoded))
        if self.d.memo == NULL:
            raise MemoryError
        self.d.b = &batch.a
        self.d.terms.n = 0
        return 0

    cdef int write(self, int64_t size) noexcept nogil:
        return write_rows(&self.d, &self.row, &self.name, size)

    cdef void unload(self) noexcept:
        free(self.d.memo)
        self.d.memo = NULL
        self.d.b = NULL


cdef class BinaryWriter(_RowWriter):
    """Batches in, RDF Thrift or RDF Protobuf out: the bytes that Jena writes of the same statements.

    ``prefixes`` (name to namespace) and, in Protobuf, ``base`` are declared first; namespaces of the Batches follow
    where they stand. ``shorten`` writes an IRI as a prefixed name where a declared namespace fits, the one up to its
    last / or # before the longest: by default in Thrift, as Jena does, and not in Protobuf. ``values=True`` writes
    integers, decimals and doubles as such (Jena: in Thrift only): their lexical form and the difference between
    xsd:integer and xsd:long, int, short or byte are lost then; what does not fit 64 bits and infinities stay literals.
    ``default_quads=True`` (Protobuf only) writes the default graph as quads, as Jena does with N-Quads that it streams.
    ``patch=True`` writes the Batches of patches as Jena's binary RDF Patch (Thrift).

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "o" .', format="nt").batches())
    >>> BinaryWriter("thrift").encode(batch).hex()
    '2c1c1c1803613a7300001c1c1803613a7000001c3c18016f00000000'
    """

    cdef bint patch
    cdef dict prefixes
    cdef str base

    def __cinit__(
        self, encoding, *, prefixes=None, shorten: bool | None = None, bint values=False, base=None,
        bint default_quads=False, bint patch=False,
    ):
        cdef bint thrift = not self.d.lengths
        self.patch = patch
        self.capabilities = capabilities_of("trp" if patch else encoding)
        if patch and (not thrift or prefixes or shorten or values):
            raise JellyOptionsError("binary RDF Patch is Thrift, without prefixes and values")
        if thrift and (base is not None or default_quads):
            raise JellyOptionsError("base and default_quads are for RDF Protobuf: RDF Thrift has no such rows")
        self.d.shorten = thrift if shorten is None else shorten
        self.d.values = values
        self.d.default_quads = default_quads
        self.d.prefixes.limit = MAX_PREFIXES
        self.prefixes = dict(prefixes or {})
        self.base = base

    cdef Batch fit(self, Batch batch):
        need_statements(batch)
        if self.patch != (batch.a.op != NULL):
            raise JellyOptionsError(
                "statements cannot be written as binary RDF Patch: they have no operations" if self.patch
                else "a patch cannot be written as RDF Thrift or RDF Protobuf: it has operations"
            )
        return RowWriter.fit(self, batch)

    cdef int start(self) except -1:
        cdef Reader name, iri
        cdef bytes first, second
        found = [] if self.base is None else [(ROW_BASE, utf8_of(self.base, "base"), b"")]
        for key, value in self.prefixes.items():
            found.append((ROW_PREFIX, utf8_of(key, "a prefix"), utf8_of(value, "the IRI of a prefix")))
        for field, first, second in found:
            name, iri = reader_of(first), reader_of(second)
            if write_names(&self.d, field, &name, &iri) < 0:
                raise self.take_error(0)
        return 0


cdef class ResultWriter(_RowWriter):
    """SPARQL results as RDF Thrift or RDF Protobuf, the bytes that Jena writes. The variables come first.

    >>> import jelly
    >>> batch = next(jelly.results.read_results(b'{"head":{"vars":["x"]},"results":{"bindings":[{}]}}', format="json").batches())
    >>> ResultWriter("protobuf", ["x"]).encode(batch).hex()
    '050a030a0178040a024200'
    """

    def __cinit__(self, encoding, variables):
        self.capabilities = capabilities_of("results-" + encoding)
        self.variables = tuple(variables)
        self.d.results = True
        self.d.width = len(self.variables)

    cdef int start(self) except -1:
        cdef Reader* names
        cdef int status
        cdef int64_t i
        texts = [utf8_of(name, "a variable") for name in self.variables]
        names = <Reader*>malloc((self.d.width + 1) * sizeof(Reader))
        if names == NULL:
            raise MemoryError
        for i in range(self.d.width):
            names[i] = reader_of(texts[i])
        with nogil:
            status = write_header(&self.d, names)
        free(names)
        if status < 0:
            raise self.take_error(0)
        return 0
