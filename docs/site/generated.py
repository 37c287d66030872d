"""Pages of the reference that are made from the package: API, commands, formats, options, errors."""

from __future__ import annotations

import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterator

import click
from public import PAGES, exported

import jelly
from jelly import errors
from jelly._formats.registry import (
    FORMATS,
    REGISTRY,
    TABLE_FORMATS,
    Content,
    Format,
)
from jelly._options.keywords import MANY, READ, WRITE, ReadOptions, SourceOptions, WriteOptions
from jelly.cli import commands
from jelly.cli.options import grouped
from jelly.spark._options import OPTIONS

_CONTENTS = (
    ("Statements", FORMATS, "`jelly.Reader`, `jelly.Writer`, `jelly convert` and most other commands."),
    ("Patches", REGISTRY[Content.PATCH], "`jelly.patch`; the commands `diff` and `patch`, and those for statements."),
    ("Message logs", REGISTRY[Content.MESSAGES], "`jelly.messages`; commands with `--messages`."),
    ("Query results", REGISTRY[Content.RESULTS], "`jelly.results`; `jelly convert`, `cat`, `count`, `stats`."),
    ("Tables", TABLE_FORMATS, "Read like statements by all that reads; written by `convert`, `cat`, `find`."),
)
# What a format can hold, by the settings of its Capabilities: the column, and the words for a value.
_HOLDS: tuple[tuple[str, str, dict[object, str]], ...] = (
    ("named_graphs", "named graphs", {True: "yes", False: "no"}),
    ("quoted", "triple terms", {"any": "subject and object", "object": "object", "none": "no"}),
    ("directions", "base direction", {True: "yes", False: "no"}),
    ("generalized", "generalized", {True: "yes", False: "no"}),
    ("labels", "labels of blank nodes", {
        "any": "any", "ntriples": "N-Triples", "turtle": "Turtle", "xml": "XML names",
    }),
    ("tags", "language tags", {"any": "any", "plain": "letters, digits, hyphens", "bcp47": "BCP 47"}),
    ("iris", "IRIs", {"any": "any", "not-bnode": "not beginning with `_:`", "absolute": "absolute and valid"}),
    ("texts", "characters", {"any": "any", "xml": "of XML"}),
)  # fmt: skip
# An option in the text of a help.
_OPTION = re.compile(r"(?<![\w`-])(--[a-z][a-z0-9-]*)")
# For pages of wide tables: no table of contents beside them.
_WIDE = "---\nhide: [toc]\n---\n\n"
# A pipe that is not in code, where it needs no escape.
_PIPE = re.compile(r"\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown.

    Parameters
    ----------
    head : list of str
        The titles of the columns.
    rows : list of list of str
        The cells.

    Returns
    -------
    str
        The table, and an empty line.
    """
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(_PIPE.sub(r"\\|", cell) for cell in line) + " |\n" for line in lines) + "\n"


def code(*names: str) -> str:
    """Names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


# ---- API


def api_pages() -> Iterator[tuple[str, str]]:
    """The pages of the API for mkdocstrings.

    Yields
    ------
    tuple of (str, str)
        The path and the text.
    """
    for page in PAGES:
        text = f"# {page.title}\n\n{page.text}\n\n"
        if not page.names:
            # The docstring of the module; its names follow one by one.
            options = "{members: false, show_root_heading: false, heading_level: 1}"
            text += f"::: {page.module}\n    options: {options}\n\n"
        for name in page.names or sorted(exported(page.module), key=_order):
            text += f"::: {page.module}.{name}\n\n"
            if name in KEYWORDS:
                text += keyword_table(name)
        yield f"reference/api/{page.path}", text
    names = [
        [f"[`{page.title}`]({page.path})" if page.title.startswith("jelly") else f"[{page.title}]({page.path})",
         ", ".join(f"[`{name}`][{page.module}.{name}]" for name in page.names or exported(page.module))]
        for page in PAGES
    ]  # fmt: skip
    yield "reference/api/index.md", (
        "# API\n\nAll public names. Whatever begins with an underscore is not public.\n\n"
        + table(["page", "names"], names)
    )


def _order(name: str) -> tuple[bool, str]:
    """Functions first, then classes; the names of constants are upper case."""
    return name[:1].isupper(), name.lower()


# ---- the command


def command_pages() -> Iterator[tuple[str, str]]:
    """The page of all commands, and one for each, made from click.

    Yields
    ------
    tuple of (str, str)
        The path and the text.
    """
    text = (
        "# Command line\n\nMade from `jelly --help`. Needs the extra `cli`. `-` is standard input or output. Sizes "
        "may have the unit K, M, G or T, in powers of 1024. Exit codes are on a [page of their own](exit-codes.md). "
        "`jelly COMMAND --help` shows the usual options, `jelly help COMMAND` all.\n\n"
        "The last argument is the output where a command makes a file of others (`convert`, `diff`, `canonicalize`, "
        "`patch`); where it prints, `-o` names a file.\n\n"
    )
    for title, part in commands.COMMANDS.items():
        text += f"## {title}\n\n" + table(
            ["command", "does"], [[f"[`{name}`](commands/jelly-{name}.md)", line] for name, (_, line) in part.items()]
        )
        for name in part:
            yield f"reference/commands/jelly-{name}.md", command_page(name)
    yield "reference/command-line.md", text


def command_page(name: str) -> str:
    """The page of a command, and of the commands of a group."""
    command = commands.cli.get_command(click.Context(commands.cli), name)
    assert command is not None
    parts = [f"# jelly {name}\n"]
    if isinstance(command, click.Group):
        parts.append(_help(command.help or ""))
    for words, one in leaves(command, ("jelly", name)):
        context = click.Context(one, **commands.cli.context_settings)
        usage = f"{' '.join(words)} {' '.join(one.collect_usage_pieces(context))}"
        heading = f"## {' '.join(words)}\n\n" * (one is not command)
        parts.append(f"{heading}```text\n{usage}\n```\n\n{_help(one.help or '')}\n")
        for title, options in grouped(one.params).items():
            if options:
                level = "##" if one is command else "###"
                parts.append(f"{level} {title}\n\n" + table(["option", "meaning"], _option_rows(options, context)))
    return "\n".join(parts)


def _option_rows(options: list[click.Option], context: click.Context) -> list[list[str]]:
    """A row for each option; rare ones, which only ``jelly help`` shows, come last."""
    rows = []
    for option in sorted(options, key=lambda option: option.hidden):
        names = code(*option.opts, *option.secondary_opts)
        value = "" if option.is_flag or option.count else f" `{option.make_metavar(context)}`"
        told = _OPTION.sub(r"`\1`", " ".join((option.help or "").split()))
        extra = option.get_help_extra(context)
        if "default" in extra and "default" not in told.lower():
            told += f" Default: {extra['default']}."
        rows.append([names + value, told])
    return rows


def leaves(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands that do something, with the words that call them.

    Parameters
    ----------
    command : click.Command
        A command or a group.
    words : tuple of str
        The words that call it.

    Yields
    ------
    tuple of (tuple of str, click.Command)
        The words and the command.
    """
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            yield from leaves(command.get_command(context, name), (*words, name))
    else:
        yield words, command


def _help(text: str) -> str:
    """The help of a command as Markdown: paragraphs after a line of a backspace are code."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            lines = part[1:].strip("\n").splitlines()
            if lines[0].endswith(":"):
                parts.append(lines.pop(0))
            parts.append("```sh\n" + textwrap.dedent("\n".join(lines)) + "\n```")
        else:
            parts.append(_OPTION.sub(r"`\1`", " ".join(part.split())))
    return "\n\n".join(parts) + "\n"


# ---- formats


def formats() -> str:
    """The page of formats, made from the registry.

    Returns
    -------
    str
        The page.
    """
    text = (
        f"{_WIDE}# Formats\n\nA format is chosen by the suffix of a path, by `format=` in Python, and by `--from` and "
        "`--to` on the command line: a name, a suffix or a media type. After the suffix there may be `.gz`, `.zst`, "
        "`.bz2` or `.xz`. What is read is recognised as compressed by its first bytes. The first suffix and media type "
        "are those that are written.\n\n"
    )
    for title, known, where in _CONTENTS:
        rows = [
            [f.title, code(f.name), code(*f.suffixes), code(*f.media_types), "yes" if f.binary else "no"]
            for f in known.values()
        ]
        text += f"## {title}\n\nFor {where}\n\n"
        text += table(["format", "name", "suffixes", "media types", "binary"], rows)
    text += (
        "## What each can hold\n\nWhat a format cannot hold is an error before anything of the Batch is written; it "
        "names the term and the row. Only a label of a blank node that the format cannot write is replaced, unless "
        "`keep_labels=True`. *Generalized* means any term in any position.\n\n"
        "N-Triples and N-Quads hold all that Jelly holds: literals as subjects, relative IRIs. Other readers refuse "
        "such lines. `jelly validate --strict FILE` "
        "finds them.\n\n"
    )
    for title, known, _ in _CONTENTS[:-1]:
        text += f"### {title}\n\n" + table(
            ["format", *(head for _, head, _ in _HOLDS), "prefixes"],
            [[f.title, *_held(f), "yes" if f.namespaces else "no"] for f in known.values()],
        )
    return text


def _held(format: Format) -> Iterator[str]:
    settings = format.capabilities.settings
    for name, _, words in _HOLDS:
        # Query results have no subjects, predicates or graphs.
        yield words[settings[name]] if not settings["results"] or name not in ("named_graphs", "generalized") else "-"


# ---- keywords


KEYWORDS = {
    "ReadOptions": (ReadOptions, READ), "WriteOptions": (WriteOptions, WRITE), "SourceOptions": (SourceOptions, MANY)
}  # fmt: skip


def keyword_table(name: str) -> str:
    """The keywords of one of `KEYWORDS`: name, type, default, options of the fronts, effect."""
    kind, rows = KEYWORDS[name]
    return table(
        ["keyword", "type", "default", "command line", "Spark", "effect"],
        [
            [code(row.name), code(kind.__annotations__[row.name].__forward_arg__), _default(row.default),
             code(row.switch) if row.switch else "", code(row.spark) if row.spark else "",
             row.help + (f" Only {row.formats}." if row.formats else "")]
            for row in rows.values()
        ],
    )  # fmt: skip


def _default(value: object) -> str:
    return "" if value is None else f"{value:,}" if type(value) is int else code(repr(value))


def keywords() -> str:
    """The page of the keywords of readers and writers, made from the table of keywords.

    Returns
    -------
    str
        The page.
    """
    text = (
        f"{_WIDE}# Options and defaults\n\n"
        "Keywords of all functions that read, `jelly.ReadOptions`, and of all that write, "
        "`jelly.WriteOptions`, with their options on the command line and in the data sources of Spark. A keyword that "
        "the format does not have is a `JellyArgumentError`. The limits are on a [page of their own](../limits.md), "
        "the keyword `options` of writers takes fields of [`StreamOptions`][jelly.StreamOptions].\n\n"
    )
    for title, name in (("Reading", "ReadOptions"), ("Writing", "WriteOptions")):
        text += f"## {title}\n\n{keyword_table(name)}"
    presets = {"StreamOptions()": jelly.StreamOptions(), "StreamOptions.small()": jelly.StreamOptions.small()}
    sizes = ("name", "prefix", "datatype")
    text += "## Sizes of the lookup tables\n\n" + table(
        ["stream options", *(f"{size} table" for size in sizes)],
        [[code(name), *(str(getattr(options, f"max_{size}_table_size")) for size in sizes)]
         for name, options in presets.items()],
    )  # fmt: skip
    return text


# ---- Spark


def spark_options() -> str:
    """The page of the options of the data sources, made from the table `jelly.spark._options.OPTIONS`."""
    text = (
        "# Options of Spark\n\nOptions of the data sources `jelly`, `jelly-patch` and `jelly-results`: "
        '`spark.read.format("jelly").option("columns", "subject,object")`. Names are the same in any case; an option '
        "that does not exist is an error. The [limits](../limits.md) are options too, such as `maxLineBytes`. "
        "[`jelly.spark`](api/spark.md) says what each data source reads and writes.\n\n"
    )
    for part in dict.fromkeys(option.of for option in OPTIONS.values()):
        text += f"## {part}\n\n" + table(
            ["option", "values", "default", "meaning"],
            [
                [code(name), code(*row.read) if isinstance(row.read, tuple) else "",
                 "" if row.default in (None, (), {}, math.inf) else code(json.dumps(row.default).strip('"')), row.help]
                for name, row in OPTIONS.items() if row.of == part
            ],
        )  # fmt: skip
    return text


# ---- errors


def error_list() -> str:
    """A list of all errors with their bases, for the start of the page of errors.

    Returns
    -------
    str
        A table.
    """
    rows = []
    for name in errors.__all__:
        kind = getattr(errors, name)
        bases = [base.__name__ for base in kind.__mro__[1:] if base not in (object, BaseException, Exception)]
        summary = inspect.cleandoc(kind.__doc__).split("\n\n")[0].replace("\n", " ").replace("``", "`")
        rows.append([f"[`{name}`][jelly.errors.{name}]", ", ".join(f"`{base}`" for base in bases), summary])
    return table(["class", "is also", "when"], rows)


# Every page that is made from the package, by its path, besides those of the API.
MADE: dict[str, Callable[[], str]] = {
    "reference/formats.md": formats,
    "reference/options.md": keywords,
    "reference/spark-options.md": spark_options,
}


def pages() -> dict[str, str]:
    """All pages that are made.

    Returns
    -------
    dict of str to str
        The text of each page by its path.
    """
    made = {path: make() for path, make in MADE.items()} | dict(api_pages()) | dict(command_pages())
    made["reference/api/errors.md"] = made["reference/api/errors.md"].replace(
        "::: jelly.errors.", error_list() + "::: jelly.errors.", 1
    )
    return made
