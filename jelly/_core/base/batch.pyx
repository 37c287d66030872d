"""The Batch: the structure of arrays between every reader and every writer."""

cimport cython
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from jelly._core.base.claim cimport add_to
from jelly._core.base.fault cimport whole_number
from jelly._core.base.memory cimport make_room, resize
from jelly._core.base.objects cimport fill_view

import numpy
from importlib import import_module

from jelly._html import html_table
from jelly.errors import JellyArgumentError, JellyOptionsError


cdef enum:
    SHOWN_ROWS = 10  # in a table for notebooks
    INTERN_KEPT = 1 << 14  # slots of an Interner that is cleared


cdef int size_terms(BatchData* b, int64_t cap) noexcept nogil:
    """Give a BatchData room for a number of terms."""
    if (
        resize(<void**>&b.start, cap + 1, sizeof(int64_t)) < 0
        or resize(<void**>&b.kind, cap, 1) < 0
        or resize(<void**>&b.aux, cap, sizeof(int32_t)) < 0
    ):
        return NO_MEMORY
    b.cap_terms = <int32_t>cap
    return 0


cdef int size_rows(BatchData* b, int64_t cap) noexcept nogil:
    """Give a BatchData room for a number of rows."""
    cdef int slot
    for slot in range(b.arity):
        if resize(<void**>column_of(b, slot), cap, sizeof(int32_t)) < 0:
            return NO_MEMORY
    if (b.arity == RESULTS and resize(<void**>&b.cells, cap * b.width, sizeof(int32_t)) < 0) or (
        b.op != NULL and resize(<void**>&b.op, cap, 1) < 0
    ):
        return NO_MEMORY
    b.cap_rows = cap
    return 0


cdef int init_arena(BatchData* b, int arity, int64_t rows, int64_t terms, int64_t text, int64_t text_limit) noexcept nogil:
    """Set up an empty BatchData with room for a number of rows, terms and bytes of text."""
    memset(b, 0, sizeof(BatchData))
    b.arity = arity
    b.text_limit = text_limit
    b.cap_text = text
    if resize(<void**>&b.text, text, 1) < 0 or size_terms(b, terms + 1) < 0 or size_rows(b, rows) < 0:
        free_arena(b)
        return NO_MEMORY
    b.start[0] = 0
    return 0


cdef int add_graphs(BatchData* b) noexcept nogil:
    """Turn a BatchData of triples without rows into one of quads."""
    b.arity = 4
    return size_rows(b, b.cap_rows)


cdef int add_operations(BatchData* b) noexcept nogil:
    """Turn a BatchData without rows into one of a patch."""
    return resize(<void**>&b.op, b.cap_rows, 1)


cdef void free_columns(BatchData* b) noexcept nogil:
    cdef int slot
    for slot in range(4):
        free(column_of(b, slot)[0])
        column_of(b, slot)[0] = NULL


cdef int add_variables(BatchData* b, int64_t width, int64_t rows) noexcept nogil:
    """Make a BatchData that has no rows yet one of query results, with room for a number of rows."""
    free_columns(b)
    b.arity = RESULTS
    b.width = width
    return size_rows(b, rows)


cdef void clear_arena(BatchData* b) noexcept nogil:
    """Remove the contents, keep the memory."""
    b.n_text = b.n_rows = b.n_frames = b.n_names = b.n_meta = b.n_meta_text = 0
    b.n_terms = b.n_quoted = 0


cdef void free_arena(BatchData* b) noexcept nogil:
    free(b.text)
    free(b.start)
    free(b.kind)
    free(b.aux)
    free(b.quoted)
    free_columns(b)
    free(b.op)
    free(b.cells)
    free(b.frames)
    free(b.names)
    free(b.meta)
    free(b.meta_text)
    memset(b, 0, sizeof(BatchData))


cdef int grow_terms(BatchData* b) noexcept nogil:
    # A copy of a Batch without terms has no room at all. At the end it takes what is left.
    if b.cap_terms == 0x7FFFFFFF:
        return BATCH_TERMS
    return size_terms(b, min(2 * <int64_t>b.cap_terms, <int64_t>0x7FFFFFFF) if b.cap_terms > 0 else 16)


cdef int grow_text(BatchData* b, int64_t need) noexcept nogil:
    cdef int64_t cap = max(min(2 * b.cap_text, b.text_limit), b.n_text + need)
    if need > b.text_limit - b.n_text:
        return TEXT_LIMIT
    if resize(<void**>&b.text, cap, 1) < 0:
        return NO_MEMORY
    b.cap_text = cap
    return 0


cdef int grow_rows(BatchData* b) noexcept nogil:
    return size_rows(b, 2 * b.cap_rows if b.cap_rows > 0 else 16)


cdef int32_t add_compound(BatchData* b, int kind, const int32_t* terms) noexcept nogil:
    """Append a term of three others; return its id, or a negative code."""
    cdef int32_t n = b.n_quoted
    if make_room(<void**>&b.quoted, &b.cap_quoted, n + 1, 3 * sizeof(int32_t)) < 0:
        return NO_MEMORY
    memcpy(b.quoted + 3 * <int64_t>n, terms, 3 * sizeof(int32_t))
    b.n_quoted = n + 1
    return add_term(b, kind, n, NULL, 0)


cdef int add_frame(BatchData* b) noexcept nogil:
    """Note that a frame ends at the present row."""
    if make_room(<void**>&b.frames, &b.cap_frames, b.n_frames + 1, sizeof(int64_t)) < 0:
        return NO_MEMORY
    b.frames[b.n_frames] = b.n_rows
    b.n_frames += 1
    return 0


cdef int add_namespace(BatchData* b, int32_t name, int32_t iri) noexcept nogil:
    cdef NamespaceMark* mark
    if make_room(<void**>&b.names, &b.cap_names, b.n_names + 1, sizeof(NamespaceMark)) < 0:
        return NO_MEMORY
    mark = &b.names[b.n_names]
    mark.row, mark.frame, mark.name, mark.iri = b.n_rows, b.n_frames, name, iri
    b.n_names += 1
    return 0


cdef int add_metadata(BatchData* b, const uint8_t* key, int64_t n_key, const uint8_t* value, int64_t n_value) noexcept nogil:
    """Append one entry of the metadata of the frame that ends next."""
    cdef MetadataMark* mark
    if n_key + n_value > b.text_limit - b.n_meta_text:
        return TEXT_LIMIT
    if make_room(<void**>&b.meta_text, &b.cap_meta_text, b.n_meta_text + n_key + n_value, 1) < 0:
        return NO_MEMORY
    if make_room(<void**>&b.meta, &b.cap_meta, b.n_meta + 1, sizeof(MetadataMark)) < 0:
        return NO_MEMORY
    mark = &b.meta[b.n_meta]
    mark.frame, mark.key = b.n_frames, b.n_meta_text
    mark.value = mark.key + n_key
    mark.end = mark.value + n_value
    b.n_meta += 1
    if n_key:
        memcpy(b.meta_text + b.n_meta_text, key, n_key)
    if n_value:
        memcpy(b.meta_text + b.n_meta_text + n_key, value, n_value)
    b.n_meta_text += n_key + n_value
    return 0


cdef int init_interner(Interner* index) noexcept nogil:
    index.n_slots = 256
    index.slots = <InternSlot*>malloc(index.n_slots * sizeof(InternSlot))
    if index.slots == NULL:
        return NO_MEMORY
    clear_interner(index)
    return 0


cdef void clear_interner(Interner* index) noexcept nogil:
    # After a large Batch a small one must not clear it all.
    index.n_slots = min(index.n_slots, <uint32_t>INTERN_KEPT)
    memset(index.slots, 0xFF, index.n_slots * sizeof(InternSlot))


cdef void free_interner(Interner* index) noexcept nogil:
    free(index.slots)
    index.slots = NULL
    index.n_slots = 0


cdef void put_slot(InternSlot* slots, uint32_t mask, uint32_t hash, int32_t term) noexcept nogil:
    cdef uint32_t i
    cdef InternSlot* slot
    for i in range(INTERN_PROBES):
        slot = &slots[(hash + i) & mask]
        if slot.term < 0:
            break
    else:
        slot = &slots[hash & mask]
    slot.hash = hash
    slot.term = term


cdef int grow_interner(Interner* index) noexcept nogil:
    cdef uint32_t n = 4 * index.n_slots
    cdef uint32_t i
    cdef InternSlot* slots = <InternSlot*>malloc(n * sizeof(InternSlot))
    if slots == NULL:
        return NO_MEMORY
    memset(slots, 0xFF, n * sizeof(InternSlot))
    for i in range(index.n_slots):
        if index.slots[i].term >= 0:
            put_slot(slots, n - 1, index.slots[i].hash, index.slots[i].term)
    free(index.slots)
    index.slots = slots
    index.n_slots = n
    return 0


cdef int32_t intern_term(Interner* index, BatchData* b, int kind, int32_t aux, const uint8_t* text, int64_t n) noexcept nogil:
    """The id of the term from the index, or of a new term; a negative result is a code."""
    cdef uint32_t hash, mask
    cdef int32_t term
    cdef uint32_t i
    cdef InternSlot* slot
    if n > INTERN_MAX:
        return add_term(b, kind, aux, text, n)
    if <uint32_t>b.n_terms * 2 > index.n_slots and index.n_slots < INTERN_MAX_SLOTS:
        if grow_interner(index) < 0:
            return NO_MEMORY
    hash = <uint32_t>hash_bytes(text, n, <uint64_t>kind << 32 | <uint32_t>aux)
    mask = index.n_slots - 1
    for i in range(INTERN_PROBES):
        slot = &index.slots[(hash + i) & mask]
        term = slot.term
        if term < 0:
            break
        if (
            slot.hash == hash
            and len_of(b, term) == n
            and b.kind[term] == kind
            and b.aux[term] == aux
            and same_bytes(text_of(b, term), text, n)
            and term < b.n_terms  # not one that was taken back
        ):
            return term
    term = add_term(b, kind, aux, text, n)
    if term >= 0:
        put_slot(index.slots, mask, hash, term)
    return term


# The garbage collector must not clear the Batch while an array uses it.
@cython.no_gc_clear
cdef class Column:
    """A read-only view of one array of a Batch; keeps the Batch alive. Exports the buffer protocol."""

    cdef Batch owner
    cdef void* data
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]
    cdef bytes code

    def __getbuffer__(self, Py_buffer* view, int flags):
        fill_view(view, flags, self, "a Batch", self.data, self.shape, self.strides, self.code)
        add_to(&self.owner.exports, 1)

    def __releasebuffer__(self, Py_buffer* view):
        add_to(&self.owner.exports, -1)


cdef object column(Batch owner, void* data, int64_t n, bytes code, int size):
    """A numpy array over `n` items of the Batch's own memory."""
    cdef Column view = Column.__new__(Column)
    view.owner = owner
    view.data = data
    view.shape[0] = n
    view.strides[0] = size
    view.code = code
    return numpy.asarray(view)


cdef object slot_column(Batch batch, int32_t* ids):
    """A column of statements."""
    need_statements(batch)
    return None if ids == NULL else column(batch, ids, batch.a.n_rows, b"i", 4)


cdef Batch new_batch(int arity, int64_t rows, int64_t terms, int64_t text, int64_t text_limit):
    cdef Batch batch = Batch.__new__(Batch)
    if init_arena(&batch.a, arity, rows, terms, text, text_limit) < 0:
        raise MemoryError
    return batch


cdef int make_results(Batch batch, tuple variables, int64_t rows) except -1:
    """Make a Batch that has no rows yet one of query results, with room for a number of rows."""
    if add_variables(&batch.a, len(variables), rows) < 0:
        raise MemoryError
    batch.variables = variables
    return 0


cdef int refuse_results() except -1:
    raise JellyOptionsError("these are query results, not statements: their columns are variables; use jelly.results.write_results")


cdef int need_plain(Batch batch, str refusal) except -1:
    """Refuse query results, and with this message a patch."""
    need_statements(batch)
    if batch.a.op != NULL:
        raise JellyOptionsError(refusal)
    return 0


cdef class Batch(BatchViews):
    """Some statements of a stream as numpy arrays, and the terms they use.

    A Batch never changes. It owns its memory; its arrays are views of that memory. ``len(batch)`` is the number of
    rows. Batches come from readers; they are not created directly. A Batch of `jelly.results.read_results` has query results: its
    columns are variables, and ``s``, ``p``, ``o``, ``g`` and ``arity`` raise `JellyOptionsError`. Iterating over it yields a
    tuple of terms for each row, with None where a variable is unbound.

    Attributes
    ----------
    s, p, o : numpy.ndarray
        Subjects, predicates and objects: int32 term ids, one per statement.
    g : numpy.ndarray or None
        Graphs: int32 term ids, -1 for the default graph. None if the statements are triples.
    variables : tuple of str or None
        Names of the columns of query results. None if the rows are statements.
    cells : numpy.ndarray
        Query results: int32 term ids, shape (rows, variables), -1 where a variable is unbound. `column` gives one column.
    text, start : numpy.ndarray
        UTF-8 of all terms (uint8), and where each begins (int64): term ``i`` is ``text[start[i]:start[i + 1]]``.
    kind : numpy.ndarray
        Kinds of terms (int8): 1 IRI, 2 blank node, 3 plain literal, 4 literal with language, 5 typed literal, 6 quoted
        triple, 7 text that is not a term (a language tag). The language tag of a literal with a base direction has kind
        8 (ltr) or 9 (rtl). Terms of patterns are 10 (variable) and 11 (ANY).
    aux : numpy.ndarray
        For each term the id of its language tag or datatype, or its row in ``quoted`` (int32), else -1.
    first_row, first_frame : int
        Number of the first statement and of the first frame in the stream.
    options : StreamOptions or None
        Options of the stream, if it is Jelly.

    Notes
    -----
    Term ids are valid in one Batch only. Equal ids are equal terms, but equal terms may have different ids, because finding
    the first id again may cost more than it saves. In ``batch.unique()`` equal terms have equal ids: count and compare the
    ids of that one. Some terms may be used by no statement.

    Examples
    --------
    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "o" .', format="nt").batches())
    >>> len(batch), batch.p.tolist(), batch.term(2)
    (1, [1], '"o"')
    """

    def __dealloc__(self):
        free_arena(&self.a)

    def __len__(self):
        return self.a.n_rows

    def __repr__(self):
        if self.variables is not None:
            return f"<jelly.Batch: {self.a.n_rows} results of {self.a.width} variables, {self.a.n_terms} terms>"
        what = "triples" if self.a.arity == 3 else "quads"
        return f"<jelly.Batch: {self.a.n_rows} {what}, {self.a.n_terms} terms, {self.a.n_frames} frame ends>"

    def _repr_html_(self):
        if self.variables is not None:
            columns, names = [self.column(name) for name in self.variables], self.variables
        else:
            columns = [self.s, self.p, self.o] + ([] if self.a.g == NULL else [self.g])
            names = ("subject", "predicate", "object", "graph")[:len(columns)]
        rows = [
            ["" if column[row] < 0 else self.term(column[row]) for column in columns]
            for row in range(min(self.a.n_rows, SHOWN_ROWS))
        ]
        return html_table(repr(self), names, rows, more=self.a.n_rows > SHOWN_ROWS)

    def __reduce__(self):
        raise TypeError("a Batch cannot be pickled: write it with jelly.Writer, jelly.results.write_results or turn it into Arrow")

    @property
    def arity(self) -> int:
        """Terms per statement: 3 for triples, 4 for quads."""
        need_statements(self)
        return self.a.arity

    @property
    def n_terms(self) -> int:
        """Number of terms in the Batch."""
        return self.a.n_terms

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays use."""
        cdef BatchData* a = &self.a
        return (
            a.n_text + a.n_terms * 13 + 8 + a.n_quoted * 12 + a.n_rows * (4 * (a.arity + a.width) + (a.op != NULL))
            + a.n_frames * 8 + a.n_names * sizeof(NamespaceMark) + a.n_meta * sizeof(MetadataMark) + a.n_meta_text
        )

    @property
    def s(self):
        """Subjects: int32 term ids."""
        return slot_column(self, self.a.s)

    @property
    def p(self):
        """Predicates: int32 term ids."""
        return slot_column(self, self.a.p)

    @property
    def o(self):
        """Objects: int32 term ids."""
        return slot_column(self, self.a.o)

    @property
    def g(self):
        """Graphs: int32 term ids, -1 for the default graph. None if the statements are triples."""
        return slot_column(self, self.a.g)

    @property
    def op(self):
        """Operations of a patch: int8, or None."""
        return None if self.a.op == NULL else column(self, self.a.op, self.a.n_rows, b"b", 1)

    @property
    def cells(self):
        """Query results: int32 term ids, one row per result and one column per variable, -1 where it is unbound."""
        if self.variables is None:
            raise JellyOptionsError("these are statements, not query results: their columns are s, p, o and g")
        return column(self, self.a.cells, self.a.n_rows * self.a.width, b"i", 4).reshape(self.a.n_rows, self.a.width)

    def column(self, variable: str):
        """The column of a variable of query results.

        Parameters
        ----------
        variable : str
            Name of the variable, without ``?``.

        Returns
        -------
        numpy.ndarray
            int32 term ids, one per row, -1 where the variable is unbound.

        Raises
        ------
        JellyArgumentError
            If there is no such variable.
        JellyOptionsError
            If the rows are statements.

        Examples
        --------
        >>> import jelly
        >>> data = b'{"head":{"vars":["x","y"]},"results":{"bindings":[{"y":{"type":"uri","value":"a:b"}}]}}'
        >>> batch = next(jelly.results.read_results(data, format="json").batches())
        >>> batch.column("x").tolist(), batch.term(batch.column("y")[0])
        ([-1], '<a:b>')
        """
        cells = self.cells
        if variable not in self.variables:
            raise JellyArgumentError(f"no variable {variable!r}: expected one of {', '.join(self.variables)}")
        return cells[:, self.variables.index(variable)]

    @property
    def text(self):
        """UTF-8 of all terms, one after the other: uint8."""
        return column(self, self.a.text, self.a.n_text, b"B", 1)

    @property
    def start(self):
        """Position in ``text`` at which each term begins: int64, one item more than there are terms."""
        return column(self, self.a.start, self.a.n_terms + 1, b"q", 8)

    @property
    def kind(self):
        """Kinds of the terms: int8."""
        return column(self, self.a.kind, self.a.n_terms, b"b", 1)

    @property
    def aux(self):
        """Term id of the language tag or datatype, or row of ``quoted``, of each term: int32, -1 if it has none."""
        return column(self, self.a.aux, self.a.n_terms, b"i", 4)

    @property
    def quoted(self):
        """Term ids of quoted triples: int32, shape (n, 3)."""
        return column(self, self.a.quoted, 3 * self.a.n_quoted, b"i", 4).reshape(-1, 3)

    @property
    def frames(self):
        """For each frame that ends in this Batch, the number of rows before its end: int64."""
        return column(self, self.a.frames, self.a.n_frames, b"q", 8)

    @property
    def metadata(self) -> dict:
        """Metadata of frames: ``{index into frames: {key: bytes}}``; only frames that have some."""
        cdef const char* text = <const char*>self.a.meta_text
        cdef MetadataMark* mark
        cdef int64_t i
        found = {}
        for i in range(self.a.n_meta):
            mark = &self.a.meta[i]
            entries = found.setdefault(mark.frame, {})
            entries[text[mark.key:mark.value].decode()] = text[mark.value:mark.end]
        return found

    @property
    def namespaces(self) -> list:
        """Namespace declarations: ``(row, index into frames, prefix, IRI)``. Each stands before that row, in that frame."""
        cdef int64_t i
        cdef NamespaceMark* n = self.a.names
        return [(n[i].row, n[i].frame, self.term_text(n[i].name), self.term_text(n[i].iri)) for i in range(self.a.n_names)]

    cdef int64_t id_of(self, term) except -1:
        cdef int64_t id = whole_number(term, "term")
        if id < 0 or id >= self.a.n_terms:
            raise IndexError(f"no term {id}: the Batch has {self.a.n_terms}")
        return id

    def term_text(self, term) -> str:
        """The text of a term: IRI, blank node label, lexical form or language tag.

        Parameters
        ----------
        term : int
            Term id.

        Returns
        -------
        str
            The text.

        Raises
        ------
        IndexError
            If there is no such term.
        """
        cdef int64_t id = self.id_of(term)
        return (<const char*>self.a.text)[self.a.start[id]:self.a.start[id + 1]].decode()

    def term(self, term) -> str:
        """A term in N-Triples syntax, as str() writes the object of it; labels of blank nodes are as they are.

        Parameters
        ----------
        term : int
            Term id.

        Returns
        -------
        str
            The term.

        Raises
        ------
        IndexError
            If there is no such term.
        JellyLimitError
            If a quoted triple would be too long, as its parts stand in it again and again.
        """
        return import_module("jelly._core.terms.materialize").text_of_term(self, self.id_of(term))


def restate(Batch batch not None, options) -> Batch:
    """Say which stream options a Batch has, None for unknown ones. Only for one that was not handed out yet."""
    batch.options = options
    return batch
