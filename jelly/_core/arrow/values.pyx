"""Terms of a Batch as values of Arrow columns: where the text of each term is, and which terms have the same text."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from jelly._core.algebra.content cimport hash_text
from jelly._core.base.batch cimport (
    NO_TERM, has_kind, hash_bytes, len_direction, len_of, put_direction, refuse_term, same_bytes, text_of,
)
from jelly._core.base.fault cimport BAD_TERM, NO_MEMORY, OK, RENDER_LIMIT, VALUE_LIMIT, fail
from jelly._core.base.kinds cimport (
    COMPOUND, KIND_BNODE, KIND_LANG, KIND_TEXT, KIND_TEXT_LTR, KIND_TEXT_RTL, LITERALS, NODES, TRIPLES, among,
)
from jelly._core.base.memory cimport make_room
from jelly._core.ntriples.term_reader cimport OBJECT
from jelly._core.ntriples.term_writer cimport len_term, nt_put_term

cdef enum:
    CHUNK = 1 << 16
    # Probes of the hash table for each term, and some more, before another hash is taken: this one is not safe from those who
    # choose the terms.
    PROBES = 16
    FREE_PROBES = 1024
    AHEAD = 16


cdef int start_render(Render* r, BatchData* b, int syntax, bint directions) noexcept nogil:
    """Set up for the terms of a Batch; `end_render` must come before the next."""
    r.b = b
    r.syntax = syntax
    r.directions = directions
    r.fault.code = OK
    if make_room(<void**>&r.spans, &r.cap_spans, b.n_terms, sizeof(Span)) < 0:
        return NO_MEMORY
    if syntax == PLAIN and b.n_text <= MAX_VALUE:
        find_spans(r)
    elif b.n_terms:
        memset(r.spans, 0, b.n_terms * sizeof(Span))
    return OK


cdef void find_spans(Render* r) noexcept nogil:
    """Find the values that are texts of the Batch: for all terms at once this is less work than for each when it is met."""
    cdef BatchData* b = r.b
    cdef int others = COMPOUND | 1 << KIND_BNODE
    cdef int64_t end = b.cap_text - SLACK
    cdef int32_t term
    if not r.directions:
        others |= 1 << KIND_TEXT_LTR | 1 << KIND_TEXT_RTL
    for term in range(b.n_terms):
        if b.start[term + 1] <= end and not among(b.kind[term], others):
            r.spans[term].at = text_of(b, term)
            r.spans[term].n = <int32_t>len_of(b, term)
        else:
            r.spans[term].at = NULL


cdef int start_same(Render* r) noexcept nogil:
    """Set up for `find_same`."""
    cdef int64_t n = 256
    cdef BatchData* b = r.b
    if make_room(<void**>&r.first, &r.cap_first, b.n_terms, sizeof(int32_t)) < 0:
        return NO_MEMORY
    while n < 2 * <int64_t>b.n_terms:
        n *= 2
    if make_room(<void**>&r.table, &r.n_table, n, sizeof(Same)) < 0:
        return NO_MEMORY
    r.mask = <uint32_t>(n - 1)
    memset(r.table, 0xFF, n * sizeof(Same))
    if b.n_terms:
        memset(r.first, 0xFF, b.n_terms * sizeof(int32_t))
    r.probes_left = PROBES * <int64_t>b.n_terms + FREE_PROBES
    return OK


cdef void end_render(Render* r) noexcept nogil:
    """Give back what belongs to one Batch, keep the tables for the next."""
    cdef int64_t i
    for i in range(r.n_chunks):
        free(r.chunks[i])
    r.n_chunks = r.side_left = r.n_side = 0
    free(r.lengths.of_term)
    r.lengths.of_term = NULL
    r.b = NULL


cdef void free_render(Render* r) noexcept nogil:
    end_render(r)
    free(r.chunks)
    free(r.spans)
    free(r.first)
    free(r.table)


cdef uint8_t* take_side(Render* r, int64_t n) noexcept nogil:
    """Room for a value beside the text of the Batch; NULL with a fault where there is none."""
    cdef int64_t size = CHUNK if n + SLACK <= CHUNK else n + SLACK
    cdef uint8_t* at
    if n > MAX_VALUE:
        fail(&r.fault, VALUE_LIMIT, NULL, n, MAX_VALUE)
        return NULL
    if n + SLACK > r.side_left:
        if r.n_side + size > MAX_SIDE:
            fail(&r.fault, RENDER_LIMIT, NULL, MAX_SIDE)
            return NULL
        if make_room(<void**>&r.chunks, &r.cap_chunks, r.n_chunks + 1, sizeof(uint8_t*)) < 0:
            fail(&r.fault, NO_MEMORY, NULL)
            return NULL
        at = <uint8_t*>malloc(size)
        if at == NULL:
            fail(&r.fault, NO_MEMORY, NULL)
            return NULL
        r.chunks[r.n_chunks] = at
        r.n_chunks += 1
        r.n_side += size
        r.side = at
        r.side_left = size
    at = r.side
    r.side += n
    r.side_left -= n
    return at


cdef int render(Render* r, int32_t term) noexcept nogil:
    """Find or write the value of a term that is in range."""
    cdef BatchData* b = r.b
    cdef Span* span = &r.spans[term]
    cdef int kind = b.kind[term]
    cdef const uint8_t* text = text_of(b, term)
    cdef int64_t n = len_of(b, term)
    cdef int64_t head, tail
    cdef uint8_t* at
    if r.syntax == PLAIN and not among(kind, COMPOUND):
        head = 2 if kind == KIND_BNODE else 0
        tail = 0 if r.directions else len_direction(kind)
        if head + tail == 0 and n <= MAX_VALUE and b.text + b.cap_text - text - n >= SLACK:
            at = <uint8_t*>text
        else:
            at = take_side(r, head + n + tail)
            if at == NULL:
                return r.fault.code
            if head:
                memcpy(at, b"_:", 2)
            memcpy(at + head, text, n)
            if tail:
                put_direction(at + head + n, kind)
            n += head + tail
    else:
        if r.lengths.of_term == NULL:
            r.lengths.batch = b
            r.lengths.fault.code = OK
            r.lengths.fitted = True  # by who has made the columns
            r.lengths.of_term = <int64_t*>calloc(b.n_terms, sizeof(int64_t))
            if r.lengths.of_term == NULL:
                return fail(&r.fault, NO_MEMORY, NULL)
        # A value is that of a term, not of a place: as an object everywhere, so that columns can be joined.
        n = len_term(&r.lengths, term, OBJECT, 0)
        if n < 0:
            return fail(&r.fault, r.lengths.fault.code, NULL, r.lengths.fault.a, r.lengths.fault.b)
        at = take_side(r, n)
        if at == NULL:
            return r.fault.code
        nt_put_term(&r.lengths, at, term, OBJECT)
    span.at = at
    span.n = <int32_t>n
    return OK


# Terms with the same text.

cdef inline uint32_t hash_of(Render* r, const Span* span) noexcept nogil:
    return <uint32_t>(hash_text(span.at, span.n, &r.key) if r.secret else hash_bytes(span.at, span.n, 0))


cdef void hash_again(Render* r) noexcept nogil:
    """From now on take a slower hash, for which nobody can choose terms that collide."""
    cdef int32_t term
    r.secret = True
    memset(r.table, 0xFF, (<int64_t>r.mask + 1) * sizeof(Same))
    for term in range(r.b.n_terms):
        if r.first[term] == term:
            find_first(r, term, hash_of(r, &r.spans[term]))


cdef inline int32_t find_first(Render* r, int32_t term, uint32_t hash) noexcept nogil:
    """find_same for a term that is rendered and whose hash is known."""
    cdef Span* span = &r.spans[term]
    cdef uint32_t mask = r.mask
    cdef uint32_t i = hash & mask
    cdef int32_t other
    while True:
        other = r.table[i].term
        if other < 0:
            r.table[i].hash = hash
            r.table[i].term = other = term
            break
        if (
            r.table[i].hash == hash
            and r.spans[other].n == span.n
            and same_bytes(r.spans[other].at, span.at, span.n)
        ):
            break
        r.probes_left -= 1
        i = (i + 1) & mask
        if r.probes_left < 0 and not r.secret:
            hash_again(r)
            hash = hash_of(r, span)
            i = hash & mask
    r.first[term] = other
    return other


cdef int32_t find_same(Render* r, int32_t term) noexcept nogil:
    """The term that stands for all with the text of this one, which is in range; or a negative code."""
    cdef Span* span = &r.spans[term]
    if r.first[term] >= 0:
        return r.first[term]
    if span.at == NULL and render(r, term) < 0:
        return r.fault.code
    return find_first(r, term, hash_of(r, span))


cdef int all_differ(Render* r) noexcept nogil:
    """1 where the text of the Batch is as it stands a dictionary of values that all differ, 0 where not, or a code."""
    cdef BatchData* b = r.b
    cdef uint32_t hashes[AHEAD]
    cdef int32_t begin = 0
    cdef int32_t term, other
    cdef int32_t touched = 0
    cdef int n, i
    cdef bint differ = True
    if r.syntax != PLAIN or b.n_terms == 0 or b.n_quoted > 0:
        return 0
    if has_kind(b, KIND_BNODE) or has_kind(b, KIND_TEXT_LTR) or has_kind(b, KIND_TEXT_RTL):
        differ = False
    # Some at a time: the slots that they need come from memory together.
    while begin < b.n_terms:
        n = AHEAD if b.n_terms - begin > AHEAD else b.n_terms - begin
        for i in range(n):
            term = begin + i
            if r.spans[term].at == NULL and render(r, term) < 0:
                return r.fault.code
            hashes[i] = hash_of(r, &r.spans[term])
            touched |= r.table[hashes[i] & r.mask].term
        for i in range(n):
            term = begin + i
            other = r.first[term]
            if other < 0:
                other = find_first(r, term, hash_of(r, &r.spans[term]) if r.secret else hashes[i])
            differ = differ and other == term
        begin += n
    r.touched = touched  # so that the compiler keeps the loads
    return differ


cdef int64_t find_directions(Render* r, const int32_t* ids, int64_t rows, int8_t* out) noexcept nogil:
    """The base directions of some terms: 0 ltr, 1 rtl, -1 none. How many have one, or a code."""
    cdef BatchData* b = r.b
    cdef int64_t found = 0
    cdef int64_t row
    cdef int32_t term
    for row in range(rows):
        term = ids[row]
        out[row] = -1
        if 0 <= term < b.n_terms and b.kind[term] == KIND_LANG:
            term = b.aux[term]
        elif 0 <= term < b.n_terms or (term == NO_TERM and b.cells != NULL):
            continue
        if term < 0 or term >= b.n_terms:
            return fail(&r.fault, BAD_TERM, NULL, term, OBJECT)
        if b.kind[term] > KIND_TEXT:
            out[row] = b.kind[term] - KIND_TEXT_LTR
            found += 1
    return found


cdef int64_t fill_kinds(Render* r, const int32_t* ids, int64_t rows, int32_t* offsets, uint8_t* data) noexcept nogil:
    """object_kind as text; the bytes, or a code."""
    cdef const char* texts = b"literal\0iri\0\0\0\0\0bnode\0\0\0triple\0\0"
    cdef int64_t lengths[4]
    cdef int64_t used = 0
    cdef int64_t row
    cdef int which
    lengths[0] = 7
    lengths[1] = 3
    lengths[2] = 5
    lengths[3] = 6
    offsets[0] = 0
    for row in range(rows):
        which = kind_of(r, ids[row])
        if which < 0:
            return which
        memcpy(data + used, texts + KIND_WIDTH * which, KIND_WIDTH)
        used += lengths[which]
        offsets[row + 1] = <int32_t>used
    return used


cdef inline int kind_of(Render* r, int32_t term) noexcept nogil:
    """0 literal, 1 IRI, 2 blank node, 3 quoted triple, NO_TERM for an unbound variable, or a code."""
    cdef int kind
    if term < 0 or term >= r.b.n_terms:
        if term == NO_TERM and r.b.cells != NULL:
            return NO_TERM
        return fail(&r.fault, BAD_TERM, NULL, term, OBJECT)
    kind = r.b.kind[term]
    if among(kind, NODES):
        return kind
    return 0 if among(kind, LITERALS) else 3 if among(kind, TRIPLES) else refuse_term(&r.fault, r.b, term, OBJECT)


cdef int64_t fill_kind_codes(Render* r, const int32_t* ids, int64_t rows, int8_t* out) noexcept nogil:
    cdef int64_t row
    cdef int which
    for row in range(rows):
        which = kind_of(r, ids[row])
        if which < NO_TERM:
            return which
        out[row] = <int8_t>which
    return OK
