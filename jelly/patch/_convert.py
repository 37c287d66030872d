"""Patches for the functions of all contents: see `jelly._streams.inputs.by_content`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from typing import Any

from jelly._bytes.names import is_path, name_of
from jelly._bytes.source import MAX_EXPANSION, Progress, Source
from jelly._bytes.workers import Workers
from jelly._dataset.output import Conversion, bytes_of, convert_items, refuse_for_tables
from jelly._dataset.seekable.file import Indexed
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, PATCH_WRITING, SEEKING, Content, find, table_kind
from jelly._options.layouts import Layout
from jelly._options.options import MIN_NAME_TABLE, PatchOptions
from jelly._options.settings import checked
from jelly._streams.widening import open_fields
from jelly.errors import JellyError
from jelly.patch._arrow import read_arrow, write_arrow, write_changes
from jelly.patch._seekable import PatchFile
from jelly.patch._stream import PatchReader, PatchWriter

__all__ = ["read_arrow", "write_arrow"]

Reader = PatchReader
File = PatchFile


@checked(PATCH_READING - {"format"}, PATCH_WRITING - {"format"})
def convert(
    src: Any,
    dst: Any,
    *,
    format: str | None = None,
    to: str | None = None,
    options: PatchOptions | Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    layout: Layout = "flat",
    progress: Progress | None = None,
    threads: int = 1,
    **given: Any,
) -> Conversion:
    """Convert patches, see `jelly.convert`. ``delimited`` is for the output."""
    writing = {name: given.pop(name) for name in given.keys() & PATCH_WRITING} | {**(writing or {})}
    if table_kind(src) or table_kind(dst):
        return _convert_table(src, dst, format, to, options, writing, layout, progress, given)
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(threads))
        reader: Any = PatchReader(src, format=format, **given)
        reader.workers = workers
        file = None
        has_threads = workers.threads > 1 and reader.format is JELLY_PATCH
        if has_threads and is_path(src) and os.path.isfile(src) and given.keys() <= SEEKING:
            with suppress(JellyError):  # there is no index
                file = PatchFile(src, **given)
        if file is not None:
            reader.close()
            reader = Indexed(file, threads)

        def open_writer() -> PatchWriter:
            chosen = options
            if not isinstance(options, PatchOptions) and reader.options is not None:
                names = max(MIN_NAME_TABLE, reader.options.max_name_table_size)
                chosen = reader.options.replace(**{"max_name_table_size": names} | dict(options or {}))
            writer = PatchWriter(dst, chosen, **{"format": to, "threads": workers, **writing})
            if writer.format is JELLY_PATCH:
                # Where one thread reads, which takes longer than encoding, one encodes beside it: more slow it down.
                writer._workers = None if file is None else writer._workers
                writer._start(open_fields(options), holds=False)
            return writer

        return convert_items(reader, open_writer, progress, "operations")


def _convert_table(
    src: Any,
    dst: Any,
    format: str | None,
    to: str | None,
    options: Any,
    writing: Mapping[str, Any],
    layout: Layout,
    progress: Progress | None,
    given: Mapping[str, Any],
) -> Conversion:
    """Convert patches to a table of changes, or such a table to patches or to another table."""
    from jelly._formats.table_files import read_table_file, write_record_batches

    began = time.perf_counter()
    kind = find(to, name_of(dst), content=Content.TABLE).name if table_kind(dst) else None
    if kind is not None:
        refuse_for_tables(writing)
    with ExitStack() as stack:
        if table_kind(src):
            size, source, table = bytes_of(src), None, read_table_file(src)
        else:
            source = stack.enter_context(closing(Source(src, given.get("max_expansion", MAX_EXPANSION))))
            table = read_arrow(source, layout=layout, format=format, **given)
        if kind is None:
            rows, written = write_changes(dst, table, options=options, format=to, **writing)
        else:
            rows, written = write_record_batches(dst, table.schema, _watched(table, source, progress), kind=kind)
        if source is not None:
            size = source.bytes_read
    return Conversion(rows, size, written, time.perf_counter() - began, 0, [])


def _watched(table: Iterable[Any], source: Source | None, progress: Progress | None) -> Iterator[Any]:
    """The record batches made of a source; ``progress`` is told of each."""
    rows = 0
    for batch in table:
        yield batch
        rows += len(batch)
        if source is not None and progress is not None:
            progress(source.bytes_read, source.size, rows)
