"""Readers of logs whose messages are documents: NDJSON-LD, YAML-LD and RDF/XML."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.boundaries.xml import DocumentScanner
from jelly._formats.language_case import JSON_TAG, Written
from jelly._formats.registry import JSON_LD, RDF_XML
from jelly.errors import JellyError, JellyLimitError, JellySyntaxError, JellyTruncatedError
from jelly.messages._documents import Contexts, check_depth, check_entities, load_json
from jelly.messages._logs import BOM, NO_LIMIT, TextLog

__all__ = ["NdjsonLog", "XmlLog", "YamlLog"]


# Bytes of N-Quads that are made into a Batch together.
PIECE = 1 << 22


class _Documents(TextLog):
    """Logs whose messages are documents of their own."""

    format = JSON_LD

    def __init__(self, *, max_message_bytes: int, base: str | None = None) -> None:
        from jelly.messages._nquads import BrokenText, to_nquads

        self._broken, self._parser = BrokenText, to_nquads
        super().__init__(quads=self.format.quads, messages="directive", announced=True, max_message_bytes=NO_LIMIT)
        self.written = self._written = Written(xml=self.format is RDF_XML)
        self._base = base
        self._max = max_message_bytes
        self._rest: list[bytes] = []
        self._n = 0
        self._line = 1

    def _take(self, data: bytes = b"") -> bytes:
        """The waiting text and the next chunk."""
        text = b"".join([*self._rest, data])
        self._rest = []
        self._n = 0
        return text.removeprefix(BOM) if self._line == 1 and self._reader.messages == 0 else text

    def _keep(self, rest: bytes) -> None:
        """Let text wait. A long one comes in many chunks, which are not joined each time."""
        self._rest.append(rest)
        self._n += len(rest)
        if self._n > self._max:
            reason = f"a message is longer than {self._max} bytes; raise max_message_bytes to read it"
            raise self._error(JellyLimitError(reason, line=self._line))

    def _read_nquads(self, done: list[bytes]) -> Iterator[Batch]:
        """The Batches of N-Quads. Prefixes may make them long, so that they are read in pieces."""
        text = b"".join(done)
        done.clear()
        for at in range(0, len(text), PIECE):
            yield from TextLog.feed(self, text[at : at + PIECE])

    def _nquads(self, document: bytes) -> bytes:
        """The N-Quads of a document, with a delimiter."""
        try:
            return self._parser(document, self.format, self._base, self._written, self._max)[0] + b"MESSAGE\n"
        except self._broken as error:
            line = None if error.line is None else self._line + error.line - 1
            raise JellySyntaxError(error.reason, line=line) from None


# Bytes of the context of a line that may be worked through again, at first and for each byte of messages.
TOGETHER = 1 << 22
TOGETHER_FACTOR = 128


class NdjsonLog(_Documents):
    """NDJSON-LD: a line is a message (section 2.2)."""

    def __init__(
        self, *, dialect: str | None, contexts: Any = None, strict: bool = False, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._contexts = Contexts(contexts)
        self._strict = strict
        self._active: Any = None  # of the line that had a context alone
        self._context = b""
        self._together: list[tuple[int, bytes]] = []  # lines and nodes of messages that have it
        self._tags: dict[bytes, bytes] = {}
        # Bytes of contexts worked through, and how many may be before spellings of tags are not looked at.
        self._spent, self._earned = 0, TOGETHER
        iri = f"x{secrets.token_hex(12)}:end"
        self._end = f'{{"@id":"{iri}","{iri}":{{"@id":"{iri}"}}}}'.encode()
        self._sentinel = f"<{iri}> <{iri}> <{iri}> .\n".encode()
        self._directive = dialect != "comment"

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
        try:
            for line in lines:
                self._one(line.removesuffix(b"\r"), done)
                self._line += 1
            self._read_together(done)
        except JellyError as error:
            broken, place = error, self._line
            try:
                self._read_together(done)  # what waits stands before it
            except JellyError as earlier:
                broken, place = earlier, self._line
            yield from self._read_nquads(done)
            raise self._error(broken, place) from None
        yield from self._read_nquads(done)

    def _one(self, line: bytes, done: list[bytes]) -> None:
        """Read the message of a line: its N-Quads are appended to ``done``, or it waits to be read with others."""
        if not line.strip():
            if self._strict:
                raise JellySyntaxError("a blank line: expected a JSON object")
            return
        document = load_json(line)
        if not isinstance(document, dict) and (self._strict or not isinstance(document, list)):
            raise JellySyntaxError(f"a line that is no JSON object: {line[:40]!r}")
        if self._directive and isinstance(document, dict) and document.keys() == {"@context"}:
            self._read_together(done)
            self._active = self._contexts.fill(document)["@context"]
            self._context = _to_json(self._active)
            return
        if self._active is not None:
            nodes = self._contexts.fill(document)
            self._wait(_to_json(nodes)[1:-1] if isinstance(nodes, list) else _to_json(nodes) if nodes else b"", done)
            return
        if b"@context" in line or b"\\u" in line:
            line = _to_json(self._contexts.fill(document))
        done.append(self._nquads(line) if document else b"MESSAGE\n")

    def _wait(self, nodes: bytes, done: list[bytes]) -> None:
        """Let the nodes of a message wait. All that wait are read as one document: the context is the same for them,
        and is worked through once. Language tags that they spell in different ways are read apart, as long as this is a
        small part of the work (see `JsonMarks`)."""
        tags: dict[bytes, bytes] = {}
        for tag in set(JSON_TAG.findall(nodes)):
            tags[tag.lower()] = b"" if tag.lower() in tags else tag
        mixed = any(self._tags.get(low, tag) != tag or not tag for low, tag in tags.items())
        if mixed and self._spent < self._earned:
            self._read_together(done)
        self._tags |= tags
        self._together.append((self._line, nodes))
        self._earned += TOGETHER_FACTOR * len(nodes)

    def _read_together(self, done: list[bytes]) -> None:
        """Read the waiting messages. The line of an error is the one of its message."""
        waiting, line = self._together, self._line
        self._together, self._tags = [], {}
        self._spent += len(self._context)
        if waiting:
            self._read(waiting, done)
        self._line = line

    def _read(self, waiting: list[tuple[int, bytes]], done: list[bytes]) -> None:
        nodes = b",".join([part for _, node in waiting for part in (node, self._end) if part])
        text = b'{"@context":%b,"@graph":[%b]}' % (self._context, nodes)
        try:
            found = self._parser(text, self.format, self._base, self._written, self._max)[0]
            done.append(found.replace(self._sentinel, b"MESSAGE\n"))
        except (self._broken, JellyError) as error:
            if len(waiting) == 1:
                self._line = waiting[0][0]
                if isinstance(error, JellyError):
                    raise
                raise JellySyntaxError(error.reason, line=self._line) from None
            # Half by half, so that the context is not worked through for each message before the one that is broken.
            half = len(waiting) // 2
            self._read(waiting[:half], done)
            self._read(waiting[half:], done)


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


# A line that ends a document of YAML, or begins one, wherever it stands (YAML 1.2.2, section 9.1.2).
_MARKER = re.compile(rb"^(---|\.\.\.)(?=[ \t\r\n])", re.M)
# The same in the last bytes of a chunk and the next one; after the byte order mark too.
_NEW_MARKER = re.compile(rb"\n(?:\xef\xbb\xbf)?(?:---|\.\.\.)[ \t\r\n]")
_LONGEST_MARKER = 8
# A line that is neither blank nor a comment nor a directive. CRLF may count as two line ends, where that says the same.
_DOCUMENT_LINE = re.compile(rb"(?:\A|[\r\n])(?:[ \t]*[^ \t\r\n#%]|[ \t]+%)")
# Documents without content, with the marker of the one that follows.
_EMPTY_DOCUMENTS = re.compile(rb"(?:---[ \t]*\r?\n){2,}(?=---[ \t\r\n])")


class YamlLog(_Documents):
    """YAML-LD: a document of the stream is a message (section 2.3)."""

    def __init__(self, *, contexts: Any = None, **settings: Any) -> None:
        from jelly._tools.yaml import load_documents

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
                if end < cut:
                    continue
                if match[1] == b"---" and not _DOCUMENT_LINE.search(text[cut:end]):
                    continue  # directives belong to the document that begins here
                yield from self._documents(text[cut:end])
                cut = end
                if empty := _EMPTY_DOCUMENTS.match(text, cut):
                    n = empty[0].count(b"\n")
                    yield from TextLog.feed(self, b"MESSAGE\n" * n)
                    self._line += n
                    cut = empty.end()
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
        return self._nquads(_to_json(document))


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
                    raise JellySyntaxError("expected an XML document on a new line, or nothing, after the one before")
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
            yield from self._read_nquads(done)
            raise self._error(error, self._line) from None
        yield from self._read_nquads(done)
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
