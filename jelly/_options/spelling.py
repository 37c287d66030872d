"""Error messages name keywords as Python spells them; here is how the command line and Spark spell them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jelly._options.keywords import Keyword

Front = Literal["command line", "Spark"]


def spelled(text: str, front: Front) -> str:
    """A message with the options of a front instead of keywords.

    >>> spelled("raise max_line_bytes to read it, or pass joined=True", "command line")
    'raise --max-line-bytes to read it, or use --joined'
    >>> spelled("raise max_line_bytes; read it with format='nt'", "Spark")
    'raise maxLineBytes; read it with option("format", "nt")'
    """
    pattern, spell = _pattern(front)
    return pattern.sub(spell, text)


def _any(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


@cache
def _pattern(front: Front) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """The pattern of a keyword: with a value, or without one if it is no word of English, as ``skolem_base`` is."""
    from jelly._options.keywords import MANY, NAMED, READ, WRITE  # takes some time to import

    is_command = front == "command line"
    rows: dict[str, list[Keyword]] = {}
    for row in (*READ.values(), *WRITE.values(), *MANY.values(), *NAMED.values()):
        if row.switch if is_command else row.spark:
            rows.setdefault(row.name, []).append(row)
    names = sorted(rows, key=len, reverse=True)
    unusual = [name for name in names if re.search(r"[_(]", name) and rows[name][0].flag is None]
    parts = rf"""(?P<verb>\b(?:pass|read\ it\ with)\ )?(?<!\w)
        (?:(?:from_)?(?P<name>{_any(names)})=(?P<value>\.\.\.|True|"[\w.-]*"|'[\w.-]*'|(?=\W|$))|(?P<bare>{_any(unusual)})(?!\w))
        (?P<above>\ above\ 0)?(?P<of>\ in\ the\ stream\ options)?"""
    pattern = re.compile(parts, re.X)

    def command(found: re.Match[str]) -> str:
        known, value = rows[found["name"] or found["bare"]], found["value"]
        words = dict.fromkeys(row.switch for row in (known if value == "..." else known[:1]))
        text = ("use " if found["verb"] else "") + " or ".join(words)
        if value == "" and known[0].metavar:
            text += f" {known[0].metavar}"
        elif value not in (None, "", "...") and known[0].flag is None:
            text += " " + value.strip("\"'")
        return text + (found["above"] or "")

    def option(found: re.Match[str]) -> str:
        name, value = rows[found["name"] or found["bare"]][0].spark, found["value"]
        verb = "set " if found["verb"] == "pass " else found["verb"] or ""
        if value is not None:
            told = value if value == "..." else '"true"' if value == "True" else f'"{value.strip(chr(39) + chr(34))}"'
            name = f'option("{name}", {told})'
        return verb + name + (found["above"] or "") + (found["of"] or "")

    return pattern, command if is_command else option


def printable(text: str) -> str:
    """A name or text from a file, which must not control the terminal.

    >>> printable("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
