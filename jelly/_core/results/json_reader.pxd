"""SPARQL 1.1 Query Results JSON Format, with the triple terms and base directions of 1.2."""

from jelly._core.results.rows cimport TextRows

cdef int take_json(TextRows* t) noexcept nogil
