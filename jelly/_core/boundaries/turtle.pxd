"""A lexer of Turtle, TriG, N-Triples and N-Quads that only finds messages, versions and prefixes.

Inside of these constructs other characters have no meaning: < opens an IRI, " and ' a string, # a comment, \\ an escape in
a name. Other bytes are skipped one by one. UTF-8 need not be decoded, because all five characters are ASCII.
"""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # Results of `scan`.
    USED_UP = 0  # more input, or the end of the input, is needed to tell what the rest is
    MESSAGE = 1
    PREFIX = 2
    VERSION = 3
    BAD_MESSAGE = 4


ctypedef struct Scan:
    const uint8_t* at
    const uint8_t* end
    const uint8_t* begin  # address in memory of the offset `origin` of the input
    int64_t origin
    uint8_t kinds[256]
    int state
    uint8_t quote
    bint directive  # the dialect: MESSAGE and @message, else the comment
    bint final
    bint after_string  # an @ would begin a language tag
    bint after_version  # a string is no literal
    int64_t depth  # of braces
    bint inside  # a statement or directive goes on
    bint sparql  # that is a directive without a dot: its IRI or string ends it
    bint after_literal  # all but spaces and comments since is a string; a tag or datatype may follow
    bint after_brace  # {| begins an annotation
    bint after_bar  # |} ends one
    int64_t nested  # ( [ << and { that are open
    int64_t deepest  # the most of them so far
    # of what was found, as offsets of the input
    int64_t found_at
    int64_t found_end
    int64_t note_at


cdef int scan(Scan* t) noexcept nogil
