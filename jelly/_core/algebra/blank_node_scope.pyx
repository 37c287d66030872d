"""Blank nodes of a source as nodes of its own: labels that begin with its scope, or IRIs made of such labels."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from jelly._core.base.batch cimport Batch, BatchData, has_kind, len_of, text_of
from jelly._core.base.batch_concat cimport replace_labels
from jelly._core.base.characters cimport is_digit, small_hex
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI

from jelly.errors import JellyArgumentError

cdef enum:
    # A scope is "jf", 16 hexadecimal digits and "_".
    N_SCOPE = 19


cdef struct Scoping:
    const uint8_t* scope
    const uint8_t* genid  # what IRIs begin with; NULL: labels stay labels
    int64_t n_genid


cdef bint is_scope(const uint8_t* text, int64_t n) noexcept nogil:
    """Whether a text begins with a scope."""
    cdef int i
    if n < N_SCOPE or text[0] != 0x6A or text[1] != 0x66 or text[N_SCOPE - 1] != 0x5F:
        return False
    for i in range(2, N_SCOPE - 1):
        if small_hex(text[i]) < 0:
            return False
    return True


cdef inline bint needs_scope(Scoping* r, const uint8_t* label, int64_t n) noexcept nogil:
    """Labels with the scope of another source stay. Those with this one get it twice, so that no two become one."""
    return not is_scope(label, n) or memcmp(label, r.scope, N_SCOPE) == 0


cdef inline bint is_unreserved(uint8_t byte) noexcept nogil:
    """Whether a byte stands for itself in any IRI."""
    return (
        is_digit(byte) or 0x61 <= byte <= 0x7A or 0x41 <= byte <= 0x5A
        or byte == 0x2D or byte == 0x2E or byte == 0x5F or byte == 0x7E
    )


cdef int64_t len_scoped(void* x, const BatchData* b, int32_t term) noexcept nogil:
    """The bytes that `put_scoped` writes."""
    cdef Scoping* r = <Scoping*>x
    cdef const uint8_t* label = text_of(b, term)
    cdef int64_t n = len_of(b, term)
    cdef int64_t i
    cdef int64_t more = N_SCOPE if needs_scope(r, label, n) else 0
    if r.genid != NULL:
        more += r.n_genid
        for i in range(n):
            if not is_unreserved(label[i]):
                more += 2
    return n + more


cdef uint8_t* put_scoped(void* x, uint8_t* out, const BatchData* b, int32_t term) noexcept nogil:
    """Write a label with its scope, or an IRI made of it."""
    cdef Scoping* r = <Scoping*>x
    cdef const uint8_t* label = text_of(b, term)
    cdef int64_t n = len_of(b, term)
    cdef const char* digits = b"0123456789ABCDEF"
    cdef int64_t i
    if r.genid != NULL:
        memcpy(out, r.genid, r.n_genid)
        out += r.n_genid
    if needs_scope(r, label, n):
        memcpy(out, r.scope, N_SCOPE)
        out += N_SCOPE
    if r.genid == NULL:
        memcpy(out, label, n)
        return out + n
    for i in range(n):
        if is_unreserved(label[i]):
            out[0] = label[i]
            out += 1
        else:
            out[0], out[1], out[2] = 0x25, digits[label[i] >> 4], digits[label[i] & 15]
            out += 3
    return out


def scope_blank_nodes(Batch batch not None, bytes scope not None, bytes genid=None) -> Batch:
    """The Batch with ``scope`` before the label of each blank node, so that those of other sources are other nodes.

    ``scope`` is "jf", 16 hexadecimal digits and "_". Labels that begin with another scope have got it before, and
    stay as they are. No two labels become one. With ``genid`` blank nodes become IRIs that begin with it, and end with
    such a label, in which bytes other than letters, digits, "-", ".", "_" and "~" are percent-encoded. A Batch without
    blank nodes is given back itself.

    >>> import jelly
    >>> batch = next(jelly.scan(b"_:x <a:p> _:jf0123456789abcdef_y .", format="nt").batches())
    >>> made = scope_blank_nodes(batch, b"jf00000000000000aa_")
    >>> made.term(made.s[0]), made.term(made.o[0])
    ('_:jf00000000000000aa_x', '_:jf0123456789abcdef_y')
    """
    cdef Scoping r
    r.scope = <const uint8_t*><const char*>scope
    r.genid, r.n_genid = NULL, 0
    if len(scope) != N_SCOPE or not is_scope(r.scope, N_SCOPE):
        raise JellyArgumentError(f"scope is {scope!r}: expected jf, 16 hexadecimal digits and _")
    if genid is not None:
        r.genid, r.n_genid = <const uint8_t*><const char*>genid, len(genid)
    if not has_kind(&batch.a, KIND_BNODE):
        return batch
    return replace_labels(batch, KIND_BNODE if genid is None else KIND_IRI, len_scoped, put_scoped, &r)
