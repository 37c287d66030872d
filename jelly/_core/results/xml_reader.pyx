"""SPARQL Query Results XML Format, with the triple terms and base directions of 1.2.

The text is read tag by tag, in a row as a whole; what is not whole is read again when more is there. It must be
well-formed XML with namespaces, in UTF-8.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcmp, memset

from jelly._core.base.constants cimport MAX_DEPTH
from jelly._core.base.fault cimport DEPTH, HELD_LIMIT, NEED_MORE, NEED_TABLES, NO_MEMORY, OK, XML_DEPTH, fail
from jelly._core.base.protobuf cimport Reader, Writer, put_bytes, reserve
from jelly._core.results.rows cimport (
    BAD_RESERVED, BOTH_SETS, DIRECTION, EMPTY_BINDING, Element, HREF, LATE_VARIABLE, LITERAL, MAX_PATH, MAX_SPACES, MISMATCHED,
    NAME, NO_ANSWER, NO_PART, NO_RESULTS, NO_SPARQL, NO_TRUTH, NO_VARIABLE, OF_END, OF_TAG, SEVERAL_TERMS, Space, TAG, TRIPLE,
    TWO_BINDINGS, UNDECLARED, VALUE, Value, Xml, add_name, add_text, add_value, begin_row, cell_of, cut, end_row, expected,
    find_column, find_word, refuse,
)
from jelly._core.results.xml_tags cimport (
    AFTER_ROOT, AT_BEGIN, Attribute, CONTENT, IN_PROLOG, IN_ROOT, Tag, find_text, skip_markup, skip_space, take_characters,
    take_tag, wrong,
)

cdef enum:
    # What an element is: one of the terms, or the words of `open_element`.
    OTHER = -1
    BINDING = 4
    RESULT
    VARIABLE
    RESULTS
    SUBJECT
    PREDICATE
    OBJECT
    LINK
    BOOLEAN
    SPARQL

cdef enum:
    # Namespaces: the words of `declare`.
    OTHER_SPACE = 0
    SPARQL_SPACE
    ITS_SPACE
    XML_SPACE
    XMLNS_SPACE
    NO_SPACE


# ---- namespaces and elements

cdef int keep_text(TextRows* t, const Reader* text, int64_t* at) noexcept nogil:
    """Note a name of an element that is open."""
    cdef Writer* path = &t.xml.path
    if reserve(path, text.end - text.at) < 0:
        return fail(&t.fault, NO_MEMORY, t.at)
    at[0] = path.n
    put_bytes(path, text.at, text.end - text.at)
    return OK


cdef int declare(TextRows* t, const Attribute* a) noexcept nogil:
    """Note the namespace of an attribute that declares one."""
    cdef Xml* x = &t.xml
    cdef Space* space = &x.spaces[x.n_spaces]
    cdef Reader prefix = a.name
    cdef int reserved
    if find_word(&a.name if a.prefix.at == NULL else &a.prefix, b"\5xmlns") < 0:
        return OK
    if a.prefix.at == NULL:
        prefix.end = prefix.at
    if x.n_spaces >= MAX_SPACES:
        return fail(&t.fault, XML_DEPTH, a.name.at, MAX_SPACES, 2)
    space.n = prefix.end - prefix.at
    space.which = NO_SPACE if a.value.at == a.value.end else 1 + find_word(
        &a.value, b"\46http://www.w3.org/2005/sparql-results#\35http://www.w3.org/2005/11/its"
        b"\44http://www.w3.org/XML/1998/namespace\35http://www.w3.org/2000/xmlns/"
    )
    reserved = find_word(&prefix, b"\3xml\5xmlns")
    if reserved == 1 or (reserved == 0) != (space.which == XML_SPACE) or space.which == XMLNS_SPACE or (
        space.n and space.which == NO_SPACE
    ):
        return wrong(t, a.name.at, BAD_RESERVED)
    x.n_spaces += 1
    return keep_text(t, &prefix, &space.at)


cdef int find_space(TextRows* t, const Reader* prefix) noexcept nogil:
    """The namespace of a prefix, or a fault."""
    cdef Xml* x = &t.xml
    cdef int64_t i = x.n_spaces
    cdef int64_t n = prefix.end - prefix.at
    cdef int reserved = find_word(prefix, b"\3xml\5xmlns") if n else -1
    if reserved >= 0:
        return XML_SPACE + reserved
    while i > 0:
        i -= 1
        if x.spaces[i].n == n and (n == 0 or memcmp(x.path.buf + x.spaces[i].at, prefix.at, n) == 0):
            return x.spaces[i].which
    return NO_SPACE if n == 0 else wrong(t, prefix.at, UNDECLARED)


cdef int take_attributes(TextRows* t, const Tag* tag, Value* v) noexcept nogil:
    """What the attributes of a tag say of a term, variable or link."""
    cdef const Attribute* a
    cdef int i, space, part
    memset(v, 0, sizeof(Value))
    for i in range(tag.n):
        a = &tag.attributes[i]
        space = NO_SPACE if a.prefix.at == NULL else find_space(t, &a.prefix)
        if space < 0:
            return space
        part = find_word(&a.name, b"\4name\4href\10datatype\4lang\3dir")
        if part >= 0 and space == (XML_SPACE if part == TAG else ITS_SPACE if part == DIRECTION else NO_SPACE):
            v.parts[part] = a.value
    return OK


cdef int begin_element(TextRows* t, const uint8_t* at, int what, Value* v) noexcept nogil:
    """What the beginning of an element means."""
    cdef Xml* x = &t.xml
    cdef bint late = t.begun or t.answer != NO_ANSWER
    if what == BINDING:
        x.column = find_column(t, &v.parts[NAME]) if x.in_row else -1
        x.term = -1
    elif what == LITERAL:
        x.value = v[0]
    elif what == RESULT:
        if not t.begun:
            return refuse(t, at, NO_RESULTS)
        x.in_row = True
        x.n_triples = 0
        x.column = -1
        return begin_row(t)
    elif what == VARIABLE:
        return refuse(t, at, LATE_VARIABLE) if late else add_name(t, &v.parts[NAME])
    elif what == LINK:
        return add_text(t, &t.links, &v.parts[HREF])
    elif what == RESULTS:
        if late:
            return refuse(t, at, BOTH_SETS)
        t.begun = True
        return NEED_TABLES
    elif what == TRIPLE:
        if x.n_triples >= MAX_DEPTH:
            return fail(&t.fault, DEPTH, at, MAX_DEPTH)
        memset(&x.triples[3 * x.n_triples], 0xFF, 3 * sizeof(int32_t))
        x.n_triples += 1
    return OK


cdef int take_answer(TextRows* t, Reader text) noexcept nogil:
    """The answer of an ASK query, with spaces around it."""
    while text.at < text.end and text.at[0] <= 0x20:
        text.at += 1
    while text.at < text.end and (text.end - 1)[0] <= 0x20:
        text.end -= 1
    t.answer = find_word(&text, b"\5false\4true")
    return refuse(t, t.at, NO_TRUTH) if t.answer == NO_ANSWER else OK


cdef int end_element(TextRows* t, int what, const Reader* text) noexcept nogil:
    """What the end of an element means."""
    cdef Xml* x = &t.xml
    cdef int i
    if what == BOOLEAN:
        return refuse(t, t.at, NO_TRUTH) if t.begun or t.answer != NO_ANSWER else take_answer(t, text[0])
    if not x.in_row or what == OTHER or (what == TRIPLE and x.n_triples == 0):
        return OK
    if what <= TRIPLE:
        if x.term >= 0 and x.column >= 0:  # a second term
            return refuse(t, t.at, SEVERAL_TERMS)
        x.value.what = what
        x.value.parts[VALUE] = text[0]
        if what == TRIPLE:
            x.n_triples -= 1
            for i in range(3):
                x.value.triple[i] = x.triples[3 * x.n_triples + i]
                if x.value.triple[i] < 0:
                    return refuse(t, t.at, NO_PART)
        x.term = add_value(t, &x.value)
        return OK if x.term >= 0 else x.term
    if SUBJECT <= what <= OBJECT and x.n_triples:
        x.triples[3 * (x.n_triples - 1) + what - SUBJECT] = x.term
        x.term = -1
    elif what == BINDING:
        if x.term < 0 or x.column < 0:
            return refuse(t, t.at, NO_VARIABLE if x.column < 0 else EMPTY_BINDING)
        if cell_of(t, x.column)[0] >= 0:
            return refuse(t, t.at, TWO_BINDINGS)
        cell_of(t, x.column)[0] = x.term
        x.column = -1
    elif what == RESULT:
        x.in_row = False
        return end_row(t)
    return OK


cdef int open_element(TextRows* t, const Tag* tag) noexcept nogil:
    cdef Xml* x = &t.xml
    cdef Element* e = &x.open[x.depth]
    cdef Value v
    cdef int i, space
    if x.depth >= MAX_PATH - 1:
        return fail(&t.fault, XML_DEPTH, tag.begin, MAX_PATH - 1)
    if t.state == AFTER_ROOT:
        t.at = tag.begin
        return expected(t, OF_END)
    e.spaces = x.n_spaces
    e.n = tag.whole.end - tag.whole.at
    if keep_text(t, &tag.whole, &e.at) < 0:
        return t.fault.code
    for i in range(tag.n):
        if declare(t, &tag.attributes[i]) < 0:
            return t.fault.code
    space = find_space(t, &tag.prefix)
    if space == XMLNS_SPACE:
        return wrong(t, tag.prefix.at, UNDECLARED)
    if space < 0 or take_attributes(t, tag, &v) < 0:
        return t.fault.code
    e.what = OTHER
    if space == SPARQL_SPACE or space == NO_SPACE:
        e.what = find_word(
            &tag.name, b"\3uri\5bnode\7literal\6triple\7binding\6result\10variable\7results\7subject\11predicate\6object"
            b"\4link\7boolean\6sparql"
        )
    if x.depth == 0 and e.what != SPARQL:
        return refuse(t, tag.begin, NO_SPARQL)
    t.state = IN_ROOT
    x.depth += 1
    return begin_element(t, tag.begin, e.what, &v)


cdef void leave(Xml* x, int64_t depth) noexcept nogil:
    """Forget the elements that are deeper."""
    if depth < x.depth:
        x.depth = depth
        x.path.n = x.open[depth].at
        x.n_spaces = x.open[depth].spaces


cdef int close_element(TextRows* t, const Reader* text) noexcept nogil:
    cdef Xml* x = &t.xml
    leave(x, x.depth - 1)
    if x.depth == 0:
        t.state = AFTER_ROOT
        if not t.begun and t.answer == NO_ANSWER:
            return refuse(t, t.at, NO_RESULTS)
    return end_element(t, x.open[x.depth].what, text)


cdef int take_element(TextRows* t, Reader* text) noexcept nogil:
    """A tag, and the text before it."""
    cdef Xml* x = &t.xml
    cdef Element* e
    cdef Tag tag
    cdef int status = take_tag(t, &tag)
    cdef int closed = OK
    if status != OK:
        return status
    if not tag.ends:
        status = open_element(t, &tag)
        if tag.empty and status >= 0:
            text.at = text.end = t.at
            closed = close_element(t, text)
        return status if closed == OK else closed
    if x.depth > 0:
        e = &x.open[x.depth - 1]
        if e.n == tag.whole.end - tag.whole.at and memcmp(x.path.buf + e.at, tag.whole.at, e.n) == 0:
            return close_element(t, text)
    return wrong(t, tag.begin, MISMATCHED)


cdef int take_piece(TextRows* t) noexcept nogil:
    """All up to the end of the next tag."""
    cdef Reader text
    cdef const uint8_t* stop
    cdef int status = OK
    text.at = text.end = t.at
    while status == OK:
        if t.xml.depth == 0:
            if skip_space(t) and t.state == AT_BEGIN:
                t.state = IN_PROLOG
            if t.at < t.end and t.at[0] != 0x3C:
                return expected(t, OF_END if t.state == AFTER_ROOT else OF_TAG)
            if t.at >= t.end and t.state == AFTER_ROOT:
                return NEED_MORE
        stop = <const uint8_t*>memchr(t.at, 0x3C, t.end - t.at) if t.at < t.end else NULL
        if stop == NULL or t.end - stop < 2:
            return cut(t, OF_TAG)
        if t.xml.depth and stop > t.at:
            if find_text(t.at, stop, b"]]>", 3) != NULL:
                return wrong(t, t.at, BAD_RESERVED)
            status = take_characters(t, &text, stop, CONTENT)
            if status != OK:
                return status
        if stop[1] != 0x21 and stop[1] != 0x3F:  # ! ?
            return take_element(t, &text)
        status = skip_markup(t, &text)
        if t.state == AT_BEGIN and status == OK:
            t.state = IN_PROLOG
    return status


cdef int take_xml(TextRows* t) noexcept nogil:
    """The next part of the document that can be read for itself: up to the end of a tag, or of a row."""
    cdef Xml* x = &t.xml
    cdef const uint8_t* begin = t.at
    cdef int64_t depth = x.depth
    cdef int status
    while True:
        status = take_piece(t)
        if status != OK or not x.in_row:
            break
    if (t.end if status == NEED_MORE else t.at) - begin > t.max_held:
        return fail(&t.fault, HELD_LIMIT, begin, t.max_held, 1)
    if status == NEED_MORE:
        x.in_row = False
        leave(x, depth)
    return status
