"""Patches for the functions of all contents: see `jelly._streams.inputs.by_content`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers
from jelly._dataset.contents import convert_items
from jelly._dataset.output import Conversion
from jelly._dataset.seekable.file import Indexed, open_indexed
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, PATCH_WRITING, Content, find, table_kind
from jelly._options.layouts import Layout
from jelly._options.options import MIN_NAME_TABLE, PatchOptions
from jelly._options.settings import checked
from jelly._streams.widening import open_fields
from jelly.patch._arrow import convert_table, read_arrow, write_arrow
from jelly.patch._seekable import PatchFile
from jelly.patch._stream import PatchReader, PatchWriter

__all__ = ["File", "Reader", "convert", "read_arrow", "write_arrow"]

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
        rows = convert_table(src, dst, options, layout=layout, limits=given, format=format, to=to, **writing)
        return Conversion(rows, 0, 0, 0.0, 0, [])
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(threads))
        file = _open_index(src, format, given) if workers.threads > 1 else None
        reader: Any = Indexed(file, threads) if file is not None else PatchReader(src, format=format, **given)
        reader.workers = workers

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


def _open_index(src: Any, format: str | None, limits: Mapping[str, Any]) -> PatchFile | None:
    """A Jelly-Patch file whose segments several threads can read; None for another source."""
    if not isinstance(src, str | os.PathLike) or not os.path.isfile(src):
        return None
    is_binary = find(format, os.fspath(src), content=Content.PATCH) is JELLY_PATCH
    return open_indexed(PatchFile, src, limits) if is_binary else None
