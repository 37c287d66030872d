"""N-Triples and N-Quads line by line: comments, VERSION, and delimiters of messages."""

from libc.stdint cimport uint8_t

from jelly._core.ntriples.term_reader cimport NTriplesReader

cdef int read_lines(NTriplesReader* t) noexcept nogil
cdef bint begin_line(NTriplesReader* t) noexcept nogil
cdef int end_line(NTriplesReader* t, const uint8_t** comment) noexcept nogil
cdef void step_line_end(NTriplesReader* t) noexcept nogil
cdef void skip_line(NTriplesReader* t) noexcept nogil
cdef int end_message(NTriplesReader* t) noexcept nogil
