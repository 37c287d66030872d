"""The progress bar and tables, drawn by rich, which only this module imports."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from jelly._options.options import StreamOptions
from jelly._tools.inspect import Inspection
from jelly.errors import MissingExtraError
from jelly.stats import Counts, ResultStats, Stats

try:
    from rich import box
    from rich.bar import Bar
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        SpinnerColumn,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column, Table
    from rich.text import Text
except ImportError as _error:
    raise MissingExtraError(
        f"the command needs the {_error.name} package: python -m pip install 'jelly-rdf[cli]'"
    ) from None

__all__ = [
    "progress", "show_inspection", "show_patches", "show_report", "show_result_stats", "show_stats", "show_table",
]  # fmt: skip

# No bar is shown for work that is done sooner.
PATIENCE = 0.5


@contextlib.contextmanager
def progress(what: str, in_bytes: bool = False) -> Iterator[Callable[[int, int | None, int | None], object]]:
    """A bar on standard error that disappears at the end; a spinner if the size is unknown."""
    began = time.monotonic()
    bar: Progress | None = None
    task: TaskID | None = None

    def update(done: int, total: int | None, statements: int | None) -> None:
        nonlocal bar, task
        if bar is None or task is None:
            if time.monotonic() - began < PATIENCE:
                return
            # The estimate counts all of a job: its tasks may end minutes apart.
            columns = _columns(total, in_bytes)
            bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=86400)
            task = bar.add_task(what, total=total)
            bar.start()
        counts = ""
        if statements is not None:
            rate = statements / max(time.monotonic() - began, 1e-9) / 1e6
            counts = f": {statements:,} statements, {rate:.2f} M/s"
        # Also the total: several files are read one after the other.
        bar.update(task, completed=done, total=total, description=what + counts)

    try:
        yield update
    finally:
        if bar is not None:
            bar.stop()


def _columns(total: int | None, in_bytes: bool) -> list[Any]:
    text = TextColumn("{task.description}", markup=False)
    if not total:
        return [SpinnerColumn(), text]
    sizes = [DownloadColumn()] if in_bytes else []
    share = TextColumn("{task.percentage:>3.0f}%")
    return [BarColumn(bar_width=30), share, *sizes, text, TimeRemainingColumn(compact=True)]


def show_table(head: list[str], rows: list[list[str]]) -> None:
    """A table on standard output: a column of names, columns of numbers."""
    table = Table(
        head[0], *map(_number, head[1:]), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False
    )
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def show_report(report: dict[str, Any]) -> None:
    """Print the results of a job as a table on standard output."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(justify="right", overflow="fold")
    for name, value in report.items():
        if isinstance(value, str):
            table.add_row(name, Text(value))
            continue
        shown = len(value) if isinstance(value, list) else value
        text = f"{shown:,.2f}" if isinstance(shown, float) and shown < 100 else f"{shown:,.0f}"
        table.add_row(name.replace("_", " ").replace(" per ", "/"), text)
    Console().print(table)


def show_inspection(name: str, found: Inspection) -> None:
    """Tables on standard output."""
    console = Console()
    console.print(_options_table(name, found))
    console.print(_rows_table(found))
    if found.parts:
        console.print(_parts_table(found))
    if found.metadata:
        table = Table("metadata key", _number("frames"))
        for key, n in found.metadata.items():
            table.add_row(Text(key), f"{n:,}")
        console.print(table)
    if found.frames:
        console.print(_frames_table(found))


def show_patches(name: str, found: dict[str, Any]) -> None:
    """Lines on standard output: the options, the index and each patch."""
    n = len(found["patches"])
    print(f"{name}: {found['format']}, {n} patch{'es' * (n != 1)}")
    for key, value in (found["options"] or {}).items():
        print(f"  {key}: {getattr(value, 'name', value)}")
    if found["index"] is not None:
        print("  index: {keyframes} keyframes, {patches} patches, {operations} operations".format(**found["index"]))
    for number, one in enumerate(found["patches"]):
        print(f"patch {number}: " + (", ".join(f"{n} {kind}" for kind, n in one["rows"].items()) or "empty"))
        for key, value in one["headers"]:
            print(f"  {key}: {value}")


def _number(name: str) -> Column:
    return Column(name, justify="right")


def _options_table(name: str, found: Inspection) -> Table:
    options = found.options
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    compressed = f" ({found.bytes_read:,} in the file)" if found.bytes_read != found.bytes else ""
    frames = f"{found.n_frames:,}" + ("" if found.delimited else ", not delimited")
    lines = {
        "file": name,
        "format": found.format if options is None else "",
        "stream name": getattr(options, "stream_name", ""),
        "bytes": f"{found.bytes:,}{compressed}",
        "filters of terms": f"{found.filter_bytes:,} bytes" if found.filter_bytes else "",
        "frames": frames if options is not None or found.n_frames else "",
        "statements": f"{found.statements:,}",
        **{
            field.removesuffix("_type").replace("_", " ") + " type": getattr(options, field).name
            for field in ("physical_type", "logical_type", "statement_type", "stream_type")
            if hasattr(options, field)
        },
    }
    if options is not None:
        on = [flag for flag in ("generalized_statements", "rdf_star") if getattr(options, flag)]
        tables = (options.max_name_table_size, options.max_prefix_table_size, options.max_datatype_table_size)
        lines |= {
            "allowed": ", ".join(on) or "neither generalized statements nor rdf_star",
            "tables": "{:,} names, {:,} prefixes, {:,} datatypes".format(*tables),
            "version": str(options.version),
        }
    if isinstance(options, StreamOptions) and options.version == 3:
        lines |= {"numbering": options.numbering, "RDF version": options.rdf_version}
    for key, value in lines.items():
        if value:
            table.add_row(key, Text(value))
    return table


def _rows_table(found: Inspection) -> Table:
    if not any(found.row_bytes.values()):
        table = Table("rows", _number("number"))
        for kind, number in found.rows.items():
            table.add_row(kind.replace("_", " "), f"{number:,}")
        return table
    table = Table("rows", _number("number"), _number("bytes"), _number("share"), _number("bytes a row"))
    for kind, number in found.rows.items():
        size = found.row_bytes[kind]
        if number:
            share = f"{size / found.bytes:.1%}"
            table.add_row(kind.replace("_", " "), f"{number:,}", f"{size:,}", share, f"{size / number:.1f}")
    rest = found.bytes - sum(found.row_bytes.values()) - found.metadata_bytes
    for what, size in (("metadata", found.metadata_bytes), ("framing", rest)):
        if size:
            table.add_row(what, "", f"{size:,}", f"{size / found.bytes:.1%}", "", style="dim")
    return table


def _parts_table(found: Inspection) -> Table:
    table = Table("part", _number("number"), _number("bytes"), _number("share"), "")
    most = max(found.part_bytes.values())
    for part, number in found.parts.items():
        size = found.part_bytes[part]
        bar = Bar(most, 0, size, width=20)
        table.add_row(part, f"{number:,}", f"{size:,}", f"{size / found.bytes:.1%}", bar)
    return table


def _frames_table(found: Inspection) -> Table:
    graphs = ("graphs",) if "graph_start" in found.rows else ()
    names = ("frame", "offset", "bytes", "statements", *graphs, "names", "prefixes", "datatypes")
    table = Table(*map(_number, names), "metadata")
    for frame in found.frames:
        numbers = (frame.index, frame.offset, frame.bytes, frame.statements)
        rows = (frame.rows[kind] for kind in ("graph_start", "name", "prefix", "datatype") if kind in frame.rows)
        metadata = ", ".join(f"{key}={value}" for key, value in frame.metadata.items())
        table.add_row(*(f"{n:,}" for n in (*numbers, *rows)), Text(metadata))
    return table


def show_stats(name: str, found: Stats) -> None:
    """Tables on standard output."""
    console = Console()
    more = "or more: the rest is not told apart"
    head = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    head.add_column(style="dim")
    head.add_row("file", Text(name))
    head.add_row("statements", f"{found.statements:,}")
    head.add_row("subjects", f"{found.subjects:,} {more if found.subjects_folded else ''}")
    head.add_row("nodes as objects", f"{found.objects:,} {more if found.objects_folded else ''}")
    console.print(head)
    every = ("iri", "bnode", "literal", "triple", "variable", "any", "default")
    kinds = [kind for kind in every if any(kind in numbers for numbers in found.terms.values())]
    table = Table("position", *map(_number, kinds))
    for position, numbers in found.terms.items():
        table.add_row(position, *(f"{numbers[kind]:,}" if kind in numbers else "" for kind in kinds))
    console.print(table)
    for title in ("predicates", "classes", "graphs", "datatypes", "languages"):
        counts: Counts = getattr(found, title)
        if counts.distinct:
            console.print(_counts_table(title, counts))
    distributions = {"statements": (found.degrees, found.in_degrees, found.runs), "bytes": (found.literal_bytes,)}
    for what, columns in distributions.items():
        names = ("subjects", "nodes as objects", "runs of a subject") if what == "statements" else ("literals",)
        table = Table(_number(what), *map(_number, names))
        for low in sorted(set().union(*columns)):
            span = f"{low:,} to {2 * low - 1:,}" if low > 1 else str(low)
            table.add_row(span, *(f"{column.get(low, 0):,}" for column in columns))
        if any(columns):
            console.print(table)


def show_result_stats(name: str, found: ResultStats) -> None:
    """Tables on standard output."""
    console = Console()
    head = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    head.add_column(style="dim")
    head.add_row("file", Text(name))
    head.add_row("rows", f"{found.rows:,}")
    console.print(head)
    odd = [kind for kind in ("variable", "any") if any(kind in about.kinds for about in found.variables.values())]
    kinds = ("iri", "bnode", "literal", "triple", *odd)
    table = Table("variable", *map(_number, ("bound", "unbound", "different", *kinds)))
    for variable, about in found.variables.items():
        numbers = (about.bound, about.unbound, about.values.distinct, *(about.kinds.get(kind, 0) for kind in kinds))
        table.add_row(Text(variable), *(f"{n:,}" for n in numbers))
    console.print(table)
    for variable, about in found.variables.items():
        if about.values.top:
            console.print(_counts_table(_printable(variable), about.values))


def _counts_table(title: str, counts: Counts) -> Table:
    table = Table(Column(Text(f"{title} ({counts.distinct:,})"), overflow="fold"), _number("number"), _number("share"))
    for name, n in counts.top.items():
        table.add_row(Text(_printable(name)), *_shares(n, counts))
    if counts.other:
        others = f"{counts.distinct - len(counts.top):,} others"
        if counts.folded:
            others = f"over {others}; {counts.folded:,} of these were not told apart"
        table.add_row(others, *_shares(counts.other, counts), style="dim")
    return table


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _shares(n: int, counts: Counts) -> tuple[str, str]:
    return f"{n:,}", f"{n / counts.total:.1%}"
