"""Intake: Arrow columns of strings, plain or dictionary, into Batches. Nothing of what comes is trusted."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from jelly.core.batch cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TRIPLE, KIND_TYPED, NO_TERM, Batch, add_frame,
    add_row, add_term, clear_interner, free_interner, init_interner, intern_term, new_batch, same_bytes,
)
from jelly.core.fault cimport (
    BOTH_KINDS, COLUMN_INDEX, COLUMN_NULL, COLUMN_OFFSETS, COLUMN_UTF8, EMPTY_VALUE, FULL, NAMED_GRAPH_IN_TRIPLES,
    NO_MEMORY, NOT_BNODE, NOT_LITERAL, OBJECT_KIND, OK, Fault, fail, fault_error,
)
from jelly.core.textread cimport Lines, read_term
from jelly.core.utf8 cimport check_utf8

cdef enum:
    SUBJECT = 0
    PREDICATE = 1
    OBJECT = 2
    GRAPH = 3
    DATATYPE = 4
    LANG = 5
    KIND = 6
    N_COLUMNS = 7
    # Characters of a value in an error.
    EXCERPT = 60

_NAMES = {
    "subject": SUBJECT, "predicate": PREDICATE, "object": OBJECT, "graph": GRAPH, "datatype": DATATYPE, "lang": LANG,
    "object_kind": KIND, "s": SUBJECT, "p": PREDICATE, "o": OBJECT, "g": GRAPH,
}


ctypedef struct Known:
    # What a value of a dictionary became.
    uint32_t serial  # of the Batch in which that holds
    int32_t term


ctypedef struct Strings:
    bint given
    int64_t first  # the item of the arrays that is row 0
    const uint8_t* valid  # a bit for each item; NULL: no nulls
    const int32_t* index  # NULL: no dictionary
    # the values: of the rows, or of the dictionary
    int64_t n_values
    int64_t first_value
    const uint8_t* value_valid
    const int32_t* offsets
    const int64_t* wide_offsets
    const uint8_t* data
    int64_t n_data
    Known* known
    # the value of the row
    const uint8_t* at
    int64_t n
    int64_t place  # in the dictionary
    # the last value that became a term; n < 0: none
    const uint8_t* last_at
    int64_t last_n
    int32_t last_term
    uint32_t last_serial


ctypedef struct Rows:
    bint flat
    bint quads
    Strings columns[7]
    const int64_t* frames  # NULL: none
    const uint8_t* frames_valid
    int64_t first_frame
    int64_t row
    int64_t n_rows
    int64_t last_frame
    bint has_frame
    Lines lines
    uint32_t serial  # of the present Batch
    int64_t max_rows
    int64_t max_text
    int at_fault  # the column


cdef inline bint is_valid(const uint8_t* bits, int64_t i) noexcept nogil:
    return bits == NULL or (bits[i >> 3] >> (i & 7)) & 1


cdef inline int get_value(Rows* t, int which) noexcept nogil:
    """Find the value of the row: 1, 0 where it is null, or a code."""
    cdef Strings* c = &t.columns[which]
    cdef int64_t i = c.first + t.row
    cdef int64_t begin, end
    if not c.given or not is_valid(c.valid, i):
        return 0
    if c.index != NULL:
        c.place = c.index[i]
        if c.place < 0 or c.place >= c.n_values:
            t.at_fault = which
            c.n = 0
            return fail(&t.lines.fault, COLUMN_INDEX, NULL, c.place, c.n_values)
        i = c.first_value + c.place
        if not is_valid(c.value_valid, i):
            return 0
    if c.wide_offsets != NULL:
        begin = c.wide_offsets[i]
        end = c.wide_offsets[i + 1]
    else:
        begin = c.offsets[i]
        end = c.offsets[i + 1]
    if begin < 0 or end < begin or end > c.n_data:
        t.at_fault = which
        c.n = 0
        return fail(&t.lines.fault, COLUMN_OFFSETS, NULL)
    c.at = c.data + begin
    c.n = end - begin
    return 1


cdef inline int32_t find_known(Rows* t, Strings* c) noexcept nogil:
    """The term that this value became before in this Batch; -2 where there is none."""
    cdef Known* known
    if c.known != NULL:
        known = &c.known[c.place]
        return known.term if known.serial == t.serial else -2
    if c.last_serial == t.serial and c.last_n == c.n and same_bytes(c.last_at, c.at, c.n):
        return c.last_term
    return -2


cdef inline int32_t find_row(Rows* t, Strings* c) noexcept nogil:
    """What `find_known` would find for the row, without a look at the value: -2 also where that is needed."""
    cdef int64_t i = c.first + t.row
    cdef int64_t place
    if c.known == NULL or not is_valid(c.valid, i):
        return -2
    place = c.index[i]
    if place < 0 or place >= c.n_values or c.known[place].serial != t.serial:
        return -2
    return c.known[place].term


cdef inline void keep_known(Rows* t, Strings* c, int32_t term) noexcept nogil:
    if c.known != NULL:
        c.known[c.place].serial = t.serial
        c.known[c.place].term = term
    else:
        c.last_at = c.at
        c.last_n = c.n
        c.last_term = term
        c.last_serial = t.serial


cdef inline int32_t new_term(Rows* t, Strings* c, int kind, int32_t aux, const uint8_t* at, int64_t n) noexcept nogil:
    """A term with a text of a column, which is checked where it is not in the Batch already; or a code.

    The values of a dictionary are known by their place, so a search for their text would hardly ever find anything.
    """
    cdef int32_t before = t.lines.batch.n_terms
    cdef int32_t term
    cdef int64_t bad
    if c.known != NULL:
        term = add_term(t.lines.batch, kind, aux, at, n)
    else:
        term = intern_term(&t.lines.index, t.lines.batch, kind, aux, at, n)
    if term < 0:
        return fail(&t.lines.fault, term, NULL, t.lines.batch.text_limit)
    if term >= before:
        bad = check_utf8(at, n)
        if bad >= 0:
            return fail(&t.lines.fault, COLUMN_UTF8, NULL, bad)
    return term


cdef int need_value(Rows* t, int which) noexcept nogil:
    """get_value where a null is a fault, except in the column of graphs."""
    cdef int status = get_value(t, which)
    if status == 0 and which != GRAPH:
        t.at_fault = which
        t.columns[which].n = 0
        return fail(&t.lines.fault, COLUMN_NULL, NULL)
    return status


cdef int take_parsed(Rows* t, int which, int32_t* term) noexcept nogil:
    """A term in N-Triples syntax."""
    cdef Strings* c = &t.columns[which]
    t.at_fault = which
    return read_term(&t.lines, c.at, c.n, which, term)


cdef inline int take_term(Rows* t, int which, int32_t* term) noexcept nogil:
    """Subject, predicate, graph; in the layout of four columns the object too."""
    cdef Strings* c = &t.columns[which]
    cdef int32_t known = find_row(t, c)
    cdef int status
    if known >= 0:
        term[0] = known
        return OK
    status = need_value(t, which)
    if status <= 0:
        term[0] = NO_TERM
        return status
    known = find_known(t, c)
    if known >= 0:
        term[0] = known
        return OK
    t.at_fault = which
    if not t.flat or (c.n > 1 and c.at[0] == 0x3C and c.at[1] == 0x3C):
        status = take_parsed(t, which, term)
    elif c.n > 1 and c.at[0] == 0x5F and c.at[1] == 0x3A:
        status = term[0] = new_term(t, c, KIND_BNODE, NO_TERM, c.at + 2, c.n - 2)
    else:
        status = term[0] = new_term(t, c, KIND_IRI, NO_TERM, c.at, c.n)
    if status < 0:
        return status
    keep_known(t, c, term[0])
    return OK


cdef int take_aux(Rows* t, int which, int32_t* term) noexcept nogil:
    """The datatype or the language; NO_TERM where there is none, which xsd:string is too."""
    cdef const char* string = b"http://www.w3.org/2001/XMLSchema#string"
    cdef int64_t n_string = 39
    cdef Strings* c = &t.columns[which]
    cdef int32_t known = find_row(t, c)
    cdef int status
    term[0] = known
    if known != -2:
        return OK
    term[0] = NO_TERM
    status = get_value(t, which)
    if status <= 0:
        return status
    known = find_known(t, c)
    if known == -2:
        t.at_fault = which
        if which == LANG:
            if c.n == 0:
                return fail(&t.lines.fault, EMPTY_VALUE, NULL)
            known = new_term(t, c, KIND_TEXT, NO_TERM, c.at, c.n)
        elif c.n == n_string and memcmp(c.at, string, n_string) == 0:
            known = NO_TERM
        else:
            known = new_term(t, c, KIND_IRI, NO_TERM, c.at, c.n)
        if known < NO_TERM:
            return known
        keep_known(t, c, known)
    term[0] = known
    return OK


cdef bint is_lang_string(Rows* t, int32_t term) noexcept nogil:
    cdef const char* lang_string = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
    cdef int64_t n = t.lines.batch.start[term + 1] - t.lines.batch.start[term]
    return n == 53 and memcmp(t.lines.batch.text + t.lines.batch.start[term], lang_string, n) == 0


cdef int take_kind(Rows* t) noexcept nogil:
    """The kind of the object as the column says: KIND_IRI, KIND_BNODE, KIND_LITERAL, KIND_TRIPLE."""
    cdef Strings* c = &t.columns[KIND]
    cdef int kind = find_row(t, c)
    cdef int status
    if kind >= 0:
        return kind
    status = need_value(t, KIND)
    if status < 0:
        return status
    if c.n == 3 and memcmp(c.at, b"iri", 3) == 0:
        kind = KIND_IRI
    elif c.n == 7 and memcmp(c.at, b"literal", 7) == 0:
        kind = KIND_LITERAL
    elif c.n == 5 and memcmp(c.at, b"bnode", 5) == 0:
        kind = KIND_BNODE
    elif c.n == 6 and memcmp(c.at, b"triple", 6) == 0:
        kind = KIND_TRIPLE
    else:
        t.at_fault = KIND
        return fail(&t.lines.fault, OBJECT_KIND, NULL)
    if c.known != NULL:
        keep_known(t, c, kind)
    return kind


cdef int take_object(Rows* t, int32_t* term) noexcept nogil:
    """The object of the flat layout."""
    cdef Strings* c = &t.columns[OBJECT]
    cdef int kind = take_kind(t)
    cdef int32_t datatype, lang
    cdef int32_t known
    cdef int32_t aux = NO_TERM
    cdef int status
    if kind < 0:
        return kind
    if take_aux(t, DATATYPE, &datatype) < 0 or take_aux(t, LANG, &lang) < 0:
        return t.lines.fault.code
    status = need_value(t, OBJECT)
    if status < 0:
        return status
    if datatype >= 0 or lang >= 0:
        t.at_fault = DATATYPE if datatype >= 0 else LANG
        if kind != KIND_LITERAL:
            return fail(&t.lines.fault, NOT_LITERAL, NULL)
        # Many tools name the datatype of literals that have a language.
        if datatype >= 0 and lang >= 0 and not is_lang_string(t, datatype):
            return fail(&t.lines.fault, BOTH_KINDS, NULL)
        kind = KIND_LANG if lang >= 0 else KIND_TYPED
        aux = lang if lang >= 0 else datatype
    known = find_known(t, c)
    if known >= 0 and t.lines.batch.kind[known] == kind and (
        kind == KIND_TRIPLE or t.lines.batch.aux[known] == aux
    ):
        term[0] = known
        return OK
    t.at_fault = OBJECT
    if kind == KIND_TRIPLE:
        status = take_parsed(t, OBJECT, term)
        if status == OK and t.lines.batch.kind[term[0]] != KIND_TRIPLE:
            t.at_fault = KIND
            return fail(&t.lines.fault, OBJECT_KIND, NULL)
    elif kind == KIND_BNODE:
        if c.n < 2 or c.at[0] != 0x5F or c.at[1] != 0x3A:
            return fail(&t.lines.fault, NOT_BNODE, NULL)
        status = term[0] = new_term(t, c, KIND_BNODE, NO_TERM, c.at + 2, c.n - 2)
    else:
        status = term[0] = new_term(t, c, kind, aux, c.at, c.n)
    if status < 0:
        return status
    keep_known(t, c, term[0])
    return OK


cdef int take_rows(Rows* t) noexcept nogil:
    """Take rows until there are no more (OK), the Batch is FULL, or a fault."""
    cdef int32_t s, p, g
    cdef int32_t o = NO_TERM
    cdef int64_t frame
    cdef int status
    while t.row < t.n_rows:
        if t.lines.batch.n_rows >= t.max_rows or t.lines.batch.n_text > t.max_text:
            return FULL
        if take_term(t, SUBJECT, &s) < 0 or take_term(t, PREDICATE, &p) < 0:
            return t.lines.fault.code
        status = take_object(t, &o) if t.flat else take_term(t, OBJECT, &o)
        if status < 0 or take_term(t, GRAPH, &g) < 0:
            return t.lines.fault.code
        if g != NO_TERM and not t.quads:
            t.at_fault = GRAPH
            return fail(&t.lines.fault, NAMED_GRAPH_IN_TRIPLES, NULL)
        if t.frames != NULL and is_valid(t.frames_valid, t.first_frame + t.row):
            frame = t.frames[t.first_frame + t.row]
            if t.has_frame and frame != t.last_frame and add_frame(t.lines.batch) < 0:
                return fail(&t.lines.fault, NO_MEMORY, NULL)
            t.last_frame = frame
            t.has_frame = True
        if add_row(t.lines.batch, s, p, o, g) < 0:
            return fail(&t.lines.fault, NO_MEMORY, NULL)
        t.row += 1
    return OK


@final
cdef class Intake:
    """Takes columns part by part and makes Batches of them. For one thread.

    >>> from jelly.core.columns import Columns
    >>> import jelly
    >>> columns, intake = Columns(flat=False), Intake(flat=False, quads=False)
    >>> columns.start(next(jelly.read_batches(b'<a:s> <a:p> "o"@en .', format="nt")))
    >>> made = {name: columns.strings(name, 0, 1) for name in "spo"}
    >>> intake.load(1, {name: (0, None, None, 0, 1, None, False, m[3], m[4]) for name, m in made.items()})
    >>> intake.pull(), intake.pull(True).term(3)
    (None, '"o"@en')
    """

    cdef Rows t
    cdef Batch batch
    cdef list views
    cdef object error
    cdef bint busy
    cdef int64_t rows_in  # before the present part
    cdef int64_t rows_out
    cdef int64_t hint_terms
    cdef int64_t hint_text

    def __cinit__(self, *, bint flat, bint quads, int64_t batch_rows=65536, int64_t batch_bytes=1 << 24):
        if batch_rows < 1 or batch_bytes < 1:
            raise ValueError("batch_rows and batch_bytes must be at least 1")
        if init_interner(&self.t.lines.index) < 0:
            raise MemoryError
        self.t.flat = flat
        self.t.quads = quads
        self.t.max_rows = batch_rows
        self.t.max_text = batch_bytes
        self.views = []

    def __dealloc__(self):
        self.release()
        free_interner(&self.t.lines.index)
        free(self.t.lines.scratch.buf)
        free(self.t.lines.scratch_datatype.buf)

    def __reduce__(self):
        raise TypeError("an Intake cannot be pickled")

    cdef void release(self):
        """Let go of the present part."""
        cdef int which
        for which in range(N_COLUMNS):
            free(self.t.columns[which].known)
        memset(self.t.columns, 0, sizeof(self.t.columns))
        self.t.frames = NULL
        self.t.frames_valid = NULL
        self.rows_in += self.t.n_rows
        self.t.n_rows = self.t.row = 0
        self.views = None

    cdef const void* view(self, data, int64_t items, int bits) except? NULL:
        """The memory of a buffer that must have so many items of so many bits."""
        cdef View view = View.__new__(View)
        if data is None:
            return NULL
        PyObject_GetBuffer(data, &view.view, PyBUF_SIMPLE)
        view.held = True
        if items < 0 or view.view.len < (items * bits + 7) // 8:
            raise ValueError(f"a buffer of {view.view.len} bytes is too small for {items} items of {bits} bits")
        self.views.append(view)
        return view.view.buf

    def load(self, int64_t rows, dict columns, frames=None) -> None:
        """Give the next rows; those before must be used up: `pull` gave None.

        Each column is a tuple: first item; validity and int32 indices of a dictionary, or None; first value, number of
        values, their validity or None, whether their offsets have 64 bits, offsets, data. Without a dictionary the
        values are those of the rows. ``frames`` is a tuple of first item, validity or None, int64 data.
        """
        cdef Strings* c
        cdef const void* offsets
        cdef int64_t last
        if self.busy:
            raise RuntimeError("this Intake is in use by another thread")
        if self.error is not None:
            raise self.error
        if self.t.row < self.t.n_rows:
            raise RuntimeError("the last rows are not used up: pull until None first")
        if not 0 <= rows < 1 << 48:
            raise ValueError("the number of rows is out of range")
        self.release()
        self.views = []
        for name, (first, valid, index, first_value, n_values, value_valid, wide, value_offsets, data) in columns.items():
            c = &self.t.columns[<int>_NAMES[name]]
            if min(first, first_value, n_values) < 0 or max(first, first_value, n_values) >= 1 << 48:
                raise ValueError(f"column {name} has an offset or length out of range")
            c.first = first
            c.first_value = first_value
            c.n_values = n_values
            c.valid = <const uint8_t*>self.view(valid, c.first + rows, 1)
            c.index = <const int32_t*>self.view(index, c.first + rows, 32)
            last = c.first_value + c.n_values if index is not None else c.first + rows
            c.value_valid = <const uint8_t*>self.view(value_valid, last, 1)
            if value_offsets is None and last > 0:
                raise ValueError(f"column {name} has no offsets")
            offsets = self.view(value_offsets, last + 1 if last > 0 else 0, 64 if wide else 32)
            if wide:
                c.wide_offsets = <const int64_t*>offsets
            else:
                c.offsets = <const int32_t*>offsets
            c.data = <const uint8_t*>self.view(data, 0, 8)
            c.n_data = 0 if data is None else (<View>self.views[-1]).view.len
            if c.data == NULL:
                c.data = <const uint8_t*>b""
            if index is not None:
                c.known = <Known*>calloc(c.n_values + 1, sizeof(Known))
                if c.known == NULL:
                    raise MemoryError
            c.given = True
        if frames is not None:
            self.t.first_frame = frames[0]
            if not 0 <= self.t.first_frame < 1 << 48:
                raise ValueError("the offset of frames is out of range")
            self.t.frames_valid = <const uint8_t*>self.view(frames[1], self.t.first_frame + rows, 1)
            self.t.frames = <const int64_t*>self.view(frames[2], self.t.first_frame + rows, 64)
        self.t.n_rows = rows

    def pull(self, bint flush=False) -> Batch | None:
        """The next full Batch, or None when the rows are used up. With `flush`, a partial Batch counts as full."""
        cdef int status
        if self.busy:
            raise RuntimeError("this Intake is in use by another thread")
        if self.error is not None:
            raise self.error
        self.busy = True
        try:
            if self.batch is None:
                self.start_batch()
            with nogil:
                status = take_rows(&self.t)
            if status < 0:
                self.error = self.make_error()
                raise self.error
            if status == FULL or (flush and self.batch.a.n_rows > 0):
                return self.give_batch()
            return None
        finally:
            self.busy = False

    cdef int start_batch(self) except -1:
        # The text of a Batch ends at `max_text` and one row more, and that is in memory already.
        cdef int64_t no_limit = 0x1000000000000000
        cdef int64_t rows = min(self.t.n_rows - self.t.row, self.t.max_rows)
        self.batch = new_batch(4 if self.t.quads else 3, rows, self.hint_terms, self.hint_text, no_limit)
        self.batch.first_row = self.rows_out
        self.t.lines.batch = &self.batch.a
        self.t.serial += 1
        clear_interner(&self.t.lines.index)
        return 0

    cdef Batch give_batch(self):
        cdef Batch batch = self.batch
        self.rows_out += batch.a.n_rows
        self.hint_terms = batch.a.n_terms + batch.a.n_terms // 8
        self.hint_text = batch.a.n_text + batch.a.n_text // 8
        self.batch = None
        self.t.lines.batch = NULL
        return batch

    cdef object make_error(self):
        """The error of the fault, with column, row and the beginning of the value."""
        cdef Strings* c = &self.t.columns[self.t.at_fault]
        cdef Fault* fault = &self.t.lines.fault
        place = {}
        if fault.at != NULL and fault.at >= c.at:
            place["column"] = fault.at - c.at + 1
        error = fault_error(fault, place)
        if isinstance(error, MemoryError):
            return error
        name = next(n for n, i in _NAMES.items() if i == self.t.at_fault and (len(n) > 1) == self.t.flat)
        text = (<const char*>c.at)[:min(c.n, EXCERPT)].decode(errors="backslashreplace") if c.n else ""
        shown = f": {text!r}{'...' if c.n > EXCERPT else ''}" if c.n else ""
        return type(error)(f"column {name!r}: {error.reason}{shown}", row=self.rows_in + self.t.row)


cdef class View:
    """A buffer of another object, held."""

    cdef Py_buffer view
    cdef bint held

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)
