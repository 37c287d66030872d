"""A scanner of JSON that finds how deep it is, what objects in one another repeat, and where contexts of JSON-LD stand.

A parser of JSON-LD keeps all of an object whose context or type may still come, and then again what is in the objects in
it. What is no JSON may be told wrongly; the parser refuses it.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from jelly._core.base.claim cimport Claim
from jelly._core.base.objects cimport hold

cdef enum:
    WORD = 8  # characters of "@context"
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


cdef inline void match(JsonScan* t, int code) noexcept nogil:
    """One more character of a string."""
    cdef const char* word = b"@context"
    t.matched = t.matched + 1 if 0 <= t.matched < WORD and code == <int>word[t.matched] else -1


cdef void escape(JsonScan* t, uint8_t byte) noexcept nogil:
    """A byte after a backslash."""
    cdef int digit = byte - 0x30 if byte <= 0x39 else (byte | 0x20) - 0x57
    if t.hex == 0:
        t.hex = 4 if byte == 0x75 else 0
        t.escaped = t.hex > 0
        t.code = 0
        if not t.escaped:
            t.matched = -1
        return
    t.hex -= 1
    t.code = t.code * 16 + (digit & 15)
    if t.hex == 0:
        t.escaped = False
        match(t, t.code)


cdef void scan_string(JsonScan* t) noexcept nogil:
    cdef uint8_t byte
    while t.at < t.end:
        byte = t.at[0]
        t.at += 1
        if t.escaped:
            escape(t, byte)
        elif byte == 0x22:
            t.in_string = False
            t.was_word = t.matched == WORD
            return
        elif byte == 0x5C:
            t.escaped = True
            t.hex = 0
        elif t.matched >= 0:
            match(t, byte)


cdef inline Level* level(JsonScan* t) noexcept nogil:
    return &t.levels[min(t.depth, <int64_t>LEVELS - 1)]


cdef void open_level(JsonScan* t, bint object) noexcept nogil:
    cdef Level* outer = level(t)
    outer.values += 1
    t.depth += 1
    t.deepest = max(t.deepest, t.depth)
    cdef Level* inner = level(t)
    inner.parent = outer.object or outer.parent
    inner.object = object
    inner.values = inner.most = 0


cdef void close_level(JsonScan* t) noexcept nogil:
    cdef Level* inner = level(t)
    cdef int64_t values = inner.values
    cdef int64_t most = inner.most
    cdef Level* outer
    if t.depth == 0:
        return
    if inner.object:
        if inner.parent:
            t.repeated = max(t.repeated, most)
        most += values
    t.depth -= 1
    outer = level(t)
    outer.values += values
    outer.most = max(outer.most, most)


cdef int step(JsonScan* t) noexcept nogil:
    """Scan on. 1: a context began at the last byte, 2: one ended after it; 0: the input is used up."""
    cdef uint8_t byte
    cdef bint follows
    while t.at < t.end:
        if t.in_string:
            scan_string(t)
            continue
        byte = t.at[0]
        t.at += 1
        if byte <= 0x20:
            continue
        if byte == 0x3A:  # :
            t.follows = t.was_word
            continue
        follows = t.follows
        t.follows = t.was_word = False
        if byte == 0x22:
            t.in_string = True
            t.matched = 0
        elif byte == 0x2C:  # ,
            level(t).values += 1
            t.items += not level(t).object
        elif byte == 0x7B or byte == 0x5B:  # { [
            open_level(t, byte == 0x7B)
            if follows and not t.within:
                t.within = t.depth
                return 1
        elif byte == 0x7D or byte == 0x5D:  # } ]
            close_level(t)
            if t.within and t.depth < t.within:
                t.within = 0
                return 2
    return 0


cdef class JsonScanner:
    """Scans JSON in chunks cut anywhere.

    ``feed`` gives the parts of a chunk that belong to a value of ``"@context"`` that is an object or an array: where it
    begins, where it ends, how deep the object stands that has it, and whether the value ends there.

    >>> from jelly._core.boundaries.json import JsonScanner
    >>> scanner = JsonScanner()
    >>> scanner.feed(b'{"@context": {"a": '), scanner.feed(b'"b:c"}}')
    ([(13, 19, 1, False)], [(0, 6, 1, True)])
    """

    cdef JsonScan t
    cdef Claim claimed

    def __cinit__(self):
        memset(&self.t, 0, sizeof(JsonScan))

    @property
    def deepest(self) -> int:
        """The most objects and arrays that were open in one another."""
        return self.t.deepest

    @property
    def repeated(self) -> int:
        """The most values that a parser has at a time more than once, which keeps each object up to its end."""
        return self.t.repeated

    @property
    def items(self) -> int:
        """Items of arrays so far, but for the first of each."""
        return self.t.items

    def feed(self, data) -> list:
        """The parts of contexts in the next chunk of bytes."""
        held = hold(&self.claimed, self)
        cdef bytes text = bytes(data)
        cdef const uint8_t* begin = <const uint8_t*><const char*>text
        cdef int64_t since = 0
        cdef int64_t depth = self.t.within - 1
        cdef list found = []
        cdef int what = 1
        self.t.at = begin
        self.t.end = begin + len(text)
        while what:
            with nogil:
                what = step(&self.t)
            if what == 1:
                since = self.t.at - begin - 1
                depth = self.t.within - 1
            elif what == 2:
                found.append((since, self.t.at - begin, depth, True))
        if self.t.within:
            found.append((since, len(text), self.t.within - 1, False))
        self.t.at = self.t.end = NULL
        return found
