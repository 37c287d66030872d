"""The main commands. They call the public functions of the package."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any

import click
from click.core import ParameterSource

import jelly
from jelly._bytes.names import is_web, split_suffix
from jelly._formats.registry import FORMATS, JELLY, TURTLE, Content, Format, having, table_kind
from jelly._options.layouts import LAYOUTS
from jelly._options.options import MAX_TABLE_SIZE
from jelly._start import goes_on
from jelly._tools.validate import format_to_check
from jelly.cli.canonical import canonicalize, hash_
from jelly.cli.cat import cat
from jelly.cli.common import (
    STATEMENTS,
    can_have_index,
    count_of,
    default_threads,
    limits_of,
    progress_bar,
    quoted_option,
    reading_options,
    say,
    shape_option,
    show,
    size_of,
)
from jelly.cli.errors import INTERRUPTED, UNREAD, in_options, is_unread, message, silence_stdout, terminate
from jelly.cli.find import find
from jelly.cli.messages import messages
from jelly.cli.patch import patch
from jelly.cli.reading import (
    PHYSICAL,
    WITH_TABLES,
    expanded,
    format_of,
    from_option,
    jelly_option,
    opened,
    refuse_terminal,
    settings_of,
    star_option,
    wide_advice,
)
from jelly.cli.results import results
from jelly.cli.seeking import SEEKING_COMMANDS
from jelly.cli.verbs import VERBS
from jelly.stats import stats

_JELLY_LIMITS = tuple(name for name in STATEMENTS if name in JELLY.reading)

HEAD_ROWS = 4096  # statements decoded at a time if few are needed

_LOGICAL = [kind.name.lower().replace("_", "-") for kind in jelly.LogicalType if kind]
# Lookup tables and the options that set their sizes.
_KINDS = {"name": "names", "prefix": "prefixes", "datatype": "datatypes"}


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
    """Turns every error into one line on standard error and an exit code."""

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


_diff = patch.commands["diff"]
for _command in (canonicalize, cat, _diff, find, hash_, messages, patch, results, *SEEKING_COMMANDS, *VERBS):
    cli.add_command(_command)


class _LogicalChoice(click.Choice[str]):
    """A logical type by its name, or by its IRI in RDF-STaX."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ":" in value:
            try:
                value = jelly.LogicalType.from_iri(value).name.lower().replace("_", "-")
            except jelly.JellyError as error:
                self.fail(error.reason, param, ctx)
        return super().convert(value, param, ctx)


@cli.command(short_help="Convert a file to another format or to other stream options.")
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@from_option
@click.option(
    "--to", "to_format", type=WITH_TABLES, help="Format of the output (default: by the suffix of the file)."
)
@click.option("--preset", type=click.Choice(["small", "big"]), help="Sizes of all three lookup tables.")
@click.option(
    "--names", metavar="N", type=click.IntRange(8, MAX_TABLE_SIZE),
    help="Size of the name table, in entries.",
)
@click.option(
    "--prefixes", metavar="N", type=click.IntRange(0, MAX_TABLE_SIZE),
    help="Size of the prefix table (0 disables it).",
)
@click.option(
    "--datatypes", metavar="N", type=click.IntRange(0, MAX_TABLE_SIZE),
    help="Size of the datatype table (0 disables it).",
)
@click.option("--physical", type=click.Choice(PHYSICAL), help="Physical stream type.")
@click.option(
    "--logical",
    metavar="TYPE",
    type=_LogicalChoice(_LOGICAL),
    help=f"Logical stream type (the meaning of a frame): {', '.join(_LOGICAL)}, or its IRI in RDF-STaX.",
)
@click.option("--generalized", is_flag=True, help="Allow generalized statements.")
@click.option(
    "--namespaces", "allow_namespaces", is_flag=True,
    help="Allow namespace declarations anywhere in the stream.",
)
@jelly_option
@click.option(
    "--rdf-version", type=click.Choice(["1.1", "1.2-basic", "1.2", "unspecified"]),
    help="With --jelly 1.2: the RDF version to announce (default: what the terms need).",
)
@click.option(
    "--numbering", type=click.Choice(["P", "S"]),
    help="With --jelly 1.2: which draft of the schema numbers the fields (default P, that of Jelly-JVM).",
)
@click.option("--no-star", is_flag=True, help="Reject quoted triples.")
@click.option("--stream-name", metavar="NAME", help="Stream name in the stream options.")
@click.option(
    "--frame-rows", metavar="N", type=click.IntRange(0),
    help="Maximum rows per frame (default 256, with --jelly 1.2 16384; 0 = unlimited).",
)
@click.option(
    "--frame-bytes", metavar="N", type=click.IntRange(0), default=1_000_000,
    help="Maximum bytes per frame (default 1 MB; 0 = unlimited).",
)
@click.option("--no-delimited", is_flag=True, help="Write one frame without its length.")
@click.option(
    "--seekable/--no-seekable",
    default=None,
    help="Write an index for random access (default for files, but not for .bz2 and .xz).",
)
@click.option(
    "--index", type=click.Choice(["terms"]),
    help='Also write which terms each part of a Jelly file holds, so that "jelly find" reads little of it.',
)
@click.option("--strict", is_flag=True, help="Reject text that RDF 1.1 does not allow.")
@click.option(
    "--rdf", type=click.Choice(["1.1", "1.2-basic", "1.2"]), help="Reject what this version of RDF does not have."
)
@star_option
@click.option("--skip-errors", is_flag=True, help="Skip lines of N-Triples and N-Quads with errors, and report them.")
@click.option(
    "--base", metavar="IRI",
    help="Base IRI for resolving relative IRIs (Turtle, TriG, RDF/XML, JSON-LD, N3).",
)
@click.option("--lenient", is_flag=True, help="Skip most validation, mainly of IRIs, in these formats (faster).")
@click.option(
    "--prefix",
    "namespaces",
    metavar="NAME=IRI",
    multiple=True,
    help="Add a prefix declaration to OUT, if its format supports prefixes. Repeatable.",
)
@click.option(
    "--values", is_flag=True, help="Write numbers to RDF Thrift or RDF Protobuf as values; lexical forms are lost."
)
@click.option(
    "--repeat", is_flag=True,
    help="Write REPEAT to RDF Thrift or RDF Protobuf for a term of the statement before. Apache Jena cannot read it.",
)
@click.option(
    "--message", type=click.Choice(["RDF_Stream", "RDF_Graph"]), help="Write RDF Protobuf as one message of this type."
)
@click.option(
    "--keep-labels", is_flag=True, help="Reject blank node labels that OUT cannot hold (default: relabel the nodes)."
)
@quoted_option
@click.option(
    "--drop-graphs", is_flag=True, help="Write all statements as triples, for a format without named graphs."
)
@click.option(
    "--layout", type=click.Choice([*LAYOUTS, "ids"]), default="flat",
    help="Columns of a table (default: flat). With ids OUT is a directory for terms.parquet and triples.parquet.",
)
@click.option(
    "--threads", metavar="N", type=click.IntRange(1),
    help="Number of threads (default: all idle cores for files above 64 MB, else 1). OUT is the same for any number.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor summary.")
@reading_options(*STATEMENTS)
def convert(src: str, dst: str, from_format: str | None, to_format: str | None, quiet: bool, **given: Any) -> None:
    """Convert IN to OUT. If the conversion fails, OUT is not created or changed.

    IN or OUT may be a table: .parquet, .arrow or .csv, with the columns of a --layout (needs jelly-rdf[arrow]). IN may
    be a directory, a glob pattern in quotation marks, or a URL of fsspec, such as s3://bucket/people.nt.

    Jelly to Jelly keeps the stream options of the input, except those given here. Standard output without --to is
    N-Quads if IN is Jelly, else Jelly. Jelly files get an index for "jelly slice" and for reading with several
    threads; other readers ignore it.

    \b
    Examples:
      jelly convert people.nt.gz people.jelly
      jelly convert people.jelly people.nq.zst
      jelly convert --base http://example.org/ people.ttl people.jelly
      curl -s http://example.org/people.nt | jelly convert --from nt - people.jelly.gz
      jelly convert --preset small --physical graphs in.nq out.jelly
      jelly convert --jelly 1.2 people.jelly columns.jelly
      jelly convert --threads 4 people.jelly people.parquet
      jelly convert --to csv people.jelly - | head
      jelly convert 'dump/*.nq.gz' all.jelly
      jelly convert --layout ids people.jelly graph/
    """
    if given["layout"] == "ids":
        given["threads"] = given["threads"] or default_threads([src])
        _convert_to_ids(src, dst, from_format, quiet, given)
        return
    each = expanded([src])
    given["threads"] = given["threads"] or default_threads(each)
    with opened(each[0], from_format) as (opened_src, source):
        done = _convert(opened_src if len(each) == 1 else each, source, dst, to_format, quiet, given)
    if not quiet:
        _summary(done, is_fair=split_suffix(src)[1] == split_suffix(dst)[1])


def _convert(
    src: Any, source: Format, dst: str, to_format: str | None, quiet: bool, given: dict[str, Any]
) -> jelly.Conversion:
    if to_format is None and dst == "-":
        to_format = "nq" if source is JELLY else "jelly"
    target = format_of(to_format, dst, "--to", tables=True)
    if given["seekable"] and given["no_delimited"]:
        raise click.UsageError("--seekable does not go with --no-delimited")
    _check_index(target, given)
    seekable = given["seekable"]
    if seekable is None:
        seekable = not given["no_delimited"] and target is JELLY and can_have_index(dst)
    if dst == "-":
        refuse_terminal(target.name)
    if target.content is Content.TABLE:
        _refuse_with_tables(given)
    several = isinstance(src, list)
    if several:
        settings_of(src, None, given["limits"])  # refuses unknown suffixes, and limits that no file has
    with (
        wide_advice(),
        progress_bar(f"{source.title} to {target.title}", quiet or (dst == "-" and sys.stdout.isatty())) as progress,
    ):
        return jelly.convert(
            src,
            dst,
            from_format=None if several else source.name,
            to_format=target.name,
            options=_changes(given),
            strict=given["strict"],
            **{name: given[name] for name in ("rdf", "star") if given[name] is not None},
            on_error="skip" if given["skip_errors"] else "raise",
            frame_rows=given["frame_rows"],
            frame_bytes=given["frame_bytes"],
            delimited=not given["no_delimited"],
            seekable=seekable,
            index=given["index"],
            progress=progress,
            namespaces=_namespaces(target, given),
            writing=_writing(target, given),
            layout=given["layout"],
            threads=given["threads"],
            drop_graphs=given["drop_graphs"],
            **_of_syntax(source, given),
            **(given["limits"] if several else limits_of(given["limits"], source.reading, what=source.title)),
        )


def _check_index(target: Format | None, given: dict[str, Any]) -> None:
    if given["index"] is None:
        return
    if target is not JELLY:
        raise click.UsageError(f"--index goes with Jelly only, not with {target.title if target else 'tables'}")
    for option, other in (("--no-delimited", given["no_delimited"]), ("--no-seekable", given["seekable"] is False)):
        if other:
            raise click.UsageError(f"--index does not go with {option}")


def _namespaces(target: Format, given: dict[str, Any]) -> dict[str, str]:
    """The prefixes to declare, by name."""
    pairs = [declared.partition("=") for declared in given["namespaces"]]
    if pairs and not target.namespaces:
        raise click.UsageError(f"--prefix does not go with {target.title}, which has no prefixes")
    for name, equals, iri in pairs:
        if not (equals and iri):
            raise click.UsageError(f"--prefix {name}{equals}{iri}: expected NAME=IRI, such as ex=http://example.org/")
    return {name: iri for name, _, iri in pairs}


def _writing(target: Format, given: dict[str, Any]) -> dict[str, Any]:
    """The options of writing that only some formats have."""
    wanted = {name: given[name] for name in ("values", "repeat", "message", "quoted") if given[name]}
    for name in wanted:
        able = [format for format in FORMATS.values() if name in format.writing]
        if target not in able:
            titles = " and ".join(format.title for format in able)
            raise click.UsageError(f"--{name} does not go with {target.title}, only with {titles}")
    return wanted | ({"keep_labels": True} if given["keep_labels"] else {})


def _of_syntax(source: Format, given: dict[str, Any]) -> dict[str, Any]:
    """The options that only the syntaxes of pyoxigraph have."""
    wanted = {name: given[name] for name in ("base", "lenient") if given[name]}
    if wanted and source.codec != TURTLE.codec:
        raise click.UsageError(f"--{next(iter(wanted))} does not go with {source.title}")
    return wanted


def _refuse_with_tables(given: dict[str, Any]) -> None:
    context = click.get_current_context()
    of_input = {"layout", "threads", "strict", "rdf", "star", "skip_errors", "base", "lenient", "quiet"}
    of_input |= {f"limits_{name}" for name in STATEMENTS}
    for option in context.command.params:
        chosen = context.get_parameter_source(option.name or "") not in (None, ParameterSource.DEFAULT)
        is_switched_off = option.name == "seekable" and not given["seekable"]
        names = {"src", "dst", "from_format", "to_format"}
        if chosen and option.name not in names | of_input and not is_switched_off:
            raise click.UsageError(f"{option.opts[0]} does not go with tables")


def _convert_to_ids(src: str, dst: str, from_format: str | None, quiet: bool, given: dict[str, Any]) -> None:
    context = click.get_current_context()
    own = {"src", "dst", "from_format", "layout", "threads", "strict", "skip_errors", "base", "lenient", "quiet"}
    own |= {"rdf", "star", *(f"limits_{name}" for name in STATEMENTS)}
    for option in context.command.params:
        chosen = context.get_parameter_source(option.name or "") not in (None, ParameterSource.DEFAULT)
        if chosen and option.name not in own:
            raise click.UsageError(f"{option.opts[0]} does not go with --layout ids")
    if dst == "-" or table_kind(dst) or table_kind(src):
        raise click.UsageError("--layout ids needs a file of statements and a directory")
    began = time.perf_counter()
    with opened(src, from_format) as (opened_src, source):
        settings = {name: given[name] for name in ("strict", "rdf", "star") if given[name]}
        statements = jelly.write_ids(
            dst,
            opened_src,
            format=source.name,
            threads=given["threads"],
            on_error="skip" if given["skip_errors"] else "raise",
            **settings,
            **_of_syntax(source, given),
            **limits_of(given["limits"], source.reading, what=source.title),
        )
    if not quiet:
        say(f"{statements:,} statement{'s' * (statements != 1)}, {time.perf_counter() - began:.2f} s")


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    """The stream options that differ from those of the input."""
    changes: dict[str, Any] = {}
    if given["preset"]:
        preset = getattr(jelly.StreamOptions, given["preset"])()
        changes |= {f"max_{kind}_table_size": getattr(preset, f"max_{kind}_table_size") for kind in _KINDS}
    for kind, option in _KINDS.items():
        if (size := given[option]) is not None:
            changes[f"max_{kind}_table_size"] = size
    if given["physical"]:
        changes["physical_type"] = jelly.PhysicalType[given["physical"].upper()]
    if given["logical"]:
        changes["logical_type"] = jelly.LogicalType[given["logical"].upper().replace("-", "_")]
    if given["generalized"]:
        changes["generalized_statements"] = True
    if given["jelly_version"]:
        changes["version"] = 1 + int(given["jelly_version"][-1])
    if given["allow_namespaces"]:
        if given["jelly_version"] == "1.0":
            raise click.UsageError("--namespaces does not go with --jelly 1.0, which has none")
        changes.setdefault("version", 2)
    for name in ("rdf_version", "numbering"):
        if given[name]:
            if given["jelly_version"] != "1.2":
                raise click.UsageError(f"--{name.replace('_', '-')} goes with --jelly 1.2")
            changes[name] = given[name]
    if given["no_star"]:
        changes["rdf_star"] = False
    if given["stream_name"] is not None:
        changes["stream_name"] = given["stream_name"]
    return changes


def _summary(done: jelly.Conversion, is_fair: bool) -> None:
    """Print what was done; the ratio of sizes only if both files are compressed in the same way, or not at all."""
    speed = done.statements / done.seconds if done.seconds else 0
    ratio = f" ({done.bytes_written / done.bytes_read:.1%})" if is_fair and done.bytes_read else ""
    statements = f"{done.statements:,} statement{'s' * (done.statements != 1)}"
    say(
        f"{statements}, {size_of(done.bytes_read)} -> {size_of(done.bytes_written)}{ratio}, "
        f"{done.seconds:.2f} s, {count_of(speed)} statements/s"
    )
    if done.n_skipped:
        lines = "line" if done.n_skipped == 1 else "lines"
        say(f"Skipped {done.n_skipped:,} {lines} with errors:", "yellow")
        for line, reason in done.skipped[:5]:
            say(f"  line {line}: {message(jelly.JellyError(reason))}", "yellow")
        if done.n_skipped > 5:
            say("  ...", "yellow")


@cli.command("inspect", short_help="Show options, rows, bytes and frames of a Jelly file.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--per-frame", is_flag=True, help="Also show each frame.")
@click.option("--size", is_flag=True, help="Also show the bytes of each part: terms by place and kind, or columns.")
@shape_option
@reading_options(*_JELLY_LIMITS, "max_frames")
def inspect_(
    files: tuple[str, ...], per_frame: bool, size: bool, shape: str | None, limits: dict[str, Any]
) -> None:
    """Show the options, rows, bytes and frames of each Jelly file without decoding its statements.

    A file with the suffix .jellyp is read as Jelly-Patch. Files may also be directories and glob patterns in quotation
    marks. Of several files, JSON and YAML are a list with the name of each.

    \b
    Examples:
      jelly inspect people.jelly
      jelly inspect changes.jellyp
      jelly inspect 'data/*.jelly'
      jelly inspect --size people.jelly
      jelly inspect people.jelly.gz --per-frame --format json | jq '.frames[0]'
    """
    each = expanded(files)
    found: list[tuple[str, jelly.Inspection]] = []
    for file in each:
        with progress_bar("Inspecting") as progress:
            found.append((file, jelly.inspect(file, per_frame, size=size, progress=progress, **limits)))
        for problem in found[-1][1].problems:
            say(f"{file}: {in_options(problem)}", "yellow")

    def as_tables(display: Any) -> None:
        for file, one in found:
            display.show_inspection(file, one)

    show(found[0][1] if len(each) == 1 else [{"file": file} | one.as_dict() for file, one in found], shape, as_tables)


@cli.command(short_help="Check files and list their problems.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--against", metavar="FILE",
    help="A file (Jelly, N-Triples, N-Quads) that must contain the same statements.",
)
@click.option("--unordered", is_flag=True, help="Compare as sets, ignoring the order of statements.")
@click.option("--frame", metavar="N", type=click.IntRange(0), help="Compare only frame N (counting from 0).")
@click.option("--options", metavar="FILE", help="A Jelly file whose stream options must be the same.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), default=1000, help="Stop after N problems (default 1000)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
@from_option
@reading_options(*STATEMENTS)
def validate(
    files: tuple[str, ...],
    against: str | None,
    unordered: bool,
    as_json: bool,
    from_format: str | None,
    limits: dict[str, Any],
    **given: Any,
) -> None:
    """Print every problem of Jelly files with its frame, row and byte. The exit code is 1 if there is one.

    If FILE has another format, its syntax errors are printed, and it can be compared. Files may also be tables,
    directories and glob patterns in quotation marks.

    \b
    Examples:
      jelly validate people.jelly
      jelly validate people.jelly --against people.nt --unordered
      jelly validate 'dump/*.nq.gz'
    """
    each = expanded(files)
    known = [] if against is None else [format_of(None, against, "a known suffix", tables=True).reading]
    if against is not None and len(each) > 1:
        raise click.UsageError("--against goes with one file, not with several")
    if from_format is not None or not any(map(is_web, each)):
        names = ["" if file == "-" else file for file in each]
        limits_of(limits, *(format_to_check(from_format, name).reading for name in names), *known)
    found: list[tuple[str, jelly.Problem]] = []
    for file in each:
        used = limits
        if len(each) > 1 and not is_web(file):
            used = having(limits, format_to_check(from_format, file).reading)
        with progress_bar("Validating") as progress:
            problems = jelly.validate(
                file, format=from_format, against=against, ordered=not unordered, progress=progress, **given, **used
            )
        found += [(file, problem) for problem in problems]
        if not as_json:
            for problem in problems:
                click.echo(f"{file}: {message(jelly.JellyError(str(problem)))}")
            if not problems:
                click.echo(f"{file}: no problems")
    if as_json:
        fields = ("message", "frame", "row", "offset", "line")
        told = [
            ({"file": file} if len(each) > 1 else {}) | {name: getattr(problem, name) for name in fields}
            for file, problem in found
        ]
        click.echo(json.dumps(told, indent=2))
    click.get_current_context().exit(1 if found else 0)


@cli.command(short_help="Print the first statements of files.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "-n", "number", metavar="N", type=click.IntRange(0), default=10, show_default=True, help="Number of statements."
)
@from_option
@reading_options(*STATEMENTS)
def head(files: tuple[str, ...], number: int, from_format: str | None, limits: dict[str, Any]) -> None:
    """Print the first statements of files as N-Quads: N of all together. Only the needed parts of files are read.

    Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in quotation marks.

    \b
    Example:
      jelly head -n 3 people.jelly
    """
    each = expanded(files)
    settings_of(each, from_format, limits)  # refuses unknown suffixes, and limits that no file has
    statements = jelly.read(each, format=from_format, batch_rows=min(number or 1, HEAD_ROWS), **limits)
    with jelly.Writer("-", format="nq") as writer:
        writer.extend(islice(statements, number))
    statements.close()


@cli.command(short_help="Count statements.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@reading_options(*STATEMENTS)
def count(files: tuple[str, ...], from_format: str | None, limits: dict[str, Any]) -> None:
    """Print the number of statements of each file, and the total of several files.

    Rows of Jelly files are counted without decoding them. Files may also be tables (Parquet, Arrow, CSV), directories
    and glob patterns in quotation marks.

    \b
    Examples:
      jelly count people.jelly
      jelly count *.jelly *.nq.gz
    """
    total = 0
    each = expanded(files)
    for file, settings in zip(each, settings_of(each, from_format, limits), strict=True):
        with progress_bar("Counting") as progress:
            number = _count_of(file, settings, progress)
        click.echo(f"{number}\t{file}")
        total += number
    if len(each) > 1:
        click.echo(f"{total}\ttotal")


def _count_of(
    file: str, settings: dict[str, Any], progress: Callable[[int, int | None, int], object] | None
) -> int:
    if settings["format"] == JELLY.name:
        limits = {name: value for name, value in settings.items() if name != "format"}
        return jelly.inspect(file, progress=progress, **limits).statements
    with jelly.Reader(file, **settings) as reader:
        for _ in reader.batches():
            if progress is not None:
                progress(reader.bytes_read, reader.source.size, reader.statements)
        return reader.statements


@cli.command("stats", short_help="Count predicates, classes, graphs, datatypes and languages; plot them.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@shape_option
@click.option("--top", metavar="N", type=click.IntRange(0), default=20, show_default=True, help="Entries in each list.")
@click.option(
    "--threads", metavar="N", type=click.IntRange(1), default=1,
    help="Threads, for files with an index (default 1).",
)
@click.option("--plot", metavar="FILE", help="Also plot them to FILE (.png, .svg or .pdf).")
@click.option("-q", "--quiet", is_flag=True, help="With --plot: print nothing.")
@reading_options(*STATEMENTS)
def stats_(
    files: tuple[str, ...],
    from_format: str | None,
    shape: str | None,
    top: int,
    threads: int,
    plot: str | None,
    quiet: bool,
    limits: dict[str, Any],
) -> None:
    """Count predicates, classes, graphs, datatypes and languages, and show how statements are distributed.

    Several files are counted together. Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in
    quotation marks.

    \b
    Examples:
      jelly stats people.jelly --top 5
      jelly stats people.jelly --plot people.png
      jelly stats people.nq.gz --format json | jq .predicates.top
    """
    if quiet and plot is None:
        raise click.UsageError("--quiet goes with --plot")
    each = expanded(files)
    settings = {"format": from_format, **limits}
    if len(each) == 1:
        (settings,) = settings_of(each, from_format, limits)
    else:
        settings_of(each, from_format, limits)  # refuses unknown suffixes, and limits that no file has
    name = os.path.basename(each[0]) if len(each) == 1 else f"{len(each)} files"
    if plot is not None:
        from jelly.plot import check_suffix, plot_stats

        check_suffix(plot)
    with progress_bar("Counting", quiet) as progress:
        found = stats(each[0] if len(each) == 1 else each, threads=threads, top=top, progress=progress, **settings)
    if plot is not None:
        plot_stats(found, plot, name)
    if quiet:
        return
    show(found, shape, lambda display: display.show_stats(each[0] if len(each) == 1 else name, found))
