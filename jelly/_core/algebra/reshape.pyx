"""Statements as query results, and results of three or four columns as statements."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from jelly._core.algebra.content cimport memory_of
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, column_of, make_results, need_statements, new_batch
from jelly._core.base.batch_concat cimport copy_terms
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.fault cimport OK

import numpy

from jelly.errors import JellyArgumentError, JellyFormatError, JellyOptionsError


def as_results(Batch batch not None, tuple variables not None) -> Batch:
    """The statements of a Batch as rows of three variables, or of four: then the default graph is unbound.

    >>> import jelly
    >>> [batch] = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()
    >>> as_results(batch, ("s", "p", "o", "g")).cells.tolist()
    [[0, 1, 2, -1]]
    """
    cdef BatchData* b = &batch.a
    cdef int64_t width = len(variables)
    cdef Batch made
    need_statements(batch)
    if b.op != NULL or (width == 3 and b.g != NULL):
        raise JellyOptionsError(f"{'patches' if b.op != NULL else 'quads'} cannot be rows of {width} variables")
    columns = [batch.s, batch.p, batch.o, numpy.full(b.n_rows, NO_TERM, numpy.int32) if b.g == NULL else batch.g]
    made = in_cells(batch, variables, numpy.stack(columns[:width], axis=1))
    made.first_row = batch.first_row
    return made


def in_cells(Batch batch, tuple variables not None, cells not None) -> Batch:
    """The terms of a Batch, or of None none, in rows of results: ``cells`` has a row of ids for each, -1: unbound.

    >>> import jelly, numpy
    >>> [batch] = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()
    >>> list(in_cells(batch, ("x",), numpy.array([[2], [-1]])))
    [(IRI('a:o'),), (None,)]
    """
    cdef Batch made = new_batch(3, 1, 1, 1, NO_LIMIT if batch is None else batch.a.text_limit)
    if batch is not None and copy_terms(&batch.a, &made.a) != OK:
        raise MemoryError
    cells = numpy.ascontiguousarray(cells, numpy.int32)
    if cells.shape != (len(cells), len(variables)) or (cells.size and not -1 <= cells.min() <= cells.max() < made.a.n_terms):
        raise JellyArgumentError("the cells are not one for each variable and row, or no ids of terms")
    make_results(made, variables, max(<int64_t>len(cells), 1))
    if cells.size:
        memcpy(made.a.cells, memory_of(cells), cells.nbytes)
    made.a.n_rows = len(cells)
    return made


def as_statements(Batch batch not None) -> Batch:
    """The rows of a Batch of three or four variables as triples or quads: subject, predicate, object and graph.

    JellyFormatError where a subject, predicate or object is unbound.

    >>> import jelly
    >>> [batch] = jelly.results.read_results(b"?a\\t?b\\t?c\\n<a:s>\\t<a:p>\\t1\\n", format="tsv").batches()
    >>> [str(statement) for statement in as_statements(batch).statements()]
    ['<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .']
    """
    cdef BatchData* b = &batch.a
    cdef int width = <int>b.width
    cdef int slot
    cdef int64_t i
    cdef int32_t* cells = b.cells
    if batch.variables is None or not 3 <= width <= 4:
        raise JellyOptionsError(f"results of {width} variables are no statements: expected 3, or 4 with the graph")
    cdef Batch made = new_batch(width, max(b.n_rows, 1), 1, 1, b.text_limit)
    made.first_row = batch.first_row
    if copy_terms(b, &made.a) != OK:
        raise MemoryError
    for i in range(b.n_rows):
        for slot in range(width):
            column_of(&made.a, slot)[0][i] = cells[slot]
        if cells[0] == NO_TERM or cells[1] == NO_TERM or cells[2] == NO_TERM:
            raise JellyFormatError(
                "a row has no subject, predicate or object: it is no statement", row=batch.first_row + i
            )
        cells += width
    made.a.n_rows = b.n_rows
    return made
