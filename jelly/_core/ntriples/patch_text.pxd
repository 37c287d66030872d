"""RDF Patch text to Batches and back: the rows H TX TC TA PA PD A D of RDF Delta, with terms as in N-Quads."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.ntriples.term_reader cimport NTriplesReader
from jelly._core.ntriples.term_writer cimport NTriplesWriter


cdef int read_patch_lines(NTriplesReader* t) noexcept nogil
cdef int64_t len_patch_rows(NTriplesWriter* t, int64_t* row, int64_t end, int64_t limit) noexcept nogil
cdef void put_patch_rows(NTriplesWriter* t, int64_t row, int64_t end) noexcept nogil
