"""Hashes of what terms and rows say: SipHash-1-3 with 128 bits, as nobody without the key can find two texts that collide.

So equal hashes are taken for equal rows: among a million million rows, the chance that any two others have one hash is
below 1 to 10^14. With a key that others may know, compare the rows.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from jelly._core.algebra.sort cimport compare_texts
from jelly._core.base.batch cimport RESULTS, Batch, TermView, len_of, load_u64, view_term
from jelly._core.base.kinds cimport COMPOUND, KIND_BNODE, among

import math

import numpy

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


cdef inline void sip_hash(Sip* s, const Hash128* hash) noexcept nogil:
    sip_word(s, hash.lo)
    sip_word(s, hash.hi)


cdef void hash_terms(BatchData* b, const HashKey* key, bint alike, Hash128* out) noexcept nogil:
    """The hashes of all terms; where `alike`, blank nodes have one. A quoted triple has the hashes of its terms in it, so
    nested ones cost no more."""
    cdef Sip s
    cdef TermView v
    cdef int32_t i
    cdef int k
    cdef bint refer = False
    for i in range(b.n_terms):
        view_term(b, i, &v)
        if v.n_refs:
            refer = True
            continue
        sip_start(&s, key)
        if alike and v.kind == KIND_BNODE:
            sip_word(&s, KIND_BNODE)
        else:
            sip_view(&s, &v)
        out[i] = sip_end(&s)
    if not refer:
        return
    # Language tags and datatypes refer to nothing, and the terms of a compound term come before it.
    for i in range(b.n_terms):
        view_term(b, i, &v)
        if not v.n_refs:
            continue
        sip_start(&s, key)
        sip_view(&s, &v)
        for k in range(v.n_refs):
            sip_hash(&s, &out[v.refs[k]])
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
    >>> some, other = (next(jelly.scan(text, format="nq").batches()) for text in texts)
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
    >>> some, other = (next(jelly.scan(text, format="nt").batches()) for text in (b"_:x <a:p> _:y .", b"_:y <a:p> _:y ."))
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


ctypedef struct SlotKeys:
    uint64_t* out
    int64_t n
    int32_t lowest
    int32_t highest
    bint has_none


cdef int take_keys(BatchData* b, const int32_t* ids, int64_t n, SlotKeys* k) noexcept nogil:
    """The keys of the terms of some rows, each id once; -1 if there is no memory."""
    cdef HashKey key
    cdef Hash128* all_terms = NULL
    cdef uint8_t* seen = <uint8_t*>calloc(b.n_terms + 1, 1)
    cdef int64_t row
    cdef int32_t term
    if seen == NULL:
        return -1
    key.a = key.b = 0
    for row in range(n):
        term = ids[row]
        if term < 0:
            k.has_none = True
            continue
        if seen[term]:
            continue
        seen[term] = 1
        if among(b.kind[term], COMPOUND):
            if all_terms == NULL:
                all_terms = <Hash128*>malloc((b.n_terms + 1) * sizeof(Hash128))
                if all_terms == NULL:
                    free(seen)
                    return -1
                hash_terms(b, &key, False, all_terms)
            k.out[k.n] = all_terms[term].lo
        else:
            k.out[k.n] = hash_text(b.text + b.start[term], len_of(b, term), &key)
        k.n += 1
        if k.lowest < 0 or compare_texts(b, term, k.lowest) < 0:
            k.lowest = term
        if k.highest < 0 or compare_texts(b, term, k.highest) > 0:
            k.highest = term
    free(all_terms)
    free(seen)
    return 0


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
    cdef SlotKeys k
    cdef int status
    cdef BatchData* b = &batch.a
    rows = numpy.ascontiguousarray(ids, numpy.int32)
    cdef int64_t n = len(rows)
    cdef const int32_t* at = <const int32_t*>memory_of(rows)
    if n and rows.max() >= b.n_terms:
        raise JellyArgumentError("there is no term of this id in the Batch")
    made = numpy.empty(min(n, b.n_terms), numpy.uint64)
    k.out = <uint64_t*>memory_of(made)
    k.n = 0
    k.lowest = k.highest = -1
    k.has_none = False
    with nogil:
        status = take_keys(b, at, n, &k)
    if status != 0:
        raise MemoryError
    return made[:k.n], k.lowest, k.highest, bool(k.has_none)


ctypedef struct Fuse:
    uint32_t length  # of a block; a power of two
    uint32_t blocks
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


cdef int fuse_order(
    const Fuse* f, const uint64_t* keys, int64_t n, uint64_t* sums, uint8_t* counts, uint32_t* queue, uint64_t* order,
    uint8_t* which,
) noexcept nogil:
    """Take keys away one by one, each from a place where it is alone. 1 if that takes away all of them."""
    cdef uint32_t place[3]
    cdef int64_t i, done = 0, waiting = 0
    cdef int64_t size = <int64_t>(f.blocks + 2) * f.length
    cdef uint64_t hash
    cdef int k
    cdef uint32_t at
    for i in range(n):
        hash = fuse_hash(keys[i], f.seed)
        fuse_places(f, hash, place)
        for k in range(3):
            if counts[place[k]] == 255:
                return 0
            counts[place[k]] += 1
            sums[place[k]] ^= hash
    for i in range(size):
        if counts[i] == 1:
            queue[waiting] = <uint32_t>i
            waiting += 1
    while waiting > 0:
        waiting -= 1
        at = queue[waiting]
        if counts[at] != 1:
            continue
        hash = sums[at]
        order[done] = hash
        fuse_places(f, hash, place)
        for k in range(3):
            if place[k] == at:
                which[done] = k
            counts[place[k]] -= 1
            sums[place[k]] ^= hash
            if counts[place[k]] == 1:
                queue[waiting] = place[k]
                waiting += 1
        done += 1
    return done == n


cdef void fuse_fill(
    const Fuse* f, int64_t n, const uint64_t* order, const uint8_t* which, uint64_t mask, uint16_t* prints
) noexcept nogil:
    """Set the place of each key, in the opposite order, so that its three places give its fingerprint."""
    cdef uint32_t place[3]
    cdef int64_t i
    cdef uint64_t hash
    for i in range(n - 1, -1, -1):
        hash = order[i]
        fuse_places(f, hash, place)
        prints[place[which[i]]] = 0
        prints[place[which[i]]] = <uint16_t>(
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
    cdef int64_t n, size
    cdef int attempt, found = 0
    cdef void* memory
    cdef uint64_t* sums
    cdef uint64_t* order
    cdef uint32_t* queue
    cdef uint16_t* prints
    cdef uint8_t* counts
    cdef uint8_t* which
    cdef uint8_t* out
    given = numpy.ascontiguousarray(keys, numpy.uint64)
    n = len(given)
    cdef const uint64_t* at = <const uint64_t*>memory_of(given)
    if not 1 <= width <= 16 or not 2 <= n <= 1 << 28:
        raise JellyArgumentError("a filter has 2 to 268435456 keys and fingerprints of 1 to 16 bits")
    # By experience of the authors of these filters; nearly always the first seed fits.
    f.length = 1 << min(int(math.log(n, 3.33) + 2.25), 18)
    size = int(n * max(1.125, 0.875 + 0.25 * math.log(1e6, n)))
    size = (size + f.length - 1) // f.length - 2
    f.blocks = <uint32_t>((size if size > 1 else 1) + more)
    size = <int64_t>(f.blocks + 2) * f.length
    # A place comes into the queue once.
    memory = malloc(size * (8 + 4 + 2 + 1) + n * (8 + 1))
    if memory == NULL:
        raise MemoryError
    sums = <uint64_t*>memory
    order = sums + size
    queue = <uint32_t*>(order + n)
    prints = <uint16_t*>(queue + size)
    counts = <uint8_t*>(prints + size)
    which = counts + size
    made = numpy.zeros((size * width + 7) // 8 + 2, numpy.uint8)
    out = <uint8_t*>memory_of(made)
    with nogil:
        for attempt in range(ATTEMPTS):
            f.seed = fuse_hash(<uint64_t>attempt, <uint64_t>0x9E3779B97F4A7C15)
            memset(sums, 0, size * 8)
            memset(counts, 0, size)
            found = fuse_order(&f, at, n, sums, counts, queue, order, which)
            if found:
                break
        if found:
            memset(prints, 0, size * 2)
            fuse_fill(&f, n, order, which, (<uint64_t>1 << width) - 1, prints)
            pack_bits(prints, size, width, out)
        free(memory)
    if not found and more < 2:
        return fuse_filter(given, width, more + 1)
    return (made.tobytes(), f.seed, f.length, f.blocks) if found else None
