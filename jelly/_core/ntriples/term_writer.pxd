"""Batches to N-Triples and N-Quads: lengths are measured first, so that bytes are written without tests.

If the fault is BAD_LABEL or BAD_TAG, the caller asks `Capabilities.fit`. Terms are checked here, while
they are measured, because lines of text need no other checks.

A quoted triple is <<( s p o )>> as an object (triple term of RDF 1.2). In other positions, which RDF 1.2 does not allow, a quoted
triple is << s p o >>, as in RDF-star.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove

from jelly._core.base.batch cimport NO_TERM, BatchData
from jelly._core.base.fault cimport BAD_TERM, NAMED_GRAPH_IN_TRIPLES, UNKNOWN_KIND, Fault, fail
from jelly._core.ntriples.term_reader cimport GRAPH, OBJECT, PREDICATE, SUBJECT

cdef enum:
    AROUND_ROW = 5  # two spaces, " .\n"
    SHORT = 64  # bytes that are copied without a look at the length, as most terms are shorter


ctypedef struct NTriplesWriter:
    BatchData* batch
    # Bytes of each written term; of a quoted triple without parentheses, negated; 0: not known yet. calloc'd by
    # the caller, n_terms items.
    int64_t* of_term
    # For put_rows: the bytes before each term that was written, plus 1; n_terms items of calloc.
    int64_t* places
    int64_t done  # bytes of the parts before this one
    uint8_t* part  # that is written
    uint8_t* part_end
    bint quads
    bint marked  # blank nodes as <_:label>, in RDF Patch
    bint star  # quoted triples as << s p o >> in any place, as RDF-star had them
    bint canonical  # any language tag is no fault
    bint fitted  # the Batch was fitted to lines of text: replaced labels are no fault
    Fault fault


cdef int64_t len_text(const uint8_t* text, int64_t n, bint iri) noexcept nogil
cdef uint8_t* put_text(uint8_t* out, const uint8_t* text, int64_t n, int64_t written, bint iri, bint room=*) noexcept nogil
cdef int64_t len_term(NTriplesWriter* t, int32_t term, int slot, int depth) noexcept nogil
cdef uint8_t* nt_put_term(NTriplesWriter* t, uint8_t* out, int32_t term, int slot) noexcept nogil
cdef uint8_t* put_leaf(NTriplesWriter* t, uint8_t* out, int32_t term) noexcept nogil
cdef uint8_t* put_triple(NTriplesWriter* t, uint8_t* out, int32_t term, int slot) noexcept nogil
cdef int64_t len_rows(NTriplesWriter* t, int64_t* row, int64_t end, int64_t limit) noexcept nogil
cdef void put_rows(NTriplesWriter* t, int64_t row, int64_t end) noexcept nogil


cdef inline int64_t len_slot(NTriplesWriter* t, int32_t term, int slot) noexcept nogil:
    """len_term for a column, without a call if the length is known, as it is for most terms."""
    cdef int64_t length
    if 0 <= term < t.batch.n_terms and t.of_term[term] > 0:
        return t.of_term[term]
    length = len_term(t, term, slot, 0)
    if length < 0 and (t.fault.code == BAD_TERM or t.fault.code == UNKNOWN_KIND) and t.fault.b < 0:
        t.fault.b = slot
    return length


cdef inline int64_t len_row(NTriplesWriter* t, int64_t row) noexcept nogil:
    """Bytes of the line of a statement, or a negative code."""
    cdef BatchData* b = t.batch
    cdef int64_t n = len_slot(t, b.s[row], SUBJECT) + len_slot(t, b.p[row], PREDICATE) + len_slot(t, b.o[row], OBJECT)
    if b.g != NULL and b.g[row] != NO_TERM:
        if not t.quads:
            return fail(&t.fault, NAMED_GRAPH_IN_TRIPLES, NULL)
        n += len_slot(t, b.g[row], GRAPH) + 1
    return n + AROUND_ROW if t.fault.code >= 0 else t.fault.code


cdef inline uint8_t* put_any(NTriplesWriter* t, uint8_t* out, int32_t term, int slot, bint quoted) noexcept nogil:
    """Write a term. It may be a quoted triple only if `quoted`."""
    if quoted and t.of_term[term] < 0:
        return put_triple(t, out, term, slot)
    return put_leaf(t, out, term)


cdef inline void begin_part(NTriplesWriter* t, uint8_t* out, int64_t n) noexcept nogil:
    """Go on to a part of `n` bytes, in which the rows are written next."""
    t.done += t.part_end - t.part
    t.part = out
    t.part_end = out + n


cdef inline void copy_bytes(uint8_t* out, const uint8_t* at, int64_t n, bint room) noexcept nogil:
    """memcpy, without a call for short texts. With `room` SHORT bytes may be read and written: what is too much is
    overwritten next."""
    if n > SHORT or not room:
        memcpy(out, at, n)
        return
    memmove(out, at, 16)
    memmove(out + 16, at + 16, 16)
    memmove(out + 32, at + 32, 16)
    memmove(out + 48, at + 48, 16)


cdef inline uint8_t* put_slot(NTriplesWriter* t, uint8_t* out, int32_t term, int slot, bint quoted) noexcept nogil:
    """put_any for a column. A term that the part has already is copied from there."""
    cdef int64_t n = t.of_term[term]
    cdef int64_t place = t.places[term] - t.done
    if quoted and n < 0:
        return put_triple(t, out, term, slot)
    if place <= 0:
        t.places[term] = t.done + (out - t.part) + 1
        return put_leaf(t, out, term)
    copy_bytes(out, t.part + place - 1, n, t.part_end - out >= SHORT)
    return out + n


cdef inline uint8_t* put_row(NTriplesWriter* t, uint8_t* out, int64_t row, bint quoted) noexcept nogil:
    """Write the line of a statement that len_row has measured; `quoted`: it may have quoted triples."""
    cdef BatchData* b = t.batch
    out = put_slot(t, out, b.s[row], SUBJECT, quoted)
    out[0] = 0x20
    out = put_slot(t, out + 1, b.p[row], PREDICATE, quoted)
    out[0] = 0x20
    out = put_slot(t, out + 1, b.o[row], OBJECT, quoted)
    if t.quads and b.g != NULL and b.g[row] != NO_TERM:
        out[0] = 0x20
        out = put_slot(t, out + 1, b.g[row], GRAPH, quoted)
    out[0] = 0x20
    out[1] = 0x2E
    out[2] = 0x0A
    return out + 3
