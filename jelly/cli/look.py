"""The commands that look at files: ``inspect``, ``validate``, ``head``, ``count`` and ``stats``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import islice
from typing import Any

import click

import jelly
from jelly._bytes.names import is_web
from jelly._formats.registry import JELLY, JELLY_PATCH, Content, having
from jelly._options.keywords import READ
from jelly._tools.inspect import format_to_check
from jelly.cli import contents
from jelly.cli.common import (
    LOGS,
    STATEMENTS,
    command,
    json_option,
    limits_of,
    messages_option,
    progress_bar,
    reading_options,
    say,
    shape_option,
    show,
)
from jelly.cli.errors import in_options, message
from jelly.cli.options import options
from jelly.cli.reading import content_of, expanded, format_of, from_option, settings_of

__all__ = ["count", "head", "inspect_", "stats_", "validate"]

HEAD_ROWS = 4096  # statements decoded at a time if few are needed


@command("inspect")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--per-frame", is_flag=True, help="Also show each frame.")
@click.option("--size", is_flag=True, help="Also show the bytes of each part: terms by place and kind, or columns.")
@click.option("--patches", is_flag=True, help="Show each patch: its headers and the numbers of its rows.")
@from_option
@shape_option
@messages_option
@reading_options(*LOGS, "max_document_bytes", *STATEMENTS, "max_frames")
def inspect_(
    files: tuple[str, ...], per_frame: bool, size: bool, patches: bool, from_format: str | None, shape: str | None,
    messages: bool, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Show the options, rows, bytes and frames of each Jelly file without decoding its statements.

    Of files of other formats, message logs (--messages) and query results the rows are counted. With --patches, and of
    RDF Patch (.rdfp, .trp), each patch is shown. Files may also be directories and glob patterns in quotation marks. Of
    several files, JSON and YAML are a list with the name of each.

    \b
    Examples:
      jelly inspect people.jelly
      jelly inspect changes.jellyp --patches
      jelly inspect 'data/*.jelly'
      jelly inspect --size people.jelly
      jelly inspect people.jelly.gz --per-frame --json | jq '.frames[0]'
    """
    found: list[tuple[str, Any]] = []
    for file in expanded(files):
        content = content_of(from_format, file, messages=messages)
        known = format_to_check(from_format, "" if file == "-" else file, content)
        if patches or content is Content.PATCH and known is not JELLY_PATCH:
            if per_frame or size:
                raise click.UsageError("--per-frame and --size do not go with patches")
            found.append((file, contents.inspect_patches(file, from_format, reading)))
            continue
        with progress_bar("Inspecting") as progress:
            if not is_web(file):
                limits_of(reading, known.reading | {"max_frames"}, what=known.title)
            asked: Any = {"format": from_format, "content": "messages" if messages else None, "progress": progress}
            found.append((file, jelly.inspect(file, per_frame, size=size, **asked, **reading)))
        for problem in found[-1][1].problems:
            say(f"{file}: {in_options(problem)}", "yellow")

    def as_tables(display: Any) -> None:
        for file, one in found:
            if isinstance(one, dict):
                display.show_patches(file, one)
            else:
                display.show_inspection(file, one)

    plain = [({"file": file}, one if isinstance(one, dict) else one.as_dict()) for file, one in found]
    show(plain[0][1] if len(plain) == 1 else [name | one for name, one in plain], shape, as_tables)


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--against", metavar="FILE",
    help="A file (Jelly, N-Triples, N-Quads) that must contain the same statements.",
)
@click.option("--unordered", is_flag=True, help="Compare as sets, ignoring the order of statements.")
@click.option("--frame", metavar="N", type=click.IntRange(0), help="Compare only frame N (counting from 0).")
@click.option("--options", metavar="FILE", help="A Jelly file whose stream options must be the same.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), default=1000, help="Stop after N problems (default 1000)."
)
@json_option
@from_option
@messages_option
@options(READ, "strict", into="reading")
@options(READ, "base", into="reading", hidden=True)
@reading_options(*LOGS, "max_document_bytes", *STATEMENTS)
def validate(
    files: tuple[str, ...],
    against: str | None,
    unordered: bool,
    as_json: bool,
    from_format: str | None,
    messages: bool,
    reading: dict[str, Any],
    **given: Any,
) -> None:
    """Print every problem of Jelly and Jelly-Patch files with its frame, row and byte. The exit code is 1 if there is
    one.

    If FILE has another format, its syntax errors are printed, and it can be compared. Files may also be patches,
    results of queries, message logs (--messages), tables, directories and glob patterns in quotation marks.

    \b
    Examples:
      jelly validate people.jelly
      jelly validate people.jelly --against people.nt --unordered
      jelly validate 'dump/*.nq.gz' changes.rdfp results.srj
    """
    each = expanded(files)
    of_statements = [file for file in each if content_of(from_format, file, messages=messages) is Content.STATEMENTS]
    if len(of_statements) < len(each) and (against or unordered or given["frame"] is not None or given["options"]):
        raise click.UsageError("--against, --unordered, --frame and --options go with statements")
    known = [] if against is None else [format_of(None, against, "a known suffix", tables=True).reading]
    if against is not None and len(each) > 1:
        raise click.UsageError("--against goes with one file, not with several")
    if of_statements and (from_format is not None or not any(map(is_web, each))):
        names = ["" if file == "-" else file for file in of_statements]
        limits_of(reading, *(format_to_check(from_format, name).reading for name in names), *known)
    found: list[tuple[str, jelly.Problem]] = []
    for file in each:
        content = content_of(from_format, file, messages=messages)
        if content is not Content.STATEMENTS:
            problems = contents.problems(content, file, from_format, given["limit"], reading)
        else:
            used = reading
            if len(each) > 1 and not is_web(file):
                used = having(reading, format_to_check(from_format, file).reading)
            with progress_bar("Validating") as progress:
                problems = jelly.validate(
                    file, format=from_format, against=against, ordered=not unordered, progress=progress, **given, **used
                )
        found += [(file, problem) for problem in problems]
        if not as_json:
            for problem in problems:
                click.echo(f"{file}: {message(jelly.JellyError(str(problem)))}")
            if not problems:
                click.echo(f"{file}: no problems")
    if as_json:
        fields = ("message", "frame", "row", "offset", "line")
        told = [
            ({"file": file} if len(each) > 1 else {}) | {name: getattr(problem, name) for name in fields}
            for file, problem in found
        ]
        click.echo(json.dumps(told, indent=2))
    click.get_current_context().exit(1 if found else 0)


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "-n", "number", metavar="N", type=click.IntRange(0), default=10, show_default=True, help="Number of statements."
)
@from_option
@reading_options(*STATEMENTS)
def head(files: tuple[str, ...], number: int, from_format: str | None, reading: dict[str, Any]) -> None:
    """Print the first statements of files as N-Quads: N of all together. Only the needed parts of files are read.

    Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in quotation marks.

    \b
    Example:
      jelly head -n 3 people.jelly
    """
    each = expanded(files)
    settings_of(each, from_format, reading)  # refuses unknown suffixes, and limits that no file has
    statements = jelly.read(each, format=from_format, batch_rows=min(number or 1, HEAD_ROWS), **reading)
    with jelly.Writer("-", format="nq") as writer:
        writer.extend(islice(statements, number))
    statements.close()


@command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@messages_option
@json_option
@options(READ, "base", into="reading", hidden=True)
@reading_options(*LOGS, "max_document_bytes", *STATEMENTS)
def count(
    files: tuple[str, ...], from_format: str | None, messages: bool, as_json: bool, reading: dict[str, Any]
) -> None:
    """Print the number of statements of each file, and the total of several files.

    Of patches the numbers of patches and operations are printed, of message logs (--messages) those of messages and
    statements, of query results that of rows. Rows of Jelly files are counted without decoding them. Files may also be
    tables (Parquet, Arrow, CSV), directories and glob patterns in quotation marks.

    \b
    Examples:
      jelly count people.jelly
      jelly count *.jelly *.nq.gz
      jelly count changes.jellyp --json
    """
    found: list[tuple[str, dict[str, int]]] = []
    content = content_of(from_format, *files, messages=messages)
    each = expanded(files)
    if content is Content.STATEMENTS:
        for file, settings in zip(each, settings_of(each, from_format, reading), strict=True):
            with progress_bar("Counting") as progress:
                found.append((file, {"statements": _count_of(file, settings, progress)}))
    else:
        found = [(file, contents.count(content, file, from_format, reading)) for file in each]
    if as_json:
        click.echo(json.dumps([{"file": file} | numbers for file, numbers in found], indent=2))
        return
    if len(each) > 1:
        found.append(("total", {name: sum(numbers[name] for _, numbers in found) for name in found[0][1]}))
    for file, numbers in found:
        click.echo("\t".join([*map(str, numbers.values()), file]))


def _count_of(
    file: str, settings: dict[str, Any], progress: Callable[[int, int | None, int], object] | None
) -> int:
    if settings["format"] == JELLY.name:
        limits = {name: value for name, value in settings.items() if name != "format"}
        return jelly.inspect(file, progress=progress, **limits).statements
    with jelly.Reader(file, **settings) as reader:
        for _ in reader.batches():
            if progress is not None:
                progress(reader.bytes_read, reader.source.size, reader.statements)
        return reader.statements


@command("stats")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@shape_option
@click.option("--top", metavar="N", type=click.IntRange(0), help="Entries in each list (default: 20; of results 5).")
@click.option(
    "--threads", metavar="N", type=click.IntRange(1), default=1,
    help="Threads, for files with an index (default 1).",
)
@click.option("--plot", metavar="FILE", help="Also plot them to FILE (.png, .svg or .pdf).")
@click.option("-q", "--quiet", is_flag=True, help="With --plot: print nothing.")
@reading_options("max_document_bytes", *STATEMENTS)
def stats_(
    files: tuple[str, ...],
    from_format: str | None,
    shape: str | None,
    top: int | None,
    threads: int,
    plot: str | None,
    quiet: bool,
    reading: dict[str, Any],
) -> None:
    """Count predicates, classes, graphs, datatypes and languages, and show how statements are distributed.

    Several files are counted together. Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in
    quotation marks. Of query results the values of each variable are counted.

    \b
    Examples:
      jelly stats people.jelly --top 5
      jelly stats people.jelly --plot people.png
      jelly stats people.nq.gz --json | jq .predicates.top
    """
    if quiet and plot is None:
        raise click.UsageError("--quiet goes with --plot")
    if content_of(from_format, *files) is Content.RESULTS:
        if len(files) > 1 or plot is not None or threads != 1:
            raise click.UsageError("query results are counted from one file, without --plot and --threads")
        values = contents.result_stats(files[0], from_format, 5 if top is None else top, reading)
        show(values.as_dict(), shape, lambda display: display.show_result_stats(files[0], values))
        return
    from jelly.stats import stats

    top = 20 if top is None else top
    each = expanded(files)
    settings = {"format": from_format, **reading}
    if len(each) == 1:
        (settings,) = settings_of(each, from_format, reading)
    else:
        settings_of(each, from_format, reading)  # refuses unknown suffixes, and limits that no file has
    name = os.path.basename(each[0]) if len(each) == 1 else f"{len(each)} files"
    if plot is not None:
        from jelly.plot import check_suffix, plot_stats

        check_suffix(plot)
    with progress_bar("Counting", quiet) as progress:
        found = stats(each[0] if len(each) == 1 else each, threads=threads, top=top, progress=progress, **settings)
    if plot is not None:
        plot_stats(found, plot, name)
    if quiet:
        return
    show(found.as_dict(), shape, lambda display: display.show_stats(each[0] if len(each) == 1 else name, found))
