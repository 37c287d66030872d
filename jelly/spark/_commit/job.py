"""Commits a directory written by a job: its part files appear all at once, or not at all. Independent of Spark.

`Output.begin` prepares the store, where each attempt at a task stages a file of its own. `Output.commit` makes those of
successful attempts visible instead of the old content if the mode is overwrite (`jelly.spark._commit.swap`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from jelly._bytes.names import is_url
from jelly._formats.arrow_input import check_columns
from jelly._formats.arrow_tables import pa
from jelly._options.layouts import Layout
from jelly._streams.output_options import output_options
from jelly.arrow import write_arrow
from jelly.errors import JellyError, JellyOptionsError
from jelly.spark._commit.store import Staged, Store, store_of
from jelly.spark._commit.swap import finish, roll_back, swap, tidy
from jelly.spark._parts.files import local_path

__all__ = ["COMPRESSIONS", "Output", "Written"]

COMPRESSIONS = {"none": "", "gzip": ".gz", "zstd": ".zst"}


@dataclass(frozen=True, slots=True)
class Written:
    """The part file that a task has written, or None if there were no rows."""

    part: int
    file: Staged | None = None
    statements: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """A job that writes a directory. It can be pickled, so that different processes begin, write and commit it.

    ``columns`` are the names of a layout, with ``patch`` those of `jelly.write_arrow` for patches; the part files have
    quads if there is a column of graphs.
    """

    folder: str
    job: str
    columns: tuple[str, ...]
    overwrite: bool = False
    compression: str = "none"
    patch: bool = False
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)
    path: str | None = None  # of the part file of a task, with {part}
    is_new: bool = field(init=False, default=False)  # the directory did not exist

    def __post_init__(self) -> None:
        local = local_path(self.folder)
        if self.compression not in COMPRESSIONS:
            raise JellyOptionsError(f"compression is {self.compression!r}: expected {', '.join(COMPRESSIONS)}")
        remote = is_url(local)
        if not remote and os.path.exists(local) and not os.path.isdir(local):
            raise NotADirectoryError(f"cannot write to {local}: it is a file, expected a directory")
        if "frame" in self.columns:
            raise JellyOptionsError("column 'frame' cannot be written because rows have no order in Spark: drop it")
        object.__setattr__(self, "folder", local)
        object.__setattr__(self, "is_new", not remote and not os.path.isdir(local))
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
        if self.patch:
            # Most tasks write no patches, and each worker imports this module.
            from jelly.patch import StatementType
            from jelly.patch._arrow import write_arrow as write_patches

            kind = StatementType.QUADS if quads else StatementType.TRIPLES
            return write_patches(path, data, layout=self.layout, options={"statement_type": kind}, seekable=True)
        chosen = output_options(None, 4 if quads else 3)
        types = {"physical_type": chosen.physical_type, "logical_type": chosen.logical_type}
        return write_arrow(path, data, layout=self.layout, options=types, seekable=True)

    @property
    def store(self) -> Store:
        """Where the files go."""
        return store_of(self.folder, self.storage)

    def begin(self) -> Output:
        """Let the tasks write, and remove what dead jobs have left. Return the job itself."""
        self.store.begin(self.job)
        tidy(self.store, self.job)
        return self

    def write(self, part: int, attempt: Any, batches: Iterator[pa.RecordBatch]) -> Written:
        """Write the record batches of a task. ``attempt`` distinguishes attempts at the same ``part``."""
        full = (batch for batch in batches if len(batch))
        first = next(full, None)
        if first is None:
            return Written(part)
        return self._stage(part, attempt, pa.RecordBatchReader.from_batches(first.schema, chain([first], full)))

    def _stage(self, part: int, attempt: Any, data: Any) -> Written:
        name = (self.path or f"part-{{part:05}}-{self.job}").format(part=part) + self._suffix
        with self.store.task(self.job, f"{part:05}-{attempt}") as draft:
            path = os.path.join(draft.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            statements = self._write(path, data)
            [file] = draft.stage()
        return Written(part, file, statements)

    def commit(self, written: Iterable[Written]) -> list[str]:
        """Make the part files visible, and no other files. Return their names. Without rows there is one part."""
        files = [task.file for task in written if task.file is not None]
        store = self.store
        if not files:
            # An empty part file shows that the directory is complete and empty.
            names = [name for name in self.columns if name != "patch"]
            empty = self._stage(0, "empty", pa.record_batch([pa.array([], pa.string()) for _ in names], names))
            files = [file for file in (empty.file,) if file is not None]
        if gone := store.missing(files):
            raise JellyError(f"{gone[0].name} was written but is not in {store.url}: all nodes must share it")
        try:
            swap(store, self.job, files, store.content() if self.overwrite else ())
            store.sweep(self.job)
        except BaseException:
            roll_back(store, self.job)
            raise
        finish(store, self.job)
        return [file.name for file in files]

    def abort(self) -> None:
        """Remove the uncommitted files of this job."""
        self.store.sweep(self.job)
        if self.is_new:
            self.store.remove_if_empty()
