"""The operations of a patch as small immutable Python objects, made from Batches and collected into them."""

cimport cython
from cpython.object cimport Py_EQ, Py_NE
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport (
    NO_TERM, Batch, BatchData, add_operations, add_row, add_term, check_free, need_statements,
)
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.fault cimport utf8_of
from jelly._core.base.kinds cimport KIND_TEXT
from jelly._core.base.objects cimport hold
from jelly._core.rules.patch_operations cimport (
    OP_ABORT, OP_ADD, OP_COMMIT, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
)
from jelly._core.terms.batch_builder cimport BatchBuilder
from jelly._core.terms.materialize cimport Materializer
from jelly._core.terms.model cimport IRI, BlankNode, DefaultGraph, Literal, QuotedTriple
from jelly._core.terms.statements cimport Quad, Triple

from jelly.errors import JellyArgumentError, JellyOptionsError


cdef object as_statement(object x):
    if type(x) is Triple or type(x) is Quad:
        return x
    try:
        terms = tuple(x)
    except TypeError:
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got {type(x).__name__}") from None
    if len(terms) != 3 and len(terms) != 4:
        raise JellyArgumentError(f"a statement has 3 or 4 terms, not {len(terms)}")
    return Triple(*terms) if len(terms) == 3 else Quad(*terms)


cdef object as_iri(object x):
    return x if type(x) is IRI else IRI(x)


cdef object as_graph(object x):
    if x is None or type(x) is DefaultGraph:
        return None
    if type(x) is not IRI and type(x) is not BlankNode and type(x) is not Literal:
        raise JellyArgumentError(f"a graph must be an IRI, a blank node or None, not {type(x).__name__}")
    return x


cdef str quoted_name(name):
    return str(Literal(name))


# Like statements, operations hold only values that cannot be part of a cycle.

@cython.no_gc
cdef class Operation:
    """One row of a patch, the base of all operations.

    The operations are `Add`, `Delete`, `AddNamespace`, `DeleteNamespace`, `Header`, `Start`, `Commit` and `Abort`.
    Operations with equal values are equal, and ``str()`` gives the line of RDF Patch.
    """

    cdef tuple values(self):
        return ()

    def __hash__(self):
        return hash((type(self), self.values()))

    def __richcmp__(self, other, int op):
        if type(other) is not type(self) or (op != Py_EQ and op != Py_NE):
            return NotImplemented
        return (self.values() == (<Operation>other).values()) == (op == Py_EQ)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, self.values()))})"

    def __reduce__(self):
        return type(self), self.values()


@cython.no_gc
cdef class _Change(Operation):
    """An operation on a statement."""

    cdef readonly object statement
    __match_args__ = ("statement",)

    def __init__(self, statement):
        self.statement = as_statement(statement)

    cdef tuple values(self):
        return (self.statement,)


@cython.final
@cython.no_gc
cdef class Add(_Change):
    """Add a statement (RDF Patch: A).

    Parameters
    ----------
    statement : Triple, Quad or sequence of terms
        The statement.

    Examples
    --------
    >>> from jelly import IRI
    >>> str(Add((IRI("a:s"), IRI("a:p"), IRI("a:o"))))
    'A <a:s> <a:p> <a:o> .'
    """

    def __str__(self):
        return f"A {self.statement}"


@cython.final
@cython.no_gc
cdef class Delete(_Change):
    """Delete a statement (RDF Patch: D).

    Parameters
    ----------
    statement : Triple, Quad or sequence of terms
        The statement.

    Examples
    --------
    >>> from jelly import IRI
    >>> str(Delete((IRI("a:s"), IRI("a:p"), IRI("a:o"), IRI("a:g"))))
    'D <a:s> <a:p> <a:o> <a:g> .'
    """

    def __str__(self):
        return f"D {self.statement}"


@cython.no_gc
cdef class _Namespace(Operation):
    """An operation on a namespace declaration."""

    cdef readonly str name
    cdef readonly IRI iri
    cdef readonly object graph
    __match_args__ = ("name", "iri", "graph")

    cdef int hold(self, str name, IRI iri, object graph) except -1:
        self.name = name
        self.iri = iri
        self.graph = as_graph(graph)
        return 0

    cdef tuple values(self):
        return self.name, self.iri, self.graph

    cdef str in_graph(self):
        return "" if self.graph is None else f" {self.graph}"


@cython.final
@cython.no_gc
cdef class AddNamespace(_Namespace):
    """Declare a namespace (RDF Patch: PA).

    Parameters
    ----------
    name : str
        The prefix, without a colon.
    iri : IRI or str
        The IRI that it stands for.
    graph : IRI, BlankNode or Literal, optional
        The graph of the declaration. By default the default graph.

    Examples
    --------
    >>> str(AddNamespace("ex", "http://example.org/"))
    'PA "ex" <http://example.org/> .'
    """

    def __init__(self, str name not None, iri, graph=None):
        self.hold(name, as_iri(iri), graph)

    def __str__(self):
        return f"PA {quoted_name(self.name)} {self.iri}{self.in_graph()} ."


@cython.final
@cython.no_gc
cdef class DeleteNamespace(_Namespace):
    """Delete a namespace declaration (RDF Patch: PD).

    Parameters
    ----------
    name : str
        The prefix, without a colon.
    iri : IRI or str, optional
        The IRI that it stood for, if known.
    graph : IRI, BlankNode or Literal, optional
        The graph of the declaration. By default the default graph.

    Examples
    --------
    >>> str(DeleteNamespace("ex"))
    'PD "ex" .'
    """

    def __init__(self, str name not None, iri=None, graph=None):
        self.hold(name, None if iri is None else as_iri(iri), graph)

    def __str__(self):
        return f"PD {quoted_name(self.name)}{self.in_graph()} ."


@cython.final
@cython.no_gc
cdef class Header(Operation):
    """A header of a patch (RDF Patch: H).

    Parameters
    ----------
    key : str
        Name of the header, for example ``id`` or ``prev``.
    value : IRI, BlankNode, Literal or QuotedTriple
        Its value.

    Raises
    ------
    JellyArgumentError
        If the value is not a term.

    Examples
    --------
    >>> from jelly import IRI
    >>> str(Header("id", IRI("uuid:1")))
    'H id <uuid:1> .'
    """

    cdef readonly str key
    cdef readonly object value
    __match_args__ = ("key", "value")

    def __init__(self, str key not None, value):
        if type(value) not in (IRI, BlankNode, Literal, QuotedTriple):
            raise JellyArgumentError(f"the value of a header must be an RDF term, not {type(value).__name__}")
        self.key = key
        self.value = value

    cdef tuple values(self):
        return self.key, self.value

    def __str__(self):
        word = self.key and self.key[0] not in "\"'" and not any(c <= " " or c == "\x7f" for c in self.key)
        return f"H {self.key if word else quoted_name(self.key)} {self.value} ."


@cython.final
@cython.no_gc
cdef class Start(Operation):
    """Start a transaction (RDF Patch: TX)."""

    def __str__(self):
        return "TX ."


@cython.final
@cython.no_gc
cdef class Commit(Operation):
    """End a transaction; its operations take effect (RDF Patch: TC)."""

    def __str__(self):
        return "TC ."


@cython.final
@cython.no_gc
cdef class Abort(Operation):
    """End a transaction; its operations do not take effect (RDF Patch: TA)."""

    def __str__(self):
        return "TA ."


# ---- from a Batch

@cython.final
cdef class OperationIterator:
    """Operations one by one out of ``parts``: `Materializer` of the Batch of a patch, and the range of its rows.

    The end of a patch is not an operation and left out.
    """

    cdef object parts
    cdef Materializer terms
    cdef int64_t row
    cdef int64_t end
    cdef Claim claimed

    def __cinit__(self, parts):
        self.parts = iter(parts)

    def __iter__(self):
        return self

    def __next__(self):
        claim(&self.claimed, self)
        try:
            return self.next_operation()
        finally:
            give_back(&self.claimed)

    cdef object next_operation(self):
        cdef _Change change
        cdef int64_t row
        cdef int op
        while True:
            if self.row >= self.end:
                self.advance()
            row = self.row
            self.row = row + 1
            op = self.terms.batch.a.op[row]
            if op == OP_ADD or op == OP_DELETE:
                change = Add.__new__(Add) if op == OP_ADD else Delete.__new__(Delete)
                change.statement = self.terms.statement(row)
                return change
            if op != OP_PUNCTUATION:
                return other_operation(self.terms, row, op)

    cdef int advance(self) except -1:
        cdef Materializer terms
        cdef int64_t row = 0
        cdef int64_t end = 0
        while row >= end:
            terms, row, end = next(self.parts)
            need_statements(terms.batch)
            if terms.batch.a.op == NULL:
                raise JellyOptionsError("these are statements, no patch: they have no operations")
            if not 0 <= row <= end <= terms.batch.a.n_rows:
                raise IndexError(f"rows {row} to {end} are not within 0 to {terms.batch.a.n_rows}")
        self.terms, self.row, self.end = terms, row, end
        return 0


cdef object term_or_none(Materializer terms, int32_t term):
    return None if term == NO_TERM else terms.get(term)


cdef object other_operation(Materializer terms, int64_t row, int op):
    cdef BatchData* a = &terms.batch.a
    if op == OP_START:
        return Start()
    if op == OP_COMMIT:
        return Commit()
    if op == OP_ABORT:
        return Abort()
    name = terms.get(a.s[row])
    if op == OP_HEADER:
        return Header(name, terms.get(a.o[row]))
    kind = AddNamespace if op == OP_NAMESPACE_ADD else DeleteNamespace
    return kind(name, term_or_none(terms, a.p[row]), None if a.g == NULL else term_or_none(terms, a.g[row]))


# ---- into a Batch

cdef class OperationBatchBuilder(BatchBuilder):
    """Fills the Batch of a patch with operations, as a `BatchBuilder` does with statements (``arity`` 3 or 4)."""

    def __cinit__(self, int arity):
        self.make_patch()

    cdef int make_patch(self) except -1:
        if self.filled.a.op == NULL and add_operations(&self.filled.a) < 0:
            raise MemoryError
        return 0

    cdef int empty(self) except -1:
        BatchBuilder.empty(self)
        return self.make_patch()

    cdef int64_t add_item(self, object operation) except -1:
        cdef int64_t rows
        cdef type kind = type(operation)
        if kind is Add or kind is Delete:
            rows = BatchBuilder.add_item(self, (<_Change>operation).statement)
            self.filled.a.op[self.filled.a.n_rows - 1] = OP_ADD if kind is Add else OP_DELETE
            return rows
        if kind is Header:
            return self.add_named(OP_HEADER, operation.key, NO_TERM, self.find(operation.value), None)
        if kind is AddNamespace or kind is DeleteNamespace:
            op = OP_NAMESPACE_ADD if kind is AddNamespace else OP_NAMESPACE_DELETE
            iri = NO_TERM if operation.iri is None else self.find(operation.iri)
            return self.add_named(op, operation.name, iri, NO_TERM, operation.graph)
        if kind is Start:
            return self.add_operation(OP_START, NO_TERM, NO_TERM, NO_TERM, NO_TERM)
        if kind is Commit:
            return self.add_operation(OP_COMMIT, NO_TERM, NO_TERM, NO_TERM, NO_TERM)
        if kind is Abort:
            return self.add_operation(OP_ABORT, NO_TERM, NO_TERM, NO_TERM, NO_TERM)
        raise JellyArgumentError(f"expected an operation of a patch (Add, Delete, ...), got {kind.__name__}: {operation!r:.80}")

    cdef int64_t add_named(self, int op, str name, int32_t p, int32_t o, object graph) except -1:
        """A row with a name as its subject."""
        cdef int32_t g = NO_TERM if graph is None else self.find_graph(graph)
        cdef bytes text = utf8_of(name, "the name")
        cdef int32_t s = self.checked(
            add_term(&self.filled.a, KIND_TEXT, NO_TERM, <const uint8_t*><const char*>text, len(text))
        )
        return self.add_operation(op, s, p, o, g)

    cdef int64_t add_operation(self, int op, int32_t s, int32_t p, int32_t o, int32_t g) except -1:
        check_free(self.filled)
        self.checked(add_row(&self.filled.a, s, p, o, g))
        self.filled.a.op[self.filled.a.n_rows - 1] = <int8_t>op
        return self.filled.a.n_rows

    def end_patch(self) -> None:
        """End the patch here."""
        held = hold(&self.claimed, self)
        self.add_operation(OP_PUNCTUATION, NO_TERM, NO_TERM, NO_TERM, NO_TERM)
