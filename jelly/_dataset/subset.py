"""``jelly.subset``: the descriptions of some nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jelly._core.algebra.content import blank_terms
from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF
from jelly._core.base.kinds import Kind
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.model import IRI, BlankNode, QuotedTriple
from jelly._dataset.conditions.pattern import Wanted
from jelly._dataset.dataset import Dataset
from jelly._dataset.scan import dataset_of
from jelly._dataset.seekable.file import JellyFile
from jelly._dataset.sources import OF_SOURCES, is_file, is_table
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions


def can_repeat(dataset: Dataset) -> bool:
    """Whether all sources can be read several times, and a sample of them is the same each time."""
    return not any(getattr(step, "is_random", False) for step in dataset._steps) and all(
        isinstance(source, bytes | bytearray | memoryview | JellyFile) or is_table(source) or is_file(source)
        for source in dataset._sources.each
    )


def refuse_once(dataset: Dataset) -> None:
    """Refuse sources that can be read only once."""
    if not can_repeat(dataset):
        raise JellyArgumentError(
            "this reads its source several times: expected a path, bytes or a JellyFile, and of a sample its seed="
        )


class _Nodes:
    """Numbered nodes, and which of them are chosen."""

    def __init__(self) -> None:
        self._dictionary = GraphDictionary()
        self._chosen = np.zeros(0, bool)

    def ends(self, batches: Iterable[Batch]) -> tuple[Any, Any]:
        """The numbers of the subjects and objects of statements."""
        found = [self._dictionary.add(batch, apart=False) for batch in batches]
        subjects, objects = (np.concatenate([np.empty(0, np.int32), *(each[at] for each in found)]) for at in (0, 2))
        return subjects, objects

    def choose(self, numbers: Any) -> Any:
        """Choose nodes, and return those that were not chosen before, each once."""
        missing = self._dictionary.n_nodes - len(self._chosen)
        self._chosen = np.append(self._chosen, np.zeros(missing, bool))
        new = np.unique(numbers[~self._chosen[numbers]])
        self._chosen[new] = True
        return new

    def terms(self, numbers: Any = None) -> list[Any]:
        """The terms of some numbers, or of all chosen nodes."""
        wanted = np.flatnonzero(self._chosen) if numbers is None else numbers
        return [term for (term,) in self._dictionary.results(("node",), np.asarray(wanted, np.int32)[:, None])]


def _to_blank_nodes(dataset: Dataset) -> Iterator[Batch]:
    """Statements whose objects are blank nodes; of those with quoted triples one for each blank node in these."""
    for batch in dataset.filter(where="o.kind = blank|quoted").batches():
        is_node = batch.kind[batch.o] == Kind.BNODE
        yield select(batch, is_node)
        quoting = blank_terms(batch)[batch.o] & ~is_node
        if quoting.any():
            builder = BatchBuilder(3)
            for s, p, o, *_ in select(batch, quoting).statements():
                for node in _blank_in(o):
                    builder.add((s, p, node))
            yield builder.batch


def _blank_in(term: Any) -> list[BlankNode]:
    """The blank nodes in a term. Quoted triples may share their parts: each is looked at once."""
    found: dict[Any, None] = {}
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if one not in found and isinstance(one, QuotedTriple):
            waiting += one.s, one.p, one.o
        found[one] = None
    return [one for one in found if isinstance(one, BlankNode)]


class _Edges:
    """Statements with objects that are blank nodes, or have some in them, by subject."""

    def __init__(self, subjects: Any, objects: Any) -> None:
        order = np.argsort(subjects, kind="stable")
        self._subjects, self._objects = subjects[order], objects[order]

    def of(self, nodes: Any) -> Any:
        """The objects of some nodes."""
        first = np.searchsorted(self._subjects, nodes)
        counts = np.searchsorted(self._subjects, nodes, "right") - first
        at = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        return self._objects[at]


@checked(OF_SOURCES)
def subset(
    src: Any,
    class_: Wanted = None,
    focus: Wanted = None,
    *,
    depth: int = 1,
    **options: Unpack[ReadOptions],
) -> Dataset:
    """Take the concise bounded descriptions of nodes: all statements about them, and about the blank nodes in these.

    Blank nodes in quoted triples, which are triple terms in RDF 1.2, are among them where the triple is an object.

    The source is read once for the nodes of classes, once for blank nodes, and once for each step of ``depth``. Nodes
    with blank nodes are in memory, not statements.

    Parameters
    ----------
    src : Any
        The input, as for `scan`, or a `Dataset`. It must be a path, bytes or whatever else can be read several times.
    class_ : IRI, str, or an iterable of these, optional
        Describe the nodes of these classes (rdf:type).
    focus : term, str, or an iterable of these, optional
        Describe these nodes.
    depth : int, default 1
        With 2 also the IRIs in these statements are described, with 3 those in theirs, and so on.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`.

    Returns
    -------
    Dataset
        The statements, in the order of the source.

    Raises
    ------
    JellyArgumentError
        If neither ``class_`` nor ``focus`` is given, or the source can be read only once.

    Examples
    --------
    >>> import jelly
    >>> data = b"<a:ann> <a:home> _:x .\\n_:x <a:city> <a:rome> .\\n<a:bob> <a:home> _:y .\\n_:y <a:city> <a:rome> ."
    >>> jelly.subset(data, focus="a:ann", format="nt").count()
    2
    """
    dataset = src if isinstance(src, Dataset) else dataset_of(src, **options)
    refuse_once(dataset)
    if class_ is None and focus is None:
        raise JellyArgumentError("give class_ or focus: the nodes to describe")
    if depth < 1:
        raise JellyArgumentError(f"depth is {depth}: expected at least 1")
    nodes = _Nodes()
    new = np.empty(0, np.int32)
    if focus is not None:
        new = nodes.choose(nodes.ends(dataset.filter(s=focus).batches())[0])
    if class_ is not None:
        of_class = dataset.filter(p=IRI(f"{RDF}type"), o=class_)
        new = np.append(new, nodes.choose(nodes.ends(of_class.batches())[0]))
    blank = _Edges(*nodes.ends(_to_blank_nodes(dataset)))
    described = new
    for step in range(depth):
        if step:
            linked = dataset.filter(s=nodes.terms(described), where="o.kind = iri")
            described = new = nodes.choose(nodes.ends(linked.batches())[1])
        if not len(new):
            break
        while len(new):
            new = nodes.choose(blank.of(new))
            described = np.append(described, new)
    return dataset.filter(s=nodes.terms())
