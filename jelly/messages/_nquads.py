"""Parts of message logs converted to N-Quads by pyoxigraph."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from jelly._core.boundaries.xml_text import TextJoiner
from jelly._formats.language_case import Written
from jelly._formats.registry import RDF_XML, TRIG, TURTLE, Format
from jelly._formats.syntaxes import Parsing, ox
from jelly.errors import JellyLimitError, memory_error

__all__ = ["BrokenText", "Converter"]

# A text may be so many bytes of N-Quads, or so many times its size, below the limit that the caller sets.
MAX_EXPANDED = 1 << 25
MAX_EXPANSION = 64


class BrokenText(Exception):
    """A syntax error in a text: the N-Quads before it, the reason, and the line from 1, where it is known."""

    def __init__(self, before: bytes, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.before, self.reason, self.line = before, reason, line


# The tag of a literal in N-Quads: a quotation mark after it would stand inside that literal.
_NQUADS_TAG = re.compile(rb'"@([a-z]+(?:-[a-z0-9]+)*)(?![A-Za-z0-9-])(?=[^"\n]*\n)')


class _Limited:
    """A file in memory with a maximum size, because prefixes can expand a small text to a large one."""

    def __init__(self, limit: int, reason: str) -> None:
        self._limit = limit
        self._reason = reason
        self.parts: list[bytes] = []
        self._n = 0

    def write(self, data: Any) -> int:
        self._n += len(data)
        if self._n > self._limit:
            raise JellyLimitError(self._reason)
        self.parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """There is nothing to do."""


class Converter:
    """Converts texts of a syntax to N-Quads, of ``limit`` bytes at the most.

    They stay in pyoxigraph from one text to the other, which is the fastest way through it: no term is looked at.
    Labels that a text has ``written`` keep their marks. In the Turtle family the base IRI and the ``prefixes`` at the
    end of a text are those at the beginning of the next one.
    """

    def __init__(self, format: Format, base: str | None, limit: int) -> None:
        self._format = format
        self._base = base
        self._limit = limit
        self.written = Written(xml=format is RDF_XML)
        self.prefixes: dict[str, str] = {}

    def __call__(self, text: bytes, sentinel: bytes = b"") -> bytes:
        """The N-Quads of a text; `BrokenText` or JellyLimitError.

        A comment that holds the ``sentinel``, a statement, puts it between what the parser gives before and after the
        comment.
        """
        if self._format is RDF_XML:
            text = TextJoiner().feed(text)
        parsing = Parsing(self._format, self.written)
        limit = self._limit
        reason = f"a message is longer than {limit} bytes as N-Quads; raise max_message_bytes to read it"
        # What prefixes, contexts, entities and XML literals make of a text is in memory several times.
        most = max(MAX_EXPANDED, MAX_EXPANSION * len(text))
        if most < limit:
            limit = most
            reason = f"a message is longer than {most} bytes as N-Quads, and {MAX_EXPANSION} times its text"
        if parsing.check(text) > most:
            raise JellyLimitError(reason)
        marked = parsing.put(text)

        def serialized(quads: Iterator[Any]) -> bytes:
            made: Any = _Limited(limit, reason)
            ox.serialize(quads, made, ox.RdfFormat.N_QUADS)
            nquads = parsing.tags.take(b"".join(made.parts))
            of_tag = parsing.tags.of_tag
            if of_tag is None:
                return nquads
            return _NQUADS_TAG.sub(lambda match: b'"@' + of_tag(match[1].decode()).encode(), nquads)

        parser, quads = _parsed(parsing, marked, self._base, sentinel)
        try:
            nquads = serialized(quads)
        except MemoryError as error:
            raise memory_error(error) from None
        except SyntaxError as error:
            before = serialized(_until_broken(_parsed(parsing, marked, self._base, sentinel)[1]))
            raise BrokenText(before, parsing.reason(error), error.lineno) from None
        if self._format in (TURTLE, TRIG):
            self.prefixes = {name: parsing.take(iri) for name, iri in parser.prefixes.items()}
            self._base = None if parser.base_iri is None else parsing.take(parser.base_iri)
        return nquads


def _parsed(parsing: Parsing, text: bytes, base: str | None, sentinel: bytes) -> tuple[Any, Iterator[Any]]:
    """A parser, and an iterator of its quads with sentinels at the ends of messages."""
    if not sentinel:
        parser = parsing.parse(text, base_iri=base)
        return parser, parser
    file: Any = _Pieces(text, b"#" + sentinel)
    parser = parsing.parse(file, base_iri=base)
    return parser, _with_sentinels(parser, file, next(ox.parse(sentinel, ox.RdfFormat.N_QUADS)))


class _Pieces:
    """A text as a file whose reads end at comments: ``comments`` is how many the parser has reached."""

    def __init__(self, text: bytes, comment: bytes) -> None:
        self._pieces = text.split(comment)
        for i in range(1, len(self._pieces)):
            # After a comment and the end of its line no token goes on.
            end = _LINE_END.match(self._pieces[i])[0]  # type: ignore[index]
            self._pieces[i - 1] += b"#" + end
            self._pieces[i] = self._pieces[i][len(end) :]
        self._offset = 0
        self.comments = 0

    def read(self, size: int) -> bytes:
        if self._offset >= len(self._pieces[self.comments]) and self.comments < len(self._pieces) - 1:
            self.comments += 1
            self._offset = 0
        data = self._pieces[self.comments][self._offset : self._offset + size]
        self._offset += len(data)
        return data


_LINE_END = re.compile(rb"\r\n|[\r\n]|")


def _with_sentinels(parser: Iterator[Any], file: _Pieces, sentinel: Any) -> Iterator[Any]:
    """The quads of a parser, with sentinels. It reads on only when it has given all quads of the text so far."""
    given = 0
    quad: Any = sentinel
    while quad is not None:
        broken = None
        try:
            quad = next(parser, None)
        except SyntaxError as error:
            broken = error
        for _ in range(given, file.comments):
            yield sentinel
        given = file.comments
        if broken is not None:
            raise broken
        if quad is not None:
            yield quad


def _until_broken(parser: Iterator[Any]) -> Iterator[Any]:
    with contextlib.suppress(SyntaxError):
        yield from parser
