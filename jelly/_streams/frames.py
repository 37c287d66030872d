"""Frames without lengths, as gRPC, Kafka and cells of tables have them, to Batches, and items of any kind to frames."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._core.terms.operations import Operation, OperationBatchBuilder
from jelly._formats.registry import JELLY
from jelly._options.options import MIN_NAME_TABLE, PatchOptions, PatchStreamType, PhysicalType, StreamOptions
from jelly._options.settings import checked
from jelly._streams.outputs import changed, missing, open_fields, output_options
from jelly._streams.reader import Frame, Framed, Statement, frames_of
from jelly._streams.writer import ARITIES, arity_of, refuse_read
from jelly.errors import JellyArgumentError, JellyOptionsError

# Statements per frame in a flat stream.
FRAME_ROWS = 256


class FrameDecoder:
    """Decode frames without lengths: one frame in, one Batch out.

    Parameters
    ----------
    **limits : Any
        Limits of the `Decoder`, and ``patch=True`` for frames of Jelly-Patch.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import FrameDecoder
    >>> frame = jelly.dumps(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), delimited=False)
    >>> decoder = FrameDecoder()
    >>> len(decoder.decode(frame)), decoder.options.physical_type.name
    (1, 'TRIPLES')
    """

    @checked(JELLY.reading, {"patch"})
    def __init__(self, **limits: Any) -> None:
        self._decoder = Decoder(**limits)

    @property
    def options(self) -> Any:
        """The stream options, or None before the first frame; of patches PatchOptions."""
        return self._decoder.options

    def decode(self, frame: bytes) -> Batch:
        """Decode the next frame. If it is malformed, all later calls raise the same JellyError."""
        batch = self._decoder.decode_frame(frame)
        if len(batch.frames) == 0:
            # The rows before an error; the next call raises it.
            self._decoder.decode_frame(b"")
        return batch


class FrameEncoder:
    """Encode items of one kind as the frames of one stream, without lengths.

    A `Frame`, a `jelly.messages.Message`, a list of statements or a `jelly.patch.Patch` is one frame. A Batch keeps its
    frames, or is cut into frames of ``frame_rows`` rows if it has none; in a Batch of patches each row of operation 15
    ends a patch. Single statements are collected into frames of ``frame_rows``, single operations into one patch.
    Frames as bytes are passed on; then all items are such.

    Parameters
    ----------
    options : StreamOptions, PatchOptions or mapping, optional
        Options of the stream, or some of their fields. By default the first frame decides, as for `jelly.Writer`, and
        `Frame` objects and messages make a grouped stream. Patches are always a stream of type FRAME, which announces
        quoted triples and generalized statements unless ``options`` say otherwise.
    patch : bool, default False
        Encode patches. PatchOptions say so, too.
    frame_rows : int, default 256
        Statements per frame.
    name : str, default ""
        Stream name, if the options have none.
    keyframe : bool, default False
        Refer to nothing before the first frame, so that a reader of another stream with these options can continue.
    skip_namespaces : bool, default False
        Leave out namespace declarations if the stream has version 1.

    Examples
    --------
    >>> import jelly
    >>> statement = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))
    >>> jelly.loads(FrameEncoder().encode([statement]), delimited=False)
    [Triple(IRI('a:s'), IRI('a:p'), IRI('a:o'))]
    >>> len(list(FrameEncoder(frame_rows=2).encode_many([statement] * 5)))
    3
    """

    @checked()
    def __init__(
        self,
        options: StreamOptions | PatchOptions | Mapping[str, Any] | None = None,
        *,
        patch: bool = False,
        frame_rows: int = FRAME_ROWS,
        name: str = "",
        keyframe: bool = False,
        skip_namespaces: bool = False,
    ) -> None:
        self._given = options
        self._patch = patch or isinstance(options, PatchOptions)
        self._frame_rows = frame_rows
        self._name = name
        self._settings: dict[str, Any] = {"keyframe": keyframe, "skip_namespaces": skip_namespaces}
        if self._patch:
            self._settings["frame_bytes"] = 0
        self._encoder: Encoder | None = None
        self._collector: Any = OperationBatchBuilder(4) if self._patch else None  # else a BatchBuilder
        self._width = 0  # terms of the first statement that was collected
        self._raw: bool | None = None  # whether the items are frames; None before the first
        self._is_grouped = False

    @property
    def options(self) -> Any:
        """The stream options, complete after the first frame, or None before it; of patches PatchOptions."""
        return None if self._encoder is None else self._encoder.options

    @property
    def is_begun(self) -> bool:
        """Whether an item was added."""
        return self._raw is not None

    def encode(self, item: Any) -> bytes:
        """Encode an item that is one frame: a `Frame`, a message, a list, a Batch with one frame, or a patch."""
        self._settings["frame_bytes"] = 0
        if not isinstance(item, list):
            frames = self.add(item)
        elif self._patch:
            frames = [*itertools.chain.from_iterable(map(self.add, item)), *self._end_frame()]
        else:
            frames = self.add(Frame(0, item))
        if len(frames) != 1:
            raise JellyArgumentError(f"expected an item that is one frame, {type(item).__name__} is {len(frames)}")
        return frames[0]

    @checked()
    def encode_many(self, items: Iterable[Any]) -> Iterator[bytes]:
        """Encode all items of a stream. A stream of no items is one frame with the options, of patches no frame."""
        for item in readable(items, self):
            yield from self.add(item)
        yield from self.close()

    def add(self, item: Any) -> list[bytes]:
        """Add an item. Return the frames that are complete with it."""
        if type(item) in ARITIES and self._raw is False and self._collector and not self._patch:
            return self._end_frame() if self._collector.add(item) >= self._frame_rows else []
        raw = isinstance(item, bytes | bytearray | memoryview)
        if raw is not self._raw:
            if self._raw is not None:
                raise JellyArgumentError(
                    "frames as bytes cannot be mixed with other items: decode them, or publish them alone"
                )
            self._raw = raw
        if raw:
            return [bytes(item)]
        if self._patch:
            return self._add_patch(item)
        if isinstance(item, Batch):
            keep = len(item.frames) > 0
            return self._start(item, 0 if keep else self._frame_rows).encode_frames(item, keep)
        if isinstance(item, Framed):
            return self._add_frame(item)
        if not self._collector:
            if isinstance(self._given, StreamOptions) and self._given.is_grouped:
                kind = self._given.logical_type.name
                raise JellyOptionsError(
                    f"logical type {kind} is one of groups, this is a statement: give Frames or messages"
                )
            self._collect(item)
        return self._end_frame() if self._collector.add(item) >= self._frame_rows else []

    def close(self) -> list[bytes]:
        """End the stream. Return the remaining frames."""
        if self._raw:
            return []
        frames = self._end_frame() if self._collector else []
        if self._patch and (self._encoder is None or self._encoder.place % 4 == 0):
            return frames
        return frames + self._start(None).close_frames()

    def _arity(self, statement: Any) -> int:
        physical = getattr(self._given, "physical_type", PhysicalType.UNSPECIFIED)
        if physical != PhysicalType.UNSPECIFIED:
            return 3 if physical == PhysicalType.TRIPLES else 4
        return 3 if statement is None else arity_of(statement)

    def _collect(self, statement: Any) -> None:
        """Collect statements like this one; where the physical type is open, the first frame may have named graphs."""
        width = self._arity(statement)
        if self._collector is not None and width == self._width:
            return
        self._width = width
        is_open = not isinstance(self._given, StreamOptions) and "physical_type" in open_fields(self._given)
        self._collector = BatchBuilder(4 if is_open else self._width)

    def _add_frame(self, frame: Any) -> list[bytes]:
        if self._collector is None:
            self._is_grouped = True
            self._collect(next(iter(frame.statements), None))
        for name, iri in frame.namespaces:
            self._collector.namespace(name, iri)
        self._collector.extend(iter(frame.statements), len(frame.statements) + 1)
        return self._end_frame(frame.metadata)

    def _end_frame(self, metadata: Mapping[str, bytes] | None = None) -> list[bytes]:
        """The frame of what was collected."""
        if self._patch:
            self._collector.end_patch()
        else:
            self._collector.end_frame(metadata)
        frames: list[bytes] = []
        self._collector.lend(lambda batch: frames.extend(self._start(batch).encode_frames(batch, True)))
        return frames

    def _add_patch(self, item: Any) -> list[bytes]:
        if isinstance(item, Operation):
            self._collector.add(item)
            return []
        frames = self._end_frame() if self._collector else []
        if isinstance(item, Batch):
            return frames + self._start(item).encode_frames(item)
        if not hasattr(item, "headers"):
            kind = type(item).__name__
            raise JellyArgumentError(f"expected a Patch, an operation, a Batch or a frame, got {kind}: {item!r:.80}")
        for batch in item.batches():
            frames += self._start(batch).encode_frames(batch)
        return frames + self._end_frame()

    def _start(self, first: Batch | None, frame_rows: int = 0) -> Encoder:
        """The encoder, whose options are chosen by the first Batch where the caller left them open."""
        if self._encoder is not None:
            return self._encoder
        options: Any = self._given
        if not isinstance(options, StreamOptions | PatchOptions):
            given = dict(options or {})
            if self._patch:
                # A frame that was sent cannot be taken back: these announce what may come.
                options = changed(PatchOptions(), {"rdf_star": True, "generalized_statements": True, **given})
            else:
                arity = self._width or (self._arity(None) if first is None else first.arity)
                options = output_options(None, arity, given, grouped=self._is_grouped)
            if first is not None:
                options = changed(options, missing(options, first, open_fields(given)))
        if isinstance(options, PatchOptions):
            options = as_frames(options)
        elif self._is_grouped and not options.version:
            options = options.replace(version=2)  # a later frame may have namespaces
        if self._name and not getattr(options, "stream_name", self._name):
            options = options.replace(stream_name=self._name)
        self._encoder = Encoder(options, frame_rows=frame_rows, **self._settings)
        return self._encoder


def readable(items: Any, encoder: FrameEncoder) -> Any:
    """The items to encode: of one patch it alone, of statements of `read` with a check of their quoted triples, see
    ``star=`` of `Reader`."""
    if encoder._patch and hasattr(items, "headers"):
        return [items]
    if not isinstance(items, StatementIterator):
        return items

    def checked() -> Iterator[Any]:
        for statement in items:
            refuse_read(items, getattr(encoder._given, "version", 0))
            yield statement

    return checked()


def as_frames(options: PatchOptions) -> PatchOptions:
    """The options of a stream in which each frame is a patch."""
    names = max(options.max_name_table_size, MIN_NAME_TABLE)
    return options.replace(stream_type=PatchStreamType.FRAME, max_name_table_size=names)


def statements_of(batch: Batch) -> list[Statement]:
    """The statements of a Batch."""
    return Materializer(batch).statements()


def frame_of(batch: Batch, index: int) -> Frame:
    """The `Frame` of a Batch of one frame."""
    return next(frames_of([batch], index), Frame(index, []))
