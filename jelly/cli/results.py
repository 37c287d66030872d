"""The commands ``jelly results ...`` for SPARQL results."""

from __future__ import annotations

import sys
from typing import Any

import click

import jelly
from jelly._formats.registry import REGISTRY, Content, find
from jelly.cli.common import limits_of, reading_options, shape_option, show
from jelly.stats import result_stats

__all__ = ["results"]

_FORMATS = REGISTRY[Content.RESULTS]
_format = click.Choice(list(_FORMATS))
_from = click.option(
    "--from", "from_format", type=_format,
    help="Format of the input (default: by the suffix of the file).",
)


_limits = reading_options("max_row_bytes", "max_prefixes", "max_text_bytes", "max_document_bytes")


def _known(limits: dict[str, Any], format: str) -> dict[str, Any]:
    return limits_of(limits, _FORMATS[format].reading, what=f"{format} results")


@click.group()
def results() -> None:
    """Convert, print and count results of SELECT queries.

    Formats: RDF Thrift (.srt), RDF Protobuf (.srp), JSON, XML, CSV and TSV.
    """


def _check(format: str | None, name: str, option: str) -> str:
    try:
        return find(format, "" if name == "-" else name, content=Content.RESULTS).name
    except jelly.JellyError as error:
        raise click.UsageError(f"{error.reason.partition(';')[0]}; use {option}") from None


@results.command("convert", short_help="Convert results to another format.")
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@_from
@click.option("--to", "to_format", type=_format, help="Format of the output (default: by the suffix of the file).")
@click.option("-q", "--quiet", is_flag=True, help="Print no summary.")
@_limits
def convert_(
    src: str, dst: str, from_format: str | None, to_format: str | None, quiet: bool, limits: dict[str, Any]
) -> None:
    """Convert the results IN to OUT. If the conversion fails, OUT is not created or changed.

    \b
    Examples:
      jelly results convert people.srt people.srj
      jelly results convert people.srx.gz people.srp
    """
    source, target = _check(from_format, src, "--from"), _check(to_format, dst, "--to")
    if dst == "-" and _FORMATS[target].binary and sys.stdout.isatty():
        raise click.UsageError("the format is binary: give a file or a pipe instead of the terminal")
    known = _known(limits, source)
    rows = jelly.convert(src, dst, content="results", from_format=source, to_format=target, **known).statements
    if not quiet:
        click.echo(f"{rows:,} rows", err=True)


@results.command("cat", short_help="Print results as text.")
@click.argument("src", metavar="FILE")
@_from
@click.option(
    "--to", "to_format", type=click.Choice(["tsv", "csv", "json", "xml"]), default="tsv", show_default=True,
    help="Format of the output.",
)
@_limits
def cat_(src: str, from_format: str | None, to_format: str, limits: dict[str, Any]) -> None:
    """Print the results in FILE.

    \b
    Examples:
      jelly results cat people.srt
      jelly results cat people.srp --to json | jq .results
    """
    source = _check(from_format, src, "--from")
    known = _known(limits, source)
    jelly.convert(src, "-", content="results", from_format=source, to_format=to_format, **known)


@results.command("stats", short_help="Count the values of each variable.")
@click.argument("src", metavar="FILE")
@_from
@shape_option
@click.option(
    "--top", metavar="N", type=click.IntRange(0), default=5, show_default=True, help="Values of each variable.",
)
@_limits
def stats_(src: str, from_format: str | None, shape: str | None, top: int, limits: dict[str, Any]) -> None:
    """Count the rows of the results in FILE, and the values of each variable.

    \b
    Examples:
      jelly results stats people.srt --top 10
      jelly results stats people.srx --format json | jq .variables.name.unbound
    """
    source = _check(from_format, src, "--from")
    found = result_stats(src, format=source, top=top, **_known(limits, source))
    show(found, shape, lambda display: display.show_result_stats(src, found))
