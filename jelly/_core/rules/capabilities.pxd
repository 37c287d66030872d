"""The terms that a format can hold, and in which positions. One check of a Batch for all writers."""

from jelly._core.base.batch cimport Batch
from jelly._core.rules.term_rules cimport Rules


cdef class Capabilities:
    cdef Rules rules
    cdef readonly str title
    cdef readonly dict settings
    cdef readonly bint results
    cpdef Batch fit(self, Batch batch, rows=*, slots=*)
