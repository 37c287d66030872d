"""The command ``jelly canonicalize``."""

from __future__ import annotations

import sys
from typing import Any

import click

import jelly
from jelly.cli.common import STATEMENTS, command, progress_bar, reading_options
from jelly.cli.reading import expanded, from_option, settings_of

__all__ = ["canonicalize"]

_ALGORITHMS = ("sha256", "sha384")


class _Nowhere:
    """A file that discards its bytes."""

    def write(self, data: bytes) -> int:
        return len(data)


def _canonical(
    src: Any, dst: Any, what: str, algorithm: Any, max_steps: int | None, settings: dict[str, Any]
) -> jelly.Canonical:
    with progress_bar(what, quiet=dst == "-" and sys.stdout.isatty()) as progress:
        return jelly.canonicalize(
            src, dst, algorithm=algorithm, max_steps=max_steps, progress=progress, **settings
        )


@command()
@click.argument("files", metavar="IN [OUT]", nargs=-1, required=True)
@from_option
@click.option("--hash", "hashes", is_flag=True, help="Print the hash of each of any number of files instead.")
@click.option(
    "--algorithm", type=click.Choice(_ALGORITHMS), default="sha256", show_default=True, help="Hash algorithm."
)
@click.option(
    "--max-steps", metavar="N", type=click.IntRange(0),
    help="Maximum number of steps for telling similar blank nodes apart (default: 2 million, and 16 for each).",
)
@reading_options(*STATEMENTS)
def canonicalize(
    files: tuple[str, ...],
    from_format: str | None,
    hashes: bool,
    algorithm: str,
    max_steps: int | None,
    reading: dict[str, Any],
) -> None:
    """Read IN and write its canonical N-Quads to OUT, or to standard output.

    IN may also be a table, a directory or a glob pattern in quotation marks: all files together are one dataset, in
    which the blank nodes of each file are apart.

    The same dataset gives the same bytes, whatever the order of its statements and the labels of its blank nodes. The
    algorithm is RDFC-1.0 of W3C. Statements that are there twice are written once. Quoted triples and generalized
    statements are an error: RDFC-1.0 does not define them.

    With --hash the hash of each file and its name are printed, as sha256sum does. Files with the same dataset have the
    same hash, whatever their format.

    \b
    Examples:
      jelly canonicalize people.jelly people.nq
      jelly canonicalize 'dump/*.nq.gz' dump.nq
      jelly canonicalize --hash people.jelly people.nt.gz
    """
    if hashes:
        each = expanded(files)
        for file, settings in zip(each, settings_of(each, from_format, reading), strict=True):
            digest = _canonical(file, _Nowhere(), "Hashing", algorithm, max_steps, settings).digest
            click.echo(f"{digest}  {file}")
        return
    src, dst, *more = *files, "-"
    if more[1:]:
        raise click.UsageError("give IN and OUT, or --hash for several files")
    each = expanded([src])
    settings = {"format": from_format, **reading}
    found = settings_of(each, from_format, reading)
    if len(each) == 1:
        _canonical(each[0], dst, "Canonicalizing", algorithm, max_steps, found[0])
    else:
        _canonical(each, dst, "Canonicalizing", algorithm, max_steps, settings)
