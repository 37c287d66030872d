"""SPARQL 1.1 Query Results TSV Format: lines of terms as in Turtle."""

from jelly._core.results.rows cimport TextRows

cdef int take_tsv(TextRows* t) noexcept nogil
