"""The commands that make files: ``append``, ``canonicalize``, ``index``, ``slice``, ``sort``, ``split``, ``wide``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import Any

import click

import jelly
from jelly._core.algebra.select import select
from jelly._dataset.steps.order import MEMORY, letters_of
from jelly._formats.index import SUFFIX
from jelly._formats.registry import JELLY, JELLY_PATCH, SEEKING, Content
from jelly._streams.outputs import output_options
from jelly._tools.inspect import format_to_check, reader_of
from jelly.cli import contents
from jelly.cli.common import is_terminal, progress_bar, report, report_rows, show, usage, wanted_form
from jelly.cli.find import Prefixes
from jelly.cli.options import (
    COUNT,
    STATEMENTS,
    Files,
    Given,
    command,
    forms,
    option,
    reads,
    streams,
    writes,
)
from jelly.cli.reading import check_options, content_of, inputs, names, output_of, refuse_late

_LABELS = ("blank_nodes", "skolem_base", "star")
_SEEKING = tuple(name for name in STATEMENTS if name in SEEKING)
_output = option("-o, --output OUT", "Write to OUT instead of standard output; also a table.", "-")
# The line at the end is for people alone.
_quiet = option(
    "-q, --quiet", "No progress bar, and no line at the end.",
    callback=lambda _, __, quiet: quiet or not is_terminal(sys.stderr),
)  # fmt: skip
_memory = option(
    "--memory SIZE", "Memory for statements; the rest goes to temporary files (in TMPDIR).", MEMORY, show_default="256M"
)


@command("SRC...", "DST")
@reads(*_LABELS)
@forms("json")
@_quiet
def append(srcs: Files, dst: str, reading: Given, quiet: bool) -> None:
    """Append the statements of files to a Jelly file. Its index, if it has one, has them, too.

    DST keeps its old content until everything is written, even if the command is killed. Blank nodes in the sources
    are kept apart from those in DST, unless --blank-nodes keep is given.

    \b
    Examples:
      jelly append today.nt log.jelly
      tail -n 100 events.nq | jelly append --from nq - log.jelly
    """
    each = names(srcs, reading)
    with progress_bar("Appending", quiet) as progress:
        n = jelly.append(each, dst, progress=progress, **reading)
    report_rows(dst, "more statements", n, quiet)


@command("FILE...")
@_output
@option("--by PLACES", "The order: subject, predicate, object, graph with commas, or their letters, the most "
        "important first.", "spog")
@option("-u, --unique", "Write equal statements once.")
@option("-m, --merge", "Merge files that are sorted already, with the same --by.")
@_memory
@reads(*_LABELS, "threads")
@writes("seekable", "index")
@streams("jelly")
@forms("json")
@_quiet
def sort(
    files: Files, output: str, by: str, unique: bool, merge: bool, memory: int, quiet: bool,
    reading: Given, writing: Given, stream: Given,
) -> None:  # fmt: skip
    """Sort the statements of files, of any size.

    Blank nodes come first, then IRIs, literals and quoted triples, each ordered by text, code point by code point.

    \b
    Examples:
      jelly sort people.jelly -o sorted.jelly
      jelly sort --by pos --unique 'data/*.nt.gz' -o sorted.jelly
      jelly sort --merge monday.jelly tuesday.jelly -o both.jelly
    """
    each = names(files, reading)
    _, how = output_of(output, writing, stream, named=True)
    refuse_late(output)
    with progress_bar("Reading", quiet or output == "-") as progress:
        with usage():
            by = letters_of(by)
        found = jelly.scan(each, sorted_by=by if merge else None, **reading)
        found = found if merge else found.sort(by, memory=memory)
        written = (found.unique() if unique else found).write(output, progress=progress, **how).statements
    report_rows(output, "statements", written, quiet)


@command("FILE...")
@_output
@option("--rows N", "Statements of each file.")
@option("--parts N", "Number of files of the same size.")
@option("--by [subject|predicate|object|graph]", "One file for each term in this place.")
@option("--max-files N", "With --by: fail if there would be more files.", 1000)
@_memory
@reads(*_LABELS, "threads", logs=True)
@writes("seekable", "index")
@streams("jelly")
@forms("json")
@_quiet
def split(
    files: Files, output: str, quiet: bool, reading: Given, writing: Given, stream: Given,
    **given: Any,
) -> None:  # fmt: skip
    """Split the statements of files, or message logs (--messages) into files of one message. {} in OUT stands for the
    number of a file or a short name of its term.

    A line for each file is printed: its path, its statements, and its term. With --json this is a list.

    \b
    Examples:
      jelly split people.jelly --rows 1000000 -o 'part-{}.jelly'
      jelly split people.nq --by graph -o 'graphs/{}.nq'
      jelly split --messages log.jelly -o 'messages/{}.nq'
    """
    if output == "-":
        raise click.UsageError("give --output: the names of the files, such as 'part-{}.jelly'")
    ways = sum(given[name] is not None for name in ("rows", "parts", "by"))
    if content_of(reading, *files) is Content.MESSAGES:
        _show_rows(contents.split_messages(files, output, writing.get("format"), reading))
        return
    if ways != 1:
        raise click.UsageError("give one of --rows, --parts and --by")
    each = names(files, reading)
    _, how = output_of(output, writing, stream, named=True)
    with progress_bar("Reading", quiet) as progress:
        made = jelly.scan(each, **reading).split(output, progress=progress, **how, **given)
    _show_rows(
        {"file": str(part.path), "statements": part.statements}
        | ({} if part.term is None else {"term": "default" if part.term == jelly.DefaultGraph() else str(part.term)})
        for part in made
    )


def _show_rows(rows: Iterable[dict[str, Any]], between: str = "\t") -> None:
    """Print dicts as JSON, or a line for each as soon as it is there."""
    if wanted_form() is not None:
        show(list(rows), None)
        return
    for row in rows:
        click.echo(between.join(map(str, row.values())))


@command("FILE...")
@_output
@option("--class IRI...", "Take only subjects of this class, such as foaf:Person. Repeatable.", name="classes")
@option("--prefix NAME=IRI...", "What a prefix of a class stands for, before what the files declare. Repeatable.",
        name="prefixes")
@option("--text", "Keep the lexical forms: no columns of numbers, dates and booleans.")
@option("--max-columns N", "Fail if the subjects have more predicates.", 1000)
@_memory
@reads(*_LABELS, "threads")
@writes()
@forms("json")
@_quiet
def wide(
    files: Files, output: str, classes: Files, prefixes: Any, text: bool, reading: Given, writing: Given,
    quiet: bool, **given: Any,
) -> None:  # fmt: skip
    """Make a table with a row for each subject and a column for each predicate, named after it.

    A column has lists where a subject has several values, and numbers, dates or booleans where all values allow;
    NAME_kind, NAME_datatype and NAME_lang tell texts apart. OUT is .parquet or .arrow, or .csv if there are no lists.

    \b
    Examples:
      jelly wide people.jelly -o people.parquet
      jelly wide 'data/*.nt.gz' --class foaf:Person -o people.parquet
    """
    each = names(files, reading)
    target, _ = output_of(output, writing, text="csv", content=Content.TABLE, named=True)
    refuse_late(output)
    known = Prefixes(prefixes, each, reading)
    wanted = known.terms(classes) or None
    with progress_bar("Reading", quiet or output == "-") as progress:
        table = jelly.scan(each, **reading).wide(wanted, typed=not text, progress=progress, **given)
        rows = jelly.write(output, table, format=target.name)
    if not rows:
        known.note()
    report_rows(output, "rows", rows, quiet)


class _Nowhere:
    """A file that discards its bytes."""

    def write(self, data: bytes) -> int:
        return len(data)


@command()
@click.argument("files", metavar="IN [OUT]", nargs=-1, required=True)
@reads("blank_nodes", "skolem_base")
@option("--hash", "Print the hash of each of any number of files instead.", name="hashes")
@forms("json")
@option("--algorithm [sha256|sha384]", "Hash algorithm.", "sha256")
@option("--max-steps N", "Maximum number of steps for telling similar blank nodes apart (default: 2 million, and 16 "
        "for each).", None, COUNT)
def canonicalize(files: Files, hashes: bool, reading: Given, **given: Any) -> None:
    """Read IN and write its canonical N-Quads to OUT, or to standard output.

    IN may also be a table, a directory or a glob pattern in quotation marks: all files together are one dataset, in
    which the blank nodes of each file are apart.

    The same dataset gives the same bytes, whatever the order of its statements and the labels of its blank nodes. The
    algorithm is RDFC-1.0 of W3C. Statements that are there twice are written once. Quoted triples and generalized
    statements are an error: RDFC-1.0 does not define them.

    With --hash the hash of each file and its name are printed, as sha256sum does, or with --json as a list. Files with
    the same dataset have the same hash, whatever their format.

    \b
    Examples:
      jelly canonicalize people.jelly people.nq
      jelly canonicalize 'dump/*.nq.gz' dump.nq
      jelly canonicalize --hash people.jelly people.nt.gz
    """
    src, dst, *more = *files, "-"
    if more[1:] and not hashes:
        raise click.UsageError("give IN and OUT, or --hash for several files")
    each: list[tuple[Any, dict[str, Any]]] = inputs(files if hashes else [src], reading)
    if len(each) > 1 and not hashes:
        each = [([file for file, _ in each], reading)]
    if wanted_form() and not hashes:
        raise click.UsageError("--json goes with --hash")
    if not hashes:
        refuse_late(dst)
    own = {name: value for name, value in given.items() if value is not None}

    def rows() -> Iterator[dict[str, Any]]:
        for file, settings in each:
            quiet = not hashes and dst == "-" and is_terminal(sys.stdout)
            with progress_bar("Hashing" if hashes else "Canonicalizing", quiet) as progress:
                found = jelly.canonicalize(file, _Nowhere() if hashes else dst, progress=progress, **own, **settings)
            if hashes:
                yield {"hash": found.digest, "file": file}

    _show_rows(rows(), "  ")


@command("FILE")
@option("--terms", 'Also write which terms each part of the file holds, for "jelly find".')
@reads(limits=_SEEKING, format=False)
@forms("json")
def index(file: str, terms: bool, reading: Given) -> None:
    """Scan a Jelly file and write its index to FILE.idx, for jelly.open in Python.

    Files written by "jelly convert" contain an index already, unless they are .gz, .bz2 or .xz, or not delimited. With
    --terms FILE.idx also lists the terms in each part of the file, so that "jelly find" reads only what can match; of a
    file that has an index it holds nothing else. A file compressed with zstd needs a table of its frames, as this
    command and t2sz write it.

    \b
    Examples:
      jelly index people.jelly
      jelly index --terms people.jelly
      jelly index people.jelly.zst
    """
    with progress_bar("Indexing") as progress:
        update = None if progress is None else lambda done, total: progress(done, total, None)
        jelly.index(file, progress=update, terms=terms, **reading)
    size, whole = (os.path.getsize(path) for path in (file + SUFFIX, file))
    told = f"{file}{SUFFIX}: {size:,} bytes, {size / max(whole, 1):.1%} of the file"
    report(told, {"file": file + SUFFIX, "bytes": size})


def _parse_range(value: str) -> slice:
    """A range A:B; A and B are optional, and negative ones count from the end."""
    start, colon, stop = value.partition(":")
    if not colon or not all(not part or part.removeprefix("-").isdecimal() for part in (start, stop)):
        raise click.BadParameter(f"{value!r} is not a range: expected A:B, such as 1000:1010, :10 or 1000:")
    low, high = int(start or 0), int(stop) if stop else None
    if high is not None and high < low and (high < 0) == (low < 0):
        raise click.BadParameter(f"{value!r} ends before it begins")
    return slice(low, high)


# The text on standard output, by the content.
_TEXTS = {Content.STATEMENTS: "nq", Content.PATCH: "rdfp", Content.MESSAGES: "nq", Content.RESULTS: "tsv"}


# A range that begins with a minus is no option.
@command("FILE", context_settings={"ignore_unknown_options": True})
@click.argument("wanted", metavar="A:B", type=_parse_range)
@option("--frames", "Print frames A to B instead of statements. Jelly only.")
@reads(logs=True)
@writes()
@option("-o, --output FILE", "Write to FILE instead of standard output.", "-")
def slice_(file: str, wanted: slice, frames: bool, output: str, reading: Given, writing: Given) -> None:
    """Print statements, patches, messages (--messages) or rows of query results: A up to, but not including, B.

    The first has the number 0; of Jelly -10 is the tenth from the end.

    Of Jelly and Jelly-Patch only the needed part of the file is read, by its index. Other files are read up to B.

    \b
    Examples:
      jelly slice people.jelly 1000000:1000100
      jelly slice people.jelly -10:
      jelly slice people.jelly --frames :3 -o begin.jelly
      jelly slice log.jellyp 1000:1010
      jelly slice people.ttl :10
    """
    content = content_of(reading, file)
    known = format_to_check(reading.pop("format", None), file, content)
    has_index = known in (JELLY, JELLY_PATCH)
    if frames and known is not JELLY:
        raise click.UsageError(f"--frames goes with Jelly, not with {known.title}")
    check_options(reading, [SEEKING if has_index else known.reading], known.title, content)
    target, how = output_of(output, writing, text=_TEXTS[content], content=content)
    begin, end = wanted.start, wanted.stop
    source: Any
    if has_index:
        source = jelly.open(file, content="patches" if content is Content.PATCH else None, **reading)
        begin, end, _ = wanted.indices(source.n_frames if frames else len(source))
    elif begin < 0 or (end or 0) < 0:
        what = "message logs" if content is Content.MESSAGES else known.title
        raise click.UsageError(f"numbers from the end go with Jelly, which has an index, not with {what}")
    elif content is Content.STATEMENTS:
        jelly.scan(file, format=known.name, **reading)[begin:end].write(output, **how)
        return
    else:
        source = reader_of(content)(file, format=known.name, **reading)
    seekable = {"seekable": how["seekable"]} if target in (JELLY, JELLY_PATCH) else {}
    with closing(source):
        if content is Content.STATEMENTS:
            # Statements A to B are no groups any more.
            options = output_options(source.options, 3, flat=not frames)
            with jelly.Writer(output, options, format=target.name, **seekable) as writer:
                (_write_frames if frames else _write_rows)(writer, source, begin, end)
        elif content is Content.RESULTS:
            jelly.results.write_results(output, source.variables, islice(source, begin, end), format=target.name)
        else:
            is_patch = content is Content.PATCH
            kind: Any = jelly.patch.PatchWriter if is_patch else jelly.messages.MessageWriter
            with kind(output, source.options if is_patch else None, format=target.name, **seekable) as items:
                for one in source.patches(begin, end) if has_index else islice(source, begin, end):
                    items.write(one)


def _write_rows(writer: jelly.Writer, source: jelly.JellyFile, begin: int, end: int) -> None:
    declared: dict[str, str] = {}
    # Namespaces stand at the beginning of most files, wherever the statements are.
    head = ((batch, 0, 0) for batch, *_ in source.rows(0, 1))
    for batch, low, high in chain(head, source.rows(begin, end)):
        for _, _, name, iri in batch.namespaces:
            if declared.get(name) != iri:
                declared[name] = iri
                writer.namespace(name, iri)
        if low < high:
            writer.add_batch(select(batch, slice(low, high)))


def _write_frames(writer: jelly.Writer, source: jelly.JellyFile, begin: int, end: int) -> None:
    for frame in source.frames(begin, end):
        for name, iri in frame.namespaces:
            writer.namespace(name, iri)
        writer.extend(frame)
        writer.end_frame(frame.metadata)
