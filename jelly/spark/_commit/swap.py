"""Makes files of a job visible, and removes others, as one step for readers of this package. Independent of Spark.

No store renames many files at once. So the step is told before it is done, in ``_commit-<job>.json``: readers leave out
the files that it hides, at first the new ones, later the old ones (`jelly.spark._parts.files.find_files`). Writing this
small file again is what changes the table. Other readers can look at ``_SUCCESS``, which is missing meanwhile.

A job that dies in between leaves its file. The next job in the directory takes the new files away if the old ones still
count, else it removes the old ones: when the file is so old that its writer must be dead, because it writes it again
and again while it lives.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

from jelly.errors import JellyError
from jelly.spark._commit.store import SUCCESS, Staged, Store
from jelly.spark._parts.files import MARKER

__all__ = ["INGEST", "LEASE", "finish", "marker_of", "roll_back", "swap", "tidy"]

# The job of every ingest into a directory: the next one completes what it has begun.
INGEST = "ingest"
# Seconds after which a job that gives no sign of life is dead. A living one gives a sign several times as often.
LEASE = 60.0
# Seconds after which tasks of a job that has not begun to commit are dead: each task is a sign of life.
ABANDONED = 86400.0
# Files to publish between two looks at the clock.
_AT_A_TIME = 64


def marker_of(job: str) -> str:
    """The name of the file that says what a job changes."""
    return f"{MARKER}{job}.json"


def swap(
    store: Store, job: str, staged: Sequence[Staged], old: Collection[str] = (), *, success: str = SUCCESS
) -> None:
    """Show readers the staged files instead of the ``old`` ones. `finish` must follow.

    ``success`` is the file that is missing meanwhile.
    """
    marker = marker_of(job)
    names = [file.name for file in staged]
    state: dict[str, Any] = {"step": "add", "hide": names, "success": store.read(success) is not None}
    store.write_json(marker, state)
    store.delete([success])
    told = time.monotonic()
    for at in range(0, len(staged), _AT_A_TIME):
        if time.monotonic() - told > LEASE / 6:
            store.write_json(marker, state)
            told = time.monotonic()
        store.publish(staged[at : at + _AT_A_TIME])
    if old:
        store.write_json(marker, {"step": "remove", "hide": sorted(old), "success": False})
        store.delete(old)


def finish(store: Store, job: str) -> None:
    """End a `swap`: the table is whole."""
    store.delete([marker_of(job)])
    store.write(SUCCESS, b"")


def roll_back(store: Store, job: str) -> None:
    """Take back what a `swap` has begun, or complete it if the new files count already."""
    marker = store.read_json(marker_of(job))
    if marker is not None:
        # The files to hide are those to remove, in either step.
        store.delete(marker["hide"])
        store.delete([marker_of(job)])
        if marker["success"] or marker["step"] == "remove":
            store.write(SUCCESS, b"")


def tidy(store: Store, job: str) -> None:
    """Remove what dead jobs have left. ``job`` has just begun, which gives the time of the store."""
    jobs = store.jobs()
    now = jobs.pop(job, None)
    if now is None:
        raise JellyError(f"the job {job} has begun and is not in {store.url}: is the directory writable?")
    for name, (_, changed) in store.files().items():
        if name.startswith(MARKER) and name != marker_of(INGEST) and now - changed > LEASE:
            if not name.endswith(".json"):  # its writer has died
                store.delete([name])
                continue
            dead = name[len(MARKER) : -len(".json")]
            roll_back(store, dead)
            jobs[dead] = min(changed, now - ABANDONED - 1)
    for dead, changed in jobs.items():
        if now - changed > ABANDONED:
            store.sweep(dead)
