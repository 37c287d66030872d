"""Well-formed language tags by RFC 5646 (BCP 47), section 2.1."""

from libc.stdint cimport uint8_t

cdef bint is_well_formed(const uint8_t* at, const uint8_t* end) noexcept nogil
