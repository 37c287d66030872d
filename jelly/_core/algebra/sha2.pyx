"""See sha2.pxd. The constants are computed: they are bits of roots of primes, as FIPS 180-4 says."""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memset

import functools
from array import array
from math import isqrt


def _cube_root(n):
    """The integer cube root of n, rounded down."""
    low, high = 0, 1 << (n.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**3 <= n:
            low = middle
        else:
            high = middle - 1
    return low


@functools.cache
def _numbers():
    """The constants of SHA-384; the upper halves of the first 64 are those of SHA-256. FIPS 180-4, 4.2 and 5.3."""
    primes = [n for n in range(2, 410) if all(n % k for k in range(2, isqrt(n) + 1))]
    mask = (1 << 64) - 1
    found = [_cube_root(prime << 192) & mask for prime in primes[:SHA_ROUNDS]]
    found += [isqrt(prime << 128) & mask for prime in primes[:16]]
    return array("Q", found).tobytes()


cdef int fill_sha_numbers(uint64_t* numbers) except -1:
    cdef bytes found = _numbers()
    memcpy(numbers, <const char*>found, SHA_NUMBERS * sizeof(uint64_t))
    return 0


cdef inline uint32_t turn32(uint32_t x, int n) noexcept nogil:
    return (x >> n) | (x << (32 - n))


cdef inline uint64_t turn64(uint64_t x, int n) noexcept nogil:
    return (x >> n) | (x << (64 - n))


cdef inline void step_256(uint32_t* s, int n, uint32_t add) noexcept nogil:
    """A round. The eight numbers change places instead of moving: `n` rounds before have moved each back by one."""
    cdef uint32_t a = s[8 - n & 7], b = s[9 - n & 7], c = s[10 - n & 7]
    cdef uint32_t e = s[12 - n & 7], f = s[13 - n & 7], g = s[14 - n & 7]
    cdef uint32_t x = s[15 - n & 7] + (turn32(e, 6) ^ turn32(e, 11) ^ turn32(e, 25)) + (g ^ (e & (f ^ g))) + add
    s[11 - n & 7] += x
    s[15 - n & 7] = x + (turn32(a, 2) ^ turn32(a, 13) ^ turn32(a, 22)) + ((a & b) | (c & (a | b)))


cdef inline void step_512(uint64_t* s, int n, uint64_t add) noexcept nogil:
    """A round. The eight numbers change places instead of moving: `n` rounds before have moved each back by one."""
    cdef uint64_t a = s[8 - n & 7], b = s[9 - n & 7], c = s[10 - n & 7]
    cdef uint64_t e = s[12 - n & 7], f = s[13 - n & 7], g = s[14 - n & 7]
    cdef uint64_t x = s[15 - n & 7] + (turn64(e, 14) ^ turn64(e, 18) ^ turn64(e, 41)) + (g ^ (e & (f ^ g))) + add
    s[11 - n & 7] += x
    s[15 - n & 7] = x + (turn64(a, 28) ^ turn64(a, 34) ^ turn64(a, 39)) + ((a & b) | (c & (a | b)))


cdef void mix_256(Sha2* sha, const uint8_t* at) noexcept nogil:
    """Process a block of 64 bytes. FIPS 180-4, 6.2.2."""
    cdef uint32_t w[64]
    cdef uint32_t s[8]
    cdef uint32_t x, y
    cdef const uint64_t* k = sha.numbers
    cdef int i
    for i in range(16):
        w[i] = <uint32_t>at[0] << 24 | <uint32_t>at[1] << 16 | <uint32_t>at[2] << 8 | at[3]
        at += 4
    for i in range(16, 64):
        x = w[i - 15]
        y = w[i - 2]
        w[i] = (
            w[i - 16] + (turn32(x, 7) ^ turn32(x, 18) ^ (x >> 3))
            + w[i - 7] + (turn32(y, 17) ^ turn32(y, 19) ^ (y >> 10))
        )
    for i in range(8):
        s[i] = <uint32_t>sha.state[i]
    for i in range(0, 64, 8):
        step_256(s, 0, <uint32_t>(k[i] >> 32) + w[i])
        step_256(s, 1, <uint32_t>(k[i + 1] >> 32) + w[i + 1])
        step_256(s, 2, <uint32_t>(k[i + 2] >> 32) + w[i + 2])
        step_256(s, 3, <uint32_t>(k[i + 3] >> 32) + w[i + 3])
        step_256(s, 4, <uint32_t>(k[i + 4] >> 32) + w[i + 4])
        step_256(s, 5, <uint32_t>(k[i + 5] >> 32) + w[i + 5])
        step_256(s, 6, <uint32_t>(k[i + 6] >> 32) + w[i + 6])
        step_256(s, 7, <uint32_t>(k[i + 7] >> 32) + w[i + 7])
    for i in range(8):
        sha.state[i] = <uint32_t>(sha.state[i] + s[i])


cdef void mix_512(Sha2* sha, const uint8_t* at) noexcept nogil:
    """Process a block of 128 bytes. FIPS 180-4, 6.4.2."""
    cdef uint64_t w[80]
    cdef uint64_t s[8]
    cdef uint64_t x, y
    cdef const uint64_t* k = sha.numbers
    cdef int i, byte
    for i in range(16):
        w[i] = 0
        for byte in range(8):
            w[i] = w[i] << 8 | at[byte]
        at += 8
    for i in range(16, 80):
        x = w[i - 15]
        y = w[i - 2]
        w[i] = (
            w[i - 16] + (turn64(x, 1) ^ turn64(x, 8) ^ (x >> 7))
            + w[i - 7] + (turn64(y, 19) ^ turn64(y, 61) ^ (y >> 6))
        )
    memcpy(s, sha.state, sizeof(s))
    for i in range(0, 80, 8):
        step_512(s, 0, k[i] + w[i])
        step_512(s, 1, k[i + 1] + w[i + 1])
        step_512(s, 2, k[i + 2] + w[i + 2])
        step_512(s, 3, k[i + 3] + w[i + 3])
        step_512(s, 4, k[i + 4] + w[i + 4])
        step_512(s, 5, k[i + 5] + w[i + 5])
        step_512(s, 6, k[i + 6] + w[i + 6])
        step_512(s, 7, k[i + 7] + w[i + 7])
    for i in range(8):
        sha.state[i] += s[i]


cdef inline void mix(Sha2* sha, const uint8_t* at) noexcept nogil:
    if sha.wide:
        mix_512(sha, at)
    else:
        mix_256(sha, at)


cdef void begin_sha(Sha2* sha, const uint64_t* numbers, bint wide) noexcept nogil:
    cdef int i
    sha.numbers = numbers
    sha.wide = wide
    sha.filled = 0
    sha.n = 0
    for i in range(8):
        sha.state[i] = numbers[SHA_ROUNDS + 8 + i] if wide else numbers[SHA_ROUNDS + i] >> 32


cdef void add_sha(Sha2* sha, const uint8_t* at, int64_t n) noexcept nogil:
    """Add bytes to the hash."""
    cdef int size = 128 if sha.wide else 64
    cdef int64_t room = size - sha.filled
    sha.n += <uint64_t>n
    if n < room:
        memcpy(sha.block + sha.filled, at, n)
        sha.filled += <int>n
        return
    if sha.filled:
        memcpy(sha.block + sha.filled, at, room)
        mix(sha, sha.block)
        at += room
        n -= room
    while n >= size:
        mix(sha, at)
        at += size
        n -= size
    memcpy(sha.block, at, n)
    sha.filled = <int>n


cdef void end_sha(Sha2* sha, uint8_t* hex) noexcept nogil:
    """Write the digest in hexadecimal digits: 64 for SHA-256, 96 for SHA-384."""
    cdef const char* digits = b"0123456789abcdef"
    cdef int size = 128 if sha.wide else 64
    cdef int n_length = size // 8
    cdef int n_digits = 16 if sha.wide else 8
    cdef uint64_t bits = sha.n * 8
    cdef int i, k
    sha.block[sha.filled] = 0x80
    memset(sha.block + sha.filled + 1, 0, size - sha.filled - 1)
    if sha.filled >= size - n_length:
        mix(sha, sha.block)
        memset(sha.block, 0, size)
    for i in range(8):
        sha.block[size - 1 - i] = <uint8_t>(bits >> (8 * i))
    mix(sha, sha.block)
    for i in range(6 if sha.wide else 8):
        for k in range(n_digits):
            hex[0] = digits[(sha.state[i] >> (4 * (n_digits - 1 - k))) & 15]
            hex += 1
