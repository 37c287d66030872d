"""The registry of formats, by name, suffix and media type: statements, patches, message logs, results and tables."""

from __future__ import annotations

import enum
import importlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from jelly._bytes.names import name_of, split_suffix
from jelly._core.rules.capabilities import Capabilities, capabilities_of
from jelly._formats.protocols import BatchWriter
from jelly.errors import JellyError

__all__ = [
    "FORMATS",
    "LOG_FORMATS",
    "PATCH_FORMATS",
    "PATCH_READING",
    "READING",
    "SEVERAL",
    "VERSIONS",
    "RESULT_FORMATS",
    "RESULT_READING",
    "SEEKING",
    "TABLE_FORMATS",
    "TABLE_SUFFIXES",
    "WRITING",
    "Content",
    "Format",
    "find",
    "format_of",
    "having",
    "table_kind",
]


class Content(enum.Enum):
    """The content of a format; the value is the plural for error messages."""

    STATEMENTS = "statements"
    PATCH = "patches"
    MESSAGES = "message logs"
    RESULTS = "query results"
    TABLE = "tables"


@dataclass(frozen=True, kw_only=True)
class Format:
    """One format of one content: its names, its capabilities, the keywords of its reader and writer, and its codec.

    Attributes
    ----------
    name, title : str
        The name for ``format=`` and ``--to``, and the name for people.
    suffixes, media_types : tuple of str
        Other names. The first suffix and the first media type are the ones to write.
    content : Content
        What it holds. A format such as RDF Thrift may be registered for statements and again for query results.
    quads : bool
        Whether a statement may be in a named graph.
    namespaces : bool
        Whether it has prefix declarations.
    binary : bool
        Whether it must not be printed on a terminal.
    mixed : bool
        Whether Batches of quads may follow Batches of triples.
    delimited : bool
        Message logs only: whether comments or directives delimit the messages.
    reading, writing : frozenset of str
        Keywords for reading and writing it, besides those of all formats of its content.
    capability : str
        Its name in the table of `jelly._core.rules.capabilities`, if that differs.
    codec : str
        Statements, patches and query results only: the module that reads and writes it, imported when it is first used.
        It has two functions, which take the Format and the keywords of `Reader` and `Writer`, of `PatchReader` and
        `PatchWriter`, or of `read_results`: ``open_reader(format, **settings)`` returns a
        `jelly._formats.protocols.BatchReader` or `BatchSource`,
        ``open_writer(format, options, arity, framing=framing, **settings)`` a `BatchWriter` (without ``arity`` for
        patches; ``framing`` is a `jelly._formats.protocols.Framing`; for query results it is
        ``open_writer(format, variables)``).
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...] = ()
    content: Content = Content.STATEMENTS
    quads: bool = False
    namespaces: bool = False
    binary: bool = False
    mixed: bool = False
    delimited: bool = False
    reading: frozenset[str] = frozenset()
    writing: frozenset[str] = frozenset()
    capability: str = ""
    codec: str = ""

    @property
    def media_type(self) -> str:
        """The preferred media type."""
        return self.media_types[0]

    @property
    def capabilities(self) -> Capabilities:
        """The terms that the format can hold, by position."""
        return capabilities_of(self.capability or self.name)

    def is_called(self, name: str) -> bool:
        """Whether a name is one of the names of this format.

        Parameters
        ----------
        name : str
            A name, a suffix with or without the dot, or a media type, in lower case.

        Returns
        -------
        bool
            True if it is.
        """
        return name in (self.name, *self.media_types) or f".{name.removeprefix('.')}" in self.suffixes

    def open_reader(self, **settings: Any) -> Any:
        """Make a reader of this format, see ``codec``.

        Parameters
        ----------
        **settings : Any
            Keywords of the reader.

        Returns
        -------
        BatchReader or BatchSource
            The reader.
        """
        return importlib.import_module(self.codec).open_reader(self, **settings)

    def open_writer(self, options: Any, *arity: int, **settings: Any) -> BatchWriter:
        """Make a writer of this format, see ``codec``.

        Parameters
        ----------
        options : StreamOptions, PatchOptions or None
            Options of the stream; for query results the names of the variables.
        *arity : int
            3 for triples, 4 for quads; not for patches and query results.
        **settings : Any
            Keywords of the writer.

        Returns
        -------
        BatchWriter
            The writer.
        """
        writer: BatchWriter = importlib.import_module(self.codec).open_writer(self, options, *arity, **settings)
        return writer


_NATIVE, _SYNTAXES, _JENA = "jelly._formats.native", "jelly._formats.syntaxes", "jelly._formats.jena"
_PATCH = "jelly._formats.patch"
_RESULT_CODEC = "jelly._formats.result_syntaxes"

_SOURCE = frozenset({"max_expansion"})
_BATCHES = _SOURCE | {"batch_rows", "batch_bytes"}
_FRAMES = _BATCHES | {"max_frame_bytes", "max_names", "max_prefixes", "max_datatypes", "joined", "unknown_rows"}
_LINES = _BATCHES | {"max_line_bytes"}
_TEXT: dict[str, Any] = {
    "reading": _BATCHES | {"base", "lenient", "max_text_bytes"},
    "writing": frozenset({"lenient"}),
    "codec": _SYNTAXES,
}
_ROWS = _BATCHES | {"max_row_bytes", "max_prefixes"}
_BINARY: dict[str, Any] = {
    "quads": True,
    "namespaces": True,
    "binary": True,
    "mixed": True,
    "reading": _ROWS | {"quads", "message"},
    "writing": frozenset({"prefixes", "shorten", "values", "base", "default_quads", "repeat", "message"}),
    "codec": _JENA,
}

# ---- statements

JELLY = Format(
    name="jelly",
    title="Jelly",
    suffixes=(".jelly",),
    media_types=("application/x-jelly-rdf",),
    quads=True,
    namespaces=True,
    binary=True,
    reading=_FRAMES | {"strict", "max_frame_rows"},
    codec=_NATIVE,
)
NT = Format(
    name="nt",
    title="N-Triples",
    suffixes=(".nt", ".ntriples", ".nts"),
    media_types=("application/n-triples", "text/plain"),
    reading=_LINES,
    writing=frozenset({"quoted"}),
    codec=_NATIVE,
)
NQ = Format(
    name="nq",
    title="N-Quads",
    suffixes=(".nq", ".nquads", ".nqs"),
    media_types=("application/n-quads",),
    quads=True,
    reading=_LINES,
    writing=frozenset({"quoted"}),
    codec=_NATIVE,
)
TURTLE = Format(
    name="ttl",
    title="Turtle",
    suffixes=(".ttl", ".turtle", ".ttls"),
    media_types=("text/turtle", "application/x-turtle"),
    namespaces=True,
    **_TEXT,
)
TRIG = Format(
    name="trig",
    title="TriG",
    suffixes=(".trig", ".trigs"),
    media_types=("application/trig", "application/x-trig"),
    quads=True,
    namespaces=True,
    **_TEXT,
)
RDF_XML = Format(
    name="rdf",
    title="RDF/XML",
    suffixes=(".rdf", ".owl", ".xml", ".rdfxml"),
    media_types=("application/rdf+xml", "application/xml", "text/xml"),
    namespaces=True,
    **_TEXT,
)
JSON_LD = Format(
    name="jsonld",
    title="JSON-LD",
    suffixes=(".jsonld", ".json-ld"),
    media_types=("application/ld+json",),
    quads=True,
    **_TEXT,
)
N3 = Format(
    name="n3", title="N3", suffixes=(".n3",), media_types=("text/n3", "text/rdf+n3"), namespaces=True, **_TEXT
)
THRIFT = Format(
    name="thrift",
    title="RDF Thrift",
    suffixes=(".rt", ".trdf"),
    media_types=("application/rdf+thrift",),
    **_BINARY,
)
PROTOBUF = Format(
    name="protobuf",
    title="RDF Protobuf",
    suffixes=(".rpb", ".pbrdf"),
    media_types=("application/rdf+protobuf",),
    **_BINARY,
)

# ---- patches

JELLY_PATCH = Format(
    name="jellyp",
    title="Jelly-Patch",
    suffixes=(".jellyp",),
    media_types=("application/x-jelly-rdf-patch",),
    content=Content.PATCH,
    quads=True,
    namespaces=True,
    binary=True,
    reading=_FRAMES | {"strict"},
    codec=_PATCH,
)
RDF_PATCH = Format(
    name="rdfp",
    title="RDF Patch",
    suffixes=(".rdfp",),
    media_types=("application/rdf-patch", "text/rdf-patch"),
    content=Content.PATCH,
    quads=True,
    namespaces=True,
    reading=_LINES | {"strict", "on_error"},
    codec=_PATCH,
)
RDF_PATCH_THRIFT = Format(
    name="trp",
    title="RDF Patch Thrift",
    suffixes=(".trp",),
    media_types=("application/rdf-patch+thrift",),
    content=Content.PATCH,
    quads=True,
    namespaces=True,
    binary=True,
    reading=_ROWS,
    codec=_PATCH,
)

# ---- message logs

_LOG: dict[str, Any] = {"content": Content.MESSAGES}
JELLY_LOG = Format(
    name="jelly",
    title="Jelly",
    suffixes=JELLY.suffixes,
    media_types=JELLY.media_types,
    quads=True,
    namespaces=True,
    binary=True,
    **_LOG,
)
NT_LOG = Format(
    name="nt", title="N-Triples", suffixes=NT.suffixes, media_types=NT.media_types[:1], delimited=True, **_LOG
)
NQ_LOG = Format(
    name="nq", title="N-Quads", suffixes=NQ.suffixes, media_types=NQ.media_types, quads=True, delimited=True, **_LOG
)
TURTLE_LOG = Format(
    name="ttl",
    title="Turtle",
    suffixes=TURTLE.suffixes,
    media_types=TURTLE.media_types[:1],
    namespaces=True,
    delimited=True,
    **_LOG,
)
TRIG_LOG = Format(
    name="trig",
    title="TriG",
    suffixes=TRIG.suffixes,
    media_types=TRIG.media_types[:1],
    quads=True,
    namespaces=True,
    delimited=True,
    **_LOG,
)
NDJSON_LD = Format(
    name="ndjsonld",
    title="NDJSON-LD",
    suffixes=(".ndjsonld", ".ndjson", ".jsonl"),
    media_types=("application/x-ld+ndjson", "application/ld+ndjson", "application/x-ndjson"),
    quads=True,
    **_LOG,
)
YAML_LD = Format(
    name="yamlld",
    title="YAML-LD",
    suffixes=(".yamlld", ".yaml", ".yml"),
    media_types=("application/rdfm+yaml", "application/ld+yaml"),
    quads=True,
    **_LOG,
)
RDF_XML_LOG = Format(
    name="rdf",
    title="RDF/XML",
    suffixes=RDF_XML.suffixes,
    media_types=("application/rdfm+xml", "application/rdf+xml"),
    capability="log-rdf",
    **_LOG,
)

TAR_LOG = Format(
    name="tar",
    title="TAR",
    suffixes=(".tar",),
    media_types=("application/x-tar",),
    quads=True,
    namespaces=True,
    binary=True,
    capability="nq",
    **_LOG,
)

# ---- results of SPARQL queries


def _results(
    name: str, title: str, media: str, suffixes: tuple[str, ...], *reading: str, binary: bool = False
) -> Format:
    return Format(
        name=name,
        title=title,
        suffixes=suffixes,
        media_types=(media,),
        content=Content.RESULTS,
        binary=binary,
        reading=_ROWS if binary else frozenset(reading),
        capability=f"results-{name}",
        codec=_RESULT_CODEC,
    )


_RESULTS = (
    _results("thrift", "RDF Thrift", "application/sparql-results+thrift", (".srt",), binary=True),
    _results("protobuf", "RDF Protobuf", "application/sparql-results+protobuf", (".srp",), binary=True),
    _results("json", "JSON", "application/sparql-results+json", (".srj", ".json"), "max_document_bytes", *_SOURCE),
    _results("xml", "XML", "application/sparql-results+xml", (".srx", ".xml"), "max_text_bytes", *_SOURCE),
    _results("csv", "CSV", "text/csv", (".csv",)),
    _results("tsv", "TSV", "text/tab-separated-values", (".tsv",), "max_text_bytes", *_SOURCE),
)

# ---- tables, which jelly._formats.table_files reads and writes

_TABLE: dict[str, Any] = {
    "content": Content.TABLE,
    "quads": True,
    "reading": _BATCHES,
    "codec": "jelly._formats.table_files",
}
_TABLES = (
    Format(
        name="parquet",
        title="Parquet",
        suffixes=(".parquet", ".pq"),
        media_types=("application/vnd.apache.parquet",),
        binary=True,
        **_TABLE,
    ),
    Format(
        name="arrow",
        title="Arrow IPC",
        suffixes=(".arrow", ".feather", ".ipc"),
        media_types=("application/vnd.apache.arrow.file",),
        binary=True,
        **_TABLE,
    ),
    Format(
        name="arrows",
        title="Arrow IPC stream",
        suffixes=(".arrows",),
        media_types=("application/vnd.apache.arrow.stream",),
        binary=True,
        **_TABLE,
    ),
    Format(name="csv", title="CSV", suffixes=(".csv",), media_types=("text/csv",), **_TABLE),
)


def _by_name(*formats: Format) -> dict[str, Format]:
    return {format.name: format for format in formats}


FORMATS = _by_name(JELLY, NT, NQ, TURTLE, TRIG, RDF_XML, JSON_LD, N3, THRIFT, PROTOBUF)
PATCH_FORMATS = _by_name(JELLY_PATCH, RDF_PATCH, RDF_PATCH_THRIFT)
LOG_FORMATS = _by_name(JELLY_LOG, NT_LOG, NQ_LOG, TURTLE_LOG, TRIG_LOG, NDJSON_LD, YAML_LD, RDF_XML_LOG, TAR_LOG)
RESULT_FORMATS = _by_name(*_RESULTS)
TABLE_FORMATS = _by_name(*_TABLES)
TABLE_SUFFIXES = tuple(suffix for format in _TABLES for suffix in format.suffixes)

_REGISTRY = {
    Content.STATEMENTS: FORMATS,
    Content.PATCH: PATCH_FORMATS,
    Content.MESSAGES: LOG_FORMATS,
    Content.RESULTS: RESULT_FORMATS,
    Content.TABLE: TABLE_FORMATS,
}
_WITH_TABLES = FORMATS | TABLE_FORMATS
# Default formats. Results and tables have none.
_DEFAULTS = {Content.STATEMENTS: JELLY, Content.PATCH: JELLY_PATCH, Content.MESSAGES: JELLY_LOG}

# Keywords for reading a part of a Jelly file, which must be one stream.
SEEKING = JELLY.reading - {"joined"}

# The keywords of `Reader` and of `Writer`, of `PatchReader` and of `read_results`, for all formats.
# Keywords of `Reader` for any format, see `jelly._formats.rdf_version`.
VERSIONS = frozenset({"rdf", "star"})
# Keywords of functions that read several sources.
SEVERAL = frozenset({"blank_nodes", "skolem_base", "threads"})
READING = frozenset({"format", "delimited", "strict", "on_error"}).union(*(f.reading for f in FORMATS.values()))
WRITING = frozenset({
    "options", "format", "frame_rows", "frame_bytes", "delimited", "seekable", "keyframe_rows", "index", "threads",
    "library", "keep_labels",
}).union(*(f.writing for f in FORMATS.values()))  # fmt: skip
PATCH_READING = frozenset({"format", "delimited"}).union(*(f.reading for f in PATCH_FORMATS.values()))
RESULT_READING = frozenset[str]().union(*(f.reading for f in RESULT_FORMATS.values()))


def find(
    format: str | None, path: str = "", *, content: Content = Content.STATEMENTS, tables: bool = False
) -> Format:
    """The format called ``format`` (name, suffix or media type), or else that of the file ``path``.

    By default it is Jelly, Jelly-Patch or a Jelly log, by the ``content``. With ``tables`` it may also be that of a
    table. JellyError if no format has this name, and for results and tables without a name.

    >>> find(None, "data.nq.zst").title, find("text/turtle; charset=utf-8").name
    ('N-Quads', 'ttl')
    >>> find(None, "monday.rdfp.gz", content=Content.PATCH).title, find("rdfxml", content=Content.MESSAGES).name
    ('RDF Patch', 'rdf')
    """
    wanted = format.partition(";")[0].strip().lower() if format else split_suffix(path)[0]
    if not wanted and content in _DEFAULTS:
        return _DEFAULTS[content]
    formats = _WITH_TABLES if tables else _REGISTRY[content]
    for known in formats.values():
        if wanted and known.is_called(wanted):
            return known
    what = f"unknown format {format!r}" if format else f"unknown suffix {wanted!r} of {path}" if path else "no format"
    kind = "" if content is Content.STATEMENTS else f" of {content.value}"
    raise JellyError(f"{what}{kind}: expected one of {', '.join(formats)}; pass format=...")


def format_of(src: Any, format: str | None = None) -> Format:
    """Find the format of a source of `Reader`, by ``format`` or by its name. It may be that of a table.

    >>> format_of("people.nt").title, format_of("-").title, format_of("people.nt", "nq").title
    ('N-Triples', 'Jelly', 'N-Quads')
    """
    name = name_of(src)
    return find(format, name if name != "-" else "", tables=True)


def having(settings: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """``settings`` without keywords that only other formats use: limits, such as that of lines for Jelly, and keywords
    that only Jelly has.

    >>> having({"max_line_bytes": 1, "max_names": 2, "base": "a:b"}, FORMATS["jelly"].reading)
    {'max_names': 2, 'base': 'a:b'}
    """
    return {
        name: value
        for name, value in settings.items()
        if name in known or not (name.startswith("max_") or name in ("joined", "unknown_rows"))
    }


def table_kind(path: Any) -> str | None:
    """``"parquet"``, ``"arrow"``, ``"arrows"`` (a stream of Arrow IPC) or ``"csv"`` by the suffix of a path; else None.

    >>> table_kind("people.parquet"), table_kind("people.csv.gz"), table_kind("people.nt")
    ('parquet', 'csv', None)
    """
    if not isinstance(path, str | os.PathLike):
        return None
    suffix, compression = split_suffix(str(os.fspath(path)))
    kind = next((format.name for format in _TABLES if suffix in format.suffixes), None)
    return kind if kind == "csv" or not compression else None
