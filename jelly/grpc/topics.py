"""Topics: the messages of a stream, kept in memory or in a file, from where subscribers take them at their own pace.

A topic has an encoder of its own, which turns the statements of all publishers into one stream. Every so many messages
begins a **segment** with a keyframe that carries the stream options: whoever starts there needs nothing before it, and
whoever comes from before can go on. So frames are passed to subscribers as the bytes they are, wherever they start.

In a store each topic is a file of delimited Jelly, a message log that every reader of Jelly reads. It is only ever
appended to; what a crash left behind its last whole frame is cut off when the store is opened again.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from jelly.core.batch import Batch
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError
from jelly.grpc.frames import FrameDecoder, FrameEncoder, encode_frames
from jelly.grpc.protocol import accept_options, put_varint, split_frames, take_varint
from jelly.options import StreamOptions

__all__ = ["Missed", "Topic", "Topics"]

SEGMENT_MESSAGES = 256
SEGMENT_BYTES = 1 << 20
_MAX_LENGTH = 10  # bytes of a varint
_SUFFIX = ".jelly"
# File names have at most 255 bytes on the systems that matter.
_MAX_NAME = 240


class Missed(JellyError, LookupError):
    """Messages that a subscriber wanted are not kept any more: it was too slow, or came too late."""


class _Segment:
    """Messages from ``first`` on, the first of them a keyframe. In a file they begin at byte ``offset``."""

    __slots__ = ("count", "first", "frames", "offset", "size")

    def __init__(self, first: int, offset: int) -> None:
        self.first = first
        self.offset = offset
        self.count = 0
        self.size = 0  # bytes, with the lengths
        self.frames: list[bytes] | None = []  # None: in the file alone


class Topic:
    """One topic. Any thread may append and read; appends are one after the other.

    Without a ``path`` it keeps at least the last ``keep`` messages in memory.

    >>> import jelly
    >>> topic = Topic("news", StreamOptions.small(physical_type=1), keep=100)
    >>> statements = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> topic.append(next(jelly.read_batches(statements)))
    >>> topic.end, len(topic.read(0)[1])
    (1, 1)
    """

    def __init__(
        self, name: str, options: StreamOptions | None, *, path: Path | None = None, keep: int = 10_000
    ) -> None:
        self.name = name
        self.path = path
        self.keep = keep
        self.statements = 0
        self._options = options
        self._lock = threading.Lock()
        self._segments: list[_Segment] = []
        self._encoder: FrameEncoder | None = None
        self._watchers: set[Callable[[], None]] = set()
        self._file = -1
        self._size = 0
        if path is not None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._recover()
            except BaseException:
                os.close(self._file)
                raise

    @property
    def options(self) -> StreamOptions | None:
        """The options of the stream; None while nothing has been published."""
        return self._options

    @property
    def first(self) -> int:
        """Number of the first message that is kept."""
        return self._segments[0].first if self._segments else 0

    @property
    def end(self) -> int:
        """Number of the next message."""
        return self._segments[-1].first + self._segments[-1].count if self._segments else 0

    def offer(self, options: StreamOptions) -> None:
        """Take the options of a publisher; the first one's become the topic's. JellyOptionsError: unfit."""
        with self._lock:
            if self._options is None or self.end == 0:
                self._options = options.replace(stream_name=self.name)
            else:
                accept_options(self._options, options)

    def append(self, batch: Batch) -> None:
        """Append the frame that a Batch holds. OSError where the store is full: the message is not in it then."""
        with self._lock:
            segment = self._writable()
            assert self._encoder is not None
            try:
                frames = self._encoder.encode(batch)
                data = b"".join(put_varint(len(frame)) + frame for frame in frames)
                self._write(data)
            except BaseException:
                # The encoder has forgotten or counted what nobody will read: the next message starts anew.
                self._encoder = None
                if segment.count == 0:
                    self._segments.pop()
                raise
            segment.count += len(frames)
            segment.size += len(data)
            self.statements += len(batch)
            assert segment.frames is not None
            segment.frames += frames
            self._trim()
            watchers = list(self._watchers)
        for wake in watchers:
            wake()

    def fill(self, items: Iterable[Any], options: StreamOptions | None = None) -> None:
        """Append all of some items: see `FrameWriter` for what they and ``options`` can be."""
        decoder = FrameDecoder()
        for frame in encode_frames(items, options):
            batch = decoder.decode(frame)
            if self.end == 0 and decoder.options is not None:
                self.offer(decoder.options)
            self.append(batch)

    def _writable(self) -> _Segment:
        """The last segment, or a new one where that is full, or was begun before."""
        last = self._segments[-1] if self._segments else None
        full = last is None or last.count >= SEGMENT_MESSAGES or last.size >= SEGMENT_BYTES
        if last is not None and not full and self._encoder is not None:
            return last
        if self._options is None:
            raise JellyOptionsError(f"topic {self.name!r} has no stream options yet")
        self._encoder = FrameEncoder(self._options, keyframe=True)
        segment = _Segment(self.end, self._size)
        self._segments.append(segment)
        return segment

    def _write(self, data: bytes) -> None:
        if self._file < 0:
            return
        try:
            if os.pwrite(self._file, data, self._size) < len(data):
                raise OSError(f"{self.path}: the message could be written in part only")
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def _trim(self) -> None:
        """Let go of what is not kept. Of a file only the last segment stays in memory."""
        if self._file >= 0:
            if len(self._segments) > 1:
                self._segments[-2].frames = None
            return
        while len(self._segments) > 1 and self.end - self._segments[1].first >= self.keep:
            del self._segments[0]

    def read(self, number: int) -> tuple[int, list[bytes]]:
        """The segment with message ``number``: the number of its first message, which is a keyframe, and its frames.

        No frames where that message is still to come; `Missed` where it is not kept any more.
        """
        with self._lock:
            segment = self._find(number)
            if segment is None:
                return number, []
            first, offset, size, count = segment.first, segment.offset, segment.size, segment.count
            if segment.frames is not None:
                return first, list(segment.frames)
        data = os.pread(self._file, size, offset)
        if len(data) < size:
            raise JellyFormatError(f"{self.path} became shorter", offset=offset)
        return first, list(split_frames(data))[:count]

    def _find(self, number: int) -> _Segment | None:
        if number >= self.end:
            return None
        if number < self.first:
            raise Missed(f"topic {self.name!r} keeps messages from {self.first} on, {number} is gone")
        return self._segments[bisect_right(self._segments, number, key=lambda segment: segment.first) - 1]

    def watch(self, wake: Callable[[], None]) -> None:
        """Have a function called after each append, by the thread that appends."""
        with self._lock:
            self._watchers.add(wake)

    def unwatch(self, wake: Callable[[], None]) -> None:
        """Undo `watch`."""
        with self._lock:
            self._watchers.discard(wake)

    def sync(self) -> None:
        """Have all that was appended survive a crash of the machine."""
        if self._file >= 0:
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            self.sync()
            os.close(self._file)
            self._file = -1

    def _recover(self) -> None:
        """Find the segments of a file and cut off what is behind its last whole frame.

        Everything is decoded: what subscribers will be sent is what a reader accepts.
        """
        size = os.fstat(self._file).st_size
        decoder = FrameDecoder()
        at = 0
        while at < size:
            head = os.pread(self._file, _MAX_LENGTH, at)
            try:
                length, used = take_varint(head, 0)
            except JellyFormatError:
                if len(head) == _MAX_LENGTH:
                    raise JellyFormatError(f"{self.path} is not a log of messages", offset=at) from None
                break
            if at + used + length > size:
                break
            frame = os.pread(self._file, length, at + used)
            try:
                batch = decoder.decode(frame)
            except JellyError as error:
                error.source = str(self.path)
                raise
            if _has_options(frame):
                if len(self._segments) > 0:
                    self._segments[-1].frames = None
                self._segments.append(_Segment(self.end, at))
            segment = self._segments[-1]
            segment.count += 1
            segment.size += used + length
            segment.frames = None
            self.statements += len(batch)
            at += used + length
        self._options = decoder.options
        self._size = at
        if at < size:
            os.ftruncate(self._file, at)


def _has_options(frame: bytes) -> bool:
    """Whether the first row of a frame is one of options: with us that marks a keyframe."""
    if frame[:1] != b"\x0a":
        return False
    _, at = take_varint(frame, 1)
    return frame[at : at + 1] == b"\x0a"


class Topics:
    """All topics of a broker, by name; those of a ``store``, a directory, are there again after a restart.

    ``keep`` is how many messages a topic without a store keeps, ``max_topics`` how many topics there may be.

    >>> topics = Topics()
    >>> topics.get("news") is topics.get("news", create=True)
    False
    """

    def __init__(
        self, store: str | os.PathLike[str] | None = None, *, keep: int = 10_000, max_topics: int = 1000
    ) -> None:
        self.store = None if store is None else Path(store)
        self.keep = keep
        self.max_topics = max_topics
        self._topics: dict[str, Topic] = {}
        self._lock = threading.Lock()
        if self.store is not None:
            self.store.mkdir(parents=True, exist_ok=True)
            for path in sorted(self.store.glob("*" + _SUFFIX)):
                name = unquote(path.name.removesuffix(_SUFFIX))
                self._topics[name] = Topic(name, None, path=path, keep=keep)

    def get(self, name: str, *, create: bool = False) -> Topic | None:
        """The topic with this name; None where there is none and it is not to be created. JellyLimitError if full."""
        with self._lock:
            topic = self._topics.get(name)
            if topic is None and create:
                if len(self._topics) >= self.max_topics:
                    raise JellyLimitError(f"there are {self.max_topics} topics, which is the most there may be")
                path = None
                if self.store is not None:
                    file = quote(name, safe="") + _SUFFIX
                    if not name or len(file) > _MAX_NAME or file.startswith("."):
                        raise JellyOptionsError(f"{name!r} cannot be the name of a topic in a store")
                    path = self.store / file
                topic = self._topics[name] = Topic(name, None, path=path, keep=self.keep)
            return topic

    def names(self) -> list[str]:
        """The names of all topics."""
        with self._lock:
            return sorted(self._topics)

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            for topic in self._topics.values():
                topic.close()
