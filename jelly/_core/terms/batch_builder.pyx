"""Python objects to Batches."""

cimport cython
from cpython.exc cimport PyErr_Clear
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.unicode cimport PyUnicode_Compare
from libc.stdint cimport uint8_t
from libc.string cimport memset

from jelly._core.algebra.message_blank_nodes cimport drop_tail
from jelly._core.base.batch cimport (
    NO_TERM, BatchData, add_frame, add_metadata, add_namespace, add_quoted, add_row, add_term as append_term,
    check_free, clear_arena, clear_interner, free_interner, grow_rows, init_interner, intern_term, make_results,
    new_batch,
)
from jelly._core.base.claim cimport claim, give_back, value_of
from jelly._core.base.constants cimport XSD_STRING
from jelly._core.base.fault cimport Fault, fail, fault_error, text_error, utf8_of
from jelly._core.base.kinds cimport (
    COMPOUND, KIND_ANY, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TEXT_LTR, KIND_TEXT_RTL,
    KIND_TYPED, KIND_VARIABLE, LITERALS, among,
)
from jelly._core.base.memory cimport prefetch
from jelly._core.base.objects cimport hold
from jelly._core.terms.model cimport (
    IRI, AnyTerm, BlankNode, DefaultGraph, Literal, QuotedTriple, Variable, of_library, split_language,
)
from jelly._core.terms.statements cimport Quad, Triple

from collections.abc import Mapping

from jelly.errors import JellyArgumentError, JellyFormatError, JellyOptionsError

_KINDS = {
    KIND_IRI: "the IRI", KIND_BNODE: "the label of a blank node", KIND_LITERAL: "the literal",
    KIND_LANG: "the literal", KIND_TYPED: "the literal", KIND_TEXT: "the language tag or name",
    KIND_TEXT_LTR: "the language tag", KIND_TEXT_RTL: "the language tag", KIND_VARIABLE: "the name of a variable",
}
_XSD_STRING = XSD_STRING.decode()
# By the package of a term, the module that writes it.
_WRITERS = {"rdflib": "jelly.rdflib", "pyoxigraph": "jelly.oxigraph"}

cdef extern from "Python.h":
    # Without the check of Cython, which would raise a UnicodeEncodeError that does not name the term.
    const char* utf8_or_null "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t* n) noexcept

cdef enum:
    # Number of statements taken from an iterator at a time.
    AHEAD = 16
    # Statements of a list that are taken together.
    MOST_AHEAD = 64
    # Number of objects remembered by address, a power of two, and the first such number: small messages need no more.
    RECENT = 1 << 10
    FIRST_RECENT = 1 << 7
    # More rows than any caller waits for.
    MAX_ROWS = 1 << 30


cdef class BatchBuilder:
    """Fills a Batch with statements: term objects are found by address first, then by value.

    It accepts terms of jelly and those of a `TermAdapter`.

    ``batch`` is the Batch being filled. While an array of it is in use, nothing can be added (BufferError), and
    ``clear()`` begins another Batch.
    """

    def __cinit__(self, int arity, int64_t rows=256, TermAdapter library=None, **_):
        if arity != 3 and arity != 4:
            raise JellyArgumentError("a statement has 3 or 4 terms")
        self.arity = arity
        self.library = library
        self.waiting = []
        self.recent_mask = FIRST_RECENT - 1
        self.recent = <RecentTerm*>PyMem_Calloc(FIRST_RECENT, sizeof(RecentTerm))
        if self.recent == NULL or init_interner(&self.index) < 0:
            raise MemoryError
        self.filled = new_batch(arity, rows, rows, 32 * rows, MAX_COLLECTED_TEXT)

    def __dealloc__(self):
        self.forget()
        PyMem_Free(self.recent)
        free_interner(&self.index)

    cdef void forget(self) noexcept:
        cdef RecentTerm* slot = self.recent
        cdef RecentTerm* end = slot + self.recent_mask + 1
        if slot == NULL:
            return
        while slot < end:
            if slot.term != NULL:
                Py_XDECREF(slot.term)
                slot.term = NULL
            slot += 1

    cdef void remember_more(self) noexcept:
        """Use all slots from so many terms on. Not while a term is added."""
        cdef RecentTerm* wide
        cdef uintptr_t i
        if self.recent_mask == RECENT - 1 or self.filled.a.n_terms <= FIRST_RECENT:
            return
        wide = <RecentTerm*>PyMem_Calloc(RECENT, sizeof(RecentTerm))
        if wide == NULL:  # slower, and as good
            return
        for i in range(self.recent_mask + 1):
            # What has one slot of few has one of many.
            if self.recent[i].term != NULL:
                wide[(<uintptr_t>self.recent[i].term >> 4) & (RECENT - 1)] = self.recent[i]
        PyMem_Free(self.recent)
        self.recent = wide
        self.recent_mask = RECENT - 1

    def __len__(self):
        with cython.critical_section(self):
            return self.filled.a.n_rows

    @property
    def batch(self):
        """The Batch being filled."""
        with cython.critical_section(self):
            return self.filled

    def lend(self, function) -> None:
        """Call a function with the Batch, then empty it. Until then nothing can be added, which could move its memory."""
        held = hold(&self.claimed, self)
        function(self.filled)
        self.empty()

    def drop_open_frame(self) -> None:
        """Take away what was added since the last end of a frame."""
        held = hold(&self.claimed, self)
        drop_tail(&self.filled.a)

    def clear(self) -> None:
        """Empty the Batch, or begin another one if arrays of it are in use."""
        held = hold(&self.claimed, self)
        self.empty()

    cdef int empty(self) except -1:
        cdef BatchData* a = &self.filled.a
        cdef Batch other
        if value_of(&self.filled.exports) > 0:
            other = new_batch(self.arity, a.n_rows + 8, a.n_terms + 8, a.n_text + 256, MAX_COLLECTED_TEXT)
            with cython.critical_section(self):
                self.filled = other
        clear_arena(&self.filled.a)
        clear_interner(&self.index)
        self.forget()
        self.graph = None
        return 0

    cdef int32_t checked(self, int32_t term) except -1:
        cdef Fault fault
        if term < 0:
            memset(&fault, 0, sizeof(Fault))
            fail(&fault, term, NULL, MAX_COLLECTED_TEXT)
            raise fault_error(&fault, {})
        return term

    cdef int32_t intern(self, int kind, int32_t aux, object text) except -1:
        cdef Py_ssize_t n
        cdef const char* utf8 = utf8_or_null(text, &n)
        if utf8 == NULL:
            PyErr_Clear()
            raise text_error(text, _KINDS[kind])
        if among(kind, LITERALS):  # few come again, and to look for them costs more than a second copy
            return self.checked(append_term(&self.filled.a, kind, aux, <const uint8_t*>utf8, n))
        return self.checked(intern_term(&self.index, &self.filled.a, kind, aux, <const uint8_t*>utf8, n))

    cdef int32_t add_term(self, object term) except -1:
        cdef type kind = type(term)
        cdef Literal literal
        cdef QuotedTriple quoted
        cdef int32_t s, p, o
        if kind is IRI:
            return self.intern(KIND_IRI, NO_TERM, (<IRI>term).value)
        if kind is Literal:
            literal = term
            if literal.language is not None:
                return self.intern(KIND_LANG, self.intern(KIND_TEXT + literal.base, NO_TERM, literal.language), literal.value)
            if literal.typed is not None:
                return self.intern(KIND_TYPED, self.find(literal.typed), literal.value)
            return self.intern(KIND_LITERAL, NO_TERM, literal.value)
        if kind is BlankNode:
            return self.intern(KIND_BNODE, NO_TERM, (<BlankNode>term).value)
        if kind is QuotedTriple:
            quoted = term
            s = self.find(quoted.s)
            p = self.find(quoted.p)
            o = self.find(quoted.o)
            return self.checked(add_quoted(&self.filled.a, s, p, o))
        if kind is Variable:
            return self.intern(KIND_VARIABLE, NO_TERM, (<Variable>term).value)
        if kind is AnyTerm:
            return self.intern(KIND_ANY, NO_TERM, "")
        if self.library is not None and (found := self.library.kind_of(term)) != 0:
            return self.add_foreign(term, found)
        if (made := of_library(term, False)) is not None:
            return self.find(made)
        module = _WRITERS.get(type(term).__module__.partition(".")[0])
        advice = "" if module is None else f"; use {module}.write"
        raise JellyArgumentError(
            f"expected an RDF term (IRI, BlankNode, Literal, QuotedTriple), got {type(term).__name__}: {term!r:.80}{advice}"
        )

    cdef int32_t add_foreign(self, object term, int kind) except -1:
        cdef int32_t aux, s, p, o
        if among(kind, COMPOUND):
            subject, predicate, object_ = term
            s = self.find(subject)
            p = self.find(predicate)
            o = self.find(object_)
            return self.checked(add_quoted(&self.filled.a, s, p, o))
        text = text_of(term)
        if kind != KIND_LITERAL:
            return self.intern(kind, NO_TERM, text)
        language = term.language
        if language is not None:
            return self.intern(KIND_LANG, self.foreign_tag(language, getattr(term, "direction", None)), text)
        datatype = term.datatype
        if datatype is None or PyUnicode_Compare(text_of(datatype), _XSD_STRING) == 0:
            return self.intern(KIND_LITERAL, NO_TERM, text)
        aux = self.find(datatype)
        return self.intern(KIND_TYPED, aux, text)

    cdef int32_t foreign_tag(self, object language, object direction) except -1:
        """The id of a language tag. A base direction is part of the tag or given separately."""
        if direction is not None and not isinstance(direction, str):
            direction = direction.value
        tag, base = split_language(language, direction)
        return self.intern(KIND_TEXT + <int>base, NO_TERM, tag)

    cdef int32_t find_graph(self, object g) except? -1:
        """The id of a graph's name; NO_TERM for the default graph."""
        cdef int32_t graph = self.name_of_graph(g)
        if graph != NO_TERM and self.arity == 3:
            raise JellyOptionsError(f"a quad in graph {g} cannot go into a stream of triples")
        return graph

    cdef int32_t name_of_graph(self, object g) except? -1:
        if type(g) is DefaultGraph:
            return NO_TERM
        if self.library is None or self.library.graph_name is None:
            if type(g) is not IRI and type(g) is not BlankNode and (made := of_library(g, True)) is not None:
                return NO_TERM if type(made) is DefaultGraph else self.find(made)
            return self.find(g)
        if g is not self.graph:
            name = self.library.graph_name(g)
            self.graph_term = NO_TERM if name is None else self.find(name)
            self.graph = g
        return self.graph_term

    cdef int64_t add_terms(self, object s, object p, object o, object g) except -1:
        """Append a row. Return the number of rows."""
        cdef int32_t[4] ids
        check_free(self.filled)
        ids[0] = self.find(s)
        ids[1] = self.find(p)
        ids[2] = self.find(o)
        ids[3] = NO_TERM if g is None else self.find_graph(g)
        self.checked(add_row(&self.filled.a, ids))
        return self.filled.a.n_rows if self.filled.a.n_text < ENOUGH_TEXT else MAX_ROWS

    cpdef int64_t add(self, object item) except -1:
        """Append a statement: a Triple, a Quad, or three or four terms. Return the number of rows.

        A Batch with much text counts as one of `MAX_ROWS` rows, so that every caller takes it as full.
        """
        claim(&self.claimed, self)
        try:
            self.remember_more()
            return self.add_item(item)
        finally:
            give_back(&self.claimed)

    cdef int64_t add_item(self, object statement) except -1:
        if type(statement) is Triple:
            return self.add_terms((<Triple>statement).s, (<Triple>statement).p, (<Triple>statement).o, None)
        if type(statement) is Quad:
            return self.add_terms(
                (<Quad>statement).s, (<Quad>statement).p, (<Quad>statement).o, (<Quad>statement).g
            )
        terms = statement
        if type(terms) is not tuple:
            if isinstance(statement, Batch):  # its statements would be mistaken for terms
                raise JellyArgumentError("expected a statement (Triple, Quad or 3 or 4 terms), got Batch: use add_batch")
            terms = as_terms(statement)
        if len(<tuple>terms) == 3:
            return self.add_terms((<tuple>terms)[0], (<tuple>terms)[1], (<tuple>terms)[2], None)
        if len(<tuple>terms) == 4:
            return self.add_terms((<tuple>terms)[0], (<tuple>terms)[1], (<tuple>terms)[2], (<tuple>terms)[3])
        raise JellyFormatError(f"a statement has 3 or 4 terms, not {len(<tuple>terms)}")

    def extend(self, statements, int64_t rows) -> bool:
        """Append from an iterator until the Batch has a number of rows (True) or the iterator ends (False). Of a short list
        all are taken at once: where it is True, go on with an empty iterator.

        Objects in random order are spread over memory. Several statements are taken at a time, so that their terms and
        texts are prefetched before they are needed.
        """
        cdef bint more = True
        if type(statements) is list and len(<list>statements) <= MOST_AHEAD:
            self.waiting += <list>statements
            more = False
        while True:
            if self.fill(rows):
                return True
            if not more:
                return False
            try:
                for statement in statements:
                    self.waiting.append(statement)
                    if len(self.waiting) == AHEAD:
                        break
                else:
                    more = False
            except BaseException:
                # Statements before an error of the iterator are kept.
                self.fill(MAX_ROWS)
                raise

    cdef bint fill(self, int64_t rows) except -1:
        claim(&self.claimed, self)
        try:
            return self.add_waiting(rows)
        finally:
            give_back(&self.claimed)

    def extend_frames(self, list groups not None, Py_ssize_t start, type kind, Py_ssize_t longest, int64_t rows) -> int:
        """Append lists of statements from ``groups[start]`` on, each as a frame, until the Batch has a number of rows.

        It stops before a list that is empty, longer than ``longest`` or begins with another class than ``kind``, and
        before what is no list. Return the number of the list after the last one.
        """
        held = hold(&self.claimed, self)
        cdef Py_ssize_t n = start
        cdef list group
        while n < len(groups) and type(groups[n]) is list:
            group = <list>groups[n]
            if not 0 < len(group) <= longest or type(group[0]) is not kind:
                break
            fetch_terms(group)
            fetch_texts(group)
            self.remember_more()
            for statement in group:
                self.add_item(statement)
            self.checked(add_frame(&self.filled.a))
            n += 1
            if self.filled.a.n_rows >= rows or self.filled.a.n_text >= ENOUGH_TEXT:
                break
        return n

    cdef bint add_waiting(self, int64_t rows) except -1:
        """Append the statements taken ahead; True if the Batch is full before the last of them."""
        cdef list block = self.waiting
        cdef int n = 0
        self.remember_more()
        fetch_terms(block)
        fetch_texts(block)
        try:
            for statement in block:
                n += 1
                if self.add_item(statement) >= rows:
                    return True
            return False
        except BaseException:
            n = len(block)
            raise
        finally:
            del block[:n]

    def namespace(self, name, iri) -> None:
        """Declare a namespace at this point of the stream."""
        cdef int32_t text, value
        held = hold(&self.claimed, self)
        check_free(self.filled)
        text = self.intern(KIND_TEXT, NO_TERM, name)
        value = self.intern(KIND_IRI, NO_TERM, iri)
        self.checked(add_namespace(&self.filled.a, text, value))

    def end_frame(self, metadata=None) -> None:
        """End a frame here. ``metadata`` maps str to bytes."""
        held = hold(&self.claimed, self)
        cdef bytes key, value
        check_free(self.filled)
        if metadata:
            for name, data in metadata.items():
                key = utf8_of(name, "the key of metadata")
                value = bytes(data)
                self.checked(add_metadata(
                    &self.filled.a, <const uint8_t*><const char*>key, len(key),
                    <const uint8_t*><const char*>value, len(value),
                ))
        self.checked(add_frame(&self.filled.a))


cdef class ResultBatchBuilder:
    """Fills one Batch of query results with rows: terms in the order of the variables, None where one is unbound, or
    mappings from variables to terms.

    >>> from jelly import Literal
    >>> builder = ResultBatchBuilder(("x", "y"))
    >>> builder.extend(iter([(Literal("a"), None), {"y": Literal("b")}]), 10)
    False
    >>> builder.batch.cells.tolist()
    [[0, -1], [-1, 1]]
    """

    cdef BatchBuilder terms
    cdef readonly Batch batch
    cdef Claim claimed

    def __cinit__(self, tuple variables not None, int64_t first_row=0):
        self.terms = BatchBuilder(3)
        self.batch = self.terms.filled
        self.batch.first_row = first_row
        make_results(self.batch, variables, 16)

    def extend(self, rows, int64_t n) -> bool:
        """Append from an iterator until there are `n` rows or much text (True), or it ends (False).

        What comes before an error of the iterator counts. ValueError where a row does not fit the variables.
        """
        for row in rows:
            claim(&self.claimed, self)
            try:
                self.add(row)
                if self.batch.a.n_rows >= n or self.batch.a.n_text >= ENOUGH_TEXT:
                    return True
            finally:
                give_back(&self.claimed)
        return False

    cdef int add(self, object row) except -1:
        cdef BatchData* a = &self.batch.a
        cdef int64_t i
        cdef int32_t id
        if type(row) is not list and type(row) is not tuple and isinstance(row, Mapping):
            row = self.in_order(row)
        cdef tuple found
        try:
            found = row if type(row) is tuple else tuple(row)
        except TypeError:
            raise JellyArgumentError(f"expected a row of terms or a dict of them, got {type(row).__name__}") from None
        if len(found) != a.width:
            raise JellyArgumentError(f"a row has {len(found)} terms where there are {a.width} variables")
        check_free(self.batch)
        if a.n_rows >= a.cap_rows and grow_rows(a) < 0:
            raise MemoryError
        for i in range(a.width):
            term = found[i]
            id = NO_TERM if term is None else self.terms.find(term)
            a.cells[a.n_rows * a.width + i] = id
        a.n_rows += 1
        return 0

    cdef list in_order(self, object row):
        cdef tuple variables = self.batch.variables
        if unknown := set(row) - set(variables):
            raise JellyArgumentError(f"{min(map(str, unknown))!r} is none of the variables {', '.join(variables)}")
        return [row.get(name) for name in variables]


cdef inline object text_of(object term):
    """The text of a library's term."""
    return term if isinstance(term, str) else term.value


cdef void fetch_terms(list block):
    for statement in block:
        if type(statement) is Triple:
            prefetch(<void*>(<Triple>statement).s)
            prefetch(<void*>(<Triple>statement).p)
            prefetch(<void*>(<Triple>statement).o)
        elif type(statement) is Quad:
            prefetch(<void*>(<Quad>statement).s)
            prefetch(<void*>(<Quad>statement).p)
            prefetch(<void*>(<Quad>statement).o)
            prefetch(<void*>(<Quad>statement).g)


cdef inline void fetch_text(object term):
    cdef void* text
    if type(term) is IRI:
        text = <void*>(<IRI>term).value
        # Its head fills most of the first cache line.
        prefetch(text)
        prefetch(text + 64)
    elif type(term) is Literal:
        prefetch(<void*>(<Literal>term).value)
    elif type(term) is BlankNode:
        prefetch(<void*>(<BlankNode>term).value)


cdef void fetch_texts(list block):
    for statement in block:
        if type(statement) is Triple:
            fetch_text((<Triple>statement).s)
            fetch_text((<Triple>statement).o)
        elif type(statement) is Quad:
            fetch_text((<Quad>statement).s)
            fetch_text((<Quad>statement).o)
            fetch_text((<Quad>statement).g)


cdef tuple as_terms(object statement):
    try:
        return tuple(statement)
    except TypeError:
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got {type(statement).__name__}") from None


# Test hooks, also for batch.

def _make_batch(int arity, terms=(), rows=(), quoted=(), frames=(), namespaces=(), variables=None):
    """A Batch of what is given, right or wrong: terms are (kind, aux, bytes), the rest are term ids and rows. With
    ``variables`` it is one of query results."""
    cdef Batch batch = new_batch(arity, 0, 0, 0, 1 << 20)
    cdef bytes text
    cdef int32_t[4] ids
    if variables is not None:
        make_results(batch, variables, len(rows))
        for i, id in enumerate(id for row in rows for id in row):
            batch.a.cells[i] = id
        batch.a.n_rows = len(rows)
        rows = ()
    for kind, aux, text in terms:
        append_term(&batch.a, kind, aux, <const uint8_t*><const char*>text, len(text))
    for row in rows:
        for slot, id in enumerate((*row, NO_TERM)[:4]):
            ids[slot] = id
        add_row(&batch.a, ids)
    for s, p, o in quoted:
        add_quoted(&batch.a, s, p, o)
        batch.a.n_terms -= 1  # the terms given have their own
    for end in frames:
        add_frame(&batch.a)
        batch.a.frames[batch.a.n_frames - 1] = end
    for name, iri in namespaces:
        add_namespace(&batch.a, name, iri)
    return batch


cdef class _Interner:
    """An interner with its own Batch."""

    cdef readonly Batch batch
    cdef Interner index

    def __cinit__(self, int64_t text_limit=1 << 28):
        if init_interner(&self.index) < 0:
            raise MemoryError
        self.batch = new_batch(3, 0, 0, 0, text_limit)

    def __dealloc__(self):
        free_interner(&self.index)

    def intern(self, int kind, int32_t aux, bytes text):
        return intern_term(&self.index, &self.batch.a, kind, aux, <const uint8_t*><const char*>text, len(text))
