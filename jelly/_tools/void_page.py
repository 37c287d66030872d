"""A `Description` as a page of HTML with pictures, which needs nothing from elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jelly._html import escaped
from jelly._options.namespaces import shortened

if TYPE_CHECKING:
    from jelly._tools.describe import Description, GraphDescription

_ROWS, _NODES, _ARROWS, _LABEL = 30, 14, 60, 40  # bars, classes and links of the picture, characters of a label
_STYLE = (
    "body{font:14px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "body{color:#222;background:#fff}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.15rem .6rem;text-align:right}"
    "td:first-child,th:first-child{text-align:left;overflow-wrap:anywhere}"
    "th{border-bottom:1px solid #999}svg{max-width:100%;height:auto}text{font:12px system-ui,sans-serif;fill:#222}"
)


def page(found: Description) -> str:
    """The page of `Description.to_html`."""
    labels = _labels(found)
    parts = [f"<h1>{escaped(found.title)}</h1><p>{escaped(found.iri)}</p>", _graph(found.graph, labels)]
    for name, graph in found.graphs.items() if len(found.graphs) <= _ROWS else ():
        parts.append(f"<details><summary>Graph {escaped(name)}</summary>{_graph(graph, labels)}</details>")
    if len(found.graphs) > _ROWS:
        rows = {name: (graph.triples, graph.subjects) for name, graph in found.graphs.items()}
        parts.append(_bars("Graphs", ("graph", "triples", "subjects"), rows, str))
    head = f'<meta charset="utf-8"><title>{escaped(found.title)}</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _labels(found: Description) -> Callable[[str], str]:
    def label(iri: str) -> str:
        text = shortened(iri, found.namespaces)
        text = text if len(text) <= _LABEL else text[: _LABEL - 1] + "\N{HORIZONTAL ELLIPSIS}"
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)

    return label


def _graph(graph: GraphDescription, label: Callable[[str], str]) -> str:
    told = {
        "triples": graph.triples, "subjects": graph.subjects, "objects": graph.objects, "classes": graph.n_classes,
        "properties": len(graph.properties),
    }  # fmt: skip
    facts = ", ".join(f"{n:,} {name}" for name, n in told.items())
    links: Counter[str] = Counter()
    for sources in graph.linksets.values():
        for source, targets in sources.items():
            links.update({f"{source} \N{RIGHTWARDS ARROW} {target}": n for target, n in targets.items()})
    classes = {name: (one.entities, len(one.properties)) for name, one in graph.classes.items()}
    properties = {name: (one.triples, one.subjects, one.objects) for name, one in graph.properties.items()}
    return (
        f"<p>{facts}</p>"
        + _bars("Classes", ("class", "instances", "properties"), classes, label)
        + _picture(graph, label)
        + _bars("Properties", ("property", "triples", "subjects", "objects"), properties, label)
        + _bars("Links of namespaces", ("namespaces", "triples"), {name: (n,) for name, n in links.items()}, str)
    )


def _bars(
    title: str, head: tuple[str, ...], rows: Mapping[str, tuple[int, ...]], label: Callable[[str], str]
) -> str:
    """A table of the largest, each with a bar."""
    if not rows:
        return ""
    top = sorted(rows.items(), key=lambda item: (-item[1][0], item[0]))[:_ROWS]
    most = top[0][1][0] or 1
    lines = ["<tr>" + "".join(f"<th>{name}</th>" for name in head) + "<th></th></tr>"]
    for name, numbers in top:
        rect = f'<rect width="{200 * numbers[0] / most:.1f}" height="12" fill="#4c78a8"/>'
        picture = f'<svg width="200" height="12">{rect}</svg>'
        cells = "".join(f"<td>{n:,}</td>" for n in numbers)
        lines.append(f'<tr><td title="{escaped(name)}">{escaped(label(name))}</td>{cells}<td>{picture}</td></tr>')
    more = f"<p>and {len(rows) - len(top):,} more</p>" if len(rows) > len(top) else ""
    return f"<h2>{title} ({len(rows):,})</h2><table>{''.join(lines)}</table>{more}"


def _picture(graph: GraphDescription, label: Callable[[str], str]) -> str:
    """The largest classes on a circle, with arrows for the links between them."""
    names = sorted(graph.classes, key=lambda name: (-graph.classes[name].entities, name))[:_NODES]
    links: Counter[tuple[str, str]] = Counter()
    by: dict[tuple[str, str], list[str]] = {}
    for source in names:
        for property, one in graph.classes[source].properties.items():
            for target, n in one.classes.items():
                if target in names:
                    links[source, target] += n
                    by.setdefault((source, target), []).append(f"{label(property)}: {n:,}")
    if not links:
        return ""
    turn = 2 * math.pi / len(names)
    places = {
        name: (400 + 230 * math.sin(turn * number), 290 - 230 * math.cos(turn * number))
        for number, name in enumerate(names)
    }
    drawn = []
    for (source, target), n in links.most_common(_ARROWS):
        (x, y), (to_x, to_y) = places[source], places[target]
        width = 1 + 4 * math.log1p(n) / math.log1p(max(links.values()))
        if source == target:
            path = f"M{x - 8:.0f} {y:.0f}C{x - 40:.0f} {y - 55:.0f} {x + 40:.0f} {y - 55:.0f} {x + 8:.0f} {y:.0f}"
        else:  # bent, so that both directions are seen
            bend_x, bend_y = (x + to_x) / 2 + (to_y - y) / 8, (y + to_y) / 2 - (to_x - x) / 8
            path = f"M{x:.0f} {y:.0f}Q{bend_x:.0f} {bend_y:.0f} {to_x:.0f} {to_y:.0f}"
        tip = escaped(f"{label(source)} \N{RIGHTWARDS ARROW} {label(target)}\n" + "\n".join(by[source, target][:_ROWS]))
        drawn.append(
            f'<path d="{path}" fill="none" stroke="#999" stroke-width="{width:.1f}" stroke-opacity=".6"'
            f' marker-end="url(#tip)"><title>{tip}</title></path>'
        )
    for name, (x, y) in places.items():
        side = "start" if x > 410 else "end" if x < 390 else "middle"
        down = 4 if side != "middle" else 24 if y > 290 else -16
        at = x + (14 if side == "start" else -14 if side == "end" else 0), y + down
        drawn.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="9" fill="#4c78a8"><title>{escaped(name)}</title></circle>'
            f'<text x="{at[0]:.0f}" y="{at[1]:.0f}" text-anchor="{side}">{escaped(label(name))}</text>'
        )
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="16" refY="4" markerWidth="10" markerHeight="10"'
        ' markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>'
    )
    return f'<h2>Links of classes</h2><svg viewBox="-110 0 1020 580" role="img">{tip}{"".join(drawn)}</svg>'
