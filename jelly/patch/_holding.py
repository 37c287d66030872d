"""The encoder of a `PatchWriter`, which lets the first rows decide the options of the stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._options.options import PatchStreamType
from jelly._streams.outputs import COLLECT_ROWS
from jelly._streams.widening import WideningEncoder
from jelly.patch._patch import PUNCTUATION


class HoldingEncoder(WideningEncoder):
    """A WideningEncoder of Jelly-Patch that holds the first rows back, and has seen them all before it encodes one.

    A frame cannot be written again before it has ended. Where patches are frames, it holds whole ones; where the stream
    is one frame, it holds all rows.
    """

    # What is not encoded yet, None when nothing more is held. An array of each Batch keeps a builder from filling it
    # again.
    _held: list[tuple[Batch, Any]] | None

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._held = []
        self._left = COLLECT_ROWS  # rows to hold before the first are encoded

    @property
    def is_holding(self) -> bool:
        """Whether rows wait for others before they are encoded."""
        return bool(self._held)

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The bytes of the rows that need not wait any more."""
        if self._held is None or batch.op is None:
            return self.release() + super().encode(batch)
        self._held.append((batch, batch.op))
        self._left -= len(batch)
        if self._left > 0 or not self._encoder.delimited:
            return b""
        if self.options.stream_type != PatchStreamType.FRAME:
            data = self.release()
            self._held = None
            return data
        ends = np.flatnonzero(batch.op == PUNCTUATION)
        if not len(ends):
            return b""
        end = int(ends[-1]) + 1
        if end == len(batch):
            return self.release()
        self._held[-1] = select(batch, slice(0, end)), None
        data = self.release()
        self._held.append((select(batch, slice(end, None)), None))
        return data

    def release(self) -> bytes:
        """Encode what is held."""
        if not self._held:
            return b""
        held, self._held, self._left = self._held, [], 0
        self.prepare(batch for batch, _ in held)
        return b"".join([super(HoldingEncoder, self).encode(batch) for batch, _ in held])

    def settle(self) -> bytes:
        """Encode all that was given, and what is held."""
        return self.release() + super().settle()

    def close(self) -> bytes:
        """End the stream."""
        return self.release() + super().close()
