"""The ends of XML documents that follow one another: tags are counted, nothing is parsed."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # Where the scan stands. Numbers from BANG on are of constructs without tags in them.
    CONTENT = 0
    LESS  # after <
    TAG
    TAG_QUOTED
    CLOSING
    BANG  # after <!
    BANG_DASH
    COMMENT
    CDATA
    INSTRUCTION
    DOCTYPE
    DOCTYPE_QUOTED
    DOCTYPE_COMMENT
    DOCTYPE_INSTRUCTION

cdef enum:
    # What `find_document_end` gives.
    USED_UP = 0
    ENDED
    STRAY  # something outside of the root element, or a second document on the line of the first
    DECLARED  # a DOCTYPE ended


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


cdef int step(Markup* t) noexcept nogil
