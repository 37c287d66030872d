"""Statements of the default graph as statements of a named graph."""

from jelly._core.base.batch import Batch

def name_default_graph(batch: Batch, kind: int, text: bytes) -> Batch:
    """The Batch as one of quads, whose statements without a graph are in the graph with this name.

    ``kind`` is `Kind.IRI` or `Kind.BNODE`, and ``text`` the IRI or the label. Other graphs keep their names.

    >>> import jelly
    >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
    >>> print(*name_default_graph(batch, 1, b"a:g"))
    <a:s> <a:p> <a:o> <a:g> .
    """
