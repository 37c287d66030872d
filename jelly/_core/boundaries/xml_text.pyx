"""XML with text in one piece: pyoxigraph refuses text that a comment or CDATA parts, or drops spaces beside it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset, strlen

from jelly._core.base.claim cimport Claim
from jelly._core.base.objects cimport hold
from jelly._core.boundaries.xml cimport (
    BANG, BANG_DASH, CDATA, CLOSING, COMMENT, CONTENT, DOCTYPE, INSTRUCTION, LESS, Markup, STRAY, TAG, step
)

cdef enum:
    # Bytes of "CDATA[", after "<![".
    CDATA_HEAD = 6
    # Line ends that are kept of what stands between two tags.
    MAX_LINES = 65536
    # What one byte can become: & in a CDATA section is &amp;
    MOST = 5
    # Bytes that wait at the most: "<!", "]]".
    WAITING = 16


ctypedef struct Joiner:
    Markup markup
    uint8_t* out
    int64_t lines  # line ends of what was left out
    int skip  # bytes that are still to come of "CDATA["
    bint named  # in a tag, its name goes on
    bint kept  # the instruction is the declaration
    bint returned  # the last byte was a carriage return
    bint raw  # it is no XML: all is given as it is


cdef inline void put(Joiner* j, const uint8_t* begin, int64_t n) noexcept nogil:
    memcpy(j.out, begin, n)
    j.out += n


cdef void put_escaped(Joiner* j, const uint8_t* begin, const uint8_t* end) noexcept nogil:
    """Text of a CDATA section as text."""
    while begin < end:
        if begin[0] == 0x26:
            put(j, <const uint8_t*>b"&amp;", 5)
        elif begin[0] == 0x3C:
            put(j, <const uint8_t*>b"&lt;", 4)
        elif begin[0] == 0x3E:
            put(j, <const uint8_t*>b"&gt;", 4)
        else:
            j.out[0] = begin[0]
            j.out += 1
        begin += 1


cdef void drop(Joiner* j, const uint8_t* begin, const uint8_t* end) noexcept nogil:
    """Leave something out. Its line ends come in the next tag, so that the lines keep their numbers."""
    while begin < end:
        j.lines += begin[0] == 0x0A
        begin += 1


cdef const uint8_t* put_name(Joiner* j, const uint8_t* begin, bint opening) noexcept nogil:
    """The name of a tag and, after it, the line ends of what was left out; the place after the name."""
    cdef const uint8_t* at = begin
    cdef int64_t n = min(j.lines, <int64_t>MAX_LINES)
    while at < j.markup.at and at[0] > 0x20 and at[0] != 0x3E and not (opening and at[0] == 0x2F):
        at += 1
    put(j, begin, at - begin)
    if at < j.markup.at:
        memset(j.out, 0x0A, n)
        j.out += n
        j.lines = 0
        j.named = False
    return at


cdef void put_cdata(Joiner* j, const uint8_t* begin, int before) noexcept nogil:
    """The output of a CDATA section, before which `before` brackets waited; brackets at its end wait again."""
    cdef const uint8_t* head = <const uint8_t*>b"<![CDATA["
    cdef const uint8_t* end = j.markup.at
    cdef int waiting = j.markup.matched
    while j.skip and begin < end:
        if begin[0] != head[9 - j.skip]:
            put(j, head, 9 - j.skip)
            put(j, begin, end - begin)
            j.raw = True
            return
        begin += 1
        j.skip -= 1
    put(j, <const uint8_t*>b"]]", before)
    if j.markup.state == CONTENT:
        end -= 1  # the > after the brackets
        waiting = 2
    put_escaped(j, begin, end)
    j.out -= waiting


cdef void join(Joiner* j) noexcept nogil:
    """All that is there."""
    cdef Markup* t = &j.markup
    cdef const uint8_t* begin
    cdef const uint8_t* end
    cdef const char* head
    cdef int before, matched, status
    cdef bint shown
    while t.at < t.end and not j.raw:
        begin = t.at
        before = t.state
        matched = t.matched
        status = step(t)
        if before == CDATA:
            put_cdata(j, begin, matched)
            continue
        if status == STRAY and before == CONTENT:
            # No markup: the parser of the XML refuses it.
            t.apart = True
            t.at += t.at[0] != 0x3C
        end = t.at
        # What waited, and whether it is given with this part.
        head = b""
        shown = True
        if before == CONTENT:
            end -= t.state == LESS
        elif before == LESS:
            j.kept = t.depth == 0 and t.state == INSTRUCTION  # the declaration
            j.named = True
            head = b"<"
            shown = t.state == TAG or t.state == CLOSING or j.kept
        elif before == BANG:
            j.skip = CDATA_HEAD
            head = b"<!"
            shown = t.state == DOCTYPE
        elif before == BANG_DASH:
            head = b"<!-"
            shown = j.raw = begin[0] != 0x2D
        elif before == COMMENT or (before == INSTRUCTION and not j.kept):
            drop(j, begin, end)
            shown = False
        elif j.lines and j.named and (before == TAG or before == CLOSING):
            begin = put_name(j, begin, before == TAG)
        if shown:
            put(j, <const uint8_t*>head, strlen(head))
            put(j, begin, end - begin)
    put(j, t.at, t.end - t.at)


cdef class TextJoiner:
    """Writes CDATA sections of XML as text and leaves comments and processing instructions out, in chunks cut anywhere.
    Line ends become line feeds.

    What RDF/XML says stays the same, and so do the numbers of the lines on which tags end. ``feed`` gives the text of a
    chunk; at most a few bytes wait for the next one.

    >>> from jelly._core.boundaries.xml_text import TextJoiner
    >>> joiner = TextJoiner()
    >>> joiner.feed(b"<a>x<!--") + joiner.feed(b"c\\n-->y<![CDATA[<&]]]]></a>")
    b'<a>xy&lt;&amp;]]</a\\n>'
    """

    cdef Joiner j
    cdef Claim claimed

    def __cinit__(self):
        memset(&self.j, 0, sizeof(Joiner))
        self.j.markup.apart = True

    @property
    def begun(self) -> bool:
        """Whether the input ends inside a document."""
        return not self.j.raw and (self.j.markup.depth > 0 or self.j.markup.state != CONTENT)

    cdef bytes with_line_feeds(self, bytes text):
        """XML 1.0, section 2.11: a carriage return, with a line feed or without, is a line feed."""
        if self.j.returned and text[:1] == b"\n":
            text = text[1:]
            self.j.returned = False
        if text:
            self.j.returned = text[-1] == 0x0D
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text

    def feed(self, data) -> bytes:
        """The text of the next chunk of bytes."""
        held = hold(&self.claimed, self)
        cdef bytes text = self.with_line_feeds(bytes(data))
        cdef Joiner* j = &self.j
        cdef bytes made = PyBytes_FromStringAndSize(NULL, MOST * len(text) + min(j.lines, <int64_t>MAX_LINES) + WAITING)
        j.markup.at = <const uint8_t*><const char*>text
        j.markup.end = j.markup.at + len(text)
        cdef uint8_t* begin = <uint8_t*>PyBytes_AS_STRING(made)
        j.out = begin
        with nogil:
            join(j)
        j.markup.at = j.markup.end = NULL
        return made[: j.out - begin]
