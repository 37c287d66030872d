"""The command and the table of its subcommands, each of which is imported when it runs."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import click
from click.shell_completion import CompletionItem

import jelly
from jelly._start import goes_on
from jelly.cli.common import INTERRUPTED, UNREAD, in_options, is_unread, message, say, terminate

ALL = "jelly: all options"  # in the context of `jelly help`


# By the headings of `jelly --help`: the module of each, and a line.
COMMANDS = {
    "Look at files": {
        "cat": ("look", "Print files as text: statements, patches, messages, results of queries."),
        "head": ("look", "Print the first statements of files."),
        "count": ("look", "Count statements, patches, messages or results."),
        "find": ("find", "Print the statements that match a pattern."),
        "query": ("find", "Answer a SPARQL query of files."),
        "inspect": ("look", "Show options, rows, bytes and frames of a Jelly file, or patches."),
        "stats": ("look", "Count predicates, classes, graphs, datatypes and languages."),
        "describe": ("look", "Describe a data set in VoID and DCAT: classes, properties, links."),
        "validate": ("look", "Check files and list their problems."),
    },
    "Make files": {
        "convert": ("convert", "Convert files to another format, or put them together."),
        "sort": ("make", "Sort statements, in bounded memory, or merge sorted files."),
        "wide": ("make", "Make a table with a row for each subject."),
        "split": ("make", "Split statements or messages into several files."),
        "append": ("make", "Append statements to a Jelly file."),
        "slice": ("make", "Print statements A to B of a Jelly file that has an index."),
        "index": ("make", "Make an index for random access to a Jelly file."),
        "canonicalize": ("make", "Write the canonical N-Quads of a file (RDFC-1.0), or a hash."),
    },
    "Compare and change": {
        "diff": ("patch", "Write the patch that turns one file into another."),
        "patch": ("patch", "Apply, invert, compact and list patches."),
    },
    "Servers and clusters": {
        "serve": ("service", "Serve topics over gRPC."),
        "publish": ("service", "Publish a file to a topic of a gRPC server."),
        "subscribe": ("service", "Write the messages of a topic to a file."),
        "topics": ("service", "List, describe and delete the topics of a broker."),
        "spark": ("spark", "Run jobs on Spark over many files: ingest, stats."),
    },
    "Help": {
        "help": ("commands", "Show all options of a command, rare ones too."),
    },
}
_ENTRIES = {name: entry for part in COMMANDS.values() for name, entry in part.items()}


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
    """Print a warning of ours on one line, without the line of Python that caused it."""
    if issubclass(category, jelly.JellyWarning | RuntimeWarning):
        say(f"warning: {in_options(str(message))}", "yellow")
    else:
        _python_warning(message, category, *place, **named)


_python_warning = warnings.showwarning


class Commands(click.Group):
    """Imports a subcommand when it runs, and turns every error into one line on standard error and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_ENTRIES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _ENTRIES:
            return None
        module = importlib.import_module(f"jelly.cli.{_ENTRIES[name][0]}")
        command: click.Command = getattr(module, f"{name}_", None) or getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, part in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in part.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            *(CompletionItem(name, help=line) for name, (_, line) in _ENTRIES.items() if name.startswith(incomplete)),
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
            say("interrupted; no unfinished file is left")
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if is_unread(error):
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
@click.version_option(jelly.__version__, "-V", "--version", prog_name="jelly", message="%(prog)s %(version)s")
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


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command with all its options, such as limits, which --help leaves out. "jelly help options"
    lists the options of reading and writing, each with the formats that have it.

    \b
    Examples:
      jelly help convert
      jelly help patch apply
      jelly help options
    """
    if words == ("options",):
        from jelly._options.keywords import READ, WRITE

        formatter = ctx.make_formatter()
        for title, table in (("Reading", READ), ("Writing", WRITE)):
            with formatter.section(title):
                formatter.write_dl([
                    (f"{row.switch} {row.metavar}", row.help + f" Only {row.formats}." * bool(row.formats))
                    for row in table.values() if row.switch
                ])  # fmt: skip
        click.echo(formatter.getvalue(), nl=False)
        return
    context = ctx.find_root()
    for word in words:
        found = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if found is None:
            raise click.UsageError(f"No such command {' '.join(words)!r}.")
        context = click.Context(found, parent=context, info_name=word)
    rare = [option for option in context.command.params if isinstance(option, click.Option) and option.hidden]
    context.meta[ALL] = True
    for option in rare:
        option.hidden = False
    click.echo(context.command.get_help(context))
    for option in rare:
        option.hidden = True
