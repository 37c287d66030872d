"""The commands ``jelly diff`` and ``jelly patch ...``. They call the functions of `jelly.patch`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import click

import jelly
from jelly import patch as patches
from jelly._formats.registry import Content, format_of, having
from jelly.cli.common import exits, numbers, progress_bar, report, say, show, tell
from jelly.cli.contents import items_of, patch_options, write_patches
from jelly.cli.options import Files, Given, command, forms, option, reads, streams, writes
from jelly.cli.reading import output_of, refuse_json
from jelly.patch._log import PatchSpool, patches_in_order


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


@command("PATCH...", "IN", "OUT", group=patch, short_help="Apply patches to the statements of a file.")
@option("--missing [ignore|error]", "Whether a deletion that matches no statement is an error.", "ignore")
@reads()
@forms("json")
def apply(patchs: Files, src: str, dst: str, missing: Any, reading: Given) -> None:
    """Apply patches in order to the statements of IN and write the result to OUT, which may be IN.

    The number of deletions that do not match any statement is printed on standard error. With --missing error the
    first of them is an error: the exit code is 1, and OUT is not created or changed.
    """
    if dst == "-":
        refuse_json()
    found = items_of(Content.PATCH, patchs, reading)
    reading.pop("format", None)
    with progress_bar("Applying", dst == "-") as progress:
        done = patches.apply(
            found, src, dst, on_missing=missing, to="nq" if dst == "-" else None,
            progress=progress, **having(reading, format_of(src).reading),
        )  # fmt: skip
    unmatched = f"{numbers(deletions=done.missing)} did not match any statement"
    counts = {"added": done.added, "deleted": done.deleted, "missing": done.missing}
    report(f"{done.added} added, {done.deleted} deleted, {unmatched}", counts)
    if done.missing:
        say("warning: was the patch made from another file? Blank nodes are compared by their labels", "yellow")


_CONDITION = re.compile(r"(p\.)?(added|deleted|changed)>([0-9]{1,18}(?:\.[0-9]{1,9})?)(%)?")


def _bound(value: str) -> Callable[[patches.DiffStat], Iterator[str]]:
    """The bound of a condition such as ``deleted>5%``: a function that gives a line for each number above it."""
    condition = _CONDITION.fullmatch(value)
    if condition is None:
        expected = "one in quotation marks, such as 'deleted>1000', 'changed>5%' or 'p.deleted>20%'"
        raise click.BadParameter(f"{value!r} is no condition: expected {expected}")
    each, what, most, is_share = condition.groups()

    def broken(found: patches.DiffStat) -> Iterator[str]:
        # For every predicate, or for all statements together.
        parts = [(f" of {name}", pair, found.old.get(name, 0)) for name, pair in found.predicates.items()]
        whole = [("", (found.added, found.deleted), sum(found.old.values()))]
        for name, (added, deleted), old in parts if each else whole:
            n = {"added": added, "deleted": deleted, "changed": added + deleted}[what]
            if n > (float(most) * old / 100 if is_share else float(most)):
                yield f"{value}: {n:,} {what}{name}, OLD has {old:,}"

    return broken


@command("OLD", "NEW", "[OUT]")
@option("--stat", "Print how many statements of each predicate differ, and write no patch.")
@forms("json")
@writes()
@streams("stream_type", "statement_type")
@option("--namespaces/--no-namespaces", "Also compare prefixes, if both formats have them.", True)
@option("--match-blank-nodes/--no-match-blank-nodes", "Match blank nodes by their place where labels fit worse.", True)
@option("--memory SIZE", "Memory for the comparison.", 512 << 20, show_default="512M")
@option("--id IRI", "Header id: the IRI of the patch, which a log needs.")
@option("--prev IRI", "Header prev: the IRI of the patch before.")
@option("--exit-code", "Exit with 1 if OLD and NEW differ, and with 2 on errors.")
@option(
    "--fail-if CONDITION...",
    "With --stat: exit with 1 if a number is above a bound, and with 2 on errors. "
    "'deleted>1000', 'changed>5%' of the statements of OLD, or of each predicate 'p.deleted>20%'. Repeatable.",
    kind=_bound,
)
@reads()
def diff(
    old: str,
    new: str,
    dst: str | None,
    stat: bool,
    exit_code: bool,
    fail_if: tuple[Any, ...],
    reading: Given,
    writing: Given,
    stream: Given,
    id: str | None,
    prev: str | None,
    **settings: Any,
) -> None:
    """Write the patch that turns the statements and namespaces of OLD into those of NEW.

    Without OUT the patch is printed. The number of additions and deletions is printed on standard error. With --stat
    there is no OUT: a line for each predicate is printed, with tabs between the number of additions, the number of
    deletions, and the predicate. With --json these numbers are a dict. --fail-if tests them, for releases that must not
    lose too much. --from is the format of both files.

    Blank nodes are matched by their place in the datasets where that makes the patch smaller than their labels do. The
    patch then has the labels of OLD. Where matching takes more than the memory that is allowed, labels count. With
    --no-match-blank-nodes only labels count: nodes without one, such as [] in Turtle, are called anon0, anon1 and so on
    by their position in the file.
    """
    if stat and (dst or writing or stream or id or prev):
        raise click.UsageError("--stat writes no patch: leave out OUT and its options")
    if fail_if and (exit_code or not stat):
        raise click.UsageError("--fail-if goes with --stat, without --exit-code")
    dst = dst or "-"
    headers = [patches.Header(key, jelly.IRI(iri)) for key, iri in (("id", id), ("prev", prev)) if iri is not None]
    settings |= reading
    with exits(exit_code or bool(fail_if)), progress_bar("Comparing", dst == "-" and not stat) as progress:
        if stat:
            found = patches.diff_stat(old, new, progress=progress, **settings)
        else:
            _, how = output_of(dst, writing, text="rdfp", content=Content.PATCH)
            settings |= {"to": how["to"], "seekable": how["seekable"], "headers": headers}
            found = patches.diff(old, new, dst, patch_options(stream), progress=progress, **settings)

    def draw() -> None:
        for predicate, (more, fewer) in found.predicates.items():
            click.echo(f"+{more}\t-{fewer}\t{predicate}")

    counts = {"added": found.added, "deleted": found.deleted}
    predicates = {str(key): dict(zip(counts, pair, strict=True)) for key, pair in found.predicates.items()}
    show(counts | {"predicates": predicates}, draw, yaml=False)
    told = f"{found.added} addition{'s' * (found.added != 1)}, {found.deleted} deletion{'s' * (found.deleted != 1)}"
    if found.namespaces:
        told += f", {numbers(changes=found.namespaces)} of namespaces"
    click.echo(told, err=True)
    broken = [line for bound in fail_if for line in bound(found)]
    tell("{} above --fail-if:", broken)
    if broken or (exit_code and found):
        click.get_current_context().exit(1)


@command("IN", "OUT", group=patch, short_help="Write patches that undo others.")
@reads()
@writes()
def invert(src: str, dst: str, reading: Given, writing: Given) -> None:
    """Write patches that undo those of IN, in reverse order."""
    with PatchSpool() as spool:
        for one in items_of(Content.PATCH, (src,), reading):
            spool.add(patches.invert(one))
        write_patches(dst, writing, (spool[number] for number in reversed(range(len(spool)))))


@command("IN...", "OUT", group=patch, short_help="Merge patches into one with the same net effect.")
@reads()
@writes()
def compact(srcs: Files, dst: str, reading: Given, writing: Given) -> None:
    """Write one patch with the net effect of all patches in the files."""
    write_patches(dst, writing, [patches.compact(items_of(Content.PATCH, srcs, reading))])


@command("IN...", group=patch, short_help="List the patches of a log in order.")
@option("-o, --output FILE", "Write the patches in order to FILE.")
@option("--after IRI", "The id of the patch before the first one.")
@forms("json")
@writes()
@reads(format=False)
def log(srcs: Files, output: str | None, after: str | None, reading: Given, writing: Given) -> None:
    """Sort the patches of files or directories by their headers id and prev, and list them. With --json this is a list
    of the id, the additions and the deletions of each."""
    found = patches_in_order(srcs, None if after is None else jelly.IRI(after), reading)
    if output is not None:
        write_patches(output, writing, found)
        return
    rows = [{"id": str(one.id), "added": one.count(2), "deleted": one.count(3)} for one in found]

    def draw() -> None:
        for row in rows:
            click.echo("{id}\t+{added}\t-{deleted}".format(**row))

    show(rows, draw, yaml=False)
