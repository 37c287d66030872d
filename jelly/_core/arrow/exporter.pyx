"""Batches to Arrow buffers, with loops that run without the GIL."""

from cython cimport final
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from jelly._core.algebra.content cimport memory_of, read_key
from jelly._core.arrow.buffer_pool cimport Buffer, Pool, new_buffer, own_buffer
from jelly._core.arrow.values cimport (
    KIND_WIDTH, NTRIPLES, PLAIN, SLACK, Render, Span, all_differ, end_render, fill_kind_codes, fill_kinds,
    find_directions, find_same, free_render, render, start_render, start_same,
)
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, has_kind, need_statements
from jelly._core.base.claim cimport Claim
from jelly._core.base.constants cimport GRAPH, OBJECT, PREDICATE, SUBJECT
from jelly._core.base.fault cimport BAD_TERM, NO_MEMORY, OK, fail, fault_error
from jelly._core.base.kinds cimport KIND_LANG, KIND_TYPED
from jelly._core.base.memory cimport make_room
from jelly._core.base.objects cimport Hold, hold
from jelly._core.base.protobuf cimport Writer, reserve
from jelly._core.rules.capabilities cimport Capabilities

import numpy
from os import urandom

from jelly._core.rules.capabilities import capabilities_of
from jelly._options.layouts import find_layout
from jelly.errors import JellyOptionsError

cdef enum:
    # After the slots of a statement.
    DATATYPE = 4
    LANG
    VALUE  # a column of query results: any term, or null
    N_SLOTS
    # Maximum bytes of the data of a column in a record batch: a long literal may be in many rows.
    MAX_DATA = 1 << 26
    # Texts longer than this are copied by memcpy.
    LONG = 512

_SYNTAXES = {"plain": PLAIN, "ntriples": NTRIPLES}

# By the part of a statement that a column holds, see `jelly._options.layouts`.
_SLOTS = {
    "subject": SUBJECT, "predicate": PREDICATE, "object": OBJECT, "graph": GRAPH, "datatype": DATATYPE, "lang": LANG,
}

# Which of subject 1, predicate 2, object 4 and graph 8 a column is made of.
_USES = {part: 1 << min(slot, OBJECT) if slot > GRAPH else 1 << slot for part, slot in _SLOTS.items()}
_USES["object_kind"] = _USES["direction"] = 1 << OBJECT


ctypedef struct Nulls:
    uint8_t* valid  # a bit for each row; NULL: no nulls
    int64_t n


cdef int note_null(Nulls* nulls, int64_t row, int64_t rows) noexcept nogil:
    if nulls.valid == NULL:
        nulls.valid = <uint8_t*>malloc((rows + 7) // 8)
        if nulls.valid == NULL:
            return NO_MEMORY
        memset(nulls.valid, 0xFF, (rows + 7) // 8)
    nulls.valid[row >> 3] &= ~(1 << (row & 7))
    nulls.n += 1
    return OK


cdef int grow_data(Writer* data, int64_t n, int64_t size) noexcept nogil:
    """Make room for `size` bytes after the first `n`, and slack."""
    data.n = n
    return reserve(data, size + SLACK)


cdef int64_t fill_strings(
    Render* r, const int32_t* ids, int64_t rows, int slot, int32_t* offsets, Writer* data, Nulls* nulls
) noexcept nogil:
    """Append the values of some terms one after the other; the rows done, fewer where the data is full, or a code."""
    cdef Span* spans = r.spans
    cdef Span* span
    cdef uint8_t* out
    cdef const uint8_t* text
    cdef int64_t used = 0
    cdef int64_t room = min(data.cap - SLACK, <int64_t>MAX_DATA)
    cdef int64_t row, size, done
    cdef int32_t term
    cdef int32_t n_terms = r.b.n_terms
    offsets[0] = 0
    for row in range(rows):
        term = ids[row]
        if term < 0 or term >= n_terms:
            if term != NO_TERM or slot < GRAPH:
                data.n = row
                return fail(&r.fault, BAD_TERM, NULL, term, slot)
            if note_null(nulls, row, rows) < 0:
                return fail(&r.fault, NO_MEMORY, NULL)
            offsets[row + 1] = <int32_t>used
            continue
        span = &spans[term]
        if span.at == NULL and render(r, term) < 0:
            data.n = row
            return r.fault.code
        size = span.n
        if used + size > room:
            if used > 0 and used + size > MAX_DATA:
                data.n = used
                return row
            if grow_data(data, used, size) < 0:
                return fail(&r.fault, NO_MEMORY, NULL)
            room = min(data.cap - SLACK, <int64_t>MAX_DATA)
        out = data.buf + used
        text = span.at
        if size > LONG:
            memcpy(out, text, size)
        else:
            # Steps of a fixed size need no call; what is too much is overwritten next.
            memcpy(out, text, SLACK)
            done = SLACK
            while done < size:
                memcpy(out + done, text + done, SLACK)
                done += SLACK
        used += size
        offsets[row + 1] = <int32_t>used
    data.n = used
    return rows


cdef int fill_aux(Render* r, const int32_t* ids, int64_t rows, int kind, int32_t* out) noexcept nogil:
    """The aux of the terms of a kind, NO_TERM for the others. The two arrays may be one."""
    cdef BatchData* b = r.b
    cdef int64_t row
    cdef int32_t term
    for row in range(rows):
        term = ids[row]
        if term < 0 or term >= b.n_terms:
            if term != NO_TERM or b.cells == NULL:
                return fail(&r.fault, BAD_TERM, NULL, term, OBJECT)
            out[row] = NO_TERM
            continue
        out[row] = b.aux[term] if b.kind[term] == kind else NO_TERM
    return OK


cdef void fill_column(
    BatchData* b, int64_t column, const int64_t* chosen, int64_t row, int64_t end, int32_t* out
) noexcept nogil:
    """The cells of one variable in some rows of query results, or in some of those that were chosen."""
    cdef int64_t i
    for i in range(row, end):
        out[i - row] = b.cells[(i if chosen == NULL else chosen[i]) * b.width + column]


ctypedef struct Values:
    # a dictionary in the making
    int32_t* of_term  # where the value of a term is; -1: not there yet
    Writer offsets
    Writer data


cdef int32_t add_value(Render* r, Values* values, int32_t term, int slot) noexcept nogil:
    """The index of the value of a term in the dictionary, where it may be already; or a code."""
    cdef int32_t first = find_same(r, term)
    cdef int32_t index
    cdef Span* span
    if first < 0:
        return first
    index = values.of_term[first]
    if index < 0:
        span = &r.spans[first]
        if reserve(&values.offsets, sizeof(int64_t)) < 0 or reserve(&values.data, span.n) < 0:
            return fail(&r.fault, NO_MEMORY, NULL)
        index = <int32_t>(values.offsets.n // <int64_t>sizeof(int64_t)) - 1
        if span.n:  # else there may be no memory yet
            memcpy(values.data.buf + values.data.n, span.at, span.n)
        values.data.n += span.n
        memcpy(values.offsets.buf + values.offsets.n, &values.data.n, sizeof(int64_t))
        values.offsets.n += sizeof(int64_t)
        values.of_term[first] = index
    values.of_term[term] = index
    return index


cdef int64_t fill_codes(
    Render* r, const int32_t* ids, int64_t rows, int slot, Values* values, int32_t* out, Nulls* nulls
) noexcept nogil:
    """Indices into a dictionary that is made on the way; OK or a code."""
    cdef int32_t* of_term = values.of_term
    cdef int64_t row
    cdef int64_t zero = 0
    cdef int32_t term, index
    cdef int32_t n_terms = r.b.n_terms
    if reserve(&values.offsets, sizeof(int64_t)) < 0:
        return fail(&r.fault, NO_MEMORY, NULL)
    memcpy(values.offsets.buf, &zero, sizeof(int64_t))
    values.offsets.n = sizeof(int64_t)
    for row in range(rows):
        term = ids[row]
        if term < 0 or term >= n_terms:
            if term != NO_TERM or slot < GRAPH:
                values.data.n = row
                return fail(&r.fault, BAD_TERM, NULL, term, slot)
            if note_null(nulls, row, rows) < 0:
                return fail(&r.fault, NO_MEMORY, NULL)
            out[row] = 0
            continue
        index = of_term[term]
        if index < 0:
            index = add_value(r, values, term, slot)
            if index < 0:
                values.data.n = row
                return index
        out[row] = index
    return OK


cdef void fill_frames(
    BatchData* b, int64_t frame, const int64_t* chosen, int64_t row, int64_t end, int64_t* out
) noexcept nogil:
    """The number of the frame of each row, or of each that was chosen."""
    cdef int64_t i = 0
    cdef int64_t first = row
    while row < end:
        while i < b.n_frames and b.frames[i] <= (row if chosen == NULL else chosen[row]):
            i += 1
        out[row - first] = frame + i
        row += 1


cdef bint in_order(const int64_t* chosen, int64_t n, int64_t rows) noexcept nogil:
    """Whether the rows that were chosen are there, each once."""
    cdef int64_t last = -1
    cdef int64_t i
    for i in range(n):
        if chosen[i] <= last or chosen[i] >= rows:
            return False
        last = chosen[i]
    return True


@final
cdef class ArrowExporter:
    """Makes Arrow buffers of Batches, one Batch after the other. For one thread; keeps its tables from Batch to Batch.

    Several may share a ``pool`` of memory. With ``results`` the Batches are of query results, and columns are called by
    the names of their variables.

    >>> import jelly
    >>> columns = ArrowExporter("flat")
    >>> columns.start(next(jelly.scan(b'<a:s> <a:p> "o"@en .', format="nt").batches()))
    >>> rows, nulls, valid, offsets, data = columns.strings("lang", 0, 1)
    >>> rows, nulls, valid, bytes(data)
    (1, 0, None, b'en')
    """

    cdef Render r
    cdef Batch batch
    cdef readonly Pool pool
    cdef dict parts  # that the columns of the layout hold
    cdef dict columns  # of query results: the number of the column of each variable
    cdef int syntax
    cdef bint results
    cdef bint terms  # the layout has all that a term says, in columns of their own
    cdef Capabilities capabilities
    cdef Claim claimed
    cdef bint has_same  # find_same may be asked
    cdef int differ  # all_differ said so; -1: not asked yet
    cdef int32_t* scratch
    cdef int64_t cap_scratch
    cdef int32_t* of_term
    cdef int64_t cap_of_term
    cdef double hint[7]  # bytes of a row in the last record batch
    # The ids of the rows: those of the Batch, or some of them, which are copied when their column is asked for.
    cdef const int32_t* spog[4]
    cdef int copied  # bits of the columns
    cdef int64_t n_rows
    cdef object chosen  # the numpy array of their numbers; None: all rows
    cdef const int64_t* numbers
    cdef int32_t* picked
    cdef int64_t cap_picked

    def __cinit__(self, str layout not None, *, Pool pool=None, bint results=False):
        cdef int slot
        self.pool = Pool() if pool is None else pool
        self.terms = layout == "term"
        found = find_layout("flat" if self.terms else layout)
        self.parts = found.parts
        self.syntax = _SYNTAXES[found.syntax]
        self.results = results
        self.capabilities = capabilities_of(("results-" if results else "") + layout)
        read_key(urandom(16), &self.r.key)
        for slot in range(N_SLOTS):
            self.hint[slot] = 16

    def __dealloc__(self):
        free_render(&self.r)
        free(self.scratch)
        free(self.of_term)
        free(self.picked)

    def start(self, Batch batch, rows=None, names=None) -> None:
        """Go on to another Batch; None lets go of the last.

        ``rows`` is an int64 array of the rows that are meant, in order: from then on they are rows 0, 1, 2 ...
        ``names`` are the columns that will be asked for (None: all). JellyUnsupportedError where the layout cannot
        hold what stands in them.
        """
        held = hold(&self.claimed, self)
        cdef int slots = 15
        cdef bint directions = self.terms
        end_render(&self.r)
        self.batch = None
        self.has_same = False
        self.differ = -1
        self.chosen = None
        self.numbers = NULL
        if batch is None:
            return
        if batch.a.op != NULL:
            raise JellyOptionsError("a patch has operations: it cannot become columns of statements")
        if names is not None:
            slots = 0
            for name in names:
                part = self.parts.get(name)
                slots |= <int>_USES.get(part, 0)
                directions = directions or part == "direction"
        self.batch = batch = self.capabilities.fit(batch, rows, slots)
        if self.results:
            self.columns = {name: i for i, name in enumerate(batch.variables)}
        if start_render(&self.r, &batch.a, self.syntax, directions) < 0:
            self.batch = None
            raise MemoryError
        self.spog[0], self.spog[1], self.spog[2], self.spog[3] = batch.a.s, batch.a.p, batch.a.o, batch.a.g
        self.n_rows = batch.a.n_rows
        if rows is not None:
            try:
                self.choose(rows)
            except BaseException:
                self.batch = None
                raise

    cdef int choose(self, rows) except -1:
        cdef int64_t n = len(rows)
        if make_room(<void**>&self.picked, &self.cap_picked, 4 * n, sizeof(int32_t)) < 0:
            raise MemoryError
        self.chosen = numpy.ascontiguousarray(rows, numpy.int64)
        self.numbers = <const int64_t*>memory_of(self.chosen)
        if not in_order(self.numbers, n, self.n_rows):
            raise IndexError(f"the rows are not in order or lead out of a Batch of {self.n_rows}")
        self.copied = 0
        self.n_rows = n
        return 0

    cdef const int32_t* column(self, int slot) noexcept:
        """The term ids of the rows; NULL where the Batch has no such column."""
        cdef int32_t* ids = self.picked + slot * self.n_rows
        cdef int64_t i
        if self.numbers != NULL and self.spog[slot] != NULL and not self.copied >> slot & 1:
            for i in range(self.n_rows):
                ids[i] = self.spog[slot][self.numbers[i]]
            self.spog[slot] = ids
            self.copied |= 1 << slot
        return self.spog[slot]

    cdef Hold enter(self, int64_t row, int64_t end):
        held = hold(&self.claimed, self)
        if self.batch is None:
            raise ValueError("there is no Batch: call start() first")
        if not 0 <= row <= end <= self.n_rows:
            raise IndexError(f"rows {row} to {end} of a Batch of {self.n_rows}")
        return held

    cdef object error(self, int64_t row):
        if self.numbers != NULL and row < self.n_rows:
            row = self.numbers[row]
        error = fault_error(&self.r.fault, {"row": self.batch.first_row + row})
        self.r.fault.code = OK
        return error

    cdef int slot_of(self, str name, str part) except -1:
        return VALUE if self.results and part is None else _SLOTS[self.parts[name] if part is None else part]

    cdef const int32_t* ids(self, int slot, str name, int64_t row, int64_t end) except? NULL:
        """The term ids of a column; NULL where all of its rows are null."""
        cdef BatchData* b = &self.batch.a
        cdef int kind = KIND_TYPED if slot == DATATYPE else KIND_LANG
        cdef const int32_t* ids
        cdef int status
        if slot <= GRAPH:
            ids = self.column(slot)
            return NULL if ids == NULL else ids + row
        if slot != VALUE and not has_kind(b, kind):
            return NULL
        ids = self.objects(name, row, end)
        if slot == VALUE:
            return ids
        if make_room(<void**>&self.scratch, &self.cap_scratch, end - row, sizeof(int32_t)) < 0:
            raise MemoryError
        with nogil:
            status = fill_aux(&self.r, ids, end - row, kind, self.scratch)
        if status < 0:
            raise self.error(row)
        return self.scratch

    cdef const int32_t* objects(self, name, int64_t row, int64_t end) except? NULL:
        """The term ids of the object, or in query results those of a variable."""
        cdef BatchData* b = &self.batch.a
        cdef int64_t column
        if name is None or not self.results:
            need_statements(self.batch)
            return self.column(OBJECT) + row
        if make_room(<void**>&self.scratch, &self.cap_scratch, end - row, sizeof(int32_t)) < 0:
            raise MemoryError
        column = self.columns[name]
        with nogil:
            fill_column(b, column, self.numbers, row, end, self.scratch)
        return self.scratch

    def strings(self, name: str, int64_t row, int64_t end, part: str | None = None):
        """Rows done, nulls, validity (or None), int32 offsets and data of a column of strings; None: all are null.

        Fewer rows are done than asked for where the data would pass 64 MB. Of the terms of a variable ``part`` may be
        datatype or lang.
        """
        cdef int slot = self.slot_of(name, part)
        cdef const int32_t* ids
        held = self.enter(row, end)
        ids = self.ids(slot, name, row, end)
        return None if ids == NULL else self.fill(slot, ids, row, end)

    cdef object fill(self, int slot, const int32_t* ids, int64_t row, int64_t end):
        cdef Buffer offsets
        cdef Writer data
        cdef Nulls nulls
        cdef int64_t rows
        data.buf = NULL
        data.n = data.cap = 0
        nulls.valid = NULL
        nulls.n = 0
        try:
            offsets = new_buffer(self.pool, (end - row + 1) * sizeof(int32_t))
            data.buf = <uint8_t*>self.pool.take(
                min(<int64_t>(self.hint[slot] * (end - row) * 1.125), MAX_DATA) + 2 * SLACK, &data.cap
            )
            with nogil:
                rows = fill_strings(&self.r, ids, end - row, slot, <int32_t*>offsets.data, &data, &nulls)
            if rows < 0:
                raise self.error(row + data.n)
            if rows:
                self.hint[slot] = <double>data.n / rows
            offsets.n = (rows + 1) * sizeof(int32_t)
            return rows, nulls.n, take_valid(self.pool, &nulls, rows), offsets, own_buffer(self.pool, &data, data.n)
        finally:
            free(data.buf)
            free(nulls.valid)

    def codes(self, name: str, int64_t row, int64_t end, part: str | None = None):
        """Nulls, validity (or None), int32 indices, int64 offsets and data of a dictionary whose values all differ;
        None: all are null."""
        cdef int slot = self.slot_of(name, part)
        cdef Buffer indices
        cdef Values values
        cdef Nulls nulls
        cdef const int32_t* ids
        cdef int64_t status
        cdef int32_t n_terms
        held = self.enter(row, end)
        memset(&values, 0, sizeof(Values))
        nulls.valid = NULL
        nulls.n = 0
        n_terms = self.batch.a.n_terms
        try:
            ids = self.ids(slot, name, row, end)
            if ids == NULL:
                return None
            self.need_same()
            if make_room(<void**>&self.of_term, &self.cap_of_term, n_terms, sizeof(int32_t)) < 0:
                raise MemoryError
            values.of_term = self.of_term
            indices = new_buffer(self.pool, (end - row) * sizeof(int32_t))
            with nogil:
                if n_terms:
                    memset(values.of_term, 0xFF, n_terms * sizeof(int32_t))
                status = fill_codes(&self.r, ids, end - row, slot, &values, <int32_t*>indices.data, &nulls)
            if status < 0:
                raise self.error(row + values.data.n)
            return (
                nulls.n, take_valid(self.pool, &nulls, end - row), indices,
                own_buffer(self.pool, &values.offsets, values.offsets.n), own_buffer(self.pool, &values.data, values.data.n),
            )
        finally:
            free(values.offsets.buf)
            free(values.data.buf)
            free(nulls.valid)

    cdef int need_same(self) except -1:
        if not self.has_same and start_same(&self.r) < 0:
            raise MemoryError
        self.has_same = True
        return 0

    def all_differ(self) -> bool:
        """Whether the Batch's own text is a dictionary of its terms: no two alike, none that is written otherwise."""
        held = self.enter(0, 0)
        if self.differ < 0:
            self.need_same()
            with nogil:
                self.differ = all_differ(&self.r)
            if self.differ < 0:
                raise self.error(0)
        return self.differ == 1

    def kinds(self, int64_t row, int64_t end):
        """int32 offsets and data of the column object_kind."""
        cdef Buffer offsets, data
        cdef const int32_t* ids
        cdef int64_t n
        held = self.enter(row, end)
        need_statements(self.batch)
        ids = self.column(OBJECT)
        offsets = new_buffer(self.pool, (end - row + 1) * sizeof(int32_t))
        data = new_buffer(self.pool, KIND_WIDTH * (end - row + 1))
        with nogil:
            n = fill_kinds(&self.r, ids + row, end - row, <int32_t*>offsets.data, <uint8_t*>data.data)
        if n < 0:
            raise self.error(row)
        data.n = n
        return offsets, data

    def kind_codes(self, int64_t row, int64_t end, name: str | None = None):
        """int8 indices of the kinds of objects, or of the terms of a variable, into literal, iri, bnode, triple; -1 where
        it is unbound."""
        return self.small_codes(name, row, end, False)

    def directions(self, int64_t row, int64_t end, name: str | None = None):
        """int8 codes of their base directions: 0 ltr, 1 rtl, -1 where there is none; None where all have none."""
        return self.small_codes(name, row, end, True)

    cdef object small_codes(self, name, int64_t row, int64_t end, bint directions):
        cdef Buffer codes
        cdef int64_t status
        cdef const int32_t* ids
        held = self.enter(row, end)
        ids = self.objects(name, row, end)
        codes = new_buffer(self.pool, end - row)
        with nogil:
            if directions:
                status = find_directions(&self.r, ids, end - row, <int8_t*>codes.data)
            else:
                status = fill_kind_codes(&self.r, ids, end - row, <int8_t*>codes.data)
        if status < 0:
            raise self.error(row)
        return codes if status or not directions else None

    def frames(self, int64_t row, int64_t end):
        """int64 numbers of the frames of some rows."""
        cdef Buffer frames
        held = self.enter(row, end)
        frames = new_buffer(self.pool, (end - row) * sizeof(int64_t))
        with nogil:
            fill_frames(&self.batch.a, self.batch.first_frame, self.numbers, row, end, <int64_t*>frames.data)
        return frames


cdef object take_valid(Pool pool, Nulls* nulls, int64_t rows):
    cdef Writer bits
    if nulls.valid == NULL:
        return None
    bits.buf = nulls.valid
    bits.n = bits.cap = (rows + 7) // 8
    nulls.valid = NULL
    return own_buffer(pool, &bits, (rows + 7) // 8)
