"""Frames that are changed for a subscriber, and frames of patches that become whole patches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op
from jelly._core.jelly.encoder import Encoder
from jelly._options.options import PatchOptions, StreamOptions
from jelly._streams.frames import FrameDecoder, FrameEncoder, as_frames
from jelly.errors import JellyFormatError, JellyOptionsError
from jelly.grpc._protocol import serve_options, usual
from jelly.patch import Patch
from jelly.patch._patch import split_patches

PUNCTUATION = int(Op.PUNCTUATION)
# Frames of more bytes are handled in another thread, so that they do not block the event loop.
BIG = 1 << 17


class Fitting:
    """Change frames to the options that a subscriber asked for. Without options, or if they are the same, keep them.

    >>> import jelly
    >>> frames = FrameEncoder().encode_many(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    >>> fitting = Fitting(jelly.StreamOptions.small(physical_type=1, rdf_star=True))
    >>> decoder = FrameDecoder()
    >>> batches = [decoder.decode(fitting.fit(frame)) for frame in frames]
    >>> decoder.options.max_name_table_size
    128
    """

    def __init__(self, requested: StreamOptions | PatchOptions | None) -> None:
        self._requested = requested
        self._decoder = None if requested is None else FrameDecoder(patch=isinstance(requested, PatchOptions))
        self._encoder: FrameEncoder | None = None

    def fit(self, frame: bytes) -> bytes:
        """The frame to send for the next frame. JellyOptionsError if the requested options cannot be fulfilled."""
        if self._decoder is None:
            return frame
        batch = self._decoder.decode(frame)
        own = self._decoder.options
        if self._encoder is None:
            if own is None:
                return frame
            options = serve_options(own, self._requested)
            if options == own:
                self._decoder = None
                return frame
            self._encoder = FrameEncoder(options)
        return self._encoder.encode(batch)


class WholePatches:
    """Cut a stream of patches, of any type, into Batches of one frame that are whole patches.

    Nothing of a patch is given away before its end has arrived, so that a stream that breaks off leaves no half of one.

    >>> from jelly.patch import Commit, Patch, Start
    >>> frames = FrameEncoder(patch=True).encode_many([Patch([Start(), Commit()]), Patch()])
    >>> decoder = FrameDecoder(patch=True)
    >>> batches = [decoder.decode(frame) for frame in frames]
    >>> whole = WholePatches(decoder.options)
    >>> [len(patch) for batch in batches for patch in whole.add(batch)], list(whole.close())
    ([3, 1], [])
    """

    def __init__(self, options: PatchOptions) -> None:
        self._decoder = FrameDecoder(patch=True)
        self._encoder: Encoder | None = None
        if not options.is_grouped:
            self._encoder = Encoder(usual(as_frames(options)), frame_rows=0, frame_bytes=0)

    def add(self, batch: Batch) -> Iterator[Batch]:
        """The patches that are complete with another Batch."""
        if self._encoder is None:
            check_whole(batch)
            yield batch
        else:
            yield from map(self._decoder.decode, self._encoder.encode_frames(batch))

    def close(self) -> Iterator[Batch]:
        """The last patch, which the end of the stream ends. JellyFormatError if a transaction is open."""
        if self._encoder is not None and self._encoder.place % 4:
            yield from map(self._decoder.decode, self._encoder.close_frames())


def check_whole(batch: Batch) -> None:
    """JellyFormatError if the Batch of a frame is not one whole patch."""
    ends = np.flatnonzero(batch.op == PUNCTUATION) if batch.op is not None else np.empty(0)
    if len(ends) != 1 or ends[0] != len(batch) - 1:
        raise JellyFormatError("the frame is not a whole patch: it ends inside a transaction")


def patch_of(batch: Batch, options: PatchOptions | None) -> Patch:
    """The patch of a frame that was received."""
    if options is not None and not options.is_grouped:
        raise JellyOptionsError(
            f"a stream of type {options.stream_type.name}: expected FRAME, where a frame is a patch"
        )
    check_whole(batch)
    return next(split_patches([batch], lambda: True))
