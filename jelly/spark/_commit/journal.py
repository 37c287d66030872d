"""Journal of an ingest in its directory, so that the next run continues where the last one ended.

The first line of ``_ingest.jsonl`` holds the settings, each further line a committed task, a task that is no longer
part of the table because a source has changed or is gone, or a step of publishing. A task writes its files under
``_temporary`` and lists them in a report beside them. The driver moves the files to ``_ready``, adds the task to the
journal, and removes the report, in this order: after a crash in between the next run finds the report and repeats
these steps.

Readers see nothing of this until all tasks are done. Then the driver publishes: it removes ``_SUCCESS``, moves the
files of ``_ready`` to their places, removes the files of former tasks, and writes ``_SUCCESS``. Only in this moment can
readers that do not look for ``_SUCCESS`` see a part. After a crash in it the next run completes it first of all.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
from collections.abc import Collection, Iterator
from typing import Any

from jelly._io.source import lock
from jelly.errors import JellyError
from jelly.spark._commit.job import SUCCESS, TEMPORARY
from jelly.spark._partitions import Part

__all__ = ["JOURNAL", "READY", "SUCCESS", "TEMPORARY", "Manifest", "write_whole"]

JOURNAL = "_ingest.jsonl"
READY = "_ready"

# Size and time of change of the file, first and last keyframe of the part; of text, its first and last byte.
Key = tuple[int, float, int, int | None]


def write_whole(path: str, text: str) -> None:
    """Write a file so that it is complete or absent."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


class Manifest:
    """The journal of a directory, locked by one ingest at a time. Use it in ``with``.

    JellyError if the directory holds other files, was made with other settings, or is in use by another ingest.
    """

    def __init__(self, out: str, settings: dict[str, Any]) -> None:
        self.out = out
        path = os.path.join(out, JOURNAL)
        if os.path.isdir(out) and os.listdir(out) and not os.path.exists(path):
            raise JellyError(f"the directory is not empty and has no {JOURNAL} of an ingest", source=out)
        os.makedirs(out, exist_ok=True)
        self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - closed by __exit__
        try:
            self._lock()
            self.tasks: dict[str, dict[str, Any]] = {}
            # What publishing has to do: the tasks in READY, the files of former tasks, and whether it began.
            self._ready: set[str] = set()
            self._former: set[str] = set()
            self._dropped: set[str] = set()  # the sources of the latter
            self._is_publishing = False
            self._read(settings)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Manifest:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def _lock(self) -> None:
        if not lock(self._file):
            raise JellyError("another ingest is writing into the directory", source=self.out)

    def _read(self, settings: dict[str, Any]) -> None:
        self._file.seek(0)
        text = self._file.read()
        if not text.endswith("\n"):
            # A line that a crash cut off: the report of its task still exists.
            text = text[: text.rfind("\n") + 1]
            self._file.truncate(len(text.encode()))
        try:
            lines = [json.loads(line) for line in text.splitlines()]
            # Journals without these settings are of a version that sorted nothing and kept all labels.
            known: dict[str, Any] = {"sort": [], "blank_nodes": "keep"} | lines[0]["settings"] if lines else {}
            for line in lines[1:]:
                self._apply(line)
        except (ValueError, KeyError, TypeError):
            raise JellyError("the journal is damaged: use another directory", source=self._file.name) from None
        if known != settings and not self.tasks and not self._former:
            # Nothing was made with other settings, or may still be.
            shutil.rmtree(os.path.join(self.out, TEMPORARY), ignore_errors=True)
            self._file.truncate(0)
            self._append({"settings": settings})
        elif known != settings:
            differ = [f"{name} {known.get(name)!r}, not {settings.get(name)!r}" for name in known | settings
                      if known.get(name) != settings.get(name)]  # fmt: skip
            raise JellyError(f"the directory was made with {', '.join(differ)}", source=self.out)

    def _apply(self, line: dict[str, Any]) -> None:
        """The effect of a line of the journal."""
        if "drop" in line:
            self._ready.discard(line["drop"])
            report = self.tasks.pop(line["drop"])
            self._former |= _files(report)
            self._dropped |= {part[0] for part in report["parts"]}
        elif "publish" in line:
            self._is_publishing = line["publish"] == "begin"
            if not self._is_publishing:
                self._ready.clear()
                self._former.clear()
                self._dropped.clear()
        else:
            self.tasks[line["task"]] = line
            self._ready.add(line["task"])

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        if "settings" not in line:
            self._apply(line)

    # ---- tasks

    def recover(self) -> None:
        """Complete what a crash has interrupted, and remove other files.

        This is publishing, or the commit of tasks that ended after their driver was gone.
        """
        if self._is_publishing:
            self.publish()
        folder = os.path.join(self.out, TEMPORARY)
        for job in glob.glob(os.path.join(glob.escape(folder), "*")):
            for report in reports(job):
                done = self._done()
                twice = any(_known(part, done) for part in report["parts"])
                # A task that ended after its job was aborted may have lost its files.
                if "error" not in report and not twice and self._is_there(report):
                    self.commit(report)
        shutil.rmtree(folder, ignore_errors=True)

    def _is_there(self, report: dict[str, Any]) -> bool:
        """Whether all files of a task exist as it wrote them, renamed or not."""
        for name, size in report["files"]:
            places = (
                os.path.join(self.out, TEMPORARY, report["attempt"], name), os.path.join(self.out, READY, name)
            )  # fmt: skip
            if not any(os.path.exists(place) and os.path.getsize(place) == size for place in places):
                return False
        return True

    def commit(self, report: dict[str, Any]) -> None:
        """Move the files of a task to ``_ready`` and add it to the journal."""
        if report["task"] in self.tasks:
            return
        attempt = os.path.join(self.out, TEMPORARY, report["attempt"])
        for name, _ in report["files"]:
            # Missing files were moved before a crash.
            _move(os.path.join(attempt, name), os.path.join(self.out, READY, name))
        self._append(report)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(attempt + ".json")

    def publish(self) -> None:
        """Show readers the files of all tasks, and no other files. If there is nothing to change, nothing is done."""
        success = os.path.join(self.out, SUCCESS)
        if self._ready or self._former:
            if not self._is_publishing:
                self._append({"publish": "begin"})
            with contextlib.suppress(FileNotFoundError):
                os.unlink(success)
            for task in self._ready:
                for name in _files(self.tasks[task]):
                    _move(os.path.join(self.out, READY, name), os.path.join(self.out, name))
            # Last, so that at any time the old or the new statements are there.
            for name in self._former.difference(*map(_files, self.tasks.values())):
                path = os.path.join(self.out, name)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                with contextlib.suppress(OSError):  # a partition with other files, or the table itself
                    if os.path.dirname(name):
                        os.rmdir(os.path.dirname(path))
            self._append({"publish": "end"})
        shutil.rmtree(os.path.join(self.out, READY), ignore_errors=True)
        if not os.path.exists(success):
            write_whole(success, "")

    # ---- sources

    @property
    def sources(self) -> set[str]:
        """The files whose statements are in the table."""
        return {part[0] for report in self.tasks.values() for part in report["parts"]}

    @property
    def owed(self) -> set[str]:
        """The files whose statements were taken out of the table, and not put into it again."""
        return self._dropped - self.sources

    def errors(self, paths: Collection[str]) -> list[dict[str, Any]]:
        """The errors that were skipped in some files whose statements are in the table."""
        return [error for task in self.tasks.values() for error in task["errors"] if error["file"] in paths]

    def drop(self, paths: Collection[str]) -> None:
        """Take the statements of some files, and of all files of the same tasks, out of the table."""
        for name, report in list(self.tasks.items()):
            if any(part[0] in paths for part in report["parts"]):
                self._append({"drop": name})

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

    def _done(self) -> dict[str, set[Key]]:
        done: dict[str, set[Key]] = {}
        for report in self.tasks.values():
            for path, size, mtime, first, last in report["parts"]:
                done.setdefault(path, set()).add((size, mtime, first, last))
        return done


def _files(report: dict[str, Any]) -> set[str]:
    return {name for name, _ in report["files"]}


def _move(made: str, final: str) -> None:
    """Rename a file, unless it was renamed before."""
    if os.path.exists(made):
        os.makedirs(os.path.dirname(final), exist_ok=True)
        os.replace(made, final)
    elif not os.path.exists(final):
        raise JellyError("a file that a task has written is gone", source=made)


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


def reports(folder: str) -> Iterator[dict[str, Any]]:
    """The reports of ended tasks of the job that works in ``folder``."""
    for name in glob.glob(os.path.join(glob.escape(folder), "*.json")):
        # Another attempt of the task may be writing it again.
        with contextlib.suppress(FileNotFoundError), open(name, encoding="utf-8") as file:
            yield json.load(file)


def task_parts(task: list[Part]) -> list[list[Any]]:
    """A task as a line of the journal."""
    return [[part.file.path, *_key(part)] for part in task]
