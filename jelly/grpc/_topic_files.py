"""The files of a topic: its segments, and their recovery at the start of a broker."""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jelly._bytes.part_file import patiently, to_disk
from jelly._core.base.protobuf import _take_varint
from jelly._options.options import PatchOptions
from jelly._streams.frames import FrameDecoder
from jelly.errors import JellyError, JellyFormatError
from jelly.grpc._framing import check_whole

__all__ = ["NUMBER", "PATCH_SUFFIX", "SUFFIX", "Recovery", "Segment", "TopicFile", "fsync_names"]

log = logging.getLogger("jelly.grpc")

MAX_LENGTH = 10  # bytes of a varint
SUFFIX, PATCH_SUFFIX = ".jelly", ".jellyp"
NUMBER = "@"  # between the name and the number of a file; names have it as %40


@dataclass(slots=True, eq=False)
class TopicFile:
    """A file of a topic, with the messages from ``first`` on."""

    path: Path
    first: int
    size: int = 0
    synced: int = 0  # bytes that are on the disk for certain
    is_named: bool = False  # whether the entry of the folder is, too
    began: float = 0.0  # time of the first message, 0.0 if it is not known
    newest: float = 0.0  # time of the last message
    torn: bool = False  # whether nothing may be appended after an error
    handle: Any = None  # while it is appended to

    def close(self) -> None:
        """Close the file that is appended to."""
        if self.handle is not None:
            self.handle.close()
            self.handle = None


@dataclass(slots=True, eq=False)
class Segment:
    """Messages from ``first`` on, the first of them a keyframe. In a file they begin at byte ``offset``."""

    first: int
    began: float
    file: TopicFile | None = None
    offset: int = 0
    count: int = 0
    size: int = 0  # bytes, with the lengths
    statements: int = 0
    newest: float = 0.0
    frames: list[bytes] | None = field(default_factory=list)  # None: only in the file

    def add(self, size: int, statements: int) -> None:
        """Count a message."""
        self.count += 1
        self.size += size
        self.statements += statements


class Recovery:
    """The files, segments and options of a stored topic.

    Bytes of a file after its last complete frame are moved to another one. All frames are decoded, so that subscribers
    only get frames that a reader accepts.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.files: list[TopicFile] = []
        self.segments: list[Segment] = []
        self.options: Any = None
        self.next = 0  # number of the next message
        self.updated = 0.0
        found: list[tuple[int, Path]] = []
        for one in path.parent.iterdir() if path.parent.exists() else ():
            stem, _, digits = one.stem.partition(NUMBER)
            is_number = digits.isascii() and digits.isdigit()
            if one.suffix == path.suffix and stem == path.stem and (is_number or one == path):
                found.append((int(digits or 0), one))
        for number, one in sorted(found):
            if self.files and number != self.next:
                # After a crash of the machine without `sync` the end of a file may be lost while the next one is there.
                if number < self.next:
                    raise JellyFormatError(f"messages from {number} on are in another file, too", source=str(one))
                log.warning("messages %d to %d of topic %r are lost", self.next, number - 1, name)
                for lost in self.files:
                    patiently(lost.path.replace, lost.path.with_suffix(".lost"))
                self.files, self.segments = [], []
            self.next = number
            self.files.append(TopicFile(one, number))
            self._read(self.files[-1])
        if self.files:
            fsync_names(path.parent)
            self.files[-1].is_named = True

    def _read(self, file: TopicFile) -> None:
        path = file.path
        decoder = FrameDecoder(patch=path.suffix == PATCH_SUFFIX)
        at = 0
        with open(path, "r+b") as data:
            size = data.seek(0, os.SEEK_END)
            changed = os.fstat(data.fileno()).st_mtime
            while at < size:
                data.seek(at)
                head = data.read(MAX_LENGTH)
                length, used = _take_varint(head)
                if length < 0 and len(head) == MAX_LENGTH:
                    raise JellyFormatError("not a log of messages", offset=at, source=str(path))
                if length <= 0 or at + used + length > size:
                    break
                data.seek(at + used)
                self._take(decoder, data.read(length), file, at, used + length)
                at += used + length
            if at < size:
                torn = path.with_suffix(".torn")
                log.warning("%s: %d bytes after the last whole message are moved to %s", path, size - at, torn.name)
                data.seek(at)
                with open(torn, "wb") as rest:
                    shutil.copyfileobj(data, rest)
                data.truncate(at)
            # A broker that was killed may have left what the system did not write yet.
            to_disk(data.fileno())
        file.size = file.synced = at
        file.newest = changed
        if at:
            self.options = decoder.options
            self.updated = changed

    def _take(self, decoder: FrameDecoder, frame: bytes, file: TopicFile, at: int, size: int) -> None:
        try:
            batch = decoder.decode(frame)
            options = decoder.options
            is_patch = isinstance(options, PatchOptions)
            if is_patch:
                check_whole(batch)
            is_own = options.is_grouped if is_patch else options is not None and options.stream_name == self.name
        except JellyError as error:
            error.source = str(file.path)
            raise
        if not is_own:
            raise JellyFormatError(f"not a log of the topic {self.name!r}", offset=at, source=str(file.path))
        if _has_options(frame):
            self.segments.append(Segment(self.next, 0.0, file, at, frames=None))
        self.segments[-1].add(size, len(batch) - is_patch)
        self.next += 1


def fsync_names(folder: Path) -> None:
    """Write the entries of a folder to the disk, where that can be done."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            to_disk(descriptor)
        finally:
            os.close(descriptor)


def _has_options(frame: bytes) -> bool:
    """Whether the first row of a frame has the options, which marks a keyframe in a topic."""
    _, used = _take_varint(frame[1 : 1 + MAX_LENGTH])
    return frame[:1] == b"\x0a" == frame[1 + used : 2 + used]
