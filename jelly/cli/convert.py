"""The command ``jelly convert``."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

import jelly
from jelly._bytes.names import split_suffix
from jelly._dataset.dataset import Dataset
from jelly._dataset.order import MEMORY
from jelly._formats.registry import FORMATS, JELLY, Content, Format, table_kind
from jelly._options.keywords import READ, WRITE
from jelly._options.layouts import LAYOUTS
from jelly._options.options import MAX_TABLE_SIZE
from jelly.cli import contents
from jelly.cli.common import (
    COMMON,
    LOGS,
    STATEMENTS,
    Decorator,
    Size,
    can_have_index,
    command,
    count_of,
    default_threads,
    limits_of,
    log_output,
    messages_option,
    patch_output,
    progress_bar,
    reading_options,
    refuse,
    say,
    seekable_option,
    size_of,
)
from jelly.cli.errors import message
from jelly.cli.options import ParamType, options
from jelly.cli.reading import (
    content_of,
    expanded,
    format_of,
    from_option,
    jelly_changes,
    jelly_option,
    opened,
    refuse_terminal,
    settings_of,
    to_option,
    wide_advice,
    wide_changes,
    wide_options,
)

__all__ = ["convert"]

_LOGICAL = [kind.name.lower().replace("_", "-") for kind in jelly.LogicalType if kind]
# Lookup tables and the options that set their sizes.
_KINDS = {"name": "names", "prefix": "prefixes", "datatype": "datatypes"}
_FRAMING = ("frame_rows", "frame_bytes", "delimited", "index")
_INPUT = {"from_format", "to_format", "quiet", *COMMON, *STATEMENTS, "base", "lenient"}


class _LogicalChoice(click.Choice[str]):
    """A logical type by its name, or by its IRI in RDF-STaX."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ":" in value:
            try:
                value = jelly.LogicalType.from_iri(value).name.lower().replace("_", "-")
            except jelly.JellyError as error:
                self.fail(error.reason, param, ctx)
        return super().convert(value, param, ctx)


class _Some(ParamType):
    """A number of statements, or the share of all, such as 0.01: a pair of a keyword and its value."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        try:
            if str(value).isdecimal():
                return "rows", int(value)
            if 0 <= (share := float(value)) <= 1:
                return "fraction", share
        except ValueError:
            pass
        self.fail(f"{value!r} is not a number of statements, such as 1000, or a share, such as 0.01", param, ctx)


def _table_size(kind: str, least: int) -> Decorator:
    option: Decorator = click.option(
        f"--table-{kind}", kind, metavar="N", type=click.IntRange(least, MAX_TABLE_SIZE), hidden=True,
        help=f"Size of the table of {kind}, in entries{'' if least else ' (0: none)'}.",
    )
    return option


@command()
@click.argument("sources", metavar="SRC...", nargs=-1, required=True)
@click.argument("dst", metavar="DST")
@from_option
@to_option
@messages_option
@click.option("--patches", is_flag=True, hidden=True, help="Convert a table of changes to a table.")
@options(READ, "on_error", "base", "star", "blank_nodes", into="reading")
@options(READ, "strict", "rdf", "lenient", "skolem_base", into="reading", hidden=True)
@click.option("--unique", is_flag=True, help="Write equal statements once.")
@click.option("--sample", metavar="N", type=_Some(), help="Write N random statements, or a share (0.01).")
@click.option("--seed", metavar="N", type=click.IntRange(0), hidden=True, help="With --sample: the same seed chooses "
              "the same statements.")
@click.option("--memory", type=Size(), metavar="SIZE", default=MEMORY, show_default="256M", hidden=True,
              help="With --unique: memory for statements; the rest goes to temporary files (in TMPDIR).")
@jelly_option
@click.option("--preset", type=click.Choice(["small", "big"]), hidden=True, help="Sizes of the lookup tables of Jelly.")
@_table_size("names", 8)
@_table_size("prefixes", 0)
@_table_size("datatypes", 0)
@wide_options
@click.option(
    "--logical", metavar="TYPE", hidden=True, type=_LogicalChoice(_LOGICAL),
    help=f"Logical stream type (the meaning of a frame): {', '.join(_LOGICAL)}, or its IRI in RDF-STaX.",
)
@click.option("--stream-name", metavar="NAME", hidden=True, help="Name in the stream options.")
@click.option("--no-star", is_flag=True, hidden=True, help="Reject quoted triples.")
@click.option(
    "--rdf-version", type=click.Choice(["1.1", "1.2-basic", "1.2", "unspecified"]), hidden=True,
    help="With --jelly 1.2: the RDF version to announce (default: what the terms need).",
)
@click.option(
    "--numbering", type=click.Choice(["P", "S"]), hidden=True,
    help="With --jelly 1.2: which draft of the schema numbers the fields (default P, that of Jelly-JVM).",
)
@options(WRITE, "frame_rows", "frame_bytes", "delimited", into="writing", hidden=True)
@seekable_option
@options(WRITE, "index", into="writing")
@options(WRITE, "prefixes", into="writing")
@options(WRITE, "quoted", "values", "repeat", "message", "keep_labels", into="writing", hidden=True)
@click.option("--drop-graphs", is_flag=True, help="Write all statements as triples.")
@click.option(
    "--layout", type=click.Choice([*LAYOUTS, "ids"]), default="flat",
    help="Columns of a table. With ids DST is a directory for terms.parquet and triples.parquet.",
)
@patch_output
@click.option(
    "--marked-bnodes/--no-marked-bnodes", default=True, hidden=True,
    help="Write blank nodes to RDF Patch as <_:label> (default) or _:label (Jena drops its first letter).",
)
@log_output
@click.option(
    "--threads", metavar="N", type=click.IntRange(1),
    help="Number of threads. DST is the same for any number (default: all idle cores for files above 64 MB, else 1).",
)
@click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor summary.")
@reading_options(*LOGS, "max_document_bytes", *STATEMENTS)
def convert(
    sources: tuple[str, ...],
    dst: str,
    from_format: str | None,
    to_format: str | None,
    messages: bool,
    patches: bool,
    quiet: bool,
    reading: dict[str, Any],
    writing: dict[str, Any],
    **given: Any,
) -> None:
    """Convert files to another format, or put them together. If that fails, DST is not created or changed.

    Statements, patches (.jellyp, .rdfp, .trp), message logs (--messages) and query results (.srj, .srx, .srt, .srp)
    become another format of the same content. SRC or DST may be a table: .parquet, .arrow or .csv (needs
    jelly-rdf[arrow]). SRC may be a directory, a glob pattern in quotation marks, or a URL of fsspec.

    Jelly to Jelly keeps the stream options of the first file, except those given here. Standard output without --to is
    N-Quads if SRC is Jelly, else Jelly. Jelly files get an index; other readers ignore it.

    \b
    Examples:
      jelly convert people.nt.gz people.jelly
      jelly convert monday.jelly tuesday.nq 'dump/*.ttl' all.jelly
      jelly convert --unique --blank-nodes keep part1.nt part2.nt whole.jelly
      curl -s http://example.org/people.nt | jelly convert --from nt - people.jelly.gz
      jelly convert --to csv people.jelly - | head
      jelly convert changes.jellyp changes.rdfp
    """
    content = content_of(*sources, from_format, dst, to_format, messages=messages)
    if patches:
        content = Content.PATCH
    if content is not Content.STATEMENTS:
        given["quoted"] = writing.get("quoted")
        told = contents.convert(content, sources, dst, from_format, to_format, reading, given)
        if not quiet:
            say(told)
        return
    if given["layout"] == "ids":
        _convert_to_ids(sources, dst, from_format, quiet, reading, given["threads"])
        return
    each = expanded(sources)
    with opened(each[0], from_format) as (opened_src, source):
        _statements([opened_src, *each[1:]], source, dst, from_format, to_format, quiet, reading, writing, given)


def _statements(
    sources: list[Any],
    source: Format,
    dst: str,
    from_format: str | None,
    to_format: str | None,
    quiet: bool,
    reading: dict[str, Any],
    writing: dict[str, Any],
    given: dict[str, Any],
) -> None:
    if to_format is None and dst == "-":
        to_format = "nq" if source is JELLY else "jelly"
    target = format_of(to_format, dst, "--to", tables=True)
    has_lengths = writing.get("delimited", True)
    if given["seekable"] and not has_lengths:
        raise click.UsageError("--seekable does not go with --no-delimited")
    _check_index(target, writing, given["seekable"])
    seekable = given["seekable"]
    if seekable is None:
        seekable = has_lengths and target is JELLY and can_have_index(dst)
    if dst == "-":
        refuse_terminal(target)
    if target.content is Content.TABLE:
        unused = {"seekable"} if not seekable else set[str]()
        refuse("tables", _INPUT | unused | {"layout", "threads", "unique", "sample", "seed", "memory"})
    several = len(sources) > 1
    if several:
        settings_of(sources, from_format, reading)  # refuses unknown suffixes, and limits that no file has
    else:
        limits_of(reading, source.reading, what=source.title)
    how: dict[str, Any] = {"to": target.name, "seekable": seekable, "options": _changes(given, target) or None}
    with (
        wide_advice(),
        progress_bar(f"{source.title} to {target.title}", quiet or (dst == "-" and sys.stdout.isatty())) as progress,
    ):
        is_chosen = given["unique"] or given["sample"]
        statements: Dataset = jelly.scan(
            sources if several else sources[0],
            format=from_format if several else source.name,
            threads=1 if is_chosen else given["threads"] or default_threads(sources),
            **reading,
        )
        if is_chosen:
            statements = _chosen(statements, given)
        else:
            _check_writing(target, writing)
            how |= {"layout": given["layout"], "drop_graphs": given["drop_graphs"], **writing}
        done = statements.write(dst, progress=progress, **how)
    if not quiet:
        if is_chosen:
            say(f"{done.statements:,} statement{'s' * (done.statements != 1)}")
        else:
            _summary(done, is_fair=not several and split_suffix(str(sources[0]))[1] == split_suffix(dst)[1])


def _chosen(statements: Dataset, given: dict[str, Any]) -> Dataset:
    """The statements that --unique and --sample leave."""
    stream = {"jelly_version", "preset", *_KINDS.values(), "physical", "allow", "logical", "stream_name", "no_star"}
    allowed = _INPUT | stream | {"unique", "sample", "seed", "memory", "seekable", "rdf_version", "numbering"}
    refuse("--unique and --sample", allowed)
    if given["unique"] and given["sample"]:
        raise click.UsageError("--unique does not go with --sample: convert twice")
    if given["unique"]:
        return statements.unique(memory=given["memory"])
    return statements.sample(**dict([given["sample"]]), seed=given["seed"])


def _check_index(target: Format, writing: dict[str, Any], seekable: bool | None) -> None:
    if "index" not in writing:
        return
    if target is not JELLY:
        raise click.UsageError(f"--index goes with Jelly only, not with {target.title}")
    for option, other in (("--no-delimited", "delimited" in writing), ("--no-seekable", seekable is False)):
        if other:
            raise click.UsageError(f"--index does not go with {option}")


def _check_writing(target: Format, writing: dict[str, Any]) -> None:
    """Refuse options of writing that the format does not have."""
    if "prefixes" in writing and not target.namespaces:
        raise click.UsageError(f"--prefix does not go with {target.title}, which has no prefixes")
    for name in writing.keys() - {"keep_labels", "prefixes", *_FRAMING}:
        able = [format for format in FORMATS.values() if name in format.writing]
        if target not in able:
            titles = " and ".join(format.title for format in able)
            raise click.UsageError(f"--{name} does not go with {target.title}, only with {titles}")


def _convert_to_ids(
    sources: tuple[str, ...], dst: str, from_format: str | None, quiet: bool, reading: dict[str, Any],
    threads: int | None,
) -> None:  # fmt: skip
    refuse("--layout ids", (_INPUT - {"to_format"}) | {"layout", "threads"})
    if dst == "-" or table_kind(dst) or any(map(table_kind, sources)):
        raise click.UsageError("--layout ids needs a file of statements and a directory")
    began = time.perf_counter()
    (src, *more) = sources
    with opened(src, from_format) as (opened_src, source):
        if more:
            settings_of(sources, from_format, reading)
        else:
            limits_of(reading, source.reading, what=source.title)
        statements = jelly.convert(
            [opened_src, *more] if more else opened_src,
            dst,
            layout="ids",
            format=from_format if more else source.name,
            threads=threads or default_threads(list(sources)),
            **reading,
        ).statements
    if not quiet:
        say(f"{statements:,} statement{'s' * (statements != 1)}, {time.perf_counter() - began:.2f} s")


def _changes(given: dict[str, Any], target: Format) -> dict[str, Any]:
    """The stream options that differ from those of the input."""
    changes: dict[str, Any] = {}
    if given["preset"]:
        preset = getattr(jelly.StreamOptions, given["preset"])()
        changes |= {f"max_{kind}_table_size": getattr(preset, f"max_{kind}_table_size") for kind in _KINDS}
    for kind, option in _KINDS.items():
        if (size := given[option]) is not None:
            changes[f"max_{kind}_table_size"] = size
    changes |= wide_changes(given["physical"], given["allow"])
    if given["logical"]:
        changes["logical_type"] = jelly.LogicalType[given["logical"].upper().replace("-", "_")]
    if given["jelly_version"]:
        if given["jelly_version"] == "1.0" and "namespaces" in given["allow"]:
            raise click.UsageError("--allow namespaces does not go with --jelly 1.0, which has none")
        changes |= jelly_changes(given["jelly_version"], target)
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
