"""Reads the statements in a part of N-Triples or N-Quads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from jelly._bytes.compression import suffix_of
from jelly._bytes.source import MAX_EXPANSION
from jelly._core.base.batch import Batch
from jelly._formats.registry import FORMATS, Format
from jelly._formats.sniff import HEAD, explain
from jelly._streams.drain import drain
from jelly.errors import JellyError, JellySyntaxError
from jelly.spark._parts.lines import Lines
from jelly.spark._parts.packed import PackedLines

__all__ = ["read_lines"]


def read_lines(
    file: BinaryIO,
    format: Format,
    first: int,
    last: int | None,
    *,
    source: str,
    batch_rows: int,
    errors: list[JellyError] | None,
    max_expansion: int = MAX_EXPANSION,
    **limits: int,
) -> Iterator[Batch]:
    """The statements of a part of a file, which is called ``source``. ``limits`` are those of the format.

    ``errors`` gets the errors of lines, which are left out then; else the first one is raised. They name the byte in
    the text, or in a compressed file that is broken; of a part of a compressed file neither is known. The line is told
    only where the part begins the file, because the lines before it were not counted.
    """
    file.seek(0)
    kind = suffix_of(file.read(HEAD))
    lines = PackedLines(file, kind, first, last, max_expansion) if kind else Lines(file, first, last)
    reader = format.open_reader(
        delimited=None, strict=False, on_error="raise" if errors is None else "skip", batch_rows=batch_rows, **limits
    )
    begins = first == 0

    def chunks() -> Iterator[bytes]:
        # Not the first line for the reader: there is no byte order mark in the middle of a file.
        yield from () if begins else (b"\n",)
        yield from lines

    def place(offset: int | None) -> int | None:
        """The byte in the text; None where nobody knows it, in the middle of a compressed file."""
        if begins or offset is None:
            return offset
        return lines.start - 1 + offset if isinstance(lines, Lines) else None

    try:
        yield from drain(reader, chunks())
    except JellyError as error:
        if error is not getattr(lines, "error", None):
            error.offset = place(error.offset)
        if begins:
            if isinstance(lines, Lines):
                file.seek(0)
            head = file.read(HEAD) if isinstance(lines, Lines) else lines.head
            explain(error, head, format.name, FORMATS, "format")
        else:
            error.line = None
        error.source = source
        raise
    finally:
        for (line, why), offset in zip(reader.skipped, reader.skipped_at, strict=True):
            assert errors is not None
            errors.append(JellySyntaxError(why, line=line if begins else None, offset=place(offset), source=source))
        if errors is not None and (more := reader.n_skipped - len(reader.skipped)):
            errors.append(JellySyntaxError(f"{more} more lines were left out", source=source))
