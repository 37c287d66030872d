"""The command and the table of its subcommands, each of which is imported when it runs."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

import jelly
from jelly._start import goes_on
from jelly.cli.errors import INTERRUPTED, UNREAD, in_options, is_unread, message, say, silence_stdout, terminate

__all__ = ["COMMANDS", "Commands", "cli"]


class Entry(NamedTuple):
    """A subcommand: the module and the name of its function, and a line for the list of commands."""

    function: str
    help: str


# By the headings of `jelly --help`.
COMMANDS = {
    "Look at files": {
        "cat": Entry("cat:cat", "Print files as text: statements, patches, messages, results of queries."),
        "head": Entry("look:head", "Print the first statements of files."),
        "count": Entry("look:count", "Count statements, patches, messages or results."),
        "find": Entry("find:find", "Print the statements that match a pattern."),
        "inspect": Entry("look:inspect_", "Show options, rows, bytes and frames of a Jelly file, or patches."),
        "stats": Entry("look:stats_", "Count predicates, classes, graphs, datatypes and languages."),
        "validate": Entry("look:validate", "Check files and list their problems."),
    },
    "Make files": {
        "convert": Entry("convert:convert", "Convert files to another format, or put them together."),
        "sort": Entry("verbs:sort", "Sort statements, in bounded memory, or merge sorted files."),
        "split": Entry("verbs:split", "Split statements or messages into several files."),
        "append": Entry("verbs:append", "Append statements to a Jelly file."),
        "slice": Entry("seeking:slice_", "Print statements A to B of a Jelly file that has an index."),
        "index": Entry("seeking:index", "Make an index for random access to a Jelly file."),
        "canonicalize": Entry("canonical:canonicalize", "Write the canonical N-Quads of a file (RDFC-1.0), or a hash."),
    },
    "Compare and change": {
        "diff": Entry("patch:diff", "Write the patch that turns one file into another."),
        "patch": Entry("patch:patch", "Apply, invert, compact and list patches."),
    },
    "Servers and clusters": {
        "serve": Entry("service:serve", "Serve topics over gRPC."),
        "publish": Entry("service:publish", "Publish a file to a topic of a gRPC server."),
        "subscribe": Entry("service:subscribe", "Write the messages of a topic to a file."),
        "topics": Entry("service:topics", "List, describe and delete the topics of a broker."),
        "spark": Entry("spark:spark_", "Run jobs on Spark over many files: ingest, stats."),
    },
    "Help": {
        "help": Entry("help:help_", "Show all options of a command, rare ones too."),
    },
}
_ENTRIES = {name: entry for part in COMMANDS.values() for name, entry in part.items()}


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print a warning of ours on one line, without the line of Python that caused it."""
    if issubclass(category, jelly.JellyWarning | RuntimeWarning):
        say(f"warning: {in_options(str(message))}", "yellow")
    else:
        _python_warning(message, category, filename, lineno, file, line)


_python_warning = warnings.showwarning


class Commands(click.Group):
    """Imports a subcommand when it runs, and turns every error into one line on standard error and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_ENTRIES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if (entry := _ENTRIES.get(name)) is None:
            return None
        module, _, function = entry.function.partition(":")
        command: click.Command = getattr(importlib.import_module(f"jelly.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, part in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.help) for name, entry in part.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            *(CompletionItem(name, help=entry.help) for name, entry in _ENTRIES.items() if name.startswith(incomplete)),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                goes_on(terminate)
                return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if is_unread(error):
                silence_stdout()
                ctx.exit(UNREAD)
            if os.environ.get("JELLY_TRACEBACK"):
                raise
            say(f"error: {message(error)}", "red")
            ctx.exit(1)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(jelly.__version__, prog_name="jelly", message="%(prog)s %(version)s")
def cli() -> None:
    """Convert, inspect and check RDF in Jelly, N-Triples, N-Quads and other formats.

    Turtle, TriG, RDF/XML, JSON-LD and N3 need jelly-rdf[oxigraph]. Files may be compressed with gzip, zstd, bzip2 or
    xz. "-" is standard input or output.

    \b
      jelly convert people.nt.gz people.jelly
      jelly inspect people.jelly
      jelly validate people.jelly --against people.nt.gz
      jelly cat people.jelly | grep Alice
    """
