"""Jelly and other formats to RDFLib terms and graphs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from rdflib import BNode, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Dataset, Graph
from rdflib.parser import InputSource, Parser
from rdflib.plugins.stores.memory import Memory, SimpleMemory
from rdflib.store import Store

from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.term_adapter import TermAdapter
from jelly._dataset.read import uniform_batches
from jelly._formats.registry import READING, Content
from jelly._options.options import PhysicalType
from jelly._options.settings import checked
from jelly._streams.reader import Reader
from jelly.errors import JellyArgumentError, JellyError, JellyUnsupportedError
from jelly.rdflib._terms import default_graph, term_adapter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

# Maximum rows of a Batch of `read`: terms are large, and all terms of a Batch are in memory.
ROWS = 2048
# Terms remembered for a graph: its store compares equal terms slowly unless they are one object.
GRAPH_MEMO = 1 << 17


@checked(READING, {"blank_nodes", "skolem_base"})
def read(src: Any, **options: Unpack[ReadOptions]) -> Iterator[tuple[Any, ...]]:
    """Read statements one by one as tuples of 3 or 4 RDFLib terms. Memory stays bounded.

    The fourth term is the name of the graph, ``rdflib.graph.DATASET_DEFAULT_GRAPH_ID`` for the default graph.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs.
    **options : Unpack[ReadOptions]
        Shared keywords, see `jelly.ReadOptions`.

    Raises
    ------
    JellyUnsupportedError
        If RDFLib cannot hold a term.

    Examples
    --------
    >>> from jelly.rdflib import read
    >>> [(str(s), o.language) for s, p, o in read(b'<a:s> <a:p> "o"@en .', format="nt")]
    [('a:s', 'en')]
    """
    found: Iterator[Any] = StatementIterator(uniform_batches(src, {"batch_rows": ROWS, **options}), library())
    return found


def library() -> TermAdapter:
    """Make the adapter for terms of RDFLib: the ``library`` of `jelly.Writer` and `jelly.Reader.frames`.

    The name of the default graph is ``rdflib.graph.DATASET_DEFAULT_GRAPH_ID``.

    Examples
    --------
    >>> import io, jelly, rdflib
    >>> from jelly.rdflib import library
    >>> out = io.BytesIO()
    >>> with jelly.Writer(out, {"physical_type": 1, "logical_type": 3}, library=library()) as frames:
    ...     for number in (b"1", b"2"):
    ...         frames.add((rdflib.RDF.type, rdflib.RDF.type, rdflib.Literal(number.decode())))
    ...         frames.end_frame({"number": number})
    >>> [frame.metadata for frame in jelly.Reader(out.getvalue()).frames(library())]
    [{'number': b'1'}, {'number': b'2'}]
    """
    return term_adapter(default=DATASET_DEFAULT_GRAPH_ID)


@checked(READING)
def read_graphs(
    src: Any,
    graph: Callable[[], Graph] = Graph,
    dataset: Callable[[], Dataset] = Dataset,
    **options: Unpack[ReadOptions],
) -> Iterator[Graph]:
    """Read each frame as a graph, or as a dataset if the stream has quads, with the namespaces that it declares.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    graph : callable, default rdflib.Graph
        Creates an empty graph.
    dataset : callable, default rdflib.Dataset
        Creates an empty dataset.
    **options : Unpack[ReadOptions]
        Shared keywords, see `jelly.ReadOptions`.

    Examples
    --------
    >>> import io
    >>> import rdflib
    >>> from jelly.rdflib import read_graphs, write_graphs
    >>> out = io.BytesIO()
    >>> write_graphs(out, [rdflib.Graph(), rdflib.Graph().add((rdflib.RDF.type, rdflib.RDF.type, rdflib.RDF.Property))])
    2
    >>> [len(graph) for graph in read_graphs(out.getvalue())]
    [0, 1]
    """
    return _graphs(Reader(src, **options), graph, dataset)


def _graphs(reader: Reader, graph: Callable[[], Graph], dataset: Callable[[], Dataset]) -> Iterator[Graph]:
    for frame in reader.frames(term_adapter(memo=GRAPH_MEMO, memo_all=True)):
        quads = reader.options.physical_type != PhysicalType.TRIPLES if reader.options else reader.format.quads
        if reader.format.mixed or reader.format.content is Content.TABLE:
            quads = bool(frame.statements) and len(frame.statements[0]) == 4
        made = dataset() if quads else graph()
        for name, iri in frame.namespaces:
            made.bind(name, URIRef(iri))
        default = default_graph(made)
        statements: list[Any] = frame.statements
        if quads:
            place = _places(made)
            made.store.addN((s, p, o, default if g is None else place(g)) for s, p, o, g in statements)
        else:
            made.store.addN((s, p, o, default) for s, p, o in statements)
        yield made


def _places(sink: Graph) -> Callable[[Any], Graph]:
    """Makes graphs by name, in the store of a graph, each once."""

    @cache
    def place(name: Any) -> Graph:
        if not sink.store.context_aware:
            raise JellyUnsupportedError(f"the store {type(sink.store).__name__} has no named graphs")
        return Graph(sink.store, name, sink.namespace_manager)

    return place


# While dicts by the thousand go into a store in memory, the garbage collector has nothing to find in them, and with its
# usual threshold (700 new objects, 2,000 from Python 3.12 on) looks at each of them several times. Measured with
# 150,000 triples into a Graph, in 1,000 triples a second of processor time (the better of 2 times 5): 90 with the usual
# threshold, 139 with this one, 137 with the collector off, 91 after gc.freeze(); in a process that has 2 million other
# objects 111, 143, 133, 113. So the collector stays on, for other threads too, and looks less often.
OBJECTS = 100_000
_loading = threading.Lock()
_loads = 0  # running loads in all threads
_usual: tuple[int, int, int] = (0, 0, 0)


@contextmanager
def _collecting_less(store: Store) -> Iterator[None]:
    """Context manager: run the garbage collector only every OBJECTS new objects, while a store in memory is filled.

    The threshold belongs to the process: the first load sets it, and the last load restores it.
    """
    global _loads, _usual
    if not isinstance(store, Memory | SimpleMemory):
        yield
        return
    with _loading:
        if _loads == 0:
            _usual = gc.get_threshold()
            if 0 < _usual[0] < OBJECTS:
                gc.set_threshold(OBJECTS, *_usual[1:])
        _loads += 1
    try:
        yield
    finally:
        with _loading:
            _loads -= 1
            # A threshold that other code has set meanwhile stays.
            if _loads == 0 and gc.get_threshold() == (OBJECTS, *_usual[1:]):
                gc.set_threshold(*_usual)


def _declare(batches: Iterable[Batch], sink: Graph) -> Iterator[Batch]:
    for batch in batches:
        for _, _, name, iri in batch.namespaces:
            sink.bind(name, URIRef(iri))
        yield batch


def _adapter_of(default: Graph, **settings: Any) -> TermAdapter:
    """The adapter that makes quads for the store of a default graph."""
    return term_adapter(default=default, quads=True, place=_places(default), **settings)


def graph_of(batches: Iterable[Batch], quads: bool) -> Graph:
    """A graph, or with ``quads`` a dataset, of the statements of some Batches, with the namespaces they declare."""
    sink = Dataset() if quads else Graph()
    default = default_graph(sink)
    found: Any = StatementIterator(_declare(batches, sink), _adapter_of(default))
    sink.store.addN(found)
    return sink


class JellyParser(Parser):
    """RDFLib plug-in that reads Jelly: ``graph.parse("x.jelly", format="jelly")``.

    Statements of the default graph go to the graph that is parsed into. Statements of named graphs go to the graph of
    that name in its store, so parse quads into a ``Dataset``. gzip, zstd, bz2 and xz are recognised.

    Examples
    --------
    >>> import jelly, rdflib
    >>> data = jelly.dumps([jelly.Quad(*map(jelly.IRI, ("a:s", "a:p", "a:o", "a:g")))])
    >>> dataset = rdflib.Dataset().parse(data=data, format="jelly")
    >>> len(dataset.graph(rdflib.URIRef("a:g")))
    1
    """

    def parse(
        self, source: InputSource, sink: Graph, bnode_context: MutableMapping[str, BNode] | None = None, **settings: Any
    ) -> None:
        """Add the statements of a source to a graph. RDFLib calls this.

        Parameters
        ----------
        source : rdflib.parser.InputSource
            The input; it must give bytes.
        sink : rdflib.Graph
            The graph or dataset.
        bnode_context : mutable mapping of str to rdflib.BNode, optional
            Blank nodes by label, as for RDFLib's N-Triples. Other labels get new blank nodes; pass ``{}`` so that files
            share none. By default blank nodes keep their labels.
        **settings : Any
            Keywords of `jelly.Reader`.

        Raises
        ------
        JellyArgumentError
            If the source is text.
        JellyError
            If the input is wrong or RDFLib cannot hold a term.
        """
        stream = source.getByteStream()
        if stream is None:
            raise JellyArgumentError("Jelly is binary: parse bytes, or a file opened in binary mode")
        default = default_graph(sink)
        terms: dict[str, Any] = {}
        if bnode_context is not None:
            nodes = bnode_context

            def node(label: str) -> BNode:
                if label not in nodes:
                    nodes[label] = BNode()
                return nodes[label]

            terms["bnode"] = node
        library = _adapter_of(default, memo=GRAPH_MEMO, memo_all=True, **terms)
        batches = Reader(stream, format="jelly", **settings).batches()
        quads: Any = StatementIterator(_declare(batches, sink), library)
        if type(sink).add is not Graph.add or type(sink).addN is not Graph.addN:
            sink.addN(quads)
            return
        try:
            with _collecting_less(sink.store):
                # Graph.addN would check the classes of the terms again.
                sink.store.addN(quads)
        except JellyError as error:
            error.source = error.source or source.getPublicId()
            raise
