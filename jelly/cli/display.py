"""The progress bar and tables, drawn by rich, which only this module imports."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import click

from jelly._options.options import COLUMN_VERSION
from jelly._options.spelling import printable
from jelly._tools.inspect import Inspection
from jelly.errors import MissingExtraError
from jelly.stats import Counts, ResultStats, Stats

try:
    from rich.bar import Bar
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column, Table
    from rich.text import Text
except ImportError:
    raise MissingExtraError("the command needs the rich package: python -m pip install 'jelly-rdf[cli]'") from None

# No bar is shown for work that is done sooner.
PATIENCE = 0.5


@contextlib.contextmanager
def progress(what: str, in_bytes: bool = False) -> Iterator[Callable[[int, int | None, int | None], object]]:
    """A bar on standard error that disappears at the end; a spinner if the size is unknown."""
    began = time.monotonic()
    # The estimate counts all of a job: its tasks may end minutes apart.
    bar = Progress(console=Console(stderr=True), transient=True, speed_estimate_period=86400)

    def update(done: int, total: int | None, statements: int | None) -> None:
        seconds = time.monotonic() - began
        if not bar.task_ids:
            if seconds < PATIENCE:
                return
            bar.columns = _columns(total, in_bytes)
            bar.add_task(what, total=total)
            bar.start()
        counts = ""
        if statements is not None:
            rate = statements / max(seconds, 1e-9) / 1e6
            counts = f": {statements:,} statements, {rate:.2f} M/s"
        # Also the total: several files are read one after the other.
        bar.update(bar.task_ids[0], completed=done, total=total, description=what + counts)

    try:
        yield update
    finally:
        if bar.task_ids:
            bar.stop()


def _columns(total: int | None, in_bytes: bool) -> tuple[Any, ...]:
    text = TextColumn("{task.description}", markup=False)
    if not total:
        return SpinnerColumn(), text
    sizes = [DownloadColumn()] if in_bytes else []
    share = TextColumn("{task.percentage:>3.0f}%")
    return BarColumn(bar_width=30), share, *sizes, text, TimeRemainingColumn(compact=True)


class _Console(Console):
    """Ends the command as other output that nobody reads does, instead of with exit code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _print(*tables: Table) -> None:
    console = _Console()
    for table in tables:
        console.print(table)


def _number(name: str) -> Column:
    return Column(name, justify="right", overflow="fold")


def _text(name: str) -> Column:
    return Column(name, overflow="fold")


def _facts(facts: Mapping[str, Any], **column: Any) -> Table:
    """Names and values, of a list its length; what is empty, or false, is left out."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold", **column)
    for name, value in facts.items():
        if isinstance(value, list):
            value = len(value)
        if isinstance(value, bool):
            text = "yes" * value
        elif isinstance(value, Enum):
            text = value.name
        elif isinstance(value, int | float):
            text = f"{value:,.2f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"
        else:
            text = value or ""
        if text:
            table.add_row(name.replace("_per_", "/").replace("_", " "), Text(printable(text)))
    return table


def _table(head: Sequence[str | Column], rows: Iterable[Sequence[Any]], dim: int = 0) -> Table:
    """Rows of a name and numbers; the last ``dim`` ones are dim."""
    columns = [
        name if isinstance(name, Column) else _number(name) if number else _text(name)
        for number, name in enumerate(head)
    ]
    table = Table(*columns)

    def cell(x: Any) -> Any:
        return f"{x:,}" if isinstance(x, int) else Text(printable(x)) if isinstance(x, str) else x

    made = [[*map(cell, row)] for row in rows]
    for number, row in enumerate(made):
        table.add_row(*row, style="dim" if number >= len(made) - dim else None)
    return table


def show_report(report: dict[str, Any]) -> None:
    """Print the results of a job as a table on standard output."""
    _print(_facts(report, justify="right"))


def _show_inspection(name: str, found: Inspection) -> None:
    """Tables on standard output."""
    _print(_facts(_about(name, found)), _rows(found))
    if found.parts:
        most = max(found.part_bytes.values())
        parts = [
            (part, number, size := found.part_bytes[part], f"{size / found.bytes:.1%}", Bar(most, 0, size, width=20))
            for part, number in found.parts.items()
        ]
        _print(_table(["part", "number", "bytes", "share", Column("")], parts))
    if found.metadata:
        _print(_table(["metadata key", "frames"], found.metadata.items()))
    if found.frames:
        graphs = ["graph_start"] if "graph_start" in found.rows else []
        kinds = [*graphs, "name", "prefix", "datatype"]
        head = ["offset", "bytes", "statements", *("graphs" for _ in graphs), "names", "prefixes", "datatypes"]
        frames = [
            (
                frame.index, frame.offset, frame.bytes, frame.statements,
                *(frame.rows[kind] for kind in kinds if kind in frame.rows),
                ", ".join(f"{key}={value}" for key, value in frame.metadata.items()),
            )
            for frame in found.frames
        ]
        _print(_table([_number("frame"), *head, _text("metadata")], frames))


def _show_patches(name: str, found: dict[str, Any]) -> None:
    """Lines on standard output: the options, the index and each patch."""
    n = len(found["patches"])
    lines = [f"{name}: {found['format']}, {n} patch{'es' * (n != 1)}"]
    lines += [f"  {key}: {value}" for key, value in (found["options"] or {}).items()]
    if found["index"] is not None:
        about = "  index: {keyframes} keyframes, {patches} patches, {operations} operations"
        lines.append(about.format(**found["index"]))
    for number, one in enumerate(found["patches"]):
        rows = ", ".join(f"{n} {kind}" for kind, n in one["rows"].items())
        lines.append(f"patch {number}: {rows or 'empty'}")
        lines += [f"  {key}: {value}" for key, value in one["headers"]]
    for line in lines:
        click.echo(printable(line))


def _about(name: str, found: Inspection) -> dict[str, Any]:
    options = found.options
    facts: dict[str, Any] = {
        "file": name,
        "format": found.format * (options is None),
        "bytes": f"{found.bytes:,}" + f" ({found.bytes_read:,} in the file)" * (found.bytes_read != found.bytes),
        "filters of terms": f"{found.filter_bytes:,} bytes" * bool(found.filter_bytes),
        "frames": f"{found.n_frames:,}" * bool(options or found.n_frames),
        "statements": found.statements,
    }
    if options is not None:
        facts["frames"] += ", not delimited" * (not found.delimited)
        of_columns = ("numbering", "rdf_version") if options.version != COLUMN_VERSION else ()
        facts |= {field: getattr(options, field) for field in options.__slots__ if field not in of_columns}
    return facts


def _rows(found: Inspection) -> Table:
    sizes = found.row_bytes
    if not any(sizes.values()):
        return _table(["rows", "number"], [(kind.replace("_", " "), number) for kind, number in found.rows.items()])
    rows: list[Any] = [
        (kind.replace("_", " "), number, sizes[kind], f"{sizes[kind] / found.bytes:.1%}", f"{sizes[kind] / number:.1f}")
        for kind, number in found.rows.items() if number
    ]  # fmt: skip
    rest = {"metadata": found.metadata_bytes, "framing": found.bytes - sum(sizes.values()) - found.metadata_bytes}
    others = [(what, "", size, f"{size / found.bytes:.1%}", "") for what, size in rest.items() if size]
    return _table(["rows", "number", "bytes", "share", "bytes a row"], rows + others, dim=len(others))


def show_all(found: list[tuple[str, Any]]) -> None:
    """The inspections of files, or what was found in files of patches."""
    for file, one in found:
        (_show_patches if isinstance(one, dict) else _show_inspection)(file, one)


def show_stats(name: str, found: Stats | ResultStats) -> None:
    """Tables on standard output."""
    if isinstance(found, ResultStats):
        _show_results(name, found)
        return
    more = " or more: the rest is not told apart"
    facts = {
        "file": name,
        "statements": found.statements,
        "subjects": f"{found.subjects:,}" + more * bool(found.subjects_folded),
        "nodes as objects": f"{found.objects:,}" + more * bool(found.objects_folded),
    }
    every = ("iri", "bnode", "literal", "triple", "variable", "any", "default")
    kinds = [kind for kind in every if any(kind in each for each in found.terms.values())]
    terms = [(position, *(numbers.get(kind, "") for kind in kinds)) for position, numbers in found.terms.items()]
    _print(_facts(facts), _table(["position", *kinds], terms))
    for title in ("predicates", "classes", "graphs", "datatypes", "languages"):
        counts: Counts = getattr(found, title)
        if counts.distinct:
            _print(_counts_table(title, counts))
    several = {"subjects": found.degrees, "nodes as objects": found.in_degrees, "runs of a subject": found.runs}
    for what, columns in (("statements", several), ("bytes", {"literals": found.literal_bytes})):
        lows = sorted(set().union(*columns.values()))
        if lows:
            spans = [f"{low:,} to {2 * low - 1:,}" if low > 1 else str(low) for low in lows]
            numbers = [[each.get(low, 0) for low in lows] for each in columns.values()]
            rows = list(zip(spans, *numbers, strict=True))
            _print(_table([_number(what), *columns], rows))


def _show_results(name: str, found: ResultStats) -> None:
    odd = [kind for kind in ("variable", "any") if any(kind in about.kinds for about in found.variables.values())]
    kinds = ("iri", "bnode", "literal", "triple", *odd)
    rows = [
        (
            variable, about.bound, about.unbound, about.values.distinct,
            *(about.kinds.get(kind, 0) for kind in kinds),
        )
        for variable, about in found.variables.items()
    ]
    facts = {"file": name, "rows": found.rows}
    _print(_facts(facts), _table(["variable", "bound", "unbound", "different", *kinds], rows))
    for variable, about in found.variables.items():
        if about.values.top:
            _print(_counts_table(printable(variable), about.values))


def _counts_table(title: str, counts: Counts) -> Table:
    rows: list[Any] = [(name, n, f"{n / counts.total:.1%}") for name, n in counts.top.items()]
    if counts.other:
        others = f"{counts.distinct - len(counts.top):,} others"
        if counts.folded:
            others = f"over {others}; {counts.folded:,} of these were not told apart"
        rows.append((others, counts.other, f"{counts.other / counts.total:.1%}"))
    head = Column(Text(f"{title} ({counts.distinct:,})"), overflow="fold")
    return _table([head, "number", "share"], rows, dim=int(bool(counts.other)))
