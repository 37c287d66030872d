"""pyoxigraph: the syntaxes that it parses and serializes, as formats of ours, and its terms in and out of every format.

Turtle, TriG, RDF/XML, JSON-LD and N3 come in pieces from a `Source` and go out Batch by Batch, so memory stays flat.
Labels of blank nodes are kept; nodes without one get a random label.

pyoxigraph writes language tags in lower case wherever it meets them. RDF allows that, but it changes the data, so
that tags with capitals are marked before it sees them, and the marks are taken out of what it gives (see `Marks`).
JSON-LD has no place for such a mark: its tags come in lower case, as JSON-LD 1.1 (section 9.4) has it.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Iterator
from typing import Any, Literal

from jelly.core.batch import Batch
from jelly.core.parsed import QuadIntake
from jelly.errors import JellyError, JellySyntaxError, JellyUnsupportedError, MissingExtraError
from jelly.files import Source
from jelly.formats import JSON_LD, N3, RDF_XML, TRIG, TURTLE, Format

try:
    import pyoxigraph as ox
except ImportError:
    raise MissingExtraError(
        "Turtle, TriG, RDF/XML, JSON-LD and N3 need pyoxigraph: python -m pip install 'jelly-rdf[oxigraph]'"
    ) from None

__all__ = ["Marks", "SyntaxReader", "open_reader"]

SYNTAXES = {
    TURTLE: ox.RdfFormat.TURTLE,
    TRIG: ox.RdfFormat.TRIG,
    RDF_XML: ox.RdfFormat.RDF_XML,
    JSON_LD: ox.RdfFormat.JSON_LD,
    N3: ox.RdfFormat.N3,
}
CLASSES = (ox.NamedNode, ox.BlankNode, ox.Literal, ox.Triple, ox.DefaultGraph)

BATCH_ROWS = 16384
BATCH_BYTES = 1 << 24

# What is marked and looked through at a time.
PIECE = 1 << 18

# ---- language tags

# RFC 5646, section 2.1: these are whole tags, nothing may follow them.
_GRANDFATHERED = frozenset(
    b"en-gb-oed i-ami i-bnn i-default i-enochian i-hak i-klingon i-lux i-mingo i-navajo i-pwn i-tao i-tay i-tsu "
    b"sgn-be-fr sgn-be-nl sgn-ch-de art-lojban cel-gaulish no-bok no-nyn zh-guoyu zh-hakka zh-min zh-min-nan "
    b"zh-xiang".split()
)
_TAG = rb"(?=[a-z0-9-]*[A-Z])([A-Za-z]+(?:-[A-Za-z0-9]+)*)"
# Of the Turtle family, N-Quads among them; of RDF/XML.
_AT = re.compile(b"@" + _TAG)
_XML_LANG = re.compile(rb"xml:lang\s*=\s*[\"']" + _TAG + rb"(?=[\"'])")
# Where a piece must not end: within a tag.
_OPEN_AT = re.compile(rb"@[A-Za-z0-9-]{0,64}\Z")
_OPEN_ELEMENT = re.compile(rb"<[^<]*\Z")

# The letters of a longer tag cannot be told by the digits of one subtag.
_LONGEST = 31


class Marks:
    """Carries the capitals of language tags through software that makes them small.

    ``put`` adds to each tag that has capitals a private subtag (RFC 5646, section 2.2.7) with a random word and a
    bit for each of its letters: ``@en-GB`` becomes ``@en-GB-x-1f0c9a52-58``. What looks like a tag and is none, within
    an IRI, a string or a comment, gets one too: `take`, which restores the letters and removes the mark, does so
    wherever it finds one, so that all other text is again what it was.
    """

    def __init__(self, format: Format) -> None:
        self.used = False
        self._word = f"-x-{secrets.token_hex(4)}-"
        self._tag, self._open = (_XML_LANG, _OPEN_ELEMENT) if format is RDF_XML else (_AT, _OPEN_AT)

    @property
    def word(self) -> str:
        """What every mark holds."""
        return self._word

    def put(self, data: Any) -> bytes:
        """The text with marks."""
        return self._tag.sub(self._put, data)

    def _put(self, match: re.Match[bytes]) -> bytes:
        tag = match[1]
        if len(tag) > _LONGEST or tag.lower() in _GRANDFATHERED:
            return match[0]
        self.used = True
        bits = 1 << len(tag)  # the topmost tells the length
        for i, letter in enumerate(tag):
            bits |= (letter < 97 and letter > 64) << i
        return b"%b%b%x" % (match[0], self._word.encode(), bits)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """The text up to a tag that goes on in the next piece, and the rest."""
        last = self._open.search(data, max(0, len(data) - (1 << 16)))
        return (data, b"") if last is None else (data[: last.start()], data[last.start() :])

    def take(self, text: str) -> str:
        """The text as it was without marks."""
        first, *parts = text.split(self._word)
        found = [first]
        for part in parts:
            digits = re.match("[0-9a-f]+", part)
            if digits is None:
                raise AssertionError(f"a mark without letters: {text!r:.200}")
            bits = int(digits[0], 16)
            n = bits.bit_length() - 1
            tag = found[-1][len(found[-1]) - n :]
            letters = [letter.upper() if bits >> i & 1 else letter for i, letter in enumerate(tag)]
            found[-1] = found[-1][: len(found[-1]) - n] + "".join(letters)
            found.append(part[digits.end() :])
        return "".join(found)


# ---- reading


class _Feed:
    """The bytes of a source as the file that pyoxigraph reads.

    It is never given more than it asks for: it would end the process. It gets XML and JSON line by line: the errors that
    it finds there do not tell the line, and so it has read no further.
    """

    def __init__(self, chunks: Iterator[Any], marks: Marks | None, intake: QuadIntake, by_line: bool) -> None:
        self._pieces = self._cut(chunks)
        self._marks = marks
        self._intake = intake
        self._piece = b""
        self._at = 0
        self._by_line = by_line
        self.line = 1  # that is being read, where they are given one by one
        # The piece before this one, for messages.
        self.last = b""

    def _cut(self, chunks: Iterator[Any]) -> Iterator[bytes]:
        rest = b""
        begun = False
        for chunk in chunks:
            for at in range(0, len(chunk), PIECE):
                piece = rest + bytes(chunk[at : at + PIECE])
                rest = b""
                if not begun:
                    if len(piece) < 3:
                        rest = piece
                        continue
                    piece = piece.removeprefix(b"\xef\xbb\xbf")
                    begun = True
                if self._marks is not None:
                    piece, rest = self._marks.split(piece)
                yield self._marked(piece)
        yield self._marked(rest)

    def _marked(self, piece: bytes) -> bytes:
        if self._marks is None:
            return piece
        piece = self._marks.put(piece)
        if self._marks.used:
            self._intake.mark = self._marks.word
        return piece

    def read(self, size: int = -1) -> bytes:
        while self._at >= len(self._piece):
            self.last = self._piece
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._piece, self._at = piece, 0
        end = len(self._piece) if size < 0 else self._at + size
        if self._by_line:
            newline = self._piece.find(b"\n", self._at, end)
            if newline >= 0:
                end = newline + 1
                self.line += 1
        data = self._piece[self._at : end]
        self._at += len(data)
        return data

    def recent(self) -> bytes:
        """What was given last: a piece or two."""
        return self.last + self._piece[: self._at]


# The place that a message begins with.
_PLACE = re.compile(r"Parser error (?:at|between) .*?: ", re.S)
_CONTEXT = re.compile(rb'"@(?:context|import)"\s*:\s*')


class SyntaxReader:
    """Reads one of the `SYNTAXES`: see `jelly.formats.Format`.

    Relative IRIs are resolved against ``base``; where there is none they are an error (in JSON-LD they are dropped).
    ``lenient=True`` leaves out checks, of IRIs and language tags above all, which is faster.
    """

    def __init__(
        self,
        format: Format,
        *,
        base: str | None = None,
        lenient: bool = False,
        batch_rows: int = BATCH_ROWS,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        if batch_rows < 1 or batch_bytes < 1:
            raise ValueError("batch_rows and batch_bytes must be at least 1")
        self.format = format
        self._settings = {"base_iri": base, "lenient": lenient, "without_named_graphs": not format.quads}
        self._rows = batch_rows
        self._bytes = batch_bytes
        self._marks = None if format is JSON_LD else Marks(format)
        self._by_line = format in (RDF_XML, JSON_LD)
        self._known: dict[str, str] = {}
        self._intake = QuadIntake(
            4 if format.quads else 3, CLASSES, None if self._marks is None else self._marks.take
        )
        if base is not None:
            ox.parse(b"", ox.RdfFormat.TURTLE, base_iri=base)  # ValueError now, not when it is read

    @property
    def statements(self) -> int:
        """Statements read so far."""
        return self._intake.statements

    def batches(self, source: Source) -> Iterator[Batch]:
        """The Batches of a source. What comes before an error is given before it is raised."""
        intake = self._intake
        feed = _Feed(source.chunks(), self._marks, intake, self._by_line)
        parser = ox.parse(feed, SYNTAXES[self.format], **self._settings)
        more = True
        while more:
            broken: JellyError | None = None
            try:
                # One statement first: the prefixes that stand before it are to come before it.
                first = next(parser, None)
                self._declare(parser.prefixes)
                more = first is not None and (
                    intake.extend(iter((first,)), self._rows, self._bytes)
                    or intake.extend(parser, self._rows, self._bytes)
                )
                self._declare(parser.prefixes)
            except SyntaxError as error:
                broken = self._error(error, feed)
            except JellyError as error:
                broken = error
            if (batch := intake.take()) is not None:
                yield batch
            if broken is not None:
                raise broken

    def _declare(self, prefixes: dict[str, str]) -> None:
        """Note the prefixes that are new."""
        for name, iri in prefixes.items():
            iri = iri if self._marks is None else self._marks.take(iri)
            if self._known.get(name) != iri:
                self._known[name] = iri
                self._intake.namespace(name, iri)

    def _error(self, error: SyntaxError, feed: _Feed) -> JellySyntaxError:
        text = error.msg if self._marks is None else self._marks.take(error.msg)
        if "LoadDocumentCallback" in text:
            text = f"the context {_remote(feed.recent())} is not in the document: remote contexts are never fetched"
        reason = _PLACE.sub("", text, 1)
        if error.lineno is None:
            return JellySyntaxError(reason, line=feed.line if self._by_line else None)
        # Marks shift the columns.
        if error.offset is not None and not (self._marks is not None and self._marks.used):
            reason = f"column {error.offset}: {reason}"
        return JellySyntaxError(reason, line=error.lineno)


def _remote(text: bytes) -> str:
    """The URL of the remote context in a part of a JSON-LD document; "" where it is not found."""
    decoder = json.JSONDecoder()
    for match in _CONTEXT.finditer(text):
        with contextlib.suppress(ValueError):
            found, _ = decoder.raw_decode(text[match.end() : match.end() + 4096].decode(errors="replace"))
            for part in found if isinstance(found, list) else [found]:
                if isinstance(part, str):
                    return part
    return ""


def open_reader(
    format: Format,
    *,
    delimited: bool | None,
    strict: bool,
    on_error: Literal["raise", "skip"],
    **settings: Any,
) -> SyntaxReader:
    """What reads one of the `SYNTAXES`. ``strict`` overrules ``lenient``."""
    if on_error != "raise":
        raise JellyUnsupportedError(f"errors in {format.title} cannot be skipped: its statements have no lines of their own")
    if strict:
        settings["lenient"] = False
    return SyntaxReader(format, **settings)
