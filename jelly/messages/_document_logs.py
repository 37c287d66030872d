"""Readers of logs whose messages are documents: NDJSON-LD, YAML-LD and RDF/XML."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any

from jelly._core.boundaries.xml import DocumentScanner
from jelly._formats.language_case import JSON_TAG
from jelly._formats.registry import JSON_LD, RDF_XML
from jelly.errors import JellyError, JellySyntaxError, JellyTruncatedError
from jelly.messages._documents import Contexts, check_depth, check_entities, load_json
from jelly.messages._logs import MESSAGE, MadeLog
from jelly.messages._nquads import BrokenText, Converter


class _Documents(MadeLog):
    """Logs whose messages are documents of their own."""

    _format = JSON_LD

    def __init__(self, *, max_message_bytes: int, base: str | None = None) -> None:
        super().__init__(max_message_bytes, quads=self._format.quads)
        self._converter = Converter(self._format, base, max_message_bytes)
        self.written = self._converter.written

    def _nquads(self, document: bytes) -> bytes:
        """The N-Quads of a document, with a delimiter."""
        try:
            return self._converter.whole(document) + MESSAGE
        except BrokenText as error:
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

    def _made(self, data: bytes, final: bool) -> Iterator[bytes]:
        if b"\n" in data or final:
            *lines, data = self._take(data).split(b"\n")
            yield from self._lines([*lines, data] if final and data else lines)
        self._wait(data)

    def _lines(self, lines: list[bytes]) -> Iterator[bytes]:
        try:
            for line in lines:
                yield from self._one(line.removesuffix(b"\r"))
                self._line += 1
        except JellyError:
            line_of_error = self._line
            yield from self._read_together()  # what waits stands before it, and so does an error in there
            self._line = line_of_error
            raise
        yield from self._read_together()

    def _one(self, line: bytes) -> Iterator[bytes]:
        """The N-Quads of the message of a line; or it waits to be read with others, whose N-Quads come then."""
        if not line.strip():
            if self._strict:
                raise JellySyntaxError("a blank line: expected a JSON object")
            return
        document = load_json(line)
        if not isinstance(document, dict) and (self._strict or not isinstance(document, list)):
            raise JellySyntaxError(f"a line that is no JSON object: {line[:40]!r}")
        if self._directive and isinstance(document, dict) and document.keys() == {"@context"}:
            yield from self._read_together()
            self._active = self._contexts.fill(document)["@context"]
            self._context = _to_json(self._active)
        elif self._active is not None:
            nodes = self._contexts.fill(document)
            text = _to_json(nodes)[1:-1] if isinstance(nodes, list) else _to_json(nodes) if nodes else b""
            yield from self._add_together(text)
        else:
            if b"@context" in line or b"\\u" in line:
                line = _to_json(self._contexts.fill(document))
            yield self._nquads(line) if document else MESSAGE

    def _add_together(self, nodes: bytes) -> Iterator[bytes]:
        """Let the nodes of a message wait. All that wait are read as one document: the context is the same for them,
        and is worked through once. Language tags that they spell in different ways are read apart, as long as this is a
        small part of the work (see `JsonMarks`)."""
        tags: dict[bytes, bytes] = {}
        for tag in set(JSON_TAG.findall(nodes)):
            tags[tag.lower()] = b"" if tag.lower() in tags else tag
        mixed = any(self._tags.get(low, tag) != tag or not tag for low, tag in tags.items())
        if mixed and self._spent < self._earned:
            yield from self._read_together()
        self._tags |= tags
        self._together.append((self._line, nodes))
        self._earned += TOGETHER_FACTOR * len(nodes)

    def _read_together(self) -> Iterator[bytes]:
        """The N-Quads of the waiting messages. The line of an error is the one of its message."""
        together, line = self._together, self._line
        self._together, self._tags = [], {}
        self._spent += len(self._context)
        if together:
            yield from self._read_parts(together)
        self._line = line

    def _read_parts(self, together: list[tuple[int, bytes]]) -> Iterator[bytes]:
        nodes = b",".join([part for _, node in together for part in (node, self._end) if part])
        self._line = together[0][0]
        try:
            found = self._converter.whole(b'{"@context":%b,"@graph":[%b]}' % (self._context, nodes))
        except (BrokenText, JellyError) as error:
            if len(together) == 1:
                raise JellySyntaxError(error.reason) if isinstance(error, BrokenText) else error from None
        else:
            yield found.replace(self._sentinel, MESSAGE)
            return
        # Half by half, so that the context is not worked through for each message before the one that is broken.
        half = len(together) // 2
        yield from self._read_parts(together[:half])
        yield from self._read_parts(together[half:])


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
        from jelly._tools.yaml import load_documents  # which needs PyYAML

        super().__init__(**settings)
        self._load = load_documents
        self._contexts = Contexts(contexts)
        self._tail = b"\n"

    def _made(self, data: bytes, final: bool) -> Iterator[bytes]:
        # A marker may have come in pieces. What waits is looked through only where one has come: twice at most.
        head = self._tail + data
        self._tail = head[1 - _LONGEST_MARKER :]
        if _NEW_MARKER.search(head):
            text = self._take(data)
            cut = 0
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
                    yield MESSAGE * n
                    self._line += n
                    cut = empty.end()
            data = text[cut:]
        self._wait(data)
        if final:
            yield from self._documents(self._take())

    def _documents(self, text: bytes) -> Iterator[bytes]:
        if _DOCUMENT_LINE.search(text):
            yield from map(self._one, self._load(text, self._line))
        self._line += text.count(b"\n")

    def _one(self, document: Any) -> bytes:
        if document is None or document == {} or document == []:
            return MESSAGE
        if not isinstance(document, dict | list):
            raise JellySyntaxError(f"a document that is neither a mapping nor a sequence: {document!r:.40}")
        check_depth(document)
        document = self._contexts.fill(document)
        return self._nquads(_to_json(document))


class XmlLog(_Documents):
    """RDF/XML: documents follow each other, each on a new line (section 2.4)."""

    _format = RDF_XML

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._scanner = DocumentScanner()
        self._origin = 0  # the offset of what waits
        self._doctype = 0  # where one ends in what waits

    def _made(self, data: bytes, final: bool) -> Iterator[bytes]:
        found = self._scanner.feed(data)
        if not found:
            self._wait(data)
        else:
            yield from self._documents(self._take(data), found)
        if final and self._scanner.begun:
            rest = self._take()
            self._line += rest.count(b"\n", 0, len(rest) - len(rest.lstrip()))
            raise JellyTruncatedError("the input ends inside the XML document that begins here")

    def _documents(self, text: bytes, found: list[tuple[str, int]]) -> Iterator[bytes]:
        at = 0
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
            yield self._nquads(document[blank:])
            self._line += document.count(b"\n", blank)
            at = end
        self._origin += at
        self._doctype = max(0, self._doctype - at)
        self._wait(text[at:])
