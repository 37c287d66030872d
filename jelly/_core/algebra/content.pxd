"""The content of a term, whatever its id: the one place that hashes terms, and the one that compares them across Batches.

Two terms are equal where kind, text, language tag or datatype, and the terms of a quoted triple are equal, byte by byte:
"en" and "EN" are two tags, "1"^^xsd:int and "01"^^xsd:int two literals. What else a term may come to say, such as the
base direction of a literal, belongs into `TermView`, and nowhere else.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from jelly._core.base.batch cimport BatchData, TermView, len_of, same_bytes, text_of, view_term

ctypedef struct HashKey:
    uint64_t a
    uint64_t b


ctypedef struct Hash128:
    uint64_t lo
    uint64_t hi


cdef uint64_t hash_text(const uint8_t* at, int64_t n, const HashKey* key) noexcept nogil
cdef uint64_t hash_view(const TermView* v, const int32_t* refs, const HashKey* key) noexcept nogil
cdef void* memory_of(object array) except NULL
cdef int read_key(object seed, HashKey* key) except -1


cdef inline bint same_view(const TermView* v, const int32_t* refs, const BatchData* b, int32_t term) noexcept nogil:
    """Whether a term of a Batch, in which equal terms have equal ids, is such a one that refers to `refs` there."""
    cdef TermView w
    cdef int k
    if v.kind != b.kind[term] or v.n != len_of(b, term):
        return False
    if v.n_refs:
        view_term(b, term, &w)
        for k in range(v.n_refs):
            if refs[k] != w.refs[k]:
                return False
    return same_bytes(v.at, text_of(b, term), v.n)
