"""The commands ``jelly concat``, ``append``, ``sort``, ``merge``, ``unique``, ``filter``, ``split`` and ``sample``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import click

import jelly
from jelly._dataset.filter import Condition
from jelly._dataset.output import MEMORY
from jelly._formats.registry import JELLY
from jelly.cli.common import (
    STATEMENTS,
    Decorator,
    Size,
    blank_node_options,
    can_have_index,
    progress_bar,
    reading_options,
    say,
)
from jelly.cli.prefixes import Prefixes, prefix_option, term_option
from jelly.cli.reading import (
    WITH_TABLES,
    expanded,
    format_of,
    from_option,
    jelly_changes,
    jelly_option,
    refuse_terminal,
    settings_of,
    star_option,
)

__all__ = ["VERBS"]

_files = click.argument("files", metavar="FILE...", nargs=-1, required=True)
_output = click.option(
    "-o", "--output", metavar="OUT", default="-", help="Write to OUT instead of standard output; also a table."
)
_to = click.option(
    "--to", "to_format", type=WITH_TABLES, help="Format of the output (default: by its suffix; nq on standard output)."
)
_seekable = click.option(
    "--seekable/--no-seekable", default=None,
    help="Write an index to a Jelly file (default for files, but not for .bz2 and .xz).",
)
_quiet = click.option("-q", "--quiet", is_flag=True, help="No progress bar, and no line at the end.")
_memory: Decorator = click.option(
    "--memory", type=Size(), metavar="SIZE", default=MEMORY, show_default="256M",
    help="Memory for statements; the rest goes to temporary files (in TMPDIR).",
)
_by: Decorator = click.option(
    "--by", metavar="PLACES", default="spog", show_default=True,
    help="The order: letters of subject, predicate, object, graph, the most important first.",
)
_blank_nodes = blank_node_options(None, "; default: scope for several files, keep for one")


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of what reads files and writes one: the command gets ``files``, ``output`` and the other keywords."""

    @functools.wraps(command)
    def call(
        files: tuple[str, ...], output: str, from_format: str | None, to_format: str | None, seekable: bool | None,
        limits: dict[str, Any], quiet: bool, jelly_version: str | None, **given: Any,
    ) -> None:  # fmt: skip
        each = _checked_files(files, from_format, limits)
        how = _writing(output, to_format, seekable, jelly_version)
        with progress_bar("Reading", quiet or output == "-") as progress:
            settings = {"format": from_format, "progress": progress, "star": given.pop("star"), **limits, **how}
            written = command(each, output, settings, **given)
        if written is not None and not quiet and output != "-" and sys.stderr.isatty():
            say(f"{output}: {written:,} statements")

    wrapped: Any = call
    versions = (star_option, jelly_option)
    others = (_blank_nodes, _seekable, _to, from_option, _output, _files)
    for option in (_quiet, reading_options(*STATEMENTS), *versions, *others):
        wrapped = option(wrapped)
    made: Callable[..., Any] = wrapped
    return made


def _checked_files(files: tuple[str, ...], from_format: str | None, limits: dict[str, Any]) -> list[Any]:
    """The files that are meant; a mistake in their names or options is reported before anything is read."""
    each = expanded(files)
    settings_of(each, from_format, limits)
    return each


def _writing(
    output: str, to_format: str | None, seekable: bool | None, jelly_version: str | None
) -> dict[str, Any]:
    """The keywords for the output."""
    target = format_of(to_format or ("nq" if output == "-" else None), output, "--to", tables=True)
    if output == "-":
        refuse_terminal(target.name)
    if seekable is None:
        seekable = target is JELLY and can_have_index(output)
    options = jelly_changes(jelly_version, target)
    return {"to_format": target.name, "seekable": seekable} | ({"options": options} if options else {})


@click.command()
@_reading
def concat(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> int:
    """Write the statements of files one after the other, of any formats and stream options.

    \b
    Examples:
      jelly concat monday.jelly tuesday.nq.gz -o both.jelly
      jelly concat 'data/*.ttl' -o all.jelly
    """
    return jelly.concat(files, output, **settings, **given)


@click.command()
@click.argument("target", metavar="FILE")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@from_option
@blank_node_options("scope", "")
@star_option
@reading_options(*STATEMENTS)
@_quiet
def append(
    target: str, sources: tuple[str, ...], from_format: str | None, limits: dict[str, Any], quiet: bool, **given: Any
) -> None:
    """Append the statements of other files to a Jelly file. Its index, if it has one, has them, too.

    FILE is the old one until all is written, also if the command is killed. Blank nodes of the sources are other nodes
    than those of FILE, unless --blank-nodes keep is given.

    \b
    Examples:
      jelly append log.jelly today.nt
      tail -n 100 events.nq | jelly append log.jelly --from nq -
    """
    each = _checked_files(sources, from_format, limits)
    with progress_bar("Appending", quiet) as progress:
        n = jelly.append(each, target, format=from_format, progress=progress, **limits, **given)
    if not quiet and sys.stderr.isatty():
        say(f"{target}: {n:,} more statements")


@click.command()
@_reading
@_by
@click.option("-u", "--unique", is_flag=True, help="Write equal statements once.")
@_memory
def sort(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> int:
    """Sort the statements of files, of any size.

    Blank nodes come first, then IRIs, literals and quoted triples, each ordered by text, code point by code point.

    \b
    Examples:
      jelly sort people.jelly -o sorted.jelly
      jelly sort --by pos --unique 'data/*.nt.gz' -o sorted.jelly
    """
    return jelly.sort(files, output, **settings, **given)


@click.command()
@_reading
@_by
@click.option("-u", "--unique", is_flag=True, help="Write equal statements once.")
def merge(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> int:
    """Merge files that "jelly sort" has sorted, with the same --by, into one that is sorted.

    \b
    Example:
      jelly merge monday.jelly tuesday.jelly --unique -o both.jelly
    """
    return jelly.merge(files, output, **settings, **given)


@click.command()
@_reading
@_memory
def unique(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> int:
    """Write each statement once, in the order in which they come first. The files need not be sorted.

    \b
    Example:
      jelly unique --blank-nodes keep part1.nt part2.nt -o whole.jelly
    """
    return jelly.unique(files, output, **settings, **given)


def _conditions(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        for value in values:
            Condition(value)
    except jelly.JellyError as error:
        raise click.BadParameter(error.reason) from None
    return values


@click.command("filter")
@_reading
@term_option("-s", "--subject", "s", help="One of the subjects.")
@term_option("-p", "--predicate", "p", help="One of the predicates.")
@term_option("--object", "o", help="One of the objects.")
@term_option("-g", "--graph", "g", help="One of the graphs.")
@prefix_option
@click.option(
    "-w", "--where", metavar="CONDITION", multiple=True, callback=_conditions,
    help="A condition, such as o.kind=literal, o.language!=en|de, o.datatype=xsd:integer, s.prefix=http://a.example/. "
    "All must hold.",
)
@click.option("-v", "--invert", is_flag=True, help="Write the statements that do not match.")
def filter_(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> int:
    """Write the statements of files that match all options. "jelly find" prints them with fewer words.

    A CONDITION is a place (s, p, o, g), a dot, a property, = or !=, and values with | between them. Properties: kind
    (iri, blank, literal, quoted, default), language (en is also en-GB, * any), datatype, and prefix of an IRI. A TERM
    may have a prefix, as for "jelly find".

    \b
    Examples:
      jelly filter people.jelly --where 'o.language=en' -o english.jelly
      jelly filter people.jelly --where 's.kind=blank' --invert -o named.jelly
    """
    limits = {name: value for name, value in settings.items() if name in STATEMENTS}
    prefixes = Prefixes(given.pop("prefixes"), files, settings["format"], limits)
    terms: Any = {slot: prefixes.terms(given.pop(slot)) or None for slot in "spog"}
    written = jelly.filter(files, output, **terms, **settings, **given)
    if not written:
        prefixes.note()
    return written


@click.command()
@_reading
@click.option("--rows", metavar="N", type=click.IntRange(1), help="Statements of each file.")
@click.option("--parts", metavar="N", type=click.IntRange(1), help="Number of files of the same size.")
@click.option(
    "--by", type=click.Choice(["subject", "predicate", "object", "graph"]), help="One file for each term in this place."
)
@click.option("--max-files", metavar="N", type=click.IntRange(1), default=1000, show_default=True,
              help="With --by: more terms are an error.")  # fmt: skip
@_memory
def split(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> None:
    """Split the statements of files. {} in OUT stands for the number of a file or a short name of its term.

    A line for each file is printed: its path, its statements, and its term.

    \b
    Examples:
      jelly split people.jelly --rows 1000000 -o 'part-{}.jelly'
      jelly split people.nq --by graph -o 'graphs/{}.nq'
    """
    if output == "-":
        raise click.UsageError("give --output: what the files are called, such as 'part-{}.jelly'")
    if sum(given[name] is not None for name in ("rows", "parts", "by")) != 1:
        raise click.UsageError("give one of --rows, --parts and --by")
    for part in jelly.split(files, output, **settings, **given):
        term = "" if part.term is None else f"\t{'default' if part.term == jelly.DefaultGraph() else part.term}"
        click.echo(f"{part.path}\t{part.statements}{term}")


@click.command()
@_reading
@click.option("-n", "--rows", metavar="N", type=click.IntRange(0), help="How many, exactly.")
@click.option("--fraction", metavar="F", type=click.FloatRange(0, 1), help="The chance of each, from 0 to 1.")
@click.option("--seed", metavar="N", type=click.IntRange(0), help="The same seed chooses the same statements.")
def sample(files: list[Any], output: str, settings: dict[str, Any], **given: Any) -> int:
    """Write some statements of files, chosen by chance, in their order.

    \b
    Examples:
      jelly sample people.jelly -n 1000 --seed 7 -o some.jelly
      jelly sample people.jelly --fraction 0.01 | less
    """
    if (given["rows"] is None) == (given["fraction"] is None):
        raise click.UsageError("give either --rows or --fraction")
    return jelly.sample(files, output, **settings, **given)


VERBS = (concat, append, sort, merge, unique, filter_, split, sample)
