"""Guesses what an input is from its first bytes. For error messages only; it never chooses a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial

from jelly._bytes.compression import suffix_of
from jelly._bytes.source import HEAD
from jelly.errors import JellyError, JellyFormatError, JellySyntaxError

__all__ = ["HEAD"]

_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
_BINARY = {b"PAR1": "a Parquet file", b"ARROW1": "an Arrow IPC file", b"\xff\xff\xff\xff": "an Arrow IPC stream"}

_COMMENTS = re.compile(r"(?:[ \t\r\n]|#[^\n]*\n)*")
_TURTLE = re.compile(r"(?:@prefix|@base|prefix|base)\s", re.I)
_PATCH = re.compile(r"(?:TX|TC|TA)\s*\.|(?:H|PA|PD)\s+[\w\"]|[AD]\s+(?:<|_:)")
_SUBJECT = r"(?:<[^<>\"\s]*>|_:[^\s<>\"]+)"
_STATEMENT = re.compile(rf"{_SUBJECT}[ \t]+<[^<>\"\s]*>[ \t]+")
_QUAD = re.compile(
    rf"(?:{_SUBJECT}|\"(?:[^\"\\\n]|\\.)*\"(?:@[\w-]+|\^\^<[^<>\"\s]*>)?)[ \t]+({_SUBJECT}[ \t]*)\.", re.A
)
# A tag with a prefix, which its first one has to declare, goes on with a blank: no IRI does.
_MARKUP = re.compile(r"<(?:\?xml|!--|!DOCTYPE|rdf:|[A-Za-z]+[\s>]|[A-Za-z][\w.-]*:[\w.-]+\s)")
# Compact Thrift: a row (triple, quad or prefix) and the start of its first term or string.
_THRIFT = re.compile(rb"\x2c\x1c[\x1c\x2c\x3c]\x18|\x2c\x1c\x1c\x1c|\x3c\x1c[\x1c\x2c]\x18|\x1c\x18[\x00-\x20]")

# Formats that the reader of another format also reads.
_READS = {
    "nq": {"nt"}, "ttl": {"nt"}, "n3": {"nt", "ttl"}, "trig": {"nt", "ttl"},
    "ndjsonld": {"jsonld"}, "yamlld": {"jsonld"},
}  # fmt: skip


def looks_like(head: bytes) -> tuple[str, str] | None:
    """A title and the name of the format ("" if it cannot be read); None if the input is not recognised.

    >>> looks_like(b'<a:s> <a:p> "o" .'), looks_like(b"PAR1..."), looks_like(b"hello")
    (('N-Triples', 'nt'), ('a Parquet file', ''), None)
    """
    if (packed := compression_of(head)) is not None:
        return f"{packed} data", ""
    for magic, title in _BINARY.items():
        if head.startswith(magic):
            return title, ""
    if head[257:262] == b"ustar":
        return "a TAR archive", "tar"
    if _options_row(head) >= 0:  # a frame, with or without its length
        return "Jelly", "jelly"
    if _THRIFT.match(head):
        return "RDF Thrift", "thrift"
    head = head.removeprefix(b"\xef\xbb\xbf")
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return None
        text = head[: error.start].decode()  # it was cut inside a character
    return _text(text[_COMMENTS.match(text).end() :])  # type: ignore[union-attr]


def compression_of(head: bytes) -> str | None:
    """The compression by its magic bytes.

    >>> compression_of(b"BZh91AY"), compression_of(b"<a:s>")
    ('bzip2', None)
    """
    return _COMPRESSED.get(suffix_of(head))


def _text(text: str) -> tuple[str, str] | None:
    if _TURTLE.match(text):
        return "Turtle", "ttl"
    if _PATCH.match(text):
        return "RDF Patch", "rdfp"
    if found := _STATEMENT.match(text):
        return ("N-Quads", "nq") if _QUAD.match(text, found.end()) else ("N-Triples", "nt")
    if _MARKUP.match(text):
        if "rdf:RDF" in text or "22-rdf-syntax-ns" in text:
            return "RDF/XML", "rdf"
        return ("HTML", "") if re.search(r"<(?:!DOCTYPE )?html", text, re.I) else ("XML", "")
    if re.match(r"\A\[?\s*\{\s*(?:\"|\})", text):
        return ("JSON-LD", "jsonld") if '"@' in text else ("JSON", "")
    return None


def is_jelly_patch(head: bytes) -> bool:
    """Whether it is a frame of Jelly-Patch: its options begin with the statement type, a number.

    >>> is_jelly_patch(b"\\n\\x0c\\n\\n\\x08\\x02\\x10\\x01"), is_jelly_patch(b"\\n\\x0c\\n\\n\\x10\\x01")
    (True, False)
    """
    row = _options_row(head)
    options = _after_number(head, row + 1)
    return row >= 0 and head[options : options + 1] == b"\x08"


def _options_row(head: bytes) -> int:
    """Where the first row of a frame begins if it holds options, else -1."""
    for at in {0, _after_number(head, 0)}:
        row = _after_number(head, at + 1)
        if head[at : at + 1] == b"\x0a" and head[row : row + 1] == b"\x0a" and row - at <= 4:
            return row
    return -1


def _after_number(head: bytes, at: int) -> int:
    while at < len(head) and head[at] & 0x80:
        at += 1
    return at + 1


def explain(error: JellyError, head: bytes, expected: str, names: Collection[str] = (), keyword: str = "") -> None:
    """Add to an error what the input looks like, if that differs from ``expected``.

    ``names`` are the formats that ``keyword`` accepts.
    """
    # An error after the first frame is an error in Jelly.
    if not isinstance(error, JellyFormatError) or error.frame:
        return
    if not head:
        plain = error.reason.removesuffix("; is it Jelly?")
        if plain != error.reason:  # else nothing could be unpacked, or it is no Jelly
            error.reason = f"the input is empty: {plain}"
    elif (found := looks_like(head)) is not None:
        what, name = ("Jelly-Patch", "jellyp") if found[1] == "jelly" and is_jelly_patch(head) else found
        if name == expected or name in _READS.get(expected, ()):
            return
        advice = f": read it with {keyword}={name!r}" if keyword and name in names else ""
        looks = f"it looks like {what}{advice}"
        if looks in error.reason:  # said already
            return
        if isinstance(error, JellySyntaxError):
            error.reason += f"; {looks}"
        else:  # frames and rows mean nothing where there are none
            error.reason = f"{looks} ({error.reason})"
            error.frame = error.row = error.offset = None
    elif expected == "jelly" and "is it Jelly?" not in error.reason:
        error.reason += "; is it Jelly?"


def explainer(expected: str, names: Collection[str] = (), keyword: str = "") -> Callable[[JellyError, bytes], None]:
    """`explain` for a `Source` that is to be read as ``expected``."""
    return partial(explain, expected=expected, names=names, keyword=keyword)


def refuse_other(head: bytes) -> None:
    """Refuse files that are certainly not Jelly, or compressed in a way without random access."""
    if (packed := compression_of(head)) is not None:
        raise JellyError(
            f"the file is compressed ({packed}), so it can only be read from its start: `jelly convert` writes it anew"
            " as .jelly, or as .jelly.zst"
        )
    if not head:
        raise JellyFormatError("the file is empty: expected Jelly")
    found = looks_like(head)
    if found is not None and found[1] != "jelly":
        raise JellyFormatError(f"the file looks like {found[0]}: only a Jelly file can have an index")
