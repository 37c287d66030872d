"""The commands ``jelly append``, ``sort`` and ``split``."""

from __future__ import annotations

import sys
from typing import Any

import click

import jelly
from jelly._dataset.order import MEMORY
from jelly._formats.registry import Content
from jelly._options.keywords import READ
from jelly.cli import contents
from jelly.cli.common import (
    LOGS,
    STATEMENTS,
    Decorator,
    Size,
    command,
    messages_option,
    progress_bar,
    reading_options,
    say,
    seekable_option,
)
from jelly.cli.options import options
from jelly.cli.reading import (
    blank_node_options,
    content_of,
    expanded,
    from_option,
    jelly_option,
    output_keywords,
    settings_of,
    star_option,
    to_option,
)

__all__ = ["append", "sort", "split"]

_files = click.argument("files", metavar="FILE...", nargs=-1, required=True)
_output = click.option(
    "-o", "--output", metavar="OUT", default="-", help="Write to OUT instead of standard output; also a table."
)
_quiet = click.option("-q", "--quiet", is_flag=True, help="No progress bar, and no line at the end.")
_memory: Decorator = click.option(
    "--memory", type=Size(), metavar="SIZE", default=MEMORY, show_default="256M",
    help="Memory for statements; the rest goes to temporary files (in TMPDIR).",
)


def _checked_files(files: tuple[str, ...], from_format: str | None, reading: dict[str, Any]) -> list[Any]:
    """The files that are meant; a mistake in their names or options is reported before anything is read."""
    each = expanded(files)
    settings_of(each, from_format, reading)
    return each


@command()
@click.argument("target", metavar="FILE")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@from_option
@blank_node_options
@star_option
@reading_options(*STATEMENTS)
@_quiet
def append(
    target: str, sources: tuple[str, ...], from_format: str | None, reading: dict[str, Any], quiet: bool
) -> None:
    """Append the statements of other files to a Jelly file. Its index, if it has one, has them, too.

    FILE keeps its old content until everything is written, even if the command is killed. Blank nodes in the sources
    are kept apart from those in FILE, unless --blank-nodes keep is given.

    \b
    Examples:
      jelly append log.jelly today.nt
      tail -n 100 events.nq | jelly append log.jelly --from nq -
    """
    each = _checked_files(sources, from_format, reading)
    with progress_bar("Appending", quiet) as progress:
        n = jelly.append(each, target, format=from_format, progress=progress, **reading)
    if not quiet and sys.stderr.isatty():
        say(f"{target}: {n:,} more statements")


@command()
@_files
@_output
@from_option
@to_option
@click.option(
    "--by", metavar="PLACES", default="spog", show_default=True,
    help="The order: letters of subject, predicate, object, graph, the most important first.",
)
@click.option("-u", "--unique", is_flag=True, help="Write equal statements once.")
@click.option("-m", "--merge", is_flag=True, help="Merge files that are sorted already, with the same --by.")
@_memory
@blank_node_options
@star_option
@jelly_option
@seekable_option
@_quiet
@reading_options(*STATEMENTS)
def sort(
    files: tuple[str, ...],
    output: str,
    from_format: str | None,
    to_format: str | None,
    by: str,
    unique: bool,
    merge: bool,
    memory: int,
    jelly_version: str | None,
    seekable: bool | None,
    quiet: bool,
    reading: dict[str, Any],
) -> None:
    """Sort the statements of files, of any size.

    Blank nodes come first, then IRIs, literals and quoted triples, each ordered by text, code point by code point.

    \b
    Examples:
      jelly sort people.jelly -o sorted.jelly
      jelly sort --by pos --unique 'data/*.nt.gz' -o sorted.jelly
      jelly sort --merge monday.jelly tuesday.jelly -o both.jelly
    """
    each = _checked_files(files, from_format, reading)
    how = output_keywords(output, to_format, seekable, jelly_version)
    with progress_bar("Reading", quiet or output == "-") as progress:
        if merge:
            found = jelly.scan(each, sorted_by=by, format=from_format, **reading)
        else:
            found = jelly.scan(each, format=from_format, **reading).sort(by, memory=memory)
        written = (found.unique() if unique else found).write(output, progress=progress, **how).statements
    if not quiet and output != "-" and sys.stderr.isatty():
        say(f"{output}: {written:,} statements")


@command()
@_files
@_output
@from_option
@to_option
@messages_option
@click.option("--rows", metavar="N", type=click.IntRange(1), help="Statements of each file.")
@click.option("--parts", metavar="N", type=click.IntRange(1), help="Number of files of the same size.")
@click.option(
    "--by", type=click.Choice(["subject", "predicate", "object", "graph"]), help="One file for each term in this place."
)
@click.option("--max-files", metavar="N", type=click.IntRange(1), default=1000, show_default=True,
              help="With --by: fail if there would be more files.")
@blank_node_options
@star_option
@jelly_option
@seekable_option
@_memory
@_quiet
@options(READ, "base", into="reading", hidden=True)
@reading_options(*LOGS, *STATEMENTS)
def split(
    files: tuple[str, ...],
    output: str,
    from_format: str | None,
    to_format: str | None,
    messages: bool,
    jelly_version: str | None,
    seekable: bool | None,
    quiet: bool,
    reading: dict[str, Any],
    **given: Any,
) -> None:
    """Split the statements of files, or message logs (--messages) into files of one message. {} in OUT stands for the
    number of a file or a short name of its term.

    A line for each file is printed: its path, its statements, and its term.

    \b
    Examples:
      jelly split people.jelly --rows 1000000 -o 'part-{}.jelly'
      jelly split people.nq --by graph -o 'graphs/{}.nq'
      jelly split --messages log.jelly -o 'messages/{}.nq'
    """
    if output == "-":
        raise click.UsageError("give --output: the names of the files, such as 'part-{}.jelly'")
    ways = sum(given[name] is not None for name in ("rows", "parts", "by"))
    if content_of(*files, from_format, messages=messages) is Content.MESSAGES:
        if ways:
            raise click.UsageError("--rows, --parts and --by do not go with message logs")
        for path, statements in contents.split_messages(files, output, from_format, to_format, reading):
            click.echo(f"{path}\t{statements}")
        return
    if ways != 1:
        raise click.UsageError("give one of --rows, --parts and --by")
    each = _checked_files(files, from_format, reading)
    how = output_keywords(output, to_format, seekable, jelly_version)
    with progress_bar("Reading", quiet) as progress:
        made = jelly.scan(each, format=from_format, **reading).split(output, progress=progress, **how, **given)
    for part in made:
        term = "" if part.term is None else f"\t{'default' if part.term == jelly.DefaultGraph() else part.term}"
        click.echo(f"{part.path}\t{part.statements}{term}")
