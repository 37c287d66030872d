"""The formats by name, suffix and media type."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from jelly._core.rules.capabilities import Capabilities, capabilities_of
from jelly._io.source import split_suffix
from jelly.errors import JellyError

__all__ = [
    "FORMATS",
    "READING",
    "SEEKING",
    "TABLE_SUFFIXES",
    "WRITING",
    "Format",
    "find_format",
    "format_of",
    "having",
    "table_kind",
]


@dataclass(frozen=True)
class Format:
    """A format: its names, whether statements may be in named graphs, and its codec.

    ``codec`` is the module that reads and writes it, imported when it is first used. It has two functions, which get
    the Format and the keywords of `Reader` or `Writer`: ``open_reader(format, *, delimited, strict, on_error,
    **settings)`` and ``open_writer(format, options, arity, **settings)``.

    - A reader either is fed (``push(chunk)``, ``finish()``, ``pull(flush)``, as in `Decoder`) or reads the source
      itself (``batches(source)``, an iterator of Batches; Batches before an error are yielded before it is raised). It
      counts its ``statements``, and may have ``options``, ``skipped`` and ``n_skipped``.
    - A writer has ``encode(batch, keep_frames) -> bytes`` and ``close() -> bytes``, and may have ``options``.

    ``namespaces``: the format has prefix declarations. ``binary``: do not print it on a terminal. ``mixed``: Batches of
    quads may follow Batches of triples.
    """

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    quads: bool
    title: str
    codec: str
    namespaces: bool = False
    binary: bool = False
    mixed: bool = False

    @property
    def capabilities(self) -> Capabilities:
        """Which terms the format can hold, in which positions."""
        return capabilities_of(self.name)

    @property
    def reading(self) -> frozenset[str]:
        """Keywords for reading this format, besides those of all formats."""
        return _READING[self.name] | _SOURCE

    @property
    def writing(self) -> frozenset[str]:
        """Keywords for writing this format, besides those of all formats."""
        return _WRITING.get(self.name, frozenset())

    def open_reader(self, **settings: Any) -> Any:
        """Make a reader of this format."""
        return importlib.import_module(self.codec).open_reader(self, **settings)

    def open_writer(self, options: Any, arity: int, **settings: Any) -> Any:
        """Make a writer of this format."""
        return importlib.import_module(self.codec).open_writer(self, options, arity, **settings)


_OWN = "jelly._formats.native"
_OXIGRAPH = "jelly._formats.syntaxes"
_BINARY = "jelly._formats.jena"

JELLY = Format("jelly", (".jelly",), ("application/x-jelly-rdf",), True, "Jelly", _OWN, True, True)
NT = Format("nt", (".nt", ".ntriples"), ("application/n-triples", "text/plain"), False, "N-Triples", _OWN)
NQ = Format("nq", (".nq", ".nquads"), ("application/n-quads",), True, "N-Quads", _OWN)
TURTLE = Format(
    "ttl", (".ttl", ".turtle"), ("text/turtle", "application/x-turtle"), False, "Turtle", _OXIGRAPH, namespaces=True
)
TRIG = Format("trig", (".trig",), ("application/trig", "application/x-trig"), True, "TriG", _OXIGRAPH, namespaces=True)
RDF_XML = Format(
    "rdf",
    (".rdf", ".owl", ".xml", ".rdfxml"),
    ("application/rdf+xml", "application/xml", "text/xml"),
    False,
    "RDF/XML",
    _OXIGRAPH,
    namespaces=True,
)
JSON_LD = Format("jsonld", (".jsonld", ".json-ld"), ("application/ld+json",), True, "JSON-LD", _OXIGRAPH)
N3 = Format("n3", (".n3",), ("text/n3", "text/rdf+n3"), False, "N3", _OXIGRAPH, namespaces=True)
THRIFT = Format(
    "thrift", (".rt", ".trdf"), ("application/rdf+thrift",), True, "RDF Thrift", _BINARY, True, True, mixed=True
)
PROTOBUF = Format(
    "protobuf",
    (".rpb", ".pbrdf"),
    ("application/rdf+protobuf",),
    True,
    "RDF Protobuf",
    _BINARY,
    namespaces=True,
    binary=True,
    mixed=True,
)

FORMATS = {
    format.name: format for format in (JELLY, NT, NQ, TURTLE, TRIG, RDF_XML, JSON_LD, N3, THRIFT, PROTOBUF)
}

_SOURCE = frozenset({"max_expansion"})
_BATCHES = frozenset({"batch_rows", "batch_bytes"})
_LINES = _BATCHES | {"max_line_bytes"}
_SYNTAX = _BATCHES | {"base", "lenient", "max_text_bytes"}
_ROWS = _BATCHES | {"quads", "max_row_bytes", "max_prefixes"}
_READING = {
    "jelly": _BATCHES
    | {"max_frame_bytes", "max_names", "max_prefixes", "max_datatypes", "joined", "unknown_rows"},
    **dict.fromkeys(("nt", "nq"), _LINES),
    **dict.fromkeys(("ttl", "trig", "rdf", "jsonld", "n3"), _SYNTAX),
    **dict.fromkeys(("thrift", "protobuf"), _ROWS),
}
_WRITING = {
    **dict.fromkeys(("nt", "nq"), frozenset({"quoted"})),
    **dict.fromkeys(("ttl", "trig", "rdf", "jsonld", "n3"), frozenset({"lenient"})),
    **dict.fromkeys(("thrift", "protobuf"), frozenset({"prefixes", "shorten", "values", "base", "default_quads"})),
}

# Keywords for reading a part of a Jelly file, which must be one stream.
SEEKING = _READING["jelly"] - {"joined"}

# The keywords of `Reader` and of `Writer`, for all formats.
READING = frozenset({"format", "delimited", "strict", "on_error"}).union(_SOURCE, *_READING.values())
WRITING = frozenset({
    "options", "format", "frame_rows", "frame_bytes", "delimited", "seekable", "keyframe_rows", "library",
    "keep_labels",
}).union(*_WRITING.values())  # fmt: skip


def format_of(src: Any, format: str | None = None) -> Format:
    """Find the format of a source of `Reader`, by ``format`` or by its name.

    >>> format_of("people.nt").title, format_of("-").title, format_of("people.nt", "nq").title
    ('N-Triples', 'Jelly', 'N-Quads')
    """
    name = os.fspath(src) if isinstance(src, str | os.PathLike) else getattr(src, "name", "")
    return find_format(format, name if isinstance(name, str) and name != "-" else "")


def having(settings: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """``settings`` without what is of no use here and known elsewhere: limits, such as one of lines for Jelly, and what
    only Jelly has.

    >>> having({"max_line_bytes": 1, "max_names": 2, "base": "a:b"}, FORMATS["jelly"].reading)
    {'max_names': 2, 'base': 'a:b'}
    """
    return {
        name: value
        for name, value in settings.items()
        if name in known or not (name.startswith("max_") or name in ("joined", "unknown_rows"))
    }


def find_format(format: str | None, name: str = "") -> Format:
    """Find a format by ``format`` (name, suffix or media type), else by the name of a file. The default is Jelly.

    >>> find_format(None, "data.nq.zst").title, find_format("text/turtle; charset=utf-8").name
    ('N-Quads', 'ttl')
    """
    wanted = format.partition(";")[0].strip().lower() if format else split_suffix(name)[0]
    if not wanted:
        return JELLY
    for known in FORMATS.values():
        if wanted in (known.name, *known.suffixes, *known.media_types, *(s[1:] for s in known.suffixes)):
            return known
    what = f"unknown format {format!r}" if format else f"unknown suffix {wanted!r} of {name}"
    raise JellyError(f"{what}: expected one of {', '.join(FORMATS)}; pass format=...")


# Tables, which jelly._formats.table_files reads and writes.
TABLE_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "file",
    ".feather": "file",
    ".ipc": "file",
    ".arrows": "stream",
    ".csv": "csv",
}


def table_kind(path: Any) -> str | None:
    """``"parquet"``, ``"file"`` or ``"stream"`` (of Arrow IPC) or ``"csv"`` by the suffix of a path; None for others.

    >>> table_kind("people.parquet"), table_kind("people.csv.gz"), table_kind("people.nt")
    ('parquet', 'csv', None)
    """
    if not isinstance(path, str | os.PathLike):
        return None
    suffix, compression = split_suffix(str(os.fspath(path)))
    kind = TABLE_SUFFIXES.get(suffix)
    return kind if kind == "csv" or not compression else None
