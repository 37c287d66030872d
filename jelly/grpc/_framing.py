"""Frames of calls to Batches and objects, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import signature
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._formats.native import default_options
from jelly._formats.registry import JELLY
from jelly._options.options import PatchOptions, PhysicalType, StreamOptions
from jelly._options.settings import checked
from jelly._streams.reader import Frame, Statement, frames_of
from jelly._streams.widening import ALL_FIELDS, changed, missing
from jelly._streams.writer import arity_of, refuse_read
from jelly.errors import JellyArgumentError, JellyOptionsError
from jelly.grpc._protocol import serve_options, serve_patch_options

__all__ = ["Fitting", "FrameDecoder", "FrameEncoder", "FrameWriter", "encode_frames", "frame_of", "statements_of"]

# Statements per frame in a flat stream.
FRAME_ROWS = 256


class FrameDecoder:
    """Decode frames without lengths: one frame in, one Batch out.

    Parameters
    ----------
    **limits : Any
        Limits of the `Decoder`, and ``patch=True`` for frames of Jelly-Patch.
    """

    @checked(JELLY.reading, {"patch"})
    def __init__(self, **limits: Any) -> None:
        self._decoder = Decoder(**limits)

    @property
    def options(self) -> Any:
        """The stream options, or None before the first frame; of patches PatchOptions."""
        return self._decoder.options

    def decode(self, frame: bytes) -> Batch:
        """Decode the next frame.

        Parameters
        ----------
        frame : bytes
            The frame, without its length.

        Returns
        -------
        Batch
            Its statements.

        Raises
        ------
        JellyError
            If the frame is malformed. All later calls then raise the same error.
        """
        batch = self._decoder.decode_frame(frame)
        if len(batch.frames) == 0:
            # The rows before an error; the next call raises it.
            self._decoder.decode_frame(b"")
        return batch


class FrameEncoder:
    """Encode Batches as frames without lengths.

    Parameters
    ----------
    options : StreamOptions or PatchOptions
        Options of the stream.
    keyframe : bool, default False
        Refer to nothing before the first frame, so that a reader of another stream with these options can continue.
    skip_namespaces : bool, default False
        Leave out namespace declarations if the stream has version 1.
    """

    @checked()
    def __init__(
        self, options: StreamOptions | PatchOptions, *, keyframe: bool = False, skip_namespaces: bool = False
    ) -> None:
        self._encoder = Encoder(
            options, frame_rows=0, frame_bytes=0, keyframe=keyframe, skip_namespaces=skip_namespaces
        )

    @property
    def options(self) -> Any:
        """The stream options, complete after the first Batch; of patches PatchOptions."""
        return self._encoder.options

    def encode(self, batch: Batch) -> list[bytes]:
        """Encode a Batch.

        Parameters
        ----------
        batch : Batch
            The statements.

        Returns
        -------
        list of bytes
            The frames that end in the Batch, with their metadata.
        """
        return self._encoder.encode_frames(batch, True)


class FrameWriter:
    """Encode items of one kind as frames without lengths.

    Frames as bytes are passed on; then all items are such. A Batch keeps its frames, or is cut into frames of
    ``frame_rows`` rows if it has none. A `Frame` becomes a frame with its metadata and namespaces. Statements are
    collected into frames of ``frame_rows``.

    Parameters
    ----------
    options : StreamOptions, optional
        Options of the stream. By default the first item decides, as for `jelly.Writer`; `Frame` objects make a grouped
        stream.
    frame_rows : int, default 256
        Statements per frame.
    name : str, default ""
        Stream name, if the options have none.

    Examples
    --------
    >>> import jelly
    >>> writer = FrameWriter()
    >>> [frame for s in jelly.read(b"<a:s> <a:p> <a:o> .", format="nt") for frame in writer.add(s)]
    []
    >>> [jelly.loads(frame, delimited=False) for frame in writer.close()]
    [[Triple(IRI('a:s'), IRI('a:p'), IRI('a:o'))]]
    """

    @checked()
    def __init__(self, options: StreamOptions | None = None, *, frame_rows: int = FRAME_ROWS, name: str = "") -> None:
        self._options = options
        self._frame_rows = frame_rows
        self._name = name
        self._encoder: Encoder | None = None
        self._collector: BatchBuilder | None = None
        self._chosen = options or default_options(3)
        self._raw: bool | None = None  # whether the items are frames; None before the first

    def _start(self, options: StreamOptions, frame_rows: int = 0, first: Batch | None = None) -> Encoder:
        if self._options is None and first is not None:
            options = changed(options, missing(options, first, ALL_FIELDS - {"physical_type"}))
        if self._name and not options.stream_name:
            options = options.replace(stream_name=self._name)
        return Encoder(options, frame_rows=frame_rows)

    def add(self, item: Any) -> list[bytes]:
        """Add one item.

        Parameters
        ----------
        item : bytes, Batch, Frame or statement
            The item.

        Returns
        -------
        list of bytes
            The frames that are now complete.
        """
        self._raw = is_raw(item, self._raw)
        if self._raw:
            return [bytes(item)]
        if isinstance(item, Batch):
            keep = len(item.frames) > 0
            if self._encoder is None:
                options = self._options or default_options(item.arity)
                self._encoder = self._start(options, 0 if keep else self._frame_rows, item)
            return self._encoder.encode_frames(item, keep)
        if isinstance(item, Frame):
            return self._add_frame(item)
        if self._collector is None:
            if self._options is not None and self._options.is_grouped:
                raise JellyOptionsError(
                    f"logical type {self._options.logical_type.name} is one of groups, this is a statement: give Frames"
                )
            arity = _arity(self._options, item)
            self._chosen = self._options or default_options(arity)
            self._collector = BatchBuilder(arity)
        return self._end_frame() if self._collector.add(item) >= self._frame_rows else []

    def _add_frame(self, frame: Frame) -> list[bytes]:
        if self._collector is None:
            arity = _arity(self._options, frame.statements[0] if frame.statements else None)
            options = self._options
            if options is None:
                options = default_options(arity).replace(logical_type=arity)  # GRAPHS is 3, DATASETS is 4
            # The version is fixed by the first frame, and any later one may have namespaces.
            self._chosen = options if options.version else options.replace(version=2)
            self._collector = BatchBuilder(arity)
        for name, iri in frame.namespaces:
            self._collector.namespace(name, iri)
        self._collector.extend(iter(frame.statements), len(frame.statements) + 1)
        return self._end_frame(frame.metadata)

    def _end_frame(self, metadata: dict[str, bytes] | None = None) -> list[bytes]:
        assert self._collector is not None
        self._collector.end_frame(metadata)
        if self._encoder is None:
            self._encoder = self._start(self._chosen, first=self._collector.batch)
        frames: list[bytes] = []
        encoder = self._encoder
        self._collector.lend(lambda batch: frames.extend(encoder.encode_frames(batch, True)))
        return frames

    def close(self) -> list[bytes]:
        """End the stream.

        Returns
        -------
        list of bytes
            The remaining frames. An empty stream is one frame with the options.
        """
        if self._raw:
            return []
        frames = self._end_frame() if self._collector is not None and len(self._collector) else []
        encoder = self._encoder or self._start(self._chosen)
        return frames + encoder.close_frames()


def _arity(options: StreamOptions | None, statement: Any) -> int:
    if options is not None and options.physical_type != PhysicalType.UNSPECIFIED:
        return 3 if options.physical_type == PhysicalType.TRIPLES else 4
    return 3 if statement is None else arity_of(statement)


def is_raw(item: Any, before: bool | None) -> bool:
    """Whether an item is a frame as bytes, which all are or none: a stream of frames has tables that nobody else knows.

    JellyArgumentError if the items ``before`` were otherwise.
    """
    raw = isinstance(item, bytes | bytearray | memoryview)
    if before is not None and raw != before:
        raise JellyArgumentError("frames as bytes cannot be mixed with other items: decode them, or publish them alone")
    return raw


def readable(items: Any, options: StreamOptions | None) -> Any:
    """The items; if they are statements of `read`, with a check of their quoted triples, see ``star=`` of `Reader`."""
    if not isinstance(items, StatementIterator):
        return items

    def checked() -> Iterator[Any]:
        for statement in items:
            refuse_read(items, 0 if options is None else options.version)
            yield statement

    return checked()


@checked(signature(FrameWriter).parameters)
def encode_frames(items: Iterable[Any], options: StreamOptions | None = None, **settings: Any) -> Iterator[bytes]:
    """Encode items as frames without lengths.

    Parameters
    ----------
    items : iterable of bytes, Batch, Frame or statements
        The items, see `FrameWriter`.
    options : StreamOptions, optional
        Options of the stream.
    **settings : Any
        Further keywords of `FrameWriter`.

    Returns
    -------
    Iterator[bytes]
        The frames.

    Examples
    --------
    >>> import jelly
    >>> len(list(encode_frames(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))))
    1
    """
    writer = FrameWriter(options, **settings)
    for item in readable(items, options):
        yield from writer.add(item)
    yield from writer.close()


class Fitting:
    """Change frames to the options that a subscriber asked for. Without options, or if they are the same, keep them.

    >>> import jelly
    >>> frames = encode_frames(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    >>> fitting = Fitting(jelly.StreamOptions.small(physical_type=1, rdf_star=True))
    >>> decoder = FrameDecoder()
    >>> batches = [decoder.decode(frame) for one in frames for frame in fitting.fit(one)]
    >>> decoder.options.max_name_table_size
    128
    """

    def __init__(self, requested: StreamOptions | PatchOptions | None) -> None:
        self._requested = requested
        self._decoder = None if requested is None else FrameDecoder(patch=isinstance(requested, PatchOptions))
        self._encoder: FrameEncoder | None = None

    def fit(self, frame: bytes) -> list[bytes]:
        """The frames to send for the next frame. JellyOptionsError if the requested options cannot be fulfilled."""
        if self._decoder is None:
            return [frame]
        batch = self._decoder.decode(frame)
        own = self._decoder.options
        if self._encoder is None:
            if own is None:
                return [frame]
            options = fitted_options(own, self._requested)
            if options == own:
                self._decoder = None
                return [frame]
            self._encoder = FrameEncoder(options)
        return self._encoder.encode(batch)


def fitted_options(own: Any, requested: Any) -> Any:
    """The options for a subscriber who asked for ``requested``, see `serve_options` and `serve_patch_options`."""
    return (serve_patch_options if isinstance(own, PatchOptions) else serve_options)(own, requested)


def statements_of(batch: Batch) -> list[Statement]:
    """The statements of a Batch."""
    return Materializer(batch).statements()


def frame_of(batch: Batch, index: int) -> Frame:
    """The `Frame` of a Batch of one frame."""
    return next(frames_of([batch], index), Frame(index, []))
