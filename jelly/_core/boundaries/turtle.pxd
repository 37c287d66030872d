"""A lexer of Turtle, TriG, N-Triples and N-Quads that only finds messages, versions and prefixes.

Five characters open something in which others mean nothing: < an IRI, " and ' a string, # a comment, \\ an escape in
a name. All else is stepped over byte by byte; UTF-8 need not be decoded, for all of these are ASCII.
"""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # What `scan` came upon.
    USED_UP = 0  # what is left cannot be told from its beginning: more input, or the end of it, is needed
    MESSAGE = 1
    PREFIX = 2
    VERSION = 3
    BAD_MESSAGE = 4


ctypedef struct Scan:
    const uint8_t* at
    const uint8_t* end
    const uint8_t* begin  # where offset `origin` of the input is in memory
    int64_t origin
    uint8_t kinds[256]
    int state
    uint8_t quote
    bint directive  # the dialect: MESSAGE and @message, else the comment
    bint final
    bint after_string  # an @ begins a language tag
    bint after_version  # a string is no literal
    int64_t depth  # of braces
    int64_t nested  # ( [ << and { that are open
    int64_t deepest  # the most of them so far
    # of what was found, as offsets of the input
    int64_t found_at
    int64_t found_end
    int64_t note_at


cdef int scan(Scan* t) noexcept nogil
