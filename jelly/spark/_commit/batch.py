"""Commits batches of a streaming query: each batch is a directory that appears with one rename.

Tasks write to ``_temporary/<query>-<batch>/``. The commit moves the files that the tasks named into a directory of its
own there, adds ``_SUCCESS`` with the batch's number, query, files and statements as JSON, and renames the directory to
``batch=<number>``. Readers never see half a batch; a batch that is run again after a crash finds its directory and is
skipped. Independent of Spark.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from jelly.errors import JellyError
from jelly.spark._commit.job import SUCCESS, TEMPORARY, Written

__all__ = ["abort_batch", "commit_batch", "job_of"]


def job_of(query: str, batch: int | str) -> str:
    """The name of the directory for the tasks of a batch."""
    return f"{query}-{batch}"


def commit_batch(out: str, batch: int, query: str, written: Sequence[Written]) -> bool:
    """Publish the files of the tasks. False if the batch exists already; then nothing is changed.

    ``query`` is "" if there were no tasks. JellyError if another query has written a batch of this number.
    """
    target = Path(out, f"batch={batch}")
    new = not target.exists()
    if new:
        stage = Path(out, TEMPORARY, f"commit-{uuid4().hex}-{batch}")
        stage.mkdir(parents=True)
        files = []
        for task in sorted(written, key=lambda task: task.part):
            if task.file:
                path = Path(out, TEMPORARY, job_of(query, batch), task.file)
                name = f"part-{task.part:05}{''.join(path.suffixes)}"
                try:
                    os.rename(path, stage / name)
                except FileNotFoundError:
                    raise JellyError(
                        "what a task wrote is not there: driver and workers must share the file system",
                        source=str(path),
                    ) from None
                files.append(name)
        statements = sum(task.statements for task in written)
        report = {"batch": batch, "query": query, "files": files, "statements": statements}
        (stage / SUCCESS).write_text(json.dumps(report, indent=1) + "\n")
        try:
            os.rename(stage, target)
        except OSError as error:
            # Two drivers at a time: the other one was first.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            new = False
    if not new and query:
        _check_query(target, query)
    abort_batch(out, batch)
    return new


def _check_query(target: Path, query: str) -> None:
    """Refuse an existing batch of another query: the statements of this query would be lost silently."""
    try:
        other = json.loads((target / SUCCESS).read_text())["query"]
    except (OSError, ValueError, KeyError):
        raise JellyError(
            f"the directory is in the way: it has no {SUCCESS} of a streaming query", source=str(target)
        ) from None
    if other and other != query:
        raise JellyError(
            f"the batch was written by another query, {other}: give each query a directory of its own, and a new "
            "directory to a query with a new checkpoint",
            source=str(target),
        )


def abort_batch(out: str, batch: int) -> None:
    """Remove files of tasks of this batch, also those of killed drivers."""
    temporary = Path(out, TEMPORARY)
    for folder in temporary.glob(f"*-{batch}"):
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        temporary.rmdir()
