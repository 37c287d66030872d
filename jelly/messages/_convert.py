"""Message logs for the functions of all contents: see `jelly._streams.inputs.by_content`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jelly._bytes.source import Progress
from jelly._dataset.output import Conversion, convert_items
from jelly._formats.registry import MESSAGE_READING
from jelly._options.options import ROW_VERSION, StreamOptions
from jelly._options.settings import checked
from jelly.messages._reader import MessageReader
from jelly.messages._writer import MessageWriter

Reader = MessageReader


@checked(MESSAGE_READING)
def convert(
    src: Any,
    dst: Any,
    *,
    format: str | None = None,
    to: str | None = None,
    options: StreamOptions | Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    **reading: Any,
) -> Conversion:
    """Convert a message log, see `jelly.convert`. Jelly written from Jelly keeps its stream options."""
    reader = MessageReader(src, format=format, **reading)

    def open_writer() -> MessageWriter:
        source = reader.options if options is None else None
        kept = options
        if source is not None and source.is_grouped:
            kept = source.replace(version=max(source.version, ROW_VERSION))
        return MessageWriter(dst, kept, format=to, **(writing or {}))

    return convert_items(reader, open_writer, progress)
