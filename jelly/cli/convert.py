"""The command ``jelly convert``."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict
from itertools import product
from typing import Any

import click

import jelly
from jelly._bytes.names import AsText, split_suffix
from jelly._dataset.dataset import Dataset
from jelly._dataset.sources import expand
from jelly._dataset.steps.order import MEMORY
from jelly._dataset.steps.step import Frames
from jelly._formats.registry import FORMATS, JELLY, Content, Format, table_kind
from jelly._options.keywords import WRITE
from jelly._options.layouts import FOLDERS, LAYOUTS
from jelly.cli import contents
from jelly.cli.common import (
    count_of,
    default_threads,
    is_terminal,
    message,
    numbers,
    progress_bar,
    report,
    say,
    show,
    size_of,
    tell,
    usage,
    wanted_form,
)
from jelly.cli.options import (
    COUNT,
    JELLY_TEXT,
    STATEMENTS,
    Files,
    Given,
    command,
    forms,
    option,
    reads,
    refuse,
    streams,
    writes,
)
from jelly.cli.reading import check_options, content_of, inputs, opened, output_of, wide_advice

_FRAMING = {"frame_rows", "frame_bytes", "delimited", "index"}
_READING = {
    "format", "form", "quiet", "strict", "on_error", "rdf", "star", "blank_nodes", "skolem_base", "threads", "base",
    "lenient", *STATEMENTS,
}  # fmt: skip


def _some(value: str) -> tuple[str, float]:
    """A number of statements, or the share of all, such as 0.01: a pair of a keyword and its value."""
    with suppress(ValueError):
        if value.isdecimal():
            return "rows", int(value)
        if 0 <= (share := float(value)) <= 1:
            return "fraction", share
    raise click.BadParameter(f"{value!r} is not a number of statements, such as 1000, or a share, such as 0.01")


@command("SRC...", "DST")
@reads(
    "on_error", "base", "star", "blank_nodes", "skolem_base", rare=("strict", "rdf", "lenient", "require_trailer"),
    logs=True,
)  # fmt: skip
@option("--patches", "Convert a table of changes to a table.", None, "patches", name="reading_content", hidden=True)
@writes(
    "seekable", "index", "prefixes",
    rare=("frame_rows", "frame_bytes", "delimited", "quoted", "values", "keep_labels", "marked_blank_nodes", "dialect",
          "members"),
)  # fmt: skip
@streams()
@option("--take-frames RANGE", "Take these frames of a Jelly file, from 0: 3, 2..5 (without 5), 2..=4, ..5 or 3..",
        hidden=True)
@option("--unique", "Write equal statements once.")
@option("--sample N", "Write N random statements, or a share (0.01).", None, _some)
@option("--seed N", "With --sample: the same seed chooses the same statements.", None, COUNT, hidden=True)
@option("--memory SIZE", "With --unique and property graphs: memory for statements; the rest goes to temporary files "
        "(in TMPDIR).", MEMORY, show_default="256M", hidden=True)
@option("--drop-graphs", "Write all statements as triples.")
@option(f"--layout [{'|'.join(LAYOUTS)}|typed|{'|'.join(FOLDERS)}]", "Columns of a table. typed adds columns of "
        "numbers, dates and booleans to flat. With ids DST is a directory for terms.parquet and triples.parquet, with "
        "property-graph one for nodes.csv and relationships.csv.", "flat")
@option("--max-columns N", "With --layout property-graph: fail if there are more properties.", 1000, hidden=True)
@option("--threads N", "Number of threads. DST is the same for any number (default: all idle cores for files above "
        "64 MB, else 1).")
@forms("json")
@option("-q, --quiet", "Print neither progress nor summary.")
def convert(
    srcs: Files,
    dst: str,
    reading: Given,
    writing: Given,
    stream: Given,
    layout: Any,
    threads: int | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Convert files to another format, or put them together. If that fails, DST is not created or changed.

    Statements, patches (.jellyp, .rdfp, .trp), message logs (--messages) and query results (.jellys, .srj, .srx)
    become another format of the same content. SRC or DST may be a table: .parquet, .arrow or .csv (needs
    jelly-rdf[arrow]). SRC may be a directory, a glob pattern in quotation marks, or a URL of fsspec.

    Jelly to Jelly keeps the stream options of the first file, except those given here. Standard output without --to is
    N-Quads if SRC is Jelly, else Jelly. Jelly files get an index; other readers ignore it.

    \b
    Examples:
      jelly convert people.nt.gz people.jelly
      jelly convert monday.jelly tuesday.nq 'dump/*.ttl' all.jelly
      jelly convert http://example.org/people.nt.gz people.jelly.zst
    """
    content = content_of(reading, *srcs, dst=dst, to=writing.get("format"))
    if content is not Content.STATEMENTS:
        with usage():
            counts = contents.convert(content, srcs, dst, reading, writing, stream, layout, threads)
        if wanted_form() or not quiet:
            report(numbers(**counts), counts)
        return
    src, *more = expand(srcs)
    with opened(src, reading.get("format")) as (opened_src, source), usage():
        if more:
            inputs([src, *more], reading)  # refuses unknown suffixes, and limits that no file has
        else:
            check_options(reading, [source.reading], source.title)
            reading["format"] = source.name
        text = "nq" if source is JELLY else "jelly"
        target, how = (None, {}) if layout in FOLDERS else output_of(dst, writing, stream, text)
        _check(dst, srcs, target, writing, layout)
        sources = [opened_src, *more]
        what = f"{source.title} to {target.title if target else layout}"
        with wide_advice(), progress_bar(what, quiet or (dst == "-" and is_terminal(sys.stdout))) as progress:
            if given["take_frames"]:
                if more or source is not JELLY:
                    raise click.UsageError("--take-frames goes with one Jelly file")
                threads = 1
            threads = threads or default_threads(sources)
            statements = _changed(jelly.scan(sources, threads=threads, **reading), given)
            how |= {name: given[name] for name in ("drop_graphs", "max_columns", "memory")}
            out = AsText(dst) if writing.get("format") == JELLY_TEXT else dst
            done = statements.write(out, layout=layout, progress=progress, **how)
    if wanted_form():
        show(asdict(done), None)
    elif not quiet:
        is_fair = not (more or given["unique"] or given["sample"] or given["take_frames"])
        _summary(done, is_fair and split_suffix(src)[1] == split_suffix(dst)[1])


def _changed(statements: Dataset, given: Given) -> Dataset:
    """The statements with the steps that are asked for."""
    if given["take_frames"]:
        statements = statements._then(Frames(given["take_frames"]))
    if given["unique"]:
        if given["drop_graphs"]:
            raise click.UsageError("--unique does not go with --drop-graphs, which comes later: convert twice")
        statements = statements.unique(memory=given["memory"])
    if given["sample"]:
        statements = statements.sample(**dict([given["sample"]]), seed=given["seed"])
    return statements


def _check(dst: str, srcs: Files, target: Format | None, writing: Given, layout: str) -> None:
    """Refuse what the format of the output does not have, and what the functions below would take for a name."""
    if target is None:
        refuse(f"--layout {layout}", _READING | {"layout"} | ({"max_columns", "memory"} if layout != "ids" else set()))
        if "format" in writing:
            raise click.UsageError(f"--to does not go with --layout {layout}")
        if dst == "-" or table_kind(dst) or any(map(table_kind, srcs)):
            raise click.UsageError(f"--layout {layout} needs a file of statements and a directory")
    elif target.content is not Content.TABLE:
        for name, other in product(("index", "seekable"), ("seekable", "delimited")):
            if writing.get(name) and writing.get(other) is False:
                raise click.UsageError(f"--{name} does not go with --no-{other}")
        if "prefixes" in writing and not target.namespaces:
            raise click.UsageError(f"--prefix does not go with {target.title}, which has no prefixes")
        for name in writing.keys() - {"format", "seekable", "keep_labels", "prefixes", *_FRAMING}:
            able = [format for format in FORMATS.values() if name in format.writing]
            if target not in able:
                titles = " and ".join(format.title for format in able)
                raise click.UsageError(f"{WRITE[name].switch} does not go with {target.title}, only with {titles}")


# Bytes read from which on the ratio of sizes tells something: less is for the most part options and index.
_LEAST = 10_000


def _summary(done: jelly.Conversion, is_fair: bool) -> None:
    """Print what was done; the ratio of sizes only if both files are compressed in the same way, or not at all."""
    speed = done.statements / done.seconds if done.seconds else 0
    ratio = f" ({done.bytes_written / done.bytes_read:.1%})" if is_fair and done.bytes_read >= _LEAST else ""
    say(
        f"{numbers(statements=done.statements)}, {size_of(done.bytes_read)} -> {size_of(done.bytes_written)}{ratio}, "
        f"{done.seconds:.2f} s, {count_of(speed)} statements/s"
    )
    told = [f"line {line}: {message(jelly.JellyError(reason))}" for line, reason in done.skipped]
    tell(f"Skipped {numbers(lines=done.n_skipped)} with errors:", told, 5)
