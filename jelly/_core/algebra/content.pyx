"""Hashes of what terms and rows say: SipHash-1-3 with 128 bits, as nobody without the key can find two texts that collide.

So equal hashes are taken for equal rows: among a million million rows, the chance that any two others have one hash is
below 1 to 10^14. With a key that others may know, compare the rows.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from jelly._core.algebra.sort cimport compare_texts
from jelly._core.base.batch cimport RESULTS, Batch, load_row, load_u64
from jelly._core.base.kinds cimport ATTRIBUTED, COMPOUND, KIND_BNODE, among

import math

import numpy

from jelly._core.base.kinds import kinds_of
from jelly.errors import JellyArgumentError

cdef enum:
    SEED_BYTES = 16
    ATTEMPTS = 64  # seeds that `fuse_filter` tries


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


cdef uint64_t hash_text(const uint8_t* at, int64_t n, const HashKey* key) noexcept nogil:
    """A hash of a text."""
    cdef Sip s
    sip_start(&s, key)
    sip_text(&s, at, n)
    return sip_end(&s).lo


cdef inline void sip_view(Sip* s, const TermView* v) noexcept nogil:
    """Take in what a term says by itself, without the terms that it refers to."""
    sip_text(s, v.at, v.n)
    sip_word(s, <uint64_t>v.kind)


cdef void hash_terms(BatchData* b, const HashKey* key, bint alike, Hash128* out) noexcept nogil:
    """The hashes of all terms; where `alike`, blank nodes have one. A quoted triple has the hashes of its terms in it, so
    nested ones cost no more."""
    cdef Sip s
    cdef TermView v
    cdef int32_t i
    cdef int k, refer
    # Language tags and datatypes refer to nothing, and the terms of a compound term come before it.
    for refer in range(2):
        for i in range(b.n_terms):
            if among(b.kind[i], ATTRIBUTED | COMPOUND) != refer:
                continue
            view_term(b, i, &v)
            sip_start(&s, key)
            if alike and v.kind == KIND_BNODE:
                sip_word(&s, KIND_BNODE)
            else:
                sip_view(&s, &v)
            for k in range(v.n_refs):
                sip_word(&s, out[v.refs[k]].lo)
                sip_word(&s, out[v.refs[k]].hi)
            out[i] = sip_end(&s)


cdef uint64_t hash_view(const TermView* v, const int32_t* refs, const HashKey* key) noexcept nogil:
    """A hash of a term that refers to `refs`, ids that are the same for equal terms."""
    cdef Sip s
    cdef int k
    sip_start(&s, key)
    sip_view(&s, v)
    for k in range(v.n_refs):
        sip_word(&s, refs[k])
    return sip_end(&s).lo


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 32)) * <uint64_t>0xD6E8FEB86659FD93
    x = (x ^ (x >> 32)) * <uint64_t>0xD6E8FEB86659FD93
    return x ^ (x >> 32)


cdef inline Hash128 joined(Hash128 row, Hash128 term) noexcept nogil:
    """The hash of a row so far and one more term. Both halves stand alone; the order counts."""
    row.lo = rotated(row.lo, 23) * <uint64_t>0x9E3779B97F4A7C15 + term.lo
    row.hi = rotated(row.hi, 29) * <uint64_t>0xC2B2AE3D27D4EB4F + term.hi
    return row


cdef inline Hash128 hash_ids(const Hash128* terms, const int32_t* ids, int64_t n, uint64_t begin) noexcept nogil:
    """The hash of a row of some terms. No term has a hash of its own."""
    cdef Hash128 none = Hash128(<uint64_t>0x8EBC6AF09C88C6E3, <uint64_t>0x589965CC75374CC3)
    cdef Hash128 hash = Hash128(begin, begin)
    cdef int64_t i
    for i in range(n):
        hash = joined(hash, terms[ids[i]] if ids[i] >= 0 else none)
    return Hash128(mixed(hash.lo), mixed(hash.hi))


cdef void hash_rows(BatchData* b, const Hash128* terms, Hash128* out) noexcept nogil:
    """The hashes of all rows from those of the terms. Operations do not count. Those of query results begin with the number
    of variables, so that no statement has the same."""
    cdef int32_t[4] ids
    cdef int64_t row
    cdef bint results = b.arity == RESULTS
    for row in range(b.n_rows):
        if results:
            out[row] = hash_ids(terms, b.cells + row * b.width, b.width, b.width)
        else:
            load_row(b, row, ids)
            out[row] = hash_ids(terms, ids, 4, 0)


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
    >>> some, other = (next(jelly.scan(text, format="nq").batches()) for text in texts)
    >>> bool((row_hash(some, bytes(16)) == row_hash(some, bytes(16))).all())
    True
    >>> bool((row_hash(some, bytes(16)) == row_hash(other, bytes(16))).any())
    False
    """
    hashes = term_hash(batch, seed, alike=alike)
    made = numpy.empty((batch.a.n_rows, 2), numpy.uint64)
    cdef const Hash128* terms = <const Hash128*>memory_of(hashes)
    cdef Hash128* out = <Hash128*>memory_of(made)
    with nogil:
        hash_rows(&batch.a, terms, out)
    return made


def term_hash(Batch batch not None, seed, *, bint alike=False):
    """Hashes of the terms: uint64, shape (terms, 2). Equal terms have equal hashes in all Batches, see `row_hash`.

    >>> import jelly
    >>> some, other = (next(jelly.scan(text, format="nt").batches()) for text in (b"_:x <a:p> _:y .", b"_:y <a:p> _:y ."))
    >>> bool((term_hash(some, bytes(16))[some.o] == term_hash(other, bytes(16))[other.s]).all())
    True
    """
    cdef HashKey key
    read_key(seed, &key)
    made = numpy.empty((batch.a.n_terms, 2), numpy.uint64)
    cdef Hash128* out = <Hash128*>memory_of(made)
    with nogil:
        hash_terms(&batch.a, &key, alike, out)
    return made


def blank_terms(Batch batch not None):
    """Of each term whether it is a blank node, or a quoted triple with one somewhere inside: bool.

    >>> import jelly
    >>> batch = next(jelly.scan(b"_:x <a:p> <<( <a:s> <a:p> _:x )>> .", format="nt").batches())
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
            if among(b.kind[i], COMPOUND):
                # Its terms come before it.
                parts = b.quoted + 3 * b.aux[i]
                is_blank[i] = is_blank[parts[0]] or is_blank[parts[1]] or is_blank[parts[2]]
    return made


def slot_keys(Batch batch not None, ids):
    """Keys for filters of the terms ``ids`` (int32): each id once, in no order; equal texts have equal keys everywhere.

    Also the ids of the terms whose texts are lowest and highest, by bytes, or -1; and whether an id is below 0. A key is
    a hash of the text alone (SipHash-1-3 of 128 bits without a secret, the first 8 bytes), or of all that a quoted
    triple says, whose text is empty.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "a:s" .', format="nt").batches()
    >>> [slot_keys(batch, ids)[0].tolist() for ids in (batch.s, batch.o)] == [[12878814644564597928]] * 2
    True
    """
    cdef BatchData* b = &batch.a
    cdef HashKey key = HashKey(0, 0)
    cdef int32_t lowest = -1, highest = -1
    cdef int32_t term
    rows = numpy.ascontiguousarray(ids, numpy.int32)
    cdef int64_t i, n = len(rows)
    if n and not -1 <= rows.min() <= rows.max() < b.n_terms:
        raise JellyArgumentError("there is no term of this id in the Batch")
    used = numpy.zeros(b.n_terms + 1, numpy.bool_)
    cdef uint8_t* is_used = <uint8_t*>memory_of(used) + 1  # before it, whether an id is -1
    cdef const int32_t* at = <const int32_t*>memory_of(rows)
    for i in range(n):
        is_used[at[i]] = True
    terms = numpy.flatnonzero(used[1:]).astype(numpy.int32)
    n = len(terms)
    made = numpy.empty(n, numpy.uint64)
    at = <const int32_t*>memory_of(terms)
    cdef uint64_t* out = <uint64_t*>memory_of(made)
    with nogil:
        for i in range(n):
            term = at[i]
            out[i] = hash_text(text_of(b, term), len_of(b, term), &key)
            if lowest < 0 or compare_texts(b, term, lowest) < 0:
                lowest = term
            if highest < 0 or compare_texts(b, term, highest) > 0:
                highest = term
    if b.n_quoted:
        whole = numpy.isin(batch.kind[terms], kinds_of("compound"))
        made[whole] = term_hash(batch, bytes(SEED_BYTES))[terms[whole], 0]
    return made, lowest, highest, bool(used[0])


ctypedef struct Fuse:
    uint32_t length  # of a block; a power of two
    uint32_t blocks
    int64_t size  # places in all blocks
    uint64_t seed


cdef inline uint64_t fuse_hash(uint64_t key, uint64_t seed) noexcept nogil:
    key += seed
    key = (key ^ (key >> 33)) * <uint64_t>0xFF51AFD7ED558CCD
    key = (key ^ (key >> 33)) * <uint64_t>0xC4CEB9FE1A85EC53
    return key ^ (key >> 33)


cdef inline void fuse_places(const Fuse* f, uint64_t hash, uint32_t* out) noexcept nogil:
    """The three places of a hash, in three blocks that follow each other."""
    out[0] = <uint32_t>(((hash >> 32) * (<uint64_t>f.blocks * f.length)) >> 32)
    out[1] = (out[0] + f.length) ^ (<uint32_t>(hash >> 18) & (f.length - 1))
    out[2] = (out[0] + 2 * f.length) ^ (<uint32_t>hash & (f.length - 1))


cdef bint fuse_order(
    const Fuse* f, const uint64_t* keys, int64_t n, uint64_t* sums, uint8_t* counts, uint32_t* queue
) noexcept nogil:
    """Take keys away one by one, each from a place where it is alone, whose sum then is its hash. Whether that takes away all
    of them: then their places are the last `n` of the queue, in the opposite order. A place comes into the queue once."""
    cdef uint32_t[3] place
    cdef int64_t i, waiting = 0, taken = f.size
    cdef uint64_t hash
    cdef int k
    cdef uint32_t at
    for i in range(n):
        hash = fuse_hash(keys[i], f.seed)
        fuse_places(f, hash, place)
        for k in range(3):
            if counts[place[k]] == 255:
                return False
            counts[place[k]] += 1
            sums[place[k]] ^= hash
    for i in range(f.size):
        if counts[i] == 1:
            queue[waiting] = <uint32_t>i
            waiting += 1
    while waiting > 0:
        waiting -= 1
        at = queue[waiting]
        if counts[at] != 1:
            continue
        taken -= 1
        queue[taken] = at
        hash = sums[at]
        fuse_places(f, hash, place)
        for k in range(3):
            counts[place[k]] -= 1
            if place[k] != at:
                sums[place[k]] ^= hash
            if counts[place[k]] == 1:
                queue[waiting] = place[k]
                waiting += 1
    return f.size - taken == n


cdef void fuse_fill(
    const Fuse* f, int64_t n, const uint64_t* sums, const uint32_t* queue, uint64_t mask, uint16_t* prints
) noexcept nogil:
    """Set the place of each key, which is 0 before, so that its three places give its fingerprint."""
    cdef uint32_t[3] place
    cdef int64_t i
    cdef uint64_t hash
    for i in range(f.size - n, f.size):
        hash = sums[queue[i]]
        fuse_places(f, hash, place)
        prints[queue[i]] = <uint16_t>(
            ((hash ^ (hash >> 32)) & mask) ^ prints[place[0]] ^ prints[place[1]] ^ prints[place[2]]
        )


cdef void pack_bits(const uint16_t* prints, int64_t n, int width, uint8_t* out) noexcept nogil:
    cdef uint64_t bits = 0
    cdef int held = 0
    cdef int64_t i, at = 0
    for i in range(n):
        bits |= <uint64_t>prints[i] << held
        held += width
        while held >= 8:
            out[at] = <uint8_t>bits
            at += 1
            bits >>= 8
            held -= 8
    if held:
        out[at] = <uint8_t>bits


def fuse_filter(keys, int width, int more=0):
    """A binary fuse filter of different keys (uint64): its bytes, the seed, the length and the number of its blocks.

    Each fingerprint has ``width`` bits. Where no seed fits, there are up to two ``more`` blocks; None if none fits then, as
    where a key is there twice. The layout is told in docs/reference/file-formats.md.

    >>> import numpy
    >>> bits, seed, length, blocks = fuse_filter(numpy.arange(1000, dtype=numpy.uint64), 7)
    >>> len(bits), length, blocks
    (1234, 128, 9)
    """
    cdef Fuse f
    cdef int64_t n
    cdef int attempt
    cdef bint found = False
    given = numpy.ascontiguousarray(keys, numpy.uint64)
    n = len(given)
    if not 1 <= width <= 16 or not 2 <= n <= 1 << 28:
        raise JellyArgumentError("a filter has 2 to 268435456 keys and fingerprints of 1 to 16 bits")
    # By experience of the authors of these filters; nearly always the first seed fits.
    f.length = 1 << min(int(math.log(n, 3.33) + 2.25), 18)
    places = int(n * max(1.125, 0.875 + 0.25 * math.log(1e6, n)))
    f.blocks = max((places + f.length - 1) // f.length - 2, 1) + more
    f.size = <int64_t>(f.blocks + 2) * f.length
    made = numpy.zeros((f.size * width + 7) // 8 + 2, numpy.uint8)
    cdef const uint64_t* at = <const uint64_t*>memory_of(given)
    cdef uint8_t* out = <uint8_t*>memory_of(made)
    cdef uint64_t* sums = <uint64_t*>malloc(f.size * (8 + 4 + 2 + 1))
    if sums == NULL:
        raise MemoryError
    cdef uint32_t* queue = <uint32_t*>(sums + f.size)
    cdef uint16_t* prints = <uint16_t*>(queue + f.size)
    cdef uint8_t* counts = <uint8_t*>(prints + f.size)
    with nogil:
        for attempt in range(ATTEMPTS):
            f.seed = fuse_hash(<uint64_t>attempt, <uint64_t>0x9E3779B97F4A7C15)
            memset(sums, 0, f.size * 8)
            memset(counts, 0, f.size)
            found = fuse_order(&f, at, n, sums, counts, queue)
            if found:
                memset(prints, 0, f.size * 2)
                fuse_fill(&f, n, sums, queue, (<uint64_t>1 << width) - 1, prints)
                pack_bits(prints, f.size, width, out)
                break
        free(sums)
    if not found:
        return fuse_filter(given, width, more + 1) if more < 2 else None
    return made.tobytes(), f.seed, f.length, f.blocks
