"""Rare parts of decoding: options, fields that writers do not make, features that are not announced, terms of earlier Batches."""

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport CARRIED, UNSET, add_metadata
from jelly._core.base.batch_concat cimport copy_term
from jelly._core.base.constants cimport is_index_key
from jelly._core.base.fault cimport (
    GENERALIZED_UNANNOUNCED, NEED_TABLES, NO_TERM_TO_REPEAT, OK, OPTIONS_CHANGED, STAR_UNANNOUNCED,
)
from jelly._core.jelly.counts cimport begin_of, note_metadata, skims
from jelly._core.jelly.decode_state cimport STAR
from jelly._core.jelly.frame_reader cimport take_metadata
from jelly._core.jelly.stream_options cimport (
    StreamOptionsRow, check_stream_options, look_for_restart, read_stream_options, same_stream_options,
)
from jelly._core.base.pieces cimport gather, simplify


cdef int read_options(DecoderState* d, Reader* r) noexcept nogil:
    """The options row. NEED_TABLES for the first one of a stream."""
    cdef const uint8_t* at = r.at
    cdef StreamOptionsRow h
    cdef bint same
    if read_stream_options(r, &h, d.patch, &d.fault) != OK:
        return d.fault.code
    if d.has_header and not d.joined:
        same = same_stream_options(&d.header, &h)
        if not (same or skims(d)):
            return fail(&d.fault, OPTIONS_CHANGED, at)
        look_for_restart(&d.restart, d.n_frames, d.row, offset_of(d, at))
        if same:
            return OK
    if check_stream_options(&h, d.patch, d.strict, &d.limits, at, &d.fault) != OK:
        return d.fault.code
    d.next = h
    return NEED_TABLES


cdef int read_metadata(DecoderState* d, Reader* r) noexcept nogil:
    cdef const uint8_t* begin = r.at
    cdef Reader key, value
    if take_metadata(r, &key, &value, &d.fault) != OK:
        return d.fault.code
    if d.counts != NULL and note_metadata(d, key, value, r.end - begin_of(begin)) != OK:
        return d.fault.code
    if is_index_key(key.at, key.end - key.at):
        return OK
    return checked(d, add_metadata(d.b, key.at, key.end - key.at, value.at, value.end - value.at), key.at)


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
    if d.columnar:
        return OK  # there the version tells
    if d.header.star if feature == STAR else d.header.generalized:
        return OK
    if d.strict:
        return fail(&d.fault, STAR_UNANNOUNCED if feature == STAR else GENERALIZED_UNANNOUNCED, at)
    d.unannounced |= feature
    return OK


cdef int gathered(DecoderState* d, Reader r, uint32_t fields, uint32_t strings, Reader* span) noexcept nogil:
    """`gather` with its fault noted."""
    cdef uint32_t[3] wires = [0, 0, fields]
    cdef int field = gather(&d.pieces, r, wires, strings, d.frame.at, span)
    return field if field >= 0 else fail(&d.fault, field, r.at)


cdef int merge_terms(DecoderState* d, Reader r, int arity, Reader* spans, int* kinds) noexcept nogil:
    """`take_terms` where a position is set more than once, or where a field is malformed or a group; and in columns,
    where subject and predicate have fewer fields."""
    cdef int slot, field
    cdef uint32_t fields
    for slot in range(arity):
        fields = 0b1111 if slot >= 2 or not d.columnar else 0b11 >> slot
        field = gathered(d, r, fields << (4 * slot + 1), 1 << (4 * slot + 2), &spans[slot])
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
