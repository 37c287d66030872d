"""The ends of XML documents that follow one another: tags are counted, nothing is parsed."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # Where the scan stands. Numbers from BANG on are of constructs without tags in them.
    CONTENT = 0
    LESS = 1  # after <
    TAG = 2
    TAG_QUOTED = 3
    CLOSING = 4
    BANG = 5  # after <!
    BANG_DASH = 6
    COMMENT = 7
    CDATA = 8
    INSTRUCTION = 9
    DOCTYPE = 10
    DOCTYPE_QUOTED = 11
    DOCTYPE_COMMENT = 12
    DOCTYPE_INSTRUCTION = 13

cdef enum:
    # What `find_document_end` gives.
    USED_UP = 0
    ENDED = 1
    STRAY = 2  # something outside of the root element, or a second document on the line of the first
    DECLARED = 3  # a DOCTYPE ended


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
