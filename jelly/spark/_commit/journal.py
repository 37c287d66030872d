"""Journal of an ingest in its store, so that the next run continues where the last one ended.

The first line of ``_ingest.jsonl`` holds the settings, each further line a committed task, a task that is no longer
part of the table because a source has changed or is gone, or a step of publishing. A task stages its files and tells of
them in a report below ``_temporary``. Stores cannot append, so the driver writes the journal as a whole: now and then,
and before anything depends on it. A task counts from its report on: after a crash the next run finds the reports that
are not in the journal yet.

Readers see nothing of this until all tasks are done. Then the driver publishes (`jelly.spark._commit.swap`). After a
crash in it the next run completes it first of all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator
from typing import Any
from uuid import uuid4

from jelly.errors import JellyError
from jelly.spark._commit.lease import LOCK, PROBE, Lease
from jelly.spark._commit.staging import SUCCESS, TEMPORARY, Staged, Store
from jelly.spark._commit.store import LocalStore
from jelly.spark._commit.swap import finish, marker_of, swap
from jelly.spark._partitions import Part

__all__ = [
    "JOURNAL",
    "SCRATCH",
    "Manifest",
    "Tasks",
    "check_settings",
    "file_names",
    "new_reports",
    "report_name",
    "staged_files",
    "task_parts",
]

JOURNAL = "_ingest.jsonl"
# A directory of a task for files that only later tasks read: they are not published.
SCRATCH = "_scratch"
_REPORTS = "_reports"
_JOB = "ingest"  # of the `swap`
# Reports of tasks that wait for the journal to be written.
_UNSAVED = 1000

# Size and time of change of the file, first and last keyframe of the part; of text, its first and last byte.
Key = tuple[int, float, int, int | None]


class Tasks:
    """The tasks of a table: those that readers see the files of, and those that are `ready` to be published.

    A task is its report: ``parts`` of sources, ``files``, ``staged`` files, ``statements``, ``errors``.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tasks: dict[str, dict[str, Any]] = {}
        # What publishing has to do: the staged tasks, and the files of former tasks.
        self._ready: set[str] = set()
        self._former: set[str] = set()
        self._dropped: set[str] = set()  # the sources of the latter

    def drop_tasks(self, names: Collection[str]) -> None:
        """Take what some tasks have written out of the table."""
        raise NotImplementedError

    @property
    def ready(self) -> set[str]:
        """The tasks that are committed, but not published."""
        return self._ready

    # ---- sources

    @property
    def sources(self) -> set[str]:
        """The files whose statements are in the table."""
        return {part[0] for report in self.tasks.values() for part in report["parts"]}

    @property
    def shown(self) -> set[str]:
        """The files whose statements readers see."""
        return {part[0] for name, report in self.tasks.items() if name not in self._ready for part in report["parts"]}

    @property
    def owed(self) -> set[str]:
        """The files whose statements were taken out of the table, and not put into it again."""
        return self._dropped - self.sources

    def errors(self, paths: Collection[str]) -> list[dict[str, Any]]:
        """The errors that were skipped in some files whose statements are in the table."""
        return [error for task in self.tasks.values() for error in task["errors"] if error["file"] in paths]

    def drop(self, paths: Collection[str]) -> None:
        """Take the statements of some files, and of all files of the same tasks, out of the table."""
        self.drop_tasks([
            name for name, report in self.tasks.items() if any(part[0] in paths for part in report["parts"])
        ])

    def changed(self, tasks: list[list[Part]]) -> list[str]:
        """The files of a plan of which the table has another state."""
        planned: dict[str, set[Key]] = {}
        for task in tasks:
            for part in task:
                planned.setdefault(part.file.path, set()).add(_key(part))
        found = []
        for path, known in self._done().items():
            keys = planned.get(path, known)
            # If an index has come or gone, a file is cut elsewhere. Its parts count if they make up the whole file.
            same_file = {key[:2] for key in known} <= {key[:2] for key in keys}
            if not (same_file and (known <= keys or _whole(known))):
                found.append(path)
        return found

    def missing(self, tasks: list[list[Part]]) -> list[list[Part]]:
        """The parts of a plan that are not in the table."""
        known = self._done()
        left = [[part for part in task if not _known([part.file.path, *_key(part)], known)] for task in tasks]
        return [task for task in left if task]

    def _found(self, fits: Callable[[dict[str, Any]], bool] = lambda report: True) -> Iterator[dict[str, Any]]:
        """The reports of tasks that have ended after their driver was gone, none of a part that is in the table."""
        done = self._done()
        for report in new_reports(self.store, None, set()):
            if "error" not in report and fits(report) and not any(_known(part, done) for part in report["parts"]):
                yield report
                for path, *key in report["parts"]:
                    done.setdefault(path, set()).add(tuple(key))

    def _done(self) -> dict[str, set[Key]]:
        done: dict[str, set[Key]] = {}
        for report in self.tasks.values():
            for path, size, mtime, first, last in report["parts"]:
                done.setdefault(path, set()).add((size, mtime, first, last))
        return done


class Manifest(Tasks):
    """The journal of a store, locked by one ingest at a time. Use it in ``with``.

    JellyError if the store holds other files, was made with other settings, or is in use by another ingest.
    """

    def __init__(self, store: Store, settings: dict[str, Any]) -> None:
        super().__init__(store)
        if store.read(JOURNAL) is None and set(store.files()) - {LOCK, PROBE}:
            raise JellyError(f"the directory is not empty and has no {JOURNAL} of an ingest", source=store.url)
        if isinstance(store, LocalStore):
            os.makedirs(store.path, exist_ok=True)
        self._lease = Lease(store)
        try:
            self._lines: list[dict[str, Any]] = []
            self._unsaved: list[str] = []  # the reports of tasks in lines that are not written yet
            self._is_publishing = False  # publishing has begun
            self._read(settings)
        except BaseException:
            self._lease.release()
            raise

    def __enter__(self) -> Manifest:
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            if self._unsaved:
                self._save()
        finally:
            self._lease.release()

    def _read(self, settings: dict[str, Any]) -> None:
        text = (self.store.read(JOURNAL) or b"").decode()
        try:
            lines = [json.loads(line) for line in text.splitlines()]
            known: dict[str, Any] = lines[0]["settings"] if lines else {}
            for line in lines[1:]:
                self._apply(line)
        except (ValueError, KeyError, TypeError):
            raise JellyError(
                "the journal is damaged: use another directory", source=f"{self.store.url}/{JOURNAL}"
            ) from None
        self._lines = lines
        if settings != known and not self.tasks and not self._former:
            # Nothing was made with other settings, or may still be.
            self.store.sweep()
            known = settings
            self._lines = [{"settings": settings}]
            self._save()
        check_settings(known, settings, self.store.url)

    def _apply(self, line: dict[str, Any]) -> None:
        """The effect of a line of the journal."""
        if "drop" in line:
            self._ready.discard(line["drop"])
            report = self.tasks.pop(line["drop"])
            self._former |= file_names(report)
            self._dropped |= {part[0] for part in report["parts"]}
        elif "lost" in line:
            self._ready.discard(line["lost"])
            self._dropped |= {part[0] for part in self.tasks.pop(line["lost"])["parts"]}
        elif "publish" in line:
            self._is_publishing = line["publish"] == "begin"
            if not self._is_publishing:
                self._ready.clear()
                self._former.clear()
                self._dropped.clear()
        else:
            self.tasks[line["task"]] = line
            self._ready.add(line["task"])

    def _add(self, *lines: dict[str, Any]) -> None:
        for line in lines:
            self._apply(line)
        self._lines += lines

    def _save(self) -> None:
        self._lease.check()
        self.store.write(JOURNAL, "".join(json.dumps(line) + "\n" for line in self._lines).encode())
        self.store.delete(self._unsaved)
        self._unsaved = []

    # ---- tasks

    def begin(self) -> str:
        """Let tasks write. Return the name of their job."""
        job = uuid4().hex
        self.store.begin(job)
        return job

    def recover(self) -> None:
        """Complete what a crash has interrupted, and remove other files.

        This is publishing, or the commit of tasks that ended after their driver was gone.
        """
        if self._is_publishing:
            self.publish()
        found = list(self._found())
        # What was staged may be gone: tasks that ended after their job was aborted, a store that aborts old uploads.
        ready = [self.tasks[name] for name in self._ready]
        lost = set(self.store.missing([file for report in (*ready, *found) for file in staged_files(report)]))
        whole = [report["task"] for report in (*ready, *found) if lost.isdisjoint(staged_files(report))]
        self._add(*({"lost": report["task"]} for report in ready if report["task"] not in whole))
        for report in found:
            if report["task"] in whole:
                self.commit(report)
        if lost:
            self._save()
        self.store.delete([marker_of(_JOB)])
        self.sweep()

    def sweep(self) -> None:
        """Remove what tasks have staged and the journal does not know."""
        if self._unsaved:
            self._save()
        self.store.sweep(keep=[file for name in self._ready for file in staged_files(self.tasks[name])])

    def commit(self, report: dict[str, Any]) -> None:
        """Add a task to the journal."""
        if report["task"] not in self.tasks:
            self._add(report)
            self._unsaved.append(report_name(report["job"], report["attempt"]))
            if len(self._unsaved) >= _UNSAVED:
                self._save()

    def drop_tasks(self, names: Collection[str]) -> None:
        """Take what some tasks have written out of the table."""
        if names:
            self._add(*({"drop": name} for name in names))
            self._save()

    def publish(self) -> None:
        """Show readers the files of all tasks, and no other files. If there is nothing to change, nothing is done."""
        store = self.store
        if self._ready or self._former:
            resume = self._is_publishing
            if not resume:
                self._add({"publish": "begin"})
                self._save()
            self._lease.check()
            staged = [file for name in sorted(self._ready) for file in staged_files(self.tasks[name])]
            files = [file for file in staged if not _is_scratch(file.name)]
            swap(store, _JOB, files, self._former.difference(*map(file_names, self.tasks.values())), resume=resume)
            for name in self._ready:
                self.tasks[name].pop("staged", None)
            self._add({"publish": "end"})
            # What came before does not matter any more.
            self._lines = [self._lines[0], *self.tasks.values(), {"publish": "end"}]
            self._save()
            finish(store, _JOB)
            store.sweep()
        elif store.read(SUCCESS) is None:
            finish(store, _JOB)

    def files(self, task: str, folder: str) -> list[tuple[str, int]]:
        """The files that a task has written to a directory of the table: their names now in the store, and sizes."""
        if task in self._ready:
            found = [(file.name, file.place, file.size) for file in staged_files(self.tasks[task])]
        else:
            found = [(name, name, size) for name, size in self.tasks[task]["files"] if not _is_scratch(name)]
        return [(place, size) for name, place, size in found if name.partition("/")[0] == folder]

def check_settings(known: dict[str, Any], settings: dict[str, Any] | None, url: str) -> dict[str, Any]:
    """The settings of a table. JellyError if it was made with others than those that are given."""
    if settings is None or settings == known:
        return known
    differ = [f"{name} {known.get(name)!r}, not {settings.get(name)!r}" for name in known | settings
              if known.get(name) != settings.get(name)]  # fmt: skip
    raise JellyError(f"the directory was made with {', '.join(differ)}", source=url)


def file_names(report: dict[str, Any]) -> set[str]:
    """The files of a task that become part of the table."""
    return {name for name, _ in report["files"] if not _is_scratch(name)}


def _is_scratch(name: str) -> bool:
    return name.startswith(f"{SCRATCH}/")


def staged_files(report: dict[str, Any]) -> list[Staged]:
    return [Staged.of(file) for file in report["staged"]]


def _known(part: list[Any], done: dict[str, set[Key]]) -> bool:
    known = done.get(part[0], set())
    return tuple(part[1:]) in known or _whole(known)


def _key(part: Part) -> Key:
    return part.file.size, part.file.mtime, part.first, part.last


def _whole(done: set[Key]) -> bool:
    """Whether parts make up a whole file."""
    ends = {first: last for _, _, first, last in done}
    at: int | None = 0
    while at is not None:
        if at not in ends:
            return False
        at = ends.pop(at)
    return True


def report_name(job: str, attempt: str) -> str:
    """The name of the report of an attempt at a task."""
    return f"{TEMPORARY}/{job}/{_REPORTS}/{attempt}.json"


def new_reports(store: Store, job: str | None, seen: set[str]) -> Iterator[dict[str, Any]]:
    """The reports of ended tasks of a job, or of all jobs, that are not among those ``seen``, where they are noted."""
    for name in sorted(store.files(TEMPORARY if job is None else f"{TEMPORARY}/{job}/{_REPORTS}")):
        if f"/{_REPORTS}/" in name and name.endswith(".json") and name not in seen:
            report = store.read_json(name)
            if report is not None:
                seen.add(name)
                yield report


def task_parts(task: list[Part]) -> list[list[Any]]:
    """A task as a line of the journal."""
    return [[part.file.path, *_key(part)] for part in task]
