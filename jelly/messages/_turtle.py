"""Readers of logs in Turtle and TriG."""

from __future__ import annotations

import re
import secrets
from bisect import bisect_right
from collections.abc import Generator, Iterator
from typing import Any

from jelly._core.base.constants import XSD_STRING_IRI
from jelly._core.boundaries.turtle import Lexer
from jelly._formats.registry import Format
from jelly.errors import JellyError, JellyLimitError, JellySyntaxError
from jelly.messages._logs import MESSAGE, MadeLog
from jelly.messages._nquads import BrokenText, Converter

__all__ = ["TurtleLog"]

# Finds in a message of Turtle count for its bytes beyond so many: each takes up to 300.
FREE_MARKS = 1 << 14
MARK = 400

_PREFIX = re.compile(rb"@?prefix\s+([^\s:<]*):\s*<([^<>\"\s]*)>", re.I)
_VERSION = re.compile(rb"@?version\s+(?:\"([^\"\n]*)\"|'([^'\n]*)')", re.I)


_DIRECTIVE = re.compile(rb"[ \t]*(?:MESSAGE|@message)\b")

# The place of a delimiter in a text: its beginning, its end, and between them where its note begins; then 0 if it is
# between statements, 1 inside a statement, 2 inside one where a string ends, 3 inside a graph block between statements.
Cut = tuple[int, int, int, int]
# A prefix and its IRI, after the number of the message of a text that declares it.
Declaration = tuple[int, str, str]

# What may follow a string, in the same literal; and what may be said instead of nothing.
_TAG_OR_TYPE = re.compile(rb"(?:[ \t\r\n]|#[^\r\n]*[\r\n])*(?:@|\^\^)")
_IS_STRING = f"^^<{XSD_STRING_IRI}>".encode()

# What may stand before the VERSION that announces directives: spaces, comments, other directives.
_BEFORE = re.compile(
    rb"[ \t\r\n.]+|#[^\r\n]*[\r\n]|@?prefix[ \t\r\n]+[^ \t\r\n:<>]*:[ \t\r\n]*<[^<>]*>|@?base[ \t\r\n]*<[^<>]*>"
    rb"|(?P<version>@?version)[ \t\r\n]*(?:\"(?P<label>[^\"\r\n]*)\"|'(?P<single>[^'\r\n]*)')",
    re.I,
)
# What the next bytes may make one of these.
_OPEN = re.compile(
    rb"#[^\r\n]*"
    rb"|@?(?:p(?:r(?:e(?:f(?:ix?)?)?)?)?)?|@?prefix[ \t\r\n]+[^ \t\r\n:<>]*(?::[ \t\r\n]*(?:<[^<>]*)?)?"
    rb"|@?(?:b(?:as?)?)?|@?base[ \t\r\n]*(?:<[^<>]*)?"
    rb"|@?(?:v(?:e(?:r(?:s(?:io?)?)?)?)?)?|@?version[ \t\r\n]*(?:\"[^\"\r\n]*|'[^'\r\n]*)?",
    re.I,
)
# As the parser counts lines: a carriage return alone ends one, too.
_LINE_END = re.compile(rb"\r\n?|\n")
# Bytes among which it is looked for.
MAX_HEAD = 1 << 13


def _line_ends(text: bytes, end: int) -> int:
    """The number of lines that end before a place of a text."""
    return text.count(b"\n", 0, end) + text.count(b"\r", 0, end) - text.count(b"\r\n", 0, end)


def announces(text: bytes, final: bool) -> bool | None:
    """Whether a Turtle document that begins like this announces directives; None if more of it is needed."""
    head = text[:MAX_HEAD]
    at = 0
    while (match := _BEFORE.match(head, at)) is not None:
        label = match["label"] or match["single"] or b""
        if match["version"] and label.endswith(b"-messages"):
            return True
        at = match.end()
    return False if final or len(text) >= MAX_HEAD or not _OPEN.fullmatch(head, at) else None


_NOT_ANNOUNCED = (
    'MESSAGE is used in a document that does not announce it: expected VERSION "1.2-messages" at its beginning, or a'
    " media type with version=1.2-messages"
)


class TurtleLog(MadeLog):
    """Turtle and TriG. The lexer finds the delimiters; a statement of random IRIs takes the place of each, so that one
    parser reads many messages. A statement or graph block that has delimiters in it is read as a whole when it ends: in
    the place of each stands a comment, and what the parser has given when it comes there belongs to the message before.
    """

    def __init__(
        self,
        *,
        format: Format,
        dialect: str | None,
        announced: bool,
        max_message_bytes: int,
        trailing: Any = "open",
        strict: bool = False,
        base: str | None = None,
    ) -> None:
        self._either = dialect == "either"
        self._strict = strict
        self._comments = dialect == "comment"
        self._announced = announced
        self._settings = {"quads": format.quads, "announced": True, "trailing": trailing}
        self._max = max_message_bytes
        self._delimit(dialect not in ("comment", "either"))
        self._convert = Converter(format, base, max_message_bytes)
        self.written = self._convert.written
        self._marks: list[tuple[str, int, int, int, int, int]] = []
        self._origin = 0  # the offset in the input of what waits
        iri = f"<x:{secrets.token_hex(12)}>"
        self._sentinel = f"{iri} {iri} {iri} .".encode()

    def _delimit(self, directive: bool) -> None:
        """Say what delimits messages, before anything is read."""
        # A document that is no log has MESSAGE for what it is, a syntax error.
        super().__init__(self._max, messages="directive" if directive else "comment", **self._settings)
        self._lexer = Lexer(directive=directive)
        self._directive = directive
        # Directives are statements of their own; the newer text refuses all delimiters in graph blocks.
        self._splits = not directive and not self._strict
        self._announced = self._announced or not directive

    def _begins(self, head: bytes, final: bool) -> bool:
        announced = announces(head, final) if self._either else False
        if announced:
            self._announced = False
            self._delimit(True)
        return announced is not None

    def _made(self, data: bytes, final: bool) -> Iterator[Any]:
        marks = self._lexer.feed(data, final)
        self._marks += marks
        if final or any(mark[0] == "bad" or (mark[0] == "message" and not self._inside(mark)) for mark in marks):
            data = yield from self._parse(self._take(data), final)
        self._wait(data, MARK * max(0, len(self._marks) - FREE_MARKS))

    def _inside(self, mark: tuple[str, int, int, int, int, int]) -> int:
        """The last number of a `Cut`."""
        return (mark[5] or (3 if mark[4] else 0)) if self._splits else 0

    def _parse(self, text: bytes, final: bool) -> Generator[Any, None, bytes]:
        """Read a text up to its last delimiter that stands between statements, or to its end if that is final; return
        the rest."""
        origin = self._origin
        wrong: JellyError | None = None
        cuts: list[Cut] = []
        declared: list[Declaration] = []
        for mark in self._marks:
            kind, begin, stop, note, depth, _ = mark
            if kind == "prefix":
                if (match := _PREFIX.match(text, begin - origin)) is not None:
                    declared.append((len(cuts), match[1].decode(errors="replace"), match[2].decode(errors="replace")))
            elif kind == "version":
                match = _VERSION.match(text, begin - origin)
                self._announced |= match is not None and (match[1] or match[2] or b"").endswith(b"-messages")
            elif kind == "bad" or (depth and not self._splits) or not self._announced:
                reason = _NOT_ANNOUNCED
                if self._announced:
                    reason = "a delimiter inside a graph block that is open"
                    if kind == "bad":
                        reason = "@message without a dot: expected '@message .'"
                wrong = JellySyntaxError(reason, line=self._line + _line_ends(text, begin - origin))
                break
            else:
                cuts.append((begin - origin, stop - origin, note - origin, self._inside(mark)))
        whole = final and wrong is None
        while not whole and cuts and cuts[-1][3]:
            cuts.pop()
        end = len(text) if whole else cuts[-1][1] if cuts else 0
        if not whole:
            declared = [each for each in declared if each[0] < len(cuts)]  # not of what still waits
        yield from self._converted(text[:end], cuts, declared)
        if wrong is not None:
            raise wrong
        self._origin += end
        self._line += _line_ends(text, end)
        self._marks = [mark for mark in self._marks if mark[1] >= self._origin]
        return text[end:]

    def _converted(self, text: bytes, cuts: list[Cut], declared: list[Declaration]) -> Iterator[Any]:
        """The N-Quads of a text, with delimiters, and its prefixes."""
        inner = sum(inside > 0 for _, _, _, inside in cuts)
        if 0 < inner < len(cuts):
            yield from self._each_converted(text, cuts, declared)
            return
        pieces, at = [], 0
        for begin, stop, _, inside in cuts:
            # pyoxigraph waits for the tag or datatype of a string. Where none comes, the statement is there already.
            ends = inside == 2 and not _TAG_OR_TYPE.match(text, stop)
            pieces.append(text[at:begin] + (_IS_STRING if ends else b""))
            at = stop
        pieces.append(text[at:])
        known = self._convert.prefixes
        head = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in known.items())
        marked = head.encode() + b"\n" + (b"#" + self._sentinel if inner else self._sentinel).join(pieces)
        wrong: JellySyntaxError | None = None
        try:
            nquads = self._convert(marked, self._sentinel if inner else b"")
        except JellyLimitError:
            if not cuts or inner:
                raise
            yield from self._each_converted(text, cuts, declared)
            return
        except BrokenText as error:
            wrong = self._located(error, text, [] if inner else cuts)
            # The last message is not whole, and neither are those before it that end inside the statement that broke,
            # after the place where it did.
            parts = error.before.split(self._sentinel + b"\n")
            right = len(parts) - 1
            lines = [self._line + _line_ends(text, begin) for begin, *_ in cuts]
            while right and cuts[right - 1][3] in (1, 2) and lines[right - 1] >= (wrong.line or 0):
                right -= 1
            nquads = b"".join([part + self._sentinel + b"\n" for part in parts[:right]])
        notes = [] if self._directive else [text[note:stop].strip() for _, stop, note, _ in cuts]
        yield from self._delimited(nquads, notes, declared, known)
        if wrong is not None:
            raise wrong

    def _each_converted(self, text: bytes, cuts: list[Cut], declared: list[Declaration]) -> Iterator[Any]:
        """The same by parts that end between statements: where one is refused, those before it are given."""
        line, at, first = self._line, 0, 0
        for i, (begin, stop, note, inside) in enumerate([*cuts, (len(text), len(text), len(text), 0)]):
            if inside:
                continue
            names = [(number - first, name, iri) for number, name, iri in declared if first <= number <= i]
            self._line = line + _line_ends(text, at)
            # First the message, then its delimiter, which cannot be refused: it is not parsed, as no limit is for it.
            inner = [(a - at, b - at, c - at, d) for a, b, c, d in cuts[first:i]]
            yield from self._converted(text[at:begin], inner, names)
            if i < len(cuts):
                notes = [] if self._directive else [text[note:stop].strip()]
                yield from self._delimited(self._sentinel + b"\n", notes, [], {})
            at, first = stop, i + 1
        self._line = line

    def _delimited(
        self, nquads: bytes, notes: list[bytes], declared: list[Declaration], known: dict[str, str]
    ) -> Iterator[Any]:
        """The N-Quads of messages with delimiters for sentinels, and in their places the prefixes that are new."""
        sentinel = self._sentinel + b"\n"
        known = dict(known)
        new: list[Declaration] = []
        for number, name, iri in declared:
            if ":" not in iri or "\\" in iri:
                iri = self._convert.prefixes.get(name, iri)  # relative, or with an escape: as the parser has it
            if known.get(name) != iri:
                known[name] = iri
                new.append((number, name, iri))
        delimiter = MESSAGE if self._directive else b"# @message\n"
        if not new and not any(notes):
            yield nquads.replace(sentinel, delimiter)
            return
        messages = nquads.split(sentinel)
        for i, message in enumerate(messages):
            while new and new[0][0] <= i:
                yield new.pop(0)[1:]
            yield message
            if i < len(messages) - 1:
                yield b"# @message %b\n" % notes[i] if notes else delimiter

    def _located(self, broken: BrokenText, text: bytes, cuts: list[Cut]) -> JellySyntaxError:
        """The error of a text that is broken, with its line and the reason."""
        if broken.line is None:
            return JellySyntaxError(broken.reason, line=self._line)
        line = max(broken.line - 1, 1)  # without the head
        starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        lines = [bisect_right(starts, begin) for begin, *_ in cuts]
        reason = broken.reason
        if line in lines:
            reason = f"a delimiter inside a statement: {reason.replace(self._sentinel.decode(), '@message')}"
        elif not self._directive and _DIRECTIVE.match(text, starts[line - 1]):
            reason = _NOT_ANNOUNCED
            if self._comments:
                reason = 'comments delimit messages here, not MESSAGE: pass dialect="directive"'
        return JellySyntaxError(reason, line=self._line + line - 1)
