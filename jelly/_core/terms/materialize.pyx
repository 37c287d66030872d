"""Batches to Python objects. Only this module creates objects in a loop."""

cimport cython
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from jelly._core.base.batch cimport (
    NO_TERM, UNSET, BatchData, len_direction, len_of, load_row, need_statements, new_batch, text_of,
)
from jelly._core.base.batch_concat cimport copy_term
from jelly._core.base.claim cimport Claim, claim, give_back, keep_made, load_made
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.kinds cimport (
    COMPOUND, KIND_ANY, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_TEXT, KIND_TEXT_LTR, KIND_TRIPLE, KIND_TYPED,
    KIND_VARIABLE, LITERALS, NODES, TERMS, TEXTS, TRIPLES, among, plain_kinds, row_of_kind,
)
from jelly._core.base.objects cimport fields_of, hold
from jelly._core.base.push_reader cimport PushReader
from jelly._core.terms.model cimport IRI, BlankNode, Literal, QuotedTriple, Variable
from jelly._core.terms.statements cimport Quad, Triple
from jelly._core.terms.term_adapter cimport check_rows, make_str, refuse_patch

from jelly._core.terms.model import ANY
from jelly.errors import JellyOptionsError, JellyUnsupportedError

cdef extern from *:
    """
    #define jelly_new(kind) ((PyObject *)PyObject_New(PyObject, (PyTypeObject *)(kind)))
    #ifdef Py_GIL_DISABLED
    #define jelly_is_free(x) 0
    #define jelly_is_kept(x) 0
    #else
    #define jelly_is_kept(x) ((x) != NULL && Py_REFCNT(x) > 1)
    #define jelly_is_free(x) ((x) != NULL && Py_REFCNT(x) == 1)
    #endif
    #define jelly_owned(x) (x)
    """
    # An object whose fields are not set: what is to go into them is made first.
    object new_object "jelly_new"(type kind)
    # Whether nobody else has an object.
    bint is_free "jelly_is_free"(PyObject* x) noexcept
    # Whether somebody else has it. Without the GIL nobody knows either.
    bint is_kept "jelly_is_kept"(PyObject* x) noexcept
    # The object of a reference that is given away.
    object owned "jelly_owned"(PyObject* x)

cdef enum:
    # Terms of a class that are kept.
    SPARE = 8192


@cython.final
cdef class Spare:
    """Terms of Batches that nobody has, without their fields: those of the next Batch are made of them."""

    def __cinit__(self):
        self.terms = <PyObject**>PyMem_Malloc(3 * SPARE * sizeof(PyObject*))
        if self.terms == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int place
        cdef Py_ssize_t i
        if self.terms != NULL:
            for place in range(3):
                for i in range(self.n[place]):
                    Py_XDECREF(self.terms[place * SPARE + i])
            PyMem_Free(self.terms)

    cdef inline object take(self, int place, type kind):
        if self.n[place] == 0:
            return new_object(kind)
        self.n[place] -= 1
        return owned(self.terms[place * SPARE + self.n[place]])

    cdef inline void keep(self, PyObject* x) noexcept:
        """Take a term from its owner, if there is room."""
        cdef type kind = type(<object>x)
        cdef int place = 0 if kind is IRI else 1 if kind is BlankNode else 2
        cdef PyObject** field = fields_of(<object>x)
        cdef int i
        if (place == 2 and kind is not Literal) or self.n[place] == SPARE:
            Py_XDECREF(x)
            return
        for i in range(3 if place == 2 else 1):
            Py_XDECREF(field[i])
            field[i] = NULL
        self.terms[place * SPARE + self.n[place]] = x
        self.n[place] += 1


cdef inline void set_field(object x, int i, PyObject* value, bint again=False) noexcept:
    """Set a field by its place in the class: of a new object, or again."""
    cdef PyObject** field = fields_of(x) + i
    cdef PyObject* old = field[0] if again else NULL
    Py_INCREF(<object>value)
    field[0] = value
    Py_XDECREF(old)


@cython.final
cdef class Materializer:
    """The terms of one Batch as objects of `jelly` or of a `TermAdapter`. Each is made once, when first asked for.

    Several threads may use one: what two of them make at once is kept once.
    """

    def __cinit__(self, Batch batch not None, TermAdapter library=None):
        self.batch = batch
        self.library = library
        self.graph_term = UNSET
        self.default = DefaultGraph()
        self.n = batch.a.n_terms
        self.made = <PyObject**>PyMem_Calloc(self.n + 1, sizeof(PyObject*))
        if self.made == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int32_t i
        if self.made != NULL:
            if self.spare is not None:
                for i in range(self.n):
                    if is_free(self.made[i]):
                        self.spare.keep(self.made[i])
                        self.made[i] = NULL
            for i in range(self.n):
                Py_XDECREF(self.made[i])
            PyMem_Free(self.made)

    cdef inline object get(self, int32_t term):
        return <object>self.find(term)

    cdef inline PyObject* find(self, int32_t term) except NULL:
        """The object for a term, borrowed: it stays in the table."""
        cdef PyObject* found = <PyObject*>load_made(<void**>&self.made[term])
        return found if found != NULL else self.make(term)

    cdef PyObject* keep(self, int32_t term, object new) noexcept:
        """The object for a term from now on: this one, if no other thread was first."""
        if keep_made(<void**>&self.made[term], <void*>new):
            Py_INCREF(new)
        return <PyObject*>load_made(<void**>&self.made[term])

    cdef str text(self, int32_t term):
        cdef BatchData* a = &self.batch.a
        return make_str(text_of(a, term), len_of(a, term))

    cdef PyObject* make(self, int32_t term) except NULL:
        cdef BatchData* a = &self.batch.a
        cdef int kind = a.kind[term]
        cdef int32_t aux = a.aux[term]
        cdef object new, text
        if self.library is not None or among(kind, COMPOUND | TEXTS | 1 << KIND_ANY):
            new = self.make_other(kind, term)
        else:
            text = self.text(term)
            if kind == KIND_IRI:
                new = new_object(IRI) if self.spare is None else self.spare.take(0, IRI)
            elif kind == KIND_BNODE:
                new = new_object(BlankNode) if self.spare is None else self.spare.take(1, BlankNode)
            elif kind == KIND_VARIABLE:
                new = new_object(Variable)
            elif not among(kind, LITERALS):
                raise no_class("jelly", kind)
            else:
                more = self.get(aux) if aux >= 0 else None
                new = new_object(Literal) if self.spare is None else self.spare.take(2, Literal)
                set_field(new, 1, <PyObject*>(more if kind == KIND_LANG else None))
                set_field(new, 2, <PyObject*>(more if kind == KIND_TYPED else None))
                (<Literal>new).base = a.kind[aux] - KIND_TEXT if kind == KIND_LANG else 0
            set_field(new, 0, <PyObject*>text)
        return self.keep(term, new)

    cdef object make_other(self, int kind, int32_t term):
        """The object of another library, or for a term of three others, a text or ANY."""
        cdef QuotedTriple made
        cdef const int32_t* parts
        if not among(kind, COMPOUND):
            if self.library is not None:
                return self.make_text(term, False)
            return ANY if kind == KIND_ANY else self.text(term)
        if kind != KIND_TRIPLE:
            raise no_class("jelly" if self.library is None else self.library.name, kind)
        parts = self.batch.a.quoted + 3 * <int64_t>self.batch.a.aux[term]
        s, p, o = self.get(parts[0]), self.get(parts[1]), self.get(parts[2])
        if self.library is not None:
            return self.library.make_quoted(s, p, o)
        made = QuotedTriple.__new__(QuotedTriple)
        made.hold(s, p, o)
        return made

    cdef object make_text(self, int32_t term, bint remember):
        cdef BatchData* a = &self.batch.a
        cdef int32_t aux = a.aux[term]
        cdef PyObject* made
        cdef object found = None
        if aux >= 0:
            made = <PyObject*>load_made(<void**>&self.made[aux])
            found = <object>(self.keep(aux, self.make_text(aux, True)) if made == NULL else made)
        return self.library.make(
            a.kind[term], found, text_of(a, term), len_of(a, term), remember
        )

    cdef object foreign(self, int64_t row):
        """The statement of a row as an object of the library."""
        cdef BatchData* a = &self.batch.a
        cdef TermAdapter library = self.library
        cdef int32_t[4] ids
        load_row(a, row, ids)
        if a.kind[ids[1]] != KIND_IRI or not among(a.kind[ids[0]], plain_kinds(0, TRIPLES)) or (
            ids[3] >= 0 and not among(a.kind[ids[3]], NODES)
        ):
            self.refuse_generalized(row, ids)
        s, p, o = self.get(ids[0]), self.get(ids[1]), self.get(ids[2])
        if a.g == NULL and not library.quads:
            return (s, p, o) if library.triple is None else library.triple(s, p, o)
        g = self.find_graph(ids[3])
        return (s, p, o, g) if library.quad is None else library.quad(s, p, o, g)

    cdef inline object find_graph(self, int32_t graph):
        """The object of the library for a graph, often that of the row before."""
        cdef object _old
        with cython.critical_section(self):
            if graph == self.graph_term:
                return self.graph
        cdef object place = self.library.graph(None if graph == NO_TERM else self.get(graph))
        with cython.critical_section(self):
            _old = self.graph  # it goes when both fields are set
            self.graph = place
            self.graph_term = graph
        return place

    cdef int refuse_generalized(self, int64_t row, const int32_t* ids) except -1:
        """The library may have variables, and these in every place, but else no generalized statements."""
        cdef BatchData* a = &self.batch.a
        cdef int slot
        cdef bint refused = False
        for slot in range(4):
            if ids[slot] >= 0 and not among(a.kind[ids[slot]], plain_kinds(slot, TRIPLES)):
                if among(a.kind[ids[slot]], TERMS):
                    refused = True
                else:
                    self.get(ids[slot])
        if refused:
            raise JellyUnsupportedError(
                f"{self.library.name} has no generalized statements, such as number {self.batch.first_row + row}, from 0"
            )
        return 0

    cdef inline object statement(self, int64_t row):
        return self.foreign(row) if self.library is not None else self.fill(row, NULL)

    cdef inline object fill(self, int64_t row, PyObject* old):
        """The statement of a row: a new one, or `old`, which nobody else has, filled again."""
        cdef BatchData* a = &self.batch.a
        cdef PyObject* s = self.find(a.s[row])
        cdef PyObject* p = self.find(a.p[row])
        cdef PyObject* o = self.find(a.o[row])
        cdef PyObject* g = <PyObject*>self.default
        cdef object x
        if a.g != NULL and a.g[row] != NO_TERM:
            g = self.find(a.g[row])
        if old != NULL:
            x = <object>old
        elif a.g == NULL:
            x = new_object(Triple)
        else:
            x = new_object(Quad)
        set_field(x, 0, s, old != NULL)
        set_field(x, 1, p, old != NULL)
        set_field(x, 2, o, old != NULL)
        if a.g != NULL:
            set_field(x, 3, g, old != NULL)
        return x

    def term(self, int32_t term):
        """The object for a term id; IndexError if there is no such term."""
        if term < 0 or term >= self.n:
            raise IndexError(f"no term {term}: the Batch has {self.n}")
        return self.get(term)

    def statements(self, int64_t start=0, stop=None) -> list:
        """The statements of rows ``start`` to ``stop`` as Triples or Quads, or as objects of the library."""
        cdef int64_t end = self.batch.a.n_rows if stop is None else stop
        cdef int64_t row
        check_rows(self.batch, start, end)
        if self.library is not None:  # which runs Python: it must not see a list that is not full
            return [self.foreign(row) for row in range(start, end)]
        cdef list found = PyList_New(end - start)
        for row in range(start, end):
            statement = self.fill(row, NULL)
            Py_INCREF(statement)
            PyList_SET_ITEM(found, row - start, statement)
        return found

    cdef inline tuple solution(self, int64_t row):
        cdef const int32_t* cells = &self.batch.a.cells[row * self.batch.a.width]
        cdef Py_ssize_t width = self.batch.a.width
        cdef tuple found = PyTuple_New(width)
        cdef Py_ssize_t i
        for i in range(width):
            term = None if cells[i] < 0 else self.get(cells[i])
            Py_INCREF(term)
            PyTuple_SET_ITEM(found, i, term)
        return found


cdef class RowIterator:
    """Base of iterators over the rows of an iterator of Batches. Rows of a Batch share term objects.

    ``fit`` is called once, after the first Batch, with whether its objects are kept: then what larger Batches share need not be
    kept twice, and else smaller ones stay in the caches.
    """

    cdef object batches
    cdef object fit  # None: it was called
    cdef TermAdapter library
    cdef Materializer terms
    cdef Spare spare  # from the second Batch on
    cdef int64_t row
    cdef int64_t n
    cdef Claim claimed

    def __iter__(self):
        return self

    cdef int need(self, Batch batch) except -1:
        """Refuse a Batch of other contents."""
        raise NotImplementedError

    cdef bint keeps(self) except -1:
        """Whether the object of the row before the last, which a loop has let go of, is kept."""
        raise NotImplementedError

    cdef int advance(self) except -1:
        cdef Batch batch
        cdef Materializer last = self.terms
        if last is not None:
            last.batch = None  # its memory is for the next one
            if self.fit is not None:
                self.fit(self.keeps())
                self.fit = None
        self.n = self.row = 0
        self.terms = None
        while True:
            batch = next(self.batches)
            self.need(batch)
            if batch.a.n_rows > 0:
                break
        if last is not None and self.library is None:
            if self.spare is None:
                self.spare = Spare()
            last.spare = self.spare
        last = None
        self.terms = Materializer(batch, self.library)
        self.terms.spare = self.spare
        self.n = batch.a.n_rows
        return 0


@cython.final
cdef class StatementIterator(RowIterator):
    """Iterates over the statements of an iterator of Batches."""

    cdef PyObject* given[2]  # the last statements, owned: a loop has let go of the one before the last
    cdef readonly object options  # of the stream of the last statement, or None
    cdef readonly frozenset quoted  # versions of the Jelly streams in which there were quoted triples

    def __cinit__(self, batches, TermAdapter library=None, fit=None):
        self.quoted = frozenset()
        self.fit = fit
        self.batches = iter(batches)
        self.library = library

    def __dealloc__(self):
        Py_XDECREF(self.given[0])
        Py_XDECREF(self.given[1])

    def __repr__(self):
        return "<statements of jelly.read, to be iterated over once>"

    def __next__(self):
        cdef int64_t row
        claim(&self.claimed, self)
        try:
            row = self.row
            if row >= self.n:
                self.advance()
                row = 0
            self.row = row + 1
            return self.give(row)
        finally:
            give_back(&self.claimed)

    cdef inline object give(self, int64_t row):
        cdef PyObject** last = &self.given[row & 1]
        cdef object made
        if self.library is not None:
            return self.terms.foreign(row)
        if is_free(last[0]) and (type(<object>last[0]) is Quad) == (self.terms.batch.a.g != NULL):
            return self.terms.fill(row, last[0])
        made = self.terms.fill(row, NULL)
        Py_XDECREF(last[0])
        Py_INCREF(made)
        last[0] = <PyObject*>made
        return made

    cdef bint keeps(self) except -1:
        return is_kept(self.given[self.n & 1])

    cdef int need(self, Batch batch) except -1:
        need_statements(batch)
        return refuse_patch(batch) if batch.a.n_rows > 0 else 0

    cdef int advance(self) except -1:
        cdef Batch batch
        RowIterator.advance(self)
        batch = self.terms.batch
        self.options = batch.options
        if batch.a.n_quoted > 0 and self.options is not None:
            self.quoted |= {self.options.version}
        return 0

    def close(self):
        """Close the source, if it can be closed."""
        held = hold(&self.claimed, self)
        self.n = self.row = 0
        self.terms = None
        close = getattr(self.batches, "close", None)
        if close is not None:
            close()


@cython.final
cdef class SolutionIterator(RowIterator):
    """Iterates over the rows of Batches of query results: a tuple each, with None where a variable is unbound."""

    cdef tuple sample  # the row before the last of a Batch

    def __cinit__(self, batches, fit=None):
        self.batches = iter(batches)
        self.fit = fit

    def __next__(self):
        cdef int64_t row
        claim(&self.claimed, self)
        try:
            row = self.row
            if row >= self.n:
                self.advance()
                row = 0
            self.row = row + 1
            return self.give(row)
        finally:
            give_back(&self.claimed)

    cdef inline object give(self, int64_t row):
        found = self.terms.solution(row)
        if row == self.n - 2 and self.fit is not None:
            self.sample = found
        return found

    cdef bint keeps(self) except -1:
        sample, self.sample = self.sample, None
        return sample is not None and is_kept(<PyObject*>sample)

    cdef int need(self, Batch batch) except -1:
        if batch.variables is None:
            raise JellyOptionsError("these are statements, not query results")
        return 0


cdef object no_class(str name, int kind):
    return JellyUnsupportedError(f"{name} has no class for a {row_of_kind(kind).noun.decode()}")


def read_whole(PushReader reader not None, data) -> list:
    """The statements of a whole input, as terms of jelly: in one call, as small messages are common."""
    cdef list found = []
    cdef Batch batch
    claim(&reader.claimed, reader)
    try:
        reader.begin_chunk(data)
        reader.final = True
        while True:
            batch = reader.pull_claimed(True)
            if batch is None:
                return found
            statements = Materializer(batch).statements()
            if found:
                found += statements
            else:
                found = statements
            reader.spare = batch
    finally:
        give_back(&reader.claimed)


def text_of_term(Batch batch not None, int32_t term) -> str:
    """A term in N-Triples syntax, for `Batch.term`; a text that is no term as it is. IndexError if there is none."""
    # Alone, as a Materializer has a table of all terms.
    cdef Batch alone = new_batch(3, 1, 4, 64, NO_LIMIT)
    cdef int kind
    if not 0 <= term < batch.a.n_terms:
        raise IndexError(f"no term {term}: the Batch has {batch.a.n_terms}")
    kind = batch.a.kind[term]
    term = copy_term(&batch.a, term, &alone.a)
    if term < 0:
        raise MemoryError
    text = str(Materializer(alone).get(term))
    # A language tag has the base direction with it.
    return text + ("--ltr" if kind == KIND_TEXT_LTR else "--rtl") if len_direction(kind) else text
