"""Hashes of what terms and rows say: SipHash-1-3 with 128 bits, as nobody without the key can find two texts that collide.

So equal hashes are taken for equal rows: among a million million rows, the chance that any two others have one hash is
below 1 to 10^14. With a key that others may know, compare the rows (`jelly._core.algebra.dictionary.rows_equal`).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from jelly._core.base.batch cimport KIND_BNODE, KIND_LANG, KIND_TYPED, RESULTS, Batch, load_u64

import numpy

from jelly.errors import JellyArgumentError

cdef enum:
    SEED_BYTES = 16


ctypedef struct Sip:
    uint64_t v0
    uint64_t v1
    uint64_t v2
    uint64_t v3


cdef inline uint64_t rotated(uint64_t x, int n) noexcept nogil:
    return (x << n) | (x >> (64 - n))


cdef inline void sip_round(Sip* s) noexcept nogil:
    s.v0 += s.v1
    s.v1 = rotated(s.v1, 13) ^ s.v0
    s.v0 = rotated(s.v0, 32)
    s.v2 += s.v3
    s.v3 = rotated(s.v3, 16) ^ s.v2
    s.v0 += s.v3
    s.v3 = rotated(s.v3, 21) ^ s.v0
    s.v2 += s.v1
    s.v1 = rotated(s.v1, 17) ^ s.v2
    s.v2 = rotated(s.v2, 32)


cdef inline void sip_word(Sip* s, uint64_t word) noexcept nogil:
    s.v3 ^= word
    sip_round(s)
    s.v0 ^= word


cdef inline void sip_start(Sip* s, const HashKey* key) noexcept nogil:
    s.v0 = key.a ^ <uint64_t>0x736F6D6570736575
    s.v1 = key.b ^ <uint64_t>0x646F72616E646F6D ^ 0xEE
    s.v2 = key.a ^ <uint64_t>0x6C7967656E657261
    s.v3 = key.b ^ <uint64_t>0x7465646279746573


cdef inline void sip_text(Sip* s, const uint8_t* at, int64_t n) noexcept nogil:
    """Take in a text and its length."""
    cdef int64_t left = n
    cdef uint64_t tail = 0
    cdef int i
    while left >= 8:
        sip_word(s, load_u64(at))
        at += 8
        left -= 8
    for i in range(<int>left):
        tail |= <uint64_t>at[i] << (8 * i)
    sip_word(s, tail | <uint64_t>n << 56)


cdef inline Hash128 sip_end(Sip* s) noexcept nogil:
    cdef Hash128 hash
    s.v2 ^= 0xEE
    sip_round(s)
    sip_round(s)
    sip_round(s)
    hash.lo = s.v0 ^ s.v1 ^ s.v2 ^ s.v3
    s.v1 ^= 0xDD
    sip_round(s)
    sip_round(s)
    sip_round(s)
    hash.hi = s.v0 ^ s.v1 ^ s.v2 ^ s.v3
    return hash


cdef uint64_t hash_text(const uint8_t* at, int64_t n, const HashKey* key, int kind) noexcept nogil:
    """A hash of a text of some kind."""
    cdef Sip s
    sip_start(&s, key)
    s.v3 ^= <uint64_t>kind
    sip_text(&s, at, n)
    return sip_end(&s).lo


cdef inline void sip_term(Sip* s, BatchData* b, int32_t term) noexcept nogil:
    """Take in what a term says by itself, without the terms that it refers to."""
    sip_text(s, b.text + b.start[term], b.start[term + 1] - b.start[term])
    sip_word(s, kind_word(b, term))


cdef inline void sip_hash(Sip* s, const Hash128* hash) noexcept nogil:
    sip_word(s, hash.lo)
    sip_word(s, hash.hi)


cdef void hash_terms(BatchData* b, const HashKey* key, bint alike, Hash128* out) noexcept nogil:
    """The hashes of all terms; where `alike`, blank nodes have one. A quoted triple has the hashes of its terms in it, so
    nested ones cost no more."""
    cdef Sip s
    cdef int32_t i, aux
    cdef int k, kind
    cdef bint refer = False
    for i in range(b.n_terms):
        kind = b.kind[i]
        if kind == KIND_LANG or kind == KIND_TYPED or kind == KIND_TRIPLE:
            refer = True
            continue
        sip_start(&s, key)
        if alike and kind == KIND_BNODE:
            sip_word(&s, kind)
        else:
            sip_term(&s, b, i)
        out[i] = sip_end(&s)
    if not refer:
        return
    # Language tags and datatypes refer to nothing, and the terms of a quoted triple come before it.
    for i in range(b.n_terms):
        kind = b.kind[i]
        aux = b.aux[i]
        if kind != KIND_LANG and kind != KIND_TYPED and kind != KIND_TRIPLE:
            continue
        sip_start(&s, key)
        sip_term(&s, b, i)
        if kind == KIND_TRIPLE:
            for k in range(3):
                sip_hash(&s, &out[b.quoted[3 * aux + k]])
        else:
            sip_hash(&s, &out[aux])
        out[i] = sip_end(&s)


cdef Hash128 hash_shallow(BatchData* b, int32_t term, const int32_t* ids, const HashKey* key) noexcept nogil:
    """A hash of a term whose language tag, datatype or quoted terms have got ids that are the same for equal ones."""
    cdef Sip s
    cdef int k
    cdef int32_t aux = b.aux[term]
    sip_start(&s, key)
    sip_term(&s, b, term)
    if b.kind[term] == KIND_TRIPLE:
        for k in range(3):
            sip_word(&s, ids[b.quoted[3 * aux + k]])
    elif aux >= 0:
        sip_word(&s, ids[aux])
    return sip_end(&s)


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 32)) * <uint64_t>0xD6E8FEB86659FD93
    x = (x ^ (x >> 32)) * <uint64_t>0xD6E8FEB86659FD93
    return x ^ (x >> 32)


cdef inline Hash128 joined(Hash128 row, Hash128 term) noexcept nogil:
    """The hash of a row so far and one more term. Both halves stand alone; the order counts."""
    row.lo = rotated(row.lo, 23) * <uint64_t>0x9E3779B97F4A7C15 + term.lo
    row.hi = rotated(row.hi, 29) * <uint64_t>0xC2B2AE3D27D4EB4F + term.hi
    return row


cdef inline Hash128 hash_of_none() noexcept nogil:
    """The hash of no term."""
    cdef Hash128 none
    none.lo = <uint64_t>0x8EBC6AF09C88C6E3
    none.hi = <uint64_t>0x589965CC75374CC3
    return none


cdef void hash_rows(BatchData* b, const Hash128* terms, Hash128* out) noexcept nogil:
    """The hashes of all rows from those of the terms. No term has one of its own; operations do not count."""
    cdef Hash128 none = hash_of_none()
    cdef Hash128 hash
    cdef int64_t row
    for row in range(b.n_rows):
        hash = terms[b.s[row]] if b.s[row] >= 0 else none
        hash = joined(hash, terms[b.p[row]] if b.p[row] >= 0 else none)
        hash = joined(hash, terms[b.o[row]] if b.o[row] >= 0 else none)
        hash = joined(hash, terms[b.g[row]] if b.g != NULL and b.g[row] >= 0 else none)
        out[row].lo = mixed(hash.lo)
        out[row].hi = mixed(hash.hi)


cdef void hash_cells(BatchData* b, const Hash128* terms, Hash128* out) noexcept nogil:
    """`hash_rows` for query results: the hash begins with the number of variables, so that no statement has the same."""
    cdef Hash128 none = hash_of_none()
    cdef Hash128 hash
    cdef int64_t row, i
    cdef const int32_t* ids = b.cells
    for row in range(b.n_rows):
        hash.lo = hash.hi = <uint64_t>b.width
        for i in range(b.width):
            hash = joined(hash, terms[ids[i]] if ids[i] >= 0 else none)
        out[row].lo = mixed(hash.lo)
        out[row].hi = mixed(hash.hi)
        ids += b.width


cdef void* memory_of(object array) except NULL:
    """Where the items of an array are, which is contiguous and stays alive; faster than its ``ctypes``."""
    cdef Py_buffer view
    cdef void* found
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    # An empty array may be nowhere.
    found = view.buf if view.buf != NULL else <void*>array
    PyBuffer_Release(&view)
    return found


cdef int read_key(object seed, HashKey* key) except -1:
    """The key that a seed says."""
    if type(seed) is not bytes or len(seed) != SEED_BYTES:
        raise JellyArgumentError(f"the seed of hashes must be {SEED_BYTES} bytes, such as os.urandom({SEED_BYTES})")
    memcpy(key, <const char*><bytes>seed, SEED_BYTES)
    return 0


def row_hash(Batch batch not None, seed, *, bint alike=False):
    """Hashes of the rows: uint64, shape (rows, 2), 128 bits each. Equal rows have equal hashes in all Batches.

    A hash is that of the terms' content (kind, text, language tag, datatype, quoted terms), whatever their ids, and of
    their places. A triple and a quad of the default graph are equal; operations of a patch and names of variables do not
    count. ``seed`` is 16 bytes. With those of ``os.urandom`` nobody can write rows that are not equal and have one hash.
    With ``alike`` all blank nodes count as equal.

    >>> import jelly
    >>> texts = b"<a:s> <a:p> <a:o> .", b"<a:s> <a:p> <a:o> <a:g> ."
    >>> some, other = (next(jelly.read_batches(text, format="nq")) for text in texts)
    >>> bool((row_hash(some, bytes(16)) == row_hash(some, bytes(16))).all())
    True
    >>> bool((row_hash(some, bytes(16)) == row_hash(other, bytes(16))).any())
    False
    """
    cdef BatchData* b = &batch.a
    cdef HashKey key
    cdef Hash128* terms
    cdef Hash128* out
    read_key(seed, &key)
    made = numpy.empty((b.n_rows, 2), numpy.uint64)
    out = <Hash128*>memory_of(made)
    terms = <Hash128*>malloc((b.n_terms + 1) * sizeof(Hash128))
    if terms == NULL:
        raise MemoryError
    with nogil:
        hash_terms(b, &key, alike, terms)
        if b.arity == RESULTS:
            hash_cells(b, terms, out)
        else:
            hash_rows(b, terms, out)
        free(terms)
    return made


def term_hash(Batch batch not None, seed):
    """Hashes of the terms: uint64, shape (terms, 2). Equal terms have equal hashes in all Batches, see `row_hash`.

    >>> import jelly
    >>> some, other = (next(jelly.read_batches(text, format="nt")) for text in (b"_:x <a:p> _:y .", b"_:y <a:p> _:y ."))
    >>> bool((term_hash(some, bytes(16))[some.o] == term_hash(other, bytes(16))[other.s]).all())
    True
    """
    cdef HashKey key
    cdef Hash128* out
    read_key(seed, &key)
    made = numpy.empty((batch.a.n_terms, 2), numpy.uint64)
    out = <Hash128*>memory_of(made)
    with nogil:
        hash_terms(&batch.a, &key, False, out)
    return made


def blank_terms(Batch batch not None):
    """Of each term whether it is a blank node, or a quoted triple with one somewhere inside: bool.

    >>> import jelly
    >>> batch = next(jelly.read_batches(b"_:x <a:p> <<( <a:s> <a:p> _:x )>> .", format="nt"))
    >>> [batch.term(term) for term in blank_terms(batch).nonzero()[0]]
    ['_:x', '<<( <a:s> <a:p> _:x )>>']
    """
    cdef BatchData* b = &batch.a
    cdef int32_t i
    cdef const int32_t* parts
    made = numpy.empty(b.n_terms, numpy.bool_)
    cdef char* is_blank = <char*>memory_of(made)
    with nogil:
        for i in range(b.n_terms):
            is_blank[i] = b.kind[i] == KIND_BNODE
            if b.kind[i] == KIND_TRIPLE:
                # Its terms come before it.
                parts = b.quoted + 3 * b.aux[i]
                is_blank[i] = is_blank[parts[0]] or is_blank[parts[1]] or is_blank[parts[2]]
    return made
