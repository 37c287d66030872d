"""Readers of logs whose messages are documents: NDJSON-LD, YAML-LD and RDF/XML."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Set
from typing import Any

from jelly._core.boundaries.xml import DocumentScanner
from jelly._core.boundaries.xml_text import TextJoiner
from jelly._formats.language_case import JSON_TAG
from jelly._formats.registry import JSON_LD, RDF_XML
from jelly.errors import JellyError, JellySyntaxError, JellyTruncatedError
from jelly.messages._documents import Contexts, check_depth, check_entities, load_json
from jelly.messages._logs import MESSAGE, MadeLog
from jelly.messages._nquads import Converter, respelled


class _Documents(MadeLog):
    """Logs whose messages are documents of their own."""

    _format = JSON_LD

    def __init__(self, *, max_message_bytes: int, base: str | None = None) -> None:
        super().__init__(max_message_bytes, quads=self._format.quads)
        self._converter = Converter(self._format, base, max_message_bytes)
        self.written = self._converter.written

    def _nquads(self, document: bytes) -> bytes:
        """The N-Quads of a document that begins on this line."""
        try:
            return self._converter.whole(document)
        except JellySyntaxError as error:
            if error.line is not None:
                error.line += self._line - 1
            raise


NO_CONTEXT = b"null"
# Bytes that the context of a message may take where each of its nodes gets it.
FREE_CONTEXTS = 1 << 16


class NdjsonLog(_Documents):
    """NDJSON-LD: a line is a message (section 2.2)."""

    def __init__(
        self, *, dialect: str | None, contexts: Any = None, strict: bool = False, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._contexts = Contexts(contexts)
        self._strict = strict
        self._context = NO_CONTEXT  # of the line that had a context alone
        self._graphs = {"@graph"}  # and what stands for @graph in it
        self._together: list[tuple[int, bytes]] = []  # lines and nodes of messages that have it
        iri = f"x{secrets.token_hex(12)}:end"
        self._end = f'{{"@id":"{iri}","{iri}":{{"@id":"{iri}"}}}}'.encode()
        self._sentinel = f"<{iri}> <{iri}> <{iri}> .\n".encode()
        self._directive = dialect != "comment"

    def _made(self, data: bytes, final: bool) -> Iterator[bytes]:
        lines: list[bytes] = []
        if b"\n" in data or final:
            *lines, data = self._take(data).split(b"\n")
            if final and data:
                lines.append(data)
        try:
            for line in lines:
                yield from self._one(line.removesuffix(b"\r"))
                self._line += 1
        except JellyError:
            yield from self._read_together()  # what waits stands before it, and so does an error in there
            raise
        yield from self._read_together()
        self._wait(data)

    def _one(self, line: bytes) -> Iterator[bytes]:
        """The N-Quads of the message of a line; or it waits to be read with others, whose N-Quads come then."""
        if not line.strip():
            if self._strict:
                raise JellySyntaxError("a blank line: expected a JSON object")
            return
        document = load_json(line)
        if not isinstance(document, (dict,) if self._strict else (dict, list)):
            raise JellySyntaxError(f"a line that is no JSON object: {line[:40]!r}")
        if self._directive and isinstance(document, dict) and document.keys() == {"@context"}:
            yield from self._read_together()
            context = self._contexts.keep(document["@context"])
            self._context, self._graphs = _to_json(context), _graphs_of(context)
        elif self._context != NO_CONTEXT:
            nodes = self._contexts.fill(document)
            if isinstance(nodes, dict):
                nodes = self._of_default_graph(nodes)
            self._together.append((self._line, _to_json(_listed(nodes))[1:-1]))
        else:
            if b"@context" in line or b"\\u" in line:
                line = _to_json(self._contexts.fill(document))
            yield self._nquads(line) + MESSAGE if document else MESSAGE

    def _of_default_graph(self, message: dict[str, Any]) -> Any:
        """The nodes of a message that has nothing but @graph, else the message: within a document with others @graph
        would name a graph (JSON-LD 1.1 API, section 5.1)."""
        if len(message) == 1 and (graphs := message.keys() & self._graphs):
            return message[graphs.pop()]
        if len(message) == 2 and "@context" in message:
            context = message["@context"]
            [graph] = message.keys() - {"@context"}
            if _is_graph(graph, context, self._graphs):
                nodes = message[graph]
                if len(_to_json(context)) * _to_json(nodes).count(b"{") > FREE_CONTEXTS:
                    return {"@context": context, "@included": nodes}  # where JSON-LD allows nodes only
                return _under(context, nodes)
        return message

    def _read_together(self) -> Iterator[bytes]:
        """The N-Quads of the waiting messages. All are read as one document: the context is the same for them, and is
        worked through once. The line of an error is the one of its message."""
        if not self._together:
            return
        line, groups = self._line, [self._together]
        self._together = []
        while groups:
            group = groups.pop()
            self._line = group[0][0]
            nodes = b",".join([part for _, text in group for part in (text, self._end) if part])
            document = b'{"@context":%b,"@graph":[%b]}' % (self._context, nodes)
            try:
                nquads = self._nquads(document)
            except JellyError:
                # Half by half, so that the context is not worked through for each message before the broken one.
                if (half := len(group) // 2) == 0:
                    raise
                groups += [group[half:], group[:half]]
                continue
            tags = set(JSON_TAG.findall(document))
            if len(tags) == len({tag.lower() for tag in tags}):  # nearly always: each has one spelling
                yield nquads.replace(self._sentinel, MESSAGE)
                continue
            around = _spellings(self._context, {})
            for (_, text), part in zip(group, nquads.split(self._sentinel), strict=False):
                yield respelled(part, _spellings(text, around).get) + MESSAGE
        self._line = line


def _listed(value: Any) -> list[Any]:
    """What JSON-LD takes as one or as a list of several, such as nodes and contexts."""
    return value if isinstance(value, list) else [value]


def _under(context: Any, nodes: Any) -> Any:
    """Nodes, each with a context around its own."""
    if isinstance(nodes, list):
        return [_under(context, node) for node in nodes]
    if isinstance(nodes, dict):
        return nodes | {"@context": _listed(context) + _listed(nodes.get("@context", []))}
    return nodes


def _names(part: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The terms of a context that stand for something, each with that."""
    for term, value in part.items():
        name = value.get("@id") if isinstance(value, dict) else value
        if isinstance(name, str):
            yield term, name


def _graphs_of(context: Any) -> set[str]:
    """What stands for @graph in a context: terms may stand for terms."""
    found = {"@graph"}
    for part in _listed(context):
        if not isinstance(part, dict):
            found = {"@graph"}  # null takes all away
            continue
        terms: dict[str, list[str]] = {}
        for term, name in _names(part):
            terms.setdefault(name, []).append(term)
        found = found - part.keys() | {"@graph"}
        new = list(found)
        while new:
            more = [term for term in terms.pop(new.pop(), ()) if term not in found]
            found.update(more)
            new += more
    return found


def _is_graph(term: str, context: Any, graphs: Set[str]) -> bool:
    """Whether a term stands for @graph in the context of a message, around which ``graphs`` do."""
    for part in reversed(_listed(context)):
        if not isinstance(part, dict):
            return term == "@graph"
        names, seen = dict(_names(part)), set[str]()
        while term in part and term not in seen:
            seen.add(term)
            term = names.get(term, "")
    return term in graphs


def _spellings(text: bytes, around: Mapping[str, str]) -> dict[str, str]:
    """The language tags of a JSON text, by their small letters: as it spells them, or in small letters where it, or
    the text ``around`` it, has two spellings (see `JsonMarks`)."""
    found: dict[str, str] = {}
    for tag in map(bytes.decode, set(JSON_TAG.findall(text))):
        low = tag.lower()
        if found.setdefault(low, around.get(low, tag)) != tag:
            found[low] = low
    return found


def _to_json(value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise JellySyntaxError("a number is too large: JSON-LD has no infinity") from None
    return text.encode("utf-8", "surrogatepass")


# The end of a document of YAML: after a line that ends it, or before one that begins another (YAML 1.2.2, 9.1.2).
_END = re.compile(rb"^(?=(?:---|\.\.\.)[ \t\r\n])(?:\.\.\.)?", re.M)
# Such a line in the last bytes of a chunk and the next one; after the byte order mark too.
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
        if final or _NEW_MARKER.search(head):
            data, begin = self._take(data), 0
            for end in [*(match.end() for match in _END.finditer(data)), *[len(data)] * final]:
                if end < begin or not _DOCUMENT_LINE.search(text := data[begin:end]):
                    continue  # directives belong to the document that begins here
                yield from map(self._one, self._load(text, self._line))
                self._line += text.count(b"\n")
                begin = end
                if empty := _EMPTY_DOCUMENTS.match(data, begin):
                    n = empty[0].count(b"\n")
                    yield MESSAGE * n
                    self._line += n
                    begin = empty.end()
            data = data[begin:]
        self._wait(data)

    def _one(self, document: Any) -> bytes:
        if document in (None, {}, []):
            return MESSAGE
        if not isinstance(document, dict | list):
            raise JellySyntaxError(f"a document that is neither a mapping nor a sequence: {document!r:.40}")
        check_depth(document)
        return self._nquads(_to_json(self._contexts.fill(document))) + MESSAGE


class XmlLog(_Documents):
    """RDF/XML: documents follow each other, each on a new line (section 2.4)."""

    _format = RDF_XML

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._scanner = DocumentScanner()
        self._origin = 0  # the offset of what waits

    def _made(self, data: bytes, final: bool) -> Iterator[bytes]:
        found = self._scanner.feed(data)
        text = self._take(data) if found else data
        at = seen = 0
        for what, end in found:
            end -= self._origin
            if what == "stray":
                self._line += text.count(b"\n", at, end)
                raise JellySyntaxError("expected an XML document on a new line, or nothing, after the one before")
            if what == "doctype":
                check_entities(text[seen:end])
            else:
                document = self._begun(text[at:end])
                yield self._nquads(TextJoiner().feed(document)) + MESSAGE
                self._line += document.count(b"\n")
                at = end
            seen = end
        self._origin += at
        self._wait(text[at:])
        if final and self._scanner.begun:
            self._begun(self._take())
            raise JellyTruncatedError("the input ends inside the XML document that begins here")

    def _begun(self, text: bytes) -> bytes:
        """The text without the blank lines before it, which are counted."""
        begun = text.lstrip()
        self._line += text.count(b"\n", 0, len(text) - len(begun))
        return begun
