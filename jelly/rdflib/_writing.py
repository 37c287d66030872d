"""RDFLib terms and graphs to Jelly and other formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from rdflib.graph import ConjunctiveGraph, Dataset, Graph, QuotedGraph
from rdflib.serializer import Serializer

from jelly._formats.registry import WRITING
from jelly._options.options import LogicalType, PhysicalType, StreamOptions
from jelly._options.settings import checked, refuse_unknown
from jelly._streams.outputs import output_options
from jelly._streams.writer import Writer, arity_of
from jelly.errors import JellyArgumentError, JellyUnsupportedError
from jelly.rdflib._terms import default_graph, term_adapter

_OPTIONS = {field.name for field in fields(StreamOptions)}
_first = itemgetter(0)


def _triples(graph: Graph) -> Iterable[Any]:
    if type(graph).triples is Graph.triples:
        return map(_first, graph.store.triples((None, None, None), graph))
    return graph


def _contexts(graphs: ConjunctiveGraph) -> Iterable[Graph]:
    # Dataset.contexts() is deprecated since RDFLib 7.2; other classes have only that.
    return graphs.graphs() if isinstance(graphs, Dataset) else graphs.contexts()


def _quads(graphs: ConjunctiveGraph) -> Iterator[Any]:
    default = default_graph(graphs).identifier
    for graph in _contexts(graphs):
        name = None if graph.identifier == default else graph.identifier
        for s, p, o in _triples(graph):
            yield s, p, o, name


def _pair(item: Any) -> tuple[Graph, Mapping[str, bytes] | None]:
    """A graph and the metadata of its frame, of what is one or both of them."""
    graph, metadata = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
    if not isinstance(graph, Graph):
        raise JellyArgumentError(f"expected a Graph of RDFLib, or a Graph and metadata, got {item!r:.80}")
    return graph, metadata


def _statements(graph: Graph, quads: bool) -> Iterable[Any]:
    if isinstance(graph, QuotedGraph):
        raise JellyUnsupportedError("Jelly has no quoted graphs")
    if not isinstance(graph, ConjunctiveGraph):
        return _triples(graph)
    return _quads(graph) if quads else chain.from_iterable(map(_triples, _contexts(graph)))


# Keywords of pyjelly, and what to use instead.
_PYJELLY = {
    "stream": "options=jelly.StreamOptions(...), or jelly.Writer with jelly.rdflib.library()",
    "frame_size": "frame_rows=",
    "flow": "frame_rows=, or write_graphs for a frame of each graph",
    "lookup_preset": "options=jelly.StreamOptions.small(), or max_name_table_size= and the like",
    "params": "stream_name=, namespaces=, delimited= and the like",
    "namespace_declarations": "namespaces=",
}


def _refuse(name: str) -> JellyArgumentError:
    return JellyArgumentError(f"{name}= is a keyword of pyjelly: use {_PYJELLY[name]}")


def _of_pyjelly(options: Any, settings: dict[str, Any], declares: bool) -> tuple[StreamOptions | None, bool]:
    """The options if they are StreamOptions. Options of pyjelly go into ``settings``, except fields that it has.

    Also whether to declare namespaces, ``declares`` if unknown. pyjelly need not be installed: the attributes of the
    options decide.
    """
    if options is None or isinstance(options, StreamOptions):
        return options, declares
    if isinstance(options, Mapping):
        refuse_unknown(options, _OPTIONS, "StreamOptions")
        settings.update(options)
        return None, declares
    try:
        params, tables = options.params, options.lookup_preset
        kind = LogicalType(options.logical_type)
        found = {
            "stream_name": params.stream_name,
            "generalized_statements": params.generalized_statements,
            "rdf_star": params.rdf_star,
            "max_name_table_size": tables.max_names,
            "max_prefix_table_size": tables.max_prefixes,
            "max_datatype_table_size": tables.max_datatypes,
            "delimited": params.delimited,
            "frame_rows": options.frame_size,
        }
        flow = options.flow
    except AttributeError:
        name = f"{type(options).__module__}.{type(options).__qualname__}"
        raise JellyArgumentError(f"options is a {name}: expected jelly.StreamOptions") from None
    if flow is not None:
        raise _refuse("flow")
    if kind:
        found["logical_type"] = kind
    if kind.base == LogicalType.GRAPHS:
        found["physical_type"] = PhysicalType.TRIPLES
    for name, value in found.items():
        settings.setdefault(name, value)
    return None, params.namespace_declarations


def _options(quads: bool, grouped: bool, options: StreamOptions | None, settings: dict[str, Any]) -> StreamOptions:
    """The options of the stream: the given or default ones, changed by keywords that are fields of StreamOptions."""
    changes = {name: settings.pop(name) for name in _OPTIONS & set(settings)}
    if options is None:
        return output_options(None, 4 if quads else 3, changes, grouped=grouped)
    return options.replace(**changes)


def _declare_all(writer: Writer, graph: Graph) -> None:
    for name, iri in graph.namespaces():
        writer.namespace(name, str(iri))


@checked(WRITING - {"library"}, _OPTIONS)
def write(
    dst: Any,
    statements: Graph | Iterable[Any],
    options: Any = None,
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
    options : StreamOptions or mapping, optional
        Options of the stream. ``SerializerOptions`` of pyjelly are accepted too.
    namespaces : bool, optional
        Whether to declare the namespaces of a graph. By default True, or what options of pyjelly say.
    **settings : Any
        Fields of `jelly.StreamOptions`, and shared keywords, see `jelly.WriteOptions`.

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
    >>> import rdflib
    >>> from jelly.rdflib import write
    >>> write(io.BytesIO(), [(rdflib.RDF.type, rdflib.RDF.type, rdflib.RDF.Property)], stream_name="types")
    1
    """
    options, declares = _of_pyjelly(options, settings, True)
    graph = statements if isinstance(statements, Graph) else None
    parts: Iterable[Any] = [statements]
    has_frames = False
    if graph is not None:
        options = _options(isinstance(graph, ConjunctiveGraph), False, options, settings)
        triples = options.physical_type == PhysicalType.TRIPLES
        parts = [_statements(graph, not triples)]
        if isinstance(graph, ConjunctiveGraph) and triples and options.logical_type.base == LogicalType.GRAPHS:
            has_frames, parts = True, map(_triples, _contexts(graph))
    elif options is not None or _OPTIONS & set(settings):
        iterator = iter(statements)
        first = list(islice(iterator, 1))
        options = _options(bool(first) and arity_of(first[0]) == 4, False, options, settings)
        parts = [chain(first, iterator)]
    with Writer(dst, options, library=term_adapter(), **settings) as out:
        if graph is not None and (declares if namespaces is None else namespaces):
            _declare_all(out, graph)
        for part in parts:
            out.extend(part)
            if has_frames:
                out.end_frame()
    return out.statements


@checked(WRITING - {"library"}, _OPTIONS)
def write_graphs(
    dst: Any,
    graphs: Iterable[Graph | tuple[Graph, Mapping[str, bytes]]],
    options: Any = None,
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
    options : StreamOptions or mapping, optional
        Options of the stream. ``SerializerOptions`` of pyjelly are accepted too.
    namespaces : bool, optional
        Whether each frame declares the namespaces of its graph. By default False, or what options of pyjelly say.
    **settings : Any
        Fields of `jelly.StreamOptions`, and shared keywords, see `jelly.WriteOptions`.

    Examples
    --------
    >>> import io
    >>> import rdflib
    >>> import jelly
    >>> from jelly.rdflib import write_graphs
    >>> out = io.BytesIO()
    >>> write_graphs(out, [(rdflib.Graph(), {"number": b"%d" % i}) for i in range(2)])
    2
    >>> [frame.metadata for frame in jelly.Reader(out.getvalue()).frames()]
    [{'number': b'0'}, {'number': b'1'}]
    """
    options, declares = _of_pyjelly(options, settings, False)
    pairs = map(_pair, graphs)
    first = list(islice(pairs, 1))
    options = _options(bool(first) and isinstance(first[0][0], ConjunctiveGraph), True, options, settings)
    quads = options.physical_type != PhysicalType.TRIPLES
    count = 0
    with Writer(dst, options, library=term_adapter(), **settings) as out:
        for graph, metadata in chain(first, pairs):
            if declares if namespaces is None else namespaces:
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
    >>> import rdflib
    >>> len(rdflib.Graph().serialize(format="jelly", encoding="utf-8", stream_name="nothing")) > 0
    True
    """

    def serialize(  # type: ignore[override]
        self, stream: Any, /, base: str | None = None, encoding: str | None = None, **settings: Any
    ) -> None:
        """Write the graph to a binary ``stream`` with the keywords of `write`. RDFLib calls this.

        ``base`` and ``encoding`` are ignored: Jelly has no relative IRIs, and is binary.
        """
        for name in settings:
            if name in _PYJELLY:
                raise _refuse(name)
        write(stream, self.store, **({"format": "jelly"} | settings))
