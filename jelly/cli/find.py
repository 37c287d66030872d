"""The command ``jelly find``."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

import jelly
from jelly._dataset.blank_node_scope import Mode
from jelly._dataset.sources import Sources
from jelly._formats import registry
from jelly.cli.common import STATEMENTS, blank_node_options, reading_options, say
from jelly.cli.errors import is_unread, message
from jelly.cli.prefixes import Prefixes, prefix_option, term_option
from jelly.cli.reading import (
    WITH_TABLES,
    expanded,
    from_option,
    jelly_changes,
    jelly_option,
    refuse_terminal,
    settings_of,
    write_batches,
)

__all__ = ["find"]


@click.command("find")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@term_option("-s", "--subject", help="The subject. Repeat an option for one of several.")
@term_option("-p", "--predicate", help="The predicate.")
@term_option("-o", "--object", help="The object.")
@term_option("-g", "--graph", help='The graph; "default" is the default graph, in which triples are.')
@click.option("--subject-prefix", metavar="TEXT", multiple=True, help="What the IRI of the subject begins with.")
@click.option("--predicate-prefix", metavar="TEXT", multiple=True, help="What the IRI of the predicate begins with.")
@click.option("--object-prefix", metavar="TEXT", multiple=True, help="What the IRI of the object begins with.")
@click.option("--graph-prefix", metavar="TEXT", multiple=True, help="What the IRI of the graph begins with.")
@click.option("--datatype", metavar="IRI", multiple=True, help="The datatype of the object.")
@click.option(
    "--language", metavar="RANGE", multiple=True,
    help="The language of the object: en also finds en-GB, and * any language.",
)
@prefix_option
@click.option("-c", "--count", "counting", is_flag=True, help="Print only how many there are.")
@click.option(
    "--exit-code", is_flag=True, help="End with exit code 1 if nothing is found, and with 2 on any error.",
)
@from_option
@click.option("--to", "to_format", type=WITH_TABLES, default="nq", show_default=True, help="Format of the output.")
@blank_node_options(None, "; default: scope for several files, keep for one")
@jelly_option
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
    one place of a statement mean any of them; options for different places must all hold. Prefixes work as in Turtle
    where --prefix or a file (at its beginning) declares them, and so do dc, dcterms, foaf, owl, prov, rdf, rdfs,
    schema, skos, sosa and xsd. <rdf:type> is always that IRI.

    \b
    Examples:
      jelly find people.jelly -s http://example.org/alice
      jelly find people.jelly -p foaf:name --language en --count
      jelly find 'data/*.nq.gz' -o '"Alice"' --to jelly > found.jelly
    """
    changes = {}
    if not counting:
        refuse_terminal(to_format)
        changes = jelly_changes(given["jelly_version"], registry.find(to_format, tables=True))
    try:
        each = expanded(files)
        prefixes = Prefixes(given["prefixes"], each, from_format, limits)
        pattern = _pattern(prefixes, given)
        found = _run(pattern, each, counting, from_format, to_format, blank_nodes, skolem_base, limits, changes)
    except (jelly.JellyError, OSError) as error:
        if not exit_code or is_unread(error):
            raise
        say(f"error: {message(error)}", "red")
        click.get_current_context().exit(2)
    if not found:
        prefixes.note()
    if exit_code and not found:
        click.get_current_context().exit(1)


def _pattern(prefixes: Prefixes, given: dict[str, Any]) -> jelly.Pattern:
    """What is looked for."""
    wanted = {}
    for slot in ("subject", "predicate", "object", "graph"):
        begin = prefixes.iris(given[f"{slot}_prefix"])
        wanted[slot[0]] = [*prefixes.terms(given[slot]), *map(jelly.IRIPrefix, begin)]
    datatypes = prefixes.iris(given["datatype"])
    try:
        wanted["o"] += [*map(jelly.Datatype, datatypes), *map(jelly.LanguageRange, given["language"])]
    except jelly.JellyError as error:
        raise click.UsageError(error.reason) from None
    return jelly.Pattern(**{slot: terms or None for slot, terms in wanted.items()})


def _run(
    pattern: jelly.Pattern,
    each: list[str],
    counting: bool,
    from_format: str | None,
    to_format: str,
    blank_nodes: Mode | None,
    skolem_base: str | None,
    limits: dict[str, Any],
    changes: dict[str, Any],
) -> int:
    """Print what is found, or how much, and return how much."""
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
        options |= changes
    return write_batches(to_format, options, matches.batches())
