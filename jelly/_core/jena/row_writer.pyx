"""Shared by the writers of RDF Thrift and RDF Protobuf: each term of a Batch is encoded once, then rows are assembled."""

from libc.string cimport memset

from jelly._core.base.batch cimport NamespaceMark, len_direction, refuse_term
from jelly._core.base.constants cimport MAX_QUOTED
from jelly._core.base.fault cimport BAD_TERM, DEPTH, QUOTED_LIMIT
from jelly._core.base.kinds cimport KIND_IRI, KIND_LANG, KIND_TEXT_LTR, KIND_TYPED, TEXTS, TRIPLES, among
from jelly._core.jena.numeric cimport NO_VALUE, parse_value
from jelly._core.jena.prefix_map cimport Prefix, find_space, set_prefix
from jelly._core.jena.row_reader cimport TERM_NAME


cdef enum:
    # For each kind of term the field of RDF_Term that it has, 4 bits each; a triple term has its own. And for each value.
    FIELDS_OF_KINDS = 0x650000333210
    FIELDS_OF_VALUES = 0xBCA0


cdef void term_text(BatchData* b, int32_t term, Reader* text) noexcept nogil:
    text.at = b.text + b.start[term]
    text.end = b.text + b.start[term + 1]


cdef inline void find_short(JenaWriter* d, Reader* text, Reader* prefix) noexcept nogil:
    """Take an IRI apart where a declared prefix fits."""
    cdef int32_t found = find_space(&d.prefixes, text.at, text.end - text.at)
    cdef Prefix* item
    if found < 0:
        return
    item = &d.prefixes.items[found]
    prefix.at = item.text
    prefix.end = item.text + item.n_name
    text.at += item.n_iri


cdef int load_leaf(JenaWriter* d, int32_t term, TermParts* leaf) noexcept nogil:
    """The parts of a term that is no triple term, as both encodings write them."""
    cdef BatchData* b = d.b
    cdef int kind = b.kind[term]
    cdef int32_t aux = b.aux[term]
    memset(leaf, 0, sizeof(TermParts) - sizeof(Value))
    leaf.field = FIELDS_OF_KINDS >> (4 * kind) & 15
    term_text(b, term, &leaf.text)
    if kind == KIND_IRI and d.shorten:
        find_short(d, &leaf.text, &leaf.prefix)
        if leaf.prefix.at != NULL:
            leaf.field = TERM_NAME
    elif kind == KIND_LANG:
        if aux < 0 or aux >= b.n_terms or not among(b.kind[aux], TEXTS):
            return fail(&d.fault, BAD_TERM, NULL, aux, -1)
        term_text(b, aux, &leaf.tag)
        if length(&leaf.tag) == 0:
            leaf.tag.at = NULL
        elif len_direction(b.kind[aux]):
            leaf.dashed = <const uint8_t*>(b"--ltr" if b.kind[aux] == KIND_TEXT_LTR else b"--rtl")
    elif kind == KIND_TYPED:
        if aux < 0 or aux >= b.n_terms or b.kind[aux] != KIND_IRI:
            return fail(&d.fault, BAD_TERM, NULL, aux, -1)
        term_text(b, aux, &leaf.datatype)
        if d.values and parse_value(
            leaf.datatype.at, length(&leaf.datatype), leaf.text.at, length(&leaf.text), &leaf.value
        ) != NO_VALUE:
            leaf.field = FIELDS_OF_VALUES >> (4 * leaf.value.kind) & 15
        elif d.shorten:
            find_short(d, &leaf.datatype, &leaf.datatype_prefix)
    return OK


cdef int encode_leaf(JenaWriter* d, int32_t term) noexcept nogil:
    """Encode a term that holds no other."""
    cdef Encoded* memo = &d.memo[term]
    cdef Writer* w = &d.terms
    cdef TermParts leaf
    if load_leaf(d, term, &leaf) < 0:
        return d.fault.code
    if reserve(
        w, AROUND + length(&leaf.text) + length(&leaf.prefix) + length(&leaf.tag) + length(&leaf.datatype)
        + length(&leaf.datatype_prefix)
    ) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    memo.at = w.n
    d.put_leaf(w, &leaf)
    memo.n = w.n - memo.at
    return OK


cdef inline int check_term(JenaWriter* d, int32_t term, int slot) noexcept nogil:
    """A term id may come from anywhere."""
    if 0 <= term < d.b.n_terms and (
        FIELDS_OF_KINDS >> (4 * d.b.kind[term]) & 15
        or (among(d.b.kind[term], TRIPLES) and 0 <= d.b.aux[term] < d.b.n_quoted)
    ):
        return OK
    return refuse_term(&d.fault, d.b, term, slot)


cdef int64_t encode_term(JenaWriter* d, int32_t term, int slot, int depth) noexcept nogil:
    if check_term(d, term, slot) < 0:
        return d.fault.code
    if (measure_triple(d, term, depth) if among(d.b.kind[term], TRIPLES) else encode_leaf(d, term)) < 0:
        return d.fault.code
    return d.memo[term].n


cdef int measure_triple(JenaWriter* d, int32_t term, int depth) noexcept nogil:
    """Triple terms in one another: no deeper than readers take them."""
    cdef Encoded* memo = &d.memo[term]
    cdef int32_t* inner = &d.b.quoted[3 * d.b.aux[term]]
    cdef int64_t size = d.around_triple
    cdef int64_t n
    cdef int k
    if depth >= d.max_depth:
        return fail(&d.fault, DEPTH, NULL, d.max_depth)
    memo.depth = 0
    for k in range(3):
        n = measure(d, inner[k], k, depth + 1)
        if n < 0:
            return d.fault.code
        size += len_field(n) if d.lengths else n
        memo.depth = max(memo.depth, d.memo[inner[k]].depth)
    if size > MAX_QUOTED + d.b.n_text:
        return fail(&d.fault, QUOTED_LIMIT, NULL, MAX_QUOTED)
    memo.depth += 1
    if memo.depth > d.max_depth:
        return fail(&d.fault, DEPTH, NULL, d.max_depth)
    memo.body = size
    memo.n = len_field(size) if d.lengths else size
    return OK


cdef int load_name(JenaWriter* d, int64_t at, Reader* text, Reader* iri) noexcept nogil:
    """A namespace declaration of the Batch."""
    cdef NamespaceMark* name = &d.b.names[at]
    if not 0 <= name.name < d.b.n_terms or not 0 <= name.iri < d.b.n_terms:
        return fail(&d.fault, BAD_TERM, NULL, name.iri, -1)
    term_text(d.b, name.name, text)
    term_text(d.b, name.iri, iri)
    return OK


cdef int write_prefix(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil:
    """A prefix that the IRIs which follow may use; those encoded before may now be written otherwise."""
    if d.shorten:
        if d.b != NULL:
            memset(d.memo, 0, d.b.n_terms * sizeof(Encoded))
        d.terms.n = 0
        if set_prefix(&d.prefixes, name, iri, &d.fault) < 0:
            return d.fault.code
    if reserve(&d.out, AROUND + length(name) + length(iri)) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    d.put_prefix(&d.out, name, iri)
    return OK


cdef int write_header(JenaWriter* d, Reader* names) noexcept nogil:
    """The variables of a result set."""
    cdef int64_t size = 0
    cdef int64_t i
    for i in range(d.width):
        size += len_field(len_field(length(&names[i])) if length(&names[i]) else 0)
    if reserve(&d.out, size + d.width + AROUND) < 0:
        return fail(&d.fault, NO_MEMORY, NULL)
    d.put_header(d, names, size)
    return OK


cdef int write_rows(JenaWriter* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil:
    """Write rows and prefixes until there are `limit` bytes or no more; `row` and `name` move past the last."""
    cdef BatchData* b = d.b
    cdef Reader text, iri
    if d.results:
        return d.put_cells(d, row, limit)
    while d.out.n < limit:
        if name[0] < b.n_names and b.names[name[0]].row <= row[0]:
            if load_name(d, name[0], &text, &iri) < 0 or write_prefix(d, &text, &iri) < 0:
                return d.fault.code
            name[0] += 1
        elif row[0] < b.n_rows:
            if d.put_row(d, row[0]) < 0:
                return d.fault.code
            row[0] += 1
        else:
            break
    return OK
