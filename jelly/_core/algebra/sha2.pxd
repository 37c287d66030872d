"""SHA-256 and SHA-384 (FIPS 180-4) of text in pieces, without the GIL: for many short hashes in a loop."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    SHA_ROUNDS = 80
    SHA_NUMBERS = 96  # constants of the rounds, then the initial values of SHA-256 and SHA-384, eight each
    SHA_HEX = 96  # hexadecimal digits of SHA-384; SHA-256 has 64


ctypedef struct Sha2:
    const uint64_t* numbers  # SHA_NUMBERS of them, by fill_sha_numbers
    bint wide  # SHA-384
    int filled  # bytes of `block`
    uint64_t n  # bytes so far
    uint64_t state[8]
    uint8_t block[128]


cdef int fill_sha_numbers(uint64_t* numbers) except -1
cdef void begin_sha(Sha2* sha, const uint64_t* numbers, bint wide) noexcept nogil
cdef void add_sha(Sha2* sha, const uint8_t* at, int64_t n) noexcept nogil
cdef void end_sha(Sha2* sha, uint8_t* hex) noexcept nogil
