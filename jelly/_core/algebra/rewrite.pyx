"""Rows of a Batch for another one, whose terms have other ids."""

from libc.string cimport memcpy, memset

from jelly._core.base.batch cimport NO_TERM, RESULTS, column_of, grow_rows
from jelly._core.base.batch_concat cimport copy_marks
from jelly._core.base.fault cimport NO_MEMORY, OK


cdef void copy_ids(
    const int32_t* ids, int32_t* out, int64_t width, int64_t first, const int64_t* rows, int64_t n
) noexcept nogil:
    """Copy some rows of `width` ids."""
    cdef int64_t i, k
    if rows == NULL:
        memcpy(out, ids + width * first, n * width * sizeof(int32_t))
        return
    for i in range(n):
        for k in range(width):
            out[width * i + k] = ids[width * rows[i] + k]


cdef int map_cells(
    BatchData* b, BatchData* target, int64_t first, const int64_t* rows, int64_t n, int32_t* moved
) noexcept nogil:
    """`map_rows` for query results."""
    cdef int64_t i, k
    cdef const int32_t* ids
    cdef int32_t* cells = target.cells + target.n_rows * target.width
    if moved == NULL:
        copy_ids(b.cells, cells, b.width, first, rows, n)
        return OK
    for i in range(n):
        ids = b.cells + b.width * (rows[i] if rows != NULL else first + i)
        for k in range(b.width):
            cells[k] = moved_id(b, ids[k], target, moved)
            if cells[k] < NO_TERM:
                return cells[k]
        cells += b.width
    return OK


cdef int map_rows(
    BatchData* b, BatchData* target, int64_t first, const int64_t* rows, int64_t n, int32_t* moved
) noexcept nogil:
    """Append `n` rows of `b` to the target: those with the numbers `rows`, without them those from `first` on.

    `moved` has the ids of terms in the target plus 1, or 0 for terms that are not there yet, which are copied when a row
    has them. Without `moved` the ids stay. Columns g and op are filled if the target has them. A negative code where
    there is no room.
    """
    cdef int64_t i, row, begin
    cdef int32_t found
    cdef int slot, status
    cdef int width = 3 if b.g == NULL or target.g == NULL else 4
    while target.cap_rows - target.n_rows < n:
        if grow_rows(target) < 0:
            return NO_MEMORY
    begin = target.n_rows
    if b.arity == RESULTS:
        status = map_cells(b, target, first, rows, n, moved)
        target.n_rows += n if status == OK else 0
        return status
    if moved == NULL:
        for slot in range(width):
            copy_ids(column_of(b, slot)[0], column_of(target, slot)[0] + begin, 1, first, rows, n)
    else:
        for i in range(n):
            row = rows[i] if rows != NULL else first + i
            for slot in range(width):
                found = moved_id(b, column_of(b, slot)[0][row], target, moved)
                if found < NO_TERM:
                    return found
                column_of(target, slot)[0][begin + i] = found
    if width == 3 and target.g != NULL:
        memset(target.g + begin, 0xFF, n * sizeof(int32_t))  # NO_TERM
    if target.op != NULL and b.op != NULL:
        for i in range(n):
            target.op[begin + i] = b.op[rows[i] if rows != NULL else first + i]
    target.n_rows += n
    return OK


cdef int map_marks(BatchData* b, BatchData* target, int32_t* moved) noexcept nogil:
    """Copy frames, metadata and namespaces to a target that has the same rows."""
    cdef int64_t i
    if copy_marks(b, target) < 0:
        return NO_MEMORY
    for i in range(b.n_names):
        target.names[i].name = moved_id(b, b.names[i].name, target, moved)
        target.names[i].iri = moved_id(b, b.names[i].iri, target, moved)
        if target.names[i].name < 0 or target.names[i].iri < 0:
            return NO_MEMORY
    return OK
