"""See blank_node_hashes.pxd. Numbers such as 4.8.3 are sections of the Recommendation."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from jelly._core.base.constants cimport GRAPH, PREDICATE
from jelly._core.base.fault cimport NO_MEMORY
from jelly._core.algebra.sha2 cimport add_sha, begin_sha, end_sha
from jelly._core.algebra.sort cimport heap_sort
from jelly._core.base.characters cimport format_integer
from jelly._core.base.memory cimport make_room

cdef enum:
    IS_NODE = 1
    OTHER_NODE = 2


ctypedef struct Line:
    # A statement as Hash First Degree Quads sees it; its parts sort as their texts do.
    uint32_t part[4]


cdef inline int32_t node_of(Labeller* c, int32_t rank) noexcept nogil:
    """The blank node of a term, or a negative number."""
    return rank - c.n_terms


# ---- 4.4.3 (2): the statements of each blank node

cdef inline void mention(Labeller* c, int32_t rank, int64_t row, int64_t* at) noexcept nogil:
    """Add the statement to the list of its blank node, once."""
    cdef int32_t node = node_of(c, rank)
    if node < 0:
        return
    if at == NULL:
        c.mention_at[node + 1] += 1
    elif at[node] == c.mention_at[node] or c.mentions[at[node] - 1] != row:
        c.mentions[at[node]] = row
        at[node] += 1


cdef int note_mentions(Labeller* c) noexcept nogil:
    cdef int64_t row
    cdef int32_t node
    cdef int slot
    cdef int64_t* at
    c.mention_at = <int64_t*>calloc(c.n_nodes + 1, sizeof(int64_t))
    at = <int64_t*>malloc(c.n_nodes * sizeof(int64_t))
    if c.mention_at == NULL or at == NULL:
        free(at)
        return NO_MEMORY
    for row in range(c.statements.n):
        for slot in range(4):
            mention(c, c.statements.rows[row].ids[slot], row, NULL)
    for node in range(c.n_nodes):
        c.mention_at[node + 1] += c.mention_at[node]
        at[node] = c.mention_at[node]
    c.mentions = <int64_t*>malloc((c.mention_at[c.n_nodes] + 1) * sizeof(int64_t))
    if c.mentions == NULL:
        free(at)
        return NO_MEMORY
    memset(c.mentions, 0xFF, (c.mention_at[c.n_nodes] + 1) * sizeof(int64_t))
    for row in range(c.statements.n):
        for slot in range(4):
            mention(c, c.statements.rows[row].ids[slot], row, at)
    free(at)
    return 0


# ---- 4.6: Hash First Degree Quads

cdef int compare_lines(const void* x, const void* y, const void* context) noexcept nogil:
    cdef const Line* one = <const Line*>x
    cdef const Line* other = <const Line*>y
    cdef int i
    for i in range(4):
        if one.part[i] != other.part[i]:
            return -1 if one.part[i] < other.part[i] else 1
    return 0


cdef inline uint32_t part_of(Labeller* c, int32_t rank, int32_t node) noexcept nogil:
    """The rank of a term; 0, which is no graph, comes first, blank nodes last: the reference node _:a before the other ones."""
    if rank < c.n_terms:
        return <uint32_t>(rank + 1)
    return <uint32_t>c.n_terms + (IS_NODE if rank - c.n_terms == node else OTHER_NODE)


cdef void add_part(Labeller* c, Sha2* sha, uint32_t part) noexcept nogil:
    cdef int32_t term
    if part > <uint32_t>c.n_terms:
        add_sha(sha, <const uint8_t*>b"_:a " if part == <uint32_t>c.n_terms + IS_NODE else <const uint8_t*>b"_:z ", 4)
        return
    term = c.term_of[part - 1]
    add_sha(sha, c.text + c.start[term], c.start[term + 1] - c.start[term])
    add_sha(sha, <const uint8_t*>b" ", 1)


cdef void hash_first_degree(Labeller* c, int32_t node, Line* lines) noexcept nogil:
    cdef Sha2 sha
    cdef int64_t n = c.mention_at[node + 1] - c.mention_at[node]
    cdef int64_t i, kept = 0
    cdef int k
    cdef Statement* statement
    for i in range(n):
        if c.mentions[c.mention_at[node] + i] < 0:
            break  # a statement that has the node twice was counted twice
        statement = &c.statements.rows[c.mentions[c.mention_at[node] + i]]
        for k in range(4):
            lines[i].part[k] = part_of(c, statement.ids[k], node)
        kept += 1
    heap_sort(lines, kept, sizeof(Line), compare_lines, NULL)
    begin_sha(&sha, c.numbers_of_sha, c.wide)
    for i in range(kept):
        for k in range(4):
            if lines[i].part[k]:
                add_part(c, &sha, lines[i].part[k])
        add_sha(&sha, <const uint8_t*>b".\n", 2)
    end_sha(&sha, c.first + <int64_t>node * c.n_hex)


cdef int hash_all_first(Labeller* c) noexcept nogil:
    cdef int64_t most = 1
    cdef int32_t node
    cdef Line* lines
    for node in range(c.n_nodes):
        most = max(most, c.mention_at[node + 1] - c.mention_at[node])
    lines = <Line*>malloc(most * sizeof(Line))
    c.first = <uint8_t*>malloc(<int64_t>c.n_nodes * c.n_hex)
    c.known = <Known*>calloc(N_KNOWN, sizeof(Known))
    if lines == NULL or c.first == NULL or c.known == NULL:
        free(lines)
        return NO_MEMORY
    for node in range(c.n_nodes):
        hash_first_degree(c, node, lines)
    free(lines)
    return 0


# ---- 4.7: Hash Related Blank Node

cdef int put_label(uint8_t* out, bint canonical, int32_t number) noexcept nogil:
    """Write an issued label; return its length."""
    cdef int n = 6 if canonical else 3
    memcpy(out, b"_:c14n" if canonical else b"_:b", n)
    return n + <int>format_integer(number, out + n)


cdef int label_of(Labeller* c, int32_t node, uint8_t* out) noexcept nogil:
    """Write the canonical label, else the temporary one; return its length, or 0 if the node has neither."""
    if c.canonical[node] >= 0:
        return put_label(out, True, c.canonical[node])
    if c.temporary[node] >= 0:
        return put_label(out, False, c.temporary[node])
    return 0


cdef int add_related(Labeller* c, int32_t node, const Statement* statement, int slot) noexcept nogil:
    """If a term in a statement of `node` is another blank node, add its relation to `node`."""
    cdef int32_t other = node_of(c, statement.ids[slot])
    cdef const uint8_t* position = <const uint8_t*>b"spog" + slot
    cdef Sha2 sha
    cdef uint8_t label[LABEL_BYTES]
    cdef int n, kind
    cdef int32_t term, predicate, number
    cdef uint32_t place
    cdef Known* known
    if other < 0 or other == node:
        return 0
    if make_room(<void**>&c.related, &c.cap_related, c.n_related + 1, sizeof(Related)) < 0:
        return NO_MEMORY
    c.steps += 1
    predicate = -1 if slot == GRAPH else statement.ids[PREDICATE]
    if c.canonical[other] >= 0:
        number = c.canonical[other]
        kind = 1
    elif c.temporary[other] >= 0:
        number = c.temporary[other]
        kind = 2
    else:
        number = other
        kind = 3
    kind = kind << 8 | position[0]
    # Searches with many permutations need the same hashes many times.
    place = <uint32_t>number * <uint32_t>0x9E3779B1 ^ <uint32_t>predicate * <uint32_t>0x85EBCA77
    known = &c.known[((place ^ place >> 15) + <uint32_t>kind * <uint32_t>0x27D4EB2F >> 7) & (N_KNOWN - 1)]
    if known.kind != kind or known.number != number or known.predicate != predicate:
        known.kind = kind
        known.number = number
        known.predicate = predicate
        begin_sha(&sha, c.numbers_of_sha, c.wide)
        add_sha(&sha, position, 1)
        if predicate >= 0:
            term = c.term_of[predicate]
            add_sha(&sha, c.text + c.start[term], c.start[term + 1] - c.start[term])
        n = label_of(c, other, label)
        if n:
            add_sha(&sha, label, n)
        else:
            add_sha(&sha, c.first + <int64_t>other * c.n_hex, c.n_hex)
        end_sha(&sha, known.hash)
    memcpy(c.related[c.n_related].hash, known.hash, c.n_hex)
    c.related[c.n_related].node = other
    c.n_related += 1
    return 0
