"""Canonical labels of blank nodes: RDFC-1.0, RDF Dataset Canonicalization (W3C Recommendation 21 May 2024), section 4."""

from jelly._core.ntriples.blank_node_hashes cimport Labeller


cdef int label_nodes(Labeller* c) noexcept nogil
cdef void free_labeller(Labeller* c) noexcept nogil
