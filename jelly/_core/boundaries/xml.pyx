"""The ends of XML documents that follow one another: tags are counted, nothing is parsed."""

from libc.string cimport memchr, memset

from jelly._core.base.characters cimport is_space
from jelly._core.base.claim cimport Claim
from jelly._core.base.objects cimport hold

cdef bint skip_to(Markup* t, const char* stop, int n) noexcept nogil:
    """Step past `stop`, whose bytes are equal except the last: "-->" "]]>" "?>". False if the input ends before it."""
    cdef uint8_t byte
    while t.at < t.end:
        byte = t.at[0]
        t.at += 1
        if t.matched == n - 1 and byte == <uint8_t>stop[n - 1]:
            t.matched = 0
            return True
        if byte != <uint8_t>stop[0]:
            t.matched = 0
        elif t.matched < n - 1:
            t.matched += 1
    return False


cdef bint skip_quoted(Markup* t) noexcept nogil:
    cdef const uint8_t* found = <const uint8_t*>memchr(t.at, t.quote, t.end - t.at)
    t.at = t.end if found == NULL else found + 1
    return found != NULL


cdef int skip_content(Markup* t) noexcept nogil:
    """Step past the next <."""
    cdef const uint8_t* found
    if t.depth > 0:
        found = <const uint8_t*>memchr(t.at, 0x3C, t.end - t.at)
        t.at = t.end if found == NULL else found + 1
        if found != NULL:
            t.state = LESS
        return USED_UP
    while t.at < t.end and is_space(t.at[0]):
        t.apart = t.apart or t.at[0] == 0x0A
        t.at += 1
    if t.at < t.end:
        if t.at[0] != 0x3C or not t.apart:
            return STRAY
        t.state = LESS
        t.at += 1
    return USED_UP


cdef int end_element(Markup* t) noexcept nogil:
    t.state = CONTENT
    if t.depth > 0:
        return USED_UP
    t.apart = False
    return ENDED if t.depth == 0 else STRAY


cdef int scan_doctype(Markup* t) noexcept nogil:
    cdef const char* comment = b"<!--"
    cdef uint8_t byte = t.at[0]
    t.at += 1
    if byte == 0x3F and t.matched == 1:
        t.matched = 0
        t.state = DOCTYPE_INSTRUCTION
        return USED_UP
    t.matched = t.matched + 1 if byte == <uint8_t>comment[t.matched] else 1 if byte == 0x3C else 0
    if t.matched == 4:
        t.matched = 0
        t.state = DOCTYPE_COMMENT
    elif byte == 0x22 or byte == 0x27:
        t.quote = byte
        t.state = DOCTYPE_QUOTED
    elif byte == 0x5B:
        t.brackets += 1
    elif byte == 0x5D:
        t.brackets -= 1
    elif byte == 0x3E and t.brackets <= 0:
        t.state = CONTENT
        return DECLARED
    return USED_UP


cdef int scan_tag(Markup* t) noexcept nogil:
    """To the end of a tag, or to a value in it."""
    cdef uint8_t byte
    while t.at < t.end:
        byte = t.at[0]
        t.at += 1
        if byte == 0x3E:
            t.depth += -1 if t.state == CLOSING else 0 if t.slash else 1
            return end_element(t)
        if (byte == 0x22 or byte == 0x27) and t.state == TAG:
            t.slash = False
            t.quote = byte
            t.state = TAG_QUOTED
            return USED_UP
        t.slash = byte == 0x2F
    return USED_UP


cdef int step(Markup* t) noexcept nogil:
    """Scan one construct, or the part of it that is there. A status other than USED_UP is a find."""
    cdef uint8_t byte = t.at[0]
    cdef int around = TAG if t.state == TAG_QUOTED else DOCTYPE if t.state > DOCTYPE else CONTENT
    if t.state == CONTENT:
        return skip_content(t)
    if t.state == DOCTYPE:
        return scan_doctype(t)
    if t.state == COMMENT or t.state == DOCTYPE_COMMENT:
        if skip_to(t, b"-->", 3):
            t.state = around
    elif t.state == CDATA:
        if skip_to(t, b"]]>", 3):
            t.state = around
    elif t.state == INSTRUCTION or t.state == DOCTYPE_INSTRUCTION:
        if skip_to(t, b"?>", 2):
            t.state = around
    elif t.state == TAG_QUOTED or t.state == DOCTYPE_QUOTED:
        if skip_quoted(t):
            t.state = around
    elif t.state == LESS:
        t.at += 1
        t.slash = False
        t.state = BANG if byte == 0x21 else INSTRUCTION if byte == 0x3F else CLOSING if byte == 0x2F else TAG
        if t.state == TAG:
            t.at -= 1
    elif t.state == BANG:
        t.at += 1
        t.brackets = 0
        t.state = BANG_DASH if byte == 0x2D else CDATA if byte == 0x5B else DOCTYPE
    elif t.state == BANG_DASH:
        t.at += 1
        t.state = COMMENT
    else:
        return scan_tag(t)
    return USED_UP


cdef int find_document_end(Markup* t) noexcept nogil:
    cdef int status
    while t.at < t.end:
        status = step(t)
        if status != USED_UP:
            return status
    return USED_UP


cdef class DocumentScanner:
    """Finds where XML documents end that follow each other on new lines, in chunks cut anywhere (section 2.4).

    ``feed`` gives a list of what it is (``"end"``, ``"doctype"`` or, at something that belongs to no document,
    ``"stray"``) and the offset in all of the input after it; after a stray byte it gives nothing more.

    >>> from jelly._core.boundaries.xml import DocumentScanner
    >>> scanner = DocumentScanner()
    >>> scanner.feed(b"<a><b/><!-- </a> --></a>\\n<a") + scanner.feed(b"/>")
    [('end', 24), ('end', 29)]
    """

    cdef Markup t
    cdef int64_t origin
    cdef bint failed
    cdef Claim claimed

    def __cinit__(self):
        memset(&self.t, 0, sizeof(Markup))
        self.t.apart = True

    @property
    def begun(self) -> bool:
        """Whether the input ends inside a document."""
        return self.t.depth > 0 or self.t.state != CONTENT

    def feed(self, data) -> list:
        """The finds in the next chunk of bytes."""
        held = hold(&self.claimed, self)
        cdef bytes text = bytes(data)
        cdef const uint8_t* begin = <const uint8_t*><const char*>text
        cdef list found = []
        cdef int status = USED_UP
        self.t.at = begin
        self.t.end = begin + len(text)
        while not self.failed:
            with nogil:
                status = find_document_end(&self.t)
            if status == USED_UP:
                break
            self.failed = status == STRAY
            what = "end" if status == ENDED else "doctype" if status == DECLARED else "stray"
            found.append((what, self.origin + (self.t.at - begin)))
        self.origin += len(text)
        self.t.at = self.t.end = NULL
        return found
