"""Statements of one or many sources as arrays of ids."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer
from jelly._dataset.conditions.terms import batch_of
from jelly._html import html_table
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, need

if TYPE_CHECKING:
    from jelly._core.terms.model import _Part, _Term
    from jelly._formats.arrow_tables import pa

Column: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(slots=True, eq=False, repr=False)
class GraphIds:
    """Statements as arrays of ids, made by `Dataset.to_ids`.

    Attributes
    ----------
    s, p, o : numpy.ndarray
        The ids of the subjects, predicates and objects, in the order of the sources.
    g : numpy.ndarray or None
        The ids of the graphs, -1 for the default graph; None if no source has quads.
    apart : bool
        Whether predicates have ids of their own, from 0. Otherwise they are numbered with the nodes.
    n_nodes, n_relations : int
        The number of nodes and of relations that have an id; nodes have the ids 0 to ``n_nodes - 1``.
    dictionary : GraphDictionary
        What gives the ids: for the next `Dataset.to_ids`.

    Examples
    --------
    >>> import jelly
    >>> ids = jelly.scan(b"<a:ann> <a:knows> <a:bob> .\\n<a:bob> <a:knows> <a:eve> .", format="nt").to_ids()
    >>> ids
    <jelly.GraphIds: 2 statements, 3 nodes, 1 relations>
    >>> ids.s.tolist(), ids.p.tolist(), ids.o.tolist()
    ([0, 1], [0, 0], [1, 2])
    >>> ids.node(2), ids.id_of(jelly.IRI("a:bob"))
    (IRI('a:eve'), 1)
    """

    s: Column
    p: Column
    o: Column
    g: Column | None
    dictionary: GraphDictionary
    apart: bool
    n_nodes: int = field(init=False)
    n_relations: int = field(init=False)

    def __post_init__(self) -> None:
        # The dictionary may grow by other runs.
        self.n_nodes, self.n_relations = self.dictionary.n_nodes, self.dictionary.n_relations

    def __len__(self) -> int:
        return len(self.s)

    def __repr__(self) -> str:
        return f"<jelly.GraphIds: {len(self)} statements, {self.n_nodes} nodes, {self.n_relations} relations>"

    def _repr_html_(self) -> str:
        columns = {name: ids for name in "spog" if (ids := getattr(self, name, None)) is not None}
        rows = zip(*(ids[:10].tolist() for ids in columns.values()), strict=True)
        return html_table(repr(self), columns, rows, more=len(self) > 10)

    @property
    def edge_index(self) -> npt.NDArray[np.int64]:
        """Subjects above objects, an int64 array of shape (2, n): what PyTorch Geometric calls ``edge_index``.

        Returns
        -------
        numpy.ndarray
            The array, made anew; ``torch.from_numpy`` shares its memory.
        """
        return np.stack([self.s, self.o]).astype(np.int64, copy=False)

    @property
    def nodes(self) -> pa.Table:
        """The terms of the nodes, a row for each id: ``kind``, ``value``, ``datatype``, ``lang``, ``direction``.

        Returns
        -------
        pyarrow.Table
            The table, made anew. It needs pyarrow (extra ``arrow``).
        """
        from jelly._dataset.ids.tables import terms_table

        return terms_table(self.dictionary, self.n_nodes)

    @property
    def relations(self) -> pa.Table:
        """The terms of the relations that have ids of their own, as `nodes` has those of the nodes.

        Returns
        -------
        pyarrow.Table
            The table, made anew. It needs pyarrow (extra ``arrow``).
        """
        from jelly._dataset.ids.tables import terms_table

        return terms_table(self.dictionary, self.n_relations, relations=True)

    @checked()
    def node(self, id: int) -> _Term:
        """The node of an id. For many of them `nodes` or `terms` is faster.

        Parameters
        ----------
        id : int
            Its id.

        Returns
        -------
        Term
            The term. IndexError if no node has this id.
        """
        return self._term(id, self.n_nodes, relations=False)

    @checked()
    def relation(self, id: int) -> _Term:
        """The predicate of an id.

        Parameters
        ----------
        id : int
            Its id, as in ``p``.

        Returns
        -------
        Term
            The term. IndexError if no predicate has this id.
        """
        return self._term(id, self.n_relations, relations=True) if self.apart else self.node(id)

    def _term(self, id: int, n: int, relations: bool) -> _Term:
        if not 0 <= id < n:
            raise IndexError(f"no {'relation' if relations else 'node'} {id}: there are {n}")
        batch = self.dictionary.batch(int(id), int(id) + 1, relations=relations)
        found: _Term = Materializer(batch).term(int(batch.o[0]))
        return found

    def id_of(self, term: _Part, *, relation: bool = False) -> int | None:
        """The id of a term.

        Parameters
        ----------
        term : Term
            The term. Blank nodes have the labels that they have here, see `Dataset.to_ids`.
        relation : bool, default False
            Ask for its id as a predicate.

        Returns
        -------
        int or None
            Its id; None if it has none.
        """
        found = int(self.dictionary.numbers(batch_of([term]), relations=relation and self.apart)[0])
        return found if 0 <= found < (self.n_relations if relation and self.apart else self.n_nodes) else None

    def terms(self) -> list[str]:
        """The nodes in N-Triples syntax, in the order of their ids.

        Returns
        -------
        list of str
            A string for each node.
        """
        batch = self.dictionary.batch(0, self.n_nodes)
        return [batch.term(term) for term in batch.o.tolist()]

    @checked()
    def to_scipy(self, relation: int | None = None) -> Any:
        """The adjacency matrix: how many statements lead from the node of a row to that of a column.

        Parameters
        ----------
        relation : int, optional
            Only statements with this id in ``p``.

        Returns
        -------
        scipy.sparse.csr_array
            The matrix of all nodes. It needs scipy (extra ``scipy``).

        Examples
        --------
        >>> import jelly
        >>> jelly.scan(b"<a:x> <a:p> <a:y> .", format="nt").to_ids().to_scipy().toarray().tolist()  # doctest: +SKIP
        [[0, 1], [0, 0]]
        """
        with need("scipy", "matrices need scipy"):
            from scipy import sparse

        chosen = slice(None) if relation is None else self.p == relation
        source, target = self.s[chosen], self.o[chosen]
        shape = (self.n_nodes, self.n_nodes)
        return sparse.coo_array((np.ones(len(source), np.int64), (source, target)), shape=shape).tocsr()

    def to_networkx(self) -> Any:
        """A graph of networkx whose nodes are the ids, with an edge for each statement.

        Returns
        -------
        networkx.MultiDiGraph
            Nodes have the attribute ``term`` (N-Triples), edges ``relation`` (the id in ``p``). It needs networkx
            (extra ``networkx``).
        """
        with need("networkx", "these graphs need networkx"):
            import networkx

        graph = networkx.MultiDiGraph()
        graph.add_nodes_from((id, {"term": term}) for id, term in enumerate(self.terms()))
        edges = zip(self.s.tolist(), self.o.tolist(), self.p.tolist(), strict=True)
        graph.add_edges_from((source, target, {"relation": relation}) for source, target, relation in edges)
        return graph

    def to_igraph(self) -> Any:
        """A directed graph of igraph whose vertices are the ids, with an edge for each statement.

        Returns
        -------
        igraph.Graph
            Vertices have the attribute ``term`` (N-Triples), edges ``relation`` (the id in ``p``). It needs igraph
            (extra ``igraph``).
        """
        with need("igraph", "these graphs need igraph"):
            import igraph

        graph = igraph.Graph(n=self.n_nodes, edges=np.stack([self.s, self.o], axis=1), directed=True)
        graph.vs["term"] = self.terms()
        graph.es["relation"] = self.p.tolist()
        return graph


def to_ids(
    batches: Iterable[Batch],
    dictionary: GraphDictionary | str | os.PathLike[str] | None,
    *,
    literals: bool,
    apart: bool,
    dtype: npt.DTypeLike,
) -> GraphIds:
    """The statements of Batches as arrays of ids, see `Dataset.to_ids`."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        raise JellyArgumentError(f"dtype is {dtype!r:.80}: expected int32 or int64") from None
    if kind not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise JellyArgumentError(f"dtype is {kind}: expected int32 or int64")
    if dictionary is None:
        dictionary = GraphDictionary()
    elif not isinstance(dictionary, GraphDictionary):
        from jelly._dataset.ids.tables import read_dictionary

        dictionary = read_dictionary(dictionary)
    add = partial(dictionary.add, literals=literals, apart=apart)  # by map, which holds no Batch meanwhile
    parts: list[list[Any]] = [*map(list, zip(*map(add, batches), strict=True))] or [[], [], [], []]
    ends = [0, *accumulate(map(len, parts[0]))]
    graphs = None if all(part is None for part in parts[3]) else _joined(parts[3], ends, kind)
    s, p, o = (_joined(part, ends, kind) for part in parts[:3])
    return GraphIds(s, p, o, graphs, dictionary, apart)


def _joined(parts: list[Any], ends: list[int], kind: np.dtype[Any]) -> Any:
    """One array of all parts, which are let go of; -1 where there is none."""
    made = np.empty(ends[-1], kind)
    for start, end in reversed([*pairwise(ends)]):
        part = parts.pop()
        made[start:end] = -1 if part is None else part
    return made
