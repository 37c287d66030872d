"""Journal of an ingest in its directory, so that the next run continues where the last one ended.

The first line of ``_ingest.jsonl`` holds the settings, each further line a committed task, or a task whose files
were removed because a source has changed. A task writes its files under ``_temporary`` and lists them in a report
beside them. The driver renames the files, adds the task to the journal, and removes the report, in this order: after
a crash in between the next run finds the report and repeats these steps.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

from jelly._io.source import lock
from jelly.errors import JellyError
from jelly.spark._commit.job import SUCCESS, TEMPORARY
from jelly.spark._partitions import Part

__all__ = ["JOURNAL", "SUCCESS", "TEMPORARY", "Manifest", "write_whole"]

JOURNAL = "_ingest.jsonl"

Key = tuple[int, float, int, int | None]  # size and time of change of the file, first and last keyframe of the part


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
            # Journals without this setting are of a version that kept all labels.
            known = {"blank_nodes": "keep"} | lines[0]["settings"] if lines else None
            for line in lines[1:]:
                if "drop" in line:
                    self.tasks.pop(line["drop"], None)
                else:
                    self.tasks[line["task"]] = line
        except (ValueError, KeyError, TypeError):
            raise JellyError("the journal is damaged: use another directory", source=self._file.name) from None
        if known is None:
            self._append({"settings": settings})
        elif known != settings:
            differ = [f"{name} {known.get(name)!r}, not {value!r}" for name, value in settings.items()
                      if known.get(name) != value]  # fmt: skip
            raise JellyError(f"the directory was made with {', '.join(differ)}", source=self.out)

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    # ---- tasks

    def recover(self) -> None:
        """Commit tasks that ended after their driver was gone, and remove other files."""
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
            places = os.path.join(self.out, TEMPORARY, report["attempt"], name), os.path.join(self.out, name)
            if not any(os.path.exists(place) and os.path.getsize(place) == size for place in places):
                return False
        return True

    def commit(self, report: dict[str, Any]) -> None:
        """Rename the files of a task and add it to the journal."""
        if report["task"] in self.tasks:
            return
        attempt = os.path.join(self.out, TEMPORARY, report["attempt"])
        for name, _ in report["files"]:
            made, final = os.path.join(attempt, name), os.path.join(self.out, name)
            # Missing files were renamed before a crash.
            if os.path.exists(made):
                os.makedirs(os.path.dirname(final), exist_ok=True)
                os.replace(made, final)
            elif not os.path.exists(final):
                raise JellyError("a file that a task has written is gone", source=made)
        self._append(report)
        self.tasks[report["task"]] = report
        with contextlib.suppress(FileNotFoundError):
            os.unlink(attempt + ".json")

    def drop(self, path: str) -> None:
        """Remove the files made from the file ``path``, and all other files of the same tasks."""
        for name, report in list(self.tasks.items()):
            if any(part[0] == path for part in report["parts"]):
                self._append({"drop": name})
                for made, _ in report["files"]:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(self.out, made))
                del self.tasks[name]

    def missing(self, tasks: list[list[Part]]) -> list[list[Part]]:
        """The parts of a plan that are not done. Files made from changed sources are removed and made again."""
        planned: dict[str, set[Key]] = {}
        for task in tasks:
            for part in task:
                planned.setdefault(part.file.path, set()).add(_key(part))
        for path, keys in planned.items():
            done = self._done().get(path, set())
            # If an index has come or gone, a file is cut elsewhere. Its parts count if they make up the whole file.
            same_file = {key[:2] for key in done} <= {key[:2] for key in keys}
            if done and not (same_file and (done <= keys or _whole(done))):
                self.drop(path)
        known = self._done()
        left = [[part for part in task if not _known([part.file.path, *_key(part)], known)] for task in tasks]
        return [task for task in left if task]

    def _done(self) -> dict[str, set[Key]]:
        done: dict[str, set[Key]] = {}
        for report in self.tasks.values():
            for path, size, mtime, first, last in report["parts"]:
                done.setdefault(path, set()).add((size, mtime, first, last))
        return done


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
