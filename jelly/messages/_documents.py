"""One JSON-LD, YAML-LD or RDF/XML document per message: checks before parsing, and JSON-LD contexts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from jelly._bytes.names import is_path
from jelly.errors import JellyFormatError, JellyLimitError, JellySyntaxError, JellyUnsupportedError

# Objects and arrays of JSON may be nested so deep. Parsers go into each of them by recursion.
MAX_DEPTH = 128
# Contexts that refer to further contexts.
MAX_REMOTE = 16


def load_json(line: bytes) -> Any:
    """The value of one line of JSON. JellySyntaxError where it is none, JellyLimitError where it is nested too deep."""
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except RecursionError:
        raise JellyLimitError(f"JSON is nested deeper than {MAX_DEPTH}") from None
    except json.JSONDecodeError as error:
        raise JellySyntaxError(f"column {error.colno}: JSON: {error.msg}", column=error.colno) from None
    except UnicodeDecodeError as error:
        raise JellySyntaxError(f"JSON: not UTF-8: byte 0x{line[error.start]:02X}") from None
    except ValueError as error:
        raise JellySyntaxError(f"JSON: {error}") from None
    check_depth(value)
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def check_depth(value: Any) -> None:
    """JellyLimitError where a value is nested deeper than the limit."""
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 2):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    raise JellyLimitError(f"JSON is nested deeper than {MAX_DEPTH}")


class Contexts:
    """The caller's cache of remote contexts, the only place that they come from.

    ``known`` maps URLs to what stands there: a document with "@context", a context alone, either as JSON text, or the
    path of a file of that text. A file is read when it is first referred to.
    """

    def __init__(self, known: Mapping[str, Any] | None) -> None:
        self._known = dict(known or {})
        self._data: frozenset[str] = frozenset()

    def keep(self, context: Any) -> Any:
        """A context, filled, that is the one around the next documents."""
        filled = self._context(context, 0)
        self._data = _data_terms(filled, frozenset())
        return filled

    def fill(self, document: Any, data: frozenset[str] | None = None) -> Any:
        """The document with every reference to a context replaced by the context.

        ``data`` are the terms whose values are JSON literals, by default those of the context that is kept: their
        values are data as "@value" is.
        """
        data = self._data if data is None else data
        if isinstance(document, list):
            return [self.fill(item, data) for item in document]
        if not isinstance(document, dict):
            return document
        filled: dict[str, Any] = {}
        if "@context" in document:
            filled["@context"] = self._context(document["@context"], 0)
            data = _data_terms(filled["@context"], data)
        return {
            key: filled.get(key, value) if key in ("@context", "@value") or key in data else self.fill(value, data)
            for key, value in document.items()
        }

    def _context(self, context: Any, depth: int) -> Any:
        if depth > MAX_REMOTE:
            raise JellyLimitError(f"contexts refer to each other more than {MAX_REMOTE} times")
        if isinstance(context, str):
            return _without_base(self._context(self._find(context), depth + 1))
        if isinstance(context, list):
            flat: list[Any] = []
            for item in context:
                found = self._context(item, depth)
                flat += found if isinstance(found, list) else [found]
            return flat
        if not isinstance(context, dict):
            return context
        local = {
            # A term may have a context of its own.
            key: {k: self._context(v, depth) if k == "@context" else v for k, v in value.items()}
            if isinstance(value, dict)
            else value
            for key, value in context.items()
            if key != "@import"
        }
        if "@import" not in context:
            return local
        url = context["@import"]
        imported = self._context(self._find(url), depth + 1) if isinstance(url, str) else None
        if not isinstance(imported, dict):
            raise JellyFormatError(f"@import of {url!r:.200}: expected one context")
        return {**imported, **local}

    def _find(self, url: str) -> Any:
        if url not in self._known:
            raise JellyUnsupportedError(
                f"the context {url} is not in the cache: remote contexts are never fetched, give it with contexts="
            )
        found = self._known[url]
        # What begins like this is JSON text of a context, else it is a path.
        is_text = isinstance(found, str) and found.lstrip().startswith(("{", "[", '"'))
        if is_path(found) and not is_text:
            with open(found, "rb") as file:
                found = file.read()
        if isinstance(found, str | bytes):
            try:
                found = load_json(found.encode() if isinstance(found, str) else found)
            except JellySyntaxError as error:
                raise JellyFormatError(f"the context {url} that was given: {error.reason}") from None
            self._known[url] = found
        return found["@context"] if isinstance(found, dict) and "@context" in found else found


def _without_base(context: Any) -> Any:
    """A remote context: what it says of @base counts for nothing (JSON-LD 1.1 API, section 4.1.2)."""
    if isinstance(context, list):
        return [_without_base(item) for item in context]
    return {key: value for key, value in context.items() if key != "@base"} if isinstance(context, dict) else context


def _data_terms(context: Any, around: frozenset[str]) -> frozenset[str]:
    """The terms of a context, and of those around it, whose values are JSON literals.

    The contexts that terms have of their own count as if they stood there.
    """
    if isinstance(context, list):
        for item in context:
            around = _data_terms(item, around)
        return around
    if not isinstance(context, dict):
        return frozenset()  # null takes all away
    found = around - context.keys()
    for term, about in context.items():
        if isinstance(about, dict):
            if about.get("@type") == "@json":
                found |= {term}
            if "@context" in about:
                found |= _data_terms(about["@context"], frozenset())
    return found


_ENTITY = re.compile(rb"<!ENTITY\s+(%\s+)?[^\s%]+\s+([\"']?)")


def check_entities(doctype: bytes) -> None:
    """Refuse entities from outside of the document with this DOCTYPE; `guard_xml` bounds the others."""
    for parameter, quote in _ENTITY.findall(doctype):
        if parameter or not quote:
            raise JellyUnsupportedError("an external or a parameter entity of XML is never read")
