"""The messages of a topic in files: a message log that every reader of Jelly, or of Jelly-Patch, reads.

A file is delimited Jelly, and only ever appended to. Bytes that a crash left after the last complete frame are moved to
another file. With limits for what is kept there is a series of such files, each of which begins with a keyframe and has
the number of its first message in its name (``NAME@00000000000000001234.jelly``; 0 is left out).
"""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from jelly._bytes.part_file import names_to_disk, patiently, to_disk
from jelly._core.base.protobuf import _take_varint
from jelly._core.jelly.frame_reader import DELIMITED, split_frames
from jelly._options.options import PatchOptions, StreamOptions
from jelly._streams.frames import FrameDecoder
from jelly.errors import JellyError, JellyFormatError
from jelly.grpc._protocol import check_whole
from jelly.grpc._topic import Part, Topic

log = logging.getLogger("jelly.grpc")

MAX_LENGTH = 10  # bytes of a varint
SUFFIX, PATCH_SUFFIX = ".jelly", ".jellyp"
NUMBER, DIGITS = "@", 20  # between the name and the number of a file; names have it as %40


@dataclass(slots=True, eq=False)
class FilePart(Part):
    """A file of a topic."""

    path: Path = Path()
    synced: int = 0  # bytes that are on the disk for certain
    is_named: bool = False  # whether the entry of the folder is, too
    handle: Any = None  # while it is appended to

    def open(self) -> None:
        """Open the file to append to it."""
        if self.handle is None:
            self.handle = open(self.path, "ab", buffering=0)  # noqa: SIM115 - closed by close

    def close(self) -> None:
        """Close the file that is appended to."""
        if self.handle is not None:
            self.handle.close()
            self.handle = None


class FileTopic(Topic):
    """The messages of a topic in files of the name ``path``, and those that are there already.

    All of these are decoded, so that subscribers only get frames that a reader accepts.
    """

    parts: list[FilePart]

    def __init__(self, name: str, path: Path, *, owner: str = "", **limits: Any) -> None:
        super().__init__(name, owner=owner, **limits | {"keep": None})
        self.path = path
        found = [(0, path)] if path.exists() else []
        for one in path.parent.glob(f"{escape(path.stem)}{NUMBER}*{path.suffix}"):
            digits = one.stem.partition(NUMBER)[2]
            if digits.isascii() and digits.isdigit():
                found.append((int(digits), one))
        for number, one in sorted(found):
            if self.parts and number > self.end:
                # After a crash of the machine without `sync` the end of a file may be lost while the next one is there.
                log.warning("messages %d to %d of topic %r are lost", self.end, number - 1, name)
                for lost in self.parts:
                    patiently(lost.path.replace, lost.path.with_suffix(".lost"))
                self.parts, self.size = [], 0
            try:
                if self.parts and number < self.end:
                    raise JellyFormatError(f"messages from {number} on are in another file, too")
                self.end = number
                self.parts.append(FilePart(number, path=one))
                self._recover(self.parts[-1])
            except JellyError as error:
                error.source = str(one)
                raise
        if self.parts:
            names_to_disk(path.parent)
            self.parts[-1].is_named = True

    def _recover(self, part: FilePart) -> None:
        decoder = FrameDecoder(patch=part.path.suffix == PATCH_SUFFIX)
        with open(part.path, "r+b") as data:
            size = data.seek(0, os.SEEK_END)
            changed = os.fstat(data.fileno()).st_mtime
            while (at := part.size) < size:
                data.seek(at)
                head = data.read(MAX_LENGTH)
                length, used = _take_varint(head)
                if length < 0 and len(head) == MAX_LENGTH:
                    raise JellyFormatError("not a log of messages", offset=at)
                if length <= 0 or at + used + length > size:
                    torn = part.path.with_suffix(".torn")
                    log.warning("%s: %d bytes after the last whole message are moved to %s", part.path, size - at,
                                torn.name)  # fmt: skip
                    data.seek(at)
                    with open(torn, "wb") as rest:
                        shutil.copyfileobj(data, rest)
                    data.truncate(at)
                    break
                data.seek(at + used)
                frame = data.read(length)
                batch = decoder.decode(frame)
                options = decoder.options
                is_patch = isinstance(options, PatchOptions)
                if is_patch:
                    check_whole(batch)
                if not (options.is_grouped if is_patch else options is not None and options.stream_name == self.name):
                    raise JellyFormatError(f"not a log of the topic {self.name!r}", offset=at)
                if _has_options(frame):
                    part.segments.append((self.end, at))
                self._count(part, used + length, len(batch) - is_patch, changed)
            # A broker that was killed may have left what the system did not write yet.
            to_disk(data.fileno())
        part.synced, part.newest = part.size, changed
        if part.size:
            self.options = decoder.options

    # ---- writing

    def take(self, options: StreamOptions | PatchOptions) -> None:
        super().take(options)
        is_patch = isinstance(options, PatchOptions)
        with self._lock:
            if is_patch != (self.path.suffix == PATCH_SUFFIX):
                self.path = self.path.with_suffix(PATCH_SUFFIX if is_patch else SUFFIX)
                if self.parts:  # an empty one, which has the number of the next message
                    empty = self.parts[0]
                    self._roll()
                    del self.parts[:-1]
                    patiently(empty.path.unlink)

    def _part(self, now: float) -> FilePart:
        part = self.parts[-1] if self.parts else None
        if part is None or self._is_full(part, now):
            part = self._roll()
        part.open()
        return part

    def _roll(self) -> FilePart:
        """Begin a new file, whose name has the number of the next message."""
        last = self.parts[-1] if self.parts else None
        if last is not None and last.handle is not None and last.synced < last.size and not last.torn:
            self._to_disk(last, last.handle.fileno())
        number = f"{NUMBER}{self.end:0{DIGITS}}" if self.end else ""
        part = FilePart(self.end, path=self.path.with_name(f"{self.path.stem}{number}{self.path.suffix}"))
        part.open()
        if last is not None:
            last.close()
            last.frames = []
        self.parts.append(part)
        return part

    def _to_disk(self, part: FilePart, descriptor: int) -> None:
        try:
            to_disk(descriptor)
        except OSError as error:
            # The system may forget what it could not write, and say nothing the next time: that file is left alone.
            part.torn = True
            self.failure = error.strerror or str(error)
            self.lost += 1
            raise

    def _write(self, part: FilePart, data: bytes) -> None:
        try:
            rest = memoryview(data)
            while rest:  # a disk that gets full takes a part; the next attempt raises the reason
                rest = rest[part.handle.write(rest) :]
        except OSError:
            part.torn = True
            part.handle.truncate(part.size)
            part.torn = False
            raise

    # ---- what is kept, and reading

    def _drop(self, part: FilePart) -> bool:
        if len(self.parts) == 1:
            self._roll()
        part.close()
        try:
            part.path.unlink(missing_ok=True)
        except OSError as error:  # on Windows, while a subscriber reads it
            log.warning("%s cannot be deleted yet: %s", part.path, error)
            return False
        return True

    def is_quick(self, number: int) -> bool:
        last = self.parts[-1] if self.parts else None
        return last is None or (len(last.frames) > 0 and number >= last.segments[-1][0])

    def read(self, number: int) -> tuple[int, list[bytes]]:
        try:
            return super().read(number)
        except FileNotFoundError:
            return super().read(number)  # the file was deleted meanwhile, which is said after that

    def _load(self, part: FilePart, begin: int, end: int) -> list[bytes]:
        with open(part.path, "rb") as file:
            file.seek(begin)
            data = file.read(end - begin)
        if len(data) < end - begin:
            raise JellyFormatError("the file became shorter", offset=begin, source=str(part.path))
        return [frame for _, frame in split_frames([data], DELIMITED)]

    # ---- the end

    def sync(self) -> None:
        with self._lock:
            part = self.parts[-1] if self.parts else None
            if part is None or part.handle is None or (part.synced == part.size and part.is_named):
                return
            size = part.size
            copy = os.dup(part.handle.fileno())  # appending goes on meanwhile, and may begin another file
        try:
            self._to_disk(part, copy)
        finally:
            os.close(copy)
        if not part.is_named:
            names_to_disk(part.path.parent)
        part.synced = max(part.synced, size)
        part.is_named = True

    def close(self) -> None:
        try:
            self.sync()
        finally:
            with self._lock:
                for part in self.parts:
                    part.close()

    def _remove(self, part: FilePart) -> None:
        part.close()
        patiently(part.path.unlink, True)


def _has_options(frame: bytes) -> bool:
    """Whether the first row of a frame has the options, which marks a keyframe in a topic."""
    _, used = _take_varint(frame[1 : 1 + MAX_LENGTH])
    return frame[:1] == b"\x0a" == frame[1 + used : 2 + used]
