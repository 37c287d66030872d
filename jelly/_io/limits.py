"""Rejects input that would crash the process, exhaust the memory or take too long, before pyoxigraph parses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jelly._core.boundaries.turtle import Lexer
from jelly.errors import JellyLimitError

__all__ = ["guard_json", "guard_turtle", "guard_xml", "memory_error"]

# Maximum nesting of triple terms: pyoxigraph uses the stack for them and ends the process if it overflows, which
# happened at 1000 levels in a thread with 512 KiB. (It has its own limit for JSON-LD.)
MAX_TRIPLE_TERMS = 250
# Collections, blank nodes, quoted triples and formulas in one another: each takes up to 350 bytes until it ends.
MAX_NESTED = 100_000
# What an XML entity stands for, in bytes: most are namespaces. Entities of entities could fill any memory.
MAX_ENTITY = 512
# What pyoxigraph keeps of each value of JSON-LD, in bytes, as far as the text does not say: it keeps all values of an
# object whose context may still come.
JSON_VALUE = 20
# Elements in elements: the time that pyoxigraph takes for one grows with their number. And where some are triple terms.
MAX_ELEMENTS = 10_000
MAX_TRIPLE_ELEMENTS = 2 * MAX_TRIPLE_TERMS

_REFERENCE = re.compile(rb"&([^\s;&#]+);")
_ELEMENT = re.compile(rb"<(/?)[^<>]*?(/?)>")
# Constructs that may contain < and > outside of tags, with their ends.
_NO_MARKUP = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}


def memory_error(error: MemoryError, **place: Any) -> JellyLimitError:
    """The error for a MemoryError of a library. pyoxigraph raises it for a token that is longer than its buffer."""
    text = str(error)
    if "buffer" not in text:
        return JellyLimitError(f"not enough memory: {text or 'an allocation failed'}", **place)
    return JellyLimitError(
        "a string or IRI is longer than the 16 MiB that pyoxigraph can read (no setting raises that): Jelly, N-Triples"
        " and N-Quads hold longer ones",
        **place,
    )


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


def guard_json(piece: bytes) -> int:
    """The bytes that a piece of JSON-LD stands for. It has limits of its own for the depth."""
    return len(piece) + JSON_VALUE * (piece.count(b",") + piece.count(b"{"))


def guard_xml() -> Callable[[bytes], int]:
    """Checks an XML document piece by piece; no piece ends within a tag."""
    known: dict[bytes, bytes] = {}
    depth = 0
    limit = MAX_ELEMENTS

    def check(piece: bytes) -> int:
        nonlocal depth, limit
        size = len(piece)
        if b"<!" in piece:
            if b"<!ENTITY" in piece:
                _check_entities(piece, known)
            piece = _without_markup(piece)
        if limit == MAX_TRIPLE_ELEMENTS or b"Triple" in piece:
            limit = MAX_TRIPLE_ELEMENTS
            for match in _ELEMENT.finditer(piece):
                depth += -1 if match[1] else 0 if match[2] or match[0][1] in b"!?" else 1
                if depth > limit:
                    break
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
