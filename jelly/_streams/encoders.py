"""Writers that encode in several threads. They give the bytes that one thread would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np

from jelly._bytes.workers import Window, Workers
from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op
from jelly._core.jelly.encoder import needed_version
from jelly._core.jelly.stream_options import settled
from jelly._core.ntriples.text import TextWriter
from jelly._formats.filters import FilterBuilder
from jelly._formats.native import StreamEncoder
from jelly._formats.protocols import Framing
from jelly._options.options import COLUMN_VERSION, RDF_VERSIONS, PatchOptions, StreamOptions
from jelly.errors import JellyError

# A Batch with the first row and the end row that are meant; None: its end, with what stands there. An array of the
# Batch keeps a `BatchBuilder` from filling it again.
Part = tuple[Batch, int, "int | None", Any]

# Rows of a segment that wait for its end. One that has more is encoded as it comes, and so is all that follows it.
HELD_ROWS = 1 << 20


class BatchesInOrder:
    """Lines as of a `TextWriter`, in parts that are not joined: that would take as long as writing them."""

    def __init__(self, writer: TextWriter, workers: Workers) -> None:
        self._writer = writer
        self._window: Window[list[bytes]] = Window(workers)

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> list[bytes]:
        """The lines of Batches whose turn it is."""
        self._window.put(self._encode, batch, batch.start)
        return list(chain.from_iterable(self._window.ready()))

    def _encode(self, batch: Batch, _: Any) -> list[bytes]:
        return list(self._writer.chunks(batch))

    def close(self) -> list[bytes]:
        """The lines that are left."""
        return list(chain.from_iterable(self._window.rest()))


def can_have_segments(options: StreamOptions | PatchOptions, framing: Framing) -> bool:
    """Whether the segments of a stream begin after a number of statements, and with nothing of those before."""
    can_cut = isinstance(options, PatchOptions) or not options.is_grouped
    return 0 < framing["keyframe_rows"] <= HELD_ROWS and framing["delimited"] and can_cut


def place_after(place: int, op: Any, is_flat: bool) -> int:
    """Where a stream of patches stands after some operations, see `Encoder.place`."""
    if not len(op):
        return place
    patches = place // 4 + (0 if is_flat else int(np.count_nonzero(op == Op.PUNCTUATION)))
    moves = op[(op >= Op.START) & (op <= Op.ABORT) | (op == Op.PUNCTUATION)]
    is_open = moves[-1] == Op.START if len(moves) else place % 4 == 2
    inside = is_flat or op[-1] != Op.PUNCTUATION
    return 4 * patches + (2 if is_open else 1 if inside else 0)


class Segment(NamedTuple):
    """The bytes of a whole segment, which a thread made."""

    data: bytes
    frames: int
    rows: int
    announced: str  # the RDF version at its end, see `Encoder.announced`
    place: int  # at its end, see `Encoder.place`
    filters: FilterBuilder | None


class SegmentEncoder:
    """A stream of Jelly or Jelly-Patch with an index, as `StreamEncoder` makes it, encoded by segments.

    From the first Batch on whose frames are kept it goes on in one thread, and from a patch on that is a frame of many
    rows.
    """

    def __init__(
        self, options: StreamOptions | PatchOptions, framing: Framing, workers: Workers, *, filters: bool = False
    ) -> None:
        self.options: StreamOptions | PatchOptions = options
        self._framing = framing
        self._key_rows = framing["keyframe_rows"]
        self._window: Window[Segment] = Window(workers)
        # The segment that is being filled. It waits until there is more, as the last one gets the index.
        self._parts: list[Part] = []
        self._rows = 0
        self._is_full = False
        self._is_first = True
        self._place = 0  # where it begins
        self._keys: list[tuple[int, int, int, int]] = []
        # Bytes, statements and frames of the segments that were given out; their bytes that still wait to be taken.
        self._done = (0, 0, 0)
        self._data: list[bytes] = []
        # Whether a stream of version 3 announces what its terms need, what it has announced, and what segments need.
        self._follows = (
            isinstance(options, StreamOptions) and options.version == COLUMN_VERSION and not options.rdf_version
        )
        self._announced = 0
        self._needed = 0
        self._filters = FilterBuilder() if filters else None
        self._told = 0  # keyframes that `cuts` has given
        self._tail: StreamEncoder | None = None
        self._error: JellyError | None = None

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The bytes of segments whose turn it is."""
        if self._is_first and not self._parts and isinstance(self.options, StreamOptions):
            self.options = settled(self.options, batch.arity, bool(batch.namespaces))
            if self._follows:
                self._announced = max(needed_version(batch), 1)
        if self._tail is None and self._has_cuts(batch, keep_frames):
            self._add(batch)
            self._take(self._window.ready())
            return self._taken()
        return self._goes_on(lambda tail: tail.encode(batch, keep_frames))

    def _has_cuts(self, batch: Batch, keep_frames: bool | None) -> bool:
        """Whether segments may begin in a Batch and after it."""
        if self._rows > HELD_ROWS:
            return False
        if not isinstance(self.options, PatchOptions):
            return not (keep_frames and (len(batch.frames) or batch.metadata))
        # Nothing may follow the end of a flat patch.
        return batch.op is not None and not (self.options.is_flat and bool((batch.op == Op.PUNCTUATION).any()))

    def wait(self) -> None:
        """Encode all that was given, for the errors that it comes to."""
        self._data.append(self._goes_on(lambda tail: b""))

    def repeat(self, batch: Batch, open_end: bool = False) -> bytes:
        """Encode a Batch of a stream that this one replaces, see `Encoder.repeat`."""
        return self._goes_on(lambda tail: tail.repeat(batch, open_end))

    @property
    def is_open(self) -> bool:
        """Whether rows wait for the end of a frame that is kept."""
        return self._tail is not None and self._tail.is_open

    @property
    def delimited(self) -> bool:
        """Whether each frame has its length before it."""
        return self._framing["delimited"]

    @property
    def place(self) -> int:
        """Position in a stream of patches, see `Encoder.place`."""
        return self._end_of_parts() if self._tail is None else self._tail.place

    def cut(self) -> bytes:
        """All that was encoded, see `Encoder.cut`."""
        return self._goes_on(lambda tail: tail.cut())

    def close(self) -> bytes:
        """End the stream: the remaining frames, with the index."""
        return self._goes_on(lambda tail: tail.close_after(self._keys))

    def cuts(self) -> list[int]:
        """The bytes at which parts begin that are read alone, see `jelly._formats.native.StreamEncoder.cuts`."""
        keys = [key[0] for key in self._keys]
        ends: list[int] = []
        if (tail := self._tail) is not None:
            keys += [key[0] + self._done[0] for key in tail.keyframes]
            ends = [end + self._done[0] for end in tail._ends]
            tail._ends = ()
        found, self._told = keys[self._told :], len(keys)
        return [*found, *ends]

    def _add(self, batch: Batch) -> None:
        start, end = 0, len(batch)
        # Namespaces after the last row belong to the next segment, if one begins there.
        has_more = any(row == end for row, *_ in batch.namespaces)
        while True:
            if self._is_full:
                if start == end and not has_more:
                    return
                self._window.put(self._encode, self._encoder(), self._parts, self._filters is not None)
                self._is_first = self._is_full = False
                self._parts, self._rows, self._place = [], 0, self._end_of_parts()
            stop = self._end_of_segment(batch, start)
            self._parts.append((batch, start, stop, batch.start))
            if stop is None:
                self._rows += end - start
                return
            self._is_full = True
            start = stop

    def _end_of_segment(self, batch: Batch, start: int) -> int | None:
        """The row of a Batch before which the segment that is being filled ends, None if it ends after them all."""
        stop = start + max(self._key_rows - self._rows, 1)
        if stop > len(batch):
            return None
        if self.options.is_grouped and batch.op is not None:
            # A frame is a patch.
            ends = np.flatnonzero(batch.op[stop - 1 :] == Op.PUNCTUATION)
            return stop + int(ends[0]) if len(ends) else None
        return stop

    def _end_of_parts(self) -> int:
        """The place after the rows so far of the segment that is being filled."""
        place = self._place
        if isinstance(self.options, PatchOptions):
            for batch, start, stop, _ in self._parts:
                assert batch.op is not None
                place = place_after(place, batch.op[start:stop], self.options.is_flat)
        return place

    def _encoder(self) -> StreamEncoder:
        """An encoder of the segment that is being filled."""
        if self._needed > self._announced:
            # Whether rows of the segments before have such terms is known when these are done.
            self._take(self._window.rest())
            self._needed = 0
        if self._follows:
            self._needed = max([self._needed, *(needed_version(batch) for batch, *_ in self._parts)])
        if self._is_first:
            return StreamEncoder(self.options, **self._framing)
        announced = RDF_VERSIONS[self._announced] if self._follows else ""
        return StreamEncoder(self.options, continued=True, announced=announced, place=self._place, **self._framing)

    @staticmethod
    def _encode(encoder: StreamEncoder, parts: list[Part], has_filters: bool) -> Segment:
        """Encode a whole segment, in any thread."""
        whole = b"".join([*[encoder._encode_part(*part[:3]) for part in parts], encoder.cut()])
        filters = FilterBuilder() if has_filters else None
        if filters is not None:
            for batch, start, stop, _ in parts:
                filters.add(batch, start, stop)
            filters.cut(len(whole))
        return Segment(whole, encoder.frames, encoder.statements, encoder.announced, encoder.place, filters)

    def _take(self, segments: Iterator[Segment]) -> None:
        """Take segments whose turn it is."""
        if self._error is not None:
            raise self._error
        try:
            for segment in segments:
                offset, statement, frame = self._done
                self._done = (offset + len(segment.data), statement + segment.rows, frame + segment.frames)
                self._keys.append((*self._done, segment.place))
                if self._follows:
                    self._announced = RDF_VERSIONS.index(segment.announced)
                if self._filters is not None and segment.filters is not None:
                    self._filters.join(segment.filters)
                self._data.append(segment.data)
        except JellyError as error:
            self._fail(error)

    def _taken(self) -> bytes:
        data, self._data = b"".join(self._data), []
        return data

    def _fail(self, error: JellyError) -> NoReturn:
        """Raise an error of one segment as an error of the whole stream."""
        self._error = error
        error.row = None if error.row is None else error.row + self._done[1]
        error.frame = None if error.frame is None else error.frame + self._done[2]
        raise error

    def _goes_on(self, work: Callable[[StreamEncoder], bytes]) -> bytes:
        """Go on in one thread, with the segment that is being filled: what is left of those before, and of ``work``."""
        self._take(self._window.rest())
        try:
            if self._tail is None:
                self._tail = self._encoder()
                if self._filters is not None:
                    self._tail.make_filters(self._filters)
                self._data += [self._tail._encode_part(*part[:3]) for part in self._parts]
                self._parts = []
            self._data.append(work(self._tail))
        except JellyError as error:
            self._fail(error)
        return self._taken()
