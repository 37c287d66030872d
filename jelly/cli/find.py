"""The command ``jelly find``."""

from __future__ import annotations

from typing import Any

import click

import jelly
from jelly._dataset.dataset import Dataset
from jelly._dataset.filter import Condition
from jelly._dataset.sources import Sources
from jelly.cli.common import STATEMENTS, command, progress_bar, reading_options, say, seekable_option
from jelly.cli.errors import is_unread, message
from jelly.cli.prefixes import Prefixes, prefix_option, term_option
from jelly.cli.reading import (
    blank_node_options,
    expanded,
    from_option,
    jelly_option,
    output_keywords,
    settings_of,
    star_option,
    to_option,
)

__all__ = ["find"]


def _conditions(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[Condition]:
    try:
        return [Condition(value) for value in values]
    except jelly.JellyError as error:
        raise click.BadParameter(error.reason) from None


@command("find")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@term_option("-s", "--subject", help="The subject. Repeat an option for one of several.")
@term_option("-p", "--predicate", help="The predicate.")
@term_option("--object", help="The object.")
@term_option("-g", "--graph", help='The graph; "default" is the default graph, in which triples are.')
@click.option(
    "-w", "--where", metavar="CONDITION", multiple=True, callback=_conditions,
    help="A condition, such as o.language=en|de, o.kind!=literal, o.datatype=xsd:integer, s.prefix=http://a.example/. "
    "All must hold.",
)
@click.option("-v", "--invert", is_flag=True, help="The statements that do not match.")
@prefix_option
@click.option("-c", "--count", "counting", is_flag=True, help="Print only the number of matches.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if nothing is found, and with 2 on any error.")
@from_option
@to_option
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of standard output.")
@blank_node_options
@star_option
@jelly_option
@seekable_option
@click.option("-q", "--quiet", is_flag=True, help="No progress bar, and no line at the end.")
@reading_options(*STATEMENTS)
def find(
    files: tuple[str, ...],
    counting: bool,
    exit_code: bool,
    from_format: str | None,
    to_format: str | None,
    output: str,
    reading: dict[str, Any],
    **given: Any,
) -> None:
    """Print the statements that match all options. Files may also be tables (Parquet, Arrow, CSV), directories and
    glob patterns in quotation marks.

    A TERM is an IRI, or in the syntax of N-Triples: <a:b>, _:b, "text", "text"@en, "5"^^<a:number>. Prefixes work as in
    Turtle where --prefix or a file (at its beginning) declares them, and so do dc, dcterms, foaf, owl, prov, rdf, rdfs,
    schema, skos, sosa and xsd. <rdf:type> is always that IRI.

    A CONDITION is a place (s, p, o, g), a dot, a property, = or !=, and values with | between them. Properties: kind
    (iri, blank, literal, quoted, default), language (en is also en-GB, * any), datatype, and prefix of an IRI.

    \b
    Examples:
      jelly find people.jelly -s http://example.org/alice
      jelly find people.jelly -p foaf:name --where o.language=en --count
      jelly find 'data/*.nq.gz' --object '"Alice"' -o found.jelly
      jelly find people.jelly --where s.kind=blank --invert -o named.jelly
    """
    how = {} if counting else output_keywords(output, to_format, given["seekable"], given["jelly_version"])
    try:
        each = expanded(files)
        settings_of(each, from_format, reading)  # refuses unknown suffixes, and limits that no file has
        prefixes = Prefixes(given["prefixes"], each, from_format, _limits(reading))
        conditions = _abbreviated(given["where"], prefixes)
        pattern, rest = _pattern(prefixes, given, conditions)
        statements = _found(each, pattern, rest, given["invert"], format=from_format, **reading)
        if counting:
            found = statements.count()
            click.echo(str(found))
        else:
            with progress_bar("Reading", given["quiet"] or output == "-") as progress:
                found = statements.write(output, progress=progress, **how).statements
    except (jelly.JellyError, OSError) as error:
        if not exit_code or is_unread(error):
            raise
        say(f"error: {message(error)}", "red")
        click.get_current_context().exit(2)
    if not found:
        prefixes.note()
    if exit_code and not found:
        click.get_current_context().exit(1)


def _limits(reading: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reading.items() if name in STATEMENTS}


def _abbreviated(conditions: list[Condition], prefixes: Prefixes) -> list[Condition]:
    """The conditions with abbreviated datatypes and prefixes of IRIs written out."""
    for one in conditions:
        if one.property in ("datatype", "prefix"):
            one.values = prefixes.iris(one.values)
    return conditions


def _text(one: Condition) -> str:
    return f"{one.slot}.{one.property}{'!' * one.negated}={'|'.join(one.values)}"


_MATCHERS: dict[str, Any] = {"prefix": jelly.IRIPrefix, "datatype": jelly.Datatype, "language": jelly.LanguageRange}


def _pattern(
    prefixes: Prefixes, given: dict[str, Any], conditions: list[Condition]
) -> tuple[jelly.Pattern, list[Condition]]:
    """The pattern, with what an index knows of, and the conditions that are no part of it."""
    places: dict[str, list[Any]] = {
        name[0]: prefixes.terms(given[name]) for name in ("subject", "predicate", "object", "graph")
    }
    rest = []
    for one in conditions:
        known = _MATCHERS.get(one.property) if one.slot == "o" or one.property == "prefix" else None
        if known is None or one.negated or places[one.slot]:
            rest.append(one)
        else:
            places[one.slot] = list(map(known, one.values))
    return jelly.Pattern(**{slot: terms or None for slot, terms in places.items()}), rest


def _found(
    files: list[str],
    pattern: jelly.Pattern,
    rest: list[Condition],
    invert: bool,
    *,
    blank_nodes: Any = None,
    skolem_base: str | None = None,
    **reading: Any,
) -> Dataset:
    """The statements of the files that match."""
    terms = {slot: getattr(pattern, slot) for slot in "spog"}
    statements = Dataset(Sources(files, blank_nodes, skolem_base, **reading))
    return statements.filter(**terms, where=list(map(_text, rest)), invert=invert)
