"""The `Encoder`: the Python class over encode. It turns its faults into exceptions."""

from libc.stdint cimport int64_t

from jelly._core.base.batch cimport Batch
from jelly._core.base.claim cimport Claim
from jelly._core.base.objects cimport Hold
from jelly._core.jelly.encoder_state cimport EncoderState


cdef class Encoder:
    cdef EncoderState e
    cdef tuple headers  # the options row; of a stream in columns by RDF version
    cdef object tables  # the numpy array behind the lookup tables
    cdef object error
    cdef Claim claimed
    cdef int64_t rows_in
    cdef object settled_options
    cdef public bint takes_any  # quoted triples of streams of other versions: for files that nobody else reads

    cdef int prepare_columns(self, options, frame_rows, int64_t frame_bytes) except -1
    cdef int take(self, Batch batch, keep_frames, int64_t row=*, int64_t stop=*, bint alone=*) except -1
    cdef int write(self, Batch batch, int64_t row) except -1
    cdef int run(self, int64_t* row) noexcept nogil
    cdef int end_rows(self) except -1
    cdef int end(self, dict metadata) except -1
    cdef Hold enter(self)
    cdef int refuse(self, Batch batch) except -1
    cdef int leave(self, int status, int64_t row) except -1
    cdef bytes take_out(self)
    cdef list take_frames(self)
    cdef int settle(self, int arity, bint namespaces, int rdf_version) except -1
