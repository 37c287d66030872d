"""The command ``jelly convert``."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
from click.core import ParameterSource

import jelly
from jelly._bytes.names import split_suffix
from jelly._formats.registry import FORMATS, JELLY, TURTLE, Content, Format, table_kind
from jelly._options.layouts import LAYOUTS
from jelly._options.options import MAX_TABLE_SIZE
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
    size_of,
)
from jelly.cli.errors import message
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

__all__ = ["convert"]

_LOGICAL = [kind.name.lower().replace("_", "-") for kind in jelly.LogicalType if kind]
# Lookup tables and the options that set their sizes.
_KINDS = {"name": "names", "prefix": "prefixes", "datatype": "datatypes"}


class _LogicalChoice(click.Choice[str]):
    """A logical type by its name, or by its IRI in RDF-STaX."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ":" in value:
            try:
                value = jelly.LogicalType.from_iri(value).name.lower().replace("_", "-")
            except jelly.JellyError as error:
                self.fail(error.reason, param, ctx)
        return super().convert(value, param, ctx)


@click.command()
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
