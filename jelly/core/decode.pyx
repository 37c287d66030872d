from cython cimport likely
from libc.string cimport memcmp, memset

from jelly.core cimport schema as pb
from jelly.core.batch cimport (
    CARRIED, INTERN_MAX, KIND_BNODE, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED, NO_TERM, UNSET, add_frame,
    add_metadata, add_namespace, add_quoted, add_row, add_term, copy_term, hash_bytes, same_bytes,
)
from jelly.core.fault cimport (
    BAD_LOGICAL, BAD_PHYSICAL, BAD_UTF8, BAD_VERSION, BOTH_KINDS, DATATYPE_ENTRY, DATATYPE_ID, DATATYPE_TABLE_LIMIT, DEPTH,
    FULL, GRAPH_NOT_OPEN, GRAPH_OPEN, GRAPH_UNSET, MALFORMED, NAME_ENTRY, NAME_TABLE_LIMIT, NAME_TABLE_SMALL,
    NAMESPACE_UNSET, NEED_TABLES, NO_MEMORY, NO_OPTIONS, NO_TERM_TO_REPEAT, OK, OPTIONS_CHANGED, PREFIX_ENTRY,
    PREFIX_TABLE_LIMIT, QUOTED_INCOMPLETE, ROW_FORBIDDEN, TERM_TWICE, TWO_ROWS, fail,
)
from jelly.core.frames cimport next_frame
from jelly.core.tables cimport Table, find_datatype, find_iri, set_entry
from jelly.core.utf8 cimport check_utf8
from jelly.core.wire cimport skip_field, take_span, take_varint


# ---- stream options

cdef int malformed(Decode* d, Reader* r) noexcept nogil:
    return fail(&d.fault, MALFORMED, r.at)


cdef int read_header(Decode* d, Reader* r, Header* h) noexcept nogil:
    cdef int64_t tag, value
    memset(h, 0, sizeof(Header))
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_STREAM_OPTIONS_STREAM_NAME_TAG:
            if take_span(r, &h.name) < 0:
                return malformed(d, r)
            if check_utf8(h.name.at, h.name.end - h.name.at) >= 0:
                return fail(&d.fault, BAD_UTF8, h.name.at)
            continue
        if tag < 0 or tag & 7 != 0 or tag >> 3 > pb.RDF_STREAM_OPTIONS_VERSION or OPTIONS_FIELDS >> (tag >> 3) & 1 == 0:
            if tag < 0 or skip_field(r, tag) < 0:
                return malformed(d, r)
            continue
        value = take_varint(r)
        if value < 0:
            return malformed(d, r)
        if tag == pb.RDF_STREAM_OPTIONS_PHYSICAL_TYPE_TAG:
            h.physical = value
        elif tag == pb.RDF_STREAM_OPTIONS_GENERALIZED_STATEMENTS_TAG:
            h.generalized = value != 0
        elif tag == pb.RDF_STREAM_OPTIONS_RDF_STAR_TAG:
            h.star = value != 0
        elif tag == pb.RDF_STREAM_OPTIONS_MAX_NAME_TABLE_SIZE_TAG:
            h.names = value
        elif tag == pb.RDF_STREAM_OPTIONS_MAX_PREFIX_TABLE_SIZE_TAG:
            h.prefixes = value
        elif tag == pb.RDF_STREAM_OPTIONS_MAX_DATATYPE_TABLE_SIZE_TAG:
            h.datatypes = value
        elif tag == pb.RDF_STREAM_OPTIONS_LOGICAL_TYPE_TAG:
            h.logical = value
        elif tag == pb.RDF_STREAM_OPTIONS_VERSION_TAG:
            h.version = value
    return OK


cdef int check_header(Decode* d, Header* h, const uint8_t* at) noexcept nogil:
    cdef int64_t base = h.logical % 10
    if h.version < 1 or h.version > MAX_VERSION:
        return fail(&d.fault, BAD_VERSION, at, h.version, MAX_VERSION)
    if h.physical < pb.PHYSICAL_STREAM_TYPE_TRIPLES or h.physical > pb.PHYSICAL_STREAM_TYPE_GRAPHS:
        return fail(&d.fault, BAD_PHYSICAL, at, h.physical)
    # Section "Consistency with physical stream types": triples go with flat triples and graphs, the rest with the rest.
    if base > 4 or (base == 0 and h.logical != 0):
        return fail(&d.fault, BAD_LOGICAL, at, h.logical, h.physical)
    if base != 0 and (base == 1 or base == 3) != (h.physical == pb.PHYSICAL_STREAM_TYPE_TRIPLES):
        return fail(&d.fault, BAD_LOGICAL, at, h.logical, h.physical)
    if h.names > d.max_names:
        return fail(&d.fault, NAME_TABLE_LIMIT, at, h.names, d.max_names)
    if h.prefixes > d.max_prefixes:
        return fail(&d.fault, PREFIX_TABLE_LIMIT, at, h.prefixes, d.max_prefixes)
    if h.datatypes > d.max_datatypes:
        return fail(&d.fault, DATATYPE_TABLE_LIMIT, at, h.datatypes, d.max_datatypes)
    if h.names < MIN_NAME_TABLE:
        return fail(&d.fault, NAME_TABLE_SMALL, at, h.names, MIN_NAME_TABLE)
    return OK


cdef bint same_header(Header* x, Header* y) noexcept nogil:
    cdef int64_t n = x.name.end - x.name.at
    return (
        x.physical == y.physical and x.generalized == y.generalized and x.star == y.star and x.names == y.names
        and x.prefixes == y.prefixes and x.datatypes == y.datatypes and x.logical == y.logical
        and x.version == y.version and n == y.name.end - y.name.at
        and (n == 0 or memcmp(x.name.at, y.name.at, n) == 0)
    )


cdef int read_options(Decode* d, Reader* r) noexcept nogil:
    """The options row. NEED_TABLES for the first one."""
    cdef const uint8_t* at = r.at
    cdef Header h
    cdef int status = read_header(d, r, &h)
    if status != OK:
        return status
    if d.has_header:
        return OK if same_header(&d.header, &h) else fail(&d.fault, OPTIONS_CHANGED, at)
    status = check_header(d, &h, at)
    if status != OK:
        return status
    d.header = h
    d.has_header = True
    return NEED_TABLES


# ---- lookup entries

cdef int read_entry(Decode* d, Reader* r, Table* table, int range_code) noexcept nogil:
    cdef int64_t tag
    cdef int64_t id = 0
    cdef const uint8_t* at = r.at
    cdef Reader value
    value.at = value.end = r.at
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_NAME_ENTRY_VALUE_TAG:
            if take_span(r, &value) < 0:
                return malformed(d, r)
        elif tag == pb.RDF_NAME_ENTRY_ID_TAG:
            id = take_varint(r)
            if id < 0:
                return malformed(d, r)
        elif tag < 0 or skip_field(r, tag) < 0:
            return malformed(d, r)
    if check_utf8(value.at, value.end - value.at) >= 0:
        return fail(&d.fault, BAD_UTF8, value.at)
    d.t.serial += 1
    return set_entry(table, id, value.at, value.end - value.at, d.t.serial, range_code, &d.fault, at)


# ---- terms

cdef inline int32_t checked(Decode* d, int32_t term, const uint8_t* at) noexcept nogil:
    """Note the fault where adding a term failed."""
    if term < 0:
        return fail(&d.fault, term, at, MAX_BATCH_TEXT)
    return term


cdef inline int32_t read_iri(Decode* d, Reader* r) noexcept nogil:
    cdef int64_t prefix = 0
    cdef int64_t name = 0
    cdef int64_t tag
    cdef const uint8_t* at = r.at
    cdef int32_t term
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_IRI_NAME_ID_TAG:
            name = take_varint(r)
            if name < 0:
                return malformed(d, r)
        elif tag == pb.RDF_IRI_PREFIX_ID_TAG:
            prefix = take_varint(r)
            if prefix < 0:
                return malformed(d, r)
        elif tag < 0 or skip_field(r, tag) < 0:
            return malformed(d, r)
    term = find_iri(&d.t, d.b, prefix, name, &d.fault, at)
    return term if term >= 0 else checked(d, term, at)


cdef int32_t find_language(Decode* d, Reader* tag) noexcept nogil:
    """The KIND_TEXT term of a language tag; the last few are remembered."""
    cdef int64_t n = tag.end - tag.at
    cdef uint32_t i = <uint32_t>n
    cdef int32_t term
    if n > 0:
        i = i * 31 + tag.at[0]
    if n > 1:
        i = i * 31 + tag.at[1]
    i = (i * 31 + (tag.end - 1)[0] if n else i) % LANGUAGES
    term = d.languages[i]
    if (
        term >= 0 and d.b.start[term + 1] - d.b.start[term] == n
        and same_bytes(d.b.text + d.b.start[term], tag.at, n)
    ):
        return term
    if check_utf8(tag.at, n) >= 0:
        return fail(&d.fault, BAD_UTF8, tag.at)
    term = checked(d, add_term(d.b, KIND_TEXT, NO_TERM, tag.at, n), tag.at)
    if term >= 0:
        d.languages[i] = term
    return term


cdef int32_t read_literal(Decode* d, Reader* r) noexcept nogil:
    cdef const uint8_t* begin = r.at
    cdef Reader lex, language
    cdef int64_t datatype = -1
    cdef bint has_language = False
    cdef int64_t tag
    cdef int32_t aux = NO_TERM
    cdef int kind = KIND_LITERAL
    lex.at = lex.end = r.at
    language = lex
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_LITERAL_LEX_TAG:
            if take_span(r, &lex) < 0:
                return malformed(d, r)
        elif tag == pb.RDF_LITERAL_LANGTAG_TAG:
            if take_span(r, &language) < 0:
                return malformed(d, r)
            has_language = True
        elif tag == pb.RDF_LITERAL_DATATYPE_TAG:
            datatype = take_varint(r)
            if datatype < 0:
                return malformed(d, r)
            if datatype == 0:
                return fail(&d.fault, DATATYPE_ID, begin, 0, d.t.datatypes.size)
        elif tag < 0 or skip_field(r, tag) < 0:
            return malformed(d, r)
    if check_utf8(lex.at, lex.end - lex.at) >= 0:
        return fail(&d.fault, BAD_UTF8, lex.at)
    if datatype > 0:
        if has_language:
            return fail(&d.fault, BOTH_KINDS, begin)
        aux = checked(d, find_datatype(&d.t, d.b, datatype, &d.fault, begin), begin)
        if aux < 0:
            return aux
        # A literal typed xsd:string is the plain literal (RDF 1.1 section 3.3).
        if not is_xsd_string(d.b, aux):
            kind = KIND_TYPED
        else:
            aux = NO_TERM
    elif has_language and language.end > language.at:
        aux = find_language(d, &language)
        if aux < 0:
            return aux
        kind = KIND_LANG
    return checked(d, add_term(d.b, kind, aux, lex.at, lex.end - lex.at), lex.at)


cdef inline bint is_xsd_string(Arena* b, int32_t iri) noexcept nogil:
    cdef int64_t n = b.start[iri + 1] - b.start[iri]
    return n == 39 and memcmp(b.text + b.start[iri], b"http://www.w3.org/2001/XMLSchema#string", 39) == 0


cdef int32_t read_bnode(Decode* d, Reader* r) noexcept nogil:
    """A blank node; they tend to come again soon, so the last few are remembered."""
    cdef int64_t n = r.end - r.at
    cdef uint32_t i = 0 if n > INTERN_MAX else <uint32_t>hash_bytes(r.at, n, 0) % BNODES
    cdef int32_t term = d.bnodes[i]
    if (
        term >= 0 and d.b.start[term + 1] - d.b.start[term] == n
        and same_bytes(d.b.text + d.b.start[term], r.at, n)
    ):
        return term
    if check_utf8(r.at, n) >= 0:
        return fail(&d.fault, BAD_UTF8, r.at)
    term = checked(d, add_term(d.b, KIND_BNODE, NO_TERM, r.at, n), r.at)
    if term >= 0:
        d.bnodes[i] = term
    return term


cdef int32_t read_term(Decode* d, int kind, Reader* r, int depth) noexcept nogil:
    """A term of one of the four kinds of an RdfTriple's oneof: 0 IRI, 1 blank node, 2 literal, 3 quoted triple."""
    if kind == 0:
        return read_iri(d, r)
    if kind == 2:
        return read_literal(d, r)
    if kind == 1:
        return read_bnode(d, r)
    return read_quoted(d, r, depth + 1)


cdef int take_terms(Decode* d, Reader* r, int arity, Reader* spans, int* kinds) noexcept nogil:
    """Collect the terms of an RdfTriple or RdfQuad by position: they count in order, however they are written."""
    cdef int64_t tag
    cdef int64_t field
    cdef int slot
    cdef const uint8_t* at = r.at
    for slot in range(4):
        kinds[slot] = -1
    while at < r.end:
        tag = at[0]
        field = tag >> 3
        if likely(tag & 0x87 == 2 and r.end - at > 1 and (at[1] < 0x80) and field - 1 < 4 * arity and field > 0):
            # Tag and length of one byte each, as nearly always.
            slot = <int>((field - 1) >> 2)
            if at[1] > r.end - at - 2:
                return malformed(d, r)
            spans[slot].at = at + 2
            at += 2 + at[1]
            spans[slot].end = at
        else:
            r.at = at
            tag = take_varint(r)
            field = tag >> 3
            if tag < 0 or tag & 7 != 2 or field == 0 or field > 4 * arity:
                if tag < 0 or skip_field(r, tag) < 0:
                    return malformed(d, r)
                at = r.at
                continue
            slot = <int>((field - 1) >> 2)
            if take_span(r, &spans[slot]) < 0:
                return malformed(d, r)
            at = r.at
        if kinds[slot] >= 0:
            return fail(&d.fault, TERM_TWICE, at, 0, slot)
        kinds[slot] = <int>((field - 1) & 3)
    r.at = at
    return OK


cdef int32_t read_quoted(Decode* d, Reader* r, int depth) noexcept nogil:
    cdef Reader spans[4]
    cdef int kinds[4]
    cdef int32_t terms[3]
    cdef int slot
    if depth > MAX_DEPTH:
        return fail(&d.fault, DEPTH, r.at, MAX_DEPTH)
    if take_terms(d, r, 3, spans, kinds) != OK:
        return d.fault.code
    for slot in range(3):
        if kinds[slot] < 0:
            return fail(&d.fault, QUOTED_INCOMPLETE, r.at, 0, slot)
        terms[slot] = read_term(d, kinds[slot], &spans[slot], depth)
        if terms[slot] < 0:
            return terms[slot]
    return checked(d, add_quoted(d.b, terms[0], terms[1], terms[2]), r.at)


cdef int32_t repeat_term(Decode* d, int slot, const uint8_t* at) noexcept nogil:
    """The term last seen in this position. The default graph is NO_TERM, so a fault must be looked up by its code."""
    cdef int32_t term = d.last[slot]
    if term == CARRIED:
        term = d.carried[slot]
        if term >= 0:
            # Were the copy to count, each statement that repeats a very long term would fill a Batch by itself.
            d.full_text -= d.b.n_text
            d.full_terms -= d.b.n_terms
            term = checked(d, copy_term(&d.carry, term, d.b), at)
            if term < 0:
                return term
            d.full_text += d.b.n_text
            d.full_terms += d.b.n_terms
        d.last[slot] = term
    elif term == UNSET:
        return fail(&d.fault, NO_TERM_TO_REPEAT, at, 0, slot)
    return term


# ---- rows

cdef int32_t read_graph(Decode* d, int kind, Reader* r) noexcept nogil:
    """A graph node: 0 IRI, 1 blank node, 2 default graph, 3 literal. NO_TERM is the default graph, not a fault."""
    if kind == 0:
        return read_iri(d, r)
    if kind == 1:
        return read_bnode(d, r)
    if kind == 3:
        return read_literal(d, r)
    return NO_TERM


cdef inline int read_statement(Decode* d, Reader* r, int arity) noexcept nogil:
    cdef Reader spans[4]
    cdef int kinds[4]
    cdef int slot
    cdef int32_t term
    cdef const uint8_t* at = r.at
    if take_terms(d, r, arity, spans, kinds) != OK:
        return d.fault.code
    for slot in range(3):
        if kinds[slot] >= 0:
            term = read_term(d, kinds[slot], &spans[slot], 0)
            if term < 0:
                return d.fault.code
            d.last[slot] = term
        elif d.last[slot] < 0:
            if repeat_term(d, slot, at) < 0:
                return d.fault.code
    if arity == 4:
        if kinds[3] >= 0:
            d.last[3] = read_graph(d, kinds[3], &spans[3])
        elif d.last[3] < NO_TERM:
            repeat_term(d, 3, at)
        if d.fault.code != OK:
            return d.fault.code
    elif d.arity == 4:
        # A triple of a GRAPHS stream, in the graph that is open.
        if not d.in_graph:
            return fail(&d.fault, GRAPH_NOT_OPEN, at)
        if d.last[3] < NO_TERM:
            repeat_term(d, 3, at)
            if d.fault.code != OK:
                return d.fault.code
    if add_row(d.b, d.last[0], d.last[1], d.last[2], d.last[3]) < 0:
        return fail(&d.fault, NO_MEMORY, at)
    return OK


cdef int read_graph_start(Decode* d, Reader* r) noexcept nogil:
    cdef const uint8_t* at = r.at
    cdef Reader span
    cdef int kind = -1
    cdef int64_t tag, field
    if d.in_graph:
        return fail(&d.fault, GRAPH_OPEN, at)
    while r.at < r.end:
        tag = take_varint(r)
        field = tag >> 3
        if tag < 0 or tag & 7 != 2 or field == 0 or field > 4:
            if tag < 0 or skip_field(r, tag) < 0:
                return malformed(d, r)
            continue
        if kind >= 0:
            return fail(&d.fault, TERM_TWICE, r.at, 0, 3)
        kind = <int>(field - 1)
        if take_span(r, &span) < 0:
            return malformed(d, r)
    if kind < 0:
        return fail(&d.fault, GRAPH_UNSET, at)
    d.last[3] = read_graph(d, kind, &span)
    d.in_graph = True
    return d.fault.code


cdef int read_namespace(Decode* d, Reader* r) noexcept nogil:
    cdef Reader name, value
    cdef bint has_value = False
    cdef int64_t tag
    cdef int32_t text, iri
    name.at = name.end = r.at
    value = name
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_NAMESPACE_DECLARATION_NAME_TAG:
            if take_span(r, &name) < 0:
                return malformed(d, r)
        elif tag == pb.RDF_NAMESPACE_DECLARATION_VALUE_TAG:
            if take_span(r, &value) < 0:
                return malformed(d, r)
            has_value = True
        elif tag < 0 or skip_field(r, tag) < 0:
            return malformed(d, r)
    if not has_value:
        return fail(&d.fault, NAMESPACE_UNSET, r.at)
    if check_utf8(name.at, name.end - name.at) >= 0:
        return fail(&d.fault, BAD_UTF8, name.at)
    iri = read_iri(d, &value)
    if iri < 0:
        return iri
    text = checked(d, add_term(d.b, KIND_TEXT, NO_TERM, name.at, name.end - name.at), name.at)
    if text < 0:
        return text
    if add_namespace(d.b, text, iri) < 0:
        return fail(&d.fault, NO_MEMORY, name.at)
    return OK


cdef int read_row(Decode* d, Reader* r) noexcept nogil:
    cdef int64_t tag
    cdef Reader body
    cdef bint seen = False
    cdef int status = OK
    while r.at < r.end:
        tag = take_varint(r)
        if tag < 0:
            return malformed(d, r)
        if tag & 7 != 2 or tag >> 3 > pb.RDF_STREAM_ROW_DATATYPE or KNOWN_ROWS >> (tag >> 3) & 1 == 0:
            if skip_field(r, tag) < 0:
                return malformed(d, r)
            continue
        if seen:
            return fail(&d.fault, TWO_ROWS, r.at)
        seen = True
        if take_span(r, &body) < 0:
            return malformed(d, r)
        if d.allowed >> (tag >> 3) & 1 == 0:
            if not d.has_header:
                return fail(&d.fault, NO_OPTIONS, body.at)
            return fail(&d.fault, ROW_FORBIDDEN, body.at, tag >> 3, d.header.physical)
        if tag == pb.RDF_STREAM_ROW_TRIPLE_TAG:
            status = read_statement(d, &body, 3)
        elif tag == pb.RDF_STREAM_ROW_QUAD_TAG:
            status = read_statement(d, &body, 4)
        elif tag == pb.RDF_STREAM_ROW_NAME_TAG:
            status = read_entry(d, &body, &d.t.names, NAME_ENTRY)
        elif tag == pb.RDF_STREAM_ROW_PREFIX_TAG:
            status = read_entry(d, &body, &d.t.prefixes, PREFIX_ENTRY)
        elif tag == pb.RDF_STREAM_ROW_DATATYPE_TAG:
            status = read_entry(d, &body, &d.t.datatypes, DATATYPE_ENTRY)
        elif tag == pb.RDF_STREAM_ROW_GRAPH_START_TAG:
            status = read_graph_start(d, &body)
        elif tag == pb.RDF_STREAM_ROW_GRAPH_END_TAG:
            if not d.in_graph:
                return fail(&d.fault, GRAPH_NOT_OPEN, body.at)
            d.in_graph = False
        elif tag == pb.RDF_STREAM_ROW_NAMESPACE_TAG:
            status = read_namespace(d, &body)
        else:
            status = read_options(d, &body)
        if status < 0:
            return status
    return status


# ---- frames

cdef int read_metadata(Decode* d, Reader* r) noexcept nogil:
    cdef Reader entry, key, value
    cdef int64_t tag
    if take_span(r, &entry) < 0:
        return malformed(d, r)
    key.at = key.end = entry.at
    value = key
    while entry.at < entry.end:
        tag = take_varint(&entry)
        if tag == pb.RDF_STREAM_FRAME_METADATA_KEY_TAG:
            if take_span(&entry, &key) < 0:
                return malformed(d, &entry)
        elif tag == pb.RDF_STREAM_FRAME_METADATA_VALUE_TAG:
            if take_span(&entry, &value) < 0:
                return malformed(d, &entry)
        elif tag < 0 or skip_field(&entry, tag) < 0:
            return malformed(d, &entry)
    if check_utf8(key.at, key.end - key.at) >= 0:
        return fail(&d.fault, BAD_UTF8, key.at)
    if key.end - key.at == 11 and memcmp(key.at, b"jelly.index", 11) == 0:
        return OK  # of the file, not of the frame: jelly/index.py reads it
    return checked(d, add_metadata(d.b, key.at, key.end - key.at, value.at, value.end - value.at), key.at)


cdef inline bint much_metadata(Arena* b) noexcept nogil:
    return b.n_meta >= 4 * META_ENTRIES or b.n_meta_text >= META_TEXT


cdef int read_rows(Decode* d) noexcept nogil:
    """The rows of the present frame. OK at its end, FULL or NEED_TABLES in the middle, negative on a fault."""
    cdef Reader* frame = &d.frame
    cdef Reader row
    cdef int64_t tag
    cdef int status
    while frame.at < frame.end:
        tag = take_varint(frame)
        if tag == pb.RDF_STREAM_FRAME_ROWS_TAG:
            if take_span(frame, &row) < 0:
                return malformed(d, frame)
            status = read_row(d, &row)
            if status < 0:
                return status
            d.row += 1
            if status != OK:
                return status
            if d.b.n_rows >= d.max_rows or d.b.n_text >= d.full_text or d.b.n_terms >= d.full_terms:
                return FULL
        elif tag == pb.RDF_STREAM_FRAME_METADATA_TAG:
            if read_metadata(d, frame) < 0:
                return d.fault.code
            if much_metadata(d.b):
                return FULL
        elif tag < 0 or skip_field(frame, tag) < 0:
            return malformed(d, frame)
    return OK


cdef int run(Decode* d) noexcept nogil:
    """Decode until the Batch is full, the input is used up (NEED_MORE), tables are needed, or a fault."""
    cdef int status
    while True:
        if not d.in_frame:
            status = next_frame(&d.feed, &d.frame, &d.frame_offset, &d.fault)
            if status != OK:
                return status
            d.in_frame = True
            d.frame_start = d.frame.at
            d.row = 0
        status = read_rows(d)
        if status != OK:
            return status
        if add_frame(d.b) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        d.in_frame = False
        d.n_frames += 1
        if d.b.n_frames >= d.max_rows or much_metadata(d.b):
            return FULL
