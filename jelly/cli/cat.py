"""The command ``jelly cat``."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import click

import jelly
from jelly._bytes.names import is_url
from jelly._dataset.blank_node_scope import BlankNodes
from jelly._formats.registry import JELLY, TABLE_FORMATS, Content
from jelly._options.keywords import READ
from jelly._options.options import ROW_VERSION
from jelly._streams.output_options import join_options, output_options
from jelly._streams.widening import changed, missing, open_fields
from jelly.cli import contents
from jelly.cli.common import LOGS, STATEMENTS, command, log_output, messages_option, reading_options
from jelly.cli.options import options
from jelly.cli.reading import (
    FormatName,
    blank_node_options,
    content_of,
    expanded,
    format_of,
    from_option,
    jelly_changes,
    jelly_option,
    refuse_terminal,
    settings_of,
    star_option,
    wide_advice,
    wide_changes,
    wide_options,
    write_batches,
)

__all__ = ["cat"]


@command("cat")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@click.option("--to", "to_format", metavar="FORMAT", type=FormatName(), help="Format of the output (default: text).")
@messages_option
@blank_node_options
@star_option
@jelly_option
@wide_options
@log_output
@options(READ, "base", into="reading", hidden=True)
@reading_options(*LOGS, "max_document_bytes", *STATEMENTS)
def cat(
    files: tuple[str, ...],
    from_format: str | None,
    to_format: str | None,
    messages: bool,
    reading: dict[str, Any],
    **given: Any,
) -> None:
    """Print files on standard output, one after the other: statements as N-Quads, patches (.jellyp, .rdfp, .trp) as RDF
    Patch, message logs (--messages) as N-Quads with delimiters, and results of queries (.srj, .srx, .srt, .srp) as TSV.

    Files may also be tables (Parquet, Arrow, CSV), directories, glob patterns in quotation marks, and URLs of fsspec.
    N-Quads without named graphs is N-Triples. Blank nodes of different files stay different nodes: with several files
    the labels get a prefix that depends on the path of the file. Labels that have one from an earlier run stay.

    \b
    Examples:
      jelly cat people.jelly | grep Alice
      jelly cat --to jelly monday.jelly tuesday.jelly > both.jelly
      jelly cat --blank-nodes keep part1.nt part2.nt > whole.nt
      jelly cat people.srt --to json | jq .results

    A Jelly stream declares at its start which kinds of statements it may have. The beginning of each file is examined
    for that, so the order of the files does not matter. Kinds that appear only later in a file of N-Triples or RDF
    Thrift need --physical or --allow.
    """
    content = content_of(*files, from_format, to_format, messages=messages)
    if content is not Content.STATEMENTS:
        contents.convert(content, files, "-", from_format, to_format, reading, given)
        return
    to_format = to_format or "nq"
    blank_nodes, skolem_base = reading.pop("blank_nodes", None), reading.pop("skolem_base", None)
    star = reading.pop("star", None)
    each = expanded(files)
    settings = settings_of(each, from_format, reading)
    labels = BlankNodes(blank_nodes or ("scope" if len(each) > 1 else "keep"), skolem_base)
    target = format_of(to_format, "", "--to", tables=True)
    refuse_terminal(target)
    to_format = target.name
    changes = wide_changes(given["physical"], given["allow"])
    if changes and target is not JELLY:
        raise click.UsageError("--physical and --allow go with --to jelly")
    changes |= jelly_changes(given["jelly_version"], target)
    settings = [of_file | {"star": star} for of_file in settings]
    with contextlib.ExitStack() as stack:
        inputs = [_Input(file, of_file) for file, of_file in zip(each, settings, strict=True)]
        stream: jelly.StreamOptions | None = None
        if to_format == "jelly":
            looked = [found for one in inputs if (found := one.look(stack, changes)) is not None]
            stream = output_options(join_options(looked), 4, changes) if looked else None
        if to_format in TABLE_FORMATS:
            write_batches(
                to_format, None, (batch for one in inputs for batch in labels.batches(one.source, one.batches(stack)))
            )
            return
        if stream is None and to_format == "jelly":
            stack.enter_context(jelly.Writer("-", changes or None, format=to_format))
            return
        stack.enter_context(wide_advice())
        writer = stack.enter_context(jelly.Writer("-", stream, format=to_format))
        writer.allow(open_fields(changes))
        for one in inputs:
            for batch in labels.batches(one.source, one.batches(stack)):
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)


class _Input:
    """A file whose start is examined before it is read."""

    def __init__(self, file: str, settings: dict[str, Any]) -> None:
        self._open: Callable[[], jelly.Reader] = lambda: jelly.Reader(file, **settings)
        self._again = file != "-" and os.path.isfile(file)
        # What comes through a pipe is another source each time, whatever the pipe is called.
        self.source = file if self._again or is_url(file) else f"{file} {uuid.uuid4().hex}"
        self._looked: Iterator[jelly.Batch] | None = None

    def look(self, stack: contextlib.ExitStack, changes: dict[str, Any]) -> jelly.StreamOptions | None:
        """The stream options for the statements at the start of the file; None if there are none."""
        reader = stack.enter_context(self._open())
        batches = reader.batches()
        first = next(batches, None)
        options = None
        if first is not None:
            version = ROW_VERSION if reader.format.namespaces else 0
            star = first.options is not None and not first.options.version  # star= leaves it open
            options = output_options(reader.options, first.arity, version=version, star=star)
            options = changed(options, missing(options, first, open_fields(changes)))
        if self._again:
            reader.close()  # there may be more files than a process can open
        else:
            self._looked = batches if first is None else chain([first], batches)
        return options

    def batches(self, stack: contextlib.ExitStack) -> Iterator[jelly.Batch]:
        if self._looked is not None:
            return self._looked
        return stack.enter_context(self._open()).batches()
