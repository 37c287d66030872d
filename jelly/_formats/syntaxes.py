"""Codec of the formats that pyoxigraph parses and serializes: see `jelly._formats.registry.Format.codec`.

Turtle, TriG, RDF/XML, JSON-LD and N3 come in pieces from a `Source` and go out Batch by Batch, so memory stays flat.
Labels of blank nodes are kept. Nodes without one are anon0, anon1 and so on, in the order in which pyoxigraph gives
them, so a document has the same labels each time; where it writes such a label itself, no two nodes become one (see
`jelly._core.rules.blank_node_label`). Each of these nodes takes 32 to 64 bytes of memory until the end of the document.

pyoxigraph writes language tags in lower case wherever it meets them. RDF allows that, but it changes the data: so tags
with capitals are marked before it sees them, and the marks are taken out of what it gives. In JSON
a tag cannot be told from other strings: it gets its capitals back there if all strings of these letters have the same.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, cycle, islice
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from jelly._bytes.source import Source
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF
from jelly._core.boundaries.xml_text import TextJoiner
from jelly._core.ntriples.text import TextWriter
from jelly._core.rules.capabilities import capabilities_of
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.quad_builder import QuadBatchBuilder
from jelly._core.terms.term_adapter import TermAdapter
from jelly._formats.guards import PieceFile, guard_json, guard_turtle, guard_xml
from jelly._formats.language_case import JsonMarks, Marks, Written
from jelly._formats.protocols import Framing, declared_in
from jelly._formats.registry import JSON_LD, N3, RDF_XML, TRIG, TURTLE, Format
from jelly._options.limits import default
from jelly._options.options import StreamOptions
from jelly.errors import (
    JellyArgumentError,
    JellyError,
    JellyLimitError,
    JellyOptionsError,
    JellySyntaxError,
    JellyTruncatedError,
    JellyUnsupportedError,
    memory_error,
    need,
)

with need("oxigraph", "Turtle, TriG, RDF/XML, JSON-LD and N3 need pyoxigraph"):
    import pyoxigraph as ox

__all__ = ["ox"]

SYNTAXES: dict[Format, Any] = {
    TURTLE: ox.RdfFormat.TURTLE,
    TRIG: ox.RdfFormat.TRIG,
    RDF_XML: ox.RdfFormat.RDF_XML,
    JSON_LD: ox.RdfFormat.JSON_LD,
    N3: ox.RdfFormat.N3,
}
CLASSES = (ox.NamedNode, ox.BlankNode, ox.Literal, ox.Triple, ox.DefaultGraph)

BATCH_ROWS = 16384
BATCH_BYTES = 1 << 24

# Bytes that are marked and checked at a time, and bytes that may wait for the end of a tag of XML.
PIECE = 1 << 18
LONGEST_TAG = 1 << 16
# A piece that expands to more than this many times its size counts at once.
EXPANSION = 256
# Of a document that is given to pyoxigraph and makes no statement: it is in memory, about four times.
MAX_TEXT = default("max_text_bytes")
# No token of pyoxigraph may be longer. An escape takes up to six bytes for one.
MAX_TOKEN = 1 << 24

# ---- reading


# The place that a message begins with.
PLACE = re.compile(r"\AParser error (?:at|between) .*?: ", re.S)
_CONTEXT = re.compile(rb'"@(?:context|import)"\s*:\s*')


class Parsing:
    """A document on its way through pyoxigraph, of a file or of a message log: limits, marks, the parser, errors.

    Several documents may have the same ``written``.
    """

    def __init__(self, format: Format, written: Written | None = None, lenient: bool = False) -> None:
        self._syntax = SYNTAXES[format]
        self.tags = JsonMarks(lenient=lenient) if format is JSON_LD else Marks(xml=format is RDF_XML, lenient=lenient)
        self.written = Written(xml=format is RDF_XML, word=self.tags.word) if written is None else written
        # For each piece of the document, the bytes that it stands for.
        guard = guard_xml if format is RDF_XML else guard_json if format is JSON_LD else guard_turtle
        # A log may put messages into two levels more.
        self.check = guard_json(2) if format is JSON_LD and written is not None else guard()

    def put(self, piece: bytes) -> bytes:
        """A piece of the document with marks."""
        return self.written.put(self.tags.put(piece))

    def take(self, text: str) -> str:
        """A text without marks."""
        return self.written.take_str(self.tags.take_str(text))

    def parse(self, document: Any, **settings: Any) -> Any:
        """The statements of a marked document: bytes or a file."""
        return ox.parse(document, self._syntax, **settings)

    def reason(self, error: SyntaxError) -> str:
        """The message of an error of the parser, without the place."""
        return PLACE.sub("", self.take(error.msg), 1)


class SyntaxReader:
    """Reads one of the `SYNTAXES`: see `jelly._formats.registry.Format`.

    Relative IRIs are resolved against ``base``; where there is none they are an error (in JSON-LD they are dropped).
    ``lenient=True`` leaves out checks, of IRIs and language tags above all, which is faster. ``max_text_bytes``
    (64 MiB) bounds what may come between two statements, such as the text of a literal: about four times of it is in
    memory.
    """

    def __init__(
        self,
        format: Format,
        *,
        base: str | None = None,
        lenient: bool = False,
        batch_rows: int = BATCH_ROWS,
        batch_bytes: int = BATCH_BYTES,
        max_text_bytes: int = MAX_TEXT,
    ) -> None:
        if batch_rows < 1 or batch_bytes < 1 or max_text_bytes < 1:
            raise JellyArgumentError("batch_rows, batch_bytes and max_text_bytes must be at least 1")
        self._max_text = max_text_bytes
        self.format = format
        self._settings: dict[str, Any] = {
            "base_iri": base, "lenient": lenient, "without_named_graphs": not format.quads
        }  # fmt: skip
        self._rows = batch_rows
        self._bytes = batch_bytes
        self._parsing = Parsing(format, lenient=lenient)
        self._tags, self._written = self._parsing.tags, self._parsing.written
        self._by_line = format in (RDF_XML, JSON_LD)
        self._known: dict[str, str] = {}
        self._given = 0  # bytes that the parser got
        arity = 4 if format.quads else 3
        self._builder = QuadBatchBuilder(
            arity, classes=CLASSES, mend=self._parsing.take, tag=self._tags.of_tag, numbered=True
        )
        if base is not None:
            ox.parse(b"", ox.RdfFormat.TURTLE, base_iri=base)  # ValueError now, not when it is read

    @property
    def statements(self) -> int:
        """Statements read so far."""
        return self._builder.statements

    def batches(self, source: Source) -> Iterator[Batch]:
        """The Batches of a source. What comes before an error is given before it is raised."""
        intake = self._builder
        file: Any = PieceFile(self._pieces(source.chunks()), self._by_line)
        parser = self._parsing.parse(file, **self._settings)
        more = True
        while more:
            broken: JellyError | None = None
            try:
                # One statement first: the prefixes that stand before it are to come before it.
                first = [*islice(parser, 1)]
                self._declare(parser.prefixes)
                more = bool(first) and intake.extend(chain(first, parser), self._rows, self._bytes)
                self._declare(parser.prefixes)
            except SyntaxError as error:
                broken = self._error(error, file)
                self._declare(parser.prefixes)
            except MemoryError as error:
                # How far the source was read, which is about where the token ends that is too long.
                broken = memory_error(error, offset=self._given, line=file.line if self._by_line else None)
            except JellyError as error:
                broken = error
            if (batch := intake.take()) is not None:
                yield batch
            if broken is not None:
                raise broken

    def _pieces(self, chunks: Iterator[Any]) -> Iterator[bytes]:
        """The bytes of a source, with marks."""
        check = self._parsing.check
        joiner = TextJoiner() if self.format is RDF_XML else None
        size = min(PIECE, self._max_text)
        rest = bytearray()
        text = rows = 0  # bytes since there were so many statements
        begun = False
        for chunk in chunks:
            for at in range(0, len(chunk), size):
                piece = bytes(chunk[at : at + size])
                if joiner is not None:
                    piece = joiner.feed(piece)
                # A tag that goes on is not looked through again for each byte of it.
                if not begun or (joiner is not None and 0 < len(rest) < LONGEST_TAG and b"<" not in piece):
                    rest += piece
                    if begun or len(rest) < 3:
                        continue
                    piece, rest, begun = bytes(rest).removeprefix(b"\xef\xbb\xbf"), bytearray(), True
                piece, waits = self._tags.split(bytes(rest) + piece)
                piece, before = self._written.split(piece)
                rest = bytearray(before + waits)
                if not piece:
                    continue
                cost = check(piece)
                if self._builder.rows != rows:
                    rows, text = self._builder.rows, 0
                if text > self._max_text or cost > max(self._max_text, EXPANSION * len(piece)):
                    reason = f"more than {self._max_text} bytes without a statement; raise max_text_bytes to read them"
                    raise JellyLimitError(reason, offset=self._given)
                text += cost
                self._given += len(piece)
                yield self._marked(piece)
        if last := bytes(rest):
            check(last)
            yield self._marked(last)
        if joiner is not None and joiner.begun:
            raise JellyTruncatedError("the input ends inside the XML document", offset=self._given)

    def _marked(self, piece: bytes) -> bytes:
        piece = self._parsing.put(piece)
        if self._tags.used or self._written.used:
            # A part of both marks; where there are no marks of tags it is empty.
            self._builder.mark = self._tags.word or self._written.mark.decode()
        return piece

    def _declare(self, prefixes: dict[str, str]) -> None:
        """Note the prefixes that are new."""
        # pyoxigraph has them in no order.
        for name, iri in sorted(prefixes.items()):
            iri = self._parsing.take(iri)
            if self._known.get(name) != iri:
                self._known[name] = iri
                self._builder.namespace(name, iri)

    def _error(self, error: SyntaxError, file: PieceFile) -> JellySyntaxError:
        reason = self._parsing.reason(error)
        if "LoadDocumentCallback" in reason:
            reason = f"the context {_remote(file.recent())} is not in the document: remote contexts are never fetched"
        if error.lineno is None:
            return JellySyntaxError(reason, line=file.line if self._by_line else None)
        # Marks shift the columns.
        column = None if self._tags.used or self._written.used else error.offset
        if column is not None:
            reason = f"column {column}: {reason}"
        return JellySyntaxError(reason, line=error.lineno, column=column)


def _remote(text: bytes) -> str:
    """The URL of the remote context in a part of a JSON-LD document; "" where it is not found."""
    decoder = json.JSONDecoder()
    for match in _CONTEXT.finditer(text):
        with contextlib.suppress(ValueError, RecursionError):
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
    """Make a reader of one of the `SYNTAXES`. ``strict`` overrides ``lenient``."""
    if on_error != "raise":
        raise JellyUnsupportedError(f"errors in {format.title} cannot be skipped: its statements are not lines")
    if strict:
        settings["lenient"] = False
    return SyntaxReader(format, **settings)


# ---- Batches to quads


def library_of(mark: Callable[[bytes], bytes] | None = None) -> TermAdapter:
    """The adapter for terms of pyoxigraph, for the ``library`` of `jelly.Writer` and `jelly.Reader.frames`.

    ``mark`` is `Marks.put`, if language tags are to keep their letter case.
    """

    def marked(tag: str) -> str:
        return tag if mark is None else mark(f"@{tag}".encode()).decode()[1:]

    return TermAdapter(
        "pyoxigraph",
        classes=CLASSES[:4],
        iri=ox.NamedNode,
        bnode=ox.BlankNode,
        plain=ox.Literal,
        lang=lambda text, tag: ox.Literal(text, language=marked(tag)),
        directed=lambda text, tag, direction: ox.Literal(
            text, language=marked(tag), direction=ox.BaseDirection(direction)
        ),
        typed=lambda text, datatype: ox.Literal(text, datatype=datatype),
        quoted=_statement(ox.Triple),
        triple=_statement(ox.Triple),
        quad=_statement(ox.Quad),
        default=ox.DefaultGraph(),
    )


def _statement(make: Any) -> Callable[..., Any]:
    def statement(*terms: Any) -> Any:
        if type(terms[0]) is ox.Triple:
            raise JellyUnsupportedError("RDF 1.2 has quoted triples as objects only, and here one is a subject")
        return make(*terms)

    return statement


class Quads:
    """Makes quads or triples of Batches.

    The shortest way to them is N-Quads, which both sides have at hand: three times as fast as making each term. Only
    what is too long for a token has to be made. With ``marks``, of a `SyntaxWriter`, Batches were fitted before.
    """

    def __init__(self, quads: bool, marks: Marks | None = None) -> None:
        self._named = quads
        self._marks = marks
        self._text = TextWriter(quads=quads, fitted=True)
        self._fit: Callable[[Batch], Batch]
        self._fit = capabilities_of("pyoxigraph").fit if marks is None else lambda batch: batch

    def of(self, batch: Batch) -> Iterator[Any]:
        text = self.text_of(batch)
        return self._made(batch) if has_long_terms(batch, len(text)) else self.parsed(text)

    def parsed(self, text: bytes) -> Iterator[Any]:
        """The statements of a text from `text_of` or `frames_of`."""
        # What an IRI may not have was refused when the Batch was fitted.
        if self._marks is not None:
            text = self._marks.put(text)
        if self._named:
            return ox.parse(text, ox.RdfFormat.N_QUADS, lenient=True)
        return map(attrgetter("triple"), ox.parse(text, ox.RdfFormat.N_TRIPLES, lenient=True))

    def _made(self, batch: Batch) -> Iterator[Any]:
        library = library_of(None if self._marks is None else self._marks.put)
        return iter(Materializer(self._fit(batch), library).statements())

    def text_of(self, batch: Batch) -> bytes:
        """The N-Triples or N-Quads of a Batch."""
        if batch.op is not None:
            raise JellyOptionsError("a patch cannot be written as statements: it has operations")
        return self._text.encode(self._fit(batch))

    def frames_of(self, batch: Batch) -> list[bytes]:
        """The same of each frame."""
        return self._text.frames(self._fit(batch))


def has_long_terms(batch: Batch, size: int) -> bool:
    """Whether a term may be too long for a token of pyoxigraph in the N-Quads of a Batch, which have this size."""
    return size > MAX_TOKEN and int(np.diff(np.asarray(batch.start)).max(initial=0)) > MAX_TOKEN // 6


def refusal(title: str, error: SyntaxError, first_row: int, quoted: bool = False) -> JellyUnsupportedError:
    """The error for what the parser of our N-Quads raised: one line is one statement."""
    reason = PLACE.sub("", error.msg, 1)
    if quoted:
        reason += " (RDF 1.2 has quoted triples as objects only)"
    return JellyUnsupportedError(
        f"{title} cannot hold this statement: {reason}", row=first_row + (error.lineno or 1) - 1
    )


# ---- writing

# Turtle, production PN_PREFIX, and an NCName of XML: what both allow.
_LETTER = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
    "\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"{_LETTER}_0-9\u00b7\u0300-\u036f\u203f\u2040-"
_PREFIX = re.compile(rf"(?:[{_LETTER}](?:[.{_NAME}]*[{_NAME}])?)?")
_PREFIX_LINES = re.compile(rb"\A(?:@prefix [^\n]*\n)*")
# The statements between frames on their way through pyoxigraph.
_RANDOM = secrets.token_hex(12).encode()
_BETWEEN = re.compile(rb"^\S*:%b[01]>? \S+ \S+ \.\n" % _RANDOM, re.M)
_XML_RESERVED = re.compile(r"rdf|its|oxprefix|xml.*", re.I | re.S)
# Namespaces that no prefix but their own may stand for.
_XML_FIXED = (RDF, "http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/")
# An element without a name. Where the empty prefix is declared, elements of other namespaces have this prefix too.
_NAMELESS = re.compile(rb"<oxprefix:(?=[ />])")
# A class as the name of an element, where its IRI gives none.
_CLASS = re.compile(rb'^\t<oxprefix: xmlns:oxprefix="([^"<\n]*)"([^<>]*?)(/?)>', re.M)
_CLASS_END = re.compile(rb"^\t</oxprefix:>", re.M)
_END = b"</rdf:RDF>"
_STATEMENT = ox.Triple(ox.BlankNode("b"), ox.NamedNode("x:y"), ox.BlankNode("b"))


class SyntaxWriter:
    """Writes one of the `SYNTAXES`, each Batch when it comes: see `jelly._formats.registry.Format`.

    Prefixes are those of the namespaces so far; RDF/XML, which has them in its first line, takes only those before the
    first statement, and JSON-LD none. Names that a syntax cannot have are left out, as all that is lost is brevity.

    ``lenient=True`` takes IRIs that are none by RFC 3987, where they have a scheme and no character that would have to
    be escaped, and language tags of letters, digits and hyphens: what readers with ``lenient=True`` take.
    ``keep_labels`` is that of `Capabilities`.
    """

    def __init__(self, format: Format, *, lenient: bool = False, keep_labels: bool = False) -> None:
        self.format = format
        self._capabilities = capabilities_of(format.name, keep_labels)
        if lenient:
            self._capabilities = self._capabilities.replace(iris="plain", tags="plain")
        self._marks = Marks(lenient=lenient)
        self._quads = Quads(format.quads, self._marks)
        self._prefixes: dict[str, str] = {}
        self._begun = False
        self._make = {RDF_XML: self._xml, JSON_LD: self._json}.get(format, self._turtle)

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The text of a Batch. Frames leave no trace."""
        declared = b"".join([self._declare(name, iri) for _, _, name, iri in batch.namespaces])
        if not len(batch):
            return declared
        batch = self._capabilities.fit(batch)
        try:
            made = self._serialized(self._quads.of(batch))
            if self.format is RDF_XML and (names := [name for name in self._prefixes if _is_bare(name, made)]):
                for name in names:
                    del self._prefixes[name]
                made = self._serialized(self._quads.of(batch))
        except SyntaxError as error:
            raise refusal(self.format.title, error, batch.first_row, len(batch.quoted) > 0) from None
        made = self._make(made)
        self._begun = True
        return declared + self._marks.take(made)

    def frames(self, batch: Batch) -> list[bytes]:
        """The text of each frame of a Batch, in the Turtle family. Prefixes are declared in the first frame that has
        them."""
        batch = self._capabilities.fit(batch)
        before = dict(self._prefixes)
        names = declared_in(batch)
        made: list[bytes] = []
        waiting: list[bytes] = []
        declared = b""
        try:
            for i, text in enumerate(self._quads.frames_of(batch)):
                if any(self._prefixes.get(name) != iri for name, iri in names.get(i, ())):
                    made += self._together(batch, len(made), declared, waiting)
                    declared = b"".join([self._declare(name, iri) for name, iri in names[i]])
                    waiting = []
                waiting.append(text)
            made += self._together(batch, len(made), declared, waiting)
        except JellyError:
            # What was declared is not written.
            self._prefixes = before
            raise
        return made

    def _together(self, batch: Batch, first: int, declared: bytes, texts: list[bytes]) -> list[bytes]:
        """Frames from number ``first`` on, of which these are the N-Quads. Statements that occur nowhere else stand
        between them, so that one call serializes all."""
        if not texts:
            return []
        if has_long_terms(batch, sum(map(len, texts))):
            rows = np.split(np.arange(len(batch)), batch.frames)[first : first + len(texts)]
            found = [self._turtle(self._serialized(self._quads.of(select(batch, chosen)))) for chosen in rows]
        else:
            # Two of them in sequence have no subject in common: they would become one statement.
            ends = (b"<x:%b%d> " % (_RANDOM, number) * 3 + b".\n" for number in cycle((0, 1)))
            text = b"".join([part for pair in zip(texts, ends, strict=False) for part in pair])
            try:
                found = _BETWEEN.split(self._turtle(self._serialized(self._quads.parsed(text))))[:-1]
            except SyntaxError as error:
                error.lineno = None  # the lines are others
                raise refusal(self.format.title, error, batch.first_row, len(batch.quoted) > 0) from None
        return [self._marks.take(part) for part in (declared + found[0], *found[1:])]

    def close(self) -> bytes:
        """The end of the document."""
        if self.format is JSON_LD:
            return b"]\n" if self._begun else b"[]\n"
        if self.format is RDF_XML:
            return _END + b"\n" if self._begun else self._serialized([]) + b"\n"
        return b""

    def _serialized(self, quads: Iterable[Any]) -> bytes:
        try:
            return ox.serialize(quads, format=SYNTAXES[self.format], prefixes=self._prefixes) or b""
        except (ValueError, OSError) as error:
            raise JellyUnsupportedError(f"{self.format.title} cannot hold a statement: {error}") from None

    def _declare(self, name: str, iri: str) -> bytes:
        """Note a prefix; the line that declares it, in the Turtle family."""
        if self._prefixes.get(name) == iri or self.format is JSON_LD or not _PREFIX.fullmatch(name):
            return b""
        if self.format is RDF_XML:
            if not self._begun and not _XML_RESERVED.fullmatch(name) and iri not in _XML_FIXED:
                with contextlib.suppress(ValueError):
                    _header(name, iri)
                    self._prefixes[name] = iri
            return b""
        try:
            line = _header(name, iri)
        except ValueError:  # a relative IRI
            return b""
        self._prefixes[name] = iri
        return line

    def _turtle(self, made: bytes) -> bytes:
        return _PREFIX_LINES.sub(b"", made, count=1)

    def _json(self, made: bytes) -> bytes:
        return (b",\n" if self._begun else b"[") + made[1:-1]

    def _xml(self, made: bytes) -> bytes:
        begin = made.index(b">\n", made.index(b"<rdf:RDF")) + 2
        body = made[begin : made.rindex(_END)]
        if _NAMELESS.search(body):
            body = _CLASS_END.sub(b"\t</rdf:Description>", _CLASS.sub(_as_type, body))
            if (found := _NAMELESS.search(body)) is not None:
                tag = self._marks.take(body[found.start() : body.index(b">", found.start())]).decode()
                iri = html.unescape(tag.partition('"')[2].partition('"')[0])
                raise JellyUnsupportedError(f"RDF/XML cannot hold the predicate <{iri}>: its end is no name")
        # A line feed is what XML makes of a carriage return as it is.
        body = body.replace(b"\r", b"&#13;")
        return body if self._begun else made[:begin] + body


def _is_bare(name: str, made: bytes) -> bool:
    """Whether a prefix stands for a whole IRI somewhere: as the name of an element that is not well-formed."""
    return any(f"<{name}:{after}".encode() in made for after in " />") if name else b"< " in made or b"<>" in made


def _as_type(match: re.Match[bytes]) -> bytes:
    iri, attributes, closed = match.groups()
    end = b"\n\t</rdf:Description>" if closed else b""
    return b'\t<rdf:Description%b>\n\t\t<rdf:type rdf:resource="%b"/>%b' % (attributes, iri, end)


def _header(name: str, iri: str) -> bytes:
    """How pyoxigraph declares a prefix in Turtle."""
    made = ox.serialize([_STATEMENT], format=ox.RdfFormat.TURTLE, prefixes={name: iri}) or b""
    return made[: made.index(b"\n") + 1]


def open_writer(
    format: Format,
    options: StreamOptions | None,
    arity: int,
    *,
    framing: Framing,
    keep_labels: bool,
    **settings: Any,
) -> SyntaxWriter:
    """Make a writer of one of the `SYNTAXES`, which have neither frames nor stream options."""
    return SyntaxWriter(format, keep_labels=keep_labels, **settings)
