"""Topics: messages in memory or in a file, which subscribers read at their own pace.

A topic has an encoder of its own, which turns the statements of all publishers into one stream. After a fixed
number of messages a new **segment** begins with a keyframe that repeats the stream options. A subscriber can start at
any segment, or continue from the one before. So frames are passed to subscribers unchanged, wherever they start.

A topic holds statements or patches. A message of patches is one whole patch, so that a keyframe never stands inside a
transaction and no subscriber starts in one.

In a store each topic is a file of delimited Jelly, or of Jelly-Patch: a message log that every reader of Jelly reads.
It is only ever appended to. If a crash left bytes after the last complete frame, opening the store moves them to
another file.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from jelly._core.base.batch import Batch
from jelly._core.jelly.frame_reader import DELIMITED, split_frames
from jelly._io.source import lock
from jelly._options import PatchOptions, StreamOptions
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError
from jelly.grpc._framing import FrameDecoder, FrameEncoder, encode_frames
from jelly.grpc._patches import as_frames, check_whole
from jelly.grpc._protocol import accept_options, accept_patch_options, check_content, put_varint, take_varint

__all__ = ["Missed", "Topic", "Topics"]

log = logging.getLogger("jelly.grpc")

SEGMENT_MESSAGES = 256
SEGMENT_BYTES = 1 << 20
_MAX_LENGTH = 10  # bytes of a varint
_SUFFIX, _PATCH_SUFFIX = ".jelly", ".jellyp"
NAMESPACES = 2  # the first version with namespaces
# File names have at most 255 bytes on common systems.
_MAX_NAME = 240


class Missed(JellyError, LookupError):
    """Messages that a subscriber asked for are no longer kept, or never existed."""


class _Segment:
    """Messages from ``first`` on, the first of them a keyframe. In a file they begin at byte ``offset``."""

    __slots__ = ("count", "first", "frames", "offset", "size")

    def __init__(self, first: int, offset: int) -> None:
        self.first = first
        self.offset = offset
        self.count = 0
        self.size = 0  # bytes, with the lengths
        self.frames: list[bytes] | None = []  # None: only in the file


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
    keep : int, default 10000
        Approximate number of messages kept in memory, without a file.
    keep_bytes : int, default 256 MiB
        Approximate maximum bytes kept in memory, without a file.

    Examples
    --------
    >>> import jelly
    >>> topic = Topic("news", jelly.StreamOptions.small(physical_type=1), keep=100)
    >>> statements = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> topic.append(next(jelly.read_batches(statements)))
    >>> topic.end, len(topic.read(0)[1])
    (1, 1)
    """

    def __init__(
        self,
        name: str,
        options: StreamOptions | PatchOptions | None,
        *,
        path: Path | None = None,
        keep: int = 10_000,
        keep_bytes: int = 1 << 28,
    ) -> None:
        self.name = name
        self.path = path
        self.keep = keep
        self.keep_bytes = keep_bytes
        self.statements = 0
        self._options = options
        self._lock = threading.Lock()
        self._segments: list[_Segment] = []
        self._encoder: FrameEncoder | None = None
        self._watchers: set[Callable[[], None]] = set()
        self._size = 0  # bytes of the file, of the segments in memory without one
        self._file: Any = None  # open from the first append on
        self._is_new = True
        if path is not None and path.exists():
            self._is_new = False
            self._recover(path)

    @property
    def options(self) -> StreamOptions | PatchOptions | None:
        """The options of the stream, or None before the first publication."""
        return self._options

    @property
    def first(self) -> int:
        """Number of the oldest message that is kept."""
        return self._segments[0].first if self._segments else 0

    @property
    def end(self) -> int:
        """Number of the next message."""
        return self._segments[-1].first + self._segments[-1].count if self._segments else 0

    @property
    def watchers(self) -> int:
        """Number of functions that wait for messages."""
        return len(self._watchers)

    def offer(self, options: StreamOptions | PatchOptions) -> None:
        """Check the options of a publication, or take them over if it is the first one.

        Parameters
        ----------
        options : StreamOptions or PatchOptions
            Options of a publication. The topic has them in the version with namespaces, or with frames as patches.

        Raises
        ------
        JellyOptionsError
            If they do not fit those of the topic.
        """
        patch = isinstance(options, PatchOptions)
        with self._lock:
            if self._options is None or self.end == 0:
                # Later publications may have namespaces, and the options of a stream never change.
                self._options = (
                    as_frames(options)
                    if isinstance(options, PatchOptions)
                    else options.replace(stream_name=self.name, version=NAMESPACES)
                )
                if self.path is not None and patch != (self.path.suffix == _PATCH_SUFFIX):
                    self.path = self.path.with_suffix(_PATCH_SUFFIX if patch else _SUFFIX)
                return
            own = self._options
            check_content(f"topic {self.name!r}", isinstance(own, PatchOptions), patch)
            if isinstance(own, PatchOptions) and isinstance(options, PatchOptions):
                accept_patch_options(own, options)
            elif isinstance(own, StreamOptions) and isinstance(options, StreamOptions):
                accept_options(own, options)

    def append(self, batch: Batch) -> None:
        """Append one message.

        Parameters
        ----------
        batch : Batch
            A Batch with one frame.

        Raises
        ------
        OSError
            If the message cannot be stored, for example because the disk is full. The topic does not contain it then.
        """
        if len(batch.frames) != 1:
            raise ValueError(f"a message is a Batch with the end of one frame, this one has {len(batch.frames)}")
        if isinstance(self._options, PatchOptions):
            check_whole(batch)
        with self._lock:
            segment = self._writable()
            assert self._encoder is not None
            try:
                (frame,) = self._encoder.encode(batch)
                if not frame and segment.count:
                    # An empty frame would look like the zeros that some file systems leave after a crash.
                    self._encoder = None
                    segment = self._writable()
                    assert self._encoder is not None
                    (frame,) = self._encoder.encode(batch)
                data = put_varint(len(frame)) + frame
                self._write(data)
            except BaseException:
                # The state of the encoder includes rows that no reader gets, so the next message begins a segment.
                self._encoder = None
                if segment.count == 0:
                    self._segments.pop()
                raise
            segment.count += 1
            segment.size += len(data)
            self.statements += len(batch)
            assert segment.frames is not None
            segment.frames.append(frame)
            self._trim()
            watchers = list(self._watchers)
        for wake in watchers:
            wake()

    def fill(self, items: Iterable[Any], options: StreamOptions | None = None) -> None:
        """Append many items.

        Parameters
        ----------
        items : iterable of bytes, Batch, Frame or statements
            The items, see `FrameWriter`.
        options : StreamOptions, optional
            Options of the stream.
        """
        decoder = FrameDecoder()
        for frame in encode_frames(items, options):
            batch = decoder.decode(frame)
            if self.end == 0 and decoder.options is not None:
                self.offer(decoder.options)
            self.append(batch)

    def _writable(self) -> _Segment:
        """The last segment, or a new segment if it is full or its encoder is gone."""
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
        if self.path is not None:
            if self._file is None:
                self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - closed by close
            try:
                rest = memoryview(data)
                while rest:  # a disk that gets full takes a part; the next attempt raises the reason
                    rest = rest[self._file.write(rest) :]
            except OSError:
                self._file.truncate(self._size)
                raise
        self._size += len(data)

    def _trim(self) -> None:
        """Drop messages that are not kept. With a file only the last segment stays in memory."""
        if self.path is not None:
            if len(self._segments) > 1:
                self._segments[-2].frames = None
            return
        while len(self._segments) > 1 and (
            self.end - self._segments[1].first >= self.keep or self._size > self.keep_bytes
        ):
            self._size -= self._segments.pop(0).size

    def is_in_memory(self, number: int) -> bool:
        """Whether `read` can return a message without reading a file.

        Parameters
        ----------
        number : int
            Number of the message.

        Returns
        -------
        bool
            True if it is in memory.
        """
        last = self._segments[-1] if self._segments else None
        return self.path is None or last is None or (number >= last.first and last.frames is not None)

    def read(self, number: int) -> tuple[int, list[bytes]]:
        """Read the segment that contains a message.

        Parameters
        ----------
        number : int
            Number of the message.

        Returns
        -------
        (int, list of bytes)
            Number of the first message of the segment, which is a keyframe, and the frames. The list is empty if
            ``number`` is the next message.

        Raises
        ------
        LookupError
            If the message is no longer kept, or has not been published.
        """
        with self._lock:
            segment = self._find(number)
            if segment is None:
                return number, []
            first, offset, size, count = segment.first, segment.offset, segment.size, segment.count
            if segment.frames is not None:
                return first, list(segment.frames)
        assert self.path is not None
        with open(self.path, "rb") as file:
            file.seek(offset)
            data = file.read(size)
        if len(data) < size:
            raise JellyFormatError(f"{self.path} became shorter", offset=offset)
        return first, [frame for _, frame in split_frames([data], DELIMITED)][:count]

    def _find(self, number: int) -> _Segment | None:
        if number == self.end:
            return None
        if number > self.end:
            raise Missed(f"topic {self.name!r} has messages up to {self.end - 1}, {number} was asked for")
        if number < self.first:
            raise Missed(f"topic {self.name!r} keeps messages from {self.first} on, {number} is gone")
        return self._segments[bisect_right(self._segments, number, key=lambda segment: segment.first) - 1]

    def watch(self, wake: Callable[[], None]) -> None:
        """Call a function after each append, in the thread that appends.

        Parameters
        ----------
        wake : callable
            The function.
        """
        with self._lock:
            self._watchers.add(wake)

    def unwatch(self, wake: Callable[[], None]) -> None:
        """Stop calling a function, see `watch`.

        Parameters
        ----------
        wake : callable
            The function.
        """
        with self._lock:
            self._watchers.discard(wake)

    def sync(self) -> None:
        """Write all messages to disk so that they survive a crash of the machine."""
        if self._file is None or self.path is None:
            return
        os.fsync(self._file.fileno())
        if self._is_new:
            self._is_new = False
            if hasattr(os, "O_DIRECTORY"):  # the name of the file, too
                folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self.sync()
                self._file.close()
                self._file = None

    def _recover(self, path: Path) -> None:
        """Find the segments of a file and cut off bytes after its last complete frame.

        All frames are decoded, so that subscribers only get frames that a reader accepts.
        """
        is_patch = path.suffix == _PATCH_SUFFIX
        decoder = FrameDecoder(patch=is_patch)
        at = 0
        with open(path, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            while at < size:
                file.seek(at)
                head = file.read(_MAX_LENGTH)
                try:
                    length, used = take_varint(head, 0)
                except JellyFormatError:
                    if len(head) == _MAX_LENGTH:
                        raise JellyFormatError("not a log of messages", offset=at, source=str(path)) from None
                    break
                if length == 0 or at + used + length > size:
                    break
                file.seek(at + used)
                self._recover_frame(decoder, file.read(length), at, used + length)
                at += used + length
            self._options = decoder.options
            self._size = at
            if at < size:
                torn = path.with_suffix(".torn")
                log.warning("%s: %d bytes after the last whole message are moved to %s", path, size - at, torn.name)
                file.seek(at)
                with open(torn, "wb") as rest:
                    shutil.copyfileobj(file, rest)
                file.truncate(at)

    def _recover_frame(self, decoder: FrameDecoder, frame: bytes, at: int, size: int) -> None:
        try:
            batch = decoder.decode(frame)
        except JellyError as error:
            error.source = str(self.path)
            raise
        options = decoder.options
        if isinstance(options, PatchOptions):
            is_own = options.is_grouped
            check_whole(batch)
        else:
            is_own = options is not None and options.stream_name == self.name
        if not is_own:
            raise JellyFormatError(f"not a log of the topic {self.name!r}", offset=at, source=str(self.path))
        if _has_options(frame):
            self._segments.append(_Segment(self.end, at))
        segment = self._segments[-1]
        segment.count += 1
        segment.size += size
        segment.frames = None
        self.statements += len(batch)


def _has_options(frame: bytes) -> bool:
    """Whether the first row of a frame has the options, which marks a keyframe in a topic."""
    if frame[:1] != b"\x0a":
        return False
    _, at = take_varint(frame, 1)
    return frame[at : at + 1] == b"\x0a"


class Topics:
    """The topics of a broker, by name.

    Parameters
    ----------
    store : str or os.PathLike, optional
        Directory with one Jelly file for each topic, which are read again after a restart. By default topics stay in
        memory.
    keep : int, default 10000
        Approximate number of messages kept by a topic in memory.
    keep_bytes : int, default 256 MiB
        Approximate maximum bytes kept by a topic in memory.
    max_topics : int, default 500
        Maximum number of topics.

    Raises
    ------
    JellyError
        If another process uses the store.

    Examples
    --------
    >>> topics = Topics()
    >>> topics.get("news") is topics.get("news", create=True)
    False
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        keep: int = 10_000,
        keep_bytes: int = 1 << 28,
        max_topics: int = 500,
    ) -> None:
        self.store = None if store is None else Path(store)
        self.keep = keep
        self.keep_bytes = keep_bytes
        self.max_topics = max_topics
        self._topics: dict[str, Topic] = {}
        self._lock = threading.Lock()
        self._held: Any = None
        if self.store is not None:
            self.store.mkdir(parents=True, exist_ok=True)
            self._held = open(self.store / ".lock", "ab")  # noqa: SIM115 - closed by close
            try:
                if not lock(self._held):
                    raise JellyError("another broker uses this store", source=str(self.store))
                for path in sorted(self.store.iterdir()):
                    if path.suffix not in (_SUFFIX, _PATCH_SUFFIX):
                        continue
                    name = unquote(path.stem)
                    if name in self._topics:
                        raise JellyError(f"there is a topic {name!r} of statements, too", source=str(path))
                    self._topics[name] = Topic(name, None, path=path)
            except BaseException:
                self._held.close()
                raise

    def get(self, name: str, *, create: bool = False) -> Topic | None:
        """Get a topic by name.

        Parameters
        ----------
        name : str
            Name of the topic.
        create : bool, default False
            Create the topic if it does not exist.

        Returns
        -------
        Topic or None
            The topic, or None if it does not exist.

        Raises
        ------
        JellyLimitError
            If there are already ``max_topics`` topics.
        JellyOptionsError
            If the name is not allowed.
        """
        with self._lock:
            topic = self._topics.get(name)
            if topic is None and create:
                if len(self._topics) >= self.max_topics:
                    raise JellyLimitError(f"there are {self.max_topics} topics, which is the most there may be")
                file = quote(name, safe="") + _SUFFIX
                if not name or len(file) > _MAX_NAME or file.startswith("."):
                    raise JellyOptionsError(f"{name[:_MAX_NAME]!r} cannot be the name of a topic")
                path = None if self.store is None else self.store / file
                topic = Topic(name, None, path=path, keep=self.keep, keep_bytes=self.keep_bytes)
                self._topics[name] = topic
            return topic

    def names(self) -> list[str]:
        """List the names of all topics.

        Returns
        -------
        list of str
            The names.
        """
        with self._lock:
            return sorted(self._topics)

    def close(self) -> None:
        """Close all files and release the store."""
        with self._lock:
            for topic in self._topics.values():
                topic.close()
            if self._held is not None:
                self._held.close()

    def __enter__(self) -> Topics:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
