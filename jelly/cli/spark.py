"""The commands ``jelly spark ...``: jobs over many files. Needs the extras ``cli`` and ``spark``, and Java."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from jelly.cli.commands import cli, shape_option, show
from jelly.cli.common import progress_bar, say
from jelly.cli.errors import message
from jelly.cli.reading import from_option
from jelly.errors import JellyError

__all__ = ["cli"]

_SHOWN = 20  # errors


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, any number of times."""
    if wrong := [value for value in values if "=" not in value]:
        raise click.BadParameter(f"{wrong[0]!r}: expected NAME=VALUE")
    return dict(value.split("=", 1) for value in values)


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every job."""
    options = [
        click.argument("sources", metavar="SRC...", nargs=-1, required=True),
        from_option,
        click.option("--glob", "pattern", metavar="PATTERN", help="Read only files with such names, as '*.nt.gz'."),
        click.option("--master", default="local[*]", show_default=True, help="local[N] or spark://HOST:PORT."),
        click.option("--conf", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="A setting of Spark."),
        click.option("--storage", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="For URLs (fsspec)."),
        click.option("--skip-errors", is_flag=True, help="Leave out what is broken, and tell of it; default: fail."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@cli.group("spark", short_help="Jobs on Spark over many files: ingest, stats.", no_args_is_help=True)
def spark_() -> None:
    """Jobs on Spark over many files. SRC is a file, a directory, a pattern in quotes, or a URL.

    Files are of any format of RDF that the other commands read, by their suffix, compressed or not.
    """


@spark_.command("ingest", short_help="Bring files into Parquet or seekable Jelly.")
@_common
@click.option("--out", required=True, metavar="DIR", help="Directory to write into; all executors must see it.")
@click.option("--to", type=click.Choice(["parquet", "jelly"]), default="parquet", show_default=True)
@click.option(
    "--layout", type=click.Choice(["flat", "ntriples"]), default="flat", show_default=True, help="Columns of Parquet."
)
@click.option("--partition-by", type=click.Choice(["predicate", "graph"]), help="Directories of Parquet, as Hive has.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def ingest_(
    sources: tuple[str, ...], from_format: str | None, skip_errors: bool, as_json: bool, **given: Any
) -> None:
    """Decode files and write them as tables, on the executors and without moving statements through the JVM.

    A second run does only what is missing: new files, changed ones, and what a run that failed did not come to.

    \b
    Examples:
      jelly spark ingest data/ --out table
      jelly spark ingest 'logs/*.nq.gz' more.jelly --out table --partition-by predicate --json
      jelly spark ingest data/ --to jelly --out packed --master spark://host:7077
    """
    from jelly.spark._ingest import ingest

    with progress_bar("Ingesting") as progress:
        done = ingest(
            sources,
            given.pop("out"),
            spark=given.pop("master"),
            on_error="skip" if skip_errors else "fail",
            format=from_format,
            progress=progress,
            **given,
        )
    if as_json:
        click.echo(json.dumps(done.as_dict(), indent=2))
    else:
        from jelly.cli.display import show_report

        show_report(done.as_dict())
    _tell([trouble.error() for trouble in done.errors])


@spark_.command("stats", short_help="Count predicates, classes, graphs, datatypes, languages, degrees; draw them.")
@_common
@shape_option
@click.option("--top", metavar="N", type=click.IntRange(0), default=20, show_default=True, help="Entries of a list.")
@click.option("--plot", metavar="FILE", help="Draw them, too, into FILE (.png, .svg or .pdf).")
def stats_(
    sources: tuple[str, ...], from_format: str | None, skip_errors: bool, shape: str | None, plot: str | None,
    master: str, **given: Any,
) -> None:  # fmt: skip
    """Show what the statements of many files consist of, and how they are distributed.

    \b
    Examples:
      jelly spark stats data/ --top 5
      jelly spark stats 's3://bucket/*.jelly' --storage anon=true --plot data.png
    """
    from jelly.spark._stats import stats

    if plot is not None:
        from jelly.plot import check_suffix, plot_stats

        check_suffix(plot)
    found, errors = stats(
        sources, spark=master, on_error="skip" if skip_errors else "fail", format=from_format, **given
    )
    name = sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"
    if plot is not None:
        plot_stats(found, plot, name)
    show(found, shape, lambda display: display.show_stats(name, found))
    _tell(errors)


def _tell(errors: list[JellyError]) -> None:
    """What was left out, on standard error."""
    if errors:
        say(f"{len(errors):,} errors; what is broken was left out:", "yellow")
    for error in errors[:_SHOWN]:
        say(f"  {message(error)}", "yellow")
    if len(errors) > _SHOWN:
        say("  ...", "yellow")
