"""The terms of another library, such as RDFLib: how to recognise and how to create them."""

from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_New
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from jelly._core.base.batch cimport Batch
from jelly._core.base.claim cimport Claim
from jelly._core.base.utf8 cimport is_ascii


cdef int refuse_patch(Batch batch) except -1
cdef int check_rows(Batch batch, int64_t start, int64_t end) except -1


cdef inline str make_str(const uint8_t* text, int64_t n):
    """The str of UTF-8. ASCII text, which is most text, is copied without decoding."""
    cdef object made
    cdef uint8_t bits = 0
    cdef int64_t i
    if 1 < n < 8:
        for i in range(n):
            bits |= text[i]
    # Python has the texts of no or one character.
    if n < 2 or bits >= 0x80 or (n >= 8 and not is_ascii(text, n)):
        return PyUnicode_DecodeUTF8(<const char*>text, n, NULL)
    made = PyUnicode_New(n, 127)
    memcpy(PyUnicode_DATA(made), text, n)
    return made


ctypedef struct CachedTerm:
    # A term that was made; pointers that are not NULL are owned.
    uint64_t hash
    PyObject* text
    PyObject* aux
    PyObject* term


cdef class ObjectTemplate:
    cdef object made
    cdef tuple names
    cdef tuple values
    cdef bint holds_str  # and nothing else


cdef class TermAdapter:
    cdef readonly str name
    # Classes of the library.
    cdef object iri_class, bnode_class, literal_class, quoted_class, variable_class
    # Functions that make terms and statements. None: no quoted triples; a statement is a tuple.
    cdef object iri, bnode, plain, lang, directed, typed, quoted, triple, quad
    cdef readonly bint quads
    cdef object default, place, graph_name
    cdef CachedTerm* known
    cdef Claim claimed  # of `known`: an adapter may serve several threads
    cdef uint64_t mask
    cdef bint memo_all

    cdef object make(self, int kind, object aux, const uint8_t* text, int64_t n, bint remember)
    cdef object remembered(self, CachedTerm* slot, uint64_t hash, object aux, const uint8_t* text, int64_t n)
    cdef object build(self, int kind, object aux, str text)
    cdef object build_variable(self, int kind, str text)
    cdef object make_quoted(self, object s, object p, object o)
    cdef object graph(self, object term)
    cdef int kind_of(self, object term) except -1
