"""Shared by commands that read statements or write one Jelly stream: settings of files, and options of the stream."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import click

import jelly
from jelly._bytes.names import is_web
from jelly._bytes.source import Source
from jelly._dataset.sources import expand
from jelly._formats.registry import FORMATS, TABLE_FORMATS, Content, Format, find, having
from jelly._options.options import COLUMN_VERSION
from jelly._streams.inputs import ACCEPT
from jelly._streams.widening import late_error
from jelly.cli.common import Decorator, limits_of
from jelly.errors import LateError

__all__ = [
    "FORMAT",
    "PHYSICAL",
    "WITH_TABLES",
    "expanded",
    "format_of",
    "from_option",
    "jelly_changes",
    "jelly_option",
    "opened",
    "refuse_terminal",
    "settings_of",
    "star_option",
    "wide_advice",
    "wide_changes",
    "wide_options",
    "write_batches",
]

FORMAT = click.Choice(list(FORMATS))
WITH_TABLES = click.Choice([*FORMATS, *TABLE_FORMATS])
PHYSICAL = [kind.name.lower() for kind in jelly.PhysicalType if kind]
from_option: Decorator = click.option(
    "--from", "from_format", type=WITH_TABLES,
    help="Format of the input (default: by the suffix of the file, or the Content-Type of an address).",
)


def format_of(value: str | None, name: str, option: str, tables: bool = False) -> Format:
    try:
        return find(value, "" if name == "-" else name, tables=tables)
    except jelly.JellyError as error:
        reason = error.reason.partition(";")[0]
        raise click.UsageError(f"{reason}; use {option}") from None


def expanded(files: Sequence[str]) -> list[str]:
    """The files that are meant: those of directories and glob patterns, too."""
    return [found for file in files for found in expand(file)]


@contextlib.contextmanager
def opened(file: str, from_format: str | None) -> Iterator[tuple[Any, Format]]:
    """A file to read, and its format: by the name, or what the server says of an address, whose body this opens."""
    if from_format is not None or not is_web(file):
        yield file, format_of(from_format, file, "--from", tables=True)
        return
    from jelly._bytes.remote import Body

    with contextlib.closing(Body(file, ACCEPT[Content.STATEMENTS])) as body:
        yield body, format_of(Source(body).media_type, file, "--from", tables=True)


def settings_of(
    files: Sequence[str], from_format: str | None, limits: dict[str, Any]
) -> list[dict[str, Any]]:
    """The keywords for reading each file: its format, and the options of `reading_options` that it has.

    A name without a known format is a mistake in the call, reported before anything is read; so is an option that is of
    no use for any file. What an address holds is known when it is read; until then its format is None.
    """
    formats = [
        None if from_format is None and is_web(file) else format_of(from_format, file, "--from", tables=True)
        for file in files
    ]
    if None not in formats:
        limits_of(limits, *(format.reading for format in formats if format))
    return [
        {"format": None, **limits} if format is None else {"format": format.name} | having(limits, format.reading)
        for format in formats
    ]


star_option: Decorator = click.option(
    "--star", type=click.Choice(["reifies", "triple-terms", "quoted"]),
    help="Turn quoted triples of RDF-star into nodes with rdf:reifies, or such nodes back (quoted), or take them as "
    "triple terms of RDF 1.2.",
)
jelly_option: Decorator = click.option(
    "--jelly", "jelly_version", type=click.Choice(["1.0", "1.1", "1.2"]),
    help="Version of Jelly-RDF. 1.2 stores statements in columns; it is not final (default: 1.2 if the first source is "
    "of it, else 1.0 or 1.1).",
)


def jelly_changes(jelly_version: str | None, target: Format) -> dict[str, Any]:
    """The stream options of `jelly_option`."""
    if jelly_version is None:
        return {}
    if target.name != "jelly":
        raise click.UsageError(f"--jelly does not go with {target.title}")
    return {"version": 1 + int(jelly_version[-1])}


def wide_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that write one stream of Jelly from input whose kinds of statements may appear late."""
    options = [
        click.option("--physical", type=click.Choice(PHYSICAL), help="Physical stream type of the Jelly output."),
        click.option("--generalized", is_flag=True, help="Allow generalized statements in the Jelly output."),
        click.option("--namespaces", is_flag=True, help="Allow namespace declarations in the Jelly output."),
        click.option("--rdf-star", is_flag=True, help="Allow quoted triples in the Jelly output."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def wide_changes(given: dict[str, Any]) -> dict[str, Any]:
    """The stream options of `wide_options`."""
    changes: dict[str, Any] = {}
    if given["physical"]:
        changes["physical_type"] = jelly.PhysicalType[given["physical"].upper()]
    for name, option, value in (
        ("generalized_statements", "generalized", True), ("version", "namespaces", 2), ("rdf_star", "rdf_star", True)
    ):
        if given[option]:
            changes[name] = value
    return changes


_WIDE = {
    "physical_type": "--physical quads", "generalized_statements": "--generalized", "version": "--namespaces",
    "rdf_star": "--rdf-star",
}


@contextlib.contextmanager
def wide_advice() -> Iterator[None]:
    """Context manager: errors for kinds of statements that appear late name the options of the command."""
    try:
        yield
    except LateError as error:
        if not error.fields.keys() <= _WIDE.keys():
            raise
        late = late_error(error.fields, f"give {' '.join(_WIDE[name] for name in error.fields)}")
        late.source = error.source
        raise late from None


def write_batches(to_format: str, options: Any, batches: Iterator[jelly.Batch]) -> int:
    """Write Batches to standard output, also as a table. Return how many statements."""
    if to_format in TABLE_FORMATS:
        from jelly._formats.arrow_tables import from_batches
        from jelly._formats.table_files import write_table_file

        return write_table_file("-", from_batches(batches), kind=to_format)
    first = next(batches, None)
    if first is not None and options and options.get("version", getattr(first.options, "version", 0)) == COLUMN_VERSION:
        # Columns announce no kinds of statements.
        options = {"version": COLUMN_VERSION} | {name: options[name] for name in options if name == "physical_type"}
    with jelly.Writer("-", options, format=to_format) as writer:
        for batch in () if first is None else chain([first], batches):
            writer.add_batch(batch)
        return writer.statements


def refuse_terminal(to_format: str) -> None:
    """Refuse to print a binary format on a terminal."""
    format = find(to_format, tables=True)
    if format.binary and sys.stdout.isatty():
        raise click.UsageError(f"{format.title} is binary: send it to a file or a pipe instead of the terminal")
