"""Labels for blank nodes without one in their document: anon0, anon1 and so on, in order of appearance."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    # Result of `number_label` if the label stays. (Lower values are status codes.)
    KEPT = -1


ctypedef struct LabelSlot:
    # The number that a parser made up, or (high is 0) the number of an "anon" label in the document.
    uint64_t high
    uint64_t low
    int64_t number  # the number after "anon"; below 0: see blank_node_label.pyx


ctypedef struct Labels:
    LabelSlot* slots
    int64_t n_slots  # a power of 2, or 0
    int64_t n_used
    uint64_t seed
    int64_t next  # all lower numbers are in use


cdef void clear_labels(Labels* t) noexcept nogil
cdef void free_labels(Labels* t) noexcept nogil
cdef bint is_made_up(const uint8_t* label, int64_t n) noexcept nogil
cdef int64_t number_label(Labels* t, const uint8_t* label, int64_t n, bint written) noexcept nogil
