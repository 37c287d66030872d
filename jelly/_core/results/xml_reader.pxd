"""SPARQL Query Results XML Format, with the triple terms and base directions of 1.2."""

from jelly._core.results.rows cimport TextRows

cdef int take_xml(TextRows* t) noexcept nogil
