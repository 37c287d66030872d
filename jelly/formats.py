"""The formats by name, suffix and media type."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from jelly.errors import JellyError
from jelly.files import split_suffix

__all__ = ["FORMATS", "TABLE_SUFFIXES", "Format", "find_format", "table_kind"]


@dataclass(frozen=True)
class Format:
    """A format: its name, what it calls itself elsewhere, and whether a statement may be in a named graph."""

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    quads: bool
    title: str


JELLY = Format("jelly", (".jelly",), ("application/x-jelly-rdf",), True, "Jelly")
NT = Format("nt", (".nt", ".ntriples"), ("application/n-triples", "text/plain"), False, "N-Triples")
NQ = Format("nq", (".nq", ".nquads"), ("application/n-quads",), True, "N-Quads")

FORMATS = {format.name: format for format in (JELLY, NT, NQ)}


def find_format(format: str | None, name: str = "") -> Format:
    """The format called ``format`` (name, suffix or media type), or else that of the file ``name``, or else Jelly.

    >>> find_format(None, "data.nq.zst").title, find_format("application/n-triples").name
    ('N-Quads', 'nt')
    """
    wanted = format.partition(";")[0].strip().lower() if format else split_suffix(name)[0]
    if not wanted:
        return JELLY
    for known in FORMATS.values():
        if wanted in (known.name, *known.suffixes, *known.media_types, *(s[1:] for s in known.suffixes)):
            return known
    what = f"unknown format {format!r}" if format else f"unknown suffix {wanted!r} of {name}"
    raise JellyError(f"{what}: expected one of {', '.join(FORMATS)}; give it as format=")


# Tables, which jelly.tablefiles reads and writes.
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
