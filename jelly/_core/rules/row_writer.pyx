"""RowWriter: the base of writers whose Batches are written row by row, part by part. Independent of formats."""

from libc.string cimport memset

from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.fault cimport fault_error
from jelly._core.base.objects cimport hold
from jelly._core.base.protobuf cimport written

from jelly.errors import JellyArgumentError, JellyOptionsError


cdef class RowWriter:
    """Batches in, bytes out, no I/O."""

    def __cinit__(self, *_, **__):
        if type(self).__name__.endswith("RowWriter"):
            raise TypeError(f"{type(self).__name__} is the base of writers")
        self.foot = b""

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled")

    cdef Batch fit(self, Batch batch):
        """A Batch that can be written."""
        batch = self.capabilities.fit(batch)
        if self.variables is not None and batch.variables != self.variables:
            raise JellyOptionsError(f"the variables are {batch.variables}: expected {self.variables}, as in the header")
        return batch

    cdef int start(self) except -1:
        """Write what comes before all Batches."""
        return 0

    cdef int load(self, Batch batch) except -1:
        """Make ready to write a Batch."""
        raise NotImplementedError

    cdef int write(self, int64_t size) noexcept nogil:
        """Write rows until there are `size` bytes or no more; `row` and `name` move past the last. A negative result is a
        code."""
        return -1

    cdef void unload(self) noexcept:
        """Forget the Batch."""

    def encode(self, Batch batch not None, keep_frames=None) -> bytes:
        """The rows of a Batch, at the first time after their head. ``keep_frames`` is ignored: there are no frames."""
        return b"".join(self.chunks(batch, NO_LIMIT))

    def chunks(self, Batch batch not None, int64_t size=1 << 20):
        """The rows of a Batch, part by part of about `size` bytes, so that they are never all in memory.

        JellyOptionsError where another Batch is written before the last part was taken, or this was closed.
        """
        cdef int status
        if size < 1:
            raise JellyArgumentError("size must be at least 1")
        batch = self.fit(batch)
        held = self.enter()
        self.open = True
        try:
            self.row = self.name = 0
            self.load(batch)
            held = None
            while self.row < batch.a.n_rows or self.name < batch.a.n_names or self.out.n > 0:
                held = hold(&self.claimed, self)
                with nogil:
                    status = self.write(size)
                if status < 0:
                    raise self.take_error(batch.first_row + self.row)
                part = self.take_out()
                held = None
                yield part
        finally:
            held = None
            self.unload()
            self.open = False

    cdef Hold enter(self):
        """Claim the writer, between two Batches, and begin if that is still to do."""
        held = hold(&self.claimed, self)
        if self.open:
            raise JellyOptionsError("the last Batch is not written to its end: take all of its chunks first")
        if not self.started:
            self.start()
        self.started = True
        return held

    def close(self) -> bytes:
        """The rest to write: where there was no Batch, what comes before them, and what comes after all."""
        held = self.enter()
        return self.take_out() + self.foot

    cdef object take_error(self, int64_t row):
        """The exception of the fault; what was being written is dropped."""
        error = fault_error(self.fault, {"row": row})
        memset(self.fault, 0, sizeof(Fault))
        self.out.n = 0
        return error

    cdef bytes take_out(self):
        cdef bytes data = written(self.out)
        self.out.n = 0
        return data
