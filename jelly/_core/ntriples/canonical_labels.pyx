"""See canonical_labels.pxd. Numbers such as 4.8.3 are sections of the Recommendation.

Hash N-Degree Quads recurses without a bound, so it has an explicit stack here. An issuer only ever grows,
and a copy of it is dropped or becomes the issuer: so there is one list of issued labels, and a copy is its length.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from jelly._core.base.fault cimport CANONICAL_STEPS, NO_MEMORY, fail
from jelly._core.base.memory cimport make_room
from jelly._core.base.protobuf cimport Writer, put_byte, put_bytes, reserve
from jelly._core.algebra.sha2 cimport SHA_HEX, add_sha, begin_sha, end_sha
from jelly._core.algebra.sort cimport TextItem, heap_sort, sort_texts
from jelly._core.ntriples.blank_node_hashes cimport (
    LABEL_BYTES, Related, Visit, add_related, hash_all_first, label_of, note_mentions, put_label,
)

cdef enum:
    EXTRA = 64  # number of labels copied in the time of one step


cdef int compare_related(const void* x, const void* y, const void* labeller) noexcept nogil:
    cdef const Related* one = <const Related*>x
    cdef const Related* other = <const Related*>y
    cdef int order = memcmp(one.hash, other.hash, (<const Labeller*>labeller).n_hex)
    return order if order else (one.node > other.node) - (one.node < other.node)


cdef int64_t sort_related(Labeller* c, Related* items, int64_t n) noexcept nogil:
    """Sort by hash and remove duplicate nodes of a hash; return the number of remaining entries."""
    cdef int64_t i, kept = 0
    heap_sort(items, n, sizeof(Related), compare_related, c)
    for i in range(n):
        if kept == 0 or compare_related(&items[i], &items[kept - 1], c) != 0:
            items[kept] = items[i]
            kept += 1
    return kept


# ---- 4.8: Hash N-Degree Quads

cdef int issue(Labeller* c, int32_t node) noexcept nogil:
    """4.5 for a temporary label."""
    if c.temporary[node] < 0:
        c.temporary[node] = <int32_t>c.n_issued
        c.issued[c.n_issued] = node
        c.n_issued += 1
    return 0


cdef void forget_labels(Labeller* c, int64_t n) noexcept nogil:
    """Remove all temporary labels except the first `n`."""
    while c.n_issued > n:
        c.n_issued -= 1
        c.temporary[c.issued[c.n_issued]] = -1


cdef int push_number(Labeller* c, int32_t number) noexcept nogil:
    if make_room(<void**>&c.numbers, &c.cap_numbers, c.n_numbers + 1, sizeof(int32_t)) < 0:
        return NO_MEMORY
    c.numbers[c.n_numbers] = number
    c.n_numbers += 1
    return 0


cdef int enter(Labeller* c, int32_t node) noexcept nogil:
    """Steps 1 to 3: begin a visit with the related nodes."""
    cdef Visit* visit
    cdef int64_t i
    cdef int slot
    cdef int64_t known = c.cap_visits
    if make_room(<void**>&c.visits, &c.cap_visits, c.n_visits + 1, sizeof(Visit)) < 0:
        return NO_MEMORY
    memset(c.visits + known, 0, (c.cap_visits - known) * sizeof(Visit))
    visit = &c.visits[c.n_visits]
    c.n_visits += 1
    visit.related_at = c.n_related
    c.steps += 1
    for i in range(c.mention_at[node], c.mention_at[node + 1]):
        if c.mentions[i] < 0:
            break
        for slot in range(4):
            if add_related(c, node, &c.statements.rows[c.mentions[i]], slot) < 0:
                return NO_MEMORY
    c.n_related = visit.related_at + sort_related(c, c.related + visit.related_at, c.n_related - visit.related_at)
    visit.related_end = c.n_related
    visit.group_end = visit.related_at
    begin_sha(&visit.sha, c.numbers_of_sha, c.wide)
    return 0


cdef bint begin_group(Labeller* c, Visit* visit, int* status) noexcept nogil:
    """Steps 5 to 5.3: the next nodes with a hash in common; whether there are any."""
    cdef int64_t i
    visit.group_at = visit.group_end
    if visit.group_at == visit.related_end:
        return False
    i = visit.group_at
    while i < visit.related_end and memcmp(c.related[i].hash, c.related[visit.group_at].hash, c.n_hex) == 0:
        i += 1
    visit.group_end = i
    add_sha(&visit.sha, c.related[visit.group_at].hash, c.n_hex)
    visit.chosen.n = 0
    visit.n_issued = c.n_issued
    visit.order_at = c.n_numbers
    for i in range(visit.group_at, visit.group_end):
        if push_number(c, c.related[i].node) < 0:
            status[0] = NO_MEMORY
            return False
    visit.order_end = c.n_numbers
    return True


cdef bint next_order(int32_t* order, int64_t n) noexcept nogil:
    """Go to the next permutation in order; False after the last one."""
    cdef int64_t i = n - 2
    cdef int64_t k = n - 1
    cdef int32_t swap
    while i >= 0 and order[i] > order[i + 1]:
        i -= 1
    if i < 0:
        return False
    while order[k] < order[i]:
        k -= 1
    swap = order[i]
    order[i] = order[k]
    order[k] = swap
    i += 1
    k = n - 1
    while i < k:
        swap = order[i]
        order[i] = order[k]
        order[k] = swap
        i += 1
        k -= 1
    return True


cdef bint is_worse(Visit* visit) noexcept nogil:
    """5.4.4.3 and 5.4.5.5: whether no continuation of this path can be the least path."""
    return (
        visit.chosen.n > 0 and visit.path.n >= visit.chosen.n
        and memcmp(visit.path.buf, visit.chosen.buf, visit.chosen.n) > 0
    )


cdef int begin_order(Labeller* c, Visit* visit) noexcept nogil:
    """5.4.1 to 5.4.4: append the labels along a permutation. 1: it is not the least."""
    cdef int64_t i
    cdef int32_t node
    c.steps += 1
    forget_labels(c, visit.n_issued)
    visit.path.n = 0
    c.n_numbers = visit.open_at = visit.order_end
    visit.at = visit.open_at
    for i in range(visit.order_at, visit.order_end):
        node = c.numbers[i]
        if reserve(&visit.path, LABEL_BYTES) < 0:
            return NO_MEMORY
        if c.canonical[node] < 0 and c.temporary[node] < 0:
            if push_number(c, node) < 0:
                return NO_MEMORY
            issue(c, node)
        visit.path.n += label_of(c, node, visit.path.buf + visit.path.n)
        visit.open_end = c.n_numbers
        if is_worse(visit):
            return 1
    visit.open_end = c.n_numbers
    return 0


cdef int leave(Labeller* c, Visit* visit, const uint8_t* hash) noexcept nogil:
    """5.4.5.2 to 5.4.5.5: a visit from the recursion list is over. 1: the path is not the least."""
    if reserve(&visit.path, LABEL_BYTES + c.n_hex + 2) < 0:
        return NO_MEMORY
    visit.path.n += put_label(visit.path.buf + visit.path.n, False, c.temporary[c.numbers[visit.at]])
    put_byte(&visit.path, 0x3C)
    put_bytes(&visit.path, hash, c.n_hex)
    put_byte(&visit.path, 0x3E)
    visit.at += 1
    return 1 if is_worse(visit) else 0


cdef int choose(Labeller* c, Visit* visit) noexcept nogil:
    """5.4.6: keep the path if it is the least so far, with the labels that it issued."""
    cdef int64_t n = c.n_issued - visit.n_issued
    cdef int order
    if visit.chosen.n:
        order = memcmp(visit.path.buf, visit.chosen.buf, min(visit.path.n, visit.chosen.n))
        if order > 0 or (order == 0 and visit.path.n >= visit.chosen.n):
            return 0
    visit.chosen.n = 0
    if reserve(&visit.chosen, visit.path.n) < 0:
        return NO_MEMORY
    put_bytes(&visit.chosen, visit.path.buf, visit.path.n)
    visit.n_chosen = n
    if visit.order_end - visit.order_at == 1:
        return 0  # the only permutation: its labels stay as they are
    c.steps += n // EXTRA
    if make_room(<void**>&visit.issued, &visit.cap_chosen, n, sizeof(int32_t)) < 0:
        return NO_MEMORY
    memcpy(visit.issued, c.issued + visit.n_issued, n * sizeof(int32_t))
    return 0


cdef void end_group(Labeller* c, Visit* visit) noexcept nogil:
    """5.5 and 5.6: the labels of the least path are issued."""
    cdef int64_t i
    add_sha(&visit.sha, visit.chosen.buf, visit.chosen.n)
    if visit.order_end - visit.order_at > 1:
        forget_labels(c, visit.n_issued)
        for i in range(visit.n_chosen):
            issue(c, visit.issued[i])
    c.n_numbers = visit.order_at


cdef int hash_n_degree(Labeller* c, int32_t node, uint8_t* hash) noexcept nogil:
    """4.8.3 for a node that has a temporary label."""
    cdef int64_t depth = c.n_visits
    cdef Visit* visit
    cdef int status = 0
    cdef int going = 0  # 0: the next group; 1: go through the recursion list; 2: the next permutation
    if enter(c, node) < 0:
        return NO_MEMORY
    while True:
        if c.steps > c.max_steps:
            return fail(&c.fault, CANONICAL_STEPS, NULL, c.max_steps)
        visit = &c.visits[c.n_visits - 1]
        if going == 0:
            if begin_group(c, visit, &status):
                status = begin_order(c, visit)
                going = 1 if status == 0 else 2
            elif status == 0:
                end_sha(&visit.sha, hash)
                c.n_related = visit.related_at
                c.n_visits -= 1
                if c.n_visits == depth:
                    return 0
                status = leave(c, &c.visits[c.n_visits - 1], hash)
                going = 1 if status == 0 else 2
        elif going == 1:
            if visit.at < visit.open_end:
                status = enter(c, c.numbers[visit.at])
                going = 0
            else:
                status = choose(c, visit)
                going = 2
        elif next_order(c.numbers + visit.order_at, visit.order_end - visit.order_at):
            status = begin_order(c, visit)
            going = 1 if status == 0 else 2
        else:
            end_group(c, visit)
            going = 0
        if status < 0:
            return status
        status = 0


# ---- 4.4.3: the whole algorithm

cdef int32_t* by_hash(Labeller* c, const uint8_t* hashes, int64_t n) noexcept nogil:
    """The numbers 0 to n in the order of their hashes; NULL without memory."""
    cdef TextItem* items = <TextItem*>malloc(n * sizeof(TextItem))
    cdef int64_t* start = <int64_t*>malloc((n + 1) * sizeof(int64_t))
    cdef int32_t* order = <int32_t*>malloc(n * sizeof(int32_t))
    cdef int64_t i
    if items == NULL or start == NULL or order == NULL:
        free(items)
        free(start)
        free(order)
        return NULL
    for i in range(n):
        items[i].term = <int32_t>i
        start[i] = i * c.n_hex
    start[n] = n * c.n_hex
    sort_texts(hashes, start, items, n, NULL, NULL)
    for i in range(n):
        order[i] = items[i].term
    free(items)
    free(start)
    return order


cdef void issue_canonical(Labeller* c, int32_t node) noexcept nogil:
    if c.canonical[node] < 0:
        c.canonical[node] = c.n_canonical
        c.n_canonical += 1


cdef int label_alike(Labeller* c, const int32_t* nodes, int64_t n) noexcept nogil:
    """Step 5 for some nodes with the same hash of first degree."""
    cdef uint8_t* hashes = <uint8_t*>malloc(n * c.n_hex)
    cdef Writer issued  # nodes of all results, concatenated
    cdef int64_t* end = <int64_t*>malloc((n + 1) * sizeof(int64_t))
    cdef int32_t* order = NULL
    cdef uint8_t hash[SHA_HEX]
    cdef int64_t i, k, size
    cdef int64_t found = 0
    cdef int status = 0
    memset(&issued, 0, sizeof(issued))
    if hashes == NULL or end == NULL:
        status = NO_MEMORY
    else:
        end[0] = 0
        for i in range(n):
            if c.canonical[nodes[i]] >= 0:
                continue
            issue(c, nodes[i])
            status = hash_n_degree(c, nodes[i], hash)
            if status < 0:
                break
            memcpy(hashes + found * c.n_hex, hash, c.n_hex)
            size = c.n_issued * <int64_t>sizeof(int32_t)
            c.steps += c.n_issued // EXTRA
            if reserve(&issued, size) < 0:
                status = NO_MEMORY
                break
            put_bytes(&issued, <const uint8_t*>c.issued, size)
            found += 1
            end[found] = issued.n // <int64_t>sizeof(int32_t)
            forget_labels(c, 0)
    if status == 0 and found:
        order = by_hash(c, hashes, found)
        if order == NULL:
            status = NO_MEMORY
        else:
            for i in range(found):
                for k in range(end[order[i]], end[order[i] + 1]):
                    issue_canonical(c, (<int32_t*>issued.buf)[k])
    free(hashes)
    free(issued.buf)
    free(end)
    free(order)
    return status


cdef int label_nodes(Labeller* c) noexcept nogil:
    """Find the canonical labels of all blank nodes."""
    cdef int32_t* order
    cdef int64_t i, k
    cdef int status = 0
    cdef bint last
    c.n_hex = 96 if c.wide else 64
    c.canonical = <int32_t*>malloc(c.n_nodes * sizeof(int32_t))
    c.temporary = <int32_t*>malloc(c.n_nodes * sizeof(int32_t))
    c.issued = <int32_t*>malloc(c.n_nodes * sizeof(int32_t))
    if c.canonical == NULL or c.temporary == NULL or c.issued == NULL:
        return fail(&c.fault, NO_MEMORY, NULL)
    memset(c.canonical, 0xFF, c.n_nodes * sizeof(int32_t))
    memset(c.temporary, 0xFF, c.n_nodes * sizeof(int32_t))
    if note_mentions(c) < 0 or hash_all_first(c) < 0:
        return fail(&c.fault, NO_MEMORY, NULL)
    order = by_hash(c, c.first, c.n_nodes)
    if order == NULL:
        return fail(&c.fault, NO_MEMORY, NULL)
    # Steps 4 and 5: first the nodes with a unique hash, then the others.
    for last in range(2):
        i = 0
        while i < c.n_nodes and status == 0:
            k = i + 1
            while k < c.n_nodes and memcmp(
                c.first + <int64_t>order[i] * c.n_hex, c.first + <int64_t>order[k] * c.n_hex, c.n_hex
            ) == 0:
                k += 1
            if not last and k == i + 1:
                issue_canonical(c, order[i])
            elif last and k > i + 1:
                status = label_alike(c, order + i, k - i)
            i = k
    free(order)
    return fail(&c.fault, status, NULL) if status < 0 else 0


cdef void free_labeller(Labeller* c) noexcept nogil:
    cdef int64_t i
    for i in range(c.cap_visits):
        free(c.visits[i].path.buf)
        free(c.visits[i].chosen.buf)
        free(c.visits[i].issued)
    free(c.visits)
    free(c.canonical)
    free(c.mention_at)
    free(c.mentions)
    free(c.first)
    free(c.known)
    free(c.temporary)
    free(c.issued)
    free(c.related)
    free(c.numbers)
