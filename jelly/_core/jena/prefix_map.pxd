"""Prefixes of RDF Binary, found by prefix when reading and by namespace when writing."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Reader

cdef enum:
    # No table may have more prefixes than that.
    MAX_PREFIXES = 1 << 16
    # Maximum bytes of all names and namespaces together.
    MAX_PREFIX_TEXT = 1 << 24


ctypedef struct Prefix:
    uint8_t* text  # owned: the name, then the namespace
    int64_t n_name
    int64_t n_iri


ctypedef struct Prefixes:
    Prefix* items
    int32_t n
    int32_t cap
    int32_t limit
    int32_t last  # what was found last
    int64_t n_text
    # open addressing, numbers of items plus 1
    int32_t* names
    int32_t* spaces
    uint32_t mask
    int32_t n_odd  # namespaces that end neither with / nor with #
    bint indexed  # `spaces` and `n_odd` are those of the items


cdef void free_prefixes(Prefixes* p) noexcept nogil
cdef int set_prefix(Prefixes* p, Reader* name, Reader* iri, Fault* fault) noexcept nogil
cdef int32_t find_prefix(Prefixes* p, Reader* name) noexcept nogil
cdef int32_t find_space(Prefixes* p, const uint8_t* iri, int64_t n) noexcept nogil
