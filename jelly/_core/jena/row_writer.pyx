"""Shared by the writers of RDF Thrift and RDF Protobuf: each term of a Batch is encoded once, then rows are assembled."""

from libc.string cimport memset

from jelly._core.base.batch cimport NamespaceMark
from jelly._core.base.constants cimport MAX_QUOTED
from jelly._core.base.fault cimport BAD_TERM, DEPTH, OK, QUOTED_LIMIT, fail
from jelly._core.base.kinds cimport KIND_IRI, KIND_LANG, KIND_LITERAL, KIND_TYPED, TEXTS, among
from jelly._core.base.protobuf cimport len_field
from jelly._core.jena.numeric cimport NO_VALUE, parse_value
from jelly._core.jena.prefix_map cimport Prefix, find_space, set_prefix


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
    cdef Reader* tag = &leaf.tag
    memset(leaf, 0, sizeof(TermParts))
    leaf.kind = kind
    term_text(b, term, &leaf.text)
    if kind == KIND_IRI:
        if d.shorten:
            find_short(d, &leaf.text, &leaf.prefix)
    elif kind == KIND_LANG:
        if aux < 0 or aux >= b.n_terms or not among(b.kind[aux], TEXTS):
            return fail(&d.fault, BAD_TERM, NULL, aux, -1)
        term_text(b, aux, tag)
        if tag.end == tag.at:
            leaf.kind = KIND_LITERAL
        else:
            leaf.tag_kind = b.kind[aux]
    elif kind == KIND_TYPED:
        if aux < 0 or aux >= b.n_terms or b.kind[aux] != KIND_IRI:
            return fail(&d.fault, BAD_TERM, NULL, aux, -1)
        term_text(b, aux, &leaf.datatype)
        if d.values and parse_value(
            leaf.datatype.at, leaf.datatype.end - leaf.datatype.at, leaf.text.at, leaf.text.end - leaf.text.at,
            &leaf.value,
        ) != NO_VALUE:
            leaf.kind = 0
        elif d.shorten:
            find_short(d, &leaf.datatype, &leaf.datatype_prefix)
    return OK


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


cdef int declare_name(JenaWriter* d, Reader* name, Reader* iri) noexcept nogil:
    """A prefix that the IRIs which follow may use; those encoded before may now be written otherwise."""
    if not d.shorten:
        return OK
    if d.b != NULL:
        memset(d.memo, 0, d.b.n_terms * sizeof(Encoded))
    d.terms.n = 0
    return set_prefix(&d.prefixes, name.at, name.end - name.at, iri.at, iri.end - iri.at, &d.fault)


cdef int write_rows(JenaWriter* d, int64_t* row, int64_t* name, int64_t limit) noexcept nogil:
    """Write rows and prefixes until there are `limit` bytes or no more; `row` and `name` move past the last."""
    cdef BatchData* b = d.b
    cdef Reader text, iri
    while d.out.n < limit:
        if name[0] < b.n_names and b.names[name[0]].row <= row[0]:
            if load_name(d, name[0], &text, &iri) < 0 or d.put_prefix(d, &text, &iri) < 0:
                return d.fault.code
            name[0] += 1
        elif row[0] < b.n_rows:
            if d.put_row(d, row[0]) < 0:
                return d.fault.code
            row[0] += 1
        else:
            break
    return OK
