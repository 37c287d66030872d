"""``jelly.patch.open``: a Jelly-Patch file with an index as a sequence of patches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from jelly._formats.registry import SEEKING
from jelly._io.settings import checked
from jelly._options import PatchOptions
from jelly._seekable.file import IndexedFile
from jelly.patch._stream import Patch, split_patches

__all__ = ["PatchFile", "open"]


class PatchFile(IndexedFile[Patch]):
    """A Jelly-Patch file of which any part can be read at once. Made by `jelly.patch.open`; close it or use ``with``.

    ``len(file)`` is the number of patches, ``file[i]`` one of them, whole wherever keyframes stand, ``file[a:b]`` the
    list of a slice. Reading starts at the keyframe before it. ``file.batches(threads)`` are those of `PatchReader`,
    decoded by some threads. ``opener`` opens the file and its sidecar, where these are not local.
    """

    _patch = True
    _item = "patch"

    def __len__(self) -> int:
        return self.index.patches

    def __repr__(self) -> str:
        return f"<jelly.patch.PatchFile {self.path}: {len(self)} patches, {self.operations} operations>"

    @property
    def options(self) -> PatchOptions:
        """The options of the stream."""
        options: PatchOptions = self.index.options
        return options

    @property
    def operations(self) -> int:
        """The number of operations of all patches, headers and transaction marks included."""
        return self.index.statements - self.index.place // 4

    def __iter__(self) -> Iterator[Patch]:
        return split_patches(self.batches(), lambda: self.options.is_flat)

    def patches(self, start: int = 0, stop: int | None = None) -> Iterator[Patch]:
        """The patches ``start`` to ``stop`` one by one."""
        stop = len(self) if stop is None else min(stop, len(self))
        if start >= stop:
            return iter(())
        segments = self.index.segments_from("place", 4 * start)
        first = segments[0][0].place // 4
        patches = split_patches(
            self.run([partial(self._read, segment) for segment in segments]), lambda: self.options.is_flat
        )
        # Up to the end of the file, so that an index that leaves patches out is found.
        return islice(patches, start - first, stop - first if stop < len(self) else None)

    def _between(self, start: int, stop: int) -> Iterator[Patch]:
        return self.patches(start, stop)


@checked(SEEKING)
def open(path: str | os.PathLike[str], **limits: Any) -> PatchFile:
    """Open a Jelly-Patch file for random access by its index, or by the sidecar that ``jelly index`` makes.

    ``limits`` are those of the `Decoder`. JellyError where there is no index, also for compressed files.

    >>> import os, tempfile
    >>> import jelly.patch
    >>> from jelly.patch import Commit, Patch, PatchWriter, Start
    >>> path = os.path.join(tempfile.mkdtemp(), "log.jellyp")
    >>> with PatchWriter(path, seekable=True) as writer:
    ...     for _ in range(1000):
    ...         writer.write(Patch([Start(), Commit()]))
    >>> with jelly.patch.open(path) as file:
    ...     len(file), file.operations, file[500], len(file[998:])
    (1000, 2000, <jelly.patch.Patch: 2 operations>, 2)
    """
    return PatchFile(path, **limits)
