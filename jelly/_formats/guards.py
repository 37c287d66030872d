"""Rejects input that would crash the process, exhaust the memory or take too long, before pyoxigraph parses it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from jelly._core.boundaries.json import JsonScanner
from jelly._core.boundaries.turtle import Lexer
from jelly.errors import JellyLimitError, JellyUnsupportedError

# Maximum nesting of triple terms: pyoxigraph uses the stack for them and ends the process if it overflows, which
# happened at 1000 levels in a thread with 512 KiB.
MAX_TRIPLE_TERMS = 250
# Collections, blank nodes, quoted triples and formulas in one another: each takes up to 350 bytes until it ends.
MAX_NESTED = 100_000
# Maximum bytes of the value of an XML entity: most are namespaces. Entities of entities could fill any memory.
MAX_ENTITY = 512
# Bytes that pyoxigraph keeps for each value of JSON-LD, beside its text: it keeps all values of an
# object whose context may still come.
JSON_VALUE = 20
# Objects and arrays in one another: pyoxigraph uses the stack for them too, and 250 overflowed that of a thread with
# 512 KiB.
MAX_JSON_DEPTH = 128
# Values that it keeps again, of 100 bytes each: for an object, what the objects in those in it hold.
MAX_REPEATED = 1 << 20
# Bytes of contexts that it has at a time, each with what those around it say: it takes up to 40 for one.
MAX_CONTEXTS = 1 << 22
# Bytes of contexts that terms have of their own, which it works through wherever such a term stands: so many at first,
# and so many for each byte of the document. (A second is enough for 10 MB.)
MAX_SCOPED = 1 << 23
MAX_SCOPED_FACTOR = 256
# pyoxigraph ends the process where it finds a list or set as the value of a term whose values are graphs.
GRAPHS_IN_LISTS = "@list and @set are not read in JSON-LD that has a term with @graph as its @container"
# IRIs of JSON-LD that a context makes longer than this count for max_text_bytes.
LONG_IRI = 512
# Elements in elements: the time that pyoxigraph takes for one grows with their number. And where some are triple terms.
MAX_ELEMENTS = 10_000
MAX_TRIPLE_ELEMENTS = 2 * MAX_TRIPLE_TERMS

_BLANK = re.compile(rb"[ \t\r\n]*\n")
_REFERENCE = re.compile(rb"&([^\s;&#]+);")
_ELEMENT = re.compile(rb"<(/?)(?:[^<>\"']|\"[^<\"]*\"|'[^<']*')*?(/?)>")
# An element whose content is XML, by the value of this attribute (or what an entity makes of it); and a namespace.
_LITERAL = re.compile(rb"parseType\s*=\s*[\"'](?!(?:Resource|Collection|Triple)[\"'])")
_NAMESPACE = re.compile(rb"\bxmlns(:[^\s=<>\"':]*)?\s*=\s*(?:\"[^\"<]*\"|'[^'<]*')")
# Constructs that may contain < and > outside of tags, with their ends.
_NO_MARKUP = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}


class PieceFile:
    """Pieces of bytes as the file that pyoxigraph reads.

    It is never given more than it asks for: it would end the process. XML and JSON it gets line by line: most errors
    that it finds there name no line, and so it has read no further.
    """

    def __init__(self, pieces: Iterator[bytes], by_line: bool = False) -> None:
        self._pieces = pieces
        self._last = self._piece = b""
        self._at = 0
        self._by_line = by_line
        self.line = 1  # that was given last, where they are given one by one
        self._ends = 0  # line ends in what was given last

    def read(self, size: int = -1) -> bytes:
        while self._at >= len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._last, self._piece, self._at = self._piece, piece, 0
        end = len(self._piece) if size < 0 else self._at + size
        if self._by_line:
            self.line += self._ends
            newline = self._piece.find(b"\n", self._at, end)
            self._ends = 0
            if newline >= 0:
                # With the blank lines after it.
                end = _BLANK.match(self._piece, newline, end).end()  # type: ignore[union-attr]
                self._ends = self._piece.count(b"\n", newline, end)
        data = self._piece[self._at : end]
        self._at += len(data)
        return data

    def recent(self) -> bytes:
        """The last piece or two."""
        return self._last + self._piece[: self._at]


def guard_turtle() -> Callable[[bytes], int]:
    """Checks a Turtle document piece by piece. It also counts triple terms in strings, where they are rare.

    Checks return the expanded size of a piece in bytes.
    """
    depth = 0
    lexer = Lexer()

    def check(piece: bytes) -> int:
        nonlocal depth
        lexer.feed(piece)
        if lexer.deepest > MAX_NESTED:
            raise JellyLimitError(
                f"collections, blank nodes, quoted triples or formulas are nested deeper than {MAX_NESTED}"
            )
        if b"<<(" not in piece and not depth:
            return len(piece)
        for part in piece.split(b"<<("):
            depth = max(depth - part.count(b")>>"), 0) + 1
            if depth > MAX_TRIPLE_TERMS + 1:
                raise JellyLimitError(f"triple terms are nested deeper than {MAX_TRIPLE_TERMS}")
        depth -= 1
        return len(piece)

    return check


class _Contexts:
    """The cost of the contexts of a JSON-LD document."""

    def __init__(self) -> None:
        self.longest = 0  # bytes that they add to an IRI at the most
        self.scoped: dict[str, int] = {}  # terms with a context of their own; bytes in it, and again in those in it
        self._names: dict[str, tuple[str, int]] = {}  # what a term stands for, and the bytes of that
        self._outer = {"@vocab": 0, "@base": 0}
        self._open: list[tuple[int, int]] = []  # depth, and bytes with those of the contexts around it
        self.graphs = False  # some term has values that are graphs
        self.listed = False  # some term stands for @list or @set

    def add(self, text: bytes, depth: int) -> None:
        """One that is whole, of the object that stands so deep."""
        if len(self._names) > 1 << 16:
            self._names.clear()  # those of objects long since ended
        try:
            self._walk(json.loads(text, object_pairs_hook=_Pairs, strict=False))
        except (ValueError, RecursionError):  # the parser has the last word on what this is
            self.longest = max(self.longest, len(text))
            self.scoped[""] = len(text)
            self.graphs = self.listed = True
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()
        self._open.append((depth, len(text) + (self._open[-1][1] if self._open else 0)))

    @property
    def open_bytes(self) -> int:
        """Bytes of those that are open, each with what those around it say."""
        return sum(n for _, n in self._open)

    def _walk(self, value: Any) -> tuple[int, int]:
        """The bytes of a context, and those of the contexts in it."""
        if isinstance(value, list) and not isinstance(value, _Pairs):
            found = [self._walk(item) for item in value]
            return sum(n for n, _ in found), sum(n for _, n in found)
        if not isinstance(value, _Pairs):
            return (len(value) if isinstance(value, str) else 0) + 8, 0
        size = inner = 0
        names: list[str] = []
        for key, about in value:
            size += len(key) + 8
            parts = about if isinstance(about, _Pairs) else [("@id", about)]
            for name, part in parts:
                if name == "@context":
                    n, within = self._walk(part)
                    size += n
                    inner += n + within
                    self.scoped[key] = max(self.scoped.get(key, 0), n + within)
                else:
                    size += len(name) + (len(part) if isinstance(part, str) else 0)
                if name == "@container":
                    self.graphs = self.graphs or "@graph" in (part if isinstance(part, list) else [part])
                if isinstance(part, str) and name in ("@id", "@reverse"):
                    self.listed = self.listed or part in ("@list", "@set")
                    self._names[key] = part, -1
                    names.append(key)
            if key in self._outer and isinstance(about, str):
                self._outer[key] = max(self._outer[key], len(about))
        outer = sum(self._outer.values())
        self.longest = max(self.longest, outer, *(self._length(name) + outer for name in names))
        return size, inner

    def _length(self, name: str) -> int:
        """The bytes of what a term stands for, whose prefixes may be terms."""
        chain: list[str] = []
        while name in self._names and self._names[name][1] < 0:
            chain.append(name)
            self._names[name] = self._names[name][0], 0
            name = self._names[name][0].partition(":")[0]
        n = self._names[name][1] if name in self._names else 0
        for name in reversed(chain):
            n += len(self._names[name][0])
            self._names[name] = self._names[name][0], n
        return n


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON, with keys that stand twice."""


# Bytes of "@list" with escapes.
LONGEST_KEY = 32
# A key that is @list or @set, each letter of which may be an escape.
_LISTED = re.compile(
    rb'"(?:@|\\u0040)(?:(?:l|\\u006c)(?:i|\\u0069)(?:s|\\u0073)|(?:s|\\u0073)(?:e|\\u0065))(?:t|\\u0074)"\s*:', re.I
)
# One that never ends is one, too: else each quotation mark in it would be tried.
_STRING = re.compile(rb'"((?:[^"\\]|\\.?)*)(?:"|\Z)', re.S)


def _uses(piece: bytes, scoped: dict[str, int]) -> tuple[int, int]:
    """The bytes of contexts that the terms in a piece of JSON-LD bring with them: of all, of the largest."""
    if "" in scoped:
        return 0, max(scoped.values())
    total = largest = 0
    for text in _STRING.findall(piece):
        with suppress(ValueError):
            n = scoped.get(json.loads(f'"{text.decode(errors="replace")}"', strict=False), 0)
            total += n
            largest = max(largest, n)
    return total, largest


def guard_json(wrapped: int = 0) -> Callable[[bytes], int]:
    """Checks a JSON-LD document piece by piece; ``wrapped`` levels are not its own."""
    scanner = JsonScanner()
    contexts = _Contexts()
    parts: list[bytes] = []  # of a context that goes on
    most = MAX_JSON_DEPTH + wrapped
    read = work = used = 0
    listed = False
    tail = b""  # where such a key may have begun

    def check(piece: bytes) -> int:
        nonlocal read, work, used, listed, tail
        items = scanner.items
        for begin, end, depth, whole in scanner.feed(piece):
            parts.append(piece[begin:end])
            if whole:
                contexts.add(b"".join(parts), depth)
                parts.clear()
                if contexts.open_bytes > MAX_CONTEXTS:
                    break
        if scanner.deepest > most:
            raise JellyLimitError(f"JSON is nested deeper than {MAX_JSON_DEPTH}")
        if scanner.repeated > MAX_REPEATED:
            raise JellyLimitError(f"objects in one another hold more than {MAX_REPEATED} values, each counted as often")
        if not listed:
            text = tail + piece
            listed = any(word in text for word in (b"@list", b"@set", b"\\u")) and _LISTED.search(text) is not None
            tail = text.rstrip()[-LONGEST_KEY:]
        if contexts.graphs and (listed or contexts.listed):
            raise JellyUnsupportedError(GRAPHS_IN_LISTS)
        values = piece.count(b",") + piece.count(b"{")
        read += len(piece)
        deep = 0
        if contexts.scoped:
            largest = max(contexts.scoped.values())
            deep = largest * scanner.deepest
            # What cannot be too much is not counted.
            if (values + 1) * largest > MAX_SCOPED_FACTOR * len(piece):
                named, most_used = _uses(piece, contexts.scoped)
                used = max(used, most_used)
                # A term has its context for each item of an array.
                work += named + used * (scanner.items - items)
        if contexts.open_bytes + deep > MAX_CONTEXTS:
            raise JellyLimitError(f"contexts in one another have more than {MAX_CONTEXTS} bytes, each counted as often")
        if work > MAX_SCOPED + MAX_SCOPED_FACTOR * read:
            raise JellyLimitError(
                f"contexts of terms, each counted where the term stands, have more than {MAX_SCOPED} bytes and "
                f"{MAX_SCOPED_FACTOR} times the document"
            )
        return len(piece) + values * (JSON_VALUE + max(0, contexts.longest - LONG_IRI))

    return check


def guard_xml() -> Callable[[bytes], int]:
    """Checks an XML document piece by piece; no piece ends within a tag."""
    known: dict[bytes, bytes] = {}
    namespaces: dict[bytes, int] = {}  # the longest declaration of each prefix
    declared = 0  # bytes of them together
    depth = 0
    limit = MAX_ELEMENTS
    literal = -1  # depth of the element whose content is XML
    literals = False

    def check(piece: bytes) -> int:
        nonlocal depth, limit, literal, literals, declared
        size = len(piece)
        if b"<!" in piece:
            if b"<!ENTITY" in piece:
                _check_entities(piece, known)
            piece = _without_markup(piece)
        if b"xmlns" in piece:
            for match in _NAMESPACE.finditer(piece):
                n = len(match[0]) + 1
                if (more := n - namespaces.get(match[1], 0)) > 0:
                    declared += more
                    if len(namespaces) < 1 << 16:
                        namespaces[match[1]] = n
        literals = literals or (b"parseType" in piece and _LITERAL.search(piece) is not None)
        if b"Triple" in piece:
            limit = MAX_TRIPLE_ELEMENTS
        if literals or limit == MAX_TRIPLE_ELEMENTS:
            inside = 0
            for match in _ELEMENT.finditer(piece):
                if match[1]:
                    depth -= 1
                    if depth <= literal:
                        literal = -1
                elif match[0][1] not in b"!?":
                    inside += depth == literal + 1 > 0
                    if not match[2]:
                        if literals and literal < 0 and _LITERAL.search(match[0]):
                            literal = depth
                        depth += 1
                if depth > limit:
                    break
            # Each outermost element of an XML literal repeats the namespaces; the text is in memory twice.
            size += 2 * inside * declared
        else:
            marks = piece.count(b"</") * 2 + piece.count(b"/>") + piece.count(b"<!") + piece.count(b"<?")
            depth = max(depth + piece.count(b"<") - marks, 0)
        if depth > limit:
            raise JellyLimitError(f"elements are nested deeper than {limit}")
        return size + (piece.count(b"&") * max(map(len, known.values())) if known else 0)

    return check


def _without_markup(piece: bytes) -> bytes:
    """The piece without comments and CDATA that end in it. (A pattern would search for the end from each start.)"""
    parts = []
    done = 0
    ends = dict(_NO_MARKUP)
    at = piece.find(b"<!")
    while at >= 0 and ends:
        begin = next((begin for begin in ends if piece.startswith(begin, at)), b"")
        end = piece.find(ends[begin], at + len(begin)) if begin else -1
        if end >= 0:
            parts.append(piece[done:at])
            at = done = end + 3
        else:
            ends.pop(begin, b"")  # no further one ends either
            at += 2
        at = piece.find(b"<!", at)
    return b"".join([*parts, piece[done:]])


def _check_entities(piece: bytes, known: dict[bytes, bytes]) -> None:
    for part in piece.split(b"<!ENTITY")[1:]:
        text, closed, _ = part.partition(b">")
        name, *rest = text.split(None, 1) or [b""]
        if name == b"%":
            name, *rest = (rest or [b""])[0].split(None, 1) or [b""]
            name = b"% " + name
        if not closed or not rest or not text[:1].isspace():
            raise JellyLimitError(f"an entity is longer than {MAX_ENTITY} bytes, or its value contains < or >")
        value = rest[0]
        if len(value) <= 8 * MAX_ENTITY:
            for reference in set(_REFERENCE.findall(value)):
                value = value.replace(b"&" + reference + b";", known.get(reference, b""))
                if len(value) > MAX_ENTITY:
                    break
        if len(value) > MAX_ENTITY:
            raise JellyLimitError(
                f"the entity {name.decode(errors='replace'):.80} is longer than {MAX_ENTITY} bytes"
            )
        known[name] = value
