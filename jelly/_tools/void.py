"""A `Description` as statements of VoID and DCAT."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from jelly._core.base.constants import RDF
from jelly._core.terms.model import IRI, Literal
from jelly._core.terms.statements import Triple
from jelly._options.namespaces import is_absolute

if TYPE_CHECKING:
    from jelly._tools.describe import Description, GraphDescription, PropertyPartition

_T = TypeVar("_T")
_XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {
    "void": "http://rdfs.org/ns/void#",
    "void-ext": "http://ldf.fi/void-ext#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "xsd": _XSD,
}
_MEDIA = "https://www.iana.org/assignments/media-types/"
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "x-bzip2", ".xz": "x-xz"}
# By kind, of subjects and of objects.
_COUNTS = (
    {"iri": "distinctIRIReferenceSubjects", "bnode": "distinctBlankNodeSubjects"},
    {"iri": "distinctIRIReferenceObjects", "bnode": "distinctBlankNodeObjects", "literal": "distinctLiterals"},
)


class _Void:
    """The statements about a data set. Each thing has an IRI made of its names."""

    def __init__(self, iri: str) -> None:
        self._base = iri.partition("#")[0]

    def about(self, thing: str, kinds: str, **facts: Any) -> Iterator[Triple]:
        """Statements about a thing: its classes, and facts by the names of properties; numbers, texts or lists."""
        subject = IRI(thing)
        for kind in kinds.split():
            yield Triple(subject, IRI(RDF + "type"), _iri(kind))
        for name, values in facts.items():
            for value in values if isinstance(values, list) else [values]:
                if value is not None:
                    term = Literal(value) if isinstance(value, int) else value
                    yield Triple(subject, _iri(name.replace("__", ":").replace("_ext", "-ext")), term)

    def name(self, *names: str) -> str:
        return f"{self._base}#{hashlib.blake2b(chr(0).join(names).encode(), digest_size=8).hexdigest()}"

    def names(self, *names: str, each: Iterable[str]) -> list[IRI]:
        return [IRI(self.name(*names, one)) for one in each]

    def properties(self, key: tuple[str, ...], partitions: dict[str, PropertyPartition]) -> Iterator[Triple]:
        for iri, one in _absolute(partitions).items():
            here = (*key, "property", iri)
            datatypes = _absolute(one.datatypes)
            yield from self.about(
                self.name(*here), "", void__property=IRI(iri), **_counts(one),
                void_ext__datatypePartition=self.names(*here, "datatype", each=datatypes),
                void_ext__languagePartition=self.names(*here, "language", each=one.languages),
            )  # fmt: skip
            for what, table in (("datatype", datatypes), ("language", one.languages)):
                for name, n in table.items():
                    told = {f"void_ext__{what}": IRI(name) if what == "datatype" else Literal(name)}
                    yield from self.about(self.name(*here, what, name), "", void__triples=n, **told)

    def graph(
        self, thing: str, kinds: str, key: tuple[str, ...], graph: GraphDescription, **facts: Any
    ) -> Iterator[Triple]:
        classes = _absolute(graph.classes)
        links = [
            ("class", (*key, "link", source, property, target), n)
            for source, one in classes.items()
            for property, partition in _absolute(one.properties).items()
            for target, n in _absolute(partition.classes).items()
        ] + [
            ("space", (*key, "linkset", source, property, target), n)
            for property, sources in _absolute(graph.linksets).items()
            for source, targets in sources.items()
            for target, n in targets.items()
        ]  # fmt: skip
        each_kind = zip(_COUNTS, (graph.subject_kinds, graph.object_kinds), strict=True)
        yield from self.about(
            thing, kinds, **_counts(graph),
            **{f"void_ext__{name}": found.get(kind, 0) for names, found in each_kind for kind, name in names.items()},
            void__classes=graph.n_classes, void__properties=len(graph.properties),
            void__vocabulary=[IRI(name) for name in graph.vocabularies],
            void__classPartition=self.names(*key, "class", each=classes),
            void__propertyPartition=self.names(*key, "property", each=_absolute(graph.properties)),
            void__subset=[IRI(self.name(*names)) for _, names, _ in links], **facts,
        )  # fmt: skip
        yield from self.properties(key, graph.properties)
        for iri, one in classes.items():
            here = (*key, "class", iri)
            each = self.names(*here, "property", each=_absolute(one.properties))
            told = {"void__class": IRI(iri), "void__entities": one.entities, "void__propertyPartition": each}
            yield from self.about(self.name(*here), "", **told)
            yield from self.properties(here, one.properties)
        for space in sorted({names[at] for what, names, _ in links if what == "space" for at in (-3, -1)}):
            yield from self.about(self.name(*key, "space", space), "void:Dataset", void__uriSpace=Literal(space))
        for what, names, n in links:
            source, property, target = names[-3:]
            yield from self.about(
                self.name(*names), "void:Linkset", void__linkPredicate=IRI(property), void__triples=n,
                void__subjectsTarget=IRI(self.name(*key, what, source)),
                void__objectsTarget=IRI(self.name(*key, what, target)),
            )  # fmt: skip


def _absolute(table: dict[str, _T]) -> dict[str, _T]:
    """The rows whose names are IRIs with a scheme: no other term can be told in Turtle."""
    return {name: row for name, row in table.items() if is_absolute(name)}


def _iri(name: str) -> IRI:
    prefix, _, local = name.partition(":")
    return IRI(PREFIXES[prefix] + local)


def _counts(one: PropertyPartition | GraphDescription) -> dict[str, int]:
    return {"void__triples": one.triples, "void__distinctSubjects": one.subjects, "void__distinctObjects": one.objects}


def statements(found: Description) -> Iterator[Triple]:
    """The statements of `Description.statements`."""
    make = _Void(found.iri)
    files = [make.name("file", str(number), one["name"]) for number, one in enumerate(found.files)]
    urls = [IRI(one["url"]) if one["url"] else None for one in found.files]
    graphs = {make.name("graph", name): name for name in found.graphs}
    yield from make.graph(
        found.iri, "void:Dataset dcat:Dataset", (), found.graph,
        dcterms__title=Literal(found.title), dcat__distribution=[IRI(file) for file in files], void__dataDump=urls,
        sd__namedGraph=[IRI(graph) for graph in graphs],
    )  # fmt: skip
    for file, url, one in zip(files, urls, found.files, strict=True):
        media, size = one["format"], one["bytes"]
        known = media and "/x-" not in media
        packed = _COMPRESSIONS.get(one["compression"])
        yield from make.about(
            file, "dcat:Distribution", dcterms__title=Literal(one["name"]), dcat__downloadURL=url,
            dcat__mediaType=IRI(_MEDIA + media) if known else None,
            dcterms__format=Literal(media) if media and not known else None,
            dcat__compressFormat=IRI(f"{_MEDIA}application/{packed}") if packed else None,
            dcat__byteSize=None if size is None else Literal(str(size), datatype=_XSD + "nonNegativeInteger"),
        )  # fmt: skip
    for graph, name in graphs.items():
        data = make.name("graph", name, "data")
        named = IRI(name) if is_absolute(name) else None
        yield from make.about(graph, "sd:NamedGraph", sd__name=named, sd__graph=IRI(data))
        yield from make.graph(data, "void:Dataset sd:Graph", ("graph", name), found.graphs[name])
