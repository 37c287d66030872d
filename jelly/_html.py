"""Tables in HTML, for what notebooks show."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN_TEXT = 100  # characters


def html_table(title: str, names: Iterable[object], rows: Iterable[Iterable[object]], *, more: bool = False) -> str:
    """A table in HTML for notebooks; everything in it is escaped, and long texts are cut.

    >>> html_table("<1>", ["a"], [["x"]])
    '<table><caption>&lt;1&gt;</caption><tr><th>a</th></tr><tr><td>x</td></tr></table>'
    """
    from html import escape  # which takes long to import

    def line(kind: str, cells: Iterable[object]) -> str:
        texts = (text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…" for text in map(str, cells))
        return "<tr>" + "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts) + "</tr>"

    lines = [line("th", names), *(line("td", row) for row in rows)]
    if more:
        lines.append(line("td", ["…"]))
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"
