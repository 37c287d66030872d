"""The content of a term, whatever its id: the one place that hashes terms, and the one that compares them across Batches.

Two terms are equal where kind, text, language tag or datatype, and the terms of a quoted triple are equal, byte by byte:
"en" and "EN" are two tags, "1"^^xsd:int and "01"^^xsd:int two literals. What else a term may come to say, such as the
base direction of a literal, belongs into `kind_word` and into `same_content`, and nowhere else.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from jelly._core.base.batch cimport BatchData, TermView, same_bytes, view_term
from jelly._core.base.kinds cimport ATTRIBUTED, COMPOUND, among

ctypedef struct HashKey:
    uint64_t a
    uint64_t b


ctypedef struct Hash128:
    uint64_t lo
    uint64_t hi


cdef void hash_terms(BatchData* b, const HashKey* key, bint alike, Hash128* out) noexcept nogil
cdef void hash_rows(BatchData* b, const Hash128* terms, Hash128* out) noexcept nogil
cdef uint64_t hash_shallow(BatchData* b, int32_t term, const int32_t* ids, const HashKey* key) noexcept nogil
cdef uint64_t hash_text(const uint8_t* at, int64_t n, const HashKey* key, int kind) noexcept nogil
cdef void* memory_of(object array) except NULL
cdef int read_key(object seed, HashKey* key) except -1


cdef inline uint64_t kind_word(BatchData* b, int32_t term) noexcept nogil:
    """The content of a term in numbers, beside its text and the terms that it refers to."""
    return <uint64_t>b.kind[term]


cdef inline bint same_content(
    BatchData* x, int32_t i, const int32_t* ids, BatchData* y, int32_t j
) noexcept nogil:
    """Whether term `i` of `x` is term `j` of `y`. `ids` tells for the terms of `x` that others refer to which ones of
    `y` they are; in `y`, equal terms have equal ids."""
    cdef int64_t n = x.start[i + 1] - x.start[i]
    cdef TermView v, w
    cdef int k
    if kind_word(x, i) != kind_word(y, j) or n != y.start[j + 1] - y.start[j]:
        return False
    if among(x.kind[i], ATTRIBUTED | COMPOUND):
        view_term(x, i, &v)
        view_term(y, j, &w)
        for k in range(v.n_refs):
            if ids[v.refs[k]] != w.refs[k]:
                return False
    return same_bytes(x.text + x.start[i], y.text + y.start[j], n)
