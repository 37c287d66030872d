"""Validation of UTF-8."""

from libc.stdint cimport int64_t, uint8_t


cdef int64_t check_utf8(const uint8_t* at, int64_t n) noexcept nogil
