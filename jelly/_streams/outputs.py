"""The base of the classes that write items of any content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from jelly._bytes.names import can_have_index, name_of
from jelly._bytes.sink import Sink, SinkWriter, one_thread
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextWriter
from jelly._formats.index import FILTERED_ROWS, KEYFRAME_ROWS
from jelly._formats.protocols import Framing
from jelly._formats.registry import JELLY, JELLY_PATCH, Content, Format, find
from jelly._streams.widening import WideningEncoder
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from jelly._bytes.workers import Workers

# Maximum rows of a Batch of Python objects: small enough for the caches.
COLLECT_ROWS = 8192


class ItemWriter(SinkWriter):
    """Base of classes that write items of any content. Items become rows in a collector, and these become Batches."""

    content = Content.STATEMENTS
    format: Format
    _framing: Framing
    _workers: Workers | None = None
    _encoder: Any = None
    _collector: Any = None
    _pending = 0  # number of frames that ended in the collector

    @contextmanager
    def _opening(self, dst: Any, given: dict[str, Any], *, keyframes: bool = False) -> Iterator[None]:
        """Open the destination, find its format, and take the keywords of frames and threads out of those given.

        With ``keyframes`` it is seekable even if ``seekable`` is not given. An error in here leaves no file.
        """
        seekable = given.pop("seekable", None)
        if seekable is None:
            able = given.get("delimited", True) and can_have_index(dst)
            seekable = able and find(given.get("format"), name_of(dst), content=self.content) in (JELLY, JELLY_PATCH)
        rows = given.pop("keyframe_rows", FILTERED_ROWS if keyframes else KEYFRAME_ROWS)
        self._framing = Framing(
            frame_rows=given.pop("frame_rows", None),
            frame_bytes=given.pop("frame_bytes", 1_000_000),
            delimited=given.pop("delimited", True),
            keyframe_rows=rows if seekable or keyframes else 0,
        )
        threads = given.pop("threads", 1)
        if threads != 1:
            from jelly._bytes.workers import Workers  # which takes some time to import

            if not isinstance(threads, Workers):
                self._own = threads = Workers(threads)
            self._workers = threads if threads.threads > 1 else None
        self._sink = Sink(dst, seekable=self._framing["keyframe_rows"] > 0, workers=self._workers)
        try:
            self.format = self._find(given.pop("format", None))
            if self._sink.is_text and not (self.format is JELLY and self._framing["delimited"]):
                raise JellyArgumentError("text is the form of Jelly with delimited frames only")
            yield
        except BaseException:
            self.abort()
            raise

    def _find(self, format: str | None) -> Format:
        return find(format, self._sink.name, content=self.content)

    def _maker(self, **settings: Any) -> Callable[[Any], Any]:
        """A function that makes an encoder with some stream options. It does not refer to this writer, which would
        else never be freed."""
        return partial(_open_encoder, self.format, self._workers, settings | {"framing": self._framing})

    def __repr__(self) -> str:
        where = f" to {self.label}" if self.label else ""
        return f"<{type(self).__module__}.{type(self).__name__}{where}: {self.format.title}>"

    @property
    def options(self) -> Any:
        """The stream options in use, or None for formats without them and before the first row."""
        return getattr(self._encoder, "options", None)

    def _cuts(self) -> Iterable[int]:
        return self._encoder.cuts() if isinstance(self._encoder, WideningEncoder) else ()

    @one_thread
    def _flush(self) -> None:
        """Encode the rows that wait in the collector."""
        self._pending = 0
        if self._collector is not None:
            self._collector.lend(self._encode)

    def _encode(self, batch: Batch) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Write all frames, or lines of text, that have ended so far."""
        self._flush()
        if self._sink.is_live:
            self._sink.flush()

    def _finish(self) -> None:
        self._flush()
        self._put(self._encoder.close)

    def abort(self) -> None:
        """Stop writing and remove the unfinished file."""
        self._collector = None
        super().abort()


def _open_encoder(format: Format, workers: Workers | None, settings: dict[str, Any], options: Any) -> Any:
    """Make an encoder, which uses several threads where it can."""
    if workers is None:
        return format.open_writer(options, **settings)
    from jelly._streams.encoders import BatchesInOrder, SegmentEncoder, can_have_segments

    framing = settings["framing"]
    if format in (JELLY, JELLY_PATCH) and can_have_segments(options, framing):
        return SegmentEncoder(options, framing, workers, filters=settings.get("filters", False))
    encoder = format.open_writer(options, **settings)
    return BatchesInOrder(encoder, workers) if isinstance(encoder, TextWriter) else encoder
