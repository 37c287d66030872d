"""Statements of the default graph as statements of a named graph."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport (
    KIND_BNODE, KIND_IRI, NO_TERM, Batch, BatchData, add_row, add_term, need_statements, new_batch,
)
from jelly._core.base.batch_concat cimport copy_marks, copy_terms
from jelly._core.base.fault cimport NO_MEMORY, OK

from jelly.errors import JellyArgumentError


cdef int put_rows(const BatchData* b, BatchData* copy, int32_t graph) noexcept nogil:
    """Append all rows, with a graph for those that have none."""
    cdef int64_t row
    cdef int32_t g
    for row in range(b.n_rows):
        g = b.g[row] if b.g != NULL else NO_TERM
        if add_row(copy, b.s[row], b.p[row], b.o[row], graph if g == NO_TERM else g) < 0:
            return NO_MEMORY
    return OK


def name_default_graph(Batch batch not None, int kind, bytes text not None) -> Batch:
    """The Batch as one of quads, whose statements without a graph are in the graph with this name.

    ``kind`` is `Kind.IRI` or `Kind.BNODE`, and ``text`` the IRI or the label. Other graphs keep their names.

    >>> import jelly
    >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
    >>> print(*name_default_graph(batch, 1, b"a:g"))
    <a:s> <a:p> <a:o> <a:g> .
    """
    cdef BatchData* b = &batch.a
    cdef const uint8_t* name = <const uint8_t*><const char*>text
    cdef int64_t n = len(text)
    cdef int status
    cdef int32_t graph = NO_TERM
    cdef Batch copy
    need_statements(batch)
    if b.op != NULL or kind not in (KIND_IRI, KIND_BNODE):
        raise JellyArgumentError("expected statements, and an IRI or a blank node as the name of a graph")
    copy = new_batch(4, max(b.n_rows, 1), 16, 256, max(b.text_limit, b.n_text + n + 64))
    copy.first_row, copy.first_frame, copy.options = batch.first_row, batch.first_frame, batch.options
    with nogil:
        status = copy_terms(b, &copy.a)
        if status == OK:
            graph = add_term(&copy.a, kind, NO_TERM, name, n)
            status = OK if graph >= 0 else graph
        if status == OK:
            status = put_rows(b, &copy.a, graph)
        if status == OK:
            status = copy_marks(b, &copy.a)
    if status < 0:
        raise MemoryError
    return copy
