"""Hashes of blank nodes by RDFC-1.0, RDF Dataset Canonicalization (W3C Recommendation 21 May 2024), 4.6 and 4.7.

Statements come sorted, without duplicates, with terms by their rank: first the IRIs and literals in the order of their
texts, then the blank nodes in any order.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from jelly._core.algebra.sha2 cimport SHA_HEX, Sha2
from jelly._core.algebra.statement_ids cimport Statement, Statements
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Writer


cdef enum:
    LABEL_BYTES = 24  # room for "_:c14n" and a number


ctypedef struct Related:
    uint8_t hash[SHA_HEX]
    int32_t node


cdef enum:
    N_KNOWN = 4096  # size of the cache for Hash Related Blank Node; a power of two


ctypedef struct Known:
    # The hash for a position, a predicate, and a label or the first hash of a node.
    int32_t predicate
    int32_t number  # of the label, or of the node
    int32_t kind  # position and kind of the number; 0: the entry is empty
    uint8_t hash[SHA_HEX]


ctypedef struct Visit:
    # One run of Hash N-Degree Quads that waits for those that it started.
    Sha2 sha  # "data to hash"
    int64_t related_at, related_end  # range in the list of all related nodes
    int64_t group_at, group_end  # nodes of one hash
    int64_t order_at, order_end  # the permutation, in `numbers`
    int64_t open_at, open_end  # the recursion list, in `numbers`
    int64_t at  # current index in it
    int64_t n_issued  # labels that were issued before this group
    Writer path
    Writer chosen
    int32_t* issued  # labels issued by the chosen path
    int64_t n_chosen
    int64_t cap_chosen


ctypedef struct Labeller:
    # input
    Statements* statements
    int32_t n_terms  # IRIs and literals
    int32_t n_nodes
    const uint8_t* text
    const int64_t* start
    const int32_t* term_of  # by rank
    const uint64_t* numbers_of_sha
    bint wide
    int64_t max_steps
    # results
    int32_t* canonical  # number of each node
    int32_t n_canonical
    # working memory
    int n_hex
    int64_t steps
    int64_t* mention_at  # of each node, the statements it stands in
    int64_t* mentions
    uint8_t* first  # hash of first degree of each node
    int32_t* temporary  # number of each node that has a temporary label, or -1
    int32_t* issued  # those nodes, in order
    int64_t n_issued
    Known* known
    Related* related
    int64_t n_related
    int64_t cap_related
    int32_t* numbers
    int64_t n_numbers
    int64_t cap_numbers
    Visit* visits
    int64_t n_visits
    int64_t cap_visits
    Fault fault


cdef int note_mentions(Labeller* c) noexcept nogil
cdef int hash_all_first(Labeller* c) noexcept nogil
cdef int put_label(uint8_t* out, bint canonical, int32_t number) noexcept nogil
cdef int label_of(Labeller* c, int32_t node, uint8_t* out) noexcept nogil
cdef int add_related(Labeller* c, int32_t node, const Statement* statement, int slot) noexcept nogil
