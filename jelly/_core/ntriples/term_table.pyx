"""The different terms of whole datasets, numbered: equal terms have equal numbers, in all Batches."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from jelly._core.algebra.content cimport hash_text
from jelly._core.base.batch cimport NO_TERM, len_direction, put_direction, refuse_term
from jelly._core.base.constants cimport MAX_DEPTH, is_xsd_string
from jelly._core.base.fault cimport BAD_TERM, DEPTH, NO_MEMORY, TERMS_LIMIT, fail
from jelly._core.base.kinds cimport (
    KIND_BNODE, KIND_IRI, KIND_LANG, KIND_TYPED, KIND_VARIABLE, PATTERNS, TERMS, TRIPLES, among,
)
from jelly._core.base.memory cimport make_room, resize
from jelly._core.ntriples.term_writer cimport len_text, put_text

cdef enum:
    MAX_TERMS = 0x7FFFFF00
    FEW = 16  # up to this number, items are sorted by insertion
    DIGIT = 11  # bits of a digit of the radix sort


cdef int init_table(TermTable* t, uint64_t key, uint64_t more_key) noexcept nogil:
    memset(t, 0, sizeof(TermTable))
    t.cap_terms = 1024
    t.cap_text = 1 << 16
    t.n_slots = 4096
    t.key.a = key
    t.key.b = more_key
    t.text = <uint8_t*>malloc(t.cap_text)
    t.start = <int64_t*>malloc((t.cap_terms + 1) * sizeof(int64_t))
    t.sort = <int8_t*>malloc(t.cap_terms)
    t.slots = <InternSlot*>malloc(t.n_slots * sizeof(InternSlot))
    if t.text == NULL or t.start == NULL or t.sort == NULL or t.slots == NULL:
        free_table(t)
        return NO_MEMORY
    t.start[0] = 0
    memset(t.slots, 0xFF, t.n_slots * sizeof(InternSlot))
    return 0


cdef void free_table(TermTable* t) noexcept nogil:
    free(t.text)
    free(t.start)
    free(t.sort)
    free(t.slots)
    memset(t, 0, sizeof(TermTable))


# ---- what a term says

cdef int64_t count_noncharacters(const uint8_t* at, int64_t n) noexcept nogil:
    """Count U+FFFE and U+FFFF. Canonical N-Quads escapes them besides the controls, as XML 1.1 excludes them."""
    cdef int64_t i, found = 0
    for i in range(n - 2):
        if at[i] == 0xEF and at[i + 1] == 0xBF and at[i + 2] >= 0xBE:
            found += 1
    return found


cdef uint8_t* put_lexical(uint8_t* out, const uint8_t* text, int64_t n, int64_t odd) noexcept nogil:
    """Write the text of a literal; `odd` of its characters are U+FFFE or U+FFFF."""
    cdef const uint8_t* end = text + n
    cdef const uint8_t* at = text
    while odd:
        if at[0] == 0xEF and at[1] == 0xBF and at[2] >= 0xBE:
            out = put_text(out, text, at - text, len_text(text, at - text, False), False)
            memcpy(out, b"\\uFFFE" if at[2] == 0xBE else b"\\uFFFF", 6)
            out += 6
            at += 3
            text = at
            odd -= 1
        else:
            at += 1
    return put_text(out, text, end - text, len_text(text, end - text, False), False)


cdef int reserve_text(TermTable* t, int64_t need) noexcept nogil:
    return make_room(<void**>&t.text, &t.cap_text, t.n_text + need, 1)


cdef int64_t put_content(TermTable* t, BatchData* b, int32_t term) noexcept nogil:
    """Append the text of an IRI, blank node or literal to that of the table; return its length, or a negative code."""
    cdef int kind = b.kind[term]
    cdef int32_t aux = b.aux[term]
    cdef const uint8_t* text = b.text + b.start[term]
    cdef int64_t n = b.start[term + 1] - b.start[term]
    cdef int64_t need, odd, n_aux
    cdef uint8_t* out
    if kind == KIND_BNODE:
        if reserve_text(t, n) < 0:
            return NO_MEMORY
        memcpy(t.text + t.n_text, text, n)
        return n
    if kind == KIND_IRI:
        need = len_text(text, n, True)
        if reserve_text(t, need + 2) < 0:
            return NO_MEMORY
        out = t.text + t.n_text
        out[0] = 0x3C
        out = put_text(out + 1, text, n, need, True)
        out[0] = 0x3E
        return need + 2
    if among(kind, PATTERNS):
        # As no RDF term is written: ?name, or * for ANY.
        if reserve_text(t, n + 1) < 0:
            return NO_MEMORY
        t.text[t.n_text] = 0x3F if kind == KIND_VARIABLE else 0x2A
        memcpy(t.text + t.n_text + 1, text, n)
        return n + 1
    odd = count_noncharacters(text, n)
    need = len_text(text, n, False) + 3 * odd + 2
    n_aux = 0
    if kind == KIND_LANG:
        n_aux = b.start[aux + 1] - b.start[aux] + 1 + len_direction(b.kind[aux])
    elif kind == KIND_TYPED and not is_xsd_string(b.text + b.start[aux], b.start[aux + 1] - b.start[aux]):
        n_aux = len_text(b.text + b.start[aux], b.start[aux + 1] - b.start[aux], True) + 4
    if reserve_text(t, need + n_aux) < 0:
        return NO_MEMORY
    out = t.text + t.n_text
    out[0] = 0x22
    out = put_lexical(out + 1, text, n, odd)
    out[0] = 0x22
    out += 1
    if n_aux == 0:
        return need
    text = b.text + b.start[aux]
    if kind == KIND_LANG:
        out[0] = 0x40
        n = b.start[aux + 1] - b.start[aux]
        memcpy(out + 1, text, n)
        put_direction(out + 1 + n, b.kind[aux])
    else:
        out[0] = out[1] = 0x5E
        out[2] = 0x3C
        out = put_text(out + 3, text, b.start[aux + 1] - b.start[aux], n_aux - 4, True)
        out[0] = 0x3E
    return need + n_aux


# ---- the table

cdef int grow_slots(TermTable* t) noexcept nogil:
    cdef int64_t n = 4 * t.n_slots
    cdef int64_t i, k
    cdef InternSlot* slots = <InternSlot*>malloc(n * sizeof(InternSlot))
    if slots == NULL:
        return NO_MEMORY
    memset(slots, 0xFF, n * sizeof(InternSlot))
    # 32 bits of the hash are kept, so a table has at most 2**32 slots.
    for i in range(t.n_slots):
        if t.slots[i].term >= 0:
            k = t.slots[i].hash & (n - 1)
            while slots[k].term >= 0:
                k = (k + 1) & (n - 1)
            slots[k] = t.slots[i]
    free(t.slots)
    t.slots = slots
    t.n_slots = n
    return 0


cdef int32_t number_text(TermTable* t, int64_t n, int sort, Fault* fault) noexcept nogil:
    """The number of the term whose text follows that of the table, or a negative code if there is no room."""
    cdef const uint8_t* text = t.text + t.n_text
    cdef uint64_t hash = hash_text(text, n, &t.key, sort)
    cdef int64_t i = <uint32_t>hash & (t.n_slots - 1)
    cdef int64_t cap
    cdef int32_t term
    while t.slots[i].term >= 0:
        term = t.slots[i].term
        if (
            t.slots[i].hash == <uint32_t>hash and t.sort[term] == sort and t.start[term + 1] - t.start[term] == n
            and memcmp(t.text + t.start[term], text, n) == 0
        ):
            return term
        i = (i + 1) & (t.n_slots - 1)
    term = t.n_terms
    if term >= MAX_TERMS:
        return fail(fault, TERMS_LIMIT, NULL, MAX_TERMS)
    if term == t.cap_terms:
        cap = min(2 * <int64_t>t.cap_terms, MAX_TERMS)
        if resize(<void**>&t.start, cap + 1, sizeof(int64_t)) < 0 or resize(<void**>&t.sort, cap, 1) < 0:
            return fail(fault, NO_MEMORY, NULL)
        t.cap_terms = <int32_t>cap
    t.n_text += n
    t.start[term + 1] = t.n_text
    t.sort[term] = <int8_t>sort
    t.n_terms += 1
    t.slots[i].hash = <uint32_t>hash
    t.slots[i].term = term
    if 2 * <int64_t>t.n_terms > t.n_slots and grow_slots(t) < 0:
        return fail(fault, NO_MEMORY, NULL)
    return term


cdef int32_t number_term(
    TermTable* t, BatchData* b, int32_t term, int32_t* numbers, int blank, int depth, Fault* fault
) noexcept nogil:
    """The number of a term of a Batch, also stored in `numbers`; `blank` is the sort of its blank nodes."""
    cdef int32_t inner[3]
    cdef int32_t* parts
    cdef int sort = SORT_TEXT
    cdef int64_t n
    cdef int k
    if term < 0 or term >= b.n_terms:
        return fail(fault, BAD_TERM, NULL, term, -1)
    if numbers[term] >= 0:
        return numbers[term]
    if not among(b.kind[term], TERMS | PATTERNS):
        return refuse_term(fault, b, term, -1)
    if among(b.kind[term], TRIPLES):
        if depth >= MAX_DEPTH:
            return fail(fault, DEPTH, NULL, MAX_DEPTH)
        parts = b.quoted + 3 * b.aux[term]
        sort = SORT_TRIPLE
        for k in range(3):
            inner[k] = number_term(t, b, parts[k], numbers, blank, depth + 1, fault)
            if inner[k] < 0:
                return inner[k]
            if t.sort[inner[k]] != SORT_TEXT and t.sort[inner[k]] != SORT_TRIPLE:
                sort = SORT_OPEN_TRIPLE
        n = sizeof(inner)
        if reserve_text(t, n) < 0:
            return fail(fault, NO_MEMORY, NULL)
        memcpy(t.text + t.n_text, inner, n)
    else:
        if b.kind[term] == KIND_BNODE:
            sort = blank
        n = put_content(t, b, term)
        if n < 0:
            return fail(fault, NO_MEMORY, NULL)
    numbers[term] = number_text(t, n, sort, fault)
    return numbers[term]


cdef inline int32_t number_slot(
    TermTable* t, BatchData* b, int32_t term, int32_t* numbers, int blank, Fault* fault
) noexcept nogil:
    if 0 <= term < b.n_terms and numbers[term] >= 0:
        return numbers[term]
    return number_term(t, b, term, numbers, blank, 0, fault)


cdef int add_statements(
    TermTable* t, Statements* into, BatchData* b, int64_t row, int64_t end, int32_t* numbers, int blank, Fault* fault
) noexcept nogil:
    """Number the terms of some rows of a Batch. `numbers` is -1 for each of its terms, or as an earlier call left it."""
    cdef Statement* statement
    if make_room(<void**>&into.rows, &into.cap, into.n + end - row, sizeof(Statement)) < 0:
        return fail(fault, NO_MEMORY, NULL)
    while row < end:
        statement = &into.rows[into.n]
        statement.s = number_slot(t, b, b.s[row], numbers, blank, fault)
        statement.p = number_slot(t, b, b.p[row], numbers, blank, fault)
        statement.o = number_slot(t, b, b.o[row], numbers, blank, fault)
        statement.g = NO_TERM
        if b.g != NULL and b.g[row] != NO_TERM:
            statement.g = number_slot(t, b, b.g[row], numbers, blank, fault)
        if fault.code < 0:
            return fault.code
        into.n += 1
        row += 1
    return 0


# ---- sorting

cdef inline uint64_t word_at(const uint8_t* text, int64_t at, int64_t end) noexcept nogil:
    """Eight bytes as a number that sorts as they do; bytes after the end count as zeros."""
    cdef uint64_t word = 0
    cdef int i
    cdef int n = 8 if end - at >= 8 else <int>(end - at) if end > at else 0
    for i in range(n):
        word = word << 8 | text[at + i]
    # In two steps: a shift by 64 is not defined.
    return word << 4 * (8 - n) << 4 * (8 - n)


cdef bint comes_before(
    const uint8_t* text, const int64_t* start, const TextItem* x, const TextItem* y, int64_t depth
) noexcept nogil:
    """Whether a text sorts before another; they are equal up to `depth`, where their words begin."""
    cdef int64_t n, m
    cdef int order
    if x.word != y.word:
        return x.word < y.word
    n = start[x.term + 1] - start[x.term] - depth
    m = start[y.term + 1] - start[y.term] - depth
    if n <= 0 or m <= 0:
        return n < m
    order = memcmp(text + start[x.term] + depth, text + start[y.term] + depth, min(n, m))
    return order < 0 or (order == 0 and n < m)


cdef void sort_few(const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, int64_t depth) noexcept nogil:
    cdef TextItem item
    cdef int64_t i, k
    for i in range(1, n):
        item = items[i]
        k = i
        while k > 0 and comes_before(text, start, &item, &items[k - 1], depth):
            items[k] = items[k - 1]
            k -= 1
        items[k] = item


cdef inline uint64_t next_chance(uint64_t* chance) noexcept nogil:
    chance[0] ^= chance[0] << 13
    chance[0] ^= chance[0] >> 7
    chance[0] ^= chance[0] << 17
    return chance[0]


cdef void take_words(const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, int64_t depth) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        items[i].word = word_at(text, start[items[i].term] + depth, start[items[i].term + 1])


cdef int64_t put_ended_first(const int64_t* start, TextItem* items, int64_t n, int64_t depth) noexcept nogil:
    """Move texts that end within the last eight bytes to the front, sorted by length; return their number."""
    cdef int64_t found = 0
    cdef int64_t length, i, k
    cdef TextItem item
    for i in range(n):
        if start[items[i].term + 1] - start[items[i].term] < depth:
            item = items[i]
            items[i] = items[found]
            length = start[item.term + 1] - start[item.term]
            k = found
            # They have at most eight different lengths, and equal texts are one term in a table.
            while k > 0 and start[items[k - 1].term + 1] - start[items[k - 1].term] > length:
                items[k] = items[k - 1]
                k -= 1
            items[k] = item
            found += 1
    return found


cdef void sort_from(
    const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, int64_t depth, uint64_t* chance
) noexcept nogil:
    """Multikey quicksort, eight bytes at a time. It recurses only into the smaller parts, so the depth is bounded."""
    cdef int64_t below, above, i, ended, n_below, n_equal, n_above
    cdef uint64_t pivot
    cdef TextItem item
    while n > FEW:
        pivot = items[next_chance(chance) % <uint64_t>n].word
        below = i = 0
        above = n
        while i < above:
            item = items[i]
            if item.word < pivot:
                items[i] = items[below]
                items[below] = item
                below += 1
                i += 1
            elif item.word > pivot:
                above -= 1
                items[i] = items[above]
                items[above] = item
            else:
                i += 1
        n_below = below
        n_equal = above - below
        n_above = n - above
        if n_equal >= n_below and n_equal >= n_above:
            sort_from(text, start, items, n_below, depth, chance)
            sort_from(text, start, items + above, n_above, depth, chance)
            items += below
            depth += 8
            ended = put_ended_first(start, items, n_equal, depth)
            items += ended
            n = n_equal - ended
            take_words(text, start, items, n, depth)
            continue
        if n_equal > 1:
            ended = put_ended_first(start, items + below, n_equal, depth + 8)
            take_words(text, start, items + below + ended, n_equal - ended, depth + 8)
            sort_from(text, start, items + below + ended, n_equal - ended, depth + 8, chance)
        if n_below > n_above:
            sort_from(text, start, items + above, n_above, depth, chance)
            n = n_below
        else:
            sort_from(text, start, items, n_below, depth, chance)
            items += above
            n = n_above
    sort_few(text, start, items, n, depth)


cdef void sort_texts(const uint8_t* text, const int64_t* start, TextItem* items, int64_t n, uint64_t* chance) noexcept nogil:
    """Sort terms by the bytes of their texts, which is the order of code points. `chance` is any number but 0."""
    take_words(text, start, items, n, 0)
    sort_from(text, start, items, n, 0, chance)


cdef inline int32_t slot_of(const Statement* row, int slot) noexcept nogil:
    return row.s if slot == 0 else row.p if slot == 1 else row.o if slot == 2 else row.g


cdef int sort_statements(Statements* rows, int32_t most) noexcept nogil:
    """Sort by s, p, o and g, from -1 to `most`, digit by digit from the last one."""
    cdef int64_t* count = <int64_t*>malloc(((1 << DIGIT) + 1) * sizeof(int64_t))
    cdef Statement* other = <Statement*>malloc((rows.n if rows.n else 1) * sizeof(Statement))
    cdef Statement* swap
    cdef int64_t i, total, number
    cdef int slot, shift, k
    if count == NULL or other == NULL:
        free(count)
        free(other)
        return NO_MEMORY
    for slot in range(3, -1, -1):
        shift = 0
        while shift == 0 or (<int64_t>most + 1) >> shift:
            memset(count, 0, ((1 << DIGIT) + 1) * sizeof(int64_t))
            for i in range(rows.n):
                number = <int64_t>slot_of(&rows.rows[i], slot) + 1
                count[(number >> shift) & ((1 << DIGIT) - 1)] += 1
            k = <int>(((<int64_t>slot_of(&rows.rows[0], slot) + 1) >> shift) & ((1 << DIGIT) - 1)) if rows.n else 0
            if count[k] != rows.n:
                total = 0
                for k in range(1 << DIGIT):
                    number = count[k]
                    count[k] = total
                    total += number
                for i in range(rows.n):
                    k = <int>(((<int64_t>slot_of(&rows.rows[i], slot) + 1) >> shift) & ((1 << DIGIT) - 1))
                    other[count[k]] = rows.rows[i]
                    count[k] += 1
                swap = rows.rows
                rows.rows = other
                rows.cap = rows.n
                other = swap
            shift += DIGIT
    free(count)
    free(other)
    return 0


cdef int64_t drop_duplicates(Statements* rows) noexcept nogil:
    """Remove duplicates from sorted statements; return the number of remaining ones."""
    cdef int64_t i, kept = 0
    for i in range(rows.n):
        if kept == 0 or not same_statement(&rows.rows[i], &rows.rows[kept - 1]):
            rows.rows[kept] = rows.rows[i]
            kept += 1
    rows.n = kept
    return kept
