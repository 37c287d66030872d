"""Patches for the functions of all contents: see `jelly._streams.inputs.by_content`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers
from jelly._dataset.output import Conversion, convert_items
from jelly._dataset.seekable.file import Indexed, open_indexed
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, PATCH_WRITING, table_kind
from jelly._options.layouts import Layout
from jelly._options.options import MIN_NAME_TABLE, PatchOptions
from jelly._options.settings import checked
from jelly._streams.widening import open_fields
from jelly.patch._arrow import read_arrow, write_arrow
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
        from jelly._formats.table_files import read_table_file, write_table_file

        table = read_table_file(src) if table_kind(src) else read_arrow(src, layout=layout, format=format, **given)
        if table_kind(dst):
            rows = write_table_file(dst, table)
        else:
            rows = write_arrow(dst, table, options=options, format=to, **writing)
        return Conversion(rows, 0, 0, 0.0, 0, [])
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(threads))
        reader: Any = PatchReader(src, format=format, **given)
        reader.workers = workers
        file = None
        if workers.threads > 1 and reader.format is JELLY_PATCH:
            file = open_indexed(PatchFile, src, given)
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
