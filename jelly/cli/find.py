"""The command ``jelly find``."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

import jelly
from jelly._find.pattern import parse_term
from jelly._sources.blank_node_scope import Mode
from jelly._sources.sources import Sources
from jelly.cli.common import STATEMENTS, Decorator, blank_node_options, reading_options, say
from jelly.cli.errors import message
from jelly.cli.reading import WITH_TABLES, expanded, from_option, refuse_terminal, settings_of, write_batches

__all__ = ["find"]


def _term(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[Any]:
    try:
        return [parse_term(value) for value in values]
    except jelly.JellyError as error:
        raise click.BadParameter(error.reason) from None


def _option(*names: str, help: str) -> Decorator:
    option: Decorator = click.option(*names, metavar="TERM", multiple=True, callback=_term, help=help)
    return option


@click.command("find", short_help="Print the statements that match a pattern.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@_option("-s", "--subject", help="The subject. Repeat an option for one of several.")
@_option("-p", "--predicate", help="The predicate.")
@_option("-o", "--object", help="The object.")
@_option("-g", "--graph", help='The graph; "default" is the default graph, in which triples are.')
@click.option("--subject-prefix", metavar="TEXT", multiple=True, help="What the IRI of the subject begins with.")
@click.option("--predicate-prefix", metavar="TEXT", multiple=True, help="What the IRI of the predicate begins with.")
@click.option("--object-prefix", metavar="TEXT", multiple=True, help="What the IRI of the object begins with.")
@click.option("--graph-prefix", metavar="TEXT", multiple=True, help="What the IRI of the graph begins with.")
@click.option("--datatype", metavar="IRI", multiple=True, help="The datatype of the object.")
@click.option(
    "--language", metavar="RANGE", multiple=True,
    help="The language of the object: en also finds en-GB, and * any language.",
)
@click.option("-c", "--count", "counting", is_flag=True, help="Print only how many there are.")
@click.option(
    "--exit-code", is_flag=True, help="End with exit code 1 if nothing is found, and with 2 on any error.",
)
@from_option
@click.option("--to", "to_format", type=WITH_TABLES, default="nq", show_default=True, help="Format of the output.")
@blank_node_options(None, "; default: scope for several files, keep for one")
@reading_options(*STATEMENTS)
def find(
    files: tuple[str, ...],
    counting: bool,
    exit_code: bool,
    from_format: str | None,
    to_format: str,
    blank_nodes: Mode | None,
    skolem_base: str | None,
    limits: dict[str, Any],
    **given: Any,
) -> None:
    """Print the statements of files whose terms are those of the options. Files may also be tables (Parquet, Arrow,
    CSV), directories and glob patterns in quotation marks.

    A TERM is an IRI, or in the syntax of N-Triples: <a:b>, _:b, "text", "text"@en, "5"^^<a:number>. Several values for
    one place of a statement mean any of them; options for different places must all hold.

    \b
    Examples:
      jelly find people.jelly -s http://example.org/alice
      jelly find people.jelly -p http://xmlns.com/foaf/0.1/name --language en --count
      jelly find 'data/*.nq.gz' -o '"Alice"' --to jelly > found.jelly
    """
    if not counting:
        refuse_terminal(to_format)
    wanted = {}
    for slot in ("subject", "predicate", "object", "graph"):
        wanted[slot[0]] = [*given[slot], *map(jelly.IRIPrefix, given[f"{slot}_prefix"])]
    try:
        wanted["o"] += [*map(jelly.Datatype, given["datatype"]), *map(jelly.LanguageRange, given["language"])]
    except jelly.JellyError as error:
        raise click.UsageError(error.reason) from None
    pattern = jelly.Pattern(**{slot: terms or None for slot, terms in wanted.items()})
    try:
        found = _run(pattern, files, counting, from_format, to_format, blank_nodes, skolem_base, limits)
    except (jelly.JellyError, OSError) as error:
        if not exit_code or isinstance(error, BrokenPipeError):
            raise
        say(f"error: {message(error)}", "red")
        click.get_current_context().exit(2)
    if exit_code and not found:
        click.get_current_context().exit(1)


def _run(
    pattern: jelly.Pattern,
    files: tuple[str, ...],
    counting: bool,
    from_format: str | None,
    to_format: str,
    blank_nodes: Mode | None,
    skolem_base: str | None,
    limits: dict[str, Any],
) -> int:
    """Print what is found, or how much, and return how much."""
    each = expanded(files)
    settings_of(each, from_format, limits)  # refuses unknown suffixes, and limits that no file has
    sources = Sources(each, blank_nodes, skolem_base, format=from_format, **limits)
    matches = jelly.Matches(pattern, partial(sources.batches, condition=pattern))
    if counting:
        number = matches.count()
        click.echo(str(number))
        return number
    options: dict[str, Any] | None = None
    if to_format == "jelly":
        # Quads and quoted triples may come late; one source has either triples or quads.
        options = {"rdf_star": True, "generalized_statements": True}
        if len(each) > 1:
            options["physical_type"] = jelly.PhysicalType.QUADS
    return write_batches(to_format, options, matches.batches())
