"""Validation by SHACL: what the shapes of a graph can reach, checked by pySHACL."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rdflib import OWL, RDF, RDFS, SH, BNode, Graph, Literal, URIRef
from rdflib.paths import MulPath

from jelly._core.terms.materialize import StatementIterator
from jelly._dataset.dataset import Dataset
from jelly._dataset.sources import OF_SOURCES, Sources
from jelly._dataset.subset import refuse_once, subset
from jelly._options.settings import checked
from jelly.errors import JellyError, JellyUnsupportedError, need
from jelly.rdflib._reading import library, read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

# What may ask for any statement.
_ANYWHERE = SH.sparql | SH.target | SH.rule | SH.js | SH.select | SH.ask | SH.construct | SH.expression
_OPTIONAL = (SH.zeroOrOnePath, SH.zeroOrMorePath, SH.oneOrMorePath)
# Constraints whose values are shapes for the same node or for the values of a path, or lists of shapes.
_LISTS = (SH["and"] | SH["or"] | SH.xone) / MulPath(RDF.rest, "*") / RDF.first
_SHAPES = SH["not"] | SH.node | SH.property | SH.qualifiedValueShape | _LISTS
# Shapes that the values of a property shape must not have if its qualified shape is to be disjoint.
_SIBLINGS = ~SH.property / SH.property / SH.qualifiedValueShape
# Blank nodes within blank nodes that are looked for level by level; to find whole lists one pass reads all blank nodes.
_LEVELS = 3
_COMPARED = SH.equals | SH.disjoint | SH.lessThan | SH.lessThanOrEquals


class _Shapes:
    """What the shapes of a graph ask of data: predicates forward and inverse, and how many steps from a focus node."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.forward: set[Any] = {RDF.type, *graph.objects(None, _COMPARED)}
        self.inverse: set[Any] = set()
        self.is_anywhere = (None, _ANYWHERE, None) in graph
        self._closed = {shape for shape, value in graph.subject_objects(SH.closed) if _is_true(value)}
        self.is_closed = bool(self._closed)
        self._lengths = {path: self._length(path, False) for path in {*graph.objects(None, SH.path)}}
        self._depths: dict[Any, float] = {}
        self.steps = max([0.0, *(self._depth(shape) for shape in {*graph.subjects(SH.path)} | self._roots())])

    def _roots(self) -> set[Any]:
        """Whatever may be a shape: also what has only constraints."""
        graph = self._graph
        typed = {shape for kind in (SH.NodeShape, SH.PropertyShape) for shape in graph.subjects(RDF.type, kind)}
        return typed | {shape for shape, predicate, _ in graph if str(predicate).startswith(str(SH))}

    def _length(self, path: Any, is_inverse: bool) -> float:
        """The number of steps of a path, whose predicates are noted."""
        if isinstance(path, URIRef):
            (self.inverse if is_inverse else self.forward).add(path)
            return 1
        graph = self._graph
        # Of a path that is a list and something else pySHACL takes the list.
        for kind, inner in () if (path, RDF.first, None) in graph else graph.predicate_objects(path):
            if kind == SH.inversePath:
                return self._length(inner, not is_inverse)
            if kind == SH.alternativePath:
                return max(self._length(part, is_inverse) for part in graph.items(inner))
            if kind in _OPTIONAL:
                length = self._length(inner, is_inverse)
                return length if kind == SH.zeroOrOnePath else math.inf
        return sum(self._length(part, is_inverse) for part in graph.items(path))

    def _depth(self, shape: Any) -> float:
        """The number of steps from a node to what its shape asks for."""
        if shape in self._depths:
            return self._depths[shape]
        graph = self._graph
        self._depths[shape] = math.inf  # one that is within itself has no end
        inner = [self._depth(one) for one in graph.objects(shape, _SHAPES)]
        if any(map(_is_true, graph.objects(shape, SH.qualifiedValueShapesDisjoint))):
            inner += [self._depth(one) for one in graph.objects(shape, _SIBLINGS)]
        path = graph.value(shape, SH.path)
        # Of values of sh:class their types are asked for, and of nodes what they are compared with, or all.
        asks = SH["class"] if path else SH["class"] | _COMPARED
        is_asked = shape in self._closed or (shape, asks, None) in graph
        self._depths[shape] = found = max([float(is_asked), *inner]) + self._lengths.get(path, 0)
        return found

    def focus(self, data: Dataset, types: Graph) -> Iterator[Any]:
        """The focus nodes; ``types`` gets the statements that say so."""
        graph = self._graph
        kinds = {OWL.Class, *graph.transitive_subjects(RDFS.subClassOf, RDFS.Class)}
        classes: set[Any] = {*graph.objects(None, SH.targetClass)} | {
            shape for shape in self._roots() if not kinds.isdisjoint(graph.objects(shape, RDF.type))
        }
        yield from graph.objects(None, SH.targetNode)
        both = graph + types
        classes = {below for each in classes for below in both.transitive_subjects(RDFS.subClassOf, each)}
        asked: list[tuple[int, dict[str, Any]]] = [
            (0, {"p": RDF.type, "o": classes}),
            (0, {"p": {*graph.objects(None, SH.targetSubjectsOf)}}),
            (2, {"p": {*graph.objects(None, SH.targetObjectsOf)}}),
        ]
        for place, wanted in asked:
            if all(wanted.values()):
                for found in _rows(data.filter(**wanted)):
                    types.add(found)
                    yield found[place]


def _is_true(value: Any) -> bool:
    """Whether a value of the shapes is true, however that is written."""
    return bool(getattr(value, "value", None))


def _rows(data: Dataset) -> Iterator[Any]:
    rows: Any = StatementIterator(data.batches(), library())
    for row in rows:
        yield row[:3]


def _graph(rows: Iterable[Any]) -> Graph:
    made = Graph()
    made += (row[:3] for row in rows)
    return made


def _reachable(data: Dataset, shapes: _Shapes) -> Graph:
    """The statements that shapes can ask for, of all graphs."""
    if shapes.is_anywhere:
        return _graph(_rows(data))
    made = _graph(_rows(data.filter(p=RDFS.subClassOf)))
    new = {*shapes.focus(data, made)}
    reached: set[Any] = set()
    steps = 0
    while new and steps < max(shapes.steps, shapes.is_closed):
        reached |= new
        ends: set[Any] = set()
        forward = None if shapes.is_closed else shapes.forward
        for row in _rows(data.filter(s={node for node in new if not isinstance(node, Literal)}, p=forward)):
            made.add(row)
            if row[1] in shapes.forward:
                ends.add(row[2])
        if shapes.inverse:
            for row in _rows(data.filter(p=shapes.inverse, o=new)):
                made.add(row)
                ends.add(row[0])
        new = ends - reached
        steps += 1
    # Reports tell what a blank node is.
    known: set[Any] = set()
    blank = _blank(reached | new)
    for _ in range(_LEVELS):
        if not blank:
            return made
        known |= blank
        found = _graph(_rows(data.filter(s=blank)))
        made += found
        blank = _blank(found.objects()) - known
    if blank:
        made += _rows(subset(data, focus=blank))
    return made


def _blank(nodes: Iterable[Any]) -> set[Any]:
    return {node for node in nodes if isinstance(node, BNode)}


@checked(OF_SOURCES)
def validate(src: Any, shapes: Any, **options: Unpack[ReadOptions]) -> tuple[bool, Graph, str]:
    """Validate files by shapes of SHACL: pySHACL checks the statements that the shapes can reach from their targets.

    The report is the one that pySHACL gives for all statements. The source is read once for each step of the longest
    path of a shape, and three times more; only those statements are in memory. With SPARQL in the shapes they are all.
    Statements of named graphs count as those of the default graph.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.scan`. It must be a path, bytes or whatever else can be read several times.
    shapes : Any
        The shapes: a graph of RDFLib, or as for `jelly.read`.
    **options : Unpack[ReadOptions]
        Shared keywords for ``src``, see `jelly.ReadOptions`.

    Returns
    -------
    tuple of bool, rdflib.Graph and str
        Whether the data conform, the report, and the report as text: what ``pyshacl.validate`` returns.

    Raises
    ------
    JellyUnsupportedError
        If pySHACL refuses the shapes.
    MissingExtraError
        Without pySHACL (extra ``shacl``).

    Examples
    --------
    >>> import jelly.rdflib, rdflib
    >>> shapes = rdflib.Graph().parse(format="turtle", data='''@prefix sh: <http://www.w3.org/ns/shacl#> .
    ... <a:shape> sh:targetNode <a:ann> ; sh:property [ sh:path <a:name> ; sh:minCount 1 ] .''')
    >>> data = b'<a:ann> <a:knows> <a:bob> .\\n<a:bob> <a:name> "Bob" .'
    >>> conforms, report, text = jelly.rdflib.validate(data, shapes, format="nt")
    >>> conforms
    False
    """
    with need("shacl", "validation by shapes needs pySHACL"):
        import pyshacl

    threads = options.pop("threads", 1)
    data = Dataset(Sources(src, **options), threads=threads)
    refuse_once(data)
    wanted = shapes if isinstance(shapes, Graph) else _graph(read(shapes))
    try:
        found = _reachable(data, _Shapes(wanted))
        conforms, report, text = pyshacl.validate(found, shacl_graph=wanted, inplace=True)
    except (JellyError, OSError):
        raise
    except Exception as error:  # of pySHACL, RDFLib, or what they stand on
        raise JellyUnsupportedError(f"these shapes cannot be checked: {error!s:.200}") from None
    return bool(conforms), report, str(text)
