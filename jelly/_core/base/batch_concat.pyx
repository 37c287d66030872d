"""Batches from Batches: terms copied and compared, terms that the next Batch repeats, and small Batches merged into one."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from jelly._core.base.batch cimport (
    CARRIED, NO_TERM, RESULTS, UNSET, MetadataMark, NamespaceMark, TermView, add_variables, add_view, clear_arena, column_of,
    free_arena, init_arena, make_results, new_batch, same_bytes, view_term,
)
from jelly._core.base.fault cimport NO_MEMORY
from jelly._core.base.kinds cimport ATTRIBUTED, COMPOUND, among
from jelly._core.base.memory cimport resize

from jelly.errors import JellyArgumentError


cdef enum:
    # Comparisons of the terms in two quoted triples, before they count as different.
    MAX_COMPARED = 1 << 12
    # Terms, and bytes of text, up to which the memory of those that are carried is used again.
    KEPT = 1 << 16


cdef int32_t move_term(BatchData* b, int32_t term, BatchData* target, int32_t* moved) noexcept nogil:
    """Copy a term, and each that it refers to, once; `moved` has the ids in the target plus 1, 0 for those that are not
    there yet, or is NULL. A negative code where there is no room. Depth is bounded by that of quoted triples."""
    cdef TermView v
    cdef int32_t ids[3]
    cdef int32_t made
    cdef int k
    if moved != NULL and moved[term] > 0:
        return moved[term] - 1
    view_term(b, term, &v)
    for k in range(v.n_refs):
        ids[k] = move_term(b, v.refs[k], target, moved)
        if ids[k] < 0:
            return ids[k]
    made = add_view(target, &v, ids)
    if made >= 0 and moved != NULL:
        moved[term] = made + 1
    return made


cdef int32_t copy_term(BatchData* source, int32_t term, BatchData* target) noexcept nogil:
    """Copy a term and the terms it refers to into another BatchData; return its id there."""
    cdef int32_t made
    cdef int32_t* moved = NULL
    if among(source.kind[term], COMPOUND):
        # A part may stand in many places.
        moved = <int32_t*>calloc(source.n_terms, sizeof(int32_t))
        if moved == NULL:
            return NO_MEMORY
    made = move_term(source, term, target, moved)
    free(moved)
    return made


cdef bint same_compound(BatchData* x, int32_t i, BatchData* y, int32_t j, int* left) noexcept nogil:
    """Whether two compound terms of a kind are equal; False where that takes more than `left` comparisons."""
    cdef int32_t one, other
    cdef int k
    for k in range(3):
        one = x.quoted[3 * x.aux[i] + k]
        other = y.quoted[3 * y.aux[j] + k]
        if x == y and one == other:
            continue
        left[0] -= 1
        if left[0] < 0:
            return False
        if x.kind[one] == y.kind[other] and among(x.kind[one], COMPOUND):
            if not same_compound(x, one, y, other, left):
                return False
        elif not same_term(x, one, y, other):
            return False
    return True


cdef bint same_term(BatchData* x, int32_t i, BatchData* y, int32_t j) noexcept nogil:
    """Whether two terms are equal RDF terms, so that the second need not be written. NO_TERM equals only itself.

    Quoted triples of very many terms that have other ids count as different: without a memo their shared parts would be
    compared in each of their places.
    """
    cdef int64_t n
    cdef int32_t a, b
    cdef int left = MAX_COMPARED
    if x == y and i == j:
        return True
    if i < 0 or j < 0:
        return i == j
    if x.kind[i] != y.kind[j]:
        return False
    n = len_of(x, i)
    if n != len_of(y, j):
        return False
    a = x.aux[i]
    b = y.aux[j]
    if among(x.kind[i], COMPOUND):
        return same_compound(x, i, y, j, &left)
    if not same_bytes(text_of(x, i), text_of(y, j), n):
        return False
    return same_term(x, a, y, b)


cdef int carry_terms(BatchData* b, BatchData* carry, int32_t* last, int32_t* carried, int64_t text_limit) noexcept nogil:
    """Before a Batch is handed out, keep the four terms of its last statement: the next statement may repeat them."""
    cdef BatchData kept
    cdef int slot
    cdef int32_t term
    cdef bint carries = False
    for slot in range(4):
        carries = carries or last[slot] == CARRIED
    if carries or carry.text == NULL or carry.cap_text > KEPT or carry.cap_terms > KEPT:
        if init_arena(&kept, 3, 1, 8, 256, text_limit) < 0:
            return NO_MEMORY
    else:
        # What was carried is not needed any more, but its memory is: a frame may be short.
        kept = carry[0]
        memset(carry, 0, sizeof(BatchData))
        clear_arena(&kept)
    for slot in range(4):
        term = last[slot]
        if term == UNSET:
            continue
        if term == CARRIED:
            term = carried[slot]
            if term >= 0:
                term = copy_term(carry, term, &kept)
        elif term >= 0:
            term = copy_term(b, term, &kept)
        if term < NO_TERM:
            free_arena(&kept)
            return term
        carried[slot] = term
        last[slot] = CARRIED
    free_arena(carry)
    carry[0] = kept
    return 0


cdef int duplicate(void** block, const void* source, int64_t n, size_t size) noexcept nogil:
    if n == 0 or source == NULL:
        return 0
    if resize(block, n, size) < 0:
        return NO_MEMORY
    memcpy(block[0], source, n * size)
    return 0


cdef int copy_marks(BatchData* b, BatchData* copy) noexcept nogil:
    """Copy frames, namespaces and metadata."""
    if (
        duplicate(<void**>&copy.frames, b.frames, b.n_frames, sizeof(int64_t)) < 0
        or duplicate(<void**>&copy.names, b.names, b.n_names, sizeof(NamespaceMark)) < 0
        or duplicate(<void**>&copy.meta, b.meta, b.n_meta, sizeof(MetadataMark)) < 0
        or duplicate(<void**>&copy.meta_text, b.meta_text, b.n_meta_text, 1) < 0
    ):
        return NO_MEMORY
    copy.n_frames = copy.cap_frames = b.n_frames
    copy.n_names = copy.cap_names = b.n_names
    copy.n_meta = copy.cap_meta = b.n_meta
    copy.n_meta_text = copy.cap_meta_text = b.n_meta_text
    return 0


cdef int copy_kinds(BatchData* b, BatchData* copy) noexcept nogil:
    """Copy what terms are but for their text into an empty BatchData."""
    if (
        duplicate(<void**>&copy.kind, b.kind, b.n_terms, 1) < 0
        or duplicate(<void**>&copy.aux, b.aux, b.n_terms, sizeof(int32_t)) < 0
        or duplicate(<void**>&copy.quoted, b.quoted, 3 * <int64_t>b.n_quoted, sizeof(int32_t)) < 0
    ):
        return NO_MEMORY
    copy.n_terms = copy.cap_terms = b.n_terms
    copy.n_quoted = copy.cap_quoted = b.n_quoted
    return 0


cdef int copy_arena(BatchData* b, BatchData* copy) noexcept nogil:
    """Copy all but the text and where it starts into an empty BatchData."""
    cdef int slot
    if b.arity == RESULTS and add_variables(copy, b.width, 0) < 0:
        return NO_MEMORY
    for slot in range(4):
        if duplicate(<void**>column_of(copy, slot), column_of(b, slot)[0], b.n_rows, sizeof(int32_t)) < 0:
            return NO_MEMORY
    copy.n_rows = copy.cap_rows = b.n_rows
    if (
        duplicate(<void**>&copy.op, b.op, b.n_rows, 1) < 0
        or duplicate(<void**>&copy.cells, b.cells, b.n_rows * b.width, sizeof(int32_t)) < 0
        or copy_kinds(b, copy) < 0
    ):
        return NO_MEMORY
    return copy_marks(b, copy)


cdef int copy_terms(BatchData* b, BatchData* copy) noexcept nogil:
    """Copy the terms with their text, and nothing else, into an empty BatchData."""
    if (
        duplicate(<void**>&copy.text, b.text, b.n_text, 1) < 0
        or duplicate(<void**>&copy.start, b.start, b.n_terms + 1, sizeof(int64_t)) < 0
    ):
        return NO_MEMORY
    copy.n_text = copy.cap_text = b.n_text
    return copy_kinds(b, copy)


cdef int stand_as(Batch made, Batch batch) except -1:
    """Give an empty Batch the place of another one in its stream, and its variables."""
    made.first_row, made.first_frame, made.options = batch.first_row, batch.first_frame, batch.options
    if batch.variables is not None:
        make_results(made, batch.variables, made.a.cap_rows)
    return 0


cdef Batch like(Batch batch, int arity, int64_t rows, int64_t terms, int64_t text, int64_t text_limit):
    """An empty Batch at the place of another one, with room for a number of rows, terms and bytes of text."""
    cdef Batch made = new_batch(arity, max(rows, 1), terms, text, text_limit)
    stand_as(made, batch)
    return made


cdef void append_ids(int32_t* out, const int32_t* ids, int64_t n, int32_t shift) noexcept nogil:
    """Copy term ids, shifted by the number of existing terms; NO_TERM stays."""
    cdef int64_t i
    for i in range(n):
        out[i] = ids[i] + shift if ids[i] >= 0 else NO_TERM


cdef void append_arena(BatchData* b, BatchData* more) noexcept nogil:
    """Copy terms and rows; there must be room for them."""
    cdef int32_t shift = b.n_terms
    cdef int32_t* ids
    cdef int64_t i
    cdef int slot
    if more.n_text:
        memcpy(b.text + b.n_text, more.text, more.n_text)
    if more.n_terms:
        memcpy(b.kind + shift, more.kind, more.n_terms)
    for i in range(more.n_terms):
        b.start[shift + i + 1] = b.n_text + more.start[i + 1]
        b.aux[shift + i] = more.aux[i]
        if among(more.kind[i], ATTRIBUTED):
            b.aux[shift + i] += shift
        elif among(more.kind[i], COMPOUND):
            b.aux[shift + i] += b.n_quoted
    if more.n_quoted:
        append_ids(b.quoted + 3 * b.n_quoted, more.quoted, 3 * more.n_quoted, shift)
    append_ids(b.cells + b.n_rows * b.width, more.cells, more.n_rows * b.width, shift)
    for slot in range(b.arity):
        ids = column_of(b, slot)[0] + b.n_rows
        if slot < more.arity:
            append_ids(ids, column_of(more, slot)[0], more.n_rows, shift)
        else:
            memset(ids, 0xFF, more.n_rows * sizeof(int32_t))  # NO_TERM
    b.n_text += more.n_text
    b.n_terms += more.n_terms
    b.n_quoted += more.n_quoted
    b.n_rows += more.n_rows


cdef int reserve_quoted(BatchData* b, int64_t n) except -1:
    """Make room for a number of quoted triples."""
    b.quoted = <int32_t*>malloc(3 * n * sizeof(int32_t))
    if b.quoted == NULL:
        raise MemoryError
    b.cap_quoted = <int32_t>n
    return 0


def join_batches(list batches not None) -> Batch:
    """Concatenate the rows of Batches, as quads if any Batch has quads. Frames and namespaces are left out.

    Query results can be joined where all have the same variables. ValueError where they have not, where some are
    statements, or where one is a Batch of a patch; OverflowError where the terms are too many for one Batch.

    >>> import jelly
    >>> one, two = (next(jelly.scan(text, format="nt").batches()) for text in (b"<a:s> <a:p> <a:o> .", b'_:b <a:p> "o"@en .'))
    >>> both = join_batches([one, two])
    >>> len(both), both.term(both.s[0]), both.term(both.o[1])
    (2, '<a:s>', '"o"@en')
    """
    cdef Batch batch, joined
    cdef Batch first = batches[0] if batches else None
    cdef int64_t rows = 0, terms = 0, text = 0, quoted = 0
    cdef int arity = 3
    cdef tuple variables = None if first is None else first.variables
    for batch in batches:
        if batch is None:
            raise JellyArgumentError("expected Batches, got None")
        if batch.a.op != NULL:
            raise JellyArgumentError("a Batch of a patch cannot be joined")
        if batch.variables != variables:
            raise JellyArgumentError(f"Batches of the variables {variables} and {batch.variables} cannot be joined")
        arity = max(arity, batch.a.arity)
        rows += batch.a.n_rows
        terms += batch.a.n_terms
        text += batch.a.n_text
        quoted += batch.a.n_quoted
    if terms > 0x7FFFFFF0:
        raise OverflowError(f"{terms} terms are too many for one Batch")
    joined = new_batch(arity, max(rows, 1), max(terms, 1), max(text, 1), max(text, 1))
    if variables is not None:
        make_results(joined, variables, rows)
    if quoted:
        reserve_quoted(&joined.a, quoted)
    for batch in batches:
        append_arena(&joined.a, &batch.a)
    return joined


def number_rows(Batch batch not None, int64_t first_row) -> Batch:
    """Say where in its stream a Batch stands, before anybody else has it."""
    batch.first_row = first_row
    return batch
