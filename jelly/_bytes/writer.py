"""Writes a compressed file from which any part can be read: frames of a few megabytes, and the table of their sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jelly._bytes.frames import compress_frame, pack_table

if TYPE_CHECKING:
    from jelly._bytes.workers import Workers

__all__ = ["MOST_IN_FRAME", "FrameWriter"]

# Bytes of what a frame holds, at most. Frames of 2 MiB take some 1.5 % more than one frame of the whole, these 1 %.
MOST_IN_FRAME = 1 << 22


class FrameWriter:
    """A binary file object that compresses what is written to ``raw``; ``kind`` is the suffix of the compression.

    A frame begins where `cut` says and wherever it would hold more than 4 MiB. The table comes with `close`, which
    leaves ``raw`` open. The frames are compressed by ``workers``.
    """

    def __init__(self, raw: Any, kind: str, level: int | None = None, workers: Workers | None = None) -> None:
        from jelly._bytes.workers import Window, Workers  # which take some time to import

        self._raw = raw
        self._window: Window[tuple[bytes, int]] = Window(workers or Workers(1))
        self._kind = kind
        self._level = level
        self._held = bytearray()
        self._begin = 0  # of what is held, in the decompressed bytes
        self._cuts: deque[int] = deque()
        self._sizes: list[tuple[int, int]] = []
        self._is_closed = False
        compress_frame(b"", kind, level)  # tells at once if its package is not installed

    def cut(self, places: Iterable[int]) -> None:
        """Begin a frame at each of these decompressed bytes, if it is not written yet."""
        if more := {*places}:
            self._cuts = deque(sorted(more.union(self._cuts)))

    def go_on(self, sizes: Iterable[tuple[int, int]]) -> None:
        """Go on behind frames of these compressed and decompressed sizes, which ``raw`` has already."""
        self._sizes = list(sizes)
        self._begin = sum(plain for _, plain in self._sizes)

    def write(self, data: Any) -> int:
        """Take in bytes, and write the frames that are complete."""
        self._held += data
        while (size := self._next()) is not None:
            self._put(size)
        return len(data)

    def _next(self) -> int | None:
        """The bytes of the next frame that is complete."""
        while self._cuts and self._cuts[0] <= self._begin:
            self._cuts.popleft()
        size = self._cuts[0] - self._begin if self._cuts else MOST_IN_FRAME + 1
        if size > MOST_IN_FRAME:
            # What is left over begins another frame, so only more than that is enough.
            return MOST_IN_FRAME if len(self._held) > MOST_IN_FRAME else None
        return size if len(self._held) >= size else None

    def _put(self, size: int) -> None:
        with memoryview(self._held) as view:
            self._window.put(self._compress, bytes(view[:size]))
        self._begin += size
        del self._held[:size]
        self._take(self._window.ready())

    def _compress(self, data: bytes) -> tuple[bytes, int]:
        return compress_frame(data, self._kind, self._level), len(data)

    def _take(self, frames: Iterator[tuple[bytes, int]]) -> None:
        for frame, size in frames:
            self._raw.write(frame)
            self._sizes.append((len(frame), size))

    def flush(self) -> None:
        """End the frame, and pass all that was written on."""
        if self._held:
            self._put(len(self._held))
        self._take(self._window.rest())
        self._raw.flush()

    def drop(self) -> None:
        """Write nothing more."""
        self._is_closed = True
        self._window.drop()

    def close(self) -> None:
        """Write the rest and the table."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._held:
            self._put(len(self._held))
        self._take(self._window.rest())
        self._raw.write(pack_table(self._sizes, self._kind))
