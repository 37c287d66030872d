"""Readers of logs in Turtle and TriG."""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Any

from jelly._core.base.constants import XSD_STRING_IRI
from jelly._core.boundaries.turtle import Lexer
from jelly._formats.registry import Format
from jelly.errors import JellyError, JellyLimitError, JellySyntaxError
from jelly.messages._logs import MESSAGE, MadeLog
from jelly.messages._nquads import Converter

# Finds in a message of Turtle count for its bytes beyond so many: each takes up to 300.
FREE_MARKS = 1 << 14
MARK = 400

_SPACE = rb"(?:[ \t\r\n]|#[^\r\n]*[\r\n])*"
_PREFIX = re.compile(rb"@?prefix" + _SPACE + rb"([^\s:<]*):" + _SPACE + rb"<([^<>\"\s]*)>", re.I)
_VERSION = re.compile(rb"@?version" + _SPACE + rb"(?:\"([^\"\n]*)\"|'([^'\n]*)')", re.I)
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
    """Turtle and TriG. The lexer finds the delimiters, and one parser reads many messages: what it has given when it
    comes to the place of a delimiter belongs to the message before. A statement or graph block that has delimiters in
    it is read as a whole when it ends.
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
        self._converter = Converter(format, base, max_message_bytes)
        self.written = self._converter.written
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
            kind, begin, stop, note, depth, inside = mark
            if kind == "prefix":
                if (match := _PREFIX.match(text, begin - origin)) is not None:
                    declared.append((len(cuts), match[1].decode(errors="replace"), match[2].decode(errors="replace")))
            elif kind == "version":
                match = _VERSION.match(text, begin - origin)
                self._announced |= match is not None and (match[1] or match[2] or b"").endswith(b"-messages")
            elif kind == "bad" or ((depth or inside) and not self._splits) or not self._announced:
                reason = f"a delimiter inside a {'graph block that is open' if depth else 'statement'}"
                if not self._announced:
                    reason = _NOT_ANNOUNCED
                elif kind == "bad":
                    reason = "@message without a dot: expected '@message .'"
                wrong = JellySyntaxError(reason, line=self._line + _line_ends(text, begin - origin))
                break
            else:
                cuts.append((begin - origin, stop - origin, note - origin, self._inside(mark)))
        end = len(text) if wrong is None else begin - origin
        if not final and wrong is None:
            while cuts and cuts[-1][3]:
                cuts.pop()
            end = cuts[-1][1] if cuts else 0
            declared = [each for each in declared if each[0] < len(cuts)]  # not of what still waits
        try:
            yield from self._converted(text[:end], cuts, declared)
        except JellySyntaxError as error:
            if wrong is None or (error.line or 0) < (wrong.line or 0):
                raise
        if wrong is not None:
            raise wrong
        self._origin += end
        self._line += _line_ends(text, end)
        self._marks = [mark for mark in self._marks if mark[1] >= self._origin]
        return text[end:]

    def _converted(self, text: bytes, cuts: list[Cut], declared: list[Declaration]) -> Iterator[Any]:
        """The N-Quads of a text, with delimiters, and its prefixes in their places."""
        known = dict(self._converter.prefixes)
        pieces, at = [], 0
        for begin, stop, _, inside in cuts:
            # pyoxigraph waits for the tag or datatype of a string. Where none comes, the statement is there already.
            ends = inside == 2 and not _TAG_OR_TYPE.match(text, stop)
            pieces.append(text[at:begin] + (_IS_STRING if ends else b"") + b" ")
            at = stop
        pieces.append(text[at:])
        head = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in known.items())
        pieces[0] = head.encode() + b"\n" + pieces[0]

        def message(nquads: bytes) -> Iterator[Any]:
            """The message of this number."""
            while declared and declared[0][0] <= number:
                _, name, iri = declared.pop(0)
                if ":" not in iri or "\\" in iri:  # relative, or with an escape: as the parser has it
                    self._converter.look()
                    iri = self._converter.prefixes.get(name, iri)
                if known.get(name) != iri:
                    known[name] = iri
                    yield name, iri
            yield nquads
            if number < len(cuts):
                yield self._delimiter(text, cuts[number])

        number = 0
        try:
            for nquads in self._messages(pieces, any(inside for *_, inside in cuts)):
                yield from message(nquads)
                number += 1
        except JellySyntaxError as error:
            passed = self._converter.passed

            def before(wrong: JellySyntaxError) -> int:
                """How many messages end before the place of an error. A comment takes the rest of its line."""
                ends = (self._line + _line_ends(text, cut[0]) for cut in cuts[number : number + len(passed)])
                return sum(1 for _ in takewhile(lambda line: line + (not self._directive) <= (wrong.line or 0), ends))

            wrong = self._located(error, text)
            n = before(wrong)
            if n and not any(inside for *_, inside in cuts[: number + n]):
                # Read them by themselves: an IRI that is not ended goes on behind a delimiter, which is an error, too.
                try:
                    deque(self._converter.pieces(pieces[: number + n]), 0)
                except JellySyntaxError as earlier:
                    wrong = self._located(earlier, text)
                    n = before(wrong)
            for nquads in passed[:n]:
                yield from message(nquads)
                number += 1
            raise wrong from None

    def _messages(self, pieces: list[bytes], has_inner: bool) -> Iterable[bytes]:
        """The N-Quads of messages. Where all end between statements, sentinels there make one text of them, which is
        faster; if that is refused, they are read one by one, for the place."""
        if not has_inner:
            with suppress(JellySyntaxError, JellyLimitError):
                return self._converter.whole(self._sentinel.join(pieces)).split(self._sentinel + b"\n")
        return self._converter.pieces(pieces)

    def _delimiter(self, text: bytes, cut: Cut) -> bytes:
        if self._directive:
            return MESSAGE
        note = text[cut[2] : cut[1]].strip()
        return b"# @message %b\n" % note if note else b"# @message\n"

    def _located(self, broken: JellySyntaxError, text: bytes) -> JellySyntaxError:
        """The error of a text that is broken, with its line and the reason."""
        if broken.line is None:
            return JellySyntaxError(broken.reason, line=self._line)
        line = max(broken.line - 1, 1)  # without the head
        reason = broken.reason
        if not self._directive and _DIRECTIVE.match(_LINE_END.split(text)[line - 1]):
            reason = _NOT_ANNOUNCED
            if self._comments:
                reason = 'comments delimit messages here, not MESSAGE: pass dialect="directive"'
        return JellySyntaxError(reason, line=self._line + line - 1)
