"""The commands ``jelly canonicalize`` and ``jelly hash``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

import jelly
from jelly.cli.common import STATEMENTS, progress_bar, reading_options
from jelly.cli.reading import expanded, from_option, settings_of

__all__ = ["canonicalize", "hash_"]

F = TypeVar("F", bound=Callable[..., Any])

_ALGORITHMS = ("sha256", "sha384")


class _Nowhere:
    """A file that discards its bytes."""

    def write(self, data: bytes) -> int:
        return len(data)


def _canonical_options(command: F) -> F:
    command = click.option(
        "--max-steps",
        metavar="N",
        type=click.IntRange(0),
        help="Most steps to search for the labels of blank nodes that are alike; default: 2 million, and 16 for each.",
    )(command)
    return click.option(
        "--algorithm", type=click.Choice(_ALGORITHMS), default="sha256", show_default=True, help="Hash algorithm."
    )(command)


def _canonical(
    src: Any, dst: Any, settings: dict[str, Any], algorithm: Any, max_steps: int | None, what: str
) -> jelly.Canonical:
    settings = {name: value for name, value in settings.items() if name != "format"} | {
        "from_format": settings["format"]
    }
    with progress_bar(what, quiet=dst == "-" and sys.stdout.isatty()) as progress:
        return jelly.canonicalize(
            src, dst, algorithm=algorithm, max_steps=max_steps, progress=progress, **settings
        )


@click.command("canonicalize")
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="[OUT]", default="-")
@from_option
@_canonical_options
@reading_options(*STATEMENTS)
def canonicalize(
    src: str, dst: str, from_format: str | None, algorithm: str, max_steps: int | None, limits: dict[str, Any]
) -> None:
    """Read IN and write its canonical N-Quads to OUT, or to standard output.

    IN may also be a table, a directory or a glob pattern in quotation marks: all files together are one dataset, in
    which the blank nodes of each file are apart.

    The same dataset gives the same bytes, whatever the order of its statements and the labels of its blank nodes. The
    algorithm is RDFC-1.0 of W3C. Statements that are there twice are written once. Quoted triples and generalized
    statements are an error: RDFC-1.0 does not define them.

    \b
    Examples:
      jelly canonicalize people.jelly people.nq
      jelly canonicalize people.ttl | sha256sum
      jelly canonicalize 'dump/*.nq.gz' dump.nq
    """
    each = expanded([src])
    settings = settings_of(each, from_format, limits)
    if len(each) == 1:
        _canonical(each[0], dst, settings[0], algorithm, max_steps, "Canonicalizing")
    else:
        _canonical(each, dst, {"format": from_format, **limits}, algorithm, max_steps, "Canonicalizing")


@click.command("hash")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@_canonical_options
@reading_options(*STATEMENTS)
def hash_(
    files: tuple[str, ...], from_format: str | None, algorithm: str, max_steps: int | None, limits: dict[str, Any]
) -> None:
    """Print the hash of the canonical N-Quads of each file, and its name, as sha256sum does.

    Files may also be tables, directories and glob patterns in quotation marks. Those with the same dataset have the
    same hash, whatever their format, order and labels of blank nodes.

    \b
    Examples:
      jelly hash people.jelly people.nt.gz
      jelly hash --algorithm sha384 people.ttl
    """
    each = expanded(files)
    for file, settings in zip(each, settings_of(each, from_format, limits), strict=True):
        digest = _canonical(file, _Nowhere(), settings, algorithm, max_steps, "Hashing").digest
        click.echo(f"{digest}  {file}")
