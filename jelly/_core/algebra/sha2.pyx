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


ctypedef fused Word:
    uint32_t  # of SHA-256
    uint64_t  # of SHA-384


cdef inline Word turned(Word x, int n) noexcept nogil:
    return (x >> n) | (x << (8 * <int>sizeof(Word) - n))


cdef inline Word sum_of(Word x, int a, int b, int c) noexcept nogil:
    """FIPS 180-4, 4.1: the functions with a capital sigma."""
    return turned(x, a) ^ turned(x, b) ^ turned(x, c)


cdef inline Word small_sum(Word x, int a, int b, int c) noexcept nogil:
    """And those with a small one."""
    return turned(x, a) ^ turned(x, b) ^ (x >> c)


cdef inline void step(Word* s, int n, const uint64_t* k, const Word* w) noexcept nogil:
    """Round `n` of eight. The eight numbers change places instead of moving: each round has moved them back by one."""
    cdef Word a = s[8 - n & 7], b = s[9 - n & 7], c = s[10 - n & 7]
    cdef Word e = s[12 - n & 7], f = s[13 - n & 7], g = s[14 - n & 7]
    cdef Word x = s[15 - n & 7] + (g ^ (e & (f ^ g))) + <Word>(k[n] >> (64 - 8 * <int>sizeof(Word))) + w[n]
    x += sum_of(e, 6, 11, 25) if Word is uint32_t else sum_of(e, 14, 18, 41)
    s[11 - n & 7] += x
    x += sum_of(a, 2, 13, 22) if Word is uint32_t else sum_of(a, 28, 34, 39)
    s[15 - n & 7] = x + ((a & b) | (c & (a | b)))


cdef void mix_words(Sha2* sha, const uint8_t* at, Word* s) noexcept nogil:
    """Process a block, with room for eight numbers. FIPS 180-4, 6.2.2 and 6.4.2."""
    cdef Word w[SHA_ROUNDS]
    cdef Word x, y
    cdef const uint64_t* k = sha.numbers
    cdef int rounds = 64 if Word is uint32_t else SHA_ROUNDS
    cdef int i, byte
    for i in range(16):
        x = 0
        for byte in range(<int>sizeof(Word)):
            x = x << 8 | at[byte]
        w[i] = x
        at += sizeof(Word)
    for i in range(16, rounds):
        x = w[i - 15]
        y = w[i - 2]
        x = small_sum(x, 7, 18, 3) if Word is uint32_t else small_sum(x, 1, 8, 7)
        y = small_sum(y, 17, 19, 10) if Word is uint32_t else small_sum(y, 19, 61, 6)
        w[i] = w[i - 16] + x + w[i - 7] + y
    for i in range(8):
        s[i] = <Word>sha.state[i]
    for i in range(0, rounds, 8):
        step(s, 0, k + i, w + i)
        step(s, 1, k + i, w + i)
        step(s, 2, k + i, w + i)
        step(s, 3, k + i, w + i)
        step(s, 4, k + i, w + i)
        step(s, 5, k + i, w + i)
        step(s, 6, k + i, w + i)
        step(s, 7, k + i, w + i)
    for i in range(8):
        sha.state[i] = <Word>(sha.state[i] + s[i])


cdef inline void mix(Sha2* sha, const uint8_t* at) noexcept nogil:
    cdef uint32_t narrow[8]
    cdef uint64_t wide[8]
    if sha.wide:
        mix_words(sha, at, wide)
    else:
        mix_words(sha, at, narrow)


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
