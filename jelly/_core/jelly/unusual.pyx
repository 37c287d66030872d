"""Rare parts of decoding: fields that writers do not make, features that are not announced, terms of earlier Batches."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport CARRIED, UNSET, copy_term
from jelly._core.base.fault cimport GENERALIZED_UNANNOUNCED, NO_TERM_TO_REPEAT, OK, STAR_UNANNOUNCED, fail
from jelly._core.jelly.decode_state cimport STAR
from jelly._core.base.pieces cimport gather, simplify


cdef int simplified(DecoderState* d, const uint8_t* begin, Reader* r) noexcept nogil:
    """`simplify` the message up to the end of `r`, which is then to be read anew. A fault is noted, at the place that `r`
    has come to."""
    cdef const uint8_t* at = r.at
    cdef int status
    r.at = begin
    status = simplify(&d.pieces, r[0], d.frame.at, r)
    return fail(&d.fault, status, at) if status < 0 else OK


cdef int check_announced(DecoderState* d, int feature, const uint8_t* at) noexcept nogil:
    """Note a statement that needs an option which the stream does not have; with `strict` it is a fault."""
    if d.header.star if feature == STAR else d.header.generalized:
        return OK
    if d.strict:
        return fail(&d.fault, STAR_UNANNOUNCED if feature == STAR else GENERALIZED_UNANNOUNCED, at)
    d.unannounced |= feature
    return OK


cdef int gathered(DecoderState* d, Reader r, uint32_t fields, uint32_t strings, Reader* span) noexcept nogil:
    """`gather` with its fault noted."""
    cdef int field = gather(&d.pieces, r, fields, strings, d.frame.at, span)
    return field if field >= 0 else fail(&d.fault, field, r.at)


cdef int merge_terms(DecoderState* d, Reader r, int arity, Reader* spans, int* kinds) noexcept nogil:
    """`take_terms` where a position is set more than once, or where a field is malformed or a group."""
    cdef int slot, field
    for slot in range(arity):
        field = gathered(d, r, 0b1111 << (4 * slot + 1), 1 << (4 * slot + 2), &spans[slot])
        if field < 0:
            return field
        kinds[slot] = field - (4 * slot + 1) if field > 0 else -1
    return OK


cdef int32_t repeat_term(DecoderState* d, int slot, const uint8_t* at) noexcept nogil:
    """The id of the term last seen in this position, or NO_TERM for the default graph.

    NO_TERM is negative like an error, so callers must test `d.fault.code`, not the sign.
    """
    cdef int32_t term = d.last[slot]
    if term == CARRIED:
        term = d.carried[slot]
        if term >= 0:
            # Were the copy to count, each statement that repeats a very long term would fill a Batch by itself.
            d.full_text -= d.b.n_text
            d.full_terms -= d.b.n_terms
            term = checked(d, copy_term(&d.carry, term, d.b), at)
            if term < 0:
                return term
            d.full_text += d.b.n_text
            d.full_terms += d.b.n_terms
        d.last[slot] = term
    elif term == UNSET:
        return fail(&d.fault, NO_TERM_TO_REPEAT, at, 0, slot)
    return term


cdef int take_key(DecoderState* d, Reader r, Reader* key) noexcept nogil:
    """Field 1 of a namespace or header, a string."""
    key.at = key.end = r.at
    return min(gathered(d, r, 1 << pb.RDF_PATCH_HEADER_KEY, 1 << pb.RDF_PATCH_HEADER_KEY, key), OK)
