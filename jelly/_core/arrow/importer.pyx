"""Arrow string columns, plain or dictionary, to Batches, including patches."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from jelly._core.arrow.import_rows cimport (
    DIRECTION, KIND, LANG, N_COLUMNS, OP, PATCH, ArrowImport, CachedCell, Strings, take_rows,
)
from jelly._core.arrow.values cimport NTRIPLES, PLAIN
from jelly._core.base.batch cimport Batch, add_operations, clear_interner, free_interner, init_interner, new_batch
from jelly._core.base.claim cimport Claim
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.fault cimport FULL, Fault, fault_error
from jelly._core.base.objects cimport hold
from jelly._core.ntriples.term_reader cimport DATATYPE, GRAPH, OBJECT, PREDICATE, SUBJECT

from jelly._options.layouts import find_layout
from jelly.errors import JellyArgumentError

cdef enum:
    # Characters of a value in an error.
    EXCERPT = 60

_SYNTAXES = {"plain": PLAIN, "ntriples": NTRIPLES}

# By the part of a statement that a column holds, see `jelly._options.layouts`.
_COLUMNS = {
    "subject": SUBJECT, "predicate": PREDICATE, "object": OBJECT, "graph": GRAPH, "datatype": DATATYPE, "lang": LANG,
    "object_kind": KIND, "direction": DIRECTION,
}


@final
cdef class ArrowImporter:
    """Takes columns part by part and makes Batches of them. For one thread.

    With `patch` a column ``op`` says what to do with each statement, and where the number of the patch changes, a
    patch ends; with `transactions` each but the first begins with a start, and each but the last ends with a commit.

    >>> from jelly._core.arrow.exporter import ArrowExporter
    >>> import jelly
    >>> columns, reader = ArrowExporter("ntriples"), ArrowImporter("ntriples", quads=False)
    >>> columns.start(next(jelly.scan(b'<a:s> <a:p> "o"@en .', format="nt").batches()))
    >>> made = {name: columns.strings(name, 0, 1) for name in "spo"}
    >>> reader.load(1, {name: (0, None, None, 0, 1, None, False, m[3], m[4]) for name, m in made.items()})
    >>> reader.pull(), reader.pull(True).term(3)
    (None, '"o"@en')
    """

    cdef ArrowImport t
    cdef Batch batch
    cdef dict names  # of the columns
    cdef list views
    cdef object error
    cdef Claim claimed
    cdef int64_t rows_in  # before the present part
    cdef int64_t rows_out
    cdef int64_t hint_terms
    cdef int64_t hint_text

    def __cinit__(
        self, str layout not None, *, bint quads, bint patch=False, bint transactions=False, int64_t batch_rows=65536,
        int64_t batch_bytes=1 << 24,
    ):
        if batch_rows < 1 or batch_bytes < 1:
            raise JellyArgumentError("batch_rows and batch_bytes must be at least 1")
        if init_interner(&self.t.lines.index) < 0:
            raise MemoryError
        found = find_layout(layout)
        self.names = {name: _COLUMNS[part] for name, part in found.parts.items()} | {"op": OP, "patch": PATCH}
        self.t.syntax = _SYNTAXES[found.syntax]
        self.t.quads = quads
        self.t.patch = patch
        self.t.transactions = transactions
        self.t.max_rows = batch_rows
        self.t.max_text = batch_bytes
        self.views = []

    def __dealloc__(self):
        self.release()
        free_interner(&self.t.lines.index)
        free(self.t.lines.scratch.buf)
        free(self.t.lines.scratch_datatype.buf)

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
        """The memory of a buffer that must have a number of items of a number of bits."""
        cdef View view = View.__new__(View)
        if data is None:
            return NULL
        PyObject_GetBuffer(data, &view.view, PyBUF_SIMPLE)
        view.held = True
        if items < 0 or view.view.len < (items * bits + 7) // 8:
            raise JellyArgumentError(f"a buffer of {view.view.len} bytes is too small for {items} items of {bits} bits")
        self.views.append(view)
        return view.view.buf

    def load(self, int64_t rows, dict columns, frames=None) -> None:
        """Give the next rows; those before must be used up: `pull` gave None.

        Each column is a tuple: first item; validity and int32 indices of a dictionary, or None; first value, number of
        values, their validity or None, whether their offsets have 64 bits, offsets, data. Without a dictionary the
        values are those of the rows. ``frames``, the numbers of frames or of patches, is a tuple of first item,
        validity or None, int64 data.
        """
        held = hold(&self.claimed, self)
        cdef Strings* c
        cdef const void* offsets
        cdef int64_t last
        if self.error is not None:
            raise self.error
        if self.t.row < self.t.n_rows:
            raise RuntimeError("the last rows are not used up: pull until None first")
        if not 0 <= rows < 1 << 48:
            raise JellyArgumentError("the number of rows is out of range")
        self.release()
        self.views = []
        for name, (first, valid, index, first_value, n_values, value_valid, wide, value_offsets, data) in columns.items():
            c = &self.t.columns[<int>self.names[name]]
            if min(first, first_value, n_values) < 0 or max(first, first_value, n_values) >= 1 << 48:
                raise JellyArgumentError(f"column {name} has an offset or length out of range")
            c.first = first
            c.first_value = first_value
            c.n_values = n_values
            c.valid = <const uint8_t*>self.view(valid, c.first + rows, 1)
            c.index = <const int32_t*>self.view(index, c.first + rows, 32)
            last = c.first_value + c.n_values if index is not None else c.first + rows
            c.value_valid = <const uint8_t*>self.view(value_valid, last, 1)
            if value_offsets is None and last > 0:
                raise JellyArgumentError(f"column {name} has no offsets")
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
                c.known = <CachedCell*>calloc(c.n_values + 1, sizeof(CachedCell))
                if c.known == NULL:
                    raise MemoryError
            c.given = True
        if frames is not None:
            self.t.first_frame = frames[0]
            if not 0 <= self.t.first_frame < 1 << 48:
                raise JellyArgumentError("the offset of frames is out of range")
            self.t.frames_valid = <const uint8_t*>self.view(frames[1], self.t.first_frame + rows, 1)
            self.t.frames = <const int64_t*>self.view(frames[2], self.t.first_frame + rows, 64)
        self.t.n_rows = rows

    def pull(self, bint flush=False) -> Batch | None:
        """The next full Batch, or None when the rows are used up. With `flush`, a partial Batch counts as full.

        Rows before a wrong value are handed out first, then its error is raised.
        """
        cdef int status
        held = hold(&self.claimed, self)
        if self.error is None:
            if self.batch is None:
                self.start_batch()
            with nogil:
                status = take_rows(&self.t)
            if status < 0:
                self.error = self.make_error()
        if self.error is not None:
            if self.batch is not None and self.batch.a.n_rows > 0:
                return self.give_batch()
            raise self.error
        if status == FULL or (flush and self.batch.a.n_rows > 0):
            return self.give_batch()
        return None

    cdef int start_batch(self) except -1:
        # The text of a Batch ends at `max_text` and one row more, and that is in memory already.
        cdef int64_t rows = min(self.t.n_rows - self.t.row, self.t.max_rows)
        self.batch = new_batch(4 if self.t.quads else 3, rows, self.hint_terms, self.hint_text, NO_LIMIT)
        if self.t.patch and add_operations(&self.batch.a) < 0:
            raise MemoryError
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
        location = {}
        if fault.at != NULL and fault.at >= c.at:
            location["column"] = fault.at - c.at + 1
        error = fault_error(fault, location)
        if isinstance(error, MemoryError):
            return error
        which = self.t.at_fault
        name = next(n for n, i in self.names.items() if i == which)
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
