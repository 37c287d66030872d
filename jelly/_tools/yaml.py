"""YAML by PyYAML, which only this module imports: values to YAML, and YAML 1.2 documents to values, with limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jelly.errors import JellyLimitError, JellySyntaxError, need

with need("messages", "YAML needs the PyYAML package"):
    import yaml

# Maximum nesting of a value, and maximum number of values that the aliases of a document repeat.
MAX_DEPTH = 128
MAX_ALIASED = 10_000
# Digits of an integer: Python writes no more than 4300 in decimal.
MAX_DIGITS = 4000

# YAML 1.2.2, section 10.3.2, core schema.
_NULL = frozenset(("", "null", "Null", "NULL", "~"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"(?:[-+]?[0-9]+|0(o)[0-7]+|0(x)[0-9A-Fa-f]+)\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("str", "null", "bool", "int", "float", "map", "seq")}

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def dump_yaml(value: Any) -> str:
    """A value of dicts, lists and scalars as YAML. Keys keep their order.

    >>> dump_yaml({"a": [1, "x"]})
    'a:\\n- 1\\n- x\\n'
    """

    def dumped(plain: bool) -> str:
        text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=plain, default_flow_style=False)
        return text

    text = dumped(True)
    return dumped(False) if "\x85" in text else text  # PyYAML takes it for a line end: it would be read as a blank


def load_documents(text: bytes, first_line: int = 1) -> Iterator[Any]:
    """The documents of a YAML stream, dicts, lists, str, int, float, bool and None by the core schema of YAML 1.2.

    Keys are strings and unique in a mapping; tags outside of the core schema are refused.
    JellySyntaxError with the line, counted from ``first_line``; JellyLimitError if values are nested deeper than 128
    or aliases repeat more than 10 000 values.

    >>> list(load_documents(b"a: [no, 010]\\n---\\n"))
    [{'a': ['no', 10]}, None]
    """
    try:
        events = yaml.parse(text, Loader=_LOADER)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Document(events, first_line).value(next(events), 0)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise JellySyntaxError(f"YAML: {reason}", line=None if mark is None else first_line + mark.line) from None


class _Document:
    """One document, built from its events. Limits are checked before anything is built."""

    def __init__(self, events: Iterator[Any], first_line: int) -> None:
        self._events = events
        self._first_line = first_line
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased = 0
        self._made = 0

    def _error(self, reason: str, event: Any, kind: type[JellySyntaxError | JellyLimitError] = JellySyntaxError) -> Any:
        return kind(f"YAML: {reason}", line=self._first_line + event.start_mark.line)

    def value(self, event: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self._error(f"values are nested deeper than {MAX_DEPTH}", event, JellyLimitError)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise self._error(f"the alias *{event.anchor} stands for nothing in its document", event)
            value, size = self._anchors[event.anchor]
            self._aliased += size
            self._made += size
            if self._aliased > MAX_ALIASED:
                raise self._error(f"aliases stand for more than {MAX_ALIASED} values", event, JellyLimitError)
            return value
        tag = getattr(event, "tag", None)
        if tag not in (None, "!") and tag not in _TAGS:
            raise self._error(f"the tag {tag} is not one of the core schema", event)
        before = self._made
        self._made += 1
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, tag)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
                value.append(self.value(item, depth + 1))
        else:
            value = {}
            while not isinstance(item := next(self._events), yaml.MappingEndEvent):
                key = self.value(item, depth + 1)
                if not isinstance(key, str):
                    raise self._error(f"a key that is no string: {key!r:.40}", item)
                if key in value:
                    raise self._error(f"the key {key!r:.80} stands twice in a mapping", item)
                value[key] = self.value(next(self._events), depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._made - before
        return value

    def _scalar(self, event: Any, tag: str | None) -> Any:
        text = event.value
        kind = _TAGS.get(tag or "")
        if kind == "str" or (kind is None and not event.implicit[0]):
            return text
        if kind in (None, "null") and text in _NULL:
            return None
        if kind in (None, "bool") and text in _BOOLEANS:
            return _BOOLEANS[text]
        if kind in (None, "int") and (found := _INTEGER.match(text)) is not None:
            base = {"o": 8, "x": 16}.get(found[1] or found[2], 10)
            most = MAX_DIGITS if base < 16 else MAX_DIGITS * 4 // 5
            if len(text) > most:
                raise self._error(f"an integer of more than {most} digits", event, JellyLimitError)
            return int(text, base)
        if kind in (None, "float"):
            if _FLOAT.match(text):
                return float(text)
            if _NOT_FINITE.match(text):
                raise self._error(f"{text} is no number of JSON-LD", event)
        if kind is not None:
            raise self._error(f"{text!r:.80} is no !!{kind}", event)
        return text
