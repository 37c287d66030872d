"""Input that would end the process, fill the memory or take for ever is refused before pyoxigraph sees it."""

from __future__ import annotations

import re
from collections.abc import Callable

from jelly.errors import JellyLimitError

__all__ = ["guard_triple_terms", "guard_xml"]

# Triple terms in triple terms: pyoxigraph uses the stack for them, and ends the process where it has none left, which
# was seen at 1000 of them in a thread with 512 KiB. (JSON-LD it bounds itself.)
MAX_TRIPLE_TERMS = 250
# What an XML entity stands for, in bytes: most are namespaces. Entities of entities could fill any memory.
MAX_ENTITY = 512
# Elements in elements: the time that pyoxigraph takes for one grows with their number. And where some are triple terms.
MAX_ELEMENTS = 10_000
MAX_TRIPLE_ELEMENTS = 2 * MAX_TRIPLE_TERMS

_ENTITY = re.compile(rb"<!ENTITY\s+(%?\s*[^\s\"']+)\s+([^>]*)>")
_REFERENCE = re.compile(rb"&([^\s;&#]+);")
_ELEMENT = re.compile(rb"<(/?)[^<>]*?(/?)>")
_NO_MARKUP = re.compile(rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->", re.S)


def guard_triple_terms() -> Callable[[bytes], None]:
    """A check of a Turtle document piece by piece. It counts in strings too, where nothing like it is expected."""
    depth = 0

    def check(piece: bytes) -> None:
        nonlocal depth
        if b"<<(" not in piece and not depth:
            return
        for part in piece.split(b"<<("):
            depth = max(depth - part.count(b")>>"), 0) + 1
            if depth > MAX_TRIPLE_TERMS + 1:
                raise JellyLimitError(f"triple terms are nested deeper than {MAX_TRIPLE_TERMS}")
        depth -= 1

    return check


def guard_xml() -> Callable[[bytes], None]:
    """A check of an XML document piece by piece; no piece ends within a tag."""
    known: dict[bytes, bytes] = {}
    depth = 0
    limit = MAX_ELEMENTS

    def check(piece: bytes) -> None:
        nonlocal depth, limit
        if b"<!" in piece:
            if b"<!ENTITY" in piece:
                _check_entities(piece, known)
            piece = _NO_MARKUP.sub(b"", piece)
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

    return check


def _check_entities(piece: bytes, known: dict[bytes, bytes]) -> None:
    for match in _ENTITY.finditer(piece):
        value = match[2]
        for part in set(_REFERENCE.findall(value)):
            value = value.replace(b"&" + part + b";", known.get(part, b""))
            if len(value) > MAX_ENTITY:
                break
        if len(value) > MAX_ENTITY:
            name = match[1].decode(errors="replace")
            raise JellyLimitError(f"the entity {name:.80} stands for more than {MAX_ENTITY} bytes")
        known[match[1]] = value
    if len(_ENTITY.findall(piece)) != piece.count(b"<!ENTITY"):
        raise JellyLimitError(f"an entity stands for more than {MAX_ENTITY} bytes, or its value has < or > in it")
