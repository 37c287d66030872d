"""Commits batches of a streaming query: each batch is a directory ``batch=<number>`` that readers see whole, or not.

Its ``_SUCCESS`` has the batch's number, query, files and statements as JSON. A batch that is run again after a crash
finds it and is skipped. In a local directory the batch appears with one rename. In an object store its files appear one
by one, hidden from readers of this package (`jelly.spark._commit.swap`), and ``_SUCCESS`` is the last of them.
Independent of Spark.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from jelly.errors import JellyError
from jelly.spark._commit.job import Written
from jelly.spark._commit.store import SUCCESS, TEMPORARY, LocalStore, Staged, Store
from jelly.spark._commit.swap import marker_of, swap

__all__ = ["abort_batch", "commit_batch", "job_of", "part_of"]


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
        files = [task.file for task in tasks if task.file is not None]
        if gone := store.missing(files):
            raise JellyError("what a task wrote is not there: driver and workers must share the store",
                             source=f"{store.url}/{gone[0].place}")  # fmt: skip
        report = {
            "batch": batch, "query": query, "files": [os.path.basename(file.name) for file in files],
            "statements": sum(task.statements for task in tasks),
        }  # fmt: skip
        if isinstance(store, LocalStore):
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
    if other is None and (report is not None or isinstance(store, LocalStore) and os.path.lexists(where)):
        raise JellyError(f"the directory is in the way: it has no {SUCCESS} of a streaming query", source=where)
    if other and query and other != query:
        raise JellyError(
            f"the batch was written by another query, {other}: give each query a directory of its own, and a new "
            "directory to a query with a new checkpoint",
            source=where,
        )
    return report is not None


def _rename(store: LocalStore, batch: int, query: str, files: Sequence[Staged], report: dict[str, Any]) -> bool:
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
