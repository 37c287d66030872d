"""Statements of the default graph as statements of a named graph."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.algebra.rewrite cimport map_marks, map_rows
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, add_term, need_statements
from jelly._core.base.batch_concat cimport copy_terms, like
from jelly._core.base.fault cimport OK
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI

from jelly.errors import JellyArgumentError


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
    cdef int64_t row
    cdef Batch copy
    need_statements(batch)
    if b.op != NULL or kind not in (KIND_IRI, KIND_BNODE):
        raise JellyArgumentError("expected statements, and an IRI or a blank node as the name of a graph")
    copy = like(batch, 4, b.n_rows, 16, 256, max(b.text_limit, b.n_text + n + 64))
    with nogil:
        status = copy_terms(b, &copy.a)
        if status == OK:
            graph = add_term(&copy.a, kind, NO_TERM, name, n)
            status = OK if graph >= 0 else graph
        if status == OK:
            status = map_rows(b, &copy.a, 0, NULL, b.n_rows, NULL)
            for row in range(copy.a.n_rows):
                if copy.a.g[row] == NO_TERM:
                    copy.a.g[row] = graph
        if status == OK:
            status = map_marks(b, &copy.a, NULL)
    if status < 0:
        raise MemoryError
    return copy
