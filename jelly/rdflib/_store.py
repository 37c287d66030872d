"""A read-only store of RDFLib over files."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from typing import Any

from rdflib import BNode, Graph, URIRef, Variable
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.query import Result
from rdflib.store import VALID_STORE, Store

from jelly._bytes.names import is_path, is_remote
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._core.terms.model import DefaultGraph
from jelly._dataset.dataset import Dataset
from jelly._dataset.scan import scan
from jelly._dataset.seekable.file import open_filtered
from jelly._dataset.subset import refuse_once
from jelly.errors import QUERIES, JellyArgumentError, JellyUnsupportedError, need
from jelly.rdflib._reading import graph_of, library
from jelly.rdflib._terms import term_adapter
from jelly.results import Results

_SEGMENTS = 8  # that were read last stay in memory


class JellyStore(Store):
    """A read-only store of RDFLib over files, which are not loaded: ``Graph(store="jelly")``.

    Each question reads the files. Of a Jelly file that was written with ``index="terms"`` only the segments are read
    that may have an answer, and the last few of them stay in memory. SPARQL is answered by `jelly.query`, which needs
    the extra ``query``; queries with initial bindings, or of another graph than the default one, by RDFLib itself.

    A `Graph` is the default graph of the files, a ``Graph`` with the name of a named graph that one, and a ``Dataset``
    all of them. A blank node names a graph of the files once the store has told of that graph.

    Parameters
    ----------
    configuration : Any, optional
        What ``open`` takes: a source as for `jelly.scan`, or a `Dataset`.
    identifier : Any, optional
        Not used.

    Examples
    --------
    >>> import jelly, rdflib
    >>> from jelly.rdflib import JellyStore
    >>> graph = rdflib.Graph(JellyStore(jelly.scan(b"<a:s> <a:p> <a:o> .\\n<a:s> <a:q> <a:o> .", format="nt")))
    >>> len(graph), graph.value(rdflib.URIRef("a:s"), rdflib.URIRef("a:q"))
    (2, rdflib.term.URIRef('a:o'))
    """

    context_aware = True
    graph_aware = True

    def __init__(self, configuration: Any = None, identifier: Any = None) -> None:
        super().__init__()
        self._dataset: Dataset | None = None
        self._file: Any = None
        self._names: dict[str, URIRef] = {}
        self._lengths: dict[Any, int] = {}  # which pySHACL asks for each message
        self._blank: set[BNode] = set()  # graphs that blank nodes name; a Graph without a name has another one
        if configuration is not None:
            self.open(configuration)

    def open(self, configuration: Any, create: bool = False) -> int:
        """Open files, which must be there. Nothing is read but the index of a Jelly file.

        Parameters
        ----------
        configuration : Any
            A source as for `jelly.scan`, or a `Dataset`. It must be a path, bytes or whatever else can be read several
            times.
        create : bool, default False
            Must be false: the store is read-only.
        """
        if create:
            raise JellyUnsupportedError("this store is read-only: write the file with jelly.write, then open it")
        self.close()
        if isinstance(configuration, Dataset):
            self._dataset = configuration
        else:
            self._file = open_filtered(configuration, {})
            if self._file is not None:
                read = self._file._read
                self._file._read = lru_cache(_SEGMENTS)(lambda segment: [*read(segment)])
            self._dataset = scan(self._file or configuration)
        for source in self._dataset._sources.each:
            if is_path(source) and not is_remote(os.fsdecode(source)):
                os.stat(source)  # FileNotFoundError now, and not at the first question
        refuse_once(self._dataset)
        return int(VALID_STORE or 0)

    def close(self, commit_pending_transaction: bool = False) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._file = self._dataset = None
        self._lengths.clear()

    @property
    def _opened(self) -> Dataset:
        if self._dataset is None:
            raise JellyArgumentError("the store is not open: call open(path) first")
        return self._dataset

    def _found(self, pattern: Iterable[Any] = (None, None, None), context: Any = None) -> Dataset:
        """The statements that match a pattern, in one graph or in all, each once."""
        subject, predicate, object = pattern
        return self._opened.filter(subject, predicate, object, self._graph_of(context)).unique()

    def _graph(self, name: Any) -> Graph:
        """A graph of the files."""
        if isinstance(name, BNode):
            self._blank.add(name)
        return Graph(self, name)

    def _graph_of(self, context: Any) -> Any:
        """The graph that a context of RDFLib stands for, as `Dataset.filter` takes it: None for all."""
        name = context.identifier if isinstance(context, Graph) else context
        if name is None or name == "__UNION__":
            return None
        is_default = name == DATASET_DEFAULT_GRAPH_ID or (isinstance(name, BNode) and name not in self._blank)
        return DefaultGraph() if is_default else name

    # ---- statements

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Iterate over the triples that match a pattern, each with the graphs that have it.

        Parameters
        ----------
        triple_pattern : tuple
            A subject, predicate and object, with None for any.
        context : Any, optional
            The graph. By default all.
        """
        default = self._graph(DATASET_DEFAULT_GRAPH_ID)
        adapter = term_adapter(default=default, quads=True, place=self._graph)
        found: Any = StatementIterator(self._found(triple_pattern, context).batches(), adapter)
        if context is not None:
            for row in found:
                yield row[:3], iter((context,))
            return
        graphs: dict[Any, list[Any]] = {}
        for row in found:
            graphs.setdefault(row[:3], []).append(row[3])
        for triple, each in graphs.items():
            yield triple, iter(each)

    def __len__(self, context: Any = None) -> int:
        key = context is None, self._graph_of(context)
        if key not in self._lengths:
            each = self.triples((None, None, None))
            n = sum(1 for _ in each) if context is None else self._found(context=context).count()
            if self._file is None:
                return n
            self._lengths[key] = n  # an open file does not change
        return self._lengths[key]

    def contexts(self, triple: Any = None) -> Generator[Graph, None, None]:
        """Iterate over the graphs, or over those that have a triple."""
        names: dict[Any, None] = {}
        for batch in self._found(triple or (None, None, None)).batches():
            term = Materializer(batch, library()).term
            ids = [-1] if batch.g is None else {*batch.g.tolist()}
            names |= dict.fromkeys(DATASET_DEFAULT_GRAPH_ID if id < 0 else term(id) for id in ids)
        yield from map(self._graph, names)

    def add(self, *statement: Any, **more: Any) -> None:
        """Raise JellyUnsupportedError: the store is read-only.

        Parameters
        ----------
        *statement, **more : Any
            Whatever RDFLib passes.
        """
        raise JellyUnsupportedError("this store is read-only")

    def addN(self, quads: Any) -> None:
        """Raise JellyUnsupportedError: the store is read-only."""
        self.add()

    def remove(self, *statement: Any, **more: Any) -> None:
        """Raise JellyUnsupportedError: the store is read-only.

        Parameters
        ----------
        *statement, **more : Any
            Whatever RDFLib passes.
        """
        self.add()

    def remove_graph(self, graph: Graph) -> None:
        """Raise JellyUnsupportedError: the store is read-only."""
        self.add()

    def add_graph(self, graph: Graph) -> None:
        """Do nothing: a graph is there if it has statements."""

    # ---- queries

    def query(self, query: Any, initNs: Any, initBindings: Any, queryGraph: Any, **kwargs: Any) -> Result:
        """Answer a SPARQL query, see `jelly.query`. NotImplementedError makes RDFLib answer it.

        Parameters
        ----------
        query : Any
            The query: a str, or one that RDFLib has prepared.
        initNs : mapping
            Prefixes for the query.
        initBindings : mapping
            Values of variables.
        queryGraph : Any
            The graph of the query.
        **kwargs : Any
            What else RDFLib takes: ``base`` resolves relative IRIs.
        """
        if not isinstance(query, str) or initBindings or self._graph_of(queryGraph) != DefaultGraph():
            raise NotImplementedError
        base = kwargs.get("base")
        prefixes = f"BASE <{base}>\n" * bool(base) + "".join(
            f"PREFIX {name}: <{iri}>\n"
            for name, iri in initNs.items()
            if f"{name}:" in query and re.search(rf"(?<![\w-]){re.escape(name)}:", query)
        )  # fmt: skip
        with need(*QUERIES):
            from jelly.rdflib._query.answer import query as answered

        found = answered(self._opened, prefixes + query)
        is_graph = not isinstance(found, Results)
        made = Result("CONSTRUCT" if is_graph else "SELECT" if found.boolean is None else "ASK")
        if is_graph:
            made.graph = graph_of(found.batches(), False)
        else:
            made.askAnswer = found.boolean
            made.vars = names = [*map(Variable, found.variables)]
            made.bindings = _bindings(names, found.batches())
        return made

    # ---- namespaces

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        """Note a prefix, in memory.

        Parameters
        ----------
        prefix : str
            The prefix.
        namespace : rdflib.URIRef
            What it stands for.
        override : bool, default True
            Whether to replace what the prefix stood for.
        """
        if override or prefix not in self._names:
            self._names[prefix] = namespace

    def namespace(self, prefix: str) -> URIRef | None:
        """The namespace of a prefix."""
        return self._names.get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        """The prefix of a namespace."""
        return next((prefix for prefix, known in self._names.items() if known == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Iterate over the prefixes and their namespaces."""
        return iter([*self._names.items()])


def _bindings(names: Iterable[Variable], batches: Iterable[Batch]) -> Iterator[dict[Variable, Any]]:
    """The solutions in Batches of results: the terms of the variables that are bound."""
    for batch in batches:
        term = Materializer(batch, library()).term
        for row in batch.cells.tolist():
            yield {name: term(id) for name, id in zip(names, row, strict=True) if id >= 0}
