"""The page of speed, made from the figures that `python bench/report.py --json bench/figures.json` writes.

``python docs/site/performance.py`` writes the picture of the README.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "bench" / "figures.json"
PICTURE = ROOT / "docs" / "assets" / "speed.svg"

TITLES = {
    "decode": "Jelly to Python terms, and to columns of ids",
    "encode": "Python terms and Batches to Jelly",
    "text": "N-Triples and N-Quads to Jelly and back",
    "rdflib-read": "Jelly to RDFLib terms",
    "rdflib-write": "RDFLib terms to Jelly",
    "rdflib-parse": "Jelly to RDFLib graphs",
    "rdflib-serialize": "RDFLib graphs to Jelly",
    "loads": "One message of 26 quads to Python terms",
    "dumps": "26 quads of Python terms to one message",
}
DATA = "Real data: readings of weather stations, vocabularies, movies, and sensors of a benchmark."

TEXT = f"""\
# Performance

{DATA} Medians, one core of a small virtual machine that has two.

{{figures}}
## Where it loses

- A small message costs more to *write* than to read, because its options and its lookup tables are sent each time.
- On Spark most of the time is Spark's own: see [there](spark.md#speed).
- `merge` into a Delta table takes 30.6 s where a hand-written `MERGE` of the same columns, without its guarantees,
  takes 25.8 s, and 42.4 s with the eight columns of the flat layout ([the pipeline](pipeline.md)).
- `jelly` stores nothing: for queries and random access by content use a database.

## Memory

Converting 50 million statements takes less than 100 MB, and so does any other number; `python bench/memory.py` measures
it.

## Repeat it

From a checkout, on a machine that has nothing else to do:

```text
make .venv/bench
.venv/bin/python bench/report.py --json bench/figures.json --plot speed.png
.venv/bin/python bench/memory.py
.venv/bin/python bench/spark/reading.py
make pipeline
make docs
```

`bench/work.py` shows how each library is called; each must find the same number of statements, or the run fails. Each
has a turn in each round, so what slows the machine for a while slows all. {{machine}}
"""


def chart(title: str, rows: list[tuple[str, str, float]], unit: str) -> str:
    """Bars as SVG in the colours of the page, light or dark, and the numbers as a table.

    Parameters
    ----------
    title : str
        What is measured.
    rows : list of (str, str, float)
        Data, who, and the figure.
    unit : str
        Of the figures.

    Returns
    -------
    str
        Markdown.
    """
    most = max(value for _, _, value in rows)
    names = list(dict.fromkeys(data for data, _, _ in rows))
    parts = []
    y = 0
    for name in names:
        parts.append(f'<text class="data" x="0" y="{y + 15}">{escape(name)}</text>')
        y += 22
        for data, who, value in rows:
            if data != name:
                continue
            width = max(1.0, 260 * value / most)
            ours = " ours" if who.startswith("jelly") else ""
            parts.append(
                f'<text x="0" y="{y + 13}">{escape(who)}</text>'
                f'<rect class="bar{ours}" x="150" y="{y + 2}" width="{width:.0f}" height="14" rx="2"/>'
                f'<text x="{156 + width:.0f}" y="{y + 13}">{value:,.2f}</text>'
            )
            y += 19
        y += 8
    whos = list(dict.fromkeys(who for _, who, _ in rows))
    values = {(data, who): value for data, who, value in rows}
    lines = [["", *names], ["---", *["---:"] * len(names)]]
    for who in whos:
        bold = "**" if who.startswith("jelly") else ""
        cells = [values.get((name, who)) for name in names]
        lines.append([f"{bold}{who}{bold}", *("" if cell is None else f"{cell:,.2f}" for cell in cells)])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    svg = f'<svg class="speed" role="img" aria-label="{escape(title)}" viewBox="0 0 470 {y}">{"".join(parts)}</svg>'
    return f"## {title}\n\n{unit}\n\n{svg}\n\n{table}\n"


def picture() -> str:
    """The picture of the README: reading statements, as SVG that stands alone, light or dark.

    Returns
    -------
    str
        SVG.
    """
    results = json.loads(FIGURES.read_text("utf-8"))["results"]
    found = {(one["data"], one["who"]): one["statements/s"] / 1e6 for one in results if one["work"] == "decode"}
    who = {"jelly loop": "jelly", "pyoxigraph text loop": "pyoxigraph, from text", "pyjelly loop": "pyjelly"}
    most = max(value for (_, name), value in found.items() if name in who)
    parts = ['<text x="0" y="14" class="b">Million statements per second into Python, one core</text>']
    y = 24
    for data in dict.fromkeys(data for data, _ in found):
        parts.append(f'<text x="0" y="{y + 14}" class="b">{escape(data)}</text>')
        for name, title in who.items():
            width = max(1, round(330 * found[data, name] / most))
            ours = ' class="o"' if title == "jelly" else ""
            parts.append(
                f'<text x="110" y="{y + 14}">{title}</text>'
                f'<rect x="250" y="{y + 3}" width="{width}" height="14"{ours}/>'
                f'<text x="{256 + width}" y="{y + 14}">{found[data, name]:.1f}</text>'
            )
            y += 19
        y += 8
    style = (
        "text{font:12px sans-serif;fill:#24292f}.b{font-weight:bold}rect{fill:#9aa4af}.o{fill:#e91e63}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#6e7681}.o{fill:#f50057}}"
    )
    inside = "\n".join(parts)
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {y}" width="640">'
    return f"{start}\n<style>{style}</style>\n{inside}\n</svg>\n"


def page() -> str:
    """The page.

    Returns
    -------
    str
        Markdown with a chart for each kind of work.
    """
    known: dict[str, Any] = json.loads(FIGURES.read_text("utf-8"))
    figures = ""
    for work, title in TITLES.items():
        results = [one for one in known["results"] if one["work"] == work]
        if not results:
            continue
        small = work in ("loads", "dumps")
        rows = [
            (one["data"], one["who"], one["seconds"] * 1e6 if small else one["statements/s"] / 1e6) for one in results
        ]
        figures += chart(title, rows, "Microseconds a message (less is better)." if small else "Million statements/s.")
    about = known["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about.get("packages", {}).items())
    machine = f"Python {about['python']}, {about['processors']} processors; {versions}." if versions else about["note"]
    return TEXT.format(figures=figures, machine=machine)


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
