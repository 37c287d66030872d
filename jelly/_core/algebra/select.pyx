"""Some rows of a Batch as a Batch of their own."""

from libc.stdint cimport int8_t
from libc.string cimport memcpy

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.rewrite cimport map_rows
from jelly._core.base.batch cimport add_operations, add_row, need_statements, new_batch
from jelly._core.base.batch_concat cimport copy_terms, like
from jelly._core.base.fault cimport OK

import numpy

from jelly.errors import JellyArgumentError

cdef enum:
    # Where at least so many of 100 rows are wanted, all terms are copied at once, which is faster than one by one.
    MANY = 75


cdef object row_numbers(object rows, int64_t n):
    """Rows as int64 numbers within 0 to `n`."""
    rows = numpy.asarray(rows)
    if rows.ndim != 1:
        raise JellyArgumentError("rows must be a one-dimensional array of numbers or of bool, or a slice")
    if rows.dtype == numpy.bool_:
        if len(rows) != n:
            raise IndexError(f"{len(rows)} truth values do not fit {n} rows")
        return numpy.flatnonzero(rows).astype(numpy.int64, copy=False)
    if len(rows) == 0:
        return numpy.empty(0, numpy.int64)
    if rows.dtype.kind not in "iu":
        raise JellyArgumentError(f"rows must be numbers or bool, not {rows.dtype}")
    if rows.min() < 0 or rows.max() >= n:
        raise IndexError(f"rows {rows.min()} to {rows.max()} are not within 0 to {n}")
    return numpy.ascontiguousarray(rows, numpy.int64)


def select(Batch batch not None, rows, *, op=None, bint quads=False, bint triples=False) -> Batch:
    """Some rows of a Batch, with the terms that they use; frames, namespaces and metadata are left out. Where most rows
    are wanted, all terms are kept.

    ``rows`` are numbers in any order, which may repeat, a bool for each row, or a slice. With ``quads`` triples become
    quads of the default graph, with ``triples`` quads lose their graphs. ``op`` makes the rows those of a patch: a code
    for all, or one for each (see `jelly.patch.Patch.batches`); 0 makes those of a patch statements. By default they stay
    what they are. Query results can only stay what they are. IndexError for rows that are not there.

    >>> import jelly
    >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:x> .\\n<a:s> <a:p> <a:y> .", format="nt").batches())
    >>> batch.n_terms, select(batch, [1])
    (4, <jelly.Batch: 1 triples, 3 terms, 0 frame ends>)
    """
    cdef BatchData* b = &batch.a
    cdef const int8_t* op_at = NULL
    cdef int32_t* moved = NULL
    cdef int status = OK
    cdef const int64_t* row_at = NULL
    cdef int64_t first = 0
    cdef int64_t n = 0
    if quads or triples or op is not None:
        need_statements(batch)
    if type(rows) is slice and rows.step is None:
        first, n, _ = rows.indices(b.n_rows)
        n = max(n - first, 0)
    else:
        rows = row_numbers(numpy.arange(b.n_rows)[rows] if type(rows) is slice else rows, b.n_rows)
        n = len(rows)
        if n:
            row_at = <const int64_t*>memory_of(rows)
            first = row_at[0]
    cdef bint share = 100 * n >= MANY * b.n_rows
    cdef bint patch = b.op != NULL if op is None else not (type(op) is int and op == 0)
    if patch and op is not None:
        op = numpy.full(n, op, numpy.int8) if type(op) is int else numpy.ascontiguousarray(op, numpy.int8)
        if op.ndim != 1 or len(op) != n:
            raise JellyArgumentError(f"{op.size} operations do not fit {n} rows")
        op_at = <const int8_t*>memory_of(op)
    cdef int arity = 4 if quads or (b.g != NULL and not triples) else 3
    cdef Batch made = like(batch, arity, n, b.n_terms if share else 16, b.n_text if share else 256, b.text_limit)
    made.first_row += first
    if patch and add_operations(&made.a) < 0:
        raise MemoryError
    if not share:
        known = numpy.zeros(b.n_terms, numpy.int32)
        moved = <int32_t*>memory_of(known)
    with nogil:
        if share:
            status = copy_terms(b, &made.a)
        if status == OK:
            status = map_rows(b, &made.a, first, row_at, n, moved)
        if status == OK and op_at != NULL:
            memcpy(made.a.op, op_at, n)
    if status < 0:
        raise MemoryError
    return made


cdef Batch rows_of_terms(BatchData* b, object terms):
    """A Batch with all terms of `b` and a row for each of some terms, by number."""
    cdef object numbers = row_numbers(terms, b.n_terms)
    cdef const int64_t* wanted = <const int64_t*>memory_of(numbers)
    cdef int64_t i
    cdef int64_t n = len(numbers)
    cdef int32_t[4] ids
    cdef int status
    cdef Batch made = new_batch(3, max(n, 1), 1, 1, <int64_t>1 << 62)
    with nogil:
        status = copy_terms(b, &made.a)
        for i in range(n):
            if status == OK:
                ids[0] = ids[1] = ids[2] = <int32_t>wanted[i]
                status = add_row(&made.a, ids)
    if status < 0:
        raise MemoryError
    return made


def term_rows(Batch batch not None, terms) -> Batch:
    """A Batch with the same terms, and a row for each of ``terms``, numbers of them: with the term as subject, predicate
    and object, so that what makes columns of objects makes columns of terms. IndexError for terms that are not there.

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "x"@en .', format="nt").batches())
    >>> made = term_rows(batch, [batch.o[0], batch.s[0]])
    >>> [made.term(term) for term in made.o]
    ['"x"@en', '<a:s>']
    """
    return rows_of_terms(&batch.a, terms)
