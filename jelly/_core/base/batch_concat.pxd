from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from jelly._core.base.batch cimport Batch, BatchData, len_of, text_of
from jelly._core.base.kinds cimport KIND_BNODE

ctypedef int64_t (*LenLabel)(void* x, const BatchData* b, int32_t term) noexcept nogil
ctypedef uint8_t* (*PutLabel)(void* x, uint8_t* out, const BatchData* b, int32_t term) noexcept nogil

cdef int32_t move_term(BatchData* b, int32_t term, BatchData* target, int32_t* moved) noexcept nogil
cdef int32_t copy_term(BatchData* source, int32_t term, BatchData* target) noexcept nogil
cdef bint same_term(BatchData* x, int32_t i, BatchData* y, int32_t j) noexcept nogil
cdef int carry_terms(BatchData* b, BatchData* carry, int32_t* last, int32_t* carried, int64_t text_limit) noexcept nogil
cdef int copy_arena(BatchData* b, BatchData* copy) noexcept nogil
cdef int copy_terms(BatchData* b, BatchData* copy) noexcept nogil
cdef int copy_marks(BatchData* b, BatchData* copy) noexcept nogil
cdef int stand_as(Batch made, Batch batch) except -1
cdef Batch like(Batch batch, int arity, int64_t rows, int64_t terms, int64_t text, int64_t text_limit)


# Inline, so that `length` and `put` are, too.

cdef inline int64_t len_labels(const BatchData* b, LenLabel length, void* x) noexcept nogil:
    """Bytes of the text of all terms, with other labels of blank nodes."""
    cdef int64_t n = b.n_text
    cdef int32_t term
    for term in range(b.n_terms):
        if b.kind[term] == KIND_BNODE:
            n += length(x, b, term) - len_of(b, term)
    return n


cdef inline void put_labels(const BatchData* b, BatchData* copy, int kind, PutLabel put, void* x) noexcept nogil:
    """Write the text of all terms; that between two blank nodes at once."""
    cdef uint8_t* out = copy.text
    cdef const uint8_t* copied = b.text  # up to here
    cdef const uint8_t* label
    cdef int64_t n
    cdef int32_t term
    for term in range(b.n_terms):
        label = text_of(b, term)
        # Of terms that were not written yet only the place is known.
        copy.start[term] = (out - copy.text) + (label - copied)
        if b.kind[term] == KIND_BNODE:
            memcpy(out, copied, label - copied)
            out = put(x, out + (label - copied), b, term)
            copied = text_of(b, term + 1)
            copy.kind[term] = <int8_t>kind
    n = b.text + b.n_text - copied
    memcpy(out, copied, n)
    copy.n_text = out - copy.text + n
    copy.start[b.n_terms] = copy.n_text


cdef inline Batch replace_labels(Batch batch, int kind, LenLabel length, PutLabel put, void* x):
    """A copy of a Batch in which each blank node has another label, or is a term of another kind.

    `length` gives the bytes that `put` writes for a blank node: both get `x`, the Batch and the term.
    """
    cdef BatchData* b = &batch.a
    cdef int64_t n_text
    cdef int status
    cdef Batch copy
    with nogil:
        n_text = len_labels(b, length, x)
    # Room after the text, so that the columns of its last terms need no copy.
    copy = like(batch, b.arity, b.n_rows, b.n_terms + 1, n_text + 64, n_text + 64)
    with nogil:
        status = copy_arena(b, &copy.a)
        if status == 0:
            put_labels(b, &copy.a, kind, put, x)
    if status < 0:
        raise MemoryError
    return copy
