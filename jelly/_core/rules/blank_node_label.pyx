"""Labels for blank nodes without one in their document: anon0, anon1 and so on, in order of appearance."""

from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from jelly._core.base.characters cimport is_digit, small_hex
from jelly._core.base.fault cimport NO_MEMORY

cdef enum:
    # Hexadecimal digits of labels that pyoxigraph makes: a random number of 128 bits whose first digit is a letter.
    MADE_MIN = 16
    MADE_MAX = 32
    # Maximum decimal digits after "anon". Numbers that pyoxigraph makes are larger.
    OWN_DIGITS = 18
    FEW_SLOTS = 64
    # Instead of a number: the slot is free; or it belongs to a label of the document that looks made up.
    FREE = -1
    AS_WRITTEN = -2
    MANY_SLOTS = 4096


cdef void clear_labels(Labels* t) noexcept nogil:
    """Start again at anon0."""
    cdef int64_t i
    t.next = 0
    if t.n_used == 0:
        return
    t.n_used = 0
    if t.n_slots > MANY_SLOTS:
        free_labels(t)
    for i in range(t.n_slots):
        t.slots[i].number = FREE


cdef void free_labels(Labels* t) noexcept nogil:
    free(t.slots)
    memset(t, 0, sizeof(Labels))


cdef bint parse_made_up(const uint8_t* label, int64_t n, uint64_t* high, uint64_t* low) noexcept nogil:
    cdef int64_t i
    cdef int digit
    high[0] = low[0] = 0
    if n < MADE_MIN or n > MADE_MAX or is_digit(label[0]):
        return False
    for i in range(n):
        digit = small_hex(label[i])
        if digit < 0:
            return False
        high[0] = high[0] << 4 | low[0] >> 60
        low[0] = low[0] << 4 | <uint64_t>digit
    return True


cdef bint is_made_up(const uint8_t* label, int64_t n) noexcept nogil:
    """Whether a label looks like one that a parser made up."""
    cdef uint64_t high, low
    return parse_made_up(label, n, &high, &low)


cdef int64_t parse_own(const uint8_t* label, int64_t n) noexcept nogil:
    """The number of a label such as "anon7", or -1."""
    cdef const char* head = b"anon"
    cdef int64_t number = 0
    cdef int64_t i
    if n < 5 or n > 4 + OWN_DIGITS or memcmp(label, head, 4) != 0 or (label[4] == 0x30 and n > 5):
        return -1
    for i in range(4, n):
        if not is_digit(label[i]):
            return -1
        number = 10 * number + label[i] - 0x30
    return number


cdef inline LabelSlot* find_slot(const Labels* t, uint64_t high, uint64_t low) noexcept nogil:
    """The slot of a label, or the free slot for it."""
    cdef uint64_t hash = (low ^ high ^ t.seed) * <uint64_t>0x9E3779B97F4A7C15
    hash = (hash ^ hash >> 29 ^ t.seed) * <uint64_t>0xC4CEB9FE1A85EC53
    cdef int64_t at = <int64_t>((hash ^ hash >> 32) & <uint64_t>(t.n_slots - 1))
    while t.slots[at].number != FREE and (t.slots[at].low != low or t.slots[at].high != high):
        at = (at + 1) & (t.n_slots - 1)
    return &t.slots[at]


cdef int grow_labels(Labels* t) noexcept nogil:
    cdef int64_t n = 2 * t.n_slots if t.n_slots else FEW_SLOTS
    cdef LabelSlot* slots = <LabelSlot*>calloc(n, sizeof(LabelSlot))
    cdef Labels old = t[0]
    cdef int64_t i
    if slots == NULL:
        return NO_MEMORY
    if t.n_slots == 0:
        # An unpredictable address, so that input cannot be made to collide. Results do not depend on it.
        t.seed = <uint64_t>slots
    t.slots = slots
    t.n_slots = n
    for i in range(n):
        slots[i].number = FREE
    for i in range(old.n_slots):
        if old.slots[i].number != FREE:
            find_slot(t, old.slots[i].high, old.slots[i].low)[0] = old.slots[i]
    free(old.slots)
    return 0


cdef int64_t take_next(Labels* t) noexcept nogil:
    """The next unused number."""
    while find_slot(t, 0, <uint64_t>t.next).number == t.next:
        t.next += 1
    t.next += 1
    return t.next - 1


cdef int64_t number_label(Labels* t, const uint8_t* label, int64_t n, bint written) noexcept nogil:
    """The number for the "anon" label of a blank node, KEPT if its label stays, or a code.

    A label that the parser made up gets the next number. A label of the document stays, unless it is "anon7" and comes
    after a node that got this label: then it gets the next number too. So no two nodes become one, and a document that
    jelly wrote keeps its labels when it is read. `written`: the document has the label for certain;
    if a label that looks made up comes with and without `written` (some are escaped), the first one decides.
    """
    cdef uint64_t high = 0
    cdef uint64_t low = 0
    cdef int64_t own = -1
    cdef LabelSlot* slot
    if not parse_made_up(label, n, &high, &low):
        own = parse_own(label, n)
        if own < 0:
            return KEPT
        high, low = 0, <uint64_t>own
    if 4 * (t.n_used + 1) > 3 * t.n_slots and grow_labels(t) < 0:
        return NO_MEMORY
    slot = find_slot(t, high, low)
    if slot.number == FREE:
        # take_next reads the table, so the slot is filled after it.
        own = AS_WRITTEN if own < 0 and written else own if own >= t.next else take_next(t)
        slot.high, slot.low, slot.number = high, low, own
        t.n_used += 1
    return KEPT if slot.number == AS_WRITTEN else slot.number
