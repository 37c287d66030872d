"""Commits what a job has written: its part files appear all at once, or not at all. Independent of Spark.

`Output.begin` prepares the store, where each attempt at a task stages a file of its own. `Output.commit` makes those of
successful attempts visible instead of the old content if the mode is overwrite (`jelly.spark._store`).

Each batch of a streaming query is a directory ``batch=<number>``, see `commit_batch`. Its ``_SUCCESS`` has the batch's
number, query, files and statements as JSON. A batch that is run again after a crash finds it and is skipped. In a local
directory the batch appears with one rename. In an object store its files appear one by one, hidden from readers of this
package, and ``_SUCCESS`` is the last of them.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from uuid import uuid4

from jelly._bytes.names import is_url
from jelly._formats.arrow_input import check_columns
from jelly._formats.arrow_tables import pa
from jelly._options.layouts import Layout
from jelly._options.options import PhysicalType, StatementType
from jelly.arrow import write_arrow
from jelly.errors import JellyError, JellyOptionsError
from jelly.spark._parts import Rows
from jelly.spark._parts.files import Storage, local_path
from jelly.spark._store import (
    SUCCESS,
    TEMPORARY,
    Json,
    Staged,
    Store,
    UrlStore,
    finish,
    made_path,
    marker_of,
    roll_back,
    store_of,
    swap,
    tidy,
)

COMPRESSIONS = {"none": "", "gzip": ".gz", "zstd": ".zst"}


@dataclass(frozen=True, slots=True)
class Written:
    """The part file that a task has written, or None if there were no rows."""

    part: int
    file: Staged | None = None
    statements: int = 0


@dataclass(slots=True)
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
    storage: Storage = field(default_factory=dict, repr=False)
    path: str | None = None  # of the part file of a task, with {part}
    is_new: bool = field(init=False)  # the directory did not exist
    layout: Layout = field(init=False)  # of the columns

    def __post_init__(self) -> None:
        self.folder = local = local_path(self.folder)
        if self.compression not in COMPRESSIONS:
            raise JellyOptionsError(f"compression is {self.compression!r}: expected {', '.join(COMPRESSIONS)}")
        # Other tasks may make it meanwhile: what is there is a directory or not, what is not there may come.
        self.is_new = not is_url(local) and not os.path.exists(local)
        if not (is_url(local) or self.is_new or os.path.isdir(local)):
            raise NotADirectoryError(f"cannot write to {local}: it is a file, expected a directory")
        if "frame" in self.columns:
            raise JellyOptionsError("column 'frame' cannot be written because rows have no order in Spark: drop it")
        self.layout = check_columns(list(self.columns), patch=self.patch)

    @property
    def store(self) -> Store:
        """Where the files go."""
        return store_of(self.folder, self.storage)

    def begin(self) -> Output:
        """Let the tasks write, and remove what dead jobs have left. Return the job itself."""
        self.store.begin(self.job)
        tidy(self.store, self.job)
        return self

    def write(self, part: int, attempt: Any, batches: Rows) -> Written:
        """Write the record batches of a task. ``attempt`` distinguishes attempts at the same ``part``."""
        full = (batch for batch in batches if len(batch))
        first = next(full, None)
        if first is None:
            return Written(part)
        return self._stage(part, attempt, pa.RecordBatchReader.from_batches(first.schema, chain([first], full)))

    def _stage(self, part: int, attempt: Any, data: Any) -> Written:
        name = (self.path or f"part-{{part:05}}-{self.job}").format(part=part)
        name += (".jellyp" if self.patch else ".jelly") + COMPRESSIONS[self.compression]
        attempt = f"{part:05}-{attempt}"
        with self.store.task(self.job, attempt) as folder:
            path = made_path(folder, name)
            has_graphs = bool({"g", "graph"} & set(self.columns))
            options: dict[str, Any] = {"statement_type": StatementType.QUADS if has_graphs else StatementType.TRIPLES}
            if not self.patch:
                options = {"physical_type": PhysicalType.QUADS if has_graphs else PhysicalType.TRIPLES}
            statements = write_arrow(
                path, data, layout=self.layout, options=options, seekable=True,
                content="patches" if self.patch else "statements",
            )  # fmt: skip
            [file] = self.store.stage(self.job, attempt, folder)
        return Written(part, file, statements)

    def commit(self, written: Iterable[Written]) -> None:
        """Make the part files visible, and no other files. Without rows there is one part."""
        files = _files_of(written)
        store = self.store
        if not files:
            # An empty part file shows that the directory is complete and empty.
            names = [name for name in self.columns if name != "patch"]
            nothing = pa.record_batch([pa.array([], pa.string()) for _ in names], names)
            files = _files_of([self._stage(0, "empty", nothing)])
        store.check(files)
        try:
            swap(store, self.job, files, store.content() if self.overwrite else ())
            store.sweep(self.job)
        except BaseException:
            roll_back(store, self.job)
            raise
        finish(store, self.job)

    def abort(self) -> None:
        """Remove the uncommitted files of this job."""
        self.store.sweep(self.job)
        if self.is_new:
            with suppress(OSError):  # it has other files
                os.rmdir(self.folder)


def _files_of(written: Iterable[Written]) -> list[Staged]:
    return [task.file for task in written if task.file is not None]


# ---- batches of a streaming query

def job_of(query: str, batch: int | str) -> str:
    """The name of the job of a batch."""
    return f"{query}-{batch}"


def part_of(batch: int | str) -> str:
    """The names of the files of a batch, but for their suffix."""
    return f"batch={batch}/part-{{part:05}}"


def commit_batch(store: Store, batch: int, query: str, written: Sequence[Written]) -> bool:
    """Publish the files of the tasks. False if the batch exists already; then nothing is changed.

    ``query`` is "" if there were no tasks. JellyError if another query has written a batch of this number.
    """
    new = not _exists(store, batch, query)
    if new:
        tasks = sorted(written, key=lambda task: task.part)
        files = _files_of(tasks)
        store.check(files)
        report = {
            "batch": batch, "query": query, "files": [os.path.basename(file.name) for file in files],
            "statements": sum(task.statements for task in tasks),
        }  # fmt: skip
        if not isinstance(store, UrlStore):
            new = _rename(store, batch, query, files, report)
        else:
            success = f"batch={batch}/{SUCCESS}"
            # What a crash in this place has left, while its marker still hides it.
            store.delete([name for name in store.files() if name.startswith(f"batch={batch}/")])
            swap(store, job_of(query, batch), files, success=success)
            store.write_json(success, report)
    store.delete([marker_of(job_of(query, batch))])
    abort_batch(store, batch)
    return new


def _exists(store: Store, batch: int, query: str) -> bool:
    """Whether a batch was committed. JellyError if by another query: the statements of this one would be lost."""
    where = f"{store.url}/batch={batch}"
    try:
        report = store.read_json(f"batch={batch}/{SUCCESS}")
        other = None if report is None else report["query"]
    except (ValueError, KeyError, TypeError):
        other, report = None, {}
    if other is None and (report is not None or not isinstance(store, UrlStore) and os.path.lexists(where)):
        raise JellyError(f"the directory is in the way: it has no {SUCCESS} of a streaming query", source=where)
    if other and query and other != query:
        raise JellyError(
            f"the batch was written by another query, {other}: give each query a directory of its own, and a new "
            "directory to a query with a new checkpoint",
            source=where,
        )
    return report is not None


def _rename(store: Store, batch: int, query: str, files: Sequence[Staged], report: Json) -> bool:
    """Move the files into a directory that gets its name at once. False if another driver was first."""
    stage = f"{TEMPORARY}/{job_of(query, batch)}/commit-{uuid4().hex}"
    moved = [Staged(f"{stage}/{os.path.basename(file.name)}", file.size, file.place) for file in files]
    store.publish(moved)
    store.write(f"{stage}/{SUCCESS}", (json.dumps(report, indent=1) + "\n").encode())
    try:
        os.rename(os.path.join(store.path, stage), os.path.join(store.path, f"batch={batch}"))
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return not _exists(store, batch, query)
    return True


def abort_batch(store: Store, batch: int) -> None:
    """Remove files of tasks of this batch, also those of killed drivers."""
    for job in store.jobs():
        if job.removesuffix(".gone").endswith(f"-{batch}"):
            store.sweep(job)
