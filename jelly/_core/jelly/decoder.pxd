"""The `Decoder`: the Python class over frame_reader and decode. It turns their faults into exceptions."""

from libc.stdint cimport int64_t

from jelly._core.base.batch cimport Batch
from jelly._core.base.push_reader cimport PushReader
from jelly._core.jelly.decode_state cimport DecoderState


cdef class Decoder(PushReader):
    cdef DecoderState d
    cdef object tables  # the numpy array behind the lookup tables
    cdef bytes stream_name
    cdef bint begins  # another stream, when the Batch before it is given away
    cdef int64_t n_warned  # of the restarts
    cdef int told  # the features in `unannounced` that a warning was about
    cdef public bint quiet  # no warnings: the caller looks at `restarts` and at the statements
    cdef object read_options
    cdef tuple last_restated

    cdef int begin(self) except -1
    cdef int warn(self) except -1
    cdef int warn_unannounced(self) except -1
    cdef int say(self, str message, kind) except -1
    cdef object make_error(self)
    cdef dict find_fault(self)
    cdef int start_batch(self) except -1
    cdef Batch take_empty(self)
    cdef int preset(self, options, state, place) except -1
    cdef int settle(self) except -1
    cdef int make_tables(self) except -1
    cdef int allow_rows(self) noexcept
