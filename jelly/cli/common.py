"""Options and helpers that several commands share."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol, TypeVar

import click
from click.core import ParameterSource

from jelly._bytes.names import descriptor_of, split_suffix
from jelly._options.keywords import READ
from jelly.cli.errors import say
from jelly.cli.options import ParamType, Size, options

__all__ = [
    "ALL",
    "COMMON",
    "LOGS",
    "STATEMENTS",
    "Command",
    "Decorator",
    "ParamType",
    "RangeCommand",
    "Size",
    "can_have_index",
    "command",
    "count_of",
    "default_threads",
    "json_option",
    "limits_of",
    "log_output",
    "messages_option",
    "parse_range",
    "patch_output",
    "progress_bar",
    "reading_options",
    "refuse",
    "say",
    "seekable_option",
    "shape_option",
    "show",
    "size_of",
]

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Protocol):
    """Adds an option to a command."""

    def __call__(self, command: F, /) -> F: ...


STATEMENTS = (
    "max_frame_bytes",
    "max_line_bytes",
    "max_row_bytes",
    "max_text_bytes",
    "max_names",
    "max_prefixes",
    "max_datatypes",
    "max_frame_rows",
    "max_expansion",
    "joined",
    "unknown_rows",
)
# Keywords of message logs, besides those of statements.
LOGS = ("dialect", "members", "trailing", "rename_blank_nodes", "contexts", "force", "max_message_bytes")

# Keywords of statements in any format.
COMMON = frozenset({"strict", "on_error", "rdf", "star", "blank_nodes", "skolem_base", "threads"})

# Bytes of input above which a conversion uses all cores that are idle.
LARGE = 64 << 20


ALL = "jelly: all options"  # in the context of `jelly help`


class Command(click.Command):
    """A command whose help is short: the first sentence for an option, and no rare ones; "jelly help" shows all."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
        if ALL not in ctx.meta:
            records = [(names, re.split(r"(?<=\.) (?=[A-Z])", text)[0]) for names, text in records]
        with formatter.section("Options"):
            formatter.write_dl(records, col_max=24)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if ALL not in ctx.meta:
            words = ctx.command_path.split(" ", 1)
            formatter.write_paragraph()
            formatter.write_text(f'Limits and rare options: "{words[0]} help {" ".join(words[1:])}".')


def command(
    name: str | None = None, cls: type[Command] = Command, **settings: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Decorator: a function as a command of this kind, see `click.command`."""
    return click.command(name, cls, **settings)


def reading_options(*names: str) -> Callable[[F], F]:
    """Add rare options for the reading keywords ``names``; the command gets the given ones as the dict ``reading``."""
    return options(READ, *names, into="reading", hidden=True)


def limits_of(limits: dict[str, Any], *known: Collection[str], what: str = "") -> dict[str, Any]:
    """Return ``limits``, after a check that at least one of the inputs has each of them."""
    for name in limits.keys() - COMMON:
        if not any(name in each for each in known):
            raise click.UsageError(f"{READ[name].switch} does not go with {what or 'any of these files'}")
    return limits


seekable_option: Decorator = click.option(
    "--seekable/--no-seekable", default=None,
    help="Write an index for random access. This is the default for Jelly files, but not for .gz, .bz2 and .xz.",
)
messages_option: Decorator = click.option(
    "--messages", is_flag=True,
    help="Read logs of RDF Messages. Suffixes that only logs have (.ndjson, .yaml, .tar) need no option.",
)
def default_threads(sources: list[Any]) -> int:
    """All idle cores for files that are large together, else one thread."""
    from jelly._bytes.workers import idle_cores

    paths = [source for source in sources if isinstance(source, str | os.PathLike) and os.path.isfile(source)]
    return idle_cores() if sum(map(os.path.getsize, paths)) > LARGE else 1


def size_of(n: float) -> str:
    """A number of bytes, such as 3.45 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            break
        n /= 1000
    return f"{n:.0f} {unit}" if unit == "bytes" else f"{n:.3g} {unit}" if n < 1000 else f"{n:,.0f} {unit}"


def count_of(n: float) -> str:
    """A number, such as 1.23 M."""
    return f"{n / 1e6:.2f} M" if n >= 1e5 else f"{n:,.0f}"


@contextlib.contextmanager
def progress_bar(
    what: str, quiet: bool = False, in_bytes: bool = False
) -> Iterator[Callable[[int, int | None, int | None], object] | None]:
    """A progress bar on standard error: only on a terminal, and not together with data on the same one.

    With ``in_bytes`` it shows the bytes, too.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from jelly.cli.display import progress

    with progress(what, in_bytes) as update:
        yield update


def can_have_index(dst: str) -> bool:
    """Whether an index is useful: not in a stream, a device, or a file compressed without random access."""
    if dst == "-" or split_suffix(dst)[1] not in ("", ".zst") or descriptor_of(dst) is not None:
        return False
    return os.path.isfile(dst) or not os.path.exists(dst)


class RangeCommand(Command):
    """A command with a range. It takes one that begins with a minus for what it is, not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ranges = [arg for arg in args if arg[0:1] == "-" and arg[1:2].isdecimal() and ":" in arg]
        if ranges and "--" not in args:
            args = [*(arg for arg in args if arg not in ranges), "--", *ranges]
        return super().parse_args(ctx, args)


def parse_range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int | None]:
    """A range A:B; A and B are optional, and negative ones count from the end."""
    start, colon, stop = value.partition(":")
    if not colon or not all(not part or part.removeprefix("-").isdecimal() for part in (start, stop)):
        raise click.BadParameter(f"{value!r} is not a range: expected A:B, such as 1000:1010, :10 or 1000:")
    low, high = int(start or 0), int(stop) if stop else None
    if high is not None and high < low and (high < 0) == (low < 0):
        raise click.BadParameter(f"{value!r} ends before it begins")
    return low, high


def shape_option(command: F) -> F:
    """Add the options for the form of a result."""
    for shape in ("yaml", "json", "table"):
        note = " (default on a terminal; else YAML)" if shape == "table" else ""
        command = click.option(f"--{shape}", "shape", flag_value=shape, help=f"Print {_SHAPES[shape]}{note}.")(command)
    return command


_SHAPES = {"json": "JSON", "yaml": "YAML", "table": "tables"}


def log_output(command: F) -> F:
    """Add options of message logs that are written."""
    command = click.option(
        "--to-dialect", type=click.Choice(["comment", "directive"]), hidden=True,
        help="With --messages: what delimits messages in the output.",
    )(command)
    return click.option(
        "--to-members", metavar="FORMAT", hidden=True, help="Format of the files in a TAR archive (default: nq)."
    )(command)


def patch_output(command: F) -> F:
    """Add options of Jelly-Patch that is written."""
    command = click.option(
        "--patch-type", type=click.Choice(["flat", "frame", "punctuated"]), hidden=True,
        help="Stream type of Jelly-Patch: where a patch ends.",
    )(command)
    return click.option("--triples", is_flag=True, hidden=True, help="Write triples to Jelly-Patch (default: quads).")(
        command
    )


json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def refuse(what: str, allowed: Collection[str]) -> None:
    """Refuse the options that are given and that ``what`` does not have. ``allowed`` are names of keywords."""
    context = click.get_current_context()
    for option in context.command.params:
        chosen = context.get_parameter_source(option.name or "") not in (None, ParameterSource.DEFAULT)
        name = re.sub("^(reading|writing)_", "", option.name or "")
        if chosen and isinstance(option, click.Option) and name not in allowed:
            raise click.UsageError(f"{option.opts[0]} does not go with {what}")


def show(plain: Any, shape: str | None, as_table: Callable[[Any], None]) -> None:
    """Print a dict or a list of dicts as JSON, as YAML, or as tables, which are the default on a terminal."""
    if shape == "json":
        click.echo(json.dumps(plain, indent=2))
        return
    from jelly.cli import display

    if shape == "table" or (shape is None and sys.stdout.isatty()):
        as_table(display)
    else:
        from jelly._tools.yaml import dump_yaml

        click.echo(dump_yaml(plain), nl=False)
