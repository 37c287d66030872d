"""BinaryWriter and ResultWriter: the Python classes that write RDF Thrift and RDF Protobuf, and raise their errors."""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from jelly._core.base.batch cimport Batch, need_statements
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.fault cimport Fault, fault_error, utf8_of
from jelly._core.base.protobuf cimport Reader
from jelly._core.jena.prefix_map cimport MAX_PREFIXES, free_prefixes
from jelly._core.jena.protobuf_writer cimport use_protobuf, write_protobuf_base
from jelly._core.jena.row_writer cimport Encoded, JenaWriter, write_header, write_prefix, write_rows
from jelly._core.jena.thrift_writer cimport use_thrift
from jelly._core.rules.capabilities cimport Capabilities

from jelly._core.rules.capabilities import capabilities_of
from jelly.errors import JellyArgumentError, JellyOptionsError


cdef class _RowWriter:
    """What the writers of statements and of query results have in common."""

    cdef JenaWriter d
    cdef bint started
    cdef bint open  # a Batch is being written
    cdef Claim claimed
    cdef Capabilities capabilities

    def __cinit__(self, encoding, *_, **__):
        if encoding not in ("thrift", "protobuf"):
            raise JellyArgumentError(f'encoding is {encoding!r}: expected "thrift" or "protobuf"')
        if encoding == "thrift":
            use_thrift(&self.d)
        else:
            use_protobuf(&self.d)

    def __dealloc__(self):
        free(self.d.memo)
        free(self.d.terms.buf)
        free(self.d.out.buf)
        free_prefixes(&self.d.prefixes)

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled")

    cdef Batch fit(self, Batch batch):
        """A Batch that can be written."""
        raise NotImplementedError

    cdef int start(self) except -1:
        """Write what comes before all Batches."""
        raise NotImplementedError

    def encode(self, Batch batch not None, keep_frames=None) -> bytes:
        """The rows of a Batch, at the first time after their head. ``keep_frames`` is ignored: there are no frames."""
        return b"".join(self.chunks(batch, NO_LIMIT))

    def chunks(self, Batch batch not None, int64_t size=1 << 20):
        """The rows of a Batch, part by part of about `size` bytes, so that they are never all in memory.

        JellyOptionsError where another Batch is written before the last part was taken, or this was closed.
        """
        cdef int64_t row = 0
        cdef int64_t name = 0
        cdef int status
        if size < 1:
            raise JellyArgumentError("size must be at least 1")
        batch = self.fit(batch)
        self.enter()
        self.open = True
        try:
            try:
                load(&self.d, batch)
            finally:
                give_back(&self.claimed)
            while row < batch.a.n_rows or name < batch.a.n_names or self.d.out.n > 0:
                claim(&self.claimed, self)
                try:
                    with nogil:
                        status = write_rows(&self.d, &row, &name, size)
                    if status < 0:
                        raise take_error(&self.d, batch.first_row + row)
                    part = take_out(&self.d)
                finally:
                    give_back(&self.claimed)
                yield part
        finally:
            unload(&self.d)
            self.open = False

    cdef int enter(self) except -1:
        """Claim the writer, between two Batches, and begin if that is still to do."""
        claim(&self.claimed, self)
        try:
            if self.open:
                raise JellyOptionsError("the last Batch is not written to its end: take all of its chunks first")
            if not self.started:
                self.start()
            self.started = True
        except BaseException:
            give_back(&self.claimed)
            raise
        return 0

    def close(self) -> bytes:
        """The rest to write: where there was no Batch, what comes before them."""
        self.enter()
        try:
            return take_out(&self.d)
        finally:
            give_back(&self.claimed)


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
        return self.capabilities.fit(batch)

    cdef int start(self) except -1:
        cdef Reader name, iri
        if self.base is not None:
            data = utf8_of(self.base, "base")
            as_reader(data, &iri)
            if write_protobuf_base(&self.d, &iri) < 0:
                raise take_error(&self.d, 0)
        for key, value in self.prefixes.items():
            first, second = utf8_of(key, "a prefix"), utf8_of(value, "the IRI of a prefix")
            as_reader(first, &name)
            as_reader(second, &iri)
            if write_prefix(&self.d, &name, &iri) < 0:
                raise take_error(&self.d, 0)
        return 0


cdef class ResultWriter(_RowWriter):
    """SPARQL results as RDF Thrift or RDF Protobuf, the bytes that Jena writes. The variables come first.

    >>> import jelly
    >>> batch = next(jelly.results.read_results(b'{"head":{"vars":["x"]},"results":{"bindings":[{}]}}', format="json").batches())
    >>> ResultWriter("protobuf", ["x"]).encode(batch).hex()
    '050a030a0178040a024200'
    """

    cdef tuple variables

    def __cinit__(self, encoding, variables):
        self.capabilities = capabilities_of("results-" + encoding)
        self.variables = tuple(variables)
        self.d.results = True
        self.d.width = len(self.variables)

    cdef Batch fit(self, Batch batch):
        batch = self.capabilities.fit(batch)
        if batch.variables != self.variables:
            raise JellyOptionsError(f"the variables are {batch.variables}: expected {self.variables}, as in the header")
        return batch

    cdef int start(self) except -1:
        cdef Reader* names
        cdef int status
        cdef int64_t i
        texts = [utf8_of(name, "a variable") for name in self.variables]
        names = <Reader*>malloc((self.d.width + 1) * sizeof(Reader))
        if names == NULL:
            raise MemoryError
        for i in range(self.d.width):
            as_reader(texts[i], &names[i])
        with nogil:
            status = write_header(&self.d, names)
        free(names)
        if status < 0:
            raise take_error(&self.d, 0)
        return 0


cdef void as_reader(bytes text, Reader* r):
    r.at = <const uint8_t*><const char*>text
    r.end = r.at + len(text)


cdef int load(JenaWriter* d, Batch batch) except -1:
    d.memo = <Encoded*>calloc(batch.a.n_terms + 1, sizeof(Encoded))
    if d.memo == NULL:
        raise MemoryError
    d.b = &batch.a
    d.terms.n = 0
    return 0


cdef void unload(JenaWriter* d) noexcept:
    free(d.memo)
    d.memo = NULL
    d.b = NULL


cdef object take_error(JenaWriter* d, int64_t row):
    """The exception of the fault; what was being written is dropped."""
    cdef Fault fault = d.fault
    memset(&d.fault, 0, sizeof(Fault))
    d.out.n = 0
    return fault_error(&fault, {"row": row})


cdef bytes take_out(JenaWriter* d):
    cdef bytes data = (<const char*>d.out.buf)[:d.out.n]
    d.out.n = 0
    return data
