"""Terms of pyoxigraph to and from all formats.

>>> import jelly.oxigraph
>>> [str(triple) for triple in jelly.oxigraph.read(b'<a:s> <a:p> "o"@en .', format="nt")]
['<a:s> <a:p> "o"@en']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from jelly._bytes.names import name_of
from jelly._core.base.batch import Batch
from jelly._core.terms.quad_builder import QuadBatchBuilder
from jelly._core.terms.term_adapter import TermAdapter
from jelly._dataset.read import uniform_batches
from jelly._formats.guards import PieceFile
from jelly._formats.registry import READING, WRITING
from jelly._formats.syntaxes import BATCH_BYTES, CLASSES, Quads, library_of, ox, refusal
from jelly._options.options import StreamOptions
from jelly._options.settings import checked
from jelly._public import name_public
from jelly._streams.outputs import COLLECT_ROWS
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError, JellyError, memory_error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions, WriteOptions

__all__ = ["library", "load", "read", "write"]

# Rows of a Batch that is read: its terms are made anew, which takes longer for those of pyoxigraph than for ours.
BATCH_ROWS = 8192


def library() -> TermAdapter:
    """Make the adapter for terms of pyoxigraph: the ``library`` of `jelly.Writer` and `jelly.Reader.frames`.

    Examples
    --------
    >>> import jelly
    >>> frames = jelly.Reader(b"<a:s> <a:p> <a:o> .", format="nt").frames(library())
    >>> [str(triple) for frame in frames for triple in frame]
    ['<a:s> <a:p> <a:o>']
    """
    return library_of()


@checked(READING, {"blank_nodes", "skolem_base", "rename_blank_nodes"})
def read(
    src: Any,
    *,
    without_named_graphs: bool = False,
    **options: Unpack[ReadOptions],
) -> Iterator[Any]:
    """Read statements as Triples or Quads of pyoxigraph, from any format. Memory stays bounded.

    IRIs are not validated. Language tags are in lower case, as always in pyoxigraph.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs.
    without_named_graphs : bool, default False
        Raise an error for a statement in a named graph.
    **options : Unpack[ReadOptions]
        Shared keywords, see `jelly.ReadOptions`. ``rename_blank_nodes=True`` gives blank nodes new labels, so that
        nodes of several files stay apart.

    Raises
    ------
    JellyUnsupportedError
        If pyoxigraph cannot hold a statement: it has quoted triples as objects only and no generalized statements.

    Examples
    --------
    >>> import jelly.oxigraph
    >>> for triple in jelly.oxigraph.read(b'<a:s> <a:p> "o"@en .', format="nt"):
    ...     print(triple.object)
    "o"@en
    """
    given: dict[str, Any] = {"batch_rows": BATCH_ROWS, **options}
    asked = {
        "rename_blank_nodes": bool(given.pop("rename_blank_nodes", False)),
        "without_named_graphs": bool(without_named_graphs),
    }
    batches = uniform_batches(src, given)
    return _parsed(batches, asked) if any(asked.values()) else _statements(batches)


def _makers() -> dict[int, Quads]:
    return {arity: Quads(arity == 4) for arity in (3, 4)}


def _statements(batches: Iterable[Batch]) -> Iterator[Any]:
    makers = _makers()
    for batch in batches:
        try:
            yield from makers[batch.arity].of(batch)
        except SyntaxError as error:
            raise refusal("pyoxigraph", error, batch.first_row, len(batch.quoted) > 0) from None


def _parsed(batches: Iterable[Batch], settings: dict[str, Any]) -> Iterator[Any]:
    """The statements of Batches, parsed by one parser, so that a label is the same node in all of them."""
    makers = _makers()
    kinds: deque[Iterator[int]] = deque()  # the arity of each row of the Batches that were given to the parser

    def pieces() -> Iterator[bytes]:
        for batch in batches:
            kinds.append(repeat(batch.arity, len(batch)))
            yield makers[batch.arity].text_of(batch)

    file: Any = PieceFile(pieces())
    quads = ox.parse(file, ox.RdfFormat.N_QUADS, lenient=True, **settings)
    arities = chain.from_iterable(iter(kinds.popleft, None))
    row = 0
    try:
        # One line is one statement.
        for quad in quads:
            row += 1
            yield quad if next(arities) == 4 else quad.triple
    except SyntaxError as error:
        error.lineno = None  # does not get all errors
        raise refusal("pyoxigraph", error, row) from None


@checked(WRITING)
def write(
    dst: Any,
    statements: Iterable[Any],
    options: StreamOptions | Mapping[str, Any] | None = None,
    **settings: Unpack[WriteOptions],
) -> int:
    """Write Quads or Triples of pyoxigraph in any format.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    statements : iterable of pyoxigraph.Quad or of pyoxigraph.Triple
        The statements. The first one decides which of the two all must be.
    options : StreamOptions or mapping, optional
        Options of a Jelly stream, or some of their fields.
    **settings : Unpack[WriteOptions]
        Shared keywords, see `jelly.WriteOptions`.

    Raises
    ------
    JellyArgumentError
        If the statements are not all of one class.

    Examples
    --------
    >>> import io, jelly.oxigraph, pyoxigraph
    >>> quads = pyoxigraph.parse(b"<a:s> <a:p> <a:o> .", pyoxigraph.RdfFormat.TURTLE)
    >>> jelly.oxigraph.write(io.BytesIO(), quads)
    1
    """
    with Writer(dst, options, **settings) as writer:
        for batch in batches_of(statements):
            writer.add_batch(batch)
    return writer.statements


def batches_of(statements: Iterable[Any]) -> Iterator[Batch]:
    """The Batches of Quads or Triples of pyoxigraph, as `write` takes them."""
    iterator = iter(statements)
    first = list(islice(iterator, 1))
    if not first:
        return
    kind = ox.Triple if type(first[0]) is ox.Triple else ox.Quad
    intake = QuadBatchBuilder(3 if kind is ox.Triple else 4, classes=CLASSES)
    rest = _checked(chain(first, iterator), kind)
    more = True
    while more:
        more = intake.extend(rest, COLLECT_ROWS, BATCH_BYTES)
        if (batch := intake.take()) is not None:
            yield batch


def _checked(statements: Iterable[Any], kind: type) -> Iterator[Any]:
    for statement in statements:
        if type(statement) is not kind:
            raise JellyArgumentError(f"expected one more {kind.__name__} of pyoxigraph, got {type(statement).__name__}")
        yield statement


@checked(READING)
def load(store: Any, src: Any, *, to_graph: Any = None, **options: Unpack[ReadOptions]) -> int:
    """Load statements of any format into a pyoxigraph ``Store`` with its ``bulk_load``.

    Blank nodes get new labels, so that nodes of different files stay apart. To keep the labels, pass the result of
    `read` to ``store.bulk_extend``.

    Parameters
    ----------
    store : pyoxigraph.Store
        The store.
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs.
    to_graph : pyoxigraph.NamedNode or pyoxigraph.BlankNode, optional
        Graph for triples. By default the default graph.
    **options : Unpack[ReadOptions]
        Shared keywords, see `jelly.ReadOptions`.

    Raises
    ------
    JellyError
        If the input is wrong, or if ``to_graph`` is given and the input has quads.

    Examples
    --------
    >>> import jelly.oxigraph, pyoxigraph
    >>> store = pyoxigraph.Store()
    >>> jelly.oxigraph.load(store, b"<a:s> <a:p> <a:o> .", format="nt"), len(store)
    (1, 1)
    """
    if not hasattr(store, "bulk_load"):
        raise JellyArgumentError(f"store is {store!r:.80}: expected a pyoxigraph.Store")
    if to_graph is not None and not isinstance(to_graph, ox.NamedNode | ox.BlankNode | ox.DefaultGraph):
        raise JellyArgumentError(f"to_graph is {to_graph!r:.80}: expected a node or DefaultGraph of pyoxigraph")
    # Their labels are only kept apart: the store gives new ones.
    return fill(store, uniform_batches(src, {**options}), to_graph, name_of(src) or None)


def fill(store: Any, batches: Iterable[Batch], to_graph: Any = None, name: str | None = None) -> int:
    """Load Batches into a store as `load` does, which come from the source of this name."""
    n = 0

    def pieces() -> Iterator[bytes]:
        nonlocal n
        makers = _makers()
        for batch in batches:
            if to_graph is not None and batch.arity == 4:
                raise JellyError("to_graph is for triples, and these are quads", source=name)
            n += len(batch)
            yield makers[batch.arity].text_of(batch)

    file: Any = PieceFile(pieces())
    format = ox.RdfFormat.N_TRIPLES if to_graph is not None else ox.RdfFormat.N_QUADS
    try:
        store.bulk_load(file, format, to_graph=to_graph, lenient=True)
    except MemoryError as error:
        raise memory_error(error, source=name) from None
    except SyntaxError as error:
        raise refusal("pyoxigraph", error, 0) from None
    return n


name_public(__name__, __all__, globals())
