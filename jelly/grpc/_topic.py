"""A topic: one stream of the messages of all publishers by number, in memory, which subscribers read at their own pace.

A topic has an encoder of its own, which turns the statements of all publishers into one stream. It has its messages in
**parts**, which are kept or dropped as a whole, and in each part one **segment** or several. A segment begins with a
keyframe, which repeats the stream options. So a reader can start at any segment, or continue from the one before, and
frames are passed to subscribers unchanged.

A topic holds statements or patches. A message of patches is one whole patch, so that a keyframe never stands inside a
transaction and no subscriber starts in one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.base.protobuf import _put_varint
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.frames import FrameDecoder, FrameEncoder, as_frames
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError
from jelly.grpc._protocol import BIG, TopicInfo, accept_options, check_content, check_whole, serve_options, usual

SEGMENT_MESSAGES = 256
SEGMENT_BYTES = 1 << 20
# A log with limits has about this many parts, of at most so many bytes; the oldest is dropped as a whole.
PARTS = 8
PART_BYTES = 64 << 20
NAMESPACES = 2  # the first version with namespaces


class Missed(JellyError, LookupError):
    """Messages that a subscriber asked for are no longer kept, or never existed. ``code`` is the status of the call."""

    code = "OUT_OF_RANGE"


class Deleted(JellyError, LookupError):
    """The topic was deleted."""

    code = "NOT_FOUND"


@dataclass(slots=True, eq=False)
class Part:
    """Messages from ``first`` on, which are dropped together."""

    first: int
    size: int = 0  # bytes, with the lengths of the messages
    statements: int = 0
    began: float = 0.0  # time of the first message, 0.0 if it is not known
    newest: float = 0.0  # time of the last message
    segments: list[tuple[int, int]] = field(default_factory=list)  # their first numbers, and where they begin
    frames: list[bytes] = field(default_factory=list)  # of the last segment
    torn: bool = False  # whether nothing may be appended after an error


class Topic:
    """The messages of one topic by number, in memory. Any thread may append and read.

    Another place has the same methods, see `FileTopic`: only what happens to a `Part` is different there.

    Parameters
    ----------
    name : str
        Name of the topic.
    options : StreamOptions, PatchOptions or None
        Options of the stream. By default those of the first publication.
    owner : str, default ""
        Name of the client that created the topic.
    keep : int, optional
        About how many messages are kept (in memory).
    keep_bytes : int, optional
        About how many bytes are kept.
    keep_age : float, optional
        Seconds for which messages are kept.

    Examples
    --------
    >>> import jelly
    >>> topic = Topic("news", jelly.StreamOptions.small(physical_type=1), keep=100)
    >>> statements = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> topic.append(next(jelly.scan(statements).batches()))
    >>> topic.end, len(topic.read(0)[1])
    (1, 1)
    """

    path: Path = Path()  # of a topic in files
    failure: str = ""  # of the last write
    lost: int = 0  # times that what was written could not be put on the disk

    @checked()
    def __init__(
        self, name: str, options: StreamOptions | PatchOptions | None = None, *, owner: str = "",
        keep: int | None = None, keep_bytes: int | None = None, keep_age: float | None = None,
    ) -> None:  # fmt: skip
        self.name: str = name
        self.owner: str = owner
        self.keep: int | None = keep
        self.keep_bytes: int | None = keep_bytes
        self.keep_age: float | None = keep_age
        # None before the first publication.
        self.options: StreamOptions | PatchOptions | None = options
        self.end: int = 0  # number of the next message
        self.size: int = 0  # of what is kept
        self.updated: float = 0.0  # time of the newest message in seconds since 1970; 0.0 if there is none
        self.parts: list[Any] = []
        self._lock = threading.Lock()  # of the parts
        self._is_deleted = False
        self._writing = threading.Lock()
        self._encoder: FrameEncoder | None = None
        self._watchers: set[Callable[[], None]] = set()

    @property
    def first(self) -> int:
        """Number of the oldest message that is kept."""
        return self.parts[0].first if self.parts else self.end

    @property
    def statements(self) -> int:
        """Number of statements that are kept."""
        return sum(part.statements for part in self.parts)

    @property
    def watchers(self) -> int:
        """Number of functions that wait for messages."""
        return len(self._watchers)

    @property
    def info(self) -> TopicInfo:
        """The metadata of the topic."""
        return TopicInfo(
            self.name,
            isinstance(self.options, PatchOptions),
            self.first,
            self.end,
            self.size,
            self.statements,
            self.watchers,
            self.owner,
            self.keep_bytes,
            self.keep_age,
            datetime.fromtimestamp(self.updated, timezone.utc) if self.updated else None,
            self.options,
        )

    # ---- writing

    def offer(self, options: StreamOptions | PatchOptions) -> None:
        """Check the options of a publication, or take them over if it is the first one.

        The topic has them in the version with namespaces, or with frames as patches.
        JellyOptionsError if they do not fit.
        """
        with self._writing:
            if self.options is not None and self.end:
                self.accept(options)
            else:
                self.take(options)

    def take(self, options: StreamOptions | PatchOptions) -> None:
        """Take over the options of the first publication."""
        # Later publications may have namespaces, and the options of a stream never change.
        self.options = usual(
            as_frames(options)
            if isinstance(options, PatchOptions)
            else options.replace(stream_name=self.name, version=NAMESPACES)
        )

    def accept(self, options: StreamOptions | PatchOptions) -> None:
        """Refuse, with JellyOptionsError, what does not fit into the topic."""
        is_patch = isinstance(options, PatchOptions)
        check_content(f"topic {self.name!r}", isinstance(self.options, PatchOptions), is_patch)
        accept_options(self.options, options)

    def is_ready(self, batch: Batch) -> bool:
        """Whether `append` does not take long."""
        return batch.nbytes < BIG

    def append(self, batch: Batch) -> None:
        """Append a Batch with one frame as a message. After an OSError, such as a full disk, it is not in the topic."""
        if len(batch.frames) != 1:
            ends = len(batch.frames)
            raise JellyArgumentError(f"a message is a Batch with the end of one frame, this one has {ends}")
        is_patch = isinstance(self.options, PatchOptions)
        if is_patch:
            check_whole(batch)
        with self._writing:
            try:
                # A patch ends with a row of its own.
                self._append(batch, len(batch) - is_patch, time.time())
            except BaseException as error:
                # The state of the encoder includes rows that no reader gets, so the next message begins a segment.
                self._encoder = None
                if isinstance(error, OSError):
                    self.failure = error.strerror or str(error)
                raise
            self.failure = ""
        if self._watchers:
            self._wake()

    def _append(self, batch: Batch, statements: int, now: float) -> None:
        frame, is_keyframe = self._encode(batch, now)
        data = _put_varint(len(frame)) + frame
        with self._lock:
            if self._is_deleted:
                raise self._deleted()
            part = self._part(now) if is_keyframe else self.parts[-1]
            self._write(part, data)
            if is_keyframe:
                part.segments.append((self.end, part.size))
                part.frames = []
            part.frames.append(frame)
            if not part.size:
                part.began = now
            self._count(part, len(data), statements, now)
            self._trim(now)

    def _encode(self, batch: Batch, now: float) -> tuple[bytes, bool]:
        """The frame of a message, and whether it is a keyframe."""
        frame = b"" if self._encoder is None or self._begins(now) else self._encoder.encode(batch)
        if frame:  # an empty one would look like the zeros that some file systems leave after a crash
            return frame, False
        if self.options is None:
            raise JellyOptionsError(f"topic {self.name!r} has no stream options yet")
        self._encoder = FrameEncoder(self.options, keyframe=True)
        return self._encoder.encode(batch), True

    def _begins(self, now: float) -> bool:
        """Whether the next message must begin a segment."""
        if not self.parts or not (segments := (last := self.parts[-1]).segments):
            return True
        number, offset = segments[-1]
        if self.end - number >= SEGMENT_MESSAGES or last.size - offset >= SEGMENT_BYTES:
            return True
        return self._is_full(last, now)

    def _count(self, part: Part, size: int, statements: int, now: float) -> None:
        """Count a message."""
        part.size += size
        part.statements += statements
        part.newest = self.updated = now
        self.size += size
        self.end += 1

    def _part(self, now: float) -> Part:
        """The part that a new segment goes to."""
        part = Part(self.end)
        self.parts.append(part)
        return part

    def _write(self, part: Any, data: bytes) -> None:
        """Write the length and the frame of a message."""

    def fill(self, items: Iterable[Any], options: StreamOptions | PatchOptions | None = None) -> None:
        """Append many items, see `FrameEncoder`. PatchOptions say that they are patches."""
        decoder = FrameDecoder(patch=isinstance(options, PatchOptions))
        for frame in FrameEncoder(options and usual(options)).encode_many(items):
            batch = decoder.decode(frame)
            if decoder.options is not None and (self.options is None or self.end == 0):
                self.offer(decoder.options)
            self.append(batch)

    # ---- what is kept

    def _is_full(self, part: Part, now: float) -> bool:
        """Whether a part is damaged, or large or old enough to be dropped as a whole."""
        if part.torn or part.size == 0:
            return part.torn
        if self.keep_bytes is not None and part.size >= min(PART_BYTES, self.keep_bytes // PARTS):
            return True
        # It began later than now if the clock was ahead.
        return self.keep_age is not None and not 0 <= now - part.began < self.keep_age / PARTS

    def trim(self) -> None:
        """Drop messages that are not kept."""
        with self._writing, self._lock:
            self._trim(time.time())

    def _trim(self, now: float) -> None:
        while self.parts and self._is_over(self.parts[0], now) and self._drop(self.parts[0]):
            self.size -= self.parts.pop(0).size

    def _is_over(self, oldest: Part, now: float) -> bool:
        """Whether the oldest part is to be dropped; of one that is alone only its age counts."""
        oldest.newest = min(oldest.newest, now)  # written while the clock was ahead, it ages from now on
        if self.keep_age is not None and oldest.size and oldest.newest < now - self.keep_age:
            return True
        if len(self.parts) == 1:
            return False
        if self.keep is not None and self.end - self.parts[1].first >= self.keep:
            return True
        return self.keep_bytes is not None and self.size > self.keep_bytes

    def _drop(self, part: Any) -> bool:
        """Release what a part holds; False if that cannot be done yet."""
        return True

    # ---- reading

    def watch(self, wake: Callable[[], None]) -> None:
        """Call a function after each append, in the thread that appends."""
        with self._writing:
            self._watchers.add(wake)

    def unwatch(self, wake: Callable[[], None]) -> None:
        """Stop calling a function, see `watch`."""
        with self._writing:
            self._watchers.discard(wake)

    def _wake(self) -> None:
        for wake in list(self._watchers):
            wake()

    def reading(self, call: Any) -> Reading:
        """The position of the subscriber ``call`` in the topic."""
        return Reading(self, call)

    def check(self, number: int) -> None:
        """Raise Missed if a message is no longer kept, or was not published, unless it is the next one."""
        if number > self.end:
            raise Missed(f"topic {self.name!r} has messages up to {self.end - 1}, {number} was asked for")
        if number < self.first:
            raise Missed(f"topic {self.name!r} keeps messages from {self.first} on, {number} is gone")

    def is_quick(self, number: int) -> bool:
        """Whether `read` takes the message from memory."""
        return True

    def read(self, number: int) -> tuple[int, list[bytes]]:
        """Read the segment that contains a message: number of its first message, which is a keyframe, and frames.

        There are none if ``number`` is the next message.
        """
        with self._lock:
            if self._is_deleted:
                raise self._deleted()
            self.check(number)
            if number == self.end:
                return number, []
            part = self.parts[bisect_right(self.parts, number, key=attrgetter("first")) - 1]
            at = bisect_right(part.segments, number, key=itemgetter(0))
            first, begin = part.segments[at - 1]
            if at == len(part.segments):
                end = part.size
                if part.frames:
                    return first, list(part.frames)
            else:
                end = part.segments[at][1]
        return first, self._load(part, begin, end)

    def _load(self, part: Any, begin: int, end: int) -> list[bytes]:
        """The frames of a segment that is not in memory."""
        raise NotImplementedError

    def _deleted(self) -> Deleted:
        return Deleted(f"topic {self.name!r} was deleted")

    # ---- the end

    def sync(self) -> None:
        """Put all messages on the disk, so that they survive a crash of the machine."""

    def acknowledge(self, lost: int) -> None:
        """Make sure of all messages. OSError if some are lost; ``lost`` is ``self.lost`` as it was before them."""
        self.sync()
        if self.lost != lost:  # for another publication, or when another file began
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def close(self) -> None:
        """Put all messages on the disk, and close the files."""

    def delete(self) -> None:
        """Drop all messages for good. Subscriptions end with an error, and nothing can be appended any more."""
        with self._writing, self._lock:
            self._is_deleted = True
            for part in self.parts:  # the oldest first: what a crash leaves is the end of the topic
                self._remove(part)
            self.parts, self.size = [], 0
        self._wake()

    def _remove(self, part: Any) -> None:
        """Remove a part with its file."""


class Reading:
    """The position of a subscriber in a topic; ``number`` is the next message."""

    def __init__(self, topic: Topic, call: Any) -> None:
        self.topic: Topic = topic
        start = topic.end if call.start == "latest" else call.start
        self.number: int = start if isinstance(start, int) else topic.first
        self.has_begun: bool = False
        self._call = call
        # None while the subscriber reads unchanged frames since a keyframe, so that the next frame needs no change.
        self._coder: tuple[FrameDecoder, FrameEncoder] | None = None
        self._frames: list[bytes] = []
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        topic.watch(self._wake)

    def close(self) -> None:
        """Forget the subscriber."""
        self.topic.unwatch(self._wake)

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._news.set)

    async def begin(self) -> None:
        """Find the first message, whose ``number`` is known then; the oldest may be dropped before it is read."""
        while True:
            try:
                self._frames = await asyncio.to_thread(self._take)
                return
            except Missed:
                if isinstance(self._call.start, int):
                    raise
                self.number = self.topic.first

    async def frames(self, until: int | None) -> AsyncIterator[bytes]:
        """The frames for the subscriber, up to the number ``until`` or, if that is None, for ever."""
        while until is None or self.number < until:
            for frame in self._frames or await self._more():
                if self._coder is None:
                    yield frame
                elif len(frame) < BIG:
                    yield self._recode(frame)
                else:
                    yield await asyncio.to_thread(self._recode, frame)
                self.number += 1
                if self.number == until:
                    return
            self._frames = []

    async def _more(self) -> list[bytes]:
        """The next messages, as soon as there are some."""
        while True:
            self._news.clear()
            is_quick = self.has_begun and self.topic.is_quick(self.number)
            if frames := self._take() if is_quick else await asyncio.to_thread(self._take):
                return frames
            await self._news.wait()

    def _take(self) -> list[bytes]:
        """The messages up to the end of a segment; empty if the next one was not published yet.

        For a start in the middle of a segment, or smaller tables, they must be encoded again.
        """
        start, frames = self.topic.read(self.number)
        own = self.topic.options
        if not frames or own is None:
            return []
        options = served(self.topic, self._call)
        skip = self.number - start
        if options == own and skip == 0:
            self._coder = None
        elif not self.has_begun:
            self._coder = FrameDecoder(patch=self._call.kind == "patches"), FrameEncoder(options, skip_namespaces=True)
            for frame in frames[:skip]:
                self._coder[0].decode(frame)
        self.has_begun = True
        return frames[skip:]

    def _recode(self, frame: bytes) -> bytes:
        """A frame encoded again for a subscriber that cannot use it unchanged."""
        assert self._coder is not None
        decoder, encoder = self._coder
        return encoder.encode(decoder.decode(frame))


def served(topic: Topic, call: Any) -> StreamOptions | PatchOptions:
    """The options for a subscriber; one of statements that asks for version 1 gets no namespaces."""
    own, requested = topic.options, call.options
    check_content(f"topic {topic.name!r}", isinstance(own, PatchOptions), call.kind == "patches")
    if isinstance(own, StreamOptions) and requested is not None and requested.version == 1:
        own = own.replace(version=1)
    options: StreamOptions | PatchOptions = serve_options(own, requested)
    return options
