"""RowWriter: the base of writers whose Batches are written row by row, part by part. Independent of formats."""

from libc.stdint cimport int64_t

from jelly._core.base.batch cimport Batch
from jelly._core.base.claim cimport Claim
from jelly._core.base.fault cimport Fault
from jelly._core.base.objects cimport Hold
from jelly._core.base.protobuf cimport Writer
from jelly._core.rules.capabilities cimport Capabilities


cdef class RowWriter:
    cdef bint started
    cdef bint open  # a Batch is being written
    cdef int64_t row  # to be written next of it
    cdef int64_t name
    cdef Claim claimed
    # What subclasses set.
    cdef Capabilities capabilities
    cdef tuple variables  # of query results; None: statements
    cdef bytes foot  # after all Batches
    cdef Writer* out
    cdef Fault* fault

    # Methods that subclasses define, in the order of their use.
    cdef Batch fit(self, Batch batch)
    cdef int start(self) except -1
    cdef int load(self, Batch batch) except -1
    cdef int write(self, int64_t size) noexcept nogil
    cdef void unload(self) noexcept
    # Methods that subclasses call.
    cdef object take_error(self, int64_t row)
    cdef bytes take_out(self)
    cdef Hold enter(self)
