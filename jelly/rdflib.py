"""RDFLib plug-ins for Jelly, and functions that read and write RDFLib terms without a graph.

RDFLib finds the plug-ins of the installed package by itself, as ``jelly`` and ``application/x-jelly-rdf``. If pyjelly,
which uses the same names, is also installed, it is undefined which one RDFLib takes; call `register` to choose these.

>>> from jelly.rdflib import register
>>> register()

>>> import rdflib
>>> graph = rdflib.Graph().parse(data="<a:s> <a:p> <a:o> .", format="nt")
>>> data = graph.serialize(format="jelly", encoding="utf-8")
>>> len(rdflib.Graph().parse(data=data, format="jelly"))
1

``Graph.parse("x.jelly")`` without a format works once this module has been imported or a plug-in has been used. RDFLib
maps suffixes by a table (``rdflib.util.SUFFIX_FORMAT_MAP``) that plug-ins cannot reach, and reads unknown suffixes as
Turtle. With ``format=``, or with a media type from a web server, no import is needed.

Terms that RDFLib cannot hold are errors: quoted triples, literals as subjects, and some language tags. Lexical forms
(``"01"^^xsd:integer``) and labels of blank nodes are kept, even where RDFLib would normalise them.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.term_adapter import ObjectTemplate, TermAdapter
from jelly._formats.registry import READING, WRITING
from jelly._io.reader import Frame, Reader
from jelly._io.settings import checked
from jelly._io.writer import Writer, arity_of
from jelly._options import LogicalType, PhysicalType, StreamOptions
from jelly.errors import JellyArgumentError, JellyUnsupportedError, MissingExtraError

try:
    import rdflib.util
    from rdflib import BNode, Literal, URIRef, Variable
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset, Graph, QuotedGraph
    from rdflib.parser import InputSource, Parser
    from rdflib.plugins.stores.memory import Memory, SimpleMemory
    from rdflib.serializer import Serializer
    from rdflib.store import Store
except ImportError:
    raise MissingExtraError("RDFLib is not installed: pip install 'jelly-rdf[rdflib]'") from None

__all__ = [
    "JellyParser",
    "JellySerializer",
    "read",
    "read_frames",
    "read_graphs",
    "register",
    "write",
    "write_graphs",
    "writer",
]

rdflib.util.SUFFIX_FORMAT_MAP.setdefault("jelly", "jelly")

# Rows of a Batch of `read`: terms are big, and all of a Batch live at a time.
ROWS = 2048
# Terms remembered, by `read` and for a graph: its store compares equal terms slowly unless they are one object.
MEMO = 1 << 12
GRAPH_MEMO = 1 << 17

_OPTIONS = {field.name for field in fields(StreamOptions)}
_first = itemgetter(0)


def register() -> None:
    """Register the RDFLib plug-ins of this package for Jelly.

    They then replace those of other packages with the same names, such as pyjelly.

    Examples
    --------
    >>> register()
    >>> rdflib.plugin.get("jelly", rdflib.parser.Parser).__name__
    'JellyParser'
    """
    for name in ("jelly", "application/x-jelly-rdf"):
        rdflib.plugin.register(name, Parser, __name__, "JellyParser")
        rdflib.plugin.register(name, Serializer, __name__, "JellySerializer")


# ---- terms


def _typed(text: str, datatype: Any) -> Any:
    literal = Literal(text, None, datatype, False)
    if not str.__eq__(literal, text):
        # xsd:token and xsd:normalizedString are changed whatever one says; so a literal takes that datatype later.
        literal = Literal(text)
        literal.__setstate__((None, {"language": None, "datatype": datatype}))
    return literal


def _slots(literal: Any) -> list[Any]:
    return [getattr(literal, name) for base in type(literal).__mro__ for name in base.__dict__.get("__slots__", ())]


def _alike(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """``make``, or what makes the same literals in a fraction of the time: like one that RDFLib made, of another text.

    Nothing is known here of what is in them. Whether the text is all that differs is tried out.
    """
    try:
        pattern = ObjectTemplate(make("example"))
        for text in ("", "1", " \u00e4\n", "example"):
            ours, theirs = pattern(text), make(text)
            if type(ours) is not type(theirs) or ours != theirs or _slots(ours) != _slots(theirs):
                return make
    except (AttributeError, TypeError, ValueError):
        return make
    return pattern


_plain = _alike(Literal)


class _Lang(dict[str, Callable[[str], Any]]):
    """How literals of a language are made."""

    def __missing__(self, tag: str) -> Callable[[str], Any]:
        Literal("", tag)  # ValueError for a tag that RDFLib refuses
        self[tag] = made = _alike(lambda text: Literal(text, tag))
        return made

    def __call__(self, text: str, tag: str) -> Any:
        return self[tag](text)


class _Typed(dict[Any, Callable[[str], Any]]):
    """How literals of a datatype are made. RDFLib computes the value of those that it knows."""

    def __call__(self, text: str, datatype: Any) -> Any:
        if datatype in self:
            return self[datatype](text)
        literal = _typed(text, datatype)
        make = partial(_typed, datatype=datatype)
        self[datatype] = _alike(make) if literal.ill_typed is None else make
        return literal


def _graph_name(graph: Any) -> Any:
    """The name of a graph of a quad, None for the default graph."""
    if isinstance(graph, Graph):
        graph = graph.identifier
    return None if graph == DATASET_DEFAULT_GRAPH_ID else graph


def _library(**settings: Any) -> TermAdapter:
    terms: dict[str, Any] = {"iri": URIRef, "bnode": BNode, "plain": _plain, "lang": _Lang(), "typed": _Typed()}
    classes = (URIRef, BNode, Literal, None)
    return TermAdapter(
        "RDFLib", classes=classes, variable=Variable, graph_name=_graph_name, **(terms | {"memo": MEMO} | settings)
    )


# ---- reading

@checked(READING)
def read(src: Any, **settings: Any) -> StatementIterator:
    """Read statements one by one as tuples of 3 or 4 RDFLib terms. Memory stays bounded.

    The fourth term is the name of the graph, ``rdflib.graph.DATASET_DEFAULT_GRAPH_ID`` for the default graph.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **settings : Any
        Keywords of `jelly.Reader`.

    Returns
    -------
    StatementIterator
        An iterator of tuples.

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
    settings.setdefault("batch_rows", ROWS)
    return StatementIterator(Reader(src, **settings).uniform(), _library(default=DATASET_DEFAULT_GRAPH_ID))


@checked(READING)
def read_frames(src: Any, **settings: Any) -> Iterator[Frame]:
    """Read frames of statements with RDFLib terms.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **settings : Any
        Keywords of `jelly.Reader`.

    Returns
    -------
    Iterator[jelly.Frame]
        The frames in order, including empty ones.

    Examples
    --------
    >>> import jelly
    >>> from jelly.rdflib import read_frames
    >>> [len(frame) for frame in read_frames(jelly.dumps([]))]
    [0]
    """
    return Reader(src, **settings).frames(_library(default=DATASET_DEFAULT_GRAPH_ID))


@checked(READING)
def read_graphs(
    src: Any,
    graph: Callable[[], Graph] = Graph,
    dataset: Callable[[], Dataset] = Dataset,
    **settings: Any,
) -> Iterator[Graph]:
    """Read each frame as a graph, or as a dataset if the stream has quads.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    graph : callable, default rdflib.Graph
        Creates an empty graph.
    dataset : callable, default rdflib.Dataset
        Creates an empty dataset.
    **settings : Any
        Keywords of `jelly.Reader`.

    Returns
    -------
    Iterator[rdflib.Graph]
        One graph or dataset for each frame, including empty ones, with the namespaces that the frame declares.

    Examples
    --------
    >>> import io
    >>> from jelly.rdflib import read_graphs, write_graphs
    >>> out = io.BytesIO()
    >>> write_graphs(out, [rdflib.Graph(), rdflib.Graph().add((rdflib.RDF.type, rdflib.RDF.type, rdflib.RDF.Property))])
    2
    >>> [len(graph) for graph in read_graphs(out.getvalue())]
    [0, 1]
    """
    return _graphs(Reader(src, **settings), graph, dataset)


def _graphs(reader: Reader, graph: Callable[[], Graph], dataset: Callable[[], Dataset]) -> Iterator[Graph]:
    for frame in reader.frames(_library(memo=GRAPH_MEMO, memo_all=True)):
        quads = reader.options.physical_type != PhysicalType.TRIPLES if reader.options else reader.format.quads
        made = dataset() if quads else graph()
        for name, iri in frame.namespaces:
            made.bind(name, URIRef(iri))
        default = _default_graph(made)
        statements: list[Any] = frame.statements
        if quads:
            places = _Places(made)
            made.store.addN((s, p, o, default if g is None else places[g]) for s, p, o, g in statements)
        else:
            made.store.addN((s, p, o, default) for s, p, o in statements)
        yield made


class _UniqueBlankNodes:
    """Blank nodes by their labels; new ones for those that are not in the context yet."""

    def __init__(self, context: MutableMapping[str, BNode]) -> None:
        self.context = context

    def __call__(self, label: str) -> BNode:
        if label not in self.context:
            self.context[label] = BNode()
        return self.context[label]


def _default_graph(graph: Graph) -> Graph:
    if not isinstance(graph, ConjunctiveGraph):
        return graph
    # A Dataset's default_context is deprecated; older ones have nothing else.
    made: Graph = graph.default_graph if hasattr(graph, "default_graph") else graph.default_context
    return made


class _Places(dict[Any, Graph]):
    """The graph of a name, beside a graph in its store."""

    def __init__(self, sink: Graph) -> None:
        if not sink.store.context_aware:
            raise JellyUnsupportedError(f"the store {type(sink.store).__name__} has no named graphs")
        self.sink = sink

    def __missing__(self, name: Any) -> Graph:
        made = Graph(self.sink.store, name, self.sink.namespace_manager)
        self[name] = made
        return made


# While dicts by the thousand go into a store in memory, the garbage collector has nothing to find in them, and with its
# usual threshold (700 new objects, 2,000 from Python 3.12 on) looks at each of them several times. Measured with
# 150,000 triples into a Graph, in 1,000 triples a second of processor time (the better of 2 times 5): 90 with the usual
# threshold, 139 with this one, 137 with the collector off, 91 after gc.freeze(); in a process that has 2 million other
# objects 111, 143, 133, 113. So the collector stays on, for other threads too, and looks less often.
OBJECTS = 100_000
_loading = threading.Lock()
_loads = 0  # that go on, in any thread
_usual: tuple[int, int, int] = (0, 0, 0)


@contextmanager
def _collecting_less(store: Store) -> Iterator[None]:
    """Garbage is looked for each OBJECTS new objects only, while a store in memory is filled.

    The threshold is that of the process: the first load sets it, the last one that ends sets it back.
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
            # What somebody else has set meanwhile stays.
            if _loads == 0 and gc.get_threshold() == (OBJECTS, *_usual[1:]):
                gc.set_threshold(*_usual)


def _declare(batches: Iterable[Batch], sink: Graph) -> Iterator[Batch]:
    for batch in batches:
        for _, _, name, iri in batch.namespaces:
            sink.bind(name, URIRef(iri))
        yield batch


class JellyParser(Parser):
    """RDFLib plug-in that reads Jelly: ``graph.parse("x.jelly", format="jelly")``.

    Statements of the default graph go to the graph that is parsed into. Statements of named graphs go to the graph of
    that name in its store, so parse quads into a ``Dataset``. gzip, zstd, bz2 and xz are recognised.

    Examples
    --------
    >>> import jelly
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
        TypeError
            If the source is text.
        JellyError
            If the input is wrong or RDFLib cannot hold a term.
        """
        stream = source.getByteStream()
        if stream is None:
            raise TypeError("Jelly is binary: parse bytes, or a file opened in binary mode")
        default = _default_graph(sink)
        places: _Places | None = None

        def place(name: Any) -> Graph:
            nonlocal places
            places = _Places(default) if places is None else places
            return places[name]

        terms: dict[str, Any] = {}
        if bnode_context is not None:
            terms["bnode"] = _UniqueBlankNodes(bnode_context)
        library = _library(default=default, quads=True, place=place, memo=GRAPH_MEMO, memo_all=True, **terms)
        batches = Reader(stream, format="jelly", **settings).batches()
        quads = StatementIterator(_declare(batches, sink), library)
        if type(sink).add is not Graph.add or type(sink).addN is not Graph.addN:
            sink.addN(quads)
            return
        with _collecting_less(sink.store):
            # Graph.addN would look at the classes of the terms once more.
            sink.store.addN(quads)


# ---- writing

def _triples(graph: Graph) -> Iterable[Any]:
    if type(graph).triples is Graph.triples:
        return map(_first, graph.store.triples((None, None, None), graph))
    return graph


def _contexts(graphs: ConjunctiveGraph) -> Iterable[Graph]:
    # A Dataset's contexts() is deprecated since RDFLib 7.2; what is no Dataset has nothing else.
    return graphs.graphs() if isinstance(graphs, Dataset) else graphs.contexts()


def _quads(graphs: ConjunctiveGraph) -> Iterator[Any]:
    default = _default_graph(graphs).identifier
    for graph in _contexts(graphs):
        name = None if graph.identifier == default else graph.identifier
        for s, p, o in _triples(graph):
            yield s, p, o, name


def _statements(graph: Graph, quads: bool) -> Iterable[Any]:
    if isinstance(graph, QuotedGraph):
        raise JellyUnsupportedError("Jelly has no quoted graphs")
    if quads:
        return _quads(graph) if isinstance(graph, ConjunctiveGraph) else _triples(graph)
    if isinstance(graph, ConjunctiveGraph):
        return chain.from_iterable(map(_triples, _contexts(graph)))
    return _triples(graph)


# What pyjelly calls otherwise.
_PYJELLY = {
    "stream": "options=jelly.StreamOptions(...), or jelly.rdflib.writer",
    "frame_size": "frame_rows=",
    "flow": "frame_rows=, or write_graphs for a frame of each graph",
    "lookup_preset": "options=jelly.StreamOptions.small(), or max_name_table_size= and the like",
    "params": "stream_name=, namespaces=, delimited= and the like",
    "namespace_declarations": "namespaces=",
}


def _refuse(name: str) -> JellyArgumentError:
    return JellyArgumentError(f"{name}= is a keyword of pyjelly: use {_PYJELLY[name]}")


def _of_pyjelly(options: Any, settings: dict[str, Any]) -> tuple[StreamOptions | None, bool | None]:
    """The options where they are ours; those of pyjelly go into ``settings``, as far as that has none of these fields.

    And whether namespaces are to be declared, None where that is not said. pyjelly need not be there for that: what the
    options have is what counts.
    """
    if options is None or isinstance(options, StreamOptions):
        return options, None
    try:
        params, tables = options.params, options.lookup_preset
        fields_of = {
            "logical_type": LogicalType(options.logical_type),
            "stream_name": params.stream_name,
            "generalized_statements": params.generalized_statements,
            "rdf_star": params.rdf_star,
            "max_name_table_size": tables.max_names,
            "max_prefix_table_size": tables.max_prefixes,
            "max_datatype_table_size": tables.max_datatypes,
        }
        others = {"delimited": params.delimited, "frame_rows": options.frame_size}
        flow = options.flow
    except AttributeError:
        name = f"{type(options).__module__}.{type(options).__qualname__}"
        raise JellyArgumentError(f"options is a {name}: expected jelly.StreamOptions") from None
    if flow is not None:
        raise _refuse("flow")
    if not fields_of["logical_type"]:
        del fields_of["logical_type"]
    for name, value in (fields_of | others).items():
        settings.setdefault(name, value)
    if LogicalType(options.logical_type).base == LogicalType.GRAPHS:
        settings.setdefault("physical_type", PhysicalType.TRIPLES)
    return None, params.namespace_declarations


def _options(quads: bool, grouped: bool, options: StreamOptions | None, settings: dict[str, Any]) -> StreamOptions:
    """The options of the stream: as given, changed by the keywords that are fields of them; and by default."""
    changes = {name: settings.pop(name) for name in _OPTIONS & set(settings)}
    if options is None:
        physical = changes.get("physical_type", PhysicalType.QUADS if quads else PhysicalType.TRIPLES)
        flat, group = (
            (LogicalType.FLAT_TRIPLES, LogicalType.GRAPHS)
            if physical == PhysicalType.TRIPLES
            else (LogicalType.FLAT_QUADS, LogicalType.DATASETS)
        )
        options = StreamOptions(physical, changes.get("logical_type", group if grouped else flat))
    return options.replace(**changes)


def _declare_all(writer: Writer, graph: Graph) -> None:
    for name, iri in graph.namespaces():
        writer.namespace(name, str(iri))


@checked(WRITING - {"library"}, _OPTIONS)
def write(
    dst: Any,
    statements: Graph | Iterable[Any],
    options: StreamOptions | None = None,
    *,
    namespaces: bool | None = None,
    **settings: Any,
) -> int:
    """Write a graph, a dataset or statements.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    statements : rdflib.Graph or iterable of tuples
        A graph, a dataset, or tuples of 3 or 4 RDFLib terms.
    options : StreamOptions, optional
        Options of the stream. ``SerializerOptions`` of pyjelly are accepted too.
    namespaces : bool, optional
        Whether to declare the namespaces of a graph. By default True, or what options of pyjelly say.
    **settings : Any
        Fields of `jelly.StreamOptions` and keywords of `jelly.Writer`.

    Returns
    -------
    int
        Number of statements written.

    Raises
    ------
    JellyArgumentError
        If a keyword is unknown or ``options`` have another type.
    JellyUnsupportedError
        If the format cannot hold a term or graph.

    Notes
    -----
    In a stream of the logical type GRAPHS each graph of a dataset becomes a frame.

    Examples
    --------
    >>> import io
    >>> from jelly.rdflib import write
    >>> write(io.BytesIO(), [(rdflib.RDF.type, rdflib.RDF.type, rdflib.RDF.Property)], stream_name="types")
    1
    """
    options, declared = _of_pyjelly(options, settings)
    if namespaces is None:
        namespaces = declared is None or declared
    graph = statements if isinstance(statements, Graph) else None
    if graph is not None:
        options = _options(isinstance(graph, ConjunctiveGraph), False, options, settings)
        triples = options.physical_type == PhysicalType.TRIPLES
        if isinstance(graph, ConjunctiveGraph) and triples and options.logical_type.base == LogicalType.GRAPHS:
            with Writer(dst, options, library=_library(), **settings) as out:
                if namespaces:
                    _declare_all(out, graph)
                for one in _contexts(graph):
                    out.extend(_triples(one))
                    out.end_frame()
            return out.statements
        statements = _statements(graph, not triples)
    elif options is not None or _OPTIONS & set(settings):
        iterator = iter(statements)
        first = list(islice(iterator, 1))
        options = _options(bool(first) and arity_of(first[0]) == 4, False, options, settings)
        statements = chain(first, iterator)
    with Writer(dst, options, library=_library(), **settings) as out:
        if graph is not None and namespaces:
            _declare_all(out, graph)
        out.extend(statements)
    return out.statements


@checked(WRITING - {"library"}, _OPTIONS)
def writer(dst: Any, options: StreamOptions | None = None, **settings: Any) -> Writer:
    """Create a `jelly.Writer` that accepts RDFLib terms.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    options : StreamOptions, optional
        Options of the stream. Where they leave the physical type open, the first statement decides.
    **settings : Any
        Fields of `jelly.StreamOptions` and keywords of `jelly.Writer`.

    Returns
    -------
    jelly.Writer
        The writer.

    Examples
    --------
    >>> import io
    >>> import jelly.rdflib
    >>> out = io.BytesIO()
    >>> with jelly.rdflib.writer(out, logical_type=jelly.LogicalType.GRAPHS, physical_type=1) as frames:
    ...     for number in (b"1", b"2"):
    ...         frames.add((rdflib.RDF.type, rdflib.RDF.type, rdflib.Literal(number.decode())))
    ...         frames.end_frame({"number": number})
    >>> [frame.metadata for frame in jelly.rdflib.read_frames(out.getvalue())]
    [{'number': b'1'}, {'number': b'2'}]
    """
    options, _ = _of_pyjelly(options, settings)
    changes = {name: settings.pop(name) for name in _OPTIONS & set(settings)}
    if changes:
        options = (options or StreamOptions()).replace(**changes)
    return Writer(dst, options, library=_library(), **settings)


@checked(WRITING - {"library"}, _OPTIONS)
def write_graphs(
    dst: Any,
    graphs: Iterable[Graph | tuple[Graph, Mapping[str, bytes]]],
    options: StreamOptions | None = None,
    *,
    namespaces: bool | None = None,
    **settings: Any,
) -> int:
    """Write graphs or datasets, one frame each. The first one decides whether the stream has triples or quads.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    graphs : iterable of rdflib.Graph or of (rdflib.Graph, mapping of str to bytes)
        The graphs, or pairs of a graph and the metadata of its frame.
    options : StreamOptions, optional
        Options of the stream. ``SerializerOptions`` of pyjelly are accepted too.
    namespaces : bool, optional
        Whether each frame declares the namespaces of its graph. By default False, or what options of pyjelly say.
    **settings : Any
        Fields of `jelly.StreamOptions` and keywords of `jelly.Writer`.

    Returns
    -------
    int
        Number of graphs written.

    Examples
    --------
    >>> import io
    >>> from jelly.rdflib import read_frames, write_graphs
    >>> out = io.BytesIO()
    >>> write_graphs(out, [(rdflib.Graph(), {"number": b"%d" % i}) for i in range(2)])
    2
    >>> [frame.metadata for frame in read_frames(out.getvalue())]
    [{'number': b'0'}, {'number': b'1'}]
    """
    options, declared = _of_pyjelly(options, settings)
    if namespaces is None:
        namespaces = declared or False
    pairs = (pair if isinstance(pair, tuple) else (pair, None) for pair in graphs)
    first = next(pairs, None)
    options = _options(first is not None and isinstance(first[0], ConjunctiveGraph), True, options, settings)
    quads = options.physical_type != PhysicalType.TRIPLES
    count = 0
    with Writer(dst, options, library=_library(), **settings) as out:
        for graph, metadata in () if first is None else chain([first], pairs):
            if namespaces:
                _declare_all(out, graph)
            out.extend(_statements(graph, quads))
            out.end_frame(metadata)
            count += 1
    return count


class JellySerializer(Serializer):
    """RDFLib plug-in that writes Jelly: ``graph.serialize("x.jelly", format="jelly")``.

    Parameters
    ----------
    store : rdflib.Graph
        The graph or dataset to write.

    Examples
    --------
    >>> len(rdflib.Graph().serialize(format="jelly", encoding="utf-8", stream_name="nothing")) > 0
    True
    """

    def serialize(  # type: ignore[override]
        self, stream: Any, /, base: str | None = None, encoding: str | None = None, **settings: Any
    ) -> None:
        """Write the graph to a binary stream. RDFLib calls this.

        Parameters
        ----------
        stream : binary file object
            The output.
        base : str, optional
            Ignored: Jelly has no relative IRIs.
        encoding : str, optional
            Ignored: Jelly is binary.
        **settings : Any
            Keywords of `write`.

        Raises
        ------
        JellyUnsupportedError
            If Jelly cannot hold the graph.
        """
        for name in settings:
            if name in _PYJELLY:
                raise _refuse(name)
        write(stream, self.store, **({"format": "jelly"} | settings))
