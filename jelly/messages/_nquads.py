"""Parts of message logs converted to N-Quads by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from jelly._core.boundaries.xml_text import TextJoiner
from jelly._formats.guards import PieceFile
from jelly._formats.language_case import Written
from jelly._formats.registry import RDF_XML, TRIG, TURTLE, Format
from jelly._formats.syntaxes import Parsing, ox
from jelly.errors import JellyError, JellyLimitError, memory_error

# A text may be so many bytes of N-Quads, or so many times its size, below the limit that the caller sets.
MAX_EXPANDED = 1 << 25
MAX_EXPANSION = 64


class BrokenText(Exception):
    """A syntax error: the reason, the line from 1, where it is known, and the N-Quads of the pieces that the parser has
    gone past when it finds the error, which may stand before their ends."""

    def __init__(self, reason: str, line: int | None, passed: list[bytes]) -> None:
        super().__init__(reason)
        self.reason, self.line, self.passed = reason, line, passed


# The tag of a literal in N-Quads: a quotation mark after it would stand inside that literal.
_NQUADS_TAG = re.compile(rb'"@([a-z]+(?:-[a-z0-9]+)*)(?![A-Za-z0-9-])(?=[^"\n]*\n)')


class _Limited:
    """A file in memory with a maximum size, because prefixes can expand a small text to a large one."""

    def __init__(self, limit: int, error: Callable[[], JellyError]) -> None:
        self._limit = limit
        self._error = error
        self.parts: list[bytes] = []
        self._n = 0

    def write(self, data: Any) -> int:
        self._n += len(data)
        if self._n > self._limit:
            raise self._error()
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
        self._parsing: Any = None
        self._parser: Any = None
        self._most = 0  # bytes of N-Quads of the text that is read

    def whole(self, text: bytes) -> bytes:
        """The N-Quads of a text; `BrokenText` or JellyLimitError."""
        if self._format is RDF_XML:
            text = TextJoiner().feed(text)
        parsing = self._begin(len(text))
        self._check(text)
        parser = self._parser = parsing.parse(parsing.put(text), base_iri=self._base)
        try:
            nquads = self._serialized(parser)
        except SyntaxError as error:
            raise BrokenText(parsing.reason(error), error.lineno, []) from None
        self.look()
        return nquads

    def pieces(self, pieces: list[bytes]) -> Iterator[bytes]:
        """The N-Quads of the pieces of a text: of each what the parser gives when it has read it. No token may go on
        after a piece."""
        parsing = self._begin(sum(map(len, pieces)))
        read = 0  # pieces that the parser has begun to read

        def marked() -> Iterator[bytes]:
            nonlocal read
            for piece in pieces:
                read += 1
                self._check(piece)
                yield parsing.put(piece)

        file: Any = PieceFile(marked())
        parser = self._parser = parsing.parse(file, base_iri=self._base)
        ahead: Any = None  # a quad of the next piece
        broken: SyntaxError | JellyError | None = None

        def quads(number: int) -> Iterator[Any]:
            """The quads that the parser gives until it reads on."""
            nonlocal ahead, broken
            while True:
                try:
                    quad = next(parser, None) if ahead is None else ahead
                except (SyntaxError, JellyError) as error:
                    broken = error
                    return
                ahead = quad if read > number else None
                if quad is None or ahead is not None:
                    return
                yield quad

        for number in range(1, len(pieces) + 1):
            nquads = self._serialized(quads(number))
            if broken is not None:
                passed = [nquads, *[b""] * (read - number)][: read - number]
                if isinstance(broken, SyntaxError):
                    raise BrokenText(parsing.reason(broken), broken.lineno, passed)
                yield from passed
                raise broken
            yield nquads
        self.look()

    def look(self) -> None:
        """Take the base IRI and the prefixes where the parser stands."""
        if self._format in (TURTLE, TRIG):
            self.prefixes = {name: self._parsing.take(iri) for name, iri in self._parser.prefixes.items()}
            base = self._parser.base_iri
            self._base = None if base is None else self._parsing.take(base)

    def _begin(self, size: int) -> Parsing:
        """Begin with a text of so many bytes."""
        self._most = min(self._limit, max(MAX_EXPANDED, MAX_EXPANSION * size))
        self._parsing = parsing = Parsing(self._format, self.written)
        return parsing

    def _check(self, piece: bytes) -> None:
        # What prefixes, contexts, entities and XML literals make of a text is in memory several times.
        if self._parsing.check(piece) > self._most:
            raise self._too_long()

    def _too_long(self) -> JellyLimitError:
        reason = f"a message is longer than {self._most} bytes as N-Quads"
        if self._most < self._limit:
            return JellyLimitError(f"{reason}, and {MAX_EXPANSION} times its text")
        return JellyLimitError(f"{reason}; raise max_message_bytes to read it")

    def _serialized(self, quads: Iterator[Any]) -> bytes:
        made: Any = _Limited(self._most, self._too_long)
        try:
            ox.serialize(quads, made, ox.RdfFormat.N_QUADS)
        except MemoryError as error:
            raise memory_error(error) from None
        tags = self._parsing.tags
        nquads: bytes = tags.take(b"".join(made.parts))
        if (of_tag := tags.of_tag) is None:
            return nquads
        return _NQUADS_TAG.sub(lambda match: b'"@' + of_tag(match[1].decode()).encode(), nquads)
