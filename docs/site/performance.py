"""The page of speed, made from the figures that `python bench/report.py --json bench/figures.json` writes.

``python docs/site/performance.py`` writes the picture of the README.
"""

from __future__ import annotations

import json
import math
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
    "files": "A file on disk, all of it",
    "columns": "A file on disk to Arrow columns",
    "rdflib-read": "Jelly to RDFLib terms",
    "rdflib-write": "RDFLib terms to Jelly",
    "rdflib-parse": "Jelly to RDFLib graphs",
    "rdflib-serialize": "RDFLib graphs to Jelly",
    "loads": "One message of 26 quads to Python terms",
    "dumps": "26 quads of Python terms to one message",
}
NOTES = {
    "decode": """`jelly Batch` makes columns of ids, a `loop` gives statements one by one, a `list` holds them all.
`upb frames` is the protobuf library alone: it parses the frames and looks at none of their rows.""",
    "files": """Whole files of the same statements, through what each library or program offers to go through all of
them. Terms are made where a library has terms, columns where it has columns. `maplib` and RDFLib load a store, HDT is
one: that is more work, and so they can answer queries afterwards. HDT and `maplib` keep each statement once, and have
no graphs. serdi and rapper write the text that they read; their start is in the time. Jena and HDT run in a Java
process that has warmed up, and may use the other core for its compiler.""",
}
# Each peer, the package of its version in the figures, and its call in `bench/work.py`, `peers.py` or `graphs.py`.
CALLS = (
    ("pyjelly", "pyjelly", "`parse_jelly_flat(file)`, `flat_stream_to_file(statements, file)`, plug-ins of RDFLib"),
    ("protobuf", "protobuf", "`parse_length_prefixed(RdfStreamFrame, file)`"),
    ("Jelly-JVM", "Jelly-JVM", "its reader and writer for Jena, in a JVM that has run the work 60 times"),
    ("pyoxigraph", "pyoxigraph", "`parse(path=..., format=...)`, or `lenient=True`; `serialize(quads, file, format)`"),
    ("RDFLib", "rdflib", '`Graph().parse(file, format="nt")`'),
    ("lightrdf", "lightrdf", "`nt.Parser().parse(path)`"),
    ("maplib", "maplib", "`Model().read(path, parallel=False)`, then a query that counts"),
    ("serdi", "serdi", "`serdi -i ntriples -o ntriples FILE`"),
    ("rapper", "rapper", "`rapper -q -i ntriples -o ntriples FILE`"),
    ("Jena (`riot`)", "Jena", "`RDFParser.source(path).parse(StreamRDFLib.count())`, as `riot --count` does"),
    ("HDT", "hdt-java", '`HDTManager.mapHDT(path).search("", "", "")`, all texts'),
    ("Parquet", "pyarrow", "`ParquetFile(path).iter_batches(32768, use_threads=False)`, zstd"),
    ("Arrow IPC", "pyarrow", "`ipc.open_file(OSFile(path)).get_batch(i)`, not compressed"),
)
# Who of ours does the same as the others, for what it loses.
OURS = {
    "decode": "jelly loop", "encode": "jelly terms", "loads": "jelly loads", "dumps": "jelly dumps",
    "files": "jelly, Jelly to Arrow", "columns": "jelly, Jelly to Arrow",
}  # fmt: skip
RIVALS = (
    "Jelly-JVM", "pyoxigraph text", "pyoxigraph text loop", "pyarrow, Parquet to Arrow", "pyarrow, Parquet",
    "pyarrow, Arrow IPC",
)  # fmt: skip
DATA = "Real data: readings of weather stations, vocabularies, movies, and sensors of a benchmark."

TEXT = f"""\
# Performance

{DATA} Medians, one core of a small virtual machine that has two.

{{figures}}
## Who is who

Each reads or writes the same statements in the way that it offers for that, on one core; a JVM may use the other, too.

{{peers}}
## Where it loses

- A small message costs more to *write* than to read, because its options and its lookup tables are sent each time.
- On Spark most of the time is Spark's own: see [there](spark.md#speed).
- `merge` into a Delta table takes 30.6 s where a hand-written `MERGE` of the same columns, without its guarantees,
  takes 25.8 s, and 42.4 s with the eight columns of the flat layout ([the pipeline](pipeline.md)).
- `jelly` stores nothing: for queries and random access by content use a database.
{{losses}}

## Repeat it

From a checkout, on a machine that has nothing else to do:

```text
make .venv/bench
.venv/bin/python -m pip install --group peers
.venv/bin/python bench/report.py --json bench/figures.json --plot speed.png
.venv/bin/python bench/spark/reading.py
.venv/bin/python bench/filters.py --millions 50 --folder /tmp/filters --spark --json bench/figures.json
.venv/bin/python bench/verbs.py --millions 50 --folder /tmp/verbs --sort --json bench/figures.json
make pipeline
make docs
```

`report.py` takes about a quarter of an hour; `filters.py` and `verbs.py` need 7 GB and 25 GB of disk.
serdi and rapper are packages of Debian, `lightrdf` and `maplib` of PyPI;
Jelly-JVM, Jena and HDT come from Maven. What is not there is left out, and said.

`bench/work.py`, `bench/peers.py` and `bench/curves.py` show how each library is called; each must find the same number
of statements, or the run fails. Each has a turn in each round, so what slows the machine for a while slows all.
{{machine}}
"""


# Lines of a curve are told apart by their dashes, so that no colour has to be known.
DASHES = ("", "", "6 3", "2 3", "8 3 2 3")


def curve(title: str, series: dict[str, list[tuple[float, float]]], axes: tuple[str, str], *, logs: bool) -> str:
    """Lines as SVG in the colours of the page, light or dark.

    Parameters
    ----------
    title : str
        What is measured.
    series : dict of str to list of (float, float)
        The points of each line; the names of ours begin with jelly.
    axes : (str, str)
        What the axes show.
    logs : bool
        Whether both axes are logarithmic; else they begin with 0.

    Returns
    -------
    str
        SVG.
    """
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]

    def place(value: float, values: list[float], size: float) -> float:
        if logs:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return size * (math.log10(value) - low) / (high - low)
        return size * value / (1.1 * max(values))

    def ticks(values: list[float]) -> list[float]:
        if logs:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return [10.0**power for power in range(low, high + 1)]
        step = 10 ** math.floor(math.log10(max(values)))
        step = step if max(values) / step > 4 else step / 2 if max(values) / step > 2 else step / 4
        return [step * i for i in range(int(1.1 * max(values) / step) + 1)]

    parts = [f'<text class="data" x="0" y="14">{escape(axes[1])}</text>']
    for y in ticks(ys):
        at = 250 - place(y, ys, 220)
        parts.append(f'<line x1="60" x2="380" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="54" y="{at + 4:.1f}" text-anchor="end">{short(y)}</text>')
    for x in ticks(xs):
        at = 60 + place(x, xs, 320)
        parts.append(f'<text x="{at:.1f}" y="268" text-anchor="middle">{short(x)}</text>')
    parts.append(f'<text class="data" x="380" y="286" text-anchor="end">{escape(axes[0])}</text>')
    labels: list[tuple[float, str, str]] = []
    for (name, points), dash in zip(series.items(), DASHES, strict=False):
        found = [(60 + place(x, xs, 320), 250 - place(y, ys, 220)) for x, y in points]
        ours = " ours" if name.startswith("jelly") else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in found)
        parts.append(f'<polyline class="line{ours}" stroke-dasharray="{dash}" points="{path}"/>')
        labels.append((found[-1][1] + 4, f"{found[-1][0] + 6:.1f}", name))
    last = 0.0
    for y_label, x_label, name in sorted(labels):
        last = max(y_label, last + 13)
        parts.append(f'<text x="{x_label}" y="{last:.1f}">{escape(name)}</text>')
    return f'<svg class="speed" role="img" aria-label="{escape(title)}" viewBox="0 0 540 290">{"".join(parts)}</svg>'


def short(value: float) -> str:
    """A number for an axis: 20k, 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def more(known: dict[str, Any]) -> str:
    """The charts that are not rates of each data set: sizes, growth, threads, memory.

    Parameters
    ----------
    known : dict
        All figures.

    Returns
    -------
    str
        Markdown.
    """
    text = ""
    if sizes := known.get("sizes"):
        rows = []
        for one in sizes:
            way = "" if one["compression"] == "plain" else f" {one['compression']}"
            rows.append((one["data"], f"{one['kind']}{way}".replace("Jelly", "jelly", 1), one["bytes"]))
        text += chart("Sizes", rows, "Bytes a statement (less is better). Parquet is compressed inside, with zstd.")
    if growth := known.get("growth"):
        series: dict[str, list[tuple[float, float]]] = {}
        for one in growth:
            series.setdefault(one["who"], []).append((one["statements"], one["statements/s"]))
        axes = "statements in the input", "statements per second"
        text += "## More statements\n\nSpeed does not depend on the size of the input, once it is more than a message."
        text += "\n\n" + curve("Statements per second by the size of the input", series, axes, logs=True) + "\n\n"
    if threads := known.get("threads"):
        rows = [
            (one["work"], f"{one['who']}, {one['cores']} core{'s'[: one['cores'] - 1]}", one["statements/s"] / 1e6)
            for one in sorted(threads, key=lambda one: (one["work"], one["who"], one["cores"]))
        ]
        text += chart(
            "One core and two", rows,
            "A million statements; million statements/s. jelly reads a file with an index and writes one, Parquet is "
            "read by pyarrow, pyoxigraph's is `Store.bulk_load`. Readers with one thread gain none and are not here.",
        )  # fmt: skip
    if memory := known.get("memory"):
        series = {f"jelly, {one['way']}": [(x, y / 2**20) for x, y in one["samples"]] for one in memory}
        millions = memory[0]["statements"] // 10**6
        text += f"## Memory\n\nConverting {millions} million statements, each block of them with new terms. "
        text += "[The soak](soak.md) has longer runs.\n\n"
        text += curve("Memory over time", series, ("seconds", "MiB resident"), logs=False) + "\n\n"
    return text + searching(known) + verbs(known)


def searching(known: dict[str, Any]) -> str:
    """What filters in the index are good for.

    Parameters
    ----------
    known : dict
        All figures.

    Returns
    -------
    str
        Markdown.
    """
    found = known.get("search")
    if not found:
        return ""
    millions = found[0]["statements"] // 10**6
    rows = [
        (f"{millions} million, {one['order']}", f"jelly, {what}", one[key] * 1e3)
        for one in found for what, key in (("median", "seconds"), ("the slowest of 25", "most"))
    ]  # fmt: skip
    shares = " and ".join(f"{one['share']:.1%}" for one in found)
    speeds = " and ".join(f"{one['statements'] / one['index'] / 1e6:.1f}" for one in found)
    text = chart(
        "Find one subject", rows,
        "Milliseconds until all ten statements of a subject are found, with the file open and filters of terms in its "
        "index (less is better). Sorted: by subject; mixed: each subject in one place of its own. The filters take "
        f"{shares} of the files, and `jelly index --terms` makes them at {speeds} million statements/s.",
    )  # fmt: skip
    if spark := known.get("search on Spark"):
        names = {"one row": "a file of one row", "jelly": "jelly, with filters", "parquet": "Parquet, sorted"}
        rows = [(f"{millions} million, sorted", names[one["who"]], one["seconds"]) for one in spark]
        text += chart(
            "Find one subject on Spark", rows,
            "Seconds of a whole query (less is better). That of a file of one row is what Spark and its Python workers "
            "take.",
        )  # fmt: skip
    return text


def verbs(known: dict[str, Any]) -> str:
    """What is done from files to files.

    Parameters
    ----------
    known : dict
        All figures.

    Returns
    -------
    str
        Markdown.
    """
    found = known.get("verbs")
    if not found:
        return ""
    millions = found[0]["statements"] // 10**6
    rows = [
        (f"{millions} million quads", f"{one['what']}, {one['bytes'] / 2**20:.0f} MiB", one["seconds"])
        for one in found if "convert" not in one["what"]
    ]  # fmt: skip
    made = [f" `jelly convert` makes these in {one['seconds']:.0f} s." for one in found if "convert" in one["what"]]
    return chart(
        "Sort", rows,
        "Seconds, and the most memory (less is better). `jelly sort` reads and writes Jelly; GNU sort (`LC_ALL=C`, "
        f"with as much memory) sorts the lines of the same statements as N-Quads.{''.join(made)}",
    )  # fmt: skip


def losses(known: dict[str, Any]) -> str:
    """Lines that name where the figures show another to be better.

    Parameters
    ----------
    known : dict
        All figures.

    Returns
    -------
    str
        Markdown.
    """
    lines = []
    sizes = {(one["data"], one["kind"], one["compression"]): one["bytes"] for one in known.get("sizes", ())}
    for kind, way in dict.fromkeys((kind, way) for _, kind, way in sizes if kind != "Jelly"):
        # Parquet and HDT are compressed as they are.
        other = "zstd" if kind in ("Parquet", "HDT") else way
        found = [
            f"{data} ({size:.2f} against {sizes[data, 'Jelly', other]:.2f} bytes a statement)"
            for (data, name, one), size in sizes.items()
            if (name, one) == (kind, way) and size < sizes[data, "Jelly", other]
        ]
        if found:
            compressed = "" if way == "plain" else f" with {way}"
            lines.append(f"- {kind}{compressed} is smaller than Jelly with {other} for {', '.join(found)}.")
    rates = {(one["work"], one["data"], one["who"]): one["statements/s"] for one in known["results"]}
    for (work, data, who), rate in rates.items():
        ours = OURS.get(work, "")
        mine = rates.get((work, data, ours))
        if who in RIVALS and mine is not None and mine < rate:
            lines.append(f"- {TITLES[work]}, {data}: {who} is {rate / mine:.1f} times as fast as `{ours}`.")
    spark = {one["who"]: one["seconds"] for one in known.get("search on Spark", ())}
    if spark and spark["parquet"] < spark["jelly"]:
        lines.append(
            f"- On Spark a subject is found in sorted Parquet in {spark['parquet']:.2f} s, in Jelly with filters in "
            f"{spark['jelly']:.2f} s; {spark['one row']:.2f} s of that are Spark and its Python workers, which Parquet "
            "does not need."
        )
    taken = {one["what"]: one["seconds"] for one in known.get("verbs", ())}
    if taken and taken["GNU sort"] < taken["jelly sort"]:
        seconds = f"{taken['GNU sort']:.0f} s for what `jelly sort` does in {taken['jelly sort']:.0f} s"
        lines.append(f"- GNU sort, which knows lines only, takes {seconds}.")
    return "\n".join(lines)


def rounded(value: float) -> str:
    """A figure of a chart; README and its picture have no more digits."""
    return f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"


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
                f'<rect class="bar{ours}" x="180" y="{y + 2}" width="{width:.0f}" height="14" rx="2"/>'
                f'<text x="{186 + width:.0f}" y="{y + 13}">{rounded(value)}</text>'
            )
            y += 19
        y += 8
    whos = list(dict.fromkeys(who for _, who, _ in rows))
    values = {(data, who): value for data, who, value in rows}
    lines = [["", *names], ["---", *["---:"] * len(names)]]
    for who in whos:
        bold = "**" if who.startswith("jelly") else ""
        cells = [values.get((name, who)) for name in names]
        lines.append([f"{bold}{who}{bold}", *("" if cell is None else rounded(cell) for cell in cells)])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    svg = f'<svg class="speed" role="img" aria-label="{escape(title)}" viewBox="0 0 500 {y}">{"".join(parts)}</svg>'
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
            width = max(1, round(280 * found[data, name] / most))
            ours = ' class="o"' if title == "jelly" else ""
            parts.append(
                f'<text x="160" y="{y + 14}">{title}</text>'
                f'<rect x="300" y="{y + 3}" width="{width}" height="14"{ours}/>'
                f'<text x="{306 + width}" y="{y + 14}">{found[data, name]:.1f}</text>'
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
        unit = "Microseconds a message (less is better)." if small else "Million statements/s."
        figures += chart(title, rows, f"{NOTES[work]} {unit}" if work in NOTES else unit)
    figures += more(known)
    about = known["machine"]
    rounds = f" Medians of {about['rounds']} rounds, {about['clock']}." if "rounds" in about else ""
    versions = ", ".join(f"{name} {number}" for name, number in about.get("packages", {}).items())
    machine = about.get("note") or f"Python {about['python']}, {about['processors']} processors; {versions}.{rounds}"
    numbers = about.get("packages", {})
    peers = "| | version | call |\n| --- | --- | --- |\n"
    peers += "".join(f"| {name} | {numbers.get(package, '')} | {call} |\n" for name, package, call in CALLS)
    return TEXT.format(figures=figures, machine=machine, losses=losses(known), peers=peers)


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
