"""The ends of XML documents that follow one another: tags are counted, nothing is parsed."""

from libc.stdint cimport int64_t, uint8_t


ctypedef struct Markup:
    const uint8_t* at
    const uint8_t* end
    int state
    uint8_t quote
    int matched  # number of bytes of "-->", "]]>", "?>" or "<!--" before `at`
    bint slash  # the last byte of the tag was "/"
    int64_t depth  # of elements
    int64_t brackets  # of a DOCTYPE
    bint apart  # a line end came since the last document


cdef int find_document_end(Markup* t) noexcept nogil
