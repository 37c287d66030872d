"""The commands ``jelly patch ...``. They call the functions of `jelly.patch`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import click

import jelly
from jelly import patch as patches
from jelly._core.base.constants import Op
from jelly._formats.registry import REGISTRY, SEEKING, Content, find, format_of, having, table_kind
from jelly.cli.common import (
    STATEMENTS,
    RangeCommand,
    Size,
    can_have_index,
    default_threads,
    layout_option,
    limits_of,
    parse_range,
    progress_bar,
    quoted_option,
    reading_options,
    say,
)
from jelly.cli.errors import is_unread, message
from jelly.patch._log import patches_in_order
from jelly.patch._spool import PatchSpool
from jelly.patch._validate import checked_rows

__all__ = ["diff", "patch"]

_format = click.Choice(list(REGISTRY[Content.PATCH]))
_from = click.option(
    "--from", "from_format", type=_format,
    help="Format of the patches (default: by the suffix of the file).",
)
_to = click.option("--to", "to_format", type=_format, help="Format of the output (default: by the suffix of the file).")
_type = click.option(
    "--type",
    "stream_type",
    type=click.Choice([kind.name.lower() for kind in patches.PatchStreamType]),
    help="Stream type of Jelly-Patch: what ends a patch.",
)
_triples = click.option("--triples", is_flag=True, help="Write triples to Jelly-Patch (default: quads).")
_missing = click.option("--strict", is_flag=True, help="Fail if a deletion does not match any statement.")

_limits = reading_options(*STATEMENTS)
_seeking_limits = reading_options(*(name for name in STATEMENTS if name in SEEKING))

# The rows of a patch by their number.
_ROWS = {2: "A", 3: "D", 4: "PA", 5: "PD", 6: "TX", 7: "TC", 8: "TA", 14: "H"}


def _options(stream_type: str | None, triples: bool) -> dict[str, Any] | None:
    """The requested options, or None to keep those of the input."""
    if stream_type is None and not triples:
        return None
    return {
        "stream_type": patches.PatchStreamType[(stream_type or "punctuated").upper()],
        "statement_type": patches.StatementType.TRIPLES if triples else patches.StatementType.QUADS,
    }


def _target(dst: str, to_format: str | None) -> str | None:
    """The format to write; text on standard output."""
    if dst == "-" and to_format in ("jellyp", "trp") and sys.stdout.isatty():
        raise click.UsageError("the format is binary: give a file or a pipe instead of the terminal")
    return to_format or ("rdfp" if dst == "-" else None)


def _reading(file: str, from_format: str | None, limits: dict[str, Any]) -> dict[str, Any]:
    """The keywords for reading patches."""
    found = find(from_format, "" if file == "-" else file, content=Content.PATCH)
    return {"format": found.name} | having(limits, found.reading)


def _patches(files: tuple[str, ...], from_format: str | None, limits: dict[str, Any]) -> Iterator[patches.Patch]:
    """The patches of files, one after the other."""
    settings = [_reading(file, from_format, limits) for file in files]
    return (one for file, each in zip(files, settings, strict=True) for one in patches.read_patches(file, **each))


def _seekable(dst: str, target: str | None) -> bool:
    """Whether to write an index by default."""
    return can_have_index(dst) and find(target, dst, content=Content.PATCH).name == "jellyp"


@click.group(no_args_is_help=True)
def patch() -> None:
    """Make, apply and convert patches: Jelly-Patch (.jellyp), RDF Patch (.rdfp) and RDF Patch Thrift (.trp).

    \b
      jelly patch diff monday.nq tuesday.jelly change.jellyp
      jelly patch apply change.jellyp monday.nq again.nq
      jelly patch convert change.jellyp - | less
      jelly patch slice log.jellyp 1000:1010

    A patch names blank nodes by their labels in the file it was made from. Nodes without a label, such as [] in Turtle,
    get the labels anon0, anon1 and so on by their position in the file. Apply a patch only to the file it was made
    from, or to a conversion of it.
    """


@patch.command(short_help="Convert patches to another format, or to a table.")
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@_from
@_to
@_type
@_triples
@click.option(
    "--marked-bnodes/--no-marked-bnodes",
    default=True,
    help="Write blank nodes to RDF Patch as <_:label> (default) or _:label (Jena drops its first letter).",
)
@quoted_option
@click.option(
    "--seekable/--no-seekable",
    default=None,
    help="Write an index for random access (default for files, but not for .bz2 and .xz).",
)
@layout_option
@click.option(
    "--threads", metavar="N", type=click.IntRange(1),
    help="Number of threads (default: all idle cores for files above 64 MB, else 1). OUT is the same for any number.",
)
@_limits
def convert(
    src: str,
    dst: str,
    from_format: str | None,
    to_format: str | None,
    stream_type: str | None,
    triples: bool,
    marked_bnodes: bool,
    quoted: str | None,
    seekable: bool | None,
    layout: Any,
    threads: int | None,
    limits: dict[str, Any],
) -> None:
    """Convert the patches of IN to another format or another stream type.

    Jelly-Patch files get an index for "jelly patch slice" and for reading with several threads; other readers ignore
    it.

    IN or OUT may be a table of changes: .parquet, .arrow or .csv, with a column op (add, delete), optionally a column
    patch (number of the patch), and the columns of a --layout (needs jelly-rdf[arrow]). The table has no aborted
    operations, headers or namespaces.
    """
    target = None if table_kind(dst) else _target(dst, to_format)
    settings: dict[str, Any] = {
        "from_format": from_format,
        "to_format": target,
        "options": _options(stream_type, triples),
        "seekable": seekable if seekable is not None else not table_kind(dst) and _seekable(dst, target),
        "marked_bnodes": marked_bnodes,
    }
    reading = {} if table_kind(src) else _reading(src, from_format, limits)
    reading.pop("format", None)
    limits_of(limits, reading)
    if quoted:
        settings["quoted"] = quoted
    settings |= {"layout": layout, "threads": threads or default_threads([src]), **reading}
    with progress_bar("Converting", dst == "-") as progress:
        jelly.convert(src, dst, content="patches", progress=progress, **settings)


@patch.command(short_help="Show the patches of a file, their headers and rows.")
@click.argument("file")
@_from
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@_limits
def inspect(file: str, from_format: str | None, as_json: bool, limits: dict[str, Any]) -> None:
    """Show the options of FILE, its index if any, and the headers and row counts of each patch."""
    reader = patches.PatchReader(file, **_reading(file, from_format, limits))
    found: list[dict[str, Any]] = [
        {
            "headers": [[header.key, str(header.value)] for header in one.headers],
            "rows": {name: n for code, name in _ROWS.items() if (n := one.count(code))},
        }
        for one in reader
    ]
    options = reader.options
    about = None if options is None else {name: getattr(options, name) for name in options.__slots__}
    index = None if options is None else _index(file)
    if as_json:
        told = {"format": reader.format.name, "options": about, "index": index, "patches": found}
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(f"{file}: {reader.format.title}, {len(found)} patch{'es' * (len(found) != 1)}")
    for name, value in (about or {}).items():
        click.echo(f"  {name}: {value.name if hasattr(value, 'name') else value}")
    if index is not None:
        click.echo("  index: {keyframes} keyframes, {patches} patches, {operations} operations".format(**index))
    for number, one in enumerate(found):
        click.echo(f"patch {number}: " + (", ".join(f"{n} {name}" for name, n in one["rows"].items()) or "empty"))
        for key, value in one["headers"]:
            click.echo(f"  {key}: {value}")


def _index(file: str) -> dict[str, int] | None:
    """The contents of the index or sidecar of a file; None without one."""
    try:
        with patches.open(file) as opened:
            keyframes = len(opened.index.keyframes)
            return {"keyframes": keyframes, "patches": len(opened), "operations": opened.operations}
    except (jelly.JellyError, OSError):
        return None


@patch.command("slice", cls=RangeCommand, short_help="Print patches A to B of a file with an index.")
@click.argument("file")
@click.argument("wanted", metavar="A:B", callback=parse_range)
@_to
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of standard output.")
@_seeking_limits
def slice_(
    file: str, wanted: tuple[int, int | None], to_format: str | None, output: str, limits: dict[str, Any]
) -> None:
    """Print patches A up to, but not including, B (counting from 0) of FILE, which must have an index. Negative
    numbers count from the end.

    Only the needed part of the file is read.
    """
    target = _target(output, to_format)
    with patches.open(file, **limits) as source:
        seekable = _seekable(output, target)
        with patches.PatchWriter(output, source.options, format=target, seekable=seekable) as writer:
            begin, end, _ = slice(*wanted).indices(len(source))
            for one in source.patches(begin, end):
                writer.write(one)


@patch.command(short_help="Check a file of patches.")
@click.argument("file")
@_from
@_limits
def validate(file: str, from_format: str | None, limits: dict[str, Any]) -> None:
    """Print the problems of FILE with their frame, row and byte, or their line. The exit code is 1 if there are any."""
    reading = _reading(file, from_format, limits)
    problems, operations = checked_rows(file, reading.pop("format"), None, 1000, reading)
    for problem in problems:
        click.echo(f"{file}: {problem}")
    if not problems:
        click.echo(f"{file}: no problems, {operations} operations")
    click.get_current_context().exit(1 if problems else 0)


@patch.command("apply", short_help="Apply patches to the statements of a file.")
@click.argument("change", metavar="PATCH...", nargs=-1, required=True)
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@_from
@_missing
@_limits
def apply_(
    change: tuple[str, ...], src: str, dst: str, from_format: str | None, strict: bool, limits: dict[str, Any]
) -> None:
    """Apply patches in order to the statements of IN and write the result to OUT, which may be IN.

    The number of deletions that do not match any statement is printed on standard error. With --strict the first of
    them is an error: the exit code is 1, and OUT is not created or changed.
    """
    with progress_bar("Applying", dst == "-") as progress:
        done = patches.apply(
            _patches(change, from_format, limits),
            src,
            dst,
            on_missing="error" if strict else "ignore",
            to_format="nq" if dst == "-" else None,
            progress=progress,
            **having(limits, format_of(src).reading),
        )
    missing = f"{done.missing} deletion{'s' * (done.missing != 1)} did not match any statement"
    told = f"{done.added} added, {done.deleted} deleted, {missing}"
    click.echo(told, err=True)
    if done.missing:
        say("warning: was the patch made from another file? Blank nodes are compared by their labels", "yellow")


@patch.command(short_help="Write the patch that turns one file into another.")
@click.argument("old")
@click.argument("new")
@click.argument("dst", metavar="[OUT]", required=False)
@click.option("--stat", is_flag=True, help="Print how many statements of each predicate differ, and write no patch.")
@_to
@_type
@_triples
@click.option("--namespaces/--no-namespaces", default=True, help="Also compare prefixes, if both formats have them.")
@click.option(
    "--match-blank-nodes/--no-match-blank-nodes", default=True,
    help="Match blank nodes by their place where labels fit worse.",
)
@click.option(
    "--memory", metavar="SIZE", type=Size(), default=512 << 20, show_default="512M",
    help="Memory for the comparison.",
)
@click.option("--id", "name", metavar="IRI", help="Header id: the IRI of the patch, which a log needs.")
@click.option("--prev", metavar="IRI", help="Header prev: the IRI of the patch before.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if OLD and NEW differ, and with 2 on errors.")
@_limits
def diff(
    old: str,
    new: str,
    dst: str | None,
    stat: bool,
    to_format: str | None,
    stream_type: str | None,
    triples: bool,
    name: str | None,
    prev: str | None,
    exit_code: bool,
    limits: dict[str, Any],
    **settings: Any,
) -> None:
    """Write the patch that turns the statements and namespaces of OLD into those of NEW.

    The number of additions and deletions is printed on standard error. With --stat there is no OUT: a line for each
    predicate is printed, with a tab between what is added, what is deleted, and the predicate.

    Blank nodes are matched by their place in the datasets where that makes the patch smaller than their labels do. The
    patch then has the labels of OLD. Where matching takes more than the memory that is allowed, labels count. With
    --no-match-blank-nodes only labels count: nodes without one, such as [] in Turtle, are called anon0, anon1 and so on
    by their position in the file.
    """
    if stat == (dst is not None) or (stat and (to_format or stream_type or triples or name or prev)):
        raise click.UsageError("give OUT, or --stat without OUT and its options")
    header = {"id": name, "prev": prev}
    headers = [patches.Header(key, jelly.IRI(iri)) for key, iri in header.items() if iri is not None]
    try:
        with progress_bar("Comparing", dst == "-") as progress:
            if dst is None:
                found = patches.diff_stat(old, new, progress=progress, **settings, **limits)
            else:
                options = _options(stream_type, triples)
                settings |= {"headers": headers, **limits}
                found = _write_diff(dst, old, new, to_format, options, progress, settings)
    except (jelly.JellyError, OSError) as error:
        if not exit_code or is_unread(error):
            raise
        say(f"error: {message(error)}", "red")
        click.get_current_context().exit(2)
    for predicate, (more, fewer) in found.predicates.items():
        click.echo(f"+{more}\t-{fewer}\t{predicate}")
    added, deleted = found.added, found.deleted
    told = f"{added} addition{'s' * (added != 1)}, {deleted} deletion{'s' * (deleted != 1)}"
    if changed := found.namespaces:
        told += f", {changed} change{'s' * (changed != 1)} of namespaces"
    click.echo(told, err=True)
    if exit_code and found:
        click.get_current_context().exit(1)


def _write_diff(
    dst: str, old: str, new: str, to_format: str | None, options: Any, progress: Any, settings: dict[str, Any]
) -> patches.DiffStat:
    """Write a patch, and count its rows."""
    target = _target(dst, to_format)
    counted: Counter[int] = Counter()
    settings |= {"to_format": target, "seekable": _seekable(dst, target), "progress": progress, "counted": counted}
    patches.write_diff(dst, old, new, options, **settings)
    changed = counted[Op.NAMESPACE_ADD] + counted[Op.NAMESPACE_DELETE]
    return patches.DiffStat(counted[Op.ADD], counted[Op.DELETE], changed)


def _write(dst: str, to_format: str | None, found: Iterable[patches.Patch]) -> None:
    target = _target(dst, to_format)
    with patches.PatchWriter(dst, format=target, seekable=_seekable(dst, target)) as writer:
        for one in found:
            writer.write(one)


@patch.command(short_help="Write patches that undo others.")
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@_from
@_to
@_limits
def invert(src: str, dst: str, from_format: str | None, to_format: str | None, limits: dict[str, Any]) -> None:
    """Write patches that undo those of IN, in reverse order."""
    with PatchSpool() as spool:
        for one in _patches((src,), from_format, limits):
            spool.add(patches.invert(one))
        _write(dst, to_format, (spool[number] for number in reversed(range(len(spool)))))


@patch.command(short_help="Merge patches into one with the same net effect.")
@click.argument("files", metavar="IN...", nargs=-1, required=True)
@click.argument("dst", metavar="OUT")
@_from
@_to
@_limits
def compact(
    files: tuple[str, ...], dst: str, from_format: str | None, to_format: str | None, limits: dict[str, Any]
) -> None:
    """Write one patch with the net effect of all patches in the files."""
    _write(dst, to_format, [patches.compact(_patches(files, from_format, limits))])


@patch.command(short_help="List the patches of a log in order.")
@click.argument("files", metavar="IN...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Write the patches in order to FILE.")
@click.option("--base", metavar="IRI", help="The id of the patch before the first one.")
@_to
@_limits
def log(
    files: tuple[str, ...], output: str | None, base: str | None, to_format: str | None, limits: dict[str, Any]
) -> None:
    """Sort the patches of files or directories by their headers id and prev, and list them."""
    found = patches_in_order(files, None if base is None else jelly.IRI(base), limits)
    if output is not None:
        _write(output, to_format, found)
        return
    for one in found:
        click.echo(f"{one.id}\t+{one.count(2)}\t-{one.count(3)}")
