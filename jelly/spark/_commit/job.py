"""Commits a directory written by a job: its part files appear all at once, or not at all. Independent of Spark.

`Output.begin` makes ``_temporary/<job>/``, where each attempt at a task writes a file of its own. `Output.commit`
renames those of successful attempts, removes the old content if the mode is overwrite, and writes
``_SUCCESS``. Tasks create no directories, so that a task that outlives its failed job leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from jelly._formats.arrow_input import check_columns
from jelly._formats.native import default_options
from jelly._io.remote import is_url
from jelly._layouts import Layout
from jelly.arrow import pa, write_arrow
from jelly.errors import JellyError, JellyOptionsError
from jelly.spark._partitions import local_path

__all__ = ["COMPRESSIONS", "SUCCESS", "TEMPORARY", "Output", "Written"]

COMPRESSIONS = {"none": "", "gzip": ".gz", "zstd": ".zst"}

TEMPORARY = "_temporary"
SUCCESS = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class Written:
    """A complete part file: ``file`` is its name in ``_temporary/<job>/``, or "" if there were no rows."""

    file: str
    part: int
    statements: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """A job that writes a directory. It can be pickled, so that different processes begin, write and commit it.

    ``columns`` are the names of a layout, with ``patch`` those of `jelly.patch.write_arrow`; the part files have quads
    if there is a column of graphs.
    """

    folder: str
    job: str
    columns: tuple[str, ...]
    overwrite: bool = False
    compression: str = "none"
    patch: bool = False
    is_new: bool = field(init=False, default=False)  # the directory did not exist

    def __post_init__(self) -> None:
        local = local_path(self.folder)
        if is_url(local):
            raise JellyError(f"cannot write to {self.folder}: expected a local path, or one that is mounted")
        if self.compression not in COMPRESSIONS:
            raise JellyOptionsError(f"compression is {self.compression!r}: expected {', '.join(COMPRESSIONS)}")
        if os.path.exists(local) and not os.path.isdir(local):
            raise NotADirectoryError(f"cannot write to {local}: it is a file, expected a directory")
        if "frame" in self.columns:
            raise JellyOptionsError("column 'frame' cannot be written because rows have no order in Spark: drop it")
        object.__setattr__(self, "folder", local)
        object.__setattr__(self, "is_new", not os.path.isdir(local))
        check_columns(list(self.columns), patch=self.patch)

    @property
    def layout(self) -> Layout:
        """The layout of the columns."""
        return check_columns(list(self.columns), patch=self.patch)

    @property
    def _suffix(self) -> str:
        return (".jellyp" if self.patch else ".jelly") + COMPRESSIONS[self.compression]

    def _write(self, path: str, data: Any) -> int:
        """Write a part file. Return the number of statements."""
        quads = bool({"g", "graph"} & set(self.columns))
        seekable = not COMPRESSIONS[self.compression]
        if self.patch:
            # Most tasks write no patches, and each worker imports this module.
            from jelly.patch import StatementType
            from jelly.patch import write_arrow as write_patches

            kind = StatementType.QUADS if quads else StatementType.TRIPLES
            return write_patches(path, data, {"statement_type": kind}, layout=self.layout, seekable=seekable)
        chosen = default_options(4 if quads else 3)
        types = {"physical_type": chosen.physical_type, "logical_type": chosen.logical_type}
        return write_arrow(path, data, layout=self.layout, options=types, seekable=seekable)

    @property
    def _work(self) -> str:
        return os.path.join(self.folder, TEMPORARY, self.job)

    def begin(self) -> Output:
        """Create the directory for the tasks. Return the job itself."""
        os.makedirs(self._work, exist_ok=True)
        return self

    def write(self, part: int, attempt: Any, batches: Iterator[pa.RecordBatch]) -> Written:
        """Write the record batches of a task. ``attempt`` distinguishes attempts at the same ``part``."""
        full = (batch for batch in batches if len(batch))
        first = next(full, None)
        if first is None:
            return Written("", part)
        if not os.path.isdir(self._work):
            why = f"{self.folder} must be a directory that all nodes share, or the job was given up"
            raise JellyError(f"{self._work} is not here: {why}")
        name = f"part-{part:05}-{attempt}{self._suffix}"
        path = os.path.join(self._work, name)
        stream = pa.RecordBatchReader.from_batches(first.schema, chain([first], full))
        return Written(name, part, self._write(path, stream), os.path.getsize(path))

    def commit(self, written: Iterable[Written]) -> list[str]:
        """Make the part files visible, and no other files. Return their paths. Without rows there is one part."""
        parts = [part for part in written if part.file]
        if not parts:
            # An empty part file shows that the directory is complete and empty.
            names = [name for name in self.columns if name != "patch"]
            empty = pa.record_batch([pa.array([], pa.string()) for _ in names], names)
            parts = [Written(f"part-00000-empty{self._suffix}", 0)]
            self._write(os.path.join(self._work, parts[0].file), empty)
        old = [entry.path for entry in os.scandir(self.folder) if not entry.name.startswith(("_", "."))]
        success = os.path.join(self.folder, SUCCESS)
        moved: list[str] = []
        try:
            for part in parts:
                head, dot, suffix = part.file.partition(".")
                path = os.path.join(self.folder, f"{head.rpartition('-')[0]}-{self.job}{dot}{suffix}")
                os.rename(os.path.join(self._work, part.file), path)
                moved.append(path)
        except BaseException as error:
            _remove(moved)
            if isinstance(error, FileNotFoundError):
                raise JellyError(
                    f"{part.file} was written but is not here: {self.folder} must be a directory that all nodes share"
                ) from None
            raise
        if self.overwrite:
            # The old content is removed last, so that at any time the old or the new content exists.
            with contextlib.suppress(FileNotFoundError):
                os.remove(success)
            _remove(old)
        self.abort()
        with open(success, "wb"):
            pass
        return moved

    def abort(self) -> None:
        """Remove the uncommitted files of this job."""
        gone = f"{self._work}.gone"
        with contextlib.suppress(FileNotFoundError):
            # After the renaming no task writes more into it.
            os.rename(self._work, gone)
        shutil.rmtree(gone, ignore_errors=True)
        # Directories with other content stay: files of another job, the data.
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(self.folder, TEMPORARY))
            if self.is_new:
                os.rmdir(self.folder)


def _remove(paths: Sequence[str]) -> None:
    for path in paths:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
