"""Offset of a streaming query over a directory. It stays small for any number of files.

An offset has the names of the files of its batch, so that the batch is the same if it runs again, and for all files
read so far a hash of eight bytes. If there are too many hashes, files are forgotten that do not exist any
more or are older than ``max_age``. Older files are not read (as in the file source of Spark).
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jelly.errors import JellyError, JellyLimitError
from jelly.spark._parts.files import File

__all__ = ["Seen"]

# Hashes of eight bytes; all of them are 700 KB of base64.
MAX_SEEN = 1 << 16
_HASH = 8


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
