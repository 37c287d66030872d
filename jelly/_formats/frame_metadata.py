"""Metadata of frames for their rows. It is at the end of a frame, so rows wait for the end of their frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from jelly._core.base.batch import Batch
from jelly.errors import JellyError

__all__ = ["with_metadata"]

# Maximum bytes of metadata for a range of rows; every row repeats it.
MAX_METADATA = 1 << 26

Rows: TypeAlias = tuple[Batch, int, int]  # a Batch and a range of its rows
Metadata: TypeAlias = dict[int, dict[str, bytes]]  # by the number of the frame in the stream


def with_metadata(rows: Iterable[Rows]) -> Iterator[tuple[Batch, int, int, Metadata]]:
    """Hold rows back until their frame ends, because its metadata comes last.

    Keep the row ranges small: they are held in memory until the frame ends.
    """
    held: list[Rows] = []
    metadata: Metadata = {}
    try:
        for batch, row, end in rows:
            for i, entries in batch.metadata.items():
                metadata.setdefault(batch.first_frame + i, {}).update(entries)
            ends = batch.frames.tolist()
            if not ends:
                held.append((batch, row, end))
                continue
            whole = ends[-1]
            ready, held = [*held, (batch, row, min(end, whole))], [(batch, max(row, whole), end)]
            for part in ready:
                yield from _cut(*part, metadata)
            done = batch.first_frame + len(ends)
            metadata = {number: entries for number, entries in metadata.items() if number >= done}
    except JellyError:
        # Rows before an error are yielded before it is raised.
        for part in held:
            yield from _cut(*part, metadata)
        raise
    for part in held:
        yield from _cut(*part, metadata)


def _cut(batch: Batch, row: int, end: int, metadata: Metadata) -> Iterator[tuple[Batch, int, int, Metadata]]:
    """Split a range of rows so that no part has too much metadata."""
    begin, size = row, 0
    for i, stop in enumerate([*batch.frames.tolist(), len(batch)]):
        each = sum(len(key) + len(value) for key, value in metadata.get(batch.first_frame + i, {}).items())
        while row < min(stop, end):
            n = min(stop, end) - row
            if each * n > MAX_METADATA - size:
                n = max((MAX_METADATA - size) // each, 0 if row > begin else 1)
            row += n
            size += each * n
            if n == 0 or size >= MAX_METADATA:
                yield batch, begin, row, metadata
                begin, size = row, 0
    if begin < row:
        yield batch, begin, row, metadata
