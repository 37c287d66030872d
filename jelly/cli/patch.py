"""The commands ``jelly diff`` and ``jelly patch ...``. They call the functions of `jelly.patch`."""

from __future__ import annotations

import json
from typing import Any

import click

import jelly
from jelly import patch as patches
from jelly._formats.registry import format_of, having
from jelly.cli.common import (
    STATEMENTS,
    Command,
    Size,
    command,
    json_option,
    patch_output,
    progress_bar,
    reading_options,
    say,
)
from jelly.cli.contents import patch_options, patch_target, patches_of, write_patches
from jelly.cli.errors import is_unread, message
from jelly.cli.reading import from_option, to_option
from jelly.patch._log import patches_in_order
from jelly.patch._spool import PatchSpool

__all__ = ["diff", "patch"]


@click.group(no_args_is_help=True)
def patch() -> None:
    """Apply, invert and compact patches: Jelly-Patch (.jellyp), RDF Patch (.rdfp) and RDF Patch Thrift (.trp).
    "jelly diff" makes them; convert, cat, count, inspect, slice and validate take them as they take statements.

    \b
      jelly diff monday.nq tuesday.jelly change.jellyp
      jelly patch apply change.jellyp monday.nq again.nq
      jelly cat change.jellyp | less

    A patch names blank nodes by their labels in the file it was made from. Nodes without a label, such as [] in Turtle,
    get the labels anon0, anon1 and so on by their position in the file. Apply a patch only to the file it was made
    from, or to a conversion of it.
    """


@patch.command("apply", cls=Command, short_help="Apply patches to the statements of a file.")
@click.argument("change", metavar="PATCH...", nargs=-1, required=True)
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@from_option
@click.option(
    "--missing", type=click.Choice(["ignore", "error"]), default="ignore", show_default=True,
    help="Whether a deletion that matches no statement is an error.",
)
@reading_options(*STATEMENTS)
def apply_(
    change: tuple[str, ...], src: str, dst: str, from_format: str | None, missing: Any, reading: dict[str, Any]
) -> None:
    """Apply patches in order to the statements of IN and write the result to OUT, which may be IN.

    The number of deletions that do not match any statement is printed on standard error. With --missing error the
    first of them is an error: the exit code is 1, and OUT is not created or changed.
    """
    with progress_bar("Applying", dst == "-") as progress:
        done = patches.apply(
            patches_of(change, from_format, reading),
            src,
            dst,
            on_missing=missing,
            to="nq" if dst == "-" else None,
            progress=progress,
            **having(reading, format_of(src).reading),
        )
    unmatched = f"{done.missing} deletion{'s' * (done.missing != 1)} did not match any statement"
    click.echo(f"{done.added} added, {done.deleted} deleted, {unmatched}", err=True)
    if done.missing:
        say("warning: was the patch made from another file? Blank nodes are compared by their labels", "yellow")


@command()
@click.argument("old")
@click.argument("new")
@click.argument("dst", metavar="[OUT]", required=False)
@click.option("--stat", is_flag=True, help="Print how many statements of each predicate differ, and write no patch.")
@json_option
@to_option
@patch_output
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
@reading_options(*STATEMENTS)
def diff(
    old: str,
    new: str,
    dst: str | None,
    stat: bool,
    as_json: bool,
    to_format: str | None,
    patch_type: str | None,
    triples: bool,
    name: str | None,
    prev: str | None,
    exit_code: bool,
    reading: dict[str, Any],
    **settings: Any,
) -> None:
    """Write the patch that turns the statements and namespaces of OLD into those of NEW.

    Without OUT the patch is printed. The number of additions and deletions is printed on standard error. With --stat
    there is no OUT: a line for each predicate is printed, with tabs between the number of additions, the number of
    deletions, and the predicate. With --json this is a dict.

    Blank nodes are matched by their place in the datasets where that makes the patch smaller than their labels do. The
    patch then has the labels of OLD. Where matching takes more than the memory that is allowed, labels count. With
    --no-match-blank-nodes only labels count: nodes without one, such as [] in Turtle, are called anon0, anon1 and so on
    by their position in the file.
    """
    if stat and (dst or to_format or patch_type or triples or name or prev):
        raise click.UsageError("--stat writes no patch: leave out OUT and its options")
    if as_json and not stat:
        raise click.UsageError("--json goes with --stat")
    if not stat:
        dst = dst or "-"
    header = {"id": name, "prev": prev}
    headers = [patches.Header(key, jelly.IRI(iri)) for key, iri in header.items() if iri is not None]
    try:
        with progress_bar("Comparing", dst == "-") as progress:
            if dst is None:
                found = patches.diff_stat(old, new, progress=progress, **settings, **reading)
            else:
                target = patch_target(dst, to_format)
                settings |= {"to": target["format"], "seekable": target["seekable"], "headers": headers}
                options = patch_options(patch_type, triples)
                found = patches.diff(old, new, dst, options, progress=progress, **settings, **reading)
    except (jelly.JellyError, OSError) as error:
        if not exit_code or is_unread(error):
            raise
        say(f"error: {message(error)}", "red")
        click.get_current_context().exit(2)
    added, deleted = found.added, found.deleted
    if as_json:
        predicates = {str(key): {"added": more, "deleted": fewer} for key, (more, fewer) in found.predicates.items()}
        click.echo(json.dumps({"added": added, "deleted": deleted, "predicates": predicates}, indent=2))
    else:
        for predicate, (more, fewer) in found.predicates.items():
            click.echo(f"+{more}\t-{fewer}\t{predicate}")
    told = f"{added} addition{'s' * (added != 1)}, {deleted} deletion{'s' * (deleted != 1)}"
    if changed := found.namespaces:
        told += f", {changed} change{'s' * (changed != 1)} of namespaces"
    click.echo(told, err=True)
    if exit_code and found:
        click.get_current_context().exit(1)


@patch.command(cls=Command, short_help="Write patches that undo others.")
@click.argument("src", metavar="IN")
@click.argument("dst", metavar="OUT")
@from_option
@to_option
@reading_options(*STATEMENTS)
def invert(src: str, dst: str, from_format: str | None, to_format: str | None, reading: dict[str, Any]) -> None:
    """Write patches that undo those of IN, in reverse order."""
    with PatchSpool() as spool:
        for one in patches_of((src,), from_format, reading):
            spool.add(patches.invert(one))
        write_patches(dst, to_format, (spool[number] for number in reversed(range(len(spool)))))


@patch.command(cls=Command, short_help="Merge patches into one with the same net effect.")
@click.argument("files", metavar="IN...", nargs=-1, required=True)
@click.argument("dst", metavar="OUT")
@from_option
@to_option
@reading_options(*STATEMENTS)
def compact(
    files: tuple[str, ...], dst: str, from_format: str | None, to_format: str | None, reading: dict[str, Any]
) -> None:
    """Write one patch with the net effect of all patches in the files."""
    write_patches(dst, to_format, [patches.compact(patches_of(files, from_format, reading))])


@patch.command(cls=Command, short_help="List the patches of a log in order.")
@click.argument("files", metavar="IN...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Write the patches in order to FILE.")
@click.option("--base", metavar="IRI", help="The id of the patch before the first one.")
@to_option
@reading_options(*STATEMENTS)
def log(
    files: tuple[str, ...], output: str | None, base: str | None, to_format: str | None, reading: dict[str, Any]
) -> None:
    """Sort the patches of files or directories by their headers id and prev, and list them."""
    found = patches_in_order(files, None if base is None else jelly.IRI(base), reading)
    if output is not None:
        write_patches(output, to_format, found)
        return
    for one in found:
        click.echo(f"{one.id}\t+{one.count(2)}\t-{one.count(3)}")
