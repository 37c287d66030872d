"""What the commands share that read Jelly, or write one stream of it: their options, and the format of a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import click

import jelly
from jelly.convert import LateError
from jelly.formats import FORMATS, JELLY, Format, find_format

__all__ = [
    "FORMAT",
    "PHYSICAL",
    "check_formats",
    "format_of",
    "from_option",
    "jelly_options",
    "of_jelly",
    "wide_advice",
    "wide_changes",
    "wide_options",
]

FORMAT = click.Choice(list(FORMATS))
PHYSICAL = [kind.name.lower() for kind in jelly.PhysicalType if kind]
from_option = click.option("--from", "from_format", type=FORMAT, help="Format of the input; default: by its suffix.")


def format_of(value: str | None, name: str, option: str) -> Format:
    try:
        return find_format(value, "" if name == "-" else name)
    except jelly.JellyError as error:
        reason = error.reason.partition(";")[0]
        raise click.UsageError(f"{reason}; say what it is with {option}") from None


def check_formats(files: tuple[str, ...], from_format: str | None) -> None:
    """A name that tells no format is a mistake in the call, to be told before anything is read."""
    for file in files:
        format_of(from_format, file, "--from")


def jelly_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the commands that read Jelly."""
    command = click.option(
        "--joined", is_flag=True, help="Read Jelly files that were joined with cat as the streams they are."
    )(command)
    return click.option(
        "--skip-unknown-rows", is_flag=True, help="Leave out rows of Jelly of a kind that this version does not know."
    )(command)


def of_jelly(from_format: str | None, file: str, joined: bool, skip_unknown_rows: bool) -> dict[str, Any]:
    """The settings of a Reader that `jelly_options` ask for; none for files in other formats."""
    if format_of(from_format, file, "--from") is not JELLY:
        return {}
    settings: dict[str, Any] = {"joined": True} if joined else {}
    return settings | ({"unknown_rows": "skip"} if skip_unknown_rows else {})


def wide_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the commands that write one stream of Jelly from what may hold more than it shows at first."""
    options = [
        click.option("--physical", type=click.Choice(PHYSICAL), help="Physical stream type of Jelly output."),
        click.option("--generalized", is_flag=True, help="Allow generalized statements in Jelly output."),
        click.option("--namespaces", is_flag=True, help="Allow namespaces in Jelly output."),
        click.option("--star", is_flag=True, help="Allow quoted triples in Jelly output."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def wide_changes(given: dict[str, Any]) -> dict[str, Any]:
    """The stream options that `wide_options` ask for."""
    changes: dict[str, Any] = {}
    if given["physical"]:
        changes["physical_type"] = jelly.PhysicalType[given["physical"].upper()]
    for name, option, value in (
        ("generalized_statements", "generalized", True), ("version", "namespaces", 2), ("rdf_star", "star", True)
    ):
        if given[option]:
            changes[name] = value
    return changes


_WIDE = {
    "physical_type": "--physical quads", "generalized_statements": "--generalized", "version": "--namespaces",
    "rdf_star": "--star",
}


@contextlib.contextmanager
def wide_advice() -> Iterator[None]:
    """Within this, what turned up late is an error that names the options of the command line."""
    try:
        yield
    except LateError as error:
        raise LateError.of(error.fields, f"give {' '.join(_WIDE[name] for name in error.fields)}") from None
