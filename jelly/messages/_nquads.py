"""Parts of message logs converted to N-Quads by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from jelly._formats.guards import PieceFile
from jelly._formats.language_case import Written
from jelly._formats.registry import RDF_XML, TRIG, TURTLE, Format
from jelly._formats.syntaxes import Parsing, ox
from jelly.errors import JellyError, JellyLimitError, JellySyntaxError, memory_error

# A text may be so many bytes of N-Quads, or so many times its size, below the limit that the caller sets.
MAX_EXPANDED = 1 << 25
MAX_EXPANSION = 64


# The tag of a literal in N-Quads, a direction may follow: a quotation mark after it would stand inside that literal.
_NQUADS_TAG = re.compile(rb'"@([a-z]+(?:-[a-z0-9]+)*)(?![A-Za-z0-9]|-[A-Za-z0-9])(?=[^"\n]*\n)')


def respelled(nquads: bytes, of_tag: Callable[[str], str | None]) -> bytes:
    """N-Quads with other spellings of the tags in them that are in small letters; None leaves one as it is."""
    return _NQUADS_TAG.sub(lambda match: b'"@' + (of_tag(tag := match[1].decode()) or tag).encode(), nquads)


class _Limited:
    """A file in memory whose size is checked, because prefixes can expand a small text to a large one."""

    def __init__(self, check: Callable[[int], None]) -> None:
        self._check = check
        self.data = bytearray()

    def write(self, data: Any) -> int:
        self._check(len(self.data) + len(data))
        self.data += data
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
        self.passed: list[bytes] = []  # see `pieces`
        self._parsing: Any = None
        self._parser: Any = None
        self._most = 0  # bytes of N-Quads of the text that is read

    def whole(self, text: bytes) -> bytes:
        """The N-Quads of a text; JellySyntaxError with a line of it, where that is known, or JellyLimitError."""
        parsing = self._begin(len(text))
        self._check(parsing.check(text))
        parser = self._parser = parsing.parse(parsing.put(text), base_iri=self._base)
        try:
            nquads = self._serialized(parser)
        except SyntaxError as error:
            raise JellySyntaxError(parsing.reason(error), line=error.lineno) from None
        self.look()
        return nquads

    def pieces(self, pieces: list[bytes]) -> Iterator[bytes]:
        """The N-Quads of the pieces of a text: of each what the parser gives when it has read it. No token may go on
        after a piece.

        After a JellySyntaxError ``passed`` are those of the next pieces that the parser has gone past when it finds
        the error, which may stand before their ends.
        """
        parsing = self._begin(sum(map(len, pieces)))
        read = 0  # pieces that the parser has begun to read
        broken: SyntaxError | JellyError | None = None

        def marked() -> Iterator[bytes]:
            nonlocal read
            for piece in pieces:
                read += 1
                self._check(parsing.check(piece))
                yield parsing.put(piece)

        file: Any = PieceFile(marked())
        parser = self._parser = parsing.parse(file, base_iri=self._base)

        def quads() -> Iterator[Any]:
            nonlocal read, broken
            try:
                yield from parser
                read = len(pieces) + 1
            except (SyntaxError, JellyError) as error:
                broken = error

        number, nquads = 1, b""  # of the piece that comes next
        for last, group in groupby(quads(), lambda quad: read):
            while number < last:
                yield nquads
                number, nquads = number + 1, b""
            nquads = self._serialized(group)
        passed = [nquads, *[b""] * (read - number)][: read - number]
        if isinstance(broken, SyntaxError):
            self.passed = passed
            raise JellySyntaxError(parsing.reason(broken), line=broken.lineno)
        yield from passed
        if broken is not None:
            raise broken
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

    def _check(self, size: int) -> None:
        # What prefixes, contexts, entities and XML literals make of a text is in memory several times.
        if size > self._most:
            advice = "; raise max_message_bytes to read it"
            if self._most < self._limit:
                advice = f", and {MAX_EXPANSION} times its text"
            raise JellyLimitError(f"a message is longer than {self._most} bytes as N-Quads{advice}")

    def _serialized(self, quads: Iterator[Any]) -> bytes:
        made: Any = _Limited(self._check)
        try:
            ox.serialize(quads, made, ox.RdfFormat.N_QUADS)
        except MemoryError as error:
            raise memory_error(error) from None
        tags = self._parsing.tags
        nquads: bytes = tags.take(bytes(made.data))
        return nquads if tags.of_tag is None else respelled(nquads, tags.of_tag)
