"""Readers of logs: bytes in, Batches whose frames are complete messages out. They do no input or output.

Whatever is not Jelly becomes N-Quads with delimiters and goes through one `TextReader`, which knows the rules of
delimiters, so that these stand in one place.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from jelly._core.algebra.message_blank_nodes import drop_open_frame
from jelly._core.base.batch import Batch
from jelly._core.base.constants import XSD_STRING_IRI
from jelly._core.boundaries.turtle import Lexer
from jelly._core.jelly.decoder import Decoder
from jelly._core.ntriples.text import TextReader
from jelly._formats.language_case import Written
from jelly._formats.registry import TRIG, TURTLE
from jelly._options.options import LogicalType
from jelly.errors import (
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellyOptionsError,
    JellySyntaxError,
)

if TYPE_CHECKING:
    from jelly.messages._nquads import BrokenText

__all__ = ["JellyLog", "Log", "TextLog", "TurtleLog"]

# A Batch that only the end of a chunk ends.
NO_LIMIT = 1 << 40

# Frames of Jelly before the options: they are kept until the options come.
MAX_EARLY = 1 << 20

# Finds in a message of Turtle count for its bytes beyond so many: each takes up to 300.
FREE_MARKS = 1 << 14
MARK = 400

BOM = b"\xef\xbb\xbf"


class Log(Protocol):
    """A reader of a log. An error names the message, from 0; all Batches before it have been returned.

    Where another library parses it, labels of blank nodes that are ``written`` in the log may have marks.
    """

    written: Written | None

    def feed(self, data: Any) -> Iterator[Batch]:
        """The messages that end in the next chunk of bytes."""

    def close(self) -> Iterator[Batch]:
        """The messages that the end of the input ends."""


class JellyLog:
    """Jelly: a frame is a message, empty ones included (RDF Messages, section 2.5)."""

    written: Written | None = None

    def __init__(self, *, force: bool = False, **limits: Any) -> None:
        self._decoder = Decoder(batch_rows=NO_LIMIT, batch_bytes=NO_LIMIT, **limits)
        self._decoder.whole = True
        self._force = force
        self._checked = False
        self._fed = False

    @property
    def options(self) -> Any:
        return self._decoder.options

    def feed(self, data: Any) -> Iterator[Batch]:
        self._fed = self._fed or len(data) > 0
        self._decoder.push(data)
        return self._pull()

    def close(self) -> Iterator[Batch]:
        if self._fed:  # no bytes: no messages
            self._decoder.finish()
            yield from self._pull()

    def _pull(self) -> Iterator[Batch]:
        try:
            while True:
                # Nothing is given before the options are known, however the input is cut: they may refuse it.
                known = self._checked
                batch = self._decoder.pull(known)
                self._check()
                if batch is None and known == self._checked:
                    return
                # There are rows after the last frame only where the next one is broken.
                if batch is not None and len(batch.frames):
                    yield drop_open_frame(batch)
        except JellyError as error:
            if error.message is None:
                error.message = error.frame
            raise

    def _check(self) -> None:
        options = self._decoder.options
        if options is None and self._decoder.frames > MAX_EARLY:
            raise JellyFormatError(f"{MAX_EARLY} frames and no stream options row in them; is it Jelly?", message=0)
        if options is None or self._checked:
            return
        self._checked = True
        kind = options.logical_type
        if kind.base in (LogicalType.FLAT_TRIPLES, LogicalType.FLAT_QUADS) and not self._force:
            raise JellyOptionsError(
                f"the logical type is {kind.name}: its frames are not messages; "
                "pass force=True to read them as messages",
                message=0,
            )


class TextLog:
    """N-Triples and N-Quads, straight from the core."""

    written: Written | None = None

    def __init__(self, **settings: Any) -> None:
        self._reader = TextReader(**settings)

    def feed(self, data: Any) -> Iterator[Batch]:
        return self._reader.feed(data)

    def close(self) -> Iterator[Batch]:
        return self._reader.close()

    def _error(self, error: JellyError, line: int | None = None) -> JellyError:
        """The error with its place: the message that would have come next."""
        error.message = self._reader.messages
        if error.line is None:
            error.line = line
        return error


_PREFIX = re.compile(rb"@?prefix\s+([^\s:<]*):\s*<([^<>\"\s]*)>", re.I)
_VERSION = re.compile(rb"@?version\s+(?:\"([^\"\n]*)\"|'([^'\n]*)')", re.I)


_DIRECTIVE = re.compile(rb"[ \t]*(?:MESSAGE|@message)\b")

# The place of a delimiter in a text: its beginning, its end, and between them where its note begins; then 0 if it is
# between statements, 1 inside a statement, 2 inside one where a string ends, 3 inside a graph block between statements.
Cut = tuple[int, int, int, int]


# What may follow a string, in the same literal; and what may be said instead of nothing.
_TAG_OR_TYPE = re.compile(rb"(?:[ \t\r\n]|#[^\r\n]*[\r\n])*(?:@|\^\^)")
_IS_STRING = f"^^<{XSD_STRING_IRI}>".encode()

# What may stand before the VERSION that announces directives: spaces, comments, other directives.
_BEFORE = re.compile(
    rb"[ \t\r\n.]+|#[^\r\n]*[\r\n]|@?prefix[ \t\r\n]+[^ \t\r\n:<>]*:[ \t\r\n]*<[^<>]*>|@?base[ \t\r\n]*<[^<>]*>"
    rb"|(?P<version>@?version)[ \t\r\n]*(?:\"(?P<label>[^\"\r\n]*)\"|'(?P<single>[^'\r\n]*)')",
    re.I,
)
_WORD = re.compile(rb"@?([A-Za-z]*)")
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
    return False if final or len(text) >= MAX_HEAD or not _may_go_on(head[at:]) else None


def _may_go_on(rest: bytes) -> bool:
    """Whether the next chunk may make a comment or a directive of this."""
    if rest.startswith(b"#"):
        return True
    match = _WORD.match(rest)
    assert match is not None
    word, after = match[1].lower(), rest[match.end() :]
    if not after:
        return any(known.startswith(word) for known in (b"prefix", b"base", b"version"))
    value = after.lstrip(b" \t\r\n")
    if word == b"prefix" and value != after:
        name, colon, value = value.partition(b":")
        value = value.lstrip(b" \t\r\n")
        if not colon:
            return not any(byte in b" \t\r\n<>" for byte in name)
    elif word not in (b"base", b"version"):
        return False
    ends = b"\"'" if word == b"version" else b"<"
    return not value or (value[0] in ends and not any(byte in value[1:] for byte in b"\"'>\r\n"))


class TurtleLog(TextLog):
    """Turtle and TriG. The lexer finds the delimiters; a statement of random IRIs takes the place of each, so that one
    parser reads many messages. A statement or graph block that has delimiters in it is read as a whole when it ends: in
    the place of each stands a comment, and what the parser has given when it comes there belongs to the message before.
    """

    def __init__(
        self,
        *,
        format: str,
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
        self._settings = {
            "quads": format == "trig", "announced": True, "trailing": trailing, "max_message_bytes": NO_LIMIT
        }  # fmt: skip
        self._delimit(dialect not in ("comment", "either"))
        from jelly.messages._nquads import BrokenText, to_nquads

        self._broken, self._parser = BrokenText, to_nquads
        self.written = self._written = Written()
        self._format = TRIG if format == "trig" else TURTLE
        self._base = base
        self._prefixes: dict[str, str] = {}
        self._max = max_message_bytes
        self._parts: list[bytes] = []
        self._marks: list[tuple[str, int, int, int, int, int]] = []
        self._n = 0  # bytes that wait in the parts
        self._origin = 0  # the offset of the first of them in the input
        self._line = 1  # its line
        iri = f"<x:{secrets.token_hex(12)}>"
        self._sentinel = f"{iri} {iri} {iri} .".encode()
        self._begun = False

    def _delimit(self, directive: bool) -> None:
        """Say what delimits messages, before anything is read."""
        # A document that is no log has MESSAGE for what it is, a syntax error.
        super().__init__(messages="directive" if directive else "comment", **self._settings)
        self._lexer = Lexer(directive=directive)
        self._directive = directive
        # Directives are statements of their own; the newer text refuses all delimiters in graph blocks.
        self._splits = not directive and not self._strict
        self._announced = self._announced or not directive

    def feed(self, data: Any) -> Iterator[Batch]:
        return self._feed(bytes(data), False)

    def close(self) -> Iterator[Batch]:
        yield from self._feed(b"", True)
        yield from super().close()

    def _feed(self, data: bytes, final: bool) -> Iterator[Batch]:
        if not self._begun:
            # A byte order mark may come in pieces, and so may what announces directives.
            data = b"".join([*self._parts, data])
            head = data.removeprefix(BOM)
            announced = announces(head, final) if self._either else False
            if not final and (announced is None or (len(data) < len(BOM) and BOM.startswith(data))):
                self._parts = [data]
                return
            if announced:
                self._announced = False
                self._delimit(True)
            self._parts = []
            data = head
            self._begun = True
        self._parts.append(data)
        marks = self._lexer.feed(data, final)
        self._n += len(data)
        self._marks += marks
        if final or any(mark[0] == "bad" or (mark[0] == "message" and not self._inside(mark)) for mark in marks):
            yield from self._parse(final)
        if self._n + MARK * max(0, len(self._marks) - FREE_MARKS) > self._max:
            reason = f"a message is longer than {self._max} bytes; raise max_message_bytes to read it"
            raise self._error(JellyLimitError(reason, line=self._line))

    def _inside(self, mark: tuple[str, int, int, int, int, int]) -> int:
        """The last number of a `Cut`."""
        return (mark[5] or (3 if mark[4] else 0)) if self._splits else 0

    def _parse(self, final: bool) -> Iterator[Batch]:
        """Read what waits, up to its last delimiter that stands between statements; to its end if that is final."""
        text = b"".join(self._parts)
        origin = self._origin
        wrong: JellyError | None = None
        cuts: list[Cut] = []
        declared: list[tuple[int, str, str]] = []  # of the message with this number in the text, name, IRI
        for mark in self._marks:
            kind, begin, stop, note, depth, _ = mark
            if kind == "prefix":
                if (match := _PREFIX.match(text, begin - origin)) is not None:
                    declared.append((len(cuts), match[1].decode(errors="replace"), match[2].decode(errors="replace")))
            elif kind == "version":
                match = _VERSION.match(text, begin - origin)
                self._announced |= match is not None and (match[1] or match[2] or b"").endswith(b"-messages")
            elif kind == "bad" or (depth and not self._splits) or not self._announced:
                wrong = self._refuse(kind, depth, self._line + _line_ends(text, begin - origin))
                break
            else:
                cuts.append((begin - origin, stop - origin, note - origin, self._inside(mark)))
        whole = final and wrong is None
        while not whole and cuts and cuts[-1][3]:
            cuts.pop()
        end = len(text) if whole else cuts[-1][1] if cuts else 0
        if not whole:
            declared = [each for each in declared if each[0] < len(cuts)]  # not of what still waits
        yield from self._read(text[:end], cuts, declared)
        if wrong is not None:
            raise self._error(wrong)
        self._origin += end
        self._line += _line_ends(text, end)
        self._parts = [text[end:]]
        self._marks = [mark for mark in self._marks if mark[1] >= self._origin]
        self._n = len(text) - end

    def _refuse(self, kind: str, depth: int, line: int) -> JellyError:
        if not self._announced:
            return JellySyntaxError(
                'MESSAGE is used in a document that does not announce it: expected VERSION "1.2-messages" at its '
                "beginning, or a media type with version=1.2-messages",
                line=line,
            )
        if kind == "bad":
            return JellySyntaxError("@message without a dot: expected '@message .'", line=line)
        return JellySyntaxError("a delimiter inside a graph block that is open", line=line)

    def _read(self, text: bytes, cuts: list[Cut], declared: list[tuple[int, str, str]]) -> Iterator[Batch]:
        inner = sum(inside > 0 for _, _, _, inside in cuts)
        if 0 < inner < len(cuts):
            yield from self._read_each(text, cuts, declared)
            return
        pieces, at = [], 0
        for begin, stop, _, inside in cuts:
            # pyoxigraph waits for the tag or datatype of a string. Where none comes, the statement is there already.
            ends = inside == 2 and not _TAG_OR_TYPE.match(text, stop)
            pieces.append(text[at:begin] + (_IS_STRING if ends else b""))
            at = stop
        pieces.append(text[at:])
        head = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in self._prefixes.items())
        marked = head.encode() + b"\n" + (b"#" + self._sentinel if inner else self._sentinel).join(pieces)
        broken: BrokenText | None = None
        try:
            nquads, prefixes, self._base = self._parser(
                marked, self._format, self._base, self._written, self._max, self._sentinel if inner else b""
            )
        except JellyLimitError as error:
            if not cuts or inner:
                raise self._error(error, self._line) from None
            yield from self._read_each(text, cuts, declared)
            return
        except self._broken as error:
            broken = error
            nquads, prefixes = error.before, dict(self._prefixes)
        if broken is not None:
            # The last message is not whole, and neither are those before it that end inside the statement that broke,
            # after the place where it did.
            parts = nquads.split(self._sentinel + b"\n")
            right = len(parts) - 1
            line = self._error(self._tell(broken, text, [] if inner else cuts)).line or 0
            lines = [self._line + _line_ends(text, begin) for begin, *_ in cuts]
            while right and cuts[right - 1][3] in (1, 2) and lines[right - 1] >= line:
                right -= 1
            nquads = b"".join([part + self._sentinel + b"\n" for part in parts[:right]])
        notes = [] if self._directive else [text[note:stop] for _, stop, note, _ in cuts if note < stop]
        if notes:
            notes = [text[note:stop].strip() for _, stop, note, _ in cuts]
        yield from self._push(nquads, notes, declared, prefixes)
        self._prefixes = prefixes
        if broken is not None:
            raise self._error(self._tell(broken, text, [] if inner else cuts))

    def _read_each(self, text: bytes, cuts: list[Cut], declared: list[tuple[int, str, str]]) -> Iterator[Batch]:
        """The same by parts that end between statements: where one is refused, those before it are given."""
        line, at, first = self._line, 0, 0
        for i, (begin, stop, note, inside) in enumerate([*cuts, (len(text), len(text), len(text), 0)]):
            if inside:
                continue
            names = [(number - first, name, iri) for number, name, iri in declared if first <= number <= i]
            self._line = line + _line_ends(text, at)
            # First the message, then its delimiter, which cannot be refused: it is not parsed, as no limit is for it.
            inner = [(a - at, b - at, c - at, d) for a, b, c, d in cuts[first:i]]
            yield from self._read(text[at:begin], inner, names)
            if i < len(cuts):
                notes = [] if self._directive or note >= stop else [text[note:stop].strip()]
                yield from self._push(self._sentinel + b"\n", notes, [], self._prefixes)
            at, first = stop, i + 1
        self._line = line

    def _push(
        self,
        nquads: bytes,
        notes: list[bytes],
        declared: list[tuple[int, str, str]],
        prefixes: dict[str, str],
    ) -> Iterator[Batch]:
        """Give the N-Quads of messages to the reader, delimiters for sentinels, and to their place the prefixes."""
        sentinel = self._sentinel + b"\n"
        known = dict(self._prefixes)
        new: list[tuple[int, str, str]] = []
        for number, name, iri in declared:
            if ":" not in iri or "\\" in iri:
                iri = prefixes.get(name, iri)  # relative, or with an escape: as the parser has it
            if known.get(name) != iri:
                known[name] = iri
                new.append((number, name, iri))
        delimiter = b"MESSAGE\n" if self._directive else b"# @message\n"
        if not new and not notes:
            yield from super().feed(nquads.replace(sentinel, delimiter))
            return
        messages = nquads.split(sentinel)
        new.append((len(messages), "", ""))
        waiting: list[bytes] = []
        for i, message in enumerate(messages):
            while new[0][0] <= i:
                yield from super().feed(b"".join(waiting))
                waiting = []
                self._reader.namespace(*new.pop(0)[1:])
            waiting.append(message)
            if i < len(messages) - 1:
                waiting.append(b"# @message %b\n" % notes[i] if notes else delimiter)
        yield from super().feed(b"".join(waiting))

    def _tell(self, broken: BrokenText, text: bytes, cuts: list[Cut]) -> JellyError:
        if broken.line is None:
            return JellySyntaxError(broken.reason, line=self._line)
        line = max(broken.line - 1, 1)  # without the head
        starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        lines = [bisect_right(starts, begin) for begin, *_ in cuts]
        reason = broken.reason
        if line in lines:
            reason = f"a delimiter inside a statement: {reason.replace(self._sentinel.decode(), '@message')}"
        elif not self._directive and _DIRECTIVE.match(text, starts[line - 1]):
            if self._comments:
                reason = 'comments delimit messages here, not MESSAGE: pass dialect="directive"'
            else:
                reason = (
                    'MESSAGE is used in a document that does not announce it: expected VERSION "1.2-messages" at its '
                    "beginning, or a media type with version=1.2-messages"
                )
        return JellySyntaxError(reason, line=self._line + line - 1)
