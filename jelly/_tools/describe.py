"""Descriptions of data sets in VoID and DCAT: ``jelly.describe``."""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from jelly._bytes.names import is_path, is_url, name_of, split_suffix
from jelly._bytes.source import Progress
from jelly._core.base.constants import DIR_LANG_STRING_IRI, LANG_STRING_IRI, RDF
from jelly._core.base.kinds import Kind
from jelly._dataset.sources import OF_SOURCES, Sources
from jelly._dataset.stream import Stream
from jelly._formats.registry import Content, content_of, find
from jelly._html import html_table
from jelly._options.limits import default
from jelly._options.namespaces import is_absolute
from jelly._options.settings import checked
from jelly._tools.partitions import LITERAL, Partitions, counted, namespace, refuse_more
from jelly.errors import JellyArgumentError, JellyError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._core.terms.statements import Triple
    from jelly._options.keywords import ReadOptions, WriteOptions

MEMORY = 1 << 30
Linksets: TypeAlias = dict[str, dict[str, dict[str, int]]]
Row: TypeAlias = tuple[Any, ...]
_TYPE = RDF + "type"
_KINDS = ("iri", "bnode", "other", "literal")


@dataclass(frozen=True, slots=True)
class PropertyPartition:
    """The statements with one property, in a graph or of the instances of a class.

    Attributes
    ----------
    triples, subjects, objects : int
        Number of different statements, subjects and objects.
    datatypes, languages, classes : dict of str to int
        Number of statements by datatype and by language of the literal, and by class of the object.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.describe(b'<a:s> <a:p> "x" , <a:o> . <a:o> a <a:C> .', format="ttl").graph.properties["a:p"]
    >>> found.triples, found.subjects, found.datatypes, found.classes
    (2, 1, {'http://www.w3.org/2001/XMLSchema#string': 1}, {'a:C': 1})
    """

    triples: int
    subjects: int
    objects: int
    datatypes: dict[str, int] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClassPartition:
    """The instances of a class.

    Attributes
    ----------
    entities : int
        Number of different instances.
    properties : dict of str to PropertyPartition
        The properties that they have.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.describe(b"<a:s> a <a:C> ; <a:p> 1 , 2 .", format="ttl").graph.classes["a:C"]
    >>> found.entities, found.properties["a:p"].objects
    (1, 2)
    """

    entities: int
    properties: dict[str, PropertyPartition] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphDescription:
    """The figures of a graph, of which each statement counts once.

    Attributes
    ----------
    triples, subjects, objects : int
        Number of different statements, subjects and objects. Literals differ as terms, not as values.
    subject_kinds, object_kinds : dict of str to int
        Number of different subjects and objects that are an ``iri``, a ``bnode``, a ``literal`` or another term.
    n_classes : int
        Number of different objects of rdf:type.
    classes : dict of str to ClassPartition
        By class, of those that are IRIs. An instance of several classes counts in each.
    properties : dict of str to PropertyPartition
        By property.
    vocabularies : list of str
        Namespaces of the classes and properties.
    linksets : dict
        By property, namespace of the subject and namespace of the object, where these are two: number of statements.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.describe(b'<a:s> <a:p> "x" <a:g> .', format="nq")
    >>> found.graphs["a:g"].object_kinds, found.graph.vocabularies
    ({'literal': 1}, ['a:'])
    """

    triples: int = 0
    subjects: int = 0
    objects: int = 0
    subject_kinds: dict[str, int] = field(default_factory=dict)
    object_kinds: dict[str, int] = field(default_factory=dict)
    n_classes: int = 0
    classes: dict[str, ClassPartition] = field(default_factory=dict)
    properties: dict[str, PropertyPartition] = field(default_factory=dict)
    vocabularies: list[str] = field(default_factory=list)
    linksets: Linksets = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """Result of `describe`.

    Attributes
    ----------
    iri, title : str
        IRI and title of the data set.
    files : list of dict
        For each file its ``name``, ``url`` or None, ``format`` (a media type), ``compression`` (a suffix or "") and
        ``bytes``.
    graph : GraphDescription
        The union of all graphs.
    graphs : dict of str to GraphDescription
        The named graphs.
    namespaces : dict of str to str
        Namespace declarations of the source.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.describe(b'<a:s> a <a:C> ; <a:p> "x" , "y"@en .', format="ttl")
    >>> found.graph.triples, found.graph.classes["a:C"].properties["a:p"].languages
    (3, {'en': 1})
    """

    iri: str
    title: str
    files: list[dict[str, Any]]
    graph: GraphDescription
    graphs: dict[str, GraphDescription]
    namespaces: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain dicts and numbers."""
        return asdict(self)

    def statements(self) -> Iterator[Triple]:
        """The description in VoID and DCAT. Partitions have IRIs that depend on their names only."""
        from jelly._tools.void import statements

        return statements(self)

    def write(self, dst: Any, **options: Unpack[WriteOptions]) -> int:
        """Write the `statements`.

        Parameters
        ----------
        dst : Any
            The output, as for `jelly.Writer`.
        **options : Unpack[WriteOptions]
            Shared keywords, see `jelly.WriteOptions`. Turtle needs the extra ``oxigraph``.
        """
        from jelly._streams.writer import Writer
        from jelly._tools.void import PREFIXES

        with Writer(dst, **options) as writer:
            if writer.format.namespaces and not writer.format.binary:
                for name, iri in PREFIXES.items():
                    writer.namespace(name, iri)
            writer.extend(self.statements())
        return writer.statements

    def to_turtle(self) -> str:
        """The `statements` in Turtle. It needs the extra ``oxigraph``."""
        from io import BytesIO

        out = BytesIO()
        self.write(out, format="ttl")
        return out.getvalue().decode()

    def to_html(self) -> str:
        """A page with tables and pictures, which needs nothing else."""
        from jelly._tools.void_page import page

        return page(self)

    def __repr__(self) -> str:
        graph = self.graph
        return (
            f"<jelly.Description of {self.title}: {graph.triples:,} triples, {graph.n_classes:,} classes, "
            f"{len(graph.properties):,} properties>"
        )

    def _repr_html_(self) -> str:
        most = sorted(self.graph.classes.items(), key=lambda item: (-item[1].entities, item[0]))[:10]
        rows = [(name, len(found.properties), found.entities) for name, found in most]
        title = f"{self.title}: {self.graph.triples:,} triples"
        return html_table(title, ("class", "properties", "instances"), rows, more=len(self.graph.classes) > 10)


@checked(OF_SOURCES, {"max_partitions"})
def describe(
    src: Any,
    *,
    iri: str | None = None,
    title: str | None = None,
    linksets: bool = False,
    memory: int = MEMORY,
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> Description:
    """Describe a data set: its classes, properties, datatypes and links, with exact counts, in one pass.

    Equal statements count once. A statement in two named graphs counts in each, and once in the union of all graphs.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs.
    iri : str, optional
        IRI of the data set. By default the URL of one source, or a UUID that depends on the figures.
    title : str, optional
        By default the name of the source.
    linksets : bool, default False
        Also count the statements from IRIs of one namespace to those of another, by property except rdf:type.
    memory : int, default 1073741824
        Approximate bytes of memory for statements; the rest goes to temporary files (in TMPDIR). The partitions, and
        the statements of one subject, need more.
    progress : callable, optional
        See `jelly.convert`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `jelly.ReadOptions`. ``max_partitions`` is the maximum number of graphs, classes,
        properties, datatypes and languages, of combinations of them, and of sets of classes that a subject has.

    Raises
    ------
    JellyLimitError
        There are more partitions.

    Examples
    --------
    >>> import jelly
    >>> data = b"<a:s> a <a:C> ; <a:knows> <a:t> . <a:t> a <a:C> ."
    >>> found = jelly.describe(data, format="ttl", iri="http://example.org/data").graph
    >>> found.classes["a:C"].entities, found.properties["a:knows"].classes
    (2, {'a:C': 1})
    """
    settings: dict[str, Any] = {**options}
    threads = settings.pop("threads", 1)
    max_partitions = settings.pop("max_partitions", default("max_partitions"))
    if memory < 1 or max_partitions < 1 or threads < 1:
        raise JellyArgumentError("memory, max_partitions and threads must be at least 1")
    if iri is not None and not is_absolute(iri):
        raise JellyArgumentError(f"iri is {iri!r:.80}: expected one with a scheme, such as http://example.org/data")
    kind = content_of(None, (src, settings.get("format")))
    if kind is not Content.STATEMENTS:
        raise JellyArgumentError(f"only statements have a description, not {kind.value}")
    sources = Sources(src, **settings)
    stream = Stream(sources, threads, as_is=True)
    batches: Any = stream.watched(progress)
    with ExitStack() as stack:
        counts = Partitions(memory, max_partitions, stack, bool(linksets))
        with closing(batches):
            for batch in batches:
                if len(batch):
                    counts.add(batch)
        counts.finish()
    numbered = _graphs(counts, max_partitions)
    graph = numbered.pop(0)
    graphs = dict(sorted((counts.graphs.all[number][1], made) for number, made in numbered.items()))
    each = [source for source in sources.each if is_path(source) and source != "-"]
    files = [_file(source, settings.get("format")) for source in each]
    if title is None:
        names = [os.path.basename(name_of(src).rstrip("/"))] if is_path(src) else [one["name"] for one in files[:3]]
        title = ", ".join(names).strip("-") or "data set"
    if iri is None:
        iri = files[0]["url"] if len(files) == 1 else None
        iri = iri or uuid.uuid5(uuid.NAMESPACE_OID, repr((graph, graphs))).urn
    return Description(iri, title, files, graph, graphs, dict(stream.namespaces))


def _file(source: Any, format: str | None) -> dict[str, Any]:
    name = name_of(source)
    _, compression = split_suffix(name)
    try:
        media = find(format, name, tables=True).media_types
    except JellyError:  # a web server said what it is
        media = ()
    return {
        "name": os.path.basename(name),
        "url": name if is_url(name) else None,
        "format": media[0] if media else None,
        "compression": compression,
        "bytes": os.path.getsize(name) if os.path.isfile(name) else None,
    }


def described(
    union: Any,
    figures: Iterable[Row],
    literals: Iterable[Row],
    targets: Iterable[Row],
    nodes: Iterable[Row],
    linksets: Iterable[Row],
) -> dict[Any, GraphDescription]:
    """The descriptions of graphs, ``union`` first, by what was counted: rows that begin with the graph.

    Rows of partitions go on with the class, None for all subjects, and the property. ``figures`` have triples, subjects
    and objects, ``literals`` the language or "", the datatype and a number, ``targets`` the class of the object and a
    number. ``nodes`` have the column, 0 or 1, the kind and a number, ``linksets`` the property, two namespaces and a
    number.
    """
    partitions: Any = defaultdict(lambda: defaultdict(dict))
    for graph, of, property, *numbers in figures:
        partitions[graph][of][property] = PropertyPartition(*numbers)
    for graph, of, property, language, datatype, n in literals:
        partition = partitions[graph][of][property]
        if language:
            partition.languages[language] = n
            datatype = DIR_LANG_STRING_IRI if "--" in language else LANG_STRING_IRI
        partition.datatypes[datatype] = partition.datatypes.get(datatype, 0) + n
    for graph, of, property, target, n in targets:
        partitions[graph][of][property].classes[target] = n
    kinds: Any = defaultdict(lambda: ({}, {}), {union: ({}, {})})
    for graph, column, kind, n in nodes:
        kinds[graph][column][kind] = n
    links: Any = defaultdict(dict)
    for graph, property, source, target, n in linksets:
        links[graph].setdefault(property, {}).setdefault(source, {})[target] = n
    return {graph: _summed(partitions[graph], links[graph], *kinds[graph]) for graph in sorted(kinds)}


def _summed(
    partitions: dict[Any, dict[str, PropertyPartition]],
    linksets: Linksets,
    subject_kinds: dict[str, int],
    object_kinds: dict[str, int],
) -> GraphDescription:
    """The description of a graph. The instances of a class are the subjects that it has of rdf:type."""
    properties = partitions.pop(None, {})
    classes = {name: ClassPartition(of[_TYPE].subjects, of) for name, of in sorted(partitions.items())}
    return GraphDescription(
        sum(partition.triples for partition in properties.values()),
        sum(subject_kinds.values()),
        sum(object_kinds.values()),
        subject_kinds,
        object_kinds,
        properties[_TYPE].objects if _TYPE in properties else 0,
        classes,
        properties,
        sorted({namespace(name) for name in (*classes, *properties) if is_absolute(name)}),
        linksets,
    )


def _graphs(counts: Partitions, limit: int) -> dict[int, GraphDescription]:
    """The descriptions of the graphs by their numbers."""
    properties, classes = counts.properties.all, counts.classes.all
    names: Any = counts.kinds.all

    def by_class(table: str, columns: int) -> tuple[list[Any], Any]:
        """A table with classes, from 1 on, and 0 for all rows, in the place of their sets."""
        (sets, *others), n = counts.table(table, columns)
        rows, members = counts.expanded(sets)
        return counted([members, *(other[rows] for other in others)], n[rows])

    def partition(member: int, of: int) -> Row:
        scope, name = properties[of]
        return scope, classes[member - 1][1] if member else None, name

    (members, of, kinds, sets), n = by_class("triples", 4)
    triples, subjects, objects = counted([members, of], n), by_class("subjects", 2), counts.table("of objects", 2)
    refuse_more(len(triples[1]), limit)
    is_literal = kinds >= LITERAL
    typed = counted([kinds[is_literal], members[is_literal], of[is_literal]], n[is_literal])
    rows, targets = counts.expanded(sets)
    rows, targets = rows[targets > 0], targets[targets > 0]
    linked = counted([targets, members[rows], of[rows]], n[rows])
    refuse_more(len(typed[1]) + len(linked[1]), limit)
    return described(
        0,
        figures=sorted(
            (
                (*partition(member, of), *numbers)
                for member, of, *numbers in _lists([*triples[0], triples[1], subjects[1]], objects[1])
            ),
            key=lambda row: row[2],
        ),
        literals=(
            (*partition(member, of), *((name, "") if what == Kind.LANG else ("", name)), number)
            for (what, name), member, of, number in sorted((names[kind], *row) for kind, *row in _lists(*typed))
        ),
        targets=(
            (*partition(member, of), name, number)
            for name, member, of, number in sorted((classes[target - 1][1], *row) for target, *row in _lists(*linked))
        ),
        nodes=(
            (scope, column, _KINDS[kind], number)
            for column, table in enumerate(("nodes", "objects"))
            for scope, kind, number in _lists(*counts.table(table, 2))
        ),
        linksets=sorted(
            (*properties[of], names[source][1], names[target][1], number)
            for of, source, target, number in _lists(*counts.table("links", 3))
        ),
    )


def _lists(columns: list[Any], n: Any) -> Iterator[Row]:
    return zip(*(column.tolist() for column in columns), n.tolist(), strict=True)
