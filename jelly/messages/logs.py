"""Readers of logs: bytes are fed, Batches come whose frames are messages, whole ones. No I/O.

Whatever is not Jelly becomes N-Quads with delimiters and goes through one `TextReader`, which knows the rules of
delimiters, so that these stand in one place.
"""

from __future__ import annotations

import json
import re
import secrets
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from jelly.core.batch import Batch
from jelly.core.decoder import Decoder
from jelly.core.lexer import Lexer
from jelly.core.markup import DocumentScanner
from jelly.core.scope import drop_open_frame
from jelly.core.text import TextReader
from jelly.errors import JellyError, JellyLimitError, JellyOptionsError, JellySyntaxError, JellyTruncatedError
from jelly.formats import JSON_LD, RDF_XML, TRIG, TURTLE
from jelly.messages.documents import Contexts, check_depth, check_entities, load_json
from jelly.options import LogicalType

if TYPE_CHECKING:
    from jelly.messages.nquads import BrokenText

__all__ = ["JellyLog", "Log", "NdjsonLog", "TextLog", "TurtleLog", "XmlLog", "YamlLog"]

# A Batch that only the end of a chunk ends.
NO_LIMIT = 1 << 40

BOM = b"\xef\xbb\xbf"


class Log(Protocol):
    """What reads a log. An error names the message, from 0; all Batches before it were given."""

    def feed(self, data: Any) -> Iterator[Batch]:
        """The messages that end in the next chunk of bytes."""

    def close(self) -> Iterator[Batch]:
        """The messages that the end of the input ends."""


class JellyLog:
    """Jelly: a frame is a message, empty ones included (RDF Messages, section 2.5)."""

    def __init__(self, *, force: bool, **limits: Any) -> None:
        self._decoder = Decoder(batch_rows=NO_LIMIT, batch_bytes=NO_LIMIT, **limits)
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
            while (batch := self._decoder.pull(True)) is not None:
                self._check()
                # Rows behind the last frame are there only where the next one is broken.
                if len(batch.frames):
                    yield drop_open_frame(batch)
        except JellyError as error:
            error.message = error.frame
            raise
        self._check()

    def _check(self) -> None:
        options = self._decoder.options
        if options is None or self._checked:
            return
        self._checked = True
        kind = options.logical_type
        if kind.base in (LogicalType.FLAT_TRIPLES, LogicalType.FLAT_QUADS) and not self._force:
            raise JellyOptionsError(
                f"the logical type is {kind.name}: its frames are no messages; force=True reads them as such", message=0
            )


class TextLog:
    """N-Triples and N-Quads, straight from the core."""

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


# The place of a delimiter in a text: its beginning, its end, and between them where its note begins.
Cut = tuple[int, int, int]


class TurtleLog(TextLog):
    """Turtle and TriG. The lexer finds the delimiters; a statement of random IRIs takes the place of each, so that one
    parser reads many messages. In an unfinished statement it is a syntax error, as a delimiter there has to be.
    """

    def __init__(
        self,
        *,
        format: str,
        dialect: str | None,
        announced: bool,
        trailing: Any,
        base: str | None,
        max_message_bytes: int,
    ) -> None:
        self._directive = dialect != "comment"
        self._announced = announced or not self._directive
        # A document that is no log has MESSAGE for what it is, a syntax error.
        super().__init__(
            quads=format == "trig",
            messages="directive" if self._directive else "comment",
            announced=True,
            trailing=trailing,
            max_message_bytes=NO_LIMIT,
        )
        from jelly.messages.nquads import BrokenText, to_nquads

        self._broken, self._parser = BrokenText, to_nquads
        self._format = TRIG if format == "trig" else TURTLE
        self._lexer = Lexer(directive=self._directive)
        self._base = base
        self._prefixes: dict[str, str] = {}
        self._max = max_message_bytes
        self._parts: list[bytes] = []
        self._marks: list[tuple[str, int, int, int, int]] = []
        self._n = 0  # bytes that wait in the parts
        self._origin = 0  # the offset of the first of them in the input
        self._line = 1  # its line
        iri = f"<x:{secrets.token_hex(12)}>"
        self._sentinel = f"{iri} {iri} {iri} .".encode()
        self._begun = False

    def feed(self, data: Any) -> Iterator[Batch]:
        return self._feed(bytes(data), False)

    def close(self) -> Iterator[Batch]:
        yield from self._feed(b"", True)
        yield from super().close()

    def _feed(self, data: bytes, final: bool) -> Iterator[Batch]:
        if not self._begun:
            # A byte order mark may come in pieces.
            data = b"".join([*self._parts, data])
            if len(data) < len(BOM) and not final and BOM.startswith(data):
                self._parts = [data]
                return
            self._parts = []
            data = data.removeprefix(BOM)
            self._begun = True
        self._parts.append(data)
        self._n += len(data)
        marks = self._lexer.feed(data, final)
        self._marks += marks
        if final or any(mark[0] in ("message", "bad") for mark in marks):
            yield from self._parse(final)
        if self._n > self._max:
            reason = f"a message is longer than {self._max} bytes; raise max_message_bytes to read it"
            raise self._error(JellyLimitError(reason, line=self._line))

    def _parse(self, final: bool) -> Iterator[Batch]:
        """Read what waits, up to its last delimiter; to its end if that is final."""
        text = b"".join(self._parts)
        origin = self._origin
        wrong: JellyError | None = None
        cuts: list[Cut] = []
        declared: list[tuple[int, str, str]] = []  # of the message with this number in the text, name, IRI
        for kind, begin, stop, note, depth in self._marks:
            if kind == "prefix":
                if (match := _PREFIX.match(text, begin - origin)) is not None:
                    declared.append((len(cuts), match[1].decode(errors="replace"), match[2].decode(errors="replace")))
            elif kind == "version":
                match = _VERSION.match(text, begin - origin)
                self._announced |= match is not None and (match[1] or match[2] or b"").endswith(b"-messages")
            elif kind == "bad" or depth or not self._announced:
                wrong = self._refuse(kind, depth, self._line + text.count(b"\n", 0, begin - origin))
                break
            else:
                cuts.append((begin - origin, stop - origin, note - origin))
        end = len(text) if final and wrong is None else cuts[-1][1] if cuts else 0
        if not final or wrong is not None:
            declared = [each for each in declared if each[0] < len(cuts)]  # not of what still waits
        yield from self._read(text[:end], cuts, declared)
        if wrong is not None:
            raise self._error(wrong)
        self._origin += end
        self._line += text.count(b"\n", 0, end)
        self._parts = [text[end:]]
        self._n = len(text) - end
        self._marks = [mark for mark in self._marks if mark[1] >= self._origin]

    def _refuse(self, kind: str, depth: int, line: int) -> JellyError:
        if not self._announced:
            return JellySyntaxError(
                'MESSAGE stands in a document that does not announce it: expected VERSION "1.2-messages" before',
                line=line,
            )
        if kind == "bad":
            return JellySyntaxError("@message without a dot: expected '@message .'", line=line)
        return JellySyntaxError("a delimiter inside a graph block that is open", line=line)

    def _read(self, text: bytes, cuts: list[Cut], declared: list[tuple[int, str, str]]) -> Iterator[Batch]:
        pieces, at = [], 0
        for begin, stop, _ in cuts:
            pieces.append(text[at:begin])
            at = stop
        pieces.append(text[at:])
        head = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in self._prefixes.items())
        marked = head.encode() + b"\n" + self._sentinel.join(pieces)
        broken: BrokenText | None = None
        try:
            nquads, prefixes, self._base = self._parser(marked, self._format, self._base, self._max)
        except JellyLimitError as error:
            if not cuts:
                raise self._error(error, self._line) from None
            yield from self._read_each(text, cuts, declared)
            return
        except self._broken as error:
            broken = error
            nquads, prefixes = error.before, dict(self._prefixes)
        if broken is not None:
            nquads = nquads[: nquads.rfind(self._sentinel) + len(self._sentinel) + 1]  # the last message is not whole
            if self._sentinel not in nquads:
                nquads = b""
        notes = [] if self._directive else [text[note:stop] for _, stop, note in cuts if note < stop]
        if notes:
            notes = [text[note:stop].strip() for _, stop, note in cuts]
        yield from self._push(nquads, notes, declared, prefixes)
        self._prefixes = prefixes
        if broken is not None:
            raise self._error(self._tell(broken, text, cuts))

    def _read_each(self, text: bytes, cuts: list[Cut], declared: list[tuple[int, str, str]]) -> Iterator[Batch]:
        """The same message by message, where one of them is refused: those before it are given."""
        line, at = self._line, 0
        for i, (begin, stop, note) in enumerate([*cuts, (len(text), len(text), len(text))]):
            names = [(0, name, iri) for number, name, iri in declared if number == i]
            self._line = line + text.count(b"\n", 0, at)
            # First the message, then its delimiter, which cannot be refused.
            yield from self._read(text[at:begin], [], names)
            if i < len(cuts):
                yield from self._read(text[begin:stop], [(0, stop - begin, note - begin)], [])
            at = stop
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
        ends = [match.start() for match in re.finditer(b"\n", text)]
        lines = [bisect_left(ends, begin) + 1 for begin, _, _ in cuts]
        reason = broken.reason
        if line in lines:
            reason = f"a delimiter inside a statement: {reason.replace(self._sentinel.decode(), '@message')}"
        return JellySyntaxError(reason, line=self._line + line - 1)


class _Documents(TextLog):
    """Logs whose messages are documents of their own."""

    format = JSON_LD

    def __init__(self, *, base: str | None, max_message_bytes: int) -> None:
        from jelly.messages.nquads import BrokenText, to_nquads

        self._broken, self._parser = BrokenText, to_nquads
        super().__init__(quads=self.format.quads, messages="directive", announced=True, max_message_bytes=NO_LIMIT)
        self._base = base
        self._max = max_message_bytes
        self._rest: list[bytes] = []
        self._n = 0
        self._line = 1

    def _take(self, data: bytes = b"") -> bytes:
        """What waits and the next chunk."""
        text = b"".join([*self._rest, data])
        self._rest = []
        self._n = 0
        return text.removeprefix(BOM) if self._line == 1 and self._reader.messages == 0 else text

    def _keep(self, rest: bytes) -> None:
        """Let something wait. What is long comes in many chunks, so these are not joined each time."""
        self._rest.append(rest)
        self._n += len(rest)
        if self._n > self._max:
            reason = f"a message is longer than {self._max} bytes; raise max_message_bytes to read it"
            raise self._error(JellyLimitError(reason, line=self._line))

    def _nquads(self, document: bytes) -> bytes:
        """The N-Quads of a document, with their end."""
        try:
            return self._parser(document, self.format, self._base, self._max)[0] + b"MESSAGE\n"
        except self._broken as error:
            line = None if error.line is None else self._line + error.line - 1
            raise JellySyntaxError(error.reason, line=line) from None


class NdjsonLog(_Documents):
    """NDJSON-LD: a line is a message (section 2.2)."""

    def __init__(self, *, contexts: Any, strict: bool, dialect: str | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._contexts = Contexts(contexts)
        self._strict = strict
        self._active: Any = None  # of the line that had a context alone
        self._directive = dialect == "directive"

    def feed(self, data: Any) -> Iterator[Batch]:
        data = bytes(data)
        if b"\n" in data:
            *lines, data = self._take(data).split(b"\n")
            yield from self._lines(lines)
        self._keep(data)

    def close(self) -> Iterator[Batch]:
        last = self._take()
        if last:
            yield from self._lines([last])
        yield from super().close()

    def _lines(self, lines: list[bytes]) -> Iterator[Batch]:
        done: list[bytes] = []
        for line in lines:
            try:
                if found := self._one(line.removesuffix(b"\r")):
                    done.append(found)
            except JellyError as error:
                yield from TextLog.feed(self, b"".join(done))
                raise self._error(error, self._line) from None
            self._line += 1
        yield from TextLog.feed(self, b"".join(done))

    def _one(self, line: bytes) -> bytes:
        if not line.strip():
            if self._strict:
                raise JellySyntaxError("a blank line: expected a JSON object")
            return b""
        document = load_json(line)
        if not isinstance(document, dict) and (self._strict or not isinstance(document, list)):
            raise JellySyntaxError(f"a line that is no JSON object: {line[:40]!r}")
        if self._directive and isinstance(document, dict) and document.keys() == {"@context"}:
            self._active = self._contexts.fill(document)["@context"]
            return b""
        if b"@context" in line or b"\\u" in line or self._active is not None:
            document = self._contexts.fill(document)
            if self._active is not None and document:
                document = {"@context": self._active, "@graph": document}
            line = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return self._nquads(line) if document else b"MESSAGE\n"


# A line that ends a document of YAML, or begins one, wherever it stands (YAML 1.2.2, section 9.1.2).
_MARKER = re.compile(rb"^(---|\.\.\.)(?=[ \t\r\n])", re.M)
# The same in the last bytes of a chunk and the next one; behind the byte order mark too.
_NEW_MARKER = re.compile(rb"\n(?:\xef\xbb\xbf)?(?:---|\.\.\.)[ \t\r\n]")
_LONGEST_MARKER = 8
# A line that is neither blank nor a comment nor a directive. CRLF may count as two line ends, where that says the same.
_DOCUMENT_LINE = re.compile(rb"(?:\A|[\r\n])(?:[ \t]*[^ \t\r\n#%]|[ \t]+%)")


class YamlLog(_Documents):
    """YAML-LD: a document of the stream is a message (section 2.3)."""

    def __init__(self, *, contexts: Any, **settings: Any) -> None:
        from jelly.yamls import load_documents

        super().__init__(**settings)
        self._contexts = Contexts(contexts)
        self._load = load_documents
        self._tail = b"\n"

    def feed(self, data: Any) -> Iterator[Batch]:
        data = bytes(data)
        # A marker may have come in pieces. What waits is looked through only where one has come: twice at most.
        head = self._tail + data
        self._tail = head[1 - _LONGEST_MARKER :]
        cut = 0
        if _NEW_MARKER.search(head):
            text = self._take(data)
            for match in _MARKER.finditer(text):
                end = match.start() if match[1] == b"---" else match.end()
                if match[1] == b"---" and not _DOCUMENT_LINE.search(text[cut:end]):
                    continue  # directives belong to the document that begins here
                yield from self._documents(text[cut:end])
                cut = end
            data = text[cut:]
        self._keep(data)

    def close(self) -> Iterator[Batch]:
        yield from self._documents(self._take())
        yield from super().close()

    def _documents(self, text: bytes) -> Iterator[Batch]:
        if _DOCUMENT_LINE.search(text):
            try:
                for document in self._load(text, self._line):
                    yield from TextLog.feed(self, self._one(document))
            except JellyError as error:
                raise self._error(error, self._line) from None
        self._line += text.count(b"\n")

    def _one(self, document: Any) -> bytes:
        if document is None or document == {} or document == []:
            return b"MESSAGE\n"
        if not isinstance(document, dict | list):
            raise JellySyntaxError(f"a document that is neither a mapping nor a sequence: {document!r:.40}")
        check_depth(document)
        document = self._contexts.fill(document)
        return self._nquads(json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass"))


class XmlLog(_Documents):
    """RDF/XML: documents follow each other, each on a new line (section 2.4)."""

    format = RDF_XML

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._scanner = DocumentScanner()
        self._origin = 0  # the offset of what waits
        self._begun = False
        self._doctype = 0

    def feed(self, data: Any) -> Iterator[Batch]:
        data = bytes(data)
        if not self._begun:
            data = b"".join([*self._rest, data])
            self._rest = []
            if len(data) < len(BOM) and BOM.startswith(data):
                self._rest = [data]
                return
            data = data.removeprefix(BOM)
            self._begun = True
        found = self._scanner.feed(data)
        if not found:
            self._keep(data)
            return
        text = b"".join([*self._rest, data])
        self._rest = []
        self._n = 0
        done: list[bytes] = []
        at = 0
        try:
            for what, end in found:
                end -= self._origin
                if what == "stray":
                    self._line += text.count(b"\n", at, end)
                    raise JellySyntaxError("expected an XML document on a new line, or nothing, behind the one before")
                if what == "doctype":
                    self._doctype = end
                    continue
                document = text[at:end]
                if self._doctype:
                    check_entities(document, self._doctype - at)
                    self._doctype = 0
                blank = len(document) - len(document.lstrip())
                self._line += document.count(b"\n", 0, blank)
                done.append(self._nquads(document[blank:]))
                self._line += document.count(b"\n", blank)
                at = end
        except JellyError as error:
            yield from super().feed(b"".join(done))
            raise self._error(error, self._line) from None
        yield from super().feed(b"".join(done))
        self._origin += at
        self._doctype = max(0, self._doctype - at)
        self._keep(text[at:])

    def close(self) -> Iterator[Batch]:
        if self._rest and not self._begun:
            self._begun = True
            yield from self.feed(b"")
        if self._scanner.begun:
            rest = b"".join(self._rest)
            line = self._line + rest.count(b"\n", 0, len(rest) - len(rest.lstrip()))
            raise self._error(JellyTruncatedError("the input ends inside the XML document that begins here"), line)
        yield from super().close()
