"""The page of limits, docs/limits.md, which is made of `SETTABLE` in `jelly._options.limits` and of `FIXED` in
`support.fixed_limits`.

``python -m support.limits``, in the folder tests, writes the page.
"""

from __future__ import annotations

from itertools import groupby

from jelly._options.limits import SETTABLE
from support.fixed_limits import FIXED, ROOT, constants, value_of

PAGE = ROOT / "docs" / "limits.md"
START = """\
# Limits

Whatever the input is, it takes no more memory, time and depth than these limits allow; beyond them there is a
`JellyLimitError`, which is also a `ValueError` and names the keyword to raise, if there is one. This page is made from
tables of all limits, and the tests compare the tables with the code.

## Limits that can be set

As keywords of `jelly.Reader` and of all functions that read, as options of the command, and as options of the data
sources of Spark (`maxLineBytes` for `max_line_bytes`). A limit that *follows the file* is raised to 16 times the size
of a file that is read, so that what was written with defaults can be read.

| keyword | default | maximum | where |
| --- | --- | --- | --- |
"""
MIDDLE = """
## Limits that are fixed
"""
# How the page calls the parts of the package, by the start of their paths.
PARTS = {
    "_core/jelly": "Jelly",
    "_core/jena": "RDF Thrift and RDF Protobuf",
    "_core/arrow": "Tables",
    "_core/boundaries": "Turtle, TriG, RDF/XML, JSON-LD and N3",
    "_core/results": "Query results in JSON, XML and TSV",
    "_core": "All formats",
    "_formats/index": "Jelly",
    "_formats/filters": "Jelly",
    "_formats/arrow_tables": "Tables",
    "_formats": "Turtle, TriG, RDF/XML, JSON-LD and N3",
    "_formats/guards": "Turtle, TriG, RDF/XML, JSON-LD and N3",
    "_bytes": "All formats",
    "_streams": "All formats",
    "_options": "Jelly",
    "_dataset": "Jelly",
    "_tools": "Message logs",
    "messages": "Message logs",
    "spark": "Spark",
    "rdflib": "Queries",
    "stats": "Statistics",
    "kafka": "Kafka",
    "grpc": "gRPC",
}


def part(place: str) -> str:
    return next(title for start, title in PARTS.items() if place.startswith(start))


def number(value: int, unit: str) -> str:
    """A number for people: bytes in units of 1024."""
    if unit == "bytes":
        for power, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
            if value % (1 << power) == 0:
                return f"{value >> power:,} {name}"
    return f"{value:,} {'times' if unit == 'factor' else unit}"


def page() -> str:
    lines = [
        f"| `{one.name}` | {number(one.default, one.unit)} | {one.of} | {one.formats}"
        f"{'; follows the file' if one.fits else ''} |"
        for one in SETTABLE
    ]
    text = START + "\n".join(lines) + "\n" + MIDDLE
    values = constants()
    rows = sorted(FIXED, key=lambda one: list(PARTS.values()).index(part(one.place)))
    for title, group in groupby(rows, key=lambda one: part(one.place)):
        text += f"\n### {title}\n\n| maximum | of | because |\n| --- | --- | --- |\n"
        for one in group:
            text += f"| {number(value_of(values[one.place]), one.unit)} | {one.of} | {one.why} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
