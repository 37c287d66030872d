"""Frames as they come one by one from a call, to Batches and objects; and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jelly.core.batch import Batch
from jelly.core.decoder import Decoder
from jelly.core.encoder import Encoder
from jelly.core.terms import Collector, Terms
from jelly.errors import JellyOptionsError
from jelly.grpc.protocol import put_varint, split_frames
from jelly.options import PhysicalType, StreamOptions
from jelly.stream import Frame, Statement, default_options, frames_of

__all__ = ["FrameDecoder", "FrameEncoder", "decode_frames", "encode_frames", "frame_of", "statements_of"]

# Statements of a frame in a flat stream.
FRAME_ROWS = 256


class FrameDecoder:
    """Bare frames in, one Batch for each out, however small. Keywords are limits of the `Decoder`."""

    def __init__(self, **limits: Any) -> None:
        # A frame is a Batch, whatever its size, so that nothing of it waits for the next one.
        limits.setdefault("batch_rows", 1 << 30)
        limits.setdefault("batch_bytes", 1 << 40)
        self._decoder = Decoder(delimited=True, **limits)

    @property
    def options(self) -> StreamOptions | None:
        """The stream options; None before the first frame."""
        return self._decoder.options

    def decode(self, frame: bytes) -> Batch:
        """The statements of the next frame. JellyError where it is malformed, and from then on."""
        decoder = self._decoder
        decoder.push(put_varint(len(frame)) + frame)
        batch = decoder.pull(True)
        if batch is None:  # an empty frame
            batch = Collector(4 if decoder.options and decoder.options.physical_type > 1 else 3).batch
        return batch


class FrameEncoder:
    """Batches in, bare frames out. With ``keyframe=True`` who has read other frames with these options can go on."""

    def __init__(self, options: StreamOptions, *, keyframe: bool = False) -> None:
        self._encoder = Encoder(options, frame_rows=0, frame_bytes=0, keyframe=keyframe)

    @property
    def options(self) -> StreamOptions:
        """The stream options, complete after the first Batch."""
        return self._encoder.options

    def encode(self, batch: Batch) -> list[bytes]:
        """The frames that end in a Batch, with their metadata."""
        return list(split_frames(self._encoder.encode(batch, True)))


def encode_frames(
    items: Iterable[Any], options: StreamOptions | None = None, *, frame_rows: int = FRAME_ROWS
) -> Iterator[bytes]:
    """Bare frames of ``items``, which are all of one kind: bytes (frames, passed on as they are), Batches, `Frame`
    objects or statements.

    Statements become frames of ``frame_rows`` of them; each `Frame` is one, with its metadata and namespaces; Batches
    keep their frames, or are cut where they have none. Without options the first item decides, as for `Writer`;
    `Frame` objects make a grouped stream.

    >>> import jelly
    >>> frames = list(encode_frames(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt")))
    >>> len(frames), jelly.loads(frames[0], delimited=False)
    (1, [Triple(IRI('a:s'), IRI('a:p'), IRI('a:o'))])
    """
    iterator = iter(items)
    first = next(iterator, None)
    if isinstance(first, bytes | bytearray | memoryview):
        yield bytes(first)
        yield from map(bytes, iterator)
    elif isinstance(first, Batch):
        yield from _of_batches(first, iterator, options, frame_rows)
    elif isinstance(first, Frame):
        yield from _of_frames(first, iterator, options)
    else:
        yield from _of_statements(first, iterator, options, frame_rows)


def _of_batches(
    batch: Batch, batches: Iterator[Batch], options: StreamOptions | None, frame_rows: int
) -> Iterator[bytes]:
    keep = len(batch.frames) > 0
    encoder = Encoder(options or default_options(batch.arity), frame_rows=0 if keep else frame_rows)
    while True:
        yield from split_frames(encoder.encode(batch, keep))
        following = next(batches, None)
        if following is None:
            break
        batch = following
    yield from split_frames(encoder.close())


def _arity(options: StreamOptions | None, statement: Any) -> int:
    if options is not None and options.physical_type != PhysicalType.UNSPECIFIED:
        return 3 if options.physical_type == PhysicalType.TRIPLES else 4
    return 3 if statement is None else len(statement)


def grouped_options(arity: int) -> StreamOptions:
    """Options for those who give none: a stream of graphs or datasets, quoted triples allowed."""
    return default_options(arity).replace(logical_type=3 if arity == 3 else 4)


def _of_frames(frame: Frame, frames: Iterator[Frame], options: StreamOptions | None) -> Iterator[bytes]:
    arity = _arity(options, frame.statements[0] if frame.statements else None)
    options = options or grouped_options(arity)
    if frame.namespaces and options.version == 0:
        options = options.replace(version=2)
    encoder = FrameEncoder(options)
    collector = Collector(arity)
    while True:
        for name, iri in frame.namespaces:
            collector.namespace(name, iri)
        collector.extend(iter(frame.statements), len(frame.statements) + 1)
        collector.end_frame(frame.metadata)
        yield from encoder.encode(collector.batch)
        collector.clear()
        following = next(frames, None)
        if following is None:
            return
        frame = following


def _of_statements(
    statement: Any, statements: Iterator[Any], options: StreamOptions | None, frame_rows: int
) -> Iterator[bytes]:
    if options is not None and options.is_grouped:
        raise JellyOptionsError(
            f"logical type {options.logical_type.name} is one of groups, these are single statements: give Frames"
        )
    arity = _arity(options, statement)
    encoder = FrameEncoder(options or default_options(arity))
    collector = Collector(arity)
    if statement is not None:
        collector.add(statement)
    more = True
    while more:
        more = collector.extend(statements, frame_rows)
        if len(collector) or encoder.options.version == 0:  # options must be sent even without statements
            collector.end_frame()
            yield from encoder.encode(collector.batch)
            collector.clear()


def decode_frames(frames: Iterable[bytes], **limits: Any) -> Iterator[Batch]:
    """The Batches of bare frames, one for each. Keywords are limits of the `Decoder`."""
    decoder = FrameDecoder(**limits)
    for frame in frames:
        yield decoder.decode(frame)


def statements_of(batch: Batch) -> list[Statement]:
    """The statements of a Batch."""
    return Terms(batch).statements()


def frame_of(batch: Batch, index: int) -> Frame:
    """The `Frame` of a Batch of one frame."""
    return next(frames_of([batch], index), Frame(index, []))
