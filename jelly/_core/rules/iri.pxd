"""IRIs by RFC 3987, with a scheme (RDF 1.1 Concepts, section 3.2)."""

from libc.stdint cimport int64_t, uint8_t

cdef int64_t find_iri_fault(const uint8_t* text, int64_t n) noexcept nogil
