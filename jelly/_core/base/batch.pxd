"""The Batch: the structure of arrays between every reader and every writer.

A structure of arrays, each of them an Arrow buffer. Term ids are dense and valid in one Batch only. A Batch owns all
its memory and borrows nothing; once handed out it is never written again.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

from jelly._core.base.batch_views cimport BatchViews
from jelly._core.base.claim cimport Count, value_of
from jelly._core.base.fault cimport BAD_TERM, BATCH_TERMS, NO_MEMORY, TEXT_LIMIT, UNKNOWN_KIND, Fault, fail
from jelly._core.base.kinds cimport (
    ATTRIBUTED, COMPOUND, KIND_TEXT, KIND_TEXT_LTR, KIND_TEXT_RTL, KIND_TRIPLE, PATTERNS, SPARES, among,
)

cdef enum:
    # In column g: the default graph. In any other place: no term.
    NO_TERM = -1

cdef enum:
    # Terms of the last statement: no statement yet; or the term is in the `carry` of an earlier Batch.
    UNSET = -2
    CARRIED = -3

cdef enum:
    # The arity of query results, which are no statements.
    RESULTS = 0

cdef enum:
    # Texts longer than this are not interned: hashing them costs more than a second copy.
    INTERN_MAX = 512
    INTERN_MAX_SLOTS = 1 << 15
    INTERN_PROBES = 4
    # Bytes of a base direction after a language tag.
    N_DIRECTION = 5


ctypedef struct NamespaceMark:
    # A namespace declaration: the row and the frame before which it stands.
    int64_t row
    int64_t frame
    int32_t name  # a KIND_TEXT
    int32_t iri


ctypedef struct MetadataMark:
    # An entry of the metadata of a frame: where its key and value are in `meta_text`.
    int64_t frame
    int64_t key
    int64_t value
    int64_t end


ctypedef struct BatchData:
    # text and terms: the text of term i is text[start[i]:start[i + 1]]
    uint8_t* text
    int64_t n_text
    int64_t cap_text
    int64_t text_limit  # bytes of text that a Batch may never exceed
    int64_t* start
    int8_t* kind
    int32_t* aux
    int32_t n_terms
    int32_t cap_terms
    # quoted triples: three term ids each
    int32_t* quoted
    int32_t n_quoted
    int64_t cap_quoted
    # rows: g is NULL for triples, op is NULL except in patches. Rows of a patch that are not statements have
    # NO_TERM in unused columns; a namespace has its name and IRI in s and p, a header has its key and value in s
    # and o
    int32_t* s  # the four columns, one after the other: see column_of
    int32_t* p
    int32_t* o
    int32_t* g
    int8_t* op
    int64_t n_rows
    int64_t cap_rows
    int arity  # 3 or 4, or RESULTS
    # query results: rows of `width` term ids, one for each variable, NO_TERM where it is unbound. They have no s, p, o, g
    # and op (NULL), and statements have no cells (NULL, width 0)
    int32_t* cells
    int64_t width
    # frames: for each, the number of rows before its end
    int64_t* frames
    int64_t n_frames
    int64_t cap_frames
    NamespaceMark* names
    int64_t n_names
    int64_t cap_names
    MetadataMark* meta
    int64_t n_meta
    int64_t cap_meta
    uint8_t* meta_text
    int64_t n_meta_text
    int64_t cap_meta_text


ctypedef struct TermView:
    int kind
    const uint8_t* at  # its text
    int64_t n
    int n_refs  # the terms that it refers to: none; a language tag or datatype; the three of a compound term
    const int32_t* refs


cdef int init_arena(BatchData* b, int arity, int64_t rows, int64_t terms, int64_t text, int64_t text_limit) noexcept nogil
cdef int add_graphs(BatchData* b) noexcept nogil
cdef int add_operations(BatchData* b) noexcept nogil
cdef int add_variables(BatchData* b, int64_t width, int64_t rows) noexcept nogil
cdef void clear_arena(BatchData* b) noexcept nogil
cdef void free_arena(BatchData* b) noexcept nogil
cdef int grow_terms(BatchData* b) noexcept nogil
cdef int grow_text(BatchData* b, int64_t need) noexcept nogil
cdef int grow_rows(BatchData* b) noexcept nogil
cdef int32_t add_compound(BatchData* b, int kind, const int32_t* terms) noexcept nogil
cdef int add_frame(BatchData* b) noexcept nogil
cdef int add_namespace(BatchData* b, int32_t name, int32_t iri) noexcept nogil
cdef int add_metadata(BatchData* b, const uint8_t* key, int64_t n_key, const uint8_t* value, int64_t n_value) noexcept nogil


cdef inline int32_t add_term(BatchData* b, int kind, int32_t aux, const uint8_t* text, int64_t n) noexcept nogil:
    """Append a term and return its id, or a negative code."""
    cdef int status
    cdef int32_t term = b.n_terms
    if n > b.cap_text - b.n_text:
        status = grow_text(b, n)
        if status < 0:
            return status
    if term + 1 >= b.cap_terms:
        status = grow_terms(b)
        if status < 0:
            return status
    if n:
        # Not memcpy: if gcc knows a bound of n, it compiles memcpy to a slow "rep movs".
        memmove(b.text + b.n_text, text, n)
        b.n_text += n
    b.kind[term] = <int8_t>kind
    b.aux[term] = aux
    b.n_terms = term + 1
    b.start[term + 1] = b.n_text
    return term


cdef inline int32_t add_joined(
    BatchData* b, int kind, const uint8_t* head, int64_t n_head, const uint8_t* tail, int64_t n_tail
) noexcept nogil:
    """Append a term whose text is `head` and `tail` joined, such as an IRI of prefix and name."""
    cdef int32_t term
    if n_head + n_tail > b.cap_text - b.n_text:
        term = grow_text(b, n_head + n_tail)
        if term < 0:
            return term
    term = add_term(b, kind, NO_TERM, head, n_head)
    if term >= 0 and n_tail:
        memcpy(b.text + b.n_text, tail, n_tail)
        b.n_text += n_tail
        b.start[term + 1] = b.n_text
    return term


cdef inline const uint8_t* text_of(const BatchData* b, int32_t term) noexcept nogil:
    """The text of a term; that of the next one begins where it ends."""
    return b.text + b.start[term]


cdef inline int64_t len_of(const BatchData* b, int32_t term) noexcept nogil:
    """Bytes of the text of a term."""
    return b.start[term + 1] - b.start[term]


cdef inline int32_t add_quoted(BatchData* b, int32_t s, int32_t p, int32_t o) noexcept nogil:
    """Append a quoted triple of three terms; return its id, or a negative code."""
    cdef int32_t[3] terms
    terms[0], terms[1], terms[2] = s, p, o
    return add_compound(b, KIND_TRIPLE, terms)


cdef inline void view_term(const BatchData* b, int32_t term, TermView* v) noexcept nogil:
    """What a term of a Batch is made of."""
    v.kind = b.kind[term]
    v.at = text_of(b, term)
    v.n = len_of(b, term)
    v.n_refs = 0
    v.refs = b.aux + term
    if among(v.kind, ATTRIBUTED | COMPOUND):
        v.n_refs = 1
        if among(v.kind, COMPOUND):
            v.n_refs = 3
            v.refs = b.quoted + 3 * <int64_t>b.aux[term]


cdef inline int32_t add_view(BatchData* b, const TermView* v, const int32_t* refs) noexcept nogil:
    """Append such a term, which refers to `refs` here; return its id, or a negative code."""
    if v.n_refs == 3:
        return add_compound(b, v.kind, refs)
    return add_term(b, v.kind, refs[0] if v.n_refs else NO_TERM, v.at, v.n)


cdef inline int refuse_term(Fault* fault, const BatchData* b, int32_t term, int slot) noexcept nogil:
    """The fault of an id of a term that cannot be written: it is of a kind that the format has not, or no term."""
    if 0 <= term < b.n_terms and among(b.kind[term], PATTERNS | SPARES):
        return fail(fault, UNKNOWN_KIND, NULL, b.kind[term], slot)
    return fail(fault, BAD_TERM, NULL, term, slot)


cdef inline void drop_terms(BatchData* b, int32_t n_terms, int32_t n_quoted) noexcept nogil:
    """Take the last terms away; an Interner does not find them any more."""
    b.n_terms = n_terms
    b.n_quoted = n_quoted
    b.n_text = b.start[n_terms]


cdef inline int64_t len_direction(int kind) noexcept nogil:
    """Bytes that `put_direction` appends to a language tag of this kind."""
    return N_DIRECTION if KIND_TEXT_LTR <= kind <= KIND_TEXT_RTL else 0


cdef inline int kind_of_direction(const uint8_t* at, int64_t n) noexcept nogil:
    """The kind of language tags that have a base direction; KIND_TEXT where this is none."""
    if n != 3:
        return KIND_TEXT
    return KIND_TEXT_LTR if memcmp(at, b"ltr", 3) == 0 else KIND_TEXT_RTL if memcmp(at, b"rtl", 3) == 0 else KIND_TEXT


cdef inline int split_tag(const uint8_t* tag, int64_t* n) noexcept nogil:
    """The kind of a language tag that may end with a base direction, as RDF 1.2 N-Triples writes it: `ar--rtl`.
    `n` is reduced by the length of the direction."""
    cdef const uint8_t* end = tag + n[0]
    cdef int kind
    if n[0] <= N_DIRECTION or (end - 5)[0] != 0x2D or (end - 4)[0] != 0x2D:
        return KIND_TEXT
    kind = kind_of_direction(end - 3, 3)
    n[0] -= len_direction(kind)
    return kind


cdef inline void put_direction(uint8_t* out, int kind) noexcept nogil:
    if len_direction(kind):
        memcpy(out, b"--ltr" if kind == KIND_TEXT_LTR else b"--rtl", N_DIRECTION)


cdef inline int add_row(BatchData* b, const int32_t* terms, int op=0) noexcept nogil:
    """Append a row of four terms, in a patch with its operation."""
    cdef int64_t row = b.n_rows
    if row >= b.cap_rows and grow_rows(b) < 0:
        return NO_MEMORY
    b.s[row] = terms[0]
    b.p[row] = terms[1]
    b.o[row] = terms[2]
    if b.g != NULL:
        b.g[row] = terms[3]
    if op != 0:
        b.op[row] = <int8_t>op
    b.n_rows = row + 1
    return 0


cdef inline bint has_kind(const BatchData* b, int kind) noexcept nogil:
    """Whether a term is of this kind."""
    return b.n_terms > 0 and memchr(b.kind, kind, b.n_terms) != NULL


cdef inline int32_t** column_of(BatchData* b, int slot) noexcept nogil:
    """The column of a slot; it is NULL where there is none."""
    return &b.s + slot


cdef inline void load_row(const BatchData* b, int64_t row, int32_t* terms) noexcept nogil:
    """The terms of a statement, NO_TERM as graph of a triple."""
    terms[0], terms[1], terms[2] = b.s[row], b.p[row], b.o[row]
    terms[3] = NO_TERM if b.g == NULL else b.g[row]


cdef inline uint64_t load_u64(const uint8_t* at) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, at, 8)
    return value


cdef inline uint64_t load_u32(const uint8_t* at) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef inline uint64_t hash_bytes(const uint8_t* at, int64_t n, uint64_t seed) noexcept nogil:
    """A 64-bit hash, in two lanes of eight bytes. It does not resist attacks, so tables that use it are bounded or count their
    probes, and compare."""
    cdef uint64_t x = seed ^ (<uint64_t>n * <uint64_t>0x9E3779B97F4A7C15)
    cdef uint64_t y = <uint64_t>0xC4CEB9FE1A85EC53
    cdef int64_t left = n
    while left > 16:
        x = (x ^ load_u64(at)) * <uint64_t>0xFF51AFD7ED558CCD
        y = (y ^ load_u64(at + 8)) * <uint64_t>0xD6E8FEB86659FD93
        x ^= x >> 29
        y ^= y >> 31
        at += 16
        left -= 16
    if n >= 8:
        if left > 8:
            x ^= load_u64(at)
        y ^= load_u64(at + left - 8)
    elif n >= 4:
        x ^= load_u32(at)
        y ^= load_u32(at + n - 4)
    elif n > 0:
        y ^= <uint64_t>at[0] << 16 | <uint64_t>at[n >> 1] << 8 | at[n - 1]
    x = (x * <uint64_t>0xFF51AFD7ED558CCD) ^ (y * <uint64_t>0xD6E8FEB86659FD93)
    x ^= x >> 32
    x *= <uint64_t>0xC4CEB9FE1A85EC53
    return x ^ (x >> 29)


cdef inline bint same_bytes(const uint8_t* x, const uint8_t* y, int64_t n) noexcept nogil:
    """memcmp inlined for short texts, because most terms are short. The ends first, in which most terms differ."""
    cdef int64_t left = n
    if n < 8:
        while left > 0:
            left -= 1
            if x[left] != y[left]:
                return False
        return True
    if load_u64(x + n - 8) != load_u64(y + n - 8):
        return False
    while left > 8:
        if load_u64(x) != load_u64(y):
            return False
        x += 8
        y += 8
        left -= 8
    return True


ctypedef struct InternSlot:
    uint32_t hash
    int32_t term  # -1: free


ctypedef struct Interner:
    # Finds terms of one BatchData by text. It is a bounded cache: a term may appear twice, but is never wrong.
    InternSlot* slots
    uint32_t n_slots


cdef int init_interner(Interner* index) noexcept nogil
cdef void clear_interner(Interner* index) noexcept nogil
cdef void free_interner(Interner* index) noexcept nogil
cdef int32_t intern_term(Interner* index, BatchData* b, int kind, int32_t aux, const uint8_t* text, int64_t n) noexcept nogil


cdef class Batch(BatchViews):
    cdef BatchData a
    cdef Count exports  # arrays over its memory that are alive
    cdef readonly int64_t first_row  # statement number in the stream of the first row
    cdef readonly int64_t first_frame  # frame number in the stream of the first frame
    cdef readonly object options  # the StreamOptions of the stream it came from, or None
    cdef readonly tuple variables  # names of the columns of query results; None: the rows are statements
    cdef int64_t id_of(self, term) except -1


cdef inline int check_free(Batch batch) except -1:
    """Growing may move the memory, so an array over it would then show memory that the Batch no longer owns."""
    if value_of(&batch.exports) > 0:
        raise BufferError("arrays of this Batch are alive: let go of them, or clear() before more is added")
    return 0


cdef inline int need_statements(Batch batch) except -1:
    """Refuse query results where s, p and o are to be read: they have none."""
    return 0 if batch.variables is None else refuse_results()


cdef int need_plain(Batch batch, str refusal) except -1
cdef int refuse_results() except -1
cdef int make_results(Batch batch, tuple variables, int64_t rows) except -1
cdef Batch new_batch(int arity, int64_t rows, int64_t terms, int64_t text, int64_t text_limit)
