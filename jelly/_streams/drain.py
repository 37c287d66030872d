"""The loop that turns chunks of bytes and a reader into Batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jelly._core.base.batch import Batch
from jelly._formats.protocols import BatchReader
from jelly.errors import JellyError


def drain(
    reader: BatchReader, chunks: Iterable[Any], *, finish: bool = True, is_live: bool = False
) -> Iterator[Batch]:
    """Feed chunks to a reader and yield its Batches. Batches before an error are yielded before it is raised.

    An error of the chunks (such as compressed data that is cut off) is raised after the Batches before it. With
    ``finish=False`` the end of the chunks is not the end of the stream: the chunks must only end with a frame. With
    ``is_live`` a Batch ends with each chunk.
    """
    iterator = iter(chunks)
    broken: JellyError | None = None
    while True:
        try:
            chunk = next(iterator, None)
        except JellyError as error:
            broken = error
            break
        if chunk is None:
            if finish:
                reader.finish()
            break
        reader.push(chunk)
        while (batch := reader.pull(is_live)) is not None:
            yield batch
    while (batch := reader.pull(True)) is not None:
        yield batch
    if broken is not None:
        raise broken
