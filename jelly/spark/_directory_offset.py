"""Offset of a streaming query over a directory; it stays small, whatever the number of files.

An offset has the files of its own batch by name, so that a batch is the same when it is run again, and of all files
read so far eight bytes each. Files are forgotten only where that becomes much, and only those that are not there any
more or are older than ``max_age``; what is older than that is not read (as with Spark's own file source).
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jelly.errors import JellyError, JellyLimitError
from jelly.spark._partitions import File

__all__ = ["Seen"]

# Eight bytes each make 700 KB of base64.
MAX_SEEN = 1 << 16
_HASH = 8


def _hash(file: File) -> bytes:
    return hashlib.blake2b(file.path.encode("utf-8", "surrogateescape"), digest_size=_HASH).digest()


@dataclass(frozen=True, slots=True)
class Seen:
    """A streaming offset: the number of the ``batch``, its ``files``, the hashes of all files read so far.

    ``newest`` is the latest time of change of a file so far, in seconds since the epoch.
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
        """The offset after the next batch: of what is ``listed`` now the ``most`` oldest files that were not read yet.

        It is the same one where there are none. JellyLimitError where there are too many files to keep in mind.
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
        """The files of the batch from ``start`` to here. JellyError where one is gone or has changed since."""
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
