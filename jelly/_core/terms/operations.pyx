"""The operations of a patch as small immutable Python objects, made from Batches and collected into them."""

cimport cython
from cpython.object cimport Py_EQ, Py_NE
from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport NO_TERM, add_operations, add_row, add_term, check_free, load_row, need_statements
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.fault cimport utf8_of
from jelly._core.base.kinds cimport KIND_TEXT
from jelly._core.base.objects cimport hold
from jelly._core.rules.patch_operations cimport (
    OP_ABORT, OP_ADD, OP_COMMIT, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
    word_of,
)
from jelly._core.terms.batch_builder cimport BatchBuilder, as_terms
from jelly._core.terms.materialize cimport Materializer
from jelly._core.terms.model cimport IRI, BlankNode, DefaultGraph, Literal, QuotedTriple
from jelly._core.terms.statements cimport Quad, Triple

from jelly.errors import JellyArgumentError, JellyOptionsError


cdef object as_statement(object x):
    if type(x) in (Triple, Quad):
        return x
    terms = as_terms(x)
    if len(terms) not in (3, 4):
        raise JellyArgumentError(f"a statement has 3 or 4 terms, not {len(terms)}")
    return Triple(*terms) if len(terms) == 3 else Quad(*terms)


cdef object as_iri(object x):
    return x if type(x) is IRI else IRI(x)


cdef object as_graph(object x):
    if x is None or type(x) is DefaultGraph:
        return None
    if type(x) not in (IRI, BlankNode, Literal):
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

    __match_args__ = ()

    cdef tuple values(self):
        return tuple([getattr(self, name) for name in self.__match_args__])

    cdef str rest(self):
        """The line of RDF Patch after its first word."""
        return "."

    def __str__(self):
        if type(self) not in _CODES:  # the base of all
            return repr(self)
        return f"{word_of(_CODES[type(self)]).decode()} {self.rest()}"

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

    cdef str rest(self):
        return str(self.statement)


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


@cython.no_gc
cdef class _Namespace(Operation):
    """An operation on a namespace declaration."""

    cdef readonly str name
    cdef readonly IRI iri
    cdef readonly object graph
    __match_args__ = ("name", "iri", "graph")

    def __init__(self, str name not None, iri=None, graph=None):
        self.name = name
        self.iri = None if iri is None else as_iri(iri)
        self.graph = as_graph(graph)

    cdef str rest(self):
        said = [quoted_name(self.name), self.iri if type(self) is AddNamespace else None, self.graph, "."]
        return " ".join([str(part) for part in said if part is not None])


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
        _Namespace.__init__(self, name, as_iri(iri), graph)


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

    cdef str rest(self):
        word = self.key and self.key[0] not in "\"'" and not any(c <= " " or c == "\x7f" for c in self.key)
        return f"{self.key if word else quoted_name(self.key)} {self.value} ."


@cython.final
@cython.no_gc
cdef class Start(Operation):
    """Start a transaction (RDF Patch: TX)."""


@cython.final
@cython.no_gc
cdef class Commit(Operation):
    """End a transaction; its operations take effect (RDF Patch: TC)."""


@cython.final
@cython.no_gc
cdef class Abort(Operation):
    """End a transaction; its operations do not take effect (RDF Patch: TA)."""


_CODES = {
    Add: OP_ADD, Delete: OP_DELETE, AddNamespace: OP_NAMESPACE_ADD, DeleteNamespace: OP_NAMESPACE_DELETE,
    Header: OP_HEADER, Start: OP_START, Commit: OP_COMMIT, Abort: OP_ABORT,
}
_CLASSES = {code: kind for kind, code in _CODES.items()}


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


cdef object other_operation(Materializer terms, int64_t row, int op):
    """The operation of a row that has no statement, of the terms in its columns."""
    cdef int32_t[4] ids
    load_row(&terms.batch.a, row, ids)
    kind = _CLASSES[op]
    if ids[0] == NO_TERM:
        return kind()
    name, iri, value, graph = [None if ids[slot] == NO_TERM else terms.get(ids[slot]) for slot in range(4)]
    return Header(name, value) if kind is Header else kind(name, iri, graph)


# ---- into a Batch

cdef class OperationBatchBuilder(BatchBuilder):
    """Fills the Batch of a patch with operations, as a `BatchBuilder` does with statements (``arity`` 3 or 4)."""

    def __cinit__(self, int arity):
        self.empty()

    cdef int empty(self) except -1:
        BatchBuilder.empty(self)
        if add_operations(&self.filled.a) < 0:
            raise MemoryError
        return 0

    cdef int64_t add_item(self, object operation) except -1:
        cdef int64_t rows
        cdef type kind = type(operation)
        if kind is Add or kind is Delete:
            rows = BatchBuilder.add_item(self, (<_Change>operation).statement)
            self.filled.a.op[self.filled.a.n_rows - 1] = OP_ADD if kind is Add else OP_DELETE
            return rows
        code = _CODES.get(kind)
        if code is None:
            raise JellyArgumentError(
                f"expected an operation of a patch (Add, Delete, ...), got {kind.__name__}: {operation!r:.80}"
            )
        if kind is Header:
            return self.add_operation(code, operation.key, None, operation.value)
        if isinstance(operation, _Namespace):
            return self.add_operation(code, operation.name, operation.iri, None, operation.graph)
        return self.add_operation(code)

    cdef int64_t add_operation(self, int op, str name=None, object iri=None, object value=None, object graph=None) except -1:
        """A row without a statement."""
        cdef bytes text
        cdef int32_t[4] ids
        check_free(self.filled)
        ids[0] = NO_TERM
        ids[1] = NO_TERM if iri is None else self.find(iri)
        ids[2] = NO_TERM if value is None else self.find(value)
        ids[3] = NO_TERM if graph is None else self.find_graph(graph)
        if name is not None:
            text = utf8_of(name, "the name")
            ids[0] = self.checked(
                add_term(&self.filled.a, KIND_TEXT, NO_TERM, <const uint8_t*><const char*>text, len(text))
            )
        self.checked(add_row(&self.filled.a, ids, op))
        return self.filled.a.n_rows

    def end_patch(self) -> None:
        """End the patch here."""
        held = hold(&self.claimed, self)
        self.add_operation(OP_PUNCTUATION)
