"""Texts and tables in HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHOWN_TEXT = 100  # characters


def escaped(text: str) -> str:
    """A text in HTML, in which control characters are written as on a terminal.

    >>> escaped("<a\\x85b>")
    '&lt;a\\\\x85b&gt;'
    """
    from html import escape  # which takes long to import

    # HTML has no such characters. Compiled when needed: it takes 5 ms.
    return re.sub(r"[^\t\n\r\x20-\x7e\xa0-\U0010ffff]", lambda found: repr(found[0])[1:-1], escape(text))


def html_table(title: str, names: Iterable[object], rows: Iterable[Iterable[object]], *, more: bool = False) -> str:
    """A table in HTML for notebooks; everything in it is escaped, and long texts are cut.

    >>> html_table("<1>", ["a"], [["x"]])
    '<table><caption>&lt;1&gt;</caption><tr><th>a</th></tr><tr><td>x</td></tr></table>'
    """

    def line(kind: str, cells: Iterable[object]) -> str:
        texts = (text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…" for text in map(str, cells))
        return "<tr>" + "".join(f"<{kind}>{escaped(text)}</{kind}>" for text in texts) + "</tr>"

    lines = [line("th", names), *(line("td", row) for row in rows)]
    if more:
        lines.append(line("td", ["…"]))
    return f"<table><caption>{escaped(title)}</caption>{''.join(lines)}</table>"
