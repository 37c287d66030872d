"""Commands and their options: shared keywords come from their table, others are written as in ``--help``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from jelly._formats.registry import REGISTRY, Content, plain_name
from jelly._options.keywords import NAMED, READ, WRITE, Keyword, type_of
from jelly._options.options import (
    COLUMN_VERSION,
    MAX_TABLE_SIZE,
    MIN_NAME_TABLE,
    TABLES,
    LogicalType,
    PatchStreamType,
    PhysicalType,
    StatementType,
    StreamOptions,
)
from jelly.cli.commands import ALL
from jelly.cli.common import FORM, OPTIONS
from jelly.errors import JellyError

F = TypeVar("F", bound=Callable[..., Any])
Given: TypeAlias = dict[str, Any]  # the options that are given, by the names of their keywords
Files: TypeAlias = tuple[str, ...]

# Generic in newer versions of click, but for type checkers only.
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

# Keywords of all inputs of statements that are rare: limits, and two of Jelly.
STATEMENTS = (
    "max_frame_bytes", "max_line_bytes", "max_row_bytes", "max_text_bytes", "max_names", "max_prefixes",
    "max_datatypes", "max_frame_rows", "max_expansion", "joined", "unknown_rows",
)  # fmt: skip
# Keywords of message logs and documents, besides those of statements.
LOGS = (
    "dialect", "members", "trailing", "rename_blank_nodes", "contexts", "force", "max_message_bytes",
    "max_document_bytes",
)  # fmt: skip


class Decorator(Protocol):
    """Adds an option to a command."""

    def __call__(self, command: F, /) -> F: ...


# ---- types


def measure(name: str, unit: str, units: Mapping[str, int], expected: str) -> Callable[[Any], int]:
    """The type of whole numbers, perhaps with a unit after them; ``units`` are in capital letters."""

    def number(value: Any) -> int:
        found = re.fullmatch(f"([0-9]+)({unit}|)", str(value), re.I)
        if found is None or not int(found[1]):
            raise click.BadParameter(f"{value!r} is no {name}: expected a number such as {expected}")
        return int(found[1]) * units[found[2].upper()[:1]]

    number.__name__ = name
    return number


# Bytes or entries.
SIZE = measure(
    "size", "[KMGT](?:i?B)?", {unit: 1 << 10 * power for power, unit in enumerate(["", *"KMGT"])}, "1000, 64M or 1G"
)


def _pairs(metavar: str) -> Callable[[str], tuple[str, str]]:
    """The type of pairs such as NAME=VALUE."""

    def pair(text: str) -> tuple[str, str]:
        name, equals, told = text.partition("=")
        if not equals or not told:
            raise click.BadParameter(f"{text!r} is not {metavar}")
        return name, told

    return pair


def _frames(text: str) -> slice:
    """Frames by their numbers, from 0: one, or from the first up to and without the last."""
    found = re.fullmatch(r"(?=.)([0-9]*)(?:(\.\.=?)([0-9]*))?", text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no range of frames: expected 3, 2..5, 2..=4, ..5 or 3..")
    start, dots, stop = found[1], found[2], found[3] if found[2] else found[1]
    return slice(int(start or 0), int(stop) + (dots != "..") if stop else None)


_ALL_FORMATS = [
    one
    for content in (Content.STATEMENTS, Content.TABLE, Content.PATCH, Content.RESULTS, Content.MESSAGES)
    for one in REGISTRY[content].values()
]
JELLY_TEXT = "jelly-text"
# Each once; for those of results the suffix, as the name may be one of statements, too.
_FORMAT_NAMES = list(
    dict.fromkeys(one.suffixes[0][1:] if one.content is Content.RESULTS else one.name for one in _ALL_FORMATS)
)


class FormatName(ParamType):
    """The name of a format of any content: a name, a suffix or a media type."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == JELLY_TEXT and param is not None and ctx is not None:
            if param.name == "reading_format":
                return "jelly"  # the first bytes tell that it is text
            if ctx.command.name == "convert":
                return JELLY_TEXT
        if not any(one.is_called(plain_name(value)) for one in _ALL_FORMATS):
            self.fail(f"{value!r} is not a format: expected one of {', '.join(_FORMAT_NAMES)}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in _FORMAT_NAMES if name.startswith(incomplete)]


class Word(click.Choice[str]):
    """One of some words, each of which stands for a value."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        super().__init__(list(words), case_sensitive=False)
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.words[super().convert(value, param, ctx)]


COUNT = click.IntRange(0)
# The types of values by their names in `--help`; others are text.
_TYPES: dict[str, Any] = {"N": click.IntRange(1), "SIZE": SIZE, "FORMAT": FormatName(), "RANGE": _frames}


# ---- options


def option(
    spec: str, help: str, default: Any = None, kind: Any = None, *, name: str | None = None, **settings: Any
) -> Decorator:
    """Decorator: add an option to a command.

    ``spec`` has its names and its value as in ``--help``: ``--unique``, ``-o, --output FILE``, ``--by [s|p]`` for one
    of some words, ``--conf NAME=VALUE...`` for a pair, and one that is repeated. Without a value it is a flag. ``kind``
    is the type of a value if its name in ``--help`` does not say it, of a flag what it stands for. ``name`` is the
    parameter; that of a keyword of reading, writing or a stream begins with the name of its dict, see `command`.
    """
    words = re.split(",? ", spec.strip())
    value = "" if words[-1][0] == "-" else words.pop()
    if value:
        word = value.removesuffix("...")
        has_words = word[0] == "["
        if kind is None:
            of_name = _pairs(word) if "=" in word else _TYPES.get(word, str)
            kind = click.Choice(word[1:-1].split("|")) if has_words else of_name
        settings |= {"type": kind, "multiple": value.endswith("..."), "metavar": None if has_words else word}
        settings.setdefault("show_default", default not in (None, "-") and "default" not in help)
    elif kind is not None:
        settings["flag_value"] = kind
    else:
        settings["is_flag"] = True
        default = default if "/" in spec else bool(default)
    if name and name.partition("_")[0] in _GROUPS:
        settings |= {"callback": _keep, "expose_value": False}
    settings["default"] = default
    found: Decorator = click.option(*words, *([name] if name else []), help=help, **settings)
    return found


# The dicts of keywords, and the headings of their options in `--help`.
_GROUPS = {"reading": "Input", "writing": "Output", "stream": "Output"}


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Put the value of a keyword, if it is given, into the dict that the command gets."""
    into, _, name = (parameter.name or "").partition("_")
    given = context.params.setdefault(into, {})
    if value not in (None, ()):
        given[name] = dict(value) if isinstance(value, tuple) else value


def together(*adds: Decorator) -> Decorator:
    """Decorator: several decorators as one, in the order of ``--help``."""

    def decorate(command: F) -> F:
        for add in reversed(adds):
            command = add(command)
        return command

    return decorate


def options(table: Mapping[str, Keyword], *names: str, into: str, hidden: bool = False) -> Decorator:
    """Decorator: add the options of the keywords ``names`` of a table.

    A `command` gets those that are given as the dict ``into``. ``hidden`` ones are not in ``--help``. A mapping such as
    ``prefixes`` may be given pair by pair.
    """
    return together(*(_option(table[name], f"{into}_{name}", hidden) for name in names))


def _option(row: Keyword, name: str, hidden: bool) -> Decorator:
    """The option of a keyword."""
    switch = row.option or row.switch
    help = row.help.replace("`", "'")
    if row.flag is not None:
        return option(switch, help, None, None if "/" in switch else row.flag, name=name, hidden=hidden)
    told = type_of(row.name)  # words, or None or some words
    words = [word for one in (told, *get_args(told)) if get_origin(one) is Literal for word in get_args(one)]
    value = f"[{'|'.join(words)}]" if words else row.metavar or "FORMAT"
    if "=" in value:
        value += "..."
    kind = COUNT if value == "N" and row.default != 1 else None  # of frame_rows and frame_bytes 0 is no limit
    return option(f"{switch} {value}", help, None, kind, name=name, hidden=hidden)


def reads(
    *names: str,
    rare: Collection[str] = (),
    logs: bool = False,
    limits: Collection[str] = STATEMENTS,
    format: bool = True,
) -> Decorator:
    """Decorator: add the options of reading; the command gets those that are given as the dict ``reading``.

    These are ``--from`` (unless ``format`` is false), those of the keywords ``names``, and hidden ones: ``rare`` and
    ``limits``. With ``logs`` also ``--messages`` and the keywords of message logs.
    """
    hidden = [name for name in (*rare, *(("base", *LOGS) if logs else ()), *limits) if name not in names]
    return together(
        options(READ, *["format"] * format, *names, into="reading"),
        *[_messages] * logs,
        options(READ, *hidden, into="reading", hidden=True),
    )


_messages = option(
    "--messages", "Read logs of RDF Messages. Suffixes that only logs have (.ndjson, .yaml, .tar) need no option.",
    None, "messages", name="reading_content",
)  # fmt: skip


def writes(*names: str, rare: Collection[str] = ()) -> Decorator:
    """Decorator: add ``--to`` and the options of the keywords of writing; the command gets the given ones as the dict
    ``writing``, those of ``rare`` without being in ``--help``.
    """
    return together(
        options(WRITE, "format", *names, into="writing"), options(WRITE, *rare, into="writing", hidden=True)
    )


_PRESETS = {
    name: {size: getattr(preset, size) for size in TABLES}
    for name, preset in (("small", StreamOptions.small()), ("big", StreamOptions.big()))
}


def _words(types: Iterable[Any]) -> dict[str, Any]:
    """The types of streams by their names on the command line."""
    return {kind.name.lower().replace("_", "-"): kind for kind in types if kind}


_PHYSICAL, _LOGICAL = _words(PhysicalType), _words(LogicalType)
# The fields of the stream options that `--allow` sets.
ALLOWED: dict[str, tuple[str, Any]] = {
    "generalized": ("generalized_statements", True), "namespaces": ("version", 2), "star": ("rdf_star", True),
}  # fmt: skip


class _Logical(Word):
    """A logical type by its name, or by its IRI in RDF-STaX."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ":" not in value:
            return super().convert(value.replace("_", "-"), param, ctx)
        try:
            return LogicalType.from_iri(value)
        except JellyError as error:
            self.fail(error.reason, param, ctx)


# Options of a Jelly stream that is written, by the fields of the stream options: option, help, and type.
_STREAM: dict[str, Any] = {
    "jelly": ("--jelly [1.0|1.1|1.2]", "Version of Jelly-RDF. 1.2 stores statements in columns; it is not final. By "
              "default it is 1.2 if the first source is of it, else 1.0 or 1.1.",
              Word({"1.0": 1, "1.1": 2, "1.2": COLUMN_VERSION})),
    "options_from": ("--options-from FILE", "A Jelly file whose stream options to take, but for those given here."),
    "preset": ("--preset [small|big]", "Sizes of the lookup tables of Jelly.", Word(_PRESETS)),
    **{size: (f"{NAMED[size].switch} N", NAMED[size].help, click.IntRange(least, MAX_TABLE_SIZE))
       for size, least in zip(TABLES, (MIN_NAME_TABLE, 0, 0), strict=True)},
    "physical_type": (f"--physical [{'|'.join(_PHYSICAL)}]", "Physical stream type of the Jelly output.",
                      Word(_PHYSICAL)),
    "allow": (f"--allow [{'|'.join(ALLOWED)}]...", "Allow generalized statements, namespaces, or quoted triples of "
              "RDF-star in the Jelly output. Repeatable.", Word(ALLOWED)),
    "logical_type": ("--logical TYPE", f"Logical stream type (the meaning of a frame): {', '.join(_LOGICAL)}, or its "
                     "IRI in RDF-STaX.", _Logical(_LOGICAL)),
    "stream_name": ("--stream-name NAME", "Name in the stream options."),
    "rdf_star": ("--no-star", "Reject quoted triples.", False),
    "rdf_version": ("--rdf-version [1.1|1.2-basic|1.2|unspecified]", "With --jelly 1.2: the RDF version to announce "
                    "(default: what the terms need)."),
    "numbering": ("--numbering [P|S]", "With --jelly 1.2: which draft of the schema numbers the fields (default P, "
                  "that of Jelly-JVM)."),
    "stream_type": ("--patch-type [flat|frame|punctuated]", "Stream type of Jelly-Patch: where a patch ends.",
                    Word(_words(PatchStreamType))),
    "statement_type": ("--triples", "Write triples to Jelly-Patch (default: quads).", StatementType.TRIPLES),
}  # fmt: skip


def streams(*names: str) -> Decorator:
    """Decorator: add options of a Jelly stream that is written; the command gets the given ones as ``stream``.

    By default these are all of them. See `reading.stream_of`.
    """

    def stream_option(name: str) -> Decorator:
        spec, help, *kind = _STREAM[name]
        return option(spec, help, None, *kind, name=f"stream_{name}", hidden=name != "jelly")

    return together(*map(stream_option, names or _STREAM))


def forms(*words: str) -> Decorator:
    """Decorator: add the options for the form of a result, in which `common.show` prints it."""
    told = {
        "json": "JSON", "yaml": "YAML", "table": "tables (default on a terminal; else YAML)",
        "html": "a page with pictures",
    }  # fmt: skip
    keep: dict[str, Any] = {"name": "form", "callback": _keep_form, "expose_value": False}
    return together(*(option(f"--{word}", f"Print {told[word]}.", None, word, **keep) for word in words))


def _keep_form(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Remember the form for `common.wanted_form`."""
    context.meta[FORM] = value


def refuse(what: str, allowed: Collection[str]) -> None:
    """Refuse the options that are given and that ``what`` does not have. ``allowed`` are names of keywords."""
    context = click.get_current_context()
    for each in context.command.params:
        name = each.name or ""
        chosen = context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
        known = re.sub("^(reading|writing|stream)_", "", name) in allowed
        if chosen and not known and isinstance(each, click.Option):
            raise click.UsageError(f"{each.opts[0]} does not go with {what}")


# ---- commands


_WIDTH = 24  # of the names of options in `--help`


def grouped(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """The options of a command by the headings of its help: those of its own, of reading and of writing, and limits."""
    groups: dict[str, list[click.Option]] = {"Options": [], "Input": [], "Output": [], "Limits": []}
    for each in parameters:
        if isinstance(each, click.Option):
            name = each.name or ""
            heading = _GROUPS.get(name.partition("_")[0], "Options")
            groups["Limits" if name.startswith("reading_max_") else heading].append(each)
    return groups


class Command(click.Command):
    """A command whose help is short: the first sentence for an option, and no rare ones; "jelly help" shows all."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it. Messages name only options that it has."""
        ctx.meta[OPTIONS] = {word for each in self.params for word in (*each.opts, *each.secondary_opts)}
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            arguments = [each for each in self.params if isinstance(each, click.Argument)]
            if error.param not in arguments[:-1] or error.param.nargs > 0:
                raise
            # Click gives the last words to the arguments after this one, and misses those before.
            names = " ".join(each.make_metavar(ctx) for each in arguments)
            raise click.UsageError(f"Missing argument: expected {names}.", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in grouped(self.get_params(ctx)).items():
            told = filter(None, (each.get_help_record(ctx) for each in group))
            records = [
                (names.ljust(_WIDTH), text if ALL in ctx.meta else re.split(r"(?<=\.) (?=[A-Z])", text)[0])
                for names, text in told
            ]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_WIDTH)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if ALL not in ctx.meta:
            words = ctx.command_path.split(" ", 1)
            formatter.write_paragraph()
            formatter.write_text(f'Limits and rare options: "{words[0]} help {" ".join(words[1:])}".')


_PARAMETERS = {"in": "src", "out": "dst"}


def command(
    *arguments: str, group: click.Group | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Decorator: make a command of a function, whose name it has, perhaps of a ``group``.

    ``arguments`` are written as in ``--help``: ``FILE``, ``[OUT]`` for one that may be left out, ``SRC...`` for one or
    more. The function gets them as ``file``, ``dst`` and ``srcs``, and the options of `reads` and `writes` as dicts.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        made: Any = function
        for word in reversed(arguments):
            name = re.sub(r"\W", "", word).lower()
            name = _PARAMETERS.get(name, name) + "s" * word.endswith("...")
            nargs = -1 if word.endswith("...") else 1
            made = click.argument(name, metavar=word, nargs=nargs, required=word[0] != "[")(made)
        found: Command = click.command(function.__name__.strip("_"), Command, **settings)(made)
        if group is not None:
            group.add_command(found)
        return found

    return decorate
