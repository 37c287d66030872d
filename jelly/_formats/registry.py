"""The registry of formats, by name, suffix and media type: statements, patches, message logs, results and tables."""

from __future__ import annotations

import enum
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

from jelly._bytes.names import is_path, name_of, split_suffix
from jelly._core.rules.capabilities import Capabilities, capabilities_of
from jelly._formats.protocols import BatchWriter
from jelly.errors import JellyArgumentError, JellyError


class Content(enum.Enum):
    """The content of a format; the value is the plural for error messages."""

    STATEMENTS = "statements"
    TABLE = "tables"
    PATCH = "patches"
    RESULTS = "query results"
    MESSAGES = "message logs"


# That of Enum is a call of Python for each table that a content is looked up in.
Content.__hash__ = object.__hash__  # type: ignore[method-assign]


# A module of a codec. A look at those that are imported is a twentieth of the time to open a small input. Where another
# thread imports it, import_module waits until it is whole; sys.modules has it before.
_module = cache(import_module)


class Later:
    """A module that is imported when something of it is used, because that takes some time."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(_module(self._name), name)


# All formats, by content and name.
REGISTRY: dict[Content, dict[str, Format]] = {content: {} for content in Content}


@dataclass(frozen=True, kw_only=True, eq=False)
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
        `jelly._formats.protocols.BatchReader`, or a reader whose ``batches(source)`` takes the whole source,
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
    codec: str = "jelly._formats.native"

    def __post_init__(self) -> None:
        REGISTRY[self.content][self.name] = self

    @property
    def media_type(self) -> str:
        """The preferred media type."""
        return self.media_types[0]

    @property
    def capabilities(self) -> Capabilities:
        """The terms that the format can hold, by position."""
        return capabilities_of(self.capability or self.name)

    def is_called(self, name: str) -> bool:
        """Whether ``name`` is a name, suffix (with or without the dot) or media type of this format, in lower case."""
        return name in (self.name, *self.media_types) or f".{name.removeprefix('.')}" in self.suffixes

    def open_reader(self, **settings: Any) -> Any:
        """Make a reader of this format, see ``codec``."""
        return _module(self.codec).open_reader(self, **settings)

    def open_writer(self, options: Any, *arity: int, **settings: Any) -> BatchWriter:
        """Make a writer of this format, see ``codec``.

        ``options`` are StreamOptions or PatchOptions, or for query results the names of the variables; ``arity`` is 3
        for triples, 4 for quads, and is not given for patches and query results.
        """
        writer: BatchWriter = _module(self.codec).open_writer(self, options, *arity, **settings)
        return writer


_SOURCE = frozenset({"max_expansion"})
_BATCHES = _SOURCE | {"batch_rows", "batch_bytes"}
_FRAMES = _BATCHES | {"max_frame_bytes", "max_names", "max_prefixes", "max_datatypes", "joined", "unknown_rows"}
_LINES = _BATCHES | {"max_line_bytes"}
_TEXT: dict[str, Any] = {
    "reading": _BATCHES | {"base", "lenient", "max_text_bytes"},
    "writing": frozenset({"lenient"}),
    "codec": "jelly._formats.syntaxes",
}
_ROWS = _BATCHES | {"max_row_bytes", "max_prefixes"}
_BINARY: dict[str, Any] = {
    **dict.fromkeys(("quads", "namespaces", "binary", "mixed"), True),
    "reading": _ROWS | {"quads", "message"},
    "writing": frozenset({"prefixes", "shorten", "values", "base", "default_quads"}),
}


def _format(name: str, title: str, suffixes: str, media_types: str, **more: Any) -> Format:
    """A format, whose suffixes and media types stand in one text each."""
    return Format(
        name=name, title=title, suffixes=tuple(suffixes.split()), media_types=tuple(media_types.split()), **more
    )


# ---- statements

JELLY = _format(
    "jelly", "Jelly", ".jelly", "application/x-jelly-rdf", quads=True, namespaces=True, binary=True,
    reading=_FRAMES | {"strict", "max_frame_rows"},
)  # fmt: skip
_OF_LINES: dict[str, Any] = {"reading": _LINES, "writing": frozenset({"quoted"})}
NT = _format("nt", "N-Triples", ".nt .ntriples .nts", "application/n-triples text/plain", **_OF_LINES)
NQ = _format("nq", "N-Quads", ".nq .nquads .nqs", "application/n-quads", quads=True, **_OF_LINES)
TURTLE = _format(
    "ttl", "Turtle", ".ttl .turtle .ttls", "text/turtle application/x-turtle", namespaces=True, **_TEXT
)
TRIG = _format(
    "trig", "TriG", ".trig .trigs", "application/trig application/x-trig", quads=True, namespaces=True, **_TEXT
)
RDF_XML = _format(
    "rdf", "RDF/XML", ".rdf .owl .xml .rdfxml", "application/rdf+xml application/xml text/xml", namespaces=True, **_TEXT
)
JSON_LD = _format("jsonld", "JSON-LD", ".jsonld .json-ld", "application/ld+json", quads=True, **_TEXT)
N3 = _format("n3", "N3", ".n3", "text/n3 text/rdf+n3", namespaces=True, **_TEXT)
THRIFT = _format("thrift", "RDF Thrift", ".rt .trdf", "application/rdf+thrift", **_BINARY)
PROTOBUF = _format("protobuf", "RDF Protobuf", ".rpb .pbrdf", "application/rdf+protobuf", **_BINARY)

# ---- patches

_PATCHES: dict[str, Any] = {"content": Content.PATCH, "quads": True, "namespaces": True}
JELLY_PATCH = _format(
    "jellyp", "Jelly-Patch", ".jellyp", "application/x-jelly-rdf-patch", binary=True, reading=_FRAMES | {"strict"},
    **_PATCHES,
)  # fmt: skip
RDF_PATCH = _format(
    "rdfp", "RDF Patch", ".rdfp", "application/rdf-patch text/rdf-patch", reading=_LINES | {"strict", "on_error"},
    **_PATCHES,
)  # fmt: skip
_format(
    "trp", "RDF Patch Thrift", ".trp", "application/rdf-patch+thrift", binary=True, reading=_ROWS, **_PATCHES
)

# ---- message logs


def _log(base: Format, *reading: str, **changes: Any) -> Format:
    """A log of messages in a format of statements, with some changes."""
    own = frozenset({"max_message_bytes", *reading}) | _SOURCE
    return replace(
        base, content=Content.MESSAGES, mixed=False, reading=own, writing=frozenset(),
        codec="jelly.messages._codec", **changes
    )


_TABLES_OF_LOGS = ("max_names", "max_prefixes", "max_datatypes", "max_frame_rows")
JELLY_LOG = _log(JELLY, "force", *_TABLES_OF_LOGS)


def _delimited(base: Format, *reading: str) -> Format:
    """A log whose messages comments or directives delimit."""
    return _log(base, "strict", "dialect", "trailing", *reading, media_types=base.media_types[:1], delimited=True)


NT_LOG, NQ_LOG = _delimited(NT), _delimited(NQ)
_delimited(TURTLE, "base")
_delimited(TRIG, "base")
NDJSON_LD = _log(
    JSON_LD,
    "contexts", "strict", "dialect", "base",
    name="ndjsonld",
    title="NDJSON-LD",
    suffixes=(".ndjsonld", ".ndjson", ".jsonl"),
    media_types=("application/x-ld+ndjson", "application/ld+ndjson", "application/x-ndjson"),
)  # fmt: skip
YAML_LD = _log(
    JSON_LD,
    "contexts", "base",
    name="yamlld",
    title="YAML-LD",
    suffixes=(".yamlld", ".yaml", ".yml"),
    media_types=("application/rdfm+yaml", "application/ld+yaml"),
)  # fmt: skip
_log(
    RDF_XML,
    "base",
    media_types=("application/rdfm+xml", "application/rdf+xml"),
    namespaces=False,
    capability="log-rdf",
)
TAR_LOG = _log(
    JELLY,
    "members", "contexts", "strict", "base", *_TABLES_OF_LOGS,
    name="tar",
    title="TAR",
    suffixes=(".tar",),
    media_types=("application/x-tar",),
    capability="nq",
)  # fmt: skip

# ---- results of SPARQL queries


def _results(
    name: str, title: str, media: str, suffixes: str, reading: Collection[str] = (), binary: bool = False
) -> Format:
    return _format(
        name, title, suffixes, media, content=Content.RESULTS, binary=binary, reading=frozenset(reading),
        capability=f"results-{name}", codec="jelly._formats.result_syntaxes",
    )  # fmt: skip


_SPARQL = "application/sparql-results+"
JELLY_RESULTS = _results(
    "jellys", "Jelly-SPARQL", "application/x-jelly-sparql", ".jellys",
    _FRAMES - {"joined", "unknown_rows"} | {"delimited", "max_frame_rows", "require_trailer"}, True,
)  # fmt: skip
_results("thrift", "RDF Thrift", f"{_SPARQL}thrift", ".srt", _ROWS, True)
_results("protobuf", "RDF Protobuf", f"{_SPARQL}protobuf", ".srp", _ROWS, True)
_results("json", "JSON", f"{_SPARQL}json application/json", ".srj .json", _SOURCE | {"max_document_bytes"})
_results("xml", "XML", f"{_SPARQL}xml application/xml text/xml", ".srx .xml", _SOURCE | {"max_text_bytes"})
_results("csv", "CSV", "text/csv", ".csv")
_results("tsv", "TSV", "text/tab-separated-values", ".tsv", _SOURCE | {"max_text_bytes"})

# ---- tables, which jelly._formats.table_files reads and writes

_TABLE: dict[str, Any] = {
    "codec": "jelly._formats.table_files", "content": Content.TABLE, "quads": True, "reading": _BATCHES
}  # fmt: skip
_ARROW = "application/vnd.apache.arrow."
_format("parquet", "Parquet", ".parquet .pq", "application/vnd.apache.parquet", binary=True, **_TABLE)
_format("arrow", "Arrow IPC", ".arrow .feather .ipc", f"{_ARROW}file", binary=True, **_TABLE)
_format("arrows", "Arrow IPC stream", ".arrows", f"{_ARROW}stream", binary=True, **_TABLE)
_format("csv", "CSV", ".csv", "text/csv", **_TABLE)

FORMATS, TABLE_FORMATS = REGISTRY[Content.STATEMENTS], REGISTRY[Content.TABLE]
TABLE_SUFFIXES = tuple(suffix for format in TABLE_FORMATS.values() for suffix in format.suffixes)

_WORDS = {
    "statements": Content.STATEMENTS,
    "patches": Content.PATCH,
    "results": Content.RESULTS,
    "messages": Content.MESSAGES,
}
_WITH_TABLES = FORMATS | TABLE_FORMATS
# Default formats. Results and tables have none.
_DEFAULTS = {Content.STATEMENTS: JELLY, Content.PATCH: JELLY_PATCH, Content.MESSAGES: JELLY_LOG}

# Keywords for reading a part of a Jelly file, which must be one stream.
SEEKING = JELLY.reading - {"joined"}


def _reading(content: Content, *own: str) -> frozenset[str]:
    """The keywords of all formats of a content, and others."""
    return frozenset(own).union(*(format.reading for format in REGISTRY[content].values()))


# The keywords of `Reader` and of `Writer`, of `PatchReader` and of `read_results`, for all formats.
# Keywords of `Reader` for any format, see `jelly._streams.rdf_version`.
VERSIONS = frozenset({"rdf", "star"})
# Keywords of functions that read several sources.
SEVERAL = frozenset({"blank_nodes", "skolem_base", "threads"})
# Those of every format, which change nothing of how a file with an index is read.
COMMON = frozenset({"format", "delimited", "strict", "on_error"})
READING = _reading(Content.STATEMENTS, *COMMON)
_FRAMING = frozenset({"format", "frame_rows", "frame_bytes", "delimited", "seekable", "keyframe_rows", "threads"})
WRITING = (_FRAMING | {"options", "index", "library", "keep_labels"}).union(*(f.writing for f in FORMATS.values()))
PATCH_WRITING = _FRAMING | {"marked_blank_nodes", "quoted"}
MESSAGE_WRITING = frozenset({"format", "dialect", "members"})
PATCH_READING = _reading(Content.PATCH, "format", "delimited")
RESULT_READING = _reading(Content.RESULTS, "format")
MESSAGE_READING = _reading(Content.MESSAGES, "format", "rename_blank_nodes")


def plain_name(format: str) -> str:
    """A name, suffix or media type as `Format.is_called` takes it: in lower case, without parameters."""
    return format.partition(";")[0].strip().lower()


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
    wanted = plain_name(format) if format else split_suffix(path)[0]
    if not wanted and content in _DEFAULTS:
        return _DEFAULTS[content]
    formats = _WITH_TABLES if tables else REGISTRY[content]
    for known in formats.values():
        if wanted and known.is_called(wanted):
            return known
    what = f"unknown format {format!r}" if format else f"unknown suffix {wanted!r} of {path}" if path else "no format"
    kind = "" if content is Content.STATEMENTS else f" for {content.value}"
    if kind and any(known.is_called(wanted) for known in REGISTRY[Content.STATEMENTS].values()):
        what, kind = f"format {format!r}" if format else path, f" is of statements, not of {content.value}"
    raise JellyError(f"{what}{kind}: expected one of {', '.join(formats)}; pass format=...")


def content_of(word: str | None, *places: tuple[Any, str | None]) -> Content:
    """The content that a ``word`` names; else the first one that is not statements among those of the ``places``, each
    a path or another source or destination, and the name of its format or None.

    >>> content_of(None, ("a.nt", None), ("b.jellyp", None)), content_of("messages", ("a.nt", None))
    (<Content.PATCH: 'patches'>, <Content.MESSAGES: 'message logs'>)
    """
    if word is not None:
        if not isinstance(word, str) or word not in _WORDS:
            raise JellyArgumentError(f"content is {word!r:.80}: expected one of {', '.join(_WORDS)}")
        return _WORDS[word]
    for place, format in places:
        if isinstance(place, list) and place:
            place = place[0]
        told = isinstance(format, str) and plain_name(format)
        wanted = told or split_suffix(name_of(place))[0]
        for content, formats in REGISTRY.items() if wanted else ():
            if any(known.is_called(wanted) for known in formats.values()):
                if content in (Content.STATEMENTS, Content.TABLE):
                    break
                return content
    return Content.STATEMENTS


def holds_statements(place: Any, format: str | None) -> bool:
    """Whether a source or destination is one of statements by its name, or by that of its format, and not of results.

    >>> holds_statements("a.jellys", None), holds_statements("a.nt.gz", None), holds_statements("-", "thrift")
    (False, True, False)
    """
    named = format or split_suffix(name_of(place))[0]
    for content in (Content.RESULTS, Content.STATEMENTS) if named else ():
        with suppress(JellyError):
            return find(format, name_of(place), content=content).content is Content.STATEMENTS
    return False


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
    if not is_path(path):
        return None
    suffix, compression = split_suffix(os.fsdecode(path))
    kind = next((format.name for format in TABLE_FORMATS.values() if suffix in format.suffixes), None)
    return kind if kind == "csv" or not compression else None
