"""SPARQL Query Results XML Format, with the triple terms and base directions of 1.2.

The text is read tag by tag, in a row as a whole; what is not whole is read again when more is there. It must be
well-formed XML with namespaces, in UTF-8.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcmp, memset

from jelly._core.base.constants cimport MAX_DEPTH
from jelly._core.base.fault cimport DEPTH, HELD_LIMIT, NEED_MORE, NEED_TABLES, NO_MEMORY, OK, XML_DEPTH, fail
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, KIND_LITERAL, KIND_TRIPLE
from jelly._core.base.protobuf cimport Reader, Writer, put_bytes, reserve
from jelly._core.results.rows cimport (
    BAD_RESERVED, BOTH_SETS, Element, LATE_VARIABLE, MAX_PATH, MAX_SPACES, MISMATCHED, NO_ANSWER, NO_BINDING, NO_PART,
    NO_RESULTS, NO_SPARQL, NO_TRUTH, OF_END, OF_TAG, Space, UNDECLARED, Value, Xml, add_name, add_text, add_value, begin_row,
    cut, end_row, expected, find_column, is_text, put_cell, refuse,
)
from jelly._core.results.xml_tags cimport (
    AFTER_ROOT, AT_BEGIN, Attribute, CONTENT, IN_PROLOG, IN_ROOT, Tag, find_text, skip_markup, skip_space, take_characters,
    take_tag, wrong,
)

cdef enum:
    # What an element is.
    OTHER = 0
    SPARQL = 1
    VARIABLE = 2
    LINK = 3
    RESULTS = 4
    RESULT = 5
    BINDING = 6
    URI = 7
    BNODE = 8
    LITERAL = 9
    TRIPLE = 10
    SUBJECT = 11
    PREDICATE = 12
    OBJECT = 13
    BOOLEAN = 14

cdef enum:
    # Namespaces.
    NO_SPACE = 0
    OTHER_SPACE = 1
    SPARQL_SPACE = 2
    ITS_SPACE = 3
    XML_SPACE = 4


# ---- namespaces and elements

cdef int keep_text(TextRows* t, const Reader* text, int64_t* at) noexcept nogil:
    """Note a name of an element that is open."""
    cdef Writer* path = &t.xml.path
    if reserve(path, text.end - text.at) < 0:
        return fail(&t.fault, NO_MEMORY, t.at)
    at[0] = path.n
    put_bytes(path, text.at, text.end - text.at)
    return OK


cdef int space_of(const Reader* iri) noexcept nogil:
    if is_text(iri, b"http://www.w3.org/2005/sparql-results#", 38):
        return SPARQL_SPACE
    if is_text(iri, b"http://www.w3.org/2005/11/its", 29):
        return ITS_SPACE
    if is_text(iri, b"http://www.w3.org/XML/1998/namespace", 36):
        return XML_SPACE
    return OTHER_SPACE if iri.at < iri.end else NO_SPACE


cdef int declare(TextRows* t, Tag* tag) noexcept nogil:
    """The namespaces that a tag declares."""
    cdef Xml* x = &t.xml
    cdef Attribute* a
    cdef Reader prefix
    cdef Space* space
    cdef int i
    for i in range(tag.n):
        a = &tag.attributes[i]
        prefix = a.name
        if a.prefix.at == NULL:
            if not is_text(&a.name, b"xmlns", 5):
                continue
            prefix.end = prefix.at
        elif not is_text(&a.prefix, b"xmlns", 5):
            continue
        if x.n_spaces >= MAX_SPACES:
            return fail(&t.fault, XML_DEPTH, tag.begin, MAX_SPACES, 2)
        space = &x.spaces[x.n_spaces]
        space.n = prefix.end - prefix.at
        space.which = space_of(&a.value)
        if is_text(&prefix, b"xmlns", 5) or is_text(&prefix, b"xml", 3) != (space.which == XML_SPACE) or (
            space.n and space.which == NO_SPACE
        ) or is_text(&a.value, b"http://www.w3.org/2000/xmlns/", 29):
            return wrong(t, a.name.at, BAD_RESERVED)
        if keep_text(t, &prefix, &space.at) < 0:
            return t.fault.code
        x.n_spaces += 1
    return OK


cdef int find_space(TextRows* t, const Reader* prefix) noexcept nogil:
    """The namespace of a prefix, or a fault."""
    cdef Xml* x = &t.xml
    cdef int64_t i = x.n_spaces
    cdef int64_t n = prefix.end - prefix.at
    if n == 3 and memcmp(prefix.at, b"xml", 3) == 0:
        return XML_SPACE
    while i > 0:
        i -= 1
        if x.spaces[i].n == n and (n == 0 or memcmp(x.path.buf + x.spaces[i].at, prefix.at, n) == 0):
            return x.spaces[i].which
    return NO_SPACE if n == 0 else wrong(t, prefix.at, UNDECLARED)


cdef int what_is(const Reader* name) noexcept nogil:
    """What an element of the namespace of results is."""
    if is_text(name, b"binding", 7):
        return BINDING
    if is_text(name, b"uri", 3):
        return URI
    if is_text(name, b"literal", 7):
        return LITERAL
    if is_text(name, b"bnode", 5):
        return BNODE
    if is_text(name, b"result", 6):
        return RESULT
    if is_text(name, b"results", 7):
        return RESULTS
    if is_text(name, b"variable", 8):
        return VARIABLE
    if is_text(name, b"triple", 6):
        return TRIPLE
    if is_text(name, b"subject", 7):
        return SUBJECT
    if is_text(name, b"predicate", 9):
        return PREDICATE
    if is_text(name, b"object", 6):
        return OBJECT
    if is_text(name, b"link", 4):
        return LINK
    if is_text(name, b"boolean", 7):
        return BOOLEAN
    return SPARQL if is_text(name, b"sparql", 6) else OTHER


cdef Reader attribute_of(Tag* tag, const char* name, int64_t n) noexcept nogil:
    """The value of an attribute without a prefix; `at` is NULL if there is none."""
    cdef Reader none
    cdef int i
    for i in range(tag.n):
        if tag.attributes[i].prefix.at == NULL and is_text(&tag.attributes[i].name, name, n):
            return tag.attributes[i].value
    none.at = none.end = NULL
    return none


cdef int begin_literal(TextRows* t, Tag* tag) noexcept nogil:
    """What a tag says of its literal."""
    cdef Value* v = &t.xml.value
    cdef Attribute* a
    cdef int i, space
    v.datatype = attribute_of(tag, b"datatype", 8)
    v.tag.at = v.tag.end = v.direction.at = v.direction.end = NULL
    for i in range(tag.n):
        a = &tag.attributes[i]
        if a.prefix.at != NULL and not is_text(&a.prefix, b"xmlns", 5):
            space = find_space(t, &a.prefix)
            if space < 0:
                return space
            if space == XML_SPACE and is_text(&a.name, b"lang", 4):
                v.tag = a.value
            elif space == ITS_SPACE and is_text(&a.name, b"dir", 3):
                v.direction = a.value
    return OK


cdef int begin_element(TextRows* t, Tag* tag, int what) noexcept nogil:
    """What the beginning of an element means."""
    cdef Xml* x = &t.xml
    cdef Reader name
    if what == VARIABLE or what == BINDING:
        name = attribute_of(tag, b"name", 4)
        if what == BINDING:
            x.column = find_column(t, &name) if x.in_row else -1
            x.term = -1
            return OK
        return refuse(t, tag.begin, LATE_VARIABLE) if t.begun or t.answer != NO_ANSWER else add_name(t, &name)
    if what == LINK:
        name = attribute_of(tag, b"href", 4)
        return add_text(t, &t.links, &name)
    if what == RESULTS:
        if t.begun or t.answer != NO_ANSWER:
            return refuse(t, tag.begin, BOTH_SETS)
        t.begun = True
        return NEED_TABLES
    if what == RESULT:
        if not t.begun:
            return refuse(t, tag.begin, NO_RESULTS)
        x.in_row = True
        x.n_triples = 0
        x.column = -1
        return begin_row(t)
    if what == TRIPLE:
        if x.n_triples >= MAX_DEPTH:
            return fail(&t.fault, DEPTH, tag.begin, MAX_DEPTH)
        memset(&x.triples[3 * x.n_triples], 0xFF, 3 * sizeof(int32_t))
        x.n_triples += 1
    return OK


cdef int make_term(TextRows* t, int kind, Reader* text) noexcept nogil:
    cdef Xml* x = &t.xml
    x.value.kind = kind
    x.value.text = text[0]
    x.term = add_value(t, &x.value)
    return OK if x.term >= 0 else x.term


cdef int end_triple(TextRows* t) noexcept nogil:
    cdef Xml* x = &t.xml
    cdef int i
    x.n_triples -= 1
    for i in range(3):
        x.value.triple[i] = x.triples[3 * x.n_triples + i]
        if x.value.triple[i] < 0:
            return refuse(t, t.at, NO_PART)
    return make_term(t, KIND_TRIPLE, &x.value.text)


cdef int take_answer(TextRows* t, Reader text) noexcept nogil:
    """The answer of an ASK query, with spaces around it."""
    while text.at < text.end and text.at[0] <= 0x20:
        text.at += 1
    while text.at < text.end and (text.end - 1)[0] <= 0x20:
        text.end -= 1
    t.answer = is_text(&text, b"true", 4)
    return OK if t.answer or is_text(&text, b"false", 5) else refuse(t, t.at, NO_TRUTH)


cdef int end_element(TextRows* t, int what, Reader* text) noexcept nogil:
    """What the end of an element means."""
    cdef Xml* x = &t.xml
    if what == BOOLEAN:
        return refuse(t, t.at, NO_TRUTH) if t.begun or t.answer != NO_ANSWER else take_answer(t, text[0])
    if not x.in_row:
        return OK
    if what == URI or what == BNODE or what == LITERAL:
        return make_term(t, KIND_IRI if what == URI else KIND_BNODE if what == BNODE else KIND_LITERAL, text)
    if SUBJECT <= what <= OBJECT and x.n_triples:
        x.triples[3 * (x.n_triples - 1) + what - SUBJECT] = x.term
        x.term = -1
    elif what == TRIPLE and x.n_triples:
        return end_triple(t)
    elif what == BINDING:
        if x.term < 0 or x.column < 0:
            return refuse(t, t.at, NO_BINDING)
        put_cell(t, x.column, x.term)
    elif what == RESULT:
        x.in_row = False
        return end_row(t)
    return OK


cdef int open_element(TextRows* t, Tag* tag) noexcept nogil:
    cdef Xml* x = &t.xml
    cdef Element* e = &x.open[x.depth]
    cdef int i, space
    if x.depth >= MAX_PATH - 1:
        return fail(&t.fault, XML_DEPTH, tag.begin, MAX_PATH - 1)
    if t.state == AFTER_ROOT:
        t.at = tag.begin
        return expected(t, OF_END)
    e.spaces = x.n_spaces
    e.n = tag.whole.end - tag.whole.at
    if keep_text(t, &tag.whole, &e.at) < 0 or declare(t, tag) < 0:
        return t.fault.code
    space = find_space(t, &tag.prefix)
    if space < 0:
        return space
    for i in range(tag.n):
        if tag.attributes[i].prefix.at != NULL and not is_text(&tag.attributes[i].prefix, b"xmlns", 5):
            if find_space(t, &tag.attributes[i].prefix) < 0:
                return t.fault.code
    e.what = what_is(&tag.name) if space == SPARQL_SPACE or space == NO_SPACE else OTHER
    if x.depth == 0 and e.what != SPARQL:
        return refuse(t, tag.begin, NO_SPARQL)
    t.state = IN_ROOT
    x.depth += 1
    if e.what == LITERAL and begin_literal(t, tag) < 0:
        return t.fault.code
    return begin_element(t, tag, e.what)


cdef int close_element(TextRows* t, Reader* text) noexcept nogil:
    cdef Xml* x = &t.xml
    cdef Element* e
    x.depth -= 1
    e = &x.open[x.depth]
    x.path.n = e.at
    x.n_spaces = e.spaces
    if x.depth == 0:
        t.state = AFTER_ROOT
        if not t.begun and t.answer == NO_ANSWER:
            return refuse(t, t.at, NO_RESULTS)
    return end_element(t, e.what, text)


cdef int take_element(TextRows* t, Tag* tag, Reader* text) noexcept nogil:
    """A tag, and the text before it."""
    cdef Xml* x = &t.xml
    cdef Element* e
    cdef int status = take_tag(t, tag)
    cdef int next_status
    if status != OK:
        return status
    if t.at - x.begin > t.max_held:
        return fail(&t.fault, HELD_LIMIT, tag.begin, t.max_held, 1)
    if not tag.ends:
        status = open_element(t, tag)
        if tag.empty and status >= 0:
            text.at = text.end = t.at
            next_status = close_element(t, text)
            return next_status if next_status != OK else status
        return status
    if x.depth > 0:
        e = &x.open[x.depth - 1]
        if e.n == tag.whole.end - tag.whole.at and memcmp(x.path.buf + e.at, tag.whole.at, e.n) == 0:
            return close_element(t, text)
    return wrong(t, tag.begin, MISMATCHED)


cdef int take_piece(TextRows* t, Tag* tag) noexcept nogil:
    """All up to the end of the next tag."""
    cdef Reader text
    cdef const uint8_t* stop
    cdef const uint8_t* begin
    cdef int status = OK
    if t.state == AT_BEGIN:
        if t.end - t.at < 3 and not t.final:
            return NEED_MORE
        if t.end - t.at >= 3 and memcmp(t.at, b"\xef\xbb\xbf", 3) == 0:
            t.at += 3
    text.at = text.end = t.at
    while status == OK:
        begin = t.at
        stop = <const uint8_t*>memchr(t.at, 0x3C, t.end - t.at) if t.at < t.end else NULL
        if t.xml.depth == 0:
            if skip_space(t) and t.state == AT_BEGIN:
                t.state = IN_PROLOG
            if t.at < t.end and t.at != stop:
                return expected(t, OF_END if t.state == AFTER_ROOT else OF_TAG)
            if stop == NULL and t.state == AFTER_ROOT:
                return NEED_MORE
        if stop == NULL or t.end - stop < 2:
            return cut(t, OF_TAG)
        if t.xml.depth:
            if find_text(begin, stop, b"]]>", 3) != NULL:
                return wrong(t, begin, BAD_RESERVED)
            status = take_characters(t, &text, stop, CONTENT)
            if status != OK:
                return status
        if stop[1] != 0x21 and stop[1] != 0x3F:  # ! ?
            return take_element(t, tag, &text)
        status = skip_markup(t, &text)
        if t.state == AT_BEGIN and status == OK:
            t.state = IN_PROLOG
    return status


cdef int read_xml(TextRows* t) noexcept nogil:
    """Read on: OK never; NEED_MORE, NEED_TABLES, FULL or a fault."""
    cdef Tag tag
    cdef Xml* x = &t.xml
    cdef int64_t depth = 0
    cdef int64_t spaces = 0
    cdef int64_t path = 0
    cdef int state = 0
    cdef int status = OK
    while status == OK:
        if not x.in_row:
            x.begin = t.at
            depth = x.depth
            spaces = x.n_spaces
            path = x.path.n
            state = t.state
            t.scratch.n = 0
        status = take_piece(t, &tag)
    if status == NEED_MORE:
        if t.end - x.begin > t.max_held:
            return fail(&t.fault, HELD_LIMIT, x.begin, t.max_held, 1)
        t.at = x.begin
        x.in_row = False
        x.depth = depth
        x.n_spaces = spaces
        x.path.n = path
        t.state = state
    return status
