"""The base of all readers: chunks of bytes in, Batches out. Independent of formats."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

from jelly._core.base.batch cimport add_operations, clear_arena, new_batch
from jelly._core.base.claim cimport claim, give_back, try_claim
from jelly._core.base.fault cimport FULL, NEED_MORE

from jelly.errors import JellyArgumentError


# A failed reader is often in a reference cycle (its error's traceback refers to it). Keep the garbage collector from
# clearing its buffers before __dealloc__.
@cython.no_gc_clear
cdef class PushReader:
    """The base of `Decoder`, `TextReader` and `BinaryReader`: bytes in, Batches out, no I/O.

    ``feed(chunk)`` and ``close()`` are all that most callers need; with ``push``, ``finish`` and ``pull`` a caller takes
    only Batches that are full, however the input is cut. ``bytes_read`` counts what was pushed.

    A reader that raised stays failed: it raises the same error again. It serves one thread at a time.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False)
    >>> isinstance(reader, PushReader), [len(batch) for batch in reader.feed(b"<a:s> <a:p> <a:o> .\\n<a:s> <a")]
    (True, [1])
    >>> [batch.first_row for data in (b":p> <a:o> .\\n", b"<a:s> ") for batch in reader.feed(data)], reader.statements
    ([1], 2)
    >>> reader.close()
    Traceback (most recent call last):
    jelly.JellyTruncatedError: column 7: the input ends inside a statement (byte 46, line 3)
    """

    def __cinit__(self):
        self.hint_rows = FIRST_ROWS
        self.hint_terms = FIRST_TERMS
        self.hint_text = FIRST_TEXT

    def __dealloc__(self):
        if self.has_view:
            PyBuffer_Release(&self.held.view)

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled")

    @property
    def statements(self) -> int:
        """Number of statements read so far; of query results the number of rows. While another thread reads, those given out."""
        if not try_claim(&self.claimed):
            return self.rows_out
        try:
            return self.rows_out + self.rows_here()
        finally:
            give_back(&self.claimed)

    def push(self, data) -> None:
        """Pass the next chunk of bytes.

        Parameters
        ----------
        data : bytes-like
            The chunk. The reader keeps a reference to it until it has been read.

        Raises
        ------
        RuntimeError
            If the previous chunk is not used up. Call `pull` until it returns None.
        ValueError
            If the reader is closed.
        """
        claim(&self.claimed, self)
        try:
            self.begin_chunk(data)
        finally:
            give_back(&self.claimed)

    cdef int begin_chunk(self, data) except -1:
        if self.error is not None:
            raise self.error
        if self.final:
            raise ValueError(f"the {type(self).__name__} is closed")
        if self.has_view:
            if not self.is_used_up():
                raise RuntimeError("the chunk before is not used up: take all Batches of feed() first, or pull until None")
            self.release()
        try:
            PyObject_GetBuffer(data, &self.held.view, PyBUF_SIMPLE)
        except (TypeError, BufferError):
            raise JellyArgumentError(f"data is {data!r:.80}: expected bytes, in one piece") from None
        if self.held.view.len == 0:
            PyBuffer_Release(&self.held.view)
            return 0
        self.has_view = True
        self.rest = <const uint8_t*>self.held.view.buf
        self.rest_end = self.rest + self.held.view.len
        self.bytes_read += self.held.view.len
        return self.take_chunk()

    def _set_rows(self, int64_t rows) -> None:
        """Put at most so many rows into the Batches that follow, if this reader can."""
        claim(&self.claimed, self)
        if self.max_rows != NULL:
            self.max_rows[0] = rows
        give_back(&self.claimed)

    def finish(self) -> None:
        """Declare the end of the input. `pull` then returns the remaining Batches, or raises the error of a truncated input."""
        claim(&self.claimed, self)
        self.final = True
        give_back(&self.claimed)

    def pull(self, bint flush=False):
        """Return the next full Batch.

        Parameters
        ----------
        flush : bool, default False
            Also return a Batch that is not full.

        Returns
        -------
        Batch or None
            None if the input is used up.

        Raises
        ------
        JellyError
            If the input is wrong. All statements before the error are returned first.
        """
        return self.next_batch(flush)

    def feed(self, data):
        """Read a chunk of bytes.

        Parameters
        ----------
        data : bytes-like
            The chunk.

        Returns
        -------
        Iterator[Batch]
            Batches with all statements that are complete by now. Consume it before the next chunk.

        Raises
        ------
        JellyError
            If the input is wrong. The iterator raises it, after the Batches before the error.
        """
        self.push(data)
        return BatchIterator(self)

    def close(self):
        """End the input and read what is left.

        Returns
        -------
        Iterator[Batch]
            The remaining Batches.

        Raises
        ------
        JellyTruncatedError
            If the input ends inside a statement. If no Batch comes before it, the error is raised at once.
        """
        self.finish()
        return BatchIterator(self, self.next_batch(True))

    cdef object next_batch(self, bint flush):
        claim(&self.claimed, self)
        try:
            return self.pull_claimed(flush)
        finally:
            give_back(&self.claimed)

    cdef object pull_claimed(self, bint flush):
        cdef int status
        while True:
            if self.error is not None:
                self.release()
                # Rows before the error are handed out before it is raised.
                if self.has_some() or self.has_names():
                    return self.give_batch()
                raise self.error
            status = self.read()
            if status == FULL:
                return self.give_batch()
            if status == NEED_MORE and not self.next_bytes() and self.error is None:
                self.release()
                if self.final:
                    self.end_input()
                if self.error is None:
                    return self.give_rest() if flush or self.final else None

    cdef bint is_used_up(self) noexcept:
        """Whether the next chunk can be pushed although `pull` did not return None."""
        return False

    cdef int take_chunk(self) except -1:
        """Begin with the chunk from `rest` to `rest_end`, of at least one byte."""
        return 0

    cdef int read(self) except -1:
        """Fill the Batch until it is FULL or the result is NEED_MORE; OK: call again. Errors go to `error`."""
        raise NotImplementedError

    cdef bint next_bytes(self) except -1:
        """Read more of the chunk; False if nothing of it is left, or after an error."""
        return False

    cdef int end_input(self) except -1:
        """The end of the input was reached: report errors of missing data here."""
        return 0

    cdef int64_t rows_here(self) noexcept:
        """Rows in the Batch that is being filled."""
        return 0 if self.batch is None else self.batch.a.n_rows

    cdef bint has_some(self) noexcept:
        """Whether the Batch has something to hand out."""
        return self.batch is not None and (self.rows_here() > 0 or self.batch.a.n_frames > 0)

    cdef bint has_names(self) noexcept:
        """Whether the Batch has namespaces that an error would lose."""
        return self.batch is not None and self.batch.a.n_names > 0

    cdef object give_rest(self):
        """The Batch at the end of a chunk, or None if it is empty."""
        return self.give_batch() if self.has_some() else None

    cdef object give_batch(self):
        return self.take_batch()

    cdef int release(self) except -1:
        """Release the chunk."""
        if self.has_view:
            self.has_view = False
            PyBuffer_Release(&self.held.view)
        self.rest = self.rest_end = NULL
        return 0

    cdef BatchData* begin_batch(self, int arity, int64_t max_text, bint patch) except NULL:
        cdef Batch batch = self.spare
        self.spare = None
        if batch is None or batch.a.arity != arity:
            batch = new_batch(arity, self.hint_rows, self.hint_terms, self.hint_text, max_text)
        else:
            clear_arena(&batch.a)
        if patch and add_operations(&batch.a) < 0:
            raise MemoryError
        batch.first_row = self.rows_out
        batch.first_frame = self.frames_out
        self.batch = batch
        return &batch.a

    cdef Batch take_batch(self):
        cdef Batch batch = self.batch
        self.rows_out += self.rows_here()
        self.frames_out += batch.a.n_frames
        self.hint_rows = batch.a.n_rows + 8
        self.hint_terms = batch.a.n_terms + batch.a.n_terms // 8 + 16
        self.hint_text = batch.a.n_text + batch.a.n_text // 8 + 512
        self.batch = None
        return batch


@cython.final
cdef class BatchIterator:
    """The iterator that `PushReader.feed` and `PushReader.close` return: each step pulls a Batch.

    >>> from jelly._core.ntriples.text import TextReader
    >>> batches = TextReader(quads=False).feed(b"<a:s> <a:p> <a:o> .\\n")
    >>> [len(batch) for batch in batches], list(batches)
    ([1], [])
    """

    cdef PushReader reader  # None at the end
    cdef object first
    cdef Claim claimed

    def __cinit__(self, PushReader reader not None, first=None):
        self.reader = reader
        self.first = first

    def __reduce__(self):
        raise TypeError("a BatchIterator cannot be pickled")

    def __iter__(self):
        return self

    def __next__(self):
        claim(&self.claimed, self)
        try:
            found = self.first
            self.first = None
            if found is None and self.reader is not None:
                found = self.reader.next_batch(True)
            if found is None:
                self.reader = None
                raise StopIteration
            return found
        finally:
            give_back(&self.claimed)
