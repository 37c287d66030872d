"""A scanner of JSON that finds how deep it is, what objects in one another repeat, and where contexts of JSON-LD stand."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # Objects and arrays in one another of which more than the number is known.
    LEVELS = 256


ctypedef struct Level:
    bint object
    bint parent  # there is an object around it
    int64_t values  # in it so far
    int64_t most  # that one of the objects in it, and those in that one, repeat


ctypedef struct JsonScan:
    const uint8_t* at
    const uint8_t* end
    bint in_string
    bint escaped
    int hex  # digits of \u that are still to come
    int code  # the character that they make
    int matched  # characters of "@context" that the string has; -1 if it is another one
    bint was_word  # the string that ended is "@context"
    bint follows  # its value follows
    int64_t depth
    int64_t deepest
    int64_t within  # depth of the context that is open, or 0
    int64_t repeated
    int64_t items  # of arrays
    Level levels[256]
