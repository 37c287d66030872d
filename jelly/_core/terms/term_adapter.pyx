"""The terms of another library, such as RDFLib: how to recognise and how to create them."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.type cimport PyType_IsSubtype
from libc.stdint cimport uintptr_t

from jelly._core.base.batch cimport INTERN_MAX, hash_bytes, need_statements, same_bytes
from jelly._core.base.claim cimport give_back, try_claim
from jelly._core.base.fault cimport OK
from jelly._core.base.kinds cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TEXT_LTR, KIND_TRIPLE, KIND_TYPED, KIND_VARIABLE,
    TEXTS, among, row_of_kind,
)
from jelly._core.rules.patch_operations cimport only_statements

from jelly.errors import JellyArgumentError, JellyOptionsError, JellyUnsupportedError


cdef extern from "Python.h":
    bint PyObject_IS_GC(object)
    void PyObject_GC_UnTrack(object)
    const char* utf8_or_null "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t* n) noexcept


cdef inline object of_text(object make, str text):
    cdef object new
    if not isinstance(make, type) or not PyType_IsSubtype(<type>make, str):
        return make(text)
    new = new_str(make, text)
    if (<PyTypeObject*>make).tp_basicsize == (<PyTypeObject*>str).tp_basicsize and not (<PyTypeObject*>make).tp_dictoffset:
        untrack(new)
    return new


cdef inline void untrack(object new):
    """Untrack an object that cannot be part of a cycle, so that the garbage collector does not visit it."""
    if PyObject_IS_GC(new):
        PyObject_GC_UnTrack(new)


cdef object new_str(object made, str text):
    """A str of the class ``made``, whose constructor is not called."""
    cdef tuple arguments = (text,)
    return (<PyTypeObject*>str).tp_new(<type>made, <PyObject*>arguments, NULL)


# Stands for the text in an ObjectTemplate.
_TEXT = object()


cdef class ObjectTemplate:
    """Makes objects of a str subclass with slots like an example. Slots that hold its text hold the new text.

    ``ValueError`` if the example has more than a text and slots.

    >>> class Tagged(str):
    ...     __slots__ = "tag", "text"
    >>> example = Tagged("a")
    >>> example.tag, example.text = "x", "a"
    >>> made = ObjectTemplate(example)("b")
    >>> made, made.tag, made.text
    ('b', 'x', 'b')
    """

    def __cinit__(self, example):
        names = []
        values = []
        if not isinstance(example, str) or hasattr(example, "__dict__"):
            raise JellyArgumentError(f"{type(example).__name__} is no str with slots")
        for base in type(example).__mro__:
            slots = base.__dict__.get("__slots__", ())
            names += [slots] if isinstance(slots, str) else slots
        for name in names:
            if name.startswith("__") or not hasattr(example, name):
                raise JellyArgumentError(f"{type(example).__name__} has a slot {name} that cannot be copied")
            value = getattr(example, name)
            values.append(_TEXT if type(value) is str and value == str.__str__(example) else value)
        self.made = type(example)
        self.names = tuple(names)
        self.values = tuple(values)
        self.holds_str = all(x is None or x is _TEXT or isinstance(x, str) for x in values)

    def __call__(self, str text):
        cdef object new = new_str(self.made, text)
        cdef object value
        cdef Py_ssize_t i
        for i in range(len(self.names)):
            value = self.values[i]
            setattr(new, self.names[i], text if value is _TEXT else value)
        if self.holds_str:
            untrack(new)
        return new


cdef int refuse_patch(Batch batch) except -1:
    """Refuse the Batch of a patch, for callers that need statements."""
    if batch.a.op != NULL:
        raise JellyOptionsError("a patch is no list of statements, it has operations: read it with jelly.patch")
    return 0


cdef int check_rows(Batch batch, int64_t start, int64_t end) except -1:
    """The statements of some rows are asked for: of a patch only those that have some."""
    need_statements(batch)
    if not 0 <= start <= end <= batch.a.n_rows:
        raise IndexError(f"rows {start} to {end} are not within 0 to {batch.a.n_rows}")
    return OK if only_statements(batch.a.op, start, end) else refuse_patch(batch)


cdef class TermAdapter:
    """Makes and recognises the terms of a library, for `Materializer`, `StatementIterator` and `BatchBuilder`.

    ``classes`` are those of IRIs, blank nodes, literals and quoted triples (None: it has none). A term is a str, or has
    a ``value`` that is; a literal has ``language`` and ``datatype``, each a term or None; a quoted triple is iterable.

    ``iri``, ``bnode``, ``plain`` make a term of its text (a class of str is not called but filled with the text), ``lang``
    of a text and a tag, ``directed`` of a text, a tag and ``"ltr"`` or ``"rtl"`` (None: the library has no directions, and
    ``lang`` gets a tag such as ``ar--rtl``), ``typed`` of a text and a datatype (a term that ``iri`` made), ``quoted`` of
    three terms; ``variable`` is the class of variables (None: it has none). ``triple`` and ``quad`` make statements of terms; by
    default they are tuples. The graph of a quad is ``place(term)``, by default the term, or ``default``; with ``quads``
    every statement has one. ``graph_name`` gives for a graph of a statement the term that names it, or None.

    ``memo`` terms are remembered by their text (a power of two, or 0), so that one that comes again is the same object:
    typed literals and their datatypes, or all with ``memo_all``.

    >>> from jelly._core.terms.materialize import StatementIterator
    >>> import jelly
    >>> tagged = TermAdapter("Tags", classes=(str, str, str, None), iri=str, bnode="_:{}".format, plain=repr, lang=None,
    ...                  typed=None)
    >>> list(StatementIterator(jelly.scan(b'<a:s> <a:p> "o" .', format="nt").batches(), tagged))
    [('a:s', 'a:p', "'o'")]
    """

    def __cinit__(
        self, str name, *, tuple classes, iri, bnode, plain, lang, typed, quoted=None, variable=None, triple=None, quad=None,
        default=None, bint quads=False, place=None, graph_name=None,
        directed=None, uint64_t memo=0, bint memo_all=False,
    ):
        if memo & (memo - 1) or memo > 1 << 24:
            raise JellyArgumentError("memo must be a power of two up to 1 << 24, or 0")
        self.name = name
        self.iri_class, self.bnode_class, self.literal_class, self.quoted_class = classes
        self.iri = iri
        self.bnode = bnode
        self.plain = plain
        self.lang = lang
        self.directed = directed
        self.typed = typed
        self.quoted = quoted
        self.variable_class = variable
        self.triple = triple
        self.quad = quad
        self.default = default
        self.quads = quads
        self.place = place
        self.graph_name = graph_name
        self.mask = memo - 1 if memo else 0
        self.memo_all = memo_all
        if memo:
            self.known = <CachedTerm*>PyMem_Calloc(memo, sizeof(CachedTerm))
            if self.known == NULL:
                raise MemoryError

    def __dealloc__(self):
        cdef uint64_t i
        if self.known != NULL:
            for i in range(self.mask + 1):
                Py_XDECREF(self.known[i].text)
                Py_XDECREF(self.known[i].aux)
                Py_XDECREF(self.known[i].term)
            PyMem_Free(self.known)

    cdef object make(self, int kind, object aux, const uint8_t* text, int64_t n, bint remember):
        """The term of a kind with a text; aux is the language tag, the datatype or None."""
        cdef CachedTerm* slot
        cdef CachedTerm old
        cdef uint64_t h
        cdef str string
        if self.known == NULL or n > INTERN_MAX or not (remember or self.memo_all or kind == KIND_TYPED):
            return self.build(kind, aux, make_str(text, n))
        # The kind goes into the highest byte: below, a short text of another kind would often have the same hash.
        h = hash_bytes(text, n, (<uint64_t>kind << 56) ^ <uint64_t><uintptr_t><PyObject*>aux)
        slot = &self.known[h & self.mask]
        # A thread that comes while another looks or writes makes its term anew.
        if not try_claim(&self.claimed):
            return self.build(kind, aux, make_str(text, n))
        found = self.remembered(slot, h, aux, text, n)
        give_back(&self.claimed)
        if found is not _TEXT:
            return found
        string = make_str(text, n)
        term = self.build(kind, aux, string)
        if not try_claim(&self.claimed):
            return term
        # The code of the library may have used this slot meanwhile, so it is read and written only now.
        old = slot[0]
        Py_INCREF(string)
        Py_INCREF(aux)
        Py_INCREF(term)
        slot.hash = h
        slot.text = <PyObject*>string
        slot.aux = <PyObject*>aux
        slot.term = <PyObject*>term
        give_back(&self.claimed)
        Py_XDECREF(old.text)
        Py_XDECREF(old.aux)
        Py_XDECREF(old.term)
        return term

    cdef inline object remembered(self, CachedTerm* slot, uint64_t hash, object aux, const uint8_t* text, int64_t n):
        """The term that a slot has for a text; `_TEXT` if it has another."""
        cdef const char* utf8
        cdef Py_ssize_t n_utf8
        if slot.term == NULL or slot.hash != hash or slot.aux != <PyObject*>aux:
            return _TEXT
        utf8 = utf8_or_null(<object>slot.text, &n_utf8)
        # The kind is in the hash alone: for one text and aux, hashes of different kinds are never the same.
        if utf8 == NULL or n_utf8 != n or not same_bytes(<const uint8_t*>utf8, text, n):
            return _TEXT
        return <object>slot.term

    cdef object build(self, int kind, object aux, str text):
        try:
            if kind == KIND_IRI:
                return of_text(self.iri, text)
            if kind == KIND_BNODE:
                return of_text(self.bnode, text)
            if kind == KIND_LITERAL:
                return self.plain(text)
            if kind == KIND_LANG:
                if type(aux) is not tuple:
                    return self.lang(text, aux)
                if self.directed is None:
                    return self.lang(text, "--".join(aux))
                return self.directed(text, aux[0], aux[1])
            if kind == KIND_TYPED:
                return self.typed(text, aux)
            if among(kind, TEXTS):
                return text if kind == KIND_TEXT else (text, "ltr" if kind == KIND_TEXT_LTR else "rtl")
            return self.build_variable(kind, text)
        except (TypeError, ValueError) as error:
            raise JellyUnsupportedError(f"{self.name} refuses the term {text!r:.200}: {error}") from error

    cdef object build_variable(self, int kind, str text):
        if kind != KIND_VARIABLE:
            raise JellyUnsupportedError(f"{self.name} has no term for {row_of_kind(kind).noun.decode()}")
        if self.variable_class is None:
            raise JellyUnsupportedError(f"{self.name} has no variables, such as ?{text:.200}")
        return of_text(self.variable_class, text)

    cdef object make_quoted(self, object s, object p, object o):
        if self.quoted is None:
            raise JellyUnsupportedError(
                f"{self.name} has no quoted triples: leave them out with jelly.scan(src).filter(where=['s.kind!=quoted', "
                "'o.kind!=quoted']).write(dst)"
            )
        return self.quoted(s, p, o)

    cdef object graph(self, object term):
        """The object for a graph in a statement; term is None for the default graph."""
        if term is None:
            return self.default
        return term if self.place is None else self.place(term)

    cdef int kind_of(self, object term) except -1:
        """KIND_IRI, KIND_BNODE, KIND_LITERAL (of any sort), KIND_TRIPLE or KIND_VARIABLE; 0 if it is not a term of the
        library."""
        if isinstance(term, self.iri_class):
            return KIND_IRI
        if isinstance(term, self.literal_class):
            return KIND_LITERAL
        if isinstance(term, self.bnode_class):
            return KIND_BNODE
        if self.quoted_class is not None and isinstance(term, self.quoted_class):
            return KIND_TRIPLE
        if self.variable_class is not None and isinstance(term, self.variable_class):
            return KIND_VARIABLE
        return 0
