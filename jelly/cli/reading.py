"""Shared by commands that read statements or write one Jelly stream: settings of files, and options of the stream."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import click
from click.shell_completion import CompletionItem

import jelly
from jelly._bytes.names import descriptor_of, is_web, split_suffix
from jelly._bytes.source import Source
from jelly._dataset.sources import expand
from jelly._formats.registry import (
    JELLY,
    REGISTRY,
    TABLE_FORMATS,
    Content,
    Format,
    find,
    having,
)
from jelly._options.keywords import READ
from jelly._options.options import COLUMN_VERSION
from jelly._streams.inputs import ACCEPT
from jelly._streams.widening import late_error
from jelly.cli.common import Decorator, can_have_index, limits_of
from jelly.cli.options import ParamType, options
from jelly.errors import LateError

__all__ = [
    "FormatName",
    "PHYSICAL",
    "blank_node_options",
    "content_of",
    "expanded",
    "format_of",
    "from_option",
    "jelly_changes",
    "jelly_option",
    "opened",
    "output_keywords",
    "refuse_terminal",
    "settings_of",
    "star_option",
    "to_option",
    "wide_advice",
    "wide_changes",
    "wide_options",
    "write_batches",
]

_CONTENTS = (Content.STATEMENTS, Content.TABLE, Content.PATCH, Content.RESULTS, Content.MESSAGES)
_ALL = [one for content in _CONTENTS for one in REGISTRY[content].values()]
PHYSICAL = [kind.name.lower() for kind in jelly.PhysicalType if kind]


class FormatName(ParamType):
    """The name of a format of any content: a name, a suffix or a media type."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not any(one.is_called(str(value).partition(";")[0].strip().lower()) for one in _ALL):
            self.fail(f"{value!r} is not a format: expected one of {', '.join(_names())}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in _names() if name.startswith(incomplete)]


def _names() -> list[str]:
    """Names of formats, each once; for those of results the suffix, as the name may be one of statements, too."""
    return list(dict.fromkeys(one.suffixes[0][1:] if one.content is Content.RESULTS else one.name for one in _ALL))


from_option: Decorator = click.option(
    "--from", "from_format", metavar="FORMAT", type=FormatName(),
    help="Format of the input. By default the suffix decides, or the Content-Type of an address.",
)
to_option: Decorator = click.option(
    "--to", "to_format", metavar="FORMAT", type=FormatName(),
    help="Format of the output. By default the suffix decides; on standard output it is text.",
)


def content_of(*names: str | None, messages: bool = False) -> Content:
    """The content of files, by the names of formats and by suffixes: statements, unless one has another content."""
    if messages:
        return Content.MESSAGES
    for name in names:
        wanted = (name or "").partition(";")[0].strip().lower()
        for one in _ALL if wanted else ():
            if one.is_called(wanted) or one.is_called(split_suffix(wanted)[0] or " "):
                if one.content not in (Content.STATEMENTS, Content.TABLE):
                    return one.content
                break
    return Content.STATEMENTS


def format_of(
    value: str | None, name: str, option: str, tables: bool = False, content: Content = Content.STATEMENTS
) -> Format:
    try:
        return find(value, "" if name == "-" else name, tables=tables, content=content)
    except jelly.JellyError as error:
        if content is Content.STATEMENTS and (other := content_of(value or name)) is not content:
            raise click.UsageError(f"{value or name}: this command takes statements, not {other.value}") from None
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


star_option: Decorator = options(READ, "star", into="reading")
blank_node_options: Decorator = options(READ, "blank_nodes", "skolem_base", into="reading")
jelly_option: Decorator = click.option(
    "--jelly", "jelly_version", type=click.Choice(["1.0", "1.1", "1.2"]),
    help="Version of Jelly-RDF. 1.2 stores statements in columns; it is not final. By default it is 1.2 if the first "
    "source is of it, else 1.0 or 1.1.",
)


def jelly_changes(jelly_version: str | None, target: Format) -> dict[str, Any]:
    """The stream options of `jelly_option`."""
    if jelly_version is None:
        return {}
    if target.name != "jelly":
        raise click.UsageError(f"--jelly does not go with {target.title}")
    return {"version": 1 + int(jelly_version[-1])}


_ALLOWED: dict[str, tuple[str, Any]] = {
    "generalized": ("generalized_statements", True), "namespaces": ("version", 2), "star": ("rdf_star", True),
}  # fmt: skip


def wide_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of commands that write one stream of Jelly from input whose kinds of statements may appear late."""
    command = click.option(
        "--allow", type=click.Choice(list(_ALLOWED)), multiple=True, hidden=True,
        help="Allow generalized statements, namespaces, or quoted triples of RDF-star in the Jelly output. Repeatable.",
    )(command)
    return click.option(
        "--physical", type=click.Choice(PHYSICAL), hidden=True, help="Physical stream type of the Jelly output."
    )(command)


def wide_changes(physical: str | None, allow: Sequence[str]) -> dict[str, Any]:
    """The stream options of `wide_options`."""
    changes: dict[str, Any] = dict(_ALLOWED[name] for name in allow)
    return changes | ({"physical_type": jelly.PhysicalType[physical.upper()]} if physical else {})


_WIDE = {field: f"--allow {name}" for name, (field, _) in _ALLOWED.items()} | {"physical_type": "--physical quads"}


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


def refuse_terminal(format: Format) -> None:
    """Refuse to print a binary format on a terminal."""
    if format.binary and sys.stdout.isatty():
        raise click.UsageError(f"{format.title} is binary: send it to a file or a pipe instead of the terminal")


def output_keywords(
    output: str, to_format: str | None, seekable: bool | None, jelly_version: str | None
) -> dict[str, Any]:
    """The keywords for an output of statements; N-Quads on standard output."""
    if to_format is None and output != "-" and not split_suffix(output)[0] and descriptor_of(output) is None:
        raise click.UsageError(f"{output} has no suffix, which would say its format; use --to")
    target = format_of(to_format or ("nq" if output == "-" else None), output, "--to", tables=True)
    if output == "-":
        refuse_terminal(target)
    if seekable is None:
        seekable = target is JELLY and can_have_index(output)
    return {
        "to": target.name, "seekable": seekable, "options": jelly_changes(jelly_version, target) or None
    }  # fmt: skip
