"""A topic: messages in memory or in files, which subscribers read at their own pace.

A topic has an encoder of its own, which turns the statements of all publishers into one stream. After a fixed
number of messages a new **segment** begins with a keyframe that repeats the stream options. A subscriber can start at
any segment, or continue from the one before. So frames are passed to subscribers unchanged, wherever they start.

A topic holds statements or patches. A message of patches is one whole patch, so that a keyframe never stands inside a
transaction and no subscriber starts in one.

A stored topic is a file of delimited Jelly, or of Jelly-Patch: a message log that every reader of Jelly reads. It is
only ever appended to. Bytes that a crash left after the last complete frame are moved to another file.
With limits for what is kept, the topic is a series of such files, each of which begins with a keyframe and has the
number of its first message in its name (``NAME@00000000000000001234.jelly``; 0 is left out). The oldest are deleted.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jelly._bytes.part_file import patiently, to_disk
from jelly._core.base.batch import Batch
from jelly._core.base.protobuf import _put_varint
from jelly._core.jelly.frame_reader import DELIMITED, split_frames
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.frames import FrameDecoder, FrameEncoder, as_frames
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyOptionsError
from jelly.grpc._framing import check_whole
from jelly.grpc._protocol import accept_options, check_content
from jelly.grpc._topic_files import NUMBER, PATCH_SUFFIX, SUFFIX, Recovery, Segment, TopicFile, fsync_names

__all__ = ["Deleted", "Missed", "Topic"]

log = logging.getLogger("jelly.grpc")

SEGMENT_MESSAGES = 256
SEGMENT_BYTES = 1 << 20
# Maximum bytes of a file of a topic with limits.
FILE_BYTES = 64 << 20
# A topic with limits has about this many files; the oldest is deleted as a whole.
FILES = 8
NAMESPACES = 2  # the first version with namespaces


class Missed(JellyError, LookupError):
    """Messages that a subscriber asked for are no longer kept, or never existed."""


class Deleted(JellyError, LookupError):
    """The topic was deleted."""


class Topic:
    """The messages of one topic. Any thread may append and read.

    Parameters
    ----------
    name : str
        Name of the topic.
    options : StreamOptions, PatchOptions or None
        Options of the stream. By default those of the first publication.
    path : pathlib.Path, optional
        Jelly file that stores the messages; patches are stored in one with the suffix ``.jellyp``. By default messages
        stay in memory.
    keep : int, optional
        Approximate maximum number of messages kept, in memory only. By default unlimited.
    keep_bytes : int, optional
        Approximate maximum bytes kept. By default unlimited.
    keep_age : float, optional
        Seconds for which messages are kept, about an eighth more. By default unlimited.
    owner : str, default ""
        Name of the client that created the topic.

    Examples
    --------
    >>> import jelly
    >>> topic = Topic("news", jelly.StreamOptions.small(physical_type=1), keep=100)
    >>> statements = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> topic.append(next(jelly.scan(statements).batches()))
    >>> topic.end, len(topic.read(0)[1])
    (1, 1)
    """

    @checked()
    def __init__(
        self,
        name: str,
        options: StreamOptions | PatchOptions | None,
        *,
        path: Path | None = None,
        keep: int | None = None,
        keep_bytes: int | None = None,
        keep_age: float | None = None,
        owner: str = "",
    ) -> None:
        self.name = name
        self.path = path
        self.keep = keep
        self.keep_bytes = keep_bytes
        self.keep_age = keep_age
        self.owner = owner
        self.statements: int = 0
        self.failure: str = ""  # of the last write
        self.lost: int = 0  # times that what was written could not be put on the disk
        self._options = options
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._encoder: FrameEncoder | None = None
        self._watchers: set[Callable[[], None]] = set()
        self._size = 0  # bytes that are kept
        self._next = 0
        self._updated = 0.0
        self._deleted = False
        self._files: list[TopicFile] = []
        if path is not None:
            found = Recovery(name, path)
            self._files, self._segments, self._next, self._updated = (
                found.files, found.segments, found.next, found.updated
            )  # fmt: skip
            self._options = found.options or options
            self._size = sum(segment.size for segment in self._segments)
            self.statements = sum(segment.statements for segment in self._segments)

    @property
    def options(self) -> StreamOptions | PatchOptions | None:
        """The options of the stream, or None before the first publication."""
        return self._options

    @property
    def first(self) -> int:
        """Number of the oldest message that is kept."""
        return self._segments[0].first if self._segments else self._next

    @property
    def end(self) -> int:
        """Number of the next message."""
        return self._next

    @property
    def size(self) -> int:
        """Bytes of the messages that are kept."""
        return self._size

    @property
    def updated(self) -> float:
        """Time of the newest message, in seconds since 1970; 0.0 if there was none."""
        return self._updated

    @property
    def watchers(self) -> int:
        """Number of functions that wait for messages."""
        return len(self._watchers)

    def offer(self, options: StreamOptions | PatchOptions) -> None:
        """Check the options of a publication, or take them over if it is the first one.

        The topic has them in the version with namespaces, or with frames as patches.
        JellyOptionsError if they do not fit.
        """
        patch = isinstance(options, PatchOptions)
        with self._lock:
            if self._options is None or self._next == 0:
                # Later publications may have namespaces, and the options of a stream never change.
                self._options = (
                    as_frames(options)
                    if isinstance(options, PatchOptions)
                    else options.replace(stream_name=self.name, version=NAMESPACES)
                )
                if self.path is not None and patch != (self.path.suffix == PATCH_SUFFIX):
                    self.path = self.path.with_suffix(PATCH_SUFFIX if patch else SUFFIX)
                    if empty := self._files[:]:  # it has the number of the next message
                        self._roll()
                        self._files = self._files[-1:]
                        patiently(empty[0].path.unlink)
                return
            own = self._options
            check_content(f"topic {self.name!r}", isinstance(own, PatchOptions), patch)
            accept_options(own, options)

    def append(self, batch: Batch) -> None:
        """Append a Batch with one frame as a message. After an OSError, such as a full disk, it is not in the topic."""
        if len(batch.frames) != 1:
            ends = len(batch.frames)
            raise JellyArgumentError(f"a message is a Batch with the end of one frame, this one has {ends}")
        if isinstance(self._options, PatchOptions):
            check_whole(batch)
        now = time.time()
        with self._lock:
            if self._deleted:
                raise Deleted(f"topic {self.name!r} was deleted")
            try:
                segment, data = self._encode(batch, now)
            except BaseException as error:
                # The state of the encoder includes rows that no reader gets, so the next message begins a segment.
                self._encoder = None
                if self._segments and self._segments[-1].count == 0:
                    self._segments.pop()
                if isinstance(error, OSError):
                    self.failure = error.strerror or str(error)
                raise
            self.failure = ""
            rows = len(batch) - isinstance(self._options, PatchOptions)  # a patch ends with a row of its own
            segment.add(len(data), rows)
            segment.newest = self._updated = now
            self._size += len(data)
            self._next += 1
            self.statements += rows
            self._trim(now)
            watchers = list(self._watchers)
        for wake in watchers:
            wake()

    def _encode(self, batch: Batch, now: float) -> tuple[Segment, bytes]:
        """Encode a message and write it to the file; the segment that it belongs to, and the bytes."""
        segment = self._writable(now)
        assert self._encoder is not None
        frame = self._encoder.encode(batch)
        if not frame and segment.count:
            # An empty frame would look like the zeros that some file systems leave after a crash.
            self._encoder = None
            segment = self._writable(now)
            assert self._encoder is not None
            frame = self._encoder.encode(batch)
        data = _put_varint(len(frame)) + frame
        if segment.file is not None:
            self._write(segment.file, data, now)
        assert segment.frames is not None
        segment.frames.append(frame)
        return segment, data

    def fill(self, items: Iterable[Any], options: StreamOptions | PatchOptions | None = None) -> None:
        """Append many items, see `FrameEncoder`. PatchOptions say that they are patches."""
        decoder = FrameDecoder(patch=isinstance(options, PatchOptions))
        for frame in FrameEncoder(options).encode_many(items):
            batch = decoder.decode(frame)
            if decoder.options is not None and (self.options is None or self.end == 0):
                self.offer(decoder.options)
            self.append(batch)

    def _writable(self, now: float) -> Segment:
        """The last segment, or a new segment if it is full or its encoder is gone."""
        last = self._segments[-1] if self._segments else None
        if (
            last is not None
            and self._encoder is not None
            and last.count < SEGMENT_MESSAGES
            and last.size < SEGMENT_BYTES
            and not self._is_full(last.file or last, now)
        ):
            return last
        if self._options is None:
            raise JellyOptionsError(f"topic {self.name!r} has no stream options yet")
        file = self._writable_file(now) if self.path is not None else None
        self._encoder = FrameEncoder(self._options, keyframe=True)
        segment = Segment(self._next, now, file, file.size if file is not None else 0)
        self._segments.append(segment)
        return segment

    def _is_full(self, unit: TopicFile | Segment, now: float) -> bool:
        """Whether a file, or segment in memory, is damaged, or large or old enough to be dropped as a whole."""
        if isinstance(unit, TopicFile) and unit.torn:
            return True
        if unit.size == 0:
            return False
        if self.keep_bytes is not None and unit.size >= min(FILE_BYTES, self.keep_bytes // FILES):
            return True
        return self.keep_age is not None and now - unit.began >= self.keep_age / FILES

    def _writable_file(self, now: float) -> TopicFile:
        """The last file, or a new one if it is full."""
        file = self._files[-1] if self._files else None
        if file is None or self._is_full(file, now):
            file = self._roll()
        if file.handle is None:
            file.handle = open(file.path, "ab", buffering=0)  # noqa: SIM115 - closed by close
        return file

    def _roll(self) -> TopicFile:
        """Begin a new file, whose name has the number of the next message."""
        assert self.path is not None
        if self._files:
            last = self._files[-1]
            if last.handle is not None and last.synced < last.size and not last.torn:
                self._fsync(last, last.handle.fileno())
        number = f"{NUMBER}{self._next:020}" if self._next else ""
        file = TopicFile(self.path.with_name(f"{self.path.stem}{number}{self.path.suffix}"), self._next)
        file.handle = open(file.path, "ab", buffering=0)  # noqa: SIM115 - closed by close
        if self._files:
            self._files[-1].close()
        self._files.append(file)
        self._encoder = None
        return file

    def _fsync(self, file: TopicFile, descriptor: int) -> None:
        try:
            to_disk(descriptor)
        except OSError as error:
            # The system may forget what it could not write, and say nothing the next time: that file is left alone.
            file.torn = True
            self.failure = error.strerror or str(error)
            self.lost += 1
            raise

    def _write(self, file: TopicFile, data: bytes, now: float) -> None:
        try:
            rest = memoryview(data)
            while rest:  # a disk that gets full takes a part; the next attempt raises the reason
                rest = rest[file.handle.write(rest) :]
        except OSError:
            file.torn = True
            file.handle.truncate(file.size)
            file.torn = False
            raise
        if file.size == 0:
            file.began = now
        file.size += len(data)
        file.newest = now

    def trim(self) -> None:
        """Drop messages that are older than ``keep_age``."""
        with self._lock:
            if not self._deleted:
                self._trim(time.time())

    def _trim(self, now: float) -> None:
        """Drop messages that are not kept. With files only the last segment stays in memory."""
        if self.path is None:
            while self._segments and self._is_over(self._segments, now):
                self._forget(self._segments[0])
            return
        if len(self._segments) > 1:
            self._segments[-2].frames = None
        while self._files and self._is_over(self._files, now):
            if len(self._files) == 1:
                self._roll()
            file = self._files[0]
            file.close()
            try:
                file.path.unlink(missing_ok=True)
            except OSError as error:  # on Windows, while a subscriber reads it
                log.warning("%s cannot be deleted yet: %s", file.path, error)
                return
            del self._files[0]
            while self._segments and self._segments[0].file is file:
                self._forget(self._segments[0])

    def _is_over(self, units: list[Any], now: float) -> bool:
        """Whether the oldest file, or segment in memory, is to be dropped; of one that is alone only its age counts."""
        oldest = units[0]
        if self.keep_age is not None and oldest.size and oldest.newest < now - self.keep_age:
            return True
        if len(units) == 1:
            return False
        if self.path is None and self.keep is not None and self._next - units[1].first >= self.keep:
            return True
        return self.keep_bytes is not None and self._size > self.keep_bytes

    def _forget(self, segment: Segment) -> None:
        self._segments.remove(segment)
        self._size -= segment.size
        self.statements -= segment.statements
        if not self._segments:
            self._encoder = None

    def is_in_memory(self, number: int) -> bool:
        """Whether `read` can return the message without reading a file."""
        last = self._segments[-1] if self._segments else None
        return self.path is None or last is None or (number >= last.first and last.frames is not None)

    def read(self, number: int) -> tuple[int, list[bytes]]:
        """Read the segment that contains a message: number of its first message, which is a keyframe, and frames.

        There are none if ``number`` is the next message. Missed if it is no longer kept, or was not published.
        """
        with self._lock:
            segment = self._find(number)
            if segment is None:
                return number, []
            first, offset, size, count = segment.first, segment.offset, segment.size, segment.count
            if segment.frames is not None:
                return first, list(segment.frames)
            assert segment.file is not None
            path = segment.file.path
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                data = file.read(size)
        except FileNotFoundError:
            if number < self.first or self._deleted:
                return self.read(number)  # which says so
            raise
        if len(data) < size:
            raise JellyFormatError("the file became shorter", offset=offset, source=str(path))
        return first, [frame for _, frame in split_frames([data], DELIMITED)][:count]

    def _find(self, number: int) -> Segment | None:
        if self._deleted:
            raise Deleted(f"topic {self.name!r} was deleted")
        if number == self.end:
            return None
        if number > self.end:
            raise Missed(f"topic {self.name!r} has messages up to {self.end - 1}, {number} was asked for")
        if number < self.first:
            raise Missed(f"topic {self.name!r} keeps messages from {self.first} on, {number} is gone")
        return self._segments[bisect_right(self._segments, number, key=lambda segment: segment.first) - 1]

    def watch(self, wake: Callable[[], None]) -> None:
        """Call a function after each append, in the thread that appends."""
        with self._lock:
            self._watchers.add(wake)

    def unwatch(self, wake: Callable[[], None]) -> None:
        """Stop calling a function, see `watch`."""
        with self._lock:
            self._watchers.discard(wake)

    def sync(self) -> None:
        """Write all messages to disk so that they survive a crash of the machine."""
        with self._lock:
            file = self._files[-1] if self._files else None
            if file is None or file.handle is None or (file.synced == file.size and file.is_named):
                return
            size = file.size
            copy = os.dup(file.handle.fileno())  # appending goes on meanwhile, and may begin another file
        try:
            self._fsync(file, copy)
        finally:
            os.close(copy)
        if not file.is_named:
            fsync_names(file.path.parent)
        file.synced = max(file.synced, size)
        file.is_named = True

    def close(self) -> None:
        """Write all messages to disk and close the file."""
        try:
            self.sync()
        finally:
            with self._lock:
                for file in self._files:
                    file.close()

    def delete(self) -> None:
        """Delete all messages and files. Subscriptions end with an error, and nothing can be appended any more."""
        with self._lock:
            self._deleted = True
            for file in self._files:  # the oldest first: what a crash leaves is the end of the topic
                file.close()
                patiently(file.path.unlink, True)
            self._files, self._segments = [], []
            self._size = self.statements = 0
            watchers = list(self._watchers)
        for wake in watchers:
            wake()
