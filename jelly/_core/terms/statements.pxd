"""Statements as small immutable Python objects."""


cdef class Triple:
    cdef readonly object s
    cdef readonly object p
    cdef readonly object o


cdef class Quad:
    cdef readonly object s
    cdef readonly object p
    cdef readonly object o
    cdef readonly object g
