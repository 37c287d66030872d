"""Terms and quads of another library's parser to Batches."""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdio cimport snprintf

from jelly._core.base.batch cimport NO_TERM, Batch, add_quoted, add_row, clear_interner, intern_term, new_batch
from jelly._core.base.claim cimport claim, give_back
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, KIND_LITERAL
from jelly._core.base.objects cimport hold
from jelly._core.rules.blank_node_label cimport KEPT, Labels, free_labels, number_label
from jelly._core.terms.batch_builder cimport ENOUGH_TEXT, MAX_COLLECTED_TEXT, BatchBuilder

from jelly.errors import JellyArgumentError


cdef class QuadBatchBuilder(BatchBuilder):
    """Fills Batches with quads that have ``subject``, ``predicate``, ``object`` and ``graph_name``.

    ``classes`` are the classes of IRIs, blank nodes, literals, quoted triples and the default graph.
    All but the last two have a ``value``; a literal has ``language``, ``direction`` and ``datatype``.

    Texts that contain ``mark`` are replaced by the result of ``mend``, and language tags by the result of ``tag``,
    unless these are None.

    With ``numbered`` labels that a parser made up become anon0, anon1 and so on. Labels that ``mend`` changes are
    not replaced. Each replaced label takes 24 to 64 bytes.

    >>> from types import SimpleNamespace as Any
    >>> class IRI(str):
    ...     value = property(str)
    >>> builder = QuadBatchBuilder(3, classes=(IRI, None, None, None, None))
    >>> builder.extend(iter([Any(subject=IRI("a:s"), predicate=IRI("a:p"), object=IRI("a:o"))]), 10, 1000)
    False
    >>> len(builder.take())
    1
    """

    cdef object iri, bnode, literal, quoted, default
    cdef object sign, mend, tag
    cdef Labels labels
    cdef bint numbered
    # The last subject, often the same as in the next statement, as the graph is.
    cdef object subject
    cdef int32_t subject_id
    cdef readonly int64_t statements
    cdef int64_t hint_rows, hint_terms, hint_text

    def __cinit__(self, int arity, *, tuple classes, mend=None, tag=None, bint numbered=False):
        self.iri, self.bnode, self.literal, self.quoted, self.default = classes
        self.mend = mend
        self.tag = tag
        self.numbered = numbered
        self.hint_rows = 32
        self.hint_terms = 64
        self.hint_text = 4096
        self.start()

    def __dealloc__(self):
        free_labels(&self.labels)

    cdef int start(self) except -1:
        self.filled = new_batch(self.arity, self.hint_rows, self.hint_terms, self.hint_text, MAX_COLLECTED_TEXT)
        self.filled.first_row = self.statements
        clear_interner(&self.index)
        self.forget()
        self.subject = self.graph = None
        return 0

    def take(self) -> Batch | None:
        """The Batch so far; None if it has neither statements nor namespaces."""
        held = hold(&self.claimed, self)
        cdef Batch batch = self.filled
        if batch.a.n_rows == 0 and batch.a.n_names == 0:
            return None
        self.statements += batch.a.n_rows
        self.hint_rows = batch.a.n_rows + 1
        self.hint_terms = batch.a.n_terms + batch.a.n_terms // 8 + 1
        self.hint_text = batch.a.n_text + batch.a.n_text // 8 + 1
        self.start()
        return batch

    @property
    def rows(self) -> int:
        """Number of statements so far, with those of the Batch that is being filled."""
        held = hold(&self.claimed, self)
        return self.statements + self.filled.a.n_rows

    @property
    def mark(self):
        """The text that `mend` is to replace; None: no text contains it."""
        held = hold(&self.claimed, self)
        return self.sign

    @mark.setter
    def mark(self, sign):
        held = hold(&self.claimed, self)
        self.sign = sign

    def extend(self, statements, int64_t rows, int64_t text=ENOUGH_TEXT) -> bool:
        """Append from an iterator until a number of rows or of bytes of text is reached (True), or it ends (False).

        Statements before an error of the iterator are kept.
        """
        for quad in statements:
            claim(&self.claimed, self)
            try:
                self.add_item(quad)
                if self.filled.a.n_rows >= rows or self.filled.a.n_text >= text:
                    return True
            finally:
                give_back(&self.claimed)
        return False

    cdef int32_t find_graph(self, object graph) except? -1:
        if type(graph) is self.default:
            return NO_TERM
        if self.graph is None or graph != self.graph:
            self.graph_term = self.add_term(graph)
            self.graph = graph
        return self.graph_term

    cdef inline int32_t find_subject(self, object subject) except -1:
        if self.subject is None or subject != self.subject:
            self.subject_id = self.add_term(subject)
            self.subject = subject
        return self.subject_id

    cdef int64_t add_item(self, object quad) except -1:
        cdef int32_t[4] ids
        ids[0] = self.find_subject(quad.subject)
        ids[1] = self.add_term(quad.predicate)
        ids[2] = self.add_term(quad.object)
        ids[3] = self.find_graph(quad.graph_name) if self.arity == 4 else NO_TERM
        return self.checked(add_row(&self.filled.a, ids))

    cdef int32_t intern(self, int kind, int32_t aux, object text) except -1:
        return BatchBuilder.intern(self, kind, aux, self.mended(text))

    cdef int32_t add_term(self, object term) except -1:
        kind = type(term)
        if kind is self.iri:
            return self.intern(KIND_IRI, NO_TERM, term.value)
        if kind is self.literal:
            return self.add_foreign(term, KIND_LITERAL)
        if kind is self.bnode:
            return self.add_blank_node(term.value)
        if kind is self.quoted:
            return self.checked(add_quoted(
                &self.filled.a, self.add_term(term.subject), self.add_term(term.predicate), self.add_term(term.object)
            ))
        raise JellyArgumentError(f"expected an RDF term, got {kind.__name__}: {term!r:.80}")

    cdef int32_t add_blank_node(self, object label) except -1:
        cdef Py_ssize_t n
        cdef const char* utf8
        cdef char[32] made
        cdef int64_t number
        if not self.numbered:
            return self.intern(KIND_BNODE, NO_TERM, label)
        mended = self.mended(label)
        utf8 = PyUnicode_AsUTF8AndSize(mended, &n)
        number = number_label(&self.labels, <const uint8_t*>utf8, n, mended is not label and mended != label)
        if number >= 0:
            n = snprintf(made, sizeof(made), b"anon%lld", <long long>number)
            utf8 = made
        elif number != KEPT:
            raise MemoryError
        return self.checked(intern_term(&self.index, &self.filled.a, KIND_BNODE, NO_TERM, <const uint8_t*>utf8, n))

    cdef int32_t foreign_tag(self, object language, object direction) except -1:
        if self.tag is not None:
            language = self.tag(language)
        return BatchBuilder.foreign_tag(self, self.mended(language), direction)

    cdef object mended(self, object text):
        return self.mend(text) if self.sign is not None and self.sign in text else text
