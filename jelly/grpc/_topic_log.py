"""Where the messages of a topic are: a `Log`, which keeps them in memory, and the methods that every store has.

A log has its messages in **parts**, which are kept or dropped as a whole, and in each part one **segment** or several.
A segment begins with a keyframe, which repeats the stream options. So a reader can start at any segment, or continue
from the one before.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from jelly._core.base.protobuf import _put_varint
from jelly._options.settings import checked
from jelly.errors import JellyError

SEGMENT_MESSAGES = 256
SEGMENT_BYTES = 1 << 20
# A log with limits has about this many parts, of at most so many bytes; the oldest is dropped as a whole.
PARTS = 8
PART_BYTES = 64 << 20


class Missed(JellyError, LookupError):
    """Messages that a subscriber asked for are no longer kept, or never existed."""


class Deleted(JellyError, LookupError):
    """The topic was deleted."""


class Limits:
    """About how many messages of a topic are kept (in memory), bytes, and seconds; None for any."""

    @checked()
    def __init__(
        self, *, keep: int | None = None, keep_bytes: int | None = None, keep_age: float | None = None
    ) -> None:
        self.keep: int | None = keep
        self.keep_bytes: int | None = keep_bytes
        self.keep_age: float | None = keep_age


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


class Log:
    """The messages of a topic by number, in memory. One thread appends and trims at a time; any thread may read.

    Another store has these methods and attributes: ``first`` and ``end`` (the numbers of the oldest message that is
    kept and of the next one), `hold`, `begins`, `append`, `is_quick`, `read`, `trim` (which drops what the ``limits``
    do not keep), `sync`, `close` and `delete`; ``size`` and ``statements`` of what is kept, ``updated`` (the time of
    the newest message), the ``options`` of the stream that it had before, ``failure`` and ``lost``.
    """

    options: Any = None
    failure: str = ""  # of the last write
    lost: int = 0  # times that what was written could not be put on the disk

    def __init__(self, name: str, limits: Limits) -> None:
        self.name: str = name
        self.limits: Limits = limits
        self.end: int = 0
        self.size: int = 0
        self.statements: int = 0
        self.updated: float = 0.0  # in seconds since 1970; 0.0 if there is no message
        self.parts: list[Any] = []
        self._lock = threading.Lock()
        self._is_deleted = False

    @property
    def first(self) -> int:
        """Number of the oldest message that is kept."""
        return self.parts[0].first if self.parts else self.end

    # ---- writing

    def hold(self, patches: bool) -> None:
        """Get ready for statements or patches, while there are no messages."""

    def begins(self, now: float) -> bool:
        """Whether the next message must begin a segment."""
        if not self.parts or not (segments := (last := self.parts[-1]).segments):
            return True
        number, offset = segments[-1]
        if self.end - number >= SEGMENT_MESSAGES or last.size - offset >= SEGMENT_BYTES:
            return True
        return self._is_full(last, now)

    def append(self, frame: bytes, statements: int, is_keyframe: bool, now: float) -> None:
        """Append a message. After an OSError, such as a full disk, it is not in the log."""
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

    def _count(self, part: Part, size: int, statements: int, now: float) -> None:
        """Count a message."""
        part.size += size
        part.statements += statements
        part.newest = self.updated = now
        self.size += size
        self.statements += statements
        self.end += 1

    def _part(self, now: float) -> Part:
        """The part that a new segment goes to."""
        part = Part(self.end)
        self.parts.append(part)
        return part

    def _write(self, part: Any, data: bytes) -> None:
        """Write the length and the frame of a message."""

    # ---- what is kept

    def _is_full(self, part: Part, now: float) -> bool:
        """Whether a part is damaged, or large or old enough to be dropped as a whole."""
        limits = self.limits
        if part.torn or part.size == 0:
            return part.torn
        if limits.keep_bytes is not None and part.size >= min(PART_BYTES, limits.keep_bytes // PARTS):
            return True
        return limits.keep_age is not None and now - part.began >= limits.keep_age / PARTS

    def trim(self, now: float) -> None:
        """Drop messages that are not kept."""
        with self._lock:
            self._trim(now)

    def _trim(self, now: float) -> None:
        while self.parts and self._is_over(self.parts[0], now) and self._drop(self.parts[0]):
            part = self.parts.pop(0)
            self.size -= part.size
            self.statements -= part.statements

    def _is_over(self, oldest: Part, now: float) -> bool:
        """Whether the oldest part is to be dropped; of one that is alone only its age counts."""
        limits = self.limits
        if limits.keep_age is not None and oldest.size and oldest.newest < now - limits.keep_age:
            return True
        if len(self.parts) == 1:
            return False
        if limits.keep is not None and self.end - self.parts[1].first >= limits.keep:
            return True
        return limits.keep_bytes is not None and self.size > limits.keep_bytes

    def _drop(self, part: Any) -> bool:
        """Release what a part holds; False if that cannot be done yet."""
        return True

    # ---- reading

    def is_quick(self, number: int) -> bool:
        """Whether `read` takes the message from memory."""
        return True

    def read(self, number: int) -> tuple[int, list[bytes]]:
        """Read the segment that contains a message: number of its first message, which is a keyframe, and frames.

        There are none if ``number`` is the next message. Missed if it is no longer kept, or was not published.
        """
        with self._lock:
            if self._is_deleted:
                raise self._deleted()
            if number == self.end:
                return number, []
            if number > self.end:
                raise Missed(f"topic {self.name!r} has messages up to {self.end - 1}, {number} was asked for")
            if number < self.first:
                raise Missed(f"topic {self.name!r} keeps messages from {self.first} on, {number} is gone")
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

    def close(self) -> None:
        """Put all messages on the disk, and close the files."""

    def delete(self) -> None:
        """Drop all messages for good. Reading and appending are errors from now on."""
        with self._lock:
            self._is_deleted = True
            for part in self.parts:  # the oldest first: what a crash leaves is the end of the topic
                self._remove(part)
            self.parts = []
            self.size = self.statements = 0

    def _remove(self, part: Any) -> None:
        """Remove a part with its file."""
