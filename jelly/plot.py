"""Plots of `jelly.stats` in one figure. Only this module imports matplotlib."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

from jelly._bytes.sink import Sink
from jelly._options.settings import checked
from jelly._public import name_public
from jelly.errors import JellyError, need
from jelly.stats import Counts, Stats

with need("plot", "pictures need the matplotlib package"):
    # Without pyplot: no window, no display, no global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import NullLocator

__all__ = ["plot_stats"]

_BARS = 12
_LABEL, _TITLE = 34, 100  # characters
_INK, _DIM, _GRID, _LINE = "#22303c", "#66757f", "#e3e8ec", "#c3ccd3"


@checked()
def plot_stats(found: Stats, path: str | os.PathLike[str], title: str = "") -> None:
    """Plot ``found``, the result of `jelly.stats.stats`, to a file, with ``title`` above the plots.

    The suffix of ``path`` chooses PNG, SVG or PDF; another one is a JellyError.

    Examples
    --------
    >>> import jelly.plot, jelly.stats, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.png")
    >>> jelly.plot.plot_stats(jelly.stats.stats(b'<a:s> <a:p> "o" .', format="nt"), path)
    >>> os.path.getsize(path) > 10000
    True
    """
    suffix = check_suffix(path)
    figure = _draw(found, title)
    picture = io.BytesIO()
    with warnings.catch_warnings():
        # Characters that the font does not have are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(picture, format=suffix[1:], dpi=140)
    with Sink(path) as sink:
        sink.write(picture.getvalue())


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a file in lower case; JellyError if it is not the suffix of a format that can be plotted."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in (".png", ".svg", ".pdf"):
        raise JellyError(f"cannot draw into {os.fspath(path)}: expected the suffix .png, .svg or .pdf")
    return suffix


def _draw(found: Stats, title: str) -> Figure:
    bars: list[tuple[str, Counts, str]] = [
        ("Predicates", found.predicates, "#2f6f9f"),
        ("Classes", found.classes, "#3b8f6e"),
        ("Datatypes", found.datatypes, "#b9722d"),
        ("Languages", found.languages, "#8a5a9e"),
    ]
    if found.graphs.distinct > 1:
        bars.append(("Graphs", found.graphs, "#a8485c"))
    bars = [(name, counts, colour) for name, counts, colour in bars if counts.distinct]
    whole = not found.subjects_folded
    curves: list[tuple[str, dict[int, int], str, str, str]] = [
        ("How many statements a subject has" if whole else "Statements in a row with the same subject",
         found.degrees if whole else found.runs, "statements", "subjects" if whole else "runs", "#2f6f9f"),
        ("How often an IRI or blank node is an object",
         {} if found.objects_folded else found.in_degrees, "statements", "objects", "#3b8f6e"),
        ("Length of literals", found.literal_bytes, "bytes of UTF-8", "literals", "#b9722d"),
    ]  # fmt: skip
    curves = [curve for curve in curves if curve[1]]
    # A chart that is alone in the last line takes the full width.
    pairs = [group[i : i + 2] for group in (bars, curves) for i in range(0, len(group), 2)]
    # Charts side by side get the same number of lines, so that all bars have the same thickness.
    lines = [max(3, *(min(counts.distinct, _BARS) for _, counts, _ in bars[i : i + 2])) for i in range(0, len(bars), 2)]
    heights = [0.27 * n + 0.6 for n in lines] + [3.2] * (-(-len(curves) // 2))
    layout = ConstrainedLayoutEngine(w_pad=0.18, h_pad=0.12)
    figure = Figure(figsize=(13, sum(heights) + 1.1 if heights else 2), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    numbers = f"{found.statements:,} statements, {'' if whole else 'over '}{found.subjects:,} subjects"
    for name, counts, _ in bars:
        if name in ("Predicates", "Classes", "Graphs"):
            numbers += f", {'over ' if counts.folded else ''}{counts.distinct:,} {name.lower()}"
    heading = f"{_cut(title, _TITLE)}\n{numbers}" if title else numbers
    figure.suptitle(heading, fontsize=13, color=_INK, parse_math=False, linespacing=1.5)
    if heights:
        charts = figure.subplot_mosaic([[pair[0][0], pair[-1][0]] for pair in pairs], height_ratios=heights)
        for i, bar in enumerate(bars):
            _bar_chart(charts[bar[0]], *bar, found, lines[i // 2])
        for curve in curves:
            _distribution(charts[curve[0]], *curve)
    return figure


def _clean(axes: Any, title: str, along: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=_INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_LINE)
    axes.tick_params(colors=_DIM, labelsize=8.5, length=0)
    axes.grid(axis=along, color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def _bar_chart(axes: Any, title: str, counts: Counts, colour: str, found: Stats, lines: int) -> None:
    shown = list(counts.top.items())[:_BARS]
    labels = _labels([name for name, _ in shown], found)
    values = [n for _, n in shown]
    bars = axes.barh(range(len(values)), values, color=colour, height=0.72)
    axes.set_yticks(range(len(values)), labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    _clean(axes, title, "x")
    axes.tick_params(axis="y", labelcolor=_INK)
    axes.bar_label(bars, [f"{n:,}" for n in values], padding=4, fontsize=8, color=_DIM)
    axes.margins(x=0.14)
    axes.set_ylim(lines - 0.5, -0.5)
    if rest := counts.total - sum(values):
        # As text: its bar would often be much longer than all others.
        others = f"{'over ' if counts.folded else ''}{counts.distinct - len(shown):,} others: {rest:,}"
        axes.set_title(others, loc="right", fontsize=8.5, color=_DIM)
    axes.xaxis.set_major_locator(NullLocator())
    axes.spines["bottom"].set_visible(False)


def _labels(names: list[str], found: Stats) -> list[str]:
    """Short names, or longer names if two would be equal."""
    short = [found.shorten(name) for name in names]
    short = [name if short.count(label) > 1 else label for name, label in zip(names, short, strict=True)]
    return [_cut("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in label)) for label in short]


def _cut(label: str, most: int = _LABEL) -> str:
    if len(label) <= most:
        return label
    half = most // 2
    return f"{label[: half - 1]}\N{HORIZONTAL ELLIPSIS}{label[-half:]}"


def _distribution(axes: Any, title: str, powers: dict[int, int], what: str, of: str, colour: str) -> None:
    """Bars from each power of two to the next, both axes logarithmic; the bar of 0 comes before 1."""
    lows = list(powers)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.bar(
        [low or 0.5 for low in lows], list(powers.values()), width=[(low or 0.5) * 0.94 for low in lows],
        align="edge", color=colour,
    )  # fmt: skip
    end = 2 * max(lows[-1], 1)
    ticks = [0.5] * (0 in powers) + [1 << i for i in range(end.bit_length())]
    step = 1 + len(ticks) // 12
    axes.set_xticks(ticks[::step], [_power(tick) for tick in ticks[::step]])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.set_xlim(0.46 if 0 in powers else 0.92, end * 1.08)
    axes.set_ylim(0.7, max(powers.values()) * 2)
    axes.set_xlabel(what, fontsize=9, color=_DIM)
    axes.set_ylabel(of, fontsize=9, color=_DIM)
    _clean(axes, title, "y")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _power(tick: float) -> str:
    if tick < 1:
        return "0"
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if tick >= size:
            return f"{int(tick) // size} {unit}"
    return str(int(tick))


name_public(__name__, __all__, globals())
