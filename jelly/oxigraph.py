"""The terms of pyoxigraph in and out of every format.

>>> import jelly.oxigraph
>>> [str(triple) for triple in jelly.oxigraph.read(b'<a:s> <a:p> "o"@en .', format="nt")]
['<a:s> <a:p> "o"@en']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.terms.quad_builder import QuadBatchBuilder
from jelly._formats.syntaxes import BATCH_BYTES, CLASSES, PieceFile, Quads, library_of, ox, refusal
from jelly._io.limits import memory_error
from jelly._io.reader import COLLECT_ROWS, READ_ROWS, Reader, Writer
from jelly._options import StreamOptions
from jelly.errors import JellyError

__all__ = ["library_of", "load", "ox", "read", "write"]


def read(
    src: Any, *, rename_blank_nodes: bool = False, without_named_graphs: bool = False, **settings: Any
) -> Iterator[Any]:
    """The statements of ``src``, in any format, as pyoxigraph's Triples or Quads. Memory stays flat.

    ``src`` and ``settings`` are those of `jelly.Reader`. pyoxigraph holds quoted triples as objects only and no
    generalized statements: others raise `JellyUnsupportedError`. Its language tags are in lower case. IRIs are not
    checked.

    As in ``pyoxigraph.parse``, ``rename_blank_nodes=True`` gives blank nodes new labels, so that those of several files
    are never taken for one another, and ``without_named_graphs=True`` raises `JellyUnsupportedError` for a statement in
    a named graph. Both are False by default.

    >>> import jelly.oxigraph
    >>> for triple in jelly.oxigraph.read(b'<a:s> <a:p> "o"@en .', format="nt"):
    ...     print(triple.object)
    "o"@en
    """
    batches = Reader(src, **({"batch_rows": READ_ROWS} | settings)).batches()
    if not rename_blank_nodes and not without_named_graphs:
        return _statements(batches)
    return _parsed(batches, {"rename_blank_nodes": rename_blank_nodes, "without_named_graphs": without_named_graphs})


def _statements(batches: Iterable[Batch]) -> Iterator[Any]:
    makers = {arity: Quads(arity == 4, None) for arity in (3, 4)}
    for batch in batches:
        try:
            yield from makers[batch.arity].of(batch)
        except SyntaxError as error:
            raise refusal("pyoxigraph", error, batch.first_row, len(batch.quoted) > 0) from None


def _parsed(batches: Iterable[Batch], settings: dict[str, Any]) -> Iterator[Any]:
    """The statements of Batches by one parser, to which a label means one node in all of them."""
    makers = {arity: Quads(arity == 4, None) for arity in (3, 4)}
    kinds: deque[tuple[int, int]] = deque()  # rows and arity of the Batches that the parser has got

    def pieces() -> Iterator[bytes]:
        for batch in batches:
            kinds.append((len(batch), batch.arity))
            yield makers[batch.arity].text_of(batch)

    file: Any = PieceFile(pieces())
    quads = ox.parse(file, ox.RdfFormat.N_QUADS, lenient=True, **settings)
    row = 0
    try:
        # One line is one statement.
        for quad in quads:
            row += 1
            while not kinds[0][0]:
                kinds.popleft()
            rows, arity = kinds[0]
            kinds[0] = (rows - 1, arity)
            yield quad if arity == 4 else quad.triple
    except SyntaxError as error:
        error.lineno = None  # is not told of all errors
        raise refusal("pyoxigraph", error, row) from None


def write(dst: Any, statements: Iterable[Any], options: StreamOptions | None = None, **settings: Any) -> int:
    """Write Quads, or Triples, of pyoxigraph to ``dst`` in any format; the number of them.

    ``dst``, ``options`` and ``settings`` are those of `jelly.Writer`; the first statement tells whether all are Quads.

    >>> import io, jelly.oxigraph, pyoxigraph
    >>> quads = pyoxigraph.parse(b"<a:s> <a:p> <a:o> .", pyoxigraph.RdfFormat.TURTLE)
    >>> jelly.oxigraph.write(io.BytesIO(), quads)
    1
    """
    iterator = iter(statements)
    first = list(islice(iterator, 1))
    with Writer(dst, options, **settings) as writer:
        if not first:
            return 0
        kind = ox.Triple if type(first[0]) is ox.Triple else ox.Quad
        intake = QuadBatchBuilder(3 if kind is ox.Triple else 4, CLASSES)
        rest = _checked(chain(first, iterator), kind)
        more = True
        while more:
            more = intake.extend(rest, COLLECT_ROWS, BATCH_BYTES)
            if (batch := intake.take()) is not None:
                writer.add_batch(batch)
    return writer.statements


def _checked(statements: Iterable[Any], kind: type) -> Iterator[Any]:
    for statement in statements:
        if type(statement) is not kind:
            raise TypeError(f"expected one more {kind.__name__} of pyoxigraph, got {type(statement).__name__}")
        yield statement


def load(store: Any, src: Any, *, to_graph: Any = None, **settings: Any) -> int:
    """Load ``src``, in any format, into a pyoxigraph ``Store`` by its ``bulk_load``; the number of statements.

    Triples go into the graph ``to_graph``, by default the default graph. Blank nodes are new ones, so that nodes of
    different files are never mixed up; for those with the labels that they have, give `read` to ``bulk_extend``. See
    `read` for the rest.

    >>> import jelly.oxigraph, pyoxigraph
    >>> store = pyoxigraph.Store()
    >>> jelly.oxigraph.load(store, b"<a:s> <a:p> <a:o> .", format="nt"), len(store)
    (1, 1)
    """
    reader = Reader(src, **settings)

    def pieces() -> Iterator[bytes]:
        makers = {arity: Quads(arity == 4, None) for arity in (3, 4)}
        for batch in reader.batches():
            if to_graph is not None and batch.arity == 4:
                raise JellyError("to_graph is for triples, and these are quads", source=reader.source.name or None)
            yield makers[batch.arity].text_of(batch)

    file: Any = PieceFile(pieces())
    format = ox.RdfFormat.N_TRIPLES if to_graph is not None else ox.RdfFormat.N_QUADS
    try:
        store.bulk_load(file, format, to_graph=to_graph, lenient=True)
    except MemoryError as error:
        raise memory_error(error, source=reader.source.name or None) from None
    except SyntaxError as error:
        raise refusal("pyoxigraph", error, 0) from None
    return reader.statements
