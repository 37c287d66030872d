"""The commands ``jelly spark ...``: jobs over many files (extras ``cli`` and ``spark``, and Java)."""

from __future__ import annotations

from typing import Any

import click

from jelly._options.keywords import MANY
from jelly._options.layouts import BUILT, LAYOUTS
from jelly.cli.common import message, progress_bar, show, tell
from jelly.cli.options import COUNT, STATEMENTS, Files, Given, command, forms, option, options, reads, together

_LEFT_OUT = "left out, with the suffix of no format, {} files:"


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """Names, separated by commas."""
    return [name.strip() for name in value.split(",")] if value else []


def _dict(ctx: click.Context, param: click.Parameter, value: Any) -> dict[str, str]:
    return dict(value)


_common = together(
    reads("blank_nodes", "skolem_base", limits=[name for name in STATEMENTS if name.startswith("max_")]),
    options(MANY, "glob", "storage", "skip_unknown", "allow_empty", "partitions", into="reading"),
    option("--master MASTER", "Spark master: local[N] or spark://HOST:PORT.", show_default="local[*]", name="spark"),
    option("--conf NAME=VALUE...", "A setting of Spark. Repeatable.", callback=_dict),
    option("--skip-errors", "Skip broken input and report it (default: fail).", "raise", "skip", name="on_error"),
)  # fmt: skip


@click.group("spark", no_args_is_help=True)
def spark() -> None:
    """Run jobs on Spark over many files. SRC is a file, a directory, a quoted pattern, or a URL.

    Files may have any format that the other commands read, by suffix, compressed or not.
    """


@command("[SRC]...", group=spark, short_help="Convert files to Parquet or seekable Jelly.")
@_common
@option("-o, --output DIR", "Output directory, which all executors must be able to access, or a URL such as "
        "s3://bucket/table.", name="dst", required=True)
@option("--to [parquet|jelly|delta]", "Format of the table: files, or a table of Delta, where a rerun is one commit.",
        "parquet")
@option(f"--layout [{'|'.join([*LAYOUTS, *BUILT])}]", "flat and ntriples: columns of one table; ids: tables of terms "
        "and triples; vertical: a table for each predicate; wide: a table for each class.", "flat")
@option("--buckets N", "Partitions by hash of ids, vertical and wide, a power of 2.", 16)
@option("--seed N", "A number that ids depend on (default: 0).", 0, COUNT)
@option("--partition-by [predicate|graph]", "Write one Parquet directory per value, as Hive does.")
@option("--sort NAMES", "Sort the rows of each task by subject, predicate, object or graph, with commas: smaller "
        "files that are searched faster.", callback=_names)
@option("--compact", "Afterwards, merge small files of a table of Delta into few large ones, sorted as a whole with "
        "--sort. Without SRC: of the table as it is.")
@option("--target-size SIZE", "Bytes of the files that --compact makes.", "128M", name="target_file_bytes")
@option("--table NAME", "Make the table of Delta known in the catalogue of Spark, whose jar --conf must name.")
@option("--prune", "Remove the statements of sources that are gone, which a directory of files cannot.")
@forms("json")
def ingest(srcs: Files, reading: Given, **given: Any) -> None:
    """Decode files and write them as tables, on the executors, without moving statements through the JVM.

    A second run only adds what is missing: new files, files that a failed run did not finish, and with --to delta
    changed files. The new files of DIR appear when all is done; meanwhile _SUCCESS is missing. The tables of ids,
    vertical and wide are made once, of all sources, in a new directory.

    \b
    Examples:
      jelly spark ingest data/ -o table
      jelly spark ingest 'logs/*.nq.gz' more.jelly -o table --partition-by predicate --json
      jelly spark ingest data/ --to jelly -o packed --master spark://host:7077
      jelly spark ingest data/ --to delta -o s3://bucket/table
      jelly spark ingest --compact -o s3://bucket/table
      jelly spark ingest data/ --layout ids -o graph
      jelly spark ingest data/ --layout vertical -o predicates
      jelly spark ingest data/ --layout wide -o classes

    \b
    Tables in DIR:
      ids       triples (subject, predicate, object, graph) and terms (id, kind, value, datatype, lang)
      vertical  tables/NAME for each predicate, catalogue (which is which), statements (what they are made of)
      wide      tables/NAME for each class, catalogue, report (what did not fit), statements
    """
    from jelly.spark import compact_table, ingest

    if not srcs and not given["compact"]:
        raise click.UsageError("Missing argument 'SRC...'.")
    with progress_bar("Ingesting" if srcs else "Compacting", in_bytes=True) as progress:
        if srcs:
            done = ingest(srcs, progress=progress, **reading, **given)
        else:
            kept = ("dst", "spark", "conf", "target_file_bytes")
            known = {name: given[name] for name in kept}
            done = compact_table(progress=progress, storage=reading.get("storage"), **known)

    show(done.as_dict(), "show_report", done.as_dict(), yaml=False)
    tell("skipped broken input, {} errors:", [message(trouble.error()) for trouble in done.errors])
    tell("some statements are not in the tables as they are, see the table report:", done.misfits)
    tell(_LEFT_OUT, done.unknown)
    tell("removed, because their sources are gone, the statements of {} files:", done.pruned)
    tell("gone, but their statements are in the table until you use --prune, {} files:", done.vanished)


@command("SRC...", group=spark, short_help="Count predicates, classes, graphs, datatypes and languages.")
@_common
@forms("yaml", "json", "table")
@option("--top N", "Entries in each list.", 20, COUNT)
@option("--plot FILE", "Also plot them to FILE (.png, .svg or .pdf).")
def stats(
    srcs: Files, plot: str | None, reading: Given, **given: Any
) -> None:
    """Count predicates, classes, graphs, datatypes and languages of many files, and show distributions.

    \b
    Examples:
      jelly spark stats data/ --top 5
      jelly spark stats 's3://bucket/*.jelly' --storage anon=true --plot data.png
    """
    from jelly.spark import stats

    if plot is not None:
        from jelly.plot import check_suffix, plot_stats

        check_suffix(plot)
    found, errors, unknown = stats(srcs, **reading, **given)
    name = srcs[0] if len(srcs) == 1 else f"{srcs[0]} and {len(srcs) - 1} more"
    if plot is not None:
        plot_stats(found, plot, name)

    show(found.as_dict(), "show_stats", name, found)
    tell("skipped broken input, {} errors:", [message(error) for error in errors])
    tell(_LEFT_OUT, unknown)
