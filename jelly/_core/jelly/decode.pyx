"""Jelly frames to Batches: rows, lookup entries and statements, without the GIL."""

from cython cimport likely
from libc.stdint cimport uint32_t

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport (
    CARRIED, INTERN_MAX, UNSET, add_frame, add_namespace, add_quoted, add_row, add_term, hash_bytes, same_bytes,
    split_tag,
)
from jelly._core.base.constants cimport MAX_DEPTH, RDF_11
from jelly._core.base.fault cimport (
    BAD_UTF8, COLUMNS_IN_ROWS, DEPTH, DIRECTION_ALONE, DIRECTION_NUMBER, DIRECTION_VERSION, EMPTY_LANGUAGE, FULL,
    GRAPH_IN_TRIPLES, GRAPH_NOT_OPEN, GRAPH_OPEN, GRAPH_UNSET, HEADER_UNSET, MALFORMED, NAMESPACE_UNSET, NO_MEMORY,
    NO_OPTIONS, OK, PATCH_ROW_FORBIDDEN, QUOTED_INCOMPLETE, ROW_FORBIDDEN, ROW_UNKNOWN,
)
from jelly._core.base.kinds cimport KIND_BNODE, KIND_LANG, KIND_LITERAL, KIND_TEXT, KIND_TYPED
from jelly._core.rules.patch_operations cimport (
    OP_ADD, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, step_transaction,
)
from jelly._core.base.protobuf cimport skip_field, skip_fields, take_span, take_varint
from jelly._core.base.utf8 cimport check_utf8, need_utf8
from jelly._core.jelly.column_schema cimport FRAME_COLUMNS, LITERAL_DIRECTION
from jelly._core.jelly.counts cimport note_frame, note_row
from jelly._core.jelly.decode_state cimport BNODES, GENERALIZED, GRAPH_ASSUMED, GRAPH_IGNORED, LANGUAGES, STAR
from jelly._core.jelly.frame_reader cimport FRAME_METADATA, FRAME_ROW, next_frame, take_field, take_part
from jelly._core.jelly.lookup cimport find_iri, set_entry
from jelly._core.jelly.stream_options cimport look_at_entry
from jelly._core.jelly.unusual cimport (
    check_announced, gathered, merge_terms, much_metadata, read_metadata, read_options, repeat_term, simplified,
    take_key,
)

cdef int malformed(DecoderState* d, Reader* r) noexcept nogil:
    return fail(&d.fault, MALFORMED, r.at)


# ---- lookup entries

cdef int read_entry(DecoderState* d, Reader* r, int which) noexcept nogil:
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
            if id < 0 and simplified(d, at, r) != OK:
                return d.fault.code
        elif skip_field(r, tag) < 0 and simplified(d, at, r) != OK:
            return d.fault.code
    if d.restart.looking:
        look_at_entry(&d.restart, id, d.t.tables[which].made == 0)
    # Ids are uint32: what is above is cut off, here and below, as in every implementation of Protocol Buffers.
    return set_entry(&d.t, which, <uint32_t>id, &value, &d.fault, at)


# ---- terms

cdef inline int32_t read_iri(DecoderState* d, Reader* r) noexcept nogil:
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
                break
        elif tag == pb.RDF_IRI_PREFIX_ID_TAG:
            prefix = take_varint(r)
            if prefix < 0:
                break
        elif skip_field(r, tag) < 0:
            break
    else:
        term = find_iri(&d.t, d.b, <uint32_t>prefix, <uint32_t>name, &d.fault, at)
        return term if term >= 0 else checked(d, term, at)
    return read_iri(d, r) if simplified(d, at, r) == OK else d.fault.code


cdef int32_t find_tag(DecoderState* d, const uint8_t* at, int64_t n, int kind) noexcept nogil:
    """The term of a language tag of at least one byte; the last few are remembered."""
    cdef uint32_t i = <uint32_t>(8 * n + kind) * 31 + at[0]
    cdef int32_t term
    if n > 1:
        i = i * 31 + at[1]
    i = (i * 31 + at[n - 1]) % LANGUAGES
    term = d.languages[i]
    if (
        term >= 0 and len_of(d.b, term) == n and d.b.kind[term] == kind
        and same_bytes(text_of(d.b, term), at, n)
    ):
        return term
    if check_utf8(at, n) >= 0:
        return fail(&d.fault, BAD_UTF8, at)
    term = checked(d, add_term(d.b, kind, NO_TERM, at, n), at)
    if term >= 0:
        d.languages[i] = term
    return term


cdef int32_t find_language(DecoderState* d, Reader* tag, int64_t direction, const uint8_t* at) noexcept nogil:
    """The term of a language tag. Its base direction is a number in columns, and part of the tag in rows."""
    cdef int64_t n = tag.end - tag.at
    cdef int kind = KIND_TEXT + <int>direction
    if direction > 2:
        return fail(&d.fault, DIRECTION_NUMBER, at, direction)
    if direction > 0 and d.header.rdf == RDF_11:
        return fail(&d.fault, DIRECTION_VERSION, at)
    if n == 0:
        return fail(&d.fault, EMPTY_LANGUAGE, at)
    if direction == 0:
        # Not in the call below: C does not say which of its arguments is first.
        kind = split_tag(tag.at, &n)
    return find_tag(d, tag.at, n, kind)


cdef int32_t read_literal(DecoderState* d, Reader* r) noexcept nogil:
    cdef const uint8_t* begin = r.at
    cdef Reader lex, language
    cdef int64_t datatype = -1
    cdef int64_t direction = 0
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
            datatype = -1
        elif tag == pb.RDF_LITERAL_DATATYPE_TAG:
            datatype = take_varint(r)
            if datatype < 0 and simplified(d, begin, r) != OK:
                return d.fault.code
            datatype = <uint32_t>datatype
            has_language = False
        elif tag == LITERAL_DIRECTION and d.columnar:
            direction = take_varint(r)
            if direction < 0 and simplified(d, begin, r) != OK:
                return d.fault.code
            direction = <uint32_t>direction
        elif skip_field(r, tag) < 0 and simplified(d, begin, r) != OK:
            return d.fault.code
    if need_utf8(&lex, &d.fault) != OK:
        return d.fault.code
    if has_language:
        kind = KIND_LANG
        aux = find_language(d, &language, direction, begin)
        if aux < 0:
            return aux
    elif direction != 0:
        return fail(&d.fault, DIRECTION_ALONE, begin)
    elif datatype >= 0:
        aux = find_type(d, datatype, begin)
        if aux >= 0:
            kind = KIND_TYPED
        elif d.fault.code != OK:
            return d.fault.code
    return checked(d, add_term(d.b, kind, aux, lex.at, lex.end - lex.at), lex.at)


cdef int32_t read_bnode(DecoderState* d, Reader* r) noexcept nogil:
    """A blank node; they tend to come again soon, so the last few are remembered."""
    cdef int64_t n = r.end - r.at
    cdef uint32_t i = 0 if n > INTERN_MAX else <uint32_t>hash_bytes(r.at, n, 0) % BNODES
    cdef int32_t term = d.bnodes[i]
    if term >= 0 and len_of(d.b, term) == n and same_bytes(text_of(d.b, term), r.at, n):
        return term
    if need_utf8(r, &d.fault) != OK:
        return d.fault.code
    term = checked(d, add_term(d.b, KIND_BNODE, NO_TERM, r.at, n), r.at)
    if term >= 0:
        d.bnodes[i] = term
    return term


cdef int32_t read_other(DecoderState* d, int kind, Reader* r, int slot, int depth) noexcept nogil:
    """A term that is no IRI, which the options may have to announce."""
    if kind == 2:
        if slot != 2 and check_announced(d, GENERALIZED, r.at) != OK:
            return d.fault.code
        return read_literal(d, r)
    if slot == 1 and check_announced(d, GENERALIZED, r.at) != OK:
        return d.fault.code
    if kind == 1:
        return read_bnode(d, r)
    if check_announced(d, STAR, r.at) != OK:
        return d.fault.code
    return read_quoted(d, r, depth + 1)


cdef int32_t jelly_read_term(DecoderState* d, int kind, Reader* r, int slot, int depth) noexcept nogil:
    """A term of one of the four kinds of an RdfTriple's oneof: 0 IRI, 1 blank node, 2 literal, 3 quoted triple."""
    if kind == 0:
        return read_iri(d, r)
    if kind == 2 and slot == 2:
        return read_literal(d, r)
    if kind == 1 and slot != 1:
        return read_bnode(d, r)
    return read_other(d, kind, r, slot, depth)


cdef int take_terms(DecoderState* d, Reader* r, int arity, Reader* spans, int* kinds) noexcept nogil:
    """Collect the terms of an RdfTriple or RdfQuad by position: they count in order, however they are written."""
    cdef Reader whole = r[0]
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
            if tag & 7 != 2 or field == 0 or field > 4 * arity:
                if skip_field(r, tag) < 0:
                    r.at = at
                    return merge_terms(d, whole, arity, spans, kinds)
                at = r.at
                continue
            slot = <int>((field - 1) >> 2)
            if take_span(r, &spans[slot]) < 0:
                return malformed(d, r)
            at = r.at
        if kinds[slot] >= 0:
            return merge_terms(d, whole, arity, spans, kinds)
        kinds[slot] = <int>((field - 1) & 3)
    r.at = at
    return OK


cdef int32_t read_quoted(DecoderState* d, Reader* r, int depth) noexcept nogil:
    cdef Reader spans[4]
    cdef int kinds[4]
    cdef int32_t terms[3]
    cdef int slot
    if depth > MAX_DEPTH:
        return fail(&d.fault, DEPTH, r.at, MAX_DEPTH)
    if (merge_terms(d, r[0], 3, spans, kinds) if d.columnar else take_terms(d, r, 3, spans, kinds)) != OK:
        return d.fault.code
    for slot in range(3):
        if kinds[slot] < 0:
            return fail(&d.fault, QUOTED_INCOMPLETE, r.end, 0, slot)
        terms[slot] = jelly_read_term(d, kinds[slot], &spans[slot], slot, depth)
        if terms[slot] < 0:
            return terms[slot]
    return checked(d, add_quoted(d.b, terms[0], terms[1], terms[2]), r.at)


# ---- rows

cdef int32_t read_literal_graph(DecoderState* d, Reader* r) noexcept nogil:
    return d.fault.code if check_announced(d, GENERALIZED, r.at) != OK else read_literal(d, r)


cdef int32_t read_graph(DecoderState* d, int kind, Reader* r) noexcept nogil:
    """A graph node: 0 IRI, 1 blank node, 2 default graph, 3 literal. NO_TERM is the default graph, not a fault."""
    if kind == 0:
        return read_iri(d, r)
    if kind == 1:
        return read_bnode(d, r)
    if kind == 3:
        return read_literal_graph(d, r)
    if skip_fields(r) < 0:
        malformed(d, r)
    return NO_TERM


cdef inline int read_statement(DecoderState* d, Reader* r, int arity, int op) noexcept nogil:
    """A triple or quad. The statements of a patch (`op`) are all quads, those of triples without a graph."""
    cdef Reader spans[4]
    cdef int kinds[4]
    cdef int slot
    cdef int32_t term
    cdef const uint8_t* at = r.at
    d.restart.looking = False
    if take_terms(d, r, arity, spans, kinds) != OK:
        return d.fault.code
    for slot in range(3):
        if kinds[slot] >= 0:
            term = jelly_read_term(d, kinds[slot], &spans[slot], slot, 0)
            if term < 0:
                return d.fault.code
            d.last[slot] = term
        elif d.last[slot] < 0:
            if repeat_term(d, slot, at) < 0:
                return d.fault.code
    if op != 0 and d.arity == 3:
        # Section "RDF statements" of Jelly-Patch: a consumer should ignore the graph and may throw an error.
        if kinds[3] >= 0:
            if d.strict:
                return fail(&d.fault, GRAPH_IN_TRIPLES, spans[3].at)
            d.unannounced |= GRAPH_IGNORED
    elif arity == 4:
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
    if add_row(d.b, d.last, op) < 0:
        return fail(&d.fault, NO_MEMORY, at)
    if op != 0:
        d.in_patch = True
    return OK


cdef int read_graph_start(DecoderState* d, Reader* r) noexcept nogil:
    cdef const uint8_t* at = r.at
    cdef Reader span
    cdef int field
    if d.in_graph:
        return fail(&d.fault, GRAPH_OPEN, at)
    field = gathered(d, r[0], 0b1111 << pb.RDF_GRAPH_START_G_IRI, 1 << pb.RDF_GRAPH_START_G_BNODE, &span)
    if field < 0:
        return field
    if field == 0:
        return fail(&d.fault, GRAPH_UNSET, r.end)
    d.last[3] = read_graph(d, field - pb.RDF_GRAPH_START_G_IRI, &span)
    d.in_graph = True
    return d.fault.code


cdef int add_operation(DecoderState* d, int op, int32_t s, int32_t p, int32_t o, int32_t g) noexcept nogil:
    cdef int32_t[4] ids = [s, p, o, g]
    if add_row(d.b, ids, op) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    d.in_patch = op != OP_PUNCTUATION
    d.n_patches += op == OP_PUNCTUATION
    return OK


cdef int32_t add_text(DecoderState* d, Reader* text) noexcept nogil:
    if need_utf8(text, &d.fault) != OK:
        return d.fault.code
    return checked(d, add_term(d.b, KIND_TEXT, NO_TERM, text.at, text.end - text.at), text.at)


cdef int read_namespace(DecoderState* d, Reader* r, int op) noexcept nogil:
    """A namespace declaration, or with `op` one of a patch, which may have a graph and need not have an IRI."""
    cdef const uint8_t* at = r.at
    cdef Reader name, value, graph
    cdef int has_value
    cdef int field = 0
    cdef int32_t text, graph_term, iri = NO_TERM
    if take_key(d, r[0], &name) != OK:
        return d.fault.code
    has_value = gathered(d, r[0], 1 << pb.RDF_NAMESPACE_DECLARATION_VALUE, 0, &value)
    if has_value >= 0 and op != 0:
        field = gathered(d, r[0], 0b1111 << pb.RDF_PATCH_NAMESPACE_G_IRI, 1 << pb.RDF_PATCH_NAMESPACE_G_BNODE, &graph)
    if d.fault.code != OK:
        return d.fault.code
    if field > 0 and d.arity == 3:
        if d.strict:
            return fail(&d.fault, GRAPH_IN_TRIPLES, graph.at)
        d.unannounced |= GRAPH_IGNORED
    if not has_value and op != OP_NAMESPACE_DELETE:
        return fail(&d.fault, NAMESPACE_UNSET, r.end)
    # The ids of the IRI count before those of the graph.
    if has_value:
        iri = read_iri(d, &value)
    if d.fault.code != OK:
        return d.fault.code
    text = add_text(d, &name)
    if text < 0:
        return text
    if op == 0:
        if add_namespace(d.b, text, iri) < 0:
            return fail(&d.fault, NO_MEMORY, name.at)
        return OK
    if d.arity == 4:
        if field > 0:
            d.last[3] = read_graph(d, field - pb.RDF_PATCH_NAMESPACE_G_IRI, &graph)
        elif d.last[3] == CARRIED or ((d.strict or d.at_keyframe) and d.last[3] == UNSET):
            repeat_term(d, 3, at)
        if d.fault.code != OK:
            return d.fault.code
    # Where no row before had a graph, Jelly-JVM means none: so it writes namespaces that Jena does not keep by graph.
    # Section "Namespaces" of Jelly-Patch does not allow that, nor does `strict`.
    if d.arity == 4 and d.last[3] == UNSET:
        d.unannounced |= GRAPH_ASSUMED
    graph_term = NO_TERM if d.arity == 3 or d.last[3] == UNSET else d.last[3]
    return add_operation(d, op, text, iri, NO_TERM, graph_term)


cdef int read_patch_header(DecoderState* d, Reader* r) noexcept nogil:
    cdef Reader key, value
    cdef int field
    cdef int32_t text, term
    if take_key(d, r[0], &key) != OK:
        return d.fault.code
    field = gathered(d, r[0], 0b1111 << pb.RDF_PATCH_HEADER_H_IRI, 1 << pb.RDF_PATCH_HEADER_H_BNODE, &value)
    if field < 0:
        return field
    if field == 0:
        return fail(&d.fault, HEADER_UNSET, r.end)
    text = add_text(d, &key)
    if text < 0:
        return text
    term = jelly_read_term(d, field - pb.RDF_PATCH_HEADER_H_IRI, &value, 2, 0)
    if term < 0:
        return d.fault.code
    return add_operation(d, OP_HEADER, text, NO_TERM, term, NO_TERM)


cdef int read_mark(DecoderState* d, const uint8_t* at, int op) noexcept nogil:
    """A row of a patch that has no terms."""
    cdef int status = step_transaction(&d.transaction, op)
    if status != OK:
        return fail(&d.fault, status, at)
    return add_operation(d, op, NO_TERM, NO_TERM, NO_TERM, NO_TERM)


cdef inline int read_patch_row(DecoderState* d, Reader* body, int field) noexcept nogil:
    if field == pb.RDF_PATCH_ROW_OPTIONS:
        return read_options(d, body)
    if field == OP_ADD or field == OP_DELETE:
        return read_statement(d, body, 4, field)
    if field == OP_NAMESPACE_ADD or field == OP_NAMESPACE_DELETE:
        return read_namespace(d, body, field)
    if field == OP_HEADER:
        return read_patch_header(d, body)
    if skip_fields(body) < 0:
        return malformed(d, body)
    return read_mark(d, body.at, field)


cdef inline int read_rdf_row(DecoderState* d, Reader* body, int field) noexcept nogil:
    if field == pb.RDF_STREAM_ROW_TRIPLE:
        return read_statement(d, body, 3, 0)
    if field == pb.RDF_STREAM_ROW_QUAD:
        return read_statement(d, body, 4, 0)
    if field == pb.RDF_STREAM_ROW_GRAPH_START:
        return read_graph_start(d, body)
    if field == pb.RDF_STREAM_ROW_GRAPH_END:
        if not d.in_graph:
            return fail(&d.fault, GRAPH_NOT_OPEN, body.at)
        d.in_graph = False
        return OK if skip_fields(body) == 0 else malformed(d, body)
    if field == pb.RDF_STREAM_ROW_NAMESPACE:
        return read_namespace(d, body, 0)
    return read_options(d, body)


cdef int count_row(DecoderState* d, Reader row, Reader body, int field) noexcept nogil:
    """A row to be counted, or one that may not occur."""
    if d.counts != NULL and d.counts.allowed >> field & 1:
        return note_row(d, row, body, field)
    if not d.has_header:
        return fail(&d.fault, NO_OPTIONS, body.at)
    if d.patch:
        return fail(&d.fault, PATCH_ROW_FORBIDDEN, body.at, field, d.header.logical)
    return fail(&d.fault, ROW_FORBIDDEN, body.at, field, d.header.physical)


cdef int find_row(DecoderState* d, Reader* r, Reader* body) noexcept nogil:
    """The field of a row and its body, however they are written; 0 where nothing is to be read, negative on a fault."""
    cdef Reader whole = r[0]
    cdef int field
    while r.at < r.end:
        field = take_field(r, d.known, body)
        if field <= 0:
            if field < 0:
                return malformed(d, r)
            continue
        if r.at < r.end:
            # More fields, known or not.
            field = gathered(d, whole, d.known, 0, body)
            if field < 0:
                return field
        if d.allowed >> field & 1 == 0:
            if count_row(d, whole, body[0], field) != OK or (d.counts.skim and field != pb.RDF_STREAM_ROW_OPTIONS):
                return d.fault.code
        return field
    if d.skip_unknown:
        return OK if d.counts == NULL else note_row(d, whole, whole, 0)
    return fail(&d.fault, ROW_UNKNOWN if d.has_header else NO_OPTIONS, whole.at)


cdef inline int read_row(DecoderState* d, Reader* r) noexcept nogil:
    cdef Reader body
    cdef int field
    cdef const uint8_t* at = r.at
    if likely(r.end - at > 1 and at[0] & 0x87 == 2 and r.end - at - 2 == at[1] < 0x80 and d.allowed >> (at[0] >> 3) & 1):
        # One field with a tag and a length of one byte each, as nearly always.
        field = at[0] >> 3
        body.at = at + 2
        body.end = r.end
    else:
        field = find_row(d, r, &body)
        if field <= 0:
            return field
    if d.first_entry <= field < d.first_entry + 3:
        return read_entry(d, &body, field - d.first_entry)
    if d.patch:
        return read_patch_row(d, &body, field)
    return read_rdf_row(d, &body, field)


# ---- frames

cdef int read_rows(DecoderState* d) noexcept nogil:
    """The rows of the present frame. OK at its end, FULL or NEED_TABLES in the middle, negative on a fault."""
    cdef Reader* frame = &d.frame
    cdef Reader body
    cdef int field, status
    while frame.at < frame.end:
        field = take_part(frame, &body)
        if field == FRAME_ROW:
            status = read_row(d, &body)
            if status < 0:
                return status
            d.row += 1
            if status != OK:
                return status
            if d.b.n_rows >= d.max_rows or d.b.n_text >= d.full_text or d.b.n_terms >= d.full_terms:
                return FULL
        elif field == FRAME_METADATA:
            if read_metadata(d, &body) < 0:
                return d.fault.code
            if much_metadata(d.b):
                return FULL
        elif field == FRAME_COLUMNS:
            d.has_columns = not d.patch  # options of version 3 may follow: column_reader.pyx then reads the frame
        elif field < 0:
            return malformed(d, frame)
    if d.has_columns:
        return fail(&d.fault, COLUMNS_IN_ROWS if d.has_header else NO_OPTIONS, d.frame_start)
    return OK


cdef int begin_frame(DecoderState* d) noexcept nogil:
    """Go to the next frame; see next_frame."""
    cdef int status = next_frame(&d.feed, &d.frame, &d.frame_offset, &d.fault)
    if status == OK:
        d.in_frame = True
        d.frame_start = d.frame.at
        d.row = 0
    return status


cdef int run(DecoderState* d) noexcept nogil:
    """Decode until the Batch is full, the input is used up (NEED_MORE), tables are needed, or a fault."""
    cdef int status
    while True:
        if not d.in_frame:
            status = begin_frame(d)
            if status != OK:
                return status
        status = read_rows(d)
        if status != OK:
            return status
        # In the Batch every patch ends with a punctuation row, also if a frame ends it in the stream.
        if d.patch and d.header.logical == pb.PATCH_STREAM_TYPE_FRAME and read_mark(d, d.frame.at, OP_PUNCTUATION):
            return d.fault.code
        if add_frame(d.b) < 0:
            return fail(&d.fault, NO_MEMORY, NULL)
        d.in_frame = False
        d.n_frames += 1
        if d.counts != NULL and note_frame(d) != OK:
            return d.fault.code
        if d.b.n_frames >= d.max_rows or much_metadata(d.b):
            return FULL
