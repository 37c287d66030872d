"""How the batches of a streaming query become files: each batch is a directory that appears with one rename.

Tasks write to ``_temporary/<query>-<batch>/``. The commit moves the files that the tasks named into a directory of its
own there, adds ``_SUCCESS`` with the batch's number, query, files and statements as JSON, and renames the directory to
``batch=<number>``. Readers never see half a batch; a batch that is run again after a crash finds its directory and is
left out. Needs no Spark.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from jelly.errors import JellyError

__all__ = ["Written", "abort_batch", "commit_batch", "task_path"]

TEMPORARY = "_temporary"
SUCCESS = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class Written:
    """What a task wrote: the ``file`` below the output directory, "" if there was nothing to write, and its size."""

    query: str
    partition: int
    file: str
    statements: int


def task_path(out: str, query: str, batch: int, partition: int, suffix: str) -> str:
    """A path for the file of one attempt of a task, in a directory that is there afterwards."""
    folder = Path(out, TEMPORARY, f"{query}-{batch}")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / f"part-{partition:05d}-{uuid4().hex}{suffix}")


def commit_batch(out: str, batch: int, written: Sequence[Written]) -> bool:
    """Publish what the tasks wrote; False where the batch was there already, and nothing is changed.

    JellyError where another query has written a batch of this number.
    """
    target = Path(out, f"batch={batch}")
    query = written[0].query if written else ""
    new = not target.exists()
    if new:
        stage = Path(out, TEMPORARY, f"commit-{uuid4().hex}-{batch}")
        stage.mkdir(parents=True)
        files = []
        for task in sorted(written, key=lambda task: task.partition):
            if task.file:
                name = f"part-{task.partition:05d}{''.join(Path(task.file).suffixes)}"
                try:
                    os.rename(Path(out, task.file), stage / name)
                except FileNotFoundError:
                    raise JellyError(
                        "what a task wrote is not there: driver and workers must share the file system",
                        source=os.path.join(out, task.file),
                    ) from None
                files.append(name)
        report = {"batch": batch, "query": query, "files": files, "statements": sum(t.statements for t in written)}
        (stage / SUCCESS).write_text(json.dumps(report, indent=1) + "\n")
        try:
            os.rename(stage, target)
        except OSError as error:
            # Two drivers at once: the other one was first.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            new = False
    if not new and query:
        _check_query(target, query)
    abort_batch(out, batch)
    return new


def _check_query(target: Path, query: str) -> None:
    """A batch that is there must be one of this query; else its statements would be lost in silence."""
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
    """Remove what tasks of this batch left, also those of drivers that were killed."""
    temporary = Path(out, TEMPORARY)
    for folder in temporary.glob(f"*-{batch}"):
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        temporary.rmdir()
