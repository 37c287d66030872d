"""Offsets of streaming queries: what a query has read of a directory, and of a Jelly file that grows.

`Seen` is that of a directory. It stays small for any number of files: it has the names of the files of its batch, so
that the batch is the same if it runs again, and for all files read so far a hash of eight bytes. If there are too many
hashes, files are forgotten that do not exist any more or are older than ``max_age``. Older files are not read (as in
the file source of Spark).

`Place` is that of a growing file: a boundary between two frames with the data to start a Decoder there, as JSON: byte
offset, number of the next statement and frame, the saved state, and a checksum of the bytes before it, which shows
whether the file is still the same. Bytes after the last complete frame are read later.
"""

from __future__ import annotations

import base64
import builtins
import hashlib
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jelly._bytes.compression import COMPRESSIONS, suffix_of
from jelly._bytes.source import CHUNK
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._dataset.seekable.keyframes import read_segment
from jelly._formats.index import Index, Keyframe, checksum_ends, chunks_of, first_options
from jelly.errors import JellyError, JellyFormatError, JellyLimitError
from jelly.spark._parts.files import File

__all__ = ["Place", "Seen", "read_between", "scan"]

# Hashes of eight bytes; all of them are 700 KB of base64.
MAX_SEEN = 1 << 16
_HASH = 8
# A place is part of a streaming offset. Spark writes one for every batch and keeps a hundred.
MAX_STATE = 1 << 20
# Minimum bytes of a read, also with a small limit.
MIN_CHUNK = 1 << 12


def _hash(file: File) -> bytes:
    return hashlib.blake2b(file.path.encode("utf-8", "surrogateescape"), digest_size=_HASH).digest()


@dataclass(frozen=True, slots=True)
class Seen:
    """A streaming offset: the number of the ``batch``, its ``files``, the hashes of all files read so far.

    ``newest`` is the latest time of change of all files so far, in seconds since the epoch.
    """

    batch: int = 0
    files: tuple[File, ...] = ()
    hashes: frozenset[bytes] = frozenset()
    newest: float = 0.0

    def json(self) -> dict[str, Any]:
        return {
            "batch": self.batch,
            "files": [[file.path, file.size, file.mtime] for file in self.files],
            "seen": base64.b64encode(b"".join(sorted(self.hashes))).decode(),
            "newest": self.newest,
        }

    @classmethod
    def from_json(cls, offset: dict[str, Any]) -> Seen:
        """Raise JellyError if it is not an offset of this data source."""
        try:
            data = base64.b64decode(offset["seen"])
            hashes = frozenset(data[at : at + _HASH] for at in range(0, len(data), _HASH))
            files = tuple(File(*file) for file in offset["files"])
            return cls(offset["batch"], files, hashes, offset["newest"])
        except (KeyError, TypeError, ValueError):
            raise JellyError(
                "the checkpoint is not one of a query over a directory of Jelly files: use another checkpoint"
            ) from None

    def add(self, listed: Sequence[File], most: int | None, max_age: float = math.inf) -> Seen:
        """The offset after the next batch: the ``most`` oldest unread files of those ``listed`` now.

        Without unread files it is the same offset. JellyLimitError if there are too many files to remember.
        """
        newest = max([self.newest, *(file.mtime for file in listed)])
        current = [file for file in listed if file.mtime >= newest - max_age]
        new = [file for file in current if _hash(file) not in self.hashes]
        new.sort(key=lambda file: (file.mtime, file.path))
        new = new[:most]
        if not new:
            return self
        hashes = self.hashes | {_hash(file) for file in new}
        if len(hashes) > MAX_SEEN:
            hashes &= {_hash(file) for file in current}
        if len(hashes) > MAX_SEEN:
            raise JellyLimitError(
                f"more than {MAX_SEEN} files of the directory were read: move them away, or set maxFileAge"
            )
        return Seen(self.batch + 1, tuple(new), hashes, newest)

    def since(self, start: Seen, listed: Iterable[File]) -> tuple[File, ...]:
        """The files of the batch from ``start`` to this offset. JellyError if one was removed or changed since."""
        if self.batch == start.batch:
            return ()
        if self.batch != start.batch + 1:
            raise JellyError(f"a batch from offset {start.batch} to {self.batch}: the checkpoint is damaged")
        sizes = {file.path: file.size for file in listed}
        for file in self.files:
            size = sizes.get(file.path)
            if size is None:
                raise JellyError("the file is gone, and a batch of the query needs it", source=file.path)
            if size != file.size:
                raise JellyError(
                    f"the file had {file.size} bytes when it was found and has {size} now: files must be complete when "
                    "they appear, so write them under another name and rename them",
                    source=file.path,
                )
        return self.files


@dataclass(frozen=True, slots=True)
class Place:
    """A boundary between two frames of a file: `scan` finds them, `read_between` reads from one to the next."""

    offset: int = 0
    statement: int = 0
    frame: int = 0
    checksum: int = 0
    state: str = ""

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def check(self, file: Any, size: int) -> None:
        """JellyError if the file, which now has ``size`` bytes, is not the file in which this place was found."""
        if size < self.offset:
            raise JellyError(
                f"the file has {size} bytes, and {self.offset} of it were read: it was cut or replaced. A file that is "
                "followed may only grow; start the query anew with another checkpoint",
                source=file.name,
            )
        if self.offset and checksum_ends(file, self.offset) != self.checksum:
            raise JellyError(
                f"the {self.offset} bytes that were read have changed: the file was replaced. A file that is followed "
                "may only grow; start the query anew with another checkpoint",
                source=file.name,
            )


def scan(
    path: str, start: Place, *, most: int | None, step: int, until: int | None = None, **limits: Any
) -> list[Place]:
    """The places up to the last complete frame: ``start``, one about every ``step`` bytes, the last.

    It ends at the first frame that ends ``most`` bytes after ``start`` or later; None reads all there is, but for what
    comes after ``until``. ``limits`` are those of the `Decoder`. JellyError where the file was cut or replaced, is
    compressed or broken.
    """
    places = [start]
    if not start.offset and not os.path.exists(path):
        return places
    with builtins.open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start.check(file, size)
        if start.offset:
            decoder = _decoder(file, start, **limits)
        else:
            _refuse_compressed(file)
            decoder = Decoder(**limits)
        file.seek(start.offset)
        chunk = min(CHUNK, step, max(most or CHUNK, MIN_CHUNK))
        end = math.inf if most is None else start.offset + most
        until = size if until is None else min(until, size)
        try:
            while decoder.offset < end and (data := file.read(max(min(chunk, until - file.tell()), 0))):
                for _ in decoder.feed(data):
                    pass
                if decoder.delimited is False:
                    raise JellyError("the file is one bare frame: only a delimited stream can be followed")
                if decoder.options is not None and decoder.offset - places[-1].offset >= step:
                    places.append(_place(file, decoder))
            if decoder.options is not None and decoder.offset > places[-1].offset:
                places.append(_place(file, decoder))
        except JellyError as error:
            error.source = error.source or path
            raise
    return places


def read_between(path: str, start: Place, end: Place, **limits: Any) -> Iterator[Batch]:
    """The Batches between two places. JellyError if the file was truncated or replaced."""
    with builtins.open(path, "rb") as file:
        end.check(file, os.fstat(file.fileno()).st_size)
        first, last = (Keyframe(place.offset, place.statement, place.frame) for place in (start, end))
        index = Index(
            first_options(file), (first,), end.statement, end.frame, end.offset, lambda _: _unpacked(start, path)
        )
        try:
            yield from read_segment(chunks_of(file), index, (first, last), **limits)
        except JellyError as error:
            error.source = error.source or path
            raise


def _decoder(file: Any, place: Place, **limits: Any) -> Decoder:
    return Decoder(
        delimited=True, options=first_options(file), state=_unpacked(place, file.name), offset=place.offset,
        first_row=place.statement, first_frame=place.frame, **limits,
    )  # fmt: skip


def _place(file: Any, decoder: Decoder) -> Place:
    state = base64.b64encode(zlib.compress(decoder.save(), 6)).decode()
    if len(state) > MAX_STATE:
        raise JellyLimitError(
            f"the decoder's state takes {len(state)} bytes, and a streaming offset may have {MAX_STATE}: follow a "
            "stream with smaller lookup tables, or read a directory of files",
            offset=decoder.offset,
        )
    at = file.tell()
    checksum = checksum_ends(file, decoder.offset)
    file.seek(at)
    return Place(decoder.offset, decoder.statements, decoder.frames, checksum, state)


def _unpacked(place: Place, path: str) -> bytes:
    try:
        return zlib.decompress(base64.b64decode(place.state))
    except (ValueError, zlib.error):
        raise JellyFormatError("the saved state in the streaming offset is damaged", source=path) from None


def _refuse_compressed(file: Any) -> None:
    head = file.read(max(map(len, COMPRESSIONS.values())))
    if suffix_of(head):
        raise JellyError("the file is compressed: only a plain one can be followed", source=file.name)
