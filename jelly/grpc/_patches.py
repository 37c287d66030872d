"""Frames of patches: what is published as whole patches, and what is subscribed to as `Patch` objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.operations import Operation, OperationBatchBuilder
from jelly._options.options import MIN_NAME_TABLE, PatchOptions, PatchStreamType
from jelly._options.settings import checked
from jelly._streams.widening import ALL_FIELDS, changed, missing
from jelly.errors import JellyArgumentError, JellyFormatError, JellyOptionsError
from jelly.grpc._framing import FrameDecoder, is_raw
from jelly.patch import Patch
from jelly.patch._patch import split_patches

__all__ = ["PatchWriter", "WholePatches", "encode_patches", "patch_of"]

PUNCTUATION = int(Op.PUNCTUATION)


def as_frames(options: PatchOptions) -> PatchOptions:
    """The options of a stream in which each frame is a patch."""
    names = max(options.max_name_table_size, MIN_NAME_TABLE)
    return options.replace(stream_type=PatchStreamType.FRAME, max_name_table_size=names)


class PatchWriter:
    """Encode patches as frames without lengths, each a whole patch. A frame as bytes is passed on.

    ``options`` are those of the stream, or some of their fields. Quoted triples and generalized statements are allowed
    unless they say otherwise.
    """

    def __init__(self, options: PatchOptions | Mapping[str, Any] | None = None) -> None:
        self._options = options
        self._encoder: Encoder | None = None
        self._raw: bool | None = None
        self._waiting: list[Operation] = []  # of a patch that is not complete
        builder = OperationBatchBuilder(4)
        builder.end_patch()
        self._end = builder.batch

    def _encode(self, batch: Batch) -> list[bytes]:
        if self._encoder is None:
            given = self._options
            if isinstance(given, PatchOptions):
                options = given
            else:
                # A frame that was sent cannot be taken back: these announce what may come.
                options = changed(PatchOptions(), {"rdf_star": True, "generalized_statements": True, **(given or {})})
                options = changed(options, missing(options, batch, ALL_FIELDS - set(given or {})))
            self._encoder = Encoder(as_frames(options), frame_rows=0, frame_bytes=0)
        return self._encoder.encode_frames(batch)

    def add(self, item: Any) -> list[bytes]:
        """The frames that are complete with another Patch, operation, Batch or frame."""
        self._raw = is_raw(item, self._raw)
        if isinstance(item, Operation):
            self._waiting.append(item)
            return []
        return self._take_waiting() + self._add(item)

    def _take_waiting(self) -> list[bytes]:
        waiting, self._waiting = self._waiting, []
        return self._add(Patch(waiting)) if waiting else []

    def _add(self, item: Any) -> list[bytes]:
        if self._raw:
            return [bytes(item)]
        if isinstance(item, Batch):  # its rows of operation 15 end patches
            return self._encode(item)
        if isinstance(item, Patch):
            return [frame for batch in (*item.batches(), self._end) for frame in self._encode(batch)]
        kind = type(item).__name__
        raise JellyArgumentError(f"expected a Patch, an operation, a Batch or a frame, got {kind}: {item!r:.80}")

    def close(self) -> list[bytes]:
        """The patch that is still open, if any."""
        frames = self._take_waiting()
        if self._raw or self._encoder is None or self._encoder.place % 4 == 0:
            return frames
        return frames + self._encoder.close_frames()


@checked()
def encode_patches(
    items: Iterable[Any] | Patch, options: PatchOptions | Mapping[str, Any] | None = None
) -> Iterator[bytes]:
    """Encode patches as frames without lengths, each a whole patch, as `Client.publish_patches` sends them.

    Unstable: this is our own, since the specification has no service for patches.

    Parameters
    ----------
    items : Patch, or iterable of Patch, Operation, Batch or bytes
        Patches, operations (those that follow each other are a patch), Batches in which rows of operation 15 end
        patches, or frames, which are passed on.
    options : PatchOptions or mapping, optional
        Options of the stream, or some of their fields. The stream type is always FRAME. What they leave open is
        allowed.

    Returns
    -------
    Iterator[bytes]
        The frames.

    Examples
    --------
    >>> from jelly.patch import Patch
    >>> len(list(encode_patches([Patch(), Patch()])))
    2
    """
    writer = PatchWriter(options)
    for item in [items] if isinstance(items, Patch) else items:
        yield from writer.add(item)
    yield from writer.close()


class WholePatches:
    """Cut a stream of patches, of any type, into Batches of one frame that are whole patches.

    Nothing of a patch is given away before its end has arrived, so that a stream that breaks off leaves no half of one.

    >>> from jelly.patch import Commit, Patch, Start
    >>> frames = encode_patches([Patch([Start(), Commit()]), Patch()])
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
            self._encoder = Encoder(as_frames(options), frame_rows=0, frame_bytes=0)

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
