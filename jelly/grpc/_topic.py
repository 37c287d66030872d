"""A topic: one stream of the messages of all publishers, which subscribers read at their own pace; and its metadata.

A topic has an encoder of its own, which turns the statements of all publishers into one stream. With each segment of
its `Log` a keyframe begins. So frames are passed to subscribers unchanged, wherever they start.

A topic holds statements or patches. A message of patches is one whole patch, so that a keyframe never stands inside a
transaction and no subscriber starts in one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jelly._bytes.frame_text import message
from jelly._core.base.batch import Batch
from jelly._core.jelly.stream_options import options_row
from jelly._options.options import PatchOptions, StreamOptions
from jelly._streams.frames import FrameDecoder, FrameEncoder, as_frames
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyOptionsError
from jelly.grpc._framing import check_whole
from jelly.grpc._protocol import accept_options, check_content, unpack_options
from jelly.grpc._topic_files import FileLog
from jelly.grpc._topic_log import Limits, Log

NAMESPACES = 2  # the first version with namespaces


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
    owner : str, default ""
        Name of the client that created the topic.
    **limits : Any
        ``keep``, ``keep_bytes`` and ``keep_age``, see `Topics`.

    Examples
    --------
    >>> import jelly
    >>> topic = Topic("news", jelly.StreamOptions.small(physical_type=1), keep=100)
    >>> statements = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> topic.append(next(jelly.scan(statements).batches()))
    >>> topic.end, len(topic.log.read(0)[1])
    (1, 1)
    """

    def __init__(
        self, name: str, options: StreamOptions | PatchOptions | None, *, path: Path | None = None, owner: str = "",
        **limits: Any,
    ) -> None:  # fmt: skip
        self.name: str = name
        self.owner: str = owner
        kept = Limits(**limits)
        self.log: Log = Log(name, kept) if path is None else FileLog(name, kept, path)
        # None before the first publication.
        self.options: StreamOptions | PatchOptions | None = self.log.options or options
        self._lock = threading.Lock()
        self._encoder: FrameEncoder | None = None
        self._watchers: set[Callable[[], None]] = set()

    @property
    def first(self) -> int:
        """Number of the oldest message that is kept."""
        return self.log.first

    @property
    def end(self) -> int:
        """Number of the next message."""
        return self.log.end

    @property
    def watchers(self) -> int:
        """Number of functions that wait for messages."""
        return len(self._watchers)

    def offer(self, options: StreamOptions | PatchOptions) -> None:
        """Check the options of a publication, or take them over if it is the first one.

        The topic has them in the version with namespaces, or with frames as patches.
        JellyOptionsError if they do not fit.
        """
        is_patch = isinstance(options, PatchOptions)
        with self._lock:
            if (own := self.options) is not None and self.end:
                check_content(f"topic {self.name!r}", isinstance(own, PatchOptions), is_patch)
                accept_options(own, options)
                return
            # Later publications may have namespaces, and the options of a stream never change.
            self.options = (
                as_frames(options)
                if isinstance(options, PatchOptions)
                else options.replace(stream_name=self.name, version=NAMESPACES)
            )
            self.log.hold(is_patch)

    def append(self, batch: Batch) -> None:
        """Append a Batch with one frame as a message. After an OSError, such as a full disk, it is not in the topic."""
        if len(batch.frames) != 1:
            ends = len(batch.frames)
            raise JellyArgumentError(f"a message is a Batch with the end of one frame, this one has {ends}")
        is_patch = isinstance(self.options, PatchOptions)
        if is_patch:
            check_whole(batch)
        now = time.time()
        with self._lock:
            try:
                frame, is_keyframe = self._encode(batch, now)
                # A patch ends with a row of its own.
                self.log.append(frame, len(batch) - is_patch, is_keyframe, now)
            except BaseException as error:
                # The state of the encoder includes rows that no reader gets, so the next message begins a segment.
                self._encoder = None
                if isinstance(error, OSError):
                    self.log.failure = error.strerror or str(error)
                raise
            self.log.failure = ""
        if self._watchers:
            self._wake()

    def _encode(self, batch: Batch, now: float) -> tuple[bytes, bool]:
        """The frame of a message, and whether it is a keyframe."""
        frame = b"" if self._encoder is None or self.log.begins(now) else self._encoder.encode(batch)
        if frame:  # an empty one would look like the zeros that some file systems leave after a crash
            return frame, False
        if self.options is None:
            raise JellyOptionsError(f"topic {self.name!r} has no stream options yet")
        self._encoder = FrameEncoder(self.options, keyframe=True)
        return self._encoder.encode(batch), True

    def fill(self, items: Iterable[Any], options: StreamOptions | PatchOptions | None = None) -> None:
        """Append many items, see `FrameEncoder`. PatchOptions say that they are patches."""
        decoder = FrameDecoder(patch=isinstance(options, PatchOptions))
        for frame in FrameEncoder(options).encode_many(items):
            batch = decoder.decode(frame)
            if decoder.options is not None and (self.options is None or self.end == 0):
                self.offer(decoder.options)
            self.append(batch)

    def trim(self) -> None:
        """Drop messages that are older than ``keep_age``."""
        with self._lock:
            self.log.trim(time.time())

    def watch(self, wake: Callable[[], None]) -> None:
        """Call a function after each append, in the thread that appends."""
        with self._lock:
            self._watchers.add(wake)

    def unwatch(self, wake: Callable[[], None]) -> None:
        """Stop calling a function, see `watch`."""
        with self._lock:
            self._watchers.discard(wake)

    def _wake(self) -> None:
        for wake in list(self._watchers):
            wake()

    def delete(self) -> None:
        """Delete all messages and files. Subscriptions end with an error, and nothing can be appended any more."""
        with self._lock:
            self.log.delete()
        self._wake()


_SAME = ("name", "patches", "first", "end", "bytes", "statements", "subscribers", "owner")


@dataclass(frozen=True)
class TopicInfo:
    """Metadata of a topic.

    Attributes
    ----------
    name : str
        Name of the topic.
    patches : bool
        Whether it holds patches, not statements.
    first, end : int
        Numbers of the oldest message that is kept, and of the next one.
    bytes : int
        Bytes of the messages that are kept.
    statements : int
        Statements that are kept; of patches operations.
    subscribers : int
        Number of subscribers.
    owner : str
        Name of the client that created the topic, or ``""``.
    keep_bytes : int or None
        Approximate maximum bytes that are kept.
    keep_age : float or None
        Seconds for which messages are kept.
    updated : datetime or None
        Time of the newest message.
    options : StreamOptions, PatchOptions or None
        Options of the stream, from the first message on.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import Broker, Client, Server
    >>> with Server(Broker()) as server, Client(server.address) as client:
    ...     _ = client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    ...     [(info.name, info.first, info.end, info.statements) for info in client.topics()]
    [('news', 0, 1, 1)]
    """

    name: str
    patches: bool = False
    first: int = 0
    end: int = 0
    bytes: int = 0
    statements: int = 0
    subscribers: int = 0
    owner: str = ""
    keep_bytes: int | None = None
    keep_age: float | None = None
    updated: datetime | None = None
    options: StreamOptions | PatchOptions | None = None


def info_of(topic: Topic) -> TopicInfo:
    """The metadata of a topic."""
    return TopicInfo(
        topic.name,
        isinstance(topic.options, PatchOptions),
        topic.first,
        topic.end,
        topic.log.size,
        topic.log.statements,
        topic.watchers,
        topic.owner,
        topic.log.limits.keep_bytes,
        topic.log.limits.keep_age,
        datetime.fromtimestamp(topic.log.updated, timezone.utc) if topic.log.updated else None,
        topic.options,
    )


def pack_info(info: TopicInfo) -> bytes:
    """A TopicInfo message."""
    packed: bytes = _fill(message("jelly.v1.TopicInfo"), info).SerializeToString()
    return packed


def _fill(made: Any, info: TopicInfo) -> Any:
    for name in _SAME:
        setattr(made, name, getattr(info, name))
    made.keep_bytes = info.keep_bytes or 0
    made.keep_seconds = round(info.keep_age or 0)
    made.updated = round(info.updated.timestamp() * 1000) if info.updated is not None else 0
    if info.options is not None:
        options = made.patch_options if isinstance(info.options, PatchOptions) else made.options
        options.MergeFromString(options_row(info.options))
    return made


def unpack_info(data: bytes) -> TopicInfo:
    """The TopicInfo of a message.

    >>> info = TopicInfo("news", True, 300, 700, keep_bytes=1 << 40, owner="ann", options=PatchOptions(stream_type=1))
    >>> unpack_info(pack_info(info)) == info
    True
    """
    return _read(message("jelly.v1.TopicInfo", data))


def _read(sent: Any) -> TopicInfo:
    options = None
    for field in ("options", "patch_options"):
        if sent.HasField(field):
            with contextlib.suppress(JellyError):  # those that no writer may choose
                options = unpack_options(getattr(sent, field).SerializeToString(), field == "patch_options")
    try:
        updated = datetime.fromtimestamp(sent.updated / 1000, timezone.utc) if sent.updated else None
    except (ValueError, OverflowError, OSError):
        raise JellyFormatError(f"{sent.updated} milliseconds are no time of a topic") from None
    return TopicInfo(
        **{name: getattr(sent, name) for name in _SAME},
        keep_bytes=sent.keep_bytes or None,
        keep_age=float(sent.keep_seconds) or None,
        updated=updated,
        options=options,
    )


def pack_infos(infos: list[TopicInfo]) -> bytes:
    """A TopicList message."""
    made = message("jelly.v1.TopicList")
    for info in infos:
        _fill(made.topics.add(), info)
    packed: bytes = made.SerializeToString()
    return packed


def unpack_infos(data: bytes) -> list[TopicInfo]:
    """The topics of a TopicList message."""
    return [_read(sent) for sent in message("jelly.v1.TopicList", data).topics]
