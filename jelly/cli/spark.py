"""The commands ``jelly spark ...``: jobs over many files (extras ``cli`` and ``spark``, and Java)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from jelly._options.layouts import BUILT, LAYOUTS
from jelly.cli.common import (
    STATEMENTS,
    Command,
    Size,
    json_option,
    progress_bar,
    reading_options,
    say,
    shape_option,
    show,
)
from jelly.cli.errors import message, printable
from jelly.cli.reading import blank_node_options, from_option

__all__ = ["spark_"]

_SHOWN = 20  # lines
_LEFT_OUT = "left out, with the suffix of no format, {} files:"


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, any number of times."""
    if wrong := [value for value in values if "=" not in value]:
        raise click.BadParameter(f"{wrong[0]!r}: expected NAME=VALUE")
    return dict(value.split("=", 1) for value in values)


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """Names, separated by commas."""
    return [name.strip() for name in value.split(",")] if value else []


def _sources(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """At least one, but for a compaction."""
    if not value and not ctx.params.get("compact"):
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every job."""
    options = [
        click.argument("sources", metavar="SRC...", nargs=-1, callback=_sources),
        from_option,
        click.option(
            "--glob", "pattern", metavar="PATTERN",
            help="Read only files with such names, for example '*.nt.gz'.",
        ),
        click.option(
            "--master", show_default="local[*]",
            help="Spark master: local[N] or spark://HOST:PORT.",
        ),
        click.option(
            "--conf", multiple=True, callback=_pairs, metavar="NAME=VALUE",
            help="A setting of Spark. Repeatable.",
        ),
        click.option(
            "--storage", multiple=True, callback=_pairs, metavar="NAME=VALUE",
            help="An option of fsspec for URLs. Repeatable.",
        ),
        click.option("--skip-errors", is_flag=True, help="Skip broken input and report it (default: fail)."),
        click.option(
            "--skip-unknown", is_flag=True,
            help="Leave out files with the suffix of no format, such as README.md (default: fail).",
        ),
        click.option(
            "--no-partitions", "partitions", flag_value=False, default=True,
            help="Do not take directories such as graph=http%3A%2F%2Fexample.org for the graph of their files.",
        ),
        click.option("--allow-empty", is_flag=True, help="Accept that there are no files to read."),
        blank_node_options,
        reading_options(*(name for name in STATEMENTS if name.startswith("max_"))),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.group("spark", no_args_is_help=True)
def spark_() -> None:
    """Run jobs on Spark over many files. SRC is a file, a directory, a quoted pattern, or a URL.

    Files may have any format that the other commands read, by suffix, compressed or not.
    """


@spark_.command("ingest", cls=Command, short_help="Convert files to Parquet or seekable Jelly.")
@_common
@click.option(
    "--out", required=True, metavar="DIR",
    help="Output directory, which all executors must be able to access, or a URL such as s3://bucket/table.",
)
@click.option(
    "--to", type=click.Choice(["parquet", "jelly"]), default="parquet", show_default=True,
    help="Format of the files of the table.",
)
@click.option(
    "--layout", type=click.Choice([*LAYOUTS, *BUILT]), default="flat", show_default=True,
    help="flat and ntriples: columns of one table; ids: tables of terms and triples; vertical: a table for each "
    "predicate; wide: a table for each class.",
)
@click.option(
    "--buckets", type=click.IntRange(1), default=16, show_default=True,
    help="Partitions by hash of ids, vertical and wide, a power of 2.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="A number that ids depend on (default: 0).")
@click.option(
    "--partition-by", type=click.Choice(["predicate", "graph"]),
    help="Write one Parquet directory per value, as Hive does.",
)
@click.option(
    "--sort", metavar="NAME,...", callback=_names,
    help="Sort the rows of each task by subject, predicate, object or graph: smaller files that are searched faster.",
)
@click.option(
    "--compact", is_flag=True, is_eager=True,
    help="Then make few files out of many, sorted as a whole with --sort. Without SRC: of the table as it is.",
)
@click.option(
    "--target-size", type=Size(), default="128M", show_default=True, help="Bytes of the files that --compact makes."
)
@click.option("--prune", is_flag=True, help="Remove the statements of sources that are gone.")
@json_option
def ingest_(
    sources: tuple[str, ...], from_format: str | None, skip_errors: bool, as_json: bool, target_size: int,
    reading: dict[str, Any], **given: Any,
) -> None:  # fmt: skip
    """Decode files and write them as tables, on the executors, without moving statements through the JVM.

    A second run only adds what is missing: new files, changed files, and files that a failed run did not finish.
    The new files of DIR appear when all is done. While they are exchanged for former ones, _SUCCESS is missing.

    \b
    Examples:
      jelly spark ingest data/ --out table
      jelly spark ingest 'logs/*.nq.gz' more.jelly --out table --partition-by predicate --json
      jelly spark ingest data/ --to jelly --out packed --master spark://host:7077
      jelly spark ingest --compact --out s3://bucket/table
      jelly spark ingest data/ --layout ids --out graph
      jelly spark ingest data/ --layout vertical --out predicates
      jelly spark ingest data/ --layout wide --out classes

    \b
    Tables in DIR:
      ids       triples (subject, predicate, object, graph) and terms (id, kind, value, datatype, lang)
      vertical  tables/NAME for each predicate, catalogue (which is which), statements (what they are made of)
      wide      tables/NAME for each class, catalogue, report (what did not fit), statements
    """
    from jelly.spark._session import with_extra

    with with_extra():
        from jelly.spark._ingest import compact_table, ingest

    out, master = given.pop("out"), given.pop("master")
    with progress_bar("Ingesting" if sources else "Compacting", in_bytes=True) as progress:
        if sources:
            done = ingest(
                sources,
                out,
                spark=master,
                on_error="skip" if skip_errors else "fail",
                format=from_format,
                target_file_bytes=target_size,
                progress=progress,
                **reading,
                **given,
            )
        else:
            done = compact_table(
                out, spark=master, conf=given["conf"], target_file_bytes=target_size, storage=given["storage"],
                progress=progress,
            )  # fmt: skip
    if as_json:
        click.echo(json.dumps(done.as_dict(), indent=2))
    else:
        from jelly.cli.display import show_report

        show_report(done.as_dict())
    _tell("skipped broken input, {} errors:", [message(trouble.error()) for trouble in done.errors])
    _tell("some statements are not in the tables as they are, see the table report:", done.misfits)
    _tell(_LEFT_OUT, done.unknown)
    _tell("removed, because their sources are gone, the statements of {} files:", done.pruned)
    _tell("gone, but their statements are in the table until you use --prune, {} files:", done.vanished)


@spark_.command("stats", cls=Command, short_help="Count predicates, classes, graphs, datatypes and languages.")
@_common
@shape_option
@click.option("--top", metavar="N", type=click.IntRange(0), default=20, show_default=True, help="Entries in each list.")
@click.option("--plot", metavar="FILE", help="Also plot them to FILE (.png, .svg or .pdf).")
def stats_(
    sources: tuple[str, ...], from_format: str | None, skip_errors: bool, shape: str | None, plot: str | None,
    master: str | None, reading: dict[str, Any], **given: Any,
) -> None:  # fmt: skip
    """Count predicates, classes, graphs, datatypes and languages of many files, and show distributions.

    \b
    Examples:
      jelly spark stats data/ --top 5
      jelly spark stats 's3://bucket/*.jelly' --storage anon=true --plot data.png
    """
    from jelly.spark._session import with_extra

    with with_extra():
        from jelly.spark._stats import stats
    if plot is not None:
        from jelly.plot import check_suffix, plot_stats

        check_suffix(plot)
    found, errors, unknown = stats(
        sources, spark=master, on_error="skip" if skip_errors else "fail", format=from_format, **reading, **given
    )
    name = sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"
    if plot is not None:
        plot_stats(found, plot, name)
    show(found.as_dict(), shape, lambda display: display.show_stats(name, found))
    _tell("skipped broken input, {} errors:", [message(error) for error in errors])
    _tell(_LEFT_OUT, unknown)


def _tell(what: str, lines: list[str]) -> None:
    """Print on standard error what the user must know, if there is anything: the first lines, below their number."""
    if lines:
        say(what.format(f"{len(lines):,}"), "yellow")
    for line in lines[:_SHOWN]:
        say(f"  {printable(line)}", "yellow")
    if len(lines) > _SHOWN:
        say("  ...", "yellow")
