"""The state of a Decode between two frames as bytes, so that reading can start there later."""

from jelly._core.jelly.decode cimport Decode


cdef bytes save_state(Decode* d)
cdef int load_state(Decode* d, bytes data) except -1
cdef int begin_stream(Decode* d, bint in_patch) noexcept nogil
