"""N-Triples and N-Quads line by line: comments, VERSION, what ends a message."""

from libc.stdint cimport uint8_t

from jelly._core.ntriples.term_reader cimport Lines

cdef int read_lines(Lines* t) noexcept nogil
cdef bint begin_line(Lines* t) noexcept nogil
cdef int end_line(Lines* t, const uint8_t** comment) noexcept nogil
cdef void step_line_end(Lines* t) noexcept nogil
cdef void skip_line(Lines* t) noexcept nogil
cdef int end_message(Lines* t) noexcept nogil
