"""A lexer of Turtle, TriG, N-Triples and N-Quads that only finds messages, versions and prefixes.

Inside of these constructs other characters have no meaning: < opens an IRI, " and ' a string, # a comment, \\ an escape in
a name. Other bytes are skipped one by one. UTF-8 need not be decoded, because all five characters are ASCII.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memset

from jelly._core.base.batch cimport load_u64
from jelly._core.base.claim cimport Claim
from jelly._core.base.characters cimport (
    PASS_WIDE, find_delimiter, find_hits, find_line_end, find_stop, is_digit, is_letter, is_line_end, is_word, low_hit,
    skip_wide_space,
)
from jelly._core.base.objects cimport hold

cdef enum:
    # Results of `scan`.
    USED_UP = 0  # more input, or the end of the input, is needed to tell what the rest is
    MESSAGE
    PREFIX
    VERSION
    BAD_MESSAGE

cdef enum:
    # States of `scan`.
    IN_TEXT = 0
    IN_NAME
    IN_IRI
    IN_STRING
    IN_LONG_STRING
    IN_COMMENT_HEAD
    IN_COMMENT
    IN_DELIMITER

cdef enum:
    # What a byte begins outside of strings, IRIs and comments.
    A_SPACE = 0
    A_SIGN
    A_NAME
    A_LESS
    A_QUOTE
    A_HASH
    A_BACKSLASH
    A_BRACE
    AN_AT
    A_BRACKET
    A_GREATER

cdef enum:
    # Names longer than this are not keywords, so they need not be complete in memory.
    MAX_KEYWORD = 16
    # Between "@message" and its dot.
    MAX_GAP = 1024


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


cdef void init_scan(Scan* t) noexcept nogil:
    cdef int byte
    for byte in range(256):
        if byte >= 0x80 or is_letter(<uint8_t>byte) or is_digit(<uint8_t>byte):
            t.kinds[byte] = A_NAME
        else:
            t.kinds[byte] = A_SIGN
    t.kinds[0x20] = t.kinds[0x09] = t.kinds[0x0A] = t.kinds[0x0D] = A_SPACE
    t.kinds[0x5F] = t.kinds[0x2D] = t.kinds[0x3A] = t.kinds[0x25] = A_NAME  # _ - : %
    t.kinds[0x3C] = A_LESS
    t.kinds[0x3E] = A_GREATER
    t.kinds[0x22] = t.kinds[0x27] = A_QUOTE
    t.kinds[0x23] = A_HASH
    t.kinds[0x5C] = A_BACKSLASH
    t.kinds[0x7B] = t.kinds[0x7D] = A_BRACE
    t.kinds[0x40] = AN_AT
    t.kinds[0x28] = t.kinds[0x29] = t.kinds[0x5B] = t.kinds[0x5D] = A_BRACKET


cdef inline int64_t offset(Scan* t, const uint8_t* at) noexcept nogil:
    return t.origin + (at - t.begin)


cdef const uint8_t* skip_name(Scan* t, const uint8_t* at) noexcept nogil:
    """End of the name that continues at `at`; NULL if that needs more input."""
    cdef int kind
    while at < t.end:
        kind = t.kinds[at[0]]
        if kind == A_NAME:
            at += 1
        elif kind == A_BACKSLASH:
            # \# in a local name is no comment.
            if t.end - at < 2:
                return at if t.final else NULL
            at += 2
        elif at[0] == 0x2E:
            # A dot at the end does not belong to the name.
            if t.end - at < 2:
                return at if t.final else NULL
            kind = t.kinds[at[1]]
            if kind != A_NAME and kind != A_BACKSLASH and at[1] != 0x2E:
                return at
            at += 1
        else:
            return at
    return at if t.final else NULL


cdef int take_name(Scan* t) noexcept nogil:
    """Scan a name or a keyword."""
    cdef const uint8_t* begin = t.at
    cdef const uint8_t* end
    cdef bint at_sign = begin[0] == 0x40
    cdef bint tag = at_sign and t.after_string
    cdef int64_t n
    cdef int found
    if at_sign and begin + 1 == t.end and not t.final:
        return USED_UP
    end = skip_name(t, begin + 1)
    if end == NULL:
        if t.end - begin <= MAX_KEYWORD:
            return USED_UP
        t.inside = True
        t.after_literal = False
        t.after_string = False
        t.state = IN_NAME
        t.at = begin + 1
        return 1
    t.found_at = offset(t, begin)
    n = end - begin
    t.found_end = t.note_at = offset(t, end)
    if n == 4 and not t.inside and is_word(begin, n, b"base", 4):
        t.sparql = True
    if t.directive and n == 8 and not tag and memcmp(begin, b"@message", 8) == 0:
        return take_at_message(t, end)
    t.at = end
    t.after_string = False
    if 6 <= n <= 8 and not tag:
        if t.directive and n == 7 and memcmp(begin, b"MESSAGE", 7) == 0:
            return -MESSAGE
        found = (
            PREFIX if is_word(begin + at_sign, n - at_sign, b"prefix", 6)
            else VERSION if is_word(begin + at_sign, n - at_sign, b"version", 7) else 0
        )
        if found:
            t.after_version = t.after_version or found == VERSION
            t.sparql = not at_sign
            t.inside = True
            return -found
    t.inside = True
    t.after_literal = False
    return 1


cdef int take_at_message(Scan* t, const uint8_t* at) noexcept nogil:
    """The dot of "@message ."."""
    while at < t.end and t.kinds[at[0]] == A_SPACE:
        at += 1
    if at == t.end and not t.final and at - t.at < MAX_GAP:
        return USED_UP
    t.found_end = t.note_at = offset(t, at) + 1
    t.after_string = False
    if at < t.end and at[0] == 0x2E:
        t.at = at + 1
        return -MESSAGE
    t.at = at
    return -BAD_MESSAGE


cdef inline void end_string(Scan* t) noexcept nogil:
    t.after_string = t.after_literal = not t.after_version
    if t.after_version and t.sparql:
        t.inside = t.sparql = False
    t.after_version = False


cdef inline void take_sign(Scan* t, uint8_t byte) noexcept nogil:
    if byte == 0x2E:
        t.inside = False
    elif byte == 0x7C and t.after_brace:
        t.inside = True
    t.after_bar = byte == 0x7C
    t.after_brace = t.after_literal = t.after_string = False


cdef inline void take_brace(Scan* t, uint8_t byte) noexcept nogil:
    t.after_brace = byte == 0x7B
    t.depth += 1 if t.after_brace else -1
    t.inside = t.after_bar
    t.after_bar = t.after_literal = False


cdef int take_quote(Scan* t) noexcept nogil:
    """Scan the opening quotes of a string, or an empty string."""
    cdef const uint8_t* at = t.at
    cdef int64_t left = t.end - at
    t.quote = at[0]
    if left < 3 and not t.final and (left < 2 or at[1] == at[0]):
        return USED_UP
    if left >= 3 and at[1] == at[0] and at[2] == at[0]:
        t.state = IN_LONG_STRING
        t.at += 3
    elif left >= 2 and at[1] == at[0]:
        end_string(t)
        t.at += 2
    else:
        t.state = IN_STRING
        t.at += 1
    return 1


cdef inline void nest(Scan* t, bint opens) noexcept nogil:
    if opens:
        t.nested += 1
        t.deepest = max(t.deepest, t.nested)
    elif t.nested > 0:
        t.nested -= 1


cdef int scan_text(Scan* t) noexcept nogil:
    """Scan outside of strings, IRIs and comments. Above 0: continue; below 0: found; 0: the input is used up."""
    cdef const uint8_t* at = t.at
    cdef int kind, status
    while at < t.end:
        kind = t.kinds[at[0]]
        if kind == A_SPACE:
            at += 1
            continue
        if kind == A_SIGN:
            if at[0] == 0x2E and at + 1 == t.end and not t.final:
                t.at = at
                return USED_UP
            if at[0] != 0x2E or at + 1 == t.end or not is_digit(at[1]):  # .5 is a number
                take_sign(t, at[0])
            at += 1
            continue
        if kind == A_BRACKET:
            t.inside = True
            t.after_literal = t.after_string = False
            nest(t, at[0] == 0x28 or at[0] == 0x5B)
            at += 1
            continue
        t.at = at
        if kind == A_NAME or kind == AN_AT:
            status = take_name(t)
            if status <= 0 or t.state != IN_TEXT:
                return status
            at = t.at
            continue
        if kind == A_QUOTE:
            t.inside = True
            return take_quote(t)
        t.after_string = False
        if kind == A_HASH:
            t.found_at = offset(t, at)
            t.state = IN_COMMENT_HEAD
            t.at += 1
            return 1
        if kind == A_BRACE:
            take_brace(t, at[0])
            nest(t, at[0] == 0x7B)
            at += 1
            continue
        t.inside = True
        t.after_literal = False
        if t.end - at < 2:
            # < or > or a backslash
            if t.final:
                t.at = t.end
            return USED_UP
        elif kind == A_LESS:
            if at[1] != 0x3C:
                t.state = IN_IRI
                t.at += 1
                return 1
            nest(t, True)  # << of a quoted triple
            at += 2
        elif kind == A_GREATER and at[1] != 0x3E:
            at += 1  # => of N3
        else:
            if kind == A_GREATER:
                nest(t, False)
            at += 2  # >> or an escape
    t.at = at
    return USED_UP


cdef int scan_iri(Scan* t) noexcept nogil:
    cdef const uint8_t* at = t.at
    cdef uint64_t hits
    cdef uint8_t byte
    while True:
        while t.end - at >= 8:
            hits = find_hits(load_u64(at), True)
            if hits:
                at += low_hit(hits)
                break
            at += 8
        if at >= t.end:
            t.at = at
            return USED_UP
        byte = at[0]
        if byte == 0x3E:
            t.at = at + 1
            t.state = IN_TEXT
            if t.sparql:
                t.inside = t.sparql = False
            return 1
        if byte <= 0x20 or byte == 0x3C or byte == 0x22:
            # It was not an IRI.
            t.at = at
            t.state = IN_TEXT
            return 1
        at += 1


cdef int scan_string(Scan* t, bint long_one) noexcept nogil:
    cdef const uint8_t* at = t.at
    cdef int64_t left
    while True:
        at = t.at = find_stop(at, t.end, t.quote, PASS_WIDE)
        left = t.end - at
        if left == 0:
            return USED_UP
        if at[0] == 0x5C:
            if left < 2:
                if t.final:
                    t.at = t.end
                return USED_UP
            at += 2
        elif at[0] != t.quote:
            if not long_one and is_line_end(at[0]):
                break
            at += 1
        elif not long_one:
            t.at += 1
            end_string(t)
            break
        elif left >= 3 and at[1] == t.quote and at[2] == t.quote:
            t.at += 3
            end_string(t)
            break
        elif left < 3 and not t.final and (left == 1 or at[1] == t.quote):
            return USED_UP
        else:
            at += 1
    t.state = IN_TEXT
    return 1


cdef int scan_comment(Scan* t) noexcept nogil:
    cdef const char* word = b"@message"
    cdef const uint8_t* at
    cdef const uint8_t* note = NULL
    cdef int64_t left
    if t.state == IN_COMMENT_HEAD:
        at = t.at = skip_wide_space(t.at, t.end)
        left = t.end - at
        if not t.final and (
            left == 0 or (left < 3 and at[0] >= 0x80) or (left < 8 and memcmp(at, word, left) == 0)
        ):
            return USED_UP
        if not t.directive:
            note = find_delimiter(at, t.end)
        t.state = IN_COMMENT
        if note != NULL:
            t.state = IN_DELIMITER
            t.at = note
            t.note_at = offset(t, note)
    t.at = find_line_end(t.at, t.end)
    if t.at == t.end and not t.final:
        return USED_UP
    if t.state == IN_DELIMITER:
        t.state = IN_TEXT
        t.found_end = offset(t, t.at)
        return -MESSAGE
    t.state = IN_TEXT
    return 1


cdef bint depends_on_next(Scan* t) noexcept nogil:
    """Whether the meaning of the last byte of a name depends on the next byte: a dot or backslash that is not escaped."""
    cdef const uint8_t* last = t.end - 1
    cdef const uint8_t* at = last
    if t.at == t.end or (last[0] != 0x2E and last[0] != 0x5C):
        return False
    while at > t.at and (at - 1)[0] == 0x5C:
        at -= 1
    return (last - at) % 2 == 0


cdef int scan(Scan* t) noexcept nogil:
    """Continue to the next find. `t.at` is then after it, or with USED_UP at the start of the rest."""
    cdef int status
    cdef const uint8_t* end
    while True:
        if t.state == IN_TEXT:
            status = scan_text(t)
        elif t.state == IN_IRI:
            status = scan_iri(t)
        elif t.state == IN_STRING:
            status = scan_string(t, False)
        elif t.state == IN_LONG_STRING:
            status = scan_string(t, True)
        elif t.state == IN_NAME:
            end = skip_name(t, t.at)
            if end == NULL:
                t.at = t.end - depends_on_next(t)
                return USED_UP
            t.at = end
            t.state = IN_TEXT
            status = 1
        else:
            status = scan_comment(t)
        if status <= 0:
            return -status


cdef class Lexer:
    """Finds delimiters, and where versions and prefixes are declared, in text fed to it in chunks cut anywhere.

    ``directive=False`` looks for comments that match ``/^\\s*@message/`` (RDF Messages, section 2.1), ``True`` for
    ``MESSAGE`` and ``@message .``. Found is a list of tuples: what it is (``"message"``, ``"prefix"``, ``"version"``,
    or ``"bad"`` for an ``@message`` without its dot), the offsets in all of the input of its beginning, of its end and
    of what follows the word in a comment, how many braces are open, and where it stands: 0 between statements, 1 inside
    one, 2 inside one where a string ends (for the first that stands there).

    >>> from jelly._core.boundaries.turtle import Lexer
    >>> lexer = Lexer()
    >>> lexer.feed(b'<a:s#@message> <a:p> "# @message" . # @mess') + lexer.feed(b"age one\\n", True)
    [('message', 36, 50, 46, 0, 0)]
    """

    cdef Scan t
    cdef bytes rest
    cdef Claim claimed

    def __cinit__(self, *, bint directive=False):
        memset(&self.t, 0, sizeof(Scan))
        init_scan(&self.t)
        self.t.directive = directive
        self.rest = b""

    @property
    def depth(self) -> int:
        """Number of open braces."""
        return self.t.depth

    @property
    def deepest(self) -> int:
        """The most collections, blank nodes, quoted triples and graphs or formulas that were open in one another.

        They open with ``(``, ``[``, ``<<`` and ``{``.
        """
        return self.t.deepest

    def feed(self, data, bint final=False) -> list:
        """The finds in the next chunk of bytes; ``final`` if it is the last chunk."""
        held = hold(&self.claimed, self)
        cdef bytes text = self.rest + data if self.rest else bytes(data)
        cdef list found = []
        cdef int what = 1
        cdef Scan* t = &self.t
        names = (None, "message", "prefix", "version", "bad")
        t.begin = t.at = <const uint8_t*><const char*>text
        t.end = t.begin + len(text)
        t.final = final
        while what:
            with nogil:
                what = scan(t)
            if what:
                where = t.inside + (t.inside and t.after_literal)
                found.append((names[what], t.found_at, t.found_end, t.note_at, t.depth, where))
                t.after_literal = False
        self.rest = text[t.at - t.begin:]
        t.origin += t.at - t.begin
        t.begin = t.at = t.end = NULL
        return found
