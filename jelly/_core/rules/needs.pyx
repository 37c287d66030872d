"""The stream options that the statements of a Batch need."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, TermView, column_of, need_statements, view_term
from jelly._core.base.constants cimport MAX_DEPTH
from jelly._core.base.gil cimport is_short
from jelly._core.base.kinds cimport COMPOUND, KIND_IRI, KIND_TYPED, NODES, among, plain_kinds
from jelly._core.rules.patch_operations cimport is_change

from jelly._options.options import COLUMN_VERSION, MAX_TABLE_SIZE, PhysicalType, StreamOptions
from jelly.errors import JellyOptionsError


ctypedef struct Needs:
    bint star
    int64_t names  # that one statement uses
    int64_t datatypes


ctypedef struct Count:
    # Of the statement `row`: what was counted has that number in the arrays.
    int64_t* seen
    int64_t* datatype_seen
    int64_t row
    int64_t names
    int64_t datatypes


cdef bint is_generalized(BatchData* a, int slot, int32_t term, const int8_t* inner) noexcept nogil:
    """Whether a term that stands there needs generalized statements, as `jelly_put_term` asks. `inner` says it of the terms
    in each quoted triple."""
    if term < 0 or term >= a.n_terms:
        return False
    return not among(a.kind[term], plain_kinds(slot, COMPOUND)) or (among(a.kind[term], COMPOUND) and inner[term])


cdef void look_inside(BatchData* a, int8_t* inner) noexcept nogil:
    """Mark the quoted triples in which a term needs generalized statements. Their terms come before them."""
    cdef int32_t term
    cdef int32_t* terms
    for term in range(a.n_terms):
        if among(a.kind[term], COMPOUND):
            terms = &a.quoted[3 * a.aux[term]]
            inner[term] = (
                is_generalized(a, 0, terms[0], inner) or is_generalized(a, 1, terms[1], inner)
                or is_generalized(a, 2, terms[2], inner)
            )


cdef inline int kind_at(BatchData* a, int32_t term) noexcept nogil:
    """The kind of a term, that of an IRI where it is none."""
    return a.kind[term] if 0 <= term < a.n_terms else KIND_IRI


cdef bint has_generalized(BatchData* a, const int8_t* inner) noexcept nogil:
    cdef int64_t i
    cdef int64_t n = a.n_rows
    cdef uint32_t n_terms = <uint32_t>a.n_terms
    cdef const int8_t* kind = <const int8_t*>a.kind
    cdef const int32_t* s = a.s
    cdef const int32_t* p = a.p
    cdef const int32_t* g = a.g if a.g != NULL else a.s
    cdef bint plain = a.n_quoted == 0
    for i in range(n):
        # Nearly all rows are plain.
        if (
            plain and <uint32_t>p[i] < n_terms and <uint32_t>s[i] < n_terms and kind[p[i]] == KIND_IRI
            and among(kind[s[i]], NODES) and (<uint32_t>g[i] >= n_terms or among(kind[g[i]], NODES))
        ):
            continue
        if a.n_quoted == 0 and kind_at(a, a.p[i]) == KIND_IRI and among(kind_at(a, a.s[i]), NODES):
            pass
        elif is_change(a.op, i) and (
            is_generalized(a, 1, a.p[i], inner) or is_generalized(a, 0, a.s[i], inner)
            or is_generalized(a, 2, a.o[i], inner)
        ):
            return True
        if a.g != NULL and not among(kind_at(a, a.g[i]), NODES) and is_generalized(a, 0, a.g[i], inner):
            return True
    return False


cdef bint has_named_graph(BatchData* a) noexcept nogil:
    cdef int64_t i
    if a.g != NULL:
        for i in range(a.n_rows):
            if a.g[i] != NO_TERM:
                return True
    return False


cdef inline bint is_quoted(BatchData* a, int32_t term) noexcept nogil:
    return 0 <= term < a.n_terms and among(a.kind[term], COMPOUND)


cdef bint has_quoted(BatchData* a, int64_t row) noexcept nogil:
    # The value of a header may be one, too.
    return is_quoted(a, a.s[row]) or is_quoted(a, a.p[row]) or is_quoted(a, a.o[row])


cdef void count_entries(BatchData* a, int32_t term, Count* count, int depth) noexcept nogil:
    """Count the IRIs and datatypes in a term, each once."""
    cdef TermView v
    cdef int i
    if term < 0 or term >= a.n_terms or depth > MAX_DEPTH:
        return
    view_term(a, term, &v)
    if v.kind == KIND_TYPED:
        if count.datatype_seen[v.refs[0]] != count.row:
            count.datatype_seen[v.refs[0]] = count.row
            count.datatypes += 1
        return
    if count.seen[term] == count.row:
        return
    count.seen[term] = count.row
    if v.kind == KIND_IRI:
        count.names += 1
    elif among(v.kind, COMPOUND):
        for i in range(v.n_refs):
            count_entries(a, v.refs[i], count, depth + 1)


cdef int look(BatchData* a, Needs* needs) noexcept nogil:
    """The needs of the quoted triples of a Batch; -1 without memory."""
    cdef int64_t i
    cdef int slot
    cdef Count count
    count.seen = <int64_t*>calloc(2 * a.n_terms + 1, sizeof(int64_t))
    if count.seen == NULL:
        return -1
    count.datatype_seen = count.seen + a.n_terms
    for i in range(a.n_rows):
        if not has_quoted(a, i):
            continue
        needs.star = True
        count.row = i + 1
        count.names = count.datatypes = 0
        for slot in range(a.arity):
            count_entries(a, column_of(a, slot)[0][i], &count, 0)
        needs.names = max(needs.names, count.names)
        needs.datatypes = max(needs.datatypes, count.datatypes)
    free(count.seen)
    return 0


def lacking(options, Batch batch not None) -> dict:
    """The fields of some `StreamOptions` or `PatchOptions` that would have to be others to allow what a Batch holds.

    Of those that are left open (an unspecified physical type, version 0) nothing is said.
    """
    cdef BatchData* a = &batch.a
    cdef Needs needs
    cdef bint failed = False
    cdef bint graphs = False
    cdef bint generalized
    cdef int8_t* inner = NULL
    need_statements(batch)
    cdef bint triples = a.g != NULL and a.op == NULL and options.physical_type == PhysicalType.TRIPLES
    memset(&needs, 0, sizeof(Needs))
    if a.n_quoted > 0:
        inner = <int8_t*>calloc(a.n_terms, 1)
        if inner == NULL:
            raise MemoryError
    if is_short(a):
        generalized = has_generalized(a, NULL)
        graphs = triples and has_named_graph(a)
    else:
        with nogil:
            if inner != NULL:
                look_inside(a, inner)
            generalized = has_generalized(a, inner)
            free(inner)
            if triples:
                graphs = has_named_graph(a)
            if a.n_quoted > 0:
                failed = look(a, &needs) < 0
    if failed:
        raise MemoryError
    changes = {}
    if not graphs and not generalized and not needs.star and a.n_names == 0:
        return changes
    if graphs:
        changes["physical_type"] = PhysicalType.QUADS
    if needs.star:
        if not options.rdf_star:
            changes["rdf_star"] = True
        for name, size in (("max_name_table_size", needs.names), ("max_datatype_table_size", needs.datatypes)):
            if getattr(options, name) < size <= MAX_TABLE_SIZE:
                changes[name] = size
    if generalized and not options.generalized_statements:
        changes["generalized_statements"] = True
    # Of a patch there is one version, which has namespaces.
    if a.n_names > 0 and isinstance(options, StreamOptions) and options.version == 1:
        changes["version"] = 2
    return changes


_ROWS = StreamOptions()


def refuse_quoted(Batch batch not None, read, int version) -> None:
    """Raise JellyOptionsError for a quoted triple that would become a triple term, or the other way round.

    Rows (Jelly-RDF 1.0 and 1.1) have quoted triples of RDF-star, columns (1.2) have triple terms of RDF 1.2. ``read``
    are the stream options of the source, None if it is no Jelly; where their version is 0 the caller has chosen
    (``star=`` of `Reader`). ``version`` is that of the stream that is written.
    """
    if batch.a.n_quoted and isinstance(read, StreamOptions) and "rdf_star" in lacking(_ROWS, batch):
        refuse_version(read.version, version)


def refuse_version(int read, int version) -> None:
    """`refuse_quoted`, of a quoted triple in a stream of some version."""
    if read == 0 or (read == COLUMN_VERSION) == (version == COLUMN_VERSION):
        return
    if version == COLUMN_VERSION:
        raise JellyOptionsError(
            "the source has quoted triples of RDF-star, and Jelly-RDF 1.2 has triple terms of RDF 1.2: pass "
            'star="reifies" (a node with rdf:reifies for each) or star="triple-terms" (the same triples as terms)'
        )
    raise JellyOptionsError(
        "the source has triple terms of RDF 1.2, and Jelly-RDF 1.0 and 1.1 have quoted triples of RDF-star: write "
        'Jelly-RDF 1.2 (version 3), or pass star="quoted" (what star="reifies" made becomes what it was) or '
        'star="triple-terms" (the same triples)'
    )
