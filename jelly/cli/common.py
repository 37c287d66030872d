"""What several commands share."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

import click

from jelly.files import split_suffix

__all__ = ["can_have_index", "parse_range", "progress_bar", "quoted_option", "say"]

quoted_option = click.option(
    "--quoted",
    type=click.Choice(["rdf-1.2", "rdf-star"]),
    help="Quoted triples as objects, in lines of text: <<( )>> of RDF 1.2, the default, or << >> of RDF-star.",
)


def say(text: str, colour: str | None = None) -> None:
    """A line on standard error; colours only on a terminal, and never with NO_COLOR."""
    click.secho(text, err=True, fg=colour, color=False if os.environ.get("NO_COLOR") else None)


@contextlib.contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[Callable[[int, int | None, int | None], object] | None]:
    """A progress bar on standard error: only on a terminal, and not together with data on the same one."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from jelly.cli.display import progress

    with progress(what) as update:
        yield update


def can_have_index(dst: str) -> bool:
    """Whether an index would be of use: not in a stream, a device, or a compressed file."""
    if dst == "-" or split_suffix(dst)[1]:
        return False
    return os.path.isfile(dst) or not os.path.exists(dst)


def parse_range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int | None]:
    """A:B with either left out."""
    start, colon, stop = value.partition(":")
    if not colon or not all(not part or part.isdecimal() for part in (start, stop)):
        raise click.BadParameter(f"{value!r} is no range: expected A:B, such as 1000:1010, :10 or 1000:")
    low, high = int(start or 0), int(stop) if stop else None
    if high is not None and high < low:
        raise click.BadParameter(f"{value!r} ends before it begins")
    return low, high
