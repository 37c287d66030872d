"""Random access to a Jelly-Patch file with an index."""

from __future__ import annotations

from collections.abc import Iterator

from jelly._core.base.batch import Batch
from jelly._dataset.seekable.file import IndexedFile
from jelly._options.options import PatchOptions
from jelly._options.settings import checked
from jelly.patch._patch import Patch, split_patches


class PatchFile(IndexedFile[Patch]):
    """A Jelly-Patch file with random access, as `jelly.open` returns it.

    Use it in a ``with`` statement or close it. ``len(file)`` is the number of patches, ``file[i]`` one patch and
    ``file[a:b]`` the list of patches of a slice. Reading starts at the keyframe before it.

    Examples
    --------
    >>> import os, tempfile
    >>> import jelly
    >>> from jelly.patch import Commit, Patch, PatchWriter, Start
    >>> path = os.path.join(tempfile.mkdtemp(), "log.jellyp")
    >>> with PatchWriter(path, seekable=True) as writer:
    ...     for _ in range(1000):
    ...         writer.write(Patch([Start(), Commit()]))
    >>> with jelly.open(path) as file:
    ...     len(file), file.operations, file[500], len(file[998:])
    (1000, 2000, <jelly.patch.Patch: 2 operations>, 2)
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
        """The number of operations in all patches, including headers and transaction marks."""
        return self.index.statements - self.index.place // 4

    def __iter__(self) -> Iterator[Patch]:
        return split_patches(self.batches(), lambda: self.options.is_flat)

    @checked()
    def patches(self, start: int = 0, stop: int | None = None) -> Iterator[Patch]:
        """Iterate over the patches ``start`` to ``stop`` (not included; by default the end of the file)."""
        def make(batches: Iterator[Batch], first: int) -> Iterator[Patch]:
            return split_patches(batches, lambda: self.options.is_flat)

        return self._numbered("place", 4, start, stop, len(self), make)

    def _between(self, start: int, stop: int) -> Iterator[Patch]:
        return self.patches(start, stop)
