"""``jelly index`` and ``jelly slice``: random access to Jelly files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import click

import jelly
from jelly._bytes.names import split_suffix
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._dataset.sidecar import make_sidecar
from jelly._formats.index import SUFFIX
from jelly._formats.registry import JELLY, JELLY_PATCH, SEEKING, Content
from jelly._streams.output_options import output_options
from jelly._tools.inspect import format_to_check, reader_of
from jelly.cli.common import (
    LOGS,
    STATEMENTS,
    RangeCommand,
    can_have_index,
    command,
    limits_of,
    messages_option,
    parse_range,
    progress_bar,
    reading_options,
    say,
)
from jelly.cli.reading import content_of, format_of, from_option, refuse_terminal, to_option

__all__ = ["index", "slice_"]

# The text on standard output, by the content.
_TEXTS = {Content.STATEMENTS: "nq", Content.PATCH: "rdfp", Content.MESSAGES: "nq", Content.RESULTS: "tsv"}
_SEEKING_LIMITS = tuple(name for name in STATEMENTS if name in SEEKING)


@command()
@click.argument("file")
@click.option("--terms", is_flag=True, help='Also write which terms each part of the file holds, for "jelly find".')
@reading_options(*_SEEKING_LIMITS)
def index(file: str, terms: bool, reading: dict[str, Any]) -> None:
    """Scan a Jelly file and write its index to FILE.idx, for jelly.open in Python.

    Files written by "jelly convert" contain an index already, unless they are .gz, .bz2 or .xz, or not delimited. With
    --terms FILE.idx also tells which terms each part of the file holds, so that "jelly find" reads only what can match;
    of a file that has an index it holds nothing else. A file compressed with zstd needs a table of its frames, as this
    command and t2sz write it.

    \b
    Examples:
      jelly index people.jelly
      jelly index --terms people.jelly
      jelly index people.jelly.zst
    """
    with progress_bar("Indexing") as progress:
        show = None if progress is None else lambda done, total: progress(done, total, None)
        patch = split_suffix(file)[0] in JELLY_PATCH.suffixes
        make_sidecar(file, progress=show, patch=patch, terms=terms, **reading)
    if terms:
        size, whole = (os.path.getsize(path) for path in (file + SUFFIX, file))
        say(f"{file}{SUFFIX}: {size:,} bytes, {size / max(whole, 1):.1%} of the file")


@command("slice", cls=RangeCommand)
@click.argument("file")
@click.argument("wanted", metavar="A:B", callback=parse_range)
@click.option("--frames", is_flag=True, help="Print frames A to B instead of statements. Jelly only.")
@from_option
@to_option
@messages_option
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of standard output.")
@reading_options(*LOGS, "max_document_bytes", *STATEMENTS)
def slice_(
    file: str, wanted: tuple[int, int | None], frames: bool, from_format: str | None, to_format: str | None,
    messages: bool, output: str, reading: dict[str, Any],
) -> None:  # fmt: skip
    """Print statements, patches, messages (--messages) or rows of query results: A up to, but not including, B.

    The first has the number 0; of Jelly -10 is the tenth from the end.

    Of Jelly and Jelly-Patch only the needed part of the file is read: it has an index. Other files are read up to B.

    \b
    Examples:
      jelly slice people.jelly 1000000:1000100
      jelly slice people.jelly -10:
      jelly slice people.jelly --frames :3 -o begin.jelly
      jelly slice log.jellyp 1000:1010
      jelly slice people.ttl :10
    """
    content = content_of(from_format, file, messages=messages)
    known = format_to_check(from_format, "" if file == "-" else file, content)
    has_index = known in (JELLY, JELLY_PATCH)
    if frames and known is not JELLY:
        raise click.UsageError(f"--frames goes with Jelly, not with {known.title}")
    limits_of(reading, SEEKING if has_index else known.reading, what=known.title)
    target = format_of(to_format or (_TEXTS[content] if output == "-" else None), output, "--to", content=content)
    if output == "-":
        refuse_terminal(target)
    begin, end = wanted
    if not has_index and (begin < 0 or (end or 0) < 0):
        raise click.UsageError(f"numbers from the end go with Jelly, which has an index, not with {known.title}")
    source: Any
    if has_index:
        source = jelly.open(file, content="patches" if content is Content.PATCH else None, **reading)
        begin, end, _ = slice(begin, end).indices(source.n_frames if frames else len(source))
    else:
        source = reader_of(content)(file, format=known.name, **reading)
    to: dict[str, Any] = {"format": target.name}
    if target in (JELLY, JELLY_PATCH):
        to["seekable"] = can_have_index(output)
    with closing(source):
        if content is Content.STATEMENTS:
            # Statements A to B are no groups any more.
            options = output_options(source.options, 3, flat=not frames) if has_index else None
            with jelly.Writer(output, options, **to) as writer:
                if frames:
                    _write_frames(writer, source.frames(begin, end))
                else:
                    _write_rows(writer, _rows(source, begin, end, has_index))
        elif content is Content.RESULTS:
            rows = (select(batch, slice(low, high)) for batch, low, high in _rows(source, begin, end, False))
            jelly.write_results(output, source.variables, rows, **to)
        else:
            with _item_writer(content, output, source, to) as items:
                for one in source.patches(begin, end) if has_index else islice(source, begin, end):
                    items.write(one)


def _item_writer(content: Content, output: str, source: Any, to: dict[str, Any]) -> Any:
    """A writer of patches or messages."""
    if content is Content.PATCH:
        from jelly.patch import PatchWriter

        return PatchWriter(output, source.options, **to)
    from jelly.messages import MessageWriter

    return MessageWriter(output, **to)


def _rows(source: Any, begin: int, end: int | None, has_index: bool) -> Iterator[tuple[Batch, int, int]]:
    """Batches with the rows from ``begin`` to ``end``, and the range of these in each Batch."""
    if has_index:
        # Namespaces stand at the beginning of most files, wherever the statements are.
        yield from ((batch, 0, 0) for batch, *_ in source.rows(0, 1))
        yield from source.rows(begin, end)
        return
    for batch in source.batches():
        first = batch.first_row
        low, high = slice(max(begin - first, 0), None if end is None else max(end - first, 0)).indices(len(batch))[:2]
        yield batch, low, high
        if end is not None and first + len(batch) >= end:
            return


def _write_rows(writer: jelly.Writer, rows: Iterator[tuple[Batch, int, int]]) -> None:
    declared: dict[str, str] = {}
    for batch, low, high in rows:
        for _, _, name, iri in batch.namespaces:
            if declared.get(name) != iri:
                declared[name] = iri
                writer.namespace(name, iri)
        if low < high:
            writer.add_batch(select(batch, slice(low, high)))


def _write_frames(writer: jelly.Writer, frames: Iterator[jelly.Frame]) -> None:
    for frame in frames:
        for name, iri in frame.namespaces:
            writer.namespace(name, iri)
        writer.extend(frame)
        writer.end_frame(frame.metadata)
